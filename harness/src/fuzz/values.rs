//! Values that break things, and mutations of one JSON value.

use serde_json::{Map, Value, json};

use mcp_conform_cases::alter::{decoded, encoded};

use super::{dice::Dice, input::RAW};

/// Numbers at the edges of the types that servers keep numbers in.
const NUMBERS: [&str; 40] = [
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "7",
    "10",
    "16",
    "100",
    "127",
    "128",
    "255",
    "256",
    "1000",
    "32767",
    "32768",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "4294967295",
    "4294967296",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740993",
    "9223372036854775806",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "0.5",
    "1e2",
    "1e308",
    "1e400",
    "-1e400",
    "1.7976931348623157e308",
];

/// The ends of those types.
const EXTREMES: [&str; 6] = [
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "2147483647",
    "9007199254740991",
    "1.7976931348623157e308",
];

/// Texts of the kinds that parsers, formatters and terminals stumble over.
const TEXTS: [&str; 48] = [
    "%",
    "%zz",
    "%2",
    "{name}",
    "",
    " ",
    "a",
    "null",
    "true",
    "0",
    "-1",
    "NaN",
    "undefined",
    "__proto__",
    "constructor",
    "toString",
    "%s%n%x",
    "{{7*7}}",
    "${x}",
    "../",
    "../../etc/hostname",
    "/",
    "\\",
    "C:\\",
    "file:///",
    "http://[::1",
    "a://b?c#d",
    "\u{0}",
    "\u{1}",
    "\n",
    "\r\n",
    "\t",
    "\u{7f}",
    "\u{85}",
    "\u{a0}",
    "ÄÖÜß",
    "e\u{301}",
    "İ",
    "ﬀ",
    "\u{200b}",
    "\u{200d}",
    "\u{202e}abc",
    "\u{2028}",
    "\u{feff}",
    "\u{fffd}",
    "😀",
    "👩\u{200d}👩\u{200d}👧",
    "\u{10ffff}",
];

/// How templates of all kinds name a value.
const TEMPLATES: [(&str, &str); 5] = [("{", "}"), ("{{", "}}"), ("${", "}"), ("%(", ")s"), ("<%=", "%>")];

/// JSON strings that only an escape can hold.
const ESCAPES: [&str; 4] = [r#""\ud800""#, r#""\udfff\ud800""#, r#""a\ud83d""#, r#""\u0000\u001f""#];

/// A text of some interesting kind.
pub(super) fn text(dice: &mut Dice) -> Value {
    let word = |dice: &mut Dice| (*dice.pick(&TEXTS).unwrap_or(&"")).to_owned();
    match dice.below(10) {
        0 => json!({ RAW: *dice.pick(&ESCAPES).unwrap_or(&"\"\"") }),
        1 => repeated(dice).into(),
        2 => (word(dice) + &word(dice) + &word(dice)).into(),
        3 => number_text(dice).into(),
        _ => word(dice).into(),
    }
}

/// A text in which one piece comes many times, as expressions and parsers with a bad worst case have it; seldom a very
/// long one.
fn repeated(dice: &mut Dice) -> String {
    const PIECES: [&str; 14] = ["a", "A", "0", " ", "aA", "ab", "(", "[", "{", "\\", ".", "é", "😀", "\n"];
    const ENDS: [&str; 7] = ["", "!", "b", "x", "\u{0}", "@", " "];
    const COUNTS: [usize; 12] = [2, 8, 24, 28, 32, 40, 64, 128, 255, 1_000, 5_000, 20_000];
    let piece = *dice.pick(&PIECES).unwrap_or(&"a");
    let count = if dice.once_in(40) { 200_000 } else { *dice.pick(&COUNTS).unwrap_or(&8) };
    piece.repeat(count) + dice.pick(&ENDS).unwrap_or(&"")
}

fn number_text(dice: &mut Dice) -> &'static str {
    dice.pick(&NUMBERS).unwrap_or(&"0")
}

/// A number, as text that no parser has rounded.
pub(super) fn number(dice: &mut Dice) -> Value {
    literal(number_text(dice))
}

/// A value of any kind.
pub(super) fn any(dice: &mut Dice) -> Value {
    match dice.below(9) {
        0 => Value::Null,
        1 => (dice.below(2) == 0).into(),
        2 | 3 => number(dice),
        4 => json!([]),
        5 => json!({}),
        6 => nested(dice),
        _ => text(dice),
    }
}

/// A value inside a value inside a value.
fn nested(dice: &mut Dice) -> Value {
    const DEPTHS: [usize; 8] = [2, 4, 16, 33, 64, 100, 129, 500];
    let depth = *dice.pick(&DEPTHS).unwrap_or(&2);
    let list = dice.below(2) == 0;
    let (open, close) = if list { ("[", "]") } else { ("{\"a\":", "}") };
    json!({ RAW: format!("{}1{}", open.repeat(depth), close.repeat(depth)) })
}

/// Arguments whose numbers and texts lie at the edges of what programs keep them in; now and then all numbers at the same
/// edge, since it takes two for a sum beyond it.
pub(super) fn edges(value: &mut Value, dice: &mut Dice) {
    if dice.once_in(4) {
        let number = if dice.below(2) == 0 { literal(dice.pick(&EXTREMES).unwrap_or(&"0")) } else { number(dice) };
        return all_numbers(value, &number);
    }
    each_edge(value, dice);
}

fn all_numbers(value: &mut Value, number: &Value) {
    match value {
        Value::Object(members) => members.iter_mut().for_each(|(_, member)| all_numbers(member, number)),
        Value::Array(items) => items.iter_mut().for_each(|item| all_numbers(item, number)),
        Value::Number(_) => *value = number.clone(),
        _ => {}
    }
}

fn each_edge(value: &mut Value, dice: &mut Dice) {
    match value {
        Value::Object(members) => {
            let names: Vec<String> = members.keys().cloned().collect();
            for (_, member) in members.iter_mut() {
                if member.is_string() && dice.once_in(6) {
                    *member = template(&names, dice).into();
                } else {
                    each_edge(member, dice);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each_edge(item, dice)),
        Value::Number(_) if dice.below(3) > 0 => *value = number(dice),
        Value::String(_) if dice.below(2) == 0 => *value = text(dice),
        _ => {}
    }
}

/// Every number at an edge.
pub(super) fn numbers() -> impl Iterator<Item = Value> {
    NUMBERS.iter().map(|text| literal(text))
}

/// A number as it is spelled; where serde_json keeps it so, it needs no hole.
fn literal(text: &str) -> Value {
    match text.parse::<i64>() {
        Ok(number) if number.to_string() == text => number.into(),
        _ => json!({ RAW: text }),
    }
}

/// A value with one of its places changed in each way that its kind has, and with all its numbers at one edge.
pub(super) fn each_place(value: &Value, wanted: &dyn Fn(&str) -> bool) -> Vec<Value> {
    let mut pointers = Vec::new();
    collect(value, "", &mut pointers);
    let mut out = Vec::new();
    for pointer in pointers.iter().filter(|pointer| !pointer.is_empty() && wanted(pointer)) {
        let Some(node) = value.pointer(pointer) else { continue };
        let mut put = |new: Value| {
            let mut changed = value.clone();
            if let Some(place) = changed.pointer_mut(pointer) {
                *place = new;
                out.push(changed);
            }
        };
        let is_text = node.is_string() || node.get(super::input::MARK).is_some();
        if is_text {
            TEXTS.iter().for_each(|text| put((*text).into()));
            ESCAPES.iter().for_each(|text| put(json!({ RAW: text })));
            [(28, "a"), (40, "0"), (400, " "), (5_000, "(")]
                .iter()
                .for_each(|(count, text)| put(text.repeat(*count).into()));
            put("ÄÖ".repeat(40_000).into());
            for name in names_beside(value, pointer) {
                TEMPLATES.iter().for_each(|(open, close)| put(format!("{open}{name}{close}").into()));
            }
        }
        if let Some(text) = node.as_str() {
            put(text.to_uppercase().into());
            ["%", "%zz", "/../x", "?", "#", "\u{0}", " "].iter().for_each(|end| put(format!("{text}{end}").into()));
        }
        if node.is_number() {
            numbers().for_each(&mut put);
        }
        [Value::Null, json!(true), json!(0), json!([]), json!({}), json!("")].into_iter().for_each(&mut put);
        put(json!({ RAW: format!("{}1{}", "[".repeat(100), "]".repeat(100)) }));
    }
    for number in numbers() {
        let mut changed = value.clone();
        all_numbers(&mut changed, &number);
        if changed != *value {
            out.push(changed);
        }
    }
    out
}

/// A text that names a member, as templates of all kinds do.
fn template(names: &[String], dice: &mut Dice) -> String {
    let name = dice.pick(names).map(String::as_str).unwrap_or_default();
    let (open, close) = if dice.below(2) == 0 { ("{", "}") } else { *dice.pick(&TEMPLATES).unwrap_or(&("{", "}")) };
    format!("{open}{name}{close}")
}

/// Changes one node of a value, chosen evenly. `given` are values that the server knows.
pub(super) fn mutate(value: &mut Value, dice: &mut Dice, given: &[Value]) -> String {
    let mut pointers = Vec::new();
    collect(value, "", &mut pointers);
    let pointer = dice.pick(&pointers).cloned().unwrap_or_default();
    let names = if dice.once_in(10) { names_beside(value, &pointer) } else { Vec::new() };
    if let Some(node) = value.pointer_mut(&pointer) {
        if !names.is_empty() && (node.is_string() || node.get(super::input::MARK).is_some()) {
            *node = template(&names, dice).into();
        } else {
            change(node, dice, given);
        }
    }
    pointer
}

/// The names of the members beside a node.
fn names_beside(value: &Value, pointer: &str) -> Vec<String> {
    let above = pointer.rsplit_once('/').and_then(|(above, _)| value.pointer(above)?.as_object());
    above.map(|members| members.keys().cloned().collect()).unwrap_or_default()
}

fn collect(value: &Value, at: &str, out: &mut Vec<String>) {
    const MOST: usize = 400;
    if out.len() >= MOST {
        return;
    }
    out.push(at.to_owned());
    match value {
        Value::Object(members) if !members.keys().any(|name| name.starts_with('$')) => {
            for (name, member) in members {
                collect(member, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), out);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{at}/{index}"), out);
            }
        }
        _ => {}
    }
}

fn change(node: &mut Value, dice: &mut Dice, given: &[Value]) {
    if dice.once_in(6)
        && let Some(value) = dice.pick(given)
    {
        *node = value.clone();
        return;
    }
    if dice.once_in(8) {
        *node = any(dice);
        return;
    }
    match node {
        Value::Object(_) if dice.once_in(6) => edges(node, dice),
        Value::Object(members) => members_change(members, dice),
        Value::Array(items) => match dice.below(4) {
            0 => {
                let value = any(dice);
                items.push(value);
            }
            1 if !items.is_empty() => drop(items.remove(dice.below(items.len()))),
            2 => {
                const COUNTS: [usize; 4] = [2, 17, 100, 1_000];
                let count = *dice.pick(&COUNTS).unwrap_or(&2);
                let item = dice.pick(items).cloned().unwrap_or(Value::Null);
                items.extend(std::iter::repeat_n(item, count));
            }
            _ => items.reverse(),
        },
        Value::String(old) => *node = changed_text(old, dice),
        Value::Number(old) => {
            *node = match (dice.below(4), old.as_i64()) {
                (0, Some(old)) => old.wrapping_add(1).into(),
                (1, Some(old)) => old.wrapping_sub(1).into(),
                (2, Some(old)) => old.wrapping_neg().into(),
                _ => number(dice),
            }
        }
        Value::Bool(old) => *node = if dice.once_in(3) { any(dice) } else { (!*old).into() },
        Value::Null => *node = any(dice),
    }
}

fn members_change(members: &mut Map<String, Value>, dice: &mut Dice) {
    let index = dice.below(members.len());
    let name = members.keys().nth(index).cloned();
    match (dice.below(5), name) {
        (0, Some(name)) => drop(members.shift_remove(&name)),
        (1, Some(name)) => {
            // The same member under a name that is almost the same.
            let value = members.shift_remove(&name).unwrap_or_default();
            let other = match dice.below(4) {
                0 => name.to_ascii_uppercase(),
                1 => format!("{name} "),
                2 => format!("{name}{name}"),
                _ => name.chars().rev().collect(),
            };
            members.insert(other, value);
        }
        (2, Some(name)) => {
            let value = any(dice);
            members.insert(name, value);
        }
        _ => {
            let name = match text(dice) {
                Value::String(name) => name,
                _ => "extra".to_owned(),
            };
            let value = any(dice);
            members.insert(name, value);
        }
    }
}

pub(super) fn changed_text(old: &str, dice: &mut Dice) -> Value {
    let (bytes, coding) = decoded(old);
    match dice.below(9) {
        // Numbers within what the text encodes: offsets of cursors, versions of states.
        0 | 1 => renumbered(&String::from_utf8_lossy(&bytes), dice)
            .map_or_else(|| text(dice), |inner| encoded(inner.as_bytes(), coding).into()),
        2 => json!({super::input::FLIP: old, "at": dice.below(2048)}),
        3 => format!("{old}{}", dice.pick(&TEXTS).unwrap_or(&"")).into(),
        4 => format!("{}{old}", dice.pick(&TEXTS).unwrap_or(&"")).into(),
        5 => old.chars().take(dice.below(old.chars().count())).collect::<String>().into(),
        6 => {
            let swap = |c: char| if c.is_lowercase() { c.to_uppercase().next() } else { c.to_lowercase().next() };
            old.chars().filter_map(swap).collect::<String>().into()
        }
        _ => text(dice),
    }
}

/// The text with one of the numbers in it replaced.
fn renumbered(old: &str, dice: &mut Dice) -> Option<String> {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for (at, c) in old.char_indices() {
        match spans.last_mut() {
            Some((_, end)) if c.is_ascii_digit() && *end == at => *end = at + 1,
            _ if c.is_ascii_digit() => spans.push((at, at + 1)),
            _ => {}
        }
    }
    let (start, end) = *dice.pick(&spans)?;
    Some(format!("{}{}{}", old.get(..start)?, number_text(dice), old.get(end..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutations_change_something_and_are_the_same_for_the_same_dice() {
        let old = json!({"name": "echo", "arguments": {"text": "hi", "n": 3, "list": [1, 2]}, "cursor": "eyJvIjoyMH0"});
        let round = |seed| {
            let mut value = old.clone();
            mutate(&mut value, &mut Dice::seeded(seed, 0), &[json!("known")]);
            value
        };
        let changed = (0..200).filter(|seed| round(*seed) != old).count();
        assert!(changed > 180, "{changed}");
        assert_eq!((0..50).map(round).collect::<Vec<_>>(), (0..50).map(round).collect::<Vec<_>>());
    }

    #[test]
    fn numbers_inside_an_encoded_text_are_reached() {
        let mut dice = Dice::seeded(1, 1);
        let reached = (0..400).any(|_| match changed_text("eyJvIjoyMH0", &mut dice) {
            Value::String(text) => String::from_utf8_lossy(&decoded(&text).0).contains(r#"{"o":9223372036854775807}"#),
            _ => false,
        });
        assert!(reached);
    }
}
