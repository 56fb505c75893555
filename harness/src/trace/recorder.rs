//! The one place where events are made.
//!
//! A [`Recorder`] is the append-only record of one conversation. Transports push into it, everything else reads from it:
//! waiting for an answer is waiting for an event that matches. Secrets are replaced before an event exists, so that rules,
//! reports and files never see them.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};

use super::event::{
    Body, Direction, Event, Exchange, ExchangeEnd, Headers, HttpBody, HttpRequest, HttpResponse, Intent, Line, LineEnd,
    SseMessage,
};
use crate::wire::{Frame, Limits};

/// Bytes of messages that one conversation may keep; beyond it the transports stop reading.
pub const DEFAULT_BUDGET: usize = 256 * 1024 * 1024;

/// The record of one conversation. Clones share it.
#[derive(Clone, Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    grown: watch::Sender<usize>,
    started: Instant,
    secrets: Arc<Secrets>,
    limits: Limits,
    budget: usize,
}

#[derive(Debug, Default)]
struct State {
    events: Vec<Arc<Event>>,
    /// How many older events were dropped.
    dropped: usize,
    bytes: usize,
}

impl State {
    fn len(&self) -> usize {
        self.dropped + self.events.len()
    }
}

/// Values that must not leave the process, and what stands in their place.
#[derive(Debug, Default)]
pub struct Secrets {
    /// Longest first, so that a secret inside another does not tear it.
    values: Vec<(Vec<u8>, String)>,
}

impl Secrets {
    /// Each secret with the name that its placeholder shows. Values under 4 bytes are kept: replacing them would
    /// rewrite ordinary text.
    pub fn new(secrets: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut values: Vec<_> = secrets
            .into_iter()
            .filter(|(_, value)| value.len() >= 4)
            .map(|(name, value)| (value.into_bytes(), format!("<secret:{name}>")))
            .collect();
        values.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
        Self { values }
    }

    pub fn redact(&self, bytes: Bytes) -> Bytes {
        if self.values.iter().all(|(secret, _)| find(&bytes, secret).is_none()) {
            return bytes;
        }
        let mut out = bytes.to_vec();
        for (secret, placeholder) in &self.values {
            let mut from = 0;
            while let Some(at) = out.get(from..).and_then(|rest| find(rest, secret)) {
                let start = from + at;
                out.splice(start..start + secret.len(), placeholder.bytes());
                from = start + placeholder.len();
            }
        }
        Bytes::from(out)
    }

    pub fn redact_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.redact(Bytes::copy_from_slice(text.as_bytes()))).into_owned()
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

/// The deadline passed before an event matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOut;

impl Recorder {
    pub fn new(secrets: Arc<Secrets>, limits: Limits, budget: usize) -> Self {
        let shared = Shared {
            state: Mutex::default(),
            grown: watch::channel(0).0,
            started: Instant::now(),
            secrets,
            limits,
            budget,
        };
        Self { shared: Arc::new(shared) }
    }

    /// Appends an event and returns its position.
    pub fn push(&self, body: Body) -> u64 {
        let at = self.shared.started.elapsed();
        let (seq, len) = {
            let mut state = self.state();
            let seq = state.len() as u64;
            state.bytes = state.bytes.saturating_add(weight(&body));
            state.events.push(Arc::new(Event { seq, at, body }));
            (seq, state.len())
        };
        self.shared.grown.send_replace(len);
        seq
    }

    /// A line on stdin or stdout, without its line end.
    pub fn line(&self, direction: Direction, raw: Bytes, end: LineEnd, cut: usize, intent: Intent) -> u64 {
        let frame = self.frame(raw, cut);
        self.push(Body::Line(Line { direction, frame, end, cut, intent, raw: false }))
    }

    /// Bytes of ours on stdin that are not one message in one line.
    pub fn raw_bytes(&self, bytes: Bytes) -> u64 {
        let frame = self.frame(bytes, 0);
        let intent = Intent { wrong: vec![String::new()] };
        self.push(Body::Line(Line { direction: Direction::Out, frame, end: LineEnd::Eof, cut: 0, intent, raw: true }))
    }

    #[expect(clippy::too_many_arguments, reason = "the members of one event, each of its own type")]
    pub fn http_request(
        &self,
        exchange: Exchange,
        method: &str,
        target: &str,
        headers: Headers,
        body: Bytes,
        intent: Intent,
        raw: bool,
    ) -> u64 {
        let body = self.redact(body);
        let frame = (!body.is_empty() && !raw).then(|| Arc::new(Frame::read(body.clone(), &self.shared.limits)));
        let headers = self.headers(headers);
        let (method, target) = (method.to_owned(), self.shared.secrets.redact_text(target));
        self.push(Body::HttpRequest(HttpRequest { exchange, method, target, headers, body, frame, intent, raw }))
    }

    pub fn http_response(&self, exchange: Exchange, status: u16, headers: Headers) -> u64 {
        let headers = self.headers(headers);
        self.push(Body::HttpResponse(HttpResponse { exchange, status, headers }))
    }

    pub fn http_body(&self, exchange: Exchange, status: u16, raw: Bytes, cut: usize) -> u64 {
        let raw = self.redact(raw);
        let frame = (!raw.is_empty()).then(|| Arc::new(Frame::read_cut(raw.clone(), cut, &self.shared.limits)));
        self.push(Body::HttpBody(HttpBody { exchange, status, frame, raw, cut }))
    }

    /// An event of a stream; `frame` of the argument is replaced.
    pub fn sse(&self, message: SseMessage) -> u64 {
        self.sse_cut(message, 0)
    }

    /// An event of a stream whose last `cut` bytes were dropped beyond our limit.
    pub fn sse_cut(&self, mut message: SseMessage, cut: usize) -> u64 {
        let carries = message.event.as_deref().is_none_or(|name| name.is_empty() || name == "message");
        message.data = message.data.map(|data| self.redact(data));
        message.frame = message
            .data
            .as_ref()
            .filter(|data| carries && !data.is_empty())
            .map(|data| Arc::new(Frame::read_cut(data.clone(), cut, &self.shared.limits)));
        self.push(Body::Sse(message))
    }

    /// The end of an exchange; its words may quote what the server sent.
    pub fn exchange_ended(&self, exchange: Exchange, end: ExchangeEnd) -> u64 {
        let redact = |text: String| self.shared.secrets.redact_text(&text);
        let end = match end {
            ExchangeEnd::Failed(why) => ExchangeEnd::Failed(redact(why)),
            ExchangeEnd::Limit(what) => ExchangeEnd::Limit(redact(what)),
            end @ (ExchangeEnd::ClosedByUs | ExchangeEnd::Complete) => end,
        };
        self.push(Body::ExchangeEnded { exchange, end })
    }

    /// A comment line of an event stream.
    pub fn sse_comment(&self, exchange: Exchange, text: Bytes) -> u64 {
        let text = self.redact(text);
        self.push(Body::SseComment { exchange, text })
    }

    pub fn stderr(&self, raw: Bytes) -> u64 {
        let raw = self.redact(raw);
        self.push(Body::Stderr(raw))
    }

    /// Whether the transports may go on reading.
    pub fn within_budget(&self) -> bool {
        self.state().bytes <= self.shared.budget
    }

    pub fn len(&self) -> usize {
        self.state().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The events from a position on, as they stand now; those that were forgotten are left out.
    pub fn events(&self, from: usize) -> Vec<Arc<Event>> {
        let state = self.state();
        state.events.get(from.saturating_sub(state.dropped)..).unwrap_or_default().to_vec()
    }

    /// Drops the events before a position, so that a conversation can go on for hours. Positions stay what they are.
    pub fn forget(&self, before: u64) {
        let mut state = self.state();
        let before = usize::try_from(before).unwrap_or(usize::MAX).min(state.len());
        let count = before.saturating_sub(state.dropped);
        let gone: Vec<_> = state.events.drain(..count).collect();
        state.dropped += count;
        let weight: usize = gone.iter().map(|event| weight(&event.body)).sum();
        state.bytes = state.bytes.saturating_sub(weight);
    }

    pub fn elapsed(&self) -> Duration {
        self.shared.started.elapsed()
    }

    /// The first event from `from` on that `matches` takes, now or until the deadline.
    pub async fn wait<T>(
        &self,
        from: usize,
        deadline: Instant,
        mut matches: impl FnMut(&Arc<Event>) -> Option<T>,
    ) -> Result<T, TimedOut> {
        let mut grown = self.shared.grown.subscribe();
        let mut next = from;
        loop {
            let fresh = self.events(next);
            next =
                fresh.last().map_or(next, |event| usize::try_from(event.seq).unwrap_or(usize::MAX).saturating_add(1));
            if let Some(found) = fresh.iter().find_map(&mut matches) {
                return Ok(found);
            }
            let more = grown.wait_for(|len| *len > next);
            match timeout_at(deadline, more).await {
                Ok(Ok(_)) => {}
                Ok(Err(_)) | Err(_) => return Err(TimedOut),
            }
        }
    }

    fn frame(&self, raw: Bytes, cut: usize) -> Arc<Frame> {
        Arc::new(Frame::read_cut(self.redact(raw), cut, &self.shared.limits))
    }

    fn headers(&self, headers: Headers) -> Headers {
        Headers(headers.0.into_iter().map(|(name, value)| (name, self.redact(value))).collect())
    }

    fn redact(&self, bytes: Bytes) -> Bytes {
        self.shared.secrets.redact(bytes)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while the lock is held can only come from an allocation; the list is whole either way.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What an event costs in memory, roughly: the raw bytes and a parsed form of about the same size.
fn weight(body: &Body) -> usize {
    let bytes = match body {
        Body::Line(line) => line.frame.raw.len() * 3,
        Body::Stderr(raw) => raw.len(),
        Body::HttpRequest(request) => request.body.len() * 3,
        Body::HttpBody(body) => body.raw.len() * 3,
        Body::Sse(sse) => sse.data.as_ref().map_or(0, |data| data.len() * 3),
        Body::SseComment { text, .. } => text.len(),
        _ => 0,
    };
    bytes + 500
}
