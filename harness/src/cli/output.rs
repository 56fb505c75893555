//! Where reports go: standard output or files, checked before the work begins and written whole.

use std::{
    fs::{File, OpenOptions},
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

use mcp_conform_reports::render::Options;

use super::error::UsageError;

/// An output that cannot be written is an error before the run, not after it.
pub(super) fn check_writable(path: &Path, flag: &'static str) -> Result<(), UsageError> {
    let unwritable = |error| UsageError::Unwritable { path: path.to_owned(), flag, error };
    let known = std::fs::metadata(path).ok();
    let existed = known.is_some();
    // A pipe that nobody reads would be waited for without end, and a device takes no report.
    if known.is_some_and(|known| !known.is_file()) {
        return Err(unwritable(io::Error::other("it is there and is no file")));
    }
    OpenOptions::new().create(true).append(true).open(path).map_err(unwritable)?;
    if !existed {
        // Only the proof was wanted; an empty report must not lie about if the run is killed.
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

/// Writes one report to a file, or to standard output as it is.
pub(super) fn write(
    path: Option<&Path>,
    flag: &'static str,
    options: Options,
    render: impl FnOnce(&Options, &mut dyn Write) -> io::Result<()>,
) -> Result<(), UsageError> {
    match path {
        Some(path) => {
            let unwritable = |error| UsageError::Unwritable { path: path.to_owned(), flag, error };
            // What a link leads to is written, not the link.
            let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
            // Written beside and moved, so that a reader never sees half a report; who may read it stays as it was.
            let part = part_of(path);
            let mut file = io::BufWriter::new(File::create(&part).map_err(unwritable)?);
            render(&options, &mut file).and_then(|()| file.flush()).map_err(unwritable)?;
            if let Ok(known) = std::fs::metadata(path) {
                std::fs::set_permissions(&part, known.permissions()).map_err(unwritable)?;
            }
            std::fs::rename(&part, path).map_err(unwritable)
        }
        None => {
            let mut out = anstream::AutoStream::auto(io::stdout());
            let styled = out.current_choice() != anstream::ColorChoice::Never && io::stdout().is_terminal();
            let options = Options { styled, width: terminal_width(), ..options };
            match render(&options, &mut out).and_then(|()| out.flush()) {
                // A pager that was closed has seen enough.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                other => other.map_err(|error| UsageError::Other(format!("standard output: {error}"))),
            }
        }
    }
}

/// Writes to standard output; a closed pipe is no error.
pub(super) fn print(text: &str) -> Result<u8, UsageError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(UsageError::Other(format!("standard output: {error}")))
        }
        _ => Ok(0),
    }
}

fn part_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".part");
    path.with_file_name(name)
}

fn terminal_width() -> usize {
    const WIDEST: usize = 120;
    let columns = if io::stdout().is_terminal() { console_width() } else { None };
    columns.unwrap_or(100).clamp(60, WIDEST)
}

fn console_width() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}
