//! A Model Context Protocol server of both revisions, written for being broken. Sound by default; with one [`Fault`] it
//! breaks exactly one thing, which a judge has to find. It reads and writes the protocol with code of its own, so that
//! a misreading on the judge's side is not shared.
//!
//! [`serve_stdio`] serves one pair of pipes, [`HttpServer`] any number of connections; [`Config`] says how, and
//! [`faults`] lists what can be broken, [`bugs`] what only a fuzzer finds. [`main_with_args`] is the command line.

mod arguments;
mod bugs;
mod call;
mod cli;
mod config;
mod faults;
mod features;
mod forms;
mod json;
mod legacy;
mod logging;
mod modern;
mod process;
mod prompts;
mod resources;
mod seal;
mod server;
mod session;
mod stdio;
mod tasks;
mod tools;
mod web;

pub use bugs::{Bug, BugInfo, Era, Shows, UnknownBug, bugs};
pub use cli::main_with_args;
pub use config::{AnswerForm, Config, Eras, LEGACY_VERSIONS, Tier, Transport};
pub use faults::{Fault, FaultInfo, Faults, Requirement, UnknownFault, faults};
pub use stdio::{ExitStatus, serve_stdio};
pub use web::{ENDPOINT, HttpServer};
