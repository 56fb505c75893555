//! The register of rules: what each is called, how it judges and which requirements it names.

use std::sync::LazyLock;

use mcp_conform_schemas::Revision;

use super::{
    Context, Row, Verdicts, answers, binary, direction, envelope, errors, framing, http, ids, meta, progress, schema,
    sse, stdout, subscriptions, tool_names, tool_schemas,
};
use crate::trace::Event;

/// A passive judge of one conversation.
pub trait Rule: Send {
    /// `context` knows the event already.
    fn observe(&mut self, event: &Event, context: &Context, out: &mut Verdicts);

    /// The trace is over.
    fn finish(&mut self, _context: &Context, _out: &mut Verdicts) {}
}

#[derive(Clone, Debug)]
pub struct RuleInfo {
    pub name: &'static str,
    pub title: &'static str,
    /// How it judges, for people.
    pub about: &'static str,
    pub requirements: Vec<(&'static str, Revision)>,
    pub make: fn() -> Box<dyn Rule>,
}

/// Every rule, in the order in which they see an event.
pub fn rules() -> &'static [RuleInfo] {
    static RULES: LazyLock<Vec<RuleInfo>> = LazyLock::new(|| definitions().map(|(it, rows)| it.info(rows)).collect());
    &RULES
}

/// A rule as its module states it.
pub(super) struct Definition {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) about: &'static str,
    pub(super) rows: &'static [Row],
    pub(super) make: fn() -> Box<dyn Rule>,
}

impl Definition {
    fn info(&self, rows: &[Row]) -> RuleInfo {
        let requirements = rows.iter().flat_map(Row::all).map(|(id, revision, _)| (id, revision)).collect();
        RuleInfo { name: self.name, title: self.title, about: self.about, requirements, make: self.make }
    }
}

pub(super) static DEFINITIONS: &[&Definition] = &[
    &stdout::DEFINITION,
    &framing::DEFINITION,
    &envelope::DEFINITION,
    &direction::DEFINITION,
    &ids::DEFINITION,
    &answers::DEFINITION,
    &errors::DEFINITION,
    &meta::DEFINITION,
    &progress::DEFINITION,
    &subscriptions::DEFINITION,
    &http::DEFINITION,
    &sse::DEFINITION,
    &binary::DEFINITION,
    &tool_names::DEFINITION,
];

type RowsOf = fn() -> &'static [Row];

/// Rules that come last, because what was told about a message before is not told again. The rows of `schema` are read off
/// the schemas, less those of the rules above.
static LAST: &[(&Definition, RowsOf)] =
    &[(&schema::DEFINITION, schema::rows), (&tool_schemas::DEFINITION, || tool_schemas::DEFINITION.rows)];

fn definitions() -> impl Iterator<Item = (&'static Definition, &'static [Row])> {
    let last = LAST.iter().map(|(definition, rows)| (*definition, rows()));
    DEFINITIONS.iter().map(|definition| (*definition, definition.rows)).chain(last)
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;

    const CATALOGUE: &str = include_str!("../../../cases/catalogue/requirements.tsv");

    #[test]
    fn every_requirement_stands_in_the_catalogue_with_the_same_age() {
        let catalogue: HashMap<(&str, &str), &str> = CATALOGUE
            .lines()
            .filter_map(|line| {
                let mut cells = line.split('\t');
                Some(((cells.next()?, cells.next()?), cells.next()?))
            })
            .collect();
        for (rule, rows) in definitions() {
            for (id, revision, since) in rows.iter().flat_map(Row::all) {
                let found = catalogue.get(&(id, revision.as_str()));
                assert_eq!(found, Some(&since.as_str()), "{}: {id} of {revision}", rule.name);
            }
        }
    }

    #[test]
    fn one_requirement_is_judged_by_one_rule() {
        let mut seen = HashSet::new();
        for rule in rules() {
            for requirement in &rule.requirements {
                assert!(seen.insert(*requirement), "{}: {requirement:?} twice", rule.name);
            }
            assert!(!rule.title.is_empty() && !rule.about.is_empty() && !rule.requirements.is_empty());
        }
    }

    #[test]
    fn every_passive_requirement_of_the_base_areas_has_a_rule() {
        let judged: HashSet<(&str, &str)> =
            rules().iter().flat_map(|rule| &rule.requirements).map(|(id, revision)| (*id, revision.as_str())).collect();
        let areas = ["base", "meta", "stdio", "progress", "subscriptions", "errors", "http", "sse"];
        let missing: Vec<_> = CATALOGUE
            .lines()
            .map(|line| line.split('\t').collect::<Vec<_>>())
            .filter(|cells| ["fail", "warn"].contains(&cells[4]) && cells[6] == "passive" && areas.contains(&cells[9]))
            .filter(|cells| !judged.contains(&(cells[0], cells[1])))
            .map(|cells| format!("{} {}", cells[0], cells[1]))
            .collect();
        assert!(missing.is_empty(), "{missing:#?}");
    }
}
