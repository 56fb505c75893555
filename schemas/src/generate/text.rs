//! Strings: by length, by `format`, by regular expression.

use regex_syntax::hir::{Class, Hir, HirKind};

use super::source::Source;

/// Nothing of use is longer; a schema may ask for gigabytes.
pub(super) const LONGEST: usize = 4_096;

/// What tends to match the expressions that we cannot walk through (look-around, back references): words, names,
/// passwords, numbers, versions, addresses.
pub(super) const COMMON: [&str; 16] = [
    "x",
    "a",
    "aa",
    "abc",
    "A",
    "ABC",
    "1",
    "12",
    "a1",
    "a-b",
    "a_b",
    "Aa1!Aa1!Aa1!",
    "1.0.0",
    "2026-01-01",
    "user@example.com",
    "https://example.com/x",
];

/// A string of a length between `low` and `high` characters.
pub(super) fn of_length(low: usize, high: usize, source: &mut dyn Source) -> Option<String> {
    if low > high || low > LONGEST {
        return None;
    }
    if source.plain() {
        // One character unless told otherwise: empty strings are refused by servers for reasons of their own.
        return Some("x".repeat(low.max(1).min(high)));
    }
    const ALPHABET: [char; 24] = [
        'x', 'a', 'Z', '0', '9', ' ', '-', '_', '.', '/', '\\', '"', '\'', '<', '&', '%', '\n', '\t', '\u{0}', 'ä',
        'ß', '\u{202e}', '漢', '😀',
    ];
    let high = high.min(low.saturating_add(16)).min(LONGEST);
    let length = low + source.index(high - low + 1);
    Some((0..length).map(|_| ALPHABET.get(source.index(ALPHABET.len())).copied().unwrap_or('x')).collect())
}

/// A plain value of a known format.
pub(super) fn of_format(format: &str) -> Option<&'static str> {
    Some(match format {
        "date-time" => "2026-01-01T00:00:00Z",
        "date" => "2026-01-01",
        "time" => "00:00:00Z",
        "duration" => "PT1S",
        "email" | "idn-email" => "user@example.com",
        "hostname" | "idn-hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "uri" | "iri" | "url" => "https://example.com/x",
        "uri-reference" | "iri-reference" => "/x",
        "uri-template" => "https://example.com/{id}",
        "uuid" => "00000000-0000-4000-8000-000000000000",
        "json-pointer" => "/x",
        "relative-json-pointer" => "0",
        "regex" => "x",
        "byte" => "eA==",
        _ => return None,
    })
}

/// A string that a regular expression matches, of at least `low` characters if the expression lets it grow.
pub(super) fn of_pattern(pattern: &str, low: usize, source: &mut dyn Source) -> Option<String> {
    let hir = regex_syntax::ParserBuilder::new().nest_limit(64).build().parse(pattern).ok()?;
    let mut out = String::new();
    write(&hir, 0, source, &mut out)?;
    let short = low.min(LONGEST).saturating_sub(out.chars().count());
    if short > 0 {
        out.clear();
        write(&hir, low.min(LONGEST), source, &mut out)?;
        let short = low.min(LONGEST).saturating_sub(out.chars().count());
        // Helps when the expression is not anchored at its end; otherwise the check refuses it.
        out.push_str(&"x".repeat(short));
    }
    Some(out)
}

/// The expression with its look-ahead and look-behind groups cut out; `None` if the parentheses do not add up.
pub(super) fn without_look_around(pattern: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let length = if ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|open| rest.starts_with(open)) {
            let end = group_end(rest)?;
            rest = rest.get(end..)?;
            continue;
        } else if c == '\\' {
            c.len_utf8() + rest.chars().nth(1)?.len_utf8()
        } else {
            c.len_utf8()
        };
        out.push_str(rest.get(..length)?);
        rest = rest.get(length..)?;
    }
    Some(out)
}

/// Where the group that starts the text ends; parentheses in classes and after a backslash do not count.
fn group_end(text: &str) -> Option<usize> {
    let (mut depth, mut class, mut escaped) = (0_usize, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' if !class => class = true,
            ']' => class = false,
            '(' if !class => depth += 1,
            ')' if !class => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// `grow`: repeat what may repeat without end so often.
fn write(hir: &Hir, grow: usize, source: &mut dyn Source, out: &mut String) -> Option<()> {
    if out.len() > 4 * LONGEST {
        return None;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(()),
        HirKind::Literal(literal) => {
            out.push_str(std::str::from_utf8(&literal.0).ok()?);
            Some(())
        }
        HirKind::Class(class) => {
            out.push(member(class, source)?);
            Some(())
        }
        HirKind::Capture(group) => write(&group.sub, grow, source, out),
        HirKind::Repetition(repetition) => {
            let low = usize::try_from(repetition.min).ok()?;
            let most = repetition.max.and_then(|m| usize::try_from(m).ok()).unwrap_or(usize::MAX);
            if low > LONGEST {
                return None;
            }
            let extra = if source.plain() { usize::from(low == 0 && most > 0 && grow > 0) } else { source.index(4) };
            let times = low.saturating_add(extra).max(grow).min(most);
            for _ in 0..times {
                write(&repetition.sub, 0, source, out)?;
            }
            Some(())
        }
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write(part, grow, source, out)),
        HirKind::Alternation(parts) => write(parts.get(source.index(parts.len()))?, grow, source, out),
    }
}

/// A character of the class, an ASCII letter, digit or sign where there is one: `\d` and `\w` mean ASCII in ECMA-262.
fn member(class: &Class, source: &mut dyn Source) -> Option<char> {
    let ranges: Vec<(u32, u32)> = match class {
        Class::Unicode(class) => class.ranges().iter().map(|r| (u32::from(r.start()), u32::from(r.end()))).collect(),
        Class::Bytes(class) => class.ranges().iter().map(|r| (u32::from(r.start()), u32::from(r.end()))).collect(),
    };
    let inside = |low: u32, high: u32| {
        ranges.iter().map(|(a, b)| ((*a).max(low), (*b).min(high))).filter(|(a, b)| a <= b).collect::<Vec<_>>()
    };
    let letters = inside(u32::from(b'a'), u32::from(b'z'));
    let printable = inside(0x21, 0x7e);
    let fitting = if source.plain() && !letters.is_empty() {
        letters
    } else if !printable.is_empty() {
        printable
    } else {
        ranges
    };
    let (low, high) = fitting.get(source.index(fitting.len())).copied()?;
    let span = usize::try_from(high - low).ok()?.min(255);
    char::from_u32(low + u32::try_from(source.index(span + 1)).ok()?)
}
