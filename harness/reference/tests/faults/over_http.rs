//! A long conversation over HTTP, in both eras.

use std::time::Duration;

use mcp_reference_server::Config;
use serde_json::{Value, json};

use super::common::{Answer, MODERN, Web, initialize_params, meta, meta_with};
use super::{QUIET, Record, found, last_questions, masked, next_page, notification, questions, reply, request};

pub(super) async fn over_http(revision: &str, config: &Config, record: &mut Record) {
    let web = Web::start(config.clone());
    if revision == MODERN {
        modern_over_http(&web, record).await;
        rounds_over_http(&web, record).await;
    } else {
        handshakes_over_http(&web, record).await;
        legacy_over_http(&web, record).await;
    }
    ends_over_http(revision, config, record).await;
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

async fn drain(mut answer: Answer, record: &mut Record) {
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
async fn ends_over_http(revision: &str, config: &Config, record: &mut Record) {
    for line in last_questions(revision) {
        let web = Web::start(config.clone());
        if revision == MODERN {
            let (method, params) = (line["method"].as_str().unwrap_or_default(), line["params"].clone());
            note(&web, record, "POST", &mirrored(method, &params), &line.to_string()).await;
            modern(&web, record, json!("after"), "tools/list", json!({}), meta()).await;
        } else {
            let session = open_session(&web, record, "2025-11-25", json!({})).await.unwrap_or_default();
            let headers = [JSON, BOTH, ("mcp-session-id", session.as_str())];
            note(&web, record, "POST", &headers, &line.to_string()).await;
            note(&web, record, "POST", &headers, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
        }
    }
    let web = Web::start(config.clone());
    note(&web, record, "POST", &[JSON, BOTH], "{").await;
    note(&web, record, "GET", &[("accept", "text/event-stream")], "").await;
    note(&web, record, "DELETE", &[], "").await;
    for origin in ["http://evil.example", "http://localhost.evil.example"] {
        for method in ["POST", "GET", "DELETE"] {
            note(&web, record, method, &[JSON, BOTH, ("origin", origin)], "{}").await;
        }
    }
}
