//! The JSON Schema of the case language, for editors.
//!
//! Generated from the tables that the parser reads, so that the two cannot drift apart. It knows keys and types; names,
//! requirements and the order of steps are the parser's.

use mcp_conform_schemas::Revision;
use serde_json::{Map, Value as Json, json};

use crate::parse::shape::{
    CHANGE, CLASSES, KeyShape, PARALLEL, PARTS, POLICIES, SEE_IDS, STEPS, Shape, TRANSPORTS, Value,
};

/// JSON Schema 2020-12 of a script.
pub fn language_schema() -> Json {
    let mut defs = Map::new();
    for (name, shape) in PARTS {
        defs.insert((*name).to_owned(), mapping(shape));
    }
    for (name, shape) in STEPS {
        defs.insert(step_def(name), mapping(shape));
    }
    let mut steps: Vec<Json> = STEPS.iter().map(|(name, _)| single(name, reference(&step_def(name)))).collect();
    steps.push(single(PARALLEL, list(list(reference("step")))));
    steps.push(json!({ "enum": ["close_stdin", "drop_connection"] }));
    defs.insert("step".to_owned(), json!({ "oneOf": steps }));
    defs.insert("name".to_owned(), json!({ "type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_-]*$" }));
    defs.insert("pointer".to_owned(), json!({ "type": "string", "pattern": "^(/.*)?$" }));
    defs.insert(
        "requirement".to_owned(),
        json!({ "anyOf": [{ "type": "string" }, by_revision(json!({ "type": ["string", "null"] }))] }),
    );
    defs.insert("seen".to_owned(), json!({ "anyOf": [{ "enum": CLASSES }, reference("see")] }));
    defs.insert(
        "policy".to_owned(),
        json!({ "anyOf": [
            { "enum": POLICIES },
            single("delay", duration()),
            single("error", json!({ "type": "integer" })),
        ] }),
    );
    defs.insert(
        "status".to_owned(),
        json!({ "anyOf": [
            { "type": "integer", "minimum": 100, "maximum": 999 },
            { "type": "string", "pattern": "^[1-9][0-9]{2} ?- ?[1-9][0-9]{2}$" },
        ] }),
    );
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!("A case of mcp-conform"));
    schema.insert("$ref".to_owned(), json!("#/$defs/case"));
    schema.insert("$defs".to_owned(), Json::Object(defs));
    Json::Object(schema)
}

fn step_def(name: &str) -> String {
    format!("step_{name}")
}

fn mapping(shape: &Shape) -> Json {
    let properties: Map<String, Json> = shape.keys.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    let required: Vec<&str> = shape.keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    // A mapping that has to hold nothing may be left empty, which YAML reads as null.
    let kind = if required.is_empty() { json!(["object", "null"]) } else { json!("object") };
    let mut schema = json!({ "type": kind, "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if std::ptr::eq(shape, &CHANGE) {
        schema["minProperties"] = json!(1);
        schema["maxProperties"] = json!(1);
    }
    schema
}

fn property(key: &KeyShape) -> Json {
    let mut schema = match value(key.value) {
        Json::Object(schema) => schema,
        // Whatever may stand there can still be described.
        _ => Map::new(),
    };
    schema.insert("description".to_owned(), json!(key.doc));
    Json::Object(schema)
}

fn value(value: Value) -> Json {
    match value {
        Value::All => json!({ "const": "all" }),
        Value::Answers => object_of(reference("policy")),
        Value::Any | Value::Data | Value::Like => json!(true),
        Value::Boolean => json!({ "type": "boolean" }),
        Value::Capabilities => json!({ "anyOf": [{ "type": "object" }, { "type": "string", "pattern": "^\\$" }] }),
        Value::Capture => {
            json!({ "type": "object", "propertyNames": reference("name"), "additionalProperties": reference("pointer") })
        }
        Value::Change => reference("change"),
        Value::Count => json!({ "type": "integer", "minimum": 1 }),
        Value::Duration => duration(),
        Value::Headers => object_of(json!({
            "type": ["string", "null", "object"],
            "propertyNames": {"pattern": "^[Bb][Aa][Ss][Ee]64$"},
            "minProperties": 1,
            "maxProperties": 1,
        })),
        Value::Integers => one_or_many(json!({ "type": "integer" })),
        Value::Judge => list(reference("judgement")),
        Value::Map(shape) => match PARTS.iter().find(|(_, part)| std::ptr::eq(*part, shape)) {
            Some((name, _)) => reference(name),
            None => mapping(shape),
        },
        Value::MatcherByName => json!({ "type": "object" }),
        Value::Method => json!({ "anyOf": [{ "type": "string" }, by_revision(json!({ "type": "string" }))] }),
        Value::Name => reference("name"),
        Value::Offsets => list(json!({ "type": "integer", "minimum": 1 })),
        Value::Outcomes => {
            let mut outcomes = object_of(reference("outcome"));
            outcomes["minProperties"] = json!(1);
            outcomes
        }
        Value::Pointers => list(json!({ "type": "string", "pattern": "^(/.*|headers/.+)?$" })),
        Value::Requirement => reference("requirement"),
        Value::RequirementByRole => object_of(reference("requirement")),
        Value::Revisions => {
            let known: Vec<&str> = Revision::JUDGED.iter().map(|revision| revision.as_str()).collect();
            json!({ "type": "array", "items": { "enum": known }, "minItems": 1, "uniqueItems": true })
        }
        Value::See => reference("seen"),
        // In YAML the bare word null is a value of its own.
        Value::SeeId => json!({ "anyOf": [{ "enum": SEE_IDS }, { "type": "null" }] }),
        Value::Sees => list(reference("seen")),
        Value::Statuses => one_or_many(reference("status")),
        Value::Steps => list(reference("step")),
        Value::Templates => list(json!(true)),
        Value::Text => json!({ "type": "string" }),
        Value::ToolNeeds => {
            json!({ "type": "object", "propertyNames": reference("name"), "additionalProperties": reference("tool_kind") })
        }
        Value::Tools => json!({ "anyOf": [{ "const": "all" }, reference("tool_kind")] }),
        Value::Transports => json!({ "type": "array", "items": { "enum": TRANSPORTS }, "minItems": 1 }),
        Value::Word(words) => json!({ "enum": words }),
    }
}

fn reference(name: &str) -> Json {
    json!({ "$ref": format!("#/$defs/{name}") })
}

fn list(items: Json) -> Json {
    json!({ "type": "array", "items": items })
}

fn one_or_many(item: Json) -> Json {
    json!({ "anyOf": [item, { "type": "array", "items": item }] })
}

fn object_of(member: Json) -> Json {
    json!({ "type": "object", "additionalProperties": member })
}

fn single(name: &str, value: Json) -> Json {
    json!({ "type": "object", "properties": { name: value }, "required": [name], "additionalProperties": false })
}

fn by_revision(value: Json) -> Json {
    let each: Map<String, Json> =
        Revision::JUDGED.iter().map(|revision| (revision.as_str().to_owned(), value.clone())).collect();
    json!({ "type": "object", "properties": each, "additionalProperties": false, "minProperties": 1 })
}

fn duration() -> Json {
    json!({ "type": "string", "pattern": "^[0-9]+ ?(ms|s|m)$" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ast::Source,
        load::embedded,
        parse::{node, parse},
    };

    /// One script for each transport that uses every step with every key: the language as an example that is run.
    const EVERY_STEP: [(&str, &str); 2] = [
        ("every-step-http.yaml", include_str!("../tests/good/every-step-http.yaml")),
        ("every-step-stdio.yaml", include_str!("../tests/good/every-step-stdio.yaml")),
    ];

    fn plain(source: &Source) -> Json {
        node::read(source).map(|node| node.plain()).unwrap_or_else(|fault| panic!("{fault}"))
    }

    #[test]
    fn every_embedded_script_fits() {
        let schema = jsonschema::validator_for(&language_schema()).expect("a sound schema");
        for source in embedded() {
            if let Err(error) = schema.validate(&plain(&source)) {
                panic!("{}: {error} at {}", source.name, error.instance_path());
            }
        }
    }

    #[test]
    fn every_step_with_every_key_is_parsed_and_fits() {
        let schema = jsonschema::validator_for(&language_schema()).expect("a sound schema");
        for (name, text) in EVERY_STEP {
            let source = Source { name: name.into(), text: text.into() };
            if let Err(error) = schema.validate(&plain(&source)) {
                panic!("{name}: {error} at {}", error.instance_path());
            }
            if let Err(faults) = parse(source) {
                panic!("{}", faults.iter().map(|fault| fault.render(false)).collect::<Vec<_>>().join("\n\n"));
            }
        }
        let text = EVERY_STEP.map(|(_, text)| text).concat();
        let missing: Vec<&str> = PARTS
            .iter()
            .chain(STEPS)
            .flat_map(|(_, shape)| shape.keys.iter().map(|key| key.name))
            .filter(|name| !text.contains(&format!("{name}:")))
            .collect();
        assert!(missing.is_empty(), "no example of {missing:?}");
    }

    #[test]
    fn what_the_parser_refuses_for_its_keys_and_types_does_not_fit() {
        let schema = jsonschema::validator_for(&language_schema()).expect("a sound schema");
        let script = |steps: &str| Source {
            name: "test.yaml".into(),
            text: format!("id: a\ntitle: T\nrevisions: [2025-11-25]\nsteps:\n  {steps}\n").into(),
        };
        assert!(schema.is_valid(&plain(&script("- close_stdin"))));
        for steps in [
            "- requst: {method: ping}",
            "- request: {methd: ping}",
            "- request: {method: ping, within: 2}",
            "- request: {method: ping, expect: acepted}",
            "- probe: {base: {method: ping}, change: {version: x, remove: /id}}",
            "- raw: {text: x, on: 5}",
        ] {
            assert!(!schema.is_valid(&plain(&script(steps))), "{steps}");
        }
    }
}
