//! Fuzzing of live servers: sequences of messages, kept by what they make the server show, held against every rule of the
//! suite and against what needs no sentence (a death, a hang, a leak).
//!
//! [`fuzz`] runs a campaign. An [`Input`] is a sequence; `seeds` makes the first ones of what the server offers and of the
//! case scripts, `mutate` the others, `play` plays them, `states` keeps what reached something new, `oracle` says what is
//! held against the server, `investigate` looks for it again, makes it small and writes it down.

mod campaign;
mod dice;
#[cfg(test)]
mod fairness;
mod finding;
mod growth;
mod habits;
mod input;
mod inside;
mod intake;
mod investigate;
mod island;
mod known;
mod lane;
mod marks;
mod mutate;
mod odd;
mod options;
mod oracle;
mod outcome;
mod place;
mod play;
mod replay;
mod report;
mod script;
mod seeds;
mod sequence;
mod shrink;
mod states;
mod store;
mod sweep;
mod target;
mod values;
mod watch;
mod weigh;

pub use crate::conversation::in_memory;
pub use campaign::fuzz;
pub use dice::Dice;
pub use finding::Finding;
pub use input::{Act, Input, Message, Step};
pub use mutate::Workshop;
pub use options::{FuzzControl, FuzzError, FuzzOptions, FuzzOutcome, Status, counts_as_finding};
pub use oracle::{Kind, Suspicion};
pub use replay::{Replayed, replay};
pub use seeds::Ground;
pub use store::{Store, StoreError, findings, inputs};
pub use target::Target;
