//! Bytes of a server as text for a person.

/// Text with every byte that is no printable character escaped as `\xNN`.
pub fn printable(raw: &[u8]) -> String {
    let mut out = String::with_capacity(raw.len());
    for chunk in raw.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() {
                let mut buffer = [0; 4];
                for byte in c.encode_utf8(&mut buffer).bytes() {
                    out.push_str(&format!("\\x{byte:02x}"));
                }
            } else {
                out.push(c);
            }
        }
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

/// The same for text of several lines: only bytes that are no UTF-8 are spelled out.
pub fn escaped(raw: &[u8]) -> String {
    let mut out = String::with_capacity(raw.len());
    for chunk in raw.utf8_chunks() {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_spelled_out() {
        assert_eq!(printable(b"a\xff\n\x1b[31m\xc3\xa9\xc3"), "a\\xff\\x0a\\x1b[31m\u{e9}\\xc3");
        assert_eq!(escaped(b"a\xff\n\xc3\xa9\xc3"), "a\\xff\n\u{e9}\\xc3");
    }
}
