//! One stdio process: [`serve_stdio`] reads lines, serves both eras by what each message says, and ends with its input.
//! What only a real process can do wrong (signals, children) is in `process`.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, BufWriter};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::bugs::{self, Bug};
use crate::config::{Config, Eras};
use crate::faults::Fault;
use crate::features::takes_long;
use crate::json::{FIRST_PROGRESS, Incoming, Message, Params, Parsed, Raw, RpcError, parse};
use crate::server::{Flights, Outlet, Server, lock};
use crate::session::{Phase, Session};
use crate::{legacy, modern};

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitStatus {
    /// The exit code; 0 is a regular end.
    pub code: i32,
}

/// How long requests that are being worked on may take after the input has ended.
const GRACE: Duration = Duration::from_millis(200);

/// How long a process lives on after it has decided to end.
const DYING: Duration = Duration::from_millis(20);

/// What one read brings and one write takes at most: as much as a pipe holds.
const BUFFER: usize = 64 * 1024;

/// Serves one stdio "process" over any pair of pipes; returns when the input ends or the server decides to exit.
pub async fn serve_stdio<R, W>(config: Config, stdin: R, stdout: W) -> ExitStatus
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let server = Server::new(config);
    if server.has(Fault::ExitsAtOnce) {
        return ExitStatus { code: 1 };
    }
    let (sender, receiver) = mpsc::unbounded_channel();
    let writer = tokio::spawn(write_all(server.clone(), stdout, receiver));
    let outlet = {
        let (server, sender) = (server.clone(), sender.clone());
        Outlet::new(move |message| {
            for frame in bugs::frames(&server, message) {
                // The writer has gone when the client has; then there is nobody to tell.
                let _ = sender.send(Out::Frame(frame));
            }
        })
    };
    let flights = Flights::default();
    let session = Session::over_pipe(outlet.clone(), flights.clone());
    server.add_session(session.clone());
    let mut pipe = Pipe {
        server: server.clone(),
        session,
        flights,
        outlet,
        tasks: JoinSet::new(),
        listens: JoinSet::new(),
        settled: false,
    };

    let mut writer = writer;
    let mut lines = Lines::new(&server, stdin);
    let fatal = server.fatal.clone();
    let mut dead = pin!(fatal.cancelled());
    let code = loop {
        let line = tokio::select! {
            // What has died reads nothing more.
            biased;
            () = &mut dead => break 1,
            // Nobody reads any more, or a fault has ended the output.
            ended = &mut writer => return ExitStatus { code: ended.unwrap_or(1) },
            line = lines.next() => line,
        };
        match line {
            Ok(Line::Text(text)) => tokio::select! {
                biased;
                () = pipe.take(&text) => {}
                () = &mut dead => break 1,
            },
            Ok(Line::TooLong) => pipe.say(None, Err(RpcError::invalid_request("the message is too long"))),
            Ok(Line::End) | Err(_) => {
                pipe.finish().await;
                break 0;
            }
        }
    };
    // The writer may have gone already. If it is blocked by a client that does not read, the process ends all the same.
    let _ = sender.send(Out::Close);
    let written = match timeout(GRACE, writer).await {
        Ok(Ok(written)) => written,
        Ok(Err(_)) | Err(_) => 0,
    };
    ExitStatus { code: code.max(written) }
}

struct Pipe {
    server: Arc<Server>,
    session: Arc<Session>,
    flights: Flights,
    outlet: Outlet,
    tasks: JoinSet<()>,
    listens: JoinSet<()>,
    /// Whether a request has told which era is spoken.
    settled: bool,
}

impl Pipe {
    async fn take(&mut self, line: &[u8]) {
        while self.tasks.try_join_next().is_some() {}
        while self.listens.try_join_next().is_some() {}
        if self.server.has(Fault::NeverAnswers) {
            return;
        }
        match parse(&self.server.config.faults, line) {
            Parsed::Unreadable if self.server.has(Fault::UnreadableFatal) => self.server.fatal.cancel(),
            Parsed::Unreadable => self.say(None, Err(RpcError::unreadable(&self.server))),
            Parsed::Many(items) if bugs::begins_with_answer(&self.server, &items) => self.server.fatal.cancel(),
            Parsed::Many(items) => self.take_batch(items).await,
            Parsed::One(message) => self.take_one(message).await,
        }
    }

    async fn take_one(&mut self, message: Incoming) {
        let (server, session, outlet) = (self.server.clone(), self.session.clone(), self.outlet.clone());
        bugs::note(&server, &self.flights, &message);
        if let Incoming::Request { method, .. } = &message {
            self.settled |= method != "server/discover";
        }
        match message {
            Incoming::Notification { .. } if server.config.settles_era && !self.settled => {
                // A process takes a moment to end, in which more can still be written to it.
                sleep(DYING).await;
                server.fatal.cancel();
            }
            Incoming::Request { ref id, .. } if drops_id(&server, id) => {}
            Incoming::Request { ref id, .. } if server.has(Fault::ExitsAtForeignId) && !id.text().is_ascii() => {
                server.fatal.cancel();
            }
            Incoming::Request { id, method, params } if modern::is_modern(&server, &method, &params) => {
                self.take_modern(id, method, params).await;
            }
            Incoming::Request { ref method, .. } if takes_long(method) => {
                self.tasks.spawn(async move {
                    if let Some(answer) = legacy::message(&server, &session, message, &outlet).await {
                        outlet.send(answer);
                    }
                });
            }
            Incoming::Notification { method, params } => {
                if let Some(answer) = bugs::unwanted(&server, &session, &method, &params) {
                    outlet.send(answer);
                }
                legacy::notification(&server, &session, &method, &params);
                if let Some(answer) = legacy::unwanted_answer(&server, Some(&session), &method, &params) {
                    outlet.send(answer);
                }
                // What was cancelled has to be gone before the next line is read.
                tokio::task::yield_now().await;
            }
            message => {
                if let Some(answer) = legacy::message(&server, &session, message, &outlet).await {
                    outlet.send(answer);
                }
            }
        }
    }

    async fn take_modern(&mut self, id: Raw, method: String, params: Params) {
        let server = self.server.clone();
        let handshake =
            method == "initialize" && params.meta().is_none_or(|meta| !meta.contains_key(modern::VERSION_KEY));
        if handshake {
            self.say(Some(id), Err(modern::refuse_initialize(&server, &params)));
            return;
        }
        let Some(flight) = self.flights.begin(&id) else {
            self.outlet.send(legacy::duplicate(id));
            return;
        };
        self.session.note_begun(&server, &id);
        match server.config.bug {
            Some(Bug::RefusedIdTaken) if lock(&server.notebook).refused.contains(&id.key()) => return,
            Some(Bug::ModernSticks) => lock(&self.session.notebook).modern_seen = true,
            Some(Bug::TraceWarning)
                if params.meta().and_then(|meta| meta.get("traceparent")).is_some_and(bugs::odd_traceparent) =>
            {
                self.outlet
                    .send(Message::Noise(b"[otel] WARN the trace parent cannot be read, a new one is made".to_vec()));
            }
            _ => {}
        }
        let outlet = self.outlet.clone();
        let long = takes_long(&method);
        let listens = method == "subscriptions/listen";
        let work = async move {
            let answer = match modern::open(&server, &params, outlet.clone()) {
                Err(error) => Some(Message::Answer { id: Some(id), outcome: Err(error) }),
                Ok(mut call) => {
                    call.pipe = true;
                    tokio::select! {
                        outcome = modern::serve(call, &id, &method, &params) => {
                            outcome.map(|outcome| Message::Answer { id: Some(id), outcome })
                        }
                        () = flight.cancel.cancelled() => legacy::late_answer(&server, id),
                    }
                }
            };
            if let Some(answer) = answer {
                outlet.send(answer);
            }
        };
        match (long, listens) {
            (_, true) => drop(self.listens.spawn(work)),
            (true, _) => drop(self.tasks.spawn(work)),
            _ => work.await,
        }
    }

    async fn take_batch(&mut self, items: Vec<Incoming>) {
        let batches = self.session.phase() != Phase::New && self.session.version() == "2025-03-26";
        if items.is_empty() || !batches || self.server.config.eras == Eras::ModernOnly {
            self.say(None, Err(RpcError::invalid_request("a message is one JSON object")));
            return;
        }
        let (server, session, outlet) = (self.server.clone(), self.session.clone(), self.outlet.clone());
        self.tasks.spawn(async move {
            let mut answers = Vec::new();
            for item in items {
                answers.extend(legacy::message(&server, &session, item, &outlet).await);
            }
            if !answers.is_empty() {
                outlet.send(Message::Batch(answers));
            }
        });
    }

    fn say(&self, id: Option<Raw>, outcome: Result<crate::json::Body, RpcError>) {
        let id = match id {
            None if self.server.has(Fault::UnreadableIdInvented) => Some(Raw::from_text("\"server-error\"".to_owned())),
            id => id,
        };
        self.outlet.send(Message::Answer { id, outcome });
    }

    /// The input has ended: what can still be answered is, then the process is done.
    async fn finish(&mut self) {
        let waits = self.session.waits();
        while self.listens.try_join_next().is_some() {}
        if self.server.bug(Bug::ListenersHoldProcess) && self.listens.len() > 1 {
            return std::future::pending().await;
        }
        if self.server.has(Fault::IgnoresEof) || (waits && self.server.has(Fault::IgnoresEofWhileAsking)) {
            return std::future::pending().await;
        }
        self.session.abandon();
        let drained = async { while self.tasks.join_next().await.is_some() {} };
        // Whoever is slower than this is not waited for.
        let _ = timeout(GRACE, drained).await;
        self.tasks.abort_all();
        self.listens.abort_all();
        if self.server.has(Fault::LingersAfterEof) {
            sleep(Duration::from_secs(60)).await;
        }
        if self.server.has(Fault::SpinsAfterEof) {
            loop {
                tokio::task::yield_now().await;
            }
        }
    }
}

/// Whether a broken server loses a message because its id does not fit.
pub(crate) fn drops_id(server: &Server, id: &Raw) -> bool {
    let large = id.value().as_f64().is_some_and(|number| number.abs() > 9_007_199_254_740_991.0);
    let falsy = id.value() == json!(0) || id.value() == json!("");
    (large && server.has(Fault::BigIdDropped)) || (falsy && server.has(Fault::FalsyIdDropped))
}

enum Out {
    Frame(Vec<u8>),
    Close,
}

/// Writes line by line; gives the exit code once nothing more can or shall be written.
async fn write_all<W: AsyncWrite + Unpin>(
    server: Arc<Server>,
    stdout: W,
    mut receiver: mpsc::UnboundedReceiver<Out>,
) -> i32 {
    let mut stdout = BufWriter::with_capacity(BUFFER, stdout);
    if server.has(Fault::StdoutBanner) && stdout.write_all(b"mcp-reference-server is ready\n").await.is_err() {
        return 0;
    }
    while let Some(Out::Frame(frame)) = receiver.recv().await {
        let written = match broken_write(&server, &mut stdout, &frame).await {
            Ok(Broken::No) => write_line(&mut stdout, &frame).await,
            Ok(Broken::Instead) => Ok(()),
            Ok(Broken::Exit) => return 1,
            Err(error) => Err(error),
        };
        // What waits already is written along with it: a flush costs more than all else.
        if written.is_err() || (receiver.is_empty() && stdout.flush().await.is_err()) {
            return 0;
        }
    }
    // Nobody can be told if this fails.
    let _ = stdout.flush().await;
    0
}

async fn write_line<W: AsyncWrite + Unpin>(stdout: &mut W, frame: &[u8]) -> io::Result<()> {
    stdout.write_all(frame).await?;
    stdout.write_all(b"\n").await
}

enum Broken {
    No,
    Instead,
    Exit,
}

async fn broken_write<W: AsyncWrite + Unpin>(server: &Server, stdout: &mut W, frame: &[u8]) -> io::Result<Broken> {
    if server.has(Fault::StdoutLogLine) {
        stdout.write_all(b"[info] sending a message\n").await?;
    }
    // What nobody waits for: the server can be judged beyond the broken message.
    let first_progress = contains(frame, FIRST_PROGRESS.as_bytes());
    if server.has(Fault::ContentLengthFraming) && first_progress {
        stdout.write_all(format!("Content-Length: {}\r\n\r\n", frame.len()).as_bytes()).await?;
        write_line(stdout, frame).await?;
        return Ok(Broken::Instead);
    }
    if server.has(Fault::MessagesNotTerminated) && first_progress {
        stdout.write_all(frame).await?;
        return Ok(Broken::Instead);
    }
    if server.has(Fault::HalfMessageThenExit) {
        stdout.write_all(frame.get(..frame.len() / 2).unwrap_or_default()).await?;
        stdout.flush().await?;
        return Ok(Broken::Exit);
    }
    if server.has(Fault::GarbageBytes) {
        stdout.write_all(b"\x00\xfe\xff\x80{]\x1b[31m\n").await?;
        return Ok(Broken::Instead);
    }
    if server.has(Fault::EndlessLine) {
        loop {
            stdout.write_all(&[b'x'; 64 * 1024]).await?;
        }
    }
    if server.has(Fault::HugeMessage) {
        // The closing brace goes behind 64 MiB of a member that nobody asked for.
        stdout.write_all(frame.get(..frame.len().saturating_sub(1)).unwrap_or_default()).await?;
        stdout.write_all(b",\"padding\":\"").await?;
        for _ in 0..1024 {
            stdout.write_all(&[b'x'; 64 * 1024]).await?;
        }
        write_line(stdout, b"\"}").await?;
        return Ok(Broken::Instead);
    }
    Ok(Broken::No)
}

pub(crate) fn contains(frame: &[u8], text: &[u8]) -> bool {
    frame.windows(text.len()).any(|window| window == text)
}

enum Line {
    Text(Vec<u8>),
    TooLong,
    End,
}

/// Lines of bounded length; whatever is longer is read past.
struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    too_long: bool,
    limit: usize,
    /// Whatever one read brings is taken for a message, as only a broken server does.
    in_chunks: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(server: &Server, reader: R) -> Self {
        let (limit, in_chunks) = (server.config.max_message, server.has(Fault::ReadsInChunks));
        Self { reader: BufReader::with_capacity(BUFFER, reader), line: Vec::new(), too_long: false, limit, in_chunks }
    }

    /// Safe to drop half-way: what was read is kept.
    async fn next(&mut self) -> io::Result<Line> {
        loop {
            let read = self.reader.fill_buf().await?;
            if read.is_empty() {
                let rest = std::mem::take(&mut self.line);
                return Ok(if rest.is_empty() { Line::End } else { Line::Text(rest) });
            }
            let (length, ended) = match read.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at, true),
                None => (read.len(), false),
            };
            if self.line.len() + length > self.limit {
                self.too_long = true;
                self.line.clear();
            } else if !self.too_long {
                self.line.extend_from_slice(read.get(..length).unwrap_or_default());
            }
            self.reader.consume(length + usize::from(ended));
            if !ended && !self.in_chunks {
                continue;
            }
            if std::mem::take(&mut self.too_long) {
                return Ok(Line::TooLong);
            }
            let mut line = std::mem::take(&mut self.line);
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            if !line.iter().all(u8::is_ascii_whitespace) {
                return Ok(Line::Text(line));
            }
        }
    }
}
