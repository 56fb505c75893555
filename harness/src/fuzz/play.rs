//! Plays inputs on a server and says what came: [`Life`] is a server from its start to its end, with the conversations
//! ([`Lane`]) that are held with it.
//!
//! What is an answer to what is taken from the rules' own ledger, so that the fuzzer and the rules can never disagree.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use tokio::time::Instant;

use super::{
    input::{Act, Input, Manner},
    lane::Lane,
    marks::Marks,
    outcome::{Breach, Class, Outcome, Played},
    place::{Place, Wait},
};
use crate::{
    conversation::{Call, Link, OpenError},
    rules::Observation,
    trace::{Event, Transport},
};

/// Conversations of one input.
pub(super) const MOST_LANES: usize = 3;
/// Until a tool that takes its time is at work.
const BEGUN: Duration = Duration::from_millis(1);

/// Answers to what was asked after the cancellation of a subscription, by which it counts as read.
pub(super) const PROOFS: u32 = 2;

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
    /// The events of conversations that ended within the last input, by the place that they had.
    ended: BTreeMap<usize, Vec<Arc<Event>>>,
    generation: u64,
    pub(super) sent: u64,
    /// What is open after the next input stays open: the server is to end with it.
    pub(super) parting: bool,
    marks: Marks,
}

impl Life {
    pub(super) fn new(place: Arc<Place>, manner: Manner) -> Self {
        let generation = place.keeper.generation();
        let (lanes, ended, marks) = (Vec::new(), BTreeMap::new(), Marks::default());
        Self { place, manner, lanes, ended, generation, sent: 0, parting: false, marks }
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

    /// Calls were not answered yet.
    pub(super) fn at_work(&self) -> bool {
        let calls = |lane: &Lane| lane.judge.context().in_flight().any(|request| &*request.method == "tools/call");
        self.lanes.iter().flatten().any(calls)
    }

    /// Opens the first conversation, so that what follows is the input's doing alone.
    pub(super) async fn begin(&mut self) -> Result<(), OpenError> {
        self.lane(0).await.map(drop)
    }

    /// The events of a conversation that are kept, also where the last input ended it.
    pub(super) fn events(&self, lane: usize) -> Vec<Arc<Event>> {
        let open = self.lanes.get(lane).and_then(Option::as_ref);
        open.map(|lane| lane.talk.events()).or_else(|| self.ended.get(&lane).cloned()).unwrap_or_default()
    }

    /// Drops a conversation, if there is one, and keeps its events.
    async fn drop_one(&mut self, on: usize) {
        if let Some(lane) = self.lanes.get_mut(on).and_then(Option::take) {
            self.ended.insert(on, lane.talk.events());
            lane.talk.drop_connection().await;
        }
    }

    /// Plays an input and waits for what is owed, each answer so long.
    pub(super) async fn play(&mut self, input: &Input, patience: Duration, haste: Haste) -> Played {
        let place = self.place.clone();
        let _hold = place.keeper.hold().await;
        self.ended.clear();
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
                self.drop_one(on).await;
                continue;
            }
            let lane = match self.lane(on).await {
                Ok(lane) => lane,
                Err(error) => {
                    played.unopened = Some(error.kind.to_string());
                    break;
                }
            };
            let ended = lane.cancelled.len();
            let sent = lane.act(&step.act, index, input, &mut played).await;
            let ended = lane.cancelled.len() > ended;
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
                let long = lane.patient(patience);
                let most = match wait {
                    Wait::Begun => BEGUN,
                    // Where something is looked for again, whether it shows must not hang on what came in time.
                    _ if sound || (haste == Haste::None && needed.contains(&index)) => long,
                    _ => lane.short().min(long),
                };
                let (opened, nameless) = (lane.opened, lane.nameless);
                lane.pump(Instant::now() + most, &mut played, |lane| {
                    let other = lane.opened > opened || (!sound && lane.nameless > nameless);
                    other || !lane.waiting.values().any(|step| *step == index)
                })
                .await;
                if ended {
                    // A cancellation has no answer: those to what is asked after it show that it was read.
                    for _ in 0..PROOFS {
                        if played.deaf.is_none() {
                            self.survives(on, patience, &mut played).await;
                        }
                    }
                }
            }
        }
        // What is still said of cancelled calls is to come now, and not as if the next input had brought it about.
        let cancels = input.steps.iter().any(|step| matches!(step.act, Act::Cancel(_)));
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
            lane.take_all(&mut played);
            lane.excuse(&mut played);
            let owed = |lane: &Lane, played: &Played| {
                lane.waiting.values().any(|step| played.outcomes.get(*step).is_some_and(|outcome| outcome.sound))
            };
            let until = Instant::now() + lane.patient(patience);
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
            if (odd || silent || cancels) && played.deaf.is_none() && !over {
                self.survives(on, patience, &mut played).await;
            }
            if let Some(lane) = self.lanes.get_mut(on).and_then(Option::as_mut) {
                if !self.parting {
                    lane.leave(&mut played).await;
                }
                if lane.gone && lane.talk.transport() == Transport::Stdio {
                    lane.take_last_words(&mut played).await;
                }
                lane.settle(on, &mut played);
            }
            if over {
                self.drop_one(on).await;
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

    /// Ends everything and gives what the rules say of what came at the end, and all events by conversation.
    pub(super) async fn end(mut self) -> (Vec<Breach>, Vec<(usize, Arc<Event>)>) {
        let keeper = self.place.keeper.clone();
        let _hold = keeper.hold().await;
        let mut breaches = Vec::new();
        let mut events = Vec::new();
        for (on, lane) in self.lanes.drain(..).enumerate() {
            let Some(mut lane) = lane else { continue };
            lane.ended = true;
            lane.talk.end().await;
            let mut rest = Played::default();
            lane.take_all(&mut rest);
            events.extend(lane.talk.events().into_iter().map(|event| (on, event)));
            let judge = std::mem::take(&mut lane.judge);
            for Observation { rule, requirement, revision, violations, .. } in judge.finish() {
                for violation in violations {
                    let method = lane.about(&violation);
                    breaches.push(Breach { rule, requirement, revision, violation, lane: on, method });
                }
            }
        }
        (breaches, events)
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
        let patience = lane.patient(patience);
        let started = Instant::now();
        let Ok(ticket) = lane.talk.send_long(call).await else {
            // A server that is gone closed its input; one that does not read it hangs.
            if !lane.pump(started + patience, played, |lane| lane.gone || lane.over).await {
                played.deaf = Some((on, started.elapsed()));
                played.at_work = !lane.backlog.is_empty();
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
        if answered {
            // Nothing that was asked before stands in the way any more.
            lane.backlog.clear();
        }
        // After an initialize that was answered, a server of both eras may hold to the older one.
        let changed = lane.judge.context().legacy_served();
        if answered && !changed && !matches!(outcome.class, Class::Result | Class::Unanswered | Class::Closed) {
            played.refused = Some((on, outcome));
        }
        if !answered && !lane.gone && !lane.over {
            played.deaf = Some((on, started.elapsed()));
            played.at_work = !lane.backlog.is_empty();
        }
    }
}
