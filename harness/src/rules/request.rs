//! What is kept of our requests and exchanges: [`Request`] and [`ExchangeState`], and what can be said of one of them alone.

use std::sync::Arc;

use mcp_conform_schemas::Era;
use serde_json::Value;

use super::{Context, Shape, bounded::hash};
use crate::{
    trace::{Exchange, Headers, Intent, StepMark},
    wire::{Id, Number},
};

/// Position of a request of ours within the conversation, from 0.
pub type RequestKey = u64;

/// A request of ours.
#[derive(Clone, Debug)]
pub struct Request {
    pub key: RequestKey,
    pub id: Id,
    pub method: Box<str>,
    /// The tool that a tools/call names.
    pub tool: Option<Box<str>>,
    pub token: Option<Id>,
    /// Position of its event.
    pub event: u64,
    pub exchange: Option<Exchange>,
    pub step: Option<Arc<StepMark>>,
    /// It names 2026-07-28 in `_meta`.
    pub modern: bool,
    /// Client capabilities that it declares in `_meta`.
    pub capabilities: Option<Value>,
    /// `notifications` of a subscriptions/listen.
    pub filter: Option<Value>,
    /// It asks for a task.
    pub task: bool,
    /// What is wrong with it on purpose.
    pub wrong: Vec<String>,
    /// Another request with the same id was unanswered at the same time: which of them an answer is meant for is open.
    pub twin: bool,
    /// Another request was in flight with the same progress token: whose progress comes is open.
    pub shared_token: bool,
    /// Bytes of it that an error message may quote.
    pub quotable: usize,
    /// It holds line breaks, or escapes of them: a sentence that quotes it may have several lines.
    pub breaks: bool,
    /// It was sent after raw bytes on the same stdin, which may have swallowed it.
    pub after_raw: bool,
    /// Events of what became of it.
    pub answered: Option<u64>,
    /// The answer came first on a stream that takes up another one: what it repeats may arrive behind it.
    pub replayed: bool,
    pub cancelled: Option<u64>,
    pub deadline: Option<u64>,
    /// We ended the stream, the input or the process before it was answered, or stopped reading for a limit of ours.
    pub ended: Option<u64>,
    /// Status of the HTTP response, and whether an event stream followed it.
    pub response: Option<(u16, bool)>,
    /// No sentence says that an answer is owed: it came before initialize was answered, or is a second initialize.
    pub untimely: bool,
    /// What it costs in memory, roughly.
    pub(super) kept: usize,
}

/// An HTTP exchange that has not ended.
#[derive(Clone, Debug)]
pub struct ExchangeState {
    pub exchange: Exchange,
    pub method: String,
    pub event: u64,
    /// The requests that it carried; more than one only in an array.
    pub requests: Vec<RequestKey>,
    /// What it carried.
    pub shape: Option<Shape>,
    /// It carried an array.
    pub batch: bool,
    pub raw: bool,
    pub intent: Intent,
    /// Accept named both media types.
    pub accepts_both: bool,
    /// It asked for a stream to be resumed.
    pub resumes: bool,
    pub status: Option<u16>,
    pub media_type: Option<String>,
    /// The stream named event ids, so that it can be resumed.
    pub resumable: bool,
    /// The session that the response or else the request named; a conversation can hold more than one.
    pub session: Option<String>,
}

impl Request {
    /// Its id can be read and stands for a request: an answer has to repeat it, whatever else may be wrong.
    pub fn is_readable(&self) -> bool {
        const ENVELOPE: [&str; 5] = ["", "/id", "/jsonrpc", "/method", "/params"];
        const CODING: [&str; 5] = ["content-type", "content-encoding", "content-length", "transfer-encoding", "expect"];
        let id = match &self.id {
            Id::String(_) => true,
            Id::Number(number) => number.is_integer(),
            _ => false,
        };
        // Under a header that says something else of it, the body may be read as something else.
        let coded = |pointer: &&String| {
            let header = pointer.strip_prefix("headers/").unwrap_or_default();
            CODING.iter().any(|name| header.eq_ignore_ascii_case(name))
        };
        let broken = |pointer: &String| ENVELOPE.contains(&pointer.as_str()) || coded(&pointer);
        id && !self.method.is_empty() && !self.wrong.iter().any(broken)
    }

    /// What we did keeps an answer away: a cancel, an end of ours before the deadline, or raw bytes ahead of it.
    pub fn is_excused(&self) -> bool {
        let late = matches!((self.deadline, self.ended), (Some(deadline), Some(ended)) if deadline < ended);
        self.cancelled.is_some() || self.after_raw || (self.ended.is_some() && !late)
    }

    /// Nothing is wrong with it, on purpose or otherwise.
    pub fn is_sound(&self) -> bool {
        self.wrong.is_empty() && self.is_readable() && !self.twin
    }

    /// It was sent under 2026-07-28 as far as the server can tell; anything else may be legacy traffic for a server that
    /// speaks both eras, and so may what came under an id that another request has, too.
    pub fn is_modern(&self, context: &Context) -> bool {
        context.era() == Era::Modern && ((self.modern && !self.twin) || context.modern_only()) && {
            let marked = |pointer: &String| pointer.eq_ignore_ascii_case("headers/mcp-protocol-version");
            context.modern_only() || !self.wrong.iter().any(marked)
        }
    }

    /// An integer that doubles do not hold apart from its neighbours.
    pub fn has_big_id(&self) -> bool {
        self.id.is_beyond_doubles()
    }
}

pub(super) fn accepted(headers: &Headers) -> String {
    let values: Vec<_> =
        headers.all("accept").map(|value| String::from_utf8_lossy(value).to_ascii_lowercase()).collect();
    values.join(",")
}

/// Equal for ids that are [`Id::loosely`] equal.
pub(super) fn loose(id: &Id) -> Option<u64> {
    match id {
        Id::Number(number) => Some(of_number(number)),
        Id::String(text) => Some(Number::parse(text).map_or_else(|| hash(text), |number| of_number(&number))),
        Id::Absent | Id::Null | Id::Other(_) => None,
    }
}

fn of_number(number: &Number) -> u64 {
    // Both zeros are one number.
    hash((number.as_f64() + 0.0).to_bits())
}
