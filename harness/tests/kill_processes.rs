//! Faults that only real processes and sockets have: each is found by its own requirement, or told as what is wrong with
//! the target, and leaves nothing else behind.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::{collections::BTreeSet, net::TcpListener, process::Command, sync::Mutex};

use mcp_conform::proof::Suite;
use mcp_conform_cases::{Catalogue, ast};
use mcp_conform_schemas::Revision;
use mcp_reference_server::{FaultInfo, Tier, Transport, faults};
use serde_json::Value;

const BINARY: &str = env!("CARGO_BIN_EXE_mcp-conform");

/// How a fault shows that leaves nothing to hold against single requirements, and so claims to break none.
enum Shows {
    /// The target cannot be judged, for one of these reasons.
    Target(&'static [&'static str]),
    /// A note of the report has this text.
    Note(&'static str),
    /// It is allowed, and to be survived: the run is clean.
    Clean,
}

/// By name and transport; everything else is found by its requirements.
fn shows(fault: &str, transport: Transport) -> Option<Shows> {
    Some(match (fault, transport) {
        ("exits-at-once" | "half-message-then-exit", _) => Shows::Target(&["exited"]),
        ("wants-configuration", _) => Shows::Target(&["needs-configuration"]),
        ("never-answers", _) => Shows::Target(&["no-answer"]),
        ("endless-line" | "garbage-bytes" | "serves-pages", _) => Shows::Target(&["not-mcp"]),
        // 64 MiB in each answer: not read in time, or more than is kept.
        ("huge-message", _) => Shows::Target(&["not-mcp", "no-answer"]),
        ("endless-stream", _) => Shows::Target(&["no-answer", "not-mcp"]),
        ("grandchild-in-group" | "grandchild-escaped", _) => Shows::Note("left processes of its own running"),
        ("stderr-flood", _) => Shows::Clean,
        _ => return None,
    })
}

/// Judges the fault in real processes by the whole suite, with deadlines that a loaded machine keeps.
fn judge(info: &FaultInfo, transport: Transport) -> (Option<i32>, Value) {
    let server = format!("{BINARY} reference-server -- --fault {}", info.name);
    let mut command = Command::new(BINARY);
    command.args(["run", "--tools", "all", "--timeout", "2", "--patience", "0.15", "--report", "json"]);
    match transport {
        Transport::Stdio => command.args(["--server", &server]),
        Transport::Http => {
            let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
            let serve = format!("{server} --transport http --port {port}");
            command.args(["--serve", &serve, "--url", &format!("http://127.0.0.1:{port}/mcp")])
        }
    };
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{}: {error} {told}", info.name));
    (output.status.code(), report)
}

type Pairs = BTreeSet<(String, String)>;

fn pairs(list: &[(&str, &str)]) -> Pairs {
    list.iter().map(|(id, revision)| ((*id).to_owned(), (*revision).to_owned())).collect()
}

fn text<'a>(result: &'a Value, member: &str) -> &'a str {
    result[member].as_str().unwrap_or_default()
}

fn found(report: &Value) -> impl Iterator<Item = &Value> {
    let results = report["results"].as_array().into_iter().flatten();
    results.filter(|result| !matches!(text(result, "verdict"), "pass" | "not-applicable" | "not-verified"))
}

fn findings(report: &Value) -> Pairs {
    found(report).map(|result| (text(result, "requirement").to_owned(), text(result, "revision").to_owned())).collect()
}

fn reaches(id: &str, revision: &str, transport: Transport) -> bool {
    let transport = match transport {
        Transport::Http => ast::Transport::Http,
        Transport::Stdio => ast::Transport::Stdio,
    };
    let revision: Revision = revision.parse().unwrap();
    Catalogue::get().row(id, revision).is_some_and(|row| row.applies_to(transport))
}

/// What is wrong with how the fault was found; nothing when all is well.
fn complaint(info: &FaultInfo, transport: Transport, named: &Pairs) -> Option<String> {
    let (code, report) = judge(info, transport);
    let status = report["target"]["status"].as_str().unwrap_or_default();
    let found = findings(&report);
    let told = format!("{} over {transport:?}: code {code:?}, {}, found {found:?}", info.name, report["target"]);
    let shows = shows(info.name, transport);
    if shows.is_some() != info.breaks.is_empty() {
        return Some(format!("{told}\n  it has to break a requirement, or show at the target as a whole"));
    }
    let well = match shows {
        Some(Shows::Target(expected)) => code == Some(3) && expected.contains(&status) && found.is_empty(),
        Some(Shows::Note(text)) => {
            let notes = report["notes"].to_string();
            code == Some(0) && notes.contains(text) && found.is_empty()
        }
        Some(Shows::Clean) => code == Some(0) && found.is_empty(),
        None => {
            let broken = pairs(info.breaks);
            let judged = broken.iter().filter(|(id, revision)| {
                named.contains(&(id.clone(), revision.clone())) && reaches(id, revision, transport)
            });
            let missed: Vec<_> = judged.filter(|pair| !found.contains(pair)).collect();
            let allowed: Pairs = broken.union(&pairs(info.collateral)).cloned().collect();
            let extra: Vec<_> = found.difference(&allowed).collect();
            if missed.is_empty() && extra.is_empty() && status == "ok" {
                return None;
            }
            return Some(format!("{told}\n  missed {missed:?}\n  extra {extra:?}"));
        }
    };
    (!well).then_some(told)
}

#[test]
fn no_fault_survives() {
    let suite = Suite::embedded();
    let named = suite.named();
    let jobs = faults().iter().filter(|info| info.tier == Tier::T2);
    let jobs: Vec<(&FaultInfo, Transport)> =
        jobs.flat_map(|info| info.transports.iter().map(move |transport| (info, *transport))).collect();
    let left = Mutex::new(jobs);
    let complaints = Mutex::new(Vec::new());
    // They mostly wait: a few side by side.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some((info, transport)) = left.lock().unwrap().pop() else { break };
                    let complaint = complaint(info, transport, named);
                    complaints.lock().unwrap().extend(complaint);
                }
            });
        }
    });
    let complaints = complaints.into_inner().unwrap();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}
