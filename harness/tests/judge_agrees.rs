//! Judging a trace file gives what the live run gave: the same occasions and the same breaches.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use mcp_conform::{
    proof::Suite,
    rules::{judge_file, rules},
    run::{Control, TOLD_UNDER, run},
};
use mcp_conform_reports::model::{Report, Verdict};
use mcp_reference_server::{Config, Fault, Faults, Transport, faults};
use tokio::sync::watch;

/// Faults that rules see, of every kind of event: lines, bodies, streams, bytes that are no text.
const FAULTS: &[Fault] = &[
    Fault::DuplicateAnswer,
    Fault::ErrorCodeString,
    Fault::IdStringified,
    Fault::InvalidUtf8,
    Fault::ListenTagStringified,
    Fault::MetaNameUnderscore,
    Fault::NotificationWithId,
    Fault::PrettyPrinted,
    Fault::PrimingWithText,
    Fault::ProgressDecreases,
    Fault::RetryNotNumeric,
];

type Key = (String, String, String);

#[test]
fn a_trace_file_is_judged_like_the_run_that_wrote_it() {
    compare(&Config::default(), Transport::Stdio, "no fault");
    compare(&Config::default(), Transport::Http, "no fault");
    for info in faults().iter().filter(|info| FAULTS.contains(&info.fault)) {
        let mut config = Config::default();
        if let Some(personality) = info.personality {
            personality(&mut config);
        }
        config.faults = Faults::one(info.fault);
        for transport in info.transports {
            compare(&config, *transport, info.name);
        }
    }
}

fn compare(config: &Config, transport: Transport, name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let report = runtime.block_on(live(config, transport, folder.path()));
    let (occasions, breaches) = from_files(folder.path());
    let of_rules: BTreeSet<&str> = rules().iter().map(|rule| rule.name).collect();
    let mut seen = BTreeSet::new();
    for result in report.results.iter().filter(|result| of_rules.contains(result.check.as_str())) {
        let key = (result.check.clone(), result.requirement.clone(), result.revision.clone());
        if result.verdict == Verdict::NotApplicable {
            continue;
        }
        let there = occasions.get(&key).copied().unwrap_or_default();
        assert_eq!(result.occasions, there, "{name} over {transport:?}: {key:?}");
        let told: &[String] = breaches.get(&key).map_or(&[], Vec::as_slice);
        if matches!(result.verdict, Verdict::Pass | Verdict::NotVerified) {
            assert!(told.is_empty() || result.message.starts_with(TOLD_UNDER), "{name}: {key:?}: {told:?}");
        } else {
            // The report adds how often, and what is contested.
            assert!(told.iter().any(|message| result.message.starts_with(message)), "{name}: {key:?}: {told:?}");
        }
        seen.insert(key);
    }
    let lost: Vec<_> = breaches.keys().filter(|key| !seen.contains(*key)).collect();
    assert!(lost.is_empty(), "{name} over {transport:?}: only in the files: {lost:?}");
}

async fn live(config: &Config, transport: Transport, folder: &Path) -> Report {
    let mut options = Suite::embedded().options(config, transport);
    options.trace_dir = Some(folder.to_owned());
    let (_keep, stop) = watch::channel(None);
    run(options, Control { progress: Arc::new(|_| {}), stop }).await
}

/// What the files of a folder say together: occasions, and the messages of breaches that are told on their own.
fn from_files(folder: &Path) -> (BTreeMap<Key, u64>, BTreeMap<Key, Vec<String>>) {
    let mut occasions: BTreeMap<Key, u64> = BTreeMap::new();
    let mut breaches: BTreeMap<Key, Vec<String>> = BTreeMap::new();
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        files += 1;
        for observation in judge_file(&entry.unwrap().path()).unwrap().observations {
            let key =
                (observation.rule.to_owned(), observation.requirement.to_owned(), observation.revision.to_string());
            *occasions.entry(key.clone()).or_default() += observation.occasions;
            let told = observation.violations.into_iter().filter(|violation| violation.under.is_none());
            for violation in told {
                breaches.entry(key.clone()).or_default().push(violation.message);
            }
        }
    }
    assert!(files > 0);
    (occasions, breaches)
}
