//! The proof of every check: the reference server in memory, sound and broken, judged like any other server.

mod kill;
mod memory;

pub use kill::{Findings, Outcome, Row, Suite};
pub use memory::{http_target, stdio_target};
