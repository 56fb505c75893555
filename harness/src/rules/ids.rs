//! The id of a response: the id of the request, in value and type.
//!
//! Which request a response answers is found by the context: by the exchange over HTTP, by the id and what servers are
//! known to do to ids on stdio. A type that changed is told as such and not also as another value.

use mcp_conform_schemas::{Era, Revision};

use super::{
    Answer, Breach, Context, Likeness, Request, RequestKey, Row, Rule, Seen, Shape, Verdicts,
    register::Definition,
    seen::{clip, show},
};
use crate::{
    trace::{Channel, Event, Transport},
    wire::Id,
};

static RESULT_ID: Row = Row::both("base-response-id-echoes-request", Revision::V2024_11_05, "response-id-echo-exact");
static RESULT_TYPE: Row = Row::legacy("base-response-id-type-preserved", Revision::V2024_11_05);
static ERROR_ID: Row = Row::both("errors-id-echoed", Revision::V2024_11_05, "error-id-echo");
static UNREADABLE: Row =
    Row::both("errors-unreadable-id-omitted-or-null", Revision::V2025_11_25, "error-id-omitted-if-unreadable");

pub(super) static DEFINITION: Definition = Definition {
    name: "ids",
    title: "A response repeats the id of its request",
    about: "Each response is tied to the request that it answers, and the ids are compared by JSON type and exact value \
            (7.0 is 7). Integers beyond 2^53-1 that come back rounded are contested. An error for a message whose id could \
            not be read may have none, null or what is legible in it. Errors under an HTTP error status that stem from \
            below the protocol, and what the legacy side of a dual-era server may have written, are not judged.",
    rows: &[RESULT_ID, RESULT_TYPE, ERROR_ID, UNREADABLE],
    make: || Box::new(Ids::default()),
};

/// Changed types that are kept until it is clear that they are no second answers.
const MOST_HELD: usize = 256;

#[derive(Default)]
struct Ids {
    held: Vec<(RequestKey, Breach)>,
}

impl Rule for Ids {
    fn observe(&mut self, event: &Event, context: &Context, out: &mut Verdicts) {
        for seen in context.incoming(event) {
            let Some(answer) = seen.answer else { continue };
            if answer.again && answer.likeness == Likeness::Exact {
                // The request has an answer of its own: what came before was meant for another one.
                self.held.retain(|(key, _)| Some(*key) != answer.request);
            }
            let request = answer.request.and_then(|key| context.request(key));
            match (seen.shape, request) {
                (Shape::Response { result: true, .. } | Shape::Bare, Some(request)) => {
                    self.result(&seen, answer, request, context, out);
                }
                (Shape::Response { result: true, .. } | Shape::Bare, None) => stray_result(&seen, context, out),
                (Shape::Response { .. }, Some(request)) if request.is_readable() => {
                    error(&seen, answer, request, context, out);
                }
                (Shape::Response { .. }, _) => stray_error(&seen, context, out),
                _ => {}
            }
        }
    }

    fn finish(&mut self, context: &Context, out: &mut Verdicts) {
        for (key, breach) in self.held.drain(..) {
            // No answer of its own was owed to what was cancelled or cut off: then it tells nothing that none came.
            if context.request(key).is_none_or(|request| request.cancelled.is_some() || request.ended.is_some()) {
                continue;
            }
            out.broken(type_row(context), context, breach);
        }
    }
}

impl Ids {
    fn result(&mut self, seen: &Seen<'_>, answer: Answer, request: &Request, context: &Context, out: &mut Verdicts) {
        // A message with an id that is none is not answered like one with an id: what comes back is open.
        if !request.is_readable() || answer.again {
            return;
        }
        let found = show(seen.json.get("id"));
        let sent = clip(&request.id.to_string());
        out.occasion(&RESULT_ID, context);
        out.occasion(&RESULT_TYPE, context);
        match answer.likeness {
            Likeness::Exact => {}
            Likeness::Type => {
                let breach = Breach::at(seen, "/id", format!("the id {sent} came back as {found}, another JSON type"));
                if !answer.unsure {
                    out.broken(type_row(context), context, breach);
                } else if self.held.len() < MOST_HELD {
                    self.held.push((request.key, breach));
                }
            }
            Likeness::Rounded if request.has_big_id() => {
                let breach = Breach::at(seen, "/id", format!("the id {sent} came back rounded, as {found}"));
                out.broken(&RESULT_ID, context, breach.contested("C32"));
            }
            Likeness::Rounded | Likeness::Foreign => {
                let breach = Breach::at(seen, "/id", format!("the request had the id {sent}, its result has {found}"));
                out.broken(&RESULT_ID, context, breach);
            }
            Likeness::Missing => {
                let breach = Breach::at(seen, "", format!("the result of the request {sent} has no id but {found}"));
                out.broken(&RESULT_ID, context, breach);
            }
        }
    }
}

/// 2026-07-28 has value and type in one requirement.
fn type_row(context: &Context) -> &'static Row {
    if context.era() == Era::Legacy { &RESULT_TYPE } else { &RESULT_ID }
}

/// A result with an id that no request of this conversation has, while a request waits for its answer.
fn stray_result(seen: &Seen<'_>, context: &Context, out: &mut Verdicts) {
    let waits =
        context.in_flight().any(|request| request.is_sound() && request.method.as_ref() != "subscriptions/listen");
    let unnamed = seen.answer.is_some_and(|answer| answer.likeness == Likeness::Missing);
    // Without a waiting request it is one answer too many, which `answers` tells.
    let clear = !context.forgot() && !context.odd() && on_shared_channel(seen, context);
    let about_notification = unnamed && context.notification_pending();
    if waits && clear && !about_notification {
        let found = show(seen.json.get("id"));
        out.check(
            &RESULT_ID,
            context,
            Some(Breach::at(seen, "/id", format!("a result with the id {found}, which no request had"))),
        );
    }
}

fn error(seen: &Seen<'_>, answer: Answer, request: &Request, context: &Context, out: &mut Verdicts) {
    if answer.again || exempt(seen, request, context) {
        return;
    }
    let found = show(seen.json.get("id"));
    let sent = clip(&request.id.to_string());
    let breach = match answer.likeness {
        Likeness::Exact => None,
        Likeness::Type => {
            Some(Breach::at(seen, "/id", format!("the id {sent} came back as {found}, another JSON type")))
        }
        // An id that no double holds may be refused, and then it need not be exact in the refusal.
        Likeness::Rounded if request.has_big_id() => return,
        Likeness::Rounded | Likeness::Foreign => {
            Some(Breach::at(seen, "/id", format!("the request had the id {sent}, its error has {found}")))
        }
        Likeness::Missing => {
            let found = if seen.json.get("id").is_some() { "the id null" } else { "no id" };
            Some(Breach::at(seen, "", format!("the error of the request {sent} has {found}")))
        }
    };
    out.check(&ERROR_ID, context, breach);
}

/// An error that belongs to no request of ours, or to something malformed.
fn stray_error(seen: &Seen<'_>, context: &Context, out: &mut Verdicts) {
    let id = Id::of(seen.json.get("id"));
    let named = !matches!(id, Id::Absent | Id::Null);
    if context.odd() {
        let refused = matches!(seen.channel, Channel::Body { status, .. } if status >= 400);
        // What stood there may have been rounded to it, or read with what stands for bytes that are no text.
        let rounded = id.is_beyond_doubles() || matches!(&id, Id::String(text) if text.contains('\u{fffd}'));
        let invented =
            named && !rounded && !context.legible(&id) && context.with_id(&id).next().is_none() && !context.forgot();
        let breach = invented.then(|| {
            let breach = Breach::at(
                seen,
                "/id",
                format!("an error with the id {}, which no message had", show(seen.json.get("id"))),
            );
            // The requirement of 2025-11-25 is a permission, so that going beyond it warns at most.
            if refused || context.era() == Era::Legacy { breach.warning() } else { breach }
        });
        out.check(&UNREADABLE, context, breach);
        return;
    }
    let waits = context.in_flight().any(Request::is_sound);
    if named && waits && !context.forgot() && on_shared_channel(seen, context) {
        let found = show(seen.json.get("id"));
        out.check(
            &ERROR_ID,
            context,
            Some(Breach::at(seen, "/id", format!("an error with the id {found}, which no request had"))),
        );
    }
}

/// Whether the server may have written the error without having read the request, or under other rules.
fn exempt(seen: &Seen<'_>, request: &Request, context: &Context) -> bool {
    let status = match seen.channel {
        Channel::Body { status, .. } => status,
        _ => 200,
    };
    match context.era() {
        // Such bodies are often written before the message is read.
        Era::Legacy => status >= 400,
        Era::Modern => matches!(status, 401 | 403 | 405 | 406 | 413 | 415 | 429 | 500..) || !request.is_modern(context),
    }
}

/// On stdio everything comes on one channel; over HTTP a stray response may belong to another client's exchange.
fn on_shared_channel(seen: &Seen<'_>, context: &Context) -> bool {
    context.transport() == Transport::Stdio && seen.channel == Channel::Stdio
}
