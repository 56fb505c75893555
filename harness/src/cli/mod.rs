//! The command line.

mod args;
mod baseline;
mod config;
mod entry;
mod error;
mod init;
mod judge_server;
mod output;
mod plan;
mod report;
mod requirements;
mod show;
mod validate;

pub use entry::main;
