//! One flat schema out of a nested one: references followed, `allOf` merged, one branch of each alternative chosen.
//!
//! The result is a guide for making values, not an equal schema: where two constraints cannot be merged the narrower
//! or the later one stands, and the check of the finished value decides.

use serde_json::{Map, Value, json};

use super::source::Source;
use crate::cost;

/// References and alternatives nest at most so deep.
const MOST_FOLDING: usize = 24;

/// A schema object without `$ref`, `allOf`, `anyOf`, `oneOf`, `if`. `None` for `false`.
pub(super) fn fold(root: &Value, schema: &Value, source: &mut dyn Source) -> Option<Map<String, Value>> {
    let mut out = Map::new();
    merge(root, schema, source, &mut out, MOST_FOLDING)?;
    Some(out)
}

fn merge(
    root: &Value,
    schema: &Value,
    source: &mut dyn Source,
    out: &mut Map<String, Value>,
    depth: usize,
) -> Option<()> {
    let depth = depth.checked_sub(1)?;
    let members = match schema {
        Value::Bool(true) => return Some(()),
        Value::Object(members) => members,
        _ => return None,
    };
    for (key, value) in members {
        match key.as_str() {
            "$ref" | "$dynamicRef" | "$recursiveRef" => {
                merge(root, cost::target(root, value.as_str()?)?, source, out, depth)?;
            }
            "allOf" => {
                for part in value.as_array()? {
                    merge(root, part, source, out, depth)?;
                }
            }
            "anyOf" | "oneOf" => {
                let branch = choose(root, value.as_array()?, source)?;
                merge(root, branch, source, out, depth)?;
            }
            "if" => {
                // Meeting the condition makes `then` apply; not meeting it is left to the plain values.
                let (then, otherwise) = (members.get("then"), members.get("else"));
                if source.more() {
                    merge(root, value, source, out, depth)?;
                    if let Some(then) = then {
                        merge(root, then, source, out, depth)?;
                    }
                } else if let Some(otherwise) = otherwise {
                    merge(root, otherwise, source, out, depth)?;
                }
            }
            "then" | "else" | "$defs" | "definitions" | "$schema" | "$id" | "title" | "description" => {}
            _ => constrain(out, key, value),
        }
    }
    Some(())
}

/// Chooses a branch; null comes last, because an alternative to null is what the author had in mind.
fn choose<'s>(root: &Value, branches: &'s [Value], source: &mut dyn Source) -> Option<&'s Value> {
    let mut order: Vec<&Value> = branches.iter().filter(|b| **b != Value::Bool(false)).collect();
    order.sort_by_key(|b| is_null(root, b));
    if order.is_empty() {
        return None;
    }
    order.get(source.index(order.len())).copied()
}

fn is_null(_root: &Value, branch: &Value) -> bool {
    branch.get("type").and_then(Value::as_str) == Some("null") || branch.get("const") == Some(&Value::Null)
}

fn constrain(out: &mut Map<String, Value>, key: &str, value: &Value) {
    let Some(old) = out.get_mut(key) else {
        out.insert(key.to_owned(), value.clone());
        return;
    };
    if old == value {
        return;
    }
    match key {
        "properties" | "patternProperties" | "dependentRequired" => {
            let (Some(into), Some(from)) = (old.as_object_mut(), value.as_object()) else { return };
            for (name, schema) in from {
                match into.get_mut(name) {
                    Some(known) if known != schema => *known = json!({ "allOf": [known.clone(), schema] }),
                    Some(_) => {}
                    None => {
                        into.insert(name.clone(), schema.clone());
                    }
                }
            }
        }
        "required" => {
            let (Some(into), Some(from)) = (old.as_array_mut(), value.as_array()) else { return };
            for name in from {
                if !into.contains(name) {
                    into.push(name.clone());
                }
            }
        }
        "type" => {
            let both: Vec<Value> = type_list(old).into_iter().filter_map(|t| narrower(&t, value)).collect();
            *old = Value::from(both);
        }
        "enum" => {
            if let (Some(into), Some(from)) = (old.as_array_mut(), value.as_array()) {
                into.retain(|v| from.contains(v));
            }
        }
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" => {
            if value.as_f64() > old.as_f64() {
                *old = value.clone();
            }
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => {
            if value.as_f64() < old.as_f64() {
                *old = value.clone();
            }
        }
        "items" | "additionalProperties" | "contains" | "propertyNames" | "unevaluatedProperties" => {
            *old = json!({ "allOf": [old.clone(), value] });
        }
        _ => *old = value.clone(),
    }
}

/// `type` as a list.
pub(super) fn type_list(value: &Value) -> Vec<String> {
    match value {
        Value::String(one) => vec![one.clone()],
        Value::Array(list) => list.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

fn narrower(one: &str, other: &Value) -> Option<Value> {
    let other = type_list(other);
    if other.iter().any(|t| t == one) || (one == "integer" && other.iter().any(|t| t == "number")) {
        return Some(one.into());
    }
    (one == "number" && other.iter().any(|t| t == "integer")).then(|| "integer".into())
}

/// The types that a schema lets through; `None` when that is not plain to see.
pub(super) fn types(root: &Value, schema: &Value, depth: usize) -> Option<Vec<String>> {
    let depth = depth.checked_sub(1)?;
    let members = schema.as_object()?;
    if let Some(kind) = members.get("type") {
        return Some(type_list(kind));
    }
    if let Some(value) = members.get("const") {
        return Some(vec![type_of(value).to_owned()]);
    }
    if let Some(values) = members.get("enum").and_then(Value::as_array) {
        return Some(values.iter().map(|v| type_of(v).to_owned()).collect());
    }
    if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
        return types(root, cost::target(root, reference)?, depth);
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(branches) = members.get(key).and_then(Value::as_array) {
            let mut all = Vec::new();
            for branch in branches {
                all.extend(types(root, branch, depth)?);
            }
            return Some(all);
        }
    }
    // Any part of an `allOf` that shows its types bounds the whole.
    members.get("allOf")?.as_array()?.iter().find_map(|part| types(root, part, depth))
}

pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
