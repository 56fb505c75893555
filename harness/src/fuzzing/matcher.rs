//! [`matcher`]: the patterns of cases against a second reading of what they mean.

use arbitrary::Unstructured;
use mcp_conform_cases::{
    ast::{JsonType, Matcher, Source, Span, Step, Variable},
    parse,
};
use serde_json::{Map, Number, Value, json};

const DEEPEST: usize = 4;

/// Any bytes as a value and a pattern: the verdict is that of a plain reading of the language, where nothing can be said is
/// said so, a mismatch points into the value, every value matches itself, and a pattern written down means the same.
pub fn matcher(data: &[u8]) {
    let mut dice = Unstructured::new(data);
    let value = value(&mut dice, 0);
    let pattern = pattern(&mut dice, &value, 0);
    let bound = value.pointer("/a").cloned().unwrap_or_else(|| json!(7));
    let vars = |variable: &Variable| (variable.name == "bound").then(|| bound.clone());
    for value in [Some(&value), value.get("b"), None] {
        let verdict = pattern.check(value, &vars);
        let said = match &verdict {
            Ok(()) => Some(true),
            Err(mismatch) if mismatch.unbound.is_some() => None,
            Err(_) => Some(false),
        };
        assert_eq!(said, holds(&pattern, value, &bound), "{pattern:?} against {value:?}");
        if let Err(mismatch) = verdict {
            let parent = mismatch.pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
            assert!(value.map_or(parent.is_empty(), |value| value.pointer(parent).is_some()), "{}", mismatch.pointer);
            assert!(mismatch.message.len() < 1000 * size(&pattern), "a message is bounded");
        }
    }
    assert_eq!(Matcher::Literal(value.clone()).check(Some(&value), &vars), Ok(()), "a value matches itself");
    // Reading YAML takes longer than all else.
    if dice.ratio(1_u8, 8_u8).unwrap_or(true)
        && let Some(text) = written(&pattern)
    {
        let read = read(&text);
        let same = |value: Option<&Value>| read.check(value, &vars).is_ok() == pattern.check(value, &vars).is_ok();
        assert!(same(Some(&value)) && same(value.get("b")) && same(None), "{text} is not {pattern:?}");
    }
}

/// What a pattern says of a value; nothing where it rests on a variable without a value.
fn holds(pattern: &Matcher, value: Option<&Value>, bound: &Value) -> Option<bool> {
    // The first part that does not hold decides.
    let all = |mut parts: &mut dyn Iterator<Item = Option<bool>>| {
        Iterator::find(&mut parts, |part| *part != Some(true)).unwrap_or(Some(true))
    };
    let any = |parts: &mut dyn Iterator<Item = Option<bool>>| {
        let parts: Vec<_> = parts.collect();
        if parts.contains(&Some(true)) { Some(true) } else { (!parts.contains(&None)).then_some(false) }
    };
    let children = |value: &Value| -> Option<Vec<Value>> {
        match value {
            Value::Array(items) => Some(items.clone()),
            Value::Object(members) => Some(members.values().cloned().collect()),
            _ => None,
        }
    };
    match (pattern, value) {
        (Matcher::Absent, value) => Some(value.is_none()),
        (Matcher::Not(inner), value) => holds(inner, value, bound).map(|held| !held),
        (Matcher::OneOf(alternatives), value) => any(&mut alternatives.iter().map(|one| holds(one, value, bound))),
        (_, None) => Some(false),
        (Matcher::Any, Some(_)) => Some(true),
        (Matcher::Literal(literal), Some(value)) => Some(is_like(literal, value)),
        (Matcher::Variable(variable), Some(value)) => (variable.name == "bound").then(|| is_like(bound, value)),
        (Matcher::Array(items), Some(Value::Array(found))) if items.len() == found.len() => {
            all(&mut items.iter().zip(found).map(|(item, found)| holds(item, Some(found), bound)))
        }
        (Matcher::Object(members), Some(Value::Object(found))) => {
            all(&mut members.iter().map(|(name, member)| holds(member, found.get(name), bound)))
        }
        (Matcher::Contains(inner), Some(value)) => match children(value) {
            Some(parts) => any(&mut parts.iter().map(|part| holds(inner, Some(part), bound))),
            None => Some(false),
        },
        (Matcher::Each(inner), Some(value)) => match children(value) {
            Some(parts) => all(&mut parts.iter().map(|part| holds(inner, Some(part), bound))),
            None => Some(false),
        },
        (Matcher::Matches(expression), Some(Value::String(text))) => {
            let plain = EXPRESSIONS.iter().find(|(known, _)| known == expression).map(|(_, plain)| plain);
            Some(plain.is_some_and(|plain| plain(text)))
        }
        (Matcher::Range { min, max }, Some(Value::Number(number))) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            Some(min.is_none_or(|min| min <= number) && max.is_none_or(|max| number <= max))
        }
        (Matcher::Type(kind), Some(value)) => Some(kind_of(value).contains(kind)),
        _ => Some(false),
    }
}

/// Objects are open at every depth, all else is whole.
fn is_like(literal: &Value, value: &Value) -> bool {
    match (literal, value) {
        (Value::Object(literal), Value::Object(value)) => {
            literal.iter().all(|(name, literal)| value.get(name).is_some_and(|value| is_like(literal, value)))
        }
        (Value::Array(literal), Value::Array(value)) => {
            literal.len() == value.len() && literal.iter().zip(value).all(|(literal, value)| is_like(literal, value))
        }
        (Value::Number(literal), Value::Number(value)) => decimal(literal) == decimal(value),
        _ => literal == value,
    }
}

/// The exact value in digits.
fn decimal(number: &Number) -> String {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(0.0) => "0".to_owned(),
        Some(double) if double.fract() == 0.0 => format!("{double:.0}"),
        _ => number.to_string(),
    }
}

fn kind_of(value: &Value) -> &'static [JsonType] {
    match value {
        Value::Null => &[JsonType::Null],
        Value::Bool(_) => &[JsonType::Boolean],
        Value::Number(number) if decimal(number).contains(['.', 'e']) => &[JsonType::Number],
        Value::Number(_) => &[JsonType::Number, JsonType::Integer],
        Value::String(_) => &[JsonType::String],
        Value::Array(_) => &[JsonType::Array],
        Value::Object(_) => &[JsonType::Object],
    }
}

type Plain = fn(&str) -> bool;

/// Expressions, and what they say without an engine.
const EXPRESSIONS: &[(&str, Plain)] = &[
    ("^a+$", |text| !text.is_empty() && text.bytes().all(|byte| byte == b'a')),
    ("b", |text| text.contains('b')),
    ("^$", str::is_empty),
    ("^[0-9]{2,3}", |text| text.bytes().take(2).filter(u8::is_ascii_digit).count() == 2),
    ("a|é", |text| text.contains(['a', 'é'])),
];

fn size(pattern: &Matcher) -> usize {
    match pattern {
        Matcher::Array(items) | Matcher::OneOf(items) => 1 + items.iter().map(size).sum::<usize>(),
        Matcher::Object(members) => 1 + members.iter().map(|(_, member)| size(member)).sum::<usize>(),
        Matcher::Contains(inner) | Matcher::Each(inner) | Matcher::Not(inner) => 1 + size(inner),
        _ => 1,
    }
}

/// The pattern as a script has it; nothing if it has a variable, which would have to be in scope, or a number that scripts
/// refuse.
fn written(pattern: &Matcher) -> Option<Value> {
    let list = |items: &[Matcher]| items.iter().map(written).collect::<Option<Vec<_>>>();
    let operator = |name: &str, inner: Value| json!({ name: inner });
    Some(match pattern {
        Matcher::Absent => json!("$absent"),
        Matcher::Any => json!("$any"),
        Matcher::Array(items) => Value::Array(list(items)?),
        Matcher::Contains(inner) => operator("$contains", written(inner)?),
        Matcher::Each(inner) => operator("$each", written(inner)?),
        Matcher::Literal(literal) => escaped(literal)?,
        Matcher::Matches(expression) => operator("$matches", json!(expression)),
        Matcher::Not(inner) => operator("$not", written(inner)?),
        Matcher::Object(members) => {
            let members = members.iter().map(|(name, member)| Some((key(name), written(member)?)));
            Value::Object(members.collect::<Option<_>>()?)
        }
        Matcher::OneOf(items) => operator("$one_of", Value::Array(list(items)?)),
        Matcher::Range { min, max } => {
            let bounds = [("$min", min), ("$max", max)].into_iter();
            let bounds = bounds.filter_map(|(name, bound)| Some((name.to_owned(), (*bound)?)));
            let bounds = bounds.map(|(name, bound)| Some((name, json!(writable(bound)?))));
            Value::Object(bounds.collect::<Option<_>>()?)
        }
        Matcher::Type(kind) => operator("$type", json!(format!("{kind:?}").to_lowercase())),
        Matcher::Variable(_) => return None,
    })
}

/// A literal, in which the sign stands for itself.
fn escaped(literal: &Value) -> Option<Value> {
    Some(match literal {
        Value::String(text) => json!(key(text)),
        Value::Array(items) => Value::Array(items.iter().map(escaped).collect::<Option<_>>()?),
        Value::Object(members) => {
            let members = members.iter().map(|(name, member)| Some((key(name), escaped(member)?)));
            Value::Object(members.collect::<Option<_>>()?)
        }
        Value::Number(number) if number.is_f64() => json!(writable(number.as_f64()?)?),
        _ => literal.clone(),
    })
}

/// A double that a script may hold: one beyond all integers would be rounded silently.
fn writable(double: f64) -> Option<f64> {
    (double.fract() != 0.0 || double.abs() < 18_446_744_073_709_551_615.0).then_some(double)
}

fn key(name: &str) -> String {
    if name.starts_with('$') { format!("${name}") } else { name.to_owned() }
}

/// The pattern of a script that expects it.
fn read(pattern: &Value) -> Matcher {
    let script = format!(
        "id: fuzz\ntitle: A pattern\nrevisions: [2025-11-25]\nsteps:\n  - request: {{method: ping, expect: {{result: {pattern}}}, requirement: own/fuzz, says: it is not so}}\n"
    );
    let case = parse(Source { name: "fuzz.yaml".into(), text: script.as_str().into() });
    let case = case
        .unwrap_or_else(|faults| panic!("{}\n{script}", faults.iter().map(|it| it.render(false)).collect::<String>()));
    let step = case.steps.into_iter().next().map(|step| step.node);
    let Some(Step::Request(step)) = step else { panic!("the step is a request") };
    let outcomes = step.judgements.into_iter().flat_map(|judgement| judgement.outcomes);
    outcomes.filter_map(|outcome| outcome.see.result).next().expect("the result is expected")
}

fn text(dice: &mut Unstructured<'_>) -> String {
    let words = ["", "a", "aa", "b", "$a", "$$", "12", "é", "~/", "null", "- x", "#", "\u{1F600}"];
    match dice.ratio(3_u8, 4_u8).unwrap_or(true) {
        true => (*dice.choose(&words).unwrap_or(&"a")).to_owned(),
        false => dice.arbitrary::<&str>().unwrap_or_default().chars().take(10).filter(|it| !it.is_control()).collect(),
    }
}

fn number(dice: &mut Unstructured<'_>) -> Value {
    let known = [
        json!(0),
        json!(-0.0),
        json!(7),
        json!(7.0),
        json!(7.5),
        json!(-1),
        json!(9_007_199_254_740_993_i64),
        json!(9_007_199_254_740_992.0),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e300),
        json!(-2.5e-7),
        json!(1e18),
    ];
    match dice.int_in_range(0..=3_u8).unwrap_or_default() {
        0 => json!(dice.arbitrary::<i64>().unwrap_or_default()),
        1 => json!(dice.arbitrary::<f64>().ok().filter(|double| double.is_finite()).unwrap_or_default()),
        _ => dice.choose(&known).cloned().unwrap_or_default(),
    }
}

fn value(dice: &mut Unstructured<'_>, depth: usize) -> Value {
    let last = if depth < DEEPEST { 7_u8 } else { 3 };
    match dice.int_in_range(0..=last).unwrap_or_default() {
        0 => Value::Null,
        1 => dice.arbitrary::<bool>().unwrap_or_default().into(),
        2 => number(dice),
        3 => text(dice).into(),
        4 | 5 => {
            let count = dice.int_in_range(0..=3_u8).unwrap_or_default();
            (0..count).map(|_| value(dice, depth + 1)).collect::<Vec<_>>().into()
        }
        _ => {
            let mut members = Map::new();
            for name in ["a", "b", "$c", "~/"] {
                if dice.arbitrary().unwrap_or(false) {
                    members.insert(name.to_owned(), value(dice, depth + 1));
                }
            }
            Value::Object(members)
        }
    }
}

/// A pattern that has to do with the value, as most in scripts have.
fn pattern(dice: &mut Unstructured<'_>, near: &Value, depth: usize) -> Matcher {
    let last = if depth < DEEPEST { 13_u8 } else { 6 };
    let variable = |name: &str| Variable { name: name.to_owned(), pointer: String::new(), span: Span::default() };
    let first = |near: &Value| {
        let child = near.as_array().and_then(|items| items.first());
        child.or_else(|| near.as_object().and_then(|members| members.values().next())).cloned().unwrap_or_default()
    };
    match dice.int_in_range(0..=last).unwrap_or_default() {
        0 => Matcher::Any,
        1 => Matcher::Absent,
        2 => Matcher::Literal(near.clone()),
        3 => Matcher::Literal(value(dice, depth)),
        4 => {
            let kinds = [
                JsonType::Array,
                JsonType::Boolean,
                JsonType::Integer,
                JsonType::Null,
                JsonType::Number,
                JsonType::Object,
                JsonType::String,
            ];
            Matcher::Type(*dice.choose(&kinds).unwrap_or(&JsonType::Null))
        }
        5 => match dice.arbitrary().unwrap_or(true) {
            true => Matcher::Matches(dice.choose(EXPRESSIONS).map_or("b", |(expression, _)| expression).to_owned()),
            false => {
                let mut bound = || number(dice).as_f64();
                let (min, max) = (bound(), bound());
                Matcher::Range { min, max: max.filter(|_| dice.arbitrary().unwrap_or(false)) }
            }
        },
        6 => Matcher::Variable(variable(dice.choose(&["bound", "unbound"]).unwrap_or(&"bound"))),
        7 => Matcher::Not(Box::new(pattern(dice, near, depth + 1))),
        8 => {
            let count = dice.int_in_range(0..=3_u8).unwrap_or_default();
            Matcher::OneOf((0..count).map(|_| pattern(dice, near, depth + 1)).collect())
        }
        9 => Matcher::Contains(Box::new(pattern(dice, &first(near), depth + 1))),
        10 => Matcher::Each(Box::new(pattern(dice, &first(near), depth + 1))),
        _ => match near {
            Value::Array(items) => Matcher::Array(items.iter().map(|item| pattern(dice, item, depth + 1)).collect()),
            Value::Object(members) => {
                let named = members.iter().map(|(name, member)| (name.clone(), pattern(dice, member, depth + 1)));
                let mut named: Vec<_> = named.collect();
                if dice.ratio(1_u8, 4_u8).unwrap_or(false) {
                    named.push(("missing".to_owned(), pattern(dice, &Value::Null, depth + 1)));
                }
                Matcher::Object(named)
            }
            other => Matcher::Literal(other.clone()),
        },
    }
}
