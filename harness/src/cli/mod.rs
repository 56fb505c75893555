//! The command line.

mod about;
mod args;
mod baseline;
mod by_hand;
mod config;
mod differences;
mod doctor;
mod entry;
mod error;
mod explain;
mod fleet;
mod fuzz;
mod init;
mod judge_server;
mod misfits;
mod only;
mod origins;
mod output;
mod plan;
mod replay;
mod report;
mod requirements;
mod shard;
mod show;
mod snapshot;
mod validate;
mod watch;
mod wire;

pub use entry::main;
