//! Moving bytes: what goes out is told to the trace, and so is all that comes back.
//!
//! [`Stdio`] talks to a process, [`HttpClient`] to an HTTP origin. Nobody gets an answer from a transport: whoever waits
//! for one waits for an event of the [`Recorder`](crate::trace::Recorder). [`Served`] owns an HTTP server that a command
//! starts, and [`diagnose`] says what is wrong with a target that does not answer. Sessions, headers that mirror a body
//! and everything else with a meaning is left to the conversation.

mod answer;
mod connect;
mod diagnose;
mod http;
mod incoming;
mod limits;
mod serve;
mod stdio;
mod tls;

pub use answer::{Answer, Piece};
pub use connect::{BoxedIo, Connector, Endpoint, EndpointError, Io};
pub use diagnose::{Diagnosis, diagnose, diagnose_serve, diagnose_start};
pub use http::{HttpCall, HttpClient};
pub use limits::Limits;
pub use serve::{ServeError, Served};
pub use stdio::{EndedBy, Ending, Grace, Stdio, WriteError};
pub use tls::{TlsError, TlsOptions};
