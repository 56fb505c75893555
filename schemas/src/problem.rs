//! What is wrong with a value, in words that a person can act on.
//!
//! [`Problem`] is what every validation of this crate returns. The rest of the module turns the errors of the
//! validator into problems: it words them, bounds them, finds the requirement that a constraint names, and answers
//! a failed `anyOf` with the branch that was meant. Which schema applies is the caller's business.

use std::fmt;

use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One thing that is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Problem {
    /// JSON Pointer to the part of the value that is wrong; empty for the whole value.
    pub pointer: String,
    /// What is wrong there, as a sentence fragment without the pointer.
    pub message: String,
    /// The catalogue row that the broken constraint names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirement: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "the value" } else { &self.pointer };
        write!(f, "{place}: {}", self.message)
    }
}

/// More problems of one value help nobody, and a hostile value could make millions.
const MOST_PROBLEMS: usize = 40;
/// Values are quoted in messages up to this many characters.
const QUOTE: usize = 60;
/// Alternatives nest in the protocol at most four deep; the bound keeps hostile schemas cheap.
const MOST_NESTING: usize = 12;

/// Finds the schema object in which the keyword of an error stands.
pub(crate) type SchemaAt<'s> = dyn Fn(&ValidationError<'_>) -> Option<&'s Value> + 's;

/// Words the errors, the nearest branch of each failed alternative in place of the alternative itself.
pub(crate) fn explain<'e, 's>(
    errors: impl Iterator<Item = ValidationError<'e>>,
    schema_at: &SchemaAt<'s>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for error in errors.take(MOST_PROBLEMS) {
        push(&error, schema_at, "", MOST_NESTING, &mut problems);
    }
    problems.truncate(MOST_PROBLEMS);
    let mut seen = std::collections::HashSet::new();
    problems.retain(|p| seen.insert(p.clone()));
    problems
}

/// Words one error that stands in no schema of ours.
pub(crate) fn explain_one(error: &ValidationError<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    push(error, &|_| None, "", MOST_NESTING, &mut problems);
    problems
}

/// Whether the validator gave up (a regular expression that ran too long) instead of judging.
pub(crate) fn gave_up(error: &ValidationError<'_>) -> bool {
    match error.kind() {
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } | Kind::Referencing(_) => true,
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } | Kind::OneOfMultipleValid { context } => {
            context.iter().flatten().any(gave_up)
        }
        Kind::PropertyNames { error } => gave_up(error),
        _ => false,
    }
}

fn push(error: &ValidationError<'_>, schema_at: &SchemaAt<'_>, branch: &str, nesting: usize, out: &mut Vec<Problem>) {
    let schema = schema_at(error);
    let keyword = error.kind().keyword();
    let requirement = schema.and_then(|s| requirement(s, keyword));
    let before = out.len();
    match error.kind() {
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } if nesting > 0 && !context.is_empty() => {
            push_nearest(error, context, schema, schema_at, nesting, out);
        }
        _ => {
            for (pointer, message) in word(error) {
                let message = if branch.is_empty() { message } else { format!("{message} ({branch})") };
                out.push(Problem { pointer, message, requirement: None });
            }
        }
    }
    // A branch that names its own row knows better than the alternative around it.
    for problem in out.iter_mut().skip(before) {
        if problem.requirement.is_none() {
            problem.requirement.clone_from(&requirement);
        }
    }
}

fn push_nearest(
    error: &ValidationError<'_>,
    context: &[Vec<ValidationError<'static>>],
    schema: Option<&Value>,
    schema_at: &SchemaAt<'_>,
    nesting: usize,
    out: &mut Vec<Problem>,
) {
    let here = error.instance_path().as_str();
    if let Some(problem) = no_discriminator_fits(context) {
        out.push(problem);
        return;
    }
    let nearest = context.iter().enumerate().min_by_key(|(_, errors)| distance(errors, here));
    let Some((index, errors)) = nearest else { return };
    let name = schema
        .and_then(|s| s.get(error.kind().keyword())?.get(index))
        .and_then(|b| b.get("$ref").or_else(|| b.get("title"))?.as_str())
        .map(|r| r.rsplit('/').next().unwrap_or(r).to_owned());
    let branch = match name {
        Some(name) => format!("as {name}, the nearest of {} alternatives", context.len()),
        None => format!("by alternative {} of {}, the nearest", index + 1, context.len()),
    };
    for inner in errors.iter().take(MOST_PROBLEMS) {
        push(inner, schema_at, &branch, nesting - 1, out);
    }
}

/// When no branch got past the type of the value, or past one and the same fixed member, one problem says it all.
fn no_discriminator_fits(context: &[Vec<ValidationError<'static>>]) -> Option<Problem> {
    let mut wanted: Vec<String> = Vec::new();
    let mut common: Option<(&str, bool)> = None;
    for errors in context {
        let key = errors.iter().find_map(|e| match e.kind() {
            Kind::Constant { expected_value } => Some((e, false, vec![quote(expected_value)])),
            Kind::Enum { options } => Some((e, false, options.as_array()?.iter().map(quote).collect())),
            Kind::Type { kind } => Some((e, true, types(kind))),
            _ => None,
        });
        let (e, is_type, words) = key?;
        let place = (e.instance_path().as_str(), is_type);
        if *common.get_or_insert(place) != place {
            return None;
        }
        wanted.extend(words);
    }
    let (pointer, is_type) = common?;
    let first = context.first()?.iter().find(|e| e.instance_path().as_str() == pointer)?;
    wanted.dedup();
    let mut unique: Vec<String> = Vec::new();
    for w in wanted {
        if !unique.contains(&w) {
            unique.push(w);
        }
    }
    let value = first.instance();
    let message = if is_type {
        format!("is {}, {} is wanted", a_type(value), unique.join(" or "))
    } else {
        format!("is {}, one of {} is wanted", quote(value), unique.join(", "))
    };
    Some(Problem { pointer: pointer.to_owned(), message, requirement: None })
}

/// How far the value is from a branch: wrong type of the whole, then wrong fixed members, then the number of errors.
fn distance(errors: &[ValidationError<'static>], here: &str) -> (usize, usize, usize) {
    let wrong_type =
        errors.iter().filter(|e| matches!(e.kind(), Kind::Type { .. }) && e.instance_path().as_str() == here).count();
    let fixed = errors.iter().filter(|e| matches!(e.kind(), Kind::Constant { .. })).count();
    (wrong_type, fixed, errors.len())
}

/// The row that a schema object names for one of its keywords: `x-requirement` is a row for all of them, or a map.
fn requirement(schema: &Value, keyword: &str) -> Option<String> {
    match schema.get("x-requirement")? {
        Value::String(row) => Some(row.clone()),
        Value::Object(rows) => rows.get(keyword)?.as_str().map(str::to_owned),
        _ => None,
    }
}

fn word(error: &ValidationError<'_>) -> Vec<(String, String)> {
    let here = error.instance_path().as_str().to_owned();
    let value = error.instance();
    let message = match error.kind() {
        Kind::Required { property } => {
            format!("member {} is missing", property.as_str().map_or_else(|| quote(property), name))
        }
        Kind::Type { kind } => format!("is {}, {} is wanted", a_type(value), types(kind).join(" or ")),
        Kind::Constant { expected_value } => format!("is {}, {} is wanted", quote(value), quote(expected_value)),
        Kind::Enum { options } => {
            let options: Vec<_> = options.as_array().into_iter().flatten().take(20).map(quote).collect();
            format!("is {}, one of {} is wanted", quote(value), options.join(", "))
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            return unexpected
                .iter()
                .take(MOST_PROBLEMS)
                .map(|member| (format!("{here}/{}", escape(member)), "member is not allowed here".to_owned()))
                .collect();
        }
        Kind::FalseSchema => "nothing is allowed here".to_owned(),
        Kind::Pattern { pattern } => format!("is {}, which does not match {}", quote(value), cut(pattern)),
        Kind::Minimum { limit } => format!("is {}, less than {limit}", quote(value)),
        Kind::Maximum { limit } => format!("is {}, more than {limit}", quote(value)),
        Kind::ExclusiveMinimum { limit } => format!("is {}, not more than {limit}", quote(value)),
        Kind::ExclusiveMaximum { limit } => format!("is {}, not less than {limit}", quote(value)),
        Kind::MultipleOf { multiple_of } => format!("is {}, no multiple of {multiple_of}", quote(value)),
        Kind::MinLength { limit } => format!("is shorter than {limit} characters"),
        Kind::MaxLength { limit } => format!("is longer than {limit} characters"),
        Kind::MinItems { limit } => format!("holds fewer than {limit} items"),
        Kind::MaxItems { limit } => format!("holds more than {limit} items"),
        Kind::AdditionalItems { limit } => format!("holds more than {limit} items"),
        Kind::MinProperties { limit } => format!("holds fewer than {limit} members"),
        Kind::MaxProperties { limit } => format!("holds more than {limit} members"),
        Kind::UniqueItems => "holds an item twice".to_owned(),
        Kind::UnevaluatedItems { .. } => "holds items that are not allowed".to_owned(),
        Kind::Contains => "holds no item of the kind that must be there".to_owned(),
        Kind::PropertyNames { error } => {
            return word(error)
                .into_iter()
                .map(|(_, message)| (here.clone(), format!("a member's name {message}")))
                .collect();
        }
        Kind::Not { .. } => "has a form that is ruled out here".to_owned(),
        Kind::OneOfMultipleValid { .. } => "fits several alternatives of which exactly one may fit".to_owned(),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => "fits none of the alternatives".to_owned(),
        Kind::Format { format } => format!("is {}, which is no {}", quote(value), cut(format)),
        other => format!("breaks the keyword `{}`", other.keyword()),
    };
    vec![(here, message)]
}

fn types(kind: &TypeKind) -> Vec<String> {
    match kind {
        TypeKind::Single(t) => vec![t.to_string()],
        TypeKind::Multiple(set) => set.iter().map(|t| t.to_string()).collect(),
    }
}

fn a_type(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => format!("the boolean {b}"),
        Value::Number(n) => format!("the number {n}"),
        Value::String(_) => format!("the string {}", quote(value)),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

fn name(text: &str) -> String {
    format!("`{}`", cut(text))
}

fn quote(value: &Value) -> String {
    match value {
        // A container is not written out: it may be as big as the message.
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(members) => format!("an object of {}", members.len()),
        Value::String(s) if s.chars().nth(QUOTE).is_some() => Value::String(cut(s)).to_string(),
        _ => value.to_string(),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(QUOTE) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A member name as a token of a JSON Pointer.
pub(crate) fn escape(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}
