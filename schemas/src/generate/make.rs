//! One value that a schema should accept, by the choices of a source.

use serde_json::{Map, Value};

use super::{
    bounds::{Interval, count, number},
    fold,
    source::Source,
    text,
};
use crate::InstanceSchema;

const MOST_DEPTH: usize = 24;
/// From here on only what is required is made, so that recursive schemas end.
const FULL_DEPTH: usize = 5;
const MOST_NODES: usize = 4_000;
const MOST_ITEMS: usize = 1_000;

pub(super) struct Maker<'s> {
    pub(super) root: &'s Value,
    nodes: usize,
}

impl<'s> Maker<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        Self { root, nodes: MOST_NODES }
    }

    pub(super) fn make(&mut self, schema: &Value, source: &mut dyn Source, depth: usize) -> Option<Value> {
        self.nodes = self.nodes.checked_sub(1)?;
        if depth > MOST_DEPTH {
            return None;
        }
        let folded = fold::fold(self.root, schema, source)?;
        self.make_folded(&folded, source, depth)
    }

    pub(super) fn make_folded(
        &mut self,
        schema: &Map<String, Value>,
        source: &mut dyn Source,
        depth: usize,
    ) -> Option<Value> {
        if let Some(given) = given(schema, source) {
            return Some(given);
        }
        let kind = kind(schema, source)?;
        match kind.as_str() {
            "null" => Some(Value::Null),
            "boolean" => Some(Value::Bool(source.index(2) == 1)),
            "integer" => integer(schema, source),
            "number" => any_number(schema, source),
            "string" => string(schema, source).map(Value::String),
            "array" => self.array(schema, source, depth),
            "object" => self.object(schema, source, depth),
            _ => None,
        }
    }

    fn array(&mut self, schema: &Map<String, Value>, source: &mut dyn Source, depth: usize) -> Option<Value> {
        let low = count(schema, "minItems").unwrap_or(0);
        let high = count(schema, "maxItems").unwrap_or(usize::MAX);
        if low > high || low > MOST_ITEMS {
            return None;
        }
        let fixed = ["prefixItems", "items"].iter().find_map(|k| schema.get(*k)?.as_array());
        let rest = schema.get("items").filter(|i| !i.is_array()).or_else(|| {
            let key = if schema.contains_key("prefixItems") { "unevaluatedItems" } else { "additionalItems" };
            schema.get(key)
        });
        let contains = schema.get("contains");
        let least_contained = contains.map_or(0, |_| count(schema, "minContains").unwrap_or(1));
        let unique = schema.get("uniqueItems") == Some(&Value::Bool(true));
        let prefix = fixed.map_or(0, Vec::len);
        let mut length = low.max(least_contained);
        while length < high && length < low + 3 && depth < FULL_DEPTH && source.more() {
            length += 1;
            if source.plain() {
                break;
            }
        }
        let mut items: Vec<Value> = Vec::new();
        for index in 0..length {
            let free = Value::Bool(true);
            let schema = match fixed.and_then(|f| f.get(index)) {
                Some(schema) => schema,
                None if index < prefix.max(length) && length - index <= least_contained => contains?,
                None => rest.unwrap_or(&free),
            };
            let mut item = self.make(schema, source, depth + 1)?;
            if unique && items.contains(&item) {
                // Plain choices repeat themselves; a seed by position tells the items apart.
                let mut other = super::source::Seeded::new(u64::try_from(index).unwrap_or(0) + 1);
                item = (0..32).find_map(|_| self.make(schema, &mut other, depth + 1).filter(|i| !items.contains(i)))?;
            }
            items.push(item);
        }
        Some(Value::Array(items))
    }

    fn object(&mut self, schema: &Map<String, Value>, source: &mut dyn Source, depth: usize) -> Option<Value> {
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let patterns = schema.get("patternProperties").and_then(Value::as_object).unwrap_or(&none);
        let rest = ["additionalProperties", "unevaluatedProperties"].iter().find_map(|k| schema.get(*k));
        let high = count(schema, "maxProperties").unwrap_or(usize::MAX);
        let low = count(schema, "minProperties").unwrap_or(0);
        let mut wanted = names(schema.get("required"));
        if depth < FULL_DEPTH {
            for (name, member) in properties {
                if wanted.len() < high && *member != Value::Bool(false) && !wanted.contains(name) && source.more() {
                    wanted.push(name.clone());
                }
            }
        }
        let spare = properties.iter().filter(|(_, s)| **s != Value::Bool(false)).map(|(n, _)| n.clone());
        for name in spare {
            if wanted.len() < low && !wanted.contains(&name) {
                wanted.push(name);
            }
        }
        // What one member makes necessary may make another one necessary.
        if let Some(dependent) = schema.get("dependentRequired").and_then(Value::as_object) {
            let mut next = 0;
            while let Some(name) = wanted.get(next).cloned() {
                for needed in names(dependent.get(&name)) {
                    if !wanted.contains(&needed) {
                        wanted.push(needed);
                    }
                }
                next += 1;
            }
        }
        let mut out = Map::new();
        for name in wanted {
            let free = Value::Bool(true);
            let member = properties.get(&name).or_else(|| matching(patterns, &name)).or(rest).unwrap_or(&free);
            out.insert(name, self.make(member, source, depth + 1)?);
        }
        let mut tries = 0;
        while out.len() < low && tries < 2 * low.min(MOST_ITEMS) + 8 {
            tries += 1;
            let (name, member) = self.invented(schema, patterns, rest, tries, source, depth)?;
            out.entry(name).or_insert(member);
        }
        // A few members that nothing names: what an open object allows.
        let open = !matches!(rest, Some(Value::Bool(false)));
        if open
            && !source.plain()
            && out.len() < high
            && depth < 2
            && source.index(8) == 7
            && let Some((name, member)) = self.invented(schema, patterns, rest, 1, source, depth)
        {
            out.entry(name).or_insert(member);
        }
        Some(Value::Object(out))
    }

    fn invented(
        &mut self,
        schema: &Map<String, Value>,
        patterns: &Map<String, Value>,
        rest: Option<&Value>,
        number: usize,
        source: &mut dyn Source,
        depth: usize,
    ) -> Option<(String, Value)> {
        let free = Value::Bool(true);
        if let Some((pattern, member)) = patterns.iter().next()
            && schema.get("propertyNames").is_none()
        {
            let mut seeded = super::source::Seeded::new(u64::try_from(number).unwrap_or(1));
            let mut name = text::of_pattern(pattern, 0, if number == 1 { &mut *source } else { &mut seeded })?;
            if number > 1 && !pattern.ends_with('$') {
                name.push_str(&number.to_string());
            }
            return Some((name, self.make(member, source, depth + 1)?));
        }
        let name = match schema.get("propertyNames") {
            Some(names) => {
                let mut seeded = super::source::Seeded::new(u64::try_from(number).unwrap_or(1));
                let folded = fold::fold(self.root, names, &mut seeded)?;
                let source: &mut dyn Source = if number == 1 { source } else { &mut seeded };
                match given(&folded, source) {
                    Some(given) => given.as_str()?.to_owned(),
                    None => string(&folded, source)?,
                }
            }
            None => format!("extra{number}"),
        };
        Some((name, self.make(rest.unwrap_or(&free), source, depth + 1)?))
    }
}

/// A value that the author wrote down: `const`, `enum`, `default`, `examples`.
fn given(schema: &Map<String, Value>, source: &mut dyn Source) -> Option<Value> {
    let examples = ["examples", "enum"].map(|k| schema.get(k).and_then(Value::as_array).filter(|l| !l.is_empty()));
    if let Some(value) = schema.get("const") {
        return Some(value.clone());
    }
    // A seeded or fuzzed run writes its own values as often as it takes the author's.
    let own = !source.plain() && source.index(2) == 0;
    if !own {
        // A default of null says "not given", which is no value to call with.
        if let Some(value) = schema.get("default").filter(|v| !v.is_null() || !source.plain()) {
            return Some(value.clone());
        }
        if let Some(Some(list)) = examples.first() {
            return list.get(source.index(list.len())).cloned();
        }
    }
    let list = examples.get(1).copied().flatten()?;
    list.get(source.index(list.len())).cloned()
}

fn kind(schema: &Map<String, Value>, source: &mut dyn Source) -> Option<String> {
    if let Some(kind) = schema.get("type") {
        let mut types = fold::type_list(kind);
        types.sort_by_key(|t| t == "null");
        return types.get(source.index(types.len().max(1))).cloned();
    }
    let has = |keys: &[&str]| keys.iter().any(|k| schema.contains_key(*k));
    let guess = if has(&[
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "minProperties",
        "propertyNames",
    ]) {
        "object"
    } else if has(&["items", "prefixItems", "minItems", "contains", "uniqueItems"]) {
        "array"
    } else if has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
        "number"
    } else if has(&["pattern", "minLength", "maxLength", "format"]) {
        "string"
    } else {
        const ANY: [&str; 6] = ["string", "integer", "boolean", "object", "array", "null"];
        ANY.get(source.index(ANY.len())).copied().unwrap_or("string")
    };
    Some(guess.to_owned())
}

pub(super) fn integer(schema: &Map<String, Value>, source: &mut dyn Source) -> Option<Value> {
    let interval = Interval::of(schema);
    let (low, high) = interval.integers()?;
    let factor = if source.plain() {
        source.int(low, high)
    } else {
        // Small numbers, the bounds and their neighbours find more than the middle of nowhere.
        let near = [0, 1, -1, low, high, low.saturating_add(1), high.saturating_sub(1)];
        match source.index(near.len() + 1) {
            0 => source.int(low, high),
            i => near.get(i - 1).copied().unwrap_or(0).clamp(low, high),
        }
    };
    factor.checked_mul(interval.whole_step()).map(Value::from)
}

fn any_number(schema: &Map<String, Value>, source: &mut dyn Source) -> Option<Value> {
    let interval = Interval::of(schema);
    if let Some(step) = interval.step.filter(|s| s.fract() != 0.0) {
        let low = (interval.low.unwrap_or(-1e6 * step) / step).ceil();
        let high = (interval.high.unwrap_or(1e6 * step) / step).floor();
        let low = if interval.low_open && interval.low == Some(low * step) { low + 1.0 } else { low };
        let high = if interval.high_open && interval.high == Some(high * step) { high - 1.0 } else { high };
        if low > high {
            return None;
        }
        return number(source.int(low as i64, high as i64) as f64 * step);
    }
    let whole = interval.integers().is_some();
    if whole && (source.plain() || interval.step.is_some() || source.index(2) == 0) {
        return integer(schema, source);
    }
    let low = interval.low.unwrap_or_else(|| interval.high.map_or(-1000.0, |h| h - 1000.0));
    let high = interval.high.unwrap_or(low + 1000.0);
    let part = if source.plain() { 0.5 } else { source.int(1, 1023) as f64 / 1024.0 };
    number(low + (high - low) * part)
}

pub(super) fn string(schema: &Map<String, Value>, source: &mut dyn Source) -> Option<String> {
    let low = count(schema, "minLength").unwrap_or(0);
    let high = count(schema, "maxLength").unwrap_or(usize::MAX);
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        return text::of_pattern(pattern, low, source).or_else(|| beyond_walking(pattern, low, high, source));
    }
    let fitting = |s: &&str| (low..=high).contains(&s.chars().count());
    if let Some(text) = schema.get("format").and_then(Value::as_str).and_then(text::of_format).filter(fitting) {
        return Some(text.to_owned());
    }
    text::of_length(low, high, source)
}

/// For expressions with look-around: the expression without it, or a common word, whichever the whole one matches.
fn beyond_walking(pattern: &str, low: usize, high: usize, source: &mut dyn Source) -> Option<String> {
    let check = InstanceSchema::new(&serde_json::json!({ "pattern": pattern })).ok()?;
    let fits = |text: &str| (low..=high).contains(&text.chars().count()) && check.accepts(&Value::from(text));
    let walked = text::of_pattern(&text::without_look_around(pattern)?, low, source).filter(|text| fits(text));
    walked.or_else(|| text::COMMON.into_iter().find(|text| fits(text)).map(str::to_owned))
}

/// Names in a `required` list.
pub(super) fn names(value: Option<&Value>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for name in value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        if !out.iter().any(|n| n == name) {
            out.push(name.to_owned());
        }
    }
    out
}

/// The schema of the first pattern that matches the name.
fn matching<'s>(patterns: &'s Map<String, Value>, name: &str) -> Option<&'s Value> {
    patterns.iter().find(|(pattern, _)| matches(pattern, name)).map(|(_, schema)| schema)
}

fn matches(pattern: &str, text: &str) -> bool {
    InstanceSchema::new(&serde_json::json!({ "pattern": pattern })).is_ok_and(|s| s.accepts(&Value::from(text)))
}
