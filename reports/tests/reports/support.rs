//! The support report: what it says of each feature, and that its formats tell the same.

use mcp_conform_reports::html;
use mcp_conform_reports::json;
use mcp_conform_reports::markdown;
use mcp_conform_reports::matrix::Matrix;
use mcp_conform_reports::model::{
    CheckResult, FeatureCoverage, NotOffered, Report, RequirementInfo, TargetStatus, Verdict,
};
use mcp_conform_reports::render::{self, Options};
use mcp_conform_reports::support::{State, Support};
use mcp_conform_reports::terminal;

use crate::fixture;

fn page(render: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    render(&mut out).expect("a vector takes every write");
    String::from_utf8(out).expect("a report is text")
}

fn covered() -> Report {
    let mut report = fixture::everything();
    let coverage = |feature: &str, revision: &str, requirements, judged| FeatureCoverage {
        feature: feature.into(),
        revision: revision.into(),
        requirements,
        judged,
    };
    report.features = vec![
        coverage("tools", "2025-11-25", 20, 18),
        coverage("tools", "2026-07-28", 40, 30),
        coverage("auth", "2026-07-28", 38, 0),
        coverage("prompts", "2026-07-28", 12, 10),
        coverage("caching", "2025-11-25", 0, 0),
    ];
    report
}

fn state(report: &Report, revision: &str, feature: &str) -> State {
    let support = Support::of(report);
    let judged = support.judged.iter().find(|judged| judged.revision == revision).expect("a judged revision");
    judged.features.iter().find(|row| row.feature == feature).expect("a feature").state
}

#[test]
fn markdown_of_everything() {
    insta::assert_snapshot!(page(|out| markdown::support::write(&covered(), out)));
}

#[test]
fn terminal_of_everything() {
    insta::assert_snapshot!(page(|out| terminal::support::write(&covered(), &Options::default(), out)));
}

#[test]
fn json_of_everything() {
    insta::assert_snapshot!(page(|out| json::support(&covered(), out)));
}

#[test]
fn each_state_has_its_cause() {
    let report = covered();
    assert_eq!(state(&report, "2026-07-28", "tools"), State::Broken);
    assert_eq!(state(&report, "2026-07-28", "stdio"), State::Warnings);
    assert_eq!(state(&report, "2026-07-28", "auth"), State::NoCheck);
    assert_eq!(state(&report, "2026-07-28", "prompts"), State::NotJudged);
    assert_eq!(state(&report, "2025-11-25", "caching"), State::NotInRevision);
    assert_eq!(state(&report, "2026-07-28", "logging"), State::Advice);
    // Without the coverage, nothing is said about checks.
    assert_eq!(state(&fixture::everything(), "2026-07-28", "auth"), State::NotJudged);
    let mut clean = fixture::clean();
    assert_eq!(state(&clean, "2026-07-28", "tools"), State::Met);
    let mut open = clean.results[2].clone();
    open.verdict = Verdict::NotVerified;
    clean.results.push(open);
    assert_eq!(state(&clean, "2026-07-28", "tools"), State::MetInPart);
    clean.results.remove(2);
    assert_eq!(state(&clean, "2026-07-28", "tools"), State::NotVerified);
    clean.results[2].verdict = Verdict::Contested;
    assert_eq!(state(&clean, "2026-07-28", "tools"), State::Contested);
    clean.results[2].verdict = Verdict::NotApplicable;
    assert_eq!(state(&clean, "2026-07-28", "tools"), State::NotApplicable);
}

#[test]
fn what_blocks_most_comes_first() {
    let support = Support::of(&covered());
    let first = &support.blockers[0];
    assert!(first.requirements.is_empty() && first.remedy.starts_with("Serve 2025-11-25"), "{first:?}");
    let verdicts: Vec<_> = support.blockers.iter().map(|blocker| blocker.verdict).collect();
    assert!(verdicts.is_sorted(), "{verdicts:?}");
    // One remedy in two revisions is one change, and more than one that mends a single requirement.
    let second = &support.blockers[1];
    assert_eq!(second.requirements, ["2025-11-25/base-jsonrpc-member-2-0", "2026-07-28/base-jsonrpc-member-2-0"]);
    let all: u64 = support.blockers.iter().map(|blocker| blocker.results).sum();
    let broken = covered().results.iter().filter(|r| matches!(r.verdict, Verdict::Fail | Verdict::Warn)).count();
    assert_eq!(all, broken as u64);
}

/// That nothing of a feature was broken says nothing for it where the server does not have it, or where the run was not
/// over its transport.
#[test]
fn what_is_not_there_is_not_met() {
    let mut report = fixture::clean();
    let passed = |id: &str, area: &str| {
        let info = RequirementInfo { id: id.into(), area: area.into(), ..fixture::clean().requirements.remove(0) };
        let result = CheckResult { requirement: id.into(), ..fixture::clean().results.remove(0) };
        assert_eq!(result.verdict, Verdict::Pass);
        (info, result)
    };
    for (id, area) in [("logging-undeclared", "logging"), ("http-removed", "http"), ("tools-name", "tools")] {
        let (info, result) = passed(id, area);
        report.requirements.push(info);
        report.results.push(result);
    }
    let state = |report: &Report, feature: &str| {
        let support = Support::of(report);
        let row = support.judged[0].features.iter().find(|row| row.feature == feature).expect("a feature");
        row.state
    };
    let cell = |report: &Report, area: &str| {
        let reports = [report.clone()];
        let matrix = Matrix::of(&reports);
        let at = matrix.areas.iter().position(|known| *known == area).expect("an area");
        matrix.servers[0].areas[at].map(|cell| cell.verdict)
    };
    report.target.transports = vec!["stdio".into(), "http".into()];
    assert_eq!((state(&report, "logging"), state(&report, "http")), (State::Met, State::Met));
    assert_eq!((cell(&report, "logging"), cell(&report, "http")), (Some(Verdict::Pass), Some(Verdict::Pass)));
    report.target.transports = vec!["stdio".into()];
    let why = "the server does not declare the capability logging".into();
    report.not_offered = vec![NotOffered { feature: "logging".into(), revision: "2025-11-25".into(), why }];
    assert_eq!((state(&report, "logging"), state(&report, "http")), (State::NotApplicable, State::NotJudged));
    assert_eq!((cell(&report, "logging"), cell(&report, "http")), (Some(Verdict::NotApplicable), None));
    assert_eq!(state(&report, "tools"), State::Met);
    // What was found stands.
    report.results.iter_mut().for_each(|result| result.verdict = Verdict::Fail);
    assert_eq!((state(&report, "logging"), state(&report, "http")), (State::Broken, State::Broken));
}

#[test]
fn a_deprecated_feature_is_told_only_when_it_was_seen() {
    let mut report = fixture::clean();
    assert!(Support::of(&report).deprecated.is_empty());
    let seen = |verdict, occasions| CheckResult {
        requirement: "roots-request-shape".into(),
        revision: "2026-07-28".into(),
        verdict,
        occasions,
        ..fixture::clean().results.remove(0)
    };
    report.results.push(seen(Verdict::NotVerified, 0));
    assert!(Support::of(&report).deprecated.is_empty());
    report.results.push(seen(Verdict::Pass, 0));
    assert!(Support::of(&report).deprecated.is_empty());
    report.results.push(seen(Verdict::Pass, 1));
    let used = Support::of(&report).deprecated;
    assert_eq!(used.iter().map(|used| used.title).collect::<Vec<_>>(), ["Roots"]);
}

#[test]
fn the_formats_count_alike() {
    for report in [covered(), fixture::clean(), fixture::many(), fixture::empty()] {
        let support = Support::of(&report);
        let text = page(|out| json::support(&report, out));
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let pages = [
            page(|out| markdown::support::write(&report, out)),
            page(|out| html::support::write(&report, &Options::default(), out)),
        ];
        for (index, judged) in support.judged.iter().enumerate() {
            assert_eq!(value["judged"][index]["verified"]["judged"], judged.verified.judged);
            for page in &pages {
                assert!(page.contains(&judged.revision), "{} is missing", judged.revision);
            }
            for row in judged.features.iter().filter(|row| row.summary.counts().iter().any(|(_, n)| *n > 0)) {
                for page in &pages {
                    assert!(page.contains(row.title), "{} is missing", row.title);
                }
            }
        }
        assert_eq!(value["blockers"].as_array().map(Vec::len), Some(support.blockers.len()));
    }
}

#[test]
fn a_server_that_was_not_judged_is_not_praised() {
    let mut report = fixture::unavailable(TargetStatus::Exited);
    report.revisions.clear();
    for page in [
        page(|out| markdown::support::write(&report, out)),
        page(|out| html::support::write(&report, &Options::default(), out)),
        render::to_string(&html::Html, &report, &Options::default()),
    ] {
        assert!(!page.contains("is broken.") && !page.contains("unverified."), "{page}");
        assert!(page.contains("Nothing was judged."), "{page}");
    }
}

#[test]
fn nothing_of_the_server_acts_on_a_reader() {
    let report = fixture::hostile();
    for page in [
        page(|out| markdown::support::write(&report, out)),
        page(|out| html::support::write(&report, &Options::default(), out)),
        page(|out| terminal::support::write(&report, &Options::default(), out)),
    ] {
        assert!(!page.contains("<script>|"), "{page}");
        assert_eq!(page.chars().find(|c| c.is_control() && *c != '\n'), None);
    }
}
