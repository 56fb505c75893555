//! The command line.

mod args;
mod entry;
mod error;
mod judge_server;
mod output;
mod plan;
mod report;
mod show;
mod validate;

pub use entry::main;
