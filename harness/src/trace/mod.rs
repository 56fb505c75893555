//! The record of a conversation: the only truth that anything is judged by.

mod event;
mod recorder;

pub use event::*;
pub use recorder::{DEFAULT_BUDGET, Recorder, Secrets, TimedOut};
