//! The JSON tree as it stood on the wire: [`Json`]. Members keep their order and duplicates, numbers their spelling,
//! and every node its place in the bytes. Building it from bytes is the work of the reader beside this module.

use std::collections::HashSet;
use std::fmt::{self, Write as _};

use super::fault::{JsonError, Reading};
use super::limits::Limits;
use super::number::Number;
use super::reader;

/// A range of bytes, as offsets from the start of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

/// A value and its place. There is no `==`, because places and spellings would count: see [`Json::same`].
#[derive(Clone, Debug)]
pub struct Json {
    pub kind: JsonKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum JsonKind {
    Null,
    Bool(bool),
    Number(Number),
    /// Unescaped. A surrogate without its partner and bytes that are no UTF-8 stand as U+FFFD; the bytes under the
    /// span hold the original.
    String(Box<str>),
    Array(Vec<Json>),
    /// In wire order, with duplicates.
    Object(Vec<Member>),
}

#[derive(Clone, Debug)]
pub struct Member {
    pub name: Box<str>,
    pub name_span: Span,
    pub value: Json,
}

impl Json {
    /// Reads bytes that are one JSON text and nothing else, within the default limits.
    pub fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        Self::read(bytes, &Limits::default()).map(|reading| reading.json)
    }

    /// Reads bytes that are one JSON text, and tells what it allows but other readers trip over.
    pub fn read(bytes: &[u8], limits: &Limits) -> Result<Reading, JsonError> {
        reader::read(bytes, limits)
    }

    /// The member of an object; of duplicates the last, as most readers choose.
    pub fn get(&self, name: &str) -> Option<&Json> {
        member(self.as_object()?, name)
    }

    /// The value that a JSON Pointer names; of duplicate members the last.
    pub fn pointer(&self, pointer: &str) -> Option<&Json> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self, |json, token| match &json.kind {
            JsonKind::Object(_) if token.contains('~') => json.get(&token.replace("~1", "/").replace("~0", "~")),
            JsonKind::Object(_) => json.get(token),
            JsonKind::Array(items) => {
                let canonical = token == "0" || !token.starts_with(['0', '+']);
                items.get(token.parse::<usize>().ok().filter(|_| canonical)?)
            }
            _ => None,
        })
    }

    pub fn as_str(&self) -> Option<&str> {
        if let JsonKind::String(text) = &self.kind { Some(text) } else { None }
    }

    pub fn as_bool(&self) -> Option<bool> {
        if let JsonKind::Bool(value) = self.kind { Some(value) } else { None }
    }

    pub fn as_number(&self) -> Option<&Number> {
        if let JsonKind::Number(number) = &self.kind { Some(number) } else { None }
    }

    pub fn as_array(&self) -> Option<&[Json]> {
        if let JsonKind::Array(items) = &self.kind { Some(items) } else { None }
    }

    pub fn as_object(&self) -> Option<&[Member]> {
        if let JsonKind::Object(members) = &self.kind { Some(members) } else { None }
    }

    pub fn is_null(&self) -> bool {
        matches!(self.kind, JsonKind::Null)
    }

    /// The protocol's word for the type: `integer` for whole numbers.
    pub fn type_name(&self) -> &'static str {
        match &self.kind {
            JsonKind::Null => "null",
            JsonKind::Bool(_) => "boolean",
            JsonKind::Number(number) if number.is_integer() => "integer",
            JsonKind::Number(_) => "number",
            JsonKind::String(_) => "string",
            JsonKind::Array(_) => "array",
            JsonKind::Object(_) => "object",
        }
    }

    /// The same value for libraries that want `serde_json`. Of duplicates the last stays. Whole numbers spelled
    /// without point and exponent stay exact within `i64` and `u64`; any other number becomes the nearest double, and
    /// one that is out of their range the greatest finite double. A number never becomes a string.
    pub fn to_value(&self) -> serde_json::Value {
        use serde_json::Value;
        match &self.kind {
            JsonKind::Null => Value::Null,
            JsonKind::Bool(value) => Value::Bool(*value),
            JsonKind::Number(number) => number.to_value(),
            JsonKind::String(text) => Value::String(text.as_ref().into()),
            JsonKind::Array(items) => Value::Array(items.iter().map(Json::to_value).collect()),
            JsonKind::Object(members) => Value::Object(
                members.iter().map(|member| (member.name.as_ref().into(), member.value.to_value())).collect(),
            ),
        }
    }

    /// Whether type and value are equal: order of members ignored, of duplicates the last, numbers by exact value.
    pub fn same(&self, other: &Json) -> bool {
        match (&self.kind, &other.kind) {
            (JsonKind::Null, JsonKind::Null) => true,
            (JsonKind::Bool(one), JsonKind::Bool(two)) => one == two,
            (JsonKind::Number(one), JsonKind::Number(two)) => one.same_value(two),
            (JsonKind::String(one), JsonKind::String(two)) => one == two,
            (JsonKind::Array(one), JsonKind::Array(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(one, two)| one.same(two))
            }
            (JsonKind::Object(one), JsonKind::Object(two)) => {
                let (one, two) = (by_name(one), by_name(two));
                one.len() == two.len() && one.iter().zip(&two).all(|(one, two)| one.0 == two.0 && one.1.same(two.1))
            }
            _ => false,
        }
    }

    /// The JSON Pointer of the innermost value (or member) that covers a byte; empty for the whole. Names that make
    /// it longer than 4 KiB are cut off with an ellipsis. Within the first of two members of one name it leads to the second
    /// or nowhere, as [`Json::pointer`] takes the last.
    pub fn pointer_of(&self, offset: usize) -> String {
        let mut pointer = String::new();
        let mut json = self;
        loop {
            match &json.kind {
                JsonKind::Array(items) => {
                    let index = items.partition_point(|item| item.span.end <= offset);
                    let Some(item) = items.get(index).filter(|item| item.span.start <= offset) else { return pointer };
                    push_index(&mut pointer, index);
                    json = item;
                }
                JsonKind::Object(members) => {
                    let index = members.partition_point(|member| member.value.span.end <= offset);
                    let Some(member) = members.get(index).filter(|member| member.name_span.start <= offset) else {
                        return pointer;
                    };
                    push_token(&mut pointer, &member.name);
                    if offset < member.value.span.start {
                        return pointer;
                    }
                    json = &member.value;
                }
                _ => return pointer,
            }
            if pointer.len() > POINTER_BYTES {
                return pointer;
            }
        }
    }
}

/// Compact JSON text: order and duplicates of members and the spelling of numbers kept.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            JsonKind::Null => f.write_str("null"),
            JsonKind::Bool(value) => write!(f, "{value}"),
            JsonKind::Number(number) => write!(f, "{number}"),
            JsonKind::String(text) => quote(f, text),
            JsonKind::Array(items) => {
                f.write_char('[')?;
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        f.write_char(',')?;
                    }
                    item.fmt(f)?;
                }
                f.write_char(']')
            }
            JsonKind::Object(members) => {
                f.write_char('{')?;
                for (index, member) in members.iter().enumerate() {
                    if index > 0 {
                        f.write_char(',')?;
                    }
                    quote(f, &member.name)?;
                    f.write_char(':')?;
                    member.value.fmt(f)?;
                }
                f.write_char('}')
            }
        }
    }
}

/// The last member of a name.
pub(super) fn member<'a>(members: &'a [Member], name: &str) -> Option<&'a Json> {
    members.iter().rev().find(|member| *member.name == *name).map(|member| &member.value)
}

/// The members whose name stood before in the same object.
pub(super) fn duplicates(members: &[Member]) -> Vec<&Member> {
    const FEW: usize = 8;
    if members.len() <= FEW {
        let earlier = |index: usize| members.iter().take(index);
        let stood = |&(index, member): &(usize, &Member)| earlier(index).any(|other| other.name == member.name);
        members.iter().enumerate().filter(stood).map(|(_, member)| member).collect()
    } else {
        let mut names = HashSet::with_capacity(members.len());
        members.iter().filter(|member| !names.insert(&member.name)).collect()
    }
}

pub(super) fn push_index(pointer: &mut String, index: usize) {
    // Writing to a string cannot fail.
    let _ = write!(pointer, "/{index}");
}

pub(super) fn push_token(pointer: &mut String, name: &str) {
    pointer.push('/');
    for char in name.chars() {
        match char {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            _ => pointer.push(char),
        }
        if pointer.len() > POINTER_BYTES {
            pointer.push('…');
            return;
        }
    }
}

pub(super) fn quote(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for char in text.chars() {
        match char {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\0'..='\u{1f}' => write!(f, "\\u{:04x}", char as u32)?,
            _ => f.write_char(char)?,
        }
    }
    f.write_char('"')
}

/// Members sorted by name, of duplicates the last.
fn by_name(members: &[Member]) -> Vec<(&str, &Json)> {
    let mut sorted: Vec<(&str, &Json)> =
        members.iter().rev().map(|member| (member.name.as_ref(), &member.value)).collect();
    // The sort is stable, so that the last of the duplicates stands first and survives.
    sorted.sort_by_key(|(name, _)| *name);
    sorted.dedup_by_key(|(name, _)| *name);
    sorted
}

/// A defect holds its pointer, and a server may choose names of megabytes.
const POINTER_BYTES: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn pointers_lead_to_values() {
        let json = json(r#"{"a":[10,{"b/c":1,"~":2}],"":3,"d":1,"d":2}"#);
        for (pointer, value) in [("/a/0", "10"), ("/a/1/b~1c", "1"), ("/a/1/~0", "2"), ("/", "3"), ("/d", "2")] {
            assert_eq!(json.pointer(pointer).map(Json::to_string).as_deref(), Some(value), "{pointer}");
        }
        for pointer in ["a", "/a/2", "/a/00", "/a/+1", "/a/-", "/a/0/x", "/x"] {
            assert!(json.pointer(pointer).is_none(), "{pointer}");
        }
    }

    #[test]
    fn offsets_lead_to_pointers() {
        let text = r#"{"a": [10, {"b/c": true}], "d": "x"}"#;
        let json = json(text);
        for (part, pointer) in
            [("10", "/a/0"), ("true", "/a/1/b~1c"), ("\"b/c", "/a/1/b~1c"), ("[", "/a"), ("\"x", "/d"), (", {", "/a")]
        {
            assert_eq!(json.pointer_of(text.find(part).unwrap()), pointer, "{part}");
        }
        assert_eq!(json.pointer_of(0), "");
        assert_eq!(json.pointer_of(10_000), "");
    }

    #[test]
    fn long_names_do_not_make_long_pointers() {
        let text = format!(r#"{{"{}":1}}"#, "n".repeat(100_000));
        let pointer = json(&text).pointer_of(text.len() - 2);
        assert!(pointer.len() < 5_000 && pointer.ends_with('…'));
    }

    #[test]
    fn sameness_is_of_type_and_value() {
        for (one, other) in [
            ("{\"a\":1,\"b\":2}", "{\"b\":2.0,\"a\":1}"),
            ("{\"a\":1,\"a\":2}", "{\"a\":2}"),
            ("[null,true,\"\\u0041\"]", "[null,true,\"A\"]"),
        ] {
            assert!(json(one).same(&json(other)), "{one} {other}");
        }
        for (one, other) in [
            ("{\"a\":1}", "{\"a\":\"1\"}"),
            ("{\"a\":1}", "{\"a\":1,\"b\":null}"),
            ("[1,2]", "[2,1]"),
            ("null", "false"),
            ("9007199254740993", "9007199254740992"),
        ] {
            assert!(!json(one).same(&json(other)), "{one} {other}");
        }
    }

    #[test]
    fn values_for_libraries() {
        let value = json(r#"[7,7.0,-0,18446744073709551615,9007199254740993,1e400,-1e400,1e2]"#).to_value();
        assert_eq!(
            value.to_string(),
            "[7,7.0,-0.0,18446744073709551615,9007199254740993,1.7976931348623157e+308,-1.7976931348623157e+308,100.0]"
        );
    }

    #[test]
    fn printing_keeps_order_duplicates_and_spelling() {
        let text = r#"{"b":1.50e+3,"a":[],"a":{},"é\n\u0001\"":null}"#;
        assert_eq!(json(text).to_string(), text);
    }
}
