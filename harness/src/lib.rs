//! `mcp-conform`: drives any MCP server, records everything, judges it and tells what it found.
//!
//! One way through the house: drive (`process`, `transport`, `conversation`), trace, judge (`rules`, cases), report.

pub mod cli;
pub mod conversation;
pub mod coverage;
pub mod fuzz;
#[doc(hidden)]
pub mod fuzzing;
pub mod process;
pub mod proof;
pub mod repro;
pub mod rules;
pub mod run;
pub mod script;
pub mod snapshot;
pub mod trace;
pub mod transport;
pub mod wire;
