//! The generators over a wide range of schemas: what they call valid validates, what they call a near miss does not.

use arbitrary::Unstructured;
use mcp_conform_schemas::{
    InstanceSchema,
    generate::{self, Generator, NearMissKind},
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Schemas as tools write them, with the odd ones that they also write.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!({})),
        Just(json!({"type": "null"})),
        Just(json!({"type": "boolean", "default": true})),
        (0_u8..6, 0_u8..6).prop_map(|(a, b)| json!({"type": "string", "minLength": a, "maxLength": a + b})),
        prop::sample::select(vec!["^[a-z]+$", "^\\d{4}-\\d{2}$", "^(foo|bar)[0-9]?$", "x+", "^\\S+@\\S+$", "^(?!a)b"])
            .prop_map(|p| json!({"type": "string", "pattern": p})),
        (-50_i32..50, 0_i32..20).prop_map(|(a, b)| json!({"type": "integer", "minimum": a, "maximum": a + b})),
        (-5.0_f64..5.0, 0.1_f64..9.0)
            .prop_map(|(a, b)| json!({"type": "number", "exclusiveMinimum": a, "exclusiveMaximum": a + b})),
        (1_u8..7).prop_map(|m| json!({"type": "integer", "multipleOf": m})),
        Just(json!({"type": "number", "multipleOf": 0.25, "minimum": 0})),
        Just(json!({"enum": ["a", "b", 3, null]})),
        Just(json!({"const": {"k": [1]}})),
        Just(json!({"type": ["string", "null"]})),
        Just(json!({"type": "string", "format": "uri"})),
        Just(json!({"type": "string", "examples": ["one", "two"]})),
        Just(json!({"$ref": "#/$defs/node"})),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let member = prop::sample::select(vec!["a", "b", "c", "d", "x/y~z"]);
        let members = prop::collection::btree_map(member, inner.clone(), 0..4);
        prop_oneof![
            (members.clone(), any::<bool>(), any::<u8>()).prop_map(|(members, closed, mask)| {
                let required: Vec<_> =
                    members.keys().enumerate().filter(|(i, _)| mask >> i & 1 == 1).map(|(_, k)| *k).collect();
                let mut schema = json!({"type": "object", "properties": members, "required": required});
                if closed {
                    schema["additionalProperties"] = json!(false);
                }
                schema
            }),
            (inner.clone(), 0_u8..3, 0_u8..3, any::<bool>()).prop_map(|(items, low, more, unique)| {
                json!({"type": "array", "items": items, "minItems": low, "maxItems": low + more, "uniqueItems": unique})
            }),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|branches| json!({"anyOf": branches})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|branches| json!({"oneOf": branches})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|parts| json!({"allOf": parts})),
            (inner.clone(), 1_u8..3).prop_map(|(member, low)| {
                json!({"type": "object", "additionalProperties": member, "minProperties": low})
            }),
            (inner.clone(), inner.clone()).prop_map(|(first, rest)| {
                json!({"type": "array", "prefixItems": [first], "items": rest, "minItems": 1})
            }),
            (inner.clone(), inner).prop_map(|(then, other)| {
                json!({"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": then, "else": other})
            }),
        ]
    })
    .prop_map(|mut schema| {
        if schema.is_object() {
            schema["$defs"] = json!({"node": {"type": "object", "properties": {
                "next": {"$ref": "#/$defs/node"}, "value": {"type": "integer"}}, "required": ["value"]}});
        }
        schema
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_made_is_what_it_says(schema in schema(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let check = InstanceSchema::new(&schema).expect("the schemas of this test are sound");
        let generator = Generator::new(&schema).expect("the schemas of this test are sound");
        if let Some(value) = generator.minimal() {
            prop_assert_eq!(check.validate(&value), vec![]);
        }
        for value in generator.boundary() {
            prop_assert_eq!(check.validate(&value), vec![]);
        }
        for miss in generator.near_miss() {
            prop_assert!(!check.validate(&miss.value).is_empty(), "{:?}", miss);
            prop_assert!(!miss.what.is_empty());
        }
        let first = generator.valid(&mut Unstructured::new(&bytes));
        let second = generate::valid(&schema, &mut Unstructured::new(&bytes));
        prop_assert_eq!(&first, &second, "same schema, same bytes, same value");
        if let Some(value) = first {
            prop_assert_eq!(check.validate(&value), vec![]);
        }
    }
}

/// A schema like a weather tool's.
fn tool() -> Value {
    json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 2},
            "days": {"type": "integer", "minimum": 1, "maximum": 7},
            "units": {"enum": ["metric", "imperial"]},
            "alerts": {"type": "boolean", "default": false},
            "tags": {"type": "array", "items": {"type": "string"}},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]}
        },
        "required": ["city", "days", "units", "alerts", "note"]
    })
}

#[test]
fn the_smallest_instance_is_plain() {
    assert_eq!(
        generate::minimal(&tool()),
        Some(json!({"city": "xx", "days": 1, "units": "metric", "alerts": false, "note": "x"}))
    );
    assert_eq!(generate::minimal(&json!({"type": "object"})), Some(json!({})));
    assert_eq!(generate::minimal(&json!(true)), Some(json!("x")));
    assert_eq!(generate::minimal(&json!(false)), None);
    assert_eq!(generate::minimal(&json!({"type": "integer", "minimum": 3, "maximum": 2})), None);
    assert_eq!(generate::minimal(&json!({"type": "string", "default": 4})), Some(json!("x")));
    assert_eq!(
        generate::minimal(&json!({"type": "array", "items": {"type": "integer"}, "minItems": 2, "uniqueItems": true}))
            .and_then(|v| Some(v.as_array()?.len())),
        Some(2)
    );
}

#[test]
fn each_constraint_of_a_tool_is_missed_once() {
    let misses = generate::near_miss(&tool());
    let found = |pointer: &str, kind: NearMissKind, coercible: bool| {
        misses.iter().any(|m| m.pointer == pointer && m.kind == kind && m.coercible == coercible)
    };
    for (pointer, kind, coercible) in [
        ("", NearMissKind::MissingRequired, false),
        ("/city", NearMissKind::TooShort, false),
        ("/city", NearMissKind::WrongType, false),
        ("/city", NearMissKind::WrongType, true),
        ("/days", NearMissKind::OutOfRange, false),
        ("/days", NearMissKind::Fraction, true),
        ("/units", NearMissKind::NotInEnum, false),
        ("/alerts", NearMissKind::WrongType, false),
        ("/tags", NearMissKind::WrongType, true),
        ("/tags/0", NearMissKind::WrongType, false),
        ("/note", NearMissKind::WrongType, false),
    ] {
        assert!(found(pointer, kind, coercible), "{pointer} {kind:?} {coercible}: {misses:#?}");
    }
    let left_out = |name: &str| misses.iter().find(|m| m.what.contains(&format!("`{name}` left out"))).expect("made");
    assert!(!left_out("city").coercible);
    assert!(left_out("alerts").coercible, "a default may stand in");
    assert!(left_out("note").coercible, "absent and null are one to many languages");
    assert!(misses.iter().filter(|m| m.pointer.starts_with("/tags")).all(|m| !m.required));
    assert!(misses.iter().filter(|m| m.pointer.starts_with("/city")).all(|m| m.required));
    // One fault by construction: all else is the smallest instance.
    let fault = misses.iter().find(|m| m.pointer == "/days" && m.kind == NearMissKind::OutOfRange).expect("made");
    assert_eq!(fault.value["city"], json!("xx"));
}

#[test]
fn no_coercion_turns_a_hard_miss_into_its_type() {
    for kind in ["string", "number", "integer", "boolean"] {
        let schema = json!({"type": "object", "properties": {"p": {"type": kind}}, "required": ["p"]});
        for miss in generate::near_miss(&schema) {
            if miss.kind == NearMissKind::WrongType && miss.pointer == "/p" && !miss.coercible {
                let value = &miss.value["p"];
                assert!(value.is_object() || value.as_array().is_some_and(|a| a.len() > 1), "{miss:?}");
            }
        }
    }
}

#[test]
fn edges_are_reached() {
    let values = generate::boundary(&tool());
    let days: Vec<_> = values.iter().filter_map(|v| v["days"].as_i64()).collect();
    assert!(days.contains(&1) && days.contains(&7), "{days:?}");
    assert!(values.iter().any(|v| v["units"] == "imperial"));
    assert!(values.iter().any(|v| v["note"].is_null()));
    assert!(values.iter().any(|v| v["tags"] == json!([])));
}

#[test]
fn conditions_and_closed_unions_have_instances() {
    for schema in [
        json!({"type": "object", "properties": {"kind": {"enum": ["a", "b"]}}, "required": ["kind"],
               "if": {"properties": {"kind": {"const": "a"}}}, "then": {"required": ["x"]}, "else": {"required": ["y"]}}),
        json!({"oneOf": [{"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"], "additionalProperties": false},
                         {"type": "object", "properties": {"b": {"const": 2}}, "required": ["b"], "additionalProperties": false}]}),
        json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                         {"properties": {"b": {"type": "integer"}}, "required": ["b"]}], "unevaluatedProperties": false}),
        json!({"type": "object", "dependentSchemas": {"a": {"required": ["b"]}}, "required": ["a"]}),
        json!({"type": "object", "patternProperties": {"^x-": {"type": "integer"}}, "additionalProperties": false, "minProperties": 2}),
        json!({"type": "array", "contains": {"const": 5}, "items": {"type": "integer"}}),
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"d": {"type": "integer"}},
               "type": "array", "items": [{"$ref": "#/definitions/d"}], "additionalItems": false, "minItems": 1}),
        json!({"type": "string", "pattern": "^[A-Z]{3}-[0-9]+$", "minLength": 12}),
        json!({"type": "string", "pattern": "^(?=.*[A-Z])(?=.*\\d).{8,}$"}),
        json!({"type": "string", "pattern": "^(?!-)[a-z-]+\\/[a-z]+$|^x$"}),
        json!({"type": "object", "additionalProperties": {"type": "integer"}, "propertyNames": {"pattern": "^k[0-9]$"}, "minProperties": 3}),
        json!({"anyOf": [{"type": "null"}, {"type": "string", "minLength": 3}], "default": null}),
        json!({"$ref": "#/definitions/T", "definitions": {"T": {"type": "object", "properties": {"t": {"$ref": "#/definitions/T"}, "v": {"type": "number", "exclusiveMinimum": 0, "maximum": 0.5}}, "required": ["v"]}}}),
        json!({"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": true, "minItems": 3}),
        json!({"not": {"type": "string"}}),
    ] {
        assert!(generate::minimal(&schema).is_some(), "{schema}");
        assert!(!generate::boundary(&schema).is_empty(), "{schema}");
    }
}
