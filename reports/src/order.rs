//! The one order in which results are told: the same run gives the same file, whatever ran first.

use std::collections::BTreeMap;

use crate::model::{CheckResult, Report, Verdict};

type Key<'a> = (&'a str, Verdict, &'a str, &'a str, &'a str, &'a str, &'a str, &'a str);

/// The results by revision, verdict (the gravest first), area, requirement, check, subject and transport.
pub fn sorted(report: &Report) -> Vec<&CheckResult> {
    let areas = Areas::of(report);
    let mut results: Vec<_> = report.results.iter().collect();
    results.sort_by(|a, b| areas.key(a).cmp(&areas.key(b)));
    results
}

/// Puts results and requirements of a report into the order of [`sorted`].
pub fn sort(report: &mut Report) {
    report.results = sorted(report).into_iter().cloned().collect();
    report.requirements.sort_by(|a, b| (&a.id, &a.revision).cmp(&(&b.id, &b.revision)));
}

struct Areas<'a>(BTreeMap<(&'a str, &'a str), &'a str>);

impl<'a> Areas<'a> {
    fn of(report: &'a Report) -> Self {
        Self(
            report
                .requirements
                .iter()
                .map(|info| ((info.id.as_str(), info.revision.as_str()), info.area.as_str()))
                .collect(),
        )
    }

    fn key(&self, result: &'a CheckResult) -> Key<'a> {
        let area = self.0.get(&(result.requirement.as_str(), result.revision.as_str())).copied().unwrap_or_default();
        (
            &result.revision,
            result.verdict,
            area,
            &result.requirement,
            &result.check,
            &result.subject,
            &result.transport,
            &result.message,
        )
    }
}
