//! `_meta` wherever the schema has it: an object, with keys that follow the grammar and keep out of what is reserved.
//!
//! A key is told once for each part that is wrong: prefix, labels, name. Positions that a server fills as it likes
//! (structuredContent, log data, tool schemas, arguments) hold no `_meta` of the protocol.

use mcp_conform_schemas::{Era, Revision};

use super::{
    Breach, Context, Row, Rule, Seen, Verdicts,
    errors::has_extensions,
    register::Definition,
    seen::{clip, show, token},
};
use crate::{
    trace::Event,
    wire::{Json, JsonKind},
};

static OBJECT: Row = Row::legacy("meta-is-object", Revision::V2024_11_05);
static PREFIX: Row = Row::both("meta-key-prefix-syntax", Revision::V2025_06_18, "meta-key-prefix-grammar");
static LABEL: Row = Row::legacy("meta-label-syntax", Revision::V2025_06_18);
static NAME: Row = Row::both("meta-name-syntax", Revision::V2025_06_18, "meta-key-name-grammar");
static REVERSE: Row = Row::both("meta-prefix-reverse-dns", Revision::V2025_11_25, "meta-key-reverse-dns");
static RESERVED: Row =
    Row::both("meta-reserved-prefix-unused", Revision::V2025_11_25, "meta-reserved-prefix-not-squatted");
static BARE: Row = Row::modern("meta-bare-keys-reserved");
static TRACE: Row = Row::modern("meta-trace-format");

pub(super) static DEFINITION: Definition = Definition {
    name: "meta",
    title: "_meta is an object with well-formed keys",
    about: "Every _meta at a place that the schema defines is looked at, with each key split at its first slash into prefix \
            and name. Characters inside a name, a second slash and letters beyond ASCII are contested. Reserved prefixes \
            may only hold what a revision or an advertised extension defines.",
    rows: &[OBJECT, PREFIX, LABEL, NAME, REVERSE, RESERVED, BARE, TRACE],
    make: || Box::new(Meta),
};

/// Members through which a `_meta` of the protocol can be reached from `params` or `result`.
const WAYS: [&str; 13] = [
    "content",
    "contents",
    "inputRequests",
    "messages",
    "params",
    "prompts",
    "resource",
    "resourceTemplates",
    "resources",
    "result",
    "task",
    "tasks",
    "tools",
];

/// Steps down from the message; no type of the protocol nests deeper.
const DEEPEST: usize = 12;

/// Reserved keys that some revision or extension defines.
const DEFINED: [&str; 9] = [
    "clientCapabilities",
    "clientInfo",
    "logLevel",
    "model-immediate-response",
    "protocolVersion",
    "related-task",
    "serverInfo",
    "subscriptionId",
    "ui",
];

struct Meta;

impl Rule for Meta {
    fn observe(&mut self, event: &Event, context: &Context, out: &mut Verdicts) {
        for seen in context.incoming(event) {
            for name in ["params", "result"] {
                if let Some(json) = seen.json.get(name) {
                    walk(&seen, json, &format!("/{name}"), 0, context, out);
                }
            }
        }
    }
}

fn walk(seen: &Seen<'_>, json: &Json, pointer: &str, depth: usize, context: &Context, out: &mut Verdicts) {
    if depth > DEEPEST {
        return;
    }
    match &json.kind {
        JsonKind::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(seen, item, &format!("{pointer}/{index}"), depth + 1, context, out);
            }
        }
        JsonKind::Object(members) => {
            // Under inputRequests the server chooses the names.
            let free = pointer.ends_with("/inputRequests");
            for member in members {
                let here = || format!("{pointer}{}", token(&member.name));
                if &*member.name == "_meta" && !free {
                    meta(seen, &member.value, &here(), context, out);
                } else if free || WAYS.contains(&&*member.name) {
                    walk(seen, &member.value, &here(), depth + 1, context, out);
                }
            }
        }
        _ => {}
    }
}

fn meta(seen: &Seen<'_>, json: &Json, pointer: &str, context: &Context, out: &mut Verdicts) {
    let Some(members) = json.as_object() else {
        let breach = Breach::at(seen, pointer, format!("_meta is {} instead of an object", show(Some(json))));
        out.check(&OBJECT, context, Some(breach));
        return;
    };
    out.occasion(&OBJECT, context);
    for member in members {
        let at = format!("{pointer}{}", token(&member.name));
        key(seen, &member.name, &at, context, out);
        if context.era() == Era::Modern {
            bare(seen, &member.name, &member.value, &at, context, out);
        }
    }
}

fn key(seen: &Seen<'_>, key: &str, at: &str, context: &Context, out: &mut Verdicts) {
    let shown = clip(key);
    let breach = |what: String| Breach::at(seen, at, format!("the key \"{shown}\" {what}"));
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if let Some(prefix) = prefix {
        let labels: Vec<&str> = prefix.split('.').collect();
        let empty = labels.iter().any(|label| label.is_empty());
        out.occasion(&PREFIX, context);
        if empty {
            out.broken(&PREFIX, context, breach("has an empty label in its prefix".to_owned()));
        }
        out.occasion(&LABEL, context);
        // 2026-07-28 has labels and prefix in one requirement.
        let row = if context.era() == Era::Legacy { &LABEL } else { &PREFIX };
        if let Some(label) =
            labels.iter().find(|label| !label.is_empty() && !is_label(label, char::is_ascii_alphabetic))
        {
            let what = breach(format!("has the label \"{}\"", clip(label)));
            // Whether a letter has to be an ASCII letter is open.
            let wide = labels.iter().all(|label| is_label(label, |char| char.is_alphabetic()));
            out.broken(row, context, if wide { what.contested("C35") } else { what });
        }
        out.occasion(&REVERSE, context);
        const TOP: [&str; 5] = ["com", "dev", "io", "net", "org"];
        let top = |label: Option<&&str>| label.is_some_and(|label| TOP.contains(label));
        if labels.len() > 1 && top(labels.last()) && !top(labels.first()) {
            out.broken(&REVERSE, context, breach("has its prefix in forward order".to_owned()));
        }
        reserved(&labels, name, context, out, &breach);
    }
    out.occasion(&NAME, context);
    let ends = |char: Option<char>| char.is_none_or(|char| char.is_ascii_alphanumeric());
    let inside = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    if !ends(name.chars().next()) || !ends(name.chars().next_back()) {
        out.broken(&NAME, context, breach("has a name that does not begin and end with a letter or digit".to_owned()));
    } else if !name.chars().all(inside) {
        out.broken(&NAME, context, breach("has other characters inside its name".to_owned()).contested("C35"));
    }
}

fn reserved(labels: &[&str], name: &str, context: &Context, out: &mut Verdicts, breach: &dyn Fn(String) -> Breach) {
    // Every prefixed key could have been one.
    out.occasion(&RESERVED, context);
    let second = labels.get(1);
    if !second.is_some_and(|label| ["mcp", "modelcontextprotocol"].contains(label)) {
        return;
    }
    let official = labels == ["io", "modelcontextprotocol"];
    let defined = official && (DEFINED.contains(&name) || has_extensions(context));
    if !defined {
        out.broken(&RESERVED, context, breach("stands under a prefix that is reserved for the protocol".to_owned()));
    }
}

fn is_label(label: &str, letter: impl Fn(&char) -> bool) -> bool {
    let letter = |char: char| letter(&char);
    let end = |char: char| letter(char) || char.is_ascii_digit();
    label.chars().next().is_some_and(letter)
        && label.chars().next_back().is_some_and(end)
        && label.chars().all(|char| end(char) || char == '-')
}

/// The unprefixed keys that the protocol gives a meaning.
fn bare(seen: &Seen<'_>, key: &str, value: &Json, at: &str, context: &Context, out: &mut Verdicts) {
    let well_formed: fn(&str) -> bool = match key {
        "progressToken" => {
            let fits = value.as_str().is_some() || value.as_number().is_some_and(|number| number.is_integer());
            let what = || format!("progressToken is {}, no string or integer", show(Some(value)));
            out.check(&BARE, context, (!fits).then(|| Breach::at(seen, at, what())));
            return;
        }
        "traceparent" => is_traceparent,
        "tracestate" | "baggage" => is_list,
        _ => return,
    };
    let text = value.as_str();
    let what = || format!("{key} is {}, no string", show(Some(value)));
    out.check(&BARE, context, text.is_none().then(|| Breach::at(seen, at, what())));
    let Some(text) = text else { return };
    let what = || format!("{key} is \"{}\", not in the W3C format", clip(text));
    out.check(&TRACE, context, (!well_formed(text)).then(|| Breach::at(seen, at, what())));
}

fn is_traceparent(text: &str) -> bool {
    let mut parts = text.split('-');
    let mut hex = |length: usize| {
        let part = parts.next()?;
        let lower = part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (part.len() == length && lower).then_some(part)
    };
    let (Some(version), Some(trace), Some(parent), Some(_)) = (hex(2), hex(32), hex(16), hex(2)) else { return false };
    let zero = |part: &str| part.bytes().all(|byte| byte == b'0');
    // Later versions may append fields.
    version != "ff" && !zero(trace) && !zero(parent) && (version != "00" || parts.next().is_none())
}

/// A comma-separated list of members with a key and a value; empty members are allowed.
fn is_list(text: &str) -> bool {
    text.split(',').map(str::trim).filter(|member| !member.is_empty()).all(|member| {
        let Some((key, value)) = member.split_once('=') else { return false };
        let key = key.trim();
        let printable = |char: char| char.is_ascii() && !char.is_ascii_control();
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic()) && value.chars().all(printable)
    })
}
