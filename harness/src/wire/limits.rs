//! The bounds that we set on what we read: [`Limits`]. Passing one is never the server's fault, so every reader
//! reports it as [`LimitKind`], apart from its other findings.

use std::fmt;

/// How much of one message is read. The same bounds serve the JSON reader, lines and events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one message, line or event.
    pub bytes: usize,
    /// Arrays and objects inside each other; values above [`MAX_DEPTH`] count as [`MAX_DEPTH`].
    pub depth: usize,
    /// JSON values of one message.
    pub nodes: usize,
    /// Defects of each kind told of one message or stream; of the rest only the existence.
    pub defects: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 16 * 1024 * 1024, depth: 512, nodes: 1_000_000, defects: 100 }
    }
}

/// Depth above which nobody may ask for more. Reading needs no stack, but dropping, cloning, comparing and printing a
/// tree do, and 1,024 levels leave them far from the 2 MiB of a worker thread.
pub const MAX_DEPTH: usize = 1_024;

/// Which bound was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LimitKind {
    Bytes,
    Depth,
    Nodes,
    Defects,
}

impl fmt::Display for LimitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bytes => "bytes",
            Self::Depth => "depth",
            Self::Nodes => "number of values",
            Self::Defects => "number of defects",
        })
    }
}
