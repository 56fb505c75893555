//! Words and bytes for a POSIX shell. What was replaced in a trace becomes a variable, so that no line holds a secret.

use mcp_conform_reports::text;

/// What stands for a secret in everything that is recorded: `<secret:NAME>`.
const SECRET: &[u8] = b"<secret:";

/// Values that a line takes out of answers that it gets itself, with the shell variable that holds each.
#[derive(Clone, Debug, Default)]
pub struct Variables(Vec<(Vec<u8>, String)>);

impl Variables {
    pub(super) fn set(&mut self, value: &[u8], name: String) {
        self.0.push((value.to_vec(), name));
    }

    pub(super) fn holds(&self, value: &[u8]) -> bool {
        self.0.iter().any(|(known, _)| known == value)
    }
}

enum Piece {
    Bytes(Vec<u8>),
    /// The name of a variable.
    Variable(String),
}

fn pieces(bytes: &[u8], variables: &Variables) -> Vec<Piece> {
    let mut out = Vec::new();
    let mut plain = Vec::new();
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        let known = variables.0.iter().find(|(value, _)| rest.starts_with(value));
        let found = match known {
            Some((value, name)) => Some((value.len(), name.clone())),
            None => secret(rest),
        };
        match found {
            Some((length, name)) => {
                if !plain.is_empty() {
                    out.push(Piece::Bytes(std::mem::take(&mut plain)));
                }
                out.push(Piece::Variable(name));
                rest = rest.get(length..).unwrap_or_default();
            }
            None => {
                plain.push(*first);
                rest = rest.get(1..).unwrap_or_default();
            }
        }
    }
    if !plain.is_empty() {
        out.push(Piece::Bytes(plain));
    }
    out
}

/// The length of a placeholder that the bytes begin with, and the variable that stands for it.
fn secret(bytes: &[u8]) -> Option<(usize, String)> {
    /// A header or a variable has a shorter name; anything else is a text of the server's.
    const LONGEST: usize = 80;
    let name = bytes.strip_prefix(SECRET)?;
    let end = name.iter().take(LONGEST).position(|byte| *byte == b'>')?;
    let name = variable(&String::from_utf8_lossy(name.get(..end)?));
    Some((SECRET.len() + end + 1, name))
}

/// A name as a shell variable: `authorization` becomes `AUTHORIZATION`.
pub(super) fn variable(name: &str) -> String {
    let mut out: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect();
    if !out.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        out.insert_str(0, "SECRET_");
    }
    out
}

/// One word of a command; nothing where it has bytes that a word cannot hold, or that no page shows as they are.
pub fn word(bytes: &[u8], variables: &Variables) -> Option<String> {
    let mut out = String::new();
    for piece in pieces(bytes, variables) {
        match piece {
            Piece::Variable(name) => out.push_str(&format!("\"${name}\"")),
            Piece::Bytes(bytes) => out.push_str(&quoted(shown(&bytes)?)),
        }
    }
    Some(if out.is_empty() { "''".to_owned() } else { out })
}

fn quoted(text: &str) -> String {
    const SAFE: &str = "_-./:=,@%+";
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || SAFE.contains(c)) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The bytes as a text that every report shows as it stands.
fn shown(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|shown| text::clean(shown) == *shown)
}

/// A `printf` of exactly these bytes, and a line feed where one is wanted.
pub(super) fn printf(bytes: &[u8], line_feed: bool, variables: &Variables) -> String {
    let end = if line_feed { "\\n" } else { "" };
    if let Some(word) = word(bytes, variables) {
        return format!("printf '%s{end}' {word}");
    }
    let (mut form, mut arguments) = (String::new(), String::new());
    for piece in pieces(bytes, variables) {
        match piece {
            Piece::Variable(name) => {
                form.push_str("%s");
                arguments.push_str(&format!(" \"${name}\""));
            }
            Piece::Bytes(bytes) => bytes.iter().for_each(|byte| form.push_str(&escaped(*byte))),
        }
    }
    format!("printf '{form}{end}'{arguments}")
}

/// A byte in the format of `printf`, within single quotes.
fn escaped(byte: u8) -> String {
    match byte {
        b'%' => "%%".to_owned(),
        b'\\' => "\\\\".to_owned(),
        b'\'' => "\\047".to_owned(),
        b'\n' => "\\n".to_owned(),
        b'\r' => "\\r".to_owned(),
        b' '..=b'~' => char::from(byte).to_string(),
        other => format!("\\{other:03o}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured() -> Variables {
        let mut variables = Variables::default();
        variables.set(b"abc123", "session".to_owned());
        variables
    }

    #[test]
    fn secrets_and_captured_values_are_variables() {
        let word = |text: &str| word(text.as_bytes(), &captured());
        assert_eq!(word("a b").as_deref(), Some("'a b'"));
        assert_eq!(word("it's").as_deref(), Some("'it'\\''s'"));
        assert_eq!(word("").as_deref(), Some("''"));
        assert_eq!(word("x-key: <secret:x-api-key>").as_deref(), Some("'x-key: '\"$X_API_KEY\""));
        assert_eq!(word("{\"s\":\"abc123\"}").as_deref(), Some("'{\"s\":\"'\"$session\"'\"}'"));
        assert_eq!(word("a\u{202e}b"), None);
        // What a server makes up is a name at most.
        assert_eq!(word("<secret:$(id)>").as_deref(), Some("\"$__ID_\""));
        assert_eq!(word("<secret:").as_deref(), Some("'<secret:'"));
    }

    #[test]
    fn any_byte_can_be_printed() {
        let all: Vec<u8> = (0..=255).collect();
        let line = printf(&all, false, &Variables::default());
        let printed = std::process::Command::new("/bin/sh").args(["-c", &line]).output();
        #[cfg(unix)]
        assert_eq!(printed.map(|output| output.stdout).unwrap_or_default(), all);
        #[cfg(not(unix))]
        drop(printed);
    }
}
