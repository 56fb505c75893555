//! The generator of one schema: [`Generator`], and functions for a single use.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::OnceLock,
};

use arbitrary::Unstructured;
use serde_json::{Map, Value};

use super::{
    bounds::{Interval, count, number},
    fold,
    make::{Maker, names},
    near::{self, NearMiss},
    source::{Bytes, Full, Plain, Seeded, Source},
    text,
};
use crate::{InstanceSchema, InstanceSchemaError, cost, problem::escape};

/// The smallest instance of the schema: plain values, `default`, `examples`, `const` and `enum` before invented ones.
pub fn minimal(schema: &Value) -> Option<Value> {
    Generator::new(schema).ok()?.minimal()
}

/// A valid instance by the choices of the bytes.
pub fn valid(schema: &Value, bytes: &mut Unstructured<'_>) -> Option<Value> {
    Generator::new(schema).ok()?.valid(bytes)
}

/// Valid instances at the edges of what the schema allows.
pub fn boundary(schema: &Value) -> Vec<Value> {
    Generator::new(schema).map(|g| g.boundary()).unwrap_or_default()
}

/// Instances that break exactly one constraint, as far as one constraint can be broken alone.
pub fn near_miss(schema: &Value) -> Vec<NearMiss> {
    Generator::new(schema).map(|g| g.near_miss()).unwrap_or_default()
}

/// Canonicalization can be exponential in the alternatives of a schema; what tools declare is far smaller than this.
const MOST_CANONICAL_NODES: usize = 400;
const MOST_BOUNDARY: usize = 96;
const MOST_PLACES: usize = 160;
const MOST_PLACE_DEPTH: usize = 5;
const BIG_COUNT: usize = 256;

/// Makes instances of one schema.
#[derive(Debug)]
pub struct Generator {
    pub(super) schema: Value,
    /// The same schema in the validator's normal form, where conditions and alternatives are folded.
    canonical: OnceLock<Option<Value>>,
    check: InstanceSchema,
}

impl Generator {
    pub fn new(schema: &Value) -> Result<Self, InstanceSchemaError> {
        let check = InstanceSchema::new(schema)?;
        Ok(Self { schema: schema.clone(), canonical: OnceLock::new(), check })
    }

    /// The compiled schema that every value is checked by.
    pub fn check(&self) -> &InstanceSchema {
        &self.check
    }

    /// See [`minimal`].
    pub fn minimal(&self) -> Option<Value> {
        if let Some(value) = self.attempt(&self.schema, &mut Plain) {
            return Some(value);
        }
        if let Some(value) = self.canonical().and_then(|c| self.attempt(c, &mut Plain)) {
            return Some(value);
        }
        let tries = (1..=48).flat_map(|seed| {
            let raw = self.attempt(&self.schema, &mut Seeded::new(seed));
            let canonical = self.canonical().and_then(|c| self.attempt(c, &mut Seeded::new(seed)));
            raw.into_iter().chain(canonical)
        });
        tries.min_by_key(|value| value.to_string().len())
    }

    /// See [`valid`].
    pub fn valid(&self, bytes: &mut Unstructured<'_>) -> Option<Value> {
        for _ in 0..3 {
            if let Some(value) = self.attempt(&self.schema, &mut Bytes(bytes)) {
                return Some(value);
            }
        }
        self.canonical().and_then(|c| self.attempt(c, &mut Bytes(bytes))).or_else(|| self.minimal())
    }

    /// See [`near_miss`].
    pub fn near_miss(&self) -> Vec<NearMiss> {
        near::near_misses(self)
    }

    /// See [`boundary`].
    pub fn boundary(&self) -> Vec<Value> {
        let mut found: Vec<Value> = Vec::new();
        let mut keep = |value: Value| {
            if found.len() < MOST_BOUNDARY && !found.contains(&value) && self.check.accepts(&value) {
                found.push(value);
            }
        };
        for schema in [Some(&self.schema), self.canonical()].into_iter().flatten() {
            for source in [&mut Plain as &mut dyn Source, &mut Full] {
                if let Some(value) = self.attempt(schema, source) {
                    keep(value);
                }
            }
        }
        for place in self.places() {
            for value in edges(&self.schema, &place) {
                if let Some(whole) = place.with(value) {
                    keep(whole);
                }
            }
        }
        found
    }

    pub(super) fn attempt(&self, schema: &Value, source: &mut dyn Source) -> Option<Value> {
        let value = Maker::new(schema).make(schema, source, 0)?;
        self.check.accepts(&value).then_some(value)
    }

    pub(super) fn canonical(&self) -> Option<&Value> {
        self.canonical
            .get_or_init(|| {
                if !cost::within(&self.schema, MOST_CANONICAL_NODES, 48) {
                    return None;
                }
                // The normal form is marked experimental by its library: a panic there costs values, not the run.
                let normal = catch_unwind(AssertUnwindSafe(|| {
                    jsonschema::canonical::options()
                        .offline()
                        .canonicalize(&self.schema)
                        .ok()
                        .map(|c| c.to_json_schema())
                }));
                normal.ok().flatten()
            })
            .as_ref()
    }

    /// The places of the schema that a value can have, each with a valid whole around it.
    pub(super) fn places(&self) -> Vec<Place> {
        let mut out = Vec::new();
        if let Some(base) = self.minimal() {
            self.descend(&self.schema, String::new(), &base, true, MOST_PLACE_DEPTH, &mut out);
        }
        out
    }

    fn descend(
        &self,
        schema: &Value,
        pointer: String,
        base: &Value,
        required: bool,
        depth: usize,
        out: &mut Vec<Place>,
    ) {
        let Some(here) = base.pointer(&pointer) else { return };
        let Some(folded) = self.fold_for(schema, here) else { return };
        if out.len() >= MOST_PLACES {
            return;
        }
        let place = Place {
            pointer: pointer.clone(),
            types: fold::types(&self.schema, schema, 24),
            schema: schema.clone(),
            folded: folded.clone(),
            base: base.clone(),
            required,
        };
        out.push(place);
        let Some(depth) = depth.checked_sub(1) else { return };
        match here {
            Value::Object(members) => {
                let needed = names(folded.get("required"));
                for (name, member) in folded.get("properties").and_then(Value::as_object).into_iter().flatten() {
                    let at = format!("{pointer}/{}", escape(name));
                    let child = required && needed.contains(name);
                    if members.contains_key(name) {
                        self.descend(member, at, base, child, depth, out);
                    } else if let Some(wider) = self.widen(
                        base,
                        &pointer,
                        |whole, value| {
                            whole.as_object_mut()?.insert(name.clone(), value);
                            Some(())
                        },
                        member,
                    ) {
                        self.descend(member, at, &wider, child, depth, out);
                    }
                }
            }
            Value::Array(items) => {
                let fixed = ["prefixItems", "items"].iter().find_map(|k| folded.get(*k)?.as_array()?.first());
                let Some(item) = fixed.or_else(|| folded.get("items").filter(|i| i.is_object())) else { return };
                let at = format!("{pointer}/0");
                if !items.is_empty() {
                    self.descend(item, at, base, required, depth, out);
                } else if let Some(wider) = self.widen(
                    base,
                    &pointer,
                    |whole, value| {
                        whole.as_array_mut()?.push(value);
                        Some(())
                    },
                    item,
                ) {
                    self.descend(item, at, &wider, false, depth, out);
                }
            }
            _ => {}
        }
    }

    /// The base with one more part, if it stays valid.
    fn widen(
        &self,
        base: &Value,
        pointer: &str,
        add: impl Fn(&mut Value, Value) -> Option<()>,
        schema: &Value,
    ) -> Option<Value> {
        let sources = [&mut Plain as &mut dyn Source, &mut Full, &mut Seeded::new(7)];
        sources.into_iter().find_map(|source| {
            let value = Maker::new(&self.schema).make(schema, source, 1)?;
            let mut wider = base.clone();
            add(wider.pointer_mut(pointer)?, value)?;
            self.check.accepts(&wider).then_some(wider)
        })
    }

    /// The fold whose branches fit the value that stands there.
    fn fold_for(&self, schema: &Value, value: &Value) -> Option<Map<String, Value>> {
        let fits = |folded: &Map<String, Value>| {
            folded.get("type").is_none_or(|t| {
                let types = fold::type_list(t);
                let actual = fold::type_of(value);
                types.iter().any(|t| t == actual || (t == "number" && actual == "integer"))
            })
        };
        let plain = fold::fold(&self.schema, schema, &mut Plain)?;
        if fits(&plain) {
            return Some(plain);
        }
        (1..=8).find_map(|seed| fold::fold(&self.schema, schema, &mut Seeded::new(seed)).filter(fits))
    }
}

/// A part of an instance, the schema that rules it, and a valid instance around it.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) pointer: String,
    pub(super) schema: Value,
    pub(super) folded: Map<String, Value>,
    /// The types that the schema lets through, where that is plain to see.
    pub(super) types: Option<Vec<String>>,
    pub(super) base: Value,
    /// Whether each member on the way is a required one.
    pub(super) required: bool,
}

impl Place {
    pub(super) fn here(&self) -> Option<&Value> {
        self.base.pointer(&self.pointer)
    }

    /// The instance with another value in this place.
    pub(super) fn with(&self, value: Value) -> Option<Value> {
        let mut whole = self.base.clone();
        *whole.pointer_mut(&self.pointer)? = value;
        Some(whole)
    }
}

/// Values at the edges of what one place allows; the caller checks them.
fn edges(root: &Value, place: &Place) -> Vec<Value> {
    let schema = &place.folded;
    let mut out = Vec::new();
    out.extend(schema.get("enum").and_then(Value::as_array).into_iter().flatten().take(16).cloned());
    for key in ["anyOf", "oneOf"] {
        for branch in place.schema.get(key).and_then(Value::as_array).into_iter().flatten().take(8) {
            out.extend(Maker::new(root).make(branch, &mut Plain, 1));
        }
    }
    let types = place.types.clone().or_else(|| Some(fold::type_list(schema.get("type")?))).unwrap_or_default();
    for kind in types {
        match kind.as_str() {
            "null" => out.push(Value::Null),
            "boolean" => out.extend([Value::Bool(false), Value::Bool(true)]),
            "integer" | "number" => {
                let interval = Interval::of(schema);
                if let Some((low, high)) = interval.integers() {
                    let step = interval.whole_step();
                    for factor in [low, low.saturating_add(1), -1, 0, 1, 2_147_483_647, 2_147_483_648, high - 1, high] {
                        out.extend(factor.clamp(low, high).checked_mul(step).map(Value::from));
                    }
                }
                if kind == "number" {
                    out.extend(
                        [interval.low, interval.high, Some(0.5), Some(-0.5), Some(1e-9)]
                            .into_iter()
                            .flatten()
                            .filter_map(number),
                    );
                }
            }
            "string" => {
                let low = count(schema, "minLength").unwrap_or(0);
                let high = count(schema, "maxLength").unwrap_or(text::LONGEST).min(text::LONGEST);
                let filled = |c: &str, n: usize| Value::from(c.repeat(n));
                out.extend([
                    filled("x", low),
                    filled("x", high),
                    filled("漢", low.max(1)),
                    filled("😀", low.max(1)),
                    filled(" ", low.max(1)),
                ]);
                if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
                    out.extend(
                        (1..=3).filter_map(|s| text::of_pattern(pattern, low, &mut Seeded::new(s)).map(Value::from)),
                    );
                }
            }
            "array" => {
                let low = count(schema, "minItems").unwrap_or(0);
                let high = count(schema, "maxItems").unwrap_or(low.saturating_add(3)).min(BIG_COUNT);
                let item = place.here().and_then(|v| v.get(0)).cloned().or_else(|| {
                    Maker::new(root).make(schema.get("items").unwrap_or(&Value::Bool(true)), &mut Plain, 1)
                });
                if let Some(item) = item.filter(|_| low <= BIG_COUNT) {
                    out.extend([low, high].map(|n| Value::Array(vec![item.clone(); n])));
                }
            }
            _ => {}
        }
    }
    out
}
