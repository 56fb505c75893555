//! Bytes in a script: as text, in hexadecimal digits, or in base64.

use super::{fields::Fields, lower::Lower};

impl Lower<'_> {
    /// The bytes of `text`, `hex` or `base64`, and the offsets of `split`.
    pub(crate) fn bytes(&mut self, fields: &Fields<'_>) -> Option<(Vec<u8>, Vec<usize>)> {
        let given = fields.given(&["text", "hex", "base64"]);
        let [key] = given.as_slice() else {
            self.report(fields.span, "the bytes are written in exactly one way")
                .help("write `text`, `hex` or `base64`");
            return None;
        };
        let node = fields.value(&key.name)?;
        let text = self.text(node)?.node;
        let bytes = match key.name.as_str() {
            "hex" => hex(&text),
            "base64" => base64(&text),
            _ => Some(text.into_bytes()),
        };
        let Some(bytes) = bytes else {
            self.report(node.span, format!("this is no {}", key.name));
            return None;
        };
        let mut split = Vec::new();
        if let Some(node) = fields.value("split") {
            for item in self.list(node, "a list of offsets")? {
                let at = self.integer(item)?;
                match usize::try_from(at) {
                    Ok(at) if at > split.last().copied().unwrap_or(0) && at < bytes.len() => split.push(at),
                    _ => {
                        self.report(item.span, format!("the bytes cannot be cut at {at}"))
                            .help(format!("offsets increase and lie between 0 and {}", bytes.len()));
                    }
                }
            }
        }
        Some((bytes, split))
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| !c.is_ascii_whitespace())
        .map(|c| c.to_digit(16).map(|d| d as u8))
        .collect::<Option<_>>()?;
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    Some(digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect())
}

/// Standard alphabet, padding optional.
fn base64(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut held) = (Vec::new(), 0_u32, 0_u32);
    for c in text.trim_end_matches('=').bytes().filter(|b| !b.is_ascii_whitespace()) {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits & 0xff) as u8);
            held &= (1 << bits) - 1;
        }
    }
    (bits < 6).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_become_bytes() {
        assert_eq!(hex("00 fF"), Some(vec![0, 255]));
        assert_eq!(hex("0"), None);
        assert_eq!(hex("0g"), None);
    }

    #[test]
    fn base64_is_read_with_and_without_padding() {
        assert_eq!(base64("aGVsbG8="), Some(b"hello".to_vec()));
        assert_eq!(base64("aGVsbG8"), Some(b"hello".to_vec()));
        assert_eq!(base64("/+8="), Some(vec![0xff, 0xef]));
        assert_eq!(base64("a"), None);
        assert_eq!(base64("a*=="), None);
    }
}
