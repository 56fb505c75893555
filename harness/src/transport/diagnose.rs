//! Why a target cannot be judged: [`diagnose`] reads it off a trace in which no answer came.
//!
//! Pure functions over events; what a probe has to do so that they can tell is left to the runner. To recognise a server
//! of the old HTTP+SSE transport, the trace has to hold a GET beside the refused POST.

use std::sync::Arc;

use mcp_conform_reports::model::TargetStatus;

use super::{
    answer::excerpt,
    connect::{CONNECT, RESOLVE, TLS_FAILED},
    serve::ServeError,
};
use crate::{
    process::{StartError, StartErrorKind},
    trace::{
        Body, Channel, Direction, Event, Exchange, ExchangeEnd, Exit, HttpBody, HttpRequest, HttpResponse, LineEnd,
    },
    wire::{Message, escaped},
};

/// What is wrong with a target, and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    pub status: TargetStatus,
    /// One line.
    pub message: String,
    /// The last lines of stderr, the exit status, the HTTP answer: a line each.
    pub evidence: Vec<String>,
}

/// The command could not be started.
pub fn diagnose_start(error: &StartError) -> Diagnosis {
    let way_out = match &error.kind {
        StartErrorKind::NotFound { hint: None } => "; check the spelling, install it, or give its path",
        StartErrorKind::NoSuchFolder(_) => "; check --cwd",
        StartErrorKind::IsDirectory | StartErrorKind::NotExecutable => "; name the program that runs the server",
        StartErrorKind::PermissionDenied { hint: None } => "; make it executable, or name the program that runs it",
        StartErrorKind::InterpreterNotFound => "; install the interpreter, or name another one before the file",
        _ => "",
    };
    Diagnosis { status: TargetStatus::NotFound, message: format!("{error}{way_out}"), evidence: Vec::new() }
}

/// A server started for an URL does not serve; with the events of its recorder.
pub fn diagnose_serve(error: &ServeError, events: &[Arc<Event>]) -> Diagnosis {
    let output = Output::of(events);
    match error {
        ServeError::Start(error) => diagnose_start(error),
        ServeError::Taken(_) => Diagnosis {
            status: TargetStatus::Unreachable,
            message: format!("{error}; stop it, or leave --serve out to judge it"),
            evidence: Vec::new(),
        },
        ServeError::Exited { exit, .. } => exited(exit, &output),
        ServeError::NotListening { .. } => Diagnosis {
            status: TargetStatus::Unreachable,
            message: format!("{error}; check the host and port of --url, or give it longer with --patience"),
            evidence: output.lines(),
        },
    }
}

/// Nothing when the server answered as an MCP server; then it can be judged.
pub fn diagnose(events: &[Arc<Event>]) -> Option<Diagnosis> {
    // The half of a line that a dying server left is no answer.
    let whole = |event: &&Arc<Event>| !matches!(&event.body, Body::Line(line) if line.end == LineEnd::Eof);
    let answers = || {
        events
            .iter()
            .filter(whole)
            .filter_map(|event| event.message())
            .filter(|message| message.direction == Direction::In)
    };
    if answers().any(|message| matches!(message.frame.likely().method(), Some("initialize" | "server/discover"))) {
        let message = "what we send comes straight back; is it a server, or a program that repeats its input?";
        let evidence = Output::of(events).lines();
        return Some(Diagnosis { status: TargetStatus::NotMcp, message: message.to_owned(), evidence });
    }
    let speaks = |message: &Message| !matches!(message, Message::NotAMessage(_));
    let refused = |channel: Channel| matches!(channel, Channel::Body { status, .. } if status >= 400);
    if answers().any(|message| speaks(message.frame.likely()) && !refused(message.channel)) {
        return None;
    }
    if events.iter().any(|event| matches!(event.body, Body::HttpRequest(_))) {
        let exchanges = Exchanges::of(events);
        if let Some(diagnosis) = exchanges.needs_auth() {
            return Some(diagnosis);
        }
        // A JSON-RPC error under an error status: an MCP server that refuses, which is for the cases to judge.
        if answers().any(|message| speaks(message.frame.likely())) {
            return None;
        }
        return exchanges.diagnose();
    }
    events.iter().any(|event| matches!(event.body, Body::Started { .. } | Body::Line(_))).then(|| stdio(events))
}

fn stdio(events: &[Arc<Event>]) -> Diagnosis {
    let output = Output::of(events);
    // What came after our patience had ended, or after a signal of ours, was our doing.
    let first = events.iter().find_map(|event| match &event.body {
        Body::Exited(exit) => Some(Some(exit)),
        Body::DeadlinePassed(_) | Body::Signalled { .. } => Some(None),
        _ => None,
    });
    if closed_stdout(events) {
        let message = "the server closed its standard output, on which answers are due, before it gave one, and did not end \
                       by itself; look for what closes or replaces stdout";
        return Diagnosis { status: TargetStatus::NoAnswer, message: message.to_owned(), evidence: output.lines() };
    }
    if let Some(Some(exit)) = first {
        return exited(exit, &output);
    }
    let limit = events.iter().find_map(|event| match &event.body {
        Body::Limit { what } if what.starts_with("stdout") => Some(what.as_str()),
        _ => None,
    });
    if let Some(what) = limit {
        let message = format!("the server floods its output with what is no message ({what})");
        return Diagnosis { status: TargetStatus::NotMcp, message, evidence: output.lines() };
    }
    if let Some(address) = output.http_address() {
        let message = format!(
            "the server does not answer on stdio and seems to serve HTTP; judge it with --serve COMMAND --url {address}"
        );
        return Diagnosis { status: TargetStatus::NotMcp, message, evidence: output.lines() };
    }
    if let Some(line) = output.stdout.first() {
        let message = format!(
            "the server prints what is no MCP message and does not answer, beginning with {}; is it an MCP server on stdio?",
            excerpt(line.as_bytes())
        );
        return Diagnosis { status: TargetStatus::NotMcp, message, evidence: output.lines() };
    }
    let waited = events.iter().find_map(|event| match &event.body {
        Body::DeadlinePassed(passed) => Some(format!(" within {:.1} s", passed.after.as_secs_f64())),
        _ => None,
    });
    let message = format!(
        "the server started but gave no answer{}; if it only needs longer, raise --start-timeout",
        waited.unwrap_or_default()
    );
    Diagnosis { status: TargetStatus::NoAnswer, message, evidence: output.lines() }
}

/// Stdout came to its end while the process went on, until we closed its stdin or sent a signal.
fn closed_stdout(events: &[Arc<Event>]) -> bool {
    let mut closed = false;
    for event in events {
        match &event.body {
            Body::StdoutEnded => closed = true,
            Body::StdinClosed | Body::Signalled { .. } => return closed,
            Body::Exited(_) => return false,
            _ => {}
        }
    }
    closed
}

fn exited(exit: &Exit, output: &Output) -> Diagnosis {
    let mut evidence = vec![exit.to_string()];
    evidence.extend(output.lines());
    let how = exit;
    if let Some(line) = output.wish() {
        let message = format!(
            "the server ended before it answered ({how}) and seems to want configuration: {}; give arguments with its \
             command, or variables with --env NAME=VALUE",
            excerpt(line.as_bytes())
        );
        return Diagnosis { status: TargetStatus::NeedsConfiguration, message, evidence };
    }
    let last = output.stderr.iter().chain(&output.stdout).next_back();
    let said = last.map(|line| format!("; its last words: {}", excerpt(line.as_bytes()))).unwrap_or_default();
    let message = format!("the server ended before it answered ({how}){said}; run the command by hand to see why");
    Diagnosis { status: TargetStatus::Exited, message, evidence }
}

/// What a server printed besides messages.
struct Output {
    stderr: Vec<String>,
    stdout: Vec<String>,
}

impl Output {
    fn of(events: &[Arc<Event>]) -> Self {
        /// More is no use to a reader, and a flood need not be searched.
        const LINES: usize = 200;
        let mut stderr = Vec::new();
        let mut stdout = Vec::new();
        for event in events {
            match &event.body {
                Body::Stderr(bytes) => stderr.extend_from_slice(bytes),
                Body::Line(line) if line.direction == Direction::In && stdout.len() < LINES => {
                    let text = readable(&escaped(line.frame.raw.get(..1000).unwrap_or(&line.frame.raw)));
                    stdout.extend(Some(text).filter(|text| !text.is_empty()));
                }
                _ => {}
            }
        }
        let text = escaped(&stderr);
        let lines: Vec<String> = text.lines().map(readable).filter(|line| !line.is_empty()).collect();
        let from = lines.len().saturating_sub(LINES);
        Self { stderr: lines.get(from..).unwrap_or_default().to_vec(), stdout }
    }

    /// The evidence: the last lines of stderr, and the first of stdout.
    fn lines(&self) -> Vec<String> {
        const STDERR: usize = 20;
        const STDOUT: usize = 3;
        let from = self.stderr.len().saturating_sub(STDERR);
        let stderr = self.stderr.get(from..).unwrap_or_default().iter().map(|line| format!("stderr: {line}"));
        let stdout = self.stdout.iter().take(STDOUT).map(|line| format!("stdout: {line}"));
        stdout.chain(stderr).collect()
    }

    /// A line that asks for arguments or settings.
    fn wish(&self) -> Option<&String> {
        const ANYWHERE: [&str; 19] = [
            "environment variable",
            "env var",
            "api key",
            "api_key",
            "apikey",
            "access token",
            "is required",
            "are required",
            "required argument",
            "missing required",
            "missing argument",
            "missing configuration",
            "is not set",
            "must be set",
            "must be provided",
            "must provide",
            "must specify",
            "please provide",
            "please set",
        ];
        self.stderr.iter().chain(&self.stdout).find(|line| {
            let line = line.to_lowercase();
            let line = line.trim_start();
            line.starts_with("usage:") || ANYWHERE.iter().any(|phrase| line.contains(phrase))
        })
    }

    /// An URL that the server says that it listens at.
    fn http_address(&self) -> Option<String> {
        let told = |line: &&String| {
            ["listening", "running", "serving", "started"].iter().any(|w| line.to_lowercase().contains(w))
        };
        let line = self.stderr.iter().chain(&self.stdout).filter(told).find(|line| line.contains("http"))?;
        let at = line.find("http://").or_else(|| line.find("https://"))?;
        let url = line.get(at..)?.split_whitespace().next()?.trim_end_matches(['.', ',', ')', '\'', '"']);
        Some(url.to_owned())
    }
}

/// Without escape sequences and control characters, and not endless.
fn readable(line: &str) -> String {
    const SHOWN: usize = 400;
    let mut text = String::new();
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            // A control sequence ends with a letter or another final byte; anything else is a short escape.
            if chars.next() == Some('[') {
                for c in chars.by_ref() {
                    if matches!(c, '@'..='~') {
                        break;
                    }
                }
            }
        } else if c == '\t' {
            text.push(' ');
        } else if !c.is_control() {
            text.push(c);
        }
        if text.len() >= SHOWN {
            text.push('…');
            break;
        }
    }
    text.trim_end().to_owned()
}

/// What came back for the requests.
struct Exchanges<'a> {
    requests: Vec<&'a HttpRequest>,
    responses: Vec<&'a HttpResponse>,
    bodies: Vec<&'a HttpBody>,
    ends: Vec<(Exchange, &'a ExchangeEnd)>,
    /// Exchanges whose stream sent an `endpoint` event.
    old: Vec<Exchange>,
    /// Exchanges with an event stream that sent anything.
    streams: Vec<Exchange>,
}

impl<'a> Exchanges<'a> {
    fn of(events: &'a [Arc<Event>]) -> Self {
        let mut all = Self {
            requests: Vec::new(),
            responses: Vec::new(),
            bodies: Vec::new(),
            ends: Vec::new(),
            old: Vec::new(),
            streams: Vec::new(),
        };
        for event in events {
            match &event.body {
                Body::HttpRequest(request) => all.requests.push(request),
                Body::HttpResponse(response) => all.responses.push(response),
                Body::HttpBody(body) => all.bodies.push(body),
                Body::ExchangeEnded { exchange, end } => all.ends.push((*exchange, end)),
                Body::Sse(sse) => {
                    all.streams.push(sse.exchange);
                    if sse.event.as_deref() == Some("endpoint") {
                        all.old.push(sse.exchange);
                    }
                }
                _ => {}
            }
        }
        all
    }

    fn needs_auth(&self) -> Option<Diagnosis> {
        let refused = self.responses.iter().find(|response| matches!(response.status, 401 | 403))?;
        let challenge = refused.headers.get("www-authenticate");
        let (status, evidence) = (refused.status, self.evidence(refused));
        let message = if status == 401 || challenge.is_some() {
            format!(
                "the server wants authorization (HTTP {status}); give a credential with --header 'Authorization=Bearer …'"
            )
        } else {
            format!(
                "the server refuses us (HTTP {status}); give a credential with --header NAME=VALUE, or check which hosts \
                 and origins it allows"
            )
        };
        Some(Diagnosis { status: TargetStatus::NeedsAuth, message, evidence })
    }

    fn diagnose(&self) -> Option<Diagnosis> {
        let posts: Vec<&&HttpResponse> =
            self.responses.iter().filter(|response| self.method(response.exchange) == Some("POST")).collect();
        let any = posts.first().copied().or_else(|| self.responses.first());
        if let Some(stream) = self.old.first()
            && !posts.iter().any(|post| (200..300).contains(&post.status))
        {
            let mut evidence = any.map(|response| self.evidence(response)).unwrap_or_default();
            evidence.push(format!("GET (exchange {stream}): an event stream that begins with an `endpoint` event"));
            let message = "the server speaks only the HTTP+SSE transport of 2024-11-05, which Streamable HTTP replaced; \
                           if it serves both, give the URL of the newer one (often /mcp in place of /sse)";
            return Some(Diagnosis { status: TargetStatus::OldTransport, message: message.to_owned(), evidence });
        }
        let Some(response) = any else { return self.without_answer() };
        let evidence = self.evidence(response);
        let status = response.status;
        let diagnosis = |status, message: String| Some(Diagnosis { status, message, evidence });
        let html = response.headers.media_type().is_some_and(|media_type| media_type.contains("html"))
            || self
                .bodies
                .iter()
                .any(|b| b.exchange == response.exchange && b.raw.trim_ascii_start().starts_with(b"<"));
        match status {
            300..400 => {
                let location = response.headers.get("location").map(readable);
                let way_out = location.map(|to| format!(" to {to}; if that is the server, give it as --url"));
                let message = format!("the endpoint redirects (HTTP {status}){}", way_out.unwrap_or_default());
                diagnosis(TargetStatus::Redirects, message)
            }
            _ if html && status < 500 && status != 429 => {
                let message = format!(
                    "the URL serves a web page (HTTP {status}), no MCP endpoint; check the path of --url (often /mcp)"
                );
                diagnosis(TargetStatus::NotMcp, message)
            }
            404 | 405 => {
                let message = format!(
                    "no MCP endpoint at this path: POST is answered with HTTP {status}; check the path of --url (often /mcp)"
                );
                diagnosis(TargetStatus::NotMcp, message)
            }
            _ if self.streams.contains(&response.exchange)
                || self.bodies.iter().any(|b| b.exchange == response.exchange) =>
            {
                let message =
                    format!("the URL answers (HTTP {status}) but with no MCP message; check the path of --url");
                diagnosis(TargetStatus::NotMcp, message)
            }
            _ => {
                let message = format!(
                    "the server began to answer (HTTP {status}) but no message came; if it only needs longer, raise --patience"
                );
                diagnosis(TargetStatus::NoAnswer, message)
            }
        }
    }

    /// Not even a status came.
    fn without_answer(&self) -> Option<Diagnosis> {
        let (_, end) = self.ends.first()?;
        let (status, message) = match end {
            ExchangeEnd::Failed(why) if why.starts_with(CONNECT) => (
                TargetStatus::Unreachable,
                format!("{why}; is the server running? --serve COMMAND starts it, and the port stands in --url"),
            ),
            ExchangeEnd::Failed(why) if why.starts_with(RESOLVE) => {
                (TargetStatus::Unreachable, format!("{why}; check the host of --url"))
            }
            ExchangeEnd::Failed(why) if why.starts_with(TLS_FAILED) => (
                TargetStatus::Unreachable,
                format!(
                    "{why}; --ca-file FILE trusts a certificate, --insecure any, and http:// in --url goes without"
                ),
            ),
            ExchangeEnd::Failed(why) => {
                (TargetStatus::NotMcp, format!("{why}; is it an HTTP server, and does it want https:// in --url?"))
            }
            ExchangeEnd::ClosedByUs | ExchangeEnd::Limit(_) | ExchangeEnd::Complete => (
                TargetStatus::NoAnswer,
                "the server took the connection but gave no answer; if it only needs longer, raise --patience"
                    .to_owned(),
            ),
        };
        Some(Diagnosis { status, message, evidence: Vec::new() })
    }

    fn method(&self, exchange: Exchange) -> Option<&str> {
        self.requests.iter().find(|request| request.exchange == exchange).map(|request| request.method.as_str())
    }

    fn evidence(&self, response: &HttpResponse) -> Vec<String> {
        const SHOWN: [&str; 5] = ["content-type", "location", "server", "allow", "www-authenticate"];
        const LINES: usize = 5;
        let mut lines = vec![format!("{} HTTP {}", self.method(response.exchange).unwrap_or("?"), response.status)];
        for name in SHOWN {
            let values = response.headers.all(name).map(|value| readable(&escaped(value)));
            lines.extend(values.map(|value| format!("{name}: {value}")));
        }
        let body = self.bodies.iter().find(|body| body.exchange == response.exchange);
        if let Some(body) = body {
            let text = escaped(body.raw.get(..4000).unwrap_or(&body.raw));
            lines.extend(text.lines().map(readable).filter(|line| !line.is_empty()).take(LINES));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;

    use super::*;
    use crate::{
        trace::{DEFAULT_BUDGET, DeadlinePassed, Headers, Intent, Recorder, Secrets, SseMessage},
        wire::Limits,
    };

    const ANSWER: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    const REFUSAL: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"no"}}"#;

    fn traced(push: impl FnOnce(&Recorder)) -> Option<Diagnosis> {
        let recorder = Recorder::new(Arc::new(Secrets::default()), Limits::default(), DEFAULT_BUDGET);
        push(&recorder);
        diagnose(&recorder.events(0))
    }

    fn process(stdout: &str, stderr: &str, rest: &[Body]) -> Option<Diagnosis> {
        traced(|recorder| {
            recorder.push(Body::Started { pid: 1 });
            for line in stdout.lines() {
                let raw = Bytes::copy_from_slice(line.as_bytes());
                recorder.line(Direction::In, raw, LineEnd::Lf, 0, Intent::default());
            }
            recorder.stderr(Bytes::copy_from_slice(stderr.as_bytes()));
            for body in rest {
                recorder.push(body.clone());
            }
        })
    }

    fn exit(code: i32) -> Body {
        Body::Exited(Exit { code: Some(code), signal: None })
    }

    fn deadline() -> Body {
        let what = "answer to server/discover".to_owned();
        Body::DeadlinePassed(DeadlinePassed { what, request: None, after: Duration::from_secs(5) })
    }

    /// One POST with its answer.
    fn post(recorder: &Recorder, exchange: Exchange, status: u16, headers: &[(&str, &str)], body: &str) {
        request(recorder, exchange, "POST");
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), Bytes::copy_from_slice(value.as_bytes()));
        recorder.http_response(exchange, status, Headers(headers.iter().map(owned).collect()));
        recorder.http_body(exchange, status, Bytes::copy_from_slice(body.as_bytes()), 0);
        recorder.push(Body::ExchangeEnded { exchange, end: ExchangeEnd::Complete });
    }

    fn request(recorder: &Recorder, exchange: Exchange, method: &str) {
        recorder.http_request(exchange, method, "/mcp", Headers::default(), Bytes::new(), Intent::default(), false);
    }

    fn answered(status: u16, headers: &[(&str, &str)], body: &str) -> Option<Diagnosis> {
        traced(|recorder| post(recorder, 1, status, headers, body))
    }

    fn failed(end: ExchangeEnd) -> Option<Diagnosis> {
        traced(|recorder| {
            request(recorder, 1, "POST");
            recorder.push(Body::ExchangeEnded { exchange: 1, end });
        })
    }

    #[track_caller]
    fn assert_is(diagnosis: Option<Diagnosis>, status: TargetStatus, says: &[&str]) {
        let diagnosis = diagnosis.expect("a diagnosis");
        assert_eq!(diagnosis.status, status, "{}", diagnosis.message);
        assert_eq!(diagnosis.message.lines().count(), 1);
        for text in says {
            assert!(diagnosis.message.contains(text), "{text}: {}", diagnosis.message);
        }
    }

    #[test]
    fn a_server_that_answers_is_none_of_these() {
        assert_eq!(process(ANSWER, "", &[]), None);
        assert_eq!(process(&format!("banner\n{ANSWER}"), "api key is not set", &[exit(1)]), None);
        assert_eq!(answered(200, &[], ANSWER), None);
        assert_eq!(answered(400, &[], REFUSAL), None);
        assert_eq!(traced(|_| {}), None);
    }

    #[test]
    fn processes() {
        use TargetStatus::{Exited, NeedsConfiguration, NoAnswer, NotMcp};
        let config = |stderr: &str| process("", stderr, &[exit(1)]);
        assert_is(
            process("", "Traceback\nModuleNotFoundError: x\n", &[exit(1)]),
            Exited,
            &["status 1", "ModuleNotFoundError"],
        );
        assert_is(process("hello", "", &[exit(0), deadline()]), Exited, &["hello"]);
        for stderr in [
            "Usage: server [options] <directory>\n",
            "boot\nError: GITHUB_TOKEN environment variable is required",
            "\u{1b}[31merror: the following arguments are required: dir\u{1b}[0m",
            "missing API key",
        ] {
            assert_is(config(stderr), NeedsConfiguration, &["--env", "status 1"]);
        }
        assert_is(process("", "starting", &[deadline(), exit(0)]), NoAnswer, &["within 5.0 s", "--start-timeout"]);
        // A process that ends closes its stdout, too; one that goes on has to be told apart.
        assert_is(process("", "", &[Body::StdoutEnded, exit(3), Body::StdinClosed]), Exited, &["status 3"]);
        let closed = process("", "", &[Body::StdoutEnded, Body::StdinClosed, exit(0)]);
        assert_is(closed, NoAnswer, &["closed its standard output"]);
        assert_is(process("Welcome!\n> ", "", &[deadline()]), NotMcp, &["`Welcome!`"]);
        let serving = process("", "Server listening on http://localhost:3000/mcp.", &[deadline()]);
        assert_is(serving, NotMcp, &["--serve", "--url http://localhost:3000/mcp"]);
        let flood = [
            Body::Limit { what: "stdout: a line of more than 9 bytes".to_owned() },
            Body::Signalled { name: "SIGKILL" },
        ];
        assert_is(process("", "", &flood), NotMcp, &["floods"]);
    }

    #[test]
    fn evidence_is_short_and_readable() {
        let stderr: String = (0..50).map(|at| format!("\u{1b}[1mline\u{1b}[0m {at}\u{7}\n")).collect();
        let evidence = process("out", &stderr, &[exit(7)]).unwrap().evidence;
        assert_eq!(evidence.len(), 22);
        assert_eq!(evidence[..3], ["exit status 7", "stdout: out", "stderr: line 30"]);
        assert_eq!(evidence[21], "stderr: line 49");
    }

    #[test]
    fn urls() {
        use TargetStatus::{NeedsAuth, NoAnswer, NotMcp, Redirects, Unreachable};
        let html = [("Content-Type", "text/html; charset=utf-8")];
        let challenge = [("WWW-Authenticate", "Bearer resource_metadata=\"x\"")];
        assert_is(answered(401, &challenge, ""), NeedsAuth, &["401", "--header"]);
        assert_is(answered(401, &[], REFUSAL), NeedsAuth, &["authorization"]);
        assert_is(answered(403, &[], "Invalid Host"), NeedsAuth, &["403", "hosts"]);
        assert_is(answered(307, &[("location", "http://b.test/mcp")], ""), Redirects, &["to http://b.test/mcp"]);
        assert_is(answered(200, &html, "<html>"), NotMcp, &["web page"]);
        assert_is(answered(404, &html, "Cannot POST /"), NotMcp, &["web page", "/mcp"]);
        assert_is(answered(200, &[], "<!doctype html>"), NotMcp, &["web page"]);
        assert_is(answered(405, &[], ""), NotMcp, &["405"]);
        assert_is(answered(200, &[], "hello"), NotMcp, &["no MCP message"]);
        assert_is(answered(500, &[], "oops"), NotMcp, &["500"]);
        let refused = ExchangeEnd::Failed(format!("{CONNECT} 127.0.0.1:9: connection refused"));
        assert_is(failed(refused), Unreachable, &["refused", "--serve"]);
        assert_is(failed(ExchangeEnd::Failed(format!("{RESOLVE} `x`: unknown"))), Unreachable, &["host"]);
        assert_is(failed(ExchangeEnd::Failed(format!("{TLS_FAILED}: unknown issuer"))), Unreachable, &["--ca-file"]);
        assert_is(failed(ExchangeEnd::Failed("the answer is no HTTP/1".to_owned())), NotMcp, &["https://"]);
        assert_is(failed(ExchangeEnd::ClosedByUs), NoAnswer, &["--patience"]);
    }

    #[test]
    fn the_old_transport() {
        let diagnosis = traced(|recorder| {
            post(recorder, 1, 404, &[], "Not Found");
            request(recorder, 2, "GET");
            let headers = Headers(vec![("content-type".to_owned(), Bytes::from_static(b"text/event-stream"))]);
            recorder.http_response(2, 200, headers);
            recorder.sse(SseMessage {
                exchange: 2,
                event: Some("endpoint".to_owned()),
                id: None,
                retry: None,
                data: Some(Bytes::from_static(b"/messages?sessionId=1")),
                frame: None,
                unterminated: false,
            });
        });
        assert_is(diagnosis, TargetStatus::OldTransport, &["2024-11-05", "/mcp"]);
    }

    #[test]
    fn commands_that_do_not_start() {
        let error = |kind| StartError { program: "server".to_owned(), kind };
        let found = diagnose_start(&error(StartErrorKind::NotFound { hint: Some("./server".to_owned()) }));
        assert_eq!(found.status, TargetStatus::NotFound);
        assert_eq!(found.message, "`server` was not found; did you mean `./server`?");
        assert!(diagnose_start(&error(StartErrorKind::NotFound { hint: None })).message.contains("spelling"));
    }
}
