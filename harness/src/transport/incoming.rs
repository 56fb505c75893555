//! What comes back for one HTTP request, told to the trace: [`Incoming`].

use bytes::BytesMut;

use super::{Limits, answer::excerpt};
use crate::{
    trace::{Body, Exchange, ExchangeEnd, Headers, Recorder, SseMessage},
    wire::{SseDecoder, SseDefectKind, SseEvent, SseItem},
};

/// Takes head and data of an answer and pushes the events that they make.
pub(super) struct Incoming {
    recorder: Recorder,
    limits: Limits,
    exchange: Exchange,
    state: State,
}

enum State {
    Head,
    Whole { status: u16, body: BytesMut, cut: usize },
    Stream { decoder: Box<SseDecoder>, taken: u64 },
}

impl Incoming {
    pub(super) fn new(recorder: Recorder, limits: Limits, exchange: Exchange) -> Self {
        Self { recorder, limits, exchange, state: State::Head }
    }

    pub(super) fn head(&mut self, status: u16, headers: Headers) {
        let stream = headers.media_type().is_some_and(|media_type| media_type == "text/event-stream");
        self.recorder.http_response(self.exchange, status, headers);
        self.state = if stream {
            State::Stream { decoder: Box::new(SseDecoder::new(self.limits.wire)), taken: 0 }
        } else {
            State::Whole { status, body: BytesMut::new(), cut: 0 }
        };
    }

    /// Whether a head has come.
    pub(super) fn began(&self) -> bool {
        !matches!(self.state, State::Head)
    }

    pub(super) fn is_stream(&self) -> bool {
        matches!(self.state, State::Stream { .. })
    }

    /// An error is how the exchange has to end.
    pub(super) fn data(&mut self, data: &[u8]) -> Result<(), ExchangeEnd> {
        match &mut self.state {
            State::Head => {}
            State::Whole { body, cut, .. } => {
                let room = self.limits.wire.bytes.saturating_sub(body.len()).min(data.len());
                body.extend_from_slice(data.get(..room).unwrap_or_default());
                *cut += data.len() - room;
                if *cut > self.limits.dropped {
                    let all = body.len() + *cut;
                    return Err(ExchangeEnd::Limit(format!("a body of more than {all} bytes")));
                }
            }
            State::Stream { decoder, taken } => {
                *taken += data.len() as u64;
                let taken = *taken;
                for item in decoder.push(data) {
                    self.item(item);
                }
                if taken > self.limits.stream {
                    return Err(ExchangeEnd::Limit(format!("an event stream of more than {taken} bytes")));
                }
            }
        }
        if self.recorder.within_budget() {
            Ok(())
        } else {
            Err(ExchangeEnd::Limit("more output than one conversation may keep".to_owned()))
        }
    }

    /// The answer is whole.
    pub(super) fn complete(mut self) -> ExchangeEnd {
        match std::mem::replace(&mut self.state, State::Head) {
            State::Head => {}
            State::Whole { status, body, cut } => {
                self.recorder.http_body(self.exchange, status, body.freeze(), cut);
            }
            State::Stream { decoder, .. } => self.rest(*decoder),
        }
        ExchangeEnd::Complete
    }

    /// The connection broke. A body that is not whole is no event: it would be judged as if the server had meant it so.
    pub(super) fn broken(mut self, why: String) -> ExchangeEnd {
        match std::mem::replace(&mut self.state, State::Head) {
            State::Head => ExchangeEnd::Failed(why),
            State::Whole { body, .. } if body.is_empty() => ExchangeEnd::Failed(why),
            State::Whole { body, .. } => ExchangeEnd::Failed(format!("{why}; the body began with {}", excerpt(&body))),
            State::Stream { decoder, .. } => {
                self.rest(*decoder);
                ExchangeEnd::Failed(why)
            }
        }
    }

    fn rest(&self, mut decoder: SseDecoder) {
        for item in decoder.finish() {
            self.item(item);
        }
    }

    fn item(&self, item: SseItem) {
        let exchange = self.exchange;
        match item {
            SseItem::Event(event) => self.event(event),
            SseItem::Comment(text) => {
                self.recorder.sse_comment(exchange, text);
            }
            SseItem::Defect(defect) => match defect.kind {
                SseDefectKind::BadRetry
                | SseDefectKind::InvalidUtf8
                | SseDefectKind::JsonOutsideData
                | SseDefectKind::NulInId => {
                    let message = format!("{} (byte {} of the stream)", defect.message, defect.offset);
                    self.recorder.push(Body::SseDefect { exchange, message });
                }
                SseDefectKind::OurLimit(kind) => {
                    self.recorder.push(Body::Limit { what: format!("event stream of exchange {exchange}: {kind}") });
                }
                // Odd, but allowed by the format; the end inside a block is told by the event itself.
                SseDefectKind::ByteOrderMark
                | SseDefectKind::RepeatedField
                | SseDefectKind::UnknownField
                | SseDefectKind::Unterminated => {}
            },
        }
    }

    fn event(&self, event: SseEvent) {
        let cut = event.cut.unwrap_or_default();
        let message = SseMessage {
            exchange: self.exchange,
            event: event.event,
            id: event.id,
            retry: event.retry.map(|retry| retry.raw),
            data: event.data,
            frame: None,
            unterminated: !event.terminated,
        };
        self.recorder.sse_cut(message, cut);
    }
}
