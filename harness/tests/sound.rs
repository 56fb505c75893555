//! The reference server without a fault is clean in every configuration, and every check passes in at least one of them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::collections::{BTreeMap, BTreeSet};

use mcp_conform::proof::Suite;
use mcp_conform_reports::model::{CheckResult, Report, TargetStatus, Verdict};
use mcp_reference_server::{AnswerForm, Config, Eras, Transport};

/// A check by its id, a requirement and the revision.
type Check = (String, String, String);

/// Proven by sound and broken traces instead (`rules/proofs_schema.rs`).
const TRACES: &str =
    "the reference server sends nothing of the kind: no tasks, no url elicitations, no sampling with tools";

/// Checks that pass on no sound server of ours: which, and why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("completions-undeclared", "completion-capability-declared", "no configuration has prompts and lacks completions"),
    ("schema", "elicitation-complete-has-id", TRACES),
    ("schema", "elicitation-form-defaults-typed", TRACES),
    ("schema", "elicitation-form-enum-variants", TRACES),
    ("schema", "elicitation-form-string-formats", TRACES),
    ("schema", "elicitation-required-error-lists-elicitations", TRACES),
    ("schema", "elicitation-required-error-url-mode-ids", TRACES),
    ("schema", "elicitation-schema-boolean", TRACES),
    ("schema", "elicitation-schema-multi-enum", TRACES),
    ("schema", "elicitation-schema-string-format", TRACES),
    ("schema", "elicitation-url-params", TRACES),
    ("schema", "elicitation-url-required-fields", TRACES),
    ("schema", "extensions-settings-object", TRACES),
    ("schema", "lifecycle-serverinfo-optional-fields", TRACES),
    ("schema", "resources-updated-shape", TRACES),
    ("schema", "resources-updated-uri", TRACES),
    ("schema", "sampling-include-context-values", TRACES),
    ("schema", "sampling-tool-choice-values", TRACES),
    ("schema", "sampling-tool-definitions-valid", TRACES),
    ("schema", "sampling-toolchoice-mode", TRACES),
    ("schema", "sampling-tools-schemas-valid", TRACES),
    ("schema", "tasks-capability-shape", TRACES),
    ("schema", "tasks-create-result", TRACES),
    ("schema", "tasks-createdat-present", TRACES),
    ("schema", "tasks-get-flat-shape", TRACES),
    ("schema", "tasks-id-string", TRACES),
    ("schema", "tasks-lastupdatedat-present", TRACES),
    ("schema", "tasks-list-shape", TRACES),
    ("schema", "tasks-status-enum", TRACES),
    ("schema", "tasks-status-notification-full-task", TRACES),
    ("schema", "tasks-tasksupport-values", TRACES),
    ("schema", "tasks-ttl-in-every-task-object", TRACES),
];

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
    // Subscriptions that end by themselves.
    let limit = Some(std::time::Duration::from_millis(300));
    out.push(("subscriptions that end".to_owned(), Config { listen_limit: limit, ..Config::default() }));
    out
}
