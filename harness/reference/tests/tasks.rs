//! Tasks of 2025-11-25 and pages to be visited, as a sound server serves them over a pipe.

mod common;

use common::Pipe;
use mcp_reference_server::Config;
use serde_json::{Value, json};

/// Asks, and passes over what the server sends meanwhile.
async fn ask(pipe: &mut Pipe, method: &str, params: Value) -> Value {
    pipe.request(method, params).await
}

#[tokio::test(start_paused = true)]
async fn a_task_lives_and_ends() {
    let mut pipe = Pipe::start(Config::default());
    let opened = pipe.initialize("2025-11-25", json!({})).await;
    assert_eq!(opened["result"]["capabilities"]["tasks"]["requests"]["tools"]["call"], json!({}));
    let call = json!({"name": "slow", "arguments": {}, "task": {"ttl": 5000}});
    let task = ask(&mut pipe, "tools/call", call.clone()).await["result"]["task"].clone();
    assert_eq!((&task["status"], &task["ttl"]), (&json!("working"), &json!(5000)));
    let id = json!({"taskId": task["taskId"]});
    assert_eq!(ask(&mut pipe, "tasks/get", id.clone()).await["result"]["status"], json!("working"));
    let result = ask(&mut pipe, "tasks/result", id.clone()).await["result"].clone();
    assert_eq!(result["content"][0]["text"], json!("did 3 steps"));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/related-task"], id);
    assert_eq!(ask(&mut pipe, "tasks/get", id.clone()).await["result"]["status"], json!("completed"));
    assert_eq!(ask(&mut pipe, "tasks/cancel", id).await["error"]["code"], json!(-32602));

    let second = ask(&mut pipe, "tools/call", call).await["result"]["task"]["taskId"].clone();
    let id = json!({"taskId": second});
    assert_eq!(ask(&mut pipe, "tasks/cancel", id.clone()).await["result"]["status"], json!("cancelled"));
    assert!(ask(&mut pipe, "tasks/result", id).await.get("error").is_some());
    let listed = ask(&mut pipe, "tasks/list", json!({})).await["result"]["tasks"].clone();
    assert_eq!(listed.as_array().map(Vec::len), Some(2));
}

#[tokio::test(start_paused = true)]
async fn tasks_are_refused_where_there_are_none() {
    let mut pipe = Pipe::start(Config::default());
    pipe.initialize("2025-11-25", json!({})).await;
    let call = json!({"name": "echo", "arguments": {"text": "x"}, "task": {}});
    assert_eq!(ask(&mut pipe, "tools/call", call.clone()).await["error"]["code"], json!(-32601));
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        assert_eq!(ask(&mut pipe, method, json!({"taskId": "none"})).await["error"]["code"], json!(-32602));
    }
    let mut older = Pipe::start(Config::default());
    let opened = older.initialize("2025-06-18", json!({})).await;
    assert!(opened["result"]["capabilities"].get("tasks").is_none());
    assert_eq!(ask(&mut older, "tools/call", call).await["result"]["content"][0]["text"], json!("x"));
    assert_eq!(ask(&mut older, "tasks/list", json!({})).await["error"]["code"], json!(-32601));
}

#[tokio::test(start_paused = true)]
async fn a_page_is_named_only_to_who_can_go_there() {
    let mut pipe = Pipe::start(Config::default());
    pipe.initialize("2025-11-25", json!({"elicitation": {"url": {}}})).await;
    let answer = ask(&mut pipe, "tools/call", json!({"name": "locked"})).await;
    let listed = &answer["error"]["data"]["elicitations"];
    assert_eq!((&answer["error"]["code"], &listed[0]["mode"]), (&json!(-32042), &json!("url")));
    assert!(listed[0]["elicitationId"].is_string());
    let mut other = Pipe::start(Config::default());
    other.initialize("2025-11-25", json!({"elicitation": {}})).await;
    for name in ["locked", "ask_page"] {
        let answer = ask(&mut other, "tools/call", json!({"name": name})).await;
        assert_eq!(answer["result"]["isError"], json!(true));
    }
}
