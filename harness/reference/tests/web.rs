//! The sound server over HTTP, in both eras.

mod common;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::{MODERN, Web, meta};
use mcp_reference_server::{AnswerForm, Config, Eras};
use serde_json::{Value, json};
use tokio::time::timeout;

fn error_code(answer: &Value) -> &Value {
    answer.pointer("/error/code").unwrap_or(&Value::Null)
}

#[tokio::test(start_paused = true)]
async fn sessions_begin_serve_and_end() {
    let web = Web::start(Config::default());
    let session = web.session("2025-11-25", json!({})).await;
    assert!(session.bytes().all(|byte| (0x21..=0x7e).contains(&byte)));
    let answer = web.in_session(&session, json!({"jsonrpc": "2.0", "id": 2, "method": "ping"})).await;
    assert_eq!((answer.status, answer.json().await), (200, json!({"jsonrpc": "2.0", "id": 2, "result": {}})));
    let ping = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
    assert_eq!(web.post(&[], ping).await.status, 400);
    assert_eq!(web.post(&[("Mcp-Session-Id", "unknown")], ping).await.status, 404);
    for version in ["1999-01-01", "junk"] {
        let headers =
            [("Mcp-Session-Id", session.as_str()), ("MCP-Protocol-Version", version), ("accept", "text/event-stream")];
        assert_eq!(web.post(&headers[..2], ping).await.status, 400);
        assert_eq!(web.http("GET", &headers, "").await.status, 400);
        assert_eq!(web.http("DELETE", &headers, "").await.status, 400);
    }
    let other = web.session("2025-11-25", json!({})).await;
    let headers = [("Mcp-Session-Id", session.as_str())];
    let ended = web.http("DELETE", &headers, "").await;
    assert_eq!(ended.status, 204);
    assert_eq!(web.post(&headers, ping).await.status, 404);
    assert_eq!(web.get(&session, None).await.status, 404);
    assert_eq!(web.http("DELETE", &headers, "").await.status, 404);
    assert_eq!(web.in_session(&other, json!({"jsonrpc": "2.0", "id": 2, "method": "ping"})).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn requests_are_checked_before_anything_else() {
    let web = Web::start(Config::default());
    let ping = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
    for origin in [
        "http://evil.example",
        "null",
        "http://localhost.evil.example",
        "ftp://localhost",
        "http://localhost:",
        "http://127.0.0.1:80x",
    ] {
        for method in ["POST", "GET", "DELETE"] {
            assert_eq!(
                web.http(method, &[("origin", origin), ("content-type", "application/json")], ping).await.status,
                403,
                "{origin}"
            );
        }
    }
    for origin in ["http://localhost", "http://127.0.0.1:3000", "https://[::1]:1"] {
        assert_eq!(web.post(&[("origin", origin)], ping).await.status, 400, "{origin}");
    }
    assert_eq!(web.post(&[("content-type", "text/plain")], ping).await.status, 415);
    assert_eq!(web.post(&[("accept", "application/json")], ping).await.status, 406);
    for accept in ["text/event-stream;q=0.5 , APPLICATION/JSON", "*/*", "text/*, application/*"] {
        assert_eq!(web.post(&[("accept", accept)], ping).await.status, 400, "{accept}");
    }
    let answer = web.post(&[], "{").await;
    assert_eq!((answer.status, error_code(&answer.json().await)), (400, &json!(-32700)));
    let answer = web.post(&[], "[]").await;
    assert_eq!((answer.status, error_code(&answer.json().await)), (400, &json!(-32600)));
    assert_eq!(web.http("PUT", &[], "").await.status, 405);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_broke_is_taken_up_again() {
    let web = Web::start(Config::default());
    let session = web.session("2025-11-25", json!({})).await;
    let call = |id: u64, token: &str| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": "slow", "arguments": {"stepMs": 1000}, "_meta": {"progressToken": token}}})
    };
    let mut stream = web.in_session(&session, call(5, "five")).await;
    let primed = stream.event().await.expect("the stream is primed");
    assert_eq!((primed.data.as_str(), primed.retry.as_deref()), ("", Some("1000")));
    let first = stream.event().await.expect("progress");
    assert_eq!(first.json()["params"]["progress"], json!(0));
    drop(stream);
    let mut whole = web.in_session(&session, call(6, "six")).await;
    let mut ids = std::collections::BTreeSet::new();
    while let Some(event) = whole.event().await {
        assert!(ids.insert(event.id.expect("an id")));
    }
    assert_eq!(ids.len(), 6);
    let last = first.id.expect("an id");
    assert!(!ids.contains(&last));
    let mut resumed = web.get(&session, Some(&last)).await;
    for progress in 1..=3 {
        assert_eq!(
            resumed.message().await["params"],
            json!({"progress": progress, "total": 3, "message": format!("step {progress} is done"), "progressToken": "five"})
        );
    }
    assert_eq!(resumed.message().await["id"], json!(5));
    assert!(resumed.event().await.is_none());
    let other = web.session("2025-11-25", json!({})).await;
    let refused = web.get(&other, Some(&last)).await;
    assert_eq!(refused.status, 400);
}

#[tokio::test(start_paused = true)]
async fn the_server_asks_within_the_stream_of_the_call() {
    let web = Web::start(Config::default());
    let session = web.session("2025-11-25", json!({"elicitation": {"form": {}}})).await;
    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "ask"}});
    let mut stream = web.in_session(&session, call).await;
    let question = stream.message().await;
    assert_eq!(question["method"], json!("elicitation/create"));
    let answer =
        json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"name": "Ada"}}});
    let taken = web.in_session(&session, answer).await;
    assert_eq!(taken.status, 202);
    assert!(taken.bytes().await.is_empty());
    assert_eq!(stream.message().await["result"]["content"][0]["text"], json!("Hello, Ada."));
    assert!(stream.event().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn general_messages_go_to_one_get_stream() {
    let web = Web::start(Config::default());
    let session = web.session("2025-11-25", json!({"roots": {}})).await;
    let mut one = web.get(&session, None).await;
    assert_eq!(one.message().await["method"], json!("roots/list"));
    let mut two = web.get(&session, None).await;
    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "touch_list"}});
    let answer = web.in_session(&session, call).await.json().await;
    assert!(answer.get("result").is_some());
    assert_eq!(two.message().await["method"], json!("notifications/tools/list_changed"));
    assert_eq!(two.message().await["method"], json!("notifications/prompts/list_changed"));
    assert!(timeout(Duration::from_secs(5), one.event()).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_server_without_sessions_serves_what_it_can() {
    let web = Web::start(Config { sessions: false, ..Config::default() });
    let params = common::initialize_params("2025-11-25", json!({}));
    let answer =
        web.post(&[], &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string()).await;
    assert!(answer.headers.get("mcp-session-id").is_none());
    assert_eq!(
        answer.json().await["result"]["capabilities"],
        json!({"tools": {}, "resources": {}, "prompts": {}, "completions": {}})
    );
    let answer = web.post(&[], r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    assert!(answer.json().await.get("result").is_some());
    assert_eq!(web.http("GET", &[("accept", "text/event-stream")], "").await.status, 405);
}

#[tokio::test(start_paused = true)]
async fn modern_headers_mirror_the_body() {
    let web = Web::start(Config::default());
    let body = |method: &str, params: Value| {
        let mut params = params;
        params["_meta"] = meta();
        json!({"jsonrpc": "2.0", "id": 8, "method": method, "params": params}).to_string()
    };
    let list = body("tools/list", json!({}));
    let version = ("mcp-protocol-version", MODERN);
    let sound = web.post(&[version, ("MCP-METHOD", "  tools/list ")], &list).await;
    assert_eq!(sound.status, 200);
    for headers in [
        vec![version],
        vec![("mcp-method", "tools/list")],
        vec![version, ("mcp-method", "prompts/list")],
        vec![version, ("mcp-method", "Tools/List")],
        vec![("mcp-protocol-version", "2025-11-25"), ("mcp-method", "tools/list")],
        vec![version, ("mcp-method", "tools/list\u{e9}")],
    ] {
        let answer = web.post(&headers, &list).await;
        assert_eq!(answer.status, 400, "{headers:?}");
        let answer = answer.json().await;
        assert_eq!((error_code(&answer), &answer["id"]), (&json!(-32020), &json!(8)), "{headers:?}");
    }
    let call = body("tools/call", json!({"name": "echo", "arguments": {"text": "x"}}));
    let coded = format!("=?base64?{}?=", STANDARD.encode("echo"));
    let wrong = format!("=?base64?{}?=", STANDARD.encode("add"));
    let shouted = format!("=?BASE64?{}?=", STANDARD.encode("echo"));
    for (name, status) in
        [("echo", 200), (coded.as_str(), 200), ("add", 400), (&wrong, 400), (&shouted, 400), ("=?base64?!?=", 400)]
    {
        let answer = web.post(&[version, ("mcp-method", "tools/call"), ("mcp-name", name)], &call).await;
        assert_eq!(answer.status, status, "{name}");
    }
    assert_eq!(web.post(&[version, ("mcp-method", "tools/call")], &call).await.status, 400);
    let routed =
        body("tools/call", json!({"name": "routed", "arguments": {"region": "north", "shard": 42, "urgent": null}}));
    for (region, shard, status) in [
        (Some("north"), Some("42.0"), 200),
        (Some("=?base64?bm9ydGg=?="), Some("42"), 200),
        (Some("south"), Some("42"), 400),
        (None, Some("42"), 400),
        (Some("north"), Some("43"), 400),
    ] {
        let mut headers = vec![version, ("mcp-method", "tools/call"), ("mcp-name", "routed")];
        headers.extend(region.map(|region| ("mcp-param-region", region)));
        headers.extend(shard.map(|shard| ("Mcp-Param-SHARD", shard)));
        assert_eq!(web.post(&headers, &routed).await.status, status, "{region:?} {shard:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn modern_refusals_have_their_status() {
    let web = Web::start(Config::default());
    let status_and_code = async |method: &str, params: Value, capabilities: Value| {
        let answer = web.modern(json!(1), method, params, capabilities).await;
        (answer.status, error_code(&answer.json().await).clone())
    };
    assert_eq!(status_and_code("nothing/known", json!({}), json!({})).await, (404, json!(-32601)));
    assert_eq!(status_and_code("ping", json!({}), json!({})).await, (404, json!(-32601)));
    assert_eq!(status_and_code("tools/call", json!({"name": "ask"}), json!({})).await, (400, json!(-32021)));
    assert_eq!(status_and_code("tools/call", json!({"name": "none"}), json!({})).await, (200, json!(-32602)));
    let headers = [("mcp-protocol-version", "2099-01-01"), ("mcp-method", "tools/list")];
    let mut meta = meta();
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let body = json!({"jsonrpc": "2.0", "id": 8, "method": "tools/list", "params": {"_meta": meta}}).to_string();
    let answer = web.post(&headers, &body).await;
    assert_eq!((answer.status, error_code(&answer.json().await)), (400, &json!(-32022)));
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/list")];
    let answer = web.post(&headers, r#"{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{}}"#).await;
    assert_eq!((answer.status, error_code(&answer.json().await)), (400, &json!(-32602)));
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "notifications/cancelled")];
    let answer =
        web.post(&headers, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    assert_eq!(answer.status, 202);
    assert!(answer.bytes().await.is_empty());
    let modern = Web::start(Config { eras: Eras::ModernOnly, ..Config::default() });
    for method in ["GET", "DELETE"] {
        assert_eq!(modern.http(method, &[("accept", "text/event-stream")], "").await.status, 405);
    }
    let params = common::initialize_params("2025-11-25", json!({}));
    let answer = modern
        .post(&[], &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string())
        .await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json().await["error"]["data"]["supported"], json!([MODERN]));
}

#[tokio::test(start_paused = true)]
async fn modern_requests_and_subscriptions_stream() {
    let web = Web::start(Config::default());
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let mut one = web.modern(json!(17), "subscriptions/listen", listen.clone(), json!({})).await;
    let mut two = web.modern(json!("17"), "subscriptions/listen", listen, json!({})).await;
    assert_eq!(one.headers["x-accel-buffering"], "no");
    for (stream, tag) in [(&mut one, json!(17)), (&mut two, json!("17"))] {
        let first = stream.message().await;
        assert_eq!(first["method"], json!("notifications/subscriptions/acknowledged"));
        assert_eq!(first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], tag);
    }
    drop(two);
    let touched = web.modern(json!(1), "tools/call", json!({"name": "touch_list"}), json!({})).await;
    assert_eq!(touched.kind(), "application/json");
    assert_eq!(one.message().await["method"], json!("notifications/tools/list_changed"));
    assert!(timeout(Duration::from_secs(5), one.event()).await.is_err());
    let mut params = json!({"name": "log_some"});
    params["_meta"] = meta();
    params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("critical");
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "log_some")];
    let body = json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": params}).to_string();
    let mut logged = web.post(&headers, &body).await;
    assert_eq!(logged.message().await["params"]["level"], json!("critical"));
    assert_eq!(logged.message().await["id"], json!(8));
    assert!(logged.event().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_form_of_answers_can_be_chosen() {
    let json_only = Web::start(Config { answers: AnswerForm::Json, ..Config::default() });
    let session = json_only.session("2025-11-25", json!({"elicitation": {}})).await;
    let slow = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "slow", "_meta": {"progressToken": 1}}});
    assert_eq!(json_only.in_session(&session, slow).await.kind(), "application/json");
    let ask = json!({"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {"name": "ask"}});
    assert_eq!(json_only.in_session(&session, ask).await.kind(), "text/event-stream");
    let streamed = Web::start(Config { answers: AnswerForm::Sse, ..Config::default() });
    let mut answer = streamed.modern(json!(1), "server/discover", json!({}), json!({})).await;
    assert_eq!(answer.message().await["result"]["supportedVersions"], json!([MODERN]));
    assert!(answer.event().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_token_can_be_demanded() {
    let web = Web::start(Config { token: Some("secret".to_owned()), ..Config::default() });
    let ping = r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#;
    for headers in [vec![], vec![("authorization", "Bearer other")]] {
        let refused = web.post(&headers, ping).await;
        assert_eq!((refused.status, refused.headers["www-authenticate"].as_bytes()), (401, b"Bearer".as_slice()));
    }
    assert_eq!(web.post(&[("authorization", "Bearer secret")], ping).await.status, 400);
}

#[tokio::test(start_paused = true)]
async fn the_old_transport_is_recognizable() {
    let web = Web::start(Config { old_transport: true, ..Config::default() });
    assert_eq!(web.post(&[], "{}").await.status, 405);
    let mut stream = web.http("GET", &[("accept", "text/event-stream")], "").await;
    assert_eq!(stream.event().await.expect("an event").data, "/messages?session=1");
}
