//! Variables of a running case, and templates filled in with them.

use std::collections::BTreeMap;

use mcp_conform_cases::ast::{Template, Variable};
use serde_json::Value;

use crate::conversation::Draft;

/// What `$name` stands for: tools and loop rounds, captures, and handles by their documents.
#[derive(Clone, Debug, Default)]
pub struct Values {
    values: BTreeMap<String, Value>,
}

/// A variable that stands for nothing here, such as a `requestState` that was not given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what the case goes on with did not come: {}", what(.name, .pointer))]
pub struct Unset {
    pub name: String,
    pub pointer: String,
}

/// A place in words, the innermost first: `"id" of "events" of "question"`.
fn what(name: &str, pointer: &str) -> String {
    let word = |token: &&str| !token.is_empty() && !token.bytes().all(|byte| byte.is_ascii_digit());
    let mut words: Vec<String> =
        pointer.split('/').filter(word).map(|token| format!("{:?}", token.replace("~1", "/"))).collect();
    words.reverse();
    words.push(format!("{name:?}"));
    words.join(" of ")
}

impl Values {
    pub fn set(&mut self, name: &str, value: Value) {
        self.values.insert(name.to_owned(), value);
    }

    /// Takes over what a parallel branch set.
    pub fn merge(&mut self, other: Self) {
        self.values.extend(other.values);
    }

    pub fn look_up(&self, variable: &Variable) -> Option<Value> {
        self.values.get(&variable.name)?.pointer(&variable.pointer).cloned()
    }

    pub fn fill(&self, template: &Template) -> Result<Draft, Unset> {
        Ok(match template {
            Template::Literal(value) => Draft::Value(value.clone()),
            Template::Raw(text) => Draft::Raw(text.clone()),
            Template::Variable(variable) => Draft::Value(
                self.look_up(variable)
                    .ok_or_else(|| Unset { name: variable.name.clone(), pointer: variable.pointer.clone() })?,
            ),
            Template::Array(items) => Draft::Array(items.iter().map(|item| self.fill(item)).collect::<Result<_, _>>()?),
            Template::Object(members) => Draft::Object(
                members
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), self.fill(value)?)))
                    .collect::<Result<_, Unset>>()?,
            ),
            Template::Flipped { value, at } => Draft::Value(mcp_conform_cases::flipped_value(self.value(value)?, *at)),
            Template::Sentinel { mark, value } => {
                Draft::Value(mcp_conform_cases::sentinel(mark, &self.value(value)?).into())
            }
        })
    }

    pub fn value(&self, template: &Template) -> Result<Value, Unset> {
        self.fill(template).map(|draft| draft.to_value())
    }

    /// A header value: strings as they are, everything else as JSON text.
    pub fn header(&self, template: &Template) -> Result<Vec<u8>, Unset> {
        Ok(match self.fill(template)? {
            Draft::Value(Value::String(text)) => text.into_bytes(),
            other => other.text().into_bytes(),
        })
    }
}
