//! Which exit code a report earns.

use mcp_conform_reports::exit::{Exit, FailOn, Policy, REVISION_SUPPORTED, decide, told};
use mcp_conform_reports::model::{Excuse, ExcuseKind, Report, Standing, TargetStatus, Verdict};

use crate::fixture;

fn only(verdicts: &[Verdict]) -> Report {
    let mut report = fixture::everything();
    report.results.retain(|result| verdicts.contains(&result.verdict));
    report
}

fn exit(report: &Report) -> Exit {
    decide(report, &Policy::default())
}

#[test]
fn the_first_that_applies_wins() {
    let mut report = fixture::everything();
    assert_eq!(exit(&report), Exit::Bug);
    report.results.retain(|result| result.verdict != Verdict::HarnessError);
    report.interrupted = Some("Ctrl-C".into());
    report.target.status = TargetStatus::Exited;
    assert_eq!(exit(&report), Exit::Interrupted);
    report.interrupted = None;
    assert_eq!(exit(&report), Exit::Unavailable);
    report.target.status = TargetStatus::Ok;
    assert_eq!(exit(&report), Exit::Findings);
}

#[test]
fn fail_on_names_the_mildest_verdict_that_counts() {
    let on = |verdict, fail_on| decide(&only(&[verdict]), &Policy { fail_on, ..Policy::default() });
    assert_eq!(on(Verdict::Fail, FailOn::Fail), Exit::Findings);
    assert_eq!(on(Verdict::Fail, FailOn::Never), Exit::Clean);
    assert_eq!(on(Verdict::Warn, FailOn::Fail), Exit::Clean);
    assert_eq!(on(Verdict::Warn, FailOn::Warn), Exit::Findings);
    assert_eq!(on(Verdict::Contested, FailOn::Warn), Exit::Clean);
}

#[test]
fn nothing_judged_is_no_clean_run() {
    assert_eq!(exit(&only(&[])), Exit::Unjudged);
    assert_eq!(exit(&only(&[Verdict::NotVerified, Verdict::NotApplicable, Verdict::Advice])), Exit::Unjudged);
    assert_eq!(exit(&only(&[Verdict::Pass])), Exit::Clean);
}

#[test]
fn the_unverified_are_counted_where_a_limit_is_given() {
    let report = only(&[Verdict::Pass, Verdict::NotVerified]);
    let with = |limit| decide(&report, &Policy { max_unverified: Some(limit), ..Policy::default() });
    assert_eq!(exit(&report), Exit::Clean);
    assert_eq!(with(4), Exit::Clean);
    assert_eq!(with(3), Exit::Unjudged);
}

#[test]
fn a_revision_asked_for_has_to_be_there() {
    let report = only(&[Verdict::Pass]);
    let asked = |revision: &str| decide(&report, &Policy { asked: vec![revision.into()], ..Policy::default() });
    assert_eq!(asked("2025-11-25"), Exit::Findings);
    assert_eq!(asked("2026-07-28"), Exit::Clean);
    assert_eq!(asked("2099-01-01"), Exit::Findings);
}

#[test]
fn what_is_excused_does_not_count_and_what_is_stale_does() {
    let exit = |report: &Report, fail_on| decide(report, &Policy { fail_on, ..Policy::default() });
    let mut report = fixture::excused();
    report.results.retain(|result| result.excuse.is_some());
    assert_eq!(exit(&report, FailOn::Fail), Exit::Findings, "a stale line");
    assert_eq!(exit(&report, FailOn::Never), Exit::Clean);
    let baseline = report.baseline.as_mut().expect("a baseline");
    baseline.entries.retain(|entry| entry.standing != Standing::Stale);
    assert_eq!(exit(&report, FailOn::Fail), Exit::Clean);
    assert_eq!(exit(&report, FailOn::Warn), Exit::Findings, "a failure that counts as a warning");
    report.results.retain(|result| result.excuse.as_ref().is_some_and(|excuse| excuse.counts_as.is_none()));
    assert_eq!(exit(&report, FailOn::Warn), Exit::Clean);
    report.results.push(only(&[Verdict::Fail]).results.remove(0));
    assert_eq!(exit(&report, FailOn::Fail), Exit::Findings, "a failure that is not listed");
}

#[test]
fn what_a_set_does_not_have_is_no_more_unverified_than_allowed() {
    let mut report = only(&[Verdict::Pass, Verdict::NotVerified]);
    for result in report.results.iter_mut().filter(|result| result.requirement.starts_with("mrtr-")) {
        let reason = "not in 2026-07-28@1.0".to_owned();
        result.excuse = Some(Excuse { kind: ExcuseKind::New, reason, counts_as: None });
    }
    let with = |limit| decide(&report, &Policy { max_unverified: Some(limit), ..Policy::default() });
    assert_eq!((with(1), with(0)), (Exit::Clean, Exit::Unjudged));
}

#[test]
fn a_revision_that_is_listed_as_missing_is_known() {
    let mut report = only(&[Verdict::Pass]);
    let mut missing = report.results[0].clone();
    missing.requirement = REVISION_SUPPORTED.to_owned();
    missing.revision = "2025-11-25".to_owned();
    missing.verdict = Verdict::Fail;
    missing.excuse = Some(Excuse { kind: ExcuseKind::Known, reason: "later".to_owned(), counts_as: None });
    report.results.push(missing);
    assert_eq!(decide(&report, &Policy { asked: vec!["2025-11-25".into()], ..Policy::default() }), Exit::Clean);
}

#[test]
fn every_code_is_its_own() {
    let all =
        [Exit::Bug, Exit::Usage, Exit::Interrupted, Exit::Unavailable, Exit::Findings, Exit::Unjudged, Exit::Clean];
    assert_eq!(all.map(Exit::code), [5, 2, 130, 3, 1, 4, 0]);
    // The table of README.md, in the order in which they apply.
    let readme = include_str!("../../../README.md");
    let table = readme.split_once("### Exit codes").and_then(|(_, rest)| rest.split_once("### ")).expect("the table").0;
    let told: Vec<_> =
        table.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(' ')?.0.parse::<u8>().ok()).collect();
    assert_eq!(told, all.map(Exit::code));
}

/// The line names what failed this run, and not all that might.
#[test]
fn the_causes_of_this_run_are_named() {
    let with = |report: &Report, policy: Policy| {
        let report = Report { policy: Some(policy.clone()), ..report.clone() };
        told(decide(&report, &policy), &report)
    };
    let broken = "something is broken that --fail-on counts";
    let stale = "a line of the baseline is stale";
    let missing = "a revision that was asked for is missing";
    let asked = || Policy { asked: vec!["2099-01-01".into()], ..Policy::default() };
    assert_eq!(with(&only(&[Verdict::Fail]), Policy::default()), broken);
    assert_eq!(with(&only(&[Verdict::Pass]), asked()), missing);
    let mut report = fixture::excused();
    report.results.retain(|result| result.excuse.is_some());
    assert_eq!(with(&report, Policy::default()), stale);
    report.results.extend(only(&[Verdict::Fail]).results);
    assert_eq!(with(&report, asked()), format!("{broken}, {missing} and {stale}"));
    let open = only(&[Verdict::Pass, Verdict::NotVerified]);
    assert_eq!(
        with(&open, Policy { max_unverified: Some(1), ..Policy::default() }),
        "4 are not verified, and --max-unverified allows 1"
    );
    assert_eq!(with(&only(&[]), Policy::default()), "nothing was judged");
    // What the report does not know is not guessed.
    assert_eq!(told(Exit::Findings, &only(&[Verdict::Pass])), Exit::Findings.meaning());
}
