//! What went over the wire, with carets under what is at fault: [`layout`] turns an excerpt into rows.
//!
//! Long texts are cut around the caret. A line feed is shown as `↵` and ends the row, so that it can be told from a
//! row that is merely full; every other control character is escaped.

use crate::model::Excerpt;
use crate::text::{self, Escaper};

/// Rows of text, carets under them, and what is not shown.
pub(crate) struct Layout {
    pub(crate) rows: Vec<Row>,
    /// What lies outside, as a remark; empty when all is shown.
    pub(crate) rest: String,
}

#[derive(Default)]
pub(crate) struct Row {
    pub(crate) text: String,
    /// Spaces and carets, or empty.
    pub(crate) carets: String,
}

/// A cleaned text that keeps its lines: for pages that wrap by themselves.
pub(crate) fn unbroken(text: &str) -> String {
    let mut escaper = Escaper::default();
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => {
                out.push_str(LINE_FEED);
                out.push('\n');
            }
            '↵' => out.push_str("\\u{21B5}"),
            c => {
                escaper.push(c, &mut out);
            }
        }
    }
    out
}

/// The sign for a line feed.
const LINE_FEED: &str = "↵";

/// The part of `excerpt` around its caret in at most `max_rows` rows of `columns`.
pub(crate) fn layout(excerpt: &Excerpt, columns: usize, max_rows: usize) -> Layout {
    let (columns, max_rows) = (columns.max(16), max_rows.max(2));
    let total = excerpt.text.chars().count();
    if total == 0 {
        return Layout {
            rows: vec![Row { text: "(empty)".to_owned(), ..Row::default() }],
            rest: rest(0, 0, excerpt.cut),
        };
    }
    // An offset beyond the end points at the end; a length of nothing still points somewhere.
    let caret = excerpt.caret.map(|(start, length)| {
        let start = start.min(total);
        (start, start.saturating_add(length.max(1)))
    });
    let from = match caret {
        Some((start, _)) if total > columns => start.saturating_sub(columns + columns / 2),
        _ => 0,
    };
    let mut filled = Filled::new(columns);
    // Enough for every row to be full, whatever the width of its characters, with the caret's row among them.
    let to = from + columns * (max_rows + 3);
    let mut escaper = Escaper::default();
    let mut shown = Vec::new();
    for (index, c) in excerpt.text.chars().enumerate().skip(from).take(to - from) {
        let marked = caret.is_some_and(|(start, end)| (start..end).contains(&index));
        if c == '\n' {
            filled.sign(LINE_FEED, marked);
            shown.push(filled.rows.len());
            filled.next_row();
            continue;
        }
        let mut cell = String::new();
        let width =
            // The sign for a line feed must mean one.
            if c == '↵' { cell.push_str("\\u{21B5}"); cell.len() } else { escaper.push(c, &mut cell) };
        filled.cell(&cell, width, marked);
        shown.push(filled.rows.len());
    }
    if let Some((start, _)) = caret
        && start >= total
    {
        filled.sign(" ", true);
    }
    let mut rows = filled.rows;
    while rows.last().is_some_and(|row| row.text.is_empty()) {
        rows.pop();
    }
    // The caret's row with one before it for what leads there.
    let first = rows.iter().position(|row| !row.carets.is_empty()).unwrap_or(0).saturating_sub(1);
    let first = if rows.len() <= max_rows { 0 } else { first.min(rows.len() - max_rows) };
    let last = (first + max_rows).min(rows.len());
    // `shown` holds for each character the count of rows, its own included.
    let before = from + shown.iter().filter(|row| **row <= first).count();
    let after = total - from - shown.iter().filter(|row| **row <= last).count();
    let rows: Vec<_> = rows.into_iter().skip(first).take(last - first).collect();
    Layout { rows, rest: rest(before, after, excerpt.cut) }
}

/// What is not shown, as a remark; empty when all is.
pub(crate) fn rest(before: usize, after: usize, cut: usize) -> String {
    let mut parts = Vec::new();
    if before > 0 {
        parts.push(format!("{} before", text::plural(before as u64, "character")));
    }
    if after > 0 {
        parts.push(format!("{} after", text::plural(after as u64, "character")));
    }
    if cut > 0 {
        parts.push(format!("{} not kept", text::plural(cut as u64, "byte")));
    }
    if parts.is_empty() { String::new() } else { format!("({})", parts.join(", ")) }
}

/// Rows being filled from left to right. Never without a row.
struct Filled {
    rows: Vec<Row>,
    used: usize,
    columns: usize,
}

impl Filled {
    fn new(columns: usize) -> Self {
        Self { rows: vec![Row::default()], used: 0, columns }
    }

    fn next_row(&mut self) {
        self.rows.push(Row::default());
        self.used = 0;
    }

    fn sign(&mut self, sign: &str, marked: bool) {
        self.cell(sign, text::width(sign), marked);
    }

    /// Appends a character, or the escape that stands for it, which is never broken.
    fn cell(&mut self, cell: &str, width: usize, marked: bool) {
        if self.used + width > self.columns && self.used > 0 {
            self.next_row();
        }
        let Some(row) = self.rows.last_mut() else { return };
        row.text.push_str(cell);
        if marked {
            // A mark of no width is shown under the character that carries it.
            let at = if width == 0 { self.used.saturating_sub(1) } else { self.used };
            let missing = at.saturating_sub(row.carets.len());
            row.carets.push_str(&" ".repeat(missing));
            if width > 0 || row.carets.len() == at {
                row.carets.push_str(&"^".repeat(width.max(1)));
            }
        }
        self.used += width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, caret: Option<(usize, usize)>, columns: usize, rows: usize) -> Vec<String> {
        let excerpt = Excerpt { text: text.to_owned(), caret, ..Excerpt::default() };
        let layout = layout(&excerpt, columns, rows);
        let mut lines = Vec::new();
        for row in layout.rows {
            lines.push(row.text);
            if !row.carets.is_empty() {
                lines.push(row.carets);
            }
        }
        if !layout.rest.is_empty() {
            lines.push(layout.rest);
        }
        lines
    }

    #[test]
    fn carets_stand_under_the_fault() {
        assert_eq!(lines(r#"{"id":7}"#, Some((6, 1)), 20, 3), [r#"{"id":7}"#, "      ^"]);
    }

    #[test]
    fn wide_and_escaped_characters_shift_the_caret() {
        assert_eq!(lines("日本x", Some((2, 1)), 20, 3), ["日本x", "    ^"]);
        assert_eq!(lines("\u{1b}[x", Some((0, 1)), 20, 3), [r"\x1B[x", "^^^^"]);
        assert_eq!(lines("e\u{301}x", Some((1, 1)), 20, 3), ["e\u{301}x", "^"]);
        assert_eq!(lines("日本", Some((1, 1)), 20, 3), ["日本", "  ^^"]);
    }

    #[test]
    fn odd_carets_point_at_the_nearest_place() {
        assert_eq!(lines("abc", Some((3, 0)), 20, 3), ["abc ", "   ^"]);
        assert_eq!(lines("abc", Some((usize::MAX, usize::MAX)), 20, 3), ["abc ", "   ^"]);
        assert_eq!(lines("abc", Some((1, usize::MAX)), 20, 3), ["abc", " ^^"]);
        assert_eq!(lines("abc", Some((1, 0)), 20, 3), ["abc", " ^"]);
        assert_eq!(lines("", Some((5, 5)), 20, 3), ["(empty)"]);
    }

    #[test]
    fn a_line_feed_ends_its_row() {
        assert_eq!(lines("a\r\nb", Some((2, 1)), 20, 3), [r"a\x0D↵", "     ^", "b"]);
        assert_eq!(lines("a↵b", None, 20, 3), [r"a\u{21B5}b"]);
    }

    #[test]
    fn long_texts_are_cut_around_the_caret() {
        let text = format!("{}FAULT{}", "a".repeat(1_000), "b".repeat(1_000));
        assert_eq!(
            lines(&text, Some((1_000, 5)), 20, 3),
            [
                "aaaaaaaaaaaaaaaaaaaa",
                "aaaaaaaaaaFAULTbbbbb",
                "          ^^^^^",
                "bbbbbbbbbbbbbbbbbbbb",
                "(970 characters before, 975 characters after)"
            ]
        );
        assert_eq!(
            lines(&text, None, 20, 2),
            ["aaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaa", "(1,965 characters after)"]
        );
    }

    #[test]
    fn every_caret_on_every_text_is_laid_out() {
        for text in
            ["", "a", "\n", "\n\n\n\n\n\n\n\n\n", "日\u{301}\u{202e}\u{0}", &"日\n".repeat(99), &"\u{0}".repeat(500)]
        {
            for start in (0..120).chain([499, 500, 501, usize::MAX]) {
                for length in [0, 1, 7, usize::MAX] {
                    for columns in [0, 16, 33] {
                        let excerpt =
                            Excerpt { text: text.to_owned(), caret: Some((start, length)), ..Excerpt::default() };
                        let layout = layout(&excerpt, columns, 4);
                        assert!((1..=4).contains(&layout.rows.len()), "{} rows of {text:?}", layout.rows.len());
                        assert!(layout.rows.iter().all(|row| text::width(&row.text) <= columns.max(16)));
                        let marked = layout.rows.iter().any(|row| row.carets.contains('^'));
                        assert!(marked || text.is_empty(), "no caret for {start}+{length} in {text:?}");
                    }
                }
            }
        }
    }
}
