//! The command line.

mod args;
mod by_hand;
mod config;
mod entry;
mod error;
mod fuzz;
mod init;
mod judge_server;
mod output;
mod plan;
mod replay;
mod report;
mod show;
mod validate;
mod wire;

pub use entry::main;
