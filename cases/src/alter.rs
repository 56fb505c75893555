//! Texts that stand for something: states and cursors are Base64, hexadecimal or plain, and mutating what they encode goes
//! deeper than mutating the text.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);

/// How a text encodes bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    Base64 { url: bool, padded: bool },
    Hex { upper: bool },
    Plain,
}

/// What a text encodes, and how. A text that is no encoding stands for itself.
pub fn decoded(text: &str) -> (Vec<u8>, Coding) {
    let hex = text.len() >= 8 && text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if hex {
        let digit =
            |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()).unwrap_or_default();
        let bytes = text.as_bytes().chunks(2).map(|pair| pair.iter().fold(0, |sum, byte| (sum << 4) | digit(*byte)));
        return (bytes.collect(), Coding::Hex { upper: text.bytes().any(|byte| byte.is_ascii_uppercase()) });
    }
    if text.len() >= 4 {
        let url = !text.contains(['+', '/']);
        for url in [url, !url] {
            if let Ok(bytes) = engine(url, false).decode(text)
                && !bytes.is_empty()
            {
                return (bytes, Coding::Base64 { url, padded: text.ends_with('=') || text.len().is_multiple_of(4) });
            }
        }
    }
    (text.as_bytes().to_vec(), Coding::Plain)
}

pub fn encoded(bytes: &[u8], coding: Coding) -> String {
    match coding {
        Coding::Base64 { url, padded } => engine(url, padded).encode(bytes),
        Coding::Hex { upper } => {
            bytes.iter().map(|byte| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") }).collect()
        }
        Coding::Plain => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// The text with one bit of what it encodes flipped. A text of parts (`header.payload.signature`) has one part changed.
/// The result always differs from the text.
pub fn flipped(text: &str, at: u64) -> String {
    let parts: Vec<&str> = text.split('.').collect();
    let sizes = parts.iter().map(|part| part.len() as u64);
    let total: u64 = sizes.clone().sum();
    if total == 0 {
        return format!("{text}A");
    }
    // A place in the text decides the part, so that long parts are hit more often.
    let mut place = at % total;
    let chosen = sizes.into_iter().position(|size| match place.checked_sub(size) {
        Some(rest) => {
            place = rest;
            false
        }
        None => true,
    });
    let chosen = chosen.unwrap_or_default();
    let out: Vec<String> = parts
        .iter()
        .enumerate()
        .map(|(index, part)| if index == chosen { flipped_part(part, at) } else { (*part).to_owned() })
        .collect();
    out.join(".")
}

fn flipped_part(text: &str, at: u64) -> String {
    let (mut bytes, coding) = decoded(text);
    let index = usize::try_from(at).unwrap_or(usize::MAX) % bytes.len().max(1);
    if coding == Coding::Plain {
        // A bit of UTF-8 may be no text any more: another letter in its place.
        let target = text.char_indices().nth(index % text.chars().count().max(1)).map_or(0, |(at, _)| at);
        let changed = |c: char| if c == 'A' { 'B' } else { 'A' };
        return text.char_indices().map(|(at, c)| if at == target { changed(c) } else { c }).collect();
    }
    if let Some(byte) = bytes.get_mut(index) {
        *byte ^= 1 << ((at / 7) % 8);
    }
    encoded(&bytes, coding)
}

fn engine(url: bool, padded: bool) -> GeneralPurpose {
    let alphabet = if url { &alphabet::URL_SAFE } else { &alphabet::STANDARD };
    GeneralPurpose::new(alphabet, LENIENT.with_encode_padding(padded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_decoded_is_encoded_to_the_same_text() {
        for text in ["eyJvIjoyMH0=", "eyJvIjoyMH0", "_-8=", "+/8=", "deadbeef", "DEADBEEF", "page two", "", "7", "ÄÖ"]
        {
            let (bytes, coding) = decoded(text);
            assert_eq!(encoded(&bytes, coding), text, "{coding:?}");
        }
    }

    #[test]
    fn one_bit_of_what_is_encoded_changes() {
        for text in ["eyJvIjoyMH0=", "deadbeef", "plain text!", "a.b.c", "eyJhIjoxfQ.MTIzNA", "Ä", "", "."] {
            for at in 0..64 {
                assert_ne!(flipped(text, at), text);
            }
        }
        let (before, _) = decoded("deadbeef");
        let (after, _) = decoded(&flipped("deadbeef", 17));
        let bits: u32 = before.iter().zip(&after).map(|(a, b)| (a ^ b).count_ones()).sum();
        assert_eq!(bits, 1);
    }
}
