//! Templates to JSON.
//!
//! [`Template::render`] gives the text that goes out, with raw literals as they stand; [`Template::to_value`] gives a value
//! to compare with or to look at.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value};

use crate::{
    alter::flipped,
    ast::{Template, Variable},
};

/// Why a template gives nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The variable has no value, or no member under its pointer.
    #[error("${}{} has no value", .0.name, .0.pointer)]
    Unbound(Variable),
    /// A raw literal that only exists as text.
    #[error("{0} is no value that a parser keeps")]
    Raw(String),
}

impl Template {
    /// JSON text. A raw literal goes in byte by byte, so that what no parser keeps can be sent.
    pub fn render(&self, vars: &dyn Fn(&Variable) -> Option<Value>) -> Result<String, RenderError> {
        let mut text = String::new();
        self.write(vars, &mut text)?;
        Ok(text)
    }

    /// The value. A raw literal has one if a parser keeps it.
    pub fn to_value(&self, vars: &dyn Fn(&Variable) -> Option<Value>) -> Result<Value, RenderError> {
        Ok(match self {
            Self::Literal(value) => value.clone(),
            Self::Raw(text) => serde_json::from_str(text).map_err(|_| RenderError::Raw(text.clone()))?,
            Self::Variable(variable) => vars(variable).ok_or_else(|| RenderError::Unbound(variable.clone()))?,
            Self::Array(items) => Value::Array(items.iter().map(|item| item.to_value(vars)).collect::<Result<_, _>>()?),
            Self::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(name, member)| Ok((name.clone(), member.to_value(vars)?)))
                    .collect::<Result<Map<_, _>, RenderError>>()?,
            ),
            Self::Flipped { value, at } => flipped_value(value.to_value(vars)?, *at),
            Self::Sentinel { mark, value } => Value::String(sentinel(mark, &value.to_value(vars)?)),
        })
    }

    /// The variables that it draws on.
    pub fn variables(&self) -> Vec<&Variable> {
        match self {
            Self::Literal(_) | Self::Raw(_) => Vec::new(),
            Self::Variable(variable) => vec![variable],
            Self::Array(items) => items.iter().flat_map(Self::variables).collect(),
            Self::Object(members) => members.iter().flat_map(|(_, member)| member.variables()).collect(),
            Self::Flipped { value, .. } | Self::Sentinel { value, .. } => value.variables(),
        }
    }

    fn write(&self, vars: &dyn Fn(&Variable) -> Option<Value>, out: &mut String) -> Result<(), RenderError> {
        match self {
            Self::Literal(value) => out.push_str(&value.to_string()),
            Self::Raw(text) => out.push_str(text),
            Self::Variable(variable) => {
                let value = vars(variable).ok_or_else(|| RenderError::Unbound(variable.clone()))?;
                out.push_str(&value.to_string());
            }
            Self::Array(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    item.write(vars, out)?;
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (at, (name, member)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    out.push_str(&Value::String(name.clone()).to_string());
                    out.push(':');
                    member.write(vars, out)?;
                }
                out.push('}');
            }
            Self::Flipped { .. } | Self::Sentinel { .. } => out.push_str(&self.to_value(vars)?.to_string()),
        }
        Ok(())
    }
}

/// The text with one bit of what it encodes changed; what is no text stays as it is.
pub fn flipped_value(value: Value, at: u64) -> Value {
    match value {
        Value::String(text) => flipped(&text, at).into(),
        other => other,
    }
}

/// A header value in its Base64 form: strings as they are, everything else as JSON text.
pub fn sentinel(mark: &str, value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    format!("=?{mark}?{}?=", BASE64_STANDARD.encode(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ast::Span;

    fn variable(name: &str, pointer: &str) -> Variable {
        Variable { name: name.to_owned(), pointer: pointer.to_owned(), span: Span::default() }
    }

    fn template() -> Template {
        Template::Object(vec![
            ("id".to_owned(), Template::Raw("9007199254740993.0e0".to_owned())),
            (
                "list".to_owned(),
                Template::Array(vec![Template::Literal(json!("a\"b")), Template::Variable(variable("x", "/y"))]),
            ),
        ])
    }

    #[test]
    fn raw_literals_go_out_as_they_stand() {
        let vars = |_: &Variable| Some(json!([1]));
        assert_eq!(template().render(&vars).as_deref(), Ok(r#"{"id":9007199254740993.0e0,"list":["a\"b",[1]]}"#));
    }

    #[test]
    fn a_sentinel_holds_the_value_in_base64() {
        let value = Box::new(Template::Variable(variable("x", "")));
        let sentinel = Template::Sentinel { mark: "base64".to_owned(), value };
        assert_eq!(sentinel.to_value(&|_| Some(json!("Hello"))), Ok(json!("=?base64?SGVsbG8=?=")));
        assert_eq!(sentinel.variables().len(), 1);
    }

    #[test]
    fn a_variable_without_a_value_is_named() {
        assert_eq!(template().render(&|_| None), Err(RenderError::Unbound(variable("x", "/y"))));
        assert_eq!(RenderError::Unbound(variable("x", "/y")).to_string(), "$x/y has no value");
    }

    #[test]
    fn a_literal_that_no_parser_keeps_is_no_value() {
        assert!(matches!(Template::Raw("1e400".to_owned()).to_value(&|_| None), Err(RenderError::Raw(_))));
    }
}
