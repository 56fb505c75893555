//! The stdio transport: [`Stdio`] writes lines to a server's stdin and tells the trace every line of its stdout.

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
    time::{Instant, sleep, timeout, timeout_at},
};

use super::Limits;
use crate::{
    process::{self, CommandSpec, Process, Signal, StartError},
    trace::{Body, Direction, Exit, Intent, LineEnd, Recorder},
    wire::{self, LineSplitter},
};

/// A message did not reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WriteError {
    #[error("the server's stdin is closed")]
    Closed,
    #[error("the server does not read its stdin")]
    Stalled,
}

/// How long each way of ending a server gets before the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grace {
    /// After stdin was closed.
    pub eof: Duration,
    /// After TERM.
    pub term: Duration,
    /// After KILL.
    pub kill: Duration,
}

impl Default for Grace {
    fn default() -> Self {
        Self { eof: Duration::from_secs(2), term: Duration::from_secs(2), kill: Duration::from_secs(2) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    /// Before we did anything.
    Itself,
    /// The end of its stdin.
    Eof,
    Term,
    Kill,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    pub exited_by: EndedBy,
    /// Absent when not even KILL was seen to end it.
    pub exit: Option<Exit>,
    /// From the closing of stdin to the exit.
    pub waited: Duration,
}

/// A server behind a pair of pipes. Dropping it kills the process.
pub struct Stdio {
    recorder: Recorder,
    limits: Limits,
    peer: Peer,
    exit: watch::Receiver<Option<Exit>>,
    /// The queue to the writer; taken when stdin is to be closed. Events of what is written are pushed under this lock,
    /// so that their order is the order on the wire.
    queue: Mutex<Option<mpsc::Sender<Order>>>,
    /// When the write began that has not ended.
    busy: watch::Receiver<Option<Instant>>,
    /// When the write began that a sender has given up; others do not wait for it again.
    stalled: Mutex<Option<Instant>>,
    touched: Arc<Mutex<Touched>>,
    ended: tokio::sync::Mutex<Option<Ending>>,
    stop: watch::Sender<bool>,
    writer: JoinHandle<()>,
    reader: Mutex<Option<JoinHandle<()>>>,
}

impl fmt::Debug for Stdio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stdio").field("pid", &self.pid()).field("open", &self.is_open()).finish_non_exhaustive()
    }
}

impl Stdio {
    /// Starts the command and talks to it. Needs a Tokio runtime.
    pub fn start(command: &CommandSpec, recorder: Recorder, limits: Limits) -> Result<Self, StartError> {
        let spawned = process::spawn(command, &recorder)?;
        let exit = spawned.process.exit();
        let peer = Peer::Process(spawned.process);
        Ok(Self::between(spawned.stdin, spawned.stdout, peer, exit, recorder, limits))
    }

    /// Talks to a server in memory. There is no process: signals are recorded and change nothing.
    pub fn over(
        stdin: impl AsyncWrite + Send + Unpin + 'static,
        stdout: impl AsyncRead + Send + Unpin + 'static,
        exit: impl Future<Output = Exit> + Send + 'static,
        recorder: Recorder,
        limits: Limits,
    ) -> Self {
        Self::over_signalled(stdin, stdout, exit, mpsc::unbounded_channel().0, recorder, limits)
    }

    /// Talks to a server in memory that is told the signals.
    pub fn over_signalled(
        stdin: impl AsyncWrite + Send + Unpin + 'static,
        stdout: impl AsyncRead + Send + Unpin + 'static,
        exit: impl Future<Output = Exit> + Send + 'static,
        signals: mpsc::UnboundedSender<Signal>,
        recorder: Recorder,
        limits: Limits,
    ) -> Self {
        let (exited, seen) = watch::channel(None);
        let record = recorder.clone();
        let waiting = tokio::spawn(async move {
            let exit = exit.await;
            record.push(Body::Exited(exit.clone()));
            exited.send_replace(Some(exit));
        });
        Self::between(Some(stdin), stdout, Peer::Memory { signals, waiting }, seen, recorder, limits)
    }

    fn between(
        stdin: Option<impl AsyncWrite + Send + Unpin + 'static>,
        stdout: impl AsyncRead + Send + Unpin + 'static,
        peer: Peer,
        exit: watch::Receiver<Option<Exit>>,
        recorder: Recorder,
        limits: Limits,
    ) -> Self {
        /// Messages that may wait for the server to read.
        const QUEUE: usize = 64;
        let (queue, orders) = mpsc::channel(QUEUE);
        let (busy, writing) = watch::channel(None);
        let (stop, stopped) = watch::channel(false);
        let writer = tokio::spawn(write(stdin, orders, busy, recorder.clone(), limits));
        let touched = Arc::<Mutex<Touched>>::default();
        let breach = peer.breach(recorder.clone(), touched.clone());
        let reader = Reader { recorder: recorder.clone(), limits, breach };
        let reader = tokio::spawn(reader.read(stdout, stopped));
        Self {
            recorder,
            limits,
            peer,
            exit,
            queue: Mutex::new(Some(queue)),
            busy: writing,
            stalled: Mutex::default(),
            touched,
            ended: tokio::sync::Mutex::default(),
            stop,
            writer,
            reader: Mutex::new(Some(reader)),
        }
    }

    pub fn pid(&self) -> Option<u32> {
        match &self.peer {
            Peer::Process(process) => Some(process.pid()),
            Peer::Memory { .. } => None,
        }
    }

    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Writes one message and a line feed. Returns its event when the server's pipe has taken it all.
    pub async fn send(&self, message: Bytes, intent: Intent) -> Result<u64, WriteError> {
        let mut line = BytesMut::with_capacity(message.len() + 1);
        line.extend_from_slice(&message);
        line.extend_from_slice(b"\n");
        let record = |recorder: &Recorder| recorder.line(Direction::Out, message, LineEnd::Lf, 0, intent);
        self.write(vec![line.freeze()], record).await
    }

    /// Writes bytes as they stand, in pieces that are cut at the offsets of `split`; those out of order or range are
    /// ignored.
    pub async fn write_raw(&self, bytes: Bytes, split: &[usize]) -> Result<u64, WriteError> {
        let pieces = pieces(&bytes, split);
        self.write(pieces, |recorder: &Recorder| recorder.raw_bytes(bytes)).await
    }

    /// Closes stdin when all that was sent before has been written.
    pub fn close_stdin(&self) {
        self.touched().eof.get_or_insert_with(Instant::now);
        self.queue().take();
    }

    /// Sends a signal to the server's process group.
    pub fn signal(&self, signal: Signal) {
        let mut touched = self.touched();
        match signal {
            Signal::Kill => touched.kill = true,
            Signal::Hangup | Signal::Interrupt | Signal::Terminate => touched.term = true,
        }
        drop(touched);
        self.peer.signal(signal, &self.recorder);
    }

    /// Whether messages can still be sent.
    pub fn is_open(&self) -> bool {
        self.queue().as_ref().is_some_and(|queue| !queue.is_closed()) && self.exit.borrow().is_none()
    }

    /// The exit, once there is one.
    pub fn exit(&self) -> Option<Exit> {
        self.exit.borrow().clone()
    }

    /// Ends the server: closes stdin, then TERM, then KILL, each with its grace; then reads stdout to its end and ends
    /// what the server left behind. The trace is whole afterwards. A second call tells the same again.
    pub async fn end(&self, grace: Grace) -> Ending {
        let mut ended = self.ended.lock().await;
        if let Some(ending) = &*ended {
            return ending.clone();
        }
        let ending = match self.exit() {
            Some(exit) => Ending { exited_by: self.exited_by(), exit: Some(exit), waited: Duration::ZERO },
            None => self.stop(grace).await,
        };
        self.close_stdin();
        self.writer.abort();
        self.drain().await;
        ended.insert(ending).clone()
    }

    async fn stop(&self, grace: Grace) -> Ending {
        self.peer.look();
        self.close_stdin();
        if !self.stdin_closes(grace.eof).await {
            // The writer hangs in a message that the server does not take, and keeps stdin open.
            self.writer.abort();
            self.stdin_closes(grace.eof).await;
        }
        let since = Instant::now();
        // Time that it had since then counts.
        let had = self.touched().eof.map_or(Duration::ZERO, |closed| closed.elapsed());
        let mut exit = self.exits(grace.eof.saturating_sub(had)).await;
        for (signal, within) in [(Signal::Terminate, grace.term), (Signal::Kill, grace.kill)] {
            if exit.is_some() {
                break;
            }
            self.peer.look();
            self.signal(signal);
            exit = self.exits(within).await;
        }
        Ending { exited_by: self.exited_by(), exit, waited: since.elapsed() }
    }

    /// Everything after the exit.
    async fn drain(&self) {
        /// For what already stands in the pipe; whoever still held it has been ended.
        const REST: Duration = Duration::from_secs(2);
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut reader) = reader else { return };
        if let Peer::Process(process) = &self.peer {
            process.finish(self.limits.settle).await;
        }
        if timeout(REST, &mut reader).await.is_err() {
            if self.exit.borrow().is_some() {
                self.recorder.push(Body::Limit { what: "stdout was still held open after the server's exit".into() });
            }
            self.stop.send_replace(true);
            // It hears the stop at its next read and only has to push what it holds.
            let _ = timeout(REST, reader).await;
        }
        self.recorder.push(Body::Drained);
    }

    fn exited_by(&self) -> EndedBy {
        match &self.peer {
            Peer::Process(process) if process.was_killed() => EndedBy::Kill,
            _ => self.touched().last(),
        }
    }

    /// Whether the writer, which owns stdin, ends in time.
    async fn stdin_closes(&self, within: Duration) -> bool {
        let mut busy = self.busy.clone();
        timeout(within, busy.wait_for(|_| false)).await.is_ok()
    }

    async fn exits(&self, within: Duration) -> Option<Exit> {
        let mut exit = self.exit.clone();
        let seen = timeout(within, exit.wait_for(Option::is_some)).await;
        seen.ok()?.ok()?.clone()
    }

    async fn write(&self, pieces: Vec<Bytes>, record: impl FnOnce(&Recorder) -> u64) -> Result<u64, WriteError> {
        let deadline = Instant::now() + self.limits.write;
        let began = *self.busy.borrow();
        if began.is_some() && began == *self.stalled() {
            return Err(WriteError::Stalled);
        }
        let queue = self.queue().clone().ok_or(WriteError::Closed)?;
        let place = match timeout_at(deadline, queue.reserve()).await {
            Ok(place) => place.map_err(|_| WriteError::Closed)?,
            Err(_) => return Err(WriteError::Stalled),
        };
        let (written, done) = oneshot::channel();
        let event = {
            let queue = self.queue();
            if queue.is_none() {
                return Err(WriteError::Closed);
            }
            let event = record(&self.recorder);
            place.send(Order { pieces, written });
            event
        };
        drop(queue);
        match timeout_at(deadline, done).await {
            Ok(Ok(())) => Ok(event),
            Ok(Err(_)) => Err(WriteError::Closed),
            Err(_) => {
                let began = *self.busy.borrow();
                *self.stalled() = began;
                Err(WriteError::Stalled)
            }
        }
    }

    fn stalled(&self) -> MutexGuard<'_, Option<Instant>> {
        self.stalled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self) -> MutexGuard<'_, Option<mpsc::Sender<Order>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touched(&self) -> MutexGuard<'_, Touched> {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        self.writer.abort();
        self.stop.send_replace(true);
        if let Peer::Memory { waiting, .. } = &self.peer {
            waiting.abort();
        }
    }
}

/// What we did so far that may make a server exit.
#[derive(Clone, Copy, Debug, Default)]
struct Touched {
    eof: Option<Instant>,
    term: bool,
    kill: bool,
}

impl Touched {
    fn last(self) -> EndedBy {
        match self {
            Self { kill: true, .. } => EndedBy::Kill,
            Self { term: true, .. } => EndedBy::Term,
            Self { eof: Some(_), .. } => EndedBy::Eof,
            _ => EndedBy::Itself,
        }
    }
}

/// What stands behind the pipes.
enum Peer {
    Process(Process),
    Memory { signals: mpsc::UnboundedSender<Signal>, waiting: JoinHandle<()> },
}

impl Peer {
    fn signal(&self, signal: Signal, recorder: &Recorder) {
        match self {
            Self::Process(process) => process.signal(signal),
            Self::Memory { signals, waiting } => {
                if !waiting.is_finished() {
                    recorder.push(Body::Signalled { name: signal.name() });
                    // Nobody listens in a server that knows no signals.
                    let _ = signals.send(signal);
                }
            }
        }
    }

    fn look(&self) {
        if let Self::Process(process) = self {
            process.look();
        }
    }

    /// What ends a server whose output passed a limit.
    fn breach(&self, recorder: Recorder, touched: Arc<Mutex<Touched>>) -> Box<dyn Fn() + Send> {
        match self {
            Self::Process(process) => {
                let killer = process.killer();
                Box::new(move || killer.kill())
            }
            Self::Memory { signals, .. } => {
                let signals = signals.clone();
                Box::new(move || {
                    touched.lock().unwrap_or_else(PoisonError::into_inner).kill = true;
                    recorder.push(Body::Signalled { name: Signal::Kill.name() });
                    // Nobody listens in a server that knows no signals.
                    let _ = signals.send(Signal::Kill);
                })
            }
        }
    }
}

struct Order {
    pieces: Vec<Bytes>,
    written: oneshot::Sender<()>,
}

/// The one writer. Stdin is closed when it ends: at the end of the queue or at the first error.
async fn write(
    stdin: Option<impl AsyncWrite + Send + Unpin>,
    mut orders: mpsc::Receiver<Order>,
    busy: watch::Sender<Option<Instant>>,
    recorder: Recorder,
    limits: Limits,
) {
    // A guard, because an abort ends this task at any await.
    struct Closed(Recorder);
    impl Drop for Closed {
        fn drop(&mut self) {
            self.0.push(Body::StdinClosed);
        }
    }
    let closed = Closed(recorder);
    let Some(mut stdin) = stdin else { return };
    while let Some(order) = orders.recv().await {
        busy.send_replace(Some(Instant::now()));
        for (at, piece) in order.pieces.iter().enumerate() {
            if at > 0 {
                sleep(limits.split).await;
            }
            if stdin.write_all(piece).await.is_err() || stdin.flush().await.is_err() {
                orders.close();
                return;
            }
        }
        busy.send_replace(None);
        // The sender may have given up.
        let _ = order.written.send(());
    }
    // Ahead of what it causes: a process that ends by it must not seem to have ended by itself.
    drop(closed);
    let _ = stdin.shutdown().await;
    drop(stdin);
}

struct Reader {
    recorder: Recorder,
    limits: Limits,
    breach: Box<dyn Fn() + Send>,
}

impl Reader {
    async fn read(self, mut stdout: impl AsyncRead + Unpin, mut stop: watch::Receiver<bool>) {
        let mut splitter = LineSplitter::new(self.limits.wire.bytes);
        let mut buffer = vec![0; 64 * 1024];
        let mut ended = false;
        let breach = loop {
            let read = tokio::select! {
                read = stdout.read(&mut buffer) => read,
                _ = stop.wait_for(|stop| *stop) => break None,
            };
            let Ok(count @ 1..) = read else {
                ended = true;
                break None;
            };
            for line in splitter.push(buffer.get(..count).unwrap_or_default()) {
                self.push(line);
            }
            if splitter.pending() > self.limits.wire.bytes.saturating_add(self.limits.dropped) {
                break Some(format!("stdout: a line of more than {} bytes", splitter.pending()));
            }
            if !self.recorder.within_budget() {
                break Some("stdout: more output than one conversation may keep".to_owned());
            }
        };
        if let Some(line) = splitter.finish() {
            self.push(line);
        }
        if let Some(what) = breach {
            self.recorder.push(Body::Limit { what });
            (self.breach)();
        } else if ended {
            self.recorder.push(Body::StdoutEnded);
        }
    }

    fn push(&self, line: wire::Line) {
        let cut = line.cut.unwrap_or_default();
        let mut raw = line.raw;
        let end = match line.end {
            wire::LineEnd::CrLf => LineEnd::CrLf,
            wire::LineEnd::Eof => LineEnd::Eof,
            wire::LineEnd::Lf => LineEnd::Lf,
        };
        if end == LineEnd::CrLf && cut == 0 && raw.ends_with(b"\r") {
            raw.truncate(raw.len() - 1);
        }
        self.recorder.line(Direction::In, raw, end, cut, Intent::default());
    }
}

/// Cuts bytes at ascending offsets.
pub(super) fn pieces(bytes: &Bytes, split: &[usize]) -> Vec<Bytes> {
    let mut pieces = Vec::with_capacity(split.len() + 1);
    let mut from = 0;
    for at in split.iter().copied().chain([bytes.len()]) {
        if at > from && at <= bytes.len() {
            pieces.push(bytes.slice(from..at));
            from = at;
        }
    }
    pieces
}
