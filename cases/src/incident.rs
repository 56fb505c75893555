//! Real bugs of servers and SDKs that a check would have shown: public issues, told in our own words.

use std::sync::OnceLock;

/// One issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// `owner/repository#number`.
    pub issue: &'static str,
    pub what: &'static str,
    /// Ids of the requirements that were broken, in any revision that has them.
    pub requirements: Vec<&'static str>,
}

impl Incident {
    /// Every incident, in the order of the table.
    pub fn all() -> &'static [Self] {
        static ITEMS: OnceLock<Vec<Incident>> = OnceLock::new();
        ITEMS.get_or_init(|| TABLE.lines().skip(1).filter_map(Self::parse).collect())
    }

    /// Those that broke a requirement.
    pub fn of(id: &str) -> impl Iterator<Item = &'static Self> {
        Self::all().iter().filter(move |incident| incident.requirements.contains(&id))
    }

    /// Where it is told.
    pub fn link(&self) -> String {
        let (repository, number) = self.issue.split_once('#').unwrap_or((self.issue, ""));
        format!("https://github.com/{repository}/issues/{number}")
    }

    fn parse(line: &'static str) -> Option<Self> {
        let [issue, what, requirements] = line.split('\t').collect::<Vec<_>>().try_into().ok()?;
        Some(Self { issue, what, requirements: requirements.split(',').collect() })
    }
}

const TABLE: &str = include_str!("../catalogue/incidents.tsv");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;

    #[test]
    fn every_line_is_an_incident_of_known_requirements() {
        assert_eq!(Incident::all().len(), TABLE.lines().count() - 1);
        for incident in Incident::all() {
            let (repository, number) = incident.issue.split_once('#').expect("an issue has a number");
            assert!(repository.split('/').count() == 2 && number.parse::<u64>().is_ok(), "{}", incident.issue);
            assert!(incident.what.ends_with('.') && incident.what.len() < 160, "{}", incident.issue);
            for id in &incident.requirements {
                assert!(!Catalogue::get().all(id).is_empty(), "{} names {id}, which is no requirement", incident.issue);
            }
            let again = Incident::all().iter().filter(|other| other.issue == incident.issue).count();
            assert_eq!(again, 1, "{} stands twice", incident.issue);
        }
    }
}
