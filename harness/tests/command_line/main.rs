//! The command line from outside: the real binary, with everything that a user or a server can do wrong.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod bad_calls;
mod baseline;
mod comfort;
mod config;
mod demo;
mod ending;
mod explain;
mod fixture;
mod fleet;
mod fuzz;
mod output;
mod report;
mod repro;
mod requirements;
mod secrets;
mod server;
mod snapshot;
mod url;
mod usage;
