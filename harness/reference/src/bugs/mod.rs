//! Deep bugs: what no scripted case and no rule on scripted traffic reaches, for a fuzzer to find. Unlike a fault, a bug
//! needs a sequence, a rare value or two requests at once, and breaks nothing that the kill table would hold.
//!
//! To add one, write its row in `table.rs`, ask `server.bug(Bug::…)` where the sound server does the right thing, and
//! write its witness in `tests/bugs/`: the shortest sequence that shows it. What a bug remembers lies in a [`Notebook`].

mod notebook;
mod pipe;
mod table;
mod values;

pub(crate) use notebook::{Notebook, Scratch};
pub(crate) use pipe::{begins_with_answer, frames, note, unwanted};
pub use table::{Bug, BugInfo, Era, Shows, UnknownBug, bugs};
pub(crate) use values::{
    backtracking, cursor_overflows, depth, is_astral, odd_charset, odd_escape, odd_traceparent, trace,
};
