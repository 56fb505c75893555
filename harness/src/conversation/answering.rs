//! The answering side: what we say when the server asks.
//!
//! [`Policy`] decides by method; the same policy answers requests that the server sends (legacy era) and input requests
//! embedded in a result (multi round-trip, modern era).

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use mcp_conform_cases::ast::AnswerPolicy;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{draft::Draft, talk::Conversation};
use crate::{
    trace::{Body, Direction},
    wire::Message,
};

/// What to do with the server's requests, by method; `*` for every other one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    rules: Vec<(String, AnswerPolicy)>,
    /// Sound results of the user's own, by method.
    given: Arc<BTreeMap<String, Value>>,
}

/// What a policy makes of one request.
#[derive(Clone, Debug, PartialEq)]
pub enum Reaction {
    /// `{"code", "message"}`.
    Error(Value),
    /// Left unanswered.
    Nothing,
    Result(Value),
    /// The result, after a while.
    Later(Duration, Value),
}

impl Policy {
    pub fn new(rules: Vec<(String, AnswerPolicy)>) -> Self {
        Self { rules, given: Arc::default() }
    }

    /// Answers soundly with what the user gave, where something was given.
    pub fn with_given(self, given: Arc<BTreeMap<String, Value>>) -> Self {
        Self { given, ..self }
    }

    /// A key that is equal for equal policies.
    pub fn key(&self) -> String {
        format!("{:?}", self.rules)
    }

    pub fn of(&self, method: &str) -> AnswerPolicy {
        let exact = self.rules.iter().find(|(name, _)| name == method);
        let any = || self.rules.iter().find(|(name, _)| name == "*");
        exact.or_else(any).map(|(_, policy)| policy.clone()).unwrap_or_default()
    }

    pub fn react(&self, method: &str, params: &Value) -> Reaction {
        let policy = self.of(method);
        if method == "ping" && matches!(policy, AnswerPolicy::Answer | AnswerPolicy::Cancel | AnswerPolicy::Decline) {
            return Reaction::Result(json!({}));
        }
        let Some(sound) = self.given.get(method).cloned().or_else(|| sound_answer(method, params)) else {
            return Reaction::Error(json!({"code": -32601, "message": "this client offers no such method"}));
        };
        match policy {
            AnswerPolicy::Answer => Reaction::Result(sound),
            AnswerPolicy::Cancel => Reaction::Result(turned_down(method, sound, "cancel")),
            AnswerPolicy::Decline => Reaction::Result(turned_down(method, sound, "decline")),
            AnswerPolicy::Delay(time) => Reaction::Later(time, sound),
            AnswerPolicy::Error(code) => Reaction::Error(json!({"code": code, "message": "refused on purpose"})),
            AnswerPolicy::Hold => Reaction::Nothing,
            AnswerPolicy::Malformed => Reaction::Result(malformed(method)),
        }
    }

    /// `inputResponses` for the input requests of an `input_required` result: same keys, bare results. What is held is
    /// left out.
    pub fn responses(&self, requests: &Value) -> Value {
        let mut out = Map::new();
        for (key, request) in requests.as_object().into_iter().flatten() {
            let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
            let reaction = self.react(method, request.get("params").unwrap_or(&Value::Null));
            if let Reaction::Result(value) | Reaction::Later(_, value) = reaction {
                out.insert(key.clone(), value);
            }
        }
        Value::Object(out)
    }
}

/// Everything that a client can declare, in the shape of both revisions.
pub fn all_capabilities() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "roots": {}, "sampling": {"context": {}, "tools": {}}})
}

fn sound_answer(method: &str, params: &Value) -> Option<Value> {
    Some(match method {
        "roots/list" => json!({"roots": [{"uri": "file:///mcp-conform", "name": "mcp-conform"}]}),
        "sampling/createMessage" => json!({
            "role": "assistant",
            "content": {"type": "text", "text": "an answer made by mcp-conform"},
            "model": "mcp-conform",
            "stopReason": "endTurn",
        }),
        "elicitation/create" => {
            if params.get("mode").and_then(Value::as_str) == Some("url") {
                return Some(json!({"action": "accept"}));
            }
            let content = params
                .get("requestedSchema")
                .and_then(mcp_conform_schemas::generate::minimal)
                .filter(Value::is_object)
                .unwrap_or_else(|| json!({}));
            json!({"action": "accept", "content": content})
        }
        _ => return None,
    })
}

fn turned_down(method: &str, sound: Value, action: &str) -> Value {
    if method == "elicitation/create" { json!({"action": action}) } else { sound }
}

fn malformed(method: &str) -> Value {
    match method {
        "roots/list" => json!({"roots": "none"}),
        "elicitation/create" => json!({"action": "accept", "content": 17}),
        _ => json!({"role": 7}),
    }
}

/// Answers the requests of the server by the conversation's policy until the trace ends.
pub(super) async fn answer_server(talk: Conversation) {
    let mut from = 0;
    // Far beyond every run; the task is ended with its conversation.
    let never = Instant::now() + Duration::from_secs(30 * 24 * 3600);
    loop {
        let mut next = from;
        let asked = talk
            .recorder()
            .wait(from, never, |event| {
                next = usize::try_from(event.seq).unwrap_or(usize::MAX).saturating_add(1);
                if matches!(event.body, Body::Drained) {
                    return Some(None);
                }
                let view = event.message().filter(|view| view.direction == Direction::In)?;
                match &view.frame.message {
                    Message::Request { id, method } => Some(Some((id.clone(), method.clone(), view.frame.clone()))),
                    _ => None,
                }
            })
            .await;
        from = next;
        let Ok(Some((id, method, frame))) = asked else { return };
        let params =
            frame.json.as_ref().and_then(|json| json.get("params")).map_or(Value::Null, |json| json.to_value());
        let mut message = Draft::Object(vec![("jsonrpc".to_owned(), json!("2.0").into())]);
        message.insert("id", Draft::Raw(id.to_string()));
        match talk.opening().policy.react(&method, &params) {
            Reaction::Nothing => continue,
            Reaction::Error(error) => message.insert("error", error.into()),
            Reaction::Result(result) => message.insert("result", result.into()),
            Reaction::Later(time, result) => {
                message.insert("result", result.into());
                let talk = talk.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(time).await;
                    // The conversation may have ended in between; then nobody waits for the answer.
                    let _ = talk.post(message).await;
                });
                continue;
            }
        }
        if talk.post(message).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_method_wins_over_the_star() {
        let policy = Policy::new(vec![
            ("*".to_owned(), AnswerPolicy::Hold),
            ("elicitation/create".to_owned(), AnswerPolicy::Decline),
        ]);
        assert_eq!(policy.react("elicitation/create", &json!({})), Reaction::Result(json!({"action": "decline"})));
        assert_eq!(policy.react("roots/list", &json!({})), Reaction::Nothing);
    }

    #[test]
    fn input_requests_are_answered_under_their_keys() {
        let policy = Policy::default();
        let responses = policy.responses(&json!({"k1": {"method": "roots/list"}, "k2": {"method": "unknown/thing"}}));
        assert!(responses["k1"]["roots"].is_array());
        assert!(responses.get("k2").is_none());
    }
}
