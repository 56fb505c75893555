//! Event streams: their format, what each event holds, and what belongs on which stream.
//!
//! What another rule says of the same message is told there and counted here: a second answer and a missing one by
//! `answers`, progress after the answer by `progress`.

use mcp_conform_schemas::{Era, Revision};

use super::{
    Breach, Context, ExchangeState, Likeness, Row, Rule, Seen, Shape, Verdicts, answers,
    bounded::{Bounded, Remembered, hash},
    framing::{NO_BATCH, UTF8},
    progress,
    register::Definition,
    seen::clip,
};
use crate::{
    trace::{Body, Event, Exchange, ExchangeEnd, SseMessage},
    wire::{DefectKind, Id},
};

static FORMAT: Row = Row::legacy("sse-wellformed-stream", Revision::V2025_03_26);
static PAYLOAD: Row = Row::both("sse-one-message-per-event", Revision::V2025_06_18, "http-sse-event-payload");
static EVENTUALLY: Row = Row::legacy("sse-response-eventually", Revision::V2025_03_26);
static RELATED: Row = Row::legacy("sse-related-messages-on-post-stream", Revision::V2025_03_26);
static AFTER: Row = Row::legacy("sse-no-message-after-response", Revision::V2025_03_26);
static UNRELATED: Row = Row::legacy("sse-get-unrelated-messages", Revision::V2025_03_26);
static NOT_ON_GET: Row = Row::legacy("sse-no-response-on-get", Revision::V2025_03_26);
static RETRY: Row = Row::legacy("sse-retry-value-numeric", Revision::V2025_11_25);
static UNIQUE: Row = Row::legacy("sse-event-id-unique-in-session", Revision::V2025_03_26);

pub(super) static DEFINITION: Definition = Definition {
    name: "sse",
    title: "Event streams hold one message an event, each on the stream where it belongs",
    about: "Events with data and of type message have to hold one message each; priming events, comments and other types are \
            skipped. Responses never come on a GET stream that resumes nothing, progress comes on the stream of its \
            request, nothing follows the response, event ids do not repeat within a session.",
    rows: &[FORMAT, PAYLOAD, EVENTUALLY, RELATED, AFTER, UNRELATED, NOT_ON_GET, RETRY, UNIQUE],
    make: || {
        Box::new(Sse {
            done: Bounded::new(1_024),
            malformed: Bounded::new(1_024),
            ids: Remembered::new(MOST_IDS),
            held: None,
        })
    },
};

/// Event ids that are kept to notice a repeat.
const MOST_IDS: usize = 65_536;

struct Sse {
    /// Streams that had the response to their request.
    done: Bounded<Exchange, ()>,
    /// Streams of which a breach of the format was told.
    malformed: Bounded<Exchange, ()>,
    ids: Remembered,
    /// A defect of the encoding, until the event shows whether it is in a message.
    held: Option<(u64, Exchange, String)>,
}

impl Rule for Sse {
    fn observe(&mut self, event: &Event, context: &Context, out: &mut Verdicts) {
        match &event.body {
            Body::HttpResponse(response) => {
                let stream = context.exchange(response.exchange).filter(|state| is_stream(state));
                if stream.is_some() {
                    out.occasion(&FORMAT, context);
                }
            }
            Body::SseDefect { exchange, message } if message.contains("UTF-8") && self.held.is_none() => {
                self.held = Some((event.seq, *exchange, message.clone()));
            }
            Body::SseDefect { exchange, message } => {
                self.defect(event.seq, *exchange, message, false, context, out);
            }
            Body::Sse(sse) => {
                let told = sse.frame.as_ref().is_some_and(|frame| frame.has(DefectKind::InvalidUtf8));
                self.release(sse.exchange, told, context, out);
                if let Some(state) = context.exchange(sse.exchange) {
                    self.event(event, sse, state, context, out);
                }
            }
            Body::ExchangeEnded { exchange, end } => {
                self.release(*exchange, false, context, out);
                if let Some(state) = context.exchange(*exchange) {
                    ended(event.seq, state, end, context, out);
                }
                self.done.remove(exchange);
            }
            _ => {}
        }
    }
}

impl Sse {
    /// Tells a held defect of a stream; bytes inside a message are told by `framing`.
    fn release(&mut self, exchange: Exchange, in_message: bool, context: &Context, out: &mut Verdicts) {
        if let Some((seq, exchange, message)) = self.held.take_if(|(_, held, _)| *held == exchange) {
            self.defect(seq, exchange, &message, in_message, context, out);
        }
    }

    fn defect(
        &mut self,
        seq: u64,
        exchange: Exchange,
        message: &str,
        in_message: bool,
        context: &Context,
        out: &mut Verdicts,
    ) {
        // A retry that is no number has a requirement of its own, and one stream is told once.
        let retry = message.starts_with("retry") && context.era() == Era::Legacy;
        if retry || self.malformed.get(&exchange).is_some() {
            return;
        }
        self.malformed.insert(exchange, ());
        let request = context.exchange(exchange).and_then(|state| state.requests.first().copied());
        let breach = Breach::new(seq, "", format!("the event stream is malformed: {message}")).about(request);
        let breach = if in_message { breach.under(&UTF8) } else { breach };
        if context.era() == Era::Legacy {
            out.broken(&FORMAT, context, breach);
        } else {
            out.check(&PAYLOAD, context, Some(breach));
        }
    }

    fn event(&mut self, event: &Event, sse: &SseMessage, state: &ExchangeState, context: &Context, out: &mut Verdicts) {
        let about = |breach: Breach| breach.about(state.requests.first().copied());
        if let Some(retry) = &sse.retry {
            let fits = !retry.is_empty() && retry.bytes().all(|byte| byte.is_ascii_digit());
            let what = || format!("the retry field is \"{}\", no number of milliseconds", clip(retry));
            out.check(&RETRY, context, (!fits).then(|| about(Breach::new(event.seq, "", what()))));
        }
        if let Some(id) = sse.id.as_ref().filter(|id| !id.is_empty()) {
            self.id(event.seq, id, state, context, out);
        }
        if sse.unterminated {
            return;
        }
        if let Some(frame) = &sse.frame {
            let breach = match (&frame.json, &frame.message) {
                _ if frame.is_unread() => return,
                (None, _) => Some("the data of an event is not one JSON value"),
                (Some(json), _) if json.as_array().is_some() => Some("the data of an event is an array"),
                // What an object lacks is told by `envelope`.
                (Some(json), _) if json.as_object().is_some() => None,
                _ => Some("the data of an event is no object"),
            };
            let array = frame.json.as_ref().is_some_and(|json| json.as_array().is_some());
            let breach = breach.map(|what| about(Breach::new(event.seq, "", what)));
            let breach = if array { breach.map(|breach| breach.under(&NO_BATCH)) } else { breach };
            out.check(&PAYLOAD, context, breach);
        }
        for seen in context.incoming(event) {
            if state.method == "GET" {
                on_get(&seen, state, context, out);
            } else if state.method == "POST" {
                self.on_post(&seen, state, context, out);
            }
        }
    }

    fn id(&mut self, seq: u64, id: &str, state: &ExchangeState, context: &Context, out: &mut Verdicts) {
        // A resumed stream delivers again what it had, and may do so before what was on its way on the other arrives.
        if state.resumes {
            return;
        }
        let before = self.ids.note(hash((&state.session, id)), seq);
        let breach = before.map(|before| {
            let what = format!("the event id \"{}\" was used before, at event {before}", clip(id));
            let breach = Breach::new(seq, "", what).about(state.requests.first().copied());
            // Without a session the server cannot know that it is the same client.
            if context.has_session() { breach } else { breach.warning() }
        });
        out.check(&UNIQUE, context, breach);
    }

    fn on_post(&mut self, seen: &Seen<'_>, state: &ExchangeState, context: &Context, out: &mut Verdicts) {
        // Which of two requests under one id a message is meant for is open.
        let twins = state.requests.iter().any(|key| context.request(*key).is_some_and(|request| request.twin));
        if self.done.get(&state.exchange).is_some() && !twins {
            let what = "a message after the response on the same stream";
            let breach = Breach::at(seen, "", what).about(state.requests.first().copied());
            let breach = if seen.answer.is_some() {
                breach.under(&answers::ONE)
            } else if seen.is_notification("notifications/progress") {
                breach.under(&progress::STOPS)
            } else {
                breach
            };
            out.check(&AFTER, context, Some(breach));
        }
        let own = |key| state.requests.contains(&key);
        let answered = seen.answer.filter(|answer| answer.likeness != Likeness::Missing);
        if answered.and_then(|answer| answer.request).is_some_and(own) {
            out.occasion(&AFTER, context);
            out.occasion(&EVENTUALLY, context);
            // An array of ours has several responses.
            if state.requests.len() == 1 {
                self.done.insert(state.exchange, ());
            }
        }
        if seen.is_notification("notifications/progress") {
            let token = Id::of(seen.get("/params/progressToken"));
            let request = context
                .with_token(&token)
                .find(|request| request.token.as_ref().is_some_and(|given| given.same(&token)));
            if let Some(request) = request {
                let elsewhere = !own(request.key) && request.exchange != Some(state.exchange);
                let foreign = elsewhere && !request.shared_token && !request.twin;
                let what =
                    || format!("progress for the request {} on the stream of another", clip(&request.id.to_string()));
                let pointer = "/params/progressToken";
                let breach = foreign.then(|| Breach::at(seen, pointer, what()).about(Some(request.key)));
                // Progress for a request that is over is told by `progress`.
                let over = foreign && request.answered.is_some();
                out.check(
                    &RELATED,
                    context,
                    breach.map(|breach| if over { breach.under(&progress::STOPS) } else { breach }),
                );
            }
        }
    }
}

fn is_stream(state: &ExchangeState) -> bool {
    state.media_type.as_deref() == Some("text/event-stream") && state.status.is_some_and(|status| status < 300)
}

fn on_get(seen: &Seen<'_>, state: &ExchangeState, context: &Context, out: &mut Verdicts) {
    if state.resumes {
        return;
    }
    if matches!(seen.shape, Shape::Response { .. }) {
        // Of two requests under one id one takes the place of the other, with its stream.
        let twin = seen.answer.and_then(|answer| context.request(answer.request?)).is_some_and(|request| request.twin);
        if !twin {
            let what = "a response on a GET stream that resumes nothing";
            out.check(&NOT_ON_GET, context, Some(Breach::at(seen, "", what)));
        }
        return;
    }
    out.occasion(&NOT_ON_GET, context);
    let mut running = None;
    if seen.is_notification("notifications/progress") {
        let token = Id::of(seen.get("/params/progressToken"));
        let given = context.with_token(&token).find(|it| it.token.as_ref().is_some_and(|given| given.same(&token)));
        running = given.filter(|request| {
            let stream = request.exchange.and_then(|exchange| context.exchange(exchange)).is_some_and(is_stream);
            // The stream of one that was cancelled ends, and what is under way for it has no other place.
            let runs = request.answered.is_none() && request.cancelled.is_none();
            runs && stream && !request.shared_token && !request.twin
        });
    }
    let breach = running.map(|request| {
        let what = "progress on a GET stream for a request that runs on a stream of its own";
        Breach::at(seen, "/params/progressToken", what).about(Some(request.key))
    });
    out.check(&UNRELATED, context, breach);
}

/// A stream that is over without the response. With event ids it may still be resumed.
fn ended(seq: u64, state: &ExchangeState, end: &ExchangeEnd, context: &Context, out: &mut Verdicts) {
    if !is_stream(state) || !matches!(end, ExchangeEnd::Complete) || state.resumable || state.raw {
        return;
    }
    for request in state.requests.iter().filter_map(|key| context.request(*key)) {
        let owed = request.is_sound() && request.cancelled.is_none() && request.ended.is_none();
        if owed && request.answered.is_none() {
            let what = format!("the stream ended without the response to {}", request.method);
            let breach = Breach::new(seq, "", what).about(Some(request.key));
            out.check(&EVENTUALLY, context, Some(breach.under(&answers::ONE)));
        }
    }
}
