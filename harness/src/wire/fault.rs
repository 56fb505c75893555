//! What the JSON reader says about a text: [`JsonError`] if it is none, [`Remark`]s on what the grammar allows and other
//! readers hide. Finding them is the work of the reader.

use std::fmt;

use super::json::{Json, Span};
use super::limits::LimitKind;

/// A JSON text that was read in full.
#[derive(Clone, Debug)]
pub struct Reading {
    pub json: Json,
    /// In the order of their places; one of a kind more than [`Limits::defects`](super::Limits::defects) means that there are more.
    pub remarks: Vec<Remark>,
}

/// Something that the grammar allows and that common readers lose or refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remark {
    pub kind: RemarkKind,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RemarkKind {
    /// The name of a member that stood before in the same object.
    DuplicateKey,
    /// Bytes inside a string that are no UTF-8; they are read as U+FFFD.
    InvalidUtf8,
    /// An escaped surrogate without its partner; it is read as U+FFFD.
    LoneSurrogate,
    /// A number that changes its value where numbers are doubles.
    NumberBeyondDouble,
}

/// Why bytes are no JSON text, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}")]
pub struct JsonError {
    pub kind: JsonErrorKind,
    pub offset: usize,
    /// The innermost value that was being read.
    pub pointer: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JsonErrorKind {
    /// Nothing but white space.
    Empty,
    UnexpectedByte(u8),
    /// The text stops inside a value.
    UnexpectedEnd,
    UnterminatedString,
    BadEscape,
    ControlCharacter(u8),
    LeadingZero,
    PlusSign,
    BadNumber,
    /// `NaN` or an infinity.
    NotANumber,
    /// A word that is not `true`, `false` or `null`.
    BadLiteral,
    Comment,
    TrailingComma,
    SingleQuote,
    UnquotedName,
    /// More text after the value.
    TrailingGarbage,
    /// Our own bound, not a fault of the text.
    Limit(LimitKind),
}

impl JsonError {
    /// Whether only the end of the text is wrong.
    pub(super) fn is_end(&self) -> bool {
        matches!(self.kind, JsonErrorKind::UnexpectedEnd | JsonErrorKind::UnterminatedString | JsonErrorKind::Empty)
    }
}

impl fmt::Display for JsonErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("no value"),
            Self::UnexpectedByte(byte) if byte.is_ascii_graphic() => {
                write!(f, "unexpected character '{}'", char::from(*byte))
            }
            Self::UnexpectedByte(byte) => write!(f, "unexpected byte 0x{byte:02x}"),
            Self::UnexpectedEnd => f.write_str("unexpected end"),
            Self::UnterminatedString => f.write_str("unterminated string"),
            Self::BadEscape => f.write_str("unknown escape in a string"),
            Self::ControlCharacter(byte) => write!(f, "control character 0x{byte:02x} in a string"),
            Self::LeadingZero => f.write_str("number with a leading zero"),
            Self::PlusSign => f.write_str("number with a plus sign"),
            Self::BadNumber => f.write_str("number without digits"),
            Self::NotANumber => f.write_str("NaN or infinity"),
            Self::BadLiteral => f.write_str("unknown word"),
            Self::Comment => f.write_str("comment"),
            Self::TrailingComma => f.write_str("trailing comma"),
            Self::SingleQuote => f.write_str("single quote"),
            Self::UnquotedName => f.write_str("name without quotes"),
            Self::TrailingGarbage => f.write_str("more text after the value"),
            Self::Limit(kind) => write!(f, "our limit on the {kind} was passed"),
        }
    }
}
