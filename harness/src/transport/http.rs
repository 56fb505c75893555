//! The HTTP transport: [`HttpClient`] sends requests exactly as they are given and tells the trace what comes back.
//!
//! Every request has a connection of its own, so that no exchange can blur another. Requests are written by hand: no
//! library may add, order, fold or refuse a header.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::{BufMut, Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split},
    sync::{oneshot, watch},
    time::{Instant, sleep, timeout, timeout_at},
};

use super::{
    Limits,
    answer::{Answer, Piece},
    connect::Endpoint,
    incoming::Incoming,
    stdio::pieces,
};
use crate::trace::{Body, Exchange, ExchangeEnd, Headers, Intent, Recorder};

/// One request. The names of headers go out as they stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpCall {
    pub method: String,
    /// Path and query; the endpoint's without.
    pub path: Option<String>,
    pub headers: Vec<(String, Bytes)>,
    pub body: Bytes,
    pub intent: Intent,
}

/// Talks to one origin for one conversation. Clones share everything; when the last is gone, all connections are closed.
#[derive(Clone, Debug)]
pub struct HttpClient {
    shared: Arc<Shared>,
    /// Leave the user's headers out.
    anonymous: bool,
}

#[derive(Debug)]
struct Shared {
    endpoint: Arc<Endpoint>,
    recorder: Recorder,
    limits: Limits,
    next: AtomicU32,
    /// Exchanges in flight; a sender that is used or dropped closes its connection.
    open: Mutex<BTreeMap<Exchange, oneshot::Sender<()>>>,
    running: watch::Sender<usize>,
}

impl HttpClient {
    pub fn new(endpoint: Endpoint, recorder: Recorder, limits: Limits) -> Self {
        let shared = Shared {
            endpoint: Arc::new(endpoint),
            recorder,
            limits,
            next: AtomicU32::new(1),
            open: Mutex::default(),
            running: watch::channel(0).0,
        };
        Self { shared: Arc::new(shared), anonymous: false }
    }

    /// The same client without the user's headers.
    pub fn anonymous(&self) -> Self {
        Self { anonymous: true, ..self.clone() }
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.shared.endpoint
    }

    pub fn recorder(&self) -> &Recorder {
        &self.shared.recorder
    }

    /// Sends a request; returns at once, when it is recorded. Where they are absent, these headers are added: `host`,
    /// `user-agent`, the user's own, and `content-length` where there is a body or the method usually has one. Needs a
    /// Tokio runtime.
    pub fn start(&self, call: HttpCall) -> Exchange {
        let exchange = self.number();
        let path = call.path.clone().unwrap_or_else(|| self.shared.endpoint.path());
        let headers = self.headers(&call);
        let bytes = request(&call.method, &path, &headers, &call.body);
        self.shared.recorder.http_request(
            exchange,
            &call.method,
            &path,
            Headers(headers),
            call.body,
            call.intent,
            false,
        );
        match bytes {
            Ok(bytes) => self.run(exchange, &call.method, vec![bytes]),
            Err(why) => self.failed(exchange, why),
        }
        exchange
    }

    /// Sends bytes as they stand, cut at the offsets of `wanted`, on a connection of its own, and reads one answer.
    pub fn raw(&self, bytes: Bytes, wanted: &[usize]) -> Exchange {
        let exchange = self.number();
        let (line, headers) = head_of(&bytes);
        let method = line.split(' ').next().unwrap_or_default().to_owned();
        let intent = Intent { wrong: vec![String::new()] };
        self.shared.recorder.http_request(exchange, &method, &line, headers, bytes.clone(), intent, true);
        self.run(exchange, &method, pieces(&bytes, wanted));
        exchange
    }

    /// Drops the connection of an exchange; nothing happens when it has ended.
    pub fn close(&self, exchange: Exchange) {
        self.shared.open().remove(&exchange);
    }

    /// Exchanges that have not ended.
    pub fn open(&self) -> Vec<Exchange> {
        self.shared.open().keys().copied().collect()
    }

    /// Closes everything. The trace is whole afterwards.
    pub async fn end(&self) {
        self.shared.open().clear();
        let mut running = self.shared.running.subscribe();
        // The tasks hear it at their next wait, and every wait of theirs can be left.
        let _ = timeout(Duration::from_secs(5), running.wait_for(|count| *count == 0)).await;
        self.shared.recorder.push(Body::Drained);
    }

    fn number(&self) -> Exchange {
        self.shared.next.fetch_add(1, Ordering::Relaxed)
    }

    fn headers(&self, call: &HttpCall) -> Vec<(String, Bytes)> {
        /// Methods that say that there is no body by a length of zero.
        const WITH_BODY: [&str; 3] = ["PATCH", "POST", "PUT"];

        let absent = |name: &str| !call.headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
        let mut headers = Vec::with_capacity(call.headers.len() + 4);
        if absent("host") {
            headers.push(("host".to_owned(), Bytes::from(self.shared.endpoint.host())));
        }
        if absent("user-agent") {
            let agent = concat!("mcp-conform/", env!("CARGO_PKG_VERSION"));
            headers.push(("user-agent".to_owned(), Bytes::from_static(agent.as_bytes())));
        }
        if !self.anonymous {
            let own = self.shared.endpoint.headers.iter().filter(|(name, _)| absent(name));
            headers.extend(own.map(|(name, value)| (name.clone(), Bytes::from(value.clone()))));
        }
        headers.extend(call.headers.iter().cloned());
        let has_body = !call.body.is_empty() || WITH_BODY.contains(&call.method.as_str());
        if has_body && absent("content-length") && absent("transfer-encoding") {
            headers.push(("content-length".to_owned(), Bytes::from(call.body.len().to_string())));
        }
        headers
    }

    fn failed(&self, exchange: Exchange, why: String) {
        self.shared.recorder.exchange_ended(exchange, ExchangeEnd::Failed(why));
    }

    fn run(&self, exchange: Exchange, method: &str, pieces: Vec<Bytes>) {
        let (keep, closed) = oneshot::channel();
        self.shared.open().insert(exchange, keep);
        self.shared.running.send_modify(|count| *count += 1);
        let task = Task {
            endpoint: self.shared.endpoint.clone(),
            limits: self.shared.limits,
            recorder: self.shared.recorder.clone(),
            exchange,
            answer: Answer::new(method),
        };
        let ended = Ended {
            client: Arc::downgrade(&self.shared),
            recorder: self.shared.recorder.clone(),
            exchange,
            end: ExchangeEnd::ClosedByUs,
        };
        tokio::spawn(async move {
            // Told by its drop, so that an exchange ends in the trace even if this task is cut off.
            let mut ended = ended;
            tokio::select! {
                end = task.perform(pieces) => ended.end = end,
                _ = closed => {}
            }
        });
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, BTreeMap<Exchange, oneshot::Sender<()>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Ended {
    client: Weak<Shared>,
    recorder: Recorder,
    exchange: Exchange,
    end: ExchangeEnd,
}

impl Drop for Ended {
    fn drop(&mut self) {
        let end = std::mem::replace(&mut self.end, ExchangeEnd::ClosedByUs);
        let client = self.client.upgrade();
        if let Some(client) = &client {
            client.open().remove(&self.exchange);
        }
        self.recorder.exchange_ended(self.exchange, end);
        if let Some(client) = client {
            client.running.send_modify(|count| *count = count.saturating_sub(1));
        }
    }
}

struct Task {
    endpoint: Arc<Endpoint>,
    limits: Limits,
    recorder: Recorder,
    exchange: Exchange,
    answer: Answer,
}

impl Task {
    async fn perform(self, pieces: Vec<Bytes>) -> ExchangeEnd {
        let io = match self.endpoint.connect(self.limits.connect).await {
            Ok(io) => io,
            Err(error) => return ExchangeEnd::Failed(error.to_string()),
        };
        let (read, write) = split(io);
        let limits = self.limits;
        // Both at once: a server may answer before it has read all, and then stop reading.
        let sending = send(write, pieces, limits);
        let reading = self.read(read);
        tokio::pin!(sending, reading);
        let sent = tokio::select! {
            sent = &mut sending => sent,
            end = &mut reading => return end,
        };
        match sent {
            Ok(()) => reading.await,
            // It may have answered nevertheless.
            Err(why) => match timeout(limits.write, reading).await {
                Ok(ExchangeEnd::Failed(also)) => ExchangeEnd::Failed(format!("{also} ({why})")),
                Ok(end) => end,
                Err(_) => ExchangeEnd::Failed(why),
            },
        }
    }

    async fn read(self, mut from: impl AsyncRead + Unpin) -> ExchangeEnd {
        let Self { limits, mut answer, .. } = self;
        let mut incoming = Incoming::new(self.recorder, limits, self.exchange);
        let mut buffer = vec![0; 64 * 1024];
        let head = Instant::now() + limits.head;
        let mut whole = None;
        loop {
            let deadline = match whole {
                _ if incoming.is_stream() => None,
                None => Some(head),
                Some(whole) => Some((Instant::now() + limits.idle).min(whole)),
            };
            let read = match deadline {
                None => from.read(&mut buffer).await,
                Some(deadline) => match timeout_at(deadline, from.read(&mut buffer)).await {
                    Ok(read) => read,
                    Err(_) if !incoming.began() => {
                        return ExchangeEnd::Limit(format!("no answer within {:?}", limits.head));
                    }
                    Err(_) => {
                        let what = format!("the body did not end within {:?}", limits.body);
                        let idle = format!("no more of the body came within {:?}", limits.idle);
                        let over = whole.is_some_and(|whole| Instant::now() >= whole);
                        return ExchangeEnd::Limit(if over { what } else { idle });
                    }
                },
            };
            let mut pieces = Vec::new();
            let sound = match read {
                Ok(count @ 1..) => answer.push(buffer.get(..count).unwrap_or_default(), &mut pieces),
                Ok(_) => answer.finish(&mut pieces),
                // Many servers close a TLS connection without saying so.
                Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => answer.finish(&mut pieces),
                Err(error) => Err(format!("the connection broke: {error}")),
            };
            for piece in pieces {
                match piece {
                    Piece::Head { status, headers } => {
                        incoming.head(status, headers);
                        whole = Some(Instant::now() + limits.body);
                    }
                    Piece::Data(data) => {
                        if let Err(end) = incoming.data(&data) {
                            return end;
                        }
                    }
                    Piece::End => return incoming.complete(),
                }
            }
            if let Err(why) = sound {
                return incoming.broken(why);
            }
        }
    }
}

/// Leaves the connection open: to shut our side down would tell the server that we are gone.
async fn send(mut to: impl AsyncWrite + Unpin, pieces: Vec<Bytes>, limits: Limits) -> Result<(), String> {
    const STEP: usize = 64 * 1024;
    for (at, piece) in pieces.iter().enumerate() {
        if at > 0 {
            sleep(limits.split).await;
        }
        for part in piece.chunks(STEP) {
            let written = async {
                to.write_all(part).await?;
                to.flush().await
            };
            match timeout(limits.write, written).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return Err(format!("the request could not be sent whole: {error}")),
                Err(_) => return Err(format!("the server did not read the request for {:?}", limits.write)),
            }
        }
    }
    Ok(())
}

/// The bytes of a request. Refuses what would make it another request than the one that is recorded.
fn request(method: &str, path: &str, headers: &[(String, Bytes)], body: &Bytes) -> Result<Bytes, String> {
    let token = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':');
    if !token(method) {
        return Err(format!("{method:?} is no HTTP method; a raw request can send it"));
    }
    if path.is_empty() || path.bytes().any(|byte| byte.is_ascii_control() || byte == b' ') {
        return Err(format!("{path:?} is no request target; a raw request can send it"));
    }
    let mut bytes = BytesMut::with_capacity(512 + body.len());
    bytes.put_slice(format!("{method} {path} HTTP/1.1\r\n").as_bytes());
    for (name, value) in headers {
        if !token(name) || value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
            return Err(format!("{name:?} cannot be sent as a header; a raw request can send it"));
        }
        bytes.put_slice(name.as_bytes());
        bytes.put_slice(b": ");
        bytes.put_slice(value);
        bytes.put_slice(b"\r\n");
    }
    bytes.put_slice(b"\r\n");
    let chunked = headers.iter().any(|(name, value)| {
        name.eq_ignore_ascii_case("transfer-encoding") && value.to_ascii_lowercase().ends_with(b"chunked")
    });
    if chunked && !body.is_empty() {
        bytes.put_slice(format!("{:x}\r\n", body.len()).as_bytes());
        bytes.put_slice(body);
        bytes.put_slice(b"\r\n");
    } else if !chunked {
        bytes.put_slice(body);
    }
    if chunked {
        bytes.put_slice(b"0\r\n\r\n");
    }
    Ok(bytes.freeze())
}

/// First line and headers of a raw request, as far as they can be told.
fn head_of(bytes: &[u8]) -> (String, Headers) {
    /// Enough for any head; a raw request may be one endless line.
    const HEAD: usize = 64 * 1024;
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    let mut lines = head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let first = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let headers = lines.take_while(|line| !line.is_empty()).filter_map(|line| {
        let at = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = line.split_at(at);
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        Some((String::from_utf8_lossy(name).into_owned(), Bytes::copy_from_slice(value)))
    });
    (first, Headers(headers.collect()))
}
