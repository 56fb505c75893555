//! Cutting stdout into lines: [`LineSplitter`]. Only 0x0A ends a line; what stands in a line is left to the frame.

use bytes::Bytes;

use super::scan::find;

/// Splits a stream of bytes at line feeds, in memory bounded by the limit. The lines do not depend on how the stream
/// came in pieces.
#[derive(Debug)]
pub struct LineSplitter {
    limit: usize,
    held: Vec<u8>,
    dropped: usize,
    /// The last byte of the unfinished line, which may be among the dropped.
    last: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Everything before the line feed, a carriage return included, up to the limit.
    pub raw: Bytes,
    pub end: LineEnd,
    /// Our limit: how many bytes were dropped after those in `raw`.
    pub cut: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineEnd {
    Lf,
    CrLf,
    /// The stream ended without a line feed.
    Eof,
}

impl LineSplitter {
    pub fn new(limit: usize) -> Self {
        Self { limit, held: Vec::new(), dropped: 0, last: None }
    }

    /// Takes the next piece of the stream and gives the lines that it finishes. They are split off before this
    /// returns, so that nothing is lost if the iterator is dropped.
    pub fn push(&mut self, piece: &[u8]) -> impl Iterator<Item = Line> + use<> {
        let mut lines = Vec::new();
        let mut rest = piece;
        while let Some((part, after)) = find(rest, [b'\n']).and_then(|at| rest.split_at_checked(at)) {
            self.hold(part);
            let end = if self.last == Some(b'\r') { LineEnd::CrLf } else { LineEnd::Lf };
            lines.push(self.line(end));
            rest = after.get(1..).unwrap_or_default();
        }
        self.hold(rest);
        lines.into_iter()
    }

    /// The rest, at the end of the stream, unless it ended with a line feed.
    pub fn finish(&mut self) -> Option<Line> {
        self.last.is_some().then(|| self.line(LineEnd::Eof))
    }

    /// Bytes of a line whose end has not come.
    pub fn pending(&self) -> usize {
        self.held.len() + self.dropped
    }

    fn hold(&mut self, part: &[u8]) {
        let room = self.limit.saturating_sub(self.held.len()).min(part.len());
        let (kept, dropped) = part.split_at_checked(room).unwrap_or((part, &[]));
        self.held.extend_from_slice(kept);
        self.dropped += dropped.len();
        self.last = part.last().copied().or(self.last);
    }

    fn line(&mut self, end: LineEnd) -> Line {
        let raw = Bytes::from(std::mem::take(&mut self.held));
        let cut = Some(std::mem::take(&mut self.dropped)).filter(|dropped| *dropped > 0);
        self.last = None;
        Line { raw, end, cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&str], limit: usize) -> Vec<(String, LineEnd, Option<usize>)> {
        let mut splitter = LineSplitter::new(limit);
        let mut lines: Vec<Line> = pieces.iter().flat_map(|piece| splitter.push(piece.as_bytes())).collect();
        lines.extend(splitter.finish());
        assert_eq!(splitter.finish(), None);
        lines.into_iter().map(|line| (String::from_utf8_lossy(&line.raw).into(), line.end, line.cut)).collect()
    }

    fn line(raw: &str, end: LineEnd) -> (String, LineEnd, Option<usize>) {
        (raw.into(), end, None)
    }

    #[test]
    fn only_a_line_feed_ends_a_line() {
        use LineEnd::*;
        assert_eq!(
            lines(&["a\n", "b\r", "\nc\rd\u{85}e\u{2028}f\n\n"], 100),
            [line("a", Lf), line("b\r", CrLf), line("c\rd\u{85}e\u{2028}f", Lf), line("", Lf)]
        );
        assert_eq!(lines(&["a", "b\nc", "\r"], 100), [line("ab", Lf), line("c\r", Eof)]);
        assert_eq!(lines(&[""], 100), []);
    }

    #[test]
    fn what_is_beyond_the_limit_is_counted_and_skipped() {
        let cut = lines(&["abcdef", "gh\r\nabcd\nabcde"], 4);
        assert_eq!(
            cut,
            [
                ("abcd".into(), LineEnd::CrLf, Some(5)),
                ("abcd".into(), LineEnd::Lf, None),
                ("abcd".into(), LineEnd::Eof, Some(1))
            ]
        );
    }

    #[test]
    fn an_endless_line_is_held_up_to_the_limit() {
        let mut splitter = LineSplitter::new(10);
        for _ in 0..1_000 {
            assert_eq!(splitter.push(&[b'x'; 1_000]).count(), 0);
        }
        assert!(splitter.held.capacity() < 100);
        assert_eq!(splitter.pending(), 1_000_000);
    }
}
