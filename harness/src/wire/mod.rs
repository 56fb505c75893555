//! Reading what a server wrote, byte for byte, without losing anything that a common parser hides.
//!
//! [`LineSplitter`] cuts stdout into lines and [`SseDecoder`] cuts an event stream into events; [`Frame::read`] reads
//! one JSON-RPC message from either, over the strict [`Json`] tree. Nothing here fails or panics on any input:
//! oddities are kept as defects with byte offsets, and what only our own [`Limits`] prevent is told apart from what
//! the server did wrong. Whether a defect breaks a requirement is left to the rules.

mod fault;
mod frame;
#[doc(hidden)]
pub mod fuzzing;
mod id;
mod json;
mod limits;
mod lines;
mod number;
mod printable;
mod reader;
mod scan;
mod sse;

pub use fault::{JsonError, JsonErrorKind, Reading, Remark, RemarkKind};
pub use frame::{Defect, DefectKind, Frame, Message, NotAMessage};
pub use id::Id;
pub use json::{Json, JsonKind, Member, Span};
pub use limits::{LimitKind, Limits, MAX_DEPTH};
pub use lines::{Line, LineEnd, LineSplitter};
pub use number::Number;
pub use printable::{escaped, printable};
pub use sse::{RetryField, SseDecoder, SseDefect, SseDefectKind, SseEvent, SseItem};
