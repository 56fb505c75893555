//! The passive judges: small state machines that are fed every event of every conversation, live or from a file.
//!
//! [`judge`] folds a whole trace, [`Judge`] does the same event by event; both hand back one [`Observation`] for each
//! requirement that had an occasion. [`rules`] is the register. What a rule may know beyond the event is in [`Context`],
//! which is kept once for all of them. Cases, which provoke and then expect, are judged elsewhere.

mod answers;
mod binary;
mod bounded;
mod context;
mod direction;
mod envelope;
mod errors;
mod framing;
mod http;
mod ids;
mod judge;
mod judge_files;
mod meta;
mod own;
mod progress;
#[cfg(test)]
pub(crate) mod proofs;
#[cfg(test)]
mod proofs_binary;
#[cfg(test)]
mod proofs_interim;
#[cfg(test)]
mod proofs_names;
#[cfg(test)]
mod proofs_schema;
#[cfg(test)]
mod proofs_streams;
mod register;
mod request;
mod schema;
mod seen;
mod sse;
mod stdout;
mod subscriptions;
#[cfg(test)]
pub(crate) mod testing;
mod tool_names;
mod tool_schemas;
mod verdicts;

pub use context::Context;
pub use judge::{Judge, judge};
pub use judge_files::{JudgeFileError, Judged, judge_file};
pub use own::{OwnFault, own_faults};
pub use register::{Rule, RuleInfo, rules};
pub use request::{ExchangeState, Request, RequestKey};
pub use seen::{Answer, Likeness, Seen, Shape};
pub use verdicts::{Breach, MAX_VIOLATIONS, Observation, Outcome, Row, Told, Verdicts, Violation};
