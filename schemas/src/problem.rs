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
    /// What makes the constraint disputed: an item of the list of contested points. Never a failure of a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contested: Option<String>,
}

impl Problem {
    pub(crate) fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into(), requirement: None, contested: None }
    }
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

/// The schema behind the errors.
pub(crate) trait Context<'s> {
    /// The schema object in which the keyword of an error stands.
    fn schema<'e>(&'e self, error: &ValidationError<'_>) -> Option<&'e Value>;

    /// The catalogue row that the constraint enforces.
    fn requirement(&self, _error: &ValidationError<'_>) -> Option<String> {
        None
    }

    /// What is disputed about the constraint.
    fn contested(&self, _error: &ValidationError<'_>) -> Option<String> {
        None
    }
}

/// Words the errors, the nearest branch of each failed alternative in place of the alternative itself.
pub(crate) fn explain<'e, 's>(
    errors: impl Iterator<Item = ValidationError<'e>>,
    context: &dyn Context<'s>,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for error in errors.take(MOST_PROBLEMS) {
        push(&error, context, "", MOST_NESTING, &mut problems);
    }
    // A constraint that stands twice (in a type and in the block that it is built from) is one finding, under the row
    // that one of them names; it is disputed only if both are.
    let mut kept: Vec<Problem> = Vec::new();
    for problem in problems {
        let full = kept.len() >= MOST_PROBLEMS;
        match kept.iter_mut().find(|k| k.pointer == problem.pointer && k.message == problem.message) {
            Some(known) => {
                if known.requirement.is_none() {
                    known.requirement = problem.requirement;
                }
                if problem.contested.is_none() {
                    known.contested = None;
                }
            }
            None if !full => kept.push(problem),
            None => break,
        }
    }
    kept
}

struct Nowhere;

impl Context<'_> for Nowhere {
    fn schema<'e>(&'e self, _error: &ValidationError<'_>) -> Option<&'e Value> {
        None
    }
}

/// Words one error whose schema is not at hand.
pub(crate) fn explain_one(error: &ValidationError<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    push(error, &Nowhere, "", MOST_NESTING, &mut problems);
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

fn push(error: &ValidationError<'_>, context: &dyn Context<'_>, branch: &str, nesting: usize, out: &mut Vec<Problem>) {
    match error.kind() {
        Kind::AnyOf { context: branches } | Kind::OneOfNotValid { context: branches }
            if nesting > 0 && !branches.is_empty() =>
        {
            push_nearest(error, branches, context, nesting, out);
        }
        _ => {
            let (requirement, contested) = (context.requirement(error), context.contested(error));
            for (pointer, message) in word(error) {
                let message = if branch.is_empty() { message } else { format!("{message} ({branch})") };
                let (requirement, contested) = (requirement.clone(), contested.clone());
                out.push(Problem { pointer, message, requirement, contested });
            }
        }
    }
}

fn push_nearest(
    error: &ValidationError<'_>,
    branches: &[Vec<ValidationError<'static>>],
    context: &dyn Context<'_>,
    nesting: usize,
    out: &mut Vec<Problem>,
) {
    let here = error.instance_path().as_str();
    let whole = none_has_its_member(branches, here).or_else(|| no_discriminator_fits(branches));
    if let Some(problem) = whole {
        let (requirement, contested) = (context.requirement(error), context.contested(error));
        out.push(Problem { requirement, contested, ..problem });
        return;
    }
    // Only a member of the value itself tells the branches apart; what is fixed deeper down is one of a branch's rules.
    let own = |path: &str| path.strip_prefix(here).is_some_and(|rest| rest.matches('/').count() == 1);
    let fixed = branches.iter().flatten().filter(|e| matches!(e.kind(), Kind::Constant { .. }));
    let fixed: Vec<&str> = fixed.map(|e| e.instance_path().as_str()).filter(|path| own(path)).collect();
    let nearest = branches.iter().enumerate().min_by_key(|(_, errors)| distance(errors, here, &fixed));
    let Some((index, errors)) = nearest else { return };
    let name = context
        .schema(error)
        .and_then(|s| s.get(error.kind().keyword())?.get(index))
        .and_then(|b| b.get("$ref").or_else(|| b.get("title"))?.as_str())
        .map(|r| r.rsplit('/').next().unwrap_or(r).to_owned());
    let branch = match name {
        Some(name) => format!("as {name}, the nearest of {} alternatives", branches.len()),
        None => format!("by alternative {} of {}, the nearest", index + 1, branches.len()),
    };
    for inner in errors.iter().take(MOST_PROBLEMS) {
        push(inner, context, &branch, nesting - 1, out);
    }
}

/// When each branch only lacks a member, the members are the alternatives.
fn none_has_its_member(branches: &[Vec<ValidationError<'static>>], here: &str) -> Option<Problem> {
    let mut wanted = Vec::new();
    for errors in branches {
        let [only] = errors.as_slice() else { return None };
        let Kind::Required { property } = only.kind() else { return None };
        if only.instance_path().as_str() != here {
            return None;
        }
        wanted.push(property.as_str().map_or_else(|| quote(property), name));
    }
    Some(Problem::new(here, format!("one of the members {} is missing", wanted.join(", "))))
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
    Some(Problem::new(pointer, message))
}

/// How far the value is from a branch: wrong type of the whole, then wrong values of members that some branch fixes
/// (what tells the branches apart), then the number of errors.
fn distance(errors: &[ValidationError<'static>], here: &str, fixed: &[&str]) -> (usize, usize, usize) {
    let wrong_type =
        errors.iter().filter(|e| matches!(e.kind(), Kind::Type { .. }) && e.instance_path().as_str() == here).count();
    let wrong_fixed = errors
        .iter()
        .filter(|e| matches!(e.kind(), Kind::Constant { .. } | Kind::Enum { .. }))
        .filter(|e| fixed.contains(&e.instance_path().as_str()))
        .count();
    (wrong_type, wrong_fixed, errors.len())
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
        Kind::FalseSchema => "is not allowed here".to_owned(),
        Kind::Pattern { pattern } => format!("is {}, which does not match {}", quote(value), cut(pattern)),
        Kind::Minimum { limit } => format!("is {}, less than {limit}", quote(value)),
        Kind::Maximum { limit } => format!("is {}, more than {limit}", quote(value)),
        Kind::ExclusiveMinimum { limit } => format!("is {}, not more than {limit}", quote(value)),
        Kind::ExclusiveMaximum { limit } => format!("is {}, not less than {limit}", quote(value)),
        Kind::MultipleOf { multiple_of: 1.0 } => format!("is {}, a whole number is wanted", quote(value)),
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
        Kind::Not { schema } => ruled_out(value, schema),
        Kind::OneOfMultipleValid { .. } => "fits several alternatives of which exactly one may fit".to_owned(),
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => "fits none of the alternatives".to_owned(),
        Kind::Format { format } => format!("is {}, which is no {}", quote(value), cut(format)),
        other => format!("breaks the keyword `{}`", other.keyword()),
    };
    vec![(here, message)]
}

/// A negation is worded by what it negates.
fn ruled_out(value: &Value, schema: &Value) -> String {
    let number = |key: &str| schema.get(key).filter(|n| n.is_number());
    if schema.as_object().is_some_and(serde_json::Map::is_empty) {
        return "is not allowed here".to_owned();
    }
    if let Some(constant) = schema.get("const") {
        return format!("is {}, which is ruled out here", quote(constant));
    }
    match (number("minimum"), number("maximum")) {
        (Some(low), Some(high)) => format!("is {}, and {low} to {high} is ruled out here", quote(value)),
        _ => match schema.get("type").and_then(Value::as_str) {
            Some(kind) => format!("is {}, and {kind} is ruled out here", a_type(value)),
            None => "has a form that is ruled out here".to_owned(),
        },
    }
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
