//! One conversation of an input, [`Lane`], and how steps go out on it. What comes in is read in `intake`.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use mcp_conform_schemas::Era;
use serde_json::Value;

use super::{
    input::{self, Act, HttpAct, Input, Message, Retry},
    marks::{MARK, Mark, marks_in},
    outcome::{Class, Outcome, Played, part, result},
    place::Place,
    seeds,
    weigh::readable,
};
use crate::{
    conversation::{Call, Conversation, Draft, Outgoing, SendError, header_value},
    rules::Judge,
    trace::{Exchange, Exit, Intent, Transport},
    wire::Json,
};

/// The most that an answer that nobody owes is waited for.
const SHORT: Duration = Duration::from_millis(3);
/// Stands in a trace where a case would, so that what was said by inputs is known from the handshake.
const FUZZ: &str = "fuzz";

/// A conversation, with what is known of it.
pub(super) struct Lane {
    pub(super) talk: Conversation,
    pub(super) judge: Judge,
    pub(super) next: usize,
    /// Steps whose answers are waited for, by the event of the request.
    pub(super) waiting: BTreeMap<u64, usize>,
    pub(super) place: Arc<Place>,
    /// The tools of calls that were not answered, by the event of the call: a server that does one thing after another is still
    /// at them, cancelled or not.
    pub(super) backlog: BTreeMap<u64, String>,
    /// Ids that were chosen by hand, by step of the input at hand.
    pub(super) ids: BTreeMap<usize, String>,
    /// The tasks of `tasks/cancel`, by step of the input at hand.
    pub(super) tasks: BTreeMap<usize, String>,
    /// How each number or text was first spelled as an id.
    pub(super) spellings: BTreeMap<String, String>,
    /// Progress tokens by the input that used them first, and the input at hand.
    pub(super) tokens: BTreeMap<String, u64>,
    pub(super) turn: u64,
    /// Ids that must not be used again, or not yet.
    pub(super) burnt: BTreeSet<String>,
    /// Ids that two requests had at a time.
    pub(super) shared: BTreeSet<String>,
    /// Malformed messages of this life, whose ids may be answered.
    pub(super) lines: Vec<String>,
    pub(super) by_exchange: BTreeMap<Exchange, usize>,
    /// Exchanges of ours that are open by their nature.
    pub(super) streams: Vec<Exchange>,
    /// Event ids that the server gave.
    pub(super) event_ids: Vec<String>,
    /// Subscriptions that we cancelled, by the text of their id: the event, and the answers to later requests.
    pub(super) cancelled: BTreeMap<String, (u64, u32)>,
    /// The stream on which each event id came first; `None` where it came on two.
    pub(super) streams_of: BTreeMap<String, Option<Exchange>>,
    /// Streams that take up another one, with its number and our request.
    pub(super) resumed: BTreeMap<Exchange, (Option<Exchange>, u64)>,
    /// Answers without an id: what comes of messages that have none, or none that can be read.
    pub(super) nameless: u64,
    /// What a sound request took to be answered, as a floating average.
    pub(super) usual: Duration,
    /// Which conversation of the input it is.
    pub(super) number: usize,
    /// Subscriptions that the server acknowledged: that much is an answer, and no other comes soon.
    pub(super) opened: u64,
    pub(super) said: Vec<u8>,
    pub(super) exit: Option<Exit>,
    pub(super) gone: bool,
    /// Something was sent on it that may be answered without an id, now or later.
    pub(super) noisy: bool,
    /// It said something. Until then its start is waited for, too.
    pub(super) heard: bool,
    /// Our own request ended its session, or a limit of ours the conversation.
    pub(super) over: bool,
    /// Since when we end it, everything is our doing.
    pub(super) ended: bool,
    pub(super) last: String,
}

/// What became of the sending of a step.
pub(super) struct Sent {
    /// It was no sound message: what comes of it is open.
    pub(super) odd: bool,
}

impl Lane {
    pub(super) fn new(talk: Conversation, place: Arc<Place>, number: usize) -> Self {
        let mut lane = Self {
            talk,
            place,
            judge: Judge::new(),
            next: 0,
            waiting: BTreeMap::new(),
            backlog: BTreeMap::new(),
            ids: BTreeMap::new(),
            tasks: BTreeMap::new(),
            spellings: BTreeMap::new(),
            tokens: BTreeMap::new(),
            turn: 0,
            burnt: BTreeSet::new(),
            shared: BTreeSet::new(),
            lines: Vec::new(),
            by_exchange: BTreeMap::new(),
            streams: Vec::new(),
            event_ids: Vec::new(),
            cancelled: BTreeMap::new(),
            streams_of: BTreeMap::new(),
            resumed: BTreeMap::new(),
            nameless: 0,
            usual: SHORT,
            number,
            opened: 0,
            said: Vec::new(),
            exit: None,
            gone: false,
            noisy: false,
            heard: false,
            over: false,
            ended: false,
            last: String::new(),
        };
        // The handshake is no input's doing; what is wrong with it is told by its own words.
        lane.talk.mark(FUZZ, "", "");
        lane.take_all(&mut Played::default());
        lane
    }

    /// How long an answer is waited for: a process that has said nothing yet may still be starting, and what it was asked before
    /// may come first.
    pub(super) fn patient(&self, patience: Duration) -> Duration {
        const FACTOR: u32 = 4;
        const MOST: Duration = Duration::from_secs(120);
        let bench = self.talk.bench();
        let before: Duration = self.backlog.values().map(|tool| self.place.pace.usual(tool)).sum();
        let patience = patience + before.min(MOST);
        if self.heard { patience } else { patience + bench.slowest_start() * FACTOR }
    }

    /// How long an answer that nobody owes is waited for: a few times what one takes that is owed.
    pub(super) fn short(&self) -> Duration {
        const LEAST: Duration = Duration::from_micros(500);
        const FACTOR: u32 = 4;
        (self.usual * FACTOR).clamp(LEAST, SHORT)
    }

    /// Notes what an answer took.
    pub(super) fn took(&mut self, took: Duration) {
        const PART: u32 = 8;
        self.usual = (self.usual * (PART - 1) + took.min(SHORT)) / PART;
    }

    pub(super) async fn act(
        &mut self,
        act: &Act,
        index: usize,
        input: &Input,
        played: &mut Played,
    ) -> Result<Sent, SendError> {
        let sent = match act {
            Act::Request(message) => self.request(message, index, played).await,
            Act::Notify(message) => self.notify(message, index, played).await,
            Act::Retry(retry) => self.retry(retry, index, input, played).await,
            Act::Cancel(of) => self.cancel(*of, played).await,
            Act::CloseStream(of) => {
                let exchange = self.by_exchange.iter().find(|(_, step)| *step == of).map(|(exchange, _)| *exchange);
                if let Some(exchange) = exchange {
                    self.talk.link().close_exchange(exchange);
                    self.waiting.retain(|_, step| step != of);
                }
                Ok(Sent { odd: false })
            }
            Act::Line(text) => self.line(text, index, played).await,
            Act::Raw(bytes) => self.raw(&bytes.bytes()).await,
            Act::Http(act) => self.http(act, index, played).await,
            Act::Drop => Ok(Sent { odd: false }),
        };
        if sent.is_ok() && *act != Act::Drop {
            played.sent += 1;
        }
        sent
    }

    pub(super) async fn request(
        &mut self,
        message: &Message,
        index: usize,
        played: &mut Played,
    ) -> Result<Sent, SendError> {
        let mark = self.mark();
        let Some(mut call) = call(message, played, &mark) else { return Ok(Sent { odd: false }) };
        if let Some(token) = &call.token
            && *self.tokens.entry(token.clone()).or_insert(self.turn) != self.turn
        {
            // A request of an earlier input may still report its progress under it.
            call.token = Some(format!("\"{mark}\""));
        }
        let doubtful = message.id.as_ref().is_some_and(|id| !self.may_use(id, index));
        if doubtful {
            call.wrong.push("/id".to_owned());
            // Whoever has it already may get the answer to this one.
            let id = message.id.as_deref().map(loose);
            let alike = self.ids.iter().filter(|(step, other)| **step != index && Some(loose(other)) == id);
            for (step, _) in alike {
                if let Some(outcome) = played.outcomes.get_mut(*step).filter(|it| it.class == Class::Unanswered) {
                    (outcome.sound, outcome.doubtful) = (false, true);
                }
            }
        }
        if call.token.as_ref().is_some_and(|token| !is_plain(token)) {
            call.wrong.push("/params/_meta/progressToken".to_owned());
        }
        let sent = self.send(call, mark, index, played).await;
        if let Some(outcome) = played.outcomes.get_mut(index) {
            outcome.doubtful = doubtful;
        }
        sent
    }

    /// Whether an id that was chosen by hand may be used, and its answer be attributed: it is a text or an integer that every
    /// parser keeps; 2025-11-25 lets a client use an id once in a session, 2026-07-28 again once it was answered; nothing
    /// malformed that was sent holds it, and the same number or text was not used in another spelling.
    pub(super) fn may_use(&mut self, id: &str, index: usize) -> bool {
        const MOST: usize = 64;
        let bare = id.trim_matches('"');
        let loose = loose(id);
        let one_spelling = self.spellings.entry(loose.clone()).or_insert_with(|| id.to_owned()) == id;
        let unused = self.burnt.insert(loose.clone()) && !self.shared.contains(&loose);
        if !unused {
            // From now on no answer under it can be told from another.
            self.shared.insert(loose);
        }
        self.ids.insert(index, id.to_owned());
        let malformed = self.lines.len() >= MOST || self.lines.iter().any(|line| line.contains(bare));
        is_plain(id) && unused && one_spelling && !malformed
    }

    /// A text that nothing else in the run has.
    pub(super) fn mark(&self) -> String {
        format!("{MARK}{:x}", self.talk.bench().next_id())
    }

    pub(super) async fn send(
        &mut self,
        call: Call,
        mark: String,
        index: usize,
        played: &mut Played,
    ) -> Result<Sent, SendError> {
        // The result of a task that was cancelled is there.
        let task = call.params.as_ref().and_then(|params| params.get("taskId")).map(|id| id.to_value().to_string());
        let cancelled = self.tasks.iter().any(|(step, id)| {
            Some(id) == task.as_ref() && played.outcomes.get(*step).is_some_and(|it| it.class == Class::Result)
        });
        if let ("tasks/cancel", Some(task)) = (call.method.as_str(), task) {
            self.tasks.insert(index, task);
        }
        let long = call.method == "subscriptions/listen" || (call.method == "tasks/result" && !cancelled);
        let sound = call.wrong.is_empty();
        self.noisy |= call.wrong.iter().any(|pointer| pointer.is_empty() || pointer == "/id");
        let method = call.method.clone();
        let tool = call.params.as_ref().filter(|_| method == "tools/call").and_then(|params| params.get("name"));
        let tools = &self.place.ground.surface.tools;
        let tool = tool.and_then(|name| name.to_value().as_str().map(str::to_owned));
        // Names that nobody has are one.
        let tool = tool.filter(|tool| tools.iter().any(|it| it.name() == tool));
        self.last.clone_from(&method);
        // What the server gave back before, and is handed back now, is no secret of another conversation.
        let said = call.params.as_ref().map(|params| marks_in(params.text().as_bytes())).unwrap_or_default();
        let mark = said.contains(&mark).then_some(mark);
        let reads = |tool: &str| tools.iter().any(|it| it.name() == tool && it.only_reads());
        let public = tool.as_deref().is_some_and(|tool| !reads(tool));
        let conversation = self.talk.number();
        mark.iter().for_each(|mark| played.marks.note(Mark { text: mark.clone(), conversation, public }));
        let ticket = self.talk.send_long(call).await?;
        if let Some(outcome) = played.outcomes.get_mut(index) {
            let (sound, sent, at) = (sound && !long, Some(ticket.event), self.talk.recorder().elapsed());
            *outcome = Outcome { method, tool, sound, sent, at, mark, said, ..Outcome::default() };
        }
        if let Some(tool) = played.outcomes.get(index).and_then(|outcome| outcome.tool.clone()) {
            const MOST: usize = 256;
            self.backlog.insert(ticket.event, tool);
            while self.backlog.len() > MOST {
                self.backlog.pop_first();
            }
        }
        self.by_exchange.extend(ticket.exchange.map(|exchange| (exchange, index)));
        if long {
            self.streams.extend(ticket.exchange);
        }
        self.waiting.insert(ticket.event, index);
        Ok(Sent { odd: !sound })
    }

    pub(super) async fn notify(
        &mut self,
        message: &Message,
        index: usize,
        played: &mut Played,
    ) -> Result<Sent, SendError> {
        let Some(call) = call(message, played, &self.mark()) else { return Ok(Sent { odd: false }) };
        self.noisy |= !message.wrong.iter().all(|pointer| pointer.starts_with("/params/"));
        self.last.clone_from(&message.method);
        let ticket = self.talk.notify(call).await?;
        if let Some(outcome) = played.outcomes.get_mut(index) {
            *outcome = Outcome { method: message.method.clone(), sent: Some(ticket.event), ..Outcome::default() };
        }
        self.by_exchange.extend(ticket.exchange.map(|exchange| (exchange, index)));
        Ok(Sent { odd: true })
    }

    pub(super) async fn retry(
        &mut self,
        retry: &Retry,
        index: usize,
        input: &Input,
        played: &mut Played,
    ) -> Result<Sent, SendError> {
        let skipped = Ok(Sent { odd: false });
        let Some(result) = result(played, retry.of) else { return skipped };
        if result.get("resultType").and_then(Value::as_str) != Some("input_required") {
            return skipped;
        }
        // The first round's own message, however many rounds lie between.
        let mut first = retry.of;
        let message = loop {
            match input.steps.get(first).map(|step| &step.act) {
                Some(Act::Request(message)) => break message,
                Some(Act::Retry(earlier)) if earlier.of < first => first = earlier.of,
                _ => return skipped,
            }
        };
        let mark = self.mark();
        let Some(mut call) = call(message, played, &mark) else { return skipped };
        let mut params = call.params.take().unwrap_or_else(Draft::object);
        let mut wrong = message.wrong.clone();
        if let Some(name) = &retry.name {
            params.insert("name", Value::from(name.as_str()).into());
            wrong.push("/params/name".to_owned());
        }
        let answer = |step: usize, at: &str| part(played, step, at);
        let responses = match &retry.responses {
            Some(given) => {
                wrong.push("/params/inputResponses".to_owned());
                input::fill(given, &answer)
            }
            None => result.get("inputRequests").map(|asked| {
                let mut responses = self.talk.opening().policy.responses(asked);
                mark_answers(asked, &mut responses, &mark);
                if let Value::Object(members) = &mut responses {
                    for _ in 0..retry.without {
                        let first = members.keys().next().cloned();
                        first.iter().for_each(|name| drop(members.shift_remove(name)));
                        wrong.push("/params/inputResponses".to_owned());
                    }
                }
                responses.into()
            }),
        };
        if let Some(responses) = responses {
            params.insert("inputResponses", responses);
        }
        let state = match &retry.state {
            None => result.get("requestState").map(|state| Draft::Value(state.clone())),
            Some(given) => {
                wrong.push("/params/requestState".to_owned());
                given.as_ref().and_then(|given| input::fill(given, &answer))
            }
        };
        if let Some(state) = state {
            params.insert("requestState", state);
        }
        let given = retry.state.iter().flatten().chain(&retry.responses);
        if given.fold(false, |unreadable, value| {
            let mut here = unreadable;
            readable(value, &mut here);
            here
        }) {
            // What a parser stumbles over is no request for it.
            wrong.push(String::new());
        }
        call.params = Some(params);
        call.id = None;
        call.token = None;
        call.wrong = wrong;
        self.send(call, mark, index, played).await
    }

    pub(super) async fn cancel(&mut self, of: usize, played: &mut Played) -> Result<Sent, SendError> {
        let Some(event) = played.outcomes.get(of).and_then(|outcome| outcome.sent) else {
            return Ok(Sent { odd: false });
        };
        self.waiting.retain(|_, step| *step != of);
        let exchange = self.by_exchange.iter().find(|(_, step)| **step == of).map(|(exchange, _)| *exchange);
        if let (Era::Modern, Some(exchange)) = (self.talk.era(), exchange) {
            self.talk.link().close_exchange(exchange);
            return Ok(Sent { odd: false });
        }
        let events = self.talk.recorder().events(usize::try_from(event).unwrap_or(usize::MAX));
        let id = events.first().and_then(|event| event.message()?.frame.json.as_ref()?.get("id").map(Json::to_string));
        let Some(id) = id else { return Ok(Sent { odd: false }) };
        // Whatever else has the id is cancelled with it.
        let alike: Vec<usize> =
            self.ids.iter().filter(|(step, other)| **step != of && **other == id).map(|(step, _)| *step).collect();
        self.waiting.retain(|_, step| !alike.contains(step));
        for step in alike {
            if let Some(outcome) = played.outcomes.get_mut(step).filter(|it| it.class == Class::Unanswered) {
                outcome.sound = false;
            }
        }
        let mut params = Draft::object();
        params.insert("requestId", Draft::Raw(id.clone()));
        let call = Call { method: "notifications/cancelled".to_owned(), params: Some(params), ..Call::default() };
        let listens = played.outcomes.get(of).is_some_and(|it| it.method == "subscriptions/listen");
        let ticket = self.talk.notify(call).await?;
        if listens && !self.ids.contains_key(&of) {
            self.cancelled.insert(id, (ticket.event, 0));
        }
        Ok(Sent { odd: false })
    }

    /// A message of any text.
    pub(super) async fn line(&mut self, text: &str, index: usize, played: &mut Played) -> Result<Sent, SendError> {
        self.last = "a message of no sound form".to_owned();
        self.noisy = true;
        self.lines.push(text.to_owned());
        let body = Bytes::copy_from_slice(text.as_bytes());
        let (event, exchange) = match self.talk.transport() {
            Transport::Stdio if text.contains('\n') => (self.talk.raw(body, &[]).await?, None),
            Transport::Stdio => {
                let intent = Intent { wrong: vec![String::new()] };
                self.talk.link().send(Outgoing { body, headers: Vec::new(), intent }).await?
            }
            Transport::Http => {
                let headers = posted(text, self.talk.era());
                let ticket = self.talk.http("POST", None, headers, body, false).await?;
                (ticket.event, ticket.exchange)
            }
        };
        if let Some(outcome) = played.outcomes.get_mut(index) {
            *outcome = Outcome { method: method_in(text), sent: Some(event), ..Outcome::default() };
        }
        self.waiting.insert(event, index);
        self.by_exchange.extend(exchange.map(|exchange| (exchange, index)));
        Ok(Sent { odd: true })
    }

    pub(super) async fn raw(&mut self, bytes: &[u8]) -> Result<Sent, SendError> {
        self.last = "bytes that are no message".to_owned();
        self.noisy = true;
        match self.talk.transport() {
            Transport::Stdio => drop(self.talk.raw(Bytes::copy_from_slice(bytes), &[]).await?),
            Transport::Http => {
                let bytes = self.talk.link().place(bytes);
                let ticket = self.talk.http_raw(bytes, &[]).await?;
                self.streams.extend(ticket.exchange);
            }
        }
        Ok(Sent { odd: true })
    }

    pub(super) async fn http(&mut self, act: &HttpAct, index: usize, played: &mut Played) -> Result<Sent, SendError> {
        if self.talk.transport() == Transport::Stdio {
            return Ok(Sent { odd: false });
        }
        self.last = format!("an HTTP {}", act.method);
        let bytes = |(name, value): &(String, Option<String>)| {
            (name.clone(), value.as_ref().map(|value| value.clone().into_bytes()))
        };
        let mut headers: Vec<_> = act.headers.iter().map(bytes).collect();
        if let Some(back) = act.resume {
            let id = self.event_ids.iter().rev().nth(back).cloned();
            headers.push(("accept".to_owned(), Some(b"text/event-stream".to_vec())));
            headers.push(("last-event-id".to_owned(), id.map(String::into_bytes)));
        }
        let body = Bytes::copy_from_slice(act.body.as_bytes());
        let taken_up = headers.iter().find(|(name, _)| name == "last-event-id").and_then(|(_, id)| id.clone());
        // Behind an event that we never saw, or saw on several streams, it is open which stream this is.
        let origin = taken_up.map(|id| self.streams_of.get(&*String::from_utf8_lossy(&id)).copied().flatten());
        let ticket = self.talk.http(&act.method, None, headers, body, false).await?;
        if let (Some(origin), Some(exchange)) = (origin, ticket.exchange) {
            self.resumed.insert(exchange, (origin, ticket.event));
        }
        if let Some(outcome) = played.outcomes.get_mut(index) {
            *outcome = Outcome { method: self.last.clone(), sent: Some(ticket.event), ..Outcome::default() };
        }
        self.over |= act.method.eq_ignore_ascii_case("DELETE");
        if let Some(exchange) = ticket.exchange {
            self.by_exchange.insert(exchange, index);
            self.streams.push(exchange);
        }
        Ok(Sent { odd: true })
    }
}

/// The message of a step with its holes filled in.
fn call(message: &Message, played: &Played, mark: &str) -> Option<Call> {
    let answer = |step: usize, at: &str| match step {
        input::MARKED => Some(Value::from(mark)),
        step => part(played, step, at),
    };
    let params = match &message.params {
        None => None,
        Some(params) => Some(input::fill(params, &answer)?),
    };
    let headers = message.headers.iter().map(|(name, value)| (name.clone(), value.clone().map(String::into_bytes)));
    Some(Call {
        method: message.method.clone(),
        params,
        id: message.id.clone(),
        token: match message.token.as_deref() {
            Some(input::ANY_TOKEN) => Some(format!("\"{mark}\"")),
            _ => message.token.clone(),
        },
        capabilities: message.capabilities.clone(),
        headers: headers.collect(),
        wrong: message.wrong.clone(),
        change: None,
    })
}

/// Puts a mark into the free texts of what a user would have typed.
fn mark_answers(asked: &Value, responses: &mut Value, mark: &str) {
    for (key, request) in asked.as_object().into_iter().flatten() {
        let schema = request.pointer("/params/requestedSchema");
        if let Some(content) = responses.get_mut(key).and_then(|response| response.get_mut("content")) {
            seeds::mark(schema, content, &mark.into());
        }
    }
}

/// A text, or an integer in digits that a double holds exactly. What else is an id is contested (C32), or none.
fn is_plain(id: &str) -> bool {
    const EXACT: u64 = (1 << 53) - 1;
    match id.parse::<i64>() {
        Ok(number) => number.unsigned_abs() <= EXACT && number.to_string() == id,
        Err(_) => serde_json::from_str::<String>(id).is_ok(),
    }
}

/// An id regardless of its spelling.
pub(super) fn loose(id: &str) -> String {
    let bare = id.trim_matches('"');
    bare.parse::<f64>().map_or_else(|_| bare.to_owned(), |number| number.to_string())
}

/// The headers that a client would send with a body like this.
fn posted(text: &str, era: Era) -> Vec<(String, Option<Vec<u8>>)> {
    let mut headers = vec![
        ("content-type".to_owned(), Some(b"application/json".to_vec())),
        ("accept".to_owned(), Some(b"application/json, text/event-stream".to_vec())),
    ];
    if era == Era::Modern
        && let Ok(json) = Json::parse(text.as_bytes())
    {
        let mut mirror = |name: &str, value: Option<&Json>| {
            if let Some(value) = value.and_then(Json::as_str) {
                headers.push((name.to_owned(), Some(header_value(value).to_vec())));
            }
        };
        mirror("mcp-method", json.get("method"));
        mirror("mcp-name", json.pointer("/params/name").or_else(|| json.pointer("/params/uri")));
    }
    headers
}

fn method_in(text: &str) -> String {
    let json = Json::parse(text.as_bytes()).ok();
    let method = json.as_ref().and_then(|json| json.get("method")).and_then(Json::as_str);
    method.unwrap_or("a message of no sound form").to_owned()
}
