//! [`mrtr_round_trip`]: the answering driver against a model server that asks for anything.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use arbitrary::Unstructured;
use mcp_conform_cases::ast::AnswerPolicy;
use mcp_conform_schemas::{Era, InstanceSchema};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};

use crate::{
    conversation::{
        Bench, Call, Deadlines, Opening, Policy, StdioTarget, Target, all_capabilities, asks_for_input, in_memory,
        open, unanswerable,
    },
    trace::Secrets,
    wire::Limits,
};

/// More rounds than the driver goes through.
const MOST_RESULTS: usize = 8;

/// Any bytes as a policy and as the results of a model server. Whatever the server asks for, the driver sends the same
/// request under a new id, with the state as it was handed out and only then, with answers under keys that were asked for and
/// no others, and it stops in the end.
pub fn mrtr_round_trip(data: &[u8]) {
    let mut dice = Unstructured::new(data);
    let policy = policy(&mut dice);
    let most = dice.int_in_range(0..=5_usize).unwrap_or_default();
    let results: Vec<Value> =
        (0..dice.int_in_range(0..=MOST_RESULTS).unwrap_or_default()).map(|_| result(&mut dice)).collect();
    let model = Arc::new(Model { results, seen: Mutex::default() });
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_time().build() else { return };
    let shown = runtime.block_on(drive(model.clone(), policy.clone(), most));
    let seen = std::mem::take(&mut *model.seen.lock().unwrap_or_else(PoisonError::into_inner));
    assert_eq!(shown, model.interim(most), "each request for input is shown once, in order");
    assert_eq!(seen.len(), model.requests(most), "the driver goes on as long as it should, and no longer");
    let mut ids = BTreeSet::new();
    for (index, request) in seen.iter().enumerate() {
        assert!(ids.insert(request["id"].to_string()), "an id came twice");
        assert_eq!(request["method"], "tools/call");
        assert_eq!(bare(request), bare(seen.first().unwrap_or(&Value::Null)), "all else stays as it was");
        let asked = index.checked_sub(1).and_then(|before| model.results.get(before));
        answered(&policy, asked, &request["params"]);
    }
}

/// Holds one request against the result that it answers; the first one answers none.
fn answered(policy: &Policy, asked: Option<&Value>, params: &Value) {
    let member = |name: &str| asked.and_then(|result| result.get(name));
    assert_eq!(params.get("requestState"), member("requestState"), "the state comes back as it was, and only then");
    let requests = member("inputRequests").and_then(Value::as_object);
    let responses = params.get("inputResponses");
    assert_eq!(responses.is_some(), requests.is_some(), "nothing is answered that was not asked");
    let none = Map::new();
    let responses = responses.map_or(&none, |responses| responses.as_object().expect("answers are an object"));
    for (key, request) in requests.unwrap_or(&none) {
        let method = request["method"].as_str().unwrap_or_default();
        let withheld = matches!(policy.of(method), AnswerPolicy::Hold | AnswerPolicy::Error(_));
        let Some(response) = responses.get(key) else {
            assert!(withheld, "{key} is not answered");
            continue;
        };
        assert!(!withheld, "{key} is answered against the policy");
        fits(policy, method, &request["params"], response);
    }
    let known = |key: &String| requests.is_some_and(|requests| requests.contains_key(key));
    assert!(responses.keys().all(known), "nothing is answered that was not asked");
}

/// A response has the form of what was asked for.
fn fits(policy: &Policy, method: &str, params: &Value, response: &Value) {
    if matches!(policy.of(method), AnswerPolicy::Malformed) {
        return;
    }
    match method {
        "roots/list" => assert!(response["roots"].is_array(), "{response}"),
        "sampling/createMessage" => {
            assert!(response["role"].is_string() && response["model"].is_string(), "{response}")
        }
        _ => {
            let wanted = match policy.of(method) {
                AnswerPolicy::Decline => "decline",
                AnswerPolicy::Cancel => "cancel",
                _ => "accept",
            };
            assert_eq!(response["action"], wanted);
            let form = params.get("mode").is_none_or(|mode| mode != "url");
            assert_eq!(response.get("content").is_some(), form && wanted == "accept", "{response}");
            if let (Some(content), Some(schema)) = (response.get("content"), params.get("requestedSchema"))
                && let Ok(compiled) = InstanceSchema::new(schema)
                && mcp_conform_schemas::generate::minimal(schema).is_some_and(|value| value.is_object())
            {
                assert!(!compiled.refuses(content), "{content} does not fit {schema}");
            }
        }
    }
}

/// A request without what a retry changes.
fn bare(request: &Value) -> Value {
    let mut params = request["params"].clone();
    if let Some(members) = params.as_object_mut() {
        members.retain(|name, _| name != "inputResponses" && name != "requestState");
    }
    params
}

async fn drive(model: Arc<Model>, policy: Policy, most: usize) -> Vec<Value> {
    let target =
        Target::Stdio(StdioTarget::Memory(in_memory(move |stdin, stdout| serve(model.clone(), stdin, stdout))));
    let bench = Arc::new(Bench::new(Deadlines::default(), Limits::default(), Arc::new(Secrets::default())));
    let opening = Opening { policy, capabilities: all_capabilities(), ..Opening::new(Era::Modern) };
    let talk = open(&target, &bench, opening).await.expect("a model is reached");
    let params = json!({"name": "any", "arguments": {"inputResponses": {}, "requestState": "of the tool"}});
    let call = Call { method: "tools/call".to_owned(), params: Some(params.into()), ..Call::default() };
    let first = talk.request(call.clone(), None).await.expect("a model takes what is sent");
    let mut shown = Vec::new();
    talk.rounds(call, first, most, |_, result| shown.push(result.clone())).await.expect("a model takes what is sent");
    shown
}

/// A server that gives one result after the other, and then completes.
struct Model {
    results: Vec<Value>,
    seen: Mutex<Vec<Value>>,
}

impl Model {
    /// The requests for input that a driver goes through.
    fn interim(&self, most: usize) -> Vec<Value> {
        let mut shown: Vec<Value> = Vec::new();
        for result in self.results.iter().take(most).take_while(|result| asks_for_input(result)) {
            shown.push(result.clone());
            if unanswerable(result).is_some() {
                break;
            }
        }
        shown
    }

    /// How many requests a driver sends: the first, and one for each result that can be answered.
    fn requests(&self, most: usize) -> usize {
        1 + self.interim(most).iter().filter(|result| unanswerable(result).is_none()).count()
    }

    fn answer(&self, line: &str) -> Option<String> {
        let request: Value = serde_json::from_str(line).expect("what we send is JSON");
        let id = request.get("id")?.clone();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let complete = json!({"resultType": "complete", "content": []});
        let result = self.results.get(seen.len()).unwrap_or(&complete);
        seen.push(request);
        Some(format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "result": result})))
    }
}

/// Answers line by line, until nobody asks or listens any more.
async fn serve(model: Arc<Model>, stdin: impl AsyncRead + Unpin, mut stdout: impl AsyncWrite + Unpin) -> i32 {
    let mut lines = BufReader::new(stdin).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Some(answer) = model.answer(&line) else { continue };
        if stdout.write_all(answer.as_bytes()).await.is_err() {
            break;
        }
    }
    0
}

fn policy(dice: &mut Unstructured<'_>) -> Policy {
    let kinds = [
        AnswerPolicy::Answer,
        AnswerPolicy::Decline,
        AnswerPolicy::Cancel,
        AnswerPolicy::Hold,
        AnswerPolicy::Error(-32603),
        AnswerPolicy::Malformed,
    ];
    let methods = ["*", "elicitation/create", "roots/list", "sampling/createMessage"];
    let rules = methods.into_iter().filter_map(|method| {
        let chosen = dice.ratio(1_u8, 3_u8).unwrap_or(false);
        chosen.then(|| (method.to_owned(), dice.choose(&kinds).cloned().unwrap_or_default()))
    });
    Policy::new(rules.collect())
}

fn result(dice: &mut Unstructured<'_>) -> Value {
    if dice.ratio(1_u8, 8_u8).unwrap_or(true) {
        return json!({"resultType": "complete", "content": [{"type": "text", "text": word(dice)}]});
    }
    let mut result = Map::new();
    result.insert("resultType".to_owned(), json!("input_required"));
    match dice.int_in_range(0..=9_u8).unwrap_or_default() {
        0 => {}
        1 => drop(result.insert("inputRequests".to_owned(), odd(dice))),
        _ => {
            let count = dice.int_in_range(0..=3_u8).unwrap_or_default();
            let requests: Map<String, Value> = (0..count).map(|_| (word(dice), asked(dice))).collect();
            result.insert("inputRequests".to_owned(), Value::Object(requests));
        }
    }
    match dice.int_in_range(0..=9_u8).unwrap_or_default() {
        0 => drop(result.insert("requestState".to_owned(), odd(dice))),
        1..=3 => {}
        _ => drop(result.insert("requestState".to_owned(), json!(word(dice)))),
    }
    Value::Object(result)
}

fn asked(dice: &mut Unstructured<'_>) -> Value {
    match dice.int_in_range(0..=9_u8).unwrap_or_default() {
        0 => odd(dice),
        1 => json!({"method": "tools/list"}),
        2 | 3 => json!({"method": "roots/list"}),
        4 | 5 => json!({"method": "sampling/createMessage", "params": {
            "messages": [{"role": "user", "content": {"type": "text", "text": word(dice)}}], "maxTokens": 9,
        }}),
        6 => json!({"method": "elicitation/create", "params": {
            "mode": "url", "message": word(dice), "url": "https://example.com/page",
        }}),
        _ => json!({"method": "elicitation/create", "params": {
            "mode": "form", "message": word(dice), "requestedSchema": form(dice),
        }}),
    }
}

fn form(dice: &mut Unstructured<'_>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for name in ["a", "b"] {
        let field = match dice.int_in_range(0..=4_u8).unwrap_or_default() {
            0 => continue,
            1 => json!({"type": "string", "minLength": dice.int_in_range(0..=4_u8).unwrap_or_default()}),
            2 => json!({"type": "integer", "minimum": dice.int_in_range(-3..=9_i8).unwrap_or_default()}),
            3 => json!({"type": "boolean"}),
            _ => json!({"type": "string", "enum": ["red", "green"]}),
        };
        properties.insert(name.to_owned(), field);
        if dice.arbitrary().unwrap_or(false) {
            required.push(name);
        }
    }
    json!({"type": "object", "properties": properties, "required": required})
}

/// A text that is easily mistreated on its way there and back.
fn word(dice: &mut Unstructured<'_>) -> String {
    let words = ["", "a", "name", "\"\\/\u{8}", "\u{1F600}", "\u{202e}", "7", "null", " a ", "ä\u{0}\u{2028}"];
    match dice.arbitrary().unwrap_or(true) {
        true => (*dice.choose(&words).unwrap_or(&"a")).to_owned(),
        false => dice.arbitrary::<&str>().unwrap_or_default().chars().take(40).collect(),
    }
}

fn odd(dice: &mut Unstructured<'_>) -> Value {
    let values =
        [json!(null), json!(true), json!(7), json!([]), json!({}), json!([{}]), json!({"a": null}), json!("a")];
    dice.choose(&values).cloned().unwrap_or_default()
}
