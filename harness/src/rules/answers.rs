//! Every request has exactly one answer.
//!
//! A second answer and an answer to nothing are told when they come, silence when it is final: the exchange ended, or the
//! conversation was drained. What we cancelled, closed, cut off or provoked is not held against the server, and neither is
//! silence when something came that could not be tied to a request: that has its own violation.

use mcp_conform_schemas::{Era, Revision};

use super::{
    Breach, Context, ExchangeState, Likeness, Request, Row, Rule, Seen, Shape, Verdicts,
    bounded::Bounded,
    register::Definition,
    seen::{clip, show},
};
use crate::trace::{Body, Channel, Event, ExchangeEnd, Transport};

pub(super) static ONE: Row =
    Row::both("base-response-one-per-request", Revision::V2024_11_05, "response-exactly-one-per-request");

pub(super) static DEFINITION: Definition = Definition {
    name: "answers",
    title: "Every request is answered exactly once",
    about: "A ledger of our requests: a second response, a response that no request asked for, and no response at all by \
            the time that everything has come break the requirement. No response is owed for what was cancelled, refused \
            by an HTTP status, closed or ended by us, sent after raw bytes, has an id beyond 2^53-1, or is an open \
            subscription.",
    rows: &[ONE],
    make: || Box::new(Answers { silent: Bounded::new(1_024), drained: false, gone: None, signalled: false }),
};

struct Answers {
    /// Requests whose silence was told.
    silent: Bounded<u64, ()>,
    drained: bool,
    /// The event at which the server was gone by its own doing, and how.
    gone: Option<(u64, String)>,
    /// By us: how the process ends after that is no news.
    signalled: bool,
}

impl Rule for Answers {
    fn observe(&mut self, event: &Event, context: &Context, out: &mut Verdicts) {
        for seen in context.incoming(event) {
            answered(&seen, context, out);
        }
        match &event.body {
            Body::ExchangeEnded { exchange, end } => {
                if let Some(state) = context.exchange(*exchange) {
                    self.ended(event.seq, state, end, context, out);
                }
            }
            // One cause is told once: every request that it left open is told in the same words, without its id.
            Body::Exited(exit) if context.ended_by_us().is_none() && !self.signalled => {
                self.gone = Some((event.seq, format!("the process ended ({exit})")));
            }
            Body::Signalled { .. } => self.signalled = true,
            Body::StdoutEnded if context.ended_by_us().is_none() && self.gone.is_none() => {
                self.gone = Some((event.seq, "the server closed stdout".to_owned()));
            }
            Body::Drained if context.transport() == Transport::Stdio => {
                self.drained = true;
                for request in context.in_flight().filter(|request| !takes_its_time(request)) {
                    self.unanswered(event.seq, request, context, out);
                }
            }
            _ => {}
        }
    }

    fn finish(&mut self, context: &Context, out: &mut Verdicts) {
        for request in context.in_flight().filter(|request| !takes_its_time(request)) {
            // Without the end of the conversation only a deadline that passed is silence.
            if let Some(deadline) = request.deadline.filter(|_| !self.drained) {
                self.unanswered(deadline, request, context, out);
            }
        }
    }
}

impl Answers {
    /// An HTTP exchange is over: what it owed can no longer come, unless its stream can be resumed.
    fn ended(&mut self, seq: u64, state: &ExchangeState, end: &ExchangeEnd, context: &Context, out: &mut Verdicts) {
        let served = state.status.is_some_and(|status| (200..300).contains(&status));
        // A body of the wrong kind or without a response in it is told by `http`.
        let typed = state.media_type.as_deref() == Some("text/event-stream");
        if !served || !typed || !matches!(end, ExchangeEnd::Complete) || state.raw {
            return;
        }
        if state.resumable && context.era() == Era::Legacy {
            return;
        }
        for request in state.requests.iter().filter_map(|key| context.request(*key)) {
            self.unanswered(seq, request, context, out);
        }
    }

    fn unanswered(&mut self, seq: u64, request: &Request, context: &Context, out: &mut Verdicts) {
        if request.answered.is_some() || !owed(request, context) || self.silent.get(&request.key).is_some() {
            return;
        }
        self.silent.insert(request.key, ());
        let method = &request.method;
        let (seq, message) = match &self.gone {
            Some((at, how)) if context.transport() == Transport::Stdio => {
                (*at, format!("{how} before it answered the request {method}"))
            }
            _ => (seq, format!("no answer to the request {method} with the id {}", clip(&request.id.to_string()))),
        };
        out.check(&ONE, context, Some(Breach::new(seq, "", message).about(Some(request.key))));
    }
}

/// How long a tool works is its own business: that we did not wait longer is no silence. A server that dies of the call, or
/// ends its stream, is another matter.
fn takes_its_time(request: &Request) -> bool {
    &*request.method == "tools/call" && request.deadline.is_some()
}

fn owed(request: &Request, context: &Context) -> bool {
    let long = matches!(&*request.method, "subscriptions/listen" | "tasks/result");
    let told = context.transport() == Transport::Stdio
        && (context.stray() > 0 || context.garbled().is_some_and(|event| event > request.event));
    // A status that refuses needs no answer, and a body of the wrong kind is told by `http`.
    let waits = request.response.is_none_or(|(status, stream)| stream && (200..300).contains(&status));
    // What becomes of an id that no double holds is C32, and `ids` or the case that sends one tells it.
    let big = request.has_big_id();
    request.is_sound() && !request.untimely && !long && !big && !request.is_excused() && !told && waits
}

fn answered(seen: &Seen<'_>, context: &Context, out: &mut Verdicts) {
    let Some(answer) = seen.answer else { return };
    let request = answer.request.and_then(|key| context.request(key));
    match request {
        Some(request) if !answer.again => {
            if request.is_sound() {
                out.occasion(&ONE, context);
            }
        }
        // After something malformed an error with a legible id may be about that; a replay repeats on purpose.
        Some(request) => {
            let error = matches!(seen.shape, Shape::Response { result: false, .. });
            let replay = seen.exchange().and_then(|it| context.exchange(it)).is_some_and(|exchange| exchange.resumes);
            let fuzzy = answer.likeness != Likeness::Exact || !request.is_readable() || (error && context.odd());
            if request.twin || replay || request.replayed || fuzzy || context.legible(&request.id) {
                return;
            }
            let id = clip(&request.id.to_string());
            let message = format!("a second answer to the request {} with the id {id}", request.method);
            out.check(&ONE, context, Some(Breach::at(seen, "", message)));
        }
        None => unsolicited(seen, context, out),
    }
}

/// A response with an id that no request of this conversation has, when none waits for one: if one waits, `ids` tells.
fn unsolicited(seen: &Seen<'_>, context: &Context, out: &mut Verdicts) {
    let named = seen.answer.is_some_and(|answer| answer.likeness == Likeness::Foreign);
    let own = seen.exchange().and_then(|exchange| context.exchange(exchange));
    let shared = match seen.channel {
        Channel::Stdio => true,
        // A stream that we opened for nothing in particular holds what the server put there.
        Channel::Sse { .. } => own.is_some_and(|exchange| exchange.method == "POST" && !exchange.raw),
        _ => false,
    };
    let waits = seen.channel == Channel::Stdio && context.in_flight().any(Request::is_sound);
    if !named || !shared || waits || context.odd() || context.forgot() {
        return;
    }
    let message =
        format!("an answer with the id {}, which no request of this conversation had", show(seen.json.get("id")));
    out.check(&ONE, context, Some(Breach::at(seen, "/id", message)));
}
