//! The command line.

mod args;
mod entry;
mod error;
mod judge_server;
mod plan;
mod show;
mod validate;

pub use entry::main;
