//! Foreign schemas: each dialect, what is the author's fault, what is nobody's, and what would run for ever.

use mcp_conform_schemas::{Inconclusive, InstanceSchema, InstanceSchemaError};
use serde_json::{Map, Value, json};

#[test]
fn problems_have_pointers() {
    let schema = json!({"type": "object", "properties": {"a/b": {"type": "integer"}}, "required": ["c"]});
    let problems = InstanceSchema::new(&schema).expect("sound").validate(&json!({"a/b": "x"}));
    let found: Vec<_> = problems.iter().map(|p| (p.pointer.as_str(), p.message.as_str())).collect();
    assert_eq!(found, [("", "member `c` is missing"), ("/a~1b", "is the string \"x\", integer is wanted")]);
}

#[test]
fn formats_and_content_are_annotations_in_each_dialect() {
    for dialect in ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"] {
        let schema = json!({"$schema": dialect, "type": "string", "format": "email",
                            "contentEncoding": "base64", "contentMediaType": "application/json"});
        assert_eq!(InstanceSchema::new(&schema).expect("sound").judge(&json!("no!")), Ok(vec![]));
    }
}

#[test]
fn the_declared_dialect_rules() {
    let tuple = json!({"items": [{"type": "integer"}], "additionalItems": false});
    let mut seventh = tuple.clone();
    seventh["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    assert!(InstanceSchema::new(&seventh).expect("sound").refuses(&json!([1, 2])));
    assert!(matches!(InstanceSchema::new(&tuple), Err(InstanceSchemaError::Invalid(_))), "2020-12 has no such items");
    let unknown = json!({"$schema": "https://example.com/own"});
    let refused = InstanceSchema::new(&unknown).expect_err("unknown");
    assert!(matches!(refused, InstanceSchemaError::Inconclusive(Inconclusive::Dialect(_))));
}

#[test]
fn what_cannot_be_judged_is_no_fault() {
    let regex = InstanceSchema::new(&json!({"properties": {"a": {"pattern": "^\\p{Unknown}$"}}}));
    let Err(InstanceSchemaError::Inconclusive(Inconclusive::Regex { pointer, .. })) = regex else {
        panic!("{regex:?}")
    };
    assert_eq!(pointer, "/properties/a/pattern");
    for reference in ["https://example.com/s.json", "file:///etc/passwd", "#/$defs/none"] {
        let built = InstanceSchema::new(&json!({"properties": {"a": {"$ref": reference}}}));
        let reference = matches!(built, Err(InstanceSchemaError::Inconclusive(Inconclusive::Reference(_))));
        assert!(reference, "{built:?}");
    }
}

#[test]
fn a_schema_that_is_none_is_the_authors_fault() {
    for schema in [json!({"type": "strnig"}), json!({"required": "a"}), json!([]), json!({"minLength": -1})] {
        let built = InstanceSchema::new(&schema);
        assert!(matches!(built, Err(InstanceSchemaError::Invalid(_))), "{schema} {built:?}");
    }
}

#[test]
fn endless_references_end() {
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}),
    ] {
        let built = InstanceSchema::new(&schema);
        assert!(matches!(built, Err(InstanceSchemaError::Inconclusive(_))), "{built:?}");
    }
    let tree = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
    assert!(InstanceSchema::new(&tree).expect("descends").accepts(&json!({"next": {"next": {}}})));
}

#[test]
fn hostile_schemas_cost_little() {
    // Doubles at each level: 2^40 ways through 40 levels.
    let mut defs = Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/l{}", level + 1)});
        defs.insert(format!("l{level}"), json!({"anyOf": [next, {"allOf": [next]}]}));
    }
    defs.insert("l40".to_owned(), json!({"type": "string"}));
    let schema = json!({"$defs": defs, "$ref": "#/$defs/l0"});
    let outcome = InstanceSchema::new(&schema).map(|s| s.judge(&json!(1)));
    assert!(
        matches!(outcome, Ok(Err(Inconclusive::TooCostly)) | Err(InstanceSchemaError::Inconclusive(_))),
        "{outcome:?}"
    );
    // Nested quantifiers with look-ahead, which only a backtracking engine takes.
    let slow = InstanceSchema::new(&json!({"pattern": "^(?=a)(a+)+$"})).expect("sound");
    let value = Value::from(format!("{}!", "a".repeat(5_000)));
    assert!(!slow.accepts(&value));
    let linear = InstanceSchema::new(&json!({"pattern": "^(a+)+$"})).expect("sound");
    assert!(linear.refuses(&value));
    let mut deep = json!({});
    for _ in 0..300 {
        let mut outer = Map::new();
        outer.insert("not".to_owned(), deep);
        deep = Value::Object(outer);
    }
    assert!(matches!(InstanceSchema::new(&deep), Err(InstanceSchemaError::Inconclusive(Inconclusive::TooLarge))));
}

#[test]
fn a_foreign_schema_names_no_row_of_ours() {
    let schema = InstanceSchema::new(&json!({"type": "string", "x-requirement": "jsonrpc-version"})).expect("sound");
    assert_eq!(schema.validate(&json!(1)).first().and_then(|p| p.requirement.clone()), None);
}

#[test]
fn the_nearest_alternative_speaks() {
    let schema = json!({"anyOf": [
        {"type": "object", "properties": {"type": {"const": "text"}, "text": {"type": "string"}}, "required": ["type", "text"]},
        {"type": "object", "properties": {"type": {"const": "image"}, "data": {"type": "string"}}, "required": ["type", "data"]},
    ]});
    let schema = InstanceSchema::new(&schema).expect("sound");
    let one = |value: Value| schema.validate(&value).remove(0);
    assert_eq!(one(json!({"type": "image"})).message, "member `data` is missing (by alternative 2 of 2, the nearest)");
    let unknown = one(json!({"type": "video", "data": "x"}));
    assert_eq!(
        (unknown.pointer.as_str(), unknown.message.as_str()),
        ("/type", "is \"video\", one of \"text\", \"image\" is wanted")
    );
    assert_eq!(one(json!(3)).message, "is the number 3, object is wanted");
}

/// Runs on a stack as small as a worker thread's.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(2 << 20).spawn(work).expect("a thread").join().expect("no overflow");
}

#[test]
fn depth_fits_a_small_stack() {
    // Steps in place for each step down, and a value as deep as our JSON reader lets one be.
    for steps in [2, 20, 60, 350] {
        on_a_small_stack(move || {
            let mut defs = Map::new();
            for step in 0..steps {
                let next = json!({"$ref": format!("#/$defs/s{}", step + 1)});
                defs.insert(format!("s{step}"), json!({"allOf": [{"anyOf": [next]}]}));
            }
            let down = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/s0"}}});
            defs.insert(format!("s{steps}"), down);
            let mut value = json!(1);
            for _ in 0..120 {
                let mut outer = Map::new();
                outer.insert("a".to_owned(), value);
                value = Value::Object(outer);
            }
            let outcome = InstanceSchema::new(&json!({"$defs": defs, "$ref": "#/$defs/s0"})).map(|s| s.judge(&value));
            assert!(!matches!(outcome, Ok(Ok(ref problems)) if problems.is_empty()), "{outcome:?}");
        });
    }
    // References that lead ever further, in place and downwards.
    for step in [json!({"properties": {"a": null}}), json!({"allOf": [null]}), json!({"items": null})] {
        on_a_small_stack(move || {
            let mut defs = Map::new();
            for level in 0..5_000 {
                let next = format!("{{\"$ref\":\"#/$defs/l{}\"}}", level + 1);
                let definition = step.to_string().replace("null", &next);
                defs.insert(format!("l{level}"), serde_json::from_str(&definition).expect("JSON"));
            }
            defs.insert("l5000".to_owned(), json!({"type": "string"}));
            let outcome =
                InstanceSchema::new(&json!({"$defs": defs, "$ref": "#/$defs/l0"})).map(|s| s.judge(&json!({})));
            assert!(!matches!(outcome, Err(InstanceSchemaError::Invalid(_))), "{outcome:?}");
        });
    }
}
