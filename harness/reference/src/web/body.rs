//! The bodies of answers: [`Reply`] is a finished text or a stream of events, and [`event`] writes one event.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::AbortHandle;

use crate::faults::Fault;
use crate::json::FIRST_PROGRESS;
use crate::server::Server;
use crate::stdio::contains;

/// What is sent back.
pub(crate) enum Reply {
    Full(Option<Bytes>),
    Events {
        receiver: UnboundedReceiver<Bytes>,
        /// Ends the work when the client has closed the stream.
        _guard: Option<AbortGuard>,
    },
}

impl Reply {
    pub(crate) fn full(text: Vec<u8>) -> Self {
        Self::Full(if text.is_empty() { None } else { Some(text.into()) })
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Full(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Self::Events { receiver, .. } => {
                receiver.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Full(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
            Self::Events { .. } => SizeHint::default(),
        }
    }
}

/// Ends a task when nobody waits for it any more.
pub(crate) struct AbortGuard(pub(crate) AbortHandle);

impl Drop for AbortGuard {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// An event stream.
pub(crate) fn stream(
    server: &Server,
    receiver: UnboundedReceiver<Bytes>,
    guard: Option<AbortGuard>,
) -> Response<Reply> {
    let mut response = Response::new(Reply::Events { receiver, _guard: guard });
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    let kind = if server.has(Fault::AnswersAsPlainText) { "text/plain" } else { "text/event-stream" };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if !server.has(Fault::AccelBufferingMissing) {
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    }
    response
}

/// One event with a message; a message holds no line break, but a fault may have put some in.
pub(crate) fn event(server: &Server, id: Option<&str>, frame: &[u8]) -> Bytes {
    if server.has(Fault::EventWithoutField) && contains(frame, FIRST_PROGRESS.as_bytes()) {
        return [frame, b"\n\n"].concat().into();
    }
    let mut text = Vec::with_capacity(frame.len() + 64);
    if let Some(id) = id {
        text.extend_from_slice(format!("id: {id}\n").as_bytes());
    }
    text.extend_from_slice(b"event: message\n");
    for line in frame.split(|byte| *byte == b'\n') {
        text.extend_from_slice(b"data: ");
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text.push(b'\n');
    text.into()
}
