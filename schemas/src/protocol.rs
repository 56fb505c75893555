//! The wire facts of each revision, and validation of one value by a named type.
//!
//! [`validate`] is the entry. The facts are the JSON Schema files beside `src`, one folder a revision, one file a
//! topic; they are read once and each type is compiled when it is first asked for. Two keywords of our own stand in
//! them. `x-requirement` names the catalogue row that a constraint enforces: for all keywords of the object and all that
//! is nested in it or referred to from it, until a nearer one; or, as a map, for single keywords of that object alone.
//! `x-contested` names what the parties dispute about a constraint, in the same two forms but for that object alone.
//! Which message has which type is the business of the method table.

use std::{
    collections::BTreeMap,
    sync::{LazyLock, OnceLock},
};

use jsonschema::{PatternOptions, Registry, ValidationError, Validator};
use serde_json::{Map, Value, json};

use crate::{
    Revision,
    problem::{self, Context, Problem},
};

/// A name that is no type of the revision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{revision} has no type `{name}`")]
pub struct UnknownType {
    pub revision: Revision,
    pub name: String,
}

/// What is wrong with a value of a type; empty if nothing is.
///
/// Revisions before 2025-11-25 are judged by the types of 2025-11-25. Beside the protocol's type names, the names of
/// this crate's own types (`callToolOutcome`, see [`message_type`](crate::message_type)) are known.
pub fn validate(revision: Revision, type_name: &str, value: &Value) -> Result<Vec<Problem>, UnknownType> {
    let facts = facts(revision);
    let Some((name, kind)) = facts.types.get_key_value(type_name) else {
        return Err(UnknownType { revision, name: type_name.to_owned() });
    };
    let validator = kind.validator.get_or_init(|| facts.compile(name));
    if validator.is_valid(value) {
        return Ok(Vec::new());
    }
    let located = Located { facts, root: &kind.reference };
    Ok(problem::explain(validator.iter_errors(value), &located))
}

/// The protocol's type names of a revision, sorted.
pub fn type_names(revision: Revision) -> impl Iterator<Item = &'static str> {
    facts(revision).types.keys().map(String::as_str).filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// A type as one schema on its own, with all that it refers to: what generators work from.
pub fn type_schema(revision: Revision, type_name: &str) -> Option<Value> {
    let facts = facts(revision);
    let mut definitions = Map::new();
    let mut open = vec![type_name.to_owned()];
    while let Some(name) = open.pop() {
        if !definitions.contains_key(&name) {
            let mut definition = facts.definition(&name)?.clone();
            localize(&mut definition, &mut open);
            definitions.insert(name, definition);
        }
    }
    Some(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": format!("#/$defs/{type_name}"),
        "$defs": definitions,
    }))
}

/// Cuts the file off each reference (names are unique in a revision) and notes what is referred to.
fn localize(schema: &mut Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members.iter_mut() {
                match value {
                    Value::String(reference) if key == "$ref" => {
                        if let Some(at) = reference.find('#') {
                            reference.replace_range(..at, "");
                        }
                        names.extend(reference.strip_prefix("#/$defs/").map(str::to_owned));
                    }
                    _ => localize(value, names),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| localize(item, names)),
        _ => {}
    }
}

/// Every rule of a revision that names a catalogue row: the type in which it stands, and the row.
pub fn rows(revision: Revision) -> impl Iterator<Item = (&'static str, &'static str)> {
    let facts = facts(revision);
    facts.types.keys().flat_map(move |name| {
        let mut rows = Vec::new();
        if let Some(definition) = facts.definition(name) {
            collect_rows(definition, &mut rows);
        }
        rows.into_iter().map(move |row| (name.as_str(), row))
    })
}

fn collect_rows<'s>(schema: &'s Value, rows: &mut Vec<&'s str>) {
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                match value {
                    Value::String(row) if key == "x-requirement" => rows.push(row),
                    Value::Object(map) if key == "x-requirement" => rows.extend(map.values().filter_map(Value::as_str)),
                    _ => collect_rows(value, rows),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_rows(item, rows)),
        _ => {}
    }
}

pub(crate) struct Facts {
    registry: Registry<'static>,
    /// By address, as references spell it.
    documents: &'static BTreeMap<String, Value>,
    types: BTreeMap<String, Kind>,
}

struct Kind {
    document: String,
    /// A schema that refers to the definition.
    reference: Value,
    validator: OnceLock<Validator>,
}

impl Facts {
    fn read(files: &[&str], documents: &'static OnceLock<BTreeMap<String, Value>>) -> Self {
        let documents = documents.get_or_init(|| {
            let parse = |text: &&str| {
                let document: Value = serde_json::from_str(text).expect("a test reads each file of ours");
                let id =
                    document.get("$id").and_then(Value::as_str).expect("a test reads each file of ours").to_owned();
                (id, document)
            };
            files.iter().map(parse).collect()
        });
        let mut builder = Registry::new();
        for (id, document) in documents {
            builder = builder.add(id.as_str(), document).expect("a test registers each file of ours");
        }
        let registry = builder.prepare().expect("a test registers each file of ours");
        let mut types = BTreeMap::new();
        for (id, document) in documents {
            for name in document.get("$defs").and_then(Value::as_object).into_iter().flat_map(Map::keys) {
                let reference = json!({ "$ref": format!("{id}#/$defs/{name}") });
                types.insert(name.clone(), Kind { document: id.clone(), reference, validator: OnceLock::new() });
            }
        }
        Self { registry, documents, types }
    }

    fn compile(&'static self, name: &str) -> Validator {
        let kind = self.types.get(name).expect("the caller found the type");
        jsonschema::options()
            .with_registry(&self.registry)
            .offline()
            .with_pattern_options(PatternOptions::regex())
            .should_validate_formats(false)
            .build(&kind.reference)
            .expect("a test compiles each type of ours")
    }

    fn definition(&self, name: &str) -> Option<&Value> {
        self.documents.get(&self.types.get(name)?.document)?.get("$defs")?.get(name)
    }

    /// A type with the document in which it stands.
    pub(crate) fn located(&self, name: &str) -> Option<(&str, &Value)> {
        Some((&self.types.get(name)?.document, self.definition(name)?))
    }

    /// The target of a reference that stands in a document.
    pub(crate) fn follow<'s>(&'s self, document: &'s str, reference: &'s str) -> Option<(&'s str, &'s Value)> {
        let (file, pointer) = reference.split_once('#')?;
        let id = if file.is_empty() {
            document
        } else if self.documents.contains_key(file) {
            file
        } else {
            let (folder, _) = document.rsplit_once('/')?;
            let id = format!("{folder}/{file}");
            self.documents.get_key_value(&id)?.0
        };
        Some((id, self.documents.get(id)?.pointer(pointer)?))
    }
}

/// Errors of one type, seen in the schema files.
struct Located<'s> {
    facts: &'s Facts,
    root: &'s Value,
}

impl Located<'_> {
    /// Visits the schema objects that the validator went through, outermost first; `last` is where the keyword stands.
    fn walk<'s>(&'s self, error: &ValidationError<'_>, mut visit: impl FnMut(&'s Value, &str, bool)) -> Option<()> {
        let path = error.evaluation_path().as_str();
        let (mut document, mut schema) = ("", self.root);
        let mut tokens = path.split('/').skip(1).peekable();
        while let Some(token) = tokens.next() {
            let last = tokens.peek().is_none();
            visit(schema, token, last);
            if last {
                break;
            }
            let token = token.replace("~1", "/").replace("~0", "~");
            if token == "$ref" {
                (document, schema) = self.facts.follow(document, schema.get("$ref")?.as_str()?)?;
            } else {
                schema = match schema {
                    Value::Array(items) => items.get(token.parse::<usize>().ok()?)?,
                    _ => schema.get(&token)?,
                };
            }
        }
        Some(())
    }
}

impl<'s> Context<'s> for Located<'s> {
    fn schema<'e>(&'e self, error: &ValidationError<'_>) -> Option<&'e Value> {
        let mut found = None;
        self.walk(error, |schema, _, last| {
            if last {
                found = Some(schema);
            }
        });
        found
    }

    fn requirement(&self, error: &ValidationError<'_>) -> Option<String> {
        let mut found = None;
        self.walk(error, |schema, keyword, last| match schema.get("x-requirement") {
            Some(Value::String(row)) => found = Some(row.clone()),
            Some(Value::Object(rows)) if last => {
                if let Some(row) = rows.get(keyword).and_then(Value::as_str) {
                    found = Some(row.to_owned());
                }
            }
            _ => {}
        });
        found
    }

    fn contested(&self, error: &ValidationError<'_>) -> Option<String> {
        let mut found = None;
        self.walk(error, |schema, keyword, last| {
            if last {
                found = match schema.get("x-contested") {
                    Some(Value::String(item)) => Some(item.clone()),
                    Some(Value::Object(items)) => items.get(keyword).and_then(Value::as_str).map(str::to_owned),
                    _ => None,
                };
            }
        });
        found
    }
}

pub(crate) fn facts(revision: Revision) -> &'static Facts {
    match revision.era().judged() {
        Revision::V2026_07_28 => &MODERN,
        _ => &LEGACY,
    }
}

macro_rules! files {
    ($revision:literal: $($topic:literal)*) => {
        &[$(include_str!(concat!("../", $revision, "/", $topic, ".json"))),*]
    };
}

static LEGACY_DOCUMENTS: OnceLock<BTreeMap<String, Value>> = OnceLock::new();
static LEGACY: LazyLock<Facts> = LazyLock::new(|| {
    let files = files!("2025-11-25": "base" "lifecycle" "content" "tools" "resources" "prompts" "completion" "logging"
        "roots" "sampling" "elicitation" "tasks" "messages");
    Facts::read(files, &LEGACY_DOCUMENTS)
});

static MODERN_DOCUMENTS: OnceLock<BTreeMap<String, Value>> = OnceLock::new();
static MODERN: LazyLock<Facts> = LazyLock::new(|| {
    let files = files!("2026-07-28": "base" "discovery" "content" "tools" "resources" "prompts" "completion" "logging"
        "roots" "sampling" "elicitation" "input" "subscriptions" "messages");
    Facts::read(files, &MODERN_DOCUMENTS)
});
