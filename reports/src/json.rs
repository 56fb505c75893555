//! The result file: [`Json`] writes it, [`read`] takes it back.
//!
//! Members may be added within a version, so that a reader skips what it does not know; a file of a later version is
//! refused by name rather than half understood.

use std::io::{self, Read, Write};

use serde::Deserialize;

use crate::model::{Report, Summary, VERSION};
use crate::order;
use crate::render::{Options, Renderer};
use crate::support::Support;

/// A result file beyond this size is not read.
pub const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The JSON Schema of what [`Json`] writes.
pub const SCHEMA: &str = include_str!("../schema/result-1.schema.json");

pub struct Json;

impl Renderer for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn about(&self) -> &'static str {
        "the whole result, for other programs and for `report`"
    }

    fn render(&self, report: &Report, _options: &Options, out: &mut dyn Write) -> io::Result<()> {
        let mut report = report.clone();
        order::sort(&mut report);
        report.summary = Summary::of(&report.results);
        // JSON has no spelling for what is not a finite number.
        for seconds in [&mut report.cost.waited_s, &mut report.cost.took_s] {
            if !seconds.is_finite() {
                *seconds = 0.0;
            }
        }
        serde_json::to_writer_pretty(&mut *out, &report)?;
        out.write_all(b"\n")
    }
}

/// Writes the support report alone.
pub fn support(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Support::of(report))?;
    out.write_all(b"\n")
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("the file cannot be read")]
    Io(#[from] io::Error),
    #[error("the file is larger than {} MiB", MAX_BYTES / 1024 / 1024)]
    TooLarge,
    #[error("not a result file of mcp-conform: {0}")]
    NotAResult(serde_json::Error),
    #[error("a result file of version {found}, this mcp-conform reads up to version {VERSION}: use a newer one")]
    Newer { found: u64 },
    #[error("a result file of version {found}, which never existed")]
    NoSuchVersion { found: u64 },
    #[error("a damaged result file: {0}")]
    Damaged(serde_json::Error),
}

/// Reads a result file from its text.
pub fn read(bytes: &[u8]) -> Result<Report, ReadError> {
    #[derive(Deserialize)]
    struct Head {
        version: u64,
    }
    let Head { version } = serde_json::from_slice(bytes).map_err(ReadError::NotAResult)?;
    if version > u64::from(VERSION) {
        return Err(ReadError::Newer { found: version });
    }
    if version == 0 {
        return Err(ReadError::NoSuchVersion { found: version });
    }
    serde_json::from_slice(bytes).map_err(ReadError::Damaged)
}

/// Reads a result file from a stream, at most [`MAX_BYTES`] of it.
pub fn read_from(source: impl Read) -> Result<Report, ReadError> {
    read(&bounded(source, MAX_BYTES)?)
}

pub(crate) fn bounded(source: impl Read, limit: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    source.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(ReadError::TooLarge) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_files_are_given_up() {
        assert!(matches!(bounded(io::repeat(b' '), 16), Err(ReadError::TooLarge)));
        assert!(bounded(&b"0123456789abcdef"[..], 16).is_ok());
    }
}
