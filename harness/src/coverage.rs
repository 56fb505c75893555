//! Which requirements are judged, by which checks, and which faults prove it.
//!
//! A requirement is judged when a check names it and a fault of the reference server breaks it; the kill table in the tests
//! shows that the one finds the other.

use std::collections::{BTreeMap, BTreeSet};

use mcp_conform_cases::{Catalogue, Grade, Observable, ast::Case};
use mcp_conform_reports::{feature, model::FeatureCoverage};
use mcp_conform_schemas::Revision;
use serde::Serialize;

use crate::{rules, script::each_requirement};

#[derive(Debug, Serialize)]
pub struct Coverage {
    /// Rows of the catalogue.
    pub requirements: usize,
    pub judged: usize,
    pub unjudged: Vec<Unjudged>,
    pub checks: Vec<Check>,
    /// Of `judged`, by revision.
    pub judged_by_revision: BTreeMap<String, usize>,
}

#[derive(Debug, Serialize)]
pub struct Unjudged {
    pub id: String,
    pub revision: String,
    pub reason: &'static str,
}

#[derive(Debug, Serialize)]
pub struct Check {
    pub id: String,
    /// `case` or `rule`.
    pub kind: &'static str,
    /// `REVISION/ID`.
    pub requirements: Vec<String>,
    /// Faults that break one of them.
    pub faults: Vec<String>,
}

type Key = (String, Revision);

pub fn coverage(cases: &[&Case]) -> Coverage {
    let mut checks: Vec<(String, &'static str, BTreeSet<Key>)> = Vec::new();
    for case in cases {
        let mut keys = BTreeSet::new();
        for step in &case.steps {
            each_requirement(&step.node, &mut |requirement| {
                for revision in &case.revisions {
                    if let Some(id) = requirement.of(*revision) {
                        keys.insert((id.node.clone(), *revision));
                    }
                }
            });
        }
        checks.push((case.id.node.clone(), "case", keys));
    }
    for rule in rules::rules() {
        let keys = rule.requirements.iter().map(|(id, revision)| ((*id).to_owned(), *revision)).collect();
        checks.push((rule.name.to_owned(), "rule", keys));
    }
    let named: BTreeSet<&Key> = checks.iter().flat_map(|(_, _, keys)| keys).collect();
    let mut by_fault: BTreeMap<Key, Vec<&str>> = BTreeMap::new();
    for fault in mcp_reference_server::faults() {
        for (id, revision) in fault.breaks {
            if let Ok(revision) = revision.parse() {
                by_fault.entry(((*id).to_owned(), revision)).or_default().push(fault.name);
            }
        }
    }
    let rows = Catalogue::get().rows();
    let mut judged_by_revision: BTreeMap<String, usize> = BTreeMap::new();
    let mut unjudged = Vec::new();
    for row in rows {
        let key = (row.id.to_owned(), row.revision);
        let has_check = named.contains(&key);
        let has_fault = by_fault.contains_key(&key);
        if has_check && has_fault {
            *judged_by_revision.entry(row.revision.to_string()).or_default() += 1;
            continue;
        }
        let reason = match (row.observable, row.grade, has_check) {
            (Observable::No, ..) | (_, Grade::None, _) => "cannot be seen from outside",
            (_, Grade::Tolerance, _) => {
                "a tolerance: covered by the personalities of the reference server, not by a check"
            }
            (_, _, true) => "a check looks at it, and no fault proves the check yet",
            (_, _, false) if row.needs.is_some() => "open: needs something that the server or the user has to bring",
            _ => "open: no check looks at it yet",
        };
        unjudged.push(Unjudged { id: row.id.to_owned(), revision: row.revision.to_string(), reason });
    }
    let checks = checks
        .into_iter()
        .map(|(id, kind, keys)| {
            let faults: BTreeSet<&str> = keys.iter().filter_map(|key| by_fault.get(key)).flatten().copied().collect();
            Check {
                id,
                kind,
                requirements: keys.iter().map(|(id, revision)| format!("{revision}/{id}")).collect(),
                faults: faults.into_iter().map(str::to_owned).collect(),
            }
        })
        .collect();
    Coverage { requirements: rows.len(), judged: rows.len() - unjudged.len(), unjudged, checks, judged_by_revision }
}

/// How much of each feature the suite judges, for the support report of a run.
pub fn features(cases: &[&Case]) -> Vec<FeatureCoverage> {
    let unjudged: BTreeSet<(String, String)> =
        coverage(cases).unjudged.into_iter().map(|row| (row.id, row.revision)).collect();
    let mut out = Vec::new();
    for revision in Revision::JUDGED {
        for feature in feature::features() {
            let rows = Catalogue::get().rows().iter().filter(|row| {
                row.revision == revision
                    && row.can_be_broken()
                    && row.observable != Observable::No
                    && feature::of(row.area, row.id).is_some_and(|of| of.id == feature.id)
            });
            let (mut requirements, mut judged) = (0, 0);
            for row in rows {
                requirements += 1;
                judged += u64::from(!unjudged.contains(&(row.id.to_owned(), row.revision.to_string())));
            }
            let (feature, revision) = (feature.id.to_owned(), revision.to_string());
            out.push(FeatureCoverage { feature, revision, requirements, judged });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_requirement_belongs_to_a_feature() {
        for row in Catalogue::get().rows() {
            assert!(feature::of(row.area, row.id).is_some(), "{} of {} has no feature", row.id, row.area);
        }
        for used in feature::deprecated() {
            for id in &used.seen_by {
                let known = used.revision.parse().ok().and_then(|revision| Catalogue::get().row(id, revision));
                assert!(known.is_some(), "{id} is no requirement of {}", used.revision);
            }
        }
    }
}
