//! What a line of the baseline excuses, and when it is needed no more.

use mcp_conform_reports::baseline;
use mcp_conform_reports::model::{BaselineEntry, Report, Standing, TargetStatus, Verdict};

use crate::fixture;

fn entry(check: &str) -> BaselineEntry {
    BaselineEntry { check: check.into(), reason: "known".into(), ..BaselineEntry::default() }
}

/// How many results one line excuses, how it stands, and why.
fn told(report: &Report, entry: BaselineEntry) -> (usize, Standing, String) {
    settled(report, entry, None)
}

fn settled(report: &Report, entry: BaselineEntry, partial: Option<&str>) -> (usize, Standing, String) {
    let mut report = report.clone();
    let mut entries = vec![entry];
    baseline::mark(&mut report, &entries).expect("a glob");
    let excused = report.results.iter().filter(|result| result.excuse.is_some()).count();
    baseline::settle(&[report], &mut entries, partial).expect("a glob");
    let entry = entries.remove(0);
    assert_eq!(entry.standing == Standing::Used, entry.results > 0);
    (excused, entry.standing, entry.why)
}

fn standing(report: &Report, entry: BaselineEntry) -> Standing {
    told(report, entry).1
}

#[test]
fn what_is_broken_is_excused() {
    let report = fixture::everything();
    assert_eq!(
        told(&report, entry("tools-call-schema-checked")),
        (16, Standing::Used, "16 results broken still".into())
    );
    assert_eq!(told(&report, entry("near-miss")).0, 16);
    assert_eq!(told(&report, entry("tools-call-schema-checked/near-miss")).0, 16);
    assert_eq!(told(&report, entry("tools-call-*")).0, 16);
    let over_http = BaselineEntry { transport: Some("http".into()), ..entry("near-miss") };
    assert_eq!(told(&report, over_http).0, 8);
    let tool = BaselineEntry { subject: Some("tool get-*".into()), ..entry("near-miss") };
    assert_eq!(told(&report, tool).0, 2);
    let older = BaselineEntry { revision: Some("2025-11-25".into()), ..entry("envelope") };
    assert_eq!(told(&report, older).0, 1);
    assert_eq!(told(&report, entry("stdio-exit-on-eof")).0, 1, "a warning is broken, too");
}

#[test]
fn our_own_faults_are_never_excused() {
    let mut report = fixture::everything();
    report.results.retain(|result| result.verdict == Verdict::HarnessError);
    let (excused, standing, why) = told(&report, entry("*"));
    assert_eq!((excused, standing), (0, Standing::Open));
    assert!(why.contains("could not be judged"), "{why}");
}

#[test]
fn what_was_judged_and_is_not_broken_is_stale() {
    let report = fixture::everything();
    assert_eq!(told(&report, entry("tools-name-unique")), (0, Standing::Stale, "it passes now".into()));
    assert_eq!(told(&report, entry("big-id")), (0, Standing::Stale, "it is no failure any more: contested".into()));
    assert_eq!(standing(&report, entry("logging-deprecated")), Standing::Stale);
}

#[test]
fn what_was_not_judged_is_neither_used_nor_stale() {
    let report = fixture::everything();
    let why = |entry| match told(&report, entry) {
        (0, Standing::Open, why) => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        why(entry("mrtr-state-exact")),
        "mrtr-state-exact could not be judged: no tool that asks for input was found"
    );
    assert_eq!(why(entry("sessions")), "it does not apply: the server serves no revision with sessions");
    assert_eq!(why(entry("never-run")), "the run left it out");
    let revision = |text: &str| Some(text.to_owned());
    assert_eq!(
        why(BaselineEntry { revision: revision("2099-01-01"), ..entry("tool-names") }),
        "2099-01-01 was not judged"
    );
    assert_eq!(why(BaselineEntry { server: Some("other*".into()), ..entry("near-miss") }), "it is for another server");
    let mut stdio = report.clone();
    stdio.target.transports = vec!["stdio".into()];
    let over_http = BaselineEntry { transport: Some("http".into()), ..entry("tool-names") };
    assert_eq!(told(&stdio, over_http).2, "the run was not over http");
    // One of several that were named was not judged: it may be the one that was broken.
    assert_eq!(standing(&report, entry("{tools-name-unique,mrtr-*}")), Standing::Open);
}

#[test]
fn a_run_that_was_not_whole_makes_nothing_stale() {
    let stale = || entry("tools-name-unique");
    let mut report = fixture::everything();
    report.interrupted = Some("Ctrl-C".into());
    assert_eq!(told(&report, stale()).2, "the run was interrupted: Ctrl-C");
    report = fixture::everything();
    report.target.status = TargetStatus::Exited;
    assert_eq!(standing(&report, stale()), Standing::Open);
    report = fixture::everything();
    assert_eq!(settled(&report, stale(), Some("a part ran")), (0, Standing::Open, "a part ran".into()));
    assert_eq!(settled(&report, entry("near-miss"), Some("a part ran")).1, Standing::Used);
}

#[test]
fn a_server_has_several_names() {
    let mut report = fixture::everything();
    report.target.label = Some("main".into());
    for name in ["main", "example-server", "example-server 1.2.3", "example*", "node dist/*"] {
        let named = BaselineEntry { server: Some(name.into()), ..entry("near-miss") };
        assert_eq!(standing(&report, named), Standing::Used, "{name}");
    }
}

#[test]
fn a_line_is_held_against_all_servers_of_a_fleet() {
    let broken = fixture::everything();
    let clean = fixture::clean();
    let mut entries = [entry("base-jsonrpc-member-2-0"), entry("tools-name-unique")];
    baseline::settle(&[clean, broken], &mut entries, None).expect("a glob");
    assert_eq!(entries.map(|entry| entry.standing), [Standing::Used, Standing::Stale]);
}
