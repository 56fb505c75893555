//! Text that came from somebody else, made fit to print: escaped, measured, wrapped and bounded.
//!
//! [`clean`] is what keeps a server from moving the cursor, colouring the page or hiding characters; everything that a
//! renderer prints goes through it or through [`Escaper`], which does the same a character at a time.

use std::fmt::Write as _;

/// Marks that may pile up on one character before the next is spelled out.
const MAX_MARKS: u8 = 3;

/// Escapes every character that has no shape of its own or acts on the terminal.
pub fn clean(text: &str) -> String {
    let mut escaper = Escaper::default();
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        escaper.push(c, &mut out);
    }
    out
}

/// Escapes a text a character at a time; it remembers only how many marks stand on the last character.
#[derive(Default)]
pub struct Escaper {
    marks: u8,
    based: bool,
}

impl Escaper {
    /// Appends `c`, escaped if need be, and returns the columns that it takes.
    pub fn push(&mut self, c: char, out: &mut String) -> usize {
        let width = char_width(c);
        if invisible(c) {
            self.based = false;
            return escape(c, out);
        }
        if width == 0 {
            self.marks = self.marks.saturating_add(1);
            if !self.based || self.marks > MAX_MARKS {
                return escape(c, out);
            }
        } else {
            self.marks = 0;
            self.based = true;
        }
        out.push(c);
        width
    }
}

/// Bytes below 0x80 as `\xNN`, as the trace spells them and JSON never does; the rest as `\u{NNNN}`.
fn escape(c: char, out: &mut String) -> usize {
    let before = out.len();
    let code = u32::from(c);
    let written = if code < 0x80 { write!(out, "\\x{code:02X}") } else { write!(out, "\\u{{{code:04X}}}") };
    debug_assert!(written.is_ok(), "a string takes every write");
    out.len() - before
}

/// Controls, direction marks, joiners, fillers and tags: what cannot be seen or changes what is seen beside it.
fn invisible(c: char) -> bool {
    matches!(u32::from(c),
        0x00..=0x1F | 0x7F..=0x9F | 0xAD | 0x034F | 0x061C | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F
        | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0x3164 | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB
        | 0xFFFE..=0xFFFF | 0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
}

/// The columns of a printable character in a terminal: 0 for marks, 2 for East Asian wide characters and emoji.
pub fn char_width(c: char) -> usize {
    match u32::from(c) {
        0x20..=0x7E => 1,
        0x0300..=0x036F
        | 0x0483..=0x0489
        | 0x0591..=0x05BD
        | 0x0610..=0x061A
        | 0x064B..=0x065F
        | 0x0670
        | 0x06D6..=0x06DC
        | 0x06DF..=0x06E4
        | 0x0900..=0x0902
        | 0x093A
        | 0x093C
        | 0x0941..=0x0948
        | 0x094D
        | 0x0951..=0x0957
        | 0x0E31
        | 0x0E34..=0x0E3A
        | 0x0E47..=0x0E4E
        | 0x1AB0..=0x1AFF
        | 0x1DC0..=0x1DFF
        | 0x20D0..=0x20FF
        | 0x302A..=0x302F
        | 0x3099..=0x309A
        | 0xFE00..=0xFE0F
        | 0xFE20..=0xFE2F => 0,
        0x1100..=0x115F
        | 0x231A..=0x231B
        | 0x2329..=0x232A
        | 0x23E9..=0x23EC
        | 0x2614..=0x2615
        | 0x2648..=0x2653
        | 0x26A1
        | 0x26C4..=0x26C5
        | 0x26D4
        | 0x2705
        | 0x274C
        | 0x274E
        | 0x2753..=0x2755
        | 0x2757
        | 0x2795..=0x2797
        | 0x2B50
        | 0x2B55
        | 0x2E80..=0x303E
        | 0x3041..=0x33FF
        | 0x3400..=0x4DBF
        | 0x4E00..=0xA4CF
        | 0xA960..=0xA97F
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF00..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x17000..=0x18CFF
        | 0x1B000..=0x1B2FF
        | 0x1F004
        | 0x1F0CF
        | 0x1F18E
        | 0x1F191..=0x1F19A
        | 0x1F1E6..=0x1F202
        | 0x1F210..=0x1F64F
        | 0x1F680..=0x1F6FF
        | 0x1F7E0..=0x1F7EB
        | 0x1F900..=0x1F9FF
        | 0x1FA70..=0x1FAFF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}

/// The columns of a cleaned text.
pub fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// Breaks a cleaned text into lines of at most `columns`, between words where it can. Always at least one line.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(8);
    let mut lines = Vec::new();
    let mut line = String::new();
    let mut used = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let need = width(word);
        if used > 0 && used + 1 + need > columns {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        for c in word.chars() {
            let need = char_width(c);
            if used + need > columns {
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            line.push(c);
            used += need;
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// At most `limit` characters, and how many were left out.
pub fn bounded(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((at, _)) => {
            let (kept, rest) = text.split_at(at);
            format!("{kept}… ({} more)", plural(rest.chars().count() as u64, "character"))
        }
    }
}

/// `1 request`, `1,234 requests`.
pub fn plural(count: u64, noun: &str) -> String {
    let plural = match noun.strip_suffix('s') {
        _ if count == 1 => noun.to_owned(),
        Some(stem) => format!("{stem}ses"),
        None => format!("{noun}s"),
    };
    format!("{} {plural}", thousands(count))
}

/// The digits of a number in groups of three.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `a, b, c and 4 more`: at most `limit` items by name.
pub fn list<'a>(items: impl IntoIterator<Item = &'a str>, limit: usize) -> String {
    let items: Vec<_> = items.into_iter().collect();
    let mut out = items.iter().take(limit).copied().collect::<Vec<_>>().join(", ");
    if items.len() > limit {
        let left = thousands((items.len() - limit) as u64);
        if limit > 0 {
            out.push_str(" and ");
        }
        out.push_str(&left);
        out.push_str(" more");
    }
    out
}

/// The candidate that was probably meant.
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if wanted.len() > 40 {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (distance(wanted, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 4 && *distance < wanted.chars().count())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The end of an error about an unknown name.
pub fn did_you_mean(near: &Option<&'static str>) -> String {
    near.map(|near| format!(", did you mean `{near}`?")).unwrap_or_default()
}

/// Insertions, removals and replacements between two short words, a swap of neighbours counted as one.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX / 2);
            let mut best = (at(&last, j) + usize::from(x != y)).min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            if i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x) {
                best = best.min(at(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_spelled_out() {
        assert_eq!(clean("a\x1b[31mred\x07\r\n\t\u{9b}"), r"a\x1B[31mred\x07\x0D\x0A\x09\u{009B}");
        assert_eq!(clean("x\u{202e}y\u{200b}z\u{feff}"), r"x\u{202E}y\u{200B}z\u{FEFF}");
        assert_eq!(clean("naïve 日本 🎉"), "naïve 日本 🎉");
    }

    #[test]
    fn marks_do_not_pile_up_or_stand_alone() {
        assert_eq!(clean("e\u{301}"), "e\u{301}");
        assert_eq!(clean("\u{301}e"), "\\u{0301}e");
        assert!(clean(&format!("e{}", "\u{301}".repeat(9))).ends_with("\\u{0301}"));
    }

    #[test]
    fn cleaning_twice_changes_nothing() {
        let once = clean("\u{0}\u{202e}\\x00 é");
        assert_eq!(clean(&once), once);
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(width("日本x"), 5);
        assert_eq!(wrap("日本日本 日本", 8), ["日本日本", "日本"]);
    }

    #[test]
    fn lines_break_between_words_and_within_long_ones() {
        assert_eq!(wrap("one two three four", 9), ["one two", "three", "four"]);
        assert_eq!(wrap("abcdefghijklmnop", 10), ["abcdefghij", "klmnop"]);
        assert_eq!(wrap("  ", 10), [""]);
        assert!(wrap("a b c", 0).len() == 1);
    }

    #[test]
    fn long_texts_say_what_is_left_out() {
        assert_eq!(bounded("abc", 3), "abc");
        assert_eq!(bounded("äöü", 1), "ä… (2 characters more)");
        assert_eq!(list(["a", "b", "c"], 2), "a, b and 1 more");
        assert_eq!(list(["a", "b"], 2), "a, b");
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(plural(1, "process start"), "1 process start");
        assert_eq!(plural(1_000, "pass"), "1,000 passes");
    }

    #[test]
    fn the_nearest_name_is_found() {
        let names = ["terminal", "json", "markdown"];
        assert_eq!(nearest("jsno", names), Some("json"));
        assert_eq!(nearest("termnal", names), Some("terminal"));
        assert_eq!(nearest("xml", names), None);
        assert_eq!(nearest("", names), None);
    }
}
