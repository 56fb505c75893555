//! The fuzzer as a whole: the same seed gives the same inputs, a sound server gives no findings, a bug is found and made
//! small, and nothing that was found is lost.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
    time::Duration,
};

use mcp_conform::{
    conversation::StdioTarget,
    fuzz::{
        Finding, FuzzControl, FuzzError, FuzzOptions, FuzzOutcome, Kind, StoreError, findings, fuzz,
        in_memory as served, replay,
    },
    proof::Suite,
    run::ToolChoice,
};
use mcp_conform_schemas::Revision;
use mcp_reference_server::{Config, Faults, Transport};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::watch,
};

fn options(config: &Config, transport: Transport, out: &Path, inputs: u64) -> FuzzOptions {
    let mut run = Suite::embedded().options(config, transport);
    run.seed = 7;
    run.name = "the reference server in memory".to_owned();
    FuzzOptions {
        run,
        time: None,
        max_findings: None,
        max_inputs: Some(inputs),
        jobs: 1,
        out: out.to_owned(),
        corpus: Vec::new(),
        resume: false,
        rss_limit: u64::MAX,
        confirm: 3,
    }
}

fn control() -> FuzzControl {
    let (keep, stop) = watch::channel(None);
    // Whoever holds the sender could stop it; nobody does.
    std::mem::forget(keep);
    FuzzControl { status: Arc::new(|_| {}), found: Arc::new(|_| {}), tell: Arc::new(|_| {}), stop }
}

/// Runs with a paused clock, so that no wait costs anything and none depends on the machine.
fn in_memory<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(work)
}

fn campaign(options: impl FnOnce() -> FuzzOptions) -> Result<FuzzOutcome, FuzzError> {
    in_memory(async { fuzz(options(), control()).await })
}

#[test]
fn the_same_seed_gives_the_same_inputs() {
    let digest = |seed| {
        let dir = tempfile::tempdir().unwrap();
        let outcome = campaign(|| {
            let mut options = options(&Config::default(), Transport::Stdio, &dir.path().join("out"), 150);
            options.run.seed = seed;
            // States and ids of tasks are random and dated, and are handed back.
            options.run.tools = ToolChoice::None;
            options.run.revisions = vec![Revision::V2025_11_25];
            options
        });
        outcome.unwrap().digest
    };
    let first = digest(1);
    assert_eq!(first, digest(1));
    assert_ne!(first, digest(2));
}

/// A server of 2026-07-28 that does one thing after another: 50 ms for each answer, which is longer than anything is waited for
/// that nobody owes, and 400 ms for a call.
async fn leisurely(stdin: impl AsyncRead + Unpin, mut stdout: impl AsyncWrite + Unpin) -> i32 {
    let mut lines = BufReader::new(stdin).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let Some(id) = message.get("id").filter(|id| id.is_string() || id.is_i64()) else { continue };
        let method = message.get("method").and_then(Value::as_str);
        tokio::time::sleep(Duration::from_millis(if method == Some("tools/call") { 400 } else { 50 })).await;
        let answer = match method {
            Some("server/discover") => json!({"jsonrpc": "2.0", "id": id, "result": {
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "leisurely", "version": "1.0.0"}, "ttlMs": 0, "cacheScope": "private"}}),
            Some("tools/list") => json!({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", "tools": [
                {"name": "work", "annotations": {"readOnlyHint": true}, "inputSchema": {"type": "object",
                    "properties": {"on": {"type": "string"}}, "required": ["on"]}}], "ttlMs": 0, "cacheScope": "private"}}),
            Some("tools/call") => {
                json!({"jsonrpc": "2.0", "id": id, "result": {"resultType": "complete", "content": []}})
            }
            _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}}),
        };
        if stdout.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
            return 1;
        }
    }
    0
}

#[test]
fn a_slow_server_does_not_hang() {
    let dir = tempfile::tempdir().unwrap();
    let outcome = campaign(|| {
        let mut options = options(&Config::default(), Transport::Stdio, &dir.path().join("out"), 40);
        options.run.stdio = Some(StdioTarget::Memory(served(leisurely)));
        options.run.revisions = vec![Revision::V2026_07_28];
        options
    })
    .unwrap();
    let hangs = |finding: &&Finding| matches!(finding.kind, Kind::Hang | Kind::Lost);
    assert_eq!(outcome.findings.iter().filter(hangs).collect::<Vec<_>>(), Vec::<&Finding>::new());
    // A suspicion that is not seen again was none either.
    assert_eq!(outcome.not_again, 0);
    assert!(outcome.coverage.keys().any(|state| state.contains("subscriptions/listen")), "{:?}", outcome.coverage);
}

#[test]
fn a_sound_server_gives_no_findings() {
    // FUZZ_SEEDS=20 looks longer.
    let seeds: u64 = std::env::var("FUZZ_SEEDS").map_or(1, |seeds| seeds.parse().unwrap());
    for (transport, seed) in
        [Transport::Stdio, Transport::Http].into_iter().flat_map(|it| (0..seeds).map(move |seed| (it, seed)))
    {
        let dir = tempfile::tempdir().unwrap();
        let outcome = campaign(|| {
            let mut options = options(&Config::default(), transport, &dir.path().join("out"), 500);
            options.run.seed += seed;
            options
        });
        let outcome = outcome.unwrap();
        let told: Vec<_> = outcome
            .findings
            .iter()
            .map(|it| format!("{}: {} {}", it.key, it.message, serde_json::to_string(&it.input).unwrap()))
            .collect();
        assert!(told.is_empty(), "{transport:?}: {told:#?}");
        assert!(outcome.status.states > 50, "{}", outcome.status.states);
    }
}

fn broken() -> Config {
    let fault = mcp_reference_server::faults().iter().find(|info| info.name == "id-stringified").unwrap();
    Config { faults: Faults::one(fault.fault), ..Config::default() }
}

#[test]
fn a_bug_is_found_made_small_and_written_down() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let outcome = campaign(|| FuzzOptions { max_findings: Some(1), ..options(&broken(), Transport::Stdio, &out, 300) });
    let finding = outcome.unwrap().findings.into_iter().next().unwrap();
    assert_eq!(finding.requirement, "base-response-id-type-preserved");
    assert_eq!((finding.messages, finding.seen, finding.provisional), (1, 3, false), "{finding:#?}");
    let script = std::fs::read_to_string(out.join("findings").join(&finding.id).join("case.yaml")).unwrap();
    let source = mcp_conform_cases::ast::Source { name: "case.yaml".into(), text: script.as_str().into() };
    let case = mcp_conform_cases::parse_all([source]);
    assert!(case.is_ok(), "{script}\n{case:?}");
    assert_eq!(findings(&out.join("findings")).unwrap(), [finding]);
    // Seen again on the same server, and not on one that was mended.
    let again = |config: Config| {
        in_memory(async { replay(&out, options(&config, Transport::Stdio, &out, 0), control()).await }).unwrap()
    };
    let seen = |config| again(config).iter().map(|it| it.seen.unwrap().0).collect::<Vec<_>>();
    assert_eq!(seen(broken()), [3]);
    assert_eq!(seen(Config::default()), [0]);
}

/// Two bugs in one answer: what ends with the campaign before it was tried again is no bug that comes and goes.
#[test]
fn what_was_not_tried_again_is_told_so() {
    let bug = mcp_reference_server::bugs().iter().find(|info| info.name == "charset").unwrap();
    let found = |max_findings| {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let outcome = campaign(|| {
            let config = Config { bug: Some(bug.bug), ..Config::default() };
            let mut options = FuzzOptions { max_findings, ..options(&config, Transport::Http, &out, 600) };
            options.run.revisions = vec![Revision::V2026_07_28];
            options
        });
        let outcome = outcome.unwrap();
        let told: Vec<_> = outcome.report.results.iter().map(|result| result.message.clone()).collect();
        let kinds = outcome.findings.iter().map(|it| (it.kind, (it.seen, it.attempts, it.provisional))).collect();
        let kinds: BTreeMap<Kind, (u32, u32, bool)> = kinds;
        (kinds, told.concat())
    };
    let (kinds, told) = found(Some(1));
    assert_eq!(kinds[&Kind::ServerError], (3, 3, false));
    assert_eq!(kinds[&Kind::StackTrace], (1, 1, true));
    assert!(told.contains("before it was tried again"), "{told}");
    let (kinds, told) = found(None);
    assert_eq!(kinds[&Kind::ServerError], (3, 3, false));
    assert_eq!(kinds[&Kind::StackTrace], (3, 3, false));
    assert!(!told.contains("attempts") && !told.contains("tried again"), "{told}");
}

/// What the fuzzer says first in a conversation, its scripts say, too.
#[test]
fn the_script_of_a_finding_settles_the_era_first() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let outcome = campaign(|| {
        let mut options = FuzzOptions { max_findings: Some(1), ..options(&broken(), Transport::Stdio, &out, 300) };
        options.run.revisions = vec![Revision::V2026_07_28];
        options
    });
    let finding = outcome.unwrap().findings.into_iter().next().unwrap();
    let script = std::fs::read_to_string(out.join("findings").join(&finding.id).join("case.yaml")).unwrap();
    let first = script.split_once("steps:\n").unwrap().1.lines().next().unwrap();
    assert_eq!(first, r#"  - {"request":{"method":"tools/list"}}"#, "{script}");
}

#[test]
fn a_campaign_is_gone_on_with_and_its_folder_is_kept_from_others() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let base = |inputs| options(&Config::default(), Transport::Stdio, &out, inputs);
    campaign(|| base(80)).unwrap();
    let kept = std::fs::read_dir(out.join("corpus/legacy-stdio")).unwrap().count();
    assert!(kept > 20, "{kept}");
    let error = campaign(|| base(80)).unwrap_err();
    assert!(matches!(error, FuzzError::Store(StoreError::Taken(_))), "{error}");
    let resumed = campaign(|| FuzzOptions { resume: true, ..base(80) }).unwrap();
    assert!(resumed.status.inputs >= 80);
    let state = std::fs::read_to_string(out.join("campaign.json")).unwrap();
    assert!(state.contains("\"rounds\": 1") && state.contains("\"inputs\": 16"), "{state}");
    let other = campaign(|| {
        let mut options = FuzzOptions { resume: true, ..base(10) };
        options.run.name = "another".to_owned();
        options
    });
    assert!(matches!(other, Err(FuzzError::Store(StoreError::Other { .. }))));
    let nothing = campaign(|| FuzzOptions {
        resume: true,
        ..options(&Config::default(), Transport::Stdio, &dir.path().join("none"), 10)
    });
    assert!(matches!(nothing, Err(FuzzError::Store(StoreError::Nothing(_)))));
    std::fs::write(out.join("campaign.json"), "{\"version\": 1, ").unwrap();
    let broken = campaign(|| FuzzOptions { resume: true, ..base(10) }).unwrap_err();
    assert!(broken.to_string().contains("campaign.json"), "{broken}");
}

#[test]
fn a_server_in_this_process_is_fuzzed_by_bytes() {
    use mcp_conform::{conversation::StdioTarget, fuzz::Target, proof::stdio_target};
    let target = |config| match stdio_target(config) {
        StdioTarget::Memory(server) => Target::new(server).unwrap(),
        StdioTarget::Process(_) => unreachable!("it is in memory"),
    };
    let bytes = |round: u32| -> Vec<u8> {
        (0_u32..40).map(|at| (round.wrapping_mul(2_654_435_761).wrapping_add(at * 40_503) >> 13) as u8).collect()
    };
    let sound = target(Config::default());
    assert_eq!(sound.revisions().count(), 2);
    assert_eq!(sound.input(&bytes(3)), sound.input(&bytes(3)));
    let graves: Vec<_> = (0..60).flat_map(|round| sound.failures(&bytes(round))).map(|it| it.key()).collect();
    assert_eq!(graves, Vec::<String>::new());
    let broken = target(broken());
    // What is known does not hide the rest, and a slip is none.
    let round = (0..60).find(|round| !broken.failures(&bytes(*round)).is_empty()).unwrap();
    let ids = |target: &Target| -> BTreeSet<String> {
        target.failures(&bytes(round)).into_iter().map(|it| it.requirement).collect()
    };
    let all = ids(&broken);
    let run = std::panic::AssertUnwindSafe(|| broken.run(&bytes(round)));
    let told = *std::panic::catch_unwind(run).unwrap_err().downcast::<String>().unwrap();
    assert!(all.iter().all(|id| told.contains(id)) && told.contains("\"steps\""), "{told}");
    let first = all.first().unwrap().clone();
    let rest: BTreeSet<String> = all.iter().skip(1).cloned().collect();
    let broken = broken.allowing([first.as_str(), "own/fuzz-lost"]).unwrap();
    assert_eq!(ids(&broken), rest);
    let broken = broken.allowing(all.iter().map(String::as_str)).unwrap();
    assert_eq!(ids(&broken), BTreeSet::new());
    broken.run(&bytes(round));
    let error = broken.allowing(["base-response-id-echoes-requests"]).err().unwrap();
    assert!(error.to_string().ends_with("did you mean base-response-id-echoes-request?"), "{error}");
}
