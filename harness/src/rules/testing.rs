//! Hand-made traces for the tests of rules: a few words of notation instead of event structs.
//!
//! A script holds one event a line; [`trace`] turns it into events behind a sound opening of the wanted kind. `$META` stands
//! for the `_meta` of a modern request, `$OK` for the resultType of a complete result, `$DEEP` for a value
//! that is deeper than anything is read.
//!
//! ```text
//! > TEXT              a line of ours          >! TEXT  wrong as a whole     >/params/x TEXT  wrong there
//! raw TEXT            bytes of ours that are no line
//! < TEXT              a line of the server    <hex 7B7D  in bytes           <eof TEXT  without a line end
//! post TEXT           POST number 1, 2, ...   post! and post/params/x as above, post+raw TEXT byte by byte, post+long with $LONG as Mcp-Name
//! get                 GET, the next number    get+resume  with Last-Event-ID
//! 1 200 json NAME=V   response to POST 1: media type json, sse, none or any other
//! 1 body TEXT         its body                1 sse id=5 retry=x event=y | TEXT   one event of its stream
//! 1 defect TEXT       a malformed stream      1 end, 1 closed, 1 failed
//! step CASE STEP
//! flood TOKEN TIMES   progress, a millisecond apart
//! deadline ID, stdin closed, signal, exited, drained, limit WHAT, wait MS
//! ```

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use mcp_conform_schemas::{Era, Revision};
use serde_json::json;

use crate::{
    trace::{
        Body, DeadlinePassed, Direction, Event, ExchangeEnd, Exit, Headers, HttpBody, HttpRequest, HttpResponse,
        Intent, Line, LineEnd, Negotiated, Opened, SseMessage, StepMark, Transport,
    },
    wire::{Frame, Limits},
};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}"#;
const OK: &str = r#""resultType":"complete""#;

/// Events of a kind such as `2025-11-25 stdio`, `2026-07-28 http` or `2026-07-28 http only` (no other era is served).
/// With `bare` nothing comes before the script.
pub(crate) fn trace(kind: &str, script: &str) -> Vec<Arc<Event>> {
    let mut words = kind.split(' ');
    let version: Revision = words.next().unwrap().parse().unwrap();
    let transport = if words.next() == Some("stdio") { Transport::Stdio } else { Transport::Http };
    let rest: Vec<&str> = words.collect();
    let mut maker = Maker::default();
    maker.push(Body::Opened(Opened {
        conversation: 1,
        era: version.era(),
        transport,
        version: version.to_string(),
        capabilities: json!({}),
        target: "test".to_owned(),
        dual: rest.contains(&"only").then_some(false),
    }));
    if !rest.contains(&"bare") {
        maker.opening(version, transport);
    }
    maker.push(Body::Step(StepMark { case: "case".to_owned(), step: "1.send".to_owned(), subject: String::new() }));
    for line in script.lines().map(str::trim_start).filter(|line| !line.is_empty()) {
        maker.line(line);
    }
    maker.events
}

#[derive(Default)]
struct Maker {
    events: Vec<Arc<Event>>,
    at: Duration,
    exchange: u32,
}

impl Maker {
    fn push(&mut self, body: Body) {
        self.at += Duration::from_millis(1);
        let event = Event { seq: self.events.len() as u64, at: self.at, body };
        self.events.push(Arc::new(event));
    }

    fn opening(&mut self, version: Revision, transport: Transport) {
        let (request, answer) = match version.era() {
            Era::Legacy => (
                r#"{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#.to_owned(),
                format!(r#"{{"jsonrpc":"2.0","id":"open","result":{{"protocolVersion":"{version}","capabilities":{{"logging":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#),
            ),
            Era::Modern => (
                r#"{"jsonrpc":"2.0","id":"open","method":"server/discover","params":{$META}}"#.to_owned(),
                r#"{"jsonrpc":"2.0","id":"open","result":{$OK,"supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"public"}}"#.to_owned(),
            ),
        };
        let session = if version.era() == Era::Legacy { " mcp-session-id=s-1" } else { "" };
        match transport {
            Transport::Stdio => {
                self.line(&format!("> {request}"));
                self.line(&format!("< {answer}"));
            }
            Transport::Http => {
                // Numbered from 1 in the script: the opening has the number 0.
                self.exchange = u32::MAX;
                self.line(&format!("post {request}"));
                self.line(&format!("0 200 json{session}"));
                self.line(&format!("0 body {answer}"));
                self.line("0 end");
            }
        }
        let session = (transport == Transport::Http && version.era() == Era::Legacy).then(|| "s-1".to_owned());
        self.push(Body::Negotiated(Negotiated { version, capabilities: json!({}), session }));
    }

    fn line(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let text = rest.replace("$META", META).replace("$OK", OK).replace("$LONG", &"long ".repeat(50));
        let text = text.replace("$DEEP", &format!("{}{}", "[".repeat(2_000), "]".repeat(2_000)));
        if let Ok(exchange) = word.parse::<u32>() {
            return self.of_exchange(exchange, &text);
        }
        if let Some(what) = word.strip_prefix('>') {
            return self.said(Direction::Out, text.into(), LineEnd::Lf, intent(what), false);
        }
        let seen = |maker: &mut Self, bytes, end| maker.said(Direction::In, bytes, end, Intent::default(), false);
        match word {
            "<" => seen(self, text.into(), LineEnd::Lf),
            "<eof" => seen(self, text.into(), LineEnd::Eof),
            "<hex" => seen(self, unhex(&text).into(), LineEnd::Lf),
            "raw" => {
                let intent = Intent { wrong: vec![String::new()] };
                self.said(Direction::Out, text.into(), LineEnd::Eof, intent, true);
            }
            "deadline" => self.push(Body::DeadlinePassed(DeadlinePassed {
                what: "answer".to_owned(),
                request: Some(text),
                after: Duration::from_secs(5),
            })),
            "stdin" => self.push(Body::StdinClosed),
            "signal" => self.push(Body::Signalled { name: "SIGTERM" }),
            "exited" => self.push(Body::Exited(Exit { code: Some(0), signal: None })),
            "limit" => self.push(Body::Limit { what: text }),
            "drained" => self.push(Body::Drained),
            "step" => {
                let (case, step) = text.split_once(' ').unwrap();
                let subject = String::new();
                self.push(Body::Step(StepMark { case: case.to_owned(), step: step.to_owned(), subject }));
            }
            "flood" => {
                let (token, times) = text.split_once(' ').unwrap();
                for progress in 0..times.parse().unwrap() {
                    self.line(&format!(
                        r#"< {{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress}}}}}"#
                    ));
                }
            }
            "wait" => self.at += Duration::from_millis(text.parse().unwrap()),
            _ if word.starts_with("post") => self.request("POST", word, &text),
            _ if word.starts_with("get") => self.request("GET", word, ""),
            _ => panic!("no such line: {line}"),
        }
    }

    fn said(&mut self, direction: Direction, bytes: Bytes, end: LineEnd, intent: Intent, raw: bool) {
        let frame = Arc::new(Frame::read(bytes, &Limits::default()));
        self.push(Body::Line(Line { direction, frame, end, cut: 0, intent, raw }));
    }

    fn request(&mut self, method: &str, word: &str, text: &str) {
        self.exchange = self.exchange.wrapping_add(1);
        let raw = word.ends_with("+raw");
        let mut headers = vec![("accept".to_owned(), Bytes::from("application/json, text/event-stream"))];
        if word.ends_with("+resume") {
            headers.push(("last-event-id".to_owned(), Bytes::from("e1")));
        }
        if word.ends_with("+long") {
            headers.push(("mcp-name".to_owned(), Bytes::from("long ".repeat(50))));
        }
        let body = Bytes::from(text.to_owned());
        let frame = (!body.is_empty() && !raw).then(|| Arc::new(Frame::read(body.clone(), &Limits::default())));
        let what = word.trim_start_matches("post").trim_start_matches("get");
        let intent = if what.starts_with('+') { Intent::default() } else { intent(what) };
        self.push(Body::HttpRequest(HttpRequest {
            exchange: self.exchange,
            method: method.to_owned(),
            target: "/mcp".to_owned(),
            headers: Headers(headers),
            body,
            frame,
            intent,
            raw,
        }));
    }

    fn of_exchange(&mut self, exchange: u32, line: &str) {
        let (word, text) = line.split_once(' ').unwrap_or((line, ""));
        let ended = |end| Body::ExchangeEnded { exchange, end };
        let body = match word {
            "body" => {
                let raw = Bytes::from(text.to_owned());
                let frame = (!raw.is_empty()).then(|| Arc::new(Frame::read(raw.clone(), &Limits::default())));
                Body::HttpBody(HttpBody { exchange, status: self.status(exchange), frame, raw, cut: 0 })
            }
            "sse" => {
                let (fields, data) = text.split_once("| ").unwrap_or(("", text));
                let field = |name: &str| {
                    let found = fields.split(' ').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
                    found.map(str::to_owned)
                };
                let data = Bytes::from(data.to_owned());
                let event = field("event");
                let carries = !data.is_empty() && event.is_none();
                let frame = carries.then(|| Arc::new(Frame::read(data.clone(), &Limits::default())));
                let (id, retry) = (field("id"), field("retry"));
                Body::Sse(SseMessage { exchange, event, id, retry, data: Some(data), frame, unterminated: false })
            }
            "defect" => Body::SseDefect { exchange, message: text.to_owned() },
            "end" => ended(ExchangeEnd::Complete),
            "closed" => ended(ExchangeEnd::ClosedByUs),
            "failed" => ended(ExchangeEnd::Failed("reset".to_owned())),
            status => {
                let mut words = text.split(' ').filter(|word| !word.is_empty());
                let media = match words.next() {
                    Some("json") => Some("application/json; charset=utf-8"),
                    Some("sse") => Some("text/event-stream"),
                    Some("none") | None => None,
                    other => other,
                };
                let mut headers: Vec<(String, Bytes)> = Vec::new();
                headers.extend(media.map(|media| ("Content-Type".to_owned(), Bytes::from(media.to_owned()))));
                headers.extend(words.map(|word| {
                    let (name, value) = word.split_once('=').unwrap();
                    // A space is written as an underline, because it ends a word.
                    (name.to_owned(), Bytes::from(value.replace('_', " ")))
                }));
                let status = status.parse().unwrap();
                Body::HttpResponse(HttpResponse { exchange, status, headers: Headers(headers) })
            }
        };
        self.push(body);
    }

    fn status(&self, exchange: u32) -> u16 {
        let of = |event: &Arc<Event>| match &event.body {
            Body::HttpResponse(response) if response.exchange == exchange => Some(response.status),
            _ => None,
        };
        self.events.iter().rev().find_map(of).unwrap()
    }
}

fn intent(what: &str) -> Intent {
    match what {
        "" => Intent::default(),
        "!" => Intent { wrong: vec![String::new()] },
        pointer => Intent { wrong: vec![pointer.trim_start_matches(':').to_owned()] },
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b' ').collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}
