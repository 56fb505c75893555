//! What stands on stdout: nothing but messages, and each on one line of its own.
//!
//! A line that is no message is one violation, of one requirement: lines that together make up one message broke the
//! framing, and so did messages that follow each other on one line; anything else is foreign. Arrays are left to `framing`, the members of an object to `envelope`.

use mcp_conform_schemas::{Era, Revision};

use super::{Breach, Context, Row, Rule, Shape, Verdicts, register::Definition, seen::clip};
use crate::{
    trace::{Body, Direction, Event, Line, LineEnd},
    wire::{Frame, Json, Message, NotAMessage, printable},
};

static PURE: Row = Row::both("stdio-stdout-only-messages", Revision::V2024_11_05, "stdio-stdout-only-mcp");
static ONE_LINE: Row = Row::both("stdio-no-embedded-newlines", Revision::V2024_11_05, "stdio-one-message-per-line");

static TERMINATED: Row = Row::legacy("stdio-messages-terminated", Revision::V2024_11_05);

pub(super) static DEFINITION: Definition = Definition {
    name: "stdout",
    title: "stdout holds messages and nothing else",
    about: "Each line of stdout is read as JSON. Lines that are no JSON by themselves are kept until their braces \
            balance: if they then read as one message, the message was spread over lines; if not, each is foreign text. \
            Messages that stand on one line have no newline between them. A blank line warns. A last line that was cut off by the end of the process is not judged.",
    rows: &[PURE, ONE_LINE, TERMINATED],
    make: || Box::new(Stdout::default()),
};

/// Bytes and lines of a message spread over lines that are kept to find its end.
const MOST_BYTES: usize = 1024 * 1024;
const MOST_LINES: usize = 20_000;

#[derive(Default)]
struct Stdout {
    pieces: Pieces,
}

/// Lines that may turn out to be parts of one message.
#[derive(Default)]
struct Pieces {
    lines: Vec<(u64, String)>,
    bytes: usize,
    depth: i64,
    in_string: bool,
    escaped: bool,
}

impl Rule for Stdout {
    fn observe(&mut self, event: &Event, context: &Context, out: &mut Verdicts) {
        match &event.body {
            Body::Line(line) if line.direction == Direction::In => self.line(event, line, context, out),
            Body::StdoutEnded | Body::Exited(_) => self.foreign(context, out),
            _ => {}
        }
    }

    fn finish(&mut self, context: &Context, out: &mut Verdicts) {
        self.foreign(context, out);
    }
}

impl Stdout {
    fn line(&mut self, event: &Event, line: &Line, context: &Context, out: &mut Verdicts) {
        let frame = &line.frame;
        let text = String::from_utf8_lossy(&frame.raw);
        let text = text.trim();
        if is_wide(&frame.raw) {
            return;
        }
        match (&frame.json, &frame.message) {
            _ if frame.is_unread() || line.cut > 0 => {}
            (_, Message::NotAMessage(NotAMessage::Blank)) if self.pieces.is_empty() => {
                if line.end != LineEnd::Eof {
                    let breach = Breach::new(event.seq, "", "a blank line on stdout").warning();
                    out.check(&PURE, context, Some(breach));
                }
            }
            (Some(json), _)
                if Shape::of(json).is_message() || (json.as_array().is_some() && self.pieces.is_empty()) =>
            {
                self.foreign(context, out);
                out.occasion(&PURE, context);
                out.occasion(&ONE_LINE, context);
                out.occasion(&TERMINATED, context);
            }
            _ if line.end == LineEnd::Eof && (text.starts_with('{') || context.ended_by_us().is_some()) => {
                self.pieces = Pieces::default();
            }
            (json, _) if !self.pieces.is_empty() || (json.is_none() && text.starts_with('{') && unclosed(frame)) => {
                self.piece(event.seq, text, context, out);
            }
            (None, _) if are_messages(text) => {
                let breach = Breach::new(event.seq, "", "messages follow each other without a newline between them");
                out.check(if context.era() == Era::Legacy { &TERMINATED } else { &ONE_LINE }, context, Some(breach));
            }
            _ => {
                let text = printable(frame.raw.trim_ascii());
                out.check(&PURE, context, Some(foreign(event.seq, &text)));
            }
        }
    }

    fn piece(&mut self, seq: u64, text: &str, context: &Context, out: &mut Verdicts) {
        self.pieces.add(seq, text);
        if self.pieces.is_whole() {
            if self.pieces.is_message() {
                let first = self.pieces.lines.first().map_or(seq, |(seq, _)| *seq);
                let count = self.pieces.lines.len();
                let message = format!("one message is spread over {count} lines");
                out.check(&ONE_LINE, context, Some(Breach::new(first, "", message)));
                self.pieces = Pieces::default();
            } else {
                self.foreign(context, out);
            }
        } else if self.pieces.bytes > MOST_BYTES || self.pieces.lines.len() > MOST_LINES {
            self.foreign(context, out);
        }
    }

    /// The kept lines belong to no message.
    fn foreign(&mut self, context: &Context, out: &mut Verdicts) {
        for (seq, text) in std::mem::take(&mut self.pieces).lines {
            if !text.is_empty() {
                out.check(&PURE, context, Some(foreign(seq, &text)));
            }
        }
    }
}

impl Pieces {
    fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    fn add(&mut self, seq: u64, text: &str) {
        self.bytes += text.len();
        for char in text.chars() {
            match char {
                _ if self.escaped => self.escaped = false,
                '\\' if self.in_string => self.escaped = true,
                '"' => self.in_string = !self.in_string,
                '{' | '[' if !self.in_string => self.depth += 1,
                '}' | ']' if !self.in_string => self.depth -= 1,
                _ => {}
            }
        }
        self.lines.push((seq, text.to_owned()));
    }

    fn is_whole(&self) -> bool {
        self.depth <= 0 && !self.in_string
    }

    /// Whether the lines make one message, with the line feeds as white space or as characters of a string.
    fn is_message(&self) -> bool {
        let join = |with: &str| {
            let lines: Vec<&str> = self.lines.iter().map(|(_, text)| text.as_str()).collect();
            Json::parse(lines.join(with).as_bytes()).is_ok_and(|json| Shape::of(&json).is_message())
        };
        join("\n") || join("\\n")
    }
}

fn foreign(seq: u64, text: &str) -> Breach {
    Breach::new(seq, "", format!("a line on stdout that is no message: {}", clip(text)))
}

/// Whether a line is made of several messages and nothing else.
fn are_messages(text: &str) -> bool {
    let mut from = 0;
    let mut scan = Pieces::default();
    let mut count = 0;
    for (at, char) in text.char_indices() {
        let end = at + char.len_utf8();
        scan.add(0, char.encode_utf8(&mut [0; 4]));
        if !scan.is_whole() || char.is_whitespace() {
            continue;
        }
        let piece = text.get(from..end).unwrap_or_default();
        if !Json::parse(piece.trim().as_bytes()).is_ok_and(|json| Shape::of(&json).is_message()) {
            return false;
        }
        count += 1;
        from = end;
        scan = Pieces::default();
    }
    count > 1 && text.get(from..).unwrap_or_default().trim().is_empty()
}

/// The bytes could be the start of an object that goes on in the next line.
fn unclosed(frame: &Frame) -> bool {
    let mut pieces = Pieces::default();
    pieces.add(0, &String::from_utf8_lossy(&frame.raw));
    !pieces.is_whole()
}

/// Whether text is UTF-16 or UTF-32: a matter of encoding, which `framing` tells.
pub(super) fn is_wide(raw: &[u8]) -> bool {
    raw.starts_with(&[0xff, 0xfe]) || raw.starts_with(&[0xfe, 0xff]) || {
        let zeros = raw.iter().take(64).filter(|byte| **byte == 0).count();
        zeros * 3 > raw.len().min(64) && (raw.starts_with(b"{\0") || raw.starts_with(b"\0{"))
    }
}
