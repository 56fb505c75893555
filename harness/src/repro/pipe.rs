//! A conversation over stdio as one pipeline: what is said, with pauses, into the server.

use std::{sync::Arc, time::Duration};

use super::{
    choice::{Choice, handed},
    shell::{Variables, printf},
};
use crate::trace::{Body, Direction, Event};

/// What a start may take longer than here.
const START: Duration = Duration::from_secs(1);
/// The shortest pause in which an answer may come.
const LEAST: Duration = Duration::from_millis(300);
const LONGEST: Duration = Duration::from_secs(30);

pub(super) fn pipeline(events: &[Arc<Event>], choice: &Choice<'_>, server: &str) -> String {
    let handed = handed(events, &choice.said);
    let mut variables = Variables::default();
    let mut said: Vec<String> = Vec::new();
    let mut keeps = false;
    let mut open = true;
    for (index, event) in choice.said.iter().enumerate() {
        for known in handed.iter().filter(|known| known.event < event.seq) {
            if !variables.holds(known.value.as_bytes()) {
                let name = format!("v{}", said.len());
                // The last one that came is the one that would be sent back.
                said.push(format!("{name}=$({} \"$o\" | tail -n 1)", cut_out(known.member)));
                variables.set(known.value.as_bytes(), name);
                keeps = true;
            }
        }
        match &event.body {
            Body::Line(line) => said.push(printf(&line.frame.raw, !line.raw, &variables)),
            // The end of the group closes stdin.
            Body::StdinClosed => {
                open = false;
                break;
            }
            _ => continue,
        }
        let allowance = if index == 0 { START } else { Duration::ZERO };
        let pause = match choice.said.get(index + 1) {
            Some(next) => pause(events, event, next).map(|pause| pause + allowance),
            None => Some(choice.wait.max(LEAST) + START),
        };
        said.extend(pause.map(|pause| format!("sleep {:.1}", pause.min(LONGEST).as_secs_f64())));
    }
    let mut line = format!("{{ {}; }} | {server}", said.join("; "));
    if keeps {
        line = format!("o=$(mktemp); {line} | tee \"$o\"; rm -f \"$o\"");
    } else if choice.exit || !open {
        line.push_str("; echo \"ended with $?\"");
    }
    line
}

/// A command that prints the values of a member, one a line.
pub(super) fn cut_out(member: &str) -> String {
    format!("sed -n 's/.*\"{member}\" *: *\"\\([^\"]*\\)\".*/\\1/p'")
}

/// How long to wait before the next message: not at all where both were said at once.
pub(super) fn pause(events: &[Arc<Event>], said: &Event, next: &Event) -> Option<Duration> {
    let between = next.at.saturating_sub(said.at);
    let heard = events.iter().any(|event| {
        let came = match &event.body {
            Body::Line(line) => line.direction == Direction::In,
            Body::HttpResponse(_) | Body::Sse(_) | Body::HttpBody(_) | Body::ExchangeEnded { .. } => true,
            Body::DeadlinePassed(_) | Body::Exited(_) => true,
            _ => false,
        };
        came && event.seq > said.seq && event.seq < next.seq
    });
    // What was waited for in vain was waited for long enough.
    let in_vain = events
        .iter()
        .any(|event| matches!(event.body, Body::DeadlinePassed(_)) && event.seq > said.seq && event.seq < next.seq);
    let pause = if in_vain { between } else { between * 2 };
    (heard || between >= LEAST).then(|| pause.max(LEAST))
}
