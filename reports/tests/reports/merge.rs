//! What is merged into one finding, and what is not.

use mcp_conform_reports::merge;
use mcp_conform_reports::model::{CheckResult, Report, Verdict};

use crate::fixture;

/// A report whose only results are the given changes of one failure.
fn report(changes: &[&dyn Fn(&mut CheckResult)]) -> Report {
    let mut report = fixture::everything();
    let base = report.results.iter().find(|result| result.check == "near-miss").cloned().expect("a failure");
    let base = CheckResult { subject: "add".into(), message: "add ran".into(), ..base };
    report.results = changes
        .iter()
        .map(|change| {
            let mut result = base.clone();
            change(&mut result);
            result
        })
        .collect();
    report
}

fn counts(report: &Report) -> Vec<usize> {
    merge::merge_findings(report).iter().map(|finding| finding.variants.len()).collect()
}

#[test]
fn no_result_is_lost() {
    for report in [fixture::everything(), fixture::many(), fixture::hostile()] {
        let merged: usize = merge::merge_findings(&report).iter().map(|finding| finding.results().count()).sum();
        let told = report
            .results
            .iter()
            .filter(|result| !matches!(result.verdict, Verdict::Pass | Verdict::NotApplicable | Verdict::NotVerified))
            .count();
        assert_eq!(merged, told);
        let reasons = merge::merge_by_reason(&report, Verdict::NotVerified);
        let unverified = report.results.iter().filter(|result| result.verdict == Verdict::NotVerified).count();
        assert_eq!(reasons.iter().map(|reason| reason.results.len()).sum::<usize>(), unverified);
    }
}

#[test]
fn one_fault_over_subjects_and_transports_is_one_variant() {
    let report = report(&[&|_| {}, &|result| result.transport = "http".into(), &|result| {
        (result.subject, result.message) = ("sub".into(), "sub ran".into())
    }]);
    assert_eq!(counts(&report), [1]);
    let finding = &merge::merge_findings(&report)[0];
    assert_eq!(finding.variants[0].subjects(), ["add", "sub"]);
    assert_eq!(finding.variants[0].transports(), ["http", "stdio"]);
}

#[test]
fn another_message_or_check_is_another_variant() {
    let report = report(&[
        &|_| {},
        &|result| result.message = "add crashed".into(),
        &|result| result.check = "other".into(),
        // The subject within a longer word is no mention of the subject.
        &|result| result.message = "adder ran".into(),
    ]);
    assert_eq!(counts(&report), [4]);
}

#[test]
fn another_requirement_or_verdict_is_another_finding() {
    let report = report(&[
        &|_| {},
        &|result| result.verdict = Verdict::Warn,
        &|result| result.requirement = "header-method-mismatch".into(),
        // This revision has the requirement in other words, or not at all.
        &|result| result.revision = "2025-11-25".into(),
    ]);
    assert_eq!(counts(&report), [1, 1, 1, 1]);
}

#[test]
fn the_result_with_an_exchange_is_shown() {
    let report = report(&[&|result| result.evidence = Default::default(), &|result| result.subject = "zip".into()]);
    let findings = merge::merge_findings(&report);
    assert!(findings[0].variants.iter().any(|variant| variant.shown.evidence.received.is_some()));
}
