//! Bodies of events as they stand in a trace file: [`Entry`] to and from [`Body`].

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use mcp_conform_schemas::{Era, Revision};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{event::*, file::TraceFileErrorKind};
use crate::wire::{DefectKind, Frame, Json, LimitKind, Limits, MAX_DEPTH};

/// A [`Body`] as it stands in a file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
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
pub(super) enum End {
    ClosedByUs,
    Complete,
    Failed(String),
    Limit(String),
}

/// Bytes: as text where they are UTF-8.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Octets {
    Text(String),
    Base64 { base64: String },
}

/// A JSON value as text: the depth that a server chose must not keep a file from being read.
#[derive(Serialize, Deserialize)]
pub(super) struct Text(String);

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
    pub(super) fn read(self, limits: &Limits) -> Result<Body, TraceFileErrorKind> {
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
    const KNOWN: [&str; 12] = [
        "SIGABRT", "SIGCONT", "SIGHUP", "SIGINT", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSTOP", "SIGTERM", "SIGTSTP",
        "SIGUSR1", "SIGUSR2",
    ];
    KNOWN.into_iter().find(|known| *known == name).unwrap_or("other")
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !*flag
}
