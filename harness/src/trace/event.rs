//! The events of a trace: everything that one conversation said, heard and knew.
//!
//! [`Event`] is the unit. Rules, cases, reports, the file form and the fuzzer all read events and nothing else; only a
//! [`Recorder`](super::Recorder) makes them. Messages are kept as [`Frame`]s, whose raw bytes are the truth: the file form
//! keeps the bytes and reads the frames again.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use mcp_conform_schemas::{Era, Revision};
use serde_json::Value;

use crate::wire::Frame;

/// One thing that happened in a conversation.
#[derive(Clone, Debug)]
pub struct Event {
    /// Position in the conversation's trace, from 0 without gaps.
    pub seq: u64,
    /// Time since the conversation was opened.
    pub at: Duration,
    pub body: Body,
}

/// An HTTP request and all that came back for it; numbered from 1 within a conversation.
pub type Exchange = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From us to the server.
    Out,
    /// From the server to us.
    In,
}

/// What we do on purpose with a message of ours, so that a judge does not take it for a fault of ours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intent {
    /// JSON Pointers, or `headers/NAME`, of what is wrong on purpose. `""`: the whole message.
    pub wrong: Vec<String>,
}

#[derive(Clone, Debug)]
pub enum Body {
    Opened(Opened),
    /// The handshake or discovery ended.
    Negotiated(Negotiated),
    /// A case step begins; what follows belongs to it until the next mark.
    Step(StepMark),
    /// One line on stdin (`Out`) or stdout (`In`), or bytes of ours that were written as they stand.
    Line(Line),
    /// Our side of stdin was closed.
    StdinClosed,
    /// The server's stdout came to its end.
    StdoutEnded,
    /// Bytes on stderr, as they came.
    Stderr(Bytes),
    Started {
        pid: u32,
    },
    Exited(Exit),
    /// A signal of ours.
    Signalled {
        name: &'static str,
    },
    /// Processes that were left behind by the server and had to be ended by us.
    Orphans {
        pids: Vec<u32>,
    },
    HttpRequest(HttpRequest),
    HttpResponse(HttpResponse),
    /// A whole response body that is no event stream.
    HttpBody(HttpBody),
    Sse(SseMessage),
    /// A comment line of an event stream, without the colon.
    SseComment {
        exchange: Exchange,
        text: Bytes,
    },
    /// What breaks the event stream format.
    SseDefect {
        exchange: Exchange,
        message: String,
    },
    ExchangeEnded {
        exchange: Exchange,
        end: ExchangeEnd,
    },
    /// We waited for something until its deadline and it did not come.
    DeadlinePassed(DeadlinePassed),
    /// A limit of ours stopped reading; never the server's fault by itself.
    Limit {
        what: String,
    },
    /// Everything that could still come has come: the process ended and its pipes are empty, or every exchange is closed.
    Drained,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// Number of the conversation within the run.
    pub conversation: u32,
    pub era: Era,
    pub transport: Transport,
    /// What was claimed: the version of `initialize` or of `_meta`.
    pub version: String,
    /// Client capabilities declared by `initialize`, or by default with each request.
    pub capabilities: Value,
    /// Command line or URL, secrets replaced.
    pub target: String,
    /// Eras that the target was seen to serve before; both unknown until the probe is done.
    pub dual: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    Http,
    Stdio,
}

impl Transport {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Stdio => "stdio",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Negotiated {
    pub version: Revision,
    /// Server capabilities.
    pub capabilities: Value,
    pub session: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StepMark {
    pub case: String,
    /// Such as `3.probe.control`.
    pub step: String,
    /// Loop subject, or empty.
    pub subject: String,
}

#[derive(Clone, Debug)]
pub struct Line {
    pub direction: Direction,
    pub frame: Arc<Frame>,
    pub end: LineEnd,
    /// Bytes dropped beyond our limit.
    pub cut: usize,
    pub intent: Intent,
    /// Bytes of a `raw` step: not necessarily one line.
    pub raw: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    CrLf,
    Eof,
    Lf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    pub code: Option<i32>,
    /// Signal number on Unix.
    pub signal: Option<i32>,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit status {code}"),
            (None, Some(signal)) => {
                // Those that a broken server dies of; their numbers are the same on Linux and macOS.
                let name = match signal {
                    2 => ", SIGINT",
                    4 => ", SIGILL",
                    6 => ", SIGABRT",
                    8 => ", SIGFPE",
                    9 => ", SIGKILL",
                    11 => ", SIGSEGV",
                    13 => ", SIGPIPE",
                    15 => ", SIGTERM",
                    _ => "",
                };
                write!(f, "signal {signal}{name}")
            }
            (None, None) => f.write_str("exit status unknown"),
        }
    }
}

#[derive(Clone, Debug)]
pub struct HttpRequest {
    pub exchange: Exchange,
    pub method: String,
    /// Path and query, or the whole of a raw request's first line.
    pub target: String,
    pub headers: Headers,
    pub body: Bytes,
    /// The body as a message, when there is a body.
    pub frame: Option<Arc<Frame>>,
    pub intent: Intent,
    /// Written byte by byte by a raw step; `body` holds all of it.
    pub raw: bool,
}

/// In wire order; names as they stood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(pub Vec<(String, Bytes)>);

impl Headers {
    /// The first value of a name, in any case, as text where it is text.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .filter(|(n, _)| n.eq_ignore_ascii_case(name))
            .find_map(|(_, value)| std::str::from_utf8(value).ok())
    }

    /// Every value of a name, in any case.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Bytes> {
        self.0.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The media type of Content-Type in lower case, without parameters.
    pub fn media_type(&self) -> Option<String> {
        let value = self.get("content-type")?;
        Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
    }
}

#[derive(Clone, Debug)]
pub struct HttpResponse {
    pub exchange: Exchange,
    pub status: u16,
    pub headers: Headers,
}

#[derive(Clone, Debug)]
pub struct HttpBody {
    pub exchange: Exchange,
    pub status: u16,
    /// The body as a message, when there is a body.
    pub frame: Option<Arc<Frame>>,
    pub raw: Bytes,
    /// Bytes dropped beyond our limit.
    pub cut: usize,
}

/// One event of an event stream.
#[derive(Clone, Debug)]
pub struct SseMessage {
    pub exchange: Exchange,
    pub event: Option<String>,
    /// The id field of this event.
    pub id: Option<String>,
    /// Text of the retry field.
    pub retry: Option<String>,
    /// `None`: no data field; empty: an event for its id alone.
    pub data: Option<Bytes>,
    /// The data as a message, when there is any and the event type is `message`.
    pub frame: Option<Arc<Frame>>,
    /// The stream ended inside the block.
    pub unterminated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExchangeEnd {
    /// We closed it.
    ClosedByUs,
    /// The body came to its end.
    Complete,
    /// Nothing could be sent, or the connection broke before the response was whole.
    Failed(String),
    /// A limit of ours.
    Limit(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct DeadlinePassed {
    /// Such as `answer to tools/call` or `exit`.
    pub what: String,
    /// JSON text of the id of the request that stayed unanswered.
    pub request: Option<String>,
    pub after: Duration,
}

/// Where a message was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// A whole HTTP body.
    Body {
        exchange: Exchange,
        status: u16,
    },
    /// The body of a request of ours.
    Post {
        exchange: Exchange,
    },
    Sse {
        exchange: Exchange,
    },
    Stdio,
}

impl Channel {
    pub fn exchange(self) -> Option<Exchange> {
        match self {
            Self::Body { exchange, .. } | Self::Post { exchange } | Self::Sse { exchange } => Some(exchange),
            Self::Stdio => None,
        }
    }
}

/// A JSON-RPC message (or what stands in its place) seen from outside the transport.
#[derive(Clone, Copy, Debug)]
pub struct MessageView<'a> {
    pub direction: Direction,
    pub channel: Channel,
    pub frame: &'a Arc<Frame>,
    pub intent: Option<&'a Intent>,
}

impl Event {
    /// The message that the event carries. Bodies of HTTP error statuses that have no `jsonrpc` member are none: OAuth,
    /// gateways and frameworks answer so.
    pub fn message(&self) -> Option<MessageView<'_>> {
        let (direction, channel, frame, intent) = match &self.body {
            Body::Line(line) => (line.direction, Channel::Stdio, &line.frame, Some(&line.intent)),
            Body::HttpRequest(request) => (
                Direction::Out,
                Channel::Post { exchange: request.exchange },
                request.frame.as_ref()?,
                Some(&request.intent),
            ),
            Body::HttpBody(body) => {
                let frame = body.frame.as_ref()?;
                let bare = frame.json.as_ref().is_none_or(|json| json.get("jsonrpc").is_none());
                if body.status >= 400 && bare {
                    return None;
                }
                (Direction::In, Channel::Body { exchange: body.exchange, status: body.status }, frame, None)
            }
            Body::Sse(sse) => (Direction::In, Channel::Sse { exchange: sse.exchange }, sse.frame.as_ref()?, None),
            _ => return None,
        };
        Some(MessageView { direction, channel, frame, intent })
    }
}
