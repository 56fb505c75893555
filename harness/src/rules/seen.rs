//! Messages as rules see them: [`Seen`] is one JSON-RPC message, or what stands in its place, with its shape, its place in
//! the event and, for a response, the request that it answers.

use super::RequestKey;
use crate::{
    trace::{Channel, Direction, Exchange},
    wire::{Json, JsonKind},
};

/// One message of an event; an event that carries an array holds several.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    pub direction: Direction,
    pub channel: Channel,
    pub event: u64,
    pub json: &'a Json,
    pub shape: Shape,
    /// JSON Pointer of the message within the frame: empty, or `/3` inside an array.
    pub prefix: String,
    /// For a response of the server.
    pub answer: Option<Answer>,
}

/// What a JSON value is as a message, by its strongest sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A method and an id member, whatever its type.
    Request,
    /// A method and no id member.
    Notification,
    /// No method, but a result or an error or both.
    Response { result: bool, error: bool },
    /// An object that claims to be a message by `jsonrpc` or `id` and is none of the above.
    Bare,
    /// Any other object.
    Alien,
    /// No object.
    Other,
}

impl Shape {
    pub fn of(json: &Json) -> Self {
        if json.as_object().is_none() {
            return Self::Other;
        }
        let has = |name| json.get(name).is_some();
        if has("method") {
            return if has("id") { Self::Request } else { Self::Notification };
        }
        let (result, error) = (has("result"), has("error"));
        if result || error {
            Self::Response { result, error }
        } else if has("jsonrpc") || has("id") {
            Self::Bare
        } else {
            Self::Alien
        }
    }

    /// Whether the value claims to be a JSON-RPC message.
    pub fn is_message(self) -> bool {
        !matches!(self, Self::Alien | Self::Other)
    }
}

/// Which request of ours a response of the server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// `None`: no request of this conversation fits.
    pub request: Option<RequestKey>,
    pub likeness: Likeness,
    /// The request had its answer already.
    pub again: bool,
    /// It may as well be a second answer to another request, whose id it repeats exactly.
    pub unsure: bool,
}

/// How the id of a response compares with the id of the request that it was taken to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// Type and value.
    Exact,
    /// A number for a string or the other way round.
    Type,
    /// The nearest double of an integer that has no exact one.
    Rounded,
    /// Another id.
    Foreign,
    /// No id, or null.
    Missing,
}

impl Seen<'_> {
    pub fn method(&self) -> Option<&str> {
        self.json.get("method").and_then(Json::as_str)
    }

    pub fn is_incoming(&self) -> bool {
        self.direction == Direction::In
    }

    pub fn is_notification(&self, method: &str) -> bool {
        self.method() == Some(method)
    }

    pub fn exchange(&self) -> Option<Exchange> {
        self.channel.exchange()
    }

    /// A JSON Pointer into the frame from one into the message.
    pub fn at(&self, pointer: &str) -> String {
        format!("{}{pointer}", self.prefix)
    }

    pub fn get(&self, pointer: &str) -> Option<&Json> {
        self.json.pointer(pointer)
    }
}

/// A value for a message to a person: short, on one line.
pub(super) fn show(json: Option<&Json>) -> String {
    let Some(json) = json else { return "nothing".to_owned() };
    let text = match &json.kind {
        JsonKind::Array(items) => format!("an array of {}", items.len()),
        JsonKind::Object(_) => "an object".to_owned(),
        _ => json.to_string(),
    };
    clip(&text)
}

/// At most some eighty characters of a text.
pub(super) fn clip(text: &str) -> String {
    const MOST: usize = 80;
    if text.chars().nth(MOST).is_none() { text.to_owned() } else { text.chars().take(MOST).chain(['…']).collect() }
}

/// A step of a JSON Pointer for a member name.
pub(super) fn token(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}
