//! Instances that just miss a schema: one constraint broken, all else as in the smallest valid instance.
//!
//! Each [`NearMiss`] says where and what, and whether a lenient server may take it legally: coercion ("1" for a number),
//! defaults, members that nobody reads. Only a miss that no coercion can mend is evidence against a server.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{
    bounds::{Interval, count, number},
    fold,
    generator::{Generator, Place},
    make::{Maker, names},
    source::Plain,
    text,
};

/// A value that the schema refuses.
#[derive(Clone, Debug, PartialEq)]
pub struct NearMiss {
    pub value: Value,
    /// JSON Pointer to the part that is wrong, or to the object that lacks a member.
    pub pointer: String,
    /// What is wrong, in words: "required member `text` left out".
    pub what: String,
    pub kind: NearMissKind,
    /// A lenient server may take the value legally: it can be coerced, defaulted or ignored.
    pub coercible: bool,
    /// Every member on the way to the wrong part is a required one.
    pub required: bool,
}

/// The constraint that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NearMissKind {
    MissingRequired,
    WrongType,
    Fraction,
    OutOfRange,
    NotMultiple,
    NotInEnum,
    TooShort,
    TooLong,
    PatternMismatch,
    TooFewItems,
    TooManyItems,
    RepeatedItem,
    ExtraMember,
    TooFewMembers,
    TooManyMembers,
}

const MOST_MISSES: usize = 240;
const MOST_MADE: usize = 1_024;

pub(super) fn near_misses(generator: &Generator) -> Vec<NearMiss> {
    let mut out: Vec<NearMiss> = Vec::new();
    let mut known = HashSet::new();
    for place in generator.places() {
        for miss in at(&generator.schema, &place) {
            if out.len() >= MOST_MISSES {
                return out;
            }
            if known.insert(miss.value.to_string()) && generator.check().refuses(&miss.value) {
                out.push(miss);
            }
        }
    }
    out
}

struct Misses<'p> {
    place: &'p Place,
    out: Vec<NearMiss>,
}

impl Misses<'_> {
    fn put(&mut self, kind: NearMissKind, coercible: bool, value: Value, what: String) {
        if let Some(whole) = self.place.with(value) {
            self.push(kind, coercible, whole, what);
        }
    }

    fn push(&mut self, kind: NearMissKind, coercible: bool, value: Value, what: String) {
        let (pointer, required) = (self.place.pointer.clone(), self.place.required);
        self.out.push(NearMiss { value, pointer, what, kind, coercible, required });
    }
}

fn at(root: &Value, place: &Place) -> Vec<NearMiss> {
    let mut misses = Misses { place, out: Vec::new() };
    let schema = &place.folded;
    match place.here() {
        Some(Value::Object(members)) => object(root, schema, members, &mut misses),
        Some(Value::Array(items)) => array(root, schema, items, &mut misses),
        Some(Value::String(text)) => string(schema, text, &mut misses),
        Some(Value::Number(_)) => numeric(schema, &mut misses),
        _ => {}
    }
    wrong_type(place, &mut misses);
    outside_enum(schema, &mut misses);
    misses.out
}

fn object(root: &Value, schema: &Map<String, Value>, members: &Map<String, Value>, misses: &mut Misses<'_>) {
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    for name in names(schema.get("required")) {
        if !members.contains_key(&name) {
            continue;
        }
        let mut without = members.clone();
        without.shift_remove(&name);
        // Absent and null are one to many languages, and a default may stand in.
        let member = properties.get(&name);
        let defaulted = member.and_then(|m| fold::fold(root, m, &mut Plain)).is_some_and(|m| m.contains_key("default"));
        let nullable =
            member.is_some_and(|m| fold::types(root, m, 24).is_none_or(|types| types.iter().any(|t| t == "null")));
        let what = format!("required member `{name}` left out");
        misses.put(NearMissKind::MissingRequired, defaulted || nullable, Value::Object(without), what);
    }
    let extra = "mcp-conform-extra";
    let mut more = members.clone();
    more.insert(extra.to_owned(), json!("x"));
    // Ignoring what it does not know is no lie of a server: never evidence.
    let what = format!("member `{extra}` added");
    misses.put(NearMissKind::ExtraMember, true, Value::Object(more), what);
    if let Some(low) = count(schema, "minProperties").filter(|low| *low > 0) {
        let fewer: Map<_, _> = members.iter().take(low - 1).map(|(k, v)| (k.clone(), v.clone())).collect();
        misses.put(NearMissKind::TooFewMembers, false, Value::Object(fewer), format!("fewer than {low} members"));
    }
    if let Some(high) = count(schema, "maxProperties").filter(|high| *high < MOST_MADE) {
        let mut many = members.clone();
        for n in 0..=high {
            many.entry(format!("extra{n}")).or_insert(json!("x"));
        }
        misses.put(NearMissKind::TooManyMembers, true, Value::Object(many), format!("more than {high} members"));
    }
}

fn array(root: &Value, schema: &Map<String, Value>, items: &[Value], misses: &mut Misses<'_>) {
    // The smallest array is often empty; what would stand in it can still stand there too often.
    let item = items.first().cloned().or_else(|| {
        Maker::new(root).make(
            schema.get("items").filter(|i| !i.is_array()).unwrap_or(&Value::Bool(true)),
            &mut Plain,
            1,
        )
    });
    if let Some(low) = count(schema, "minItems").filter(|low| *low > 0) {
        let fewer = items.iter().take(low - 1).cloned().collect();
        misses.put(NearMissKind::TooFewItems, false, Value::Array(fewer), format!("fewer than {low} items"));
    }
    if let (Some(high), Some(first)) = (count(schema, "maxItems").filter(|h| *h < MOST_MADE), &item) {
        let many = vec![first.clone(); high + 1];
        misses.put(NearMissKind::TooManyItems, false, Value::Array(many), format!("more than {high} items"));
    }
    if schema.get("uniqueItems") == Some(&Value::Bool(true))
        && let Some(first) = &item
    {
        let mut twice = vec![first.clone(), first.clone()];
        twice.extend(items.iter().skip(1).cloned());
        // A set is what such an array becomes in many languages.
        misses.put(NearMissKind::RepeatedItem, true, Value::Array(twice), "an item twice".to_owned());
    }
}

fn string(schema: &Map<String, Value>, here: &str, misses: &mut Misses<'_>) {
    if let Some(low) = count(schema, "minLength").filter(|low| *low > 0) {
        let shorter: String = here.chars().take((low - 1).min(text::LONGEST)).collect();
        misses.put(NearMissKind::TooShort, false, shorter.into(), format!("shorter than {low} characters"));
    }
    if let Some(high) = count(schema, "maxLength").filter(|high| *high < text::LONGEST) {
        let last = here.chars().last().unwrap_or('x');
        let mut longer = here.to_owned();
        longer.extend(std::iter::repeat_n(last, (high + 1).saturating_sub(here.chars().count())));
        misses.put(NearMissKind::TooLong, false, longer.into(), format!("longer than {high} characters"));
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        let what: String = format!("does not match {pattern}").chars().take(120).collect();
        for wrong in
            [format!("{here}\u{1}"), format!("\u{1}{here}"), "\u{1}".repeat(here.chars().count()), "!".to_owned()]
        {
            misses.put(NearMissKind::PatternMismatch, false, wrong.into(), what.clone());
        }
    }
}

fn numeric(schema: &Map<String, Value>, misses: &mut Misses<'_>) {
    let interval = Interval::of(schema);
    let whole = fold::type_list(schema.get("type").unwrap_or(&Value::Null)).iter().all(|t| t == "integer");
    let step = interval.step.unwrap_or(1.0);
    for (bound, open, sign, word) in
        [(interval.low, interval.low_open, -1.0, "less"), (interval.high, interval.high_open, 1.0, "more")]
    {
        let Some(bound) = bound else { continue };
        let integral = (bound / step).fract() == 0.0;
        let beyond = match (open, whole, integral) {
            (true, _, true) => bound,
            (true, false, false) => bound,
            (_, _, true) => bound + sign * step,
            (_, _, false) if sign < 0.0 => (bound / step).floor() * step,
            (_, _, false) => (bound / step).ceil() * step,
        };
        if let Some(value) = number(beyond) {
            let what = if open && beyond == bound {
                format!("not {} than {bound}", opposite(word))
            } else {
                format!("{word} than {bound}")
            };
            misses.put(NearMissKind::OutOfRange, false, value, what);
        }
    }
    let inside = misses.place.here().and_then(Value::as_f64).unwrap_or(0.0);
    if let Some(step) = interval.step {
        for off in [inside + step / 2.0, inside - step / 2.0, inside + 1.0] {
            if let Some(value) = number(off) {
                misses.put(NearMissKind::NotMultiple, false, value, format!("no multiple of {step}"));
            }
        }
    }
    if whole {
        for off in [inside + 0.5, inside - 0.5] {
            if let Some(value) = number(off) {
                misses.put(NearMissKind::Fraction, true, value, "a fraction for an integer".to_owned());
            }
        }
    }
}

fn opposite(word: &str) -> &'static str {
    if word == "less" { "more" } else { "less" }
}

/// Values of other types. What no coercion turns into the type comes first.
fn wrong_type(place: &Place, misses: &mut Misses<'_>) {
    let Some(types) = place.types.as_ref().filter(|types| !types.is_empty()) else { return };
    let allowed = |kind: &str| types.iter().any(|t| t == kind);
    let scalars = types.iter().all(|t| matches!(t.as_str(), "string" | "number" | "integer" | "boolean" | "null"));
    let wanted = types.join(" or ");
    let mut candidates: Vec<(&str, bool, Value)> = Vec::new();
    if scalars {
        // Two items and a nested object: some libraries unwrap an array of one, and read an empty one as nothing.
        candidates.push(("an object", false, json!({ "unexpected": [] })));
        candidates.push(("an array", false, json!([{ "unexpected": [] }, {}])));
    } else {
        // A library that wraps single values makes an array of anything, and some languages know no difference between
        // arrays and objects; only a bare value for an object is beyond repair.
        let only_objects = types.iter().all(|t| t == "object");
        candidates.push(("a number", !only_objects, json!(7)));
        candidates.push(("an object", true, json!({ "unexpected": [] })));
        candidates.push(("an array", true, json!([{ "unexpected": [] }, {}])));
    }
    candidates.push(("null", true, Value::Null));
    candidates.push(("a string", true, json!("x")));
    candidates.push(("a string", true, json!("1")));
    candidates.push(("a number", true, json!(1)));
    candidates.push(("a boolean", true, json!(true)));
    for (word, coercible, value) in candidates {
        let kind = fold::type_of(&value);
        if allowed(kind) || (kind == "integer" && allowed("number")) {
            continue;
        }
        misses.put(NearMissKind::WrongType, coercible, value, format!("{word} where {wanted} is declared"));
    }
}

fn outside_enum(schema: &Map<String, Value>, misses: &mut Misses<'_>) {
    let allowed: Vec<Value> = match (schema.get("enum").and_then(Value::as_array), schema.get("const")) {
        (Some(list), _) => list.clone(),
        (None, Some(value)) => vec![value.clone()],
        (None, None) => return,
    };
    let what = "none of the listed values".to_owned();
    if allowed.iter().any(Value::is_string) {
        misses.put(NearMissKind::NotInEnum, false, json!("mcp-conform-not-listed"), what.clone());
    }
    if allowed.iter().any(Value::is_number) {
        let most = allowed.iter().filter_map(Value::as_f64).fold(0.0, f64::max);
        if let Some(value) = number(most + 1.0) {
            misses.put(NearMissKind::NotInEnum, false, value, what.clone());
        }
    }
    // Another case of a listed word: many servers compare without it.
    for listed in allowed.iter().filter_map(Value::as_str).take(1) {
        let flipped: String = listed
            .chars()
            .map(|c| if c.is_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() })
            .collect();
        misses.put(NearMissKind::NotInEnum, true, flipped.into(), "a listed value in other case".to_owned());
    }
}
