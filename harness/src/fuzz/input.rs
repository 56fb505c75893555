//! One input of the fuzzer: a sequence of messages, with places that are filled in with what the server answered before.
//!
//! An [`Input`] is plain data: it is kept as JSON in the corpus, mutated, shrunk, and written as a case script. Values of
//! parameters may hold *holes*: an object whose only member begins with the sign stands for something else.
//!
//! | hole | stands for |
//! |---|---|
//! | `{"$from": 2, "at": "/result/nextCursor"}` | a part of the answer to step 2 |
//! | `{"$flip": …, "at": 9}` | the text with one bit of what it encodes flipped |
//! | `{"$raw": "1e400"}` | JSON text that no parser keeps |
//! | `{"$mark": 0}` | a text that nothing else in the run has, so that it can be told where it comes back |

use std::{collections::BTreeSet, time::Duration};

use mcp_conform_cases::ast::AnswerPolicy;
use mcp_conform_schemas::Era;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use mcp_conform_cases::flipped_value;

use crate::conversation::Draft;

pub(super) const FROM: &str = "$from";
pub(super) const FLIP: &str = "$flip";
pub(super) const RAW: &str = "$raw";
pub(super) const MARK: &str = "$mark";

/// Stands for a progress token that nothing else has.
pub(super) const ANY_TOKEN: &str = "*";

/// The step that a mark is asked of.
pub(super) const MARKED: usize = usize::MAX;

/// Steps that one input may have; a history that is looked through for a cause may have more.
pub(super) const MOST_STEPS: usize = 48;

/// A sequence of messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    pub era: Era,
    /// How the client answers what the server asks.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub manner: Manner,
    pub steps: Vec<Step>,
}

/// How the client answers what the server asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Manner {
    /// Soundly and at once.
    #[default]
    Prompt,
    Decline,
    /// Soundly, after a moment.
    Late,
    /// By an error.
    Refuse,
}

impl Manner {
    /// The answering policy of the case language for it; `None` for the default.
    pub(super) fn policy(self) -> Option<AnswerPolicy> {
        match self {
            Self::Prompt => None,
            Self::Decline => Some(AnswerPolicy::Decline),
            Self::Late => Some(AnswerPolicy::Delay(LATE)),
            Self::Refuse => Some(AnswerPolicy::Error(-32_603)),
        }
    }
}

/// How late a late answer is.
pub(super) const LATE: Duration = Duration::from_millis(30);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Which of the input's conversations: 0 is open from the start, others open when they are first used.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub on: u8,
    /// The answer is waited for before the next step.
    #[serde(default, skip_serializing_if = "is_false")]
    pub wait: bool,
    pub act: Act,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// `notifications/cancelled` for a request of an earlier step; closes its stream in the modern era over HTTP.
    Cancel(usize),
    /// Closes our side of the HTTP exchange of an earlier step.
    CloseStream(usize),
    /// Ends the conversation without good-bye; the next step on it opens another.
    Drop,
    /// Over HTTP, a request of any kind to the endpoint.
    Http(HttpAct),
    /// A message of any text: a line on stdio, the body of a POST over HTTP.
    Line(String),
    Notify(Message),
    /// Bytes as they stand: on stdin, or on an HTTP connection of their own, where `{host}` and `{path}` are filled in.
    Raw(Octets),
    Request(Message),
    Retry(Retry),
}

/// A request or notification whose envelope the conversation supplies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    pub method: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
    /// JSON text of the id instead of one that nothing else has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// JSON text of a progress token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Client capabilities of this request alone (modern era).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Value>,
    /// Added or replaced, or left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, Option<String>)>,
    /// JSON Pointers of what is wrong on purpose, `headers/NAME` included. Without any, an answer is owed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong: Vec<String>,
    /// What is asked for breaks a promise of the server's own, and must not be carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forbidden: Option<Forbidden>,
}

/// Why a request must not be carried out, though it is a message as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forbidden {
    /// The arguments break the tool's inputSchema beyond what a lenient server may mend.
    Arguments,
    /// No such method.
    Method,
    /// No such tool.
    Tool,
}

/// The next round of a multi round-trip request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// The step whose answer asked for input.
    pub of: usize,
    /// Instead of the state that was handed out; `Some(None)` leaves it out.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "twice")]
    pub state: Option<Option<Value>>,
    /// Instead of what the answering policy makes of the input requests; may hold holes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responses: Option<Value>,
    /// Keys whose answers are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub without: u8,
    /// The tool or prompt that is named instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpAct {
    pub method: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, Option<String>)>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub body: String,
    /// The `Last-Event-ID` header: the n-th event id that the server gave in this input, counted from the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<usize>,
}

/// Bytes: as text where they are UTF-8.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Octets {
    Text(String),
    Bytes { base64: String },
}

impl Octets {
    pub fn new(bytes: &[u8]) -> Self {
        use base64::{Engine as _, prelude::BASE64_STANDARD};
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Bytes { base64: BASE64_STANDARD.encode(bytes) },
        }
    }

    /// What is no Base64, in a corpus that was edited by hand, stands for itself.
    pub fn bytes(&self) -> Vec<u8> {
        use base64::{Engine as _, prelude::BASE64_STANDARD};
        match self {
            Self::Text(text) => text.clone().into_bytes(),
            Self::Bytes { base64 } => BASE64_STANDARD.decode(base64).unwrap_or_else(|_| base64.clone().into_bytes()),
        }
    }
}

impl Step {
    pub fn request(method: &str, params: Option<Value>) -> Self {
        Self::of(Act::Request(Message { method: method.to_owned(), params, ..Message::default() }))
    }

    pub fn of(act: Act) -> Self {
        Self { on: 0, wait: true, act }
    }

    /// The earlier steps that it needs.
    pub fn needs(&self) -> Vec<usize> {
        let mut out = Vec::new();
        match &self.act {
            Act::Cancel(of) | Act::CloseStream(of) => out.push(*of),
            Act::Retry(retry) => {
                out.push(retry.of);
                retry.state.iter().flatten().chain(&retry.responses).for_each(|value| holes(value, &mut out));
            }
            Act::Request(message) | Act::Notify(message) => {
                message.params.iter().for_each(|params| holes(params, &mut out));
            }
            Act::Drop | Act::Http(_) | Act::Line(_) | Act::Raw(_) => {}
        }
        out
    }

    /// The same step with the numbers of earlier ones changed; `None` where one of them is gone.
    pub fn renumbered(&self, to: &dyn Fn(usize) -> Option<usize>) -> Option<Self> {
        let mut step = self.clone();
        match &mut step.act {
            Act::Cancel(of) | Act::CloseStream(of) => *of = to(*of)?,
            Act::Retry(retry) => {
                retry.of = to(retry.of)?;
                for value in retry.state.iter_mut().flatten().chain(&mut retry.responses) {
                    renumber(value, to)?;
                }
            }
            Act::Request(message) | Act::Notify(message) => {
                if let Some(params) = &mut message.params {
                    renumber(params, to)?;
                }
            }
            Act::Drop | Act::Http(_) | Act::Line(_) | Act::Raw(_) => {}
        }
        Some(step)
    }

    /// The message of a request or notification.
    pub fn message(&self) -> Option<&Message> {
        match &self.act {
            Act::Request(message) | Act::Notify(message) => Some(message),
            _ => None,
        }
    }

    pub fn message_mut(&mut self) -> Option<&mut Message> {
        match &mut self.act {
            Act::Request(message) | Act::Notify(message) => Some(message),
            _ => None,
        }
    }
}

impl Input {
    /// The steps of which `keep` says yes, with those that need one of the others left out, too.
    pub fn only(&self, keep: impl Fn(usize) -> bool) -> Self {
        let mut places: Vec<Option<usize>> = Vec::with_capacity(self.steps.len());
        let mut steps: Vec<Step> = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            let step = keep(index)
                .then(|| step.renumbered(&|of| places.get(of).copied().flatten().filter(|_| of < index)))
                .flatten();
            places.push(step.is_some().then_some(steps.len()));
            steps.extend(step);
        }
        Self { era: self.era, manner: self.manner, steps }
    }

    /// A step left out, and what needed it made to need an earlier one instead.
    pub fn merged(&self, at: usize, earlier: usize) -> Self {
        let place = |of: usize| match of {
            of if of == at => Some(earlier),
            of if of > at => Some(of - 1),
            of => Some(of),
        };
        let rest = self.steps.iter().enumerate().filter(|(index, _)| *index != at);
        let steps = rest.filter_map(|(_, step)| step.renumbered(&place)).collect();
        Self { era: self.era, manner: self.manner, steps }
    }

    /// One input after the other, as one.
    pub fn then(&mut self, other: &Input) {
        let shift = self.steps.len();
        self.steps.extend(other.steps.iter().filter_map(|step| step.renumbered(&|of| Some(of + shift))));
    }

    /// Steps that need an earlier one which is not there (a corpus edited by hand) are left out.
    pub fn mended(&self) -> Self {
        self.only(|_| true)
    }

    /// Whether a step opens a subscription of 2026-07-28.
    pub fn listens(&self, of: usize) -> bool {
        let message = self.steps.get(of).and_then(Step::message);
        message.is_some_and(|message| message.method == "subscriptions/listen")
    }

    /// Whether a step is cancelled by another one.
    pub fn ends(&self, of: usize) -> bool {
        self.steps.iter().any(|step| matches!(step.act, Act::Cancel(it) | Act::CloseStream(it) if it == of))
    }

    /// Steps whose answers later steps are made of.
    pub fn needed(&self) -> BTreeSet<usize> {
        let made = self.steps.iter().filter(|step| !matches!(step.act, Act::Cancel(_) | Act::CloseStream(_)));
        made.flat_map(Step::needs).collect()
    }

    /// Conversations that it holds at a time.
    pub fn lanes(&self) -> usize {
        self.steps.iter().map(|step| step.on).collect::<BTreeSet<_>>().len()
    }

    /// Messages that go out: what the size of a finding is counted in.
    pub fn messages(&self) -> usize {
        self.steps.iter().filter(|step| !matches!(step.act, Act::Drop)).count()
    }
}

/// A hole for a part of the answer to a step.
pub(super) fn from(step: usize, at: &str) -> Value {
    let mut hole = Map::new();
    hole.insert(FROM.to_owned(), step.into());
    hole.insert("at".to_owned(), at.into());
    Value::Object(hole)
}

/// The step and the pointer of a hole for a part of an answer.
pub(super) fn as_from(value: &Value) -> Option<(usize, &str)> {
    let step = value.get(FROM)?.as_u64()?;
    Some((usize::try_from(step).ok()?, value.get("at")?.as_str()?))
}

/// The text and the bit of a hole for a flipped text.
pub(super) fn as_flip(value: &Value) -> Option<(&Value, u64)> {
    Some((value.get(FLIP)?, value.get("at")?.as_u64()?))
}

/// The value with its holes filled in; `None` where an answer has no such part.
pub(super) fn fill(value: &Value, answer: &dyn Fn(usize, &str) -> Option<Value>) -> Option<Draft> {
    if let Some((step, at)) = as_from(value) {
        return answer(step, at).map(Draft::Value);
    }
    if let Some((inner, at)) = as_flip(value) {
        let inner = fill(inner, answer)?.to_value();
        return Some(Draft::Value(flipped_value(inner, at)));
    }
    Some(match value {
        Value::Object(members) => {
            if members.contains_key(MARK) {
                return answer(MARKED, "").map(Draft::Value);
            }
            if let Some(Value::String(text)) = members.get(RAW) {
                return Some(Draft::Raw(text.clone()));
            }
            let members = members.iter().map(|(name, value)| Some((name.clone(), fill(value, answer)?)));
            Draft::Object(members.collect::<Option<_>>()?)
        }
        Value::Array(items) => Draft::Array(items.iter().map(|item| fill(item, answer)).collect::<Option<_>>()?),
        plain => Draft::Value(plain.clone()),
    })
}

fn holes(value: &Value, out: &mut Vec<usize>) {
    if let Some((step, _)) = as_from(value) {
        return out.push(step);
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| holes(item, out)),
        Value::Object(members) => members.values().for_each(|item| holes(item, out)),
        _ => {}
    }
}

fn renumber(value: &mut Value, to: &dyn Fn(usize) -> Option<usize>) -> Option<()> {
    if let Some((step, _)) = as_from(value) {
        let step = to(step)?;
        if let Some(place) = value.get_mut(FROM) {
            *place = step.into();
        }
        return Some(());
    }
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(|item| renumber(item, to)),
        Value::Object(members) => members.values_mut().try_for_each(|item| renumber(item, to)),
        _ => Some(()),
    }
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_false(value: &bool) -> bool {
    !value
}

/// `null` is a value of its own here, and not the absence of the member.
mod twice {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    #[expect(clippy::ref_option, reason = "serde asks for it")]
    pub(super) fn serialize<S: Serializer>(value: &Option<Option<Value>>, to: S) -> Result<S::Ok, S::Error> {
        value.as_ref().and_then(Option::as_ref).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<Value>>, D::Error> {
        Option::<Value>::deserialize(from).map(Some)
    }
}
