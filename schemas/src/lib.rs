//! What each MCP revision says about the bytes on the wire.
//!
//! The entry points are [`Revision`], which names the five published revisions, and [`Era`], which groups them by how a
//! conversation works. Requirements live in `mcp-conform-cases`; how to talk to a server lives in `mcp-conform`.

mod revision;

pub use revision::{Era, ParseRevisionError, Revision};
