//! Validation by a schema that somebody else wrote: a tool's `inputSchema` or `outputSchema`, a `requestedSchema`.
//!
//! [`InstanceSchema`] compiles such a schema by its declared `$schema` (2020-12 without one) and judges values. The
//! schema and the value both come from the server under test, so everything is bounded: size, depth, the work of one
//! judgement, backtracking. Nothing is fetched. What cannot be judged is [`Inconclusive`] and never a problem of the
//! server. `format` and the content keywords are annotations here. No type of the validator shows in the interface.

use std::fmt;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

use crate::{
    cost,
    problem::{self, Context, Problem},
};

/// The limits are far above what tools declare and far below what hurts.
const MOST_SCHEMA_NODES: usize = 50_000;
const MOST_SCHEMA_DEPTH: usize = 96;
/// What our JSON reader lets through at most.
const MOST_VALUE_DEPTH: usize = 128;
const MOST_VALUE_NODES: usize = 200_000;
const BACKTRACK_LIMIT: usize = 100_000;
const REGEX_SIZE_LIMIT: usize = 4 << 20;

/// A compiled schema of somebody else.
pub struct InstanceSchema {
    validator: Validator,
    /// No regular expression can give up.
    linear: bool,
    schema: Value,
}

impl fmt::Debug for InstanceSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InstanceSchema").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// Why a schema gave no [`InstanceSchema`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstanceSchemaError {
    /// It is no schema of its dialect: the fault of whoever wrote it.
    #[error("no valid JSON Schema: {0}")]
    Invalid(Problem),
    /// It may be sound, but we cannot tell.
    #[error("cannot judge by this schema: {0}")]
    Inconclusive(#[from] Inconclusive),
}

/// What kept us from judging. Never counts against a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inconclusive {
    #[error("the regular expression {pattern:?} at {pointer} is ECMA-262 that our engine does not know")]
    Regex { pointer: String, pattern: String },
    #[error("a regular expression took too long on this value")]
    Backtracking,
    #[error("the dialect {0:?} is not known")]
    Dialect(String),
    #[error("a reference could not be followed: {0}")]
    Reference(String),
    #[error("it is larger or deeper than we read")]
    TooLarge,
    #[error("judging would take too long")]
    TooCostly,
}

impl InstanceSchema {
    /// Compiles a schema as its author wrote it.
    pub fn new(schema: &Value) -> Result<Self, InstanceSchemaError> {
        if !cost::within(schema, MOST_SCHEMA_NODES, MOST_SCHEMA_DEPTH) {
            return Err(Inconclusive::TooLarge.into());
        }
        if !schema.is_object() && !schema.is_boolean() {
            let message = "a schema is an object or a boolean".to_owned();
            return Err(InstanceSchemaError::Invalid(Problem::new("", message)));
        }
        if let Some(declared) = schema.get("$schema").and_then(Value::as_str)
            && !known_dialect(declared)
        {
            return Err(Inconclusive::Dialect(declared.to_owned()).into());
        }
        if cost::endless(schema) {
            return Err(Inconclusive::Reference("a reference leads back to itself".to_owned()).into());
        }
        // The linear engine first: it cannot be made to run long. Only look-around and back references need the other.
        let linear = options().with_pattern_options(PatternOptions::regex().size_limit(REGEX_SIZE_LIMIT)).build(schema);
        let linear_enough = linear.is_ok();
        let built = linear.or_else(|_| {
            let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACK_LIMIT).size_limit(REGEX_SIZE_LIMIT);
            options().with_pattern_options(patterns).build(schema)
        });
        match built {
            Ok(validator) => Ok(Self { validator, linear: linear_enough, schema: schema.clone() }),
            Err(error) => Err(refused(schema, &error)),
        }
    }

    /// What is wrong with the value. Empty also when nothing could be said: see [`Self::judge`].
    pub fn validate(&self, value: &Value) -> Vec<Problem> {
        self.judge(value).unwrap_or_default()
    }

    /// What is wrong with the value, or why that cannot be said.
    pub fn judge(&self, value: &Value) -> Result<Vec<Problem>, Inconclusive> {
        self.bound(value)?;
        if self.linear && self.validator.is_valid(value) {
            return Ok(Vec::new());
        }
        let errors: Vec<_> = self.validator.iter_errors(value).take(100).collect();
        if errors.iter().any(problem::gave_up) {
            return Err(Inconclusive::Backtracking);
        }
        Ok(problem::explain(errors.into_iter(), self))
    }

    /// Whether the value certainly fits.
    pub fn accepts(&self, value: &Value) -> bool {
        self.fits(value) == Some(true)
    }

    /// Whether the value certainly does not fit.
    pub fn refuses(&self, value: &Value) -> bool {
        self.fits(value) == Some(false)
    }

    fn fits(&self, value: &Value) -> Option<bool> {
        if self.linear {
            self.bound(value).ok()?;
            return Some(self.validator.is_valid(value));
        }
        Some(self.judge(value).ok()?.is_empty())
    }

    fn bound(&self, value: &Value) -> Result<(), Inconclusive> {
        if !cost::within(value, MOST_VALUE_NODES, MOST_VALUE_DEPTH) {
            return Err(Inconclusive::TooLarge);
        }
        if cost::affordable(&self.schema, value) { Ok(()) } else { Err(Inconclusive::TooCostly) }
    }
}

/// A schema of a server names no row of ours: only the schema object is found, never a requirement.
impl<'s> Context<'s> for InstanceSchema {
    fn schema<'e>(&'e self, error: &jsonschema::ValidationError<'_>) -> Option<&'e Value> {
        let (parent, _) = error.schema_path().as_str().rsplit_once('/')?;
        self.schema.pointer(parent)
    }
}

fn options<'i>() -> jsonschema::ValidationOptions<'i> {
    jsonschema::options()
        .offline()
        .should_validate_formats(false)
        .without_content_media_type_support("application/json")
        .without_content_encoding_support("base64")
}

fn known_dialect(uri: &str) -> bool {
    let uri = uri.trim_end_matches('#').trim_start_matches("https://").trim_start_matches("http://");
    matches!(
        uri,
        "json-schema.org/draft/2020-12/schema"
            | "json-schema.org/draft/2019-09/schema"
            | "json-schema.org/draft-07/schema"
            | "json-schema.org/draft-06/schema"
            | "json-schema.org/draft-04/schema"
    )
}

fn refused(schema: &Value, error: &jsonschema::ValidationError<'_>) -> InstanceSchemaError {
    let mut patterns = Vec::new();
    collect_patterns(schema, &mut String::new(), &mut patterns);
    for (pointer, pattern) in patterns {
        let alone = serde_json::json!({ "pattern": pattern });
        let engine = PatternOptions::fancy_regex().size_limit(REGEX_SIZE_LIMIT);
        if options().with_pattern_options(engine).build(&alone).is_err() {
            return Inconclusive::Regex { pointer, pattern }.into();
        }
    }
    if matches!(error.kind(), jsonschema::error::ValidationErrorKind::Referencing(_)) {
        return Inconclusive::Reference(error.to_string().chars().take(200).collect()).into();
    }
    let message = problem::explain_one(error);
    match message.into_iter().next() {
        Some(problem) => InstanceSchemaError::Invalid(problem),
        None => Inconclusive::TooCostly.into(),
    }
}

fn collect_patterns(schema: &Value, pointer: &mut String, out: &mut Vec<(String, String)>) {
    let mut child = |key: &str, value: &Value, out: &mut Vec<(String, String)>| {
        let length = pointer.len();
        pointer.push('/');
        pointer.push_str(&problem::escape(key));
        collect_patterns(value, pointer, out);
        pointer.truncate(length);
    };
    match schema {
        Value::Object(members) => {
            for (key, value) in members {
                child(key, value, out);
            }
            if let Some(pattern) = members.get("pattern").and_then(Value::as_str) {
                out.push((format!("{pointer}/pattern"), pattern.to_owned()));
            }
            for pattern in members.get("patternProperties").and_then(Value::as_object).into_iter().flatten() {
                out.push((format!("{pointer}/patternProperties"), pattern.0.clone()));
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                child(&index.to_string(), value, out);
            }
        }
        _ => {}
    }
}
