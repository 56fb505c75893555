//! A finding as a case script, which `run --cases` plays and `cases check` reads.
//!
//! The steps are written as JSON, which is YAML as it stands: no writer of ours has to know what YAML quotes.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{
    input::{self, Act, Input, Manner, Message, Octets, Retry},
    oracle::{Kind, Suspicion},
    place::Place,
    play::PROOFS,
};
use crate::{conversation::all_capabilities, trace::Transport};

/// The text of a script that does what the input does in that place.
pub(super) fn script(id: &str, input: &Input, found: &Suspicion, place: &Place, comment: &str) -> String {
    let transport = place.ground.transport;
    let mut out = String::new();
    for line in comment.lines() {
        let _ = writeln!(out, "# {line}");
    }
    let text = |value: &str| Value::from(value).to_string();
    let revision = input.era.judged();
    let _ = writeln!(out, "id: {id}");
    let _ = writeln!(out, "title: {}", text(found.kind.title()));
    let _ = writeln!(out, "about: {}", text(&format!("Found by fuzzing: {}.", found.message)));
    let _ = writeln!(out, "revisions: [{revision}]");
    let _ = writeln!(out, "transports: [{}]", transport.as_str());
    let setup = setup(input);
    let _ = writeln!(out, "conversation: {setup}");
    out.push_str("steps:\n");
    let ended = (0..input.steps.len()).find(|of| input.listens(*of) && input.ends(*of));
    let astray = ended.filter(|_| found.kind == Kind::Astray);
    let opened = vec!["main".to_owned()];
    let mut writer =
        Writer { input, transport, settles: place.settles(), opened, steps: Vec::new(), dropped: 0, astray };
    writer.settle("main");
    for (index, step) in input.steps.iter().enumerate() {
        writer.step(index, usize::from(step.on), step.wait, &step.act);
    }
    writer.judge(found);
    for step in writer.steps {
        let _ = writeln!(out, "  - {step}");
    }
    out
}

/// How each conversation is opened.
fn setup(input: &Input) -> Value {
    let mut out = json!({"fresh": true, "capabilities": literal(&all_capabilities())});
    let policy = match input.manner {
        Manner::Prompt => return out,
        Manner::Decline => json!("decline"),
        Manner::Late => json!({"delay": format!("{}ms", input::LATE.as_millis())}),
        Manner::Refuse => json!({"error": -32_603}),
    };
    out["answers"] = json!({ "*": policy });
    out
}

struct Writer<'a> {
    input: &'a Input,
    transport: Transport,
    /// What each conversation begins with, see [`Place::settles`].
    settles: Option<&'static str>,
    /// Names of the conversations by number.
    opened: Vec<String>,
    steps: Vec<Value>,
    dropped: usize,
    /// The subscription that is cancelled, and told of something nevertheless.
    astray: Option<usize>,
}

/// Its id, by which what comes for it is known.
const ASTRAY: &str = "mcp-conform-cancelled";

impl Writer<'_> {
    fn step(&mut self, index: usize, on: usize, wait: bool, act: &Act) {
        if *act == Act::Drop {
            let name = self.on(on);
            self.push("drop_connection", named(json!({}), &name));
            // The next step on it opens another.
            if let Some(place) = self.opened.get_mut(on) {
                place.clear();
            }
            return;
        }
        let name = self.on(on);
        match act {
            Act::Request(message) => {
                let mut body = self.request(message);
                body.insert("as".to_owned(), handle(index).into());
                if self.astray == Some(index) {
                    body.insert("id".to_owned(), ASTRAY.into());
                }
                let word = if wait { "request" } else { "send" };
                self.push(word, named(Value::Object(body), &name));
            }
            Act::Notify(message) => {
                let mut body = self.request(message);
                ["id", "token", "capabilities"].iter().for_each(|word| drop(body.shift_remove(*word)));
                body.insert("as".to_owned(), handle(index).into());
                self.push("notify", named(Value::Object(body), &name));
            }
            Act::Retry(retry) => {
                let body = self.retry(retry, index);
                self.push("retry", named(body, &name));
            }
            Act::Cancel(of) if self.is_request(*of) => self.push("cancel", json!({"of": handle(*of)})),
            Act::CloseStream(of) if self.is_request(*of) => self.push("close_stream", json!({"of": handle(*of)})),
            Act::Cancel(_) | Act::CloseStream(_) | Act::Drop => {}
            Act::Line(text) => self.line(index, text, &name),
            Act::Raw(bytes) => {
                let word = if self.transport == Transport::Http { "http_raw" } else { "raw" };
                self.push(word, named(raw(bytes), &name));
            }
            Act::Http(act) => {
                let headers: Map<String, Value> =
                    act.headers.iter().map(|(name, value)| (name.clone(), header(value.as_deref()))).collect();
                let mut body = json!({"method": act.method, "headers": headers, "as": handle(index), "within": "2s"});
                if !act.body.is_empty() {
                    body["body"] = literal(&Value::from(act.body.as_str()));
                }
                if act.resume.is_some() {
                    // The last id that the step before it was given.
                    body["headers"]["Accept"] = "text/event-stream".into();
                    if let Some(before) = (0..index).rev().find(|of| self.is_request(*of)) {
                        body["headers"]["Last-Event-ID"] = format!("${}/events/0/id", handle(before)).into();
                    }
                }
                self.push("http", named(body, &name));
            }
        }
    }

    /// Opens a conversation when it is first used.
    fn on(&mut self, on: usize) -> String {
        while self.opened.len() <= on {
            self.opened.push(String::new());
        }
        let name = self.opened.get(on).cloned().unwrap_or_default();
        if !name.is_empty() {
            return name;
        }
        self.dropped += 1;
        let name = format!("other-{}", self.dropped);
        let mut body = setup(self.input);
        body["as"] = name.as_str().into();
        self.push("open", body);
        self.settle(&name);
        if let Some(place) = self.opened.get_mut(on) {
            place.clone_from(&name);
        }
        name
    }

    fn settle(&mut self, on: &str) {
        if let Some(method) = self.settles {
            self.push("request", named(json!({ "method": method }), on));
        }
    }

    fn request(&self, message: &Message) -> Map<String, Value> {
        let mut out = Map::new();
        out.insert("method".to_owned(), message.method.as_str().into());
        if let Some(params) = &message.params {
            out.insert("params".to_owned(), template(params));
        }
        for (word, text) in [("id", &message.id), ("token", &message.token)] {
            if let Some(text) = text {
                let text = if text == input::ANY_TOKEN { "\"mcp-conform\"" } else { text };
                out.insert(word.to_owned(), json!({ "json": text }));
            }
        }
        if let Some(capabilities) = &message.capabilities
            && self.input.era == mcp_conform_schemas::Era::Modern
        {
            out.insert("capabilities".to_owned(), literal(capabilities));
        }
        if !message.headers.is_empty() {
            let headers = message.headers.iter().map(|(name, value)| (name.clone(), header(value.as_deref())));
            out.insert("headers".to_owned(), Value::Object(headers.collect()));
        }
        if !message.wrong.is_empty() {
            out.insert("wrong".to_owned(), json!(message.wrong));
        }
        out
    }

    fn retry(&self, retry: &Retry, index: usize) -> Value {
        let mut out = json!({"of": handle(retry.of), "as": handle(index)});
        let mut wrong = Vec::new();
        if let Some(state) = &retry.state {
            out["state"] = state.as_ref().map_or(Value::Null, template);
            wrong.push("/params/requestState");
        }
        if let Some(responses) = &retry.responses {
            out["responses"] = template(responses);
            wrong.push("/params/inputResponses");
        } else if retry.without > 0 {
            out["without"] = retry.without.into();
            wrong.push("/params/inputResponses");
        }
        if let Some(name) = &retry.name {
            out["name"] = literal(&Value::from(name.as_str()));
            wrong.push("/params/name");
        }
        if !wrong.is_empty() {
            out["wrong"] = json!(wrong);
        }
        out
    }

    fn line(&mut self, index: usize, text: &str, name: &str) {
        match self.transport {
            Transport::Stdio => self.push("raw", named(json!({ "text": format!("{text}\n") }), name)),
            Transport::Http => {
                let headers =
                    json!({"Content-Type": "application/json", "Accept": "application/json, text/event-stream"});
                let body = json!({"method": "POST", "headers": headers, "body": literal(&text.into()),
                    "as": handle(index), "within": "2s"});
                self.push("http", named(body, name));
            }
        }
    }

    fn is_request(&self, of: usize) -> bool {
        self.input.steps.get(of).is_some_and(|step| matches!(step.act, Act::Request(_) | Act::Retry(_)))
    }

    /// What is expected where no rule of the suite says it.
    fn judge(&mut self, found: &Suspicion) {
        let requirement = if found.requirement.starts_with("own/") {
            Value::from(found.requirement.as_str())
        } else {
            json!({ (found.revision.as_str()): found.requirement })
        };
        let last = (0..self.input.steps.len()).rev().find(|of| self.is_request(*of));
        let told = |of: &usize| {
            let act = self.input.steps.get(*of).map(|step| &step.act);
            matches!(act, Some(Act::Request(_) | Act::Retry(_) | Act::Http(_)))
        };
        let last = found.step.filter(told).or(last);
        match (found.kind, last) {
            (Kind::Accepted | Kind::Swapped | Kind::Leak | Kind::StackTrace | Kind::ServerError, Some(of)) => {
                let see = match found.kind {
                    Kind::ServerError => json!({"not": {"status": "500-599"}}),
                    Kind::StackTrace => json!({"not": {"any_of": [
                        {"error": {"message": {"$matches": ":[0-9]+|line [0-9]+"}}}, {"error": {"data": "$any"}}]}}),
                    _ => {
                        json!({"any_of": ["refused", {"result": {"isError": true}}, {"result": {"resultType": "input_required"}}]})
                    }
                };
                self.push(
                    "expect",
                    json!({"of": handle(of), "expect": see, "requirement": requirement,
                    "says": found.message}),
                );
            }
            (Kind::Exit, _) => {
                self.push("close_stdin", json!({}));
                self.push("expect_exit", json!({"code": 0, "requirement": requirement, "says": found.message}));
            }
            // The rules judge whatever is played.
            (Kind::Rule, _) => {}
            (Kind::Astray, _) => {
                // From its place on, so that it stands ahead of what provokes it.
                let (at, watch) = match self.astray {
                    Some(listen) => {
                        let like = json!({"params": {"_meta": {"io.modelcontextprotocol/subscriptionId": ASTRAY}}});
                        let cancelled = json!({"cancel": {"of": handle(listen)}});
                        let at = self.steps.iter().position(|step| *step == cancelled).map_or(0, |at| at + 1);
                        (at, json!({ "like": like }))
                    }
                    None if self.transport == Transport::Stdio => {
                        (0, json!({"like": {"method": "$absent", "id": {"$one_of": ["$absent", null]}}}))
                    }
                    None => {
                        let of = (0..self.input.steps.len())
                            .rev()
                            .find(|of| matches!(self.input.steps.get(*of).map(|step| &step.act), Some(Act::Http(_))));
                        let mut watch = json!({"like": {"result": "$any"}});
                        if let Some(of) = of {
                            watch["of"] = handle(of).into();
                        }
                        (self.steps.len(), watch)
                    }
                };
                let mut watch = watch;
                watch["requirement"] = requirement;
                watch["says"] = found.message.as_str().into();
                self.steps.insert(at.min(self.steps.len()), json!({ "expect_nothing": watch }));
                if self.astray.is_some() {
                    let ping = json!({"request": {"method": "server/discover"}});
                    self.steps.splice(at..at, std::iter::repeat_n(ping, PROOFS as usize));
                }
            }
            _ => {
                for of in 0..self.input.steps.len() {
                    let step = self.input.steps.get(of);
                    let sent = step.is_some_and(|step| matches!(step.act, Act::Request(_)) && !step.wait);
                    let long =
                        step.and_then(|step| step.message()).is_some_and(|it| it.method == "subscriptions/listen");
                    let ended = self
                        .input
                        .steps
                        .iter()
                        .any(|step| matches!(step.act, Act::Cancel(it) | Act::CloseStream(it) if it == of));
                    if sent && !long && !ended {
                        self.push(
                            "await",
                            json!({"of": handle(of), "expect": "answered", "requirement": requirement,
                            "says": found.message}),
                        );
                    }
                }
                let method = match self.input.era {
                    mcp_conform_schemas::Era::Legacy => "ping",
                    mcp_conform_schemas::Era::Modern => "server/discover",
                };
                let name = self.opened.get(found.lane).filter(|name| !name.is_empty()).cloned();
                let body = json!({"method": method, "expect": "answered", "requirement": requirement,
                    "says": found.message});
                self.push("request", named(body, &name.unwrap_or_else(|| "main".to_owned())));
            }
        }
    }

    fn push(&mut self, word: &str, body: Value) {
        self.steps.push(json!({ word: body }));
    }
}

fn handle(step: usize) -> String {
    format!("s{step}")
}

fn named(mut body: Value, name: &str) -> Value {
    if name != "main"
        && let Value::Object(members) = &mut body
    {
        members.insert("on".to_owned(), name.into());
    }
    body
}

fn header(value: Option<&str>) -> Value {
    value.map_or(Value::Null, |value| literal(&value.into()))
}

fn raw(bytes: &Octets) -> Value {
    match bytes {
        Octets::Text(text) => json!({ "text": text }),
        Octets::Bytes { base64 } => json!({ "base64": base64 }),
    }
}

/// A value as it stands: the sign at the beginning of a text is doubled.
fn literal(value: &Value) -> Value {
    match value {
        Value::String(text) if text.starts_with('$') => format!("${text}").into(),
        Value::Array(items) => Value::Array(items.iter().map(literal).collect()),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, member)| (name.clone(), literal(member))).collect())
        }
        plain => plain.clone(),
    }
}

/// A value with holes as a template of the language.
fn template(value: &Value) -> Value {
    if let Some((step, at)) = input::as_from(value) {
        return format!("${}{at}", handle(step)).into();
    }
    if let Some((inner, at)) = input::as_flip(value) {
        return match inner {
            Value::String(text) => mcp_conform_cases::alter::flipped(text, at).into(),
            inner => json!({"flip": template(inner), "at": at}),
        };
    }
    match value {
        Value::Object(members) => {
            if members.contains_key(input::MARK) {
                return "mcpconform".into();
            }
            if let Some(raw @ Value::String(_)) = members.get(input::RAW) {
                return json!({ "json": raw });
            }
            Value::Object(members.iter().map(|(name, member)| (name.clone(), template(member))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(template).collect()),
        plain => literal(plain),
    }
}
