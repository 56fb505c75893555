//! What every rule may know beyond the event at hand: [`Context`] keeps the ledger of our requests, the open HTTP
//! exchanges, what was negotiated, and which request each response of the server belongs to.
//!
//! It is fed before the rules see an event ([`Context::enter`]) and once more afterwards ([`Context::leave`]). What it
//! keeps is bounded: requests in flight and the newest of the past. Rules ask [`Context::forgot`] before they hold
//! against a server what may only have been forgotten here.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

use mcp_conform_schemas::{Era, Revision};
use serde_json::Value;

use super::{
    request::{ExchangeState, Request, RequestKey, accepted, loose},
    seen::{Answer, Likeness, Seen, Shape},
    verdicts::Told,
};
use crate::{
    trace::{
        Body, Channel, Direction, Event, Exchange, ExchangeEnd, Headers, HttpRequest, Intent, Opened, StepMark,
        Transport,
    },
    wire::{Frame, Id, Json, JsonKind, Message, Span},
};

/// Requests of ours that are kept, answered ones included.
const MOST_REQUESTS: usize = 8_192;
/// Bytes of ids and tokens that are kept.
const MOST_BYTES: usize = 8 * 1024 * 1024;
const MOST_EXCHANGES: usize = 4_096;
/// Malformed messages of ours that are kept to find out whether an id can be read in them.
const MOST_ODD: usize = 32;
const MOST_ODD_BYTES: usize = 64 * 1024;

/// What rules know of the conversation.
#[derive(Debug, Default)]
pub struct Context {
    opened: Option<Opened>,
    negotiated: Option<Revision>,
    server_capabilities: Option<Value>,
    session: bool,
    step: Option<Arc<StepMark>>,
    requests: BTreeMap<RequestKey, Request>,
    open: BTreeSet<RequestKey>,
    closed: BTreeSet<RequestKey>,
    by_id: HashMap<u64, Vec<RequestKey>>,
    by_token: HashMap<u64, Vec<RequestKey>>,
    next: RequestKey,
    kept: usize,
    forgot: bool,
    exchanges: BTreeMap<Exchange, ExchangeState>,
    odd: VecDeque<Vec<u8>>,
    odd_count: u64,
    raw: bool,
    array: bool,
    last_out: Option<RequestKey>,
    notified: Option<u64>,
    legacy_served: bool,
    modern_sent: bool,
    limited: bool,
    ended_by_us: Option<u64>,
    /// The process ended, or closed its output.
    gone: bool,
    garbled: Option<u64>,
    stray: u64,
    answers: Vec<Option<Answer>>,
    told: Vec<Told>,
}

impl Context {
    pub fn opened(&self) -> Option<&Opened> {
        self.opened.as_ref()
    }

    /// The era of the conversation; modern until it is known.
    pub fn era(&self) -> Era {
        self.opened.as_ref().map_or(Era::Modern, |opened| opened.era)
    }

    pub fn transport(&self) -> Transport {
        self.opened.as_ref().map_or(Transport::Stdio, |opened| opened.transport)
    }

    /// The target is known to serve nothing but 2026-07-28.
    pub fn modern_only(&self) -> bool {
        self.opened.as_ref().is_some_and(|opened| opened.era == Era::Modern && opened.dual == Some(false))
            && !self.legacy_served
    }

    /// A legacy initialize was answered with a result in this modern conversation, so that the server may also speak as
    /// the older revisions have it.
    pub fn legacy_served(&self) -> bool {
        self.legacy_served
    }

    /// A request of ours named 2026-07-28, so that the server knows which era this is.
    pub fn modern_sent(&self) -> bool {
        self.modern_sent
    }

    /// The revision that the conversation goes by. Before the answer to initialize it is the oldest that the transport
    /// allows, so that nobody is judged by what was not agreed.
    pub fn version(&self) -> Revision {
        match (self.era(), self.transport()) {
            (Era::Modern, _) => Revision::V2026_07_28,
            (Era::Legacy, Transport::Stdio) => self.negotiated.unwrap_or(Revision::V2024_11_05),
            // The oldest revision has no such transport: over it the rules of the next one hold.
            (Era::Legacy, Transport::Http) => {
                self.negotiated.unwrap_or(Revision::V2025_03_26).max(Revision::V2025_03_26)
            }
        }
    }

    /// Whether a rule that is in force since a revision binds this conversation.
    pub fn applies(&self, since: Revision) -> bool {
        self.version() >= since
    }

    /// What the server declared, if it was seen.
    pub fn server_capabilities(&self) -> Option<&Value> {
        self.server_capabilities.as_ref()
    }

    /// The server issued a session id.
    pub fn has_session(&self) -> bool {
        self.session
    }

    /// The step that runs.
    pub fn step(&self) -> Option<&Arc<StepMark>> {
        self.step.as_ref()
    }

    pub fn request(&self, key: RequestKey) -> Option<&Request> {
        self.requests.get(&key)
    }

    /// Requests without an answer, oldest first.
    pub fn in_flight(&self) -> impl Iterator<Item = &Request> {
        self.open.iter().filter_map(|key| self.requests.get(key))
    }

    /// Requests with a token that may be meant, newest first; the caller compares.
    pub fn with_token(&self, token: &Id) -> impl Iterator<Item = &Request> {
        let keys = loose(token).and_then(|key| self.by_token.get(&key));
        keys.into_iter().flatten().rev().filter_map(|key| self.requests.get(key))
    }

    /// Requests with exactly this id, newest first.
    pub fn with_id(&self, id: &Id) -> impl Iterator<Item = &Request> {
        let keys = loose(id).and_then(|key| self.by_id.get(&key));
        keys.into_iter().flatten().rev().filter_map(|key| self.requests.get(key)).filter(move |it| it.id.same(id))
    }

    pub fn exchange(&self, exchange: Exchange) -> Option<&ExchangeState> {
        self.exchanges.get(&exchange)
    }

    /// Old requests were dropped for memory: an unknown id proves nothing any more.
    pub fn forgot(&self) -> bool {
        self.forgot
    }

    /// Something malformed or unusual of ours may still be answered by an error that names no request.
    pub fn odd(&self) -> bool {
        self.odd_count > 0
    }

    /// A notification of ours may still be answered, though it must not be: what comes without an id may be about it.
    pub fn notification_pending(&self) -> bool {
        self.notified.is_some()
    }

    /// We wrote raw bytes on this connection.
    pub fn raw(&self) -> bool {
        self.raw
    }

    /// We sent an array, or raw bytes, so that an array may be the answer to it.
    pub fn array_sent(&self) -> bool {
        self.array || self.raw
    }

    /// Event at which we closed the input or signalled the process.
    pub fn ended_by_us(&self) -> Option<u64> {
        self.ended_by_us
    }

    /// The last event at which stdout held something that could not be read as a message.
    pub fn garbled(&self) -> Option<u64> {
        self.garbled
    }

    /// Responses that could not be tied to a request by their id.
    pub fn stray(&self) -> u64 {
        self.stray
    }

    /// Whether an id may have been read in something malformed that we sent. True once some of that was forgotten.
    pub fn legible(&self, id: &Id) -> bool {
        let text = id.to_string();
        self.odd_count > MOST_ODD as u64
            || self.odd.iter().any(|bytes| bytes.windows(text.len().max(1)).any(|window| window == text.as_bytes()))
    }

    /// Whether something malformed that we sent holds an id, as a value of its own. True once some of that was forgotten.
    fn claimed(&self, id: &Id) -> bool {
        let text = id.to_string();
        let part =
            |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"\".+-_".contains(byte));
        let holds = |bytes: &Vec<u8>| {
            bytes.windows(text.len().max(1)).enumerate().any(|(at, window)| {
                let before = at.checked_sub(1).and_then(|at| bytes.get(at));
                window == text.as_bytes() && !part(before) && !part(bytes.get(at + text.len()))
            })
        };
        self.odd_count > MOST_ODD as u64 || self.odd.iter().any(holds)
    }

    /// The messages that an event carries: one, or those of an array.
    pub fn messages<'a>(&'a self, event: &'a Event) -> impl Iterator<Item = Seen<'a>> {
        let view = event.message();
        let json = view.and_then(|view| view.frame.json.as_ref());
        let (whole, items) = match json {
            Some(Json { kind: JsonKind::Array(items), .. }) => (None, items.as_slice()),
            other => (other, Default::default()),
        };
        let elements = items.iter().enumerate().map(|(index, json)| (index, format!("/{index}"), json));
        whole.map(|json| (0, String::new(), json)).into_iter().chain(elements).filter_map(
            move |(index, prefix, json)| {
                let view = view?;
                Some(Seen {
                    direction: view.direction,
                    channel: view.channel,
                    event: event.seq,
                    json,
                    shape: Shape::of(json),
                    prefix,
                    answer: self.answers.get(index).copied().flatten(),
                })
            },
        )
    }

    /// The messages of the server that an event carries, leaving out what does not claim to be one.
    pub fn incoming<'a>(&'a self, event: &'a Event) -> impl Iterator<Item = Seen<'a>> {
        self.messages(event).filter(|seen| seen.is_incoming() && seen.shape.is_message())
    }

    /// What the rules before this one said about a place of the event at hand.
    pub fn told(&self, pointer: &str) -> impl Iterator<Item = &Told> {
        self.told.iter().filter(move |told| told.pointer == pointer)
    }

    pub(super) fn note_told(&mut self, told: impl Iterator<Item = Told>) {
        self.told.extend(told);
    }

    /// Takes in an event before the rules see it.
    pub(super) fn enter(&mut self, event: &Event) {
        self.answers.clear();
        self.told.clear();
        match &event.body {
            Body::Opened(opened) => self.opened = Some(opened.clone()),
            Body::Negotiated(negotiated) => {
                self.negotiated = Some(negotiated.version);
                self.server_capabilities = Some(negotiated.capabilities.clone());
                self.session |= negotiated.session.is_some();
            }
            Body::Step(step) => self.step = Some(Arc::new(step.clone())),
            Body::StdoutEnded | Body::Exited(_) => self.gone = true,
            // What follows the end of the server is no doing of ours.
            Body::StdinClosed | Body::Signalled { .. } if self.gone => {}
            Body::StdinClosed | Body::Signalled { .. } => self.end(event.seq, |_| true),
            Body::Limit { .. } => {
                // From here on what does not come may only not have been read.
                self.limited = true;
                self.end(event.seq, |_| true);
            }
            Body::Line(line) if line.direction == Direction::Out => {
                self.sent(event.seq, Channel::Stdio, &line.frame, &line.intent, line.raw);
            }
            Body::HttpRequest(request) => self.posted(event.seq, request),
            Body::HttpResponse(response) => {
                self.session |= response.headers.get("mcp-session-id").is_some();
                if let Some(exchange) = self.exchanges.get_mut(&response.exchange) {
                    exchange.status = Some(response.status);
                    exchange.media_type = response.headers.media_type();
                    if let Some(session) = response.headers.get("mcp-session-id") {
                        exchange.session = Some(session.to_owned());
                    }
                    let stream = exchange.media_type.as_deref() == Some("text/event-stream");
                    for key in &exchange.requests {
                        if let Some(request) = self.requests.get_mut(key) {
                            request.response = Some((response.status, stream));
                        }
                    }
                }
            }
            Body::Sse(sse) => {
                if let Some(exchange) = self.exchanges.get_mut(&sse.exchange) {
                    exchange.resumable |= sse.id.is_some();
                }
            }
            Body::DeadlinePassed(deadline) => {
                let id = deadline.request.as_deref().and_then(|text| Json::parse(text.as_bytes()).ok());
                if let Some(id) = id {
                    let id = Id::of(Some(&id));
                    let key = self.with_id(&id).find(|request| request.answered.is_none()).map(|request| request.key);
                    if let Some(request) = key.and_then(|key| self.requests.get_mut(&key)) {
                        request.deadline.get_or_insert(event.seq);
                    }
                }
            }
            Body::ExchangeEnded { exchange, end: ExchangeEnd::ClosedByUs | ExchangeEnd::Limit(_) } => {
                let exchange = *exchange;
                self.end(event.seq, |request| request.exchange == Some(exchange));
            }
            _ => {}
        }
        if let Some(view) = event.message().filter(|view| view.direction == Direction::In) {
            self.received(event.seq, view.channel, view.frame);
        } else if let Body::Line(line) = &event.body
            && line.direction == Direction::In
        {
            self.received(event.seq, Channel::Stdio, &line.frame);
        }
    }

    /// Takes in what must not be known before the rules have seen the event.
    pub(super) fn leave(&mut self, event: &Event) {
        if let Body::ExchangeEnded { exchange, .. } = &event.body {
            self.exchanges.remove(exchange);
        }
    }

    fn end(&mut self, seq: u64, concerns: impl Fn(&Request) -> bool) {
        if self.transport() == Transport::Stdio {
            self.ended_by_us.get_or_insert(seq);
        }
        for key in &self.open {
            if let Some(request) = self.requests.get_mut(key)
                && concerns(request)
            {
                request.ended.get_or_insert(seq);
            }
        }
    }

    fn posted(&mut self, seq: u64, http: &HttpRequest) {
        if self.exchanges.len() >= MOST_EXCHANGES {
            self.exchanges.pop_first();
        }
        let accept = accepted(&http.headers);
        let state = ExchangeState {
            exchange: http.exchange,
            method: http.method.to_ascii_uppercase(),
            event: seq,
            requests: Vec::new(),
            shape: http.frame.as_ref().and_then(|frame| frame.json.as_ref()).map(Shape::of),
            batch: http.frame.as_ref().is_some_and(|frame| matches!(frame.message, Message::Batch(_))),
            raw: http.raw,
            intent: http.intent.clone(),
            accepts_both: accept.contains("application/json") && accept.contains("text/event-stream"),
            resumes: http.headers.get("last-event-id").is_some(),
            status: None,
            media_type: None,
            resumable: false,
            session: http.headers.get("mcp-session-id").map(str::to_owned),
        };
        self.exchanges.insert(http.exchange, state);
        if http.method.eq_ignore_ascii_case("DELETE") {
            // The session may be gone with what still runs in it.
            self.end(seq, |_| true);
        }
        if http.raw {
            self.last_out = None;
            self.note_odd(&http.body);
        } else if let Some(frame) = &http.frame {
            self.sent(seq, Channel::Post { exchange: http.exchange }, frame, &http.intent, http.raw);
            let more = quotable_headers(&http.headers);
            let keys = self.exchanges.get(&http.exchange).map(|exchange| exchange.requests.clone()).unwrap_or_default();
            for key in keys {
                if let Some(request) = self.requests.get_mut(&key) {
                    request.quotable = request.quotable.saturating_add(more);
                }
            }
        }
    }

    /// A message of ours.
    fn sent(&mut self, seq: u64, channel: Channel, frame: &Frame, intent: &Intent, raw: bool) {
        let http = channel != Channel::Stdio;
        self.last_out = None;
        self.raw |= raw && !http;
        let items = match frame.json.as_ref().map(|json| &json.kind) {
            Some(JsonKind::Array(items)) => {
                self.array = true;
                items.as_slice()
            }
            Some(_) if !raw => frame.json.as_slice(),
            _ => Default::default(),
        };
        let mut ordinary = !items.is_empty();
        for json in items {
            match Shape::of(json) {
                Shape::Request => {
                    let key = self.add(seq, channel, json, intent, has_breaks(&frame.raw));
                    let sound = self.requests.get(&key).is_some_and(Request::is_readable);
                    ordinary &= sound;
                    self.last_out = Some(key).filter(|_| sound && items.len() == 1);
                }
                Shape::Notification => {
                    // Whatever stands in its params, a notification is not answered.
                    let sound = intent.wrong.iter().all(|pointer| pointer.starts_with("/params/"));
                    let sound = sound && json.get("params").is_none_or(|params| params.as_object().is_some());
                    ordinary &= self.notified(seq, json) && sound;
                }
                Shape::Response { .. } => ordinary &= intent.wrong.is_empty(),
                _ => ordinary = false,
            }
        }
        if !ordinary {
            self.note_odd(&frame.raw);
        }
    }

    fn note_odd(&mut self, bytes: &[u8]) {
        self.odd_count += 1;
        self.odd.push_back(bytes.iter().copied().take(MOST_ODD_BYTES).collect());
        if self.odd.len() > MOST_ODD {
            self.odd.pop_front();
        }
    }

    fn add(&mut self, seq: u64, channel: Channel, json: &Json, intent: &Intent, breaks: bool) -> RequestKey {
        let key = self.next;
        self.next += 1;
        let id = Id::of(json.get("id"));
        let meta = json.pointer("/params/_meta");
        let meta = |name: &str| meta.and_then(|meta| meta.get(name));
        let token = meta("progressToken").map(|token| Id::of(Some(token)));
        let kept = id.to_string().len() + token.as_ref().map_or(0, |token| token.to_string().len()) + 200;
        let alike: Vec<RequestKey> = token
            .iter()
            // 0 and "0" are two tokens.
            .flat_map(|token| {
                self.with_token(token).filter(|it| it.token.as_ref().is_some_and(|known| known.same(token)))
            })
            .filter(|it| it.answered.is_none())
            .map(|it| it.key)
            .collect();
        let shared_token = !alike.is_empty();
        for key in alike {
            self.requests.get_mut(&key).into_iter().for_each(|request| request.shared_token = true);
        }
        let twins: Vec<RequestKey> = self.with_id(&id).filter(|it| it.answered.is_none()).map(|it| it.key).collect();
        let twin = !twins.is_empty();
        for key in twins {
            self.requests.get_mut(&key).into_iter().for_each(|request| request.twin = true);
        }
        let method = json.get("method").and_then(Json::as_str).unwrap_or_default();
        let listen = method == "subscriptions/listen";
        let untimely = self.era() == Era::Legacy && ((method == "initialize") == self.negotiated.is_some());
        let request = Request {
            key,
            method: method.into(),
            tool: json
                .pointer("/params/name")
                .filter(|_| method == "tools/call")
                .and_then(Json::as_str)
                .map(Into::into),
            event: seq,
            exchange: channel.exchange(),
            step: self.step.clone(),
            modern: meta("io.modelcontextprotocol/protocolVersion").and_then(Json::as_str)
                == Some(Revision::V2026_07_28.as_str()),
            capabilities: meta("io.modelcontextprotocol/clientCapabilities").map(Json::to_value),
            filter: json.pointer("/params/notifications").filter(|_| listen).map(Json::to_value),
            task: json.pointer("/params/task").is_some(),
            wrong: intent.wrong.clone(),
            twin,
            shared_token,
            quotable: quotable(json),
            breaks,
            after_raw: self.raw,
            answered: None,
            replayed: false,
            cancelled: None,
            deadline: None,
            ended: self.limited.then_some(seq),
            response: None,
            untimely,
            kept,
            id,
            token,
        };
        if let Some(bucket) = loose(&request.id) {
            self.by_id.entry(bucket).or_default().push(key);
        }
        if let Some(bucket) = request.token.as_ref().and_then(loose) {
            self.by_token.entry(bucket).or_default().push(key);
        }
        if let Some(exchange) = request.exchange.and_then(|exchange| self.exchanges.get_mut(&exchange)) {
            exchange.requests.push(key);
        }
        self.modern_sent |= request.modern;
        self.kept += kept;
        self.open.insert(key);
        self.requests.insert(key, request);
        while self.requests.len() > MOST_REQUESTS || self.kept > MOST_BYTES {
            if !self.forget() {
                break;
            }
        }
        key
    }

    /// Drops the oldest answered request, or else the oldest.
    fn forget(&mut self) -> bool {
        let answered = self.closed.first().copied();
        let oldest = || self.requests.keys().next().copied();
        let Some(request) = answered.or_else(oldest).and_then(|key| self.requests.remove(&key)) else { return false };
        self.forgot = true;
        self.kept = self.kept.saturating_sub(request.kept);
        self.open.remove(&request.key);
        self.closed.remove(&request.key);
        for (index, value) in
            [(&mut self.by_id, loose(&request.id)), (&mut self.by_token, request.token.and_then(|t| loose(&t)))]
        {
            if let Some(bucket) = value
                && let Some(keys) = index.get_mut(&bucket)
            {
                keys.retain(|key| *key != request.key);
                if keys.is_empty() {
                    index.remove(&bucket);
                }
            }
        }
        true
    }

    /// Notes what a notification of ours does; whether it is one that cannot provoke an error.
    fn notified(&mut self, seq: u64, json: &Json) -> bool {
        self.notified = Some(seq);
        match json.get("method").and_then(Json::as_str) {
            Some("notifications/cancelled") => {
                let id = Id::of(json.pointer("/params/requestId"));
                let keys: Vec<_> =
                    self.with_id(&id).filter(|it| it.answered.is_none()).map(|request| request.key).collect();
                for key in keys {
                    if let Some(request) = self.requests.get_mut(&key) {
                        request.cancelled.get_or_insert(seq);
                    }
                }
                true
            }
            Some("notifications/initialized" | "notifications/roots/list_changed" | "notifications/progress") => true,
            _ => false,
        }
    }

    fn received(&mut self, seq: u64, channel: Channel, frame: &Frame) {
        let Some(json) = &frame.json else {
            // What could be read of a message that is broken or beyond our limits settles the ledger, never a verdict.
            let id = Some(frame.likely()).filter(|message| message.is_answer()).and_then(Message::id);
            if let Some(id) = id
                && let Some(key) = self.answers_to(channel, id).request
            {
                self.settle(seq, channel, key);
            }
            if channel == Channel::Stdio && !frame.raw.trim_ascii().is_empty() {
                self.garbled = Some(seq);
            }
            return;
        };
        let items = json.as_array().unwrap_or(std::slice::from_ref(json));
        for item in items {
            let shape = Shape::of(item);
            let id = Id::of(item.get("id"));
            let answers = matches!(shape, Shape::Response { .. })
                || (shape == Shape::Bare && !matches!(id, Id::Absent | Id::Null));
            let answer = answers.then(|| self.answers_to(channel, &id));
            self.answers.push(answer);
            if !shape.is_message() && channel == Channel::Stdio {
                self.garbled = Some(seq);
            }
            let Some(answer) = answer else { continue };
            if matches!(answer.likeness, Likeness::Foreign | Likeness::Missing) {
                self.stray += 1;
            }
            if let Some(key) = answer.request {
                self.learn(key, item);
                if !answer.again {
                    let sent = self.requests.get(&key).map(|request| request.event);
                    if answer.likeness == Likeness::Exact && sent > self.notified {
                        self.notified = None;
                    }
                    self.settle(seq, channel, key);
                }
            }
        }
    }

    fn settle(&mut self, seq: u64, channel: Channel, key: RequestKey) {
        self.open.remove(&key);
        let resumes = channel.exchange().and_then(|it| self.exchange(it)).is_some_and(|exchange| exchange.resumes);
        if let Some(request) = self.requests.get_mut(&key) {
            request.replayed |= request.answered.is_none() && resumes;
            request.answered.get_or_insert(seq);
            self.closed.insert(key);
        }
    }

    /// What the answers to initialize and server/discover tell.
    fn learn(&mut self, key: RequestKey, json: &Json) {
        let Some(result) = json.get("result") else { return };
        let Some(request) = self.requests.get(&key) else { return };
        match &*request.method {
            "initialize" if self.era() == Era::Legacy => {
                let version = result.get("protocolVersion").and_then(Json::as_str);
                if let Some(version) = version.and_then(|version| version.parse::<Revision>().ok())
                    && version.era() == Era::Legacy
                {
                    self.negotiated.get_or_insert(version);
                }
            }
            "initialize" => self.legacy_served = true,
            "server/discover" => {}
            _ => return,
        }
        if let Some(capabilities) = result.get("capabilities") {
            self.server_capabilities.get_or_insert_with(|| capabilities.to_value());
        }
    }

    /// The request that a response belongs to, by its channel first and by its id next.
    fn answers_to(&self, channel: Channel, id: &Id) -> Answer {
        let exchange = channel.exchange().and_then(|exchange| self.exchanges.get(&exchange));
        let posted = exchange.filter(|it| it.method == "POST").into_iter().flat_map(|exchange| &exchange.requests);
        let posted: Vec<&Request> = posted.filter_map(|key| self.requests.get(key)).collect();
        let found = |request: &Request, likeness| Answer {
            request: Some(request.key),
            likeness,
            again: request.answered.is_some(),
            unsure: false,
        };
        let nobody = |likeness| Answer { request: None, likeness, again: false, unsure: false };
        let unanswered = |request: &&Request| request.answered.is_none();
        if matches!(id, Id::Absent | Id::Null) {
            let mut waiting = posted.iter().copied().filter(unanswered);
            if let (Some(request), None) = (waiting.next(), waiting.next()) {
                return found(request, Likeness::Missing);
            }
            // On a shared channel only a lone request that was sent last, on a connection without anything odd, can be meant.
            let lone = self.last_out.filter(|_| channel == Channel::Stdio && self.open.len() == 1 && !self.odd());
            let lone = lone
                .filter(|_| self.notified.is_none())
                .filter(|key| self.open.contains(key))
                .and_then(|key| self.requests.get(&key));
            return lone.map_or(nobody(Likeness::Missing), |request| found(request, Likeness::Missing));
        }
        // The own request of an exchange, unanswered before answered.
        let mut own = posted.clone();
        own.sort_by_key(|request| request.answered.is_some());
        if let Some(request) = own.iter().find(|request| request.id.same(id)) {
            return found(request, Likeness::Exact);
        }
        let in_body = matches!(channel, Channel::Body { .. }) && !posted.is_empty();
        // Oldest first, so that two requests with one id are answered in turn.
        let mut exact: Vec<&Request> = if in_body { Vec::new() } else { self.with_id(id).collect() };
        exact.reverse();
        // Nothing has to come for one that was cancelled.
        let wanted = |request: &&Request| unanswered(request) && request.cancelled.is_none();
        let one = exact.iter().copied().find(wanted).or_else(|| exact.iter().copied().find(unanswered));
        if let Some(request) = one {
            return found(request, Likeness::Exact);
        }
        let alike = |request: &Request| match (&request.id, id) {
            _ if request.id.same(id) || !request.id.loosely(id) => None,
            (Id::Number(_), Id::Number(_)) => Some(Likeness::Rounded),
            _ => Some(Likeness::Type),
        };
        let pool: Vec<&Request> = if posted.is_empty() {
            let keys = loose(id).and_then(|key| self.by_id.get(&key));
            keys.into_iter().flatten().filter_map(|key| self.requests.get(key)).collect()
        } else {
            own
        };
        let by_likeness = |again: bool| {
            pool.iter().filter(|it| it.answered.is_some() == again).find_map(|it| alike(it).map(|how| found(it, how)))
        };
        // One that waits under a like id may be meant rather than one that has its answer under the same, if both were
        // in flight together.
        let again = exact.last().map(|request| found(request, Likeness::Exact));
        let together = |answer: &Answer| {
            let sent = answer.request.and_then(|key| self.requests.get(&key)).map(|request| request.event);
            exact.last().is_none_or(|other| other.answered > sent)
        };
        // On a shared channel it may as well answer something malformed that holds this very id.
        let by_likeness = |over: bool| by_likeness(over).filter(|_| !posted.is_empty() || !self.claimed(id));
        let like = by_likeness(false).filter(together).map(|answer| Answer { unsure: again.is_some(), ..answer });
        if let Some(answer) = like.or(again).or_else(|| by_likeness(true)) {
            return answer;
        }
        let mut waiting = posted.iter().copied().filter(unanswered);
        match (waiting.next(), waiting.next()) {
            (Some(request), None) => found(request, Likeness::Foreign),
            _ => nobody(Likeness::Foreign),
        }
    }
}

/// Bytes of a request that an error message may quote: all but its envelope, and texts of its `_meta`.
fn quotable(json: &Json) -> usize {
    let length = |span: Span| span.end.saturating_sub(span.start);
    let members = json.get("params").and_then(Json::as_object).unwrap_or_default().iter();
    let own = members.filter(|it| &*it.name != "_meta").map(|it| length(it.name_span) + length(it.value.span));
    let meta = json.pointer("/params/_meta").and_then(Json::as_object).unwrap_or_default().iter();
    let texts = meta.filter(|it| it.value.as_str().is_some()).map(|it| length(it.value.span));
    json.get("method").map_or(0, |method| length(method.span)) + own.sum::<usize>() + texts.sum::<usize>()
}

/// The same of its headers: those that stand for parts of the message.
fn quotable_headers(headers: &Headers) -> usize {
    let own = |name: &str| name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("mcp-"));
    headers.0.iter().filter(|(name, _)| own(name)).map(|(_, value)| value.len()).sum()
}

/// Whether a sentence that quotes a message runs over several lines.
fn has_breaks(raw: &[u8]) -> bool {
    const BREAKS: [&[u8]; 6] = [b"\\n", b"\\r", b"\\u000", b"\\u2028", b"\\u0085", b"\\v"];
    BREAKS.iter().any(|word| raw.windows(word.len()).any(|window| window == *word))
}
