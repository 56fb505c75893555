//! A client that sends without waiting and keeps all that comes: [`Talk`] over a pipe or over HTTP, in either era.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_reference_server::{Config, Era, Transport};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::common::{MODERN, Web, initialize_params, meta_with};

/// Longer than every step of a witness takes, shorter than a call that is held open.
const STEP: Duration = Duration::from_millis(200);
/// Longer than every call that is held open.
pub(crate) const PATIENCE: Duration = Duration::from_secs(100);

/// Something that came from the server.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) at: Instant,
    pub(crate) what: What,
    /// The session that it came to.
    pub(crate) of: usize,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    /// A message, and the id of the event that it came in.
    Message(Value, Option<String>),
    /// A line or a body that is no message.
    Noise(String),
    Status(u16),
}

/// A request of ours.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) at: Instant,
    pub(crate) id: Value,
    pub(crate) method: String,
    pub(crate) of: usize,
    pub(crate) cancelled: bool,
}

#[derive(Clone, Default)]
pub(crate) struct Record(Arc<Mutex<Vec<Seen>>>);

impl Record {
    fn push(&self, of: usize, what: What) {
        self.0.lock().expect("nobody panics with the lock").push(Seen { at: Instant::now(), what, of });
    }

    pub(crate) fn all(&self) -> Vec<Seen> {
        self.0.lock().expect("nobody panics with the lock").clone()
    }

    fn text(&self, of: usize, text: &str, event: Option<&str>) {
        match serde_json::from_str(text) {
            Ok(message @ Value::Object(_)) => self.push(of, What::Message(message, event.map(str::to_owned))),
            _ => self.push(of, What::Noise(text.to_owned())),
        }
    }
}

pub(crate) enum Link {
    Pipe { input: Option<DuplexStream>, process: JoinHandle<i32> },
    Web { web: Arc<Web>, sessions: Vec<String> },
}

pub(crate) struct Talk {
    pub(crate) era: Era,
    pub(crate) link: Link,
    pub(crate) record: Record,
    pub(crate) asked: Vec<Asked>,
    pub(crate) noticed: Vec<mcp_reference_server::Shows>,
    /// Texts that are no single message, which may be answered without an id.
    pub(crate) odd: usize,
    sent: usize,
    session: usize,
}

fn capabilities() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "roots": {}, "sampling": {}})
}

impl Talk {
    pub(crate) async fn open(config: Config, era: Era, transport: Transport) -> Self {
        let record = Record::default();
        let link = match transport {
            Transport::Http => Link::Web { web: Arc::new(Web::start(config)), sessions: Vec::new() },
            Transport::Stdio => {
                let (input, stdin) = duplex(1 << 20);
                let (stdout, output) = duplex(1 << 20);
                let process =
                    tokio::spawn(async move { mcp_reference_server::serve_stdio(config, stdin, stdout).await.code });
                let kept = record.clone();
                tokio::spawn(async move {
                    let mut lines = BufReader::new(output).lines();
                    while let Ok(Some(line)) = lines.next_line().await {
                        kept.text(0, &line, None);
                    }
                });
                Link::Pipe { input: Some(input), process }
            }
        };
        let mut talk = Self { era, link, record, asked: Vec::new(), noticed: Vec::new(), odd: 0, sent: 0, session: 0 };
        if era == Era::Legacy {
            talk.initialize().await;
        }
        // The opening does not count.
        talk.record.0.lock().expect("nobody panics with the lock").clear();
        talk.asked.clear();
        talk.sent = 0;
        talk
    }

    async fn initialize(&mut self) {
        let params = initialize_params("2025-11-25", capabilities());
        match &mut self.link {
            Link::Web { web, sessions } => sessions.push(web.session("2025-11-25", capabilities()).await),
            Link::Pipe { .. } => {
                self.send(json!("open"), "initialize", params).await;
                self.notify("notifications/initialized", json!({})).await;
            }
        }
    }

    /// Goes on as another client of the same HTTP server.
    pub(crate) async fn be_another(&mut self) {
        let Link::Web { sessions, .. } = &self.link else { panic!("a process has one client") };
        if self.era == Era::Legacy {
            self.session = sessions.len();
            self.initialize().await;
        } else {
            self.session += 1;
        }
    }

    /// How many messages were sent since the opening.
    pub(crate) fn sent(&self) -> usize {
        self.sent
    }

    /// Sends a request in the talk's era, and lets a moment pass.
    pub(crate) async fn send(&mut self, id: Value, method: &str, params: Value) {
        let era = self.era;
        self.send_in(era, id, method, params).await;
    }

    pub(crate) async fn send_in(&mut self, era: Era, id: Value, method: &str, mut params: Value) {
        self.asked.push(Asked {
            at: Instant::now(),
            id: id.clone(),
            method: method.to_owned(),
            of: self.session,
            cancelled: false,
        });
        if era == Era::Modern {
            let mut meta = meta_with(capabilities());
            for (name, value) in params["_meta"].as_object().into_iter().flatten() {
                meta[name] = value.clone();
            }
            params["_meta"] = meta;
        }
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.put(era, message.to_string(), &[]).await;
    }

    /// Sends a request and gives its answer, or nothing.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = json!(format!("request {}", self.sent + 1));
        self.send(id.clone(), method, params).await;
        self.answer_to(&id)
    }

    pub(crate) fn messages(&self) -> Vec<Value> {
        let messages = self.record.all().into_iter().filter_map(|seen| match seen.what {
            What::Message(message, _) => Some(message),
            _ => None,
        });
        messages.collect()
    }

    pub(crate) fn answer_to(&self, id: &Value) -> Value {
        let answer = |message: &Value| message.get("id") == Some(id) && message.get("method").is_none();
        self.messages().into_iter().find(answer).unwrap_or_default()
    }

    /// A call of slow that is held open, with a progress token, so that it is answered by a stream.
    pub(crate) async fn hold(&mut self, id: Value, token: &str) {
        let params = json!({
            "name": "slow", "arguments": {"steps": 1, "stepMs": 30_000}, "_meta": {"progressToken": token},
        });
        self.send(id, "tools/call", params).await;
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.put(self.era, message.to_string(), &[]).await;
    }

    pub(crate) async fn cancel(&mut self, id: &Value) {
        for asked in self.asked.iter_mut().filter(|asked| asked.id == *id) {
            asked.cancelled = true;
        }
        self.notify("notifications/cancelled", json!({"requestId": id})).await;
    }

    pub(crate) async fn reply(&mut self, id: &Value, result: Value) {
        let message = json!({"jsonrpc": "2.0", "id": id, "result": result});
        self.put(self.era, message.to_string(), &[]).await;
    }

    /// Sends something that is no single message.
    pub(crate) async fn odd(&mut self, text: &str) {
        self.odd += 1;
        self.put(self.era, text.to_owned(), &[]).await;
    }

    /// Sends a ping or its like under other headers.
    pub(crate) async fn with_header(&mut self, name: &'static str, value: &'static str) {
        let (method, params) = match self.era {
            Era::Legacy => ("ping", json!({})),
            Era::Modern => ("server/discover", json!({"_meta": meta_with(json!({}))})),
        };
        let message = json!({"jsonrpc": "2.0", "id": "under headers", "method": method, "params": params});
        self.put(self.era, message.to_string(), &[(name, value)]).await;
    }

    /// Asks for a stream behind an event, and gives the messages that came on it.
    pub(crate) async fn resume(&mut self, last: &str) -> Vec<Value> {
        self.sent += 1;
        let Link::Web { web, sessions } = &self.link else { panic!("only HTTP has streams") };
        let session = sessions[self.session].clone();
        let headers = [("accept", "text/event-stream"), ("mcp-session-id", &session), ("last-event-id", last)];
        let streamed = Record::default();
        if let Some(answer) = web.try_http("GET", &headers, "", PATIENCE).await {
            self.record.push(self.session, What::Status(answer.status));
            if answer.status == 200 {
                let _ = timeout(STEP, read(answer, self.session, streamed.clone())).await;
            } else if answer.status == 500 {
                read(answer, self.session, self.record.clone()).await;
            }
        }
        let messages = streamed.all().into_iter().filter_map(|seen| match seen.what {
            What::Message(message, _) => Some(message),
            _ => None,
        });
        messages.collect()
    }

    async fn put(&mut self, era: Era, text: String, more: &[(&'static str, &'static str)]) {
        self.sent += 1;
        match &mut self.link {
            Link::Pipe { input, .. } => {
                if let Some(input) = input {
                    // A server that has died reads nothing; that is seen elsewhere.
                    let _ = input.write_all(format!("{text}\n").as_bytes()).await;
                }
            }
            Link::Web { web, sessions } => {
                let (web, record, of) = (web.clone(), self.record.clone(), self.session);
                let message: Value = serde_json::from_str(&text).unwrap_or_default();
                let mut headers: Vec<(&str, String)> = match era {
                    Era::Legacy => vec![("mcp-session-id", sessions[of].clone())],
                    Era::Modern => {
                        let member = |value: &Value| value.as_str().unwrap_or("none").to_owned();
                        let name = message["params"].get("name").or_else(|| message["params"].get("uri"));
                        let mut headers = vec![
                            ("mcp-protocol-version", MODERN.to_owned()),
                            ("mcp-method", member(&message["method"])),
                        ];
                        headers.extend(name.map(|name| ("mcp-name", member(name))));
                        headers
                    }
                };
                headers.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
                for (name, value) in
                    [("content-type", "application/json"), ("accept", "application/json, text/event-stream")]
                {
                    if !headers.iter().any(|(given, _)| *given == name) {
                        headers.push((name, value.to_owned()));
                    }
                }
                tokio::spawn(async move {
                    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, &**value)).collect();
                    if let Some(answer) = web.try_http("POST", &headers, &text, PATIENCE).await {
                        record.push(of, What::Status(answer.status));
                        read(answer, of, record).await;
                    }
                });
            }
        }
        sleep(STEP).await;
    }
}

/// Keeps what an HTTP answer brings.
async fn read(mut answer: crate::common::Answer, of: usize, record: Record) {
    let events = answer.kind() == "text/event-stream";
    let mut text = String::new();
    loop {
        let (more, ended) = answer.chunk(PATIENCE).await;
        text.push_str(&more);
        while let Some((event, rest)) = text.split_once("\n\n").filter(|_| events) {
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            if let Some(data) = field("data:").filter(|data| !data.is_empty()) {
                record.text(of, data, field("id:"));
            }
            text = rest.to_owned();
        }
        if ended.is_some() {
            break;
        }
    }
    if !events && !text.is_empty() {
        record.text(of, &text, None);
    }
}
