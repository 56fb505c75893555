//! Multi round-trip requests (2026-07-28): a result that asks for input ends its request, and the same request goes out
//! again with the answers and the state. [`Conversation::rounds`] goes on until the server has what it needs.

use mcp_conform_schemas::Revision;
use serde_json::Value;

use super::{
    answer::{Answer, Ticket},
    answering::Policy,
    draft::Draft,
    envelope::Call,
    talk::{Conversation, SendError},
};

/// Whether a result asks for input.
pub fn asks_for_input(result: &Value) -> bool {
    result.get("resultType").and_then(Value::as_str) == Some("input_required")
}

/// What is wrong with a request for input, so that nobody could answer it soundly: what comes of a retry is then no fault of
/// its own.
pub fn unanswerable(result: &Value) -> Option<String> {
    let revision = Revision::V2026_07_28;
    if let Some(state) = result.get("requestState").filter(|state| !state.is_string()) {
        return Some(format!("requestState is no text but {state}"));
    }
    let requests = result.get("inputRequests")?;
    let problems = mcp_conform_schemas::validate(revision, "InputRequests", requests).unwrap_or_default();
    let problem = problems.into_iter().find(|problem| problem.contested.is_none())?;
    Some(format!("inputRequests{}: {}", problem.pointer, problem.message))
}

/// The answers to what a result asks for; nothing if it asks for nothing.
pub fn responses(policy: &Policy, result: &Value) -> Option<Draft> {
    result.get("inputRequests").map(|asked| policy.responses(asked).into())
}

/// The state of a result, as it was handed out.
pub fn state(result: &Value) -> Option<Draft> {
    result.get("requestState").map(|state| Draft::Value(state.clone()))
}

/// The same request under a new id, with these answers and this state, and none of an earlier round.
pub fn retried(mut call: Call, responses: Option<Draft>, state: Option<Draft>) -> Call {
    let mut params = call.params.take().unwrap_or_else(Draft::object);
    for (name, value) in [("inputResponses", responses), ("requestState", state)] {
        // What an earlier round held was for the server of that round.
        let _ = params.remove(&format!("/{name}"));
        if let Some(value) = value {
            params.insert(name, value);
        }
    }
    call.params = Some(params);
    call.id = None;
    call.token = None;
    call
}

impl Conversation {
    /// Goes on with a request that was answered, until the server asks for nothing more, nobody could answer it, or the
    /// rounds are used up. Each result that asks for input is shown on the way.
    pub async fn rounds(
        &self,
        mut call: Call,
        (mut ticket, mut answer): (Ticket, Answer),
        most: usize,
        mut shown: impl FnMut(&Answer, &Value),
    ) -> Result<(Ticket, Answer), SendError> {
        for _ in 0..most {
            let Some(result) = answer.result().filter(asks_for_input) else { break };
            shown(&answer, &result);
            if unanswerable(&result).is_some() {
                break;
            }
            call = retried(call, responses(&self.opening().policy, &result), state(&result));
            (ticket, answer) = self.request(call.clone(), None).await?;
        }
        Ok((ticket, answer))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_retry_holds_nothing_of_an_earlier_round() {
        let params = json!({"name": "ask", "inputResponses": {"old": {}}, "requestState": "old"});
        let call = Call { method: "tools/call".to_owned(), params: Some(params.into()), ..Call::default() };
        let result = json!({"resultType": "input_required", "inputRequests": {"new": {"method": "roots/list"}}});
        let next = retried(call, responses(&Policy::default(), &result), state(&result));
        let params = next.params.unwrap_or_else(Draft::object).to_value();
        assert!(params["inputResponses"]["new"]["roots"].is_array() && params["inputResponses"].get("old").is_none());
        assert_eq!((params.get("requestState"), &params["name"]), (None, &json!("ask")));
    }
}
