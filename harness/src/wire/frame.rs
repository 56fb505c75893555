//! One JSON-RPC message as it stood on the wire: [`Frame`], what it is ([`Message`]) and what is odd about its bytes
//! ([`Defect`]). Reading never fails. Whether a defect matters depends on the transport and is left to the rules: a
//! line feed inside a message is a fault on stdio and harmless in an HTTP body.

use std::fmt;

use bytes::Bytes;

use super::fault::{JsonErrorKind, Remark, RemarkKind};
use super::id::Id;
use super::json::{Json, JsonKind, Member, Span, member};
use super::limits::{LimitKind, Limits};
use super::lines::Line;
use super::number::Number;
use super::printable::escaped;
use super::reader::examine;
use super::scan::find;

#[derive(Clone, Debug)]
pub struct Frame {
    pub raw: Bytes,
    /// Nothing if the bytes are not JSON or passed a limit of ours. Places count from the start of `raw`.
    pub json: Option<Json>,
    pub message: Message,
    /// What the beginning of a message says that could not be read to its end, or was cut. Only for finding the
    /// request that it answers, never for judging.
    pub salvaged: Option<Message>,
    /// In the order of their places.
    pub defects: Vec<Defect>,
}

/// Something odd about the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    pub kind: DefectKind,
    pub span: Span,
    /// The innermost value that it concerns.
    pub pointer: String,
    /// For people, as a lower-case fragment.
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DefectKind {
    /// Skipped at the start of the message.
    ByteOrderMark,
    InvalidUtf8,
    DuplicateKey,
    /// Never with [`JsonErrorKind::Limit`].
    NotJson(JsonErrorKind),
    /// The first line feed between the first and the last byte of the message proper.
    EmbeddedNewline,
    /// The first carriage return there.
    EmbeddedCarriageReturn,
    /// The bytes end with a carriage return: a line of stdout was ended by CR LF.
    CarriageReturnAtEnd,
    NumberBeyondDouble,
    LoneSurrogate,
    /// Not the server's fault: a bound of ours kept us from reading on.
    OurLimit(LimitKind),
}

/// What a message is, by its strongest sign: a method makes it a request or a notification, else a result or an error
/// an answer. Members that contradict each other are left to the rules, which see them all in [`Frame::json`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    Request { id: Id, method: Box<str> },
    Notification { method: Box<str> },
    Result { id: Id },
    Error { id: Id, code: Option<ErrorCode> },
    Batch(Vec<Message>),
    NotAMessage(NotAMessage),
}

/// The `code` of an error, if it is a number.
#[derive(Clone, Debug)]
pub struct ErrorCode(pub Number);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotAMessage {
    /// Nothing, or nothing but white space.
    Blank,
    NotJson,
    /// JSON, but neither an object nor an array.
    NotObject,
    NoMethodResultOrError,
    /// There is a `method`, not a string, and neither result nor error.
    MethodNotString,
    /// Cut by a limit of ours.
    BeyondOurLimit,
}

impl Frame {
    /// Reads one message: a line without its line feed, an HTTP body, or the data of an event.
    pub fn read(raw: Bytes, limits: &Limits) -> Self {
        Self::read_cut(raw, 0, limits)
    }

    /// Reads a line of stdout, which the splitter may have cut.
    pub fn of_line(line: &Line, limits: &Limits) -> Self {
        match line.cut {
            Some(dropped) => Self::read_cut(line.raw.clone(), dropped, limits),
            None => Self::read(line.raw.clone(), limits),
        }
    }

    /// Reads the beginning of a message whose last bytes, `dropped` of them, are lost to a limit of ours.
    pub fn read_cut(raw: Bytes, dropped: usize, limits: &Limits) -> Self {
        let mut defects = Defects { list: Vec::new(), each: limits.defects, more: false };
        let start = if raw.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let examined = examine(&raw, start, limits, dropped > 0);
        let (json, message, salvaged, error) = match examined.outcome {
            Ok(json) => {
                let message = match examined.limit {
                    // Of an array too much may be missing to tell what its messages are.
                    Some(_) if json.as_object().is_none() => Message::NotAMessage(NotAMessage::BeyondOurLimit),
                    _ => classify(&json),
                };
                (Some(json), message, None, None)
            }
            Err((error, members)) => {
                let salvaged = Some(classify_object(&members)).filter(|it| !matches!(it, Message::NotAMessage(_)));
                let not = match error.kind {
                    JsonErrorKind::Empty => NotAMessage::Blank,
                    JsonErrorKind::Limit(_) => NotAMessage::BeyondOurLimit,
                    _ => NotAMessage::NotJson,
                };
                (None, Message::NotAMessage(not), salvaged, Some(error))
            }
        };
        let pointer_of = |span: Span| json.as_ref().map(|json| json.pointer_of(span.start)).unwrap_or_default();
        if start > 0 {
            let span = Span { start: 0, end: start };
            defects.add(DefectKind::ByteOrderMark, span, String::new(), "byte order mark before the message".into());
        }
        if !examined.utf8 {
            invalid_utf8(&raw, dropped > 0, &mut defects, pointer_of);
        }
        remarked(&raw, &examined.remarks, &mut defects, pointer_of);
        returns(&raw, start, dropped > 0, &mut defects, pointer_of);
        if let Some(error) = error {
            match error.kind {
                JsonErrorKind::Limit(_) | JsonErrorKind::Empty => {}
                kind => {
                    let span = Span { start: error.offset, end: raw.len().min(error.offset + 1).max(error.offset) };
                    defects.add(DefectKind::NotJson(kind), span, error.pointer, kind.to_string());
                }
            }
        }
        let beyond = examined.limit.map(|(kind, start)| match kind {
            LimitKind::Bytes => (kind, limits.bytes.min(raw.len())),
            _ => (kind, start),
        });
        let (json, pointer) = match beyond {
            Some((_, start)) => (None, pointer_of(Span { start, end: start })),
            None => (json, String::new()),
        };
        let unread = dropped + raw.len().saturating_sub(limits.bytes);
        let defects = defects.close(beyond, pointer, raw.len(), unread);
        Self { raw, json, message, salvaged, defects }
    }

    /// A member of the message, if it is an object.
    pub fn member(&self, name: &str) -> Option<&Json> {
        self.json.as_ref()?.get(name)
    }

    /// What the message is, or at least seems to be.
    pub fn likely(&self) -> &Message {
        self.salvaged.as_ref().unwrap_or(&self.message)
    }

    /// Whether a limit of ours kept us from reading it: nothing may be concluded from what it holds.
    pub fn is_unread(&self) -> bool {
        let ours = |kind| matches!(kind, DefectKind::OurLimit(limit) if limit != LimitKind::Defects);
        self.json.is_none() && self.defects.iter().any(|defect| ours(defect.kind))
    }

    pub fn has(&self, kind: DefectKind) -> bool {
        self.defects.iter().any(|defect| defect.kind == kind)
    }
}

impl Message {
    /// The id of a request or an answer, which may be [`Id::Absent`].
    pub fn id(&self) -> Option<&Id> {
        match self {
            Self::Request { id, .. } | Self::Result { id } | Self::Error { id, .. } => Some(id),
            Self::Notification { .. } | Self::Batch(_) | Self::NotAMessage(_) => None,
        }
    }

    pub fn method(&self) -> Option<&str> {
        match self {
            Self::Request { method, .. } | Self::Notification { method } => Some(method),
            _ => None,
        }
    }

    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Result { .. } | Self::Error { .. })
    }
}

impl ErrorCode {
    /// The exact value, if it is whole.
    pub fn as_i64(&self) -> Option<i64> {
        self.0.as_i64()
    }
}

impl PartialEq for ErrorCode {
    fn eq(&self, other: &Self) -> bool {
        self.0.same_value(&other.0)
    }
}

impl Eq for ErrorCode {}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn classify(json: &Json) -> Message {
    match &json.kind {
        JsonKind::Object(members) => classify_object(members),
        JsonKind::Array(items) => Message::Batch(
            items
                .iter()
                .map(|item| match item.as_object() {
                    Some(members) => classify_object(members),
                    None => Message::NotAMessage(NotAMessage::NotObject),
                })
                .collect(),
        ),
        _ => Message::NotAMessage(NotAMessage::NotObject),
    }
}

fn classify_object(members: &[Member]) -> Message {
    let method = member(members, "method");
    let id = Id::of(member(members, "id"));
    if let Some(method) = method.and_then(Json::as_str) {
        let method = method.into();
        return match id {
            Id::Absent => Message::Notification { method },
            id => Message::Request { id, method },
        };
    }
    let error = |error: &Json| error.get("code").and_then(Json::as_number).cloned().map(ErrorCode);
    match (member(members, "result"), member(members, "error")) {
        (None, Some(found)) => Message::Error { id, code: error(found) },
        // The older JSON-RPC sent both and set one to null.
        (Some(result), Some(found)) if result.is_null() && !found.is_null() => {
            Message::Error { id, code: error(found) }
        }
        (Some(_), _) => Message::Result { id },
        (None, None) if method.is_some() => Message::NotAMessage(NotAMessage::MethodNotString),
        (None, None) => Message::NotAMessage(NotAMessage::NoMethodResultOrError),
    }
}

fn remarked(raw: &[u8], remarks: &[Remark], defects: &mut Defects, pointer_of: impl Fn(Span) -> String) {
    for remark in remarks {
        let (kind, what) = match remark.kind {
            // Told of all bytes, not only of strings.
            RemarkKind::InvalidUtf8 => continue,
            RemarkKind::DuplicateKey => (DefectKind::DuplicateKey, "name that stood before in the same object"),
            RemarkKind::LoneSurrogate => (DefectKind::LoneSurrogate, "surrogate without its partner"),
            RemarkKind::NumberBeyondDouble => (DefectKind::NumberBeyondDouble, "number that a double cannot hold"),
        };
        let text = raw.get(remark.span.start..remark.span.end).unwrap_or_default();
        defects.add(kind, remark.span, pointer_of(remark.span), format!("{what}: {}", excerpt(text)));
    }
}

fn invalid_utf8(raw: &[u8], cut: bool, defects: &mut Defects, pointer_of: impl Fn(Span) -> String) {
    let mut offset = 0;
    for chunk in raw.utf8_chunks() {
        let start = offset + chunk.valid().len();
        offset = start + chunk.invalid().len();
        // A character in pieces at a cut is our doing.
        let ours = cut && offset == raw.len();
        if start < offset && !ours {
            let span = Span { start, end: offset };
            let message = format!("bytes that are no UTF-8: {}", hex(chunk.invalid()));
            defects.add(DefectKind::InvalidUtf8, span, pointer_of(span), message);
            if defects.more {
                return;
            }
        }
    }
}

/// Line feeds and carriage returns between the first and the last byte that is no white space, and one at the end.
fn returns(raw: &[u8], start: usize, cut: bool, defects: &mut Defects, pointer_of: impl Fn(Span) -> String) {
    let solid = |byte: &u8| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    let body = raw.get(start..).unwrap_or_default();
    let first = body.iter().position(solid).map_or(raw.len(), |at| start + at);
    let last = body.iter().rposition(solid).map_or(first, |at| start + at);
    let inner = raw.get(first..last).unwrap_or_default();
    for (byte, kind, message) in [
        (b'\n', DefectKind::EmbeddedNewline, "line feed inside the message"),
        (b'\r', DefectKind::EmbeddedCarriageReturn, "carriage return inside the message"),
    ] {
        if let Some(at) = find(inner, [byte]) {
            let span = Span { start: first + at, end: first + at + 1 };
            defects.add(kind, span, pointer_of(span), message.into());
        }
    }
    if !cut && raw.ends_with(b"\r") {
        let span = Span { start: raw.len() - 1, end: raw.len() };
        let message = "carriage return at the end".into();
        defects.add(DefectKind::CarriageReturnAtEnd, span, String::new(), message);
    }
}

struct Defects {
    list: Vec<Defect>,
    each: usize,
    more: bool,
}

impl Defects {
    fn add(&mut self, kind: DefectKind, span: Span, pointer: String, message: String) {
        if self.list.iter().filter(|defect| defect.kind == kind).count() < self.each {
            self.list.push(Defect { kind, span, pointer, message });
        } else {
            self.more = true;
        }
    }

    /// The defects in order; limits of ours come last and are always told.
    fn close(mut self, beyond: Option<(LimitKind, usize)>, pointer: String, end: usize, unread: usize) -> Vec<Defect> {
        self.list.sort_by_key(|defect| defect.span.start);
        if let Some((limit, start)) = beyond {
            let message = match limit {
                LimitKind::Bytes => format!("not read by us: the last {unread} bytes, for size"),
                limit => format!("not kept by us: what is beyond our limit on the {limit}"),
            };
            let kind = DefectKind::OurLimit(limit);
            self.list.push(Defect { kind, span: Span { start, end }, pointer, message });
        }
        if self.more {
            let kind = DefectKind::OurLimit(LimitKind::Defects);
            let message = "more defects than are told".into();
            self.list.push(Defect { kind, span: Span { start: end, end }, pointer: String::new(), message });
        }
        self.list
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

fn excerpt(bytes: &[u8]) -> String {
    const SHOWN: usize = 60;
    match bytes.get(..SHOWN) {
        Some(head) if head.len() < bytes.len() => format!("{}…", escaped(head)),
        _ => escaped(bytes),
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &[u8]) -> Frame {
        Frame::read(Bytes::copy_from_slice(text), &Limits::default())
    }

    fn id(text: &str) -> Id {
        Id::of(Some(&Json::parse(text.as_bytes()).unwrap()))
    }

    fn kinds(frame: &Frame) -> Vec<(DefectKind, usize)> {
        frame.defects.iter().map(|defect| (defect.kind, defect.span.start)).collect()
    }

    #[test]
    fn the_strongest_sign_decides() {
        let error = |id, code: &str| Message::Error { id, code: Number::parse(code).map(ErrorCode) };
        for (text, message) in [
            (r#"{"id":1,"method":"ping"}"#, Message::Request { id: id("1"), method: "ping".into() }),
            (r#"{"id":null,"method":"ping"}"#, Message::Request { id: Id::Null, method: "ping".into() }),
            (r#"{"method":"a","result":1}"#, Message::Notification { method: "a".into() }),
            (r#"{"method":"a","method":"b"}"#, Message::Notification { method: "b".into() }),
            (r#"{"id":"x","result":null}"#, Message::Result { id: id("\"x\"") }),
            (r#"{"method":5,"result":{}}"#, Message::Result { id: Id::Absent }),
            (r#"{"id":1,"result":{},"error":{"code":1}}"#, Message::Result { id: id("1") }),
            (r#"{"id":1,"result":{},"error":null}"#, Message::Result { id: id("1") }),
            (r#"{"id":1,"result":null,"error":{"code":-3.0}}"#, error(id("1"), "-3")),
            (r#"{"id":[1],"error":{"code":"x"}}"#, error(id("[1]"), "")),
            (r#"{"id":1,"error":"boom"}"#, error(id("1"), "")),
            (r#"{"id":1}"#, Message::NotAMessage(NotAMessage::NoMethodResultOrError)),
            (r#"{"id":1,"method":5}"#, Message::NotAMessage(NotAMessage::MethodNotString)),
            ("5", Message::NotAMessage(NotAMessage::NotObject)),
            ("  ", Message::NotAMessage(NotAMessage::Blank)),
            ("Listening on 8080", Message::NotAMessage(NotAMessage::NotJson)),
            ("[]", Message::Batch(vec![])),
            (
                r#"[{"method":"a"},1]"#,
                Message::Batch(vec![
                    Message::Notification { method: "a".into() },
                    Message::NotAMessage(NotAMessage::NotObject),
                ]),
            ),
        ] {
            assert_eq!(frame(text.as_bytes()).message, message, "{text}");
        }
    }

    #[test]
    fn odd_bytes_are_defects_and_the_rest_is_read() {
        use DefectKind::*;
        let odd = frame(b"\xef\xbb\xbf{\"id\":1,\r\n\"result\":\"\xff\"}\r");
        assert_eq!(odd.message, Message::Result { id: id("1") });
        assert_eq!(
            kinds(&odd),
            [
                (ByteOrderMark, 0),
                (EmbeddedCarriageReturn, 11),
                (EmbeddedNewline, 12),
                (InvalidUtf8, 23),
                (CarriageReturnAtEnd, 26)
            ]
        );
        assert_eq!(odd.defects[3].pointer, "/result");
        assert_eq!(kinds(&frame(b"{\"id\":1,\"result\":{}}\n")), []);
        let doubled = frame(br#"{"id":1,"result":{"a":1,"a":9007199254740993,"b":"\ud800"}}"#);
        assert_eq!(kinds(&doubled), [(DuplicateKey, 24), (NumberBeyondDouble, 28), (LoneSurrogate, 50)]);
        assert_eq!(doubled.defects[2].pointer, "/result/b");
    }

    #[test]
    fn a_broken_answer_keeps_its_id_for_attribution() {
        let broken = frame(br#"{"jsonrpc":"2.0","id":3,"result":{"x":NaN}}"#);
        assert_eq!(broken.message, Message::NotAMessage(NotAMessage::NotJson));
        assert_eq!(broken.likely(), &Message::Result { id: id("3") });
        assert_eq!(broken.defects[0].kind, DefectKind::NotJson(JsonErrorKind::NotANumber));
        assert_eq!(broken.defects[0].pointer, "/result/x");
        let twice = frame(br#"{"id":1,"result":{}}{"id":2,"result":{}}"#);
        assert_eq!(twice.likely(), &Message::Result { id: id("1") });
        for useless in [&br#"{"result":{},"id":12"#[..], br#"{"result":{},"id":"#] {
            assert_eq!(frame(useless).likely(), &Message::Result { id: Id::Absent });
        }
        assert_eq!(frame(br#"{"id":1,"method":"pi"#).salvaged, None);
    }

    #[test]
    fn limits_are_never_the_fault_of_the_server() {
        let text = br#"{"result":{"a":[[[1,2]]],"b":"0123456789"},"id":4}"#;
        let read = |limits| Frame::read(Bytes::from_static(text), &limits);
        let limits = Limits { depth: 3, ..Limits::default() };
        let deep = read(limits);
        assert!(deep.json.is_none());
        assert_eq!(deep.message, Message::Result { id: id("4") });
        assert_eq!(kinds(&deep), [(DefectKind::OurLimit(LimitKind::Depth), 16)]);
        assert_eq!(deep.defects[0].pointer, "/result/a/0");
        let many = read(Limits { nodes: 2, ..Limits::default() });
        assert_eq!(many.message, Message::Result { id: id("4") });
        assert_eq!(kinds(&many), [(DefectKind::OurLimit(LimitKind::Nodes), 17)]);
        let batch = Bytes::from_static(br#"[{"id":1,"result":{}}]"#);
        for limits in [Limits { depth: 1, ..limits }, Limits { nodes: 0, ..limits }, Limits { depth: 0, ..limits }] {
            let beyond = Message::NotAMessage(NotAMessage::BeyondOurLimit);
            assert_eq!(Frame::read(batch.clone(), &limits).message, beyond);
        }
        for bytes in 0..text.len() {
            let limits = Limits { bytes, ..Limits::default() };
            for cut in [read(limits), Frame::read_cut(Bytes::from_static(&text[..bytes]), text.len() - bytes, &limits)]
            {
                assert_eq!(cut.message, Message::NotAMessage(NotAMessage::BeyondOurLimit), "{bytes}");
                assert_eq!(kinds(&cut), [(DefectKind::OurLimit(LimitKind::Bytes), bytes)]);
            }
        }
        assert_eq!(read(Limits { bytes: text.len() - 1, ..Limits::default() }).likely().id(), Some(&Id::Absent));
        let halved = Frame::read_cut(Bytes::from_static(b"{\"id\":1,\"result\":\"\xc3"), 9, &Limits::default());
        assert_eq!(kinds(&halved), [(DefectKind::OurLimit(LimitKind::Bytes), 19)]);
        let garbage = Frame::read_cut(Bytes::from_static(b"log line of many"), 5, &Limits::default());
        assert_eq!(garbage.message, Message::NotAMessage(NotAMessage::NotJson));
    }

    #[test]
    fn many_defects_of_one_kind_hide_no_other() {
        let text = [&b"[\""[..], &[0xff; 1_000], b"\", 1e400, oops]"].concat();
        let frame = frame(&text);
        assert_eq!(frame.defects.len(), 103);
        assert!(frame.has(DefectKind::NumberBeyondDouble) || frame.json.is_none());
        assert!(frame.has(DefectKind::NotJson(JsonErrorKind::BadLiteral)));
        assert!(frame.has(DefectKind::OurLimit(LimitKind::Defects)));
    }
}
