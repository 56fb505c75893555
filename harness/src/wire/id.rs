//! Ids of JSON-RPC messages as they came: [`Id`]. Two ids are one by JSON type and value, never by spelling or text.

use std::fmt;

use super::json::{Json, JsonKind, quote};
use super::number::Number;

#[derive(Clone, Debug)]
pub enum Id {
    /// The message has no such member.
    Absent,
    Null,
    Number(Number),
    String(Box<str>),
    /// A type that no revision allows.
    Other(Json),
}

impl Id {
    /// A number so great that a parser may have rounded it, or another one to it.
    pub fn is_beyond_doubles(&self) -> bool {
        const SAFE: f64 = 9_007_199_254_740_991.0;
        matches!(self, Self::Number(number) if number.as_f64().abs() > SAFE)
    }

    pub fn of(json: Option<&Json>) -> Self {
        match json.map(|json| (json, &json.kind)) {
            None => Self::Absent,
            Some((_, JsonKind::Null)) => Self::Null,
            Some((_, JsonKind::Number(number))) => Self::Number(number.clone()),
            Some((_, JsonKind::String(text))) => Self::String(text.clone()),
            Some((json, _)) => Self::Other(json.clone()),
        }
    }

    /// Whether JSON type and value are equal: 7 and 7.0 are, 7 and "7" are not.
    pub fn same(&self, other: &Id) -> bool {
        match (self, other) {
            (Self::Absent, Self::Absent) | (Self::Null, Self::Null) => true,
            (Self::Number(one), Self::Number(two)) => one.same_value(two),
            (Self::String(one), Self::String(two)) => one == two,
            (Self::Other(one), Self::Other(two)) => one.same(two),
            _ => false,
        }
    }

    /// Whether one may be the other after what servers are known to do to ids: a number turned into its text or back,
    /// or rounded to a double. Only for finding the request that an answer is meant for, never for judging it.
    pub fn loosely(&self, other: &Id) -> bool {
        match (self, other) {
            (Self::Number(one), Self::Number(two)) => close(one, two),
            (Self::Number(number), Self::String(text)) | (Self::String(text), Self::Number(number)) => {
                Number::parse(text).is_some_and(|read| close(number, &read))
            }
            _ => self.same(other),
        }
    }

    /// A key for maps: two ids have the same exactly if [`Id::same`] holds. Ids of forbidden types go by their text
    /// and may differ although they are the same.
    pub fn key(&self) -> String {
        match self {
            Self::Absent => "absent".into(),
            Self::Number(number) => format!("n{}", number.canonical()),
            Self::String(text) => format!("s{text}"),
            Self::Null | Self::Other(_) => format!("o{self}"),
        }
    }

    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.same(other)
    }
}

impl Eq for Id {}

/// As JSON text; an absent id as nothing.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => Ok(()),
            Self::Null => f.write_str("null"),
            Self::Number(number) => number.fmt(f),
            Self::String(text) => quote(f, text),
            Self::Other(json) => json.fmt(f),
        }
    }
}

fn close(one: &Number, two: &Number) -> bool {
    one.same_value(two) || one.as_f64() == two.as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> Id {
        Id::of(Some(&Json::parse(text.as_bytes()).unwrap()))
    }

    #[test]
    fn type_and_value_make_an_id() {
        for (one, other, same, loosely) in [
            ("7", "7", true, true),
            ("7", "7.0", true, true),
            ("7", "\"7\"", false, true),
            ("7", "\"7.0\"", false, true),
            ("7", "\"07\"", false, false),
            ("0", "\"\"", false, false),
            ("0", "null", false, false),
            ("\"a\"", "\"\\u0061\"", true, true),
            ("9007199254740993", "9007199254740992", false, true),
            ("9007199254740993", "\"9007199254740992\"", false, true),
            ("\"7\"", "\"7.0\"", false, false),
            ("[1]", "[1.0]", true, true),
            ("1e400", "1e401", false, true),
        ] {
            let (one, other) = (id(one), id(other));
            assert_eq!((one.same(&other), one.loosely(&other)), (same, loosely), "{one} {other}");
            assert_eq!(other.loosely(&one), loosely, "{one} {other}");
            if !matches!(one, Id::Other(_)) {
                assert_eq!(one.key() == other.key(), same, "{one} {other}");
            }
        }
        assert!(Id::Absent.same(&Id::Absent) && !Id::Absent.loosely(&Id::Null));
    }

    #[test]
    fn shown_as_json() {
        for text in ["7.0", "\"a\\\"\"", "null", "[true]"] {
            assert_eq!(id(text).to_string(), text);
        }
        assert_eq!(Id::Absent.to_string(), "");
    }
}
