//! Patterns over one JSON value.

use super::{
    fields::{list, shown},
    lower::Lower,
    node::{Key, Kind, Node},
    shape::{JSON_TYPES, OPERATORS},
};
use crate::{
    ast::{JsonType, Matcher},
    matching,
    nearest::nearest,
};

impl Lower<'_> {
    pub(crate) fn matcher(&mut self, node: &Node) -> Option<Matcher> {
        Some(match &node.kind {
            Kind::Null => Matcher::Literal(serde_json::Value::Null),
            Kind::Bool(value) => Matcher::Literal((*value).into()),
            Kind::Number(number) => Matcher::Literal(serde_json::Value::Number(number.clone())),
            Kind::String(text) => match text.strip_prefix('$') {
                None => Matcher::Literal(text.clone().into()),
                Some(escaped) if escaped.starts_with('$') => Matcher::Literal(escaped.into()),
                Some("absent") => Matcher::Absent,
                Some("any") => Matcher::Any,
                Some(reference) => Matcher::Variable(self.variable(reference, node.span)?),
            },
            Kind::List(items) => Matcher::Array(self.matchers(items)?),
            Kind::Map(entries) if entries.iter().any(|(key, _)| is_operator(key)) => self.operator(node, entries)?,
            Kind::Map(entries) => {
                let lowered: Vec<_> = entries
                    .iter()
                    .map(|(key, value)| {
                        // `$$ref` is the member `$ref`.
                        let name = key.name.strip_prefix('$').unwrap_or(&key.name).to_owned();
                        self.matcher(value).map(|matcher| (name, matcher))
                    })
                    .collect();
                Matcher::Object(lowered.into_iter().collect::<Option<_>>()?)
            }
        })
    }

    pub(crate) fn named_matchers(&mut self, node: &Node) -> Option<Vec<(String, Matcher)>> {
        let entries = self.map(node, "a mapping from names to patterns")?;
        let lowered: Vec<_> =
            entries.iter().map(|(key, value)| self.matcher(value).map(|matcher| (key.name.clone(), matcher))).collect();
        lowered.into_iter().collect()
    }

    fn matchers(&mut self, nodes: &[Node]) -> Option<Vec<Matcher>> {
        let lowered: Vec<_> = nodes.iter().map(|node| self.matcher(node)).collect();
        lowered.into_iter().collect()
    }

    fn operator(&mut self, node: &Node, entries: &[(Key, Node)]) -> Option<Matcher> {
        if let Some((key, _)) = entries.iter().find(|(key, _)| !OPERATORS.contains(&key.name.as_str())) {
            let help = match nearest(&key.name, OPERATORS.iter().copied()).first() {
                Some(near) if is_operator(key) => format!("did you mean `{near}`?"),
                _ if is_operator(key) => {
                    format!("operators are {}; write $$ for a member whose name begins with the sign", list(OPERATORS))
                }
                _ => "an operator stands alone in its mapping".to_owned(),
            };
            self.report(key.span, format!("`{}` is no operator of a pattern", shown(&key.name))).help(help);
            return None;
        }
        let bounds = entries.iter().all(|(key, _)| ["$min", "$max"].contains(&key.name.as_str()));
        if let ([_, (second, _), ..], false) = (entries, bounds) {
            self.report(second.span, "an operator stands alone in its mapping")
                .help("only `$min` and `$max` go together");
            return None;
        }
        if bounds {
            let mut range = (None, None);
            for (key, value) in entries {
                let Kind::Number(number) = &value.kind else {
                    self.wrong_type(value, "a number");
                    return None;
                };
                if key.name == "$min" { range.0 = number.as_f64() } else { range.1 = number.as_f64() }
            }
            return Some(Matcher::Range { min: range.0, max: range.1 });
        }
        let (key, value) = entries.first()?;
        Some(match key.name.as_str() {
            "$contains" => Matcher::Contains(Box::new(self.matcher(value)?)),
            "$each" => Matcher::Each(Box::new(self.matcher(value)?)),
            "$not" => Matcher::Not(Box::new(self.matcher(value)?)),
            "$one_of" => {
                let items = self.list(value, "a list of patterns")?;
                Matcher::OneOf(self.matchers(items)?)
            }
            "$matches" => {
                let pattern = self.text(value)?;
                if let Err(error) = matching::compile(&pattern.node) {
                    self.report(value.span, format!("the regular expression cannot be used: {error}"));
                    return None;
                }
                Matcher::Matches(pattern.node)
            }
            "$type" => Matcher::Type(match self.word(value, JSON_TYPES, "JSON type")? {
                "array" => JsonType::Array,
                "boolean" => JsonType::Boolean,
                "integer" => JsonType::Integer,
                "null" => JsonType::Null,
                "number" => JsonType::Number,
                "object" => JsonType::Object,
                _ => JsonType::String,
            }),
            _ => {
                self.wrong_type(node, "a pattern");
                return None;
            }
        })
    }
}

fn is_operator(key: &Key) -> bool {
    key.name.starts_with('$') && !key.name.starts_with("$$")
}
