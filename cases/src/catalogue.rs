//! The requirement catalogue: what each revision demands of a server, in our own words.
//!
//! [`Catalogue::get`] parses the embedded tables once. A [`Row`] is one requirement of one revision; its key is the id and
//! the revision. What breaks a requirement, and what to do about a breach, is left to the cases, the rules and the reports.

use std::{collections::BTreeMap, fmt, sync::OnceLock};

use mcp_conform_schemas::Revision;
use serde::Serialize;

use crate::{ast::Transport, nearest::nearest};

/// All requirements of the two judged revisions, in the order of the table.
#[derive(Debug)]
pub struct Catalogue {
    rows: Vec<Row>,
    by_key: BTreeMap<(&'static str, Revision), usize>,
    aliases: BTreeMap<(&'static str, Revision), usize>,
}

impl Catalogue {
    /// The embedded catalogue.
    pub fn get() -> &'static Self {
        static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
        CATALOGUE.get_or_init(|| match Self::parse(REQUIREMENTS, REMEDIES) {
            Ok(catalogue) => catalogue,
            // The tables are part of the binary and a test reads them, so this cannot be met by a user.
            Err(error) => unreachable!("the embedded catalogue is broken: {error}"),
        })
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The requirement under its own id.
    pub fn row(&self, id: &str, revision: Revision) -> Option<&Row> {
        self.by_key.get(&(id, revision)).and_then(|&at| self.rows.get(at))
    }

    /// The requirement under its own id, or under one that was merged into it.
    pub fn resolve(&self, id: &str, revision: Revision) -> Option<&Row> {
        self.row(id, revision).or_else(|| self.aliases.get(&(id, revision)).and_then(|&at| self.rows.get(at)))
    }

    /// The rows of an id over the judged revisions, oldest first.
    pub fn all(&self, id: &str) -> Vec<&Row> {
        Revision::JUDGED.into_iter().filter_map(|revision| self.resolve(id, revision)).collect()
    }

    /// The ids that are nearest to an unknown one, best first.
    pub fn nearest(&self, id: &str) -> Vec<&'static str> {
        nearest(id, self.by_key.keys().map(|&(known, _)| known))
    }

    fn parse(requirements: &'static str, remedies: &'static str) -> Result<Self, TableError> {
        let mut advice = BTreeMap::new();
        for (number, line) in lines(remedies) {
            let [id, revision, remedy] = cells(line, number)?;
            if advice.insert((id, revision), remedy).is_some() {
                return Err(TableError::Duplicate { line: number, id: id.to_owned() });
            }
        }
        let mut catalogue = Self { rows: Vec::new(), by_key: BTreeMap::new(), aliases: BTreeMap::new() };
        for (number, line) in lines(requirements) {
            let mut row = Row::parse(line, number)?;
            row.remedy = advice.remove(&(row.id, row.revision.as_str()));
            let at = catalogue.rows.len();
            if catalogue.by_key.insert((row.id, row.revision), at).is_some() {
                return Err(TableError::Duplicate { line: number, id: row.id.to_owned() });
            }
            for also in &row.also {
                // An id that was merged into several rows stands for the first of them.
                catalogue.aliases.entry((also, row.revision)).or_insert(at);
            }
            catalogue.rows.push(row);
        }
        match advice.into_keys().next() {
            Some((id, _)) => Err(TableError::RemedyWithoutRow(id.to_owned())),
            None => Ok(catalogue),
        }
    }
}

/// One requirement of one revision.
#[derive(Debug)]
pub struct Row {
    pub id: &'static str,
    pub revision: Revision,
    /// The earliest revision in which the rule had this form.
    pub since: Revision,
    pub level: Level,
    pub grade: Grade,
    /// Where the sentence stands: `prose`, `schema`, `jsonrpc`, `derived` and so on.
    pub provenance: &'static str,
    pub observable: Observable,
    /// What the server or the user has to bring, `fixture` or `operator`.
    pub needs: Option<&'static str>,
    pub transport: Reach,
    pub area: &'static str,
    pub page: &'static str,
    pub anchor: &'static str,
    /// What is demanded, in our own words.
    pub requirement: &'static str,
    pub how_to_observe: &'static str,
    pub negative_example: &'static str,
    /// The check of the official suite that covers the row.
    pub official_check: Option<&'static str>,
    pub contested: Vec<ContestedRef>,
    /// Ids that were merged into this row.
    pub also: Vec<&'static str>,
    remedy: Option<&'static str>,
}

impl Row {
    /// One line for the person who has to mend the server.
    pub fn remedy(&self) -> Option<&'static str> {
        self.remedy
    }

    /// The place on the specification's public site.
    pub fn link(&self) -> String {
        let anchor = match self.anchor {
            "" | "(intro)" | "(page top)" => String::new(),
            anchor => format!("#{anchor}"),
        };
        if let Some((repository, path)) = self.page.split_once(':') {
            return format!("https://github.com/modelcontextprotocol/{repository}/blob/main/{path}.mdx{anchor}");
        }
        // A page that stands outside the folder of the specification is written from there.
        let path = match self.page.strip_prefix("../") {
            Some(outside) => outside.to_owned(),
            None => format!("specification/{}", self.page),
        };
        format!("https://modelcontextprotocol.io/{}{anchor}", path.strip_suffix("/index").unwrap_or(&path))
    }

    /// Whether the requirement can be met with over this transport.
    pub fn applies_to(&self, transport: Transport) -> bool {
        matches!(
            (self.transport, transport),
            (Reach::Any, _) | (Reach::Http, Transport::Http) | (Reach::Stdio, Transport::Stdio)
        )
    }

    /// Whether a breach can become a finding.
    pub fn can_be_broken(&self) -> bool {
        !matches!(self.grade, Grade::None | Grade::Tolerance)
    }

    fn parse(line: &'static str, number: usize) -> Result<Self, TableError> {
        let [
            id,
            revision,
            since,
            level,
            grade,
            provenance,
            observable,
            needs,
            transport,
            area,
            page,
            anchor,
            requirement,
            how_to_observe,
            negative_example,
            official_check,
            contested,
            also,
        ] = cells(line, number)?;
        let bad = |column, value: &str| TableError::Value {
            line: number,
            id: id.to_owned(),
            column,
            value: value.to_owned(),
        };
        Ok(Self {
            id,
            revision: revision.parse().map_err(|_| bad("revision", revision))?,
            since: since.parse().map_err(|_| bad("since", since))?,
            level: Level::parse(level).ok_or_else(|| bad("level", level))?,
            grade: Grade::parse(grade).ok_or_else(|| bad("grade", grade))?,
            provenance,
            observable: Observable::parse(observable).ok_or_else(|| bad("observable", observable))?,
            needs: Some(needs).filter(|needs| !needs.is_empty()),
            transport: Reach::parse(transport).ok_or_else(|| bad("transport", transport))?,
            area,
            page,
            anchor,
            requirement,
            how_to_observe,
            negative_example,
            official_check: Some(official_check).filter(|check| !check.is_empty() && *check != "none"),
            contested: list(contested)
                .map(|item| ContestedRef::parse(item).ok_or_else(|| bad("contested", item)))
                .collect::<Result<_, _>>()?,
            also: list(also).collect(),
            remedy: None,
        })
    }
}

/// The keyword of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Level {
    #[serde(rename = "MUST")]
    Must,
    #[serde(rename = "MUST NOT")]
    MustNot,
    #[serde(rename = "SHOULD")]
    Should,
    #[serde(rename = "SHOULD NOT")]
    ShouldNot,
    #[serde(rename = "MAY")]
    May,
}

impl Level {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::MustNot => "MUST NOT",
            Self::Should => "SHOULD",
            Self::ShouldNot => "SHOULD NOT",
            Self::May => "MAY",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Must, Self::MustNot, Self::Should, Self::ShouldNot, Self::May].into_iter().find(|l| l.as_str() == text)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a breach is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    Fail,
    Warn,
    Advice,
    /// A MAY that we have to accept.
    Tolerance,
    /// Cannot be seen from outside.
    None,
}

impl Grade {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Warn => "warn",
            Self::Advice => "advice",
            Self::Tolerance => "tolerance",
            Self::None => "none",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Fail, Self::Warn, Self::Advice, Self::Tolerance, Self::None].into_iter().find(|g| g.as_str() == text)
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a breach can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Observable {
    /// It takes a probe.
    Active,
    /// Judged on every message.
    Passive,
    No,
}

impl Observable {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "active" => Some(Self::Active),
            "passive" => Some(Self::Passive),
            "no" => Some(Self::No),
            _ => None,
        }
    }
}

/// Where a requirement can be met with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    Any,
    Http,
    Stdio,
}

impl Reach {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "any" => Some(Self::Any),
            "http" => Some(Self::Http),
            "stdio" => Some(Self::Stdio),
            _ => None,
        }
    }
}

/// A clause on which the text, or the field, disagrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ContestedRef {
    /// The number of the item: 32 for C32.
    pub item: u16,
    /// One probe or outcome of the row is touched, not the row.
    pub partial: bool,
}

impl ContestedRef {
    fn parse(text: &str) -> Option<Self> {
        let number = text.strip_prefix('C')?;
        let (number, partial) = match number.strip_suffix('*') {
            Some(number) => (number, true),
            None => (number, false),
        };
        Some(Self { item: number.parse().ok()?, partial })
    }
}

#[derive(Debug, thiserror::Error)]
enum TableError {
    #[error("line {line} has {found} cells instead of {wanted}")]
    Cells { line: usize, found: usize, wanted: usize },
    #[error("line {line} repeats {id}")]
    Duplicate { line: usize, id: String },
    #[error("a remedy is given for {0}, which is no requirement")]
    RemedyWithoutRow(String),
    #[error("line {line}, {id}: \"{value}\" is no {column}")]
    Value { line: usize, id: String, column: &'static str, value: String },
}

const REQUIREMENTS: &str = include_str!("../catalogue/requirements.tsv");
const REMEDIES: &str = include_str!("../catalogue/remedies.tsv");

/// The lines below the header, with their numbers.
fn lines(table: &'static str) -> impl Iterator<Item = (usize, &'static str)> {
    table.lines().enumerate().skip(1).map(|(at, line)| (at + 1, line)).filter(|(_, line)| !line.is_empty())
}

fn cells<const N: usize>(line: &'static str, number: usize) -> Result<[&'static str; N], TableError> {
    let cells: Vec<&str> = line.split('\t').collect();
    let found = cells.len();
    cells.try_into().map_err(|_| TableError::Cells { line: number, found, wanted: N })
}

fn list(cell: &'static str) -> impl Iterator<Item = &'static str> {
    cell.split(',').map(str::trim).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_parse_and_every_line_is_a_row() {
        let catalogue = Catalogue::parse(REQUIREMENTS, REMEDIES).expect("the tables are sound");
        assert_eq!(catalogue.rows().len(), REQUIREMENTS.lines().count() - 1);
        for row in catalogue.rows() {
            assert!(row.since <= row.revision, "{} is newer than its revision", row.id);
            assert!(Revision::JUDGED.contains(&row.revision), "{}", row.id);
            assert!(!row.requirement.is_empty() && !row.area.is_empty(), "{}", row.id);
        }
    }

    #[test]
    fn every_row_that_a_rule_may_judge_has_a_remedy() {
        let areas = ["base", "errors", "meta", "progress", "stdio", "subscriptions"];
        let missing: Vec<_> = Catalogue::get()
            .rows()
            .iter()
            .filter(|row| row.observable == Observable::Passive && areas.contains(&row.area))
            .filter(|row| matches!(row.grade, Grade::Fail | Grade::Warn) && row.remedy().is_none())
            .map(|row| format!("{} {}", row.id, row.revision))
            .collect();
        assert!(missing.is_empty(), "without a remedy: {missing:#?}");
    }

    #[test]
    fn an_alias_leads_to_the_row_that_took_it_over() {
        let catalogue = Catalogue::get();
        let row = catalogue.resolve("schema-next-cursor-string", Revision::V2026_07_28).expect("a merged id");
        assert_eq!(row.id, "pagination-next-cursor-string");
        assert!(catalogue.row("schema-next-cursor-string", Revision::V2026_07_28).is_none());
    }

    #[test]
    fn links_name_the_page_as_the_site_does() {
        let link = |id, revision| Catalogue::get().row(id, revision).map(Row::link).unwrap_or_default();
        assert_eq!(
            link("http-header-method-mismatch", Revision::V2026_07_28),
            format!(
                "https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#{}",
                Catalogue::get().row("http-header-method-mismatch", Revision::V2026_07_28).map_or("", |row| row.anchor)
            )
        );
        for row in Catalogue::get().rows() {
            let link = row.link();
            assert!(link.starts_with("https://") && !link.contains("..") && !link.contains(' '), "{link}");
        }
    }

    #[test]
    fn contested_marks_tell_a_row_from_one_outcome() {
        assert_eq!(ContestedRef::parse("C32*"), Some(ContestedRef { item: 32, partial: true }));
        assert_eq!(ContestedRef::parse("C11"), Some(ContestedRef { item: 11, partial: false }));
        assert_eq!(ContestedRef::parse("11"), None);
    }

    #[test]
    fn an_unknown_id_has_neighbours() {
        assert_eq!(Catalogue::get().nearest("http-header-metod-mismatch")[0], "http-header-method-mismatch");
    }
}
