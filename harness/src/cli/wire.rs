//! What went over the wire in kept traces, as a person reads it.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use mcp_conform_reports::text;

use super::error::UsageError;
use crate::{
    script::excerpt,
    trace::{self, Body, Direction, Event, FileLimits},
};

/// Events of one conversation that are shown.
const MOST: usize = 200;
/// Characters of one message.
const LONGEST: usize = 2_000;

/// A trace with the name of its file.
pub(super) type Conversation = (String, Vec<Arc<Event>>);

/// The traces of a folder, by name.
pub(super) fn conversations(folder: &Path) -> Result<Vec<Conversation>, UsageError> {
    let entries = fs_err::read_dir(folder).map_err(|error| UsageError::Other(error.to_string()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    files
        .into_iter()
        .map(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let bad = |error: String| UsageError::Other(format!("{}: {error}", file.display()));
            let opened = fs_err::File::open(&file).map_err(|error| bad(error.to_string()))?;
            let mut reader = std::io::BufReader::new(opened);
            let loaded = trace::read(&mut reader, &FileLimits::default()).map_err(|error| bad(error.to_string()))?;
            Ok((name, loaded.events))
        })
        .collect()
}

/// Whether a case spoke in a conversation.
pub(super) fn has_case(events: &[Arc<Event>], case: &str) -> bool {
    events.iter().any(|event| matches!(&event.body, Body::Step(mark) if mark.case == case))
}

/// The handshake and what these cases said and heard; everything where there are none.
pub(super) fn show(events: &[Arc<Event>], cases: &[&str]) -> String {
    let mut out = String::new();
    let mut speaks = true;
    let mut shown = 0;
    let mut left = 0;
    for event in events {
        if let Body::Step(mark) = &event.body {
            let of_case = cases.contains(&mark.case.as_str());
            // What is done before any case is the handshake, or the survey.
            speaks = of_case || mark.case.is_empty() && matches!(mark.step.as_str(), "initialize" | "discover");
            if of_case {
                let subject = if mark.subject.is_empty() { String::new() } else { format!(" ({})", mark.subject) };
                let _ = writeln!(out, "            step {}{}", mark.step, text::clean(&text::bounded(&subject, 200)));
            }
            continue;
        }
        if !(speaks || cases.is_empty()) {
            continue;
        }
        let Some(sign) = sign(event) else { continue };
        let Some(excerpt) = excerpt(event, events) else { continue };
        if shown == MOST {
            left += 1;
            continue;
        }
        shown += 1;
        let mut sign = format!("{:>8.3} {sign} ", event.at.as_secs_f64());
        for line in excerpt.head.iter().chain(Some(&excerpt.text).filter(|text| !text.is_empty())) {
            let _ = writeln!(out, "{sign}{}", text::clean(&text::bounded(line, LONGEST)));
            sign = " ".repeat(11);
        }
    }
    if left > 0 {
        let _ = writeln!(out, "            {} more; --trace DIR keeps all", text::plural(left, "event"));
    }
    out
}

/// Which way it went: nothing for what is told by another event.
fn sign(event: &Event) -> Option<&'static str> {
    match &event.body {
        Body::Line(line) if line.direction == Direction::Out => Some("->"),
        Body::HttpRequest(_) => Some("->"),
        Body::Line(_) | Body::HttpBody(_) | Body::Sse(_) => Some("<-"),
        Body::StdoutEnded | Body::Exited(_) | Body::DeadlinePassed(_) | Body::SseDefect { .. } => Some("--"),
        _ => None,
    }
}
