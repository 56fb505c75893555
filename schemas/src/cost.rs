//! Bounds on the work that a foreign schema and a foreign value can cause.
//!
//! [`within`] bounds size and depth, [`endless`] finds references that lead back to themselves without descending
//! into the value, and [`affordable`] walks schema and value as a validator without any memory would, up to a budget.

use serde_json::{Map, Value};

const BUDGET: usize = 1_000_000;
/// Schemas within schemas that apply at once; the validator takes a few stack frames for each, and a worker thread has
/// two megabytes.
const MOST_NESTED: usize = 600;
const MOST_IN_PLACE: usize = 200;

/// Keywords whose subschemas apply to the same value.
const SAME_LIST: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const SAME_ONE: [&str; 4] = ["not", "if", "then", "else"];
const SAME_MAP: [&str; 2] = ["dependentSchemas", "dependencies"];

/// Whether a value has at most so many nodes and levels.
pub(crate) fn within(value: &Value, mut nodes: usize, depth: usize) -> bool {
    fn walk(value: &Value, nodes: &mut usize, depth: usize) -> bool {
        if *nodes == 0 || depth == 0 {
            return false;
        }
        *nodes -= 1;
        match value {
            Value::Array(items) => items.iter().all(|v| walk(v, nodes, depth - 1)),
            Value::Object(members) => members.values().all(|v| walk(v, nodes, depth - 1)),
            _ => true,
        }
    }
    walk(value, &mut nodes, depth)
}

/// The target of a reference inside the same document.
pub(crate) fn target<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let fragment = reference.strip_prefix('#')?;
    if fragment.is_empty() || fragment.starts_with('/') {
        return root.pointer(&decode(fragment));
    }
    anchor(root, fragment)
}

fn anchor<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    match schema {
        Value::Object(members) => {
            let named =
                ["$anchor", "$dynamicAnchor"].iter().any(|k| members.get(*k).and_then(Value::as_str) == Some(name));
            if named { Some(schema) } else { members.values().find_map(|v| anchor(v, name)) }
        }
        Value::Array(items) => items.iter().find_map(|v| anchor(v, name)),
        _ => None,
    }
}

fn decode(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(b) = rest.next() {
        let hex = |b: u8| char::from(b).to_digit(16);
        let mut ahead = rest.clone();
        match (b, ahead.next().and_then(hex), ahead.next().and_then(hex)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                rest = ahead;
            }
            _ => bytes.push(b),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn references<'s>(root: &'s Value, members: &'s Map<String, Value>) -> impl Iterator<Item = &'s Value> {
    ["$ref", "$dynamicRef", "$recursiveRef"]
        .into_iter()
        .filter_map(|k| members.get(k)?.as_str())
        .filter_map(|r| target(root, r))
}

/// The subschemas that apply to the same value, references followed.
fn same_value<'s>(root: &'s Value, members: &'s Map<String, Value>) -> Vec<&'s Value> {
    let mut out: Vec<&Value> = references(root, members).collect();
    out.extend(SAME_LIST.iter().filter_map(|k| members.get(*k)?.as_array()).flatten());
    out.extend(SAME_ONE.iter().filter_map(|k| members.get(*k)));
    out.extend(SAME_MAP.iter().filter_map(|k| members.get(*k)?.as_object()).flat_map(Map::values));
    out
}

/// Whether some subschema applies to a value only after it has applied to that same value.
pub(crate) fn endless(root: &Value) -> bool {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        Open,
        Done,
    }
    fn visit(
        root: &Value,
        schema: &Value,
        depth: usize,
        marks: &mut std::collections::HashMap<*const Value, Mark>,
    ) -> bool {
        let Some(members) = schema.as_object() else { return false };
        let key: *const Value = schema;
        match marks.get(&key) {
            Some(Mark::Open) => return true,
            Some(Mark::Done) => return false,
            None => {}
        }
        // A chain of references deeper than this would exhaust a stack as surely as an endless one.
        if depth > MOST_IN_PLACE {
            return true;
        }
        marks.insert(key, Mark::Open);
        let looped = same_value(root, members).into_iter().any(|s| visit(root, s, depth + 1, marks));
        marks.insert(key, Mark::Done);
        looped
    }
    fn everywhere(root: &Value, schema: &Value, marks: &mut std::collections::HashMap<*const Value, Mark>) -> bool {
        match schema {
            Value::Object(members) => {
                visit(root, schema, 0, marks) || members.values().any(|v| everywhere(root, v, marks))
            }
            Value::Array(items) => items.iter().any(|v| everywhere(root, v, marks)),
            _ => false,
        }
    }
    everywhere(root, root, &mut std::collections::HashMap::new())
}

/// Whether judging the value stays within the budget, each subschema counted each time that it is applied.
pub(crate) fn affordable(root: &Value, value: &Value) -> bool {
    let mut budget = BUDGET;
    apply(root, root, value, &mut budget, MOST_NESTED)
}

fn apply(root: &Value, schema: &Value, value: &Value, budget: &mut usize, nested: usize) -> bool {
    if *budget == 0 || nested == 0 {
        return false;
    }
    *budget -= 1;
    let Some(members) = schema.as_object() else { return true };
    let nested = nested - 1;
    // A reference by anchor searches the whole document; lists are compared item by item.
    let by_anchor = members.get("$ref").and_then(Value::as_str).is_some_and(|r| r != "#" && !r.starts_with("#/"));
    let lists = ["enum", "required"].iter().filter_map(|k| members.get(*k)?.as_array()).map(Vec::len).sum::<usize>();
    *budget = budget.saturating_sub(lists / 8 + if by_anchor { 1_000 } else { 0 });
    if !same_value(root, members).into_iter().all(|s| apply(root, s, value, budget, nested)) {
        return false;
    }
    match value {
        Value::Object(entries) => entries.iter().all(|(name, entry)| {
            let of = |k: &str| members.get(k).and_then(Value::as_object);
            let named = of("properties").and_then(|p| p.get(name));
            let patterns = of("patternProperties").into_iter().flat_map(Map::values);
            let rest = ["additionalProperties", "unevaluatedProperties"].iter().filter_map(|k| members.get(*k));
            named.into_iter().chain(patterns).chain(rest).all(|s| apply(root, s, entry, budget, nested))
        }),
        Value::Array(entries) => entries.iter().enumerate().all(|(index, entry)| {
            let lists = ["prefixItems", "items"].iter().filter_map(|k| members.get(*k)?.as_array()?.get(index));
            let rest =
                ["items", "contains", "additionalItems", "unevaluatedItems"].iter().filter_map(|k| members.get(*k));
            lists.chain(rest).all(|s| apply(root, s, entry, budget, nested))
        }),
        _ => true,
    }
}
