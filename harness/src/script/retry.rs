//! The retry of a multi round-trip request: the same request with the answers and the state, under a new id.

use mcp_conform_cases::ast::Retry;
use mcp_conform_schemas::Revision;
use serde_json::Value;

use super::player::{Player, Round, Stop};
use crate::conversation::{Answer, Draft};

impl Player<'_> {
    pub(super) async fn retry(&self, round: &mut Round, step: &Retry, path: &str) -> Result<(), Stop> {
        let first = round.handle(&step.of)?;
        let talk = match &step.on {
            None => first.talk.clone(),
            on => self.talk(round, on).await?,
        };
        self.mark(round, &talk, &format!("{path}.retry"));
        let result = first.answer.as_ref().and_then(Answer::result).unwrap_or_default();
        if result.get("resultType").and_then(Value::as_str) != Some("input_required") {
            let came = first.answer.as_ref().map_or_else(|| "nothing".to_owned(), Answer::describe);
            return Err(Stop::Missing(format!(
                "there is nothing to retry: {came} came instead of a request for input"
            )));
        }
        if let Some(fault) = unanswerable(&result) {
            return Err(Stop::Missing(format!("no sound answer can be made to what was asked for: {fault}")));
        }
        let Some(mut call) = first.call.clone() else {
            return Err(Stop::Script(format!("{} is no request of ours", step.of.node)));
        };
        let mut params = call.params.take().unwrap_or_else(Draft::object);
        let responses = match &step.responses {
            Some(template) => Some(round.values.fill(&template.node)?),
            None => result.get("inputRequests").map(|asked| talk.opening().policy.responses(asked).into()),
        };
        if let Some(mut responses) = responses {
            for (name, template) in &step.also {
                responses.insert(name, round.values.fill(&template.node)?);
            }
            params.insert("inputResponses", responses);
        }
        let state = match &step.state {
            None => result.get("requestState").map(|state| Draft::Value(state.clone())),
            Some(None) => None,
            Some(Some(template)) => Some(round.values.fill(&template.node)?),
        };
        if let Some(state) = state {
            params.insert("requestState", state);
        }
        call.params = Some(params);
        call.id = None;
        call.token = None;
        call.wrong.extend(step.wrong.iter().cloned());
        let mut handle = self.dispatch(&talk, call).await?;
        self.settle(&mut handle, step.within).await;
        self.conclude(round, handle, step.handle.as_ref(), &step.judgements, &step.captures)
    }
}

/// What is wrong with a request for input, so that nobody could answer it soundly: what comes of a retry is then no fault of
/// its own.
fn unanswerable(result: &Value) -> Option<String> {
    let revision = Revision::V2026_07_28;
    if let Some(state) = result.get("requestState").filter(|state| !state.is_string()) {
        return Some(format!("requestState is no text but {state}"));
    }
    let requests = result.get("inputRequests")?;
    let problems = mcp_conform_schemas::validate(revision, "InputRequests", requests).unwrap_or_default();
    let problem = problems.into_iter().find(|problem| problem.contested.is_none())?;
    Some(format!("inputRequests{}: {}", problem.pointer, problem.message))
}
