//! What is wrong with a script, and how to show it.
//!
//! [`Diagnostic`] is plain data: the parser makes it, [`Diagnostic::render`] draws it the way rustc does, and other outputs
//! take its fields.

use std::fmt;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::ast::{Source, Span};

/// One fault of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// What is wrong, as a lower-case fragment.
    pub message: String,
    pub span: Span,
    /// The way out.
    pub help: Option<String>,
    /// A second place that explains the first.
    pub note: Option<Note>,
    pub source: Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
}

/// Another place, in the same file or in another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    pub message: String,
    pub span: Span,
    pub source: Source,
}

impl Diagnostic {
    pub(crate) fn error(source: &Source, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
            span,
            help: None,
            note: None,
            source: source.clone(),
        }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn note(mut self, message: impl Into<String>, span: Span, source: &Source) -> Self {
        self.note = Some(Note { message: message.into(), span, source: source.clone() });
        self
    }

    /// Line and column of the fault, both from 1; columns count characters.
    pub fn position(&self) -> (usize, usize) {
        position(&self.source.text, self.span.start)
    }

    /// The fault with its line and a caret, in colour or plain.
    pub fn render(&self, coloured: bool) -> String {
        let renderer = if coloured { Renderer::styled() } else { Renderer::plain() };
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let here = AnnotationKind::Primary.span(range(&self.source.text, self.span));
        let mut snippet = Snippet::source(&*self.source.text).path(&*self.source.name).annotation(here);
        let elsewhere = self.note.as_ref().filter(|note| note.source.name != self.source.name);
        if let Some(note) = self.note.as_ref().filter(|note| note.source.name == self.source.name) {
            snippet = snippet.annotation(
                AnnotationKind::Context.span(range(&note.source.text, note.span)).label(note.message.as_str()),
            );
        }
        let mut group = level.primary_title(self.message.as_str()).element(snippet);
        if let Some(help) = self.help.as_deref().filter(|_| elsewhere.is_none()) {
            group = group.element(Level::HELP.message(help));
        }
        let mut groups = vec![group];
        if let Some(note) = elsewhere {
            groups.push(
                Group::with_title(Level::NOTE.secondary_title(note.message.as_str())).element(
                    Snippet::source(&*note.source.text)
                        .path(&*note.source.name)
                        .annotation(AnnotationKind::Primary.span(range(&note.source.text, note.span))),
                ),
            );
            if let Some(help) = &self.help {
                groups.push(Group::with_title(Level::HELP.secondary_title(help.as_str())));
            }
        }
        renderer.render(&groups).to_string()
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.position();
        write!(f, "{}:{line}:{column}: {}", self.source.name, self.message)
    }
}

/// Line and column of a byte offset, both from 1.
pub(crate) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..floor(text, offset)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// The span cut to the text and to whole characters, so that no span can make the renderer stumble.
fn range(text: &str, span: Span) -> std::ops::Range<usize> {
    let start = floor(text, span.start);
    let end = floor(text, span.end).max(start);
    start..end
}

fn floor(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
