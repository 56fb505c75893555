//! Which catalogue rows had something to say about a value.
//!
//! [`occasions`] walks a type's schema and the value side by side and names the row of every constraint that was really
//! applied to something: a row on the members of an icon only where there is an icon, a row on `required` wherever the
//! object is. Where a schema has alternatives, the branch that the value takes counts: the one that holds, else the one
//! whose fixed members fit. Whether the value keeps to the constraints is the business of [`validate`](crate::validate).
//!
//! The walk knows the keywords that our own files use; a test holds its notion of a branch that holds against the
//! validator's.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use crate::{
    Revision,
    protocol::{Facts, UnknownType, facts},
};

/// The rows whose constraints were applied to something in the value.
pub fn occasions(revision: Revision, type_name: &str, value: &Value) -> Result<BTreeSet<&'static str>, UnknownType> {
    let facts = facts(revision);
    let Some((document, schema)) = facts.located(type_name) else {
        return Err(UnknownType { revision, name: type_name.to_owned() });
    };
    let mut walk = Walk { facts, rows: BTreeSet::new() };
    walk.visit(Place { document, schema }, value, Inherited::default());
    Ok(walk.rows)
}

/// Every row that a type can name: those of its own constraints and of all that it refers to.
pub fn rows_within(revision: Revision, type_name: &str) -> Result<BTreeSet<&'static str>, UnknownType> {
    let facts = facts(revision);
    let Some((document, schema)) = facts.located(type_name) else {
        return Err(UnknownType { revision, name: type_name.to_owned() });
    };
    let mut rows = BTreeSet::new();
    let mut known: HashSet<*const Value> = HashSet::new();
    let mut open = vec![Place { document, schema }];
    while let Some(place) = open.pop() {
        match place.schema {
            Value::Object(schema) if known.insert(std::ptr::from_ref(place.schema)) => {
                match schema.get("x-requirement") {
                    Some(Value::String(row)) => rows.extend([row.as_str()]),
                    Some(Value::Object(single)) => rows.extend(single.values().filter_map(Value::as_str)),
                    _ => {}
                }
                open.extend(schema.get("$ref").and_then(|reference| follow(facts, place, reference)));
                let parts = schema.iter().filter(|(name, _)| *name != "x-requirement").map(|(_, part)| place.at(part));
                open.extend(parts);
            }
            Value::Array(parts) => open.extend(parts.iter().map(|part| place.at(part))),
            _ => {}
        }
    }
    Ok(rows)
}

/// Whether the own evaluation of the walk takes a value for one of a type: for the test that compares it.
#[doc(hidden)]
pub fn takes(revision: Revision, type_name: &str, value: &Value) -> Option<bool> {
    let facts = facts(revision);
    let (document, schema) = facts.located(type_name)?;
    Some(holds(facts, Place { document, schema }, value))
}

/// A schema and the document in which its references are spelled.
#[derive(Clone, Copy)]
struct Place<'s> {
    document: &'s str,
    schema: &'s Value,
}

impl<'s> Place<'s> {
    fn at(self, schema: &'s Value) -> Self {
        Self { schema, ..self }
    }
}

#[derive(Clone, Copy, Default)]
struct Inherited {
    row: Option<&'static str>,
    /// A row has the type of this very value already, so that a building block that repeats it adds nothing.
    typed: bool,
}

struct Walk {
    facts: &'static Facts,
    rows: BTreeSet<&'static str>,
}

impl Walk {
    fn visit(&mut self, place: Place<'static>, value: &Value, inherited: Inherited) {
        let Value::Object(schema) = place.schema else { return };
        let (row, single) = match schema.get("x-requirement") {
            Some(Value::String(row)) => (Some(row.as_str()), None),
            Some(Value::Object(single)) => (inherited.row, Some(single)),
            _ => (inherited.row, None),
        };
        let row_of = |keyword: &str| single.and_then(|single| single.get(keyword)?.as_str()).or(row);
        let mut typed = inherited.typed;
        for keyword in schema.keys().filter(|keyword| applies(keyword, schema, value)) {
            let Some(row) = row_of(keyword) else { continue };
            if keyword == "type" {
                if inherited.typed {
                    continue;
                }
                typed = true;
            }
            self.rows.insert(row);
        }
        let same = Inherited { row, typed };
        let part = Inherited { row, typed: false };
        match value {
            Value::Object(members) => self.members(place, schema, members, part),
            Value::Array(items) => {
                if let Some(each) = schema.get("items") {
                    items.iter().for_each(|item| self.visit(place.at(each), item, part));
                }
            }
            _ => {}
        }
        if let Some(target) = schema.get("$ref").and_then(|reference| follow(self.facts, place, reference)) {
            self.visit(target, value, same);
        }
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.visit(place.at(part), value, same);
        }
        for keyword in ["anyOf", "oneOf"] {
            let branches = schema.get(keyword).and_then(Value::as_array).map_or(Default::default(), Vec::as_slice);
            if let Some(branch) = taken(self.facts, place, branches, value) {
                self.visit(place.at(branch), value, same);
            }
        }
        if let Some(condition) = schema.get("if") {
            let way = if holds(self.facts, place.at(condition), value) { "then" } else { "else" };
            if let Some(next) = schema.get(way) {
                self.visit(place.at(next), value, same);
            }
        }
    }

    fn members(
        &mut self,
        place: Place<'static>,
        schema: &'static Map<String, Value>,
        members: &Map<String, Value>,
        inherited: Inherited,
    ) {
        let known = schema.get("properties").and_then(Value::as_object);
        for (name, of_member) in known.into_iter().flatten() {
            match members.get(name) {
                Some(value) => self.visit(place.at(of_member), value, inherited),
                // What must not be there is kept wherever it could have been.
                None if forbids(of_member) => {
                    let row = of_member.get("x-requirement").and_then(Value::as_str).or(inherited.row);
                    self.rows.extend(row);
                }
                None => {}
            }
        }
        let Some(rest) = schema.get("additionalProperties") else { return };
        for (_, value) in members.iter().filter(|(name, _)| known.is_none_or(|known| !known.contains_key(*name))) {
            self.visit(place.at(rest), value, inherited);
        }
    }
}

/// Whether a keyword asserts something about this very value.
fn applies(keyword: &str, schema: &Map<String, Value>, value: &Value) -> bool {
    match keyword {
        "type" | "const" | "enum" | "anyOf" | "oneOf" => true,
        "not" => !forbids(&Value::Object(schema.clone())),
        "required" | "minProperties" | "maxProperties" => value.is_object(),
        "additionalProperties" => value.is_object() && schema.get(keyword) == Some(&Value::Bool(false)),
        "minItems" | "maxItems" | "uniqueItems" => value.is_array(),
        "minLength" | "maxLength" | "pattern" => value.is_string(),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => value.is_number(),
        _ => false,
    }
}

fn forbids(schema: &Value) -> bool {
    *schema == Value::Bool(false) || schema.get("not").and_then(Value::as_object).is_some_and(Map::is_empty)
}

fn follow(facts: &'static Facts, place: Place<'static>, reference: &'static Value) -> Option<Place<'static>> {
    let (document, schema) = facts.follow(place.document, reference.as_str()?)?;
    Some(Place { document, schema })
}

/// The branch that a value takes.
fn taken(
    facts: &'static Facts,
    place: Place<'static>,
    branches: &'static [Value],
    value: &Value,
) -> Option<&'static Value> {
    let held = branches.iter().find(|branch| holds(facts, place.at(branch), value));
    held.or_else(|| branches.iter().find(|branch| named(facts, place.at(branch), value)))
}

/// Whether members that a schema fixes say that the value means to be one of its kind.
fn named(facts: &'static Facts, place: Place<'static>, value: &Value) -> bool {
    let mut open = vec![place];
    let mut found = false;
    while let Some(place) = open.pop() {
        for (name, schema) in place.schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            if let Some(fixed) = schema.get("const") {
                if value.get(name) != Some(fixed) {
                    return false;
                }
                found = true;
            }
        }
        open.extend(place.schema.get("$ref").and_then(|reference| follow(facts, place, reference)));
        open.extend(place.schema.get("allOf").and_then(Value::as_array).into_iter().flatten().map(|it| place.at(it)));
    }
    found
}

/// Whether a value keeps to a schema of ours.
fn holds(facts: &'static Facts, place: Place<'static>, value: &Value) -> bool {
    let schema = match place.schema {
        Value::Bool(anything) => return *anything,
        Value::Object(schema) => schema,
        _ => return true,
    };
    schema.iter().all(|(keyword, operand)| asserts(facts, place, schema, keyword, operand, value))
}

fn asserts(
    facts: &'static Facts,
    place: Place<'static>,
    schema: &'static Map<String, Value>,
    keyword: &str,
    operand: &'static Value,
    value: &Value,
) -> bool {
    let inner = |schema: &'static Value, value: &Value| holds(facts, place.at(schema), value);
    let list = || operand.as_array().into_iter().flatten();
    let bound = |measure: Option<usize>, fits: fn(u64, u64) -> bool| match (measure, operand.as_u64()) {
        (Some(measure), Some(bound)) => fits(measure as u64, bound),
        _ => true,
    };
    let number = |fits: fn(f64, f64) -> bool| match (value.as_f64(), operand.as_f64()) {
        (Some(value), Some(bound)) => fits(value, bound),
        _ => true,
    };
    let items = value.as_array().map(Vec::len);
    let letters = || value.as_str().map(|text| text.chars().count());
    match keyword {
        "$ref" => follow(facts, place, operand).is_none_or(|target| holds(facts, target, value)),
        "type" => match operand {
            Value::Array(_) => list().any(|kind| is_a(kind, value)),
            kind => is_a(kind, value),
        },
        "const" => same(operand, value),
        "enum" => list().any(|option| same(option, value)),
        "required" => value.as_object().is_none_or(|it| list().filter_map(Value::as_str).all(|n| it.contains_key(n))),
        "properties" => operand.as_object().into_iter().flatten().all(|(name, schema)| {
            value.as_object().and_then(|members| members.get(name)).is_none_or(|value| inner(schema, value))
        }),
        "additionalProperties" => {
            let known = schema.get("properties").and_then(Value::as_object);
            let rest = value.as_object().into_iter().flatten();
            rest.filter(|(name, _)| known.is_none_or(|known| !known.contains_key(*name)))
                .all(|(_, it)| inner(operand, it))
        }
        "items" => value.as_array().into_iter().flatten().all(|item| inner(operand, item)),
        "allOf" => list().all(|part| inner(part, value)),
        "anyOf" => list().any(|branch| inner(branch, value)),
        "oneOf" => list().filter(|branch| inner(branch, value)).count() == 1,
        "not" => !inner(operand, value),
        "if" => {
            let way = if inner(operand, value) { "then" } else { "else" };
            schema.get(way).is_none_or(|next| inner(next, value))
        }
        "minItems" => bound(items, |n, least| n >= least),
        "maxItems" => bound(items, |n, most| n <= most),
        "minLength" => bound(letters(), |n, least| n >= least),
        "maxLength" => bound(letters(), |n, most| n <= most),
        "minProperties" => bound(value.as_object().map(Map::len), |n, least| n >= least),
        "minimum" => number(|value, least| value >= least),
        "maximum" => number(|value, most| value <= most),
        "multipleOf" => number(|value, step| (value / step).fract() == 0.0),
        _ => true,
    }
}

fn is_a(kind: &Value, value: &Value) -> bool {
    match kind.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("number") => value.is_number(),
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => false,
    }
}

fn same(wanted: &Value, value: &Value) -> bool {
    match (wanted.as_f64(), value.as_f64()) {
        (Some(wanted), Some(value)) => wanted == value,
        _ => wanted == value,
    }
}
