//! Finding bytes eight at a time, for the parts of a message that are long and plain: [`find`] and [`find_special`].

/// Where the first of some bytes stands.
pub(super) fn find<const N: usize>(bytes: &[u8], wanted: [u8; N]) -> Option<usize> {
    let words = wanted.map(|byte| ONES * u64::from(byte));
    search(
        bytes,
        |word| words.iter().fold(0, |found, wanted| found | zero(word ^ wanted)),
        |byte| wanted.contains(&byte),
    )
}

/// Where the first byte stands that ends a plain part of a JSON string: a quote, a backslash or a control character.
pub(super) fn find_special(bytes: &[u8]) -> Option<usize> {
    let special = |word: u64| {
        zero(word ^ (ONES * 0x22)) | zero(word ^ (ONES * 0x5c)) | (word.wrapping_sub(ONES * 0x20) & !word & HIGHS)
    };
    search(bytes, special, |byte| byte < 0x20 || byte == b'"' || byte == b'\\')
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// Marks bytes that are zero by their high bit. Bytes above a zero may be marked too, but never one below the first.
fn zero(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGHS
}

/// `marks` sees eight bytes, the first of them lowest, and `one` what is left at the end.
fn search(bytes: &[u8], marks: impl Fn(u64) -> u64, one: impl Fn(u8) -> bool) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let marks = marks(u64::from_le_bytes(*word));
        if marks != 0 {
            return Some(index * 8 + marks.trailing_zeros() as usize / 8);
        }
    }
    rest.iter().position(|byte| one(*byte)).map(|at| words.len() * 8 + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_one_byte_at_a_time() {
        let special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
        for first in 0..=255_u8 {
            for place in 0..20 {
                let mut bytes = vec![first; 20];
                for byte in [b'"', b'\\', 0, 0x1f, 0x20, b'\n', b'\r', 0x80, 0xff] {
                    bytes[place] = byte;
                    assert_eq!(find_special(&bytes), bytes.iter().position(special), "{bytes:?}");
                    assert_eq!(find(&bytes, [byte]), bytes.iter().position(|other| *other == byte));
                    let ends = |byte: &u8| matches!(byte, b'\n' | b'\r');
                    assert_eq!(find(&bytes, [b'\n', b'\r']), bytes.iter().position(ends));
                }
            }
        }
        assert_eq!((find(&[], [0]), find_special(b"")), (None, None));
    }
}
