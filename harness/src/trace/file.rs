//! Traces as files: JSON Lines, one event a line behind a line that names the format.
//!
//! [`write()`] makes a whole file, [`header`] and [`append`] one as it grows; [`read`] takes it in again, bounded and with a
//! place for every complaint. Bytes stand as text where they are UTF-8, else as base64, and come back exactly; messages are
//! not stored as read but read again, so that an old file is judged by the reader of today.

use std::{
    io::{self, BufRead, Write},
    sync::Arc,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use mcp_conform_schemas::{Era, Revision};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::event::*;
use crate::wire::{DefectKind, Frame, Json, LimitKind, Limits, MAX_DEPTH};

/// The format that is written, and the newest that is read.
pub const TRACE_VERSION: u64 = 1;

/// How much of a file is read.
#[derive(Clone, Copy, Debug)]
pub struct FileLimits {
    /// Bytes of one line.
    pub line: usize,
    /// Bytes of the whole file.
    pub total: u64,
    /// For the messages in it.
    pub message: Limits,
}

impl Default for FileLimits {
    fn default() -> Self {
        // A message of 16 MiB in which every byte has to be escaped takes six times as much.
        Self { line: 128 * 1024 * 1024, total: 1024 * 1024 * 1024, message: Limits::default() }
    }
}

/// What was read from a file.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub events: Vec<Arc<Event>>,
    /// What was left out, and why.
    pub note: Option<String>,
}

/// A file that cannot be read as a trace.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct TraceFileError {
    /// From 1.
    pub line: u64,
    #[source]
    pub kind: TraceFileErrorKind,
}

#[derive(Debug, thiserror::Error)]
pub enum TraceFileErrorKind {
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("not a trace of mcp-conform: the first line has to be {{\"mcp-conform-trace\": {TRACE_VERSION}}}")]
    NoTrace,
    #[error("a trace of format {0}, and this version reads up to {TRACE_VERSION}; use a newer mcp-conform")]
    Newer(u64),
    #[error("no event: {0}; remove the line, or record the trace again")]
    NoEvent(serde_json::Error),
    #[error("bytes that are no base64: {0}; record the trace again")]
    NoBase64(base64::DecodeError),
    #[error("no value of JSON where one is due; record the trace again")]
    NoValue,
    #[error("event {found} where event {due} is due: lines are missing or from another trace")]
    Order { found: u64, due: u64 },
    #[error("longer than {0} bytes, which is our limit for a line")]
    LongLine(usize),
    #[error("the file is longer than {0} bytes, which is our limit; split it by conversation")]
    LongFile(u64),
}

/// Writes a whole trace.
pub fn write(events: &[Arc<Event>], out: &mut impl Write) -> io::Result<()> {
    header(out)?;
    events.iter().try_for_each(|event| append(event, out))
}

/// Writes the first line of a file.
pub fn header(out: &mut impl Write) -> io::Result<()> {
    let tool = env!("CARGO_PKG_VERSION");
    writeln!(out, "{{\"mcp-conform-trace\": {TRACE_VERSION}, \"written-by\": \"{tool}\"}}")
}

/// Writes one event.
pub fn append(event: &Event, out: &mut impl Write) -> io::Result<()> {
    let nanoseconds = u64::try_from(event.at.as_nanos()).unwrap_or(u64::MAX);
    let record = Record { seq: event.seq, ns: nanoseconds, body: Entry::from(&event.body) };
    serde_json::to_writer(&mut *out, &record)?;
    out.write_all(b"\n")
}

/// Reads a trace. A last line without an end that does not read is left out with a note: the writer was interrupted.
pub fn read(from: &mut impl BufRead, limits: &FileLimits) -> Result<Loaded, TraceFileError> {
    let mut events: Vec<Arc<Event>> = Vec::new();
    let mut line = Vec::new();
    let (mut number, mut total, mut due) = (0, 0_u64, 0);
    loop {
        number += 1;
        let fail = |kind| TraceFileError { line: number, kind };
        line.clear();
        let most = limits.line as u64 + 1;
        let taken =
            io::Read::take(&mut *from, most).read_until(b'\n', &mut line).map_err(|error| fail(error.into()))?;
        if taken == 0 {
            return if number == 1 {
                Err(fail(TraceFileErrorKind::NoTrace))
            } else {
                Ok(Loaded { events, note: None })
            };
        }
        total = total.saturating_add(taken as u64);
        let whole = line.ends_with(b"\n");
        if !whole && line.len() > limits.line {
            return Err(fail(TraceFileErrorKind::LongLine(limits.line)));
        }
        if total > limits.total {
            return Err(fail(TraceFileErrorKind::LongFile(limits.total)));
        }
        if number == 1 {
            is_trace(&line).map_err(fail)?;
            continue;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let event = match event(&line, &limits.message) {
            Ok(event) => event,
            Err(TraceFileErrorKind::NoEvent(error)) if !whole && error.is_eof() => {
                let note = Some(format!("line {number} was cut off and left out: the recording was interrupted"));
                return Ok(Loaded { events, note });
            }
            Err(kind) => return Err(fail(kind)),
        };
        // A file may hold several conversations, one after the other.
        if event.seq == 0 && matches!(event.body, Body::Opened(_)) {
            due = 0;
        }
        if event.seq != due {
            return Err(fail(TraceFileErrorKind::Order { found: event.seq, due }));
        }
        due += 1;
        events.push(Arc::new(event));
    }
}

/// What has to hold for any bytes at all; for fuzzing.
#[doc(hidden)]
pub fn trace_file(data: &[u8]) {
    let limits = FileLimits { line: 1024 * 1024, total: 4 * 1024 * 1024, message: Limits::default() };
    let Ok(loaded) = read(&mut &*data, &limits) else { return };
    let observations = crate::rules::judge(&loaded.events);
    let mut written = Vec::new();
    assert!(write(&loaded.events, &mut written).is_ok(), "writing to memory cannot fail");
    let Ok(again) = read(&mut &*written, &FileLimits::default()) else {
        // What was written is longer than what was read: spelling out may pass the limits, never break the format.
        assert!(written.len() > limits.line, "what was written cannot be read");
        return;
    };
    assert_eq!(loaded.events.len(), again.events.len(), "events were lost");
    assert_eq!(observations, crate::rules::judge(&again.events), "the file is judged otherwise");
}

fn is_trace(line: &[u8]) -> Result<(), TraceFileErrorKind> {
    #[derive(Deserialize)]
    struct Head {
        #[serde(rename = "mcp-conform-trace")]
        version: u64,
    }
    match serde_json::from_slice::<Head>(line) {
        Ok(head) if head.version > TRACE_VERSION => Err(TraceFileErrorKind::Newer(head.version)),
        Ok(head) if head.version > 0 => Ok(()),
        _ => Err(TraceFileErrorKind::NoTrace),
    }
}

fn event(line: &[u8], limits: &Limits) -> Result<Event, TraceFileErrorKind> {
    let record: Record = serde_json::from_slice(line).map_err(TraceFileErrorKind::NoEvent)?;
    Ok(Event { seq: record.seq, at: Duration::from_nanos(record.ns), body: record.body.read(limits)? })
}

#[derive(Serialize, Deserialize)]
struct Record {
    seq: u64,
    ns: u64,
    body: Entry,
}

/// A [`Body`] as it stands in a file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Entry {
    Opened {
        conversation: u32,
        era: Era,
        transport: String,
        version: String,
        capabilities: Text,
        target: String,
        dual: Option<bool>,
    },
    Negotiated {
        version: Revision,
        capabilities: Text,
        session: Option<String>,
    },
    Step {
        case: String,
        step: String,
        subject: String,
    },
    Line {
        from_server: bool,
        raw: Octets,
        end: String,
        #[serde(default, skip_serializing_if = "is_zero")]
        cut: usize,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        wrong: Vec<String>,
        #[serde(default, skip_serializing_if = "is_false")]
        bytes: bool,
    },
    StdinClosed,
    StdoutEnded,
    Stderr(Octets),
    Started {
        pid: u32,
    },
    Exited {
        code: Option<i32>,
        signal: Option<i32>,
    },
    Signalled(String),
    Orphans(Vec<u32>),
    HttpRequest {
        exchange: Exchange,
        method: String,
        target: String,
        headers: Vec<(String, Octets)>,
        body: Octets,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        wrong: Vec<String>,
        #[serde(default, skip_serializing_if = "is_false")]
        bytes: bool,
    },
    HttpResponse {
        exchange: Exchange,
        status: u16,
        headers: Vec<(String, Octets)>,
    },
    HttpBody {
        exchange: Exchange,
        status: u16,
        raw: Octets,
        #[serde(default, skip_serializing_if = "is_zero")]
        cut: usize,
    },
    Sse {
        exchange: Exchange,
        event: Option<String>,
        id: Option<String>,
        retry: Option<String>,
        data: Option<Octets>,
        #[serde(default, skip_serializing_if = "is_false")]
        cut: bool,
        #[serde(default, skip_serializing_if = "is_false")]
        unterminated: bool,
    },
    SseComment {
        exchange: Exchange,
        text: Octets,
    },
    SseDefect {
        exchange: Exchange,
        message: String,
    },
    ExchangeEnded {
        exchange: Exchange,
        end: End,
    },
    DeadlinePassed {
        what: String,
        request: Option<String>,
        ns: u64,
    },
    Limit(String),
    Drained,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum End {
    ClosedByUs,
    Complete,
    Failed(String),
    Limit(String),
}

/// Bytes: as text where they are UTF-8.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Octets {
    Text(String),
    Base64 { base64: String },
}

/// A JSON value as text: the depth that a server chose must not keep a file from being read.
#[derive(Serialize, Deserialize)]
struct Text(String);

impl Octets {
    fn new(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64 { base64: STANDARD.encode(bytes) },
        }
    }

    fn bytes(self) -> Result<Bytes, TraceFileErrorKind> {
        match self {
            Self::Text(text) => Ok(text.into()),
            Self::Base64 { base64 } => STANDARD.decode(base64).map(Bytes::from).map_err(TraceFileErrorKind::NoBase64),
        }
    }
}

impl Text {
    fn value(&self) -> Result<Value, TraceFileErrorKind> {
        let limits = Limits { depth: MAX_DEPTH, ..Limits::default() };
        let reading = Json::read(self.0.as_bytes(), &limits).map_err(|_| TraceFileErrorKind::NoValue)?;
        Ok(reading.json.to_value())
    }
}

impl From<&Value> for Text {
    fn from(value: &Value) -> Self {
        Self(value.to_string())
    }
}

impl From<&Body> for Entry {
    fn from(body: &Body) -> Self {
        match body {
            Body::Opened(it) => Self::Opened {
                conversation: it.conversation,
                era: it.era,
                transport: it.transport.as_str().to_owned(),
                version: it.version.clone(),
                capabilities: (&it.capabilities).into(),
                target: it.target.clone(),
                dual: it.dual,
            },
            Body::Negotiated(it) => Self::Negotiated {
                version: it.version,
                capabilities: (&it.capabilities).into(),
                session: it.session.clone(),
            },
            Body::Step(it) => Self::Step { case: it.case.clone(), step: it.step.clone(), subject: it.subject.clone() },
            Body::Line(it) => Self::Line {
                from_server: it.direction == Direction::In,
                raw: Octets::new(&it.frame.raw),
                end: end_name(it.end).to_owned(),
                cut: it.cut,
                wrong: it.intent.wrong.clone(),
                bytes: it.raw,
            },
            Body::StdinClosed => Self::StdinClosed,
            Body::StdoutEnded => Self::StdoutEnded,
            Body::Stderr(raw) => Self::Stderr(Octets::new(raw)),
            Body::Started { pid } => Self::Started { pid: *pid },
            Body::Exited(it) => Self::Exited { code: it.code, signal: it.signal },
            Body::Signalled { name } => Self::Signalled((*name).to_owned()),
            Body::Orphans { pids } => Self::Orphans(pids.clone()),
            Body::HttpRequest(it) => Self::HttpRequest {
                exchange: it.exchange,
                method: it.method.clone(),
                target: it.target.clone(),
                headers: headers_out(&it.headers),
                body: Octets::new(&it.body),
                wrong: it.intent.wrong.clone(),
                bytes: it.raw,
            },
            Body::HttpResponse(it) => {
                Self::HttpResponse { exchange: it.exchange, status: it.status, headers: headers_out(&it.headers) }
            }
            Body::HttpBody(it) => {
                Self::HttpBody { exchange: it.exchange, status: it.status, raw: Octets::new(&it.raw), cut: it.cut }
            }
            Body::Sse(it) => Self::Sse {
                exchange: it.exchange,
                event: it.event.clone(),
                id: it.id.clone(),
                retry: it.retry.clone(),
                data: it.data.as_deref().map(Octets::new),
                cut: it.frame.as_ref().is_some_and(|frame| frame.has(DefectKind::OurLimit(LimitKind::Bytes))),
                unterminated: it.unterminated,
            },
            Body::SseComment { exchange, text } => Self::SseComment { exchange: *exchange, text: Octets::new(text) },
            Body::SseDefect { exchange, message } => Self::SseDefect { exchange: *exchange, message: message.clone() },
            Body::ExchangeEnded { exchange, end } => Self::ExchangeEnded {
                exchange: *exchange,
                end: match end {
                    ExchangeEnd::ClosedByUs => End::ClosedByUs,
                    ExchangeEnd::Complete => End::Complete,
                    ExchangeEnd::Failed(why) => End::Failed(why.clone()),
                    ExchangeEnd::Limit(which) => End::Limit(which.clone()),
                },
            },
            Body::DeadlinePassed(it) => Self::DeadlinePassed {
                what: it.what.clone(),
                request: it.request.clone(),
                ns: u64::try_from(it.after.as_nanos()).unwrap_or(u64::MAX),
            },
            Body::Limit { what } => Self::Limit(what.clone()),
            Body::Drained => Self::Drained,
        }
    }
}

impl Entry {
    fn read(self, limits: &Limits) -> Result<Body, TraceFileErrorKind> {
        let frame = |raw: Bytes, cut: usize| Arc::new(Frame::read_cut(raw, cut, limits));
        Ok(match self {
            Self::Opened { conversation, era, transport, version, capabilities, target, dual } => {
                let transport = if transport == Transport::Http.as_str() { Transport::Http } else { Transport::Stdio };
                let capabilities = capabilities.value()?;
                Body::Opened(Opened { conversation, era, transport, version, capabilities, target, dual })
            }
            Self::Negotiated { version, capabilities, session } => {
                Body::Negotiated(Negotiated { version, capabilities: capabilities.value()?, session })
            }
            Self::Step { case, step, subject } => Body::Step(StepMark { case, step, subject }),
            Self::Line { from_server, raw, end, cut, wrong, bytes } => Body::Line(Line {
                direction: if from_server { Direction::In } else { Direction::Out },
                frame: frame(raw.bytes()?, cut),
                end: end_of(&end),
                cut,
                intent: Intent { wrong },
                raw: bytes,
            }),
            Self::StdinClosed => Body::StdinClosed,
            Self::StdoutEnded => Body::StdoutEnded,
            Self::Stderr(raw) => Body::Stderr(raw.bytes()?),
            Self::Started { pid } => Body::Started { pid },
            Self::Exited { code, signal } => Body::Exited(Exit { code, signal }),
            Self::Signalled(name) => Body::Signalled { name: signal(&name) },
            Self::Orphans(pids) => Body::Orphans { pids },
            Self::HttpRequest { exchange, method, target, headers, body, wrong, bytes } => {
                let body = body.bytes()?;
                let frame = (!body.is_empty() && !bytes).then(|| frame(body.clone(), 0));
                let (headers, intent) = (headers_in(headers)?, Intent { wrong });
                Body::HttpRequest(HttpRequest { exchange, method, target, headers, body, frame, intent, raw: bytes })
            }
            Self::HttpResponse { exchange, status, headers } => {
                Body::HttpResponse(HttpResponse { exchange, status, headers: headers_in(headers)? })
            }
            Self::HttpBody { exchange, status, raw, cut } => {
                let raw = raw.bytes()?;
                let frame = (!raw.is_empty()).then(|| frame(raw.clone(), cut));
                Body::HttpBody(HttpBody { exchange, status, frame, raw, cut })
            }
            Self::Sse { exchange, event, id, retry, data, cut, unterminated } => {
                let data = data.map(Octets::bytes).transpose()?;
                let carries = event.as_deref().is_none_or(|name| name.is_empty() || name == "message");
                let message = data.as_ref().filter(|data| carries && !data.is_empty());
                let frame = message.map(|data| frame(data.clone(), usize::from(cut)));
                Body::Sse(SseMessage { exchange, event, id, retry, data, frame, unterminated })
            }
            Self::SseComment { exchange, text } => Body::SseComment { exchange, text: text.bytes()? },
            Self::SseDefect { exchange, message } => Body::SseDefect { exchange, message },
            Self::ExchangeEnded { exchange, end } => {
                let end = match end {
                    End::ClosedByUs => ExchangeEnd::ClosedByUs,
                    End::Complete => ExchangeEnd::Complete,
                    End::Failed(why) => ExchangeEnd::Failed(why),
                    End::Limit(which) => ExchangeEnd::Limit(which),
                };
                Body::ExchangeEnded { exchange, end }
            }
            Self::DeadlinePassed { what, request, ns } => {
                Body::DeadlinePassed(DeadlinePassed { what, request, after: Duration::from_nanos(ns) })
            }
            Self::Limit(what) => Body::Limit { what },
            Self::Drained => Body::Drained,
        })
    }
}

fn headers_out(headers: &Headers) -> Vec<(String, Octets)> {
    headers.0.iter().map(|(name, value)| (name.clone(), Octets::new(value))).collect()
}

fn headers_in(headers: Vec<(String, Octets)>) -> Result<Headers, TraceFileErrorKind> {
    headers.into_iter().map(|(name, value)| Ok((name, value.bytes()?))).collect::<Result<_, _>>().map(Headers)
}

fn end_name(end: LineEnd) -> &'static str {
    match end {
        LineEnd::CrLf => "crlf",
        LineEnd::Eof => "eof",
        LineEnd::Lf => "lf",
    }
}

fn end_of(name: &str) -> LineEnd {
    match name {
        "crlf" => LineEnd::CrLf,
        "eof" => LineEnd::Eof,
        _ => LineEnd::Lf,
    }
}

/// Events hold names of signals that we know; any other name was not written by us.
fn signal(name: &str) -> &'static str {
    const KNOWN: [&str; 14] = [
        "TERM",
        "KILL",
        "INT",
        "HUP",
        "QUIT",
        "STOP",
        "CONT",
        "USR1",
        "USR2",
        "PIPE",
        "ABRT",
        "ALRM",
        "TSTP",
        "TERMINATE",
    ];
    KNOWN.into_iter().find(|known| *known == name).unwrap_or("other")
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !*flag
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rules::{self, testing::trace};

    fn written(events: &[Arc<Event>]) -> Vec<u8> {
        let mut out = Vec::new();
        write(events, &mut out).unwrap();
        out
    }

    fn loaded(bytes: &[u8]) -> Result<Loaded, TraceFileError> {
        read(&mut &*bytes, &FileLimits::default())
    }

    #[test]
    fn proofs_are_judged_the_same_from_a_file() {
        for (kind, script) in rules::proofs::scripts() {
            let events = trace(kind, script);
            let again = loaded(&written(&events)).unwrap();
            assert_eq!(format!("{events:?}"), format!("{:?}", again.events));
            assert_eq!(rules::judge(&events), rules::judge(&again.events));
        }
    }

    fn bytes() -> impl Strategy<Value = Bytes> {
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..40).prop_map(Bytes::from),
            any::<String>().prop_map(Bytes::from),
            Just(Bytes::from(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)),
        ]
    }

    fn body() -> impl Strategy<Value = Body> {
        let frame = |raw: Bytes| Arc::new(Frame::read(raw, &Limits::default()));
        let text = any::<String>();
        let end = prop_oneof![Just(LineEnd::Lf), Just(LineEnd::CrLf), Just(LineEnd::Eof)];
        let headers = || prop::collection::vec((any::<String>(), bytes()), 0..3).prop_map(Headers);
        let value = any::<String>().prop_map(|text| serde_json::json!({ "a": [text, 1.5, null, u64::MAX] }));
        prop_oneof![
            (any::<u32>(), any::<String>(), value.clone(), any::<Option<bool>>()).prop_map(
                |(conversation, version, capabilities, dual)| Body::Opened(Opened {
                    conversation,
                    era: Era::Legacy,
                    transport: Transport::Http,
                    target: version.clone(),
                    version,
                    capabilities,
                    dual,
                })
            ),
            (value, any::<Option<String>>()).prop_map(|(capabilities, session)| Body::Negotiated(Negotiated {
                version: Revision::V2025_06_18,
                capabilities,
                session,
            })),
            (text, text).prop_map(|(case, step)| Body::Step(StepMark { subject: case.clone(), case, step })),
            (bytes(), end, any::<bool>(), prop::collection::vec(any::<String>(), 0..2)).prop_map(
                move |(raw, end, incoming, wrong)| Body::Line(Line {
                    direction: if incoming { Direction::In } else { Direction::Out },
                    frame: frame(raw),
                    end,
                    cut: 0,
                    intent: Intent { wrong },
                    raw: false,
                })
            ),
            Just(Body::StdinClosed),
            Just(Body::StdoutEnded),
            bytes().prop_map(Body::Stderr),
            any::<u32>().prop_map(|pid| Body::Started { pid }),
            any::<(Option<i32>, Option<i32>)>().prop_map(|(code, signal)| Body::Exited(Exit { code, signal })),
            Just(Body::Signalled { name: "TERM" }),
            prop::collection::vec(any::<u32>(), 0..3).prop_map(|pids| Body::Orphans { pids }),
            (any::<u32>(), text, headers(), bytes(), any::<bool>()).prop_map(
                move |(exchange, target, headers, body, raw)| Body::HttpRequest(HttpRequest {
                    exchange,
                    method: target.clone(),
                    target,
                    headers,
                    frame: (!body.is_empty() && !raw).then(|| frame(body.clone())),
                    body,
                    intent: Intent::default(),
                    raw,
                })
            ),
            (any::<u32>(), any::<u16>(), headers())
                .prop_map(|(exchange, status, headers)| Body::HttpResponse(HttpResponse { exchange, status, headers })),
            (any::<u32>(), any::<u16>(), bytes()).prop_map(move |(exchange, status, raw)| Body::HttpBody(HttpBody {
                exchange,
                status,
                frame: (!raw.is_empty()).then(|| frame(raw.clone())),
                raw,
                cut: 0
            })),
            (any::<u32>(), any::<Option<String>>(), any::<Option<String>>(), any::<bool>()).prop_map(
                |(exchange, id, retry, unterminated)| Body::Sse(SseMessage {
                    exchange,
                    event: Some("endpoint".to_owned()),
                    id,
                    retry,
                    data: None,
                    frame: None,
                    unterminated
                })
            ),
            (any::<u32>(), bytes()).prop_map(|(exchange, text)| Body::SseComment { exchange, text }),
            (any::<u32>(), text).prop_map(|(exchange, message)| Body::SseDefect { exchange, message }),
            (any::<u32>(), text, 0..4).prop_map(|(exchange, why, which)| Body::ExchangeEnded {
                exchange,
                end: match which {
                    0 => ExchangeEnd::ClosedByUs,
                    1 => ExchangeEnd::Complete,
                    2 => ExchangeEnd::Failed(why),
                    _ => ExchangeEnd::Limit(why),
                },
            }),
            (text, any::<Option<String>>(), any::<u32>()).prop_map(|(what, request, after)| {
                Body::DeadlinePassed(DeadlinePassed { what, request, after: Duration::from_nanos(after.into()) })
            }),
            text.prop_map(|what| Body::Limit { what }),
            Just(Body::Drained),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn every_event_comes_back_as_it_was(bodies in prop::collection::vec(body(), 0..30)) {
            let event = |(seq, body): (usize, Body)| {
                Arc::new(Event { seq: seq as u64, at: Duration::from_nanos(seq as u64 * 7), body })
            };
            let events: Vec<_> = bodies.into_iter().enumerate().map(event).collect();
            let again = loaded(&written(&events)).unwrap();
            prop_assert_eq!(format!("{events:?}"), format!("{:?}", again.events));
            prop_assert_eq!(rules::judge(&events), rules::judge(&again.events));
        }

        #[test]
        fn any_bytes_are_read_or_refused(data in prop::collection::vec(any::<u8>(), 0..200), events in prop::collection::vec(body(), 0..4)) {
            trace_file(&data);
            let mut file = Vec::new();
            header(&mut file).unwrap();
            file.extend(&data);
            trace_file(&file);
            let events: Vec<_> = events.into_iter().enumerate().map(|(seq, body)| Arc::new(Event { seq: seq as u64, at: Duration::ZERO, body })).collect();
            let mut file = written(&events);
            let at = data.first().map_or(0, |byte| usize::from(*byte) * 7 % file.len());
            file.truncate(at);
            trace_file(&file);
        }
    }

    #[test]
    fn complaints_name_the_line_and_the_way_out() {
        let good = String::from_utf8(written(&trace("2025-11-25 stdio", "drained"))).unwrap();
        let head = good.lines().next().unwrap();
        for (file, line, what) in [
            (String::new(), 1, "not a trace"),
            ("{\"a\":1}\n".to_owned(), 1, "not a trace"),
            ("{\"mcp-conform-trace\": 2}\n".to_owned(), 1, "newer mcp-conform"),
            (format!("{head}\n{{\"seq\":0}}\n"), 2, "no event"),
            (format!("{head}\n{{\"seq\":0,\"ns\":0,\"body\":{{\"stderr\":{{\"base64\":\"*\"}}}}}}\n"), 2, "base64"),
            (format!("{head}\n{{\"seq\":1,\"ns\":0,\"body\":\"drained\"}}\n"), 2, "where event 0 is due"),
        ] {
            let error = loaded(file.as_bytes()).unwrap_err();
            assert!(error.line == line && error.to_string().contains(what), "{error}");
        }
        let short = FileLimits { line: 50, ..FileLimits::default() };
        assert!(read(&mut good.as_bytes(), &short).unwrap_err().to_string().contains("longer than 50 bytes"));
        let small = FileLimits { total: 60, ..FileLimits::default() };
        assert!(read(&mut good.as_bytes(), &small).unwrap_err().to_string().contains("split it"));
    }

    #[test]
    fn a_cut_last_line_is_left_out_with_a_note() {
        let file = written(&trace("2025-11-25 stdio", "drained"));
        let whole = loaded(&file).unwrap();
        let cut = loaded(file.get(..file.len() - 4).unwrap()).unwrap();
        assert_eq!(cut.events.len() + 1, whole.events.len());
        assert!(whole.note.is_none() && cut.note.unwrap().contains("cut off"));
    }
}
