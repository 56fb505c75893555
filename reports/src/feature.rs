//! The features of the protocol as a reader knows them, and which requirements belong to each.
//!
//! The tables are data: `features.tsv` gives each area of the catalogue, or the requirements of an area that begin with
//! one of some prefixes, to one feature; `deprecated.tsv` tells which requirements, once they were judged on something
//! that the server sent, show that a deprecated feature is in use.

use std::sync::OnceLock;

use crate::model::Report;

/// A feature, told apart by its id.
#[derive(Debug)]
pub struct Feature {
    pub id: &'static str,
    pub title: &'static str,
    /// The transport that it belongs to, where it belongs to one.
    pub transport: Option<&'static str>,
    /// Areas, and the prefixes that a requirement of the area has to have; none is all that is left of the area.
    rows: Vec<(&'static str, Vec<&'static str>)>,
}

/// A feature that still works and goes away.
#[derive(Debug)]
pub struct Deprecated {
    pub title: &'static str,
    /// Since when it is deprecated.
    pub revision: &'static str,
    /// Requirements whose occasions are uses of it.
    pub seen_by: Vec<&'static str>,
    pub replacement: &'static str,
}

/// Every feature, in the order in which they are told.
pub fn features() -> &'static [Feature] {
    static FEATURES: OnceLock<Vec<Feature>> = OnceLock::new();
    FEATURES.get_or_init(|| {
        let mut features: Vec<Feature> = Vec::new();
        for [id, title, area, prefixes, transport] in rows(include_str!("../features.tsv")) {
            let row = (area, prefixes.split(' ').filter(|prefix| !prefix.is_empty()).collect());
            match features.iter_mut().find(|known| known.id == id) {
                Some(known) => known.rows.push(row),
                None => {
                    let transport = Some(transport).filter(|transport| !transport.is_empty());
                    features.push(Feature { id, title, transport, rows: vec![row] });
                }
            }
        }
        features
    })
}

pub fn deprecated() -> &'static [Deprecated] {
    static DEPRECATED: OnceLock<Vec<Deprecated>> = OnceLock::new();
    DEPRECATED.get_or_init(|| {
        let deprecated = |[title, revision, seen_by, replacement]: [&'static str; 4]| Deprecated {
            title,
            revision,
            seen_by: seen_by.split(' ').collect(),
            replacement,
        };
        rows(include_str!("../deprecated.tsv")).map(deprecated).collect()
    })
}

/// The feature of a requirement. None for an area that no feature has, such as that of a user's own cases.
pub fn of(area: &str, requirement: &str) -> Option<&'static Feature> {
    let has = |feature: &Feature, named: bool| {
        feature.rows.iter().any(|(of, prefixes)| {
            *of == area
                && if named {
                    prefixes.iter().any(|prefix| requirement.starts_with(prefix))
                } else {
                    prefixes.is_empty()
                }
        })
    };
    let by = |named| features().iter().find(move |feature| has(feature, named));
    by(true).or_else(|| by(false))
}

impl Feature {
    /// Whether the run could see it: over the transport that it belongs to, where the report tells of transports.
    pub fn was_run(&self, report: &Report) -> bool {
        let ran = &report.target.transports;
        ran.is_empty() || self.transport.is_none_or(|transport| ran.iter().any(|known| known == transport))
    }

    /// Whether the server was seen not to have it in a revision.
    pub fn is_lacking(&self, report: &Report, revision: &str) -> bool {
        report.not_offered.iter().any(|known| known.feature == self.id && known.revision == revision)
    }
}

/// The cells of the lines below the header.
fn rows<const N: usize>(table: &'static str) -> impl Iterator<Item = [&'static str; N]> {
    // A line with another number of cells is a mistake of ours, which the tests find.
    table.lines().skip(1).filter_map(|line| line.split('\t').collect::<Vec<_>>().try_into().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_row() {
        let lines = |table: &str| table.lines().count() - 1;
        let kept: usize = features().iter().map(|feature| feature.rows.len()).sum();
        assert_eq!(kept, lines(include_str!("../features.tsv")));
        assert_eq!(deprecated().len(), lines(include_str!("../deprecated.tsv")));
    }

    #[test]
    fn a_prefix_wins_over_the_rest_of_the_area() {
        let id = |area, requirement| of(area, requirement).map(|feature| feature.id);
        assert_eq!(id("resources", "resources-read-missing-uri"), Some("resources"));
        assert_eq!(id("resources", "resources-templates-shape"), Some("templates"));
        assert_eq!(id("elicitation", "elicitation-form-no-clickable-urls"), Some("elicitation-form"));
        assert_eq!(id("elicitation", "elicitation-url-valid"), Some("elicitation-url"));
        assert_eq!(id("own", "own/ping"), None);
    }
}
