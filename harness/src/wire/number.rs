//! JSON numbers as they were spelled: [`Number`]. Comparison is exact decimal arithmetic on the spelling, so that no
//! double rounds an id; whether a rounded number matters is left to the rules.

use std::fmt;

/// A number in its exact spelling. `==` is left out on purpose: use [`Number::same_value`] or compare the spellings.
#[derive(Clone)]
pub struct Number(Spelling);

/// Nearly all numbers are short, and a message may hold a million: only long ones are worth an allocation.
#[derive(Clone)]
enum Spelling {
    Short { bytes: [u8; SHORT], len: u8 },
    Long(Box<str>),
}

const SHORT: usize = 14;

impl Number {
    /// Reads a text that is a JSON number and nothing else.
    pub fn parse(text: &str) -> Option<Self> {
        is_number(text.as_bytes()).then(|| Self::from_checked(text))
    }

    /// For the reader, which has checked the grammar already.
    pub(super) fn from_checked(text: &str) -> Self {
        let mut bytes = [0; SHORT];
        match bytes.get_mut(..text.len()) {
            Some(room) => {
                room.copy_from_slice(text.as_bytes());
                Self(Spelling::Short { bytes, len: text.len() as u8 })
            }
            None => Self(Spelling::Long(text.into())),
        }
    }

    pub fn as_str(&self) -> &str {
        match &self.0 {
            Spelling::Short { bytes, len } => {
                let text = bytes.get(..usize::from(*len)).and_then(|bytes| std::str::from_utf8(bytes).ok());
                text.unwrap_or_default()
            }
            Spelling::Long(text) => text,
        }
    }

    /// Whether the value is whole, however it is spelled: `7.0`, `1e2` and `-0` are.
    pub fn is_integer(&self) -> bool {
        if self.is_plain() {
            return true;
        }
        let decimal = Decimal::of(self.as_str());
        decimal.digits.is_empty() || !decimal.exponent.is_negative()
    }

    /// The exact value, or nothing if it is not whole or does not fit.
    pub fn as_i64(&self) -> Option<i64> {
        if self.is_plain() {
            return self.as_str().parse().ok();
        }
        self.as_i128().and_then(|value| value.try_into().ok())
    }

    /// The exact value, or nothing if it is not whole, negative or does not fit.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_i128().and_then(|value| value.try_into().ok())
    }

    /// The nearest double; infinite where no double reaches.
    pub fn as_f64(&self) -> f64 {
        self.as_str().parse().unwrap_or(f64::NAN)
    }

    /// Whether both are the same decimal value. Exponents of more than 30 digits are compared as written, so that two
    /// spellings of one such number may count as different.
    pub fn same_value(&self, other: &Number) -> bool {
        self.as_str() == other.as_str() || Decimal::of(self.as_str()) == Decimal::of(other.as_str())
    }

    /// Whether a reader that keeps numbers as doubles gets another value: too big, too small, or a whole number that
    /// comes out changed. Fractions are always rounded and are not meant.
    pub fn beyond_double(&self) -> bool {
        if self.as_str().len() <= 15 && !self.as_str().bytes().any(|byte| matches!(byte, b'e' | b'E')) {
            return false;
        }
        let decimal = Decimal::of(self.as_str());
        if decimal.digits.is_empty() {
            return false;
        }
        let double = self.as_f64();
        if !double.is_finite() || double == 0.0 {
            return true;
        }
        // The shortest spelling that leads back to the double is what a JavaScript or Python server prints.
        !decimal.exponent.is_negative() && Decimal::of(&format!("{double:e}")) != decimal
    }

    /// One text for all spellings of a value, for maps: two numbers have the same exactly if
    /// [`Number::same_value`] holds.
    pub fn canonical(&self) -> String {
        if self.is_plain() && self.as_str().len() < 18 && self.as_str() != "-0" {
            let digits = self.as_str().trim_end_matches('0');
            if digits.len() == self.as_str().len() {
                return format!("{digits}e0");
            }
        }
        let decimal = Decimal::of(self.as_str());
        let sign = if decimal.negative { "-" } else { "" };
        let digits = if decimal.digits.is_empty() { "0" } else { &decimal.digits };
        format!("{sign}{digits}e{}", decimal.exponent)
    }

    /// As `serde_json` reads it: whole numbers without point and exponent that fit as integers, all others as the
    /// nearest finite double.
    pub(super) fn to_value(&self) -> serde_json::Value {
        if self.is_plain() && self.as_str() != "-0" {
            if let Ok(value) = self.as_str().parse::<i64>() {
                return value.into();
            }
            if let Ok(value) = self.as_str().parse::<u64>() {
                return value.into();
            }
        }
        self.as_f64().clamp(f64::MIN, f64::MAX).into()
    }

    /// Spelled without point and exponent.
    fn is_plain(&self) -> bool {
        self.as_str().bytes().all(|byte| byte == b'-' || byte.is_ascii_digit())
    }

    fn as_i128(&self) -> Option<i128> {
        let decimal = Decimal::of(self.as_str());
        if decimal.digits.is_empty() {
            return Some(0);
        }
        let Exponent::Small(exponent @ 0..=38) = decimal.exponent else { return None };
        let magnitude = decimal.digits.parse::<i128>().ok()?.checked_mul(10_i128.checked_pow(exponent as u32)?)?;
        Some(if decimal.negative { -magnitude } else { magnitude })
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Number({self})")
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The value as digits without zeros at either end, times a power of ten. Zero has no digits and no sign.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    exponent: Exponent,
}

#[derive(Debug, PartialEq, Eq)]
enum Exponent {
    Small(i128),
    /// Too long for arithmetic: the exponent as written, and what the position of the point adds to it.
    Vast {
        negative: bool,
        digits: String,
        shift: i128,
    },
}

impl Exponent {
    fn is_negative(&self) -> bool {
        match self {
            Self::Small(exponent) => *exponent < 0,
            Self::Vast { negative, .. } => *negative,
        }
    }
}

impl fmt::Display for Exponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Small(exponent) => write!(f, "{exponent}"),
            Self::Vast { negative, digits, shift } => {
                write!(f, "{}{digits}{shift:+}", if *negative { "-" } else { "" })
            }
        }
    }
}

impl Decimal {
    fn of(text: &str) -> Self {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, written) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits = String::with_capacity(whole.len() + fraction.len());
        digits.push_str(whole);
        digits.push_str(fraction);
        let kept = digits.trim_end_matches('0').len();
        let shift = (digits.len() - kept) as i128 - fraction.len() as i128;
        digits.truncate(kept);
        let leading = kept - digits.trim_start_matches('0').len();
        digits.drain(..leading);
        if digits.is_empty() {
            return Self { negative: false, digits, exponent: Exponent::Small(0) };
        }
        let (downwards, written) = match written.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, written.strip_prefix('+').unwrap_or(written)),
        };
        let written = written.trim_start_matches('0');
        let exponent = if written.len() <= 30 {
            let value = written.parse::<i128>().unwrap_or(0);
            Exponent::Small(if downwards { -value } else { value } + shift)
        } else {
            Exponent::Vast { negative: downwards, digits: written.into(), shift }
        };
        Self { negative, digits, exponent }
    }
}

fn is_number(text: &[u8]) -> bool {
    fn digits(text: &[u8]) -> (usize, &[u8]) {
        let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        (count, text.get(count..).unwrap_or_default())
    }
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let (whole, mut rest) = digits(text);
    if whole == 0 || (whole > 1 && text.first() == Some(&b'0')) {
        return false;
    }
    if let Some(after) = rest.strip_prefix(b".") {
        let (count, after) = digits(after);
        if count == 0 {
            return false;
        }
        rest = after;
    }
    if let Some(after) = rest.strip_prefix(b"e").or_else(|| rest.strip_prefix(b"E")) {
        let after = after.strip_prefix(b"+").or_else(|| after.strip_prefix(b"-")).unwrap_or(after);
        let (count, after) = digits(after);
        if count == 0 {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap_or_else(|| panic!("{text} is a number"))
    }

    #[test]
    fn grammar() {
        for text in ["0", "-0", "7", "10", "0.5", "1e5", "1E+5", "1.25e-7", "-12.0"] {
            assert!(Number::parse(text).is_some(), "{text}");
        }
        for text in ["", "-", "+1", "01", "1.", ".5", "1e", "1e+", "0x1", "1 ", " 1", "1.5.5", "NaN", "--1"] {
            assert!(Number::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn equal_values_in_any_spelling() {
        for (one, other) in [
            ("7", "7.0"),
            ("7", "70e-1"),
            ("7", "0.7e1"),
            ("0", "-0"),
            ("0", "0e999999999999999999999999999999999999999"),
            ("100", "1e2"),
            ("1e400", "10e399"),
            ("1e1000000000000000000000", "0.1e1000000000000000000001"),
            ("-12.50", "-125e-1"),
        ] {
            assert!(number(one).same_value(&number(other)), "{one} = {other}");
            assert_eq!(number(one).canonical(), number(other).canonical());
        }
        for (one, other) in [
            ("9007199254740993", "9007199254740992"),
            ("7", "-7"),
            ("1e400", "1e401"),
            ("1e-400", "0"),
            ("1e9999999999999999999999999999999999999", "1e-9999999999999999999999999999999999999"),
        ] {
            assert!(!number(one).same_value(&number(other)), "{one} = {other}");
            assert_ne!(number(one).canonical(), number(other).canonical());
        }
    }

    #[test]
    fn whole_numbers() {
        for text in ["7", "7.0", "1e2", "-0", "0.0", "1.50e1", "1e99999999999999999999999999999999999"] {
            assert!(number(text).is_integer(), "{text}");
        }
        for text in ["7.5", "1e-1", "15e-2", "1e-99999999999999999999999999999999999"] {
            assert!(!number(text).is_integer(), "{text}");
        }
    }

    #[test]
    fn exact_integers() {
        assert_eq!(number("9007199254740993").as_i64(), Some(9_007_199_254_740_993));
        assert_eq!(number("-9223372036854775808").as_i64(), Some(i64::MIN));
        assert_eq!(number("9223372036854775808").as_i64(), None);
        assert_eq!(number("18446744073709551615").as_u64(), Some(u64::MAX));
        assert_eq!(number("-1").as_u64(), None);
        assert_eq!(number("1.2e1").as_i64(), Some(12));
        assert_eq!(number("1.25e1").as_i64(), None);
        assert_eq!(number("1e99999999999999").as_i64(), None);
        assert_eq!(number("-0.0").as_i64(), Some(0));
    }

    #[test]
    fn what_doubles_lose() {
        for text in ["9007199254740993", "123456789012345678901234567890", "1e400", "-1e400", "1e-400"] {
            assert!(number(text).beyond_double(), "{text}");
        }
        for text in ["9007199254740992", "9007199254740994", "1e23", "1e22", "0.1", "0e400", "3.14159265358979323846"] {
            assert!(!number(text).beyond_double(), "{text}");
        }
    }
}
