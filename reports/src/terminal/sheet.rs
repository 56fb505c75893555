//! The page that the terminal report is written on: styled or plain, and nothing unescaped gets onto it.

use anstyle::{AnsiColor, Style};

use crate::model::Verdict;
use crate::text;

pub(super) const PLAIN: Style = Style::new();
pub(super) const BOLD: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();
pub(super) const CARET: Style = AnsiColor::Red.on_default().bold();
pub(super) const LINK: Style = AnsiColor::Blue.on_default().underline();

/// The columns that a label such as `received` takes.
const LABEL: usize = 10;

pub(super) fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Fail => AnsiColor::Red.on_default().bold(),
        Verdict::HarnessError => AnsiColor::Red.on_default().bold().invert(),
        Verdict::Warn => AnsiColor::Yellow.on_default().bold(),
        Verdict::Contested => AnsiColor::Magenta.on_default(),
        Verdict::Advice => AnsiColor::Cyan.on_default(),
        Verdict::NotVerified => AnsiColor::Blue.on_default(),
        Verdict::NotApplicable => DIM,
        Verdict::Pass => AnsiColor::Green.on_default(),
    }
}

/// Lines of text, some of it styled.
pub(super) struct Sheet {
    out: String,
    width: usize,
    styled: bool,
}

impl Sheet {
    pub(super) fn new(width: usize, styled: bool) -> Self {
        // Below this, labels and carets have no room; beyond, lines are no longer read.
        Self { out: String::new(), width: width.clamp(40, 240), styled }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The columns beside the labels.
    pub(super) fn room(&self) -> usize {
        self.width - LABEL - 2
    }

    pub(super) fn into_string(self) -> String {
        self.out
    }

    /// Appends a text, escaped.
    pub(super) fn put(&mut self, style: Style, text: &str) -> &mut Self {
        let mut text = text::clean(text);
        if text.is_empty() {
            return self;
        }
        // In the log of a GitHub step, a line that begins so is a command.
        let begins = self.out.rsplit('\n').next().unwrap_or_default().chars().all(|c| c == ' ');
        if begins && text.trim_start().starts_with("::") {
            text = text.replacen("::", "\\x3A:", 1);
        }
        if self.styled && style != PLAIN {
            self.out.push_str(&format!("{style}{text}{style:#}"));
        } else {
            self.out.push_str(&text);
        }
        self
    }

    /// Ends the line. No line has spaces at its end.
    pub(super) fn end(&mut self) -> &mut Self {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.out.push('\n');
        self
    }

    /// An empty line, never two.
    pub(super) fn gap(&mut self) -> &mut Self {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
        self
    }

    pub(super) fn indent(&mut self, columns: usize) -> &mut Self {
        self.out.push_str(&" ".repeat(columns));
        self
    }

    /// A text over as many lines as it needs, each indented.
    pub(super) fn paragraph(&mut self, indent: usize, style: Style, text: &str) -> &mut Self {
        for line in text::wrap(&text::clean(text), self.width.saturating_sub(indent)) {
            self.indent(indent).put(style, &line).end();
        }
        self
    }

    /// Pieces side by side with `gap` between them; a piece that does not fit goes to the next line.
    pub(super) fn flow(&mut self, indent: usize, gap: &str, pieces: &[(Style, String)]) -> &mut Self {
        let room = self.width.saturating_sub(indent);
        let mut used = 0;
        self.indent(indent);
        for (style, piece) in pieces {
            for (index, line) in text::wrap(&text::clean(piece), room).iter().enumerate() {
                let need = text::width(line);
                if index > 0 || (used > 0 && used + gap.len() + need > room) {
                    self.end().indent(indent);
                    used = 0;
                }
                if used > 0 {
                    self.put(PLAIN, gap);
                    used += gap.len();
                }
                self.put(*style, line);
                used += need;
            }
        }
        self.end()
    }

    /// A label and a text beside it, wrapped under itself.
    pub(super) fn field(&mut self, label: &str, style: Style, text: &str) -> &mut Self {
        let lines = text::wrap(&text::clean(text), self.room());
        for (index, line) in lines.iter().enumerate() {
            self.label(if index == 0 { label } else { "" }).put(style, line).end();
        }
        self
    }

    /// A label and a text that must stay on one line: a link or a command to be copied.
    pub(super) fn verbatim(&mut self, label: &str, style: Style, text: &str) -> &mut Self {
        self.label(label).put(style, text).end()
    }

    /// The start of a line with a label; the rest of the line is the caller's.
    pub(super) fn label(&mut self, label: &str) -> &mut Self {
        let columns = LABEL.saturating_sub(text::width(label));
        self.indent(2).put(DIM, label).indent(columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_begins_a_command_of_a_log() {
        let mut sheet = Sheet::new(40, false);
        sheet.paragraph(4, PLAIN, &format!("{} ::set-output name=x::y", "x".repeat(34)));
        sheet.put(PLAIN, "a ").put(PLAIN, "::stays").end();
        let page = sheet.into_string();
        assert!(page.contains("\n    \\x3A:set-output name=x::y\n") && page.contains("a ::stays"), "{page}");
    }
}
