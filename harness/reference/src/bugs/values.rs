//! The values on which deep bugs go wrong, and the text of a stack trace.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// How deep a value is nested; the reader bounds it.
pub(crate) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Whether a cursor without a seal holds an offset to which no page can be added.
pub(crate) fn cursor_overflows(cursor: &str, page: usize) -> bool {
    let opened = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let offset = opened.as_ref().and_then(|value| value.get("offset")).and_then(Value::as_i64);
    let page = i64::try_from(page).unwrap_or(i64::MAX);
    offset.is_some_and(|offset| offset.checked_add(page).is_none())
}

/// Whether a text has a character that takes two units of UTF-16.
pub(crate) fn is_astral(text: &str) -> bool {
    text.chars().any(|letter| letter as u32 > 0xFFFF)
}

/// Whether a percent sign is not followed by two hexadecimal digits.
pub(crate) fn odd_escape(uri: &str) -> bool {
    let digits = |rest: &str| rest.as_bytes().get(..2).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
    uri.split('%').skip(1).any(|rest| !digits(rest))
}

/// Whether a media type names a charset other than UTF-8.
pub(crate) fn odd_charset(kind: &str) -> bool {
    let named = kind.split(';').skip(1).filter_map(|part| part.trim().split_once('='));
    let charset = named.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset")).map(|(_, value)| value);
    charset.into_iter().any(|value| {
        let value = value.trim().trim_matches('"');
        !value.eq_ignore_ascii_case("utf-8") && !value.eq_ignore_ascii_case("utf8")
    })
}

/// Whether a value is no trace parent of version 00.
pub(crate) fn odd_traceparent(value: &Value) -> bool {
    let Some(text) = value.as_str() else { return true };
    let parts: Vec<&str> = text.split('-').collect();
    let sound = |part: &str, length: usize| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    !matches!(parts[..], [version, trace, span, flags]
        if sound(version, 2) && sound(trace, 32) && sound(span, 16) && sound(flags, 2))
}

/// How long a pattern like `(\w+)*:` takes for a text without a colon: it doubles with each letter in a row.
pub(crate) fn backtracking(text: &str) -> Duration {
    const HARMLESS: usize = 28;
    let longest = text.split(|letter: char| !letter.is_alphanumeric()).map(|run| run.chars().count()).max();
    let steps = longest.unwrap_or(0).saturating_sub(HARMLESS - 1);
    match steps {
        0 => Duration::ZERO,
        _ => Duration::from_secs(1 << steps.min(5)),
    }
}

/// What a server tells that passes an uncaught exception on.
pub(crate) fn trace(why: &str, file: &str, line: u32) -> String {
    format!(
        "internal error: {why}\n    at {file}:{line}:27 (/srv/reference/src/{file})\n    at serve (/srv/reference/src/features.rs:58:9)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_value_is_told_from_its_neighbours() {
        assert_eq!(depth(&json!({"a": [{}]})), 3);
        let cursor = |offset: i64| URL_SAFE_NO_PAD.encode(json!({"list": "tools", "offset": offset}).to_string());
        assert!(cursor_overflows(&cursor(i64::MAX - 2), 3) && !cursor_overflows(&cursor(i64::MAX - 3), 3));
        assert!(is_astral("a\u{10000}") && !is_astral("\u{ffff}ü"));
        assert!(odd_escape("a%2") && odd_escape("%zz") && !odd_escape("a%20b") && !odd_escape("a"));
        let sound = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert!(!odd_traceparent(&json!(sound)) && odd_traceparent(&json!(&sound[1..])) && odd_traceparent(&json!(1)));
        assert!(odd_charset("application/json; charset=latin1") && !odd_charset("application/json;Charset=\"UTF-8\""));
        assert_eq!(backtracking(&"a".repeat(27)), Duration::ZERO);
        assert_eq!(backtracking(&"a".repeat(28)), Duration::from_secs(2));
        assert_eq!(backtracking(&"a".repeat(1000)), Duration::from_secs(32));
    }
}
