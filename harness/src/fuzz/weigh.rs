//! What is wrong with a message that was made at random, so that nobody holds its refusal against the server.

use mcp_conform_schemas::{Direction, Era, MessageKind, message_type, validate};
use serde_json::{Value, json};

use super::{
    dice::Dice,
    input::{self, Act, Input, Message},
    mutate::Workshop,
};
use crate::conversation::{META_CAPABILITIES, META_CLIENT, META_VERSION, client_info};

impl Workshop {
    /// The text of a message as the conversation would send it.
    pub(super) fn text_of(&self, message: &Message, dice: &mut Dice) -> Vec<u8> {
        let id = message.id.clone().unwrap_or_else(|| (800_000 + dice.below(100_000)).to_string());
        let params = self.whole(message);
        let params = input::fill(&params, &|_, _| Some("AAAA".into())).map(|draft| draft.text());
        let method = Value::from(message.method.as_str());
        let params = params.map(|params| format!(",\"params\":{params}")).unwrap_or_default();
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":{method}{params}}}").into_bytes()
    }

    /// The parameters with what the modern era adds to them.
    fn whole(&self, message: &Message) -> Value {
        let mut params = message.params.clone().unwrap_or_else(|| json!({}));
        if self.era == Era::Modern
            && let Value::Object(members) = &mut params
        {
            let meta = members.entry("_meta").or_insert_with(|| json!({}));
            if let Value::Object(meta) = meta {
                let claim: [(&str, Value); 3] = [
                    (META_VERSION, self.era.judged().as_str().into()),
                    (META_CLIENT, client_info()),
                    (META_CAPABILITIES, message.capabilities.clone().unwrap_or_else(|| json!({}))),
                ];
                for (name, value) in claim {
                    meta.entry(name).or_insert(value);
                }
            }
        }
        params
    }

    /// Finds out what is wrong with each request of an input.
    pub(super) fn weigh_all(&self, input: &mut Input) {
        for step in &mut input.steps {
            match &mut step.act {
                Act::Request(message) => self.weigh(message),
                Act::Notify(message) => weigh_notification(message),
                _ => {}
            }
        }
    }

    /// Finds out what is wrong with the parameters of a message, so that nobody holds its refusal against the server.
    fn weigh(&self, message: &mut Message) {
        let kept = ["/id", "/params/_meta/progressToken"];
        message.wrong.retain(|pointer| pointer.starts_with("headers/") || kept.contains(&pointer.as_str()));
        let mut unreadable = false;
        let whole = self.whole(message);
        let Some(draft) = input::fill(&whole, &|_, _| Some("mcp-conform".into())) else { return };
        readable(&whole, &mut unreadable);
        if unreadable {
            // A parser that stumbles over it sees no message at all.
            return message.wrong.push(String::new());
        }
        let params = draft.to_value();
        if !params.is_object() {
            message.wrong.push("/params".to_owned());
        }
        let value = json!({"jsonrpc": "2.0", "id": 1, "method": message.method, "params": params});
        let revision = self.era.judged();
        let known = |method: &str| message_type(revision, Direction::ClientToServer, method, MessageKind::Request);
        // What every request has in common holds for a method that nobody knows, too.
        let plainest = if self.era == Era::Legacy { "ping" } else { "server/discover" };
        let name = known(&message.method);
        let value = match name {
            Some(_) => value,
            None => json!({"jsonrpc": "2.0", "id": 1, "method": plainest, "params": value.get("params")}),
        };
        let Some(name) = name.or_else(|| known(plainest)) else { return };
        let problems = validate(revision, name, &value).unwrap_or_default();
        // No double holds it exactly, and servers may refuse it for that.
        let token = value.pointer("/params/_meta/progressToken").filter(|token| token.is_number());
        if token.is_some_and(|token| token.as_i64().is_none_or(|token| token.unsigned_abs() >= 1 << 53)) {
            message.wrong.push("/params/_meta/progressToken".to_owned());
        }
        message.wrong.extend(problems.into_iter().map(|problem| problem.pointer).take(8));
    }
}

/// What a server has to see as a notification, whatever is wrong in its params, and what it need not.
fn weigh_notification(message: &mut Message) {
    let params = message.params.clone().unwrap_or_else(|| json!({}));
    let mut unreadable = false;
    readable(&params, &mut unreadable);
    let object = input::fill(&params, &|_, _| Some("mcp-conform".into())).is_some_and(|it| it.to_value().is_object());
    if unreadable || !object {
        message.wrong = vec![String::new()];
    }
}

/// Whether an argument lies beyond a bound or outside a list that the schema names: nothing that leniency could mend.
pub(super) fn breaks_a_bound(schema: &Value, arguments: &Value) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().any(|(name, property)| {
        let Some(value) = arguments.get(name) else { return false };
        let bound = |word: &str| property.get(word).and_then(Value::as_f64);
        let raw = value.get(input::RAW).and_then(Value::as_str);
        let number =
            value.as_f64().or_else(|| raw.and_then(|text| text.parse().ok())).filter(|it: &f64| it.is_finite());
        let beyond = number.is_some_and(|number| {
            bound("maximum").is_some_and(|most| number > most) || bound("minimum").is_some_and(|least| number < least)
        });
        let outside = property
            .get("enum")
            .and_then(Value::as_array)
            .is_some_and(|all| value.is_string() && all.iter().all(Value::is_string) && !all.contains(value));
        beyond || outside
    })
}

/// Raw literals that an ordinary parser does not read as they are meant.
pub(super) fn readable(value: &Value, unreadable: &mut bool) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(text)) = members.get(input::RAW) {
                let read = serde_json::from_str::<Value>(text).map(|read| read.to_string());
                *unreadable |= read.ok().as_ref() != Some(text);
            }
            members.values().for_each(|member| readable(member, unreadable));
        }
        Value::Array(items) => items.iter().for_each(|item| readable(item, unreadable)),
        _ => {}
    }
}
