//! Patterns against values.
//!
//! [`Matcher::check`] says whether a value is as the pattern wants it and, where it is not, points at the first thing at
//! fault, so that a report can put a caret there.

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Number, Value};

use crate::ast::{JsonType, Matcher, Variable};

/// The first thing about a value that is not as the pattern wants it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Mismatch {
    /// JSON Pointer from the value that was checked.
    pub pointer: String,
    pub message: String,
    /// A variable of the pattern had no value, so that nothing can be said about the value: no verdict may rest on it.
    pub unbound: Option<Variable>,
}

impl Matcher {
    /// Holds `value`, which is `None` where the member is not there, against the pattern.
    pub fn check(&self, value: Option<&Value>, vars: &dyn Fn(&Variable) -> Option<Value>) -> Result<(), Mismatch> {
        check(self, value, vars, &mut String::new())
    }
}

/// A regular expression of a script. The engine is linear in the text, and the automaton is bounded.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > 4096 {
        return Err("it is longer than 4096 bytes".to_owned());
    }
    RegexBuilder::new(pattern).size_limit(1 << 20).dfa_size_limit(1 << 20).nest_limit(64).build().map_err(|error| {
        // The engine draws the pattern over several lines; its last line says what is wrong.
        let text = error.to_string();
        text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
    })
}

/// Equal as JSON: members in any order, numbers by value.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => equal_numbers(a, b),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

fn check(
    matcher: &Matcher,
    value: Option<&Value>,
    vars: &dyn Fn(&Variable) -> Option<Value>,
    at: &mut String,
) -> Result<(), Mismatch> {
    let differs = |at: &str, message: String| Err(Mismatch { pointer: at.to_owned(), message, unbound: None });
    // The patterns that can hold of what is not there.
    match matcher {
        Matcher::Absent => {
            return match value {
                None => Ok(()),
                Some(value) => differs(at, format!("expected nothing here, found {}", brief(value))),
            };
        }
        Matcher::Not(inner) => {
            return match check(inner, value, vars, at) {
                Ok(()) => {
                    differs(at, format!("{} is what must not be here", value.map_or("nothing".to_owned(), brief)))
                }
                Err(mismatch) if mismatch.unbound.is_some() => Err(mismatch),
                Err(_) => Ok(()),
            };
        }
        Matcher::OneOf(alternatives) => return one_of(alternatives, value, vars, at),
        _ => {}
    }
    let Some(value) = value else {
        return differs(at, format!("expected {}, found nothing", wanted(matcher)));
    };
    match matcher {
        Matcher::Absent | Matcher::Not(_) | Matcher::OneOf(_) | Matcher::Any => Ok(()),
        Matcher::Literal(literal) => literal_check(literal, value, at),
        Matcher::Variable(variable) => match vars(variable) {
            Some(bound) => literal_check(&bound, value, at),
            None => Err(Mismatch {
                pointer: at.clone(),
                message: format!("${}{} has no value", variable.name, variable.pointer),
                unbound: Some(variable.clone()),
            }),
        },
        Matcher::Array(items) => {
            let Value::Array(found) = value else {
                return differs(at, format!("expected an array, found {}", brief(value)));
            };
            if found.len() != items.len() {
                return differs(at, format!("expected {} elements, found {}", items.len(), found.len()));
            }
            items.iter().zip(found).enumerate().try_for_each(|(index, (item, found))| {
                below(at, &index.to_string(), |at| check(item, Some(found), vars, at))
            })
        }
        Matcher::Object(members) => {
            let Value::Object(found) = value else {
                return differs(at, format!("expected an object, found {}", brief(value)));
            };
            members.iter().try_for_each(|(name, member)| below(at, name, |at| check(member, found.get(name), vars, at)))
        }
        Matcher::Contains(inner) => {
            let Some(parts) = parts(value) else {
                return differs(at, format!("expected an array or an object, found {}", brief(value)));
            };
            let mut unbound = None;
            for (name, part) in parts {
                match below(at, &name, |at| check(inner, Some(part), vars, at)) {
                    Ok(()) => return Ok(()),
                    Err(mismatch) if mismatch.unbound.is_some() => unbound = Some(mismatch),
                    Err(_) => {}
                }
            }
            match unbound {
                Some(mismatch) => Err(mismatch),
                None => differs(at, format!("nothing in it is {}", wanted(inner))),
            }
        }
        Matcher::Each(inner) => {
            let Some(parts) = parts(value) else {
                return differs(at, format!("expected an array or an object, found {}", brief(value)));
            };
            parts.into_iter().try_for_each(|(name, part)| below(at, &name, |at| check(inner, Some(part), vars, at)))
        }
        Matcher::Matches(pattern) => {
            let Value::String(text) = value else {
                return differs(at, format!("expected a string, found {}", brief(value)));
            };
            match compile(pattern) {
                Ok(regex) if regex.is_match(text) => Ok(()),
                Ok(_) => differs(at, format!("{} does not match /{pattern}/", brief(value))),
                // The parser refuses such a pattern, so that only a case built in code gets here.
                Err(error) => differs(at, format!("the pattern /{pattern}/ cannot be used: {error}")),
            }
        }
        Matcher::Range { min, max } => {
            let Some(number) = value.as_f64() else {
                return differs(at, format!("expected a number, found {}", brief(value)));
            };
            match (min, max) {
                (Some(min), _) if number < *min => differs(at, format!("{number} is less than {min}")),
                (_, Some(max)) if number > *max => differs(at, format!("{number} is more than {max}")),
                _ => Ok(()),
            }
        }
        Matcher::Type(wanted) if has_type(value, *wanted) => Ok(()),
        Matcher::Type(wanted) => differs(at, format!("expected {}, found {}", type_name(*wanted), brief(value))),
    }
}

fn one_of(
    alternatives: &[Matcher],
    value: Option<&Value>,
    vars: &dyn Fn(&Variable) -> Option<Value>,
    at: &mut String,
) -> Result<(), Mismatch> {
    let mut best: Option<Mismatch> = None;
    for alternative in alternatives {
        match check(alternative, value, vars, at) {
            Ok(()) => return Ok(()),
            Err(mismatch) if mismatch.unbound.is_some() => {
                // Another alternative may still hold; if none does, nothing can be said.
                if best.as_ref().is_none_or(|best| best.unbound.is_none()) {
                    best = Some(mismatch);
                }
            }
            // The alternative that got furthest is the one that was meant.
            Err(mismatch) => {
                let deeper =
                    |best: &Mismatch| best.unbound.is_none() && depth(&mismatch.pointer) > depth(&best.pointer);
                if best.as_ref().is_none_or(deeper) {
                    best = Some(mismatch);
                }
            }
        }
    }
    match best {
        Some(mismatch) if mismatch.unbound.is_some() || depth(&mismatch.pointer) > depth(at) => Err(mismatch),
        _ => {
            let names: Vec<String> = alternatives.iter().map(wanted).collect();
            let found = value.map_or("nothing".to_owned(), brief);
            Err(Mismatch {
                pointer: at.clone(),
                message: format!("expected {}, found {found}", names.join(" or ")),
                unbound: None,
            })
        }
    }
}

fn literal_check(literal: &Value, value: &Value, at: &mut String) -> Result<(), Mismatch> {
    match (literal, value) {
        // A literal object is open as every pattern is.
        (Value::Object(members), Value::Object(found)) => members_check(members, found, at),
        (Value::Array(items), Value::Array(found)) if items.len() == found.len() => {
            items.iter().zip(found).enumerate().try_for_each(|(index, (item, found))| {
                below(at, &index.to_string(), |at| literal_check(item, found, at))
            })
        }
        _ if equal(literal, value) => Ok(()),
        _ => Err(Mismatch {
            pointer: at.clone(),
            message: format!("expected {}, found {}", brief(literal), brief(value)),
            unbound: None,
        }),
    }
}

fn members_check(members: &Map<String, Value>, found: &Map<String, Value>, at: &mut String) -> Result<(), Mismatch> {
    members.iter().try_for_each(|(name, member)| {
        below(at, name, |at| match found.get(name) {
            Some(value) => literal_check(member, value, at),
            None => Err(Mismatch {
                pointer: at.clone(),
                message: format!("expected {}, found nothing", brief(member)),
                unbound: None,
            }),
        })
    })
}

/// Runs `f` one level further down.
fn below<T>(at: &mut String, name: &str, f: impl FnOnce(&mut String) -> T) -> T {
    let len = at.len();
    at.push('/');
    at.push_str(&name.replace('~', "~0").replace('/', "~1"));
    let result = f(at);
    at.truncate(len);
    result
}

fn parts(value: &Value) -> Option<Vec<(String, &Value)>> {
    match value {
        Value::Array(items) => Some(items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect()),
        Value::Object(members) => Some(members.iter().map(|(name, member)| (name.clone(), member)).collect()),
        _ => None,
    }
}

fn depth(pointer: &str) -> usize {
    pointer.matches('/').count()
}

fn equal_numbers(a: &Number, b: &Number) -> bool {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a.as_f64() == b.as_f64(),
        _ => false,
    }
}

/// The number as an integer, exactly; nothing for a fraction or for what lies beyond all integers that are told apart.
fn integer(number: &Number) -> Option<i128> {
    if let Some(value) = number.as_i64() {
        return Some(value.into());
    }
    if let Some(value) = number.as_u64() {
        return Some(value.into());
    }
    let value = number.as_f64()?;
    // A double within these bounds is an integer exactly, and fits.
    (value.fract() == 0.0 && value.abs() < 1e37).then_some(value as i128)
}

fn has_type(value: &Value, wanted: JsonType) -> bool {
    match wanted {
        JsonType::Array => value.is_array(),
        JsonType::Boolean => value.is_boolean(),
        JsonType::Integer => {
            matches!(value, Value::Number(number) if number.as_f64().is_some_and(|n| n.fract() == 0.0))
        }
        JsonType::Null => value.is_null(),
        JsonType::Number => value.is_number(),
        JsonType::Object => value.is_object(),
        JsonType::String => value.is_string(),
    }
}

fn type_name(wanted: JsonType) -> &'static str {
    match wanted {
        JsonType::Array => "an array",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "an integer",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a string",
    }
}

/// A pattern in a few words.
fn wanted(matcher: &Matcher) -> String {
    match matcher {
        Matcher::Absent => "nothing".to_owned(),
        Matcher::Any => "a value".to_owned(),
        Matcher::Array(_) => "an array".to_owned(),
        Matcher::Contains(inner) => format!("something that holds {}", wanted(inner)),
        Matcher::Each(inner) => format!("only {}", wanted(inner)),
        Matcher::Literal(value) => brief(value),
        Matcher::Matches(pattern) => format!("a string that matches /{pattern}/"),
        Matcher::Not(inner) => format!("anything but {}", wanted(inner)),
        Matcher::Object(members) => match members.as_slice() {
            [] => "an object".to_owned(),
            members => {
                let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
                format!("an object with {}", names.join(", "))
            }
        },
        Matcher::OneOf(alternatives) => alternatives.iter().map(wanted).collect::<Vec<_>>().join(" or "),
        Matcher::Range { min: Some(min), max: Some(max) } => format!("a number from {min} to {max}"),
        Matcher::Range { min: Some(min), .. } => format!("a number of {min} or more"),
        Matcher::Range { max: Some(max), .. } => format!("a number of {max} or less"),
        Matcher::Range { .. } => "a number".to_owned(),
        Matcher::Type(wanted) => type_name(*wanted).to_owned(),
        Matcher::Variable(variable) => format!("the value of ${}{}", variable.name, variable.pointer),
    }
}

/// A value in one short line.
fn brief(value: &Value) -> String {
    const LONGEST: usize = 60;
    match value {
        Value::Array(items) if items.len() > 4 => format!("an array of {} elements", items.len()),
        Value::Object(members) if members.len() > 4 => format!("an object of {} members", members.len()),
        _ => {
            let text = value.to_string();
            if text.chars().count() <= LONGEST {
                return text;
            }
            text.chars().take(LONGEST).chain(std::iter::once('…')).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};
    use serde_json::json;

    use super::*;
    use crate::ast::Span;

    fn free(_: &Variable) -> Option<Value> {
        None
    }

    fn literal(value: Value) -> Matcher {
        Matcher::Literal(value)
    }

    fn pointer(matcher: &Matcher, value: &Value) -> String {
        matcher.check(Some(value), &free).expect_err("a mismatch").pointer
    }

    #[test]
    fn numbers_compare_by_value_and_exactly() {
        assert!(equal(&json!(7), &json!(7.0)));
        assert!(!equal(&json!(7), &json!("7")));
        assert!(!equal(&json!(9_007_199_254_740_993_u64), &json!(9_007_199_254_740_992_u64)));
        assert!(!equal(&json!(9_007_199_254_740_993_u64), &json!(9_007_199_254_740_992.0)));
        assert!(!equal(&json!(u64::MAX), &json!(i64::MIN)));
        assert!(equal(&json!(0), &json!(-0.0)));
    }

    #[test]
    fn the_pointer_leads_to_what_is_at_fault() {
        let matcher = Matcher::Object(vec![(
            "a/b".to_owned(),
            Matcher::Each(Box::new(Matcher::Object(vec![("n".to_owned(), Matcher::Type(JsonType::Integer))]))),
        )]);
        assert_eq!(pointer(&matcher, &json!({"a/b": [{"n": 1}, {"n": 1.5}]})), "/a~1b/1/n");
        assert_eq!(pointer(&matcher, &json!({"a/b": [{"n": 1}, {}]})), "/a~1b/1/n");
        assert_eq!(pointer(&matcher, &json!({})), "/a~1b");
        assert_eq!(pointer(&literal(json!({"x": [1, {"y": 2}]})), &json!({"x": [1, {"y": 3}]})), "/x/1/y");
    }

    #[test]
    fn absent_and_not_hold_of_what_is_not_there() {
        assert!(Matcher::Absent.check(None, &free).is_ok());
        assert!(Matcher::Absent.check(Some(&Value::Null), &free).is_err());
        let not_true = Matcher::Not(Box::new(literal(json!(true))));
        assert!(not_true.check(None, &free).is_ok());
        assert!(not_true.check(Some(&json!(false)), &free).is_ok());
        assert!(not_true.check(Some(&json!(true)), &free).is_err());
        assert!(Matcher::Any.check(None, &free).is_err());
    }

    #[test]
    fn a_variable_without_a_value_is_never_a_verdict() {
        let variable = Variable { name: "x".to_owned(), pointer: "/y".to_owned(), span: Span::default() };
        let unbound = Matcher::Variable(variable.clone());
        for matcher in [
            unbound.clone(),
            Matcher::Not(Box::new(unbound.clone())),
            Matcher::OneOf(vec![literal(json!(1)), unbound.clone()]),
            Matcher::Contains(Box::new(unbound.clone())),
            Matcher::Each(Box::new(unbound.clone())),
        ] {
            let value = json!([2]);
            let mismatch = matcher.check(Some(&value), &free).expect_err("nothing can be said");
            assert_eq!(mismatch.unbound.as_ref(), Some(&variable), "{matcher:?}");
        }
        assert!(Matcher::OneOf(vec![unbound, Matcher::Any]).check(Some(&json!(1)), &free).is_ok());
    }

    #[test]
    fn the_alternative_that_got_furthest_is_told() {
        let matcher = Matcher::OneOf(vec![
            literal(json!("text")),
            Matcher::Object(vec![("kind".to_owned(), literal(json!("a")))]),
        ]);
        assert_eq!(pointer(&matcher, &json!({"kind": "b"})), "/kind");
        let mismatch = matcher.check(Some(&json!(5)), &free).expect_err("a mismatch");
        assert_eq!(mismatch.message, r#"expected "text" or an object with kind, found 5"#);
    }

    #[test]
    fn ranges_and_expressions_hold_for_their_type_only() {
        let range = Matcher::Range { min: Some(1.0), max: Some(3.0) };
        assert!(range.check(Some(&json!(3)), &free).is_ok());
        assert!(range.check(Some(&json!(3.5)), &free).is_err());
        assert!(range.check(Some(&json!("2")), &free).is_err());
        let expression = Matcher::Matches("^a+$".to_owned());
        assert!(expression.check(Some(&json!("aaa")), &free).is_ok());
        assert!(expression.check(Some(&json!(["aaa"])), &free).is_err());
        assert!(compile("(a{1000}){1000}").is_err(), "an automaton without bounds is refused");
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e9..1e9_f64).prop_map(Value::from),
            "[a-c/~$]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Value::Array),
                vec(("[a-c/~$]{0,3}", inner), 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_value_matches_itself_and_its_type(value in values()) {
            prop_assert!(equal(&value, &value));
            prop_assert!(literal(value.clone()).check(Some(&value), &free).is_ok());
            prop_assert!(Matcher::Any.check(Some(&value), &free).is_ok());
            prop_assert!(Matcher::OneOf(vec![Matcher::Absent, literal(value.clone())]).check(Some(&value), &free).is_ok());
        }

        #[test]
        fn a_mismatch_points_into_the_value_or_at_a_missing_member(a in values(), b in values()) {
            if let Err(mismatch) = literal(a).check(Some(&b), &free) {
                let parent = mismatch.pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
                prop_assert!(b.pointer(parent).is_some(), "{}", mismatch.pointer);
            }
        }

        #[test]
        fn not_is_the_opposite(a in values(), b in values()) {
            let matcher = literal(a);
            let holds = matcher.check(Some(&b), &free).is_ok();
            prop_assert_eq!(Matcher::Not(Box::new(matcher)).check(Some(&b), &free).is_ok(), !holds);
        }

        #[test]
        fn equality_is_symmetric(a in values(), b in values()) {
            prop_assert_eq!(equal(&a, &b), equal(&b, &a));
        }
    }
}
