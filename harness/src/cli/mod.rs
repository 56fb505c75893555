//! The command line.

mod about;
mod args;
mod by_hand;
mod config;
mod doctor;
mod entry;
mod error;
mod explain;
mod fuzz;
mod init;
mod judge_server;
mod output;
mod plan;
mod replay;
mod report;
mod show;
mod validate;
mod watch;
mod wire;

pub use entry::main;
