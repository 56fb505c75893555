//! Mappings with a fixed set of keys.
//!
//! [`Fields`] is a mapping that was held against its [`Shape`]: unknown and missing keys are already reported.

use super::{
    lower::Lower,
    node::{Key, Kind, Node},
    shape::Shape,
};
use crate::{ast::Span, nearest::nearest};

#[derive(Clone, Copy)]
pub(crate) struct Fields<'a> {
    shape: &'static Shape,
    entries: &'a [(Key, Node)],
    pub(crate) span: Span,
    /// Nothing that must be there is missing.
    pub(crate) whole: bool,
}

impl<'a> Fields<'a> {
    pub(crate) fn value(&self, name: &str) -> Option<&'a Node> {
        self.entry(name).map(|(_, value)| value)
    }

    pub(crate) fn entry(&self, name: &str) -> Option<(&'a Key, &'a Node)> {
        debug_assert!(self.knows(name), "{name} is not in the table of {}", self.shape.name);
        self.entries.iter().find(|(key, _)| key.name == name).map(|(key, value)| (key, value))
    }

    /// Whether the shape has such a key at all.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.shape.keys.iter().any(|key| key.name == name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// The keys of `names` that are there.
    pub(crate) fn given(&self, names: &[&str]) -> Vec<&'a Key> {
        self.entries.iter().map(|(key, _)| key).filter(|key| names.contains(&key.name.as_str())).collect()
    }
}

impl Lower<'_> {
    /// The mapping, checked against its shape; nothing when it is no mapping. An empty value counts as an empty mapping.
    pub(crate) fn fields<'a>(&mut self, node: &'a Node, shape: &'static Shape) -> Option<Fields<'a>> {
        let entries: &[(Key, Node)] = match &node.kind {
            Kind::Map(entries) => entries,
            Kind::Null => &[],
            _ => {
                let known: Vec<&str> = shape.keys.iter().map(|key| key.name).collect();
                self.report(node.span, format!("{} is a mapping, found {}", shape.name, node.what()))
                    .help(format!("its keys are {}", list(&known)));
                return None;
            }
        };
        for (key, _) in entries {
            if !shape.keys.iter().any(|known| known.name == key.name) {
                let known: Vec<&str> = shape.keys.iter().map(|known| known.name).collect();
                let help = match nearest(&key.name, known.iter().copied()).first() {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("its keys are {}", list(&known)),
                };
                self.report(key.span, format!("{} has no key `{}`", shape.name, shown(&key.name))).help(help);
            }
        }
        let mut whole = true;
        for key in shape.keys.iter().filter(|key| key.required) {
            if !entries.iter().any(|(found, _)| found.name == key.name) {
                whole = false;
                self.report(node.span, format!("{} lacks the key `{}`", shape.name, key.name))
                    .help(format!("`{}`: {}", key.name, key.doc));
            }
        }
        Some(Fields { shape, entries, span: node.span, whole })
    }
}

/// `a`, `b` and `c`.
pub(crate) fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => "none".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// A name of the author's, cut so that a hostile one cannot flood a message.
pub(crate) fn shown(name: &str) -> String {
    const LONGEST: usize = 80;
    if name.chars().count() <= LONGEST {
        return name.to_owned();
    }
    name.chars().take(LONGEST).chain(std::iter::once('…')).collect()
}
