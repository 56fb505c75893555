//! The result file: its contract, its round trip, and what happens to files of other versions.

use mcp_conform_reports::json::{self, Json};
use mcp_conform_reports::model::{Report, Summary, Verdict};
use mcp_conform_reports::order;
use mcp_conform_reports::render::{self, Options};
use serde_json::{Value, json};

use crate::fixture;

fn write(report: &Report) -> String {
    render::to_string(&Json, report, &Options::default())
}

fn value(report: &Report) -> Value {
    serde_json::from_str(&write(report)).expect("the result file is JSON")
}

#[test]
fn the_members_of_the_contract_are_there() {
    let file = value(&fixture::everything());
    assert_eq!(file["version"], json!(1));
    assert_eq!(file["target"]["status"], json!("ok"));
    for member in ["revision", "supported", "how"] {
        assert!(file["revisions"][0].get(member).is_some(), "no {member} in revisions");
    }
    let result =
        ["check", "requirement", "revision", "transport", "verdict", "level", "subject", "message", "evidence"];
    for one in file["results"].as_array().expect("results") {
        for member in result {
            assert!(one.get(member).is_some(), "no {member} in {one}");
        }
    }
    let summary = [
        "pass",
        "fail",
        "warn",
        "advice",
        "contested",
        "not-applicable",
        "not-verified",
        "harness-error",
        "known",
        "new",
    ];
    let names: Vec<_> = file["summary"].as_object().expect("summary").keys().collect();
    assert_eq!(names, summary);
    for member in ["process_starts", "requests", "waited_s"] {
        assert!(file["cost"].get(member).is_some(), "no {member} in cost");
    }
    insta::assert_snapshot!(write(&fixture::clean()));
}

#[test]
fn what_is_written_is_read_back() {
    let reports =
        [fixture::clean(), fixture::everything(), fixture::hostile(), fixture::interrupted(), fixture::excused()];
    for mut report in reports.into_iter().chain(fixture::STATUSES.map(fixture::unavailable)) {
        let back = json::read(write(&report).as_bytes()).expect("our own file");
        order::sort(&mut report);
        assert_eq!(back, report);
    }
}

#[test]
fn the_order_of_results_does_not_depend_on_the_run() {
    let report = fixture::everything();
    let mut other = report.clone();
    other.results.reverse();
    other.requirements.reverse();
    assert_eq!(write(&report), write(&other));
    let back = json::read(write(&report).as_bytes()).expect("our own file");
    let order: Vec<_> = back.results.iter().map(|result| (result.revision.as_str(), result.verdict)).collect();
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(order[0], ("2025-11-25", Verdict::Fail));
}

#[test]
fn the_summary_counts_the_results() {
    let mut report = fixture::everything();
    report.summary = Summary::default();
    report.cost.waited_s = f64::NAN;
    let back = json::read(write(&report).as_bytes()).expect("our own file");
    assert_eq!(back.summary, Summary::of(&report.results));
    assert_eq!(back.cost.waited_s, 0.0);
}

#[test]
fn unknown_members_are_skipped() {
    let report = fixture::clean();
    let mut file = value(&report);
    file["later"] = json!({"a": [1]});
    file["target"]["later"] = json!(null);
    file["results"][0]["later"] = json!("x");
    file["results"][0]["evidence"]["later"] = json!("x");
    assert_eq!(json::read(file.to_string().as_bytes()).expect("a file with more members"), report);
}

#[test]
fn members_of_ours_may_be_missing() {
    let file = json!({
        "version": 1,
        "tool": {"name": "mcp-conform", "version": "0.1.0", "seed": 0},
        "target": {"status": "ok", "name": "x", "transports": []},
        "revisions": [{"revision": "2025-11-25", "supported": true, "how": "it was"}],
        "results": [{
            "check": "c", "requirement": "r", "revision": "2025-11-25", "transport": "stdio", "verdict": "pass",
            "level": "MUST", "subject": "", "message": "", "evidence": {}
        }],
        "summary": {
            "pass": 1, "fail": 0, "warn": 0, "advice": 0, "contested": 0, "not-applicable": 0, "not-verified": 0,
            "harness-error": 0
        },
        "cost": {"process_starts": 1, "requests": 2, "waited_s": 0.5}
    });
    let report = json::read(file.to_string().as_bytes()).expect("the contract's members alone");
    assert_eq!(report.results.len(), 1);
}

#[test]
fn other_files_are_refused_by_name() {
    let message = |bytes: &[u8]| json::read(bytes).expect_err("not our file").to_string();
    assert_eq!(
        message(br#"{"version": 2, "results": "another shape"}"#),
        "a result file of version 2, this mcp-conform reads up to version 1: use a newer one"
    );
    assert_eq!(message(br#"{"version": 0}"#), "a result file of version 0, which never existed");
    assert!(message(b"").starts_with("not a result file of mcp-conform: "));
    assert!(message(b"<html>").starts_with("not a result file of mcp-conform: "));
    assert!(message(br#"{"name": "x"}"#).contains("missing field `version`"));
    assert!(message(br#"{"version": 1}"#).starts_with("a damaged result file: "));
    assert!(message("[".repeat(100_000).as_bytes()).starts_with("not a result file"));
}

/// Kept as it was written before anything was added to version 1. It is never written anew.
const VERSION_1: &str = include_str!("samples/version-1.json");

#[test]
fn the_first_files_are_still_read() {
    let report = json::read(VERSION_1.as_bytes()).expect("a file of version 1");
    assert_eq!(report.summary, Summary::of(&report.results));
    assert_eq!((report.summary.fail, report.summary.warn, report.summary.not_verified), (1, 23, 59));
    assert!(report.features.is_empty() && report.started.is_none());
}

#[test]
fn every_result_file_fits_the_published_schema() {
    let schema: Value = serde_json::from_str(json::SCHEMA).expect("the schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("the schema is one");
    let own = [
        fixture::clean(),
        fixture::everything(),
        fixture::hostile(),
        fixture::interrupted(),
        fixture::excused(),
        fixture::empty(),
    ];
    let own = own.iter().map(value).chain(fixture::STATUSES.map(|status| value(&fixture::unavailable(status))));
    let first = serde_json::from_str(VERSION_1).expect("the sample is JSON");
    for file in own.chain([first]) {
        let errors: Vec<_> = validator.iter_errors(&file).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
    // It is no schema that takes anything.
    let mut broken = value(&fixture::everything());
    broken["results"][0]["verdict"] = json!("perhaps");
    assert!(!validator.is_valid(&broken));
    broken = value(&fixture::everything());
    broken.as_object_mut().expect("an object").remove("target");
    assert!(!validator.is_valid(&broken));
}
