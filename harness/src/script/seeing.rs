//! Whether an answer looks as a script says.

use std::sync::Arc;

use mcp_conform_cases::ast::{Class, Matcher, See, SeeId, SeeMessages, Transport};
use serde_json::Value;

use super::values::Values;
use crate::conversation::{Answer, AnswerKind, IdRelation};

/// An answer with what belongs to it, as `see` looks at it.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    pub answer: Answer,
    /// The response message, or null.
    pub message: Value,
    /// Headers of the HTTP response by lower-case name; `None` over stdio.
    pub headers: Option<Value>,
    /// Messages seen for the request beside its response, with their events.
    pub messages: Arc<Vec<(u64, Value)>>,
}

/// Why it does not look so.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unlike {
    /// In the response message; empty for the answer as a whole.
    pub pointer: String,
    pub message: String,
    /// Another message than the response is at fault.
    pub event: Option<u64>,
    /// A variable of the pattern had no value: no verdict may rest on this.
    pub unbound: bool,
}

/// A pattern that does not match, before it is known where the value stood.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mismatched {
    pub pointer: String,
    pub message: String,
    pub unbound: bool,
}

impl Unlike {
    fn whole(message: String) -> Self {
        Self { pointer: String::new(), message, event: None, unbound: false }
    }
}

impl Sight {
    pub(super) fn check(&self, see: &See, values: &Values) -> Result<(), Unlike> {
        // What was not read proves nothing, either way; that something came is all that is known.
        let any = matches!(see.class, Some(Class::Answered | Class::Anything));
        if self.answer.kind == AnswerKind::Unread && !(any && *see == See { class: see.class, ..See::default() }) {
            let message = self.answer.came();
            return Err(Unlike { unbound: true, ..Unlike::whole(message) });
        }
        if let Some(over) = see.over
            && (over == Transport::Http) != self.headers.is_some()
        {
            let here = if self.headers.is_some() { "HTTP" } else { "stdio" };
            return Err(Unlike::whole(format!("this came over {here}")));
        }
        if let Some(class) = see.class {
            self.class(class)?;
        }
        if let Some(matcher) = &see.result {
            let result = (self.answer.kind == AnswerKind::Result).then(|| self.message.get("result")).flatten();
            let Some(result) = result else {
                return Err(Unlike::whole(format!("a result was expected and {}", self.answer.came())));
            };
            self.matches(matcher, Some(result), "/result", values)?;
        }
        if let Some(error) = &see.error {
            let Some(given) = self.message.get("error").filter(|_| self.answer.kind == AnswerKind::Error) else {
                return Err(Unlike::whole(format!("an error was expected and {}", self.answer.came())));
            };
            let code = given.get("code").and_then(Value::as_i64);
            if !error.code.is_empty() && !code.is_some_and(|code| error.code.contains(&code)) {
                let wanted = list(&error.code);
                let got = given.get("code").map_or_else(|| "none".to_owned(), Value::to_string);
                let message = format!("error code {wanted} was expected and {got} came");
                return Err(Unlike { pointer: "/error/code".to_owned(), message, event: None, unbound: false });
            }
            if let Some(matcher) = &error.data {
                self.matches(matcher, given.get("data"), "/error/data", values)?;
            }
            if let Some(matcher) = &error.message {
                self.matches(matcher, given.get("message"), "/error/message", values)?;
            }
        }
        // Over stdio there is no status: what it says is carried by the code alone.
        if let (false, Some(_)) = (see.status.is_empty(), &self.headers) {
            let status = self.answer.status;
            let met = status.is_some_and(|s| see.status.iter().any(|range| (range.from..=range.to).contains(&s)));
            if !met {
                let wanted: Vec<String> = see
                    .status
                    .iter()
                    .map(|r| if r.from == r.to { r.from.to_string() } else { format!("{}-{}", r.from, r.to) })
                    .collect();
                let got = status.map_or_else(|| "none".to_owned(), |s| s.to_string());
                return Err(Unlike::whole(format!("HTTP status {} was expected and {got} came", wanted.join(" or "))));
            }
        }
        if let Some(headers) = &self.headers {
            for (name, matcher) in &see.headers {
                let value = headers.get(name.to_ascii_lowercase());
                self.matches(matcher, value, "", values).map_err(|unlike| Unlike {
                    message: format!("header {name}: {}", unlike.message),
                    pointer: String::new(),
                    ..unlike
                })?;
            }
        }
        if let (Some(matcher), Some(_)) = (&see.body, &self.headers) {
            let raw = self.answer.frame.as_ref().map(|frame| frame.raw.as_ref()).or(self.answer.text.as_deref());
            let text =
                raw.filter(|raw| !raw.is_empty()).map(|raw| Value::from(String::from_utf8_lossy(raw).into_owned()));
            self.matches(matcher, text.as_ref(), "", values)
                .map_err(|unlike| Unlike { message: format!("the body: {}", unlike.message), ..unlike })?;
        }
        if let Some(id) = see.id {
            let met = match id {
                SeeId::Absent => self.answer.id == IdRelation::Absent && self.answer.frame.is_some(),
                SeeId::Null => self.answer.id == IdRelation::Null,
                SeeId::Rounded => self.answer.id == IdRelation::Rounded,
                SeeId::Same => self.answer.id == IdRelation::Same,
            };
            if !met {
                let got = self.message.get("id").map_or_else(|| "none".to_owned(), Value::to_string);
                let message = format!("the id of the answer is {got}");
                return Err(Unlike { pointer: "/id".to_owned(), message, event: None, unbound: false });
            }
        }
        for messages in &see.messages {
            self.messages(messages, values)?;
        }
        if !see.any_of.is_empty() {
            let mut first = None;
            let mut met = false;
            for branch in &see.any_of {
                match self.check(branch, values) {
                    Ok(()) => met = true,
                    Err(unlike) if first.is_none() || unlike.unbound => first = Some(unlike),
                    Err(_) => {}
                }
            }
            if let (false, Some(first)) = (met, first) {
                return Err(first);
            }
        }
        match see.not.as_ref().map(|not| self.check(not, values)) {
            Some(Ok(())) => Err(Unlike::whole(self.answer.came())),
            Some(Err(unlike)) if unlike.unbound => Err(unlike),
            _ => Ok(()),
        }
    }

    fn class(&self, class: Class) -> Result<(), Unlike> {
        let kind = self.answer.kind;
        let (met, wanted) = match class {
            Class::Accepted => (kind == AnswerKind::Result, "a result"),
            Class::Anything => (true, "anything"),
            Class::Answered => (!matches!(kind, AnswerKind::Silence | AnswerKind::Closed), "an answer"),
            Class::Closed => (kind == AnswerKind::Closed, "the end of the connection"),
            Class::Refused => (self.answer.refused(), "a refusal"),
            Class::Silence => (kind == AnswerKind::Silence, "silence"),
        };
        if met {
            return Ok(());
        }
        Err(Unlike::whole(format!("{wanted} was expected and {}", self.answer.came())))
    }

    fn messages(&self, see: &SeeMessages, values: &Values) -> Result<(), Unlike> {
        let (SeeMessages::Any(matcher) | SeeMessages::None(matcher) | SeeMessages::First(matcher)) = see;
        let mut found = None;
        let mut first = None;
        for (event, value) in self.messages.iter() {
            match check(matcher, Some(value), values) {
                Ok(()) => drop(found.get_or_insert((*event, value))),
                Err(unlike) if unlike.unbound => return Err(unlike.at("", Some(*event))),
                Err(unlike) => drop(first.get_or_insert((*event, unlike))),
            }
        }
        match (see, found) {
            (SeeMessages::Any(_), Some(_)) | (SeeMessages::None(_), None) => Ok(()),
            (SeeMessages::Any(_), None) => {
                let seen = self.messages.len();
                Err(Unlike::whole(format!("none of the {seen} messages that came with it is the expected one")))
            }
            (SeeMessages::None(_), Some((event, value))) => {
                let method = value.get("method").and_then(Value::as_str).unwrap_or("a response");
                Err(Unlike { event: Some(event), ..Unlike::whole(format!("{method} came, and must not come")) })
            }
            (SeeMessages::First(_), _) => match (self.messages.first(), first) {
                (None, _) => Err(Unlike::whole("no message came before the answer".to_owned())),
                (Some((event, _)), Some((at, unlike))) if *event == at => Err(unlike.at("", Some(at))),
                (Some(_), _) => Ok(()),
            },
        }
    }

    fn matches(&self, matcher: &Matcher, value: Option<&Value>, at: &str, values: &Values) -> Result<(), Unlike> {
        check(matcher, value, values).map_err(|unlike| unlike.at(at, None))
    }
}

impl Mismatched {
    fn at(self, at: &str, event: Option<u64>) -> Unlike {
        Unlike { pointer: format!("{at}{}", self.pointer), message: self.message, event, unbound: self.unbound }
    }
}

/// A matcher over one value, with the case's variables: the first mismatch.
pub(super) fn check(matcher: &Matcher, value: Option<&Value>, values: &Values) -> Result<(), Mismatched> {
    matcher.check(value, &|variable| values.look_up(variable)).map_err(|mismatch| Mismatched {
        pointer: mismatch.pointer,
        message: mismatch.message,
        unbound: mismatch.unbound.is_some(),
    })
}

fn list(codes: &[i64]) -> String {
    let codes: Vec<String> = codes.iter().map(i64::to_string).collect();
    codes.join(" or ")
}
