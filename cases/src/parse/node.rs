//! YAML as a tree of nodes with spans.
//!
//! [`Node`] is self-describing and knows nothing of the case language. This is the only module that names the YAML crate.

use serde::{
    Deserialize,
    de::{Deserializer, MapAccess, SeqAccess, Visitor},
};
use serde_json::Number;

use crate::{
    ast::{Source, Span},
    diagnostic::Diagnostic,
};

/// The largest script that is read.
pub(crate) const MAX_BYTES: usize = 1 << 20;

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) span: Span,
}

impl Node {
    /// What the node is, for "expected …, found …".
    pub(crate) fn what(&self) -> &'static str {
        match self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "a boolean",
            Kind::Number(_) => "a number",
            Kind::String(_) => "a string",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a mapping",
        }
    }
}

#[cfg(test)]
impl Node {
    /// The node as JSON, to hold scripts against the JSON Schema of the language.
    pub(crate) fn plain(&self) -> serde_json::Value {
        match &self.kind {
            Kind::Null => serde_json::Value::Null,
            Kind::Bool(value) => (*value).into(),
            Kind::Number(number) => serde_json::Value::Number(number.clone()),
            Kind::String(text) => text.clone().into(),
            Kind::List(items) => items.iter().map(Self::plain).collect(),
            Kind::Map(entries) => entries.iter().map(|(key, value)| (key.name.clone(), value.plain())).collect(),
        }
    }
}

/// The tree of one document.
pub(crate) fn read(source: &Source) -> Result<Node, Box<Diagnostic>> {
    if source.text.len() > MAX_BYTES {
        return Err(Box::new(
            Diagnostic::error(source, Span::default(), "the script is too big")
                .help(format!("a script has at most {MAX_BYTES} bytes")),
        ));
    }
    let options = serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        merge_keys: serde_saphyr::options::MergeKeyPolicy::Error,
        reject_unsupported_tags: true,
        budget: serde_saphyr::budget! {
            // Lowering recurses, so the depth is what keeps the stack bounded.
            max_depth: 48,
            flow_nesting_limit: 48,
            max_nodes: 50_000,
            max_events: 200_000,
            // An alias hides where a value stands, and can multiply a file without end.
            max_aliases: 0,
        },
    };
    serde_saphyr::from_str_with_options::<serde_saphyr::Spanned<Raw>>(&source.text, options)
        .map_err(|error| Box::new(fault(source, &error)))
        .and_then(|raw| node(raw, source))
}

/// A number that could be kept only as another one.
fn unkept(source: &Source, span: Span) -> Diagnostic {
    Diagnostic::error(source, span, "this number does not fit a double")
        .help("write a number that no parser keeps as a raw literal: {json: '1e400'}")
}

fn fault(source: &Source, error: &serde_saphyr::Error) -> Diagnostic {
    let span = error.location().map_or_else(Span::default, |location| span(&location, &source.text));
    let text = error.to_string();
    if text.starts_with("non-finite float") {
        return unkept(source, span);
    }
    // The place is shown by the caret, and the options that the message may name are not the author's to set.
    let text = text.split(" at line ").next().unwrap_or(&text);
    let (message, help) = if let Some(key) = text.strip_prefix("duplicate mapping key: ") {
        let key = key.split(", set ").next().unwrap_or(key);
        (format!("the key `{key}` stands twice in one mapping"), Some("remove one of the two".to_owned()))
    } else if text.starts_with("multiple YAML documents") {
        ("one file holds one script, and here a second document begins".to_owned(), None)
    } else if text.contains("null into string") {
        ("a key is empty, or the bare word null".to_owned(), Some("quote the key".to_owned()))
    } else if text.contains("expected string scalar") {
        ("a key is a list or a mapping".to_owned(), Some("a key is a word".to_owned()))
    } else if text.contains("Aliases") {
        ("an alias is no part of the case language".to_owned(), Some("write the value out".to_owned()))
    } else if text.contains("budget breached") || text.contains("limit exceeded") {
        ("the script is too deep, or too big once its aliases are written out".to_owned(), None)
    } else {
        (format!("the YAML cannot be read: {text}"), None)
    };
    let diagnostic = Diagnostic::error(source, span, message);
    match help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}

/// A value as the YAML crate hands it out; mappings keep their order.
enum Raw {
    Null,
    Bool(bool),
    /// `None`: a number that is not kept. An error of the visitor would be given the place of the whole collection.
    Number(Option<Number>),
    String(String),
    List(Vec<serde_saphyr::Spanned<Raw>>),
    Map(Vec<(serde_saphyr::Spanned<String>, serde_saphyr::Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Number(Some(value.into())))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Number(Some(value.into())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        // Rounded silently it would be another number than the one that was written.
        let rounded = value.abs() >= 18_446_744_073_709_551_615.0 && value.fract() == 0.0;
        Ok(Raw::Number(Number::from_f64(value).filter(|_| !rounded)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = access.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = access.next_entry()? {
            map.push(entry);
        }
        Ok(Raw::Map(map))
    }
}

fn node(raw: serde_saphyr::Spanned<Raw>, source: &Source) -> Result<Node, Box<Diagnostic>> {
    let text = &*source.text;
    let mut span = span(&raw.referenced, text);
    let kind = match raw.value {
        Raw::Null => Kind::Null,
        Raw::Bool(value) => Kind::Bool(value),
        Raw::Number(Some(value)) => Kind::Number(value),
        Raw::Number(None) => return Err(Box::new(unkept(source, span))),
        Raw::String(value) => Kind::String(value),
        Raw::List(list) => Kind::List(list.into_iter().map(|item| node(item, source)).collect::<Result<_, _>>()?),
        Raw::Map(map) => {
            let entries = map.into_iter().map(|(key, value)| {
                let key = Key { name: key.value, span: self::span(&key.referenced, text) };
                Ok::<_, Box<Diagnostic>>((key, node(value, source)?))
            });
            Kind::Map(entries.collect::<Result<_, _>>()?)
        }
    };
    // The crate gives a mapping or list the place of its first token only. Its first line says more.
    if let Kind::List(_) | Kind::Map(_) = kind {
        let rest = text.get(span.start..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default();
        span.end = span.start + line.trim_end().len();
    }
    Ok(Node { kind, span })
}

fn span(location: &serde_saphyr::Location, text: &str) -> Span {
    let found = location.span();
    let inside = |offset: u64| usize::try_from(offset).ok().filter(|offset| *offset <= text.len());
    if let (Some(start), Some(len)) = (found.byte_offset().and_then(inside), found.byte_len()) {
        let end = inside(start as u64 + len).unwrap_or(start);
        return Span { start, end };
    }
    // Errors of the scanner come without bytes: count characters instead.
    let at = usize::try_from(found.offset()).unwrap_or(usize::MAX);
    let start = text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte);
    let end = text[start..].chars().next().map_or(start, |c| start + c.len_utf8());
    Span { start, end }
}
