//! The reference server without a fault is clean in every configuration, and every check passes in at least one of them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::collections::{BTreeMap, BTreeSet};

use mcp_conform::proof::Suite;
use mcp_conform_reports::model::{CheckResult, Report, TargetStatus, Verdict};
use mcp_reference_server::{AnswerForm, Config, Eras, Transport};

/// A check by its id, a requirement and the revision.
type Check = (String, String, String);

/// Checks that pass on no sound server of ours: which, and why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[(
    "completions-undeclared",
    "completion-capability-declared",
    "no configuration has prompts and lacks completions",
)];

#[test]
fn a_sound_server_is_clean_and_every_check_passes_somewhere() {
    let suite = Suite::embedded();
    let mut found = String::new();
    let mut passed: BTreeSet<Check> = BTreeSet::new();
    let mut named: BTreeMap<Check, String> = BTreeMap::new();
    for (name, config) in configurations() {
        for transport in [Transport::Stdio, Transport::Http] {
            let report = judged(&suite, &config, transport);
            if report.target.status != TargetStatus::Ok {
                found.push_str(&format!("{name} over {transport:?}: {:?}\n", report.target));
            }
            for result in report.results {
                match result.verdict {
                    Verdict::Pass => drop(passed.insert(check(&result))),
                    Verdict::NotApplicable | Verdict::NotVerified => {
                        named.insert(check(&result), result.message);
                    }
                    _ => found.push_str(&format!(
                        "{name} over {transport:?}: {:?} {} {} [{}]: {}\n",
                        result.verdict, result.check, result.requirement, result.subject, result.message
                    )),
                }
            }
        }
    }
    assert!(found.is_empty(), "{found}");
    let excepted =
        |check: &Check| EXCEPTIONS.iter().any(|(id, requirement, _)| *id == check.0 && *requirement == check.1);
    let never: Vec<_> = named.iter().filter(|(check, _)| !passed.contains(*check) && !excepted(check)).collect();
    assert!(never.is_empty(), "never passed: {never:?}");
    for (id, requirement, why) in EXCEPTIONS {
        let passes = passed.iter().any(|check| check.0 == *id && check.1 == *requirement);
        assert!(!passes && !why.is_empty(), "{id} passes on {requirement}, so it is no exception");
    }
}

fn check(result: &CheckResult) -> Check {
    (result.check.clone(), result.requirement.clone(), result.revision.clone())
}

fn judged(suite: &Suite, config: &Config, transport: Transport) -> Report {
    // A runtime of its own for each, so that no task of one outlives it into the next.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(suite.judge_reference(config, transport))
}

fn configurations() -> Vec<(String, Config)> {
    let mut out = Vec::new();
    for eras in [Eras::Dual, Eras::LegacyOnly, Eras::ModernOnly] {
        for answers in [AnswerForm::Auto, AnswerForm::Json, AnswerForm::Sse] {
            for sessions in [true, false] {
                for page_size in [Some(3), None] {
                    let name = format!("{eras:?}, {answers:?}, sessions {sessions}, pages of {page_size:?}");
                    out.push((name, Config { eras, answers, sessions, page_size, ..Config::default() }));
                }
            }
        }
    }
    // Nothing but what every server has: what is not declared is not served.
    out.push(("nothing declared".to_owned(), Config { bare: true, ..Config::default() }));
    out.push(("an extension".to_owned(), Config { extension: true, ..Config::default() }));
    // As the SDK for Rust does it: a notification before the era is settled ends the process.
    out.push(("an era to be settled".to_owned(), Config { settles_era: true, ..Config::default() }));
    // Subscriptions that end by themselves.
    let limit = Some(std::time::Duration::from_millis(300));
    out.push(("subscriptions that end".to_owned(), Config { listen_limit: limit, ..Config::default() }));
    out
}
