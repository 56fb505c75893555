//! The bounds of a transport: [`Limits`]. Passing one is ours, never the server's fault by itself.

use std::time::Duration;

use crate::wire;

/// How much a transport reads, and how long it waits where nobody else does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The bounds of one message: line, body or event.
    pub wire: wire::Limits,
    /// Bytes that are read and dropped beyond a message's bound before the reading stops.
    pub dropped: usize,
    /// Bytes of one event stream.
    pub stream: u64,
    /// Until a message of ours must have been taken by the server's stdin or socket.
    pub write: Duration,
    /// Between the pieces of a split write, so that they are seen apart.
    pub split: Duration,
    /// For what a server leaves behind to end by itself.
    pub settle: Duration,
    /// To connect, TLS included.
    pub connect: Duration,
    /// Until the head of a response: long, because whoever waits for an answer has a deadline of its own.
    pub head: Duration,
    /// Between two pieces of a body that is no event stream.
    pub idle: Duration,
    /// For the whole of a body that is no event stream.
    pub body: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wire: wire::Limits::default(),
            dropped: 64 * 1024 * 1024,
            stream: 256 * 1024 * 1024,
            write: Duration::from_secs(10),
            split: Duration::from_millis(10),
            settle: Duration::from_secs(1),
            connect: Duration::from_secs(10),
            head: Duration::from_secs(300),
            idle: Duration::from_secs(60),
            body: Duration::from_secs(300),
        }
    }
}
