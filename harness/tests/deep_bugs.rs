//! The deep bugs of the reference server are for a fuzzer: the whole scripted suite with all its rules finds none of them.
//!
//! Each is judged over one of its transports; `KILL_TABLE=all` judges them over all.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::sync::Mutex;

use mcp_conform::proof::Suite;
use mcp_conform_reports::model::{TargetStatus, Verdict};
use mcp_reference_server::{BugInfo, Config, Transport, bugs};

#[test]
fn no_scripted_case_reaches_a_deep_bug() {
    let suite = Suite::embedded();
    let all = std::env::var("KILL_TABLE").is_ok_and(|value| value == "all");
    let jobs = bugs().iter().enumerate().flat_map(|(turn, info)| {
        let count = if all { info.transports.len() } else { 1 };
        info.transports.iter().cycle().skip(turn).take(count).map(move |transport| (info, *transport))
    });
    let left: Mutex<Vec<(&BugInfo, Transport)>> = Mutex::new(jobs.collect());
    let found = Mutex::new(String::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, std::num::NonZero::get) {
            scope.spawn(|| {
                loop {
                    let Some((info, transport)) = left.lock().unwrap().pop() else { return };
                    let told = judged(&suite, info, transport);
                    found.lock().unwrap().push_str(&told);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{found}");
}

/// What the suite has against a server with this bug.
fn judged(suite: &Suite, info: &BugInfo, transport: Transport) -> String {
    // A runtime of its own for each, so that no task of one outlives it into the next.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let config = Config { bug: Some(info.bug), ..Config::default() };
    let report = runtime.block_on(suite.judge_reference(&config, transport));
    let mut told = String::new();
    if report.target.status != TargetStatus::Ok {
        told.push_str(&format!("{} over {transport:?}: {:?}\n", info.name, report.target));
    }
    for result in report.results {
        if !matches!(result.verdict, Verdict::Pass | Verdict::NotApplicable | Verdict::NotVerified) {
            let (verdict, check, id) = (result.verdict, result.check, result.requirement);
            told.push_str(&format!("{} over {transport:?}: {verdict:?} {check} {id}: {}\n", info.name, result.message));
        }
    }
    told
}
