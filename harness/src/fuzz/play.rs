//! Plays inputs on a server and says what came: [`Life`] is a server from its start to its end, with the conversations
//! that are held with it.
//!
//! What is an answer to what is taken from the rules' own ledger, so that the fuzzer and the rules can never disagree.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use mcp_conform_schemas::{Era, Revision};
use serde_json::Value;
use tokio::time::Instant;

use super::{
    input::{self, Act, HttpAct, Input, Manner, Message, Retry},
    marks::{Foreign, MARK, Mark, Marks, marks_in},
    mutate::readable,
    place::{Place, Wait},
    seeds,
};
use crate::{
    conversation::{Call, Conversation, Draft, Link, OpenError, Outgoing, SendError, header_value},
    rules::{Judge, Observation, Shape, Violation},
    trace::{Body, Direction, Event, Exchange, ExchangeEnd, Exit, Intent, Transport},
    wire::{Frame, Id, Json},
};

/// Conversations of one input.
pub(super) const MOST_LANES: usize = 3;
/// What an answer that nobody owes is waited for.
const SHORT: Duration = Duration::from_millis(3);
/// Until a tool that takes its time is at work.
const BEGUN: Duration = Duration::from_millis(1);
/// Events that a conversation keeps; a finding is seen again in a conversation of its own, which keeps all.
const KEPT_EVENTS: u64 = 4_096;

/// What one step came to.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    pub(super) class: Class,
    pub(super) method: String,
    /// The tool that was called.
    pub(super) tool: Option<String>,
    pub(super) code: Option<i64>,
    pub(super) status: Option<u16>,
    pub(super) frame: Option<Arc<Frame>>,
    /// An HTTP body that is no message.
    pub(super) text: Option<Bytes>,
    /// Event of the answer.
    pub(super) event: Option<u64>,
    /// Nothing was wrong with the request: an answer was owed.
    pub(super) sound: bool,
    /// Event of what was sent; `None`: it did not go out.
    pub(super) sent: Option<u64>,
    pub(super) at: Duration,
    /// The text that only this step sent.
    pub(super) mark: Option<String>,
    /// Every mark in what was sent, and in what the parts of earlier answers in it were the answers to.
    pub(super) said: Vec<String>,
    /// Texts in the answer that another step sent.
    pub(super) foreign: Vec<Foreign>,
    /// The answer holds a mark of its own request, or of the flow that it belongs to.
    pub(super) echoed: bool,
    /// Its id may be that of another request: which of them an answer is meant for is open.
    pub(super) doubtful: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Class {
    /// The connection ended before an answer.
    Closed,
    Error,
    /// A request for input.
    InputRequired,
    /// An HTTP response below 400 without a message.
    Plain,
    /// An HTTP status of 400 and above without a message.
    Refusal,
    Result,
    /// A result with `isError`.
    ToolError,
    #[default]
    Unanswered,
}

/// A breach of a rule, with what it is about.
#[derive(Clone, Debug)]
pub(super) struct Breach {
    pub(super) rule: &'static str,
    pub(super) requirement: &'static str,
    pub(super) revision: Revision,
    pub(super) violation: Violation,
    pub(super) lane: usize,
    /// Method of the request that it is about, or of the last one before it.
    pub(super) method: String,
}

/// A message that came where it does not belong.
#[derive(Clone, Debug)]
pub(super) struct Astray {
    pub(super) lane: usize,
    pub(super) way: Way,
    pub(super) method: String,
    /// Events of ours that it goes against, and of the message.
    pub(super) sent: u64,
    pub(super) received: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// For a subscription that we had cancelled before requests that were answered since.
    Cancelled,
    /// Replayed behind an event of another stream.
    Replayed,
    /// An answer without an id, while nothing waited for one and nothing but a notification can be meant.
    Unwanted,
}

/// How a conversation ended that we did not end.
#[derive(Clone, Debug)]
pub(super) struct Gone {
    pub(super) lane: usize,
    pub(super) exit: Option<Exit>,
    /// The end of what it said on stderr.
    pub(super) said: String,
    /// Method of the last message of ours.
    pub(super) method: String,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Played {
    pub(super) outcomes: Vec<Outcome>,
    pub(super) breaches: Vec<Breach>,
    pub(super) gone: Vec<Gone>,
    /// Notifications and requests of the server, by method.
    pub(super) told: BTreeSet<String>,
    /// A conversation did not answer the plain request at the end, and how long that was waited for.
    pub(super) deaf: Option<(usize, Duration)>,
    /// Messages that went out.
    pub(super) sent: u64,
    /// What came for a subscription or on a stream that it does not belong to.
    pub(super) astray: Vec<Astray>,
    /// A plain request at the end was refused by a conversation.
    pub(super) refused: Option<(usize, Outcome)>,
    /// The input could not be played: no conversation could be opened.
    pub(super) unopened: Option<String>,
    marks: Marks,
}

impl Played {
    /// What an earlier answer gave and a step hands back may hold, in a form of the server's own, all that was said then.
    fn hand_on(&mut self, index: usize, needs: &[usize]) {
        let mut said: Vec<String> = Vec::new();
        for outcome in needs.iter().filter_map(|step| self.outcomes.get(*step)) {
            said.extend(outcome.said.iter().chain(&outcome.mark).cloned());
        }
        if let Some(outcome) = self.outcomes.get_mut(index) {
            outcome.said.extend(said);
        }
    }
}

/// What becomes of tools that take their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Haste {
    /// Each call is waited for.
    None,
    /// Most are not, and are cancelled in the end.
    Passing,
    /// They are waited for until they may have begun to work, so that something is left to be cancelled.
    Weighing,
}

/// A server with the conversations that are held with it.
pub(super) struct Life {
    place: Arc<Place>,
    manner: Manner,
    lanes: Vec<Option<Lane>>,
    generation: u64,
    pub(super) sent: u64,
    /// What is open after the next input stays open: the server is to end with it.
    pub(super) parting: bool,
    marks: Marks,
}

struct Lane {
    talk: Conversation,
    judge: Judge,
    next: usize,
    /// Steps whose answers are waited for, by the event of the request.
    waiting: BTreeMap<u64, usize>,
    place: Arc<Place>,
    /// Ids that were chosen by hand, by step of the input at hand.
    ids: BTreeMap<usize, String>,
    /// The tasks of `tasks/cancel`, by step of the input at hand.
    tasks: BTreeMap<usize, String>,
    /// How each number or text was first spelled as an id.
    spellings: BTreeMap<String, String>,
    /// Progress tokens by the input that used them first, and the input at hand.
    tokens: BTreeMap<String, u64>,
    turn: u64,
    /// Ids that must not be used again, or not yet.
    burnt: BTreeSet<String>,
    /// Ids that two requests had at a time.
    shared: BTreeSet<String>,
    /// Malformed messages of this life, whose ids may be answered.
    lines: Vec<String>,
    by_exchange: BTreeMap<Exchange, usize>,
    /// Exchanges of ours that are open by their nature.
    streams: Vec<Exchange>,
    /// Event ids that the server gave.
    event_ids: Vec<String>,
    /// Subscriptions that we cancelled, by the text of their id: the event, and the answers to later requests.
    cancelled: BTreeMap<String, (u64, u32)>,
    /// The stream on which each event id came first; `None` where it came on two.
    streams_of: BTreeMap<String, Option<Exchange>>,
    /// Streams that take up another one, with its number and our request.
    resumed: BTreeMap<Exchange, (Exchange, u64)>,
    /// Which conversation of the input it is.
    number: usize,
    /// Subscriptions that the server acknowledged: that much is an answer, and no other comes soon.
    opened: u64,
    said: Vec<u8>,
    exit: Option<Exit>,
    gone: bool,
    /// Something was sent on it that may be answered without an id, now or later.
    noisy: bool,
    /// It said something. Until then its start is waited for, too.
    heard: bool,
    /// Our own request ended its session.
    over: bool,
    /// Since when we end it, everything is our doing.
    ended: bool,
    last: String,
}

impl Life {
    pub(super) fn new(place: Arc<Place>, manner: Manner) -> Self {
        let generation = place.keeper.generation();
        Self { place, manner, lanes: Vec::new(), generation, sent: 0, parting: false, marks: Marks::default() }
    }

    pub(super) fn place(&self) -> &Arc<Place> {
        &self.place
    }

    /// Everything can go on with it.
    pub(super) fn is_sound(&self) -> bool {
        self.generation == self.place.keeper.generation() && self.lanes.iter().flatten().all(|lane| !lane.gone)
    }

    /// The process of the first conversation, where it is ours.
    pub(super) fn pid(&self) -> Option<u32> {
        match self.lanes.first()?.as_ref()?.talk.link() {
            Link::Stdio(stdio) => stdio.pid(),
            Link::Http(_) => self.place.keeper.pid(),
        }
    }

    /// Opens the first conversation, so that what follows is the input's doing alone.
    pub(super) async fn begin(&mut self) -> Result<(), OpenError> {
        self.lane(0).await.map(drop)
    }

    /// The events of a conversation that are kept.
    pub(super) fn events(&self, lane: usize) -> Vec<Arc<Event>> {
        self.lanes.get(lane).and_then(Option::as_ref).map(|lane| lane.talk.events()).unwrap_or_default()
    }

    /// Plays an input and waits for what is owed, each answer so long.
    pub(super) async fn play(&mut self, input: &Input, patience: Duration, haste: Haste) -> Played {
        let place = self.place.clone();
        let _hold = place.keeper.hold().await;
        let mut played = Played {
            outcomes: vec![Outcome::default(); input.steps.len()],
            marks: std::mem::take(&mut self.marks),
            ..Played::default()
        };
        let mut odd = false;
        let needed = input.needed();
        for (index, step) in input.steps.iter().enumerate() {
            if self.lanes.iter().flatten().any(|lane| lane.gone) {
                // What it died of is told; another process must not take its place unseen.
                break;
            }
            let on = usize::from(step.on).min(MOST_LANES - 1);
            if step.act == Act::Drop {
                if let Some(lane) = self.lanes.get_mut(on).and_then(Option::take) {
                    lane.talk.drop_connection().await;
                }
                continue;
            }
            let lane = match self.lane(on).await {
                Ok(lane) => lane,
                Err(error) => {
                    played.unopened = Some(error.kind.to_string());
                    break;
                }
            };
            let sent = lane.act(&step.act, index, input, &mut played).await;
            odd |= sent.is_ok_and(|it| it.odd);
            played.hand_on(index, &step.needs());
            let outcome = played.outcomes.get_mut(index);
            let tool = outcome.as_ref().and_then(|outcome| outcome.tool.clone());
            let hasty = haste != Haste::None && !needed.contains(&index);
            let wait = tool.filter(|_| hasty).map_or(Wait::Whole, |tool| place.pace.wait(&tool));
            let wait = if wait == Wait::None && haste == Haste::Weighing { Wait::Begun } else { wait };
            if wait != Wait::Whole
                && let Some(outcome) = outcome
            {
                outcome.sound = false;
            }
            if step.wait && wait != Wait::None {
                // What is no sound request may never be answered, and is not worth the wait.
                let sound = played.outcomes.get(index).is_some_and(|outcome| outcome.sound);
                let patience = lane.with_start(patience);
                let patience = match wait {
                    Wait::Begun => BEGUN,
                    _ if sound => patience,
                    _ => SHORT.min(patience),
                };
                let opened = lane.opened;
                lane.pump(Instant::now() + patience, &mut played, |lane| {
                    lane.opened > opened || !lane.waiting.values().any(|step| *step == index)
                })
                .await;
            }
        }
        let mut silent = false;
        for outcome in played.outcomes.iter().filter(|it| it.sound && it.class == Class::Unanswered) {
            // What did not come by now takes its time, whatever comes of it.
            let waited = outcome.sent.is_some() && outcome.at + patience < self.elapsed();
            if let (true, Some(tool)) = (waited, &outcome.tool) {
                self.place.pace.note(tool, patience);
            }
        }
        for on in 0..self.lanes.len() {
            let Some(lane) = self.lanes.get_mut(on).and_then(Option::as_mut) else { continue };
            let owed = |lane: &Lane, played: &Played| {
                lane.waiting.values().any(|step| played.outcomes.get(*step).is_some_and(|outcome| outcome.sound))
            };
            let until = Instant::now() + lane.with_start(patience);
            while owed(lane, &played) && !lane.gone {
                let before = lane.waiting.len();
                if !lane.pump(until, &mut played, |lane| lane.waiting.len() < before).await {
                    silent = true;
                    break;
                }
            }
        }
        for on in 0..self.lanes.len() {
            let over = self.lanes.get(on).and_then(Option::as_ref).is_some_and(|lane| lane.over);
            if (odd || silent) && played.deaf.is_none() && !over {
                self.survives(on, patience, &mut played).await;
            }
            if let Some(lane) = self.lanes.get_mut(on).and_then(Option::as_mut) {
                if !self.parting {
                    lane.leave(&mut played).await;
                }
                lane.settle(on, &mut played);
            }
            if over && let Some(lane) = self.lanes.get_mut(on).and_then(Option::take) {
                lane.talk.drop_connection().await;
            }
        }
        self.sent += played.sent;
        self.marks = std::mem::take(&mut played.marks);
        played
    }

    /// Time of the first conversation, by which its events are dated.
    fn elapsed(&self) -> Duration {
        let lane = self.lanes.first().and_then(Option::as_ref);
        lane.map_or(Duration::ZERO, |lane| lane.talk.recorder().elapsed())
    }

    /// Ends everything and gives what came at the end. `true`: each process ended by itself once its input was closed.
    pub(super) async fn end(mut self) -> (Vec<(usize, Observation)>, Vec<(usize, Arc<Event>)>) {
        let keeper = self.place.keeper.clone();
        let _hold = keeper.hold().await;
        let mut observations = Vec::new();
        let mut events = Vec::new();
        for (on, lane) in self.lanes.drain(..).enumerate() {
            let Some(mut lane) = lane else { continue };
            lane.ended = true;
            lane.talk.end().await;
            let mut rest = Played::default();
            lane.take_all(&mut rest);
            events.extend(lane.talk.events().into_iter().map(|event| (on, event)));
            observations.extend(lane.judge.finish().into_iter().map(|observation| (on, observation)));
        }
        (observations, events)
    }

    /// Ends without ceremony.
    pub(super) async fn drop_all(mut self) {
        for lane in self.lanes.drain(..).flatten() {
            lane.talk.drop_connection().await;
        }
    }

    async fn lane(&mut self, on: usize) -> Result<&mut Lane, OpenError> {
        while self.lanes.len() <= on {
            self.lanes.push(None);
        }
        let dead = self.lanes.get(on).and_then(Option::as_ref).is_none_or(|lane| lane.gone);
        if dead && let Some(place) = self.lanes.get_mut(on) {
            *place = Some(Lane::new(self.place.open(self.manner).await?, self.place.clone(), on));
        }
        match self.lanes.get_mut(on).and_then(Option::as_mut) {
            Some(lane) => Ok(lane),
            None => unreachable!("it was opened one line above"),
        }
    }

    /// Asks for something plain: a server that answers it lives, and has read what came before.
    async fn survives(&mut self, on: usize, patience: Duration, played: &mut Played) {
        let (method, params) = self.place.survival();
        let Some(lane) = self.lanes.get_mut(on).and_then(Option::as_mut).filter(|lane| !lane.gone) else { return };
        let call = Call { method: method.to_owned(), params: params.map(Into::into), ..Call::default() };
        let index = played.outcomes.len();
        let patience = lane.with_start(patience);
        let started = Instant::now();
        let Ok(ticket) = lane.talk.send_long(call).await else {
            // A server that is gone closed its input; one that does not read it hangs.
            if !lane.pump(started + patience, played, |lane| lane.gone).await {
                played.deaf = Some((on, started.elapsed()));
            }
            return;
        };
        lane.waiting.insert(ticket.event, index);
        lane.by_exchange.extend(ticket.exchange.map(|exchange| (exchange, index)));
        played.outcomes.push(Outcome { method: method.to_owned(), sound: true, ..Outcome::default() });
        let answered =
            lane.pump(started + patience, played, |lane| !lane.waiting.values().any(|step| *step == index)).await;
        lane.waiting.retain(|_, step| *step != index);
        let outcome = played.outcomes.pop().unwrap_or_default();
        if answered && !matches!(outcome.class, Class::Result | Class::Unanswered | Class::Closed) {
            played.refused = Some((on, outcome));
        }
        if !answered && !lane.gone {
            played.deaf = Some((on, started.elapsed()));
        }
    }
}

/// What became of the sending of a step.
struct Sent {
    /// It was no sound message: what comes of it is open.
    odd: bool,
}

impl Lane {
    fn new(talk: Conversation, place: Arc<Place>, number: usize) -> Self {
        let mut lane = Self {
            talk,
            place,
            judge: Judge::new(),
            next: 0,
            waiting: BTreeMap::new(),
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
        lane.take_all(&mut Played::default());
        lane
    }

    /// How long an answer is waited for: a process that has said nothing yet may still be starting.
    fn with_start(&self, patience: Duration) -> Duration {
        const FACTOR: u32 = 4;
        if self.heard { patience } else { patience + self.talk.bench().slowest_start() * FACTOR }
    }

    async fn act(&mut self, act: &Act, index: usize, input: &Input, played: &mut Played) -> Result<Sent, SendError> {
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

    async fn request(&mut self, message: &Message, index: usize, played: &mut Played) -> Result<Sent, SendError> {
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
    fn may_use(&mut self, id: &str, index: usize) -> bool {
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
    fn mark(&self) -> String {
        format!("{MARK}{:x}", self.talk.bench().next_id())
    }

    async fn send(&mut self, call: Call, mark: String, index: usize, played: &mut Played) -> Result<Sent, SendError> {
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
        self.by_exchange.extend(ticket.exchange.map(|exchange| (exchange, index)));
        if long {
            self.streams.extend(ticket.exchange);
        }
        self.waiting.insert(ticket.event, index);
        Ok(Sent { odd: !sound })
    }

    async fn notify(&mut self, message: &Message, index: usize, played: &mut Played) -> Result<Sent, SendError> {
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

    async fn retry(
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

    async fn cancel(&mut self, of: usize, played: &mut Played) -> Result<Sent, SendError> {
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
    async fn line(&mut self, text: &str, index: usize, played: &mut Played) -> Result<Sent, SendError> {
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

    async fn raw(&mut self, bytes: &[u8]) -> Result<Sent, SendError> {
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

    async fn http(&mut self, act: &HttpAct, index: usize, played: &mut Played) -> Result<Sent, SendError> {
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
        let origin = taken_up.and_then(|id| self.streams_of.get(&*String::from_utf8_lossy(&id)).copied().flatten());
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

    /// Reads the trace until `done`, the deadline (then false) or the end of the conversation.
    async fn pump(&mut self, until: Instant, played: &mut Played, done: impl Fn(&Self) -> bool) -> bool {
        loop {
            self.take_all(played);
            if done(self) {
                return true;
            }
            if self.gone {
                return false;
            }
            let recorder = self.talk.recorder().clone();
            if recorder.wait(self.next, until, |_| Some(())).await.is_err() {
                return false;
            }
        }
    }

    fn take_all(&mut self, played: &mut Played) {
        for event in self.talk.recorder().events(self.next) {
            self.next = usize::try_from(event.seq).unwrap_or(usize::MAX).saturating_add(1);
            self.take(&event, played);
        }
    }

    fn take(&mut self, event: &Arc<Event>, played: &mut Played) {
        self.judge.observe(event);
        match &event.body {
            Body::Stderr(bytes) => {
                const KEPT: usize = 16 * 1024;
                self.said.extend_from_slice(bytes);
                let beyond = self.said.len().saturating_sub(KEPT);
                self.said.drain(..beyond);
            }
            Body::Exited(exit) => self.exit = Some(exit.clone()),
            Body::StdoutEnded => self.gone = !self.ended,
            Body::Sse(sse) => {
                if let Some(id) = sse.id.clone().filter(|id| !id.is_empty()) {
                    self.place_of(&id, sse.exchange, event.seq, played);
                    self.event_ids.push(id);
                }
            }
            Body::HttpResponse(response) => {
                if let Some(outcome) = self.outcome_of(response.exchange, played) {
                    outcome.status = Some(response.status);
                }
            }
            Body::HttpBody(body) => {
                if let Some(outcome) = self.outcome_of(body.exchange, played) {
                    outcome.text = Some(body.raw.clone());
                }
            }
            Body::ExchangeEnded { exchange, end } => self.exchange_ended(*exchange, end, event, played),
            _ => {}
        }
        let view = event.message().filter(|view| view.direction == Direction::In);
        self.heard |= view.is_some();
        let Some(frame) = view.map(|view| view.frame.clone()) else { return };
        for seen in self.judge.context().incoming(event) {
            if let Shape::Request | Shape::Notification = seen.shape {
                let method = seen.method().unwrap_or_default();
                let tag = seen.get("/params/_meta/io.modelcontextprotocol~1subscriptionId").map(Json::to_string);
                // An acknowledgement may be under way when the cancellation comes.
                let tag = tag.filter(|_| method != "notifications/subscriptions/acknowledged");
                if let Some((sent, 2..)) = tag.and_then(|tag| self.cancelled.get(&tag).copied()) {
                    let (method, received) = (method.to_owned(), event.seq);
                    played.astray.push(Astray { lane: self.number, way: Way::Cancelled, method, sent, received });
                }
                self.opened += u64::from(method == "notifications/subscriptions/acknowledged");
                played.told.insert(method.to_owned());
            }
            let context = self.judge.context();
            let nameless = matches!(Id::of(seen.json.get("id")), Id::Absent | Id::Null);
            let unwanted = matches!(seen.shape, Shape::Response { .. }) && nameless && context.notification_pending();
            let clear = !self.noisy && !context.raw() && self.waiting.is_empty();
            if unwanted && clear && self.talk.transport() == Transport::Stdio {
                let (method, received) = (self.last.clone(), event.seq);
                let astray = Astray { lane: self.number, way: Way::Unwanted, method, sent: received, received };
                played.astray.push(astray);
            }
            let Some(key) = seen.answer.and_then(|answer| answer.request) else { continue };
            let Some(sent) = self.judge.context().request(key).map(|request| request.event) else { continue };
            let later = self.cancelled.values_mut().filter(|(cancelled, _)| *cancelled < sent);
            later.for_each(|(_, answers)| *answers += 1);
            let Some(step) = self.waiting.remove(&sent) else { continue };
            if let (Era::Modern, Some(id)) = (self.talk.era(), self.ids.get(&step)) {
                self.burnt.remove(&loose(id));
            }
            let Some(outcome) = played.outcomes.get_mut(step) else { continue };
            outcome.class = class_of(seen.json);
            outcome.code = seen.get("/error/code").and_then(Json::as_number).and_then(|number| number.as_i64());
            if let Some(tool) = &outcome.tool {
                self.place.pace.note(tool, event.at.saturating_sub(outcome.at));
            }
            outcome.event = Some(event.seq);
            (outcome.echoed, outcome.foreign) =
                played.marks.foreign(&frame.raw, outcome.mark.as_deref(), &outcome.said, self.talk.number());
            outcome.frame = Some(frame.clone());
        }
    }

    /// Notes on which stream an event came, and whether it is one of another stream than the one that was taken up.
    fn place_of(&mut self, id: &str, exchange: Exchange, received: u64, played: &mut Played) {
        const MOST: usize = 4_096;
        let Some((origin, sent)) = self.resumed.get(&exchange).copied() else {
            if self.streams_of.len() < MOST {
                let place = self.streams_of.entry(id.to_owned()).or_insert(Some(exchange));
                *place = place.filter(|known| *known == exchange);
            }
            return;
        };
        if self.streams_of.get(id).copied().flatten().is_some_and(|known| known != origin) {
            let astray = Astray { lane: self.number, way: Way::Replayed, method: "GET".to_owned(), sent, received };
            played.astray.push(astray);
        }
    }

    fn exchange_ended(&mut self, exchange: Exchange, end: &ExchangeEnd, event: &Event, played: &mut Played) {
        let Some(step) = self.by_exchange.remove(&exchange) else { return };
        self.streams.retain(|stream| *stream != exchange);
        self.waiting.retain(|_, waiting| *waiting != step);
        let Some(outcome) = played.outcomes.get_mut(step).filter(|outcome| outcome.class == Class::Unanswered) else {
            return;
        };
        outcome.event = Some(event.seq);
        outcome.class = match (outcome.status, end) {
            (Some(status), ExchangeEnd::Complete) if status >= 400 => Class::Refusal,
            (Some(_), ExchangeEnd::Complete) => Class::Plain,
            (_, ExchangeEnd::ClosedByUs | ExchangeEnd::Limit(_)) => Class::Unanswered,
            _ => Class::Closed,
        };
        if outcome.class == Class::Closed && matches!(end, ExchangeEnd::Failed(_)) && outcome.status.is_none() {
            // The connection was refused or cut: the server may be gone.
            self.exit = None;
        }
    }

    fn outcome_of<'a>(&self, exchange: Exchange, played: &'a mut Played) -> Option<&'a mut Outcome> {
        let step = *self.by_exchange.get(&exchange)?;
        played.outcomes.get_mut(step)
    }

    /// Ends what the input left open, so that the next one begins on a quiet conversation.
    async fn leave(&mut self, played: &mut Played) {
        for exchange in std::mem::take(&mut self.streams) {
            self.talk.link().close_exchange(exchange);
            self.by_exchange.remove(&exchange);
        }
        let open: Vec<usize> = self.waiting.values().copied().collect();
        for step in open {
            // What is still open there is wanted by nobody.
            if !self.gone && self.cancel(step, played).await.is_err() {
                break;
            }
        }
        self.waiting.clear();
        // What still comes belongs to no step of the next input.
        self.by_exchange.clear();
        self.ids.clear();
        self.tasks.clear();
        self.turn += 1;
        self.take_all(played);
    }

    /// Hands over what the rules say by now, and forgets what is old.
    fn settle(&mut self, on: usize, played: &mut Played) {
        for (rule, requirement, revision, violation) in self.judge.take_violations() {
            let method = self.about(&violation);
            played.breaches.push(Breach { rule, requirement, revision, violation, lane: on, method });
        }
        if self.gone {
            let said = String::from_utf8_lossy(&self.said).into_owned();
            let gone = Gone { lane: on, exit: self.exit.clone(), said, method: self.last.clone() };
            played.gone.push(gone);
        }
        self.talk.recorder().forget((self.next as u64).saturating_sub(KEPT_EVENTS));
    }

    /// The method that a violation is about.
    fn about(&self, violation: &Violation) -> String {
        let at = violation.related.and_then(|event| usize::try_from(event).ok());
        let events = at.map(|at| self.talk.recorder().events(at)).unwrap_or_default();
        let method = events.first().and_then(|event| {
            let json = event.message()?.frame.json.as_ref()?.get("method")?.as_str()?.to_owned();
            Some(json)
        });
        method.unwrap_or_else(|| self.last.clone())
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

/// A part of the answer to a step.
fn part(played: &Played, step: usize, at: &str) -> Option<Value> {
    let json = played.outcomes.get(step)?.frame.as_ref()?.json.as_ref()?;
    json.pointer(at).map(Json::to_value)
}

fn result(played: &Played, step: usize) -> Option<Value> {
    part(played, step, "/result")
}

fn class_of(json: &Json) -> Class {
    if json.get("error").is_some() {
        return Class::Error;
    }
    let Some(result) = json.get("result") else { return Class::Unanswered };
    if result.get("resultType").and_then(Json::as_str) == Some("input_required") {
        Class::InputRequired
    } else if result.get("isError").and_then(Json::as_bool) == Some(true) {
        Class::ToolError
    } else {
        Class::Result
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
fn loose(id: &str) -> String {
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
