//! `--requirements REVISION@RELEASE`: what a frozen set does not have informs and does not fail, what it graded more mildly
//! counts as it did then.

use mcp_conform_cases::{FrozenSet, Grade, frozen_sets, nearest};
use mcp_conform_reports::{
    model::{CheckResult, Excuse, ExcuseKind, Report, Summary, Verdict},
    render::Options,
};
use serde_json::json;

use super::{args::TextFormat, error::UsageError, output};

/// The chosen sets, at most one a revision.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sets(Vec<&'static FrozenSet>);

impl Sets {
    pub(crate) fn chosen(names: &[String]) -> Result<Self, UsageError> {
        let mut out: Vec<&'static FrozenSet> = Vec::new();
        for name in names {
            let known = frozen_sets().iter().map(|set| set.name);
            let set = frozen_sets().iter().find(|set| set.name == name).ok_or_else(|| {
                let all = known.clone().collect::<Vec<_>>().join(", ");
                let help = match nearest(name, known.clone()).first() {
                    Some(near) => format!("did you mean {near}? There are {all}"),
                    None => format!("there are {all}"),
                };
                UsageError::flag("requirements", name, "is no requirement set", help)
            })?;
            match out.iter().find(|other| other.revision == set.revision) {
                Some(same) if same.name == set.name => {}
                Some(other) => {
                    let why = format!("is of one revision with {}", other.name);
                    return Err(UsageError::flag("requirements", name, why, "choose one set a revision"));
                }
                None => out.push(set),
            }
        }
        Ok(Self(out))
    }

    /// Excuses what the sets do not have, or have with a milder grade.
    pub(crate) fn mark(&self, report: &mut Report) {
        for result in &mut report.results {
            result.excuse = self.excuse(result);
        }
        report.requirement_sets = self.0.iter().map(|set| set.name.to_owned()).collect();
        report.summary = Summary::of(&report.results);
    }

    /// Requirements of the user's own stand in no set and count as ever; so do faults of ours.
    pub(crate) fn excuse(&self, result: &CheckResult) -> Option<Excuse> {
        let set = self.0.iter().find(|set| set.revision.as_str() == result.revision)?;
        let counts = matches!(result.verdict, Verdict::Fail | Verdict::Warn | Verdict::NotVerified);
        if !counts || result.requirement.starts_with("own/") {
            return None;
        }
        let new = |reason| Some(Excuse { kind: ExcuseKind::New, reason, counts_as: None });
        let Some(row) = set.row(&result.requirement) else {
            return new(format!("not in {}", set.name));
        };
        if !row.checks.contains(&result.check.as_str()) {
            return new(format!("the check {} is not in {}", result.check, set.name));
        }
        let then = match row.grade {
            Grade::Fail => Verdict::Fail,
            Grade::Warn => Verdict::Warn,
            Grade::Advice | Grade::Tolerance | Grade::None => Verdict::Advice,
        };
        // The gravest stands first among the verdicts.
        (result.verdict != Verdict::NotVerified && then > result.verdict).then(|| Excuse {
            kind: ExcuseKind::Regraded,
            reason: format!("{} in {}", row.grade, set.name),
            counts_as: Some(then),
        })
    }
}

/// `list --requirements`.
pub(crate) fn list(format: TextFormat) -> Result<u8, UsageError> {
    let text = match format {
        TextFormat::Json => {
            let sets = frozen_sets().iter().map(|set| {
                let requirements =
                    set.rows().map(|(id, row)| json!({"id": id, "grade": row.grade, "checks": row.checks}));
                json!({
                    "name": set.name,
                    "revision": set.revision.as_str(),
                    "release": set.release,
                    "requirements": requirements.collect::<Vec<_>>(),
                })
            });
            format!("{:#}\n", serde_json::Value::Array(sets.collect()))
        }
        TextFormat::Text => {
            let lines = frozen_sets().iter().map(|set| format!("  {}  {} requirements\n", set.name, set.len()));
            format!("Requirement sets: choose one a revision by run --requirements\n{}", lines.collect::<String>())
        }
    };
    output::write(None, "format", Options::default(), |_, out| out.write_all(text.as_bytes()))?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use mcp_conform_cases::{suite, withdrawn};
    use mcp_conform_reports::model::Evidence;

    use super::*;
    use crate::coverage::coverage;

    fn result(requirement: &str, check: &str, verdict: Verdict) -> CheckResult {
        CheckResult {
            check: check.to_owned(),
            requirement: requirement.to_owned(),
            revision: "2026-07-28".to_owned(),
            transport: "stdio".to_owned(),
            verdict,
            level: "MUST".to_owned(),
            subject: String::new(),
            part: None,
            message: String::new(),
            evidence: Evidence::default(),
            occasions: 1,
            mild: None,
            fix: None,
            verify_with: None,
            excuse: None,
        }
    }

    #[test]
    fn what_a_set_does_not_have_informs() {
        let sets = Sets::chosen(&["2026-07-28@1.0".to_owned()]).unwrap();
        let find = |grade| {
            let (id, row) = sets.0[0].rows().find(|(_, row)| row.grade == grade).unwrap();
            (id, row.checks[0])
        };
        let kind = |id: &str, check: &str, verdict| {
            sets.excuse(&result(id, check, verdict)).map(|excuse| (excuse.kind, excuse.counts_as))
        };
        let (fail, check) = find(Grade::Fail);
        assert_eq!(kind(fail, check, Verdict::Fail), None);
        assert_eq!(kind(fail, check, Verdict::Warn), None);
        assert_eq!(kind(fail, "a-later-check", Verdict::Fail), Some((ExcuseKind::New, None)));
        assert_eq!(kind("a-later-requirement", check, Verdict::Fail), Some((ExcuseKind::New, None)));
        assert_eq!(kind("a-later-requirement", check, Verdict::NotVerified), Some((ExcuseKind::New, None)));
        assert_eq!(kind("a-later-requirement", check, Verdict::HarnessError), None);
        assert_eq!(kind("own/mine", "mine", Verdict::Fail), None);
        let (warn, check) = find(Grade::Warn);
        assert_eq!(kind(warn, check, Verdict::Fail), Some((ExcuseKind::Regraded, Some(Verdict::Warn))));
        assert_eq!(kind(warn, check, Verdict::Warn), None);
        assert_eq!(kind(warn, check, Verdict::NotVerified), None);
        let other = CheckResult { revision: "2025-11-25".to_owned(), ..result("x", "y", Verdict::Fail) };
        assert_eq!(sets.excuse(&other), None, "a revision without a set counts as ever");
    }

    /// A check that is renamed would leave a set silently, and what it finds would be new for ever.
    #[test]
    fn every_check_of_a_set_judges_its_requirement_still_or_was_withdrawn() {
        let coverage = coverage(&suite().iter().collect::<Vec<_>>());
        let gone = |kind: &str, id: &str| withdrawn().any(|(known, of, _)| known == kind && of == id);
        for set in frozen_sets() {
            for (id, row) in set.rows() {
                for name in row.checks.iter().filter(|name| !gone("check", name) && !gone("requirement", id)) {
                    let key = format!("{}/{id}", set.revision);
                    let judges =
                        coverage.checks.iter().any(|check| check.id == *name && check.requirements.contains(&key));
                    assert!(judges, "{name} judges {key} no more: list the one or the other as withdrawn");
                }
            }
        }
    }
}
