//! The command line.

mod args;
mod config;
mod entry;
mod error;
mod init;
mod judge_server;
mod plan;
mod show;
mod validate;

pub use entry::main;
