//! Our own messages fit the types of the protocol, unless a step says that one is wrong on purpose.
//!
//! [`own_faults`] finds those that do not: faults of this tool or of a case, never of a server, because a server may answer
//! a malformed message as it likes. A value that the server gave us and that we hand back is not ours to answer for.

use std::{collections::HashMap, sync::Arc};

use mcp_conform_schemas::{Direction as Way, Era, MessageKind, Revision, message_type, validate};

use super::Shape;
use crate::{
    trace::{Body, Direction, Event, StepMark},
    wire::{Id, Json, JsonKind},
};

/// A message of ours that breaks the schema without being marked so.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnFault {
    /// Position of the event in the trace.
    pub event: u64,
    /// The step that sent it.
    pub step: Option<StepMark>,
    pub message: String,
}

/// One fault of a trace is enough to find what made it; a loop could make thousands.
const MOST_FAULTS: usize = 5;
/// What only a server makes, perhaps in another conversation.
const ALWAYS_GIVEN: [&str; 2] = ["/params/cursor", "/params/requestState"];
/// Requests of the server whose method is kept for our answer.
const MOST_ASKED: usize = 4_096;

/// The messages of ours that break the schema and are not marked so.
pub fn own_faults(events: &[Arc<Event>]) -> Vec<OwnFault> {
    let mut faults = Vec::new();
    let mut era = Era::Modern;
    let mut step: Option<&StepMark> = None;
    let mut asked: HashMap<String, String> = HashMap::new();
    for (index, event) in events.iter().enumerate() {
        match &event.body {
            Body::Opened(opened) => era = opened.era,
            Body::Step(mark) => step = Some(mark),
            _ => {}
        }
        let Some(view) = event.message() else { continue };
        let Some(json) = view.frame.json.as_ref() else { continue };
        if view.direction == Direction::In {
            if let (Shape::Request, Some(method)) = (Shape::of(json), json.get("method").and_then(Json::as_str))
                && asked.len() < MOST_ASKED
            {
                asked.insert(Id::of(json.get("id")).to_string(), method.to_owned());
            }
            continue;
        }
        let raw = match &event.body {
            Body::Line(line) => line.raw,
            Body::HttpRequest(request) => request.raw,
            _ => true,
        };
        let on_purpose = view.intent.is_none_or(|intent| !intent.wrong.is_empty());
        if raw || on_purpose || faults.len() >= MOST_FAULTS {
            continue;
        }
        let Some((name, part)) = typed(json, era, &asked) else { continue };
        let value = json.pointer(part).map(Json::to_value).unwrap_or_default();
        let Ok(problems) = validate(revision(era, json), name, &value) else { continue };
        let ours = problems.into_iter().filter(|problem| problem.contested.is_none()).find(|problem| {
            if ALWAYS_GIVEN.contains(&problem.pointer.as_str()) {
                return false;
            }
            let value = json.pointer(part).and_then(|json| json.pointer(&problem.pointer));
            !value.is_some_and(|value| was_given(value, events.get(..index).unwrap_or_default()))
        });
        if let Some(problem) = ours {
            let message = format!("a message of ours is no {name}: {part}{problem}");
            faults.push(OwnFault { event: event.seq, step: step.cloned(), message });
        }
    }
    faults
}

/// A modern conversation may try the handshake of the other era.
fn revision(era: Era, json: &Json) -> Revision {
    const HANDSHAKE: [&str; 2] = ["initialize", "notifications/initialized"];
    let handshake = json.get("method").and_then(Json::as_str).is_some_and(|method| HANDSHAKE.contains(&method));
    if handshake { Revision::V2025_11_25 } else { era.judged() }
}

/// The type of a message of ours, and the member of it that has the type.
fn typed(json: &Json, era: Era, asked: &HashMap<String, String>) -> Option<(&'static str, &'static str)> {
    let revision = revision(era, json);
    let of = |method: &str, kind| message_type(revision, Way::ClientToServer, method, kind);
    let method = || json.get("method").and_then(Json::as_str).unwrap_or_default();
    match Shape::of(json) {
        Shape::Request => Some((of(method(), MessageKind::Request).unwrap_or("JSONRPCRequest"), "")),
        Shape::Notification => Some((of(method(), MessageKind::Notification).unwrap_or("JSONRPCNotification"), "")),
        Shape::Response { error: true, .. } => Some(("JSONRPCErrorResponse", "")),
        Shape::Response { .. } => {
            let method = asked.get(&Id::of(json.get("id")).to_string());
            let name = method.and_then(|method| of(method, MessageKind::Result));
            Some(name.map_or(("JSONRPCResultResponse", ""), |name| (name, "/result")))
        }
        // An array is legal in one revision, and only sent on purpose.
        Shape::Other if matches!(json.kind, JsonKind::Array(_)) => None,
        Shape::Bare | Shape::Alien | Shape::Other => Some(("JSONRPCMessage", "")),
    }
}

/// Whether the server said the value before, so that we only hand it back.
fn was_given(value: &Json, before: &[Arc<Event>]) -> bool {
    let plain = match &value.kind {
        JsonKind::Object(members) => members.is_empty(),
        JsonKind::Array(items) => items.is_empty(),
        JsonKind::Null | JsonKind::Bool(_) => true,
        _ => false,
    };
    !plain
        && before
            .iter()
            .filter_map(|event| event.message())
            .filter(|view| view.direction == Direction::In)
            .any(|view| view.frame.json.as_ref().is_some_and(|json| holds(json, value)))
}

fn holds(json: &Json, value: &Json) -> bool {
    json.same(value)
        || match &json.kind {
            JsonKind::Array(items) => items.iter().any(|item| holds(item, value)),
            JsonKind::Object(members) => members.iter().any(|member| holds(&member.value, value)),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::trace;

    fn faults(kind: &str, script: &str) -> Vec<String> {
        own_faults(&trace(kind, script)).into_iter().map(|fault| fault.message).collect()
    }

    #[test]
    fn a_message_of_ours_is_held_to_its_type_unless_it_is_marked() {
        let broken = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}"#;
        let expected = "a message of ours is no CallToolRequest: /params/name: is the number 5, string is wanted";
        assert_eq!(faults("2025-11-25 stdio", &format!("> {broken}")), [expected]);
        assert_eq!(faults("2025-11-25 stdio", &format!(">/params/name {broken}")), Vec::<String>::new());
        assert_eq!(faults("2025-11-25 stdio", &format!("raw {broken}")), Vec::<String>::new());
        assert_eq!(faults("2025-11-25 http", &format!("post {broken}")), [expected]);
    }

    #[test]
    fn our_answers_are_held_to_the_request_that_they_answer() {
        let script = r#"< {"jsonrpc":"2.0","id":7,"method":"roots/list"}
            > {"jsonrpc":"2.0","id":7,"result":{"roots":[{}]}}
            > {"jsonrpc":"2.0","id":8,"result":{"roots":[{}]}}"#;
        let expected = "a message of ours is no ListRootsResult: /result/roots/0: member `uri` is missing";
        assert_eq!(faults("2025-11-25 stdio", script), [expected]);
    }

    #[test]
    fn what_the_server_gave_may_be_handed_back() {
        let script = r#"> {"jsonrpc":"2.0","id":1,"method":"resources/list"}
            < {"jsonrpc":"2.0","id":1,"result":{"resources":[{"uri":17}],"nextCursor":18}}
            > {"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":17}}
            > {"jsonrpc":"2.0","id":3,"method":"resources/list","params":{"cursor":18}}
            > {"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":19}}"#;
        assert_eq!(faults("2025-11-25 stdio", script).len(), 1);
    }

    #[test]
    fn a_fault_names_its_step() {
        let script = "step some-case 2.request\n> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}";
        let fault = own_faults(&trace("2026-07-28 stdio", script)).into_iter().next().unwrap();
        assert_eq!(fault.step.unwrap().step, "2.request");
    }
}
