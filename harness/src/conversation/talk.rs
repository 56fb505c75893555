//! One connection with the server in one era.
//!
//! A [`Conversation`] supplies handshake, envelope, ids and headers, answers what the server asks, and finds answers in its
//! trace. It judges nothing. It serves one case at a time; once [`Conversation::retire`]d it is ended and never shared again.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use mcp_conform_schemas::{Era, Revision};
use serde_json::{Value, json};
use tokio::{task::JoinHandle, time::Instant};

use super::{
    answer::{Answer, AnswerSearch, Found, IdRelation, Ticket},
    answering::{Policy, answer_server},
    bench::Bench,
    draft::{Draft, NoSuchMember},
    envelope::{Call, Envelope, Outgoing},
    link::{Link, LinkError},
};
use crate::{
    trace::{
        Body, DeadlinePassed, Direction, Event, Exchange, Headers, Intent, Opened, Recorder, StepMark, TimedOut,
        Transport,
    },
    wire::{Id, Json},
};

/// Ids that are remembered to tell a late answer from one with an id of the server's own making.
const MOST_SENT: usize = 1000;
/// Among so many events before a request the end of the output is, where there is one: only messages of ours come after it.
const LAST_EVENTS: usize = 256;

/// How a conversation is opened.
#[derive(Clone, Debug)]
pub struct Opening {
    pub era: Era,
    /// The version to claim instead of the newest of the era; need not exist.
    pub version: Option<String>,
    pub capabilities: Value,
    pub policy: Policy,
    /// Input schemas of the tools that were listed, for `x-mcp-header`.
    pub tools: Arc<BTreeMap<String, Value>>,
    /// Whether the target serves both eras, where that is known.
    pub dual: Option<bool>,
}

impl Opening {
    pub fn new(era: Era) -> Self {
        Self {
            era,
            version: None,
            capabilities: json!({}),
            policy: Policy::default(),
            tools: Arc::default(),
            dual: None,
        }
    }

    pub fn version(&self) -> String {
        self.version.clone().unwrap_or_else(|| self.era.judged().to_string())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SendError {
    #[error(transparent)]
    Change(#[from] NoSuchMember),
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// One connection with the server in one era. Clones share it.
#[derive(Clone, Debug)]
pub struct Conversation {
    shared: Arc<Shared>,
    opening: Arc<Opening>,
}

#[derive(Debug)]
struct Shared {
    number: u32,
    recorder: Recorder,
    link: Link,
    bench: Arc<Bench>,
    state: Mutex<State>,
    answering: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct State {
    /// Claimed with each message: from the start in the modern era, once negotiated in the legacy one.
    version: Option<String>,
    negotiated: Option<Revision>,
    session: Option<String>,
    server_capabilities: Value,
    retired: Option<&'static str>,
    /// An answer did not come, and no other since: whether anything will come is open.
    silent: bool,
    in_flight: BTreeSet<u64>,
    /// Ids of the requests that went out, the newest last.
    sent: VecDeque<Id>,
    /// A line of the server came: its process is up.
    spoke: bool,
    /// Bytes went out that are no message: answers can no longer be attributed without an id.
    raw: bool,
    ended: bool,
}

impl Conversation {
    /// Wraps a link that was just made, and starts answering the server.
    pub fn over(link: Link, recorder: Recorder, bench: Arc<Bench>, opening: Opening, target: String) -> Self {
        let number = bench.next_conversation();
        recorder.push(Body::Opened(Opened {
            conversation: number,
            era: opening.era,
            transport: link.transport(),
            version: opening.version(),
            capabilities: opening.capabilities.clone(),
            target,
            dual: opening.dual,
        }));
        let version = (opening.era == Era::Modern).then(|| opening.version());
        let state = Mutex::new(State { version, ..State::default() });
        let shared = Arc::new(Shared { number, recorder, link, bench, state, answering: Mutex::new(None) });
        let talk = Self { shared, opening: Arc::new(opening) };
        if talk.era() == Era::Legacy {
            let task = tokio::spawn(answer_server(talk.clone()));
            *talk.shared.answering.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
        }
        talk
    }

    pub fn number(&self) -> u32 {
        self.shared.number
    }

    pub fn era(&self) -> Era {
        self.opening.era
    }

    pub fn transport(&self) -> Transport {
        self.shared.link.transport()
    }

    pub fn opening(&self) -> &Opening {
        &self.opening
    }

    /// The same connection for a client that says something else of itself with each message, as the modern era has it.
    /// In the legacy era what was said in the handshake stays, and the opening has to be the same.
    pub fn opened_as(self, opening: Opening) -> Self {
        match self.era() {
            Era::Legacy => self,
            Era::Modern => Self { shared: self.shared, opening: Arc::new(opening) },
        }
    }

    pub fn recorder(&self) -> &Recorder {
        &self.shared.recorder
    }

    pub fn bench(&self) -> &Bench {
        &self.shared.bench
    }

    pub fn link(&self) -> &Link {
        &self.shared.link
    }

    pub fn session(&self) -> Option<String> {
        self.state().session.clone()
    }

    pub fn server_capabilities(&self) -> Value {
        self.state().server_capabilities.clone()
    }

    /// The version that rules the conversation: negotiated, or claimed in the modern era.
    pub fn negotiated(&self) -> Option<Revision> {
        self.state().negotiated
    }

    /// Notes what the handshake or discovery brought.
    pub fn settle(&self, version: Revision, capabilities: Value, session: Option<String>) {
        if let Some(id) = &session {
            self.bench().hold_session(id);
        }
        {
            let mut state = self.state();
            state.negotiated = Some(version);
            state.session.clone_from(&session);
            state.server_capabilities = capabilities.clone();
            if self.era() == Era::Legacy {
                state.version = Some(version.to_string());
            }
        }
        self.recorder().push(Body::Negotiated(crate::trace::Negotiated { version, capabilities, session }));
    }

    /// Never to be shared again; the first reason stays.
    pub fn retire(&self, reason: &'static str) {
        self.state().retired.get_or_insert(reason);
    }

    pub fn retired(&self) -> Option<&'static str> {
        let dead = (!self.shared.link.is_open()).then_some("the connection ended");
        let state = self.state();
        state.retired.or(dead).or(state.silent.then_some("an answer did not come"))
    }

    pub fn mark(&self, case: &str, step: &str, subject: &str) {
        self.recorder().push(Body::Step(StepMark {
            case: case.to_owned(),
            step: step.to_owned(),
            subject: subject.to_owned(),
        }));
    }

    /// Sends a request (an id is supplied where the call has none) and goes on.
    pub async fn send(&self, mut call: Call) -> Result<Ticket, SendError> {
        let id = call.id.get_or_insert_with(|| self.shared.bench.next_id().to_string()).clone();
        let token = call.token.as_deref().map(read_id);
        let method = call.method.clone();
        let outgoing = self.build(&call)?;
        self.shared.bench.count_request();
        // The message may have been altered: its own id is what comes back.
        let sent = Json::parse(&outgoing.body).ok();
        let id = sent.as_ref().map_or_else(|| read_id(&id), |json| Id::of(json.get("id")));
        let (event, exchange) = self.shared.link.send(outgoing).await?;
        {
            let mut state = self.state();
            state.in_flight.insert(event);
            state.sent.push_back(id.clone());
            if state.sent.len() > MOST_SENT {
                state.sent.pop_front();
            }
        }
        Ok(Ticket { conversation: self.number(), event, exchange, id, method, token })
    }

    /// Sends a request that stays open, such as `subscriptions/listen`: others are answered beside it.
    pub async fn send_long(&self, call: Call) -> Result<Ticket, SendError> {
        let ticket = self.send(call).await?;
        self.state().in_flight.remove(&ticket.event);
        Ok(ticket)
    }

    /// Sends a notification. Over HTTP the ticket's answer is the bare HTTP response.
    pub async fn notify(&self, mut call: Call) -> Result<Ticket, SendError> {
        call.id = None;
        let method = call.method.clone();
        let outgoing = self.build(&call)?;
        let (event, exchange) = self.shared.link.send(outgoing).await?;
        Ok(Ticket { conversation: self.number(), event, exchange, id: Id::Absent, method, token: None })
    }

    pub async fn request(&self, call: Call, within: Option<Duration>) -> Result<(Ticket, Answer), SendError> {
        let ticket = self.send(call).await?;
        let answer = self.answer(&ticket, within).await;
        Ok((ticket, answer))
    }

    /// Bytes on stdin as they stand.
    pub async fn raw(&self, bytes: Bytes, split: &[usize]) -> Result<u64, SendError> {
        self.state().raw = true;
        self.retire("raw bytes were sent");
        Ok(self.shared.link.raw(bytes, split).await?)
    }

    /// An HTTP request of any kind. Session and version headers are added unless `bare`.
    pub async fn http(
        &self,
        method: &str,
        path: Option<String>,
        mut headers: Vec<(String, Option<Vec<u8>>)>,
        body: Bytes,
        bare: bool,
    ) -> Result<Ticket, SendError> {
        let mut out: Vec<(String, Bytes)> = Vec::new();
        if !bare {
            let state = self.state();
            if let Some(version) = &state.version {
                out.push(("mcp-protocol-version".to_owned(), Bytes::from(version.clone())));
            }
            if let Some(session) = &state.session {
                out.push(("mcp-session-id".to_owned(), Bytes::from(session.clone())));
            }
        }
        for (name, value) in headers.drain(..) {
            out.retain(|(n, _)| !n.eq_ignore_ascii_case(&name));
            if let Some(value) = value {
                out.push((name.to_ascii_lowercase(), Bytes::from(value)));
            }
        }
        self.shared.bench.count_request();
        let id = Json::parse(&body).map(|json| Id::of(json.get("id"))).unwrap_or(Id::Absent);
        let intent = Intent { wrong: vec![String::new()] };
        let (event, exchange) = self.shared.link.http(method, path, out, body, intent).await?;
        Ok(Ticket { conversation: self.number(), event, exchange, id, method: method.to_owned(), token: None })
    }

    /// Bytes on a connection of their own.
    pub async fn http_raw(&self, bytes: Bytes, split: &[usize]) -> Result<Ticket, SendError> {
        self.shared.bench.count_request();
        let (event, exchange) = self.shared.link.http_raw(bytes, split).await?;
        let method = "raw HTTP".to_owned();
        Ok(Ticket { conversation: self.number(), event, exchange, id: Id::Absent, method, token: None })
    }

    /// The answer if it comes within a time; `None` leaves the request in flight, to be awaited later.
    pub async fn answer_within(&self, ticket: &Ticket, time: Duration) -> Option<Answer> {
        let found = self.find(ticket, Instant::now() + time).await?;
        self.state().in_flight.remove(&ticket.event);
        Some(found)
    }

    /// The answer to a request, silence included. A legacy stream that ended early after an event id is resumed by GET.
    pub async fn answer(&self, ticket: &Ticket, within: Option<Duration>) -> Answer {
        let starts = !self.has_spoken();
        let time = self.allowed(within);
        let started = Instant::now();
        let found = self.find(ticket, started + time).await;
        self.state().in_flight.remove(&ticket.event);
        if starts && self.has_spoken() {
            self.shared.bench.note_start(started.elapsed());
        }
        if found.as_ref().is_some_and(|answer| answer.frame.is_some() && answer.id == IdRelation::Same) {
            self.state().silent = false;
        }
        found.unwrap_or_else(|| {
            let after = started.elapsed();
            self.shared.bench.count_wait(after);
            self.fell_silent(ticket);
            let event = self.recorder().push(Body::DeadlinePassed(DeadlinePassed {
                what: format!("answer to {}", ticket.method),
                request: Some(ticket.id.to_string()),
                after,
            }));
            Answer::silence(Some(event))
        })
    }

    /// Stops waiting for an answer.
    pub fn give_up(&self, ticket: &Ticket) {
        self.state().in_flight.remove(&ticket.event);
        self.fell_silent(ticket);
        self.recorder().push(Body::DeadlinePassed(DeadlinePassed {
            what: format!("answer to {}", ticket.method),
            request: Some(ticket.id.to_string()),
            after: self.recorder().elapsed(),
        }));
    }

    /// Nothing came. Whoever answers the next request may be used on; a call that is not answered may still be at work,
    /// and what it does would be taken for the doing of others.
    fn fell_silent(&self, ticket: &Ticket) {
        if ticket.method == "tools/call" {
            self.retire("a call was not answered");
        }
        self.state().silent = true;
    }

    /// How long something is waited for. Before its first line a process may still be starting.
    fn allowed(&self, within: Option<Duration>) -> Duration {
        let time = within.unwrap_or(self.shared.bench.deadlines.answer);
        let start = if self.has_spoken() { Duration::ZERO } else { self.shared.bench.start_allowance() };
        time + start
    }

    /// Whether the server is known to be up: over HTTP that was found out before, a process shows it by its first line.
    fn has_spoken(&self) -> bool {
        if self.transport() == Transport::Http || self.state().spoke {
            return true;
        }
        let spoke = |event: &Arc<Event>| matches!(&event.body, Body::Line(line) if line.direction == Direction::In);
        let spoke = self.events().iter().any(spoke);
        self.state().spoke = spoke;
        spoke
    }

    async fn find(&self, ticket: &Ticket, deadline: Instant) -> Option<Answer> {
        let mut search = AnswerSearch::new(ticket);
        let mut deadline = deadline;
        let mut from = usize::try_from(ticket.event).unwrap_or(usize::MAX).saturating_add(1);
        // A server may have closed its output before the request went out: then nothing comes behind it.
        for event in self.recorder().events(from.saturating_sub(LAST_EVENTS)).iter().filter(|it| it.seq < ticket.event)
        {
            if matches!(event.body, Body::StdoutEnded | Body::Exited(_)) {
                match search.observe(event) {
                    Some(Found::Answer(answer)) => return Some(answer),
                    Some(_) => deadline = deadline.min(Instant::now() + self.bench().deadlines.grace),
                    None => {}
                }
            }
        }
        loop {
            {
                let state = self.state();
                search.alone = !state.raw && state.in_flight.iter().all(|event| *event == ticket.event);
                search.known = state.sent.iter().filter(|id| !id.same(&ticket.id)).cloned().collect();
            }
            let mut next = from;
            let found = self
                .recorder()
                .wait(from, deadline, |event| {
                    next = usize::try_from(event.seq).unwrap_or(usize::MAX).saturating_add(1);
                    search.observe(event)
                })
                .await;
            from = next;
            match found {
                Ok(Found::Answer(answer)) => return Some(answer),
                // The right answer may stand right behind a stray one.
                Ok(Found::Candidate) => deadline = deadline.min(Instant::now() + self.bench().deadlines.grace),
                Ok(Found::Interrupted) => match self.resume(&search, deadline).await {
                    Some(exchange) => search.resume(exchange),
                    None => return Some(Answer::closed(Some(next as u64))),
                },
                Err(TimedOut) => return search.candidate.take().or_else(|| search.so_far()),
            }
        }
    }

    /// The first message of the server after `from` that `matches` takes.
    pub async fn message<T>(
        &self,
        from: u64,
        what: &str,
        within: Option<Duration>,
        mut matches: impl FnMut(&Arc<Event>) -> Option<T>,
    ) -> Option<T> {
        let time = self.allowed(within);
        let started = Instant::now();
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        // The end of the conversation ends the wait: nothing can come any more.
        let found = self
            .recorder()
            .wait(from, started + time, |event| match &event.body {
                Body::StdoutEnded | Body::Drained => Some(None),
                _ => matches(event).map(Some),
            })
            .await;
        match found {
            Ok(found) => found,
            Err(TimedOut) => {
                let after = started.elapsed();
                self.shared.bench.count_wait(after);
                let what = what.to_owned();
                self.recorder().push(Body::DeadlinePassed(DeadlinePassed { what, request: None, after }));
                None
            }
        }
    }

    /// Answers a request of the server by hand.
    pub async fn respond(&self, id: &Id, result: Draft) -> Result<(), SendError> {
        let mut message = Draft::Object(vec![("jsonrpc".to_owned(), json!("2.0").into())]);
        message.insert("id", Draft::Raw(id.to_string()));
        message.insert("result", result);
        self.post(message).await
    }

    /// Ends a request: the notification over stdio and in the legacy era, the closed stream over HTTP in the modern one.
    pub async fn cancel(&self, ticket: &Ticket) -> Result<(), SendError> {
        self.retire("a request was cancelled");
        self.state().in_flight.remove(&ticket.event);
        if let (Era::Modern, Some(exchange)) = (self.era(), ticket.exchange) {
            self.shared.link.close_exchange(exchange);
            return Ok(());
        }
        let mut params = Draft::object();
        params.insert("requestId", Draft::Raw(ticket.id.to_string()));
        let call = Call { method: "notifications/cancelled".to_owned(), params: Some(params), ..Call::default() };
        self.notify(call).await.map(drop)
    }

    /// Ends the conversation and waits until everything that could come has come. The events stay readable.
    pub async fn end(&self) {
        if std::mem::replace(&mut self.state().ended, true) {
            return;
        }
        if let Some(id) = self.session().filter(|_| self.transport() == Transport::Http && self.era() == Era::Legacy)
            && self.bench().release_session(&id)
        {
            self.delete_session().await;
        }
        let waited = self.shared.link.end(&self.shared.bench.deadlines).await;
        self.shared.bench.count_wait(waited);
        if let Some(task) = self.shared.answering.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }

    /// Ends without good-bye: the process is killed, connections are dropped.
    pub async fn drop_connection(&self) {
        self.retire("the connection was dropped");
        self.state().ended = true;
        self.shared.link.abort().await;
    }

    pub fn events(&self) -> Vec<Arc<Event>> {
        self.recorder().events(0)
    }

    fn build(&self, call: &Call) -> Result<Outgoing, NoSuchMember> {
        let (version, session) = {
            let state = self.state();
            (state.version.clone(), state.session.clone())
        };
        let envelope = Envelope {
            era: self.era(),
            version: version.as_deref(),
            capabilities: &self.opening.capabilities,
            session: session.as_deref(),
            tools: &self.opening.tools,
        };
        envelope.build(call)
    }

    pub(super) async fn post(&self, message: Draft) -> Result<(), SendError> {
        let mut outgoing = self.build(&Call { method: String::new(), ..Call::default() })?;
        outgoing.body = Bytes::from(message.text());
        self.shared.link.send(outgoing).await?;
        Ok(())
    }

    async fn resume(&self, search: &AnswerSearch<'_>, deadline: Instant) -> Option<Exchange> {
        // The server sets the pace by `retry`; without it one attempt at once is as good as any.
        let pause = Duration::from_millis(search.retry_ms.unwrap_or(0));
        let wake = Instant::now() + pause;
        if wake >= deadline {
            return None;
        }
        tokio::time::sleep_until(wake).await;
        let headers = vec![
            ("accept".to_owned(), Some(b"text/event-stream".to_vec())),
            ("last-event-id".to_owned(), search.last_event_id.clone().map(String::into_bytes)),
        ];
        self.http("GET", None, headers, Bytes::new(), false).await.ok()?.exchange
    }

    async fn delete_session(&self) {
        self.mark("", "end of session", "");
        if let Ok(ticket) = self.http("DELETE", None, Vec::new(), Bytes::new(), false).await {
            // Servers may refuse or be slow to end a session; the run does not wait for that.
            let _ = self.answer(&ticket, Some(self.shared.bench.deadlines.grace)).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads an id or token out of JSON text.
pub fn read_id(text: &str) -> Id {
    Json::parse(text.as_bytes()).map_or(Id::Absent, |json| Id::of(Some(&json)))
}

/// Header value of an HTTP response by event position, for what the handshake brings.
pub fn response_header(events: &[Arc<Event>], exchange: Option<Exchange>, name: &str) -> Option<String> {
    let headers: &Headers = events.iter().find_map(|event| match &event.body {
        Body::HttpResponse(response) if Some(response.exchange) == exchange => Some(&response.headers),
        _ => None,
    })?;
    headers.get(name).map(str::to_owned)
}
