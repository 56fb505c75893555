//! What came of an input: [`Played`], with an [`Outcome`] for each of its steps.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bytes::Bytes;
use mcp_conform_schemas::Revision;
use serde_json::Value;

use super::marks::{Foreign, Marks};
use crate::{
    rules::Violation,
    trace::Exit,
    wire::{Frame, Json},
};

/// What one step came to.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    pub(super) class: Class,
    pub(super) method: String,
    /// The tool that was called.
    pub(super) tool: Option<String>,
    pub(super) code: Option<i64>,
    pub(super) status: Option<u16>,
    pub(super) frame: Option<Arc<Frame>>,
    /// An HTTP body that is no message.
    pub(super) text: Option<Bytes>,
    /// Event of the answer.
    pub(super) event: Option<u64>,
    /// Nothing was wrong with the request: an answer was owed.
    pub(super) sound: bool,
    /// Event of what was sent; `None`: it did not go out.
    pub(super) sent: Option<u64>,
    pub(super) at: Duration,
    /// The text that only this step sent.
    pub(super) mark: Option<String>,
    /// Every mark in what was sent, and in what the parts of earlier answers in it were the answers to.
    pub(super) said: Vec<String>,
    /// Texts in the answer that another step sent.
    pub(super) foreign: Vec<Foreign>,
    /// The answer holds a mark of its own request, or of the flow that it belongs to.
    pub(super) echoed: bool,
    /// Its id may be that of another request: which of them an answer is meant for is open.
    pub(super) doubtful: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Class {
    /// The connection ended before an answer.
    Closed,
    Error,
    /// A request for input.
    InputRequired,
    /// An HTTP response below 400 without a message.
    Plain,
    /// An HTTP status of 400 and above without a message.
    Refusal,
    Result,
    /// A result with `isError`.
    ToolError,
    #[default]
    Unanswered,
}

/// A breach of a rule, with what it is about.
#[derive(Clone, Debug)]
pub(super) struct Breach {
    pub(super) rule: &'static str,
    pub(super) requirement: &'static str,
    pub(super) revision: Revision,
    pub(super) violation: Violation,
    pub(super) lane: usize,
    /// Method of the request that it is about; empty where it is about none.
    pub(super) method: String,
}

/// A message that came where it does not belong.
#[derive(Clone, Debug)]
pub(super) struct Astray {
    pub(super) lane: usize,
    pub(super) way: Way,
    pub(super) method: String,
    /// Events of ours that it goes against, and of the message.
    pub(super) sent: u64,
    pub(super) received: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// For a subscription that we had cancelled before requests that were answered since.
    Cancelled,
    /// Replayed behind an event of another stream.
    Replayed,
    /// An answer without an id, while nothing waited for one and nothing but a notification can be meant.
    Unwanted,
}

/// How a conversation ended that we did not end.
#[derive(Clone, Debug)]
pub(super) struct Gone {
    pub(super) lane: usize,
    pub(super) exit: Option<Exit>,
    /// The end of what it said on stderr.
    pub(super) said: String,
    /// Method of the last message of ours.
    pub(super) method: String,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Played {
    pub(super) outcomes: Vec<Outcome>,
    pub(super) breaches: Vec<Breach>,
    pub(super) gone: Vec<Gone>,
    /// Notifications and requests of the server, by method.
    pub(super) told: BTreeSet<String>,
    /// A conversation did not answer the plain request at the end, and how long that was waited for.
    pub(super) deaf: Option<(usize, Duration)>,
    /// Calls of it were still unanswered then.
    pub(super) at_work: bool,
    /// Messages that went out.
    pub(super) sent: u64,
    /// What came for a subscription or on a stream that it does not belong to.
    pub(super) astray: Vec<Astray>,
    /// A plain request at the end was refused by a conversation.
    pub(super) refused: Option<(usize, Outcome)>,
    /// The input could not be played: no conversation could be opened.
    pub(super) unopened: Option<String>,
    pub(super) marks: Marks,
}

impl Played {
    /// What an earlier answer gave and a step hands back may hold, in a form of the server's own, all that was said then.
    pub(super) fn hand_on(&mut self, index: usize, needs: &[usize]) {
        let mut said: Vec<String> = Vec::new();
        for outcome in needs.iter().filter_map(|step| self.outcomes.get(*step)) {
            said.extend(outcome.said.iter().chain(&outcome.mark).cloned());
        }
        if let Some(outcome) = self.outcomes.get_mut(index) {
            outcome.said.extend(said);
        }
    }
}

/// A part of the answer to a step.
pub(super) fn part(played: &Played, step: usize, at: &str) -> Option<Value> {
    let json = played.outcomes.get(step)?.frame.as_ref()?.json.as_ref()?;
    json.pointer(at).map(Json::to_value)
}

pub(super) fn result(played: &Played, step: usize) -> Option<Value> {
    part(played, step, "/result")
}

pub(super) fn class_of(json: &Json) -> Class {
    if json.get("error").is_some() {
        return Class::Error;
    }
    let Some(result) = json.get("result") else { return Class::Unanswered };
    if result.get("resultType").and_then(Json::as_str) == Some("input_required") {
        Class::InputRequired
    } else if result.get("isError").and_then(Json::as_bool) == Some(true) {
        Class::ToolError
    } else {
        Class::Result
    }
}
