//! The one change of a probe.

use super::{
    lower::Lower,
    node::{Key, Kind, Node},
    shape,
};
use crate::ast::Change;

impl Lower<'_> {
    pub(crate) fn change(&mut self, node: &Node) -> Option<Change> {
        let fields = self.fields(node, &shape::CHANGE)?;
        let Kind::Map(entries) = &node.kind else {
            self.report(node.span, "the change is missing");
            return None;
        };
        let [(key, value)] = entries.as_slice() else {
            self.report(node.span, "a probe makes exactly one change")
                .help("one fault by construction: write a probe for each change");
            return None;
        };
        // An unknown key was reported when the mapping was held against its shape.
        let _ = fields;
        Some(match key.name.as_str() {
            "capabilities" => {
                self.only_modern("a declaration of one request alone", key.span);
                Change::Capabilities(self.bare_template(value)?)
            }
            "header" => {
                let (name, header) = self.single(value, "header")?;
                let (name, header) = self.header(name, header)?;
                Change::Header { name, value: header.map(|value| value.node) }
            }
            "remove" => Change::Remove { pointer: self.member_pointer(value)? },
            "set" => {
                let (pointer, value) = self.single(value, "pointer")?;
                let pointer = Node { kind: Kind::String(pointer.name.clone()), span: pointer.span };
                Change::Set { pointer: self.member_pointer(&pointer)?, value: self.bare_template(value)? }
            }
            "version" => Change::Version(self.bare_template(value)?),
            _ => return None,
        })
    }

    /// A mapping with exactly one entry.
    fn single<'a>(&mut self, node: &'a Node, what: &str) -> Option<(&'a Key, &'a Node)> {
        let entries = self.map(node, &format!("a mapping with one {what}"))?;
        let [(key, value)] = entries else {
            self.report(node.span, format!("exactly one {what} is changed, found {}", entries.len()))
                .help("one fault by construction: write a probe for each change");
            return None;
        };
        Some((key, value))
    }

    /// A pointer to a member of the message, not to the whole of it.
    fn member_pointer(&mut self, node: &Node) -> Option<String> {
        let pointer = self.pointer(node)?;
        if pointer.node.is_empty() {
            self.report(node.span, "the pointer names the whole message").help("name a member, such as /params/_meta");
            return None;
        }
        Some(pointer.node)
    }
}
