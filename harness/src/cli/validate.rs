//! `mcp-conform validate`: JSON from a user held against a type of a revision.

use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
};

use mcp_conform_cases::nearest;
use mcp_conform_schemas::{Problem, Revision, type_names, validate as validate_value};
use serde_json::{Value, json};

use super::{args::ValidateArgs, error::UsageError};

/// The longest file or line that is read.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

pub(crate) fn validate(args: &ValidateArgs) -> Result<u8, UsageError> {
    let revision: Revision = args.revision.parse().map_err(|error: mcp_conform_schemas::ParseRevisionError| {
        UsageError::flag("revision", &args.revision, error.to_string(), "write --revision 2026-07-28, for example")
    })?;
    if let Some(source) = &args.lines {
        return lines(revision, source);
    }
    if args.files.is_empty() {
        return Err(UsageError::Other("nothing to validate\n  name files, or --lines - for standard input".to_owned()));
    }
    check_type(revision, &args.as_type)?;
    let mut valid = true;
    let mut out = io::stdout().lock();
    for path in &args.files {
        let value = read(path)?;
        let problems = problems(revision, &args.as_type, &value)?;
        valid &= problems.is_empty();
        let told = if problems.is_empty() {
            writeln!(out, "{}: a sound {} of {revision}", path.display(), args.as_type)
        } else {
            problems.iter().try_for_each(|problem| {
                let pointer = if problem.pointer.is_empty() { "(whole)" } else { &problem.pointer };
                let requirement = problem.requirement.as_ref().map(|id| format!(" [{id}]")).unwrap_or_default();
                let contested = problem.contested.as_ref().map(|by| format!(" (contested: {by})")).unwrap_or_default();
                writeln!(out, "{}: {pointer}: {}{requirement}{contested}", path.display(), problem.message)
            })
        };
        told.or_else(closed)?;
    }
    Ok(u8::from(!valid))
}

/// One `{"as": TYPE, "value": VALUE}` a line; one answer a line, in order, as soon as it is known.
fn lines(revision: Revision, source: &Path) -> Result<u8, UsageError> {
    let input: Box<dyn Read> = if source == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(fs::File::open(source).map_err(|error| unreadable(source, error))?)
    };
    let mut input = BufReader::new(input);
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut valid = true;
    let mut number = 0_u64;
    loop {
        let mut line = Vec::new();
        let read = (&mut input).take(MOST_BYTES).read_until(b'\n', &mut line);
        if read.map_err(|error| unreadable(source, error))? == 0 {
            break;
        }
        number += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let bad = |reason: String| {
            UsageError::Other(format!("line {number}: {reason}\n  each line is {{\"as\": TYPE, \"value\": VALUE}}"))
        };
        let line: Value = serde_json::from_slice(&line).map_err(|error| bad(error.to_string()))?;
        let name = line.get("as").and_then(Value::as_str).ok_or_else(|| bad("`as` is missing".to_owned()))?;
        let value = line.get("value").ok_or_else(|| bad("`value` is missing".to_owned()))?;
        let found = problems(revision, name, value).map_err(|error| bad(error.to_string()))?;
        valid &= found.is_empty();
        let answer = if found.is_empty() { json!({"valid": true}) } else { json!({"valid": false, "problems": found}) };
        writeln!(out, "{answer}").or_else(closed)?;
    }
    out.flush().or_else(closed)?;
    Ok(u8::from(!valid))
}

fn problems(revision: Revision, name: &str, value: &Value) -> Result<Vec<Problem>, UsageError> {
    validate_value(revision, name, value).map_err(|_| unknown_type(revision, name))
}

fn check_type(revision: Revision, name: &str) -> Result<(), UsageError> {
    if type_names(revision).any(|known| known == name) { Ok(()) } else { Err(unknown_type(revision, name)) }
}

fn unknown_type(revision: Revision, name: &str) -> UsageError {
    let help = match nearest(name, type_names(revision)).first() {
        Some(near) => format!("did you mean {near}?"),
        None => "types have the protocol's own names, such as Tool or ListToolsResult".to_owned(),
    };
    UsageError::flag("as", name, format!("is no type of {revision}"), help)
}

fn read(path: &PathBuf) -> Result<Value, UsageError> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| unreadable(path, error))?;
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, error))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(UsageError::Other(format!("{} is bigger than {MOST_BYTES} bytes", path.display())));
    }
    serde_json::from_slice(&bytes).map_err(|error| UsageError::Other(format!("{} is no JSON: {error}", path.display())))
}

fn unreadable(path: &Path, error: io::Error) -> UsageError {
    UsageError::Unreadable { path: path.to_owned(), error, help: "name a file that can be read".to_owned() }
}

/// A reader that went away has seen enough.
fn closed(error: io::Error) -> Result<(), UsageError> {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Ok(());
    }
    Err(UsageError::Other(format!("standard output: {error}")))
}
