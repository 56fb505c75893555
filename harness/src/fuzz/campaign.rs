//! A whole campaign: workers play inputs on servers of their own until the time is over, and look into what they see.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use mcp_conform_schemas::Era;
use sha2::{Digest as _, Sha256};
use tokio::{
    sync::{oneshot, watch},
    time::Instant,
};

use super::{
    dice::Dice,
    finding::Finding,
    habits::Habits,
    input::{Input, Manner},
    island::{Island, is_tame},
    known::Known,
    mutate::{Workshop, harvest},
    options::{FuzzControl, FuzzError, FuzzOptions, FuzzOutcome, Status},
    oracle::{self, Suspicion},
    outcome::{Class, Gone, Played},
    place::{Keeper, Pace, Place},
    play::{Haste, Life},
    report,
    seeds::{self, Ground},
    states::Corpus,
    store::{State, Store, inputs},
    sweep::sweep,
    watch::usage,
};
use crate::{
    conversation::{Bench, Target},
    process,
    run::{Scouted, scout},
    trace::{Body, Transport},
    wire::Limits,
};

/// Inputs of one process before it is ended in order and another one is started.
const INPUTS_OF_A_LIFE: u64 = 600;
/// Messages of one process before it is ended.
const MESSAGES_OF_A_LIFE: u64 = 20_000;
/// An input that takes longer is told, for those who follow.
const SLOW: Duration = Duration::from_millis(500);
/// Inputs of one life that are kept to find a cause among them.
const MOST_HISTORY: usize = 1_200;
/// What the workers may take to come to their end when the campaign is interrupted.
const LEAVE: Duration = Duration::from_secs(2);
/// Times in a row that the server could not be reached before the campaign ends.
const MOST_UNOPENED: u64 = 8;

/// Fuzzes until the time is over, or for ever.
pub async fn fuzz(options: FuzzOptions, control: FuzzControl) -> Result<FuzzOutcome, FuzzError> {
    let (store, state) = Store::open(&options.out, &options.run.name, options.run.seed, options.resume)?;
    let (campaign, offered) = Campaign::set_up(options, control.clone(), store, state).await?;
    let campaign = Arc::new(campaign);
    let interrupted = campaign.clone().drive(control.stop).await;
    campaign.shut_down().await;
    campaign.note_state();
    Ok(campaign.outcome(interrupted, &offered))
}

fn place(target: &Target, bench: &Arc<Bench>, keeper: &Arc<Keeper>, scouted: &Scouted, options: &FuzzOptions) -> Place {
    let ground = Ground { era: scouted.era, transport: target.transport(), surface: scouted.surface.clone() };
    Place {
        target: target.clone(),
        bench: bench.clone(),
        ground: Arc::new(ground),
        answers: options.run.answers.clone(),
        keeper: keeper.clone(),
        served: scouted.served,
        pace: Pace::default(),
    }
}

pub(super) struct Campaign {
    pub(super) options: FuzzOptions,
    pub(super) bench: Arc<Bench>,
    pub(super) keeper: Arc<Keeper>,
    pub(super) places: Vec<Arc<Place>>,
    pub(super) store: Store,
    pub(super) state: State,
    pub(super) started: Instant,
    pub(super) inputs: AtomicU64,
    pub(super) requests: AtomicU64,
    unopened: AtomicU64,
    enough: AtomicBool,
    /// Set once everything was ended.
    over: watch::Sender<bool>,
    pub(super) known: Mutex<Known>,
    pub(super) habits: Mutex<Habits>,
    /// Sizes of the workers' corpora, for the status.
    islands: Mutex<BTreeMap<(usize, usize), (usize, usize)>>,
    finished: Mutex<Vec<(usize, Vec<Island>, Sha256)>>,
    broken: Mutex<Option<String>>,
    extra: Vec<Input>,
    pub(super) control: FuzzControl,
}

impl Campaign {
    /// Starts what is to be started, and finds out what there is to work with.
    pub(super) async fn set_up(
        options: FuzzOptions,
        control: FuzzControl,
        store: Store,
        state: State,
    ) -> Result<(Self, Vec<Scouted>), FuzzError> {
        process::begin();
        let bench = Arc::new(Bench::new(options.run.deadlines, Limits::default(), options.run.secrets.clone()));
        // The low ones are chosen by hand, and an id must not come twice.
        bench.skip_ids(10_000);
        let keeper = Arc::new(Keeper::new(options.run.http.as_ref(), bench.clone()));
        keeper.restart(0).await.map_err(|error| FuzzError::Start(error.to_string()))?;
        let mut places = Vec::new();
        let mut reasons = Vec::new();
        let stdio = options.run.stdio.clone().map(Target::Stdio);
        let http = options.run.http.as_ref().map(|http| Target::Http(http.endpoint.clone()));
        let mut offered: Vec<Scouted> = Vec::new();
        for target in stdio.into_iter().chain(http) {
            match scout(&target, &bench, &options.run).await {
                Ok(scouted) => {
                    for era in scouted {
                        places.push(Arc::new(place(&target, &bench, &keeper, &era, &options)));
                        offered.push(era);
                    }
                }
                Err(why) => {
                    reasons.extend(why.into_iter().map(|why| format!("{}: {why}", target.transport().as_str())))
                }
            }
        }
        if places.is_empty() {
            keeper.end().await;
            process::end_all().await;
            return Err(FuzzError::Unserved(reasons));
        }
        let old = store.findings()?;
        let mut extra = Vec::new();
        for dir in &options.corpus {
            extra.extend(inputs(dir)?);
        }
        let campaign = Self {
            started: Instant::now(),
            inputs: AtomicU64::new(0),
            requests: AtomicU64::new(0),
            unopened: AtomicU64::new(0),
            enough: AtomicBool::new(false),
            over: watch::Sender::new(false),
            known: Mutex::new(Known::with(old)),
            habits: Mutex::default(),
            islands: Mutex::default(),
            finished: Mutex::default(),
            broken: Mutex::default(),
            state,
            store,
            options,
            bench,
            keeper,
            places,
            extra,
            control,
        };
        Ok((campaign, offered))
    }

    /// Whatever the reason for the end, no process outlives the campaign.
    pub(super) async fn shut_down(&self) {
        self.enough.store(true, Ordering::Release);
        self.keeper.end().await;
        process::end_all().await;
        self.over.send_replace(true);
    }

    async fn drive(self: Arc<Self>, mut stop: watch::Receiver<Option<String>>) -> Option<String> {
        let working = async {
            let workers = (0..self.options.jobs).map(|job| self.clone().on_a_thread(job));
            futures_util::future::join_all(workers).await
        };
        let told = async {
            let given = stop.wait_for(Option::is_some).await.ok().and_then(|reason| reason.clone());
            match given {
                Some(reason) => reason,
                // Nobody is left who could stop it.
                None => std::future::pending().await,
            }
        };
        let telling = async {
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                (self.control.status)(self.status());
                self.note_state();
            }
        };
        let ended = |done: Vec<Result<(), String>>| {
            let failed = done.into_iter().find_map(Result::err);
            failed.map(|why| format!("a worker of the fuzzer did not come to its end: {why}"))
        };
        let mut working = std::pin::pin!(working);
        let interrupted = tokio::select! {
            done = &mut working => ended(done),
            reason = told => {
                self.enough.store(true, Ordering::Release);
                // Whoever waits for a server sees that it is gone.
                process::end_all().await;
                // What a worker still reached is told; one that hangs is not waited for.
                let _ = tokio::time::timeout(LEAVE, working).await;
                Some(reason)
            }
            () = telling => None,
        };
        self.enough.store(true, Ordering::Release);
        let broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner).clone();
        interrupted.or(broken)
    }

    /// Whether the workers are to go on.
    pub(super) fn goes_on(&self) -> bool {
        let over = self.options.time.is_some_and(|time| self.started.elapsed() >= time)
            || self.options.max_inputs.is_some_and(|most| self.inputs.load(Ordering::Relaxed) >= most);
        !over && !self.enough.load(Ordering::Acquire)
    }

    /// How long what is looked into may take beyond the time of the campaign.
    pub(super) fn may_look(&self) -> bool {
        const LONGER: Duration = Duration::from_secs(10);
        let over = self.options.time.is_some_and(|time| self.started.elapsed() >= time + LONGER);
        !over && !self.enough.load(Ordering::Acquire)
    }

    /// Works on a thread with a runtime of its own: what is written, read and judged in one conversation then wakes nobody
    /// else. What was started there is served until the campaign is shut down.
    async fn on_a_thread(self: Arc<Self>, job: usize) -> Result<(), String> {
        let (done, finished) = oneshot::channel();
        let work = move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(done.send(Err(format!("its runtime could not be started: {error}")))),
            };
            runtime.block_on(async {
                self.work(job).await;
                // Nobody listens any more where the campaign was interrupted.
                let _ = done.send(Ok(()));
                let _ = self.over.subscribe().wait_for(|over| *over).await;
            });
        };
        let thread = std::thread::Builder::new().name(format!("fuzz {job}")).spawn(work);
        thread.map_err(|error| format!("its thread could not be started: {error}"))?;
        let crashed = |_| "it crashed, which is a bug of mcp-conform".to_owned();
        finished.await.map_err(crashed)?
    }

    async fn work(&self, job: usize) {
        let mut islands: Vec<Island> = self.places.iter().map(|place| self.island(job, place)).collect();
        // Each round, worker and purpose has a stream of its own.
        let mut dice = Dice::seeded(self.options.run.seed, (self.state.rounds << 16) | job as u64);
        let mut digest = Sha256::new();
        let mut life = 0_usize;
        let count = islands.len();
        while self.goes_on() {
            let tame = (life / count.max(1)).is_multiple_of(2);
            if let Some(island) = islands.get_mut(life % count.max(1)) {
                self.life(job, island, tame, &mut dice, &mut digest).await;
            }
            life += 1;
        }
        self.finished.lock().unwrap_or_else(PoisonError::into_inner).push((job, islands, digest));
    }

    fn island(&self, job: usize, place: &Arc<Place>) -> Island {
        let ground = &place.ground;
        let kept = self.store.corpus(&name_of(place)).unwrap_or_default();
        let cases = self.options.run.cases.iter().filter_map(|case| seeds::of_case(case, ground));
        let all = seeds::of_surface(ground).into_iter().chain(kept).chain(self.extra.iter().cloned()).chain(cases);
        let mine = all.filter(|input| input.era == ground.era).enumerate();
        let mine = mine.filter(|(index, _)| index % self.options.jobs == job).map(|(_, input)| input);
        let (tame, wild) = mine.partition(is_tame);
        let workshop = Workshop::new(ground);
        let mine =
            sweep(ground, &workshop).into_iter().enumerate().filter(|(index, _)| index % self.options.jobs == job);
        let (sweep_tame, sweep_wild) = mine.map(|(_, input)| input).partition(is_tame);
        Island {
            place: place.clone(),
            corpus: Corpus::default(),
            workshop,
            tame,
            wild,
            sweep_tame,
            sweep_wild,
            to_weigh: VecDeque::new(),
            weighed_sets: BTreeSet::new(),
            weighed: Duration::ZERO,
            kept: 0,
            exits_badly: false,
        }
    }

    /// One server from its start to its end.
    async fn life(&self, job: usize, island: &mut Island, tame: bool, dice: &mut Dice, digest: &mut Sha256) {
        let manner = match (tame, dice.below(6)) {
            (false, 0) => Manner::Decline,
            (false, 1) => Manner::Refuse,
            (_, 2 | 3) => Manner::Late,
            _ => Manner::Prompt,
        };
        let mut life = Life::new(island.place.clone(), manner);
        if let Err(error) = life.begin().await {
            return self.unopened(&error.kind.to_string()).await;
        }
        let mut history: VecDeque<Arc<Input>> = VecDeque::new();
        let mut inputs = 0;
        let patience = self.patience(&island.place);
        while self.goes_on() && inputs < INPUTS_OF_A_LIFE && life.sent < MESSAGES_OF_A_LIFE {
            let input = Arc::new(Input { manner, ..island.next(tame, dice) });
            digest.update(serde_json::to_vec(&*input).unwrap_or_default());
            let began = Instant::now();
            let played = life.play(&input, patience, Haste::Passing).await;
            if began.elapsed() > SLOW {
                let text = serde_json::to_string(&*input).unwrap_or_default();
                (self.control.tell)(&format!("an input took {:.1} s: {text}", began.elapsed().as_secs_f64()));
            }
            inputs += 1;
            self.inputs.fetch_add(1, Ordering::Relaxed);
            self.requests.fetch_add(played.sent, Ordering::Relaxed);
            history.push_back(input.clone());
            if history.len() > MOST_HISTORY {
                history.pop_front();
            }
            if let Some(why) = &played.unopened {
                self.unopened(why).await;
                break;
            }
            self.unopened.store(0, Ordering::Relaxed);
            if self.enough.load(Ordering::Acquire) {
                // What ends now is ended by us.
                return life.drop_all().await;
            }
            self.learn(job, island, &input, &played);
            let mut suspicions = self.suspicions(&island.place, &input, &played);
            suspicions.extend(self.gone(&island.place, &played).await);
            if inputs % 64 == 0 {
                suspicions.extend(self.too_big(&life, &input));
            }
            for suspicion in suspicions {
                let events = life.events(suspicion.lane);
                self.look_into(&island.place, suspicion, &input, &history, events).await;
            }
            if !life.is_sound() || played.deaf.is_some() {
                return life.drop_all().await;
            }
        }
        self.weigh(island).await;
        if island.exits_badly {
            return life.drop_all().await;
        }
        // What is open when the input ends is ended with it.
        let last = Arc::new(Input { manner, ..island.workshop.parting(dice) });
        life.parting = true;
        let played = life.play(&last, patience, Haste::Passing).await;
        if self.enough.load(Ordering::Acquire) {
            return life.drop_all().await;
        }
        for suspicion in self.suspicions(&island.place, &last, &played) {
            let events = life.events(suspicion.lane);
            self.look_into(&island.place, suspicion, &last, &history, events).await;
        }
        history.push_back(last);
        self.finish(island, life, &history).await;
    }

    /// Ends a life in order and looks at how it ends.
    async fn finish(&self, island: &mut Island, life: Life, history: &VecDeque<Arc<Input>>) {
        let place = island.place.clone();
        let (era, transport) = (place.ground.era, place.ground.transport);
        let at_work = life.at_work();
        let (breaches, events) = life.end().await;
        if self.enough.load(Ordering::Acquire) {
            // What ended by now was ended by us, and owes no answer.
            return;
        }
        let mut suspicions = oracle::look_at_end(era, transport, &breaches);
        let last = history.back().cloned();
        if transport == Transport::Stdio {
            let exit = events.iter().find_map(|(_, event)| match &event.body {
                Body::Exited(exit) => Some(exit.clone()),
                _ => None,
            });
            let signalled = events.iter().any(|(_, event)| matches!(event.body, Body::Signalled { .. }));
            let bad = oracle::bad_exit(era, transport, exit.as_ref(), signalled, at_work);
            island.exits_badly |= bad.is_some();
            suspicions.extend(bad);
        }
        let Some(last) = last else { return };
        for suspicion in suspicions {
            let of_lane = events.iter().filter(|(lane, _)| *lane == suspicion.lane);
            let events = of_lane.map(|(_, event)| event.clone()).collect();
            self.look_into(&place, suspicion, &last, history, events).await;
        }
    }

    fn learn(&self, job: usize, island: &mut Island, input: &Arc<Input>, played: &Played) {
        let era = island.place.ground.era;
        self.habits().note(input, played);
        for outcome in played.outcomes.iter().filter(|it| matches!(it.class, Class::Result | Class::InputRequired)) {
            let result =
                outcome.frame.as_ref().and_then(|frame| frame.json.as_ref()?.get("result").map(|it| it.to_value()));
            let mut given = Vec::new();
            result.iter().for_each(|result| harvest(result, &mut given));
            given.into_iter().for_each(|(name, value)| island.workshop.learn(&name, value));
        }
        if island.corpus.note(era, input, played) {
            island.weigh_later(input);
            let name = format!("{}-{job}-{}", self.state.rounds, island.kept);
            island.kept += 1;
            // A corpus that cannot be written costs the next round its head start, and nothing else.
            let _ = self.store.keep(&name_of(&island.place), &name, input);
            let sizes = (island.corpus.states(), island.corpus.kept().len());
            let index = self.places.iter().position(|place| Arc::ptr_eq(place, &island.place)).unwrap_or_default();
            self.islands.lock().unwrap_or_else(PoisonError::into_inner).insert((job, index), sizes);
        }
    }

    pub(super) fn suspicions(&self, place: &Place, input: &Input, played: &Played) -> Vec<Suspicion> {
        let ground = &place.ground;
        oracle::look(ground.era, ground.transport, input, played, &self.habits())
    }

    /// The server behind a URL that ended by itself.
    pub(super) async fn gone(&self, place: &Place, played: &Played) -> Option<Suspicion> {
        let closed = played.outcomes.iter().any(|outcome| outcome.class == Class::Closed);
        if place.ground.transport == Transport::Stdio || !(closed || played.deaf.is_some()) {
            return None;
        }
        let (exit, recorder) = self.keeper.gone().await?;
        let mut said = Vec::new();
        for event in recorder.events(0) {
            if let Body::Stderr(bytes) = &event.body {
                said.extend_from_slice(bytes);
            }
        }
        let tail = said.len().saturating_sub(16 * 1024);
        let said = String::from_utf8_lossy(said.get(tail..).unwrap_or_default()).into_owned();
        let method = played.outcomes.iter().rev().find(|it| it.class == Class::Closed).map(|it| it.method.clone());
        let gone = Gone { lane: 0, exit: Some(exit), said, method: method.unwrap_or_default() };
        let seen = self.keeper.generation();
        // What cannot be started again is told when the next conversation cannot be opened.
        let _ = self.keeper.restart(seen).await;
        Some(oracle::death(place.ground.era, &gone))
    }

    fn too_big(&self, life: &Life, input: &Input) -> Option<Suspicion> {
        let usage = usage(life.pid()?)?;
        if usage.resident <= self.options.rss_limit {
            return None;
        }
        let place = life.place();
        let words = format!(
            "the server holds {} MB, and --rss-limit allows {} MB",
            usage.resident >> 20,
            self.options.rss_limit >> 20
        );
        Some(oracle::growth(place.ground.era, place.ground.transport, input, oracle::LIMIT, words))
    }

    async fn unopened(&self, why: &str) {
        let times = self.unopened.fetch_add(1, Ordering::Relaxed) + 1;
        let seen = self.keeper.generation();
        if self.keeper.gone().await.is_some() {
            // The next conversation tells whether it helped.
            let _ = self.keeper.restart(seen).await;
        }
        if times >= MOST_UNOPENED {
            let words = format!("the server could not be reached {times} times in a row: {why}");
            self.broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(words);
            self.enough.store(true, Ordering::Release);
        }
        tokio::time::sleep(Duration::from_millis(100) * u32::try_from(times).unwrap_or(10)).await;
    }

    /// How long an answer is waited for in passing: much longer than any took so far.
    pub(super) fn patience(&self, place: &Place) -> Duration {
        const FACTOR: u32 = 30;
        const LEAST: Duration = Duration::from_secs(1);
        let answer = self.bench.deadlines.answer;
        (place.ground.surface.slowest * FACTOR).max(LEAST).min(answer.max(LEAST))
    }

    /// A finding is there: enough of them end the campaign.
    pub(super) fn note_finding(&self, finding: Finding) {
        (self.control.found)(&finding);
        let mut known = self.known();
        known.settle(finding);
        if self.options.max_findings.is_some_and(|most| known.settled() >= most) {
            self.enough.store(true, Ordering::Release);
        }
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn habits(&self) -> MutexGuard<'_, Habits> {
        self.habits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn status(&self) -> Status {
        let islands = self.islands.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.known();
        Status {
            elapsed: self.started.elapsed(),
            inputs: self.inputs.load(Ordering::Relaxed),
            requests: self.requests.load(Ordering::Relaxed),
            states: islands.values().map(|(states, _)| states).sum(),
            corpus: islands.values().map(|(_, kept)| kept).sum(),
            findings: known.findings.len(),
            looking_into: known.looking_into.first().cloned(),
        }
    }

    fn note_state(&self) {
        let state = State {
            inputs: self.state.inputs + self.inputs.load(Ordering::Relaxed),
            requests: self.state.requests + self.requests.load(Ordering::Relaxed),
            seconds: self.state.seconds + self.started.elapsed().as_secs_f64(),
            ..self.state.clone()
        };
        // A full disk ends no campaign; what matters of it is kept in memory and told at the end.
        let _ = self.store.note(&state);
    }

    fn outcome(&self, interrupted: Option<String>, offered: &[Scouted]) -> FuzzOutcome {
        let mut finished = std::mem::take(&mut *self.finished.lock().unwrap_or_else(PoisonError::into_inner));
        finished.sort_by_key(|(job, ..)| *job);
        let mut coverage: BTreeMap<String, u64> = BTreeMap::new();
        let mut digest = Sha256::new();
        for (_, islands, of_job) in finished {
            for island in &islands {
                for (state, hits) in island.corpus.coverage() {
                    let key = format!("{} {state}", island.place.ground.transport.as_str());
                    *coverage.entry(key).or_default() += hits;
                }
            }
            digest.update(of_job.finalize());
        }
        let digest: String = digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let mut findings = self.known().findings.clone();
        findings.sort_by(|a, b| (a.verdict, &a.id).cmp(&(b.verdict, &b.id)));
        let mut status = self.status();
        if !coverage.is_empty() {
            status.states = coverage.len();
        }
        let not_again = self.known().not_again;
        let report = report::report(self, &findings, offered, &status, not_again, interrupted.clone());
        FuzzOutcome { report, findings, status, coverage, not_again, digest, interrupted }
    }
}

/// Name of the folder of a place's corpus.
pub(super) fn name_of(place: &Place) -> String {
    let era = match place.ground.era {
        Era::Legacy => "legacy",
        Era::Modern => "modern",
    };
    format!("{era}-{}", place.ground.transport.as_str())
}
