//! What each MCP revision says about the bytes on the wire.
//!
//! The entry points are [`Revision`], which names the five published revisions, and [`Era`], which groups them by how a
//! conversation works; [`validate`], which judges a value by a type of a revision, and [`message_type`], which says which
//! type a message has; [`occasions`], which says which catalogue rows a value gives an occasion; [`InstanceSchema`], which judges by a schema that a server wrote, and [`generate`], which makes
//! values from it. Requirements live in `mcp-conform-cases`; how to talk to a server lives in `mcp-conform`.

mod cost;
pub mod generate;
mod instance;
mod methods;
mod occasions;
mod problem;
mod protocol;
mod revision;

pub use instance::{Inconclusive, InstanceSchema, InstanceSchemaError};
pub use methods::{Direction, MessageKind, message_type, methods};
#[doc(hidden)]
pub use occasions::takes;
pub use occasions::{occasions, rows_within};
pub use problem::Problem;
pub use protocol::{UnknownType, rows, type_names, type_schema, validate};
pub use revision::{Era, ParseRevisionError, Revision};
