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
    #[error("{} cannot be written: {error}\n  {}", .path.display(), way_out(.path, .flag, .error))]
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

/// What to do about a file that cannot be written.
fn way_out(path: &std::path::Path, flag: &str, error: &std::io::Error) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    match folder.filter(|_| error.kind() == std::io::ErrorKind::NotFound) {
        Some(folder) => format!("make the folder {} first, or give --{flag} another place", folder.display()),
        None => format!("give --{flag} another place"),
    }
}
