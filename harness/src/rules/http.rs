//! What headers and bodies say by themselves over HTTP.
//!
//! A JSON body that is an array is told by `framing` and counted here; a body with another id is told by `ids`; a stream
//! without the response by `answers`.

use mcp_conform_schemas::{Era, Revision};

use super::{
    Breach, Context, ExchangeState, Request, Row, Rule, Shape, Verdicts, framing::NO_BATCH, register::Definition,
    seen::clip,
};
use crate::trace::{Body, Event, HttpBody, HttpResponse};

static KIND: Row =
    Row::both("http-request-answered-json-or-sse", Revision::V2025_03_26, "http-request-response-content-type");
static ONE: Row = Row::both("http-json-body-one-object", Revision::V2025_03_26, "http-json-body-single-object");
static BUFFERING: Row = Row::modern("http-sse-x-accel-buffering");
static NO_SESSION: Row = Row::modern("http-session-id-not-issued");
static SESSION: Row = Row::legacy("session-id-visible-ascii", Revision::V2025_03_26);

pub(super) static DEFINITION: Definition = Definition {
    name: "http",
    title: "HTTP responses have the media types, bodies and headers of the protocol",
    about: "A sound request that is answered with a 2xx status gets application/json or text/event-stream; a JSON body is \
            one object, the response. Session ids are visible ASCII (2025-11-25); a server of 2026-07-28 alone issues none \
            and marks its streams as not to be buffered.",
    rows: &[KIND, ONE, BUFFERING, NO_SESSION, SESSION],
    make: || Box::new(Http),
};

struct Http;

impl Rule for Http {
    fn observe(&mut self, event: &Event, context: &Context, out: &mut Verdicts) {
        match &event.body {
            Body::HttpResponse(response) => {
                if let Some(state) = context.exchange(response.exchange) {
                    headers(event.seq, response, state, context, out);
                }
            }
            Body::HttpBody(body) => {
                if let Some(state) = context.exchange(body.exchange) {
                    json_body(event.seq, body, state, context, out);
                }
            }
            _ => {}
        }
    }
}

fn headers(seq: u64, response: &HttpResponse, state: &ExchangeState, context: &Context, out: &mut Verdicts) {
    let about = |breach: Breach| breach.about(state.requests.first().copied());
    if (200..300).contains(&response.status)
        && sound(state, context).is_some_and(|request| request.cancelled.is_none())
        && state.accepts_both
    {
        let media = response.headers.media_type();
        let fits = matches!(media.as_deref(), Some("application/json" | "text/event-stream"));
        let breach = (!fits).then(|| {
            let what = match &media {
                Some(media) => format!("the request was answered with {} as {}", response.status, clip(media)),
                None => format!("the request was answered with {} and no Content-Type", response.status),
            };
            about(Breach::new(seq, "headers/content-type", what))
        });
        out.check(&KIND, context, breach);
    }
    if let Some(value) = response.headers.all("mcp-session-id").next()
        && context.era() == Era::Legacy
    {
        let value = value.trim_ascii();
        let what = || format!("the session id is \"{}\"", clip(&value.escape_ascii().to_string()));
        let breach = || about(Breach::new(seq, "headers/mcp-session-id", what()));
        let fits = value.iter().all(|byte| (0x21..=0x7e).contains(byte));
        let breach = match (value.is_empty(), fits) {
            (true, _) => Some(breach().warning()),
            (_, false) => Some(breach()),
            _ => None,
        };
        out.check(&SESSION, context, breach);
    }
    if context.era() == Era::Modern && state.method == "POST" {
        if response.status == 200 && state.media_type.as_deref() == Some("text/event-stream") {
            let value = response.headers.get("x-accel-buffering");
            let fits = value.is_some_and(|value| value.trim().eq_ignore_ascii_case("no"));
            let what = || match value {
                Some(value) => format!("the event stream has X-Accel-Buffering: {}", clip(value)),
                None => "the event stream has no X-Accel-Buffering header".to_owned(),
            };
            out.check(
                &BUFFERING,
                context,
                (!fits).then(|| about(Breach::new(seq, "headers/x-accel-buffering", what()))),
            );
        }
        if context.modern_only() && !state.requests.is_empty() {
            let issued = response.headers.all("mcp-session-id").next().is_some();
            let breach = issued.then(|| {
                about(Breach::new(seq, "headers/mcp-session-id", "a server of 2026-07-28 alone sets Mcp-Session-Id"))
            });
            out.check(&NO_SESSION, context, breach);
        }
    }
}

fn json_body(seq: u64, body: &HttpBody, state: &ExchangeState, context: &Context, out: &mut Verdicts) {
    let Some(request) = sound(state, context).filter(|request| request.cancelled.is_none() && request.ended.is_none())
    else {
        return refused(seq, body, state, context, out);
    };
    if !(200..300).contains(&body.status) {
        return refused(seq, body, state, context, out);
    }
    let frame = body.frame.as_ref();
    let beyond = frame.is_some_and(|frame| frame.is_unread());
    if state.media_type.as_deref() != Some("application/json") || body.cut > 0 || beyond {
        return;
    }
    let about = |what: &str| Breach::new(seq, "", what).about(Some(request.key));
    let breach = match frame.map(|frame| (frame, frame.json.as_ref())) {
        None => Some(about("the body of the answer is empty")),
        Some((frame, None)) => {
            let what = frame.defects.iter().find(|defect| matches!(defect.kind, crate::wire::DefectKind::NotJson(_)));
            let breach = about("the body of the answer is not one JSON value");
            Some(match what {
                Some(defect) => breach.spanning(defect.span.start, defect.span.end),
                None => breach,
            })
        }
        Some((_, Some(json))) if json.as_array().is_some() => {
            // Legal before 2025-06-18.
            let legal = !context.applies(Revision::V2025_06_18);
            (!legal).then(|| about("the body of the answer is an array").under(&NO_BATCH))
        }
        Some((_, Some(json))) => match Shape::of(json) {
            Shape::Response { .. } | Shape::Bare => None,
            // Without any sign of JSON-RPC, `envelope` tells what is missing.
            Shape::Alien => None,
            Shape::Request => (context.era() == Era::Legacy).then(|| about("the body of the answer is a request")),
            Shape::Notification => Some(about("the body of the answer is a notification")),
            Shape::Other => Some(about("the body of the answer is no object")),
        },
    };
    out.check(&ONE, context, breach);
}

/// An error of the protocol under an HTTP error status has the media type of what it is.
fn refused(seq: u64, body: &HttpBody, state: &ExchangeState, context: &Context, out: &mut Verdicts) {
    let claims = body.frame.as_ref().and_then(|frame| frame.json.as_ref());
    let claims = claims.is_some_and(|json| json.get("jsonrpc").is_some() && json.get("error").is_some());
    let readable = state.requests.first().and_then(|key| context.request(*key)).is_some_and(Request::is_readable);
    if context.era() == Era::Legacy || !matches!(body.status, 400 | 404) || !claims || !readable || state.raw {
        return;
    }
    let fits = state.media_type.as_deref() == Some("application/json");
    let media = state.media_type.as_deref().unwrap_or("no media type");
    let what = || format!("a JSON-RPC error under status {} with {}", body.status, clip(media));
    let about = |breach: Breach| breach.about(state.requests.first().copied());
    out.check(&KIND, context, (!fits).then(|| about(Breach::new(seq, "headers/content-type", what()))));
}

/// The one sound request that an exchange carries.
fn sound<'a>(state: &ExchangeState, context: &'a Context) -> Option<&'a Request> {
    let [key] = state.requests.as_slice() else { return None };
    let plain = state.method == "POST" && !state.raw && !state.batch && state.intent.wrong.is_empty();
    context.request(*key).filter(|request| plain && request.is_sound())
}
