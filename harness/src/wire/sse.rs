//! An incremental decoder for event streams (WHATWG HTML, server-sent events): [`SseDecoder`]. Beside the events that
//! a client would see it shows what clients hide: comments, blocks without data, unknown fields, an unterminated last
//! block, bytes that are no UTF-8. The items do not depend on how the stream came in pieces, and memory is bounded.
//! What the data of an event means is left to the frame.

use std::sync::Arc;

use bytes::Bytes;

use super::limits::{LimitKind, Limits};
use super::printable::escaped;
use super::scan::find;

#[derive(Debug)]
pub struct SseDecoder {
    limits: Limits,
    /// Bytes of the stream taken so far.
    offset: u64,
    /// The last byte was a carriage return, so that a line feed now belongs to it.
    after_return: bool,
    at_start: bool,
    /// The block in work, its unfinished line included, up to the limit.
    block: Vec<u8>,
    /// Bytes of the block beyond the limit.
    dropped: usize,
    /// Where the unfinished line begins in `block`, and how long it really is.
    line: usize,
    line_bytes: usize,
    /// The fields of the finished lines of the block, if there was one.
    fields: Option<Fields>,
    last_event_id: Arc<str>,
    items: Vec<SseItem>,
    /// By kind.
    defects: [usize; SseDefectKind::COUNT],
    more_defects: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SseItem {
    Event(SseEvent),
    /// The text behind the colon of a comment line, one leading space removed.
    Comment(Bytes),
    /// Comes before the event or comment that it concerns.
    Defect(SseDefect),
}

/// A block of lines with at least one field that the standard knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent {
    /// The last `event` field; empty means the same as none to a client.
    pub event: Option<String>,
    /// The last valid `id` field of this block.
    pub id: Option<String>,
    /// What a client would send as `Last-Event-ID` after this block. Shared, because a long one stands at every event.
    pub last_event_id: Arc<str>,
    /// The `data` lines joined by line feeds, byte for byte. Without any: nothing, which is not the same as empty.
    pub data: Option<Bytes>,
    /// The last valid `retry` field, else the last invalid one.
    pub retry: Option<RetryField>,
    /// From the first field to the blank line. Of a CR LF that ends the blank line only the CR, because an event is
    /// told as soon as it is complete.
    pub raw: Bytes,
    /// Where `raw` begins in the stream.
    pub offset: u64,
    /// Whether a browser would hand it to the page: it has data and its blank line.
    pub dispatched: bool,
    /// Whether its blank line came. If not, clients throw the block away.
    pub terminated: bool,
    /// Our limit: how many bytes of the block were dropped after those in `raw`.
    pub cut: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryField {
    pub raw: String,
    /// Only if `raw` is nothing but digits.
    pub milliseconds: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseDefect {
    pub kind: SseDefectKind,
    /// In the stream.
    pub offset: u64,
    /// For people, as a lower-case fragment.
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SseDefectKind {
    /// At the start of the stream, where it is legal and skipped.
    ByteOrderMark,
    InvalidUtf8,
    /// A line that is neither a comment nor a field that the standard knows; clients skip it.
    /// A line that begins as a JSON object does: a message without `data:`, which no client sees.
    JsonOutsideData,
    UnknownField,
    /// An `id` that clients ignore.
    NulInId,
    /// A `retry` that clients ignore.
    BadRetry,
    /// An `event`, `id` or `retry` that stood before in the same block. Legal; the last one counts.
    RepeatedField,
    /// The stream ended inside a block with fields.
    Unterminated,
    /// Not the server's fault: a bound of ours kept us from reading on.
    OurLimit(LimitKind),
}

impl SseDecoder {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            offset: 0,
            after_return: false,
            at_start: true,
            block: Vec::new(),
            dropped: 0,
            line: 0,
            line_bytes: 0,
            fields: None,
            last_event_id: Arc::from(""),
            items: Vec::new(),
            defects: [0; SseDefectKind::COUNT],
            more_defects: false,
        }
    }

    /// Takes the next piece of the stream and gives what it completes.
    pub fn push(&mut self, piece: &[u8]) -> Vec<SseItem> {
        let mut rest = piece;
        while let Some(first) = rest.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                // The second half of CR LF; of a finished block it is nowhere kept.
                if !self.block.is_empty() || self.dropped > 0 {
                    self.keep(b"\n");
                    self.line = self.block.len();
                }
                self.offset += 1;
                rest = rest.get(1..).unwrap_or_default();
                continue;
            }
            let end = find(rest, [b'\n', b'\r']);
            let (part, after) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or((rest, &[]));
            self.keep(part);
            self.line_bytes += part.len();
            self.offset += part.len() as u64;
            rest = after;
            if let Some((end, after)) = rest.split_first() {
                self.end_line(*end);
                self.after_return = *end == b'\r';
                self.offset += 1;
                rest = after;
            }
        }
        std::mem::take(&mut self.items)
    }

    /// Ends the stream and gives what was left unfinished.
    pub fn finish(&mut self) -> Vec<SseItem> {
        if self.line_bytes > 0 {
            self.read_line();
        }
        if let Some(fields) = self.fields.take() {
            self.defect(SseDefectKind::Unterminated, self.offset, "the stream ends before the blank line".into());
            self.event(fields, false);
        }
        self.reset();
        self.after_return = false;
        std::mem::take(&mut self.items)
    }

    /// What a client would send as `Last-Event-ID` now.
    pub fn last_event_id(&self) -> &str {
        &self.last_event_id
    }

    fn keep(&mut self, part: &[u8]) {
        let room = self.limits.bytes.saturating_sub(self.block.len()).min(part.len());
        let (kept, dropped) = part.split_at_checked(room).unwrap_or((part, &[]));
        self.block.extend_from_slice(kept);
        if self.dropped == 0 && !dropped.is_empty() {
            let message = format!("not read by us: what is beyond {} bytes of the block", self.limits.bytes);
            let offset = self.offset + kept.len() as u64;
            self.defect(SseDefectKind::OurLimit(LimitKind::Bytes), offset, message);
        }
        self.dropped = self.dropped.saturating_add(dropped.len());
    }

    /// Ends the line before the byte `end`, which is the next of the stream.
    fn end_line(&mut self, end: u8) {
        if self.line_bytes == 0 {
            if let Some(fields) = self.fields.take() {
                self.keep(&[end]);
                self.event(fields, true);
            }
            self.reset();
            self.at_start = false;
            return;
        }
        self.read_line();
        if self.fields.is_none() {
            // Comments before the first field belong to no event; endless ones must not fill the block.
            self.reset();
            return;
        }
        self.keep(&[end]);
        self.line = self.block.len();
        self.line_bytes = 0;
    }

    fn reset(&mut self) {
        self.block.clear();
        self.dropped = 0;
        self.line = 0;
        self.line_bytes = 0;
    }

    fn event(&mut self, fields: Fields, terminated: bool) {
        if terminated && let Some(id) = &fields.id {
            self.last_event_id = id.as_str().into();
        }
        let raw = Bytes::from(std::mem::take(&mut self.block));
        self.items.push(SseItem::Event(SseEvent {
            dispatched: terminated && fields.data.is_some(),
            event: fields.event,
            id: fields.id,
            last_event_id: self.last_event_id.clone(),
            data: fields.data.map(Bytes::from),
            retry: fields.retry,
            raw,
            offset: fields.offset,
            terminated,
            cut: Some(self.dropped).filter(|dropped| *dropped > 0),
        }));
    }

    /// Reads the line that just ended, or that the end of the stream cut off.
    fn read_line(&mut self) {
        let block = std::mem::take(&mut self.block);
        self.interpret(block.get(self.line..).unwrap_or_default());
        self.block = block;
    }

    /// Reads a line, of which the end may be missing.
    fn interpret(&mut self, line: &[u8]) {
        let begin = self.offset - self.line_bytes as u64;
        let cut = line.len() < self.line_bytes;
        let mut text = line;
        let mut at = begin;
        if std::mem::take(&mut self.at_start)
            && let Some(rest) = text.strip_prefix(BYTE_ORDER_MARK)
        {
            self.defect(SseDefectKind::ByteOrderMark, at, "byte order mark at the start of the stream".into());
            text = rest;
            at += BYTE_ORDER_MARK.len() as u64;
        }
        if cut && !text.contains(&b':') {
            // What the field was called is beyond our limit.
            return;
        }
        if text.is_empty() {
            // Nothing but a byte order mark: a blank line before any field.
            return;
        }
        if let Err(error) = std::str::from_utf8(text)
            && (!cut || error.error_len().is_some())
        {
            let message = "bytes that are no UTF-8".into();
            self.defect(SseDefectKind::InvalidUtf8, at + error.valid_up_to() as u64, message);
        }
        if let Some(comment) = text.strip_prefix(b":") {
            let comment = comment.strip_prefix(b" ").unwrap_or(comment);
            self.items.push(SseItem::Comment(Bytes::copy_from_slice(comment)));
            return;
        }
        let colon = text.iter().position(|byte| *byte == b':').unwrap_or(text.len());
        let (name, value) = text.split_at_checked(colon).unwrap_or((text, &[]));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        if !matches!(name, b"data" | b"event" | b"id" | b"retry") {
            if name.starts_with(b"{") {
                let message = format!("JSON outside of a data field: '{}'", excerpt(name));
                self.defect(SseDefectKind::JsonOutsideData, at, message);
                return;
            }
            let message = format!("unknown field '{}'", excerpt(name));
            self.defect(SseDefectKind::UnknownField, at, message);
            return;
        }
        let mut fields = self.fields.take().unwrap_or_else(|| Fields { offset: begin, ..Fields::default() });
        self.field(&mut fields, name, value, at);
        self.fields = Some(fields);
    }

    fn field(&mut self, fields: &mut Fields, name: &[u8], value: &[u8], at: u64) {
        let text = || String::from_utf8_lossy(value).into_owned();
        let seen = match name {
            b"data" => {
                match &mut fields.data {
                    Some(data) => {
                        data.push(b'\n');
                        data.extend_from_slice(value);
                    }
                    None => fields.data = Some(value.to_vec()),
                }
                return;
            }
            b"event" => {
                fields.event = Some(text());
                &mut fields.seen_event
            }
            b"id" => {
                if value.contains(&0) {
                    self.defect(SseDefectKind::NulInId, at, "NUL in an id, which clients ignore".into());
                } else {
                    fields.id = Some(text());
                }
                &mut fields.seen_id
            }
            _ => {
                let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
                let retry = RetryField { raw: text(), milliseconds: text().parse().ok().filter(|_| digits) };
                let valid = retry.milliseconds.is_some();
                if !valid {
                    let message = format!("retry that is no number of milliseconds: '{}'", excerpt(value));
                    self.defect(SseDefectKind::BadRetry, at, message);
                }
                if valid || fields.retry.as_ref().is_none_or(|retry| retry.milliseconds.is_none()) {
                    fields.retry = Some(retry);
                }
                &mut fields.seen_retry
            }
        };
        if std::mem::replace(seen, true) {
            let message = format!("second {} in one block", String::from_utf8_lossy(name));
            self.defect(SseDefectKind::RepeatedField, at, message);
        }
    }

    fn defect(&mut self, kind: SseDefectKind, offset: u64, message: String) {
        let Some(count) = self.defects.get_mut(kind.index()) else { return };
        *count += 1;
        if *count <= self.limits.defects {
            self.items.push(SseItem::Defect(SseDefect { kind, offset, message }));
        } else if !std::mem::replace(&mut self.more_defects, true) {
            let kind = SseDefectKind::OurLimit(LimitKind::Defects);
            let message = "more defects than are told".into();
            self.items.push(SseItem::Defect(SseDefect { kind, offset, message }));
        }
    }
}

impl SseDefectKind {
    const COUNT: usize = 9;

    fn index(self) -> usize {
        match self {
            Self::ByteOrderMark => 0,
            Self::InvalidUtf8 => 1,
            Self::UnknownField => 2,
            Self::NulInId => 3,
            Self::BadRetry => 4,
            Self::RepeatedField => 5,
            Self::Unterminated => 6,
            Self::OurLimit(_) => 7,
            Self::JsonOutsideData => 8,
        }
    }
}

#[derive(Debug, Default)]
struct Fields {
    offset: u64,
    event: Option<String>,
    id: Option<String>,
    data: Option<Vec<u8>>,
    retry: Option<RetryField>,
    seen_event: bool,
    seen_id: bool,
    seen_retry: bool,
}

fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 40;
    match bytes.get(..SHOWN) {
        Some(head) if head.len() < bytes.len() => format!("{}…", escaped(head)),
        _ => escaped(bytes),
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(pieces: &[&[u8]]) -> Vec<SseItem> {
        let mut decoder = SseDecoder::new(Limits::default());
        let mut items: Vec<SseItem> = pieces.iter().flat_map(|piece| decoder.push(piece)).collect();
        items.extend(decoder.finish());
        items
    }

    fn events(items: &[SseItem]) -> Vec<&SseEvent> {
        items.iter().filter_map(|item| if let SseItem::Event(event) = item { Some(event) } else { None }).collect()
    }

    fn data(text: &str) -> Vec<Option<String>> {
        let items = decode(&[text.as_bytes()]);
        let text = |data: &Bytes| String::from_utf8_lossy(data).into_owned();
        events(&items).iter().map(|event| event.data.as_ref().map(text)).collect()
    }

    fn defects(items: &[SseItem]) -> Vec<(SseDefectKind, u64)> {
        let defect = |item: &SseItem| match item {
            SseItem::Defect(defect) => Some((defect.kind, defect.offset)),
            _ => None,
        };
        items.iter().filter_map(defect).collect()
    }

    fn some(text: &str) -> Option<String> {
        Some(text.into())
    }

    #[test]
    fn data_lines_are_joined() {
        assert_eq!(data("data: a\ndata:b\ndata\ndata:  c\n\n"), [some("a\nb\n\n c")]);
        assert_eq!(data("data: a\r\ndata: b\r\n\r\n"), [some("a\nb")]);
        assert_eq!(
            data("data: a\r\rdata: b\r\n\r\ndata: c\n\r\ndata: d\r\n\r"),
            [some("a"), some("b"), some("c"), some("d")]
        );
    }

    #[test]
    fn no_data_is_not_empty_data() {
        let items = decode(&[b"id: 1\n\ndata\n\nid: 2\ndata:\n\nevent: x\n\n"]);
        let seen: Vec<_> = events(&items)
            .iter()
            .map(|event| (event.data.as_ref().map(Bytes::len), event.dispatched, event.last_event_id.to_string()))
            .collect();
        assert_eq!(
            seen,
            [
                (None, false, "1".into()),
                (Some(0), true, "1".into()),
                (Some(0), true, "2".into()),
                (None, false, "2".into())
            ]
        );
    }

    #[test]
    fn ids_last_until_the_next() {
        let items = decode(&[b"id: 7\ndata: a\n\ndata: b\n\nid\ndata: c\n\nid: 8\0\ndata: d\n\nid: 9\ndata: e\n"]);
        let seen: Vec<_> =
            events(&items).iter().map(|event| (event.id.as_deref(), event.last_event_id.as_ref())).collect();
        assert_eq!(seen, [(Some("7"), "7"), (None, "7"), (Some(""), ""), (None, ""), (Some("9"), "")]);
        assert_eq!(defects(&items), [(SseDefectKind::NulInId, 36), (SseDefectKind::Unterminated, 66)]);
    }

    #[test]
    fn what_clients_hide_is_told() {
        let items = decode(&[b"\xef\xbb\xbf: hello\n\nfoo: 1\ndata: a\n:b\nretry: +5\nretry: 70\n{\"x\":\xff}\n\n"]);
        assert_eq!(
            defects(&items),
            [
                (SseDefectKind::ByteOrderMark, 0),
                (SseDefectKind::UnknownField, 12),
                (SseDefectKind::BadRetry, 30),
                (SseDefectKind::RepeatedField, 40),
                (SseDefectKind::InvalidUtf8, 55),
                (SseDefectKind::JsonOutsideData, 50),
            ]
        );
        let comments: Vec<_> = items.iter().filter(|item| matches!(item, SseItem::Comment(_))).cloned().collect();
        assert_eq!(comments, [SseItem::Comment("hello".into()), SseItem::Comment("b".into())]);
        let event = events(&items)[0];
        assert_eq!(event.retry, Some(RetryField { raw: "70".into(), milliseconds: Some(70) }));
        assert_eq!(
            (event.offset, event.raw.starts_with(b"data: a\n:b\n"), event.raw.ends_with(b"}\n\n")),
            (19, true, true)
        );
    }

    #[test]
    fn an_event_is_told_at_its_last_byte() {
        for stream in ["data: a\n\n", "data: a\r\r", "data: a\r\n\r"] {
            let mut decoder = SseDecoder::new(Limits::default());
            assert_eq!(events(&decoder.push(stream.as_bytes())).len(), 1, "{stream:?}");
            assert_eq!(decoder.push(b"\n"), []);
            assert_eq!(decoder.finish(), []);
        }
    }

    #[test]
    fn an_unterminated_block_is_shown() {
        let items = decode(&[b"id: 3\ndata: a"]);
        let event = events(&items)[0];
        assert_eq!((event.terminated, event.dispatched), (false, false));
        assert_eq!(
            (event.data.as_deref(), &*event.last_event_id, event.id.as_deref()),
            (Some(&b"a"[..]), "", Some("3"))
        );
    }

    #[test]
    fn a_block_beyond_the_limit_is_cut() {
        let limits = Limits { bytes: 20, ..Limits::default() };
        let mut decoder = SseDecoder::new(limits);
        let mut items = decoder.push(b"id: 5\ndata: 0123456789abcdef\ndata: more\n\ndata: b\n\n");
        items.extend(decoder.finish());
        let seen = events(&items);
        assert_eq!((seen[0].data.as_deref(), seen[0].cut), (Some(&b"01234567"[..]), Some(21)));
        assert_eq!((seen[0].id.as_deref(), seen[0].terminated), (Some("5"), true));
        assert_eq!((seen[1].data.as_deref(), seen[1].cut), (Some(&b"b"[..]), None));
        assert_eq!(defects(&items), [(SseDefectKind::OurLimit(LimitKind::Bytes), 20)]);
    }

    #[test]
    fn a_cut_makes_no_other_defect() {
        for (stream, bytes) in [("data: aé\n\n", 8), ("data: a\n: é\n\n", 11), ("data: a\nda: b\n\n", 9)] {
            let mut decoder = SseDecoder::new(Limits { bytes, ..Limits::default() });
            let items = decoder.push(stream.as_bytes());
            assert_eq!(defects(&items), [(SseDefectKind::OurLimit(LimitKind::Bytes), bytes as u64)], "{stream:?}");
            assert!(events(&items)[0].cut.is_some());
        }
    }

    #[test]
    fn endless_comments_hold_no_memory() {
        let mut decoder = SseDecoder::new(Limits { bytes: 1_000, ..Limits::default() });
        for _ in 0..10_000 {
            assert_eq!(decoder.push(b": keep alive\n").len(), 1);
        }
        assert_eq!(decoder.block.len(), 0);
    }
}
