//! The retry of a multi round-trip request: the same request with the answers and the state, under a new id.

use mcp_conform_cases::ast::Retry;

use super::player::{Player, Round, Stop};
use crate::conversation::{self, Answer, asks_for_input, retried, unanswerable};

impl Player<'_> {
    pub(super) async fn retry(&self, round: &mut Round, step: &Retry, path: &str) -> Result<(), Stop> {
        let first = round.handle(&step.of)?;
        let talk = match &step.on {
            None => first.talk.clone(),
            on => self.talk(round, on).await?,
        };
        self.mark(round, &talk, &format!("{path}.retry"));
        let result = first.answer.as_ref().and_then(Answer::result).unwrap_or_default();
        if !asks_for_input(&result) {
            let came = first.answer.as_ref().map_or_else(|| "nothing came".to_owned(), Answer::came);
            return Err(Stop::Missing(format!("there is nothing to retry: {came}, and no request for input")));
        }
        if let Some(fault) = unanswerable(&result) {
            return Err(Stop::Missing(format!("no sound answer can be made to what was asked for: {fault}")));
        }
        let Some(call) = first.call.clone() else {
            return Err(Stop::Script(format!("{} is no request of ours", step.of.node)));
        };
        let mut responses = match &step.responses {
            Some(template) => Some(round.values.fill(&template.node)?),
            None => conversation::responses(&talk.opening().policy, &result),
        };
        if let Some(responses) = &mut responses {
            responses.drop_first(step.without);
            for (name, template) in &step.also {
                responses.insert(name, round.values.fill(&template.node)?);
            }
        }
        let state = match &step.state {
            None => conversation::state(&result),
            Some(None) => None,
            Some(Some(template)) => Some(round.values.fill(&template.node)?),
        };
        let mut call = retried(call, responses, state);
        if let (Some(name), Some(params)) = (&step.name, &mut call.params) {
            params.insert("name", round.values.fill(&name.node)?);
        }
        call.wrong.extend(step.wrong.iter().cloned());
        let mut handle = self.dispatch(&talk, call).await?;
        self.settle(&mut handle, step.within).await;
        self.conclude(round, handle, step.handle.as_ref(), &step.judgements, &step.captures)
    }
}
