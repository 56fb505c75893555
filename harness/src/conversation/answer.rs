//! What came back for a request.
//!
//! [`Answer`] is read out of the trace: which event is the response to a request is decided here and nowhere else, so that
//! cases, probes and the answering side agree. What did not come is an answer too ([`AnswerKind::Silence`]).

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::{
    trace::{Body, Channel, Direction, Event, Exchange, ExchangeEnd, Exit, Headers},
    wire::{Frame, Id, Message},
};

/// A request that went out, by which its answer is found.
#[derive(Clone, Debug)]
pub struct Ticket {
    pub conversation: u32,
    /// Event of the request.
    pub event: u64,
    /// The HTTP exchange that carries it, and those that resumed its stream.
    pub exchange: Option<Exchange>,
    pub id: Id,
    pub method: String,
    /// JSON text of the progress token, when one was given.
    pub token: Option<Id>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerKind {
    /// The process ended or the connection broke first.
    Closed,
    /// A JSON-RPC error.
    Error,
    /// An HTTP response below 400 without a JSON-RPC response in it.
    Plain,
    /// An HTTP status of 400 and above without a JSON-RPC response in it.
    Refusal,
    Result,
    /// Nothing until the deadline.
    Silence,
    /// A response that goes beyond a limit of ours: it came, and what it says is not known.
    Unread,
}

/// How the id of the response compares with the request's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdRelation {
    Absent,
    Null,
    Other,
    Rounded,
    Same,
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub kind: AnswerKind,
    pub id: IdRelation,
    /// Event of the response, of the HTTP status line where there is no message, or of the end.
    pub event: Option<u64>,
    pub frame: Option<Arc<Frame>>,
    pub status: Option<u16>,
    pub headers: Headers,
    pub text: Option<bytes::Bytes>,
    /// How a process ended that did not answer, in words.
    pub ending: Option<String>,
}

impl Answer {
    pub fn silence(event: Option<u64>) -> Self {
        Self::bare(AnswerKind::Silence, event)
    }

    pub fn closed(event: Option<u64>) -> Self {
        Self::bare(AnswerKind::Closed, event)
    }

    fn bare(kind: AnswerKind, event: Option<u64>) -> Self {
        Self {
            kind,
            id: IdRelation::Absent,
            event,
            frame: None,
            status: None,
            headers: Headers::default(),
            text: None,
            ending: None,
        }
    }

    /// The response as an ordinary parser reads it.
    pub fn message(&self) -> Option<Value> {
        self.frame.as_ref().and_then(|frame| frame.json.as_ref()).map(|json| json.to_value())
    }

    pub fn result(&self) -> Option<Value> {
        (self.kind == AnswerKind::Result).then(|| self.message()?.get("result").cloned())?
    }

    pub fn error_code(&self) -> Option<i64> {
        (self.kind == AnswerKind::Error).then(|| self.message()?.pointer("/error/code")?.as_i64())?
    }

    /// A JSON-RPC error or an HTTP status of 400 and above.
    pub fn refused(&self) -> bool {
        match self.kind {
            AnswerKind::Error | AnswerKind::Refusal => true,
            AnswerKind::Closed | AnswerKind::Plain | AnswerKind::Result | AnswerKind::Silence | AnswerKind::Unread => {
                false
            }
        }
    }

    /// That it came, as a clause: `a result came`, `no answer came within the deadline`.
    pub fn came(&self) -> String {
        let what = self.describe();
        match self.kind {
            AnswerKind::Silence => "no answer came within the deadline".to_owned(),
            AnswerKind::Closed => format!("{what} came instead of an answer"),
            _ => format!("{what} came"),
        }
    }

    /// What it was, for a sentence: `a result`, `error -32602 with HTTP 400`, `no answer`.
    pub fn describe(&self) -> String {
        let status = self.status.map(|status| format!(" with HTTP {status}")).unwrap_or_default();
        match self.kind {
            AnswerKind::Result => {
                let kind = self.result().and_then(|r| Some(r.get("resultType")?.as_str()?.to_owned()));
                let tool_error = self.result().is_some_and(|r| r.get("isError") == Some(&Value::Bool(true)));
                match (kind.as_deref(), tool_error) {
                    (Some("input_required"), _) => format!("a request for input{status}"),
                    (_, true) => format!("a result with isError{status}"),
                    _ => format!("a result{status}"),
                }
            }
            AnswerKind::Error => match self.error_code() {
                Some(code) => format!("error {code}{status}"),
                None => format!("an error without a code{status}"),
            },
            AnswerKind::Refusal | AnswerKind::Plain => {
                format!("HTTP {} without a JSON-RPC response", self.status.unwrap_or_default())
            }
            AnswerKind::Silence => "no answer within the deadline".to_owned(),
            AnswerKind::Closed => self.ending.clone().unwrap_or_else(|| "the end of the connection".to_owned()),
            AnswerKind::Unread => {
                let bytes = self.frame.as_ref().map_or(0, |frame| frame.raw.len());
                format!("an answer beyond our limits ({bytes} bytes were read)")
            }
        }
    }
}

/// Finds the answer to one request in a growing trace, event by event.
#[derive(Debug)]
pub(super) struct AnswerSearch<'a> {
    ticket: &'a Ticket,
    exchanges: Vec<Exchange>,
    status: Option<u16>,
    headers: Headers,
    text: Option<bytes::Bytes>,
    /// The last SSE event id and retry time seen on the exchange.
    pub last_event_id: Option<String>,
    pub retry_ms: Option<u64>,
    /// Whether an id-less or re-spelled answer may be taken for this request's: nothing else is in flight.
    pub alone: bool,
    /// Ids that were sent before: an answer to one of them is late, and not this request's.
    pub known: Vec<Id>,
    /// How the process ended, when that was seen before its last line was.
    exit: Option<(u64, Exit)>,
    stdout_ended: Option<u64>,
    /// An answer with an id of the server's own making. It is taken when the right one does not follow.
    pub candidate: Option<Answer>,
}

/// What one event means for the search.
#[derive(Debug)]
pub(super) enum Found {
    Answer(Answer),
    /// Perhaps: kept aside in case nothing better comes.
    Candidate,
    /// The stream ended early, after an event id: it can be resumed.
    Interrupted,
}

impl<'a> AnswerSearch<'a> {
    pub(super) fn new(ticket: &'a Ticket) -> Self {
        Self {
            ticket,
            exchanges: ticket.exchange.into_iter().collect(),
            status: None,
            headers: Headers::default(),
            text: None,
            last_event_id: None,
            retry_ms: None,
            alone: true,
            known: Vec::new(),
            exit: None,
            stdout_ended: None,
            candidate: None,
        }
    }

    /// Another exchange that carries on the stream.
    pub(super) fn resume(&mut self, exchange: Exchange) {
        self.exchanges.push(exchange);
    }

    pub(super) fn observe(&mut self, event: &Event) -> Option<Found> {
        if let Some(view) = event.message()
            && view.direction == Direction::In
            && let Some(id) = self.response(view.channel, view.frame)
        {
            let kind = match view.frame.message {
                _ if view.frame.is_unread() => AnswerKind::Unread,
                Message::Error { .. } => AnswerKind::Error,
                _ => AnswerKind::Result,
            };
            let status = match view.channel {
                Channel::Body { status, .. } => Some(status),
                _ => self.status,
            };
            let answer = Answer {
                kind,
                id,
                event: Some(event.seq),
                frame: Some(view.frame.clone()),
                status,
                headers: self.headers.clone(),
                text: None,
                ending: None,
            };
            let whole_body = matches!(view.channel, Channel::Body { .. });
            if id == IdRelation::Other && !whole_body && !self.ticket.id.is_absent() {
                self.candidate.get_or_insert(answer);
                return Some(Found::Candidate);
            }
            return Some(Found::Answer(answer));
        }
        match &event.body {
            Body::HttpResponse(response) if self.mine(response.exchange) => {
                self.status = Some(response.status);
                self.headers = response.headers.clone();
                None
            }
            Body::HttpBody(body) if self.mine(body.exchange) => {
                self.text = Some(body.raw.clone());
                None
            }
            Body::Sse(sse) if self.mine(sse.exchange) => {
                if let Some(id) = sse.id.as_ref().filter(|id| !id.is_empty()) {
                    self.last_event_id = Some(id.clone());
                }
                if let Some(retry) = sse.retry.as_ref().and_then(|text| text.parse().ok()) {
                    self.retry_ms = Some(retry);
                }
                None
            }
            Body::ExchangeEnded { exchange, end } if self.mine(*exchange) => self.ended(event.seq, end),
            Body::StdoutEnded | Body::Exited(_) if self.ticket.exchange.is_none() => self.gone(event),
            _ => None,
        }
    }

    /// Lines may still be in the pipe after the exit, so that the end of stdout is the end. How the process ended is seen
    /// right after that, where it did end.
    fn gone(&mut self, event: &Event) -> Option<Found> {
        match &event.body {
            Body::Exited(exit) => self.exit = Some((event.seq, exit.clone())),
            _ => self.stdout_ended = Some(event.seq),
        }
        let ended = self.stdout_ended?;
        if let Some(answer) = self.candidate.take_if(|candidate| candidate.kind != AnswerKind::Closed) {
            return Some(Found::Answer(answer));
        }
        let ending = |seq, words: String| Answer { ending: Some(words), ..Answer::closed(Some(seq)) };
        match &self.exit {
            Some((seq, exit)) => Some(Found::Answer(ending(*seq, format!("the end of the process ({exit})")))),
            None => {
                self.candidate = Some(ending(ended, "the end of stdout (the server closed it)".to_owned()));
                Some(Found::Candidate)
            }
        }
    }

    /// What there is when the deadline passes: a bare HTTP request is answered by its status line, though its stream may
    /// stay open for ever.
    pub(super) fn so_far(&self) -> Option<Answer> {
        let status = self.status.filter(|_| self.ticket.id.is_absent())?;
        let kind = if status >= 400 { AnswerKind::Refusal } else { AnswerKind::Plain };
        let mut answer = Answer::bare(kind, None);
        answer.status = Some(status);
        answer.headers = self.headers.clone();
        answer.text = self.text.clone();
        Some(answer)
    }

    fn mine(&self, exchange: Exchange) -> bool {
        self.exchanges.contains(&exchange)
    }

    fn ended(&mut self, seq: u64, end: &ExchangeEnd) -> Option<Found> {
        if let Some(candidate) = self.candidate.take() {
            return Some(Found::Answer(candidate));
        }
        let mut answer = match (self.status, end) {
            (Some(status), ExchangeEnd::Complete) if status < 400 && self.last_event_id.is_some() => {
                return Some(Found::Interrupted);
            }
            (Some(status), ExchangeEnd::Complete) if status >= 400 => Answer::bare(AnswerKind::Refusal, Some(seq)),
            (Some(_), ExchangeEnd::Complete) => Answer::bare(AnswerKind::Plain, Some(seq)),
            _ => Answer::closed(Some(seq)),
        };
        answer.status = self.status;
        answer.headers = self.headers.clone();
        answer.text = self.text.clone();
        Some(Found::Answer(answer))
    }

    /// Whether the message answers the request, and how its id compares.
    fn response(&self, channel: Channel, frame: &Frame) -> Option<IdRelation> {
        let unread = frame.is_unread();
        let message = if unread { frame.likely() } else { &frame.message };
        let id = match message {
            Message::Result { id } | Message::Error { id, .. } => id,
            _ => return None,
        };
        let relation = relation(&self.ticket.id, id);
        match channel.exchange() {
            // On its own exchange a response can answer nothing else, whatever its id.
            Some(exchange) if self.mine(exchange) => Some(relation),
            // Elsewhere only an id that tells requests apart can name this one; two messages without one have nothing to do
            // with each other.
            Some(_) => {
                let tells = !matches!(self.ticket.id, Id::Absent | Id::Null);
                (tells && relation == IdRelation::Same).then_some(relation)
            }
            None => match relation {
                IdRelation::Same => Some(relation),
                IdRelation::Rounded => self.alone.then_some(relation),
                IdRelation::Absent | IdRelation::Null => {
                    // The id may stand in what was not read.
                    (self.alone && (unread || matches!(message, Message::Error { .. }))).then_some(relation)
                }
                IdRelation::Other => (self.alone && !self.known.iter().any(|known| known.same(id))).then_some(relation),
            },
        }
    }
}

fn relation(asked: &Id, given: &Id) -> IdRelation {
    match given {
        _ if asked.same(given) => IdRelation::Same,
        Id::Absent => IdRelation::Absent,
        Id::Null => IdRelation::Null,
        Id::Number(number) => match asked {
            Id::Number(asked) if asked.as_f64() == number.as_f64() => IdRelation::Rounded,
            _ => IdRelation::Other,
        },
        _ => IdRelation::Other,
    }
}

/// The value that a handle stands for in a script: `id`, `result`, `error`, `status`, `headers`, `events` and `messages`.
pub fn document(ticket: &Ticket, answer: Option<&Answer>, events: &[Arc<Event>]) -> Value {
    let mut out = match answer.and_then(Answer::message) {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    };
    let stream = stream_events(ticket, events);
    out.insert("events".to_owned(), Value::Array(stream));
    out.insert("messages".to_owned(), Value::Array(related(ticket, events).into_iter().map(|(_, v)| v).collect()));
    if let Some(answer) = answer {
        if let Some(status) = answer.status {
            out.insert("status".to_owned(), status.into());
        }
        out.insert("headers".to_owned(), header_document(&answer.headers));
        if answer.frame.is_none()
            && let Some(text) = &answer.text
        {
            out.insert("body".to_owned(), Value::from(String::from_utf8_lossy(text).into_owned()));
        }
    }
    Value::Object(out)
}

pub fn header_document(headers: &Headers) -> Value {
    let mut out = Map::new();
    for (name, value) in &headers.0 {
        out.entry(name.to_ascii_lowercase()).or_insert_with(|| String::from_utf8_lossy(value).into());
    }
    Value::Object(out)
}

fn stream_events(ticket: &Ticket, events: &[Arc<Event>]) -> Vec<Value> {
    let exchange = ticket.exchange;
    let mut out = Vec::new();
    for event in events {
        if let Body::Sse(sse) = &event.body
            && Some(sse.exchange) == exchange
        {
            let data = sse.data.as_ref().map(|data| String::from_utf8_lossy(data).into_owned());
            out.push(serde_json::json!({"id": sse.id, "event": sse.event, "retry": sse.retry, "data": data}));
        }
    }
    out
}

/// Messages that belong to a request beside its response: on its HTTP stream, or by progress token and subscription tag
/// over stdio.
pub fn related(ticket: &Ticket, events: &[Arc<Event>]) -> Vec<(u64, Value)> {
    let mut out = Vec::new();
    for event in events.iter().filter(|event| event.seq > ticket.event) {
        let Some(view) = event.message().filter(|view| view.direction == Direction::In) else { continue };
        let mine = match view.channel.exchange() {
            Some(exchange) => Some(exchange) == ticket.exchange,
            None => ticket.exchange.is_none() && tagged(ticket, &view.frame.message, view.frame),
        };
        if mine && let Some(json) = &view.frame.json {
            out.push((event.seq, json.to_value()));
        }
    }
    out
}

fn tagged(ticket: &Ticket, message: &Message, frame: &Frame) -> bool {
    let Message::Notification { method } = message else { return false };
    let Some(json) = &frame.json else { return false };
    if &**method == "notifications/progress" {
        let token = Id::of(json.pointer("/params/progressToken"));
        return ticket.token.as_ref().is_some_and(|asked| asked.same(&token));
    }
    let tag = Id::of(json.pointer("/params/_meta/io.modelcontextprotocol~1subscriptionId"));
    ticket.id.same(&tag)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{DEFAULT_BUDGET, Intent, LineEnd, Recorder};

    #[test]
    fn an_error_without_id_on_another_exchange_answers_nobody_here() {
        let of = |id: &str, asked: Id, exchange: Exchange| {
            let ticket = Ticket {
                conversation: 1,
                event: 0,
                exchange: Some(4),
                id: asked,
                method: "DELETE".to_owned(),
                token: None,
            };
            let text = format!(r#"{{"jsonrpc":"2.0"{id},"error":{{"code":1}}}}"#);
            let frame = Frame::read(text.into(), &crate::wire::Limits::default());
            let channel = Channel::Body { exchange, status: 404 };
            AnswerSearch::new(&ticket).response(channel, &frame)
        };
        let seven = || super::super::read_id("7");
        assert_eq!(of("", Id::Absent, 3), None);
        assert_eq!(of("", Id::Absent, 4), Some(IdRelation::Same));
        assert_eq!(of(r#","id":null"#, Id::Null, 3), None);
        assert_eq!(of(r#","id":7"#, seven(), 3), Some(IdRelation::Same));
        assert_eq!(of(r#","id":8"#, seven(), 4), Some(IdRelation::Other));
        assert_eq!(of("", seven(), 3), None);
    }

    fn seven() -> Ticket {
        let id = super::super::read_id("7");
        Ticket { conversation: 1, event: 0, exchange: None, id, method: "tools/call".to_owned(), token: None }
    }

    /// The answer that a search finds in what is pushed.
    fn found(push: impl FnOnce(&Recorder)) -> Option<Answer> {
        let recorder = Recorder::new(Arc::default(), crate::wire::Limits::default(), DEFAULT_BUDGET);
        push(&recorder);
        let ticket = seven();
        let mut search = AnswerSearch::new(&ticket);
        let found = recorder.events(0).iter().find_map(|event| match search.observe(event) {
            Some(Found::Answer(answer)) => Some(answer),
            _ => None,
        });
        found.or(search.candidate)
    }

    #[test]
    fn an_answer_beyond_our_limits_came_and_says_nothing() {
        for text in [r#"{"jsonrpc":"2.0","id":7,"result":{"a":"#, r#"{"jsonrpc":"2.0","result":{"a":"#] {
            let answer = found(|recorder| {
                recorder.line(Direction::In, text.into(), LineEnd::Lf, 60_000_000, Intent::default());
            });
            let answer = answer.expect("an answer");
            assert_eq!(answer.kind, AnswerKind::Unread);
            assert!(answer.result().is_none() && !answer.refused());
        }
    }

    #[test]
    fn how_a_process_ended_is_known_in_either_order() {
        let exit = || Body::Exited(Exit { code: Some(3), signal: None });
        for bodies in [[Body::StdoutEnded, exit()], [exit(), Body::StdoutEnded]] {
            let answer = found(|recorder| bodies.into_iter().for_each(|body| _ = recorder.push(body))).unwrap();
            assert_eq!(
                (answer.kind, answer.describe().as_str()),
                (AnswerKind::Closed, "the end of the process (exit status 3)")
            );
        }
        let closed = found(|recorder| _ = recorder.push(Body::StdoutEnded)).unwrap();
        assert_eq!(closed.describe(), "the end of stdout (the server closed it)");
        assert!(found(|recorder| _ = recorder.push(exit())).is_none(), "lines may still be in the pipe");
    }
}
