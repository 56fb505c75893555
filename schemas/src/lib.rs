//! What each MCP revision says about the bytes on the wire.
//!
//! The entry points are [`Revision`], which names the five published revisions, and [`Era`], which groups them by how a
//! conversation works. Requirements live in `mcp-conform-cases`; how to talk to a server lives in `mcp-conform`.

mod cost;
pub mod generate;
mod instance;
mod problem;
mod revision;

pub use instance::{Inconclusive, InstanceSchema, InstanceSchemaError};
pub use problem::Problem;
pub use revision::{Era, ParseRevisionError, Revision};
