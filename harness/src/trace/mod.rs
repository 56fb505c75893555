//! The record of a conversation: the only truth that anything is judged by.

mod entry;
mod event;
mod file;
mod recorder;

pub use event::*;
#[doc(hidden)]
pub use file::trace_file;
pub use file::{FileLimits, Loaded, TRACE_VERSION, TraceFileError, TraceFileErrorKind, append, header, read, write};
pub use recorder::{DEFAULT_BUDGET, Recorder, Secrets, TimedOut};
