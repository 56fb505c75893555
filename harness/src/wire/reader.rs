//! The strict JSON reader (RFC 8259) over bytes. It builds the tree without recursion, points at the first byte that
//! is wrong, and remarks on what the grammar allows but other readers hide. [`read`] is for texts that must be whole;
//! [`examine`] also tells what could be made out of a broken or too big message, so that an answer can be attributed.

use std::borrow::Cow;

use super::fault::{JsonError, JsonErrorKind, Reading, Remark, RemarkKind};
use super::json::{Json, JsonKind, Member, Span, duplicates, push_index, push_token};
use super::limits::{LimitKind, Limits, MAX_DEPTH};
use super::number::Number;
use super::scan::find_special;

pub(super) fn read(bytes: &[u8], limits: &Limits) -> Result<Reading, JsonError> {
    let examined = examine(bytes, 0, limits, false);
    let reading = examined.outcome.map_err(|(error, _)| error)?;
    match examined.limit {
        Some((kind, offset)) => {
            let pointer = reading.pointer_of(offset);
            Err(JsonError { kind: JsonErrorKind::Limit(kind), offset, pointer })
        }
        None => Ok(Reading { json: reading, remarks: examined.remarks }),
    }
}

/// What was made out of a text.
pub(super) struct Examined {
    /// The tree; or the error and the members of the outermost object that were read before it.
    pub(super) outcome: Result<Json, (JsonError, Vec<Member>)>,
    /// The bound that was passed, and where; of several the bytes, else the first. With any other than the bytes the
    /// whole text was checked all the same, but the tree lacks what lies beyond: it serves to classify the message, not
    /// to judge it.
    pub(super) limit: Option<(LimitKind, usize)>,
    pub(super) remarks: Vec<Remark>,
    /// Whether all bytes are UTF-8, those beyond a limit included.
    pub(super) utf8: bool,
}

/// Reads from `start`, which leaves room for a byte order mark; all offsets count from the start of `bytes`. With
/// `more`, bytes followed that are lost, so that the end is no end.
pub(super) fn examine(bytes: &[u8], start: usize, limits: &Limits, more: bool) -> Examined {
    let text = std::str::from_utf8(bytes).ok();
    let (bytes, cut) = match bytes.get(..limits.bytes) {
        Some(head) if head.len() < bytes.len() => (head, true),
        _ => (bytes, more),
    };
    let mut reader = Reader {
        bytes,
        text,
        pos: start,
        depth: limits.depth.min(MAX_DEPTH),
        nodes_left: limits.nodes,
        remarks_left: [limits.defects.saturating_add(1); 4],
        limit: None,
        remarks: Vec::new(),
        open: Vec::new(),
        beyond: Vec::new(),
        beyond_start: start,
        items: Vec::new(),
        members: Vec::new(),
    };
    let mut outcome = reader.text();
    if cut {
        // The end that was found, if any, is one that we made.
        let kind = JsonErrorKind::Limit(LimitKind::Bytes);
        let error = JsonError { kind, offset: bytes.len(), pointer: String::new() };
        reader.limit = Some((LimitKind::Bytes, bytes.len()));
        outcome = Err(match outcome {
            Err((fault, salvage)) if fault.is_end() => (error, salvage),
            Err(broken) => broken,
            Ok(json) => (error, outermost(json)),
        });
    }
    let mut remarks = reader.remarks;
    remarks.sort_by_key(|remark| remark.span.start);
    Examined { outcome, limit: reader.limit, remarks, utf8: text.is_some() }
}

struct Reader<'a> {
    bytes: &'a [u8],
    /// The same bytes, if all of them are UTF-8.
    text: Option<&'a str>,
    pos: usize,
    depth: usize,
    nodes_left: usize,
    /// By kind, so that many of one kind do not hide another.
    remarks_left: [usize; 4],
    limit: Option<(LimitKind, usize)>,
    remarks: Vec<Remark>,
    open: Vec<Open>,
    /// Containers beyond a limit, checked but not kept; true for objects. One byte each, because a server may nest
    /// as deep as its message is long.
    beyond: Vec<bool>,
    beyond_start: usize,
    /// Finished children of the open arrays and objects, those of the innermost last. One stack each instead of a
    /// vector for every open container makes every container exactly as big as it has to be.
    items: Vec<Json>,
    members: Vec<Member>,
}

/// An array or object whose end has not been seen.
struct Open {
    start: usize,
    /// Where its children begin on their stack.
    first: usize,
    /// Children seen, for the pointer of an error.
    count: usize,
    kind: OpenKind,
}

enum OpenKind {
    Array,
    /// With the name whose value comes next.
    Object(Option<(Box<str>, Span)>),
}

enum Within {
    Nothing,
    Array,
    Object,
}

type Fault = (JsonErrorKind, usize);

impl<'a> Reader<'a> {
    fn text(&mut self) -> Result<Json, (JsonError, Vec<Member>)> {
        let fault = match self.value() {
            Ok(json) => {
                self.blank();
                let Some(byte) = self.peek() else { return Ok(json) };
                let kind = if self.comment(byte) { JsonErrorKind::Comment } else { JsonErrorKind::TrailingGarbage };
                return Err((JsonError { kind, offset: self.pos, pointer: String::new() }, outermost(json)));
            }
            Err(fault) => fault,
        };
        Err((JsonError { kind: fault.0, offset: fault.1, pointer: self.pointer() }, self.salvage()))
    }

    /// One value with all that is in it. Every round reads a scalar or opens a container; a finished value is handed
    /// to its container, which may finish that one in turn.
    fn value(&mut self) -> Result<Json, Fault> {
        self.blank();
        if self.peek().is_none() {
            return Err((JsonErrorKind::Empty, self.pos));
        }
        'value: loop {
            let mut done = match self.peek() {
                Some(byte @ (b'[' | b'{')) => {
                    self.open(byte == b'{');
                    self.blank();
                    match (byte, self.peek()) {
                        (b'[', Some(b']')) | (b'{', Some(b'}')) => self.close(),
                        (b'[', _) => continue 'value,
                        _ => {
                            self.name()?;
                            continue 'value;
                        }
                    }
                }
                _ => self.scalar()?,
            };
            loop {
                let within = self.within();
                if matches!(within, Within::Nothing) {
                    return Ok(done);
                }
                self.attach(done);
                self.blank();
                match (within, self.peek()) {
                    (Within::Array, Some(b']')) | (Within::Object, Some(b'}')) => done = self.close(),
                    (within, Some(b',')) => {
                        let comma = self.pos;
                        self.pos += 1;
                        self.blank();
                        match (within, self.peek()) {
                            (_, Some(b']' | b'}')) => return Err((JsonErrorKind::TrailingComma, comma)),
                            (Within::Object, _) => self.name()?,
                            _ => {}
                        }
                        continue 'value;
                    }
                    (_, Some(byte)) if self.comment(byte) => return Err((JsonErrorKind::Comment, self.pos)),
                    (_, Some(byte)) => return Err((JsonErrorKind::UnexpectedByte(byte), self.pos)),
                    (_, None) => return Err((JsonErrorKind::UnexpectedEnd, self.pos)),
                }
            }
        }
    }

    fn within(&self) -> Within {
        match (self.beyond.last(), self.open.last().map(|open| &open.kind)) {
            (Some(true), _) | (None, Some(OpenKind::Object(_))) => Within::Object,
            (Some(false), _) | (None, Some(OpenKind::Array)) => Within::Array,
            (None, None) => Within::Nothing,
        }
    }

    fn open(&mut self, object: bool) {
        let start = self.pos;
        self.pos += 1;
        if self.beyond.is_empty() {
            if self.open.len() >= self.depth {
                self.limit.get_or_insert((LimitKind::Depth, start));
            } else if self.nodes_left == 0 {
                self.limit.get_or_insert((LimitKind::Nodes, start));
            } else {
                let (first, kind) = match object {
                    true => (self.members.len(), OpenKind::Object(None)),
                    false => (self.items.len(), OpenKind::Array),
                };
                self.open.push(Open { start, first, count: 0, kind });
                return;
            }
            self.beyond_start = start;
        }
        self.beyond.push(object);
    }

    /// Finishes the innermost container; of one beyond a limit only its type and place are kept.
    fn close(&mut self) -> Json {
        self.pos += 1;
        if let Some(object) = self.beyond.pop() {
            let kind = if object { JsonKind::Object(Vec::new()) } else { JsonKind::Array(Vec::new()) };
            return Json { kind, span: Span { start: self.beyond_start, end: self.pos } };
        }
        let Some(open) = self.open.pop() else {
            return Json { kind: JsonKind::Null, span: Span { start: self.pos, end: self.pos } };
        };
        let kind = match open.kind {
            OpenKind::Array => JsonKind::Array(top(&mut self.items, open.first)),
            OpenKind::Object(_) => {
                let members = top(&mut self.members, open.first);
                for member in duplicates(&members) {
                    self.remark(RemarkKind::DuplicateKey, member.name_span);
                }
                JsonKind::Object(members)
            }
        };
        Json { kind, span: Span { start: open.start, end: self.pos } }
    }

    /// Hands a finished value to the innermost container, unless a limit forbids to keep it.
    fn attach(&mut self, value: Json) {
        if !self.beyond.is_empty() {
            return;
        }
        let outermost = self.open.len() == 1;
        let Some(open) = self.open.last_mut() else { return };
        open.count += 1;
        let keep = self.nodes_left > 0;
        if keep {
            self.nodes_left -= 1;
        } else {
            self.limit.get_or_insert((LimitKind::Nodes, value.span.start));
        }
        match &mut open.kind {
            OpenKind::Array if keep => self.items.push(value),
            OpenKind::Array => {}
            OpenKind::Object(name) => {
                let Some((name, name_span)) = name.take() else { return };
                // What a message is stays known although its result is too big.
                let envelope = outermost && ENVELOPE.contains(&&*name) && self.members.len() < open.first + SPARE;
                if keep || envelope {
                    self.members.push(Member { name, name_span, value });
                }
            }
        }
    }

    fn name(&mut self) -> Result<(), Fault> {
        match self.peek() {
            Some(b'"') => {}
            Some(b'\'') => return Err((JsonErrorKind::SingleQuote, self.pos)),
            Some(byte) if self.comment(byte) => return Err((JsonErrorKind::Comment, self.pos)),
            Some(byte) if byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$') => {
                return Err((JsonErrorKind::UnquotedName, self.pos));
            }
            Some(byte) => return Err((JsonErrorKind::UnexpectedByte(byte), self.pos)),
            None => return Err((JsonErrorKind::UnexpectedEnd, self.pos)),
        }
        let start = self.pos;
        let name = self.string()?;
        let name_span = Span { start, end: self.pos };
        if self.beyond.is_empty()
            && let Some(Open { kind: OpenKind::Object(next), .. }) = self.open.last_mut()
        {
            *next = Some((name, name_span));
        }
        self.blank();
        match self.peek() {
            Some(b':') => self.pos += 1,
            Some(byte) if self.comment(byte) => return Err((JsonErrorKind::Comment, self.pos)),
            Some(byte) => return Err((JsonErrorKind::UnexpectedByte(byte), self.pos)),
            None => return Err((JsonErrorKind::UnexpectedEnd, self.pos)),
        }
        self.blank();
        Ok(())
    }

    fn scalar(&mut self) -> Result<Json, Fault> {
        let start = self.pos;
        let kind = match self.peek() {
            Some(b'"') => JsonKind::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => JsonKind::Number(self.number()?),
            _ if self.literal(b"true") => JsonKind::Bool(true),
            _ if self.literal(b"false") => JsonKind::Bool(false),
            _ if self.literal(b"null") => JsonKind::Null,
            Some(b'\'') => return Err((JsonErrorKind::SingleQuote, start)),
            Some(b'+') => return Err((JsonErrorKind::PlusSign, start)),
            Some(b'.') => return Err((JsonErrorKind::BadNumber, start)),
            Some(byte) if self.comment(byte) => return Err((JsonErrorKind::Comment, start)),
            Some(b'N' | b'I') if self.literal(b"NaN") || self.literal(b"Infinity") => {
                return Err((JsonErrorKind::NotANumber, start));
            }
            // A word that the end cut off is no unknown word.
            Some(_) if [&b"true"[..], b"false", b"null"].iter().any(|word| word.starts_with(self.rest())) => {
                return Err((JsonErrorKind::UnexpectedEnd, self.bytes.len()));
            }
            Some(byte) if byte.is_ascii_alphabetic() => return Err((JsonErrorKind::BadLiteral, start)),
            Some(byte) => return Err((JsonErrorKind::UnexpectedByte(byte), start)),
            None => return Err((JsonErrorKind::UnexpectedEnd, start)),
        };
        Ok(Json { kind, span: Span { start, end: self.pos } })
    }

    fn literal(&mut self, word: &[u8]) -> bool {
        let found = self.rest().starts_with(word);
        if found {
            self.pos += word.len();
        }
        found
    }

    fn number(&mut self) -> Result<Number, Fault> {
        let start = self.pos;
        if self.peek() == Some(b'-') {
            self.pos += 1;
            if self.literal(b"Infinity") || self.literal(b"NaN") {
                return Err((JsonErrorKind::NotANumber, start));
            }
        }
        let whole = self.pos;
        self.digits()?;
        if self.bytes.get(whole) == Some(&b'0') && self.pos > whole + 1 {
            return Err((JsonErrorKind::LeadingZero, whole));
        }
        if self.peek() == Some(b'.') {
            self.pos += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.pos += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.pos += 1;
            }
            self.digits()?;
        }
        let span = Span { start, end: self.pos };
        let number = Number::from_checked(std::str::from_utf8(self.slice(span)).unwrap_or("0"));
        if number.beyond_double() {
            self.remark(RemarkKind::NumberBeyondDouble, span);
        }
        Ok(number)
    }

    fn digits(&mut self) -> Result<(), Fault> {
        let start = self.pos;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.pos += 1;
        }
        match self.peek() {
            _ if self.pos > start => Ok(()),
            Some(_) => Err((JsonErrorKind::BadNumber, start)),
            None => Err((JsonErrorKind::UnexpectedEnd, start)),
        }
    }

    /// A string from its opening quote to behind its closing one.
    fn string(&mut self) -> Result<Box<str>, Fault> {
        let opening = self.pos;
        self.pos += 1;
        let start = self.pos;
        self.plain();
        if self.peek() == Some(b'"') {
            let text = self.piece(Span { start, end: self.pos });
            self.pos += 1;
            return Ok(text.into());
        }
        let mut text = String::from(self.piece(Span { start, end: self.pos }));
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(text.into());
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(byte) => return Err((JsonErrorKind::ControlCharacter(byte), self.pos)),
                None => return Err((JsonErrorKind::UnterminatedString, opening)),
            }
            let start = self.pos;
            self.plain();
            let piece = self.piece(Span { start, end: self.pos });
            text.push_str(&piece);
        }
    }

    /// Skips to the next quote, backslash or control character.
    fn plain(&mut self) {
        self.pos = find_special(self.rest()).map_or(self.bytes.len(), |at| self.pos + at);
    }

    /// The text of a part of a string without escapes.
    fn piece(&mut self, span: Span) -> Cow<'a, str> {
        if let Some(text) = self.text.and_then(|text| text.get(span.start..span.end)) {
            return Cow::Borrowed(text);
        }
        let bytes = self.bytes;
        let part = bytes.get(span.start..span.end).unwrap_or_default();
        let mut start = span.start;
        for chunk in part.utf8_chunks() {
            start += chunk.valid().len();
            let end = start + chunk.invalid().len();
            if start < end {
                self.remark(RemarkKind::InvalidUtf8, Span { start, end });
            }
            start = end;
        }
        String::from_utf8_lossy(part)
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let start = self.pos;
        self.pos += 2;
        Ok(match self.bytes.get(start + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let unit = self.hex(start)?;
                if let Some(char) = char::from_u32(unit) {
                    return Ok(char);
                }
                let behind = self.pos;
                if unit < 0xdc00 && self.literal(b"\\u") {
                    let low = self.hex(behind)?;
                    if (0xdc00..0xe000).contains(&low) {
                        let code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                        return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                    }
                    // The second escape stands for itself and is read again.
                    self.pos = behind;
                }
                self.remark(RemarkKind::LoneSurrogate, Span { start, end: self.pos });
                char::REPLACEMENT_CHARACTER
            }
            Some(_) => return Err((JsonErrorKind::BadEscape, start)),
            None => return Err((JsonErrorKind::UnterminatedString, start)),
        })
    }

    /// Four hexadecimal digits; `start` is where their escape began.
    fn hex(&mut self, start: usize) -> Result<u32, Fault> {
        let mut unit = 0;
        for _ in 0..4 {
            let Some(byte) = self.peek() else { return Err((JsonErrorKind::UnterminatedString, start)) };
            let Some(digit) = char::from(byte).to_digit(16) else { return Err((JsonErrorKind::BadEscape, start)) };
            unit = unit << 4 | digit;
            self.pos += 1;
        }
        Ok(unit)
    }

    fn blank(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.pos += 1;
        }
    }

    fn comment(&self, byte: u8) -> bool {
        byte == b'/' && matches!(self.bytes.get(self.pos + 1), Some(b'/' | b'*')) || byte == b'#'
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    fn rest(&self) -> &[u8] {
        self.bytes.get(self.pos..).unwrap_or_default()
    }

    fn slice(&self, span: Span) -> &[u8] {
        self.bytes.get(span.start..span.end).unwrap_or_default()
    }

    fn remark(&mut self, kind: RemarkKind, span: Span) {
        if let Some(left) = self.remarks_left.get_mut(kind as usize).filter(|left| **left > 0) {
            *left -= 1;
            self.remarks.push(Remark { kind, span });
        }
    }

    /// Where reading stopped.
    fn pointer(&self) -> String {
        let mut pointer = String::new();
        for open in &self.open {
            match &open.kind {
                OpenKind::Array => push_index(&mut pointer, open.count),
                OpenKind::Object(Some((name, _))) => push_token(&mut pointer, name),
                OpenKind::Object(None) => break,
            }
            if pointer.len() > 4_096 {
                break;
            }
        }
        pointer
    }

    /// The finished members of the outermost object, and the result or error in which reading stopped, as null.
    fn salvage(&mut self) -> Vec<Member> {
        let Some(Open { kind: OpenKind::Object(next), .. }) = self.open.first_mut() else { return Vec::new() };
        let next = next.take();
        let nested = |open: &&Open| matches!(open.kind, OpenKind::Object(_));
        let end = self.open.iter().skip(1).find(nested).map_or(self.members.len(), |open| open.first);
        self.members.truncate(end);
        let mut members = std::mem::take(&mut self.members);
        // Nothing shows that a number at the very end has no further digits.
        members.pop_if(|last| last.value.as_number().is_some() && last.value.span.end == self.bytes.len());
        // That a result or an error had begun says what the message is; a name or an id in pieces says nothing.
        if let Some((name, name_span)) = next.filter(|(name, _)| matches!(&**name, "result" | "error")) {
            let span = Span { start: name_span.end, end: self.bytes.len() };
            members.push(Member { name, name_span, value: Json { kind: JsonKind::Null, span } });
        }
        members
    }
}

/// Takes what stands above a place of a stack, in a vector that is exactly as big.
fn top<T>(stack: &mut Vec<T>, first: usize) -> Vec<T> {
    if first > 0 {
        return stack.split_off(first.min(stack.len()));
    }
    // Splitting at the start would hand out the room of the whole stack.
    let mut all = std::mem::take(stack);
    all.shrink_to_fit();
    all
}

fn outermost(json: Json) -> Vec<Member> {
    if let JsonKind::Object(members) = json.kind { members } else { Vec::new() }
}

/// The members that tell what a message is.
const ENVELOPE: [&str; 5] = ["jsonrpc", "id", "method", "result", "error"];

/// Members of the envelope that are kept beyond the limit of nodes, duplicates included.
const SPARE: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (JsonErrorKind, usize, String) {
        let error = Json::parse(text.as_bytes()).expect_err(text);
        (error.kind, error.offset, error.pointer)
    }

    #[test]
    fn each_fault_has_its_kind_and_place() {
        use JsonErrorKind::*;
        for (text, kind, offset, pointer) in [
            ("", Empty, 0, ""),
            (" \n", Empty, 2, ""),
            ("nul", UnexpectedEnd, 3, ""),
            ("{", UnexpectedEnd, 1, ""),
            ("[1,", UnexpectedEnd, 3, "/1"),
            ("{\"a\"", UnexpectedEnd, 4, "/a"),
            ("{\"a\":-", UnexpectedEnd, 6, "/a"),
            ("\"abc", UnterminatedString, 0, ""),
            ("\"ab\\", UnterminatedString, 3, ""),
            ("[\"\\x\"]", BadEscape, 2, "/0"),
            ("\"\\u12g4\"", BadEscape, 1, ""),
            ("\"a\tb\"", ControlCharacter(9), 2, ""),
            ("[0,01]", LeadingZero, 3, "/1"),
            ("-01", LeadingZero, 1, ""),
            ("+1", PlusSign, 0, ""),
            ("1.", UnexpectedEnd, 2, ""),
            ("[1.]", BadNumber, 3, "/0"),
            ("[.5]", BadNumber, 1, "/0"),
            ("[1e]", BadNumber, 3, "/0"),
            ("{\"a\":NaN}", NotANumber, 5, "/a"),
            ("[-Infinity]", NotANumber, 1, "/0"),
            ("[True]", BadLiteral, 1, "/0"),
            ("undefined", BadLiteral, 0, ""),
            ("// x\n1", Comment, 0, ""),
            ("{/* x */}", Comment, 1, ""),
            ("1 // x", Comment, 2, ""),
            ("[1,]", TrailingComma, 2, "/1"),
            ("{\"a\":1 , }", TrailingComma, 7, ""),
            ("{'a':1}", SingleQuote, 1, ""),
            ("['a']", SingleQuote, 1, "/0"),
            ("{a:1}", UnquotedName, 1, ""),
            ("{}{}", TrailingGarbage, 2, ""),
            ("Content-Length: 12", BadLiteral, 0, ""),
            ("[1 2]", UnexpectedByte(b'2'), 3, "/1"),
            ("[1}", UnexpectedByte(b'}'), 2, "/1"),
            ("]", UnexpectedByte(b']'), 0, ""),
            ("{\"a\":{\"b\":[1,{\"c\" 1}]}}", UnexpectedByte(b'1'), 18, "/a/b/1/c"),
        ] {
            assert_eq!(fault(text), (kind, offset, pointer.to_owned()), "{text}");
        }
    }

    #[test]
    fn spans_cover_their_text() {
        let text = r#" {"a" : [1.50, "x\u00e9"], "b":{ } } "#;
        let json = Json::parse(text.as_bytes()).unwrap();
        let at = |pointer: &str| {
            let span = json.pointer(pointer).unwrap().span;
            &text[span.start..span.end]
        };
        assert_eq!(
            ["", "/a", "/a/0", "/a/1", "/b"].map(at),
            [text.trim(), r#"[1.50, "x\u00e9"]"#, "1.50", r#""x\u00e9""#, "{ }"]
        );
        assert_eq!(json.pointer("/a/1").unwrap().as_str(), Some("xé"));
    }

    #[test]
    fn strings_are_unescaped() {
        let text = r#""\"\\\/\b\f\n\r\t\u0041\ud83d\ude00 plain text of some length é😀\u0000""#;
        assert_eq!(
            Json::parse(text.as_bytes()).unwrap().as_str(),
            Some("\"\\/\u{8}\u{c}\n\r\tA😀 plain text of some length é😀\0")
        );
    }

    #[test]
    fn surrogates_pair_at_their_bounds() {
        for (text, char) in
            [("\\ud800\\udc00", "\u{10000}"), ("\\udbff\\udfff", "\u{10ffff}"), ("\\ud7ff\\ue000", "\u{d7ff}\u{e000}")]
        {
            assert_eq!(Json::parse(format!("\"{text}\"").as_bytes()).unwrap().as_str(), Some(char));
        }
    }

    fn remarks(text: &[u8]) -> Vec<(RemarkKind, usize, usize)> {
        let reading = Json::read(text, &Limits::default()).unwrap();
        reading.remarks.iter().map(|remark| (remark.kind, remark.span.start, remark.span.end)).collect()
    }

    #[test]
    fn remarks_on_what_readers_hide() {
        use RemarkKind::*;
        assert_eq!(remarks(br#"{"a":1,"b":{"a":1},"a":2}"#), [(DuplicateKey, 19, 22)]);
        let many: Vec<String> = (0..20).map(|n| format!("\"{}\":0", n % 19)).collect();
        assert_eq!(remarks(format!("{{{}}}", many.join(",")).as_bytes()).len(), 1);
        assert_eq!(
            remarks(br#"["\ud800","\udc00\ud800x","\ud800\u0041","\ud83d\ude00"]"#),
            [(LoneSurrogate, 2, 8), (LoneSurrogate, 11, 17), (LoneSurrogate, 17, 23), (LoneSurrogate, 27, 33)]
        );
        assert_eq!(
            remarks(b"[9007199254740993,1e400,0.1]"),
            [(NumberBeyondDouble, 1, 17), (NumberBeyondDouble, 18, 23)]
        );
        assert_eq!(remarks(b"[\"a\xff\",\"\xe2\x82\",\"ok\"]"), [(InvalidUtf8, 3, 4), (InvalidUtf8, 7, 9)]);
    }

    #[test]
    fn limits_are_ours() {
        let limits = Limits { depth: 3, nodes: 5, bytes: 60, defects: 2 };
        let kind = |text: &str| Json::read(text.as_bytes(), &limits).map_err(|error| (error.kind, error.offset)).err();
        assert_eq!(kind("[[[]]]"), None);
        assert_eq!(kind("[[[[]]]]"), Some((JsonErrorKind::Limit(LimitKind::Depth), 3)));
        assert_eq!(kind("[1,2,3,4,5]"), None);
        assert_eq!(kind("[1,2,3,4,5,6]"), Some((JsonErrorKind::Limit(LimitKind::Nodes), 11)));
        assert_eq!(kind("[1,2,3,4,5,[]]"), Some((JsonErrorKind::Limit(LimitKind::Nodes), 11)));
        assert_eq!(kind(&" ".repeat(61)), Some((JsonErrorKind::Limit(LimitKind::Bytes), 60)));
        assert_eq!(kind("[[[[}]]]"), Some((JsonErrorKind::UnexpectedByte(b'}'), 4)));
    }

    #[test]
    fn nesting_costs_no_stack() {
        let deep = "[".repeat(4_000_000);
        assert_eq!(fault(&deep).0, JsonErrorKind::UnexpectedEnd);
        let limits = Limits { depth: usize::MAX, ..Limits::default() };
        let text = format!("{}{}", "{\"a\":[".repeat(MAX_DEPTH / 2), "]}".repeat(MAX_DEPTH / 2));
        let work = move || {
            let json = Json::read(text.as_bytes(), &limits).unwrap().json;
            let copy = json.clone();
            assert!(json.same(&copy) && copy.to_string() == text);
            drop(json.to_value());
            assert!(format!("{json:?}").len() > text.len());
            assert!(json.pointer_of(text.len() / 2).len() > MAX_DEPTH);
        };
        std::thread::Builder::new().stack_size(2 << 20).spawn(work).unwrap().join().unwrap();
    }
}
