//! Every fault reaches the wire: the same long conversation with a sound and with a broken server gives two different
//! records, over each transport that the fault names. Whether a judge sees the right thing in the difference is proved
//! where the judge is.

mod common;

use std::time::Duration;

use common::{MODERN, Pipe, Web, initialize_params, meta, meta_with};
use mcp_reference_server::{Config, FaultInfo, Faults, Tier, Transport, faults};
use serde_json::{Value, json};

const QUIET: Duration = Duration::from_millis(600);

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
        call("ask_model", json!({})),
        call("touch_list", json!({})),
        call("write_note", json!({"id": "first", "text": "new"})),
        ("nothing/known", json!({})),
        ("ping", json!({})),
    ]
}

/// What would end a server that is broken in certain ways comes last.
fn last_questions() -> Vec<Value> {
    vec![
        notification("notifications/cancelled", json!({})),
        request(json!("last"), "ping", json!({})),
        request(
            json!("wrong"),
            "tools/call",
            json!({"name": "pick", "arguments": {"colour": "mauve"}, "_meta": meta()}),
        ),
        request(json!("later"), "server/discover", json!({"_meta": meta()})),
    ]
}

/// The answer of a client to a request of the server's.
fn reply(message: &Value) -> Option<Value> {
    let (id, method) = (message.get("id")?, message.get("method")?.as_str()?);
    let result = match method {
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

/// One conversation over a pipe, as it was seen.
struct Stdio<'a> {
    pipe: Pipe,
    record: &'a mut Record,
    raw: Vec<String>,
}

impl<'a> Stdio<'a> {
    fn start(config: Config, record: &'a mut Record) -> Self {
        Self { pipe: Pipe::start(config), record, raw: Vec::new() }
    }

    async fn say(&mut self, text: &str) {
        if self.record.differs {
            return;
        }
        self.pipe.try_text(text).await;
        while let Some(line) = self.pipe.try_line(QUIET).await {
            self.record.push(masked(&line));
            let answer = serde_json::from_str::<Value>(&line).ok().and_then(|message| reply(&message));
            self.raw.push(line);
            if let Some(answer) = answer {
                self.pipe.try_text(&answer.to_string()).await;
            }
        }
        self.record.push("--");
    }

    async fn ask(&mut self, id: Value, method: &str, params: Value) {
        self.say(&request(id, method, params).to_string()).await;
    }

    async fn end(mut self) {
        if self.record.differs {
            return;
        }
        self.pipe.close();
        while let Some(line) = self.pipe.try_line(QUIET).await {
            self.record.push(masked(&line));
        }
        let ended = tokio::time::timeout(QUIET, self.pipe.process).await;
        self.record.push(format!("exit {:?}", ended.map(|ended| ended.map(|status| status.code).ok()).ok()));
    }
}

async fn over_pipe(config: &Config, record: &mut Record) {
    legacy_over_pipe(config, record).await;
    handshakes_over_pipe(config, record).await;
    modern_over_pipe(config, record).await;
    rounds_over_pipe(config, record).await;
}

async fn legacy_over_pipe(config: &Config, record: &mut Record) {
    let can = json!({"elicitation": {}, "sampling": {}, "roots": {}});
    let mut client = Stdio::start(config.clone(), record);
    client.ask(json!(1), "initialize", initialize_params("2025-11-25", can)).await;
    client.say(&notification("notifications/initialized", json!({})).to_string()).await;
    client.ask(json!(2), "logging/setLevel", json!({"level": "warning"})).await;
    client.ask(json!(3), "logging/setLevel", json!({"level": "loud"})).await;
    client.say(r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#).await;
    client.say(r#"{"jsonrpc":"2.0","method":"ping"}"#).await;
    for (index, (method, params)) in questions().into_iter().enumerate() {
        client.ask(json!(index + 10), method, params).await;
        for _ in 0..7 {
            let Some(cursor) = next_page(client.raw.last()) else { break };
            client.ask(json!("next"), method, json!({"cursor": cursor})).await;
        }
    }
    for id in ["0", "\"\"", "\"7\"", "9007199254740993"] {
        client.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).await;
    }
    client.ask(json!(100), "resources/subscribe", json!({"uri": "ref://note/first"})).await;
    client.ask(json!(101), "resources/unsubscribe", json!({"uri": "ref://note/first"})).await;
    client
        .ask(json!(102), "tools/call", json!({"name": "write_note", "arguments": {"id": "first", "text": "newer"}}))
        .await;
    client.ask(json!(103), "tools/call", json!({"name": "slow", "_meta": {"progressToken": 5}})).await;
    client.ask(json!(104), "tools/call", json!({"name": "slow"})).await;
    let slow = request(json!(105), "tools/call", json!({"name": "slow", "arguments": {"stepMs": 60000}}));
    client.say(&slow.to_string()).await;
    client.say(&notification("notifications/cancelled", json!({"requestId": 105})).to_string()).await;
    client.say("{").await;
    client.end().await;
}

async fn handshakes_over_pipe(config: &Config, record: &mut Record) {
    for version in ["2025-06-18", "1999-01-01"] {
        let mut client = Stdio::start(config.clone(), record);
        client.ask(json!(0), "tools/list", json!({})).await;
        client.ask(json!(1), "initialize", initialize_params(version, json!({}))).await;
        client.say(&notification("notifications/initialized", json!({})).to_string()).await;
        for name in ["ask", "ask_roots", "ask_model"] {
            client.ask(json!(2), "tools/call", json!({"name": name})).await;
        }
        for line in last_questions() {
            client.say(&line.to_string()).await;
        }
        client.end().await;
    }
    let mut client = Stdio::start(config.clone(), record);
    client.ask(json!(1), "initialize", json!({})).await;
    client.end().await;
    let mut client = Stdio::start(config.clone(), record);
    let can = json!({"roots": {}});
    client.pipe.try_text(&request(json!(1), "initialize", initialize_params("2025-11-25", can)).to_string()).await;
    client.pipe.try_text(&notification("notifications/initialized", json!({})).to_string()).await;
    client.end().await;
}

async fn modern_over_pipe(config: &Config, record: &mut Record) {
    let with = |mut params: Value, meta: Value| {
        if params.is_object() {
            params["_meta"] = meta;
        }
        params
    };
    let version = "io.modelcontextprotocol/protocolVersion";
    let mut client = Stdio::start(config.clone(), record);
    client.ask(json!(1), "tools/list", with(json!({}), meta())).await;
    client.ask(json!(2), "server/discover", with(json!({}), meta())).await;
    for (index, (method, params)) in questions().into_iter().enumerate() {
        client.ask(json!(index + 10), method, with(params, meta())).await;
        for _ in 0..7 {
            let Some(cursor) = next_page(client.raw.last()) else { break };
            client.ask(json!("next"), method, with(json!({"cursor": cursor}), meta())).await;
        }
    }
    for id in ["0", "\"\"", "\"7\"", "9007199254740993"] {
        let params = with(json!({}), meta());
        client.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{params}}}"#)).await;
    }
    for wrong in ["1900-01-01", "2099-01-01", "2025-11-25"] {
        let mut meta = meta();
        meta[version] = json!(wrong);
        client.ask(json!(3), "tools/list", with(json!({}), meta)).await;
    }
    for missing in [version, "io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/clientInfo"] {
        let mut meta = meta();
        meta.as_object_mut().expect("an object").remove(missing);
        client.ask(json!(4), "tools/list", with(json!({}), meta)).await;
    }
    client.ask(json!(5), "tools/list", json!({})).await;
    client.ask(json!(6), "initialize", initialize_params("2025-11-25", json!({}))).await;
    client.ask(json!(7), "tools/list", with(json!({}), meta_with(json!({"vendorThing": {}})))).await;
    for level in ["warning", "loud"] {
        let mut meta = meta();
        meta["io.modelcontextprotocol/logLevel"] = json!(level);
        client.ask(json!(8), "tools/call", with(json!({"name": "log_some"}), meta)).await;
    }
    client.ask(json!(9), "tools/call", with(json!({"name": "log_some"}), meta())).await;
    let mut progress = meta();
    progress["progressToken"] = json!(5);
    client.ask(json!(50), "tools/call", with(json!({"name": "slow"}), progress)).await;
    client.ask(json!(51), "tools/call", with(json!({"name": "slow"}), meta())).await;
    for filter in [
        json!({"toolsListChanged": true}),
        json!({"toolsListChanged": false, "promptsListChanged": true}),
        json!({"toolsListChanged": true, "vendorThing": true}),
    ] {
        let id = json!(60 + filter.to_string().len());
        client.ask(id, "subscriptions/listen", with(json!({"notifications": filter}), meta())).await;
        client.ask(json!(70), "tools/call", with(json!({"name": "touch_list"}), meta())).await;
    }
    client.ask(json!(71), "subscriptions/listen", with(json!({}), meta())).await;
    client.say(&notification("notifications/cancelled", json!({"requestId": "none"})).to_string()).await;
    client.say("{").await;
    client.end().await;
    let mut client = Stdio::start(config.clone(), record);
    for line in last_questions() {
        client.say(&line.to_string()).await;
    }
    client.end().await;
}

async fn rounds_over_pipe(config: &Config, record: &mut Record) {
    let can = || meta_with(json!({"elicitation": {}, "sampling": {}, "roots": {}}));
    let mut client = Stdio::start(config.clone(), record);
    let call = |name: &str, state: Option<&Value>, responses: Value| {
        let mut params = json!({"name": name, "inputResponses": responses, "_meta": can()});
        if let Some(state) = state {
            params["requestState"] = state.clone();
        }
        params
    };
    let accept = |content: Value| json!({"action": "accept", "content": content});
    let name = || accept(json!({"name": "Ada"}));
    for tool in ["ask", "ask_twice", "ask_both", "ask_model", "ask_roots"] {
        client.ask(json!(1), "tools/call", call(tool, None, json!({}))).await;
        let state = found(&client.raw, "/result/requestState");
        for responses in [
            json!({"name": name()}),
            json!({"name": name(), "more": {}}),
            json!({"name": {"action": "decline"}}),
            json!({"name": accept(json!({"name": 5}))}),
            json!({}),
        ] {
            client.ask(json!(2), "tools/call", call(tool, state.as_ref(), responses)).await;
        }
        let changed = state.as_ref().and_then(Value::as_str).map(|state| json!(format!("{state}AA")));
        client.ask(json!(3), "tools/call", call(tool, changed.as_ref(), json!({"name": name()}))).await;
        client.ask(json!(4), "tools/call", call(tool, Some(&json!("made up")), json!({"name": name()}))).await;
        client.ask(json!(5), "tools/call", call("ask", state.as_ref(), json!({"name": name()}))).await;
    }
    client.ask(json!(6), "tools/call", json!({"name": "ask", "_meta": meta()})).await;
    client.ask(json!(7), "tools/call", call("ask", None, json!({}))).await;
    let state = found(&client.raw, "/result/requestState");
    tokio::time::sleep(Duration::from_secs(700)).await;
    client.ask(json!(8), "tools/call", call("ask", state.as_ref(), json!({"name": name()}))).await;
    client.end().await;
}

async fn over_http(config: &Config, record: &mut Record) {
    let web = Web::start(config.clone());
    handshakes_over_http(&web, record).await;
    legacy_over_http(&web, record).await;
    modern_over_http(&web, record).await;
    rounds_over_http(&web, record).await;
    ends_over_http(config, record).await;
}

const JSON: (&str, &str) = ("content-type", "application/json");
const BOTH: (&str, &str) = ("accept", "application/json, text/event-stream");

/// Sends a request and notes everything that comes; questions of the server are answered within the session.
async fn note(web: &Web, record: &mut Record, method: &str, headers: &[(&str, &str)], body: &str) -> Vec<String> {
    if record.differs {
        return Vec::new();
    }
    let Some(mut answer) = web.try_http(method, headers, body, QUIET).await else {
        record.push("no answer");
        return Vec::new();
    };
    let shown = |name: &str| answer.headers.get(name).map(|value| format!("{value:?}")).unwrap_or_default();
    record.push(format!("{} {} {}", answer.status, shown("content-type"), shown("x-accel-buffering")));
    let session = headers.iter().find(|(name, _)| *name == "mcp-session-id");
    let mut lines = Vec::new();
    loop {
        let (chunk, ended) = answer.chunk(QUIET).await;
        for line in chunk.lines() {
            let text = line.strip_prefix("data: ").unwrap_or(line);
            if let (Some(session), Ok(message)) = (session, serde_json::from_str::<Value>(text))
                && let Some(reply) = reply(&message)
            {
                web.try_http("POST", &[JSON, BOTH, *session], &reply.to_string(), QUIET).await;
            }
            // The first part of an event id is random.
            let line = line.strip_prefix("id: ").and_then(|id| id.split_once('-')).map_or(line, |(_, rest)| rest);
            record.push(masked(line));
            lines.push(text.to_owned());
        }
        if let Some(ended) = ended {
            record.push(if ended { "end" } else { "open" });
            return lines;
        }
    }
}

async fn open_session(web: &Web, record: &mut Record, version: &str, can: Value) -> Option<String> {
    let body = request(json!(1), "initialize", initialize_params(version, can)).to_string();
    let answer = web.try_http("POST", &[JSON, BOTH], &body, QUIET).await?;
    let session = answer.headers.get("mcp-session-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let plain = session.as_deref().is_some_and(|id| id.len() == 32);
    record.push(format!("{} {plain}", answer.status));
    let session = session?;
    let initialized = notification("notifications/initialized", json!({})).to_string();
    note(web, record, "POST", &[JSON, BOTH, ("mcp-session-id", &session)], &initialized).await;
    Some(session)
}

async fn handshakes_over_http(web: &Web, record: &mut Record) {
    for version in ["2025-11-25", "2025-06-18", "1999-01-01"] {
        let body = request(json!(1), "initialize", initialize_params(version, json!({}))).to_string();
        note(web, record, "POST", &[JSON, BOTH], &body).await;
    }
    note(web, record, "POST", &[JSON, BOTH], &request(json!(1), "initialize", json!({})).to_string()).await;
    for origin in ["http://evil.example", "http://localhost.evil.example"] {
        for method in ["POST", "GET", "DELETE"] {
            note(web, record, method, &[JSON, BOTH, ("origin", origin)], "{}").await;
        }
    }
    note(web, record, "GET", &[("accept", "text/event-stream")], "").await;
    note(web, record, "DELETE", &[], "").await;
    note(web, record, "POST", &[JSON, BOTH, ("mcp-session-id", "none")], r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
        .await;
    note(web, record, "POST", &[JSON, BOTH], r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
}

async fn legacy_over_http(web: &Web, record: &mut Record) {
    let can = json!({"elicitation": {}, "sampling": {}, "roots": {}});
    let Some(session) = open_session(web, record, "2025-11-25", can).await else { return };
    let version = ("mcp-protocol-version", "2025-11-25");
    let headers = [JSON, BOTH, ("mcp-session-id", session.as_str()), version];
    let stream = [("accept", "text/event-stream"), ("mcp-session-id", session.as_str())];
    // The roots that were asked for wait on the general stream, and two such streams stay open.
    let one = web.try_http("GET", &stream, "", QUIET).await;
    let two = web.try_http("GET", &stream, "", QUIET).await;
    for (method, params) in [
        ("logging/setLevel", json!({"level": "warning"})),
        ("logging/setLevel", json!({"level": "loud"})),
        ("tools/call", json!({"name": "write_note", "arguments": {"id": "second", "text": "new"}})),
        ("resources/subscribe", json!({"uri": "ref://note/first"})),
        ("resources/unsubscribe", json!({"uri": "ref://note/first"})),
        ("tools/call", json!({"name": "write_note", "arguments": {"id": "first", "text": "new"}})),
        ("tools/call", json!({"name": "slow", "_meta": {"progressToken": 5}})),
        ("tools/call", json!({"name": "slow"})),
    ] {
        note(web, record, "POST", &headers, &request(json!(3), method, params).to_string()).await;
    }
    for (index, (method, params)) in questions().into_iter().enumerate() {
        let mut lines =
            note(web, record, "POST", &headers, &request(json!(index + 10), method, params).to_string()).await;
        for _ in 0..7 {
            let Some(cursor) = next_page(lines.last()) else { break };
            let next = request(json!("next"), method, json!({"cursor": cursor})).to_string();
            lines = note(web, record, "POST", &headers, &next).await;
        }
    }
    for id in ["0", "\"\"", "\"7\"", "9007199254740993"] {
        note(web, record, "POST", &headers, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).await;
    }
    note(web, record, "POST", &headers, r#"{"jsonrpc":"2.0","method":"ping"}"#).await;
    for stream in [one, two].into_iter().flatten() {
        drain(stream, record).await;
    }
    streams_over_http(web, record, &session).await;
    for method in ["GET", "DELETE", "POST"] {
        let headers = [JSON, BOTH, ("mcp-session-id", session.as_str()), ("mcp-protocol-version", "1999-01-01")];
        note(web, record, method, &headers, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
    }
    note(web, record, "POST", &headers[..3], r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
    let other = open_session(web, record, "2025-11-25", json!({})).await.unwrap_or_default();
    let of_other = [JSON, BOTH, ("mcp-session-id", other.as_str())];
    if let Some(general) = web.try_http("GET", &[stream[0], ("mcp-session-id", &other)], "", QUIET).await {
        drain(general, record).await;
    }
    for name in ["ask", "ask_roots", "ask_model"] {
        note(web, record, "POST", &of_other, &request(json!(1), "tools/call", json!({"name": name})).to_string()).await;
    }
    note(web, record, "DELETE", &headers, "").await;
    note(web, record, "POST", &headers, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
    note(web, record, "POST", &of_other, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
    note(web, record, "POST", &of_other, "{").await;
}

async fn drain(mut answer: common::Answer, record: &mut Record) {
    loop {
        let (chunk, ended) = answer.chunk(QUIET).await;
        for line in chunk.lines() {
            record.push(line.strip_prefix("id: ").and_then(|id| id.split_once('-')).map_or(line, |(_, rest)| rest));
        }
        if ended.is_some() {
            return;
        }
    }
}

/// A stream that its client loses, and three ways to ask for the rest of it.
async fn streams_over_http(web: &Web, record: &mut Record, session: &str) {
    let headers = [JSON, BOTH, ("mcp-session-id", session)];
    let slow = |id: u64| {
        let params = json!({"name": "slow", "arguments": {"stepMs": 1000}, "_meta": {"progressToken": id}});
        request(json!(id), "tools/call", params).to_string()
    };
    let Some(mut lost) = web.try_http("POST", &headers, &slow(200), QUIET).await else { return };
    let (chunk, _) = lost.chunk(QUIET).await;
    for line in chunk.lines().filter(|line| !line.starts_with("id: ")) {
        record.push(line);
    }
    let Some(last) = chunk.lines().filter_map(|line| line.strip_prefix("id: ")).next_back().map(str::to_owned) else {
        record.push("no event ids");
        return;
    };
    drop(lost);
    tokio::time::sleep(Duration::from_secs(10)).await;
    let other = open_session(web, record, "2025-11-25", json!({})).await.unwrap_or_default();
    for session in [session, other.as_str()] {
        let headers = [("accept", "text/event-stream"), ("mcp-session-id", session), ("last-event-id", last.as_str())];
        note(web, record, "GET", &headers, "").await;
    }
}

/// The headers of a modern request.
fn mirrored<'a>(method: &'a str, params: &'a Value) -> Vec<(&'a str, &'a str)> {
    let mut headers = vec![JSON, BOTH, ("mcp-protocol-version", MODERN), ("mcp-method", method)];
    let name = if method == "resources/read" { params.get("uri") } else { params.get("name") };
    if let Some(name) = name.and_then(Value::as_str) {
        headers.push(("mcp-name", name));
    }
    headers
}

async fn modern(web: &Web, record: &mut Record, id: Value, method: &str, params: Value, meta: Value) -> Vec<String> {
    let mut sent = params.clone();
    if sent.is_object() {
        sent["_meta"] = meta;
    }
    note(web, record, "POST", &mirrored(method, &params), &request(id, method, sent).to_string()).await
}

async fn modern_over_http(web: &Web, record: &mut Record) {
    let version = "io.modelcontextprotocol/protocolVersion";
    modern(web, record, json!(1), "tools/list", json!({}), meta()).await;
    modern(web, record, json!(1), "server/discover", json!({}), meta()).await;
    for (index, (method, params)) in questions().into_iter().enumerate() {
        let mut lines = modern(web, record, json!(index + 10), method, params, meta()).await;
        for _ in 0..7 {
            let Some(cursor) = next_page(lines.last()) else { break };
            lines = modern(web, record, json!("next"), method, json!({"cursor": cursor}), meta()).await;
        }
    }
    for id in [json!(0), json!(""), json!("7"), json!(9_007_199_254_740_993_u64)] {
        modern(web, record, id, "tools/list", json!({}), meta()).await;
    }
    for missing in [version, "io.modelcontextprotocol/clientCapabilities", "io.modelcontextprotocol/clientInfo"] {
        let mut meta = meta();
        meta.as_object_mut().expect("an object").remove(missing);
        modern(web, record, json!(4), "tools/list", json!({}), meta).await;
    }
    note(
        web,
        record,
        "POST",
        &mirrored("tools/list", &json!({})),
        &request(json!(1), "tools/list", json!({})).to_string(),
    )
    .await;
    modern(web, record, json!(7), "tools/list", json!({}), meta_with(json!({"vendorThing": {}}))).await;
    for level in ["warning", "loud"] {
        let mut meta = meta();
        meta["io.modelcontextprotocol/logLevel"] = json!(level);
        modern(web, record, json!(8), "tools/call", json!({"name": "log_some"}), meta).await;
    }
    modern(web, record, json!(9), "tools/call", json!({"name": "log_some"}), meta()).await;
    let mut progress = meta();
    progress["progressToken"] = json!(5);
    modern(web, record, json!(50), "tools/call", json!({"name": "slow"}), progress).await;
    modern(web, record, json!(51), "tools/call", json!({"name": "slow"}), meta()).await;
    headers_over_http(web, record).await;
    subscriptions_over_http(web, record).await;
}

async fn headers_over_http(web: &Web, record: &mut Record) {
    let version = ("mcp-protocol-version", MODERN);
    let body = |method: &str, params: Value| {
        let mut params = params;
        params["_meta"] = meta();
        request(json!(8), method, params).to_string()
    };
    let list = body("tools/list", json!({}));
    for headers in [
        vec![version],
        vec![("mcp-method", "tools/list")],
        vec![version, ("mcp-method", "prompts/list")],
        vec![version, ("mcp-method", "Tools/List")],
        vec![("mcp-protocol-version", "2099-01-01"), ("mcp-method", "tools/list")],
    ] {
        note(web, record, "POST", &[&[JSON, BOTH], headers.as_slice()].concat(), &list).await;
    }
    for wrong in ["1900-01-01", "2099-01-01"] {
        let mut meta = meta();
        meta["io.modelcontextprotocol/protocolVersion"] = json!(wrong);
        let body = request(json!(8), "tools/list", json!({"_meta": meta})).to_string();
        let headers = [JSON, BOTH, ("mcp-protocol-version", wrong), ("mcp-method", "tools/list")];
        note(web, record, "POST", &headers, &body).await;
    }
    let call = body("tools/call", json!({"name": "echo", "arguments": {"text": "x"}}));
    for name in [None, Some("add"), Some("=?base64?ZWNobw==?="), Some("=?BASE64?ZWNobw==?=")] {
        let mut headers = vec![JSON, BOTH, version, ("mcp-method", "tools/call")];
        headers.extend(name.map(|name| ("mcp-name", name)));
        note(web, record, "POST", &headers, &call).await;
    }
    let routed =
        body("tools/call", json!({"name": "routed", "arguments": {"region": "north", "shard": 42, "urgent": null}}));
    for arguments in [
        vec![("mcp-param-region", "north"), ("mcp-param-shard", "42.0")],
        vec![("mcp-param-region", "south"), ("mcp-param-shard", "42")],
        vec![("mcp-param-shard", "42")],
    ] {
        let mut headers = vec![JSON, BOTH, version, ("mcp-method", "tools/call"), ("mcp-name", "routed")];
        headers.extend(arguments);
        note(web, record, "POST", &headers, &routed).await;
    }
    let cancelled = notification("notifications/cancelled", json!({"requestId": 1})).to_string();
    note(web, record, "POST", &[JSON, BOTH, version, ("mcp-method", "notifications/cancelled")], &cancelled).await;
}

async fn subscriptions_over_http(web: &Web, record: &mut Record) {
    let mut open = Vec::new();
    for filter in [
        json!({"toolsListChanged": true}),
        json!({"toolsListChanged": false, "promptsListChanged": true}),
        json!({"toolsListChanged": true, "vendorThing": true}),
    ] {
        let params = json!({"notifications": filter, "_meta": meta()});
        let id = json!(60 + filter.to_string().len());
        let body = request(id, "subscriptions/listen", params).to_string();
        open.extend(web.try_http("POST", &mirrored("subscriptions/listen", &Value::Null), &body, QUIET).await);
    }
    modern(web, record, json!(70), "tools/call", json!({"name": "touch_list"}), meta()).await;
    for stream in open {
        drain(stream, record).await;
    }
    modern(web, record, json!(71), "subscriptions/listen", json!({}), meta()).await;
    // Who has gone leaves no work behind.
    let mut progress = meta();
    progress["progressToken"] = json!(6);
    let params = json!({"name": "slow", "arguments": {"stepMs": 1000}, "_meta": progress});
    let slow = request(json!(72), "tools/call", params.clone()).to_string();
    let lost = web.try_http("POST", &mirrored("tools/call", &params), &slow, QUIET).await;
    drop(lost);
    tokio::time::sleep(Duration::from_millis(10)).await;
    modern(web, record, json!(73), "tools/call", json!({"name": "busy"}), meta()).await;
}

async fn rounds_over_http(web: &Web, record: &mut Record) {
    let can = || meta_with(json!({"elicitation": {}, "sampling": {}, "roots": {}}));
    let accept = |content: Value| json!({"action": "accept", "content": content});
    let name = || accept(json!({"name": "Ada"}));
    for tool in ["ask", "ask_twice", "ask_both", "ask_model", "ask_roots"] {
        let params = |state: Option<&Value>, responses: Value| {
            let mut params = json!({"name": tool, "inputResponses": responses});
            if let Some(state) = state {
                params["requestState"] = state.clone();
            }
            params
        };
        let lines = modern(web, record, json!(1), "tools/call", params(None, json!({})), can()).await;
        let state = found(&lines, "/result/requestState");
        for responses in [
            json!({"name": name()}),
            json!({"name": name(), "more": {}}),
            json!({"name": {"action": "decline"}}),
            json!({"name": accept(json!({"name": 5}))}),
        ] {
            modern(web, record, json!(2), "tools/call", params(state.as_ref(), responses), can()).await;
        }
        let made_up = json!("made up");
        modern(web, record, json!(3), "tools/call", params(Some(&made_up), json!({"name": name()})), can()).await;
        let changed = state.as_ref().and_then(Value::as_str).map(|state| json!(format!("{state}AA")));
        modern(web, record, json!(4), "tools/call", params(changed.as_ref(), json!({"name": name()})), can()).await;
        let mut swapped = params(state.as_ref(), json!({"name": name()}));
        swapped["name"] = json!("ask");
        modern(web, record, json!(5), "tools/call", swapped, can()).await;
        if tool == "ask" {
            tokio::time::sleep(Duration::from_secs(700)).await;
            let late = params(state.as_ref(), json!({"name": name()}));
            modern(web, record, json!(6), "tools/call", late, can()).await;
        }
    }
    modern(web, record, json!(7), "tools/call", json!({"name": "ask"}), meta()).await;
    let body = request(json!(1), "initialize", initialize_params("2025-11-25", json!({}))).to_string();
    note(web, record, "POST", &[JSON, BOTH], &body).await;
}

/// What would end a server that is broken in certain ways.
async fn ends_over_http(config: &Config, record: &mut Record) {
    for line in last_questions() {
        let web = Web::start(config.clone());
        let (method, params) = (line["method"].as_str().unwrap_or_default().to_owned(), line["params"].clone());
        let legacy = open_session(&web, record, "2025-11-25", json!({})).await.unwrap_or_default();
        let mut headers =
            if line["params"].get("_meta").is_some() { mirrored(&method, &params) } else { vec![JSON, BOTH] };
        if line["params"].get("_meta").is_none() {
            headers.push(("mcp-session-id", &legacy));
        }
        note(&web, record, "POST", &headers, &line.to_string()).await;
        note(
            &web,
            record,
            "POST",
            &[JSON, BOTH, ("mcp-session-id", &legacy)],
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        )
        .await;
    }
}

async fn converse(transport: Transport, config: &Config, sound: Option<Vec<String>>) -> Record {
    let mut record = Record::new(sound);
    match transport {
        Transport::Stdio => over_pipe(config, &mut record).await,
        Transport::Http => over_http(config, &mut record).await,
    }
    record
}

async fn unseen(transport: Transport) -> Vec<&'static str> {
    let mut unseen = Vec::new();
    // One sound record for the default configuration and one for each personality.
    let mut sound: Vec<(Option<usize>, Vec<String>)> = Vec::new();
    for info in faults().iter().filter(|info| info.tier == Tier::T1 && info.transports.contains(&transport)) {
        let personality = info.personality.map(|personality| personality as usize);
        let known = sound.iter().find(|(known, _)| *known == personality).map(|(_, lines)| lines.clone());
        let expected = match known {
            Some(lines) => lines,
            None => {
                let lines = converse(transport, &config(info, false), None).await.lines;
                sound.push((personality, lines.clone()));
                lines
            }
        };
        if converse(transport, &config(info, true), Some(expected)).await.is_sound() {
            unseen.push(info.name);
        }
    }
    unseen
}

#[tokio::test(start_paused = true)]
async fn the_record_of_a_sound_server_is_always_the_same() {
    for transport in [Transport::Stdio, Transport::Http] {
        let sound = converse(transport, &Config::default(), None).await.lines;
        let again = converse(transport, &Config::default(), Some(sound)).await;
        assert!(again.is_sound(), "{:?}", again.lines.last());
    }
}

#[tokio::test(start_paused = true)]
async fn every_fault_is_seen_over_a_pipe() {
    assert_eq!(unseen(Transport::Stdio).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn every_fault_is_seen_over_http() {
    assert_eq!(unseen(Transport::Http).await, [""; 0]);
}
