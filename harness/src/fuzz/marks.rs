//! Marks: texts that only one request sent. Where they come back tells whose answer it is.

use std::collections::VecDeque;

/// What begins every mark; nothing that a server says by itself holds it.
pub(super) const MARK: &str = "mcpconform";

/// The marks that went out of late.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks(VecDeque<Mark>);

#[derive(Clone, Debug)]
pub(super) struct Mark {
    pub(super) text: String,
    /// The conversation that it went out on.
    pub(super) conversation: u32,
    /// A tool that changes something was given it: others may well see it.
    pub(super) public: bool,
}

impl Marks {
    pub(super) fn note(&mut self, mark: Mark) {
        const MOST: usize = 512;
        self.0.push_back(mark);
        if self.0.len() > MOST {
            self.0.pop_front();
        }
    }

    /// Whether a mark of one's own is in some bytes, and the marks there that others sent.
    pub(super) fn foreign(
        &self,
        bytes: &[u8],
        own: Option<&str>,
        sent: &[String],
        conversation: u32,
    ) -> (bool, Vec<Foreign>) {
        let mut echoed = false;
        let mut out: Vec<Foreign> = Vec::new();
        for mark in marks_in(bytes) {
            if Some(mark.as_str()) == own || sent.contains(&mark) {
                echoed = true;
            } else if let Some(known) = self.0.iter().find(|known| known.text == mark)
                && !out.iter().any(|known| known.mark == mark)
            {
                out.push(Foreign { mark, elsewhere: known.conversation != conversation, public: known.public });
            }
        }
        (echoed, out)
    }
}

/// A text with all marks made alike.
pub(super) fn without_marks(text: &str) -> String {
    let mut parts = text.split(MARK);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(MARK);
        out.push_str(part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
    }
    out
}

/// Every mark in some bytes.
pub(super) fn marks_in(bytes: &[u8]) -> Vec<String> {
    let mut out = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(MARK.len()).position(|window| window == MARK.as_bytes()) {
        rest = rest.get(at..).unwrap_or_default();
        let length = MARK.len() + rest.iter().skip(MARK.len()).take_while(|byte| byte.is_ascii_hexdigit()).count();
        out.push(String::from_utf8_lossy(rest.get(..length).unwrap_or_default()).into_owned());
        rest = rest.get(length..).unwrap_or_default();
    }
    out
}

/// A mark that came back to another than the one who sent it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Foreign {
    pub(super) mark: String,
    /// It was sent in another conversation.
    pub(super) elsewhere: bool,
    /// Others may well see it.
    pub(super) public: bool,
}
