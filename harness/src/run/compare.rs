//! The same case over stdio and HTTP: where the two verdicts differ, that is worth telling.

use std::collections::BTreeMap;

use mcp_conform_reports::model::{CheckResult, Verdict};

/// How the message of such advice begins.
pub const DIFFER: &str = "the transports differ";

/// One piece of advice for each check, requirement and subject that one transport passes and the other breaks.
pub(super) fn transports(results: &[CheckResult]) -> Vec<CheckResult> {
    type Key<'a> = (&'a str, &'a str, &'a str, &'a str);
    let mut sides: BTreeMap<Key<'_>, [Option<&CheckResult>; 2]> = BTreeMap::new();
    for result in results {
        let side = match result.transport.as_str() {
            "stdio" => 0,
            "http" => 1,
            _ => continue,
        };
        let key =
            (result.revision.as_str(), result.check.as_str(), result.requirement.as_str(), result.subject.as_str());
        let slot = &mut sides.entry(key).or_default()[side];
        // The worst of several verdicts stands for the side.
        if slot.is_none_or(|known| result.verdict < known.verdict) {
            *slot = Some(result);
        }
    }
    sides
        .into_values()
        .filter_map(|pair| {
            let [Some(stdio), Some(http)] = pair else { return None };
            let (broken, passed) = match (is_broken(stdio), is_broken(http)) {
                (true, false) if http.verdict == Verdict::Pass => (stdio, http),
                (false, true) if stdio.verdict == Verdict::Pass => (http, stdio),
                _ => return None,
            };
            let mut advice = broken.clone();
            advice.verdict = Verdict::Advice;
            advice.mild = None;
            advice.part = Some("beside the other transport".to_owned());
            advice.message = format!(
                "{DIFFER}: this is met over {} and broken over {}: {}",
                passed.transport, broken.transport, broken.message
            );
            Some(advice)
        })
        .collect()
}

fn is_broken(result: &CheckResult) -> bool {
    matches!(result.verdict, Verdict::Fail | Verdict::Warn)
}

#[cfg(test)]
mod tests {
    use mcp_conform_reports::model::Evidence;

    use super::*;

    fn result(transport: &str, verdict: Verdict) -> CheckResult {
        CheckResult {
            check: "c".to_owned(),
            requirement: "r".to_owned(),
            revision: "2025-11-25".to_owned(),
            transport: transport.to_owned(),
            verdict,
            level: "MUST".to_owned(),
            subject: String::new(),
            part: None,
            message: "m".to_owned(),
            evidence: Evidence::default(),
            occasions: 1,
            mild: None,
            fix: None,
            verify_with: None,
            excuse: None,
        }
    }

    #[test]
    fn a_difference_is_told_once() {
        let advice = transports(&[result("stdio", Verdict::Pass), result("http", Verdict::Fail)]);
        assert_eq!(advice.len(), 1);
        assert_eq!(advice[0].verdict, Verdict::Advice);
        assert!(advice[0].message.contains("met over stdio and broken over http"));
    }

    #[test]
    fn what_could_not_be_verified_is_no_difference() {
        assert!(transports(&[result("stdio", Verdict::NotVerified), result("http", Verdict::Fail)]).is_empty());
        assert!(transports(&[result("stdio", Verdict::Fail), result("http", Verdict::Fail)]).is_empty());
    }
}
