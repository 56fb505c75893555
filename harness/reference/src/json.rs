//! JSON-RPC as this server reads and writes it: [`Incoming`] from bytes, [`Message`] to bytes. Ids and tokens are kept as
//! the text that was sent, so that they come back unchanged whatever their size. What a message means is left to
//! `legacy` and `modern`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::bugs::Bug;
use crate::faults::{Fault, Faults};
use crate::server::Server;

/// A JSON value as it was written: a request id, a progress token.
#[derive(Clone, Debug)]
pub(crate) struct Raw(Box<RawValue>);

impl Raw {
    /// The same key for ids that are equal as JSON values: `7` and `7.0` are, `7` and `"7"` are not.
    pub(crate) fn key(&self) -> String {
        match serde_json::from_str::<Value>(self.0.get()) {
            Ok(Value::String(text)) => format!("s{text}"),
            Ok(Value::Number(number)) => match self.integer_text() {
                Some(text) => format!("n{text}"),
                None => format!("n{number}"),
            },
            _ => format!("x{}", self.0.get()),
        }
    }

    /// Whether this is a string or an integer, the only kinds of id and token.
    pub(crate) fn is_id(&self) -> bool {
        match self.0.get().as_bytes().first() {
            Some(b'"') => true,
            Some(b'-' | b'0'..=b'9') => self.integer_text().is_some(),
            _ => false,
        }
    }

    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(self.0.get()).unwrap_or(Value::Null)
    }

    pub(crate) fn text(&self) -> &str {
        self.0.get()
    }

    /// What a server that compares ids as text takes for the same: the number of digits in a string, and the reverse.
    pub(crate) fn other_type(&self) -> Self {
        match self.value() {
            Value::String(text) => Self::from_text(text),
            _ => Self::from_text(json!(self.text()).to_string()),
        }
    }

    /// From text that is known to be JSON; anything else becomes null.
    pub(crate) fn from_text(text: String) -> Self {
        Self(RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned()))
    }

    pub(crate) fn number(number: u64) -> Self {
        Self::from_text(number.to_string())
    }

    /// The digits of an integer, where `7.0` and `70e-1` are integers as well.
    fn integer_text(&self) -> Option<String> {
        let text = self.0.get();
        if !text.contains(['.', 'e', 'E']) {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            return whole.then(|| if digits == "0" { digits.to_owned() } else { text.to_owned() });
        }
        let number: f64 = text.parse().ok()?;
        (number.fract() == 0.0 && number.abs() < 1e18).then(|| format!("{}", number as i64))
    }
}

/// One message of the client.
#[derive(Debug)]
pub(crate) enum Incoming {
    Request {
        id: Raw,
        method: String,
        params: Params,
    },
    Notification {
        method: String,
        params: Params,
    },
    Answer {
        id: Raw,
        outcome: Result<Value, Value>,
    },
    /// JSON, but no message; the id is there if it could serve as one.
    Invalid {
        id: Option<Raw>,
        why: &'static str,
    },
}

/// What one line or one body held.
#[derive(Debug)]
pub(crate) enum Parsed {
    One(Incoming),
    Many(Vec<Incoming>),
    Unreadable,
}

/// The params of a message, both as written and as parsed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params {
    raw: Option<Box<RawValue>>,
    value: Option<Value>,
}

impl Params {
    pub(crate) fn is_object_or_absent(&self) -> bool {
        matches!(self.value, None | Some(Value::Object(_)))
    }

    pub(crate) fn object(&self) -> Option<&Map<String, Value>> {
        self.value.as_ref().and_then(Value::as_object)
    }

    pub(crate) fn value(&self) -> Option<&Value> {
        self.value.as_ref()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.object().and_then(|object| object.get(name))
    }

    pub(crate) fn meta(&self) -> Option<&Map<String, Value>> {
        self.get("_meta").and_then(Value::as_object)
    }

    /// A member as it was written, for what has to be echoed exactly.
    pub(crate) fn raw(&self, name: &str) -> Option<Raw> {
        member(self.raw.as_deref()?, name).map(Raw)
    }

    pub(crate) fn progress_token(&self) -> Option<Raw> {
        let meta = member(self.raw.as_deref()?, "_meta")?;
        member(&meta, "progressToken").map(Raw).filter(Raw::is_id)
    }
}

/// The members of a result or of params, with those that have to go out as they were written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Body {
    pub(crate) members: Map<String, Value>,
    raw: Vec<(&'static str, Raw)>,
    raw_meta: Vec<(&'static str, Raw)>,
}

impl Body {
    pub(crate) fn raw(mut self, name: &'static str, value: Raw) -> Self {
        self.raw.push((name, value));
        self
    }

    pub(crate) fn raw_meta(mut self, name: &'static str, value: Raw) -> Self {
        self.raw_meta.push((name, value));
        self
    }

    /// Sets a key of `_meta`, which is made if it is not there.
    pub(crate) fn set_meta(&mut self, key: &str, value: Value) {
        let meta = self.members.entry("_meta").or_insert_with(|| json!({}));
        if let Some(meta) = meta.as_object_mut() {
            meta.insert(key.to_owned(), value);
        }
    }
}

impl From<Value> for Body {
    fn from(value: Value) -> Self {
        let members = match value {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        Self { members, ..Self::default() }
    }
}

impl Serialize for Body {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in &self.members {
            if name != "_meta" || self.raw_meta.is_empty() {
                map.serialize_entry(name, value)?;
            }
        }
        for (name, value) in &self.raw {
            map.serialize_entry(name, &value.0)?;
        }
        if !self.raw_meta.is_empty() {
            map.serialize_entry("_meta", &MetaWithRaw(self))?;
        }
        map.end()
    }
}

struct MetaWithRaw<'a>(&'a Body);

impl Serialize for MetaWithRaw<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.0.members.get("_meta").and_then(Value::as_object).into_iter().flatten() {
            map.serialize_entry(name, value)?;
        }
        for (name, value) in &self.0.raw_meta {
            map.serialize_entry(name, &value.0)?;
        }
        map.end()
    }
}

/// One message of the server.
#[derive(Clone, Debug)]
pub(crate) enum Message {
    Request {
        id: Raw,
        method: &'static str,
        params: Option<Body>,
    },
    Notification {
        method: &'static str,
        params: Option<Body>,
    },
    Answer {
        id: Option<Raw>,
        outcome: Result<Body, RpcError>,
    },
    Batch(Vec<Message>),
    /// What is no message at all, as only a server with a bug writes.
    Noise(Vec<u8>),
}

/// A JSON-RPC error and the HTTP status that goes with it.
#[derive(Clone, Debug)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
    pub(crate) status: u16,
}

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None, status: 200 }
    }

    pub(crate) fn data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    pub(crate) fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    pub(crate) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32602, message)
    }

    pub(crate) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32600, message).status(400)
    }

    /// The refusal of what is no JSON.
    pub(crate) fn unreadable(server: &Server) -> Self {
        let code = if server.has(Fault::UnreadableInvalidRequest) { -32600 } else { -32700 };
        Self::new(code, "the message is not valid JSON").status(400)
    }

    /// The refusal of what is JSON and no message.
    pub(crate) fn no_message(server: &Server, why: impl Into<String>) -> Self {
        if server.has(Fault::InvalidRequestInternalError) {
            return Self::new(-32603, why);
        }
        Self::invalid_request(why)
    }

    pub(crate) fn unknown_method(method: &str) -> Self {
        Self::new(-32601, format!("method not found: {method}"))
    }
}

/// Reads one line or one body.
pub(crate) fn parse(faults: &Faults, bytes: &[u8]) -> Parsed {
    let Ok(text) = std::str::from_utf8(bytes) else { return Parsed::Unreadable };
    // The value is parsed first, as the raw reader alone does not bound the depth.
    let Ok(value) = serde_json::from_str::<Value>(text) else { return Parsed::Unreadable };
    match value {
        Value::Array(_) => match serde_json::from_str::<Vec<Box<RawValue>>>(text) {
            Ok(items) => Parsed::Many(items.iter().map(|item| incoming(faults, item)).collect()),
            Err(_) => Parsed::Unreadable,
        },
        _ => match serde_json::from_str::<Box<RawValue>>(text) {
            Ok(raw) => Parsed::One(incoming(faults, &raw)),
            Err(_) => Parsed::Unreadable,
        },
    }
}

/// What the first progress notification of a tool says.
pub(crate) const FIRST_PROGRESS: &str = "started";

/// A notification of a vendor's own, which only broken servers send.
pub(crate) const NOTE: &str = "notifications/com.example/note";

/// The texts that go on the wire for one message: one, unless a fault says otherwise.
pub(crate) fn frames(server: &Server, message: &Message) -> Vec<Vec<u8>> {
    let faults = &server.config.faults;
    if let Message::Batch(items) = message {
        let items: Vec<Envelope<'_>> = items.iter().map(|item| Envelope::sound(item, server)).collect();
        return vec![bytes(&items)];
    }
    if let Message::Noise(bytes) = message {
        return vec![bytes.clone()];
    }
    let mut envelope = Envelope::sound(message, server);
    if faults.has(Fault::JsonrpcVersionWrong) {
        envelope.jsonrpc = Some("1.0");
    }
    if faults.has(Fault::JsonrpcMemberMissing) && envelope.result.is_some() {
        envelope.jsonrpc = None;
    }
    let read = envelope.is_read_resource();
    let answer = matches!(message, Message::Answer { .. });
    if matches!(message, Message::Notification { .. }) && faults.has(Fault::NotificationWithId) {
        envelope.id = Some(Raw::number(server.count()));
    }
    if answer {
        break_answer(server, &mut envelope);
    }
    if envelope.method == Some(NOTE) && faults.has(Fault::NotificationParamsAsList) {
        envelope.params = Some(Part::Other(json!([])));
    }
    let mut text = match () {
        () if faults.has(Fault::PrettyPrinted) && envelope.is_first_progress() => {
            serde_json::to_vec_pretty(&envelope).unwrap_or_default()
        }
        () if read && faults.has(Fault::BatchEmitted) => bytes(&[&envelope]),
        () => bytes(&envelope),
    };
    if answer && faults.has(Fault::InvalidUtf8) && text.pop().is_some() {
        text.extend_from_slice(b",\"note\":\"\xff\"}");
    }
    let mut frames = vec![text];
    if answer && faults.has(Fault::DuplicateAnswer) {
        frames.extend(frames.clone());
    }
    if envelope.result.is_some() && faults.has(Fault::UnsolicitedAnswer) {
        envelope.id = Some(Raw::from_text("\"never-sent-by-anybody\"".to_owned()));
        frames.push(bytes(&envelope));
    }
    frames
}

#[derive(Clone, Serialize)]
struct Envelope<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    jsonrpc: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "raw_text")]
    id: Option<Raw>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<Part<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Part<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

#[derive(Clone, Serialize)]
#[serde(untagged)]
enum Part<'a> {
    Body(&'a Body),
    Other(Value),
}

impl<'a> Envelope<'a> {
    fn sound(message: &'a Message, server: &Server) -> Self {
        let mut envelope =
            Self { jsonrpc: Some("2.0"), id: None, method: None, params: None, result: None, error: None };
        match message {
            Message::Request { id, method, params } => {
                envelope.id = Some(id.clone());
                envelope.method = Some(method);
                envelope.params = params.as_ref().map(Part::Body);
            }
            Message::Notification { method, params } => {
                envelope.method = Some(method);
                envelope.params = params.as_ref().map(Part::Body);
            }
            Message::Answer { id, outcome } => {
                envelope.id = id.clone();
                match outcome {
                    Ok(body) => envelope.result = Some(Part::Body(body)),
                    Err(error) => envelope.error = Some(error_value(server, error)),
                }
            }
            Message::Batch(_) | Message::Noise(_) => {}
        }
        envelope
    }

    /// The result of `resources/read`: what is broken on it alone leaves a server that can be reached and judged.
    fn is_read_resource(&self) -> bool {
        matches!(&self.result, Some(Part::Body(body)) if body.members.contains_key("contents"))
    }

    /// The result of `tools/list`.
    fn has_tools(&self) -> bool {
        matches!(&self.result, Some(Part::Body(body)) if body.members.contains_key("tools"))
    }

    /// The first progress notification of a tool, which nobody waits for.
    fn is_first_progress(&self) -> bool {
        matches!(&self.params, Some(Part::Body(body)) if body.members.get("message") == Some(&json!(FIRST_PROGRESS)))
    }
}

fn break_answer(server: &Server, envelope: &mut Envelope<'_>) {
    let faults = &server.config.faults;
    if server.bug(Bug::LongIdCut) {
        envelope.id = envelope.id.take().map(cut);
    }
    if let Some(id) = envelope.id.take() {
        envelope.id = Some(match envelope.error {
            Some(_) => broken_error_id(server, id),
            None => broken_id(server, id, envelope.has_tools()),
        });
    }
    if envelope.is_read_resource() {
        if faults.has(Fault::ResultAndError) {
            envelope.error = Some(json!({"code": -32603, "message": "there is a result as well"}));
        }
        if faults.has(Fault::ErrorNullBesideResult) {
            envelope.error = Some(Value::Null);
        }
        if faults.has(Fault::ResultNull) {
            envelope.result = Some(Part::Other(Value::Null));
        }
        if faults.has(Fault::ResultArray) {
            envelope.result = Some(Part::Other(json!([])));
        }
        if faults.has(Fault::ResultMissing) {
            envelope.result = None;
        }
    }
}

/// The id as it fits into a column of 255 characters.
fn cut(id: Raw) -> Raw {
    match id.value() {
        Value::String(text) if text.chars().count() > 255 => {
            Raw::from_text(json!(text.chars().take(255).collect::<String>()).to_string())
        }
        _ => id,
    }
}

fn broken_error_id(server: &Server, id: Raw) -> Raw {
    let faults = &server.config.faults;
    match () {
        () if faults.has(Fault::ErrorIdStringified) && id.value().is_number() => {
            Raw::from_text(json!(id.text()).to_string())
        }
        () if faults.has(Fault::BigIdRounded) => broken_id(server, id, false),
        () => id,
    }
}

/// Some faults are limited to the lists of tools, so that all else can be judged.
fn broken_id(server: &Server, id: Raw, of_tools: bool) -> Raw {
    let faults = &server.config.faults;
    let value = id.value();
    if faults.has(Fault::IdOwnCounter) && of_tools {
        return Raw::number(1_000_000 + server.count());
    }
    if faults.has(Fault::IdStringified) && of_tools && value.is_number() {
        return Raw::from_text(json!(id.text()).to_string());
    }
    if faults.has(Fault::IdNumberFromString)
        && let Some(number) = value.as_str().and_then(|text| text.parse::<i64>().ok())
    {
        return Raw::from_text(number.to_string());
    }
    if faults.has(Fault::BigIdRounded)
        && let Some(number) = value.as_f64()
    {
        // What a JavaScript number keeps of it.
        return Raw::from_text(if number.abs() < 1e21 { format!("{number:.0}") } else { json!(number).to_string() });
    }
    id
}

fn error_value(server: &Server, error: &RpcError) -> Value {
    let mut value = Map::new();
    // Only the error for an unknown method is malformed: others can still be told apart.
    let sound = Faults::none();
    let faults = if error.code == -32601 { &server.config.faults } else { &sound };
    let code = match () {
        () if faults.has(Fault::ErrorCodeString) => json!(error.code.to_string()),
        () if faults.has(Fault::ErrorCodeFractional) => json!(error.code as f64 - 0.5),
        () => json!(error.code),
    };
    if !faults.has(Fault::ErrorWithoutCode) {
        value.insert("code".to_owned(), code);
    }
    if !faults.has(Fault::ErrorWithoutMessage) {
        value.insert("message".to_owned(), json!(error.message));
    }
    if let Some(data) = &error.data {
        value.insert("data".to_owned(), data.clone());
    }
    if faults.has(Fault::ErrorAsString) {
        return json!(error.message);
    }
    Value::Object(value)
}

fn incoming(faults: &Faults, raw: &RawValue) -> Incoming {
    let Ok(members) = serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(raw.get()) else {
        return Incoming::Invalid { id: None, why: "a message is a JSON object" };
    };
    let value = |name: &str| members.get(name).and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok());
    let id = members.get("id").map(|raw| Raw(raw.clone()));
    let legible = id.clone().filter(Raw::is_id);
    if value("jsonrpc").as_ref().and_then(Value::as_str) != Some("2.0") {
        return Incoming::Invalid { id: legible, why: "jsonrpc has to be \"2.0\"" };
    }
    let params = Params { raw: members.get("params").cloned(), value: value("params") };
    match (value("method"), id) {
        (Some(Value::String(method)), None) => Incoming::Notification { method, params },
        (Some(Value::String(method)), Some(id))
            if id.is_id() || (id.text() == "null" && faults.has(Fault::NullIdServed)) =>
        {
            Incoming::Request { id, method, params }
        }
        (Some(Value::String(_)), Some(_)) => {
            Incoming::Invalid { id: None, why: "the id of a request is a string or an integer" }
        }
        (Some(_), _) => Incoming::Invalid { id: legible, why: "method has to be a string" },
        (None, Some(id)) => match (value("result"), value("error")) {
            (Some(result), None) => Incoming::Answer { id, outcome: Ok(result) },
            (None, Some(error)) => Incoming::Answer { id, outcome: Err(error) },
            _ => Incoming::Invalid { id: legible, why: "the message has no method" },
        },
        (None, None) => Incoming::Invalid { id: None, why: "the message has no method" },
    }
}

fn member(raw: &RawValue, name: &str) -> Option<Box<RawValue>> {
    let mut members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(raw.get()).ok()?;
    members.remove(name)
}

fn raw_text<S: serde::Serializer>(id: &Option<Raw>, serializer: S) -> Result<S::Ok, S::Error> {
    match id {
        Some(id) => id.0.serialize(serializer),
        None => serializer.serialize_none(),
    }
}

fn bytes(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_told_apart_by_value_and_type() {
        let raw = |text: &str| Raw::from_text(text.to_owned());
        assert_eq!(raw("7").key(), raw("7.0").key());
        assert_ne!(raw("7").key(), raw("\"7\"").key());
        assert_ne!(raw("9007199254740993").key(), raw("9007199254740992").key());
        assert_eq!(raw("\"a\"").key(), raw("\"\\u0061\"").key());
        for text in ["0", "\"\"", "7.0", "-3", "9007199254740993"] {
            assert!(raw(text).is_id(), "{text}");
        }
        for text in ["null", "true", "7.5", "{}", "[1]", "1e400"] {
            assert!(!raw(text).is_id(), "{text}");
        }
    }

    #[test]
    fn messages_are_told_apart_by_their_members() {
        let read = |bytes: &[u8]| parse(&Faults::none(), bytes);
        let one = |text: &str| match read(text.as_bytes()) {
            Parsed::One(message) => message,
            other => panic!("{other:?}"),
        };
        assert!(matches!(one(r#"{"jsonrpc":"2.0","id":"","method":"ping"}"#), Incoming::Request { .. }));
        assert!(matches!(one(r#"{"jsonrpc":"2.0","method":"ping"}"#), Incoming::Notification { .. }));
        assert!(matches!(one(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Incoming::Answer { .. }));
        assert!(matches!(one(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#), Incoming::Invalid { id: None, .. }));
        assert!(matches!(one(r#"{"id":4,"method":"ping"}"#), Incoming::Invalid { id: Some(_), .. }));
        assert!(matches!(one("5"), Incoming::Invalid { id: None, .. }));
        assert!(matches!(read(b"{"), Parsed::Unreadable));
        assert!(matches!(read(b"\xff"), Parsed::Unreadable));
        assert!(matches!(read(b"[]"), Parsed::Many(items) if items.is_empty()));
    }
}
