//! `mcp-conform`: drives any MCP server, records everything, judges it and tells what it found.
//!
//! One way through the house: drive (`process`, `transport`, `conversation`), trace, judge (`rules`, cases), report.

pub mod rules;
pub mod trace;
pub mod wire;
