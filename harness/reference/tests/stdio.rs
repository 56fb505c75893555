//! The sound server over a pipe, in both eras.

mod common;

use std::time::Duration;

use common::{Pipe, meta, meta_with};
use mcp_reference_server::{Config, Eras};
use serde_json::{Value, json};

fn error_code(answer: &Value) -> &Value {
    answer.pointer("/error/code").unwrap_or(&Value::Null)
}

fn text(answer: &Value) -> &str {
    answer.pointer("/result/content/0/text").and_then(Value::as_str).unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test(start_paused = true)]
async fn each_legacy_version_is_negotiated() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut pipe = Pipe::start(Config::default());
        let answer = pipe.initialize(version, json!({})).await;
        assert_eq!(answer["result"]["protocolVersion"], json!(version));
        assert_eq!(pipe.request("ping", json!({})).await["result"], json!({}));
        assert_eq!(pipe.exit().await, 0);
    }
    for version in ["1999-01-01", "2099-12-31", "2026-07-28"] {
        let mut pipe = Pipe::start(Config::default());
        let answer = pipe.initialize(version, json!({})).await;
        assert_eq!(answer["result"]["protocolVersion"], json!("2025-11-25"));
    }
}

#[tokio::test(start_paused = true)]
async fn ids_come_back_as_they_were_written() {
    let mut pipe = Pipe::start(Config::default());
    for id in
        ["0", "\"\"", "7", "\"7\"", "9007199254740993", "123456789012345678901234567890", "7.0", "\"\\u00fc-é\"", "-1"]
    {
        pipe.text(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"server/discover","params":{{"_meta":{}}}}}"#,
            meta()
        ))
        .await;
        let line = pipe.line().await;
        assert!(line.contains(&format!(r#""id":{id},"#)), "{id}: {line}");
        assert!(line.contains("supportedVersions"), "{id}: {line}");
    }
    for id in ["null", "true", "{}", "7.5"] {
        pipe.text(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#)).await;
        let answer = pipe.next().await;
        assert_eq!(error_code(&answer), &json!(-32600));
        assert!(answer.get("id").is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_message_is_refused_and_survived() {
    let mut pipe = Pipe::start(Config::default());
    for (line, code) in
        [("{", -32700), ("[]", -32600), ("5", -32600), (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600)]
    {
        pipe.text(line).await;
        assert_eq!(error_code(&pipe.next().await), &json!(code), "{line}");
    }
    pipe.text(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    assert_eq!(error_code(&pipe.next().await), &json!(-32600));
    let answer = pipe.initialize("2025-11-25", json!({})).await;
    assert!(answer.get("result").is_some());
    pipe.text("\r").await;
    pipe.text("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\r").await;
    assert_eq!(pipe.next().await, json!({"jsonrpc": "2.0", "id": 2, "result": {}}));
    assert_eq!(
        error_code(&pipe.request("initialize", common::initialize_params("2025-11-25", json!({}))).await),
        &json!(-32600)
    );
    assert_eq!(error_code(&pipe.request("nothing/known", json!({})).await), &json!(-32601));
}

#[tokio::test(start_paused = true)]
async fn arrays_are_served_under_the_one_version_that_has_them() {
    let mut pipe = Pipe::start(Config::default());
    pipe.initialize("2025-03-26", json!({})).await;
    pipe.text(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/none"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#).await;
    let answers = pipe.next().await;
    assert_eq!(answers.as_array().map(Vec::len), Some(2));
    let mut pipe = Pipe::start(Config::default());
    pipe.initialize("2025-11-25", json!({})).await;
    pipe.text(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#).await;
    assert_eq!(error_code(&pipe.next().await), &json!(-32600));
}

#[tokio::test(start_paused = true)]
async fn modern_results_carry_what_they_have_to() {
    let mut pipe = Pipe::start(Config::default());
    for (method, params) in [
        ("server/discover", json!({})),
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "ref://text/readme"})),
        ("prompts/list", json!({})),
    ] {
        let result = pipe.modern(method, params, json!({})).await["result"].clone();
        assert_eq!(result["resultType"], json!("complete"), "{method}");
        assert!(result["ttlMs"].as_u64().is_some() && result["cacheScope"] == json!("public"), "{method}");
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], json!("mcp-reference-server"));
    }
    let result = pipe.modern("prompts/get", json!({"name": "review"}), json!({})).await["result"].clone();
    assert_eq!(result["resultType"], json!("complete"));
    assert!(result.get("ttlMs").is_none());
}

#[tokio::test(start_paused = true)]
async fn modern_metadata_is_demanded_on_every_request() {
    let mut pipe = Pipe::start(Config::default());
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    for method in ["server/discover", "tools/list", "tools/call", "subscriptions/listen", "nothing/known"] {
        for missing in [version, capabilities] {
            let mut meta = meta();
            meta.as_object_mut().expect("an object").remove(missing);
            let answer = pipe.request(method, json!({"_meta": meta})).await;
            assert_eq!(error_code(&answer), &json!(-32602), "{method} {missing}");
        }
        for wrong in ["1900-01-01", "2026-07-29", "2026-07-28 ", "2025-11-25"] {
            let mut meta = meta();
            meta[version] = json!(wrong);
            let answer = pipe.request(method, json!({"_meta": meta})).await;
            assert_eq!(error_code(&answer), &json!(-32022), "{method}");
            assert_eq!(answer["error"]["data"], json!({"supported": ["2026-07-28"], "requested": wrong}));
        }
    }
    let mut meta = meta();
    meta[version] = json!(20_260_728);
    assert_eq!(error_code(&pipe.request("tools/list", json!({"_meta": meta})).await), &json!(-32602));
    let mut modern = Pipe::start(Config { eras: Eras::ModernOnly, ..Config::default() });
    assert_eq!(error_code(&modern.request("tools/list", json!({})).await), &json!(-32602));
    let answer = modern.request("initialize", common::initialize_params("2025-11-25", json!({}))).await;
    assert_eq!(answer["error"]["data"]["supported"], json!(["2026-07-28"]));
    for removed in ["ping", "logging/setLevel", "resources/subscribe", "initialize"] {
        assert_eq!(error_code(&modern.modern(removed, json!({}), json!({})).await), &json!(-32601), "{removed}");
    }
}

#[tokio::test(start_paused = true)]
async fn tools_do_what_they_say() {
    let mut pipe = Pipe::start(Config::default());
    pipe.initialize("2025-11-25", json!({})).await;
    for modern in [false, true] {
        let mut answers = Vec::new();
        for (name, arguments) in [
            ("echo", json!({"text": "grüß"})),
            ("add", json!({"a": 1, "b": 2.5})),
            ("pick", json!({"colour": "red", "count": 2, "tags": ["x"]})),
            ("slow", json!({"steps": 2, "stepMs": 1000})),
            ("routed", json!({"region": "north", "shard": 7})),
            ("media", json!({})),
        ] {
            let mut params = json!({"name": name, "arguments": arguments});
            if modern {
                params["_meta"] = meta();
            }
            let answer = pipe.request("tools/call", params).await;
            assert!(answer["result"].get("isError").is_none(), "{answer}");
            answers.push(answer);
        }
        assert_eq!(text(&answers[0]), "grüß");
        assert_eq!(answers[1]["result"]["structuredContent"], json!({"sum": 3.5}));
        assert_eq!(text(&answers[1]), r#"{"sum":3.5}"#);
        for (name, arguments) in [
            ("fail", json!({})),
            ("echo", json!({})),
            ("echo", json!({"text": 1})),
            ("echo", json!({"text": "a", "more": 1})),
            ("pick", json!({"colour": "mauve", "count": 1})),
            ("pick", json!({"colour": "red", "count": 9})),
        ] {
            let mut params = json!({"name": name, "arguments": arguments});
            if modern {
                params["_meta"] = meta();
            }
            let answer = pipe.request("tools/call", params).await;
            assert_eq!(answer["result"]["isError"], json!(true), "{answer}");
        }
        for params in
            [json!({"name": "unknown"}), json!({"name": "Echo"}), json!({}), json!({"name": "echo", "arguments": []})]
        {
            let mut params = params;
            if modern {
                params["_meta"] = meta();
            }
            assert_eq!(error_code(&pipe.request("tools/call", params).await), &json!(-32602));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_list_is_walked_to_its_end() {
    let mut pipe = Pipe::start(Config::default());
    for (method, key, expected) in [
        ("tools/list", "tools", 20),
        ("resources/list", "resources", 8),
        ("prompts/list", "prompts", 4),
        ("resources/templates/list", "resourceTemplates", 4),
    ] {
        let mut seen = Vec::new();
        let mut cursor = None;
        for _ in 0..20 {
            let params = cursor.map_or(json!({}), |cursor: Value| json!({"cursor": cursor}));
            let result = pipe.modern(method, params, json!({})).await["result"].clone();
            seen.extend(result[key].as_array().expect("a list").clone());
            cursor = result.get("nextCursor").cloned();
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen.len(), expected, "{method}");
        let names: std::collections::BTreeSet<String> = seen.iter().map(|item| item["name"].to_string()).collect();
        assert_eq!(names.len(), expected, "{method}");
        for bogus in [json!("bogus"), json!(""), json!(null), json!(3)] {
            let answer = pipe.modern(method, json!({"cursor": bogus}), json!({})).await;
            assert_eq!(error_code(&answer), &json!(-32602), "{method}");
        }
    }
    // A cursor of another list is no cursor of this one, one of another process is.
    let tools = pipe.modern("tools/list", json!({}), json!({})).await["result"]["nextCursor"].clone();
    assert_eq!(error_code(&pipe.modern("prompts/list", json!({"cursor": tools}), json!({})).await), &json!(-32602));
    let mut other = Pipe::start(Config::default());
    assert!(other.modern("tools/list", json!({"cursor": tools}), json!({})).await.get("result").is_some());
}

#[tokio::test(start_paused = true)]
async fn resources_prompts_and_completions() {
    let mut pipe = Pipe::start(Config { page_size: None, ..Config::default() });
    pipe.initialize("2025-11-25", json!({})).await;
    let listed = pipe.request("resources/list", json!({})).await["result"]["resources"].clone();
    for resource in listed.as_array().expect("a list") {
        let answer = pipe.request("resources/read", json!({"uri": resource["uri"]})).await;
        assert_eq!(answer["result"]["contents"][0]["uri"], resource["uri"]);
        let answer = pipe.modern("resources/read", json!({"uri": resource["uri"]}), json!({})).await;
        assert_eq!(answer["result"]["contents"][0]["uri"], resource["uri"]);
    }
    assert_eq!(error_code(&pipe.request("resources/read", json!({"uri": "ref://none"})).await), &json!(-32002));
    let answer = pipe.modern("resources/read", json!({"uri": "ref://none"}), json!({})).await;
    assert_eq!(
        answer["error"],
        json!({"code": -32602, "message": "there is no such resource", "data": {"uri": "ref://none"}})
    );
    let answer = pipe.request("prompts/get", json!({"name": "greeting", "arguments": {"name": "Ada"}})).await;
    assert_eq!(answer["result"]["messages"][0]["content"]["text"], json!("Greet Ada in a friendly way."));
    for params in [
        json!({"name": "greeting"}),
        json!({"name": "greeting", "arguments": {"name": 5}}),
        json!({"name": "unknown"}),
        json!({}),
    ] {
        assert_eq!(error_code(&pipe.request("prompts/get", params).await), &json!(-32602));
    }
    let complete = |reference: Value, name: &str, value: &str| json!({"ref": reference, "argument": {"name": name, "value": value}});
    let style = complete(json!({"type": "ref/prompt", "name": "greeting"}), "style", "fr");
    let answer = pipe.request("completion/complete", style).await;
    assert_eq!(answer["result"]["completion"], json!({"values": ["friendly", "frosty"], "total": 2, "hasMore": false}));
    let note = complete(json!({"type": "ref/resource", "uri": "ref://note/{id}"}), "id", "");
    let answer = pipe.modern("completion/complete", note, json!({})).await;
    assert_eq!(answer["result"]["completion"]["values"], json!(["first", "second"]));
    let unknown = complete(json!({"type": "ref/prompt", "name": "unknown"}), "style", "");
    assert_eq!(error_code(&pipe.request("completion/complete", unknown).await), &json!(-32602));
    assert_eq!(error_code(&pipe.request("completion/complete", json!({})).await), &json!(-32602));
}

#[tokio::test(start_paused = true)]
async fn legacy_tools_ask_during_the_call() {
    let mut pipe = Pipe::start(Config { asks_roots: false, ..Config::default() });
    pipe.initialize("2025-11-25", json!({"elicitation": {}, "roots": {}, "sampling": {}})).await;
    let call =
        |id: u64, name: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name}});
    let accept = |content: Value| json!({"action": "accept", "content": content});
    pipe.send(call(1, "ask_twice")).await;
    let mut asked = Vec::new();
    for answer in [accept(json!({"name": "Ada"})), accept(json!({"colour": "red"}))] {
        let question = pipe.next().await;
        assert_eq!(question["method"], json!("elicitation/create"));
        asked.push(question["id"].clone());
        pipe.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": answer})).await;
    }
    assert_ne!(asked[0], asked[1]);
    assert_eq!(text(&pipe.next().await), "Ada likes red.");
    for (name, method, answer) in [
        ("ask_roots", "roots/list", json!({"roots": [{"uri": "file:///a"}]})),
        (
            "ask_model",
            "sampling/createMessage",
            json!({"role": "assistant", "model": "m", "content": [{"type": "text", "text": "hi"}]}),
        ),
    ] {
        pipe.send(call(2, name)).await;
        let question = pipe.next().await;
        assert_eq!(question["method"], json!(method));
        pipe.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": answer})).await;
        assert!(pipe.next().await["result"].get("isError").is_none());
    }
    for outcome in [
        json!({"result": {"action": "decline"}}),
        json!({"result": {"action": "accept", "content": {"name": 5}}}),
        json!({"error": {"code": -32602, "message": "no"}}),
    ] {
        pipe.send(call(3, "ask")).await;
        let question = pipe.next().await;
        let mut answer = json!({"jsonrpc": "2.0", "id": question["id"]});
        answer.as_object_mut().expect("an object").extend(outcome.as_object().expect("an object").clone());
        pipe.send(answer).await;
        assert_eq!(pipe.next().await["result"]["isError"], json!(true));
    }
    // Cancelling the call takes the question back as well.
    pipe.send(call(4, "ask")).await;
    let question = pipe.next().await;
    pipe.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}})).await;
    let cancelled = pipe.next().await;
    assert_eq!(cancelled["method"], json!("notifications/cancelled"));
    assert_eq!(cancelled["params"]["requestId"], question["id"]);
    assert!(pipe.silent().await);
    let mut poor = Pipe::start(Config::default());
    poor.initialize("2025-11-25", json!({"elicitation": {"url": {}}})).await;
    for name in ["ask", "ask_roots", "ask_model"] {
        assert_eq!(poor.request("tools/call", json!({"name": name})).await["result"]["isError"], json!(true), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn modern_tools_ask_in_rounds() {
    let mut pipe = Pipe::start(Config::default());
    let can = json!({"elicitation": {}, "roots": {}, "sampling": {}});
    let accept = |content: Value| json!({"action": "accept", "content": content});
    let first = pipe.modern("tools/call", json!({"name": "ask_twice"}), can.clone()).await["result"].clone();
    assert_eq!(first["resultType"], json!("input_required"));
    assert!(first.get("ttlMs").is_none());
    assert_eq!(first["inputRequests"]["name"]["method"], json!("elicitation/create"));
    // Another process takes up the flow.
    let mut other = Pipe::start(Config::default());
    let retry = |state: &Value, responses: Value| json!({"name": "ask_twice", "requestState": state, "inputResponses": responses});
    let responses = json!({"name": accept(json!({"name": "Ada"})), "unknown": {}});
    let second =
        other.modern("tools/call", retry(&first["requestState"], responses.clone()), can.clone()).await["result"]
            .clone();
    assert_eq!(second["inputRequests"].as_object().expect("a map").keys().collect::<Vec<_>>(), ["colour"]);
    let last = retry(&second["requestState"], json!({"colour": accept(json!({"colour": "blue"}))}));
    let third = pipe.modern("tools/call", last, can.clone()).await;
    assert_eq!(text(&third), "Ada likes blue.");
    // Without an answer the question comes again.
    let again =
        pipe.modern("tools/call", retry(&first["requestState"], json!({})), can.clone()).await["result"].clone();
    assert_eq!(again["resultType"], json!("input_required"));
    // States of other flows and changed ones are refused.
    let ask = pipe.modern("tools/call", json!({"name": "ask"}), can.clone()).await["result"]["requestState"].clone();
    let swapped = pipe.modern("tools/call", retry(&ask, responses.clone()), can.clone()).await;
    assert_eq!(error_code(&swapped), &json!(-32602));
    let changed = json!(first["requestState"].as_str().expect("text").replacen('e', "f", 1));
    assert_eq!(
        error_code(&pipe.modern("tools/call", retry(&changed, responses.clone()), can.clone()).await),
        &json!(-32602)
    );
    for (state, answers) in [
        (json!(5), json!({})),
        (first["requestState"].clone(), json!([])),
        (first["requestState"].clone(), json!({"name": accept(json!({"name": 5}))})),
    ] {
        assert_eq!(error_code(&pipe.modern("tools/call", retry(&state, answers), can.clone()).await), &json!(-32602));
    }
    tokio::time::sleep(Duration::from_secs(601)).await;
    assert_eq!(
        error_code(&pipe.modern("tools/call", retry(&first["requestState"], responses), can.clone()).await),
        &json!(-32602)
    );
    // Two questions at once, answered one by one.
    let both = pipe.modern("tools/call", json!({"name": "ask_both"}), can.clone()).await["result"].clone();
    assert_eq!(both["inputRequests"].as_object().expect("a map").len(), 2);
    let half = json!({"name": "ask_both", "requestState": both["requestState"], "inputResponses": {"name": accept(json!({"name": "Ada"}))}});
    let half = pipe.modern("tools/call", half, can.clone()).await["result"].clone();
    assert_eq!(half["inputRequests"].as_object().expect("a map").keys().collect::<Vec<_>>(), ["size"]);
    let rest = json!({"name": "ask_both", "requestState": half["requestState"], "inputResponses": {"size": accept(json!({"size": 38}))}});
    assert_eq!(text(&pipe.modern("tools/call", rest, can.clone()).await), "Ada has size 38.");
    // The other methods ask as well.
    for (method, params) in
        [("prompts/get", json!({"name": "guided"})), ("resources/read", json!({"uri": "ref://text/guarded"}))]
    {
        let first = pipe.modern(method, params.clone(), can.clone()).await["result"].clone();
        assert_eq!(first["resultType"], json!("input_required"));
        let mut retry = params;
        retry["requestState"] = first["requestState"].clone();
        retry["inputResponses"] = json!({"name": accept(json!({"name": "rust"}))});
        let done = pipe.modern(method, retry, can.clone()).await["result"].clone();
        assert_eq!(done["resultType"], json!("complete"));
        assert!(done.to_string().contains("rust"));
    }
    for (name, needed) in [
        ("ask", json!({"elicitation": {"form": {}}})),
        ("ask_roots", json!({"roots": {}})),
        ("ask_model", json!({"sampling": {}})),
    ] {
        let answer = pipe.modern("tools/call", json!({"name": name}), json!({})).await;
        assert_eq!(error_code(&answer), &json!(-32021));
        assert_eq!(answer["error"]["data"], json!({"requiredCapabilities": needed}));
    }
}

#[tokio::test(start_paused = true)]
async fn subscriptions_are_acknowledged_tagged_and_ended() {
    let mut pipe = Pipe::start(Config::default());
    let all = json!({"toolsListChanged": true, "promptsListChanged": false, "resourceSubscriptions": ["ref://note/first", "ref://none"], "later": true});
    for id in ["0", "\"\"", "17", "\"17\""] {
        let params = json!({"notifications": all, "_meta": meta()});
        pipe.text(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{params}}}"#)).await;
        let line = pipe.line().await;
        assert!(line.contains("notifications/subscriptions/acknowledged"), "{line}");
        assert!(line.contains(&format!(r#""io.modelcontextprotocol/subscriptionId":{id}}}"#)), "{line}");
        let acknowledged: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(
            acknowledged["params"]["notifications"],
            json!({"toolsListChanged": true, "resourceSubscriptions": ["ref://note/first"]})
        );
    }
    let call = |id: u64, name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments, "_meta": meta()}});
    pipe.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "17"}})).await;
    pipe.send(call(100, "touch_list", json!({}))).await;
    let mut tags = Vec::new();
    for _ in 0..3 {
        let message = pipe.next().await;
        assert_eq!(message["method"], json!("notifications/tools/list_changed"));
        tags.push(message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].clone());
    }
    assert_eq!(tags, [json!(0), json!(""), json!(17)]);
    assert!(pipe.next().await.get("result").is_some());
    pipe.send(call(101, "write_note", json!({"id": "first", "text": "new"}))).await;
    for _ in 0..3 {
        assert_eq!(pipe.next().await["params"]["uri"], json!("ref://note/first"));
    }
    assert!(pipe.next().await.get("result").is_some());
    assert!(pipe.silent().await);
    assert_eq!(pipe.exit().await, 0);
    let mut short = Pipe::start(Config { listen_limit: Some(Duration::from_secs(5)), ..Config::default() });
    short.send(json!({"jsonrpc": "2.0", "id": 4, "method": "subscriptions/listen", "params": {"notifications": {}, "_meta": meta()}})).await;
    assert_eq!(short.next().await["params"]["notifications"], json!({}));
    assert_eq!(short.next().await["method"], json!("notifications/cancelled"));
    let last = short.next().await;
    assert_eq!(
        last["result"],
        json!({"resultType": "complete", "_meta": {"io.modelcontextprotocol/subscriptionId": 4}})
    );
    assert_eq!(error_code(&short.modern("subscriptions/listen", json!({}), json!({})).await), &json!(-32602));
}

#[tokio::test(start_paused = true)]
async fn legacy_clients_hear_of_changes() {
    let mut pipe = Pipe::start(Config::default());
    pipe.initialize("2025-11-25", json!({})).await;
    let call = |id: u64, name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    pipe.send(call(1, "touch_list", json!({}))).await;
    assert_eq!(pipe.next().await, json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
    assert_eq!(pipe.next().await, json!({"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"}));
    assert!(pipe.next().await.get("result").is_some());
    assert_eq!(pipe.request("resources/subscribe", json!({"uri": "ref://note/first"})).await["result"], json!({}));
    pipe.send(call(2, "write_note", json!({"id": "first", "text": "new"}))).await;
    assert_eq!(pipe.next().await["params"], json!({"uri": "ref://note/first"}));
    assert!(pipe.next().await.get("result").is_some());
    assert_eq!(pipe.request("resources/unsubscribe", json!({"uri": "ref://note/first"})).await["result"], json!({}));
    pipe.send(call(3, "write_note", json!({"id": "first", "text": "newer"}))).await;
    assert!(pipe.next().await.get("result").is_some());
}

#[tokio::test(start_paused = true)]
async fn progress_goes_to_its_token_and_stops() {
    let mut pipe = Pipe::start(Config::default());
    pipe.initialize("2025-11-25", json!({})).await;
    for (id, token) in [("1", "0"), ("2", "\"0\""), ("3", "9007199254740993")] {
        pipe.text(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"slow","_meta":{{"progressToken":{token}}}}}}}"#)).await;
        for done in 0..=3 {
            let line = pipe.line().await;
            assert!(line.contains(&format!(r#""progress":{done},"#)), "{line}");
            assert!(line.contains(&format!(r#""progressToken":{token}}}"#)), "{line}");
        }
        assert_eq!(text(&pipe.next().await), "did 3 steps");
    }
    // Cancelled work stops and is not answered; a second use of an id that is in flight is refused.
    let slow = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "slow", "arguments": {"stepMs": 60000}}});
    pipe.send(slow.clone()).await;
    pipe.send(slow).await;
    assert_eq!(error_code(&pipe.next().await), &json!(-32600));
    pipe.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}})).await;
    pipe.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "none"}})).await;
    pipe.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled"})).await;
    assert!(pipe.silent().await);
    assert_eq!(pipe.request("ping", json!({})).await["result"], json!({}));
}

#[tokio::test(start_paused = true)]
async fn log_messages_follow_the_level() {
    let mut pipe = Pipe::start(Config::default());
    pipe.initialize("2025-11-25", json!({})).await;
    assert_eq!(pipe.request("logging/setLevel", json!({"level": "error"})).await["result"], json!({}));
    assert_eq!(error_code(&pipe.request("logging/setLevel", json!({"level": "loud"})).await), &json!(-32602));
    pipe.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "log_some"}})).await;
    assert_eq!(pipe.next().await["params"]["level"], json!("error"));
    assert_eq!(pipe.next().await["params"]["level"], json!("critical"));
    assert!(pipe.next().await.get("result").is_some());
    let mut meta = meta();
    pipe.send(
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "log_some", "_meta": meta}}),
    )
    .await;
    assert!(pipe.next().await.get("result").is_some());
    meta["io.modelcontextprotocol/logLevel"] = json!("critical");
    pipe.send(
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "log_some", "_meta": meta}}),
    )
    .await;
    assert_eq!(pipe.next().await["params"]["level"], json!("critical"));
    assert!(pipe.next().await.get("result").is_some());
    meta["io.modelcontextprotocol/logLevel"] = json!("loud");
    assert_eq!(error_code(&pipe.request("tools/list", json!({"_meta": meta})).await), &json!(-32602));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_ends_the_process() {
    let mut pipe = Pipe::start(Config::default());
    pipe.initialize("2025-11-25", json!({"roots": {}})).await;
    assert_eq!(pipe.next().await["method"], json!("roots/list"));
    pipe.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "slow", "arguments": {"stepMs": 60000}}})).await;
    pipe.send(json!({"jsonrpc": "2.0", "id": 2, "method": "subscriptions/listen", "params": {"notifications": {}, "_meta": meta_with(json!({}))}})).await;
    assert_eq!(pipe.exit().await, 0);
}
