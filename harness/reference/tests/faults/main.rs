//! Every fault reaches the wire: the same long conversation with a sound and with a broken server gives two different
//! records, over each transport and in each revision that the fault names. Whether a judge sees the right thing in the difference is proved
//! where the judge is.

#[path = "../common/mod.rs"]
mod common;
mod over_http;
mod over_pipe;

use std::time::Duration;

use common::{MODERN, meta};
use mcp_reference_server::{Config, FaultInfo, Faults, Tier, Transport, faults};
use over_http::over_http;
use over_pipe::over_pipe;
use serde_json::{Value, json};

const LEGACY: &str = "2025-11-25";
const QUIET: Duration = Duration::from_millis(600);

/// What the conversation does not ask for: these faults show to a probe of the suite, and the kill table of the harness
/// (`harness/tests/kill_table.rs`) holds that they do.
const PROBED_ELSEWHERE: &[&str] = &[
    "accept-compared-literally",
    "answers-mixed-up",
    "bad-base64-ignored",
    "cancel-by-loose-id",
    "capabilities-of-any-type",
    "completed-cancel-fatal",
    "completion-gaps-taken",
    "completion-odd-value-fatal",
    "completion-of-nothing",
    "completion-without-templates",
    "cursor-of-another-type-fatal",
    "cursor-used-up",
    "delete-ends-all-sessions",
    "disconnect-ends-all",
    "early-disconnect-poisons",
    "elicitation-without-params",
    "emergency-unknown",
    "empty-uri-fatal",
    "encoded-name-unchecked",
    "idle-cancel-ends-session",
    "integer-token-refused",
    "invalid-request-internal-error",
    "last-event-id-refused",
    "legacy-version-served",
    "malformed-call-as-tool-error",
    "missing-uri-reads-first",
    "model-answers-unchecked",
    "nameless-call-internal-error",
    "negative-id-refused",
    "negative-token-refused",
    "null-id-served",
    "odd-responses-as-tool-error",
    "open-elicitation-blocks",
    "open-sampling-blocks",
    "page-sent-undeclared",
    "page-without-url",
    "prompt-odd-value-hangs",
    "prompt-values-unchecked",
    "reads-in-chunks",
    "related-on-other-stream",
    "required-form-listed",
    "required-list-empty",
    "reserved-meta-assumed",
    "roots-change-fatal",
    "roots-error-fatal",
    "session-header-refused",
    "session-id-given-again",
    "session-issued-in-modern",
    "set-level-in-modern",
    "stray-cancel-answered",
    "stray-cancel-answered-over-http",
    "stray-response-answered",
    "subscribe-in-modern",
    "task-created-number",
    "task-flat-in-create",
    "task-id-number",
    "task-nested-in-get",
    "task-status-bare",
    "task-status-invented",
    "task-ttl-missing",
    "task-updated-missing",
    "tasks-by-id",
    "trace-refused",
    "unknown-meta-key-refused",
    "unknown-notification-answered",
    "unknown-param-header-refused",
    "unknown-progress-fatal",
    "update-names-resource",
    "version-header-of-any-served",
];

fn config(info: &FaultInfo, broken: bool) -> Config {
    let mut config = Config::default();
    if let Some(personality) = info.personality {
        personality(&mut config);
    }
    if broken {
        config.faults = Faults::one(info.fault);
    }
    config
}

fn request(id: Value, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn notification(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// All that a client of either era might ask; an era adds its metadata.
fn questions() -> Vec<(&'static str, Value)> {
    let call = |name: &str, arguments: Value| ("tools/call", json!({"name": name, "arguments": arguments}));
    let complete = |reference: Value, name: &str, more: Value| {
        let mut params = json!({"ref": reference, "argument": {"name": name, "value": ""}});
        if !more.is_null() {
            params["context"] = more;
        }
        ("completion/complete", params)
    };
    let prompt = |name: &str| json!({"type": "ref/prompt", "name": name});
    vec![
        ("tools/list", json!({})),
        ("tools/list", json!({})),
        ("tools/list", json!({"cursor": "bogus"})),
        ("tools/list", json!([])),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/read", json!({"uri": "ref://text/readme"})),
        ("resources/read", json!({"uri": "ref://data/pixel"})),
        ("resources/read", json!({"uri": "ref://none"})),
        ("prompts/get", json!({"name": "greeting", "arguments": {"name": "Ada"}})),
        ("prompts/get", json!({"name": "greeting"})),
        ("prompts/get", json!({"name": "review"})),
        ("prompts/get", json!({"name": "none"})),
        complete(prompt("greeting"), "style", Value::Null),
        complete(prompt("greeting"), "style", json!({"arguments": {"name": "Ada"}})),
        complete(prompt("none"), "style", Value::Null),
        call("echo", json!({"text": "hello"})),
        call("ECHO", json!({"text": "hello"})),
        call("add", json!({"a": 1, "b": 2})),
        call("media", json!({})),
        call("fail", json!({})),
        call("none", json!({})),
        call("log_some", json!({})),
        call("ask", json!({})),
        call("ask_both", json!({})),
        call("ask_model", json!({})),
        call("touch_list", json!({})),
        call("write_note", json!({"id": "first", "text": "new"})),
        ("nothing/known", json!({})),
        ("ping", json!({})),
    ]
}

/// What would end a server that is broken in certain ways comes last.
fn last_questions(revision: &str) -> Vec<Value> {
    let of_era = |mut params: Value| {
        if revision == MODERN {
            params["_meta"] = meta();
        }
        params
    };
    vec![
        notification("notifications/cancelled", json!({})),
        request(json!("last"), "tools/list", of_era(json!({}))),
        request(json!("wrong"), "tools/call", of_era(json!({"name": "pick", "arguments": {"colour": "mauve"}}))),
        request(json!("later"), "tools/list", of_era(json!({}))),
    ]
}

/// The answer of a client to a request of the server's.
fn reply(message: &Value) -> Option<Value> {
    let (id, method) = (message.get("id")?, message.get("method")?.as_str()?);
    let result = match method {
        // One answer does not fit the question, all others are no answers.
        "elicitation/create" if message.pointer("/params/requestedSchema/properties/size").is_some() => {
            json!({"action": "accept", "content": {"size": "large"}})
        }
        "elicitation/create" => json!({"action": "decline"}),
        "roots/list" => json!({"roots": []}),
        "sampling/createMessage" => {
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "x"}})
        }
        _ => return None,
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

/// Takes out what differs from run to run.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(r#""requestState":""#) {
        let (before, after) = rest.split_at(at + 16);
        masked.push_str(before);
        rest = after.split_once('"').map_or("", |(_, rest)| rest);
        masked.push_str("STATE\"");
    }
    masked + rest
}

/// States, cursors and other things that go back to the server.
fn found(record: &[String], pointer: &str) -> Option<Value> {
    record.iter().rev().find_map(|line| serde_json::from_str::<Value>(line).ok()?.pointer(pointer).cloned())
}

fn next_page(line: Option<&String>) -> Option<Value> {
    serde_json::from_str::<Value>(line?).ok()?.pointer("/result/nextCursor").cloned()
}

/// What was seen, beside what a sound server shows: once they differ, nothing more has to be asked.
struct Record {
    lines: Vec<String>,
    sound: Option<Vec<String>>,
    differs: bool,
}

impl Record {
    fn new(sound: Option<Vec<String>>) -> Self {
        Self { lines: Vec::new(), sound, differs: false }
    }

    fn push(&mut self, line: impl Into<String>) {
        let line = line.into();
        if let Some(sound) = &self.sound {
            self.differs |= sound.get(self.lines.len()) != Some(&line);
        }
        self.lines.push(line);
    }

    /// Whether the whole conversation went as with a sound server.
    fn is_sound(&self) -> bool {
        !self.differs && self.sound.as_ref().is_none_or(|sound| sound.len() == self.lines.len())
    }
}

async fn converse(transport: Transport, revision: &str, config: &Config, sound: Option<Vec<String>>) -> Record {
    let mut record = Record::new(sound);
    match transport {
        Transport::Stdio => over_pipe(revision, config, &mut record).await,
        Transport::Http => over_http(revision, config, &mut record).await,
    }
    record
}

/// The faults that make no difference in a revision that they claim to break.
async fn unseen(transport: Transport, revision: &str) -> Vec<&'static str> {
    let mut unseen = Vec::new();
    // One sound record for the default configuration and one for each personality.
    let mut sound: Vec<(Option<usize>, Vec<String>)> = Vec::new();
    let claims = |info: &&FaultInfo| {
        let breaks = info.breaks.iter().any(|(_, broken)| *broken == revision);
        let asked = !PROBED_ELSEWHERE.contains(&info.name);
        asked && breaks && info.tier == Tier::T1 && info.transports.contains(&transport)
    };
    for info in faults().iter().filter(claims) {
        let personality = info.personality.map(|personality| personality as usize);
        let known = sound.iter().find(|(known, _)| *known == personality).map(|(_, lines)| lines.clone());
        let expected = match known {
            Some(lines) => lines,
            None => {
                let lines = converse(transport, revision, &config(info, false), None).await.lines;
                sound.push((personality, lines.clone()));
                lines
            }
        };
        if converse(transport, revision, &config(info, true), Some(expected)).await.is_sound() {
            unseen.push(info.name);
        }
    }
    unseen
}

#[tokio::test(start_paused = true)]
async fn the_record_of_a_sound_server_is_always_the_same() {
    for transport in [Transport::Stdio, Transport::Http] {
        for revision in [LEGACY, MODERN] {
            let sound = converse(transport, revision, &Config::default(), None).await.lines;
            let again = converse(transport, revision, &Config::default(), Some(sound)).await;
            assert!(again.is_sound(), "{:?}", again.lines.last());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_legacy_fault_is_seen_over_a_pipe() {
    assert_eq!(unseen(Transport::Stdio, LEGACY).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn every_modern_fault_is_seen_over_a_pipe() {
    assert_eq!(unseen(Transport::Stdio, MODERN).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn every_legacy_fault_is_seen_over_http() {
    assert_eq!(unseen(Transport::Http, LEGACY).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn every_modern_fault_is_seen_over_http() {
    assert_eq!(unseen(Transport::Http, MODERN).await, [""; 0]);
}
