//! The shortest sequence that shows each bug: [`witness`] plays it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcp_reference_server::{Bug, Era, Shows};
use serde_json::{Value, json};

use crate::talk::{Talk, What};

const VISITS: &str = "ref://data/visits";

fn call(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

fn completion(value: &str) -> Value {
    json!({"ref": {"type": "ref/prompt", "name": "greeting"}, "argument": {"name": "name", "value": value}})
}

fn greeting(name: &str) -> Value {
    json!({"name": "greeting", "arguments": {"name": name}})
}

fn listen(uri: &str) -> Value {
    json!({"notifications": {"resourceSubscriptions": [uri]}})
}

fn form(field: &str, value: &str) -> Value {
    json!({field: {"action": "accept", "content": {field: value}}})
}

fn retry(request: Value, first: &Value, responses: Value) -> Value {
    let mut request = request;
    request["requestState"] = first.pointer("/result/requestState").cloned().unwrap_or_default();
    request["inputResponses"] = responses;
    request
}

fn is_accepted(answer: &Value) -> bool {
    let result = answer.get("result");
    result.is_some_and(|result| result.get("isError").is_none() && result.get("inputRequests").is_none())
}

fn text(answer: &Value) -> String {
    answer.pointer("/result/content/0/text").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Plays the sequence. What shows whatever the sequence is left to `symptoms`.
pub(crate) async fn witness(bug: Bug, talk: &mut Talk) {
    let held = json!("held");
    match bug {
        Bug::ListingBetweenCompletions => {
            for method in ["completion/complete", "resources/templates/list", "completion/complete"] {
                let params = if method == "completion/complete" { completion("") } else { json!({}) };
                talk.ask(method, params).await;
            }
        }
        Bug::SumOverflow => drop(talk.ask("tools/call", call("add", json!({"a": i64::MAX, "b": 1}))).await),
        Bug::DeepParams => {
            let deep = (0..64).fold(json!(1), |inner, _| json!([inner]));
            talk.ask("tools/list", json!({"deep": deep})).await;
        }
        Bug::CursorOverflow => cursor_overflow(talk).await,
        Bug::SecondAnswerFirst => {
            let first = talk.ask("tools/call", call("ask_both", json!({}))).await;
            let responses = json!({"size": {"action": "accept", "content": {"size": 3}}});
            talk.ask("tools/call", retry(call("ask_both", json!({})), &first, responses)).await;
        }
        Bug::AnswerAfterCancel => {
            talk.send(held.clone(), "tools/call", call("ask", json!({}))).await;
            talk.cancel(&held).await;
            let question = talk.messages().into_iter().find(|message| message["method"] == "elicitation/create");
            let id = question.map(|question| question["id"].clone()).unwrap_or_default();
            talk.reply(&id, json!({"action": "accept", "content": {"name": "Ada"}})).await;
        }
        Bug::TaskForever => {
            let mut params = call("slow", json!({}));
            params["task"] = json!({"ttl": i64::MAX});
            talk.ask("tools/call", params).await;
        }
        Bug::ArrayOfAnswers => talk.odd(r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#).await,
        Bug::CancelledCallsKept => {
            talk.hold(held.clone(), "of the call").await;
            talk.cancel(&held).await;
        }
        Bug::SubscriptionsKeepFiles => {
            let (method, params) = subscription(talk.era);
            talk.ask(method, params).await;
        }
        Bug::RefusedIdTaken => {
            talk.send(json!("again"), "tools/call", call("none", json!({}))).await;
            talk.asked.clear();
            talk.send(json!("again"), "tools/list", json!({})).await;
        }
        Bug::StateUsedTwice => {
            let first = talk.ask("tools/call", call("ask", json!({}))).await;
            for _ in 0..2 {
                talk.ask("tools/call", retry(call("ask", json!({})), &first, form("name", "Ada"))).await;
            }
        }
        Bug::TemplateExpandsItself => drop(talk.ask("prompts/get", greeting("{name}")).await),
        Bug::CancelledTaskAwaited => {
            let mut params = call("slow", json!({"stepMs": 10_000}));
            params["task"] = json!({});
            let created = talk.ask("tools/call", params).await;
            let task = json!({"taskId": created.pointer("/result/task/taskId")});
            for method in ["tasks/cancel", "tasks/result"] {
                talk.ask(method, task.clone()).await;
            }
        }
        Bug::BacktrackingPattern => drop(talk.ask("completion/complete", completion(&"a".repeat(28))).await),
        Bug::AnswerLostBetween => {
            talk.hold(held, "of the call").await;
            talk.notify("notifications/roots/list_changed", json!({})).await;
            talk.ask("tools/list", json!({})).await;
        }
        Bug::TokenAnswersTwice => {
            talk.hold(json!("one"), "shared").await;
            talk.hold(json!("other"), "shared").await;
        }
        Bug::LargeAnswerTwice => drop(talk.ask("tools/call", call("echo", json!({"text": "x".repeat(65_536)}))).await),
        Bug::FlowsShareAnswers => flows_share_answers(talk).await,
        Bug::SessionsShareIds => {
            talk.hold(held.clone(), "of the one").await;
            talk.be_another().await;
            talk.hold(held, "of the other").await;
        }
        Bug::LongIdCut => talk.send(json!("x".repeat(256)), "tools/list", json!({})).await,
        Bug::FloatIdTurnsIds => {
            talk.send(json!(7.0), "tools/list", json!({})).await;
            talk.send(json!(8), "tools/list", json!({})).await;
        }
        Bug::CancelledTwice => {
            talk.hold(held.clone(), "of the call").await;
            talk.cancel(&held).await;
            talk.cancel(&held).await;
        }
        Bug::ReasonAnswered => {
            talk.notify("notifications/cancelled", json!({"requestId": "none", "reason": 5})).await;
        }
        Bug::TraceWarning => drop(talk.ask("tools/list", json!({"_meta": {"traceparent": "00-abc"}})).await),
        Bug::ProgressBar => drop(talk.ask("tools/call", call("slow", json!({"steps": 101, "stepMs": 0}))).await),
        Bug::AstralPrefix => drop(talk.ask("completion/complete", completion("\u{1F600}")).await),
        Bug::OddEscape => drop(talk.ask("resources/read", json!({"uri": "ref://note/%"})).await),
        Bug::Charset => talk.with_header("content-type", "application/json; charset=utf-16").await,
        Bug::OddEventId => drop(talk.resume("event-x").await),
        Bug::NextStreamReplayed => next_stream_replayed(talk).await,
        Bug::OldestListensOn => oldest_listens_on(talk).await,
        Bug::ListenersHoldProcess => {
            for id in ["one", "other"] {
                talk.send(json!(id), "subscriptions/listen", listen(VISITS)).await;
            }
        }
        Bug::LargeNumbersPass => forbidden(talk, json!({"colour": "red", "count": 9_007_199_254_740_994_i64})).await,
        Bug::EnumCaseBlind => forbidden(talk, json!({"colour": "RED", "count": 1})).await,
        Bug::StateTailOpen => state_tail_open(talk).await,
        Bug::StateOfAnyContent => {
            let first = talk.ask("prompts/get", json!({"name": "guided"})).await;
            let read = retry(json!({"uri": "ref://text/guarded"}), &first, form("name", "Ada"));
            let answer = talk.ask("resources/read", read).await;
            talk.notice(is_accepted(&answer), Shows::Accepted);
        }
        Bug::NamesRecalled => {
            talk.ask("prompts/get", greeting("Canary of the one")).await;
            talk.be_another().await;
            let answer = talk.ask("completion/complete", completion("")).await;
            talk.notice(answer.to_string().contains("Canary"), Shows::Leaked);
        }
        Bug::ModernSticks => {
            talk.send_in(Era::Modern, json!("modern"), "server/discover", json!({})).await;
            let answer = talk.ask("ping", json!({})).await;
            talk.notice(answer.get("error").is_some(), Shows::Refused);
        }
    }
}

/// What opens a subscription.
pub(crate) fn subscription(era: Era) -> (&'static str, Value) {
    match era {
        Era::Legacy => ("resources/subscribe", json!({"uri": VISITS})),
        Era::Modern => ("subscriptions/listen", listen(VISITS)),
    }
}

async fn forbidden(talk: &mut Talk, arguments: Value) {
    let answer = talk.ask("tools/call", call("pick", arguments)).await;
    talk.notice(is_accepted(&answer), Shows::Accepted);
}

async fn cursor_overflow(talk: &mut Talk) {
    let first = talk.ask("tools/list", json!({})).await;
    let cursor = first.pointer("/result/nextCursor").and_then(Value::as_str).unwrap_or_default();
    let (body, seal) = cursor.split_at(cursor.find('.').unwrap_or(cursor.len()));
    let body = URL_SAFE_NO_PAD.decode(body).expect("a cursor is base64");
    let mut body: Value = serde_json::from_slice(&body).expect("a cursor is JSON");
    body["offset"] = json!(i64::MAX);
    let cursor = format!("{}{seal}", URL_SAFE_NO_PAD.encode(body.to_string()));
    talk.ask("tools/list", json!({"cursor": cursor})).await;
}

async fn flows_share_answers(talk: &mut Talk) {
    let request = || call("ask_twice", json!({}));
    let first = talk.ask("tools/call", request()).await;
    // A state that comes back twice is two flows.
    talk.ask("tools/call", retry(request(), &first, form("name", "Ada"))).await;
    let mut both = form("name", "Grace");
    both["colour"] = form("colour", "red")["colour"].clone();
    let done = talk.ask("tools/call", retry(request(), &first, both)).await;
    talk.notice(text(&done) == "Ada likes red.", Shows::Swapped);
}

async fn next_stream_replayed(talk: &mut Talk) {
    for (id, token) in [("one", "of the one"), ("other", "of the other")] {
        let mut params = call("slow", json!({"steps": 1, "stepMs": 0}));
        params["_meta"] = json!({"progressToken": token});
        talk.send(json!(id), "tools/call", params).await;
    }
    let events = talk.record.all().into_iter().filter_map(|seen| match seen.what {
        What::Message(message, event) => Some((message, event?)),
        _ => None,
    });
    let last = events.filter(|(message, _)| message["id"] == "one").map(|(_, event)| event).next_back();
    let messages = talk.resume(&last.unwrap_or_default()).await;
    talk.notice(messages.iter().any(|message| message["id"] == "other"), Shows::Astray);
}

async fn oldest_listens_on(talk: &mut Talk) {
    for id in ["one", "other"] {
        talk.send(json!(id), "subscriptions/listen", listen(VISITS)).await;
    }
    talk.cancel(&json!("one")).await;
    let before = talk.messages().len();
    talk.send(json!("third"), "subscriptions/listen", listen(VISITS)).await;
    let tag = |message: &Value| message.pointer("/params/_meta/io.modelcontextprotocol~1subscriptionId").cloned();
    let stale = talk.messages().iter().skip(before).any(|message| tag(message) == Some(json!("one")));
    talk.notice(stale, Shows::Astray);
}

async fn state_tail_open(talk: &mut Talk) {
    let first = talk.ask("tools/call", call("ask", json!({}))).await;
    let state = first.pointer("/result/requestState").and_then(Value::as_str).unwrap_or_default();
    let (body, seal) = state.split_once('.').expect("a state is sealed");
    let body = URL_SAFE_NO_PAD.decode(body).expect("a state is base64");
    let body = String::from_utf8(body).expect("a state is text");
    assert!(body.contains(r#""rounds":1"#), "{body}");
    let forged = URL_SAFE_NO_PAD.encode(body.replace(r#""rounds":1"#, r#""rounds":2"#));
    let mut request = retry(call("ask", json!({})), &first, form("name", "Ada"));
    request["requestState"] = json!(format!("{forged}.{seal}"));
    let answer = talk.ask("tools/call", request).await;
    talk.notice(is_accepted(&answer), Shows::Accepted);
}
