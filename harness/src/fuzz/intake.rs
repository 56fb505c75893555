//! What comes in on a conversation: answers find their steps, and what comes astray is noted.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use mcp_conform_schemas::Era;
use tokio::time::Instant;

use super::{
    lane::{Lane, loose},
    outcome::{Astray, Breach, Class, Gone, Outcome, Played, Way, class_of},
    play::PROOFS,
};
use crate::{
    rules::{Shape, Violation},
    trace::{Body, Direction, Event, Exchange, ExchangeEnd, Transport},
    wire::{Id, Json},
};

/// Events that a conversation keeps; a finding is seen again in a conversation of its own, which keeps all.
const KEPT_EVENTS: u64 = 4_096;

impl Lane {
    /// Reads the trace until `done`, the deadline (then false) or the end of the conversation.
    pub(super) async fn pump(&mut self, until: Instant, played: &mut Played, done: impl Fn(&Self) -> bool) -> bool {
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

    /// After its output was closed: takes in how the process ended and what it still says, which come on ways of their own. One
    /// death would have several names otherwise.
    pub(super) async fn take_last_words(&mut self, played: &mut Played) {
        const MOST: Duration = Duration::from_millis(200);
        let until = Instant::now() + MOST;
        let recorder = self.talk.recorder().clone();
        while self.exit.is_none() && recorder.wait(self.next, until, |_| Some(())).await.is_ok() {
            self.take_all(played);
        }
    }

    pub(super) fn take_all(&mut self, played: &mut Played) {
        for event in self.talk.recorder().events(self.next) {
            self.next = usize::try_from(event.seq).unwrap_or(usize::MAX).saturating_add(1);
            self.take(&event, played);
        }
    }

    pub(super) fn take(&mut self, event: &Arc<Event>, played: &mut Played) {
        self.judge.observe(event);
        match &event.body {
            Body::Stderr(bytes) => {
                const KEPT: usize = 16 * 1024;
                self.said.extend_from_slice(bytes);
                let beyond = self.said.len().saturating_sub(KEPT);
                self.said.drain(..beyond);
            }
            Body::Exited(exit) => self.exit = Some(exit.clone()),
            Body::StdoutEnded => self.gone = !self.ended && !self.over,
            // Passing one is ours: what does not come after it was not read.
            Body::Limit { .. } => {
                self.over = true;
                self.waiting.values().for_each(|step| unsound(played, *step));
                self.waiting.clear();
            }
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
        if frame.json.is_none() {
            self.settle_unread(frame.is_unread(), played);
        }
        let mut took = None;
        for seen in self.judge.context().incoming(event) {
            if let Shape::Request | Shape::Notification = seen.shape {
                let method = seen.method().unwrap_or_default();
                let tag = seen.get("/params/_meta/io.modelcontextprotocol~1subscriptionId").map(Json::to_string);
                // An acknowledgement may be under way when the cancellation comes.
                let tag = tag.filter(|_| method != "notifications/subscriptions/acknowledged");
                let cancelled = tag.and_then(|tag| self.cancelled.get(&tag).copied());
                if let Some((sent, _)) = cancelled.filter(|(_, proofs)| *proofs >= PROOFS) {
                    let (method, received) = (method.to_owned(), event.seq);
                    played.astray.push(Astray { lane: self.number, way: Way::Cancelled, method, sent, received });
                }
                self.opened += u64::from(method == "notifications/subscriptions/acknowledged");
                played.told.insert(method.to_owned());
            }
            let context = self.judge.context();
            let nameless = matches!(Id::of(seen.json.get("id")), Id::Absent | Id::Null);
            let nameless = matches!(seen.shape, Shape::Response { .. }) && nameless;
            self.nameless += u64::from(nameless);
            let unwanted = nameless && context.notification_pending();
            let clear = !self.noisy && !context.raw() && self.waiting.is_empty();
            if unwanted && clear && self.talk.transport() == Transport::Stdio {
                let (method, received) = (self.last.clone(), event.seq);
                let astray = Astray { lane: self.number, way: Way::Unwanted, method, sent: received, received };
                played.astray.push(astray);
            }
            let Some(key) = seen.answer.and_then(|answer| answer.request) else { continue };
            let Some(sent) = self.judge.context().request(key).map(|request| request.event) else { continue };
            self.backlog.remove(&sent);
            let Some(step) = self.waiting.remove(&sent) else { continue };
            // A second answer tells nothing more of what was read.
            let later = self.cancelled.values_mut().filter(|(cancelled, _)| *cancelled < sent);
            later.for_each(|(_, answers)| *answers += 1);
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
            took = (!outcome.at.is_zero()).then(|| event.at.saturating_sub(outcome.at));
            (outcome.echoed, outcome.foreign) =
                played.marks.foreign(&frame.raw, outcome.mark.as_deref(), &outcome.said, self.talk.number());
            outcome.frame = Some(frame.clone());
        }
        took.into_iter().for_each(|took| self.took(took));
    }

    /// Takes what was answered by something that is too much for us, or broken, as answered, where its id is legible; where
    /// it is too much for us and has none that is, it may be the answer to anything.
    fn settle_unread(&mut self, ours: bool, played: &mut Played) {
        let context = self.judge.context();
        let open: BTreeSet<u64> = context.in_flight().map(|request| request.event).collect();
        let (waiting, done): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.waiting).into_iter().partition(|(event, _)| open.contains(event));
        self.waiting = waiting;
        if ours && done.is_empty() {
            self.waiting.values().for_each(|step| unsound(played, *step));
        }
        done.values().for_each(|step| unsound(played, *step));
    }

    /// Nothing is owed to a request that we cancelled by a notification of our own making, that went out under the id of
    /// another, or behind bytes that may have swallowed it.
    pub(super) fn excuse(&self, played: &mut Played) {
        let excused = self.judge.context().in_flight().filter(|request| request.is_excused() || request.twin);
        for step in excused.filter_map(|request| self.waiting.get(&request.event)) {
            unsound(played, *step);
        }
    }

    /// Notes on which stream an event came, and whether it is one of another stream than the one that was taken up.
    pub(super) fn place_of(&mut self, id: &str, exchange: Exchange, received: u64, played: &mut Played) {
        const MOST: usize = 4_096;
        let (stream, sent) = match self.resumed.get(&exchange) {
            Some((origin, sent)) => (*origin, Some(*sent)),
            None => (Some(exchange), None),
        };
        let known = self.streams_of.get(id).copied();
        match (sent, stream, known) {
            // What comes on a stream that was taken up belongs to the stream of the event behind which it was.
            (Some(sent), Some(origin), Some(Some(known))) if known != origin => {
                let astray = Astray { lane: self.number, way: Way::Replayed, method: "GET".to_owned(), sent, received };
                played.astray.push(astray);
            }
            (Some(_), Some(_), Some(_)) => {}
            (_, _, Some(known)) => {
                let _ = self.streams_of.insert(id.to_owned(), known.filter(|known| Some(*known) == stream));
            }
            (_, _, None) if self.streams_of.len() < MOST => drop(self.streams_of.insert(id.to_owned(), stream)),
            _ => {}
        }
    }

    pub(super) fn exchange_ended(&mut self, exchange: Exchange, end: &ExchangeEnd, event: &Event, played: &mut Played) {
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

    pub(super) fn outcome_of<'a>(&self, exchange: Exchange, played: &'a mut Played) -> Option<&'a mut Outcome> {
        let step = *self.by_exchange.get(&exchange)?;
        played.outcomes.get_mut(step)
    }

    /// Ends what the input left open, so that the next one begins on a quiet conversation.
    pub(super) async fn leave(&mut self, played: &mut Played) {
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
    pub(super) fn settle(&mut self, on: usize, played: &mut Played) {
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

    /// The method of the request that a violation is about; empty where it is about none. What was sent last would make
    /// two of the same bug, depending on when it is seen.
    pub(super) fn about(&self, violation: &Violation) -> String {
        let at = violation.related.and_then(|event| usize::try_from(event).ok());
        let events = at.map(|at| self.talk.recorder().events(at)).unwrap_or_default();
        let method = events.first().and_then(|event| {
            let json = event.message()?.frame.json.as_ref()?.get("method")?.as_str()?.to_owned();
            Some(json)
        });
        method.unwrap_or_default()
    }
}

fn unsound(played: &mut Played, step: usize) {
    if let Some(outcome) = played.outcomes.get_mut(step) {
        outcome.sound = false;
    }
}
