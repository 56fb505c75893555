//! Stand-in with the agreed shape; the reader itself replaces it.

use bytes::Bytes;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

#[derive(Clone, Debug)]
pub struct Json {
    pub kind: JsonKind,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub enum JsonKind {
    Null,
    Bool(bool),
    Number(Number),
    String(Box<str>),
    Array(Vec<Json>),
    Object(Vec<Member>),
}

#[derive(Clone, Debug)]
pub struct Member {
    pub name: Box<str>,
    pub name_span: Span,
    pub value: Json,
}

#[derive(Clone, Debug)]
pub struct Number(Box<str>);

impl Number {
    pub fn as_str(&self) -> &str {
        &self.0
    }
    pub fn is_integer(&self) -> bool {
        true
    }
    pub fn as_i64(&self) -> Option<i64> {
        None
    }
    pub fn as_f64(&self) -> f64 {
        0.0
    }
    pub fn same_value(&self, _: &Number) -> bool {
        true
    }
}

impl Json {
    pub fn get(&self, _name: &str) -> Option<&Json> {
        None
    }
    pub fn pointer(&self, _pointer: &str) -> Option<&Json> {
        None
    }
    pub fn as_str(&self) -> Option<&str> {
        None
    }
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::Value::Null
    }
    pub fn same(&self, _other: &Json) -> bool {
        false
    }
    pub fn pointer_of(&self, _offset: usize) -> String {
        String::new()
    }
}

#[derive(Clone, Debug)]
pub struct Limits {
    pub depth: usize,
    pub nodes: usize,
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 512, nodes: 1_000_000, bytes: 16 * 1024 * 1024 }
    }
}

#[derive(Clone, Debug)]
pub struct Frame {
    pub raw: Bytes,
    pub json: Option<Json>,
    pub message: Message,
    pub defects: Vec<Defect>,
}

impl Frame {
    pub fn read(raw: Bytes, _limits: &Limits) -> Self {
        Self { raw, json: None, message: Message::NotAMessage(NotAMessage::NotJson), defects: Vec::new() }
    }
}

#[derive(Clone, Debug)]
pub struct Defect {
    pub kind: DefectKind,
    pub span: Span,
    pub pointer: String,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefectKind {
    ByteOrderMark,
    InvalidUtf8,
}

#[derive(Clone, Debug)]
pub enum Message {
    Request { id: Id, method: Box<str> },
    Notification { method: Box<str> },
    Result { id: Id },
    Error { id: Id },
    Batch(Vec<Message>),
    NotAMessage(NotAMessage),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAMessage {
    NotJson,
    NotObject,
    NoMethodResultOrError,
}

#[derive(Clone, Debug)]
pub enum Id {
    Absent,
    Null,
    Number(Number),
    String(Box<str>),
    Other(Json),
}

impl Id {
    pub fn same(&self, _other: &Id) -> bool {
        false
    }
    pub fn loosely(&self, _other: &Id) -> bool {
        false
    }
}
