//! The command line.

mod args;
mod baseline;
mod config;
mod entry;
mod error;
mod fleet;
mod fuzz;
mod init;
mod judge_server;
mod output;
mod plan;
mod report;
mod requirements;
mod shard;
mod show;
mod validate;

pub use entry::main;
