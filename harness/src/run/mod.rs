//! A run: probing, learning, playing, folding, reporting.

mod compare;
mod offers;
mod options;
mod probe;
mod results;
mod runner;
mod scout;
mod session;
pub mod surface;
pub(crate) mod survey;

pub use compare::DIFFER;
pub use options::{Excused, HttpTarget, RunOptions, ToolChoice};
pub use results::TOLD_UNDER;
pub(crate) use results::requirement_infos;
pub(crate) use runner::not_accepted;
pub use runner::{Control, Progress, run};
pub(crate) use scout::{Reached, reach};
pub use scout::{Scouted, scout};
pub use session::areas_of;
