//! A long conversation over a pipe, in both eras.

use std::time::Duration;

use mcp_reference_server::Config;
use serde_json::{Value, json};

use super::common::{MODERN, Pipe, initialize_params, meta, meta_with};
use super::{QUIET, Record, found, last_questions, masked, next_page, notification, questions, reply, request};

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

pub(super) async fn over_pipe(revision: &str, config: &Config, record: &mut Record) {
    if revision == MODERN {
        modern_over_pipe(config, record).await;
        rounds_over_pipe(config, record).await;
    } else {
        legacy_over_pipe(config, record).await;
        handshakes_over_pipe(config, record).await;
    }
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
        for line in last_questions("2025-11-25") {
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
    let slow = with(json!({"name": "slow", "arguments": {"stepMs": 60000}}), meta());
    client.ask(json!(72), "tools/call", slow).await;
    client.say(&notification("notifications/cancelled", json!({"requestId": 72})).to_string()).await;
    client.say(&notification("notifications/cancelled", json!({"requestId": "none"})).to_string()).await;
    client.say("{").await;
    client.end().await;
    let mut client = Stdio::start(config.clone(), record);
    for line in last_questions(MODERN) {
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
