//! What all lowering shares.
//!
//! [`Lower`] carries the script, what the case is for, the names that are bound, and the faults found so far. Its methods
//! turn single nodes into words, numbers, durations and names.

use std::time::Duration;

use mcp_conform_schemas::Revision;

use super::{
    fields::{list, shown},
    node::{Key, Kind, Node},
    scope::{Binding, Scope},
};
use crate::{
    ast::{ByRevision, ConversationRef, Source, Span, Spanned, Transport},
    diagnostic::Diagnostic,
    nearest::nearest,
};

pub(crate) struct Lower<'s> {
    pub(crate) source: &'s Source,
    pub(crate) faults: Vec<Diagnostic>,
    pub(crate) revisions: Vec<Revision>,
    pub(crate) transports: Vec<Transport>,
    pub(crate) scope: Scope,
}

/// A fault that was just reported and can still be told more of.
pub(crate) struct Reported<'a>(&'a mut Diagnostic);

impl Reported<'_> {
    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    pub(crate) fn note(self, message: impl Into<String>, span: Span) -> Self {
        self.0.note = Some(crate::diagnostic::Note { message: message.into(), span, source: self.0.source.clone() });
        self
    }
}

impl Lower<'_> {
    pub(crate) fn report(&mut self, span: Span, message: impl Into<String>) -> Reported<'_> {
        let at = self.faults.len();
        self.faults.push(Diagnostic::error(self.source, span, message));
        Reported(&mut self.faults[at])
    }

    pub(crate) fn wrong_type(&mut self, node: &Node, wanted: &str) {
        self.report(node.span, format!("expected {wanted}, found {}", node.what()));
    }

    pub(crate) fn text(&mut self, node: &Node) -> Option<Spanned<String>> {
        match &node.kind {
            Kind::String(text) => Some(Spanned { node: text.clone(), span: node.span }),
            _ => {
                self.wrong_type(node, "a string");
                None
            }
        }
    }

    /// A string that says something to a reader.
    pub(crate) fn sentence(&mut self, node: &Node) -> Option<String> {
        let text = self.text(node)?;
        if text.trim().is_empty() {
            self.report(node.span, "this text is empty");
            return None;
        }
        Some(text.node)
    }

    pub(crate) fn boolean(&mut self, node: &Node) -> Option<bool> {
        match node.kind {
            Kind::Bool(value) => Some(value),
            _ => {
                self.wrong_type(node, "true or false");
                None
            }
        }
    }

    pub(crate) fn integer(&mut self, node: &Node) -> Option<i64> {
        let value = match &node.kind {
            Kind::Number(number) => number.as_i64(),
            _ => None,
        };
        if value.is_none() {
            self.wrong_type(node, "an integer");
        }
        value
    }

    pub(crate) fn list<'a>(&mut self, node: &'a Node, wanted: &str) -> Option<&'a [Node]> {
        match &node.kind {
            Kind::List(items) => Some(items),
            _ => {
                self.wrong_type(node, wanted);
                None
            }
        }
    }

    pub(crate) fn map<'a>(&mut self, node: &'a Node, wanted: &str) -> Option<&'a [(Key, Node)]> {
        match &node.kind {
            Kind::Map(entries) => Some(entries),
            _ => {
                self.wrong_type(node, wanted);
                None
            }
        }
    }

    /// One value, or a list of them.
    pub(crate) fn one_or_many<'a>(&self, node: &'a Node) -> &'a [Node] {
        match &node.kind {
            Kind::List(items) => items,
            _ => std::slice::from_ref(node),
        }
    }

    /// One of a few words, as the position in their list.
    pub(crate) fn word(&mut self, node: &Node, words: &[&'static str], what: &str) -> Option<&'static str> {
        let text = match &node.kind {
            Kind::String(text) => text.as_str(),
            // In YAML the bare word null is a value of its own.
            Kind::Null if words.contains(&"null") => "null",
            _ => {
                self.wrong_type(node, &format!("{what}: {}", list(words)));
                return None;
            }
        };
        if let Some(word) = words.iter().find(|word| **word == text) {
            return Some(word);
        }
        let help = match nearest(text, words.iter().copied()).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None if words.len() == 1 => format!("write {}", list(words)),
            None => format!("it is one of {}", list(words)),
        };
        self.report(node.span, format!("`{}` is no {what}", shown(text))).help(help);
        None
    }

    pub(crate) fn duration(&mut self, node: &Node) -> Option<Duration> {
        let parsed = match &node.kind {
            Kind::String(text) => parse_duration(text),
            _ => None,
        };
        if parsed.is_none() {
            self.report(node.span, "this is no duration")
                .help("write a whole number with its unit, such as 200ms, 2s or 1m; ten minutes are the most");
        }
        parsed
    }

    pub(crate) fn pointer(&mut self, node: &Node) -> Option<Spanned<String>> {
        let text = self.text(node)?;
        self.check_pointer(&text.node, text.span).then_some(text)
    }

    pub(crate) fn check_pointer(&mut self, pointer: &str, span: Span) -> bool {
        let escapes = pointer.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
        let sound = (pointer.is_empty() || pointer.starts_with('/')) && escapes;
        if !sound {
            self.report(span, format!("`{}` is no JSON Pointer", shown(pointer))).help(
                "a pointer begins with a slash, as in /params/name; a slash inside a name is written ~1, a tilde ~0",
            );
        }
        sound
    }

    /// Pointers into a message, or `headers/NAME` for one of its HTTP headers.
    pub(crate) fn pointers(&mut self, node: &Node) -> Vec<String> {
        let items = self.list(node, "a list of pointers").unwrap_or_default();
        let one = |item: &Node| {
            let text = self.text(item)?;
            let header = text.node.strip_prefix("headers/").is_some_and(|name| !name.is_empty());
            (header || self.check_pointer(&text.node, text.span)).then_some(text.node)
        };
        items.iter().filter_map(one).collect()
    }

    pub(crate) fn revision(&mut self, text: &str, span: Span) -> Option<Revision> {
        if let Some(revision) = Revision::JUDGED.into_iter().find(|revision| revision.as_str() == text) {
            return Some(revision);
        }
        let known: Vec<&str> = Revision::JUDGED.iter().map(|revision| revision.as_str()).collect();
        let older = text.parse::<Revision>().is_ok();
        let help = if older {
            format!(
                "older revisions are judged by the rows of 2025-11-25 that were in force; a script names {}",
                list(&known)
            )
        } else {
            format!("a script is for {}", list(&known))
        };
        self.report(span, format!("`{}` is no revision that a script can be for", shown(text))).help(help);
        None
    }

    /// A value, or a mapping from revisions to values that covers every revision of the case. Where `skip` is allowed, null
    /// says that there is none in that revision.
    pub(crate) fn by_revision<T>(
        &mut self,
        node: &Node,
        skip: bool,
        mut lower: impl FnMut(&mut Self, &Node) -> Option<T>,
    ) -> Option<ByRevision<T>> {
        let Kind::Map(entries) = &node.kind else {
            return lower(self, node).map(ByRevision::Same);
        };
        let mut each = Vec::new();
        let mut sound = true;
        let mut named = Vec::new();
        for (key, value) in entries {
            let Some(revision) = self.revision(&key.name, key.span) else {
                sound = false;
                continue;
            };
            named.push(revision);
            if !self.revisions.contains(&revision) {
                sound = false;
                self.report(key.span, format!("the case is not for {revision}"))
                    .help("leave the line out, or add the revision to `revisions`");
            } else if skip && matches!(value.kind, Kind::Null) {
                continue;
            } else {
                match lower(self, value) {
                    Some(value) => each.push((revision, value)),
                    None => sound = false,
                }
            }
        }
        let missing: Vec<&str> = self
            .revisions
            .iter()
            .filter(|revision| !named.contains(revision))
            .map(|revision| revision.as_str())
            .collect();
        if !missing.is_empty() {
            sound = false;
            let help = if skip {
                format!("add {}; null says that nothing is judged there", list(&missing))
            } else {
                format!("add {}", list(&missing))
            };
            self.report(node.span, format!("nothing is said for {}, which the case lists", list(&missing))).help(help);
        }
        if sound && each.is_empty() {
            self.report(node.span, "nothing is left in any revision");
            return None;
        }
        sound.then_some(ByRevision::Each(each))
    }

    /// Binds the name behind `as`.
    pub(crate) fn new_name(&mut self, node: &Node, binding: Binding) -> Option<Spanned<String>> {
        let name = self.text(node)?;
        let sound = is_name(&name.node) && !["absent", "any"].contains(&name.as_str());
        if !sound {
            self.report(node.span, format!("`{}` is no name", shown(&name.node)))
                .help("a name is made of letters, digits, hyphens and underscores, and begins with a letter; `any` and `absent` are taken");
            return None;
        }
        if let Some(taken) = self.scope.find(&name.node) {
            let (what, before) = (taken.binding.what(), taken.span);
            let reported = self.report(node.span, format!("the name `{}` is taken by {what}", name.node));
            let reported = reported.help("choose another name: one name stands for one thing in a case");
            if before != Span::default() {
                reported.note("bound here", before);
            }
            return Some(name);
        }
        self.scope.bind(&name.node, binding, name.span);
        Some(name)
    }

    /// A name that was bound before, for something that `fits`.
    pub(crate) fn bound(
        &mut self,
        node: &Node,
        wanted: &str,
        fits: impl Fn(Binding) -> bool,
    ) -> Option<Spanned<String>> {
        let mut name = self.text(node)?;
        // A handle is also a variable, so that its name with the sign in front is easily written here.
        if let Some(bare) = name.node.strip_prefix('$') {
            let bare = bare.to_owned();
            self.report(node.span, format!("{wanted} is named without the `$`"))
                .help(format!("write `{}`", shown(&bare)));
            name.node = bare;
            return None;
        }
        match self.scope.find(&name.node) {
            Some(bound) if fits(bound.binding) => Some(name),
            Some(bound) => {
                let (what, before) = (bound.binding.what(), bound.span);
                let reported = self.report(node.span, format!("`{}` is {what}, not {wanted}", name.node));
                if before != Span::default() {
                    reported.note("bound here", before);
                }
                None
            }
            None => {
                let known: Vec<String> = self.scope.names(&fits).map(str::to_owned).collect();
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                let help = match nearest(&name.node, known.iter().copied()).first() {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if known.is_empty() => format!("no step above makes {wanted}; `as` gives it a name"),
                    None => format!("known here: {}", list(&known)),
                };
                self.report(
                    node.span,
                    format!("there is no {} `{}`", wanted.trim_start_matches("a "), shown(&name.node)),
                )
                .help(help);
                None
            }
        }
    }

    pub(crate) fn request_handle(&mut self, node: &Node) -> Option<Spanned<String>> {
        self.bound(node, "a request", |binding| binding == Binding::Request)
    }

    /// The conversation behind `on`. The outer nothing is a fault.
    pub(crate) fn conversation(&mut self, node: Option<&Node>) -> Option<ConversationRef> {
        match node {
            None => Some(None),
            Some(node) => self.bound(node, "a conversation", |binding| binding == Binding::Conversation).map(Some),
        }
    }

    /// A step that exists over one transport only.
    pub(crate) fn only_over(&mut self, transport: Transport, step: &str, span: Span) {
        if self.transports.iter().any(|listed| *listed != transport) {
            let name = match transport {
                Transport::Http => "http",
                Transport::Stdio => "stdio",
            };
            self.report(span, format!("the step `{step}` exists over {name} only"))
                .help(format!("write `transports: [{name}]`"));
        }
    }
}

pub(crate) fn is_name(text: &str) -> bool {
    text.len() <= 64
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let millis = match unit.trim_start() {
        "ms" => number,
        "s" => number.checked_mul(1000)?,
        "m" => number.checked_mul(60_000)?,
        _ => return None,
    };
    (millis <= 600_000).then(|| Duration::from_millis(millis))
}
