//! Values with holes: templates, variables, headers, bytes.

use serde_json::{Map, Value};

use super::{
    fields::{list, shown},
    lower::{Lower, is_name},
    node::{Key, Kind, Node},
    scope::Binding,
};
use crate::{
    ast::{Span, Spanned, Template, Variable},
    nearest::nearest,
};

/// Headers by name; nothing leaves one out.
pub(crate) type Headers = Vec<(String, Option<Spanned<Template>>)>;

impl Lower<'_> {
    pub(crate) fn template(&mut self, node: &Node) -> Option<Spanned<Template>> {
        Some(Spanned { node: self.bare_template(node)?, span: node.span })
    }

    pub(crate) fn bare_template(&mut self, node: &Node) -> Option<Template> {
        Some(match &node.kind {
            Kind::Null => Template::Literal(Value::Null),
            Kind::Bool(value) => Template::Literal((*value).into()),
            Kind::Number(number) => Template::Literal(Value::Number(number.clone())),
            Kind::String(text) => match text.strip_prefix('$') {
                None => Template::Literal(text.clone().into()),
                Some(escaped) if escaped.starts_with('$') => Template::Literal(escaped.into()),
                Some(reference) => Template::Variable(self.variable(reference, node.span)?),
            },
            Kind::List(items) => {
                let parts: Vec<Option<Template>> = items.iter().map(|item| self.bare_template(item)).collect();
                array(parts.into_iter().collect::<Option<_>>()?)
            }
            Kind::Map(entries) => match entries.as_slice() {
                [(key, Node { kind: Kind::String(raw), span })] if key.name == "json" => self.raw(raw, *span)?,
                [(flip, inner @ Node { kind: Kind::String(text), .. }), (at, Node { kind: Kind::Number(bit), .. })]
                    if flip.name == "flip" && at.name == "at" && text.starts_with('$') && bit.is_u64() =>
                {
                    let value = Box::new(self.bare_template(inner)?);
                    Template::Flipped { value, at: bit.as_u64().unwrap_or_default() }
                }
                entries => {
                    let parts: Vec<Option<(String, Template)>> = entries
                        .iter()
                        .map(|(key, value)| self.bare_template(value).map(|value| (key.name.clone(), value)))
                        .collect();
                    object(parts.into_iter().collect::<Option<_>>()?)
                }
            },
        })
    }

    pub(crate) fn templates(&mut self, node: &Node, wanted: &str) -> Option<Vec<Spanned<Template>>> {
        let items = self.list(node, wanted)?;
        let lowered: Vec<Option<Spanned<Template>>> = items.iter().map(|item| self.template(item)).collect();
        lowered.into_iter().collect()
    }

    /// Text that goes out as it stands. It has to be JSON all the same, or it would break the message around it.
    fn raw(&mut self, raw: &str, span: Span) -> Option<Template> {
        match serde_json::from_str::<&serde_json::value::RawValue>(raw) {
            Ok(_) => Some(Template::Raw(raw.to_owned())),
            Err(error) => {
                self.report(span, format!("the raw literal is no JSON: {error}"))
                    .help("malformed bytes go out by the steps `raw` and `http_raw`");
                None
            }
        }
    }

    /// `name` or `name/json/pointer`, without the sign.
    pub(crate) fn variable(&mut self, reference: &str, span: Span) -> Option<Variable> {
        let (name, pointer) = match reference.find('/') {
            Some(at) => reference.split_at(at),
            None => (reference, ""),
        };
        if !is_name(name) {
            self.report(span, format!("`${}` is no variable", shown(reference)))
                .help("a string that begins with a dollar sign is a variable; write $$ for the sign itself");
            return None;
        }
        if !self.check_pointer(pointer, span) {
            return None;
        }
        let is_value = |binding| binding != Binding::Conversation;
        match self.scope.find(name) {
            Some(bound) if is_value(bound.binding) => {
                let (what, members) = (bound.binding.what(), bound.binding.members());
                let member = pointer.split('/').nth(1).unwrap_or_default();
                if !members.is_empty() && !pointer.is_empty() && !members.contains(&member) {
                    self.report(span, format!("`{name}` is {what} and has no member `{}`", shown(member)))
                        .help(format!("it has {}", list(members)));
                    return None;
                }
            }
            Some(_) => {
                self.report(span, format!("`{name}` is a conversation and no value"));
                return None;
            }
            None => {
                let known: Vec<String> = self.scope.names(is_value).map(str::to_owned).collect();
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let help = match nearest(name, known.iter().copied()).first() {
                    Some(near) => format!("did you mean `${near}`?"),
                    None if known.is_empty() => {
                        "nothing is bound before this step; write $$ for a dollar sign".to_owned()
                    }
                    None => format!("known here: {}", list(&known)),
                };
                self.report(span, format!("nothing is bound to `${}` here", shown(name))).help(help);
                return None;
            }
        }
        Some(Variable { name: name.to_owned(), pointer: pointer.to_owned(), span })
    }

    pub(crate) fn headers(&mut self, node: &Node) -> Option<Headers> {
        let entries = self.map(node, "a mapping from header names to values")?;
        let lowered: Vec<_> = entries.iter().map(|(key, value)| self.header(key, value)).collect();
        lowered.into_iter().collect()
    }

    pub(crate) fn header(&mut self, key: &Key, value: &Node) -> Option<(String, Option<Spanned<Template>>)> {
        if !is_header_name(&key.name) {
            self.report(key.span, format!("`{}` is no header name", shown(&key.name)))
                .help("a malformed header goes out by the step `http_raw`");
            return None;
        }
        let value = match &value.kind {
            Kind::Null => None,
            Kind::String(_) => Some(self.template(value)?),
            Kind::Map(entries)
                if let [(mark, inner)] = entries.as_slice()
                    && mark.name.eq_ignore_ascii_case("base64") =>
            {
                let inner = Box::new(self.bare_template(inner)?);
                Some(Spanned { node: Template::Sentinel { mark: mark.name.clone(), value: inner }, span: value.span })
            }
            _ => {
                self.report(value.span, format!("expected a string, found {}", value.what()))
                    .help("quote the value; null leaves the header out");
                return None;
            }
        };
        Some((key.name.clone(), value))
    }

    /// A mapping of templates by name.
    pub(crate) fn named_templates(&mut self, node: &Node) -> Option<Vec<(String, Spanned<Template>)>> {
        let entries = self.map(node, "a mapping")?;
        let lowered: Vec<_> =
            entries.iter().map(|(key, value)| self.template(value).map(|value| (key.name.clone(), value))).collect();
        lowered.into_iter().collect()
    }
}

pub(crate) fn is_header_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 256
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// A list without a hole is a literal, whatever its depth.
fn array(parts: Vec<Template>) -> Template {
    match parts.iter().map(literal).collect::<Option<Vec<Value>>>() {
        Some(values) => Template::Literal(Value::Array(values)),
        None => Template::Array(parts),
    }
}

fn object(parts: Vec<(String, Template)>) -> Template {
    let values: Option<Map<String, Value>> =
        parts.iter().map(|(name, part)| literal(part).map(|value| (name.clone(), value))).collect();
    match values {
        Some(values) => Template::Literal(Value::Object(values)),
        None => Template::Object(parts),
    }
}

fn literal(template: &Template) -> Option<Value> {
    match template {
        Template::Literal(value) => Some(value.clone()),
        _ => None,
    }
}
