//! Server processes: started without a shell, watched, and ended with everything that they started.
//!
//! [`CommandSpec`] says what to start, [`spawn`] starts it and [`Process`] owns it. stderr is always drained into the
//! trace. What is written to stdin and read from stdout is left to the transports.

mod command;
mod drain;
mod owned;
mod registry;
#[cfg_attr(not(target_os = "linux"), path = "tree_elsewhere.rs")]
mod tree;

pub use command::{CommandError, CommandSpec, StartError, StartErrorKind};
pub(crate) use drain::drain;
pub use drain::{STDERR_HEAD, STDERR_TAIL};
pub use owned::{Killer, Process, Signal, Spawned, spawn, spawn_without_stdin};
pub use registry::{begin, end_all, living, starts};
pub(crate) use tree::MARK;
pub use tree::become_subreaper;
