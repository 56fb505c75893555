//! In-process fuzzing of a Rust server: the generator of `mcp-conform fuzz` under libFuzzer, which sees the coverage of the
//! server's own code.
//!
//! A crate of cargo-fuzz with one target is all that it takes; here for a server on rmcp, as in `harness/peers/rmcp/fuzz`:
//!
//! ```ignore
//! static TARGET: LazyLock<Target> = LazyLock::new(|| {
//!     Target::new(in_memory(|stdin, stdout| async {
//!         match MyServer::new().serve((stdin, stdout)).await {
//!             Ok(running) => running.waiting().await.map_or(1, |_| 0),
//!             Err(_) => 1,
//!         }
//!     }))
//!     .and_then(|target| target.allowing(["meta-not-rely-on-undeclared-capability"]))
//!     .expect("the server serves")
//! });
//! libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET.run(data));
//! ```
//!
//! Each run is a server of its own, so that the same bytes show the same again. All of them share one thread and its runtime:
//! a server that needs `block_in_place` or its own runtime cannot be fuzzed so.

use std::{collections::BTreeSet, fmt::Write as _, sync::Arc, time::Duration};

use mcp_conform_cases::{Catalogue, suite};
use mcp_conform_reports::model::Verdict;
use mcp_conform_schemas::Revision;
use tokio::runtime::Runtime;

use super::{
    dice::Dice,
    habits::Habits,
    input::{Act, Input, Manner, Step},
    mutate::Workshop,
    options::FuzzError,
    oracle::{self, Kind, Suspicion},
    place::{Keeper, Pace, Place},
    play::{Haste, Life},
    seeds::{self, Ground},
};
use crate::{
    conversation::{Bench, Deadlines, MemoryServer, StdioTarget, Target as Reached},
    run::{RunOptions, scout},
    trace::Secrets,
    wire::Limits,
};

/// How long an answer is waited for; in one process nothing that is answered at all takes long.
const PATIENCE: Duration = Duration::from_secs(2);

/// A server in this process, ready to be fuzzed.
pub struct Target {
    runtime: Runtime,
    eras: Vec<Era>,
    /// Requirements that the server is known to break.
    known: BTreeSet<String>,
}

struct Era {
    place: Arc<Place>,
    workshop: Workshop,
    seeds: Vec<Input>,
    /// Learned once, by sound traffic: what a run learned would make the next one another.
    habits: Habits,
}

impl Target {
    /// Starts the server once for each revision and finds out what it offers, by sound traffic. All its tools may be called:
    /// what runs in a fuzzer has nothing to lose.
    pub fn new(server: Arc<dyn MemoryServer>) -> Result<Self, FuzzError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| FuzzError::Start(error.to_string()))?;
        let cases: Vec<_> = suite().iter().cloned().map(Arc::new).collect();
        let options = RunOptions::of_everything(Some(StdioTarget::Memory(server.clone())), None, cases.clone());
        let bench = Arc::new(Bench::new(Deadlines::default(), Limits::default(), Arc::new(Secrets::default())));
        let keeper = Arc::new(Keeper::new(None, bench.clone()));
        let target = Reached::Stdio(StdioTarget::Memory(server));
        let scouted = runtime.block_on(scout(&target, &bench, &options)).map_err(FuzzError::Unserved)?;
        let eras = scouted.into_iter().map(|scouted| {
            let ground = Ground { era: scouted.era, transport: target.transport(), surface: scouted.surface };
            let seeds = seeds::of_surface(&ground);
            let cases = cases.iter().filter_map(|case| seeds::of_case(case, &ground));
            let seeds = seeds.into_iter().chain(cases).collect();
            let workshop = Workshop::new(&ground);
            let place = Place {
                target: target.clone(),
                bench: bench.clone(),
                ground: Arc::new(ground),
                answers: Arc::default(),
                keeper: keeper.clone(),
                served: scouted.served,
                pace: Pace::default(),
            };
            let place = Arc::new(place);
            let habits = runtime.block_on(habits(&place));
            Era { place, workshop, seeds, habits }
        });
        let eras = eras.collect();
        Ok(Self { runtime, eras, known: BTreeSet::new() })
    }

    /// Leaves out of [`Self::run`] what the server is known to break, by the id of the requirement: libFuzzer stops at the first
    /// failure, and would find nothing else. An id that nothing has is an error.
    pub fn allowing<'a>(mut self, requirements: impl IntoIterator<Item = &'a str>) -> Result<Self, FuzzError> {
        for id in requirements {
            let rows = Catalogue::get().all(id);
            if rows.is_empty() && Kind::of_requirement(id).is_none() {
                let nearest = Catalogue::get().nearest(id).first().map(|near| format!("; did you mean {near}?"));
                return Err(FuzzError::NoRequirement(id.to_owned(), nearest.unwrap_or_default()));
            }
            self.known.extend(rows.iter().map(|row| row.id.to_owned()));
            self.known.insert(id.to_owned());
        }
        Ok(self)
    }

    /// The revisions that the server serves.
    pub fn revisions(&self) -> impl Iterator<Item = Revision> {
        self.eras.iter().map(|era| era.place.ground.era.judged())
    }

    /// The sequence of messages that some bytes stand for: the same for the same bytes and server.
    pub fn input(&self, data: &[u8]) -> Option<Input> {
        self.generate(data).map(|(_, input)| input)
    }

    /// Plays what the bytes stand for on a server of its own, and gives everything that is held against it.
    pub fn check(&self, data: &[u8]) -> Vec<Suspicion> {
        let Some((era, input)) = self.generate(data) else { return Vec::new() };
        let ground = &era.place.ground;
        let (kind, transport) = (ground.era, ground.transport);
        self.runtime.block_on(async {
            let mut life = Life::new(era.place.clone(), input.manner);
            // It was reached before: what can be in its way now is only what earlier runs left behind.
            if let Err(error) = life.begin().await {
                return vec![oracle::unreachable(kind, transport, &error.kind.to_string())];
            }
            let played = life.play(&input, PATIENCE, Haste::Passing).await;
            let mut found = oracle::look(kind, transport, &input, &played, &era.habits);
            found.extend(played.unopened.as_ref().map(|why| oracle::unreachable(kind, transport, why)));
            if life.is_sound() && played.deaf.is_none() {
                let (breaches, _) = life.end().await;
                found.extend(oracle::look_at_end(kind, transport, &breaches));
            } else {
                life.drop_all().await;
            }
            found
        })
    }

    /// What [`Self::check`] gives of failure grade and is not known of the server.
    pub fn failures(&self, data: &[u8]) -> Vec<Suspicion> {
        let counts = |it: &Suspicion| it.verdict == Verdict::Fail && !self.known.contains(&it.requirement);
        self.check(data).into_iter().filter(counts).collect()
    }

    /// The body of a fuzz target.
    ///
    /// # Panics
    ///
    /// With the failures, when there are any; libFuzzer keeps the bytes.
    pub fn run(&self, data: &[u8]) {
        let found = self.failures(data);
        if found.is_empty() {
            return;
        }
        let mut text = String::new();
        for suspicion in &found {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{} ({}): {}", suspicion.requirement, suspicion.revision, suspicion.message);
        }
        let input = self.input(data).and_then(|input| serde_json::to_string_pretty(&input).ok()).unwrap_or_default();
        panic!("{text}by\n{input}");
    }

    fn generate(&self, data: &[u8]) -> Option<(&Era, Input)> {
        let mut dice = Dice::bytes(data);
        let era = dice.pick(&self.eras)?;
        let seed = dice.pick(&era.seeds).cloned().unwrap_or_else(|| era.workshop.fresh(&mut dice));
        let other = dice.pick(&era.seeds);
        let mut input = seed;
        // Each further piece of the bytes is a further change.
        while !dice.is_spent() {
            input = era.workshop.mutate(&input, other, false, &mut dice);
        }
        Some((era, input))
    }
}

/// How the tools of the server answer to sound calls.
async fn habits(place: &Arc<Place>) -> Habits {
    /// More often than makes a habit.
    const ROUNDS: usize = 6;
    let is_call = |step: &Step| step.message().is_some_and(|message| message.method == "tools/call");
    let mut steps: Vec<Step> = Vec::new();
    for call in seeds::operations(&place.ground).into_iter().filter(is_call) {
        let first = steps.len();
        steps.push(call);
        // Two rounds more, where it asks for input.
        steps.extend((first..first + 2).map(|of| Step::of(Act::Retry(seeds::retry(of)))));
    }
    let input = Input { era: place.ground.era, manner: Manner::Prompt, steps };
    let mut habits = Habits::default();
    let mut life = Life::new(place.clone(), Manner::Prompt);
    for _ in 0..ROUNDS {
        let played = life.play(&input, PATIENCE, Haste::Passing).await;
        habits.note(&input, &played);
    }
    life.drop_all().await;
    habits
}
