//! The event streams of one legacy session: [`Streams`] numbers and keeps events, so that a stream that broke can be
//! taken up again, and chooses the stream for what belongs to no request.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::sleep;

use super::body::event;
use crate::bugs::Bug;
use crate::faults::Fault;
use crate::server::{Server, lock};

/// Events that a stream keeps, streams that a session keeps, and messages that wait for a stream.
const KEPT: usize = 1000;

/// Milliseconds after which a client may come back.
const RETRY: u64 = 1000;

pub(crate) struct Streams {
    /// Stands in every event id, so that ids of other sessions are recognized.
    tag: String,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    next: u64,
    streams: BTreeMap<u64, Stream>,
    waiting: VecDeque<Vec<u8>>,
}

#[derive(Default)]
struct Stream {
    general: bool,
    next: u64,
    events: VecDeque<(u64, Bytes)>,
    done: bool,
    live: Option<UnboundedSender<Bytes>>,
}

impl Streams {
    pub(crate) fn new(tag: String) -> Self {
        Self { tag, inner: Mutex::default() }
    }

    /// Opens the stream of a request, primed with an event id if the version knows that.
    pub(crate) fn open(&self, server: &Server, primed: bool) -> (u64, UnboundedReceiver<Bytes>) {
        let mut inner = lock(&self.inner);
        let (number, receiver) = inner.add(false);
        if primed && server.config.resumable && !server.has(Fault::PrimingMissing) {
            inner.prime(server, &self.tag, number);
        }
        (number, receiver)
    }

    /// Opens a stream for what belongs to no request.
    pub(crate) fn open_general(&self, server: &Server, primed: bool) -> UnboundedReceiver<Bytes> {
        let mut inner = lock(&self.inner);
        let (number, receiver) = inner.add(true);
        if primed && server.config.resumable && !server.has(Fault::PrimingMissing) {
            inner.prime(server, &self.tag, number);
        }
        inner.flush(server, &self.tag, number);
        receiver
    }

    pub(crate) fn push(&self, server: &Server, number: u64, frame: &[u8]) {
        lock(&self.inner).push(server, &self.tag, number, frame);
    }

    /// Sends on the stream of another request that is still open, if there is one, as only a broken server does.
    pub(crate) fn push_astray(&self, server: &Server, number: u64, frame: &[u8]) -> bool {
        let mut inner = lock(&self.inner);
        let open = |stream: &Stream| !stream.general && stream.live.as_ref().is_some_and(|live| !live.is_closed());
        let other = inner.streams.iter().find(|(other, one)| **other != number && open(one)).map(|(other, _)| *other);
        if let Some(other) = other {
            inner.push(server, &self.tag, other, frame);
        }
        other.is_some()
    }

    /// Sends comments on a stream for ever, as only a broken server does.
    pub(crate) async fn drip(&self, number: u64) {
        loop {
            let live = lock(&self.inner).streams.get(&number).and_then(|stream| stream.live.clone());
            if live.is_none_or(|live| live.send(Bytes::from_static(b": still there\n\n")).is_err()) {
                return std::future::pending().await;
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn finish(&self, number: u64) {
        if let Some(stream) = lock(&self.inner).streams.get_mut(&number) {
            stream.done = true;
            stream.live = None;
        }
    }

    /// Sends on exactly one of the general streams, or keeps the message until there is one.
    pub(crate) fn general(&self, server: &Server, frame: &[u8]) {
        let mut inner = lock(&self.inner);
        let open = |stream: &Stream| stream.general && stream.live.as_ref().is_some_and(|live| !live.is_closed());
        let numbers: Vec<u64> =
            inner.streams.iter().rev().filter(|(_, one)| open(one)).map(|(number, _)| *number).collect();
        if server.has(Fault::GeneralBroadcast) {
            for number in &numbers {
                inner.push(server, &self.tag, *number, frame);
            }
        } else if let Some(number) = numbers.first() {
            inner.push(server, &self.tag, *number, frame);
        } else if inner.waiting.len() < KEPT {
            inner.waiting.push_back(frame.to_vec());
        }
    }

    /// Whether an event id is one of this session.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.place(id).is_some_and(|(number, _)| lock(&self.inner).streams.contains_key(&number))
    }

    /// Takes up the stream of an event id after that event.
    pub(crate) fn resume(&self, server: &Server, id: &str) -> Option<UnboundedReceiver<Bytes>> {
        let (number, sequence) = self.place(id)?;
        let mut inner = lock(&self.inner);
        let (sender, receiver) = unbounded_channel();
        if server.has(Fault::ReplayEveryStream) {
            for (_, stream) in inner.streams.iter().filter(|(other, _)| **other != number) {
                for (_, bytes) in &stream.events {
                    let _ = sender.send(bytes.clone());
                }
            }
        }
        let over = |stream: &Stream| stream.done && stream.events.back().is_none_or(|(last, _)| *last <= sequence);
        if server.bug(Bug::NextStreamReplayed) && inner.streams.get(&number).is_some_and(over) {
            let next = inner.streams.range(number + 1..).next();
            for (_, bytes) in next.into_iter().flat_map(|(_, stream)| &stream.events) {
                let _ = sender.send(bytes.clone());
            }
        }
        let stream = inner.streams.get_mut(&number)?;
        for (_, bytes) in stream.events.iter().filter(|(at, _)| *at > sequence || server.has(Fault::ReplayFromStart)) {
            // The other end is in this very function.
            let _ = sender.send(bytes.clone());
        }
        if !stream.done {
            stream.live = Some(sender);
        }
        if stream.general {
            inner.flush(server, &self.tag, number);
        }
        Some(receiver)
    }

    /// Closes every stream.
    pub(crate) fn close(&self) {
        for stream in lock(&self.inner).streams.values_mut() {
            stream.done = true;
            stream.live = None;
        }
    }

    fn place(&self, id: &str) -> Option<(u64, u64)> {
        let rest = id.strip_prefix(self.tag.as_str())?.strip_prefix('-')?;
        let (number, sequence) = rest.split_once('-')?;
        Some((number.parse().ok()?, sequence.parse().ok()?))
    }
}

impl Inner {
    fn add(&mut self, general: bool) -> (u64, UnboundedReceiver<Bytes>) {
        self.next += 1;
        let (sender, receiver) = unbounded_channel();
        self.streams.insert(self.next, Stream { general, live: Some(sender), ..Stream::default() });
        // Only what has ended is forgotten, oldest first.
        while self.streams.len() > KEPT {
            let Some(oldest) = self.streams.iter().find(|(_, one)| one.done).map(|(number, _)| *number) else { break };
            self.streams.remove(&oldest);
        }
        (self.next, receiver)
    }

    fn prime(&mut self, server: &Server, tag: &str, number: u64) {
        let retry = if server.has(Fault::RetryNotNumeric) { "soon".to_owned() } else { RETRY.to_string() };
        let data = if server.has(Fault::PrimingWithText) { "ready" } else { "" };
        self.record(server, tag, number, |id| format!("id: {id}\nretry: {retry}\ndata: {data}\n\n").into());
    }

    fn push(&mut self, server: &Server, tag: &str, number: u64, frame: &[u8]) {
        let resumable = server.config.resumable;
        self.record(server, tag, number, |id| event(server, resumable.then_some(id), frame));
    }

    fn record(&mut self, server: &Server, tag: &str, number: u64, write: impl FnOnce(&str) -> Bytes) {
        let Some(stream) = self.streams.get_mut(&number) else { return };
        let sequence = stream.next;
        stream.next += 1;
        let id = if server.has(Fault::EventIdsRepeat) {
            format!("{tag}-1-{sequence}")
        } else {
            format!("{tag}-{number}-{sequence}")
        };
        let bytes = write(&id);
        stream.events.push_back((sequence, bytes.clone()));
        if stream.events.len() > KEPT {
            stream.events.pop_front();
        }
        if let Some(live) = &stream.live {
            // A client that has gone takes the event up later.
            let _ = live.send(bytes);
        }
    }

    fn flush(&mut self, server: &Server, tag: &str, number: u64) {
        for frame in std::mem::take(&mut self.waiting) {
            self.push(server, tag, number, &frame);
        }
    }
}
