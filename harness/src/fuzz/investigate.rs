//! What becomes of a suspicion: it is looked for again on a fresh server, made small, confirmed, and written down.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use mcp_conform_reports::model::{Evidence, Verdict};
use tokio::time::Instant;

use super::{
    campaign::{Campaign, Island, name_of},
    finding::{Finding, VERSION, id_of},
    input::{Act, Input},
    oracle::{self, Kind, Suspicion},
    place::Place,
    play::{Haste, Life},
    script::script,
    shrink::{Attempt, shrink},
    watch::{Usage, of_one, usage},
};
use crate::{
    script::{Sources, evidence},
    trace::{self, Body, Event, Transport},
};

/// Attempts of one investigation.
const MOST_ATTEMPTS: u32 = 300;

/// The least wait for an answer while an input is made smaller.
const QUICK: Duration = Duration::from_millis(150);
/// Steps beyond which calls that take their time are not waited for.
const MANY_STEPS: usize = 48;

/// What showed a bug, and what was seen then.
#[derive(Debug)]
struct Showing {
    suspicion: Suspicion,
    events: Vec<Arc<Event>>,
}

/// Plays an input on a server that did nothing before.
struct Trial<'a> {
    campaign: &'a Campaign,
    place: &'a Arc<Place>,
    key: String,
    kind: Kind,
    patience: Duration,
    left: u32,
    until: Instant,
    /// A server of its own, where a URL's server is shared otherwise.
    fresh: bool,
    last: Option<Showing>,
}

impl Attempt for Trial<'_> {
    async fn shows(&mut self, input: &Input) -> Option<bool> {
        self.left = self.left.checked_sub(1)?;
        if Instant::now() >= self.until || !self.campaign.may_look() {
            return None;
        }
        let showing = self.campaign.showing(self, input).await;
        let shows = showing.is_some();
        self.last = showing.or(self.last.take());
        Some(shows)
    }
}

impl Campaign {
    /// Looks for a suspicion again and makes a finding of it.
    pub(super) async fn look_into(
        &self,
        place: &Arc<Place>,
        suspicion: Suspicion,
        input: &Arc<Input>,
        history: &VecDeque<Arc<Input>>,
        first_events: Vec<Arc<Event>>,
    ) {
        if !self.known().take_up(&suspicion) {
            return;
        }
        self.tell(&format!("looking into {}: {}", suspicion.key(), suspicion.message));
        let after = self.so_far();
        if suspicion.kind == Kind::Growth {
            // It was found by attempts of its own, or by a limit that no smaller input is held to.
            let finding = self.finding(place, &suspicion, input, history.len(), (1, 1), &first_events, after, false);
            return self.write(place, finding, &suspicion, &first_events);
        }
        if suspicion.kind != Kind::Rule || suspicion.verdict == Verdict::Fail {
            let provisional =
                self.finding(place, &suspicion, input, input.messages(), (1, 1), &first_events, after, true);
            self.write(place, provisional, &suspicion, &first_events);
        }
        let patience = self.patience(place);
        if suspicion.kind == Kind::Lost && self.takes_its_time(place, &suspicion, input).await {
            return self.forget(&suspicion);
        }
        let mut trial = Trial {
            campaign: self,
            place,
            key: suspicion.key(),
            kind: suspicion.kind,
            patience,
            left: self.attempts(),
            until: Instant::now() + self.longest(),
            fresh: false,
            last: None,
        };
        let found = self.reproduce(&mut trial, input, history).await;
        let Some((whole, before)) = found else {
            return self.not_again(place, suspicion, input, &first_events, after);
        };
        // Most attempts end with waiting for what does not come. A short wait may take what is slow for silence, which the
        // confirmation tells.
        trial.patience = (place.ground.surface.slowest * 10).max(QUICK).min(patience);
        let mut small = shrink(&whole, &mut trial).await;
        trial.patience = patience;
        let (mut seen, mut attempts) = self.confirm(&mut trial, &small).await;
        if seen < attempts && suspicion.kind.is_of_time() && small != whole {
            (trial.left, trial.until) = (self.attempts(), Instant::now() + self.longest());
            small = shrink(&whole, &mut trial).await;
            (seen, attempts) = self.confirm(&mut trial, &small).await;
        }
        let (suspicion, events) = match trial.last {
            Some(showing) => (
                Suspicion { verdict: showing.suspicion.verdict.max(suspicion.verdict), ..showing.suspicion },
                showing.events,
            ),
            None => (suspicion, first_events),
        };
        if seen == 0 || (suspicion.kind.is_of_time() && seen < attempts) {
            return self.not_again(place, suspicion, input, &events, after);
        }
        let Some(suspicion) = self.weighed_against_time(place, suspicion.clone(), &small).await else {
            return self.forget(&suspicion);
        };
        let finding = self.finding(place, &suspicion, &small, before, (seen, attempts), &events, after, false);
        self.write(place, finding, &suspicion, &events);
    }

    /// A call that is not answered alone either, and names a number, which may be how long it works.
    async fn takes_its_time(&self, place: &Arc<Place>, suspicion: &Suspicion, input: &Input) -> bool {
        let Some(index) = suspicion.step else { return false };
        let message = input.steps.get(index).and_then(|step| step.message());
        let Some(message) = message.filter(|message| message.method == "tools/call") else { return false };
        if !message.params.as_ref().and_then(|params| params.get("arguments")).is_some_and(holds_number) {
            return false;
        }
        let mut alone = input.only(|at| at == index);
        alone.steps.iter_mut().for_each(|step| (step.on, step.wait) = (0, true));
        let mut life = Life::new(place.clone(), input.manner);
        if life.begin().await.is_err() {
            return false;
        }
        let played = life.play(&alone, self.patience(place), Haste::None).await;
        life.drop_all().await;
        played
            .outcomes
            .iter()
            .any(|outcome| outcome.class == super::outcome::Class::Unanswered && outcome.sent.is_some())
    }

    /// The input alone; else with all that went before it in the same life.
    async fn reproduce(
        &self,
        trial: &mut Trial<'_>,
        input: &Arc<Input>,
        history: &VecDeque<Arc<Input>>,
    ) -> Option<(Input, usize)> {
        for fresh in [false, true] {
            if fresh && !self.keeper.restarts() {
                continue;
            }
            trial.fresh = fresh;
            for _ in 0..2 {
                if trial.shows(input).await? {
                    return Some((Input::clone(input), input.messages()));
                }
            }
        }
        let mut whole = Input { era: input.era, manner: input.manner, steps: Vec::new() };
        history.iter().filter(|earlier| earlier.era == input.era).for_each(|earlier| whole.then(earlier));
        if whole.steps.len() <= input.steps.len() {
            return None;
        }
        // The cause is near more often than far.
        for part in [40, 400, whole.steps.len()] {
            let from = whole.steps.len().saturating_sub(part);
            let tail = whole.only(|index| index >= from);
            if trial.shows(&tail).await? {
                let messages = tail.messages();
                return Some((tail, messages));
            }
        }
        None
    }

    /// Plays the smallest input several times.
    async fn confirm(&self, trial: &mut Trial<'_>, small: &Input) -> (u32, u32) {
        let attempts = self.options.confirm.max(1);
        trial.left = attempts;
        trial.until = Instant::now() + self.longest();
        let mut seen = 0;
        let mut done = 0;
        for _ in 0..attempts {
            let Some(shows) = trial.shows(small).await else { break };
            done += 1;
            seen += u32::from(shows);
        }
        // Where the time was over before: it was seen when it was made smaller.
        if done == 0 { (1, 1) } else { (seen, done) }
    }

    /// What did not come in passing may come late: that is slow, and no silence. How long a tool works is its own business,
    /// as long as others are answered.
    async fn weighed_against_time(&self, place: &Arc<Place>, suspicion: Suspicion, small: &Input) -> Option<Suspicion> {
        if !matches!(suspicion.kind, Kind::Hang | Kind::Lost) {
            return Some(suspicion);
        }
        let long = self.bench.deadlines.answer.max(self.patience(place) * 2);
        let mut trial = Trial {
            campaign: self,
            place,
            key: suspicion.key(),
            kind: suspicion.kind,
            patience: long,
            left: 1,
            until: Instant::now() + self.longest(),
            fresh: self.keeper.restarts(),
            last: None,
        };
        let still = trial.shows(small).await.unwrap_or(false);
        if suspicion.kind == Kind::Hang {
            let seconds = self.patience(place).as_secs_f64();
            return Some(if still {
                Suspicion {
                    message: format!("{}; nothing came in {:.0} s", suspicion.message, long.as_secs_f64()),
                    ..suspicion
                }
            } else {
                let message = format!("{}; an answer came, after more than {seconds:.1} s", suspicion.message);
                Suspicion { verdict: Verdict::Warn, message, ..suspicion }
            });
        }
        if !still {
            return None;
        }
        let calls =
            |input: &Input| input.steps.iter().any(|step| step.message().is_some_and(|it| it.method == "tools/call"));
        if small.steps.len() == 1 && calls(small) {
            // Alone it is the tool that takes its time; numbers may be how long.
            let numbers = small.steps.first().and_then(|step| step.message()).is_some_and(|message| {
                message.params.as_ref().and_then(|params| params.get("arguments")).is_some_and(holds_number)
            });
            let message = format!(
                "{}; the call is not answered in {:.0} s even when it is the only one",
                suspicion.message,
                long.as_secs_f64()
            );
            return (!numbers).then_some(Suspicion { verdict: Verdict::Warn, message, ..suspicion });
        }
        Some(suspicion)
    }

    /// Plays the input of a finding a few times on a fresh server; how often it was seen in how many attempts.
    pub(super) async fn again(&self, finding: &Finding) -> Option<(u32, u32)> {
        let place = self.places.iter().find(|place| {
            place.ground.era == finding.input.era && place.ground.transport.as_str() == finding.transport
        })?;
        if finding.kind == Kind::Growth {
            return Some((u32::from(self.grows(place, &finding.input).await.is_some()), 1));
        }
        let patience = match finding.kind {
            Kind::Hang | Kind::Lost => self.bench.deadlines.answer.min(self.patience(place) * 3),
            _ => self.patience(place),
        };
        let mut trial = Trial {
            campaign: self,
            place,
            key: finding.key.clone(),
            kind: finding.kind,
            patience,
            left: self.options.confirm,
            until: Instant::now() + self.longest(),
            fresh: self.keeper.restarts(),
            last: None,
        };
        Some(self.confirm(&mut trial, &finding.input).await)
    }

    /// Plays an input on a fresh server and looks for one thing.
    async fn showing(&self, trial: &Trial<'_>, input: &Input) -> Option<Showing> {
        let place = trial.place;
        let (era, transport) = (place.ground.era, place.ground.transport);
        if trial.fresh && self.keeper.restarts() {
            self.keeper.restart(self.keeper.generation()).await.ok()?;
        }
        let mut life = Life::new(place.clone(), input.manner);
        life.begin().await.ok()?;
        life.parting = trial.kind == Kind::Exit;
        let haste = if input.steps.len() > MANY_STEPS { Haste::Passing } else { Haste::None };
        let played = life.play(input, trial.patience, haste).await;
        let mut suspicions = self.suspicions(place, input, &played);
        suspicions.extend(self.gone(place, &played).await);
        let matches = |suspicions: Vec<Suspicion>| suspicions.into_iter().find(|it| it.key() == trial.key);
        if let Some(suspicion) = matches(suspicions) {
            let events = life.events(suspicion.lane);
            life.drop_all().await;
            return Some(Showing { suspicion, events });
        }
        if !matches!(trial.kind, Kind::Exit | Kind::Rule) || !life.is_sound() {
            life.drop_all().await;
            return None;
        }
        let (observations, events) = life.end().await;
        let mut late = oracle::look_at_end(era, transport, observations);
        if trial.kind == Kind::Exit {
            let exit = events.iter().find_map(|(_, event)| match &event.body {
                Body::Exited(exit) => Some(exit.clone()),
                _ => None,
            });
            let signalled = events.iter().any(|(_, event)| matches!(event.body, Body::Signalled { .. }));
            late.extend(oracle::bad_exit(era, transport, exit.as_ref(), signalled));
        }
        let suspicion = matches(late)?;
        let events = events.into_iter().filter(|(lane, _)| *lane == suspicion.lane).map(|(_, event)| event).collect();
        Some(Showing { suspicion, events })
    }

    /// Looks at memory and descriptors of kept inputs, a small part of the time.
    pub(super) async fn weigh(&self, island: &mut Island) {
        const PART: u32 = 10;
        if !cfg!(target_os = "linux") {
            return;
        }
        while *island.weighed() * PART < self.started.elapsed() && self.goes_on() {
            let Some(input) = island.next_to_weigh() else { return };
            let started = Instant::now();
            let place = island.place.clone();
            self.tell(&format!("weighing {}", serde_json::to_string(&*input).unwrap_or_default()));
            if let Some((what, _)) = self.grows(&place, &input).await {
                let (era, transport) = (place.ground.era, place.ground.transport);
                let mut scale =
                    Scale { campaign: self, place: &place, left: 24, until: Instant::now() + self.longest(), what };
                let small = shrink(&input, &mut scale).await;
                // Once more: what grew once may have been a cache that was filling.
                if let Some((what, words)) = self.grows(&place, &small).await {
                    let suspicion = oracle::growth(era, transport, &small, what, words);
                    self.look_into(&place, suspicion, &Arc::new(small), &VecDeque::new(), Vec::new()).await;
                } else {
                    self.known().not_again += 1;
                }
            }
            *island.weighed() += started.elapsed();
        }
    }

    /// Plays an input again and again on a fresh server. What grows, if something grows as fast at the end as at the
    /// beginning.
    async fn grows(&self, place: &Arc<Place>, input: &Input) -> Option<(&'static str, String)> {
        const ROUNDS: u64 = 60;
        const MOST_WINDOWS: usize = 60;
        // Runtimes with garbage collection take tens of megabytes before they look for what is free.
        const MUCH: u64 = 128 * 1024 * 1024;
        const LITTLE: u64 = 512 * 1024;
        const MANY: u64 = 40;
        const OWN: u64 = 1 << 20;
        const LONG: Duration = Duration::from_secs(8);
        if input.steps.iter().any(|step| matches!(step.act, Act::Drop | Act::Raw(_))) {
            return None;
        }
        let mut life = Life::new(place.clone(), input.manner);
        life.begin().await.ok()?;
        let pid = life.pid()?;
        let patience = self.patience(place);
        let started = Instant::now();
        let mut seen: Vec<Usage> = Vec::new();
        let mut found = None;
        for window in 0..MOST_WINDOWS {
            for _ in 0..ROUNDS {
                let played = life.play(input, patience, Haste::Weighing).await;
                if !life.is_sound() || played.deaf.is_some() || started.elapsed() > LONG * 2 {
                    life.drop_all().await;
                    return None;
                }
            }
            self.requests.fetch_add(ROUNDS * input.messages() as u64, Ordering::Relaxed);
            // What was just closed may take a moment.
            tokio::time::sleep(Duration::from_millis(5)).await;
            let mut now = usage(pid)?;
            if place.ground.transport == Transport::Http {
                // The connections that we hold open are not the server's doing.
                let own = of_one(std::process::id()).unwrap_or_default().descriptors;
                now.descriptors = (now.descriptors + OWN).saturating_sub(own);
            }
            seen.push(now);
            let (Some(first), Some(now)) = (seen.get(1), seen.last()) else { continue };
            let (windows, half) = (window as u64 - 1, seen.len().div_ceil(2));
            let Some(middle) = seen.get(half) else { continue };
            let rounds = windows * ROUNDS;
            // A pool or a cache that fills grows, too, but not as fast at the end as at the beginning.
            let goes_on =
                |first: u64, middle: u64, now: u64| now.saturating_sub(middle) * 3 >= now.saturating_sub(first);
            let descriptors = now.descriptors.saturating_sub(first.descriptors);
            let more = descriptors >= MANY && goes_on(first.descriptors, middle.descriptors, now.descriptors);
            if windows >= 6 && more {
                let words =
                    format!("{descriptors} more descriptors are open after {rounds} rounds of the same messages");
                found = Some(("descriptors", words));
                break;
            }
            let grown = now.resident.saturating_sub(first.resident);
            if windows >= 2 && grown < windows * LITTLE && descriptors < windows {
                break;
            }
            if windows >= 6 && grown >= MUCH && goes_on(first.resident, middle.resident, now.resident) {
                let words = format!(
                    "{} MB more are held after {rounds} rounds of the same messages, and it goes on growing",
                    grown >> 20
                );
                found = Some(("memory", words));
                break;
            }
            if started.elapsed() > LONG {
                break;
            }
        }
        life.drop_all().await;
        found
    }

    /// What one investigation may take: a part of the campaign.
    fn longest(&self) -> Duration {
        const MOST: Duration = Duration::from_secs(90);
        const LEAST: Duration = Duration::from_secs(10);
        self.options.time.map_or(MOST, |time| (time / 8).clamp(LEAST, MOST))
    }

    fn attempts(&self) -> u32 {
        // A server that takes a second to start gets fewer.
        let start = self.bench.slowest_start().as_secs_f64().max(0.01);
        let most = (self.longest().as_secs_f64() / start).clamp(20.0, f64::from(MOST_ATTEMPTS));
        most as u32
    }

    fn not_again(
        &self,
        place: &Arc<Place>,
        suspicion: Suspicion,
        input: &Arc<Input>,
        events: &[Arc<Event>],
        after: (u64, f64),
    ) {
        if suspicion.kind.is_of_time() || suspicion.kind == Kind::Swapped || suspicion.verdict == Verdict::Advice {
            // A provisional finding of it stands on disk.
            self.forget(&suspicion);
            return;
        }
        // It was there, in the trace: what it takes is not known.
        let finding = self.finding(
            place,
            &suspicion,
            input,
            input.messages(),
            (1, 1 + self.options.confirm),
            events,
            after,
            false,
        );
        self.write(place, finding, &suspicion, events);
    }

    /// Inputs and seconds of all rounds until now.
    fn so_far(&self) -> (u64, f64) {
        let inputs = self.state.inputs + self.inputs.load(Ordering::Relaxed);
        (inputs, self.state.seconds + self.started.elapsed().as_secs_f64())
    }

    fn tell(&self, what: &str) {
        (self.control.tell)(what);
    }

    fn forget(&self, suspicion: &Suspicion) {
        self.tell(&format!("not seen again: {}", suspicion.key()));
        let mut known = self.known();
        known.findings.retain(|finding| finding.key != suspicion.key());
        known.let_go(suspicion);
        drop(known);
        self.store.remove(&id_of(suspicion));
    }

    #[expect(clippy::too_many_arguments, reason = "the members of a finding")]
    fn finding(
        &self,
        place: &Arc<Place>,
        suspicion: &Suspicion,
        input: &Input,
        before: usize,
        (seen, attempts): (u32, u32),
        events: &[Arc<Event>],
        (after_inputs, after_s): (u64, f64),
        provisional: bool,
    ) -> Finding {
        let id = id_of(suspicion);
        let case = self.store.dir().join("findings").join(&id).join("case.yaml");
        let case = case.to_string_lossy();
        let run = &self.options.run;
        let quoted = shlex::try_quote(&case).map_or_else(|_| case.to_string(), std::borrow::Cow::into_owned);
        let repro = format!("mcp-conform run {} --cases {quoted} --case {id}", run.repro.target);
        let base = events.first().map_or(0, |event| event.seq);
        let at = |seq: u64| seq.checked_sub(base);
        let sources = Sources {
            sent: suspicion.sent.and_then(at),
            received: suspicion.received.and_then(at),
            control: None,
            pointer: suspicion.pointer.clone(),
            span: None,
        };
        let evidence = if events.is_empty() {
            Evidence::default()
        } else {
            // A shell holds one conversation, and one that is followed from its beginning.
            let whole = base == 0 && input.lanes() == 1 && !provisional;
            let by_hand = whole.then(|| run.repro.by_hand(events, &sources, &[])).flatten();
            evidence(events, &sources, repro.clone(), by_hand)
        };
        Finding {
            version: VERSION,
            id,
            key: suspicion.key(),
            kind: suspicion.kind,
            requirement: suspicion.requirement.clone(),
            revision: suspicion.revision,
            transport: place.ground.transport.as_str().to_owned(),
            check: suspicion.check.clone(),
            verdict: suspicion.verdict,
            message: suspicion.message.clone(),
            input: input.clone(),
            messages: input.messages(),
            messages_at_first: before,
            seen,
            attempts,
            provisional,
            seed: run.seed,
            after_inputs,
            after_s,
            repro,
            evidence,
        }
    }

    fn write(&self, place: &Arc<Place>, finding: Finding, suspicion: &Suspicion, events: &[Arc<Event>]) {
        let transport: Transport = place.ground.transport;
        let comment = format!(
            "Found by mcp-conform fuzz, seed {}, in {}.\nSeen in {} of {} attempts. Play it again with\n  {}",
            finding.seed,
            name_of(place),
            finding.seen,
            finding.attempts,
            finding.repro
        );
        let text = script(&finding.id, &finding.input, suspicion, transport, &comment);
        let mut wire = Vec::new();
        // Writing to memory cannot fail.
        let _ = trace::header(&mut wire);
        for event in events {
            let _ = trace::append(event, &mut wire);
        }
        self.store.add(&finding, &text, &wire);
        if finding.provisional {
            self.known().findings.push(finding);
        } else {
            self.note_finding(finding);
        }
    }
}

fn holds_number(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Number(_) => true,
        serde_json::Value::Array(items) => items.iter().any(holds_number),
        serde_json::Value::Object(members) => {
            members.iter().any(|(name, member)| name == super::input::RAW || holds_number(member))
        }
        _ => false,
    }
}

/// Looks at growth as an attempt.
struct Scale<'a> {
    campaign: &'a Campaign,
    place: &'a Arc<Place>,
    left: u32,
    until: Instant,
    what: &'static str,
}

impl Attempt for Scale<'_> {
    async fn shows(&mut self, input: &Input) -> Option<bool> {
        self.left = self.left.checked_sub(1)?;
        if Instant::now() >= self.until || !self.campaign.may_look() {
            return None;
        }
        let grows = self.campaign.grows(self.place, input).await;
        Some(grows.is_some_and(|(what, _)| what == self.what))
    }
}
