//! What becomes of a suspicion: it is looked for again on a fresh server, made small, confirmed, and written down.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic},
    time::Duration,
};

use mcp_conform_reports::model::{Evidence, Verdict};
use tokio::time::Instant;

use super::{
    campaign::{Campaign, name_of},
    finding::{Finding, VERSION, id_of, is_better},
    input::{Input, Step},
    oracle::{self, Kind, Suspicion},
    place::Place,
    play::{Haste, Life},
    script::script,
    shrink::{Attempt, fewer, shrink},
};
use crate::{
    script::{Sources, evidence},
    trace::{self, Body, Event},
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
    /// Of an answer that was lost: it came, under an id that is not that of its request.
    misnamed: Option<Suspicion>,
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
    /// How often an input is played before it counts as not showing it.
    tries: u32,
    /// How often one was played to its end.
    played: u32,
    last: Option<Showing>,
}

impl Trial<'_> {
    fn misnamed(&mut self) -> Option<(Suspicion, Vec<Arc<Event>>)> {
        let last = self.last.as_mut()?;
        Some((last.misnamed.take()?, last.events.clone()))
    }
}

impl Attempt for Trial<'_> {
    async fn shows(&mut self, input: &Input) -> Option<bool> {
        for _ in 0..self.tries {
            self.left = self.left.checked_sub(1)?;
            if Instant::now() >= self.until || !self.campaign.may_look() {
                return None;
            }
            let showing = self.campaign.showing(self, input).await;
            if showing.is_none() && !self.campaign.may_look() {
                return None;
            }
            self.played += 1;
            if showing.is_some() {
                self.last = showing;
                return Some(true);
            }
        }
        Some(false)
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
        let earlier = {
            let mut known = self.known();
            if known.take_up(&suspicion) {
                None
            } else {
                let Some(finding) = known.improvable(&suspicion, input.messages()) else { return };
                Some(finding)
            }
        };
        self.tell(&format!("looking into {}: {}", suspicion.key(), suspicion.message));
        if let Some(earlier) = earlier {
            return self.improve(place, suspicion, input, earlier).await;
        }
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
        if suspicion.kind == Kind::Lost && self.takes_its_time(place, &suspicion, input).await {
            return self.forget(&suspicion);
        }
        let mut trial = self.trial(place, suspicion.key(), suspicion.kind);
        let found = self.reproduce(&mut trial, input, history).await;
        let Some((whole, before)) = found else {
            return self.not_again(place, suspicion, input, &first_events, after, trial.played);
        };
        if let Some((misnamed, events)) = trial.misnamed() {
            return self.under_its_name(place, &suspicion, misnamed, whole, events).await;
        }
        let (small, (seen, attempts)) = self.made_small(&mut trial, whole).await;
        if let Some((misnamed, events)) = trial.misnamed() {
            return self.under_its_name(place, &suspicion, misnamed, small, events).await;
        }
        let (suspicion, events) = match trial.last {
            Some(showing) => (
                Suspicion { verdict: showing.suspicion.verdict.max(suspicion.verdict), ..showing.suspicion },
                showing.events,
            ),
            None => (suspicion, first_events),
        };
        if seen == 0 || (suspicion.kind.is_of_time() && seen < attempts) {
            return self.not_again(place, suspicion, input, &events, after, attempts);
        }
        let Some(suspicion) = self.weighed_against_time(place, suspicion.clone(), &small).await else {
            return self.forget(&suspicion);
        };
        let finding = self.finding(place, &suspicion, &small, before, (seen, attempts), &events, after, false);
        self.write(place, finding, &suspicion, &events);
    }

    /// What was taken for a lost answer is looked into as the answer to another id that it is: behind odd messages of the
    /// same conversation that could not be told.
    async fn under_its_name(
        &self,
        place: &Arc<Place>,
        lost: &Suspicion,
        misnamed: Suspicion,
        input: Input,
        events: Vec<Arc<Event>>,
    ) {
        self.forget(lost);
        Box::pin(self.look_into(place, misnamed, &Arc::new(input), &VecDeque::new(), events)).await;
    }

    fn trial<'a>(&'a self, place: &'a Arc<Place>, key: String, kind: Kind) -> Trial<'a> {
        Trial {
            campaign: self,
            place,
            key,
            kind,
            patience: self.patience(place),
            left: self.attempts(),
            until: Instant::now() + self.longest(),
            fresh: false,
            tries: 1,
            played: 0,
            last: None,
        }
    }

    /// The smallest input that shows the same, and how often it did.
    async fn made_small(&self, trial: &mut Trial<'_>, whole: Input) -> (Input, (u32, u32)) {
        let patience = trial.patience;
        // What shows now and then only needs more than one look at whether it still does.
        const LOOKS: u32 = 3;
        let mut shown = 0;
        for _ in 0..LOOKS {
            shown += u32::from(trial.shows(&whole).await.unwrap_or(true));
        }
        trial.tries = if shown < LOOKS { LOOKS } else { 1 };
        // Most attempts end with waiting for what does not come. A short wait may take what is slow for silence, which the
        // confirmation tells.
        trial.patience = (trial.place.ground.surface.slowest * 10).max(QUICK).min(patience);
        if !trial.kind.is_of_time() {
            let small = shrink(&whole, trial).await;
            (trial.patience, trial.tries) = (patience, 1);
            let seen = self.confirm(trial, &small).await;
            return (small, seen);
        }
        // Fewer messages take as long as many; a shorter value may take less, and be no silence any more.
        let mut few = whole.clone();
        fewer(&mut few, trial).await;
        trial.patience = patience;
        let few_seen = self.confirm(trial, &few).await;
        let sure = few_seen.0 == few_seen.1;
        (trial.left, trial.until) = (self.attempts(), Instant::now() + self.longest());
        let small = shrink(if sure { &few } else { &whole }, trial).await;
        trial.tries = 1;
        let seen = self.confirm(trial, &small).await;
        if !sure || seen.0 == seen.1 {
            return (small, seen);
        }
        // One that is only just silent long enough must not cost the finding; its trace is that of what is kept.
        (trial.left, trial.until) = (1, Instant::now() + self.longest());
        let _ = trial.shows(&few).await;
        (few, few_seen)
    }

    /// Makes a finding anew from another input that shows the same, and keeps what is surer and smaller.
    async fn improve(&self, place: &Arc<Place>, suspicion: Suspicion, input: &Arc<Input>, earlier: Finding) {
        let mut trial = self.trial(place, suspicion.key(), suspicion.kind);
        if !trial.shows(input).await.unwrap_or(false) {
            return;
        }
        let (small, (seen, attempts)) = self.made_small(&mut trial, Input::clone(input)).await;
        let Some(Showing { suspicion, events, .. }) = trial.last else { return };
        let Some(suspicion) = self.weighed_against_time(place, suspicion, &small).await else { return };
        let suspicion = Suspicion { verdict: suspicion.verdict.max(earlier.verdict), ..suspicion };
        // Another worker may have made it better since.
        let key = suspicion.key();
        let earlier = self.known().findings.iter().find(|finding| finding.key == key).cloned().unwrap_or(earlier);
        if !is_better((seen, attempts, small.messages()), (earlier.seen, earlier.attempts, earlier.messages)) {
            return;
        }
        let after = (earlier.after_inputs, earlier.after_s);
        let before = earlier.messages_at_first;
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
            patience: long,
            left: 1,
            fresh: self.keeper.restarts(),
            ..self.trial(place, suspicion.key(), suspicion.kind)
        };
        let still = trial.shows(small).await.unwrap_or(false);
        if suspicion.kind == Kind::Hang {
            let seconds = self.patience(place).as_secs_f64();
            if !still && suspicion.verdict == Verdict::Warn {
                // It was said from the beginning that a call was at work: then it came in its turn.
                return None;
            }
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
            let named = |step: &Step| step.message()?.params.as_ref()?.get("name")?.as_str().map(str::to_owned);
            if small.steps.first().and_then(named).is_some_and(|tool| place.pace.takes_its_time(&tool)) {
                return None;
            }
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
            patience,
            left: self.options.confirm,
            fresh: self.keeper.restarts(),
            ..self.trial(place, finding.key.clone(), finding.kind)
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
        if !self.may_look() {
            life.drop_all().await;
            return None;
        }
        let mut suspicions = self.suspicions(place, input, &played);
        suspicions.extend(self.gone(place, &played).await);
        let matches = |suspicions: Vec<Suspicion>| suspicions.into_iter().find(|it| it.key() == trial.key);
        let misnamed =
            suspicions.iter().find(|it| trial.kind == Kind::Lost && it.check == "ids" && it.verdict == Verdict::Fail);
        let misnamed = misnamed.cloned();
        if let Some(suspicion) = matches(suspicions) {
            let misnamed = misnamed.filter(|it| it.lane == suspicion.lane);
            let events = life.events(suspicion.lane);
            life.drop_all().await;
            return Some(Showing { suspicion, events, misnamed });
        }
        if !matches!(trial.kind, Kind::Exit | Kind::Rule) || !life.is_sound() {
            life.drop_all().await;
            return None;
        }
        let at_work = life.at_work();
        let (breaches, events) = life.end().await;
        if !self.may_look() {
            return None;
        }
        let mut late = oracle::look_at_end(era, transport, &breaches);
        if trial.kind == Kind::Exit {
            let exit = events.iter().find_map(|(_, event)| match &event.body {
                Body::Exited(exit) => Some(exit.clone()),
                _ => None,
            });
            let signalled = events.iter().any(|(_, event)| matches!(event.body, Body::Signalled { .. }));
            late.extend(oracle::bad_exit(era, transport, exit.as_ref(), signalled, at_work));
        }
        let suspicion = matches(late)?;
        let events = events.into_iter().filter(|(lane, _)| *lane == suspicion.lane).map(|(_, event)| event).collect();
        Some(Showing { suspicion, events, misnamed: None })
    }

    /// What one investigation may take: a part of the campaign.
    pub(super) fn longest(&self) -> Duration {
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
        tried: u32,
    ) {
        if suspicion.kind.is_of_time() || suspicion.kind == Kind::Swapped || suspicion.verdict == Verdict::Advice {
            // A provisional finding of it stands on disk.
            self.forget(&suspicion);
            return;
        }
        // It was there, in the trace: what it takes is not known, and where no sentence of the specification says more, what
        // comes once and never again condemns nobody.
        let own = suspicion.requirement.starts_with("own/");
        let verdict = if own { suspicion.verdict.max(Verdict::Warn) } else { suspicion.verdict };
        let suspicion = Suspicion { verdict, ..suspicion };
        // Where the campaign ended before it was tried once, `--resume` goes on with it.
        let open = tried == 0;
        let finding = self.finding(place, &suspicion, input, input.messages(), (1, 1 + tried), events, after, open);
        self.write(place, finding, &suspicion, events);
    }

    /// Inputs and seconds of all rounds until now.
    fn so_far(&self) -> (u64, f64) {
        let inputs = self.state.inputs + self.inputs.load(atomic::Ordering::Relaxed);
        (inputs, self.state.seconds + self.started.elapsed().as_secs_f64())
    }

    pub(super) fn tell(&self, what: &str) {
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
        let comment = format!(
            "Found by mcp-conform fuzz, seed {}, in {}.\nSeen in {} of {} attempts. Play it again with\n  {}",
            finding.seed,
            name_of(place),
            finding.seen,
            finding.attempts,
            finding.repro
        );
        let text = script(&finding.id, &finding.input, suspicion, place, &comment);
        let mut wire = Vec::new();
        // Writing to memory cannot fail.
        let _ = trace::header(&mut wire);
        for event in events {
            let _ = trace::append(event, &mut wire);
        }
        self.store.add(&finding, &text, &wire);
        if finding.provisional {
            self.known().note(finding);
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
