//! A small reader of JSON Schema: just the keywords that this server's own schemas use, so that arguments are checked
//! against the very schema that was published. It is written for this purpose and shares nothing with the judge.

use serde_json::Value;

use crate::bugs::Bug;

/// Says what is wrong with a value, or nothing if it fits; a bug may look away.
pub(crate) fn mismatch(schema: &Value, value: &Value, bug: Option<Bug>) -> Option<String> {
    check(schema, value, bug, "")
}

fn check(schema: &Value, value: &Value, bug: Option<Bug>, at: &str) -> Option<String> {
    let place = if at.is_empty() { "the value" } else { at };
    if let Some(kind) = schema.get("type").and_then(Value::as_str)
        && !has_type(value, kind)
    {
        return Some(format!("{place} has to be of type {kind}"));
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array)
        && !choices.contains(value)
        && !(bug == Some(Bug::EnumCaseBlind) && choices.iter().any(|choice| same_letters(choice, value)))
    {
        return Some(format!("{place} is none of the listed values"));
    }
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let unbounded = |number: f64| bug == Some(Bug::LargeNumbersPass) && number.abs() > 9_007_199_254_740_992.0;
    if let Some(number) = value.as_f64().filter(|number| !unbounded(*number)) {
        if bound("minimum").is_some_and(|least| number < least) {
            return Some(format!("{place} is too small"));
        }
        if bound("maximum").is_some_and(|most| number > most) {
            return Some(format!("{place} is too large"));
        }
    }
    if let Some(text) = value.as_str() {
        let length = text.chars().count() as f64;
        if bound("minLength").is_some_and(|least| length < least) {
            return Some(format!("{place} is too short"));
        }
        if bound("maxLength").is_some_and(|most| length > most) {
            return Some(format!("{place} is too long"));
        }
    }
    if let Some(items) = value.as_array() {
        if bound("maxItems").is_some_and(|most| items.len() as f64 > most) {
            return Some(format!("{place} has too many items"));
        }
        if let Some(schema) = schema.get("items") {
            return items
                .iter()
                .enumerate()
                .find_map(|(index, item)| check(schema, item, bug, &format!("{at}/{index}")));
        }
    }
    if let Some(object) = value.as_object() {
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(name) {
                return Some(format!("{at}/{name} is missing"));
            }
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, value) in object {
            let place = format!("{at}/{name}");
            match properties.and_then(|properties| properties.get(name)) {
                Some(schema) => {
                    if let Some(fault) = check(schema, value, bug, &place) {
                        return Some(fault);
                    }
                }
                None if schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                    return Some(format!("{place} is not known"));
                }
                None => {}
            }
        }
    }
    None
}

fn same_letters(one: &Value, other: &Value) -> bool {
    matches!((one.as_str(), other.as_str()), (Some(one), Some(other)) if one.eq_ignore_ascii_case(other))
}

fn has_type(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "null" => value.is_null(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_keyword_can_refuse() {
        let schema = json!({
            "type": "object",
            "properties": {
                "count": {"type": "integer", "minimum": 1, "maximum": 5},
                "name": {"type": "string", "minLength": 1, "maxLength": 3},
                "colour": {"enum": ["red"]},
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 1},
            },
            "required": ["count"],
            "additionalProperties": false,
        });
        assert_eq!(
            mismatch(&schema, &json!({"count": 5.0, "name": "abc", "colour": "red", "tags": ["x"]}), None),
            None
        );
        for wrong in [
            json!([]),
            json!({}),
            json!({"count": 0}),
            json!({"count": 6}),
            json!({"count": 1.5}),
            json!({"count": "1"}),
            json!({"count": 1, "name": ""}),
            json!({"count": 1, "name": "abcd"}),
            json!({"count": 1, "colour": "Red"}),
            json!({"count": 1, "tags": [1]}),
            json!({"count": 1, "tags": ["a", "b"]}),
            json!({"count": 1, "more": true}),
        ] {
            assert!(mismatch(&schema, &wrong, None).is_some(), "{wrong}");
        }
    }
}
