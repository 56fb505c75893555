//! Excerpts of a trace for a report.

use std::sync::Arc;

use mcp_conform_reports::model::{Evidence, Excerpt};

use crate::{
    trace::{Body, Event, Headers},
    wire::{Frame, Span, printable},
};

/// Characters of a message that an excerpt keeps; renderers cut further around the caret.
const LONGEST: usize = 4096;

/// Where to look for what an excerpt shows.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    pub sent: Option<u64>,
    pub received: Option<u64>,
    pub control: Option<u64>,
    /// JSON Pointer in what was received.
    pub pointer: String,
    /// Bytes in what was received, where a pointer cannot say it.
    pub span: Option<(usize, usize)>,
}

/// `command` plays it again, `by_hand` does so without us.
pub fn evidence(events: &[Arc<Event>], sources: &Sources, command: String, by_hand: Option<String>) -> Evidence {
    let of = |seq: Option<u64>| events.get(usize::try_from(seq?).ok()?);
    let received = of(sources.received).and_then(|event| {
        let mut excerpt = excerpt(event, events)?;
        let frame = frame_of(event);
        let span = sources.span.or_else(|| {
            let span = frame?.json.as_ref()?.pointer(&sources.pointer)?.span;
            (!sources.pointer.is_empty()).then_some((span.start, span.end))
        });
        if let (Some(frame), Some((start, end))) = (frame, span) {
            excerpt.caret = caret(&frame.raw, Span { start, end });
        }
        Some(excerpt)
    });
    Evidence {
        sent: of(sources.sent).and_then(|event| excerpt(event, events)),
        received,
        control: of(sources.control).and_then(|event| excerpt(event, events)),
        repro: Some(command),
        by_hand,
        trace: None,
    }
}

fn frame_of(event: &Event) -> Option<&Frame> {
    match &event.body {
        Body::Line(line) => Some(&line.frame),
        Body::HttpRequest(request) => request.frame.as_deref(),
        Body::HttpBody(body) => body.frame.as_deref(),
        Body::Sse(sse) => sse.frame.as_deref(),
        _ => None,
    }
}

/// What an event shows to a person; nothing for what is only for us.
pub fn excerpt(event: &Event, events: &[Arc<Event>]) -> Option<Excerpt> {
    let (head, raw) = match &event.body {
        Body::Line(line) => (Vec::new(), line.frame.raw.clone()),
        Body::HttpRequest(request) if request.raw => (Vec::new(), request.body.clone()),
        Body::HttpRequest(request) => {
            let mut head = vec![format!("{} {}", request.method, request.target)];
            head.extend(lines(&request.headers));
            (head, request.body.clone())
        }
        Body::HttpResponse(response) => (response_head(response.exchange, events), bytes::Bytes::new()),
        Body::HttpBody(body) => (response_head(body.exchange, events), body.raw.clone()),
        Body::Sse(sse) => {
            let mut head = response_head(sse.exchange, events);
            head.extend(sse.event.as_ref().map(|name| format!("event: {name}")));
            head.extend(sse.id.as_ref().map(|id| format!("id: {id}")));
            (head, sse.data.clone().unwrap_or_default())
        }
        Body::ExchangeEnded { exchange, end } => {
            let mut head = response_head(*exchange, events);
            let body = events.iter().find_map(|event| match &event.body {
                Body::HttpBody(body) if body.exchange == *exchange => Some(body.raw.clone()),
                _ => None,
            });
            if body.is_none() {
                head.push(format!("({end:?})"));
            }
            (head, body.unwrap_or_default())
        }
        Body::DeadlinePassed(passed) => {
            let text = format!("(no {} within {:.1} s)", passed.what, passed.after.as_secs_f64());
            return Some(Excerpt { text, ..Excerpt::default() });
        }
        Body::Exited(exit) => {
            let text = match (exit.code, exit.signal) {
                (Some(code), _) => format!("(the process ended with status {code})"),
                (None, Some(signal)) => format!("(the process was ended by signal {signal})"),
                (None, None) => "(the process ended)".to_owned(),
            };
            return Some(Excerpt { text, ..Excerpt::default() });
        }
        Body::StdoutEnded => {
            return Some(Excerpt { text: "(the server closed stdout)".to_owned(), ..Excerpt::default() });
        }
        Body::Stderr(raw) => (vec!["stderr".to_owned()], raw.clone()),
        Body::SseDefect { message, .. } => {
            return Some(Excerpt { text: message.clone(), ..Excerpt::default() });
        }
        _ => return None,
    };
    let text = printable(&raw);
    let total = text.chars().count();
    let kept: String = text.chars().take(LONGEST).collect();
    Some(Excerpt { head, text: kept, caret: None, cut: total.saturating_sub(LONGEST) })
}

fn response_head(exchange: u32, events: &[Arc<Event>]) -> Vec<String> {
    let response = events.iter().find_map(|event| match &event.body {
        Body::HttpResponse(response) if response.exchange == exchange => Some(response),
        _ => None,
    });
    let Some(response) = response else { return Vec::new() };
    let mut head = vec![format!("HTTP {}", response.status)];
    head.extend(lines(&response.headers));
    head
}

fn lines(headers: &Headers) -> impl Iterator<Item = String> {
    // What tells something about the protocol; dates and servers' names only make it longer.
    const TOLD: [&str; 8] = [
        "accept",
        "allow",
        "content-type",
        "last-event-id",
        "location",
        "origin",
        "www-authenticate",
        "x-accel-buffering",
    ];
    headers
        .0
        .iter()
        .filter(|(name, _)| {
            let name = name.to_ascii_lowercase();
            TOLD.contains(&name.as_str()) || name.starts_with("mcp-")
        })
        .map(|(name, value)| format!("{name}: {}", printable(value)))
}

/// The caret in characters of [`printable`] text, from bytes of the raw message.
fn caret(raw: &[u8], span: Span) -> Option<(usize, usize)> {
    let before = printable(raw.get(..span.start)?).chars().count();
    let inside = printable(raw.get(span.start..span.end)?).chars().count();
    (before < LONGEST).then_some((before, inside.max(1)))
}
