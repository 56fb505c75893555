//! Where the inside of a server shows in what it says: stack traces and panics.

use std::sync::LazyLock;

use regex::Regex;

use super::{
    input::Input,
    outcome::{Class, Outcome},
};
use crate::wire::Json;

/// What the server says in its own words: messages of errors, texts of failed calls, bodies that are no message.
pub(super) fn inside(outcome: &Outcome) -> Option<String> {
    let json = outcome.frame.as_ref().and_then(|frame| frame.json.as_ref());
    match outcome.class {
        Class::Error => {
            let error = json?.get("error")?;
            let message = error.get("message").and_then(Json::as_str).unwrap_or_default();
            let data = error.get("data").map(|data| match data.as_str() {
                Some(text) => text.to_owned(),
                None => data.to_string().replace("\\n", "\n"),
            });
            Some(format!("{message}\n{}", data.unwrap_or_default()))
        }
        Class::ToolError => {
            let blocks = json?.pointer("/result/content")?.as_array()?;
            Some(blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect::<Vec<_>>().join("\n"))
        }
        Class::Refusal => outcome.text.as_ref().map(|text| String::from_utf8_lossy(text).into_owned()),
        _ => None,
    }
}

/// The same of an answer. The text of a call that failed may be about code that the tool was asked to look at or to run: there a
/// place of a file alone tells nothing, nor does code that has no file.
pub(super) fn trace_of(outcome: &Outcome) -> Option<String> {
    let trace = trace_in(&inside(outcome)?)?;
    let bare = trace.starts_with('/');
    let given = ["\"<", "evalmachine", "[eval]", "<anonymous>"].iter().any(|part| trace.contains(part));
    (outcome.class != Class::ToolError || !(bare || given)).then_some(trace)
}

/// The place in a program that a text names as a stack trace or a panic does.
pub(super) fn trace_in(text: &str) -> Option<String> {
    static TRACES: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        [
            r"panicked at [^\s:]+:\d+(:\d+)?",
            r#"File "[^"]+", line \d+"#,
            r"\bat [^\n]{0,120}\((?:file://|node:)?[^\s()]+:\d+:\d+\)",
            r"\bat (?:file://|/|[A-Za-z]:\\)[^\s()]+:\d+:\d+",
            r"goroutine \d+ \[[a-z ]+\]",
            r"\bat [\w.$]+\([\w]+\.(?:java|kt|scala):\d+\)",
            r"(?:/[\w.@+-]+){2,}\.(?:js|mjs|cjs|ts|py|rb|php|rs|go|cs|java|kt):\d+",
        ]
        .iter()
        .filter_map(|pattern| Regex::new(pattern).ok())
        .collect()
    });
    TRACES.iter().find_map(|pattern| Some(pattern.find(text)?.as_str().chars().take(200).collect()))
}

/// Whether what is shown was sent by us.
pub(super) fn mentions(input: &Input, text: &str) -> bool {
    serde_json::to_string(input).is_ok_and(|sent| sent.contains(text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_of_programs_are_known_and_paths_alone_are_none() {
        for text in [
            "thread 'main' panicked at src/main.rs:10:5:\nindex out of bounds",
            "Traceback (most recent call last):\n  File \"/app/server.py\", line 12, in call",
            "Error: x\n    at Object.handler (file:///app/dist/index.js:10:13)",
            "Error: x\n    at /app/dist/index.js:10:13",
            "boom in /srv/app/src/tools.ts:44",
        ] {
            assert!(trace_in(text).is_some(), "{text}");
        }
        for text in [
            "ENOENT: no such file or directory, open '/tmp/x'",
            "Access denied - path outside allowed directories: /etc/hosts not in /tmp",
            "at least one of a (see rfc:3986:1) is needed",
            "Invalid cursor",
            "expected 12:30:45",
        ] {
            assert_eq!(trace_in(text), None, "{text}");
        }
    }
}
