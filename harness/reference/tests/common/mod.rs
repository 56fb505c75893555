//! Clients for the tests: [`Pipe`] over an in-memory pair of pipes and [`Web`] over in-memory connections. They read
//! and write plain JSON, so that nothing of the server's own code judges it.

#![expect(dead_code, reason = "each test binary uses the part that it needs")]

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use mcp_reference_server::{Config, ExitStatus, HttpServer, serve_stdio};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex};
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub(crate) const MODERN: &str = "2026-07-28";
const PATIENCE: Duration = Duration::from_secs(20);

/// The metadata of a modern request whose client can do nothing special.
pub(crate) fn meta() -> Value {
    meta_with(json!({}))
}

pub(crate) fn meta_with(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    })
}

/// A client at the other end of a pipe.
pub(crate) struct Pipe {
    input: Option<DuplexStream>,
    lines: Lines<BufReader<DuplexStream>>,
    pub(crate) process: JoinHandle<ExitStatus>,
}

impl Pipe {
    pub(crate) fn start(config: Config) -> Self {
        let (input, stdin) = duplex(64 * 1024);
        let (stdout, output) = duplex(64 * 1024);
        let process = tokio::spawn(serve_stdio(config, stdin, stdout));
        Self { input: Some(input), lines: BufReader::new(output).lines(), process }
    }

    pub(crate) async fn text(&mut self, text: &str) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(text.as_bytes()).await.expect("the server reads");
        input.write_all(b"\n").await.expect("the server reads");
    }

    /// Writes, if the server still reads.
    pub(crate) async fn try_text(&mut self, text: &str) {
        if let Some(input) = &mut self.input {
            // A server that has died is seen by what it no longer says.
            let _ = input.write_all(format!("{text}\n").as_bytes()).await;
        }
    }

    /// The next line, whatever bytes are in it, unless nothing comes for a while.
    pub(crate) async fn try_line(&mut self, quiet: Duration) -> Option<String> {
        let mut line = Vec::new();
        let reader = self.lines.get_mut();
        match timeout(quiet, reader.read_until(b'\n', &mut line)).await {
            Ok(Ok(0) | Err(_)) => None,
            Ok(Ok(_)) => Some(String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned()),
            Err(_) if line.is_empty() => None,
            Err(_) => Some(format!("unfinished {}", String::from_utf8_lossy(&line))),
        }
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.text(&message.to_string()).await;
    }

    pub(crate) async fn line(&mut self) -> String {
        let line = timeout(PATIENCE, self.lines.next_line()).await.expect("the server says something");
        line.expect("the output is text").expect("the output is open")
    }

    pub(crate) async fn next(&mut self) -> Value {
        serde_json::from_str(&self.line().await).expect("a line is JSON")
    }

    /// Whether nothing more comes within a while.
    pub(crate) async fn silent(&mut self) -> bool {
        timeout(Duration::from_secs(2), self.lines.next_line()).await.is_err()
    }

    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = format!("{method} {params}");
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        loop {
            let message = self.next().await;
            if message.get("id") == Some(&json!(id)) {
                return message;
            }
        }
    }

    /// A modern request with the given capabilities.
    pub(crate) async fn modern(&mut self, method: &str, mut params: Value, capabilities: Value) -> Value {
        params["_meta"] = meta_with(capabilities);
        self.request(method, params).await
    }

    pub(crate) async fn initialize(&mut self, version: &str, capabilities: Value) -> Value {
        let answer = self.request("initialize", initialize_params(version, capabilities)).await;
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        answer
    }

    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    pub(crate) async fn exit(mut self) -> i32 {
        self.close();
        timeout(PATIENCE, self.process).await.expect("the server ends").expect("the server does not panic").code
    }
}

pub(crate) fn initialize_params(version: &str, capabilities: Value) -> Value {
    json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"}})
}

/// A client that opens a connection for every request.
pub(crate) struct Web {
    pub(crate) server: HttpServer,
}

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: hyper::HeaderMap,
    body: Incoming,
    kept: Vec<u8>,
}

impl Web {
    pub(crate) fn start(config: Config) -> Self {
        Self { server: HttpServer::new(config) }
    }

    pub(crate) async fn http(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let (client, server) = duplex(64 * 1024);
        let serving = self.server.clone();
        tokio::spawn(async move { serving.serve_connection(server).await });
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(client)).await.expect("the connection opens");
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri("/mcp").header("host", "127.0.0.1");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body.to_owned()))).expect("the request is sound");
        let response: Response<Incoming> =
            timeout(PATIENCE, sender.send_request(request)).await.expect("the server answers").expect("an answer");
        // The connection has to stay open for as long as the stream is read.
        tokio::spawn(async move {
            let _sender = sender;
            std::future::pending::<()>().await;
        });
        let (head, body) = response.into_parts();
        Answer { status: head.status.as_u16(), headers: head.headers, body, kept: Vec::new() }
    }

    /// Sends a request and gives the answer, if one comes within a while.
    pub(crate) async fn try_http(
        &self,
        method: &str,
        headers: &[(&str, &str)],
        body: &str,
        quiet: Duration,
    ) -> Option<Answer> {
        let (client, server) = duplex(64 * 1024);
        let serving = self.server.clone();
        tokio::spawn(async move { serving.serve_connection(server).await });
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(client)).await.ok()?;
        let connection = tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri("/mcp").header("host", "127.0.0.1");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::from(body.to_owned()))).expect("the request is sound");
        let response = timeout(quiet, sender.send_request(request)).await;
        let Ok(Ok(response)) = response else {
            connection.abort();
            return None;
        };
        let (head, body) = response.into_parts();
        Some(Answer { status: head.status.as_u16(), headers: head.headers, body, kept: Vec::new() })
    }

    pub(crate) async fn post(&self, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut all = vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        all.retain(|(name, _)| !headers.iter().any(|(given, _)| given == name));
        all.extend(headers);
        self.http("POST", &all, body).await
    }

    /// A modern request with the headers that go with it.
    pub(crate) async fn modern(&self, id: Value, method: &str, mut params: Value, capabilities: Value) -> Answer {
        params["_meta"] = meta_with(capabilities);
        let name = match method {
            "tools/call" | "prompts/get" => params["name"].as_str().map(str::to_owned),
            "resources/read" => params["uri"].as_str().map(str::to_owned),
            _ => None,
        };
        let mut headers = vec![("MCP-Protocol-Version", MODERN), ("Mcp-Method", method)];
        if let Some(name) = &name {
            headers.push(("Mcp-Name", name));
        }
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        self.post(&headers, &body).await
    }

    /// A session in operation.
    pub(crate) async fn session(&self, version: &str, capabilities: Value) -> String {
        let params = initialize_params(version, capabilities);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string();
        let answer = self.post(&[], &body).await;
        assert_eq!(answer.status, 200);
        let session = answer.headers["mcp-session-id"].to_str().expect("the id is text").to_owned();
        let taken = self
            .post(&[("Mcp-Session-Id", &session)], r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        assert_eq!(taken.status, 202);
        session
    }

    pub(crate) async fn in_session(&self, session: &str, message: Value) -> Answer {
        let headers = [("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-11-25")];
        self.post(&headers, &message.to_string()).await
    }

    pub(crate) async fn get(&self, session: &str, last: Option<&str>) -> Answer {
        let mut headers = vec![("accept", "text/event-stream"), ("Mcp-Session-Id", session)];
        headers.extend(last.map(|last| ("Last-Event-ID", last)));
        self.http("GET", &headers, "").await
    }
}

#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) id: Option<String>,
    pub(crate) data: String,
    pub(crate) retry: Option<String>,
}

impl Event {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).expect("the data is JSON")
    }
}

impl Answer {
    pub(crate) fn kind(&self) -> &str {
        self.headers.get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// What comes next as text, and whether the body ended or just fell silent.
    pub(crate) async fn chunk(&mut self, quiet: Duration) -> (String, Option<bool>) {
        match timeout(quiet, self.body.frame()).await {
            Err(_) => (String::new(), Some(false)),
            Ok(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) => (String::from_utf8_lossy(&data).into_owned(), None),
                Err(_) => (String::new(), None),
            },
            Ok(_) => (String::new(), Some(true)),
        }
    }

    pub(crate) async fn bytes(self) -> Bytes {
        self.body.collect().await.expect("the body is whole").to_bytes()
    }

    pub(crate) async fn json(self) -> Value {
        assert_eq!(self.kind(), "application/json");
        serde_json::from_slice(&self.bytes().await).expect("the body is JSON")
    }

    /// The next event, or nothing if the stream has ended.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        assert_eq!(self.kind(), "text/event-stream");
        loop {
            if let Some(at) = self.kept.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.kept.drain(..at + 2).collect();
                let block = String::from_utf8(block).expect("the stream is text");
                let field = |name: &str| {
                    block.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim().to_owned())
                };
                return Some(Event { id: field("id:"), data: field("data:")?, retry: field("retry:") });
            }
            match timeout(PATIENCE, self.body.frame()).await.expect("the stream goes on or ends") {
                Some(frame) => self.kept.extend(frame.expect("a frame").into_data().expect("data")),
                None => return None,
            }
        }
    }

    pub(crate) async fn message(&mut self) -> Value {
        loop {
            let event = self.event().await.expect("a message comes");
            if !event.data.is_empty() {
                return event.json();
            }
        }
    }
}
