//! Values of the wire, made, counted and written for people: the order of members and the spelling of numbers stay, one
//! line a leaf, and what nobody can see is spelled out.

use std::fmt::Write as _;

use mcp_conform_reports::text::Escaper;
use serde_json::Value;

use crate::wire::{Frame, Json, JsonKind, Member, Span};

const NOWHERE: Span = Span { start: 0, end: 0 };

pub(super) fn text(text: impl Into<Box<str>>) -> Json {
    Json { kind: JsonKind::String(text.into()), span: NOWHERE }
}

pub(super) fn object(members: impl IntoIterator<Item = (String, Json)>) -> Json {
    let member = |(name, value): (String, Json)| Member { name: name.into(), name_span: NOWHERE, value };
    Json { kind: JsonKind::Object(members.into_iter().map(member).collect()), span: NOWHERE }
}

pub(super) fn array(items: Vec<Json>) -> Json {
    Json { kind: JsonKind::Array(items), span: NOWHERE }
}

/// A value of ours in the form of the wire.
pub(super) fn of_value(value: &Value) -> Json {
    // What the one prints the other reads; only limits of ours could keep it from that.
    Json::parse(value.to_string().as_bytes()).unwrap_or_else(|_| text(value.to_string()))
}

/// The members of an object; none of anything else.
pub(super) fn members(json: &Json) -> &[Member] {
    json.as_object().unwrap_or_default()
}

/// The message of a frame. A text that no reader could take as it stood is given as it was spelled, so that two of them
/// differ where their bytes do.
pub(super) fn exact(frame: &Frame) -> Option<Json> {
    let mut json = frame.json.clone()?;
    if frame.raw.contains(&b'\\') || std::str::from_utf8(&frame.raw).is_err() {
        spell(&mut json, &frame.raw);
    }
    Some(json)
}

fn spell(json: &mut Json, raw: &[u8]) {
    match &mut json.kind {
        JsonKind::String(text) if text.contains('\u{FFFD}') => {
            let bytes = raw.get(json.span.start + 1..json.span.end.saturating_sub(1)).unwrap_or_default();
            let lost = std::str::from_utf8(bytes).is_err()
                || bytes.windows(3).any(|three| matches!(three, [b'\\', b'u', b'd' | b'D']));
            if lost {
                let spelled: String = bytes.utf8_chunks().fold(String::new(), |mut out, chunk| {
                    out.push_str(chunk.valid());
                    for byte in chunk.invalid() {
                        // Writing to a string cannot fail.
                        let _ = write!(out, "\\x{byte:02X}");
                    }
                    out
                });
                *text = spelled.into();
            }
        }
        JsonKind::Array(items) => items.iter_mut().for_each(|item| spell(item, raw)),
        JsonKind::Object(members) => members.iter_mut().for_each(|member| spell(&mut member.value, raw)),
        _ => {}
    }
}

/// How many values stand in it that hold no others. Empty arrays and objects count: what is in them later is a change.
pub fn leaves(json: &Json) -> u64 {
    match &json.kind {
        JsonKind::Array(items) if !items.is_empty() => items.iter().map(leaves).sum(),
        JsonKind::Object(members) if !members.is_empty() => members.iter().map(|member| leaves(&member.value)).sum(),
        _ => 1,
    }
}

/// JSON text on several lines, one a leaf.
pub fn pretty(json: &Json) -> String {
    let mut out = String::new();
    write(json, 0, &mut out);
    out
}

/// The same with a line feed at its end: a file.
pub fn pretty_text(json: &Json) -> String {
    let mut out = pretty(json);
    out.push('\n');
    out
}

fn write(json: &Json, depth: usize, out: &mut String) {
    let line = |depth: usize, out: &mut String| {
        out.push('\n');
        (0..depth).for_each(|_| out.push_str("  "));
    };
    match &json.kind {
        JsonKind::Array(items) if !items.is_empty() => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                line(depth + 1, out);
                write(item, depth + 1, out);
            }
            line(depth, out);
            out.push(']');
        }
        JsonKind::Object(members) if !members.is_empty() => {
            out.push('{');
            for (index, member) in members.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                line(depth + 1, out);
                quote(&member.name, out);
                out.push_str(": ");
                write(&member.value, depth + 1, out);
            }
            line(depth, out);
            out.push('}');
        }
        JsonKind::String(text) => quote(text, out),
        _ => {
            // Writing to a string cannot fail.
            let _ = write!(out, "{json}");
        }
    }
}

/// A JSON text in which everything can be seen: what has no shape, or changes how its neighbours look, is escaped. A
/// reader of JSON gets the same text.
pub(super) fn quote(text: &str, out: &mut String) {
    let mut escaper = Escaper::default();
    let mut shown = String::new();
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            ' '..='~' => {
                // Marks that follow have a base.
                shown.clear();
                escaper.push(c, &mut shown);
                out.push(c);
            }
            _ => {
                shown.clear();
                escaper.push(c, &mut shown);
                if shown.chars().eq([c]) {
                    out.push(c);
                } else {
                    for unit in c.encode_utf16(&mut [0; 2]) {
                        // Writing to a string cannot fail.
                        let _ = write!(out, "\\u{unit:04x}");
                    }
                }
            }
        }
    }
    out.push('"');
}

/// The tokens of a JSON Pointer.
pub(super) fn tokens(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")).collect()
}

/// One token as it stands in a JSON Pointer, behind its slash.
pub(super) fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    pointer.push_str(&token.replace('~', "~0").replace('/', "~1"));
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::wire::Limits;

    #[test]
    fn order_spelling_and_duplicates_stay() {
        let text = r#"{"b":1.50e+3,"a":[],"c":{"x":-0,"x":10000000000000000000000001},"d":{}}"#;
        let json = Json::parse(text.as_bytes()).unwrap();
        let shown = pretty(&json);
        assert_eq!(Json::parse(shown.as_bytes()).unwrap().to_string(), text);
        assert!(shown.contains("\n  \"b\": 1.50e+3,\n  \"a\": [],\n"), "{shown}");
        assert_eq!(leaves(&json), 5);
    }

    #[test]
    fn what_cannot_be_seen_is_spelled_and_read_back() {
        for text in ["a\u{200B}b", "\u{202E}evil", "tag\u{E0041}", "bell\u{7}", "é ü 漢 ‹time›", "e\u{301}"] {
            let mut out = String::new();
            quote(text, &mut out);
            assert_eq!(Json::parse(out.as_bytes()).unwrap().as_str(), Some(text), "{out}");
        }
        let mut out = String::new();
        quote("a\u{200B}\u{E0041}b", &mut out);
        assert_eq!(out, r#""a\u200b\udb40\udc41b""#);
    }

    #[test]
    fn texts_that_cannot_be_read_differ_where_their_bytes_do() {
        let of = |raw: &'static [u8]| {
            let frame = Frame::read(Bytes::from_static(raw), &Limits::default());
            exact(&frame).unwrap().to_string()
        };
        assert_ne!(of(br#"{"a":"\ud800"}"#), of(br#"{"a":"\ud801"}"#));
        assert_ne!(of(b"{\"a\":\"x\xFFy\"}"), of(b"{\"a\":\"x\xFEy\"}"));
        assert_eq!(of(br#"{"a":"\u00e9\ud83d\ude00"}"#), "{\"a\":\"é😀\"}");
    }
}
