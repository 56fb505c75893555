//! Plays case scripts against a server and says what they saw.

mod checks;
mod evidence;
mod judging;
mod needs;
mod player;
mod retry;
mod seeing;
mod stage;
mod steps;
mod subjects;
mod values;
mod verdict;

pub use checks::{CheckInfo, checks};
pub use evidence::{Sources, evidence, excerpt};
pub use judging::each_requirement;
pub use needs::{Ground, Unmet, meet};
pub use player::play;
pub use stage::{Lease, LeaseError, Pool, Stage};
pub use values::{Unset, Values};
pub use verdict::{CaseOutcome, CaseVerdict, Word};
