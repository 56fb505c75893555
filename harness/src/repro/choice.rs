//! What of a conversation has to be said again for a finding to show: the handshake, and what the case said up to it.

use std::sync::Arc;

use mcp_conform_schemas::Era;

use crate::trace::{Body, Direction, Event, Exchange, HttpRequest, StepMark};

/// Messages of ours that are said again where nothing tells which of them matter.
const LAST: usize = 8;

/// Where in a conversation a finding was made.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moment {
    /// The message of ours that provoked it.
    pub(super) sent: Option<u64>,
    /// The last event that takes part.
    pub(super) last: Option<u64>,
}

/// What is said again.
pub(super) struct Choice<'a> {
    pub(super) said: Vec<&'a Arc<Event>>,
    /// How long the last of them was followed until the finding showed.
    pub(super) wait: std::time::Duration,
    /// Its own end is what was found.
    pub(super) exit: bool,
}

pub(super) fn choose<'a>(events: &'a [Arc<Event>], moment: Moment) -> Option<Choice<'a>> {
    let last = moment.last.or(moment.sent).unwrap_or(events.len() as u64);
    let at = moment.sent.unwrap_or(last);
    let era = events.iter().find_map(|event| match &event.body {
        Body::Opened(opened) => Some(opened.era),
        _ => None,
    })?;
    let (from, to) = run_of_case(events, at);
    let within = |event: &Event| event.seq >= from && event.seq < to && event.seq <= last;
    let mut said: Vec<&Arc<Event>> = events.iter().filter(|event| ours(event) && within(event)).collect();
    if case_at(events, at).is_none() {
        said = match moment.sent {
            Some(sent) => said.into_iter().filter(|event| event.seq == sent).collect(),
            None => said.split_off(said.len().saturating_sub(LAST)),
        };
    }
    // A signal cannot be sent by a line that does not know the process. Those behind the end of stdin are how we end it.
    let closed =
        events.iter().find(|event| matches!(event.body, Body::StdinClosed)).map_or(u64::MAX, |event| event.seq);
    let signal = |event: &Event| matches!(event.body, Body::Signalled { .. }) && event.seq < closed;
    if events.iter().any(|event| within(event) && signal(event)) {
        return None;
    }
    let mut whole: Vec<&Arc<Event>> = match era {
        Era::Legacy => handshake(events, last),
        Era::Modern => Vec::new(),
    };
    let first = said.first().map_or(u64::MAX, |event| event.seq);
    whole.retain(|event| event.seq < first);
    whole.append(&mut said);
    let end = usize::try_from(last).ok().and_then(|at| events.get(at)).or_else(|| events.last());
    let wait = whole.last().zip(end).map(|(last, end)| end.at.saturating_sub(last.at)).unwrap_or_default();
    let exit = end.is_some_and(|end| matches!(end.body, Body::Exited(_) | Body::StdoutEnded));
    (!whole.is_empty()).then_some(Choice { said: whole, wait, exit })
}

/// What we wrote, or the end of it.
fn ours(event: &Event) -> bool {
    match &event.body {
        Body::Line(line) => line.direction == Direction::Out,
        Body::HttpRequest(_) | Body::StdinClosed => true,
        _ => false,
    }
}

/// `initialize` and what has to follow it, where the conversation begins with them.
fn handshake(events: &[Arc<Event>], last: u64) -> Vec<&Arc<Event>> {
    events
        .iter()
        .filter(|event| ours(event) && event.seq <= last)
        .take_while(|event| matches!(method(event).as_deref(), Some("initialize" | "notifications/initialized")))
        .collect()
}

fn method(event: &Event) -> Option<String> {
    let method = event.message()?.frame.json.as_ref()?.get("method")?.to_value();
    method.as_str().map(str::to_owned)
}

fn mark(event: &Event) -> Option<&StepMark> {
    match &event.body {
        Body::Step(mark) => Some(mark),
        _ => None,
    }
}

/// The case that spoke at an event; nothing for the handshake and the survey.
fn case_at(events: &[Arc<Event>], at: u64) -> Option<&str> {
    let mark = events.iter().rev().filter(|event| event.seq <= at).find_map(|event| mark(event))?;
    Some(mark.case.as_str()).filter(|case| !case.is_empty())
}

/// From where to where the same case spoke around an event.
fn run_of_case(events: &[Arc<Event>], at: u64) -> (u64, u64) {
    let case = case_at(events, at).unwrap_or_default();
    let other = |event: &Event| mark(event).is_some_and(|mark| mark.case != case);
    let before = events.iter().rev().filter(|event| event.seq <= at).find(|event| other(event));
    let after = events.iter().filter(|event| event.seq > at).find(|event| other(event));
    (before.map_or(0, |event| event.seq), after.map_or(u64::MAX, |event| event.seq))
}

/// Members whose values a server makes up anew each time, so that a line takes them out of the answer that it gets.
const MADE_UP: [&str; 4] = ["nextCursor", "requestState", "taskId", "elicitationId"];

/// A value of a server's answer that is sent back later.
pub(super) struct Handed {
    /// The member that holds it.
    pub(super) member: &'static str,
    pub(super) value: String,
    /// The message of the server that handed it out.
    pub(super) event: u64,
}

/// The values that were handed out before one of `said` sends them back.
pub(super) fn handed(events: &[Arc<Event>], said: &[&Arc<Event>]) -> Vec<Handed> {
    let (Some(first), Some(last)) = (said.first(), said.last()) else { return Vec::new() };
    let mut out: Vec<Handed> = Vec::new();
    for event in events.iter().filter(|event| event.seq > first.seq && event.seq < last.seq) {
        let Some(view) = event.message().filter(|view| view.direction == Direction::In) else { continue };
        let Some(json) = &view.frame.json else { continue };
        let mut found = Vec::new();
        collect(&json.to_value(), &mut found);
        for (member, value) in found {
            let sent_back = said.iter().any(|ours| ours.seq > event.seq && contains(bytes_of(ours), value.as_bytes()));
            if sent_back && !out.iter().any(|known| known.value == value) {
                out.push(Handed { member, value, event: event.seq });
            }
        }
    }
    out
}

/// Whether one of `said` sends back what a server handed out elsewhere: nothing here can make it again.
pub(super) fn borrows(said: &[&Arc<Event>], elsewhere: &[Arc<Event>]) -> bool {
    let mut found = Vec::new();
    for view in elsewhere.iter().filter_map(|event| event.message()).filter(|view| view.direction == Direction::In) {
        view.frame.json.iter().for_each(|json| collect(&json.to_value(), &mut found));
    }
    found.iter().any(|(_, value)| said.iter().any(|ours| contains(bytes_of(ours), value.as_bytes())))
}

fn collect(value: &serde_json::Value, out: &mut Vec<(&'static str, String)>) {
    /// Shorter ones are found by chance in other places.
    const SHORTEST: usize = 4;
    match value {
        serde_json::Value::Object(members) => {
            for (name, value) in members {
                let known = MADE_UP.iter().find(|known| *known == name);
                match (known, value.as_str()) {
                    // What would be spelled differently in a message cannot be cut out of it by a shell.
                    (Some(known), Some(text))
                        if text.len() >= SHORTEST
                            && text.chars().all(|c| c.is_ascii_graphic() && !"\"\\".contains(c)) =>
                    {
                        out.push((known, text.to_owned()));
                    }
                    _ => collect(value, out),
                }
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, out)),
        _ => {}
    }
}

/// The id of an event of a stream that a later request names.
pub(super) struct StreamPlace {
    pub(super) exchange: Exchange,
    pub(super) id: String,
    /// Which of the ids of its stream it is, from 1.
    pub(super) number: usize,
}

/// The place in a stream that a request goes on from, where a server gave it the id.
pub(super) fn resumed(events: &[Arc<Event>], request: &HttpRequest, at: u64) -> Option<StreamPlace> {
    let id = request.headers.get(LAST_EVENT_ID)?;
    let ids = || {
        events.iter().filter(|event| event.seq < at).filter_map(|event| match &event.body {
            Body::Sse(sse) => Some((sse.exchange, sse.id.as_deref()?)),
            _ => None,
        })
    };
    let exchange = ids().rfind(|(_, known)| *known == id)?.0;
    let number = ids().filter(|(of, _)| *of == exchange).position(|(_, known)| known == id)? + 1;
    Some(StreamPlace { exchange, id: id.to_owned(), number })
}

/// Session ids that the server gave before an event.
pub(super) fn sessions(events: &[Arc<Event>], at: u64) -> impl Iterator<Item = &str> {
    events.iter().filter(move |event| event.seq < at).filter_map(|event| match &event.body {
        Body::HttpResponse(response) => response.headers.get(SESSION),
        _ => None,
    })
}

pub(super) const SESSION: &str = "mcp-session-id";
pub(super) const LAST_EVENT_ID: &str = "last-event-id";

/// Whether a request is said with a session that was made up for it, and is none.
pub(super) fn invents_session(request: &HttpRequest) -> bool {
    let on_purpose = |place: &String| place.to_ascii_lowercase().ends_with(SESSION);
    request.intent.wrong.iter().any(on_purpose)
        || request.headers.get(SESSION).is_none_or(|value| value.is_empty() || value.contains("mcp-conform"))
}

pub(super) fn bytes_of(event: &Event) -> &[u8] {
    match &event.body {
        Body::Line(line) => &line.frame.raw,
        Body::HttpRequest(request) => &request.body,
        _ => &[],
    }
}

pub(super) fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len().max(1)).any(|window| window == part)
}
