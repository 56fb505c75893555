//! Draining an output of a process into the trace, whatever it floods: [`drain`].

use std::collections::VecDeque;

use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    sync::watch,
};

use crate::trace::{Body, Recorder};

/// Bytes of stderr that are kept from its beginning, as they come.
pub const STDERR_HEAD: usize = 64 * 1024;
/// Bytes of stderr that are kept from its end.
pub const STDERR_TAIL: usize = 256 * 1024;

/// An unfinished line is held back up to this size, so that a secret is not torn apart before it is replaced.
const HELD: usize = 16 * 1024;

/// Reads to the end, or until `stop` is set, and keeps the first and the last part.
pub(crate) async fn drain(mut from: impl AsyncRead + Unpin, recorder: Recorder, mut stop: watch::Receiver<bool>) {
    let mut kept = Kept::default();
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = tokio::select! {
            read = from.read(&mut buffer) => read,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        match read {
            Ok(0) | Err(_) => break,
            Ok(count) => kept.push(buffer.get(..count).unwrap_or_default(), &recorder),
        }
    }
    kept.finish(&recorder);
}

#[derive(Default)]
struct Kept {
    /// Bytes that were already told.
    head: usize,
    /// The head is complete: what follows is kept in the tail only.
    full: bool,
    held: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Kept {
    fn push(&mut self, bytes: &[u8], recorder: &Recorder) {
        if self.full {
            return self.keep_last(bytes);
        }
        let room = STDERR_HEAD.saturating_sub(self.head + self.held.len());
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.held.extend_from_slice(first);
        let whole = match self.held.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => at + 1,
            None if self.held.len() >= HELD => self.held.len(),
            None => 0,
        };
        if whole > 0 {
            let left = self.held.split_off(whole);
            let told = std::mem::replace(&mut self.held, left);
            self.head += told.len();
            recorder.stderr(Bytes::from(told));
        }
        if !rest.is_empty() {
            self.full = true;
            let held = std::mem::take(&mut self.held);
            self.keep_last(&held);
            self.keep_last(rest);
        }
    }

    fn keep_last(&mut self, bytes: &[u8]) {
        let skipped = bytes.len().saturating_sub(STDERR_TAIL);
        let bytes = bytes.get(skipped..).unwrap_or_default();
        let over = (self.tail.len() + bytes.len()).saturating_sub(STDERR_TAIL);
        self.tail.drain(..over);
        self.tail.extend(bytes);
        self.dropped = self.dropped.saturating_add((skipped + over) as u64);
    }

    fn finish(self, recorder: &Recorder) {
        if !self.held.is_empty() {
            recorder.stderr(Bytes::from(self.held));
        }
        let mut tail = Vec::from(self.tail);
        let mut dropped = self.dropped;
        if dropped > 0 {
            // The first line of the tail may begin inside a secret.
            let start = tail.iter().take(HELD).position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            tail.drain(..start);
            dropped += start as u64;
            let what = format!("{dropped} bytes of stderr were not kept");
            recorder.push(Body::Limit { what });
        }
        if !tail.is_empty() {
            recorder.stderr(Bytes::from(tail));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        trace::{DEFAULT_BUDGET, Secrets},
        wire::Limits,
    };

    fn recorder(secrets: Secrets) -> Recorder {
        Recorder::new(Arc::new(secrets), Limits::default(), DEFAULT_BUDGET)
    }

    fn stderr(recorder: &Recorder) -> Vec<Bytes> {
        let body = |body: &Body| if let Body::Stderr(bytes) = body { Some(bytes.clone()) } else { None };
        recorder.events(0).iter().filter_map(|event| body(&event.body)).collect()
    }

    #[tokio::test]
    async fn keeps_head_and_tail_of_a_flood() {
        let flood: String = (0..300_000).map(|at| format!("{at:>9}\n")).collect();
        let recorder = recorder(Secrets::default());
        let (_stop, stopped) = watch::channel(false);
        drain(flood.as_bytes(), recorder.clone(), stopped).await;
        let parts = stderr(&recorder);
        let (tail, head) = parts.split_last().unwrap();
        let head = head.concat();
        assert!(head.len() <= STDERR_HEAD && head.len() > STDERR_HEAD - 10, "{}", head.len());
        assert!(tail.len() <= STDERR_TAIL && tail.len() > STDERR_TAIL - 20, "{}", tail.len());
        assert!(flood.as_bytes().starts_with(&head) && flood.as_bytes().ends_with(tail));
        let left = flood.len() - head.len() - tail.len();
        let limit = |body: &Body| matches!(body, Body::Limit { what } if what.starts_with(&format!("{left} bytes")));
        assert!(recorder.events(0).iter().any(|event| limit(&event.body)));
    }

    #[tokio::test]
    async fn a_secret_torn_over_two_reads_is_replaced() {
        let recorder = recorder(Secrets::new([("TOKEN".to_owned(), "s3cret-value".to_owned())]));
        let mut kept = Kept::default();
        kept.push(b"first line\nkey s3cre", &recorder);
        kept.push(b"t-value is bad\nlast", &recorder);
        kept.finish(&recorder);
        let lines = ["first line\n", "key <secret:TOKEN> is bad\n", "last"];
        assert_eq!(stderr(&recorder), lines);
    }
}
