//! What a user did wrong: one clear line and the way out.

use std::path::PathBuf;

/// Ends with exit code 2.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UsageError {
    #[error("no server was named\n  give --server COMMAND, --url URL, or --demo to see a run without a server")]
    NoServer,
    #[error("--{flag} {value}: {reason}\n  {help}")]
    Flag { flag: &'static str, value: String, reason: String, help: String },
    #[error("{} cannot be read: {error}\n  {help}", .path.display())]
    Unreadable { path: PathBuf, error: std::io::Error, help: String },
    #[error("{} cannot be written: {error}\n  give --{flag} another place", .path.display())]
    Unwritable { path: PathBuf, flag: &'static str, error: std::io::Error },
    #[error("{0}")]
    Cases(String),
    #[error("{0}")]
    Other(String),
}

impl UsageError {
    pub(crate) fn flag(
        flag: &'static str,
        value: impl Into<String>,
        reason: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self::Flag { flag, value: value.into(), reason: reason.into(), help: help.into() }
    }
}
