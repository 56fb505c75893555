//! Names in the order of the steps.
//!
//! [`Scope`] knows what is bound where a step stands: conversations, requests, messages of the server, tools, values. A loop
//! opens a scope of its own; the branches of `parallel` do not see each other.

use crate::ast::Span;

#[derive(Clone, Debug)]
pub(crate) struct Scope {
    names: Vec<Bound>,
}

#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub(crate) name: String,
    pub(crate) binding: Binding,
    pub(crate) span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    Conversation,
    /// A request of the server.
    Message,
    /// A value that just breaks a schema.
    NearMiss,
    /// A request of ours.
    Request,
    Tool,
    Value,
}

impl Binding {
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Conversation => "a conversation",
            Self::Message => "a message of the server",
            Self::NearMiss => "a near miss",
            Self::Request => "a request",
            Self::Tool => "a tool",
            Self::Value => "a value",
        }
    }

    /// The members that a pointer into it can begin with; empty when they are not known beforehand.
    pub(crate) fn members(self) -> &'static [&'static str] {
        match self {
            Self::Request => &["body", "error", "events", "headers", "id", "messages", "result", "status"],
            Self::Message => &["id", "method", "params"],
            Self::NearMiss => &["pointer", "value", "what"],
            Self::Conversation | Self::Tool | Self::Value => &[],
        }
    }
}

impl Scope {
    pub(crate) fn new() -> Self {
        let main = Bound { name: "main".to_owned(), binding: Binding::Conversation, span: Span::default() };
        Self { names: vec![main] }
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Bound> {
        self.names.iter().rev().find(|bound| bound.name == name)
    }

    pub(crate) fn bind(&mut self, name: &str, binding: Binding, span: Span) {
        self.names.push(Bound { name: name.to_owned(), binding, span });
    }

    /// The names that fit, for "did you mean".
    pub(crate) fn names(&self, fits: impl Fn(Binding) -> bool) -> impl Iterator<Item = &str> {
        self.names.iter().filter(move |bound| fits(bound.binding)).map(|bound| bound.name.as_str())
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// Forgets what was bound after the scope had this length, and hands it out.
    pub(crate) fn close(&mut self, len: usize) -> Vec<Bound> {
        self.names.split_off(len.min(self.names.len()))
    }

    pub(crate) fn reopen(&mut self, names: Vec<Bound>) {
        self.names.extend(names);
    }
}
