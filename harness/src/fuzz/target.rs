//! In-process fuzzing of a Rust server: the generator of `mcp-conform fuzz` under libFuzzer, which sees the coverage of the
//! server's own code.
//!
//! ```ignore
//! static TARGET: LazyLock<Target> = LazyLock::new(|| Target::new(Arc::new(MyServer)).expect("the server serves"));
//! libfuzzer_sys::fuzz_target!(|data: &[u8]| TARGET.run(data));
//! ```

use std::{fmt::Write as _, sync::Arc, time::Duration};

use mcp_conform_cases::suite;
use mcp_conform_reports::model::Verdict;
use mcp_conform_schemas::Revision;
use tokio::runtime::Runtime;

use super::{
    campaign::FuzzError,
    dice::Dice,
    input::Input,
    mutate::Workshop,
    oracle::{self, Habits, Suspicion},
    place::{Keeper, Pace, Place},
    play::Life,
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
}

struct Era {
    place: Arc<Place>,
    workshop: Workshop,
    seeds: Vec<Input>,
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
        let dual = scouted.len() > 1;
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
                dual,
                pace: Pace::default(),
            };
            Era { place: Arc::new(place), workshop, seeds }
        });
        let eras = eras.collect();
        Ok(Self { runtime, eras })
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
            if life.begin().await.is_err() {
                return Vec::new();
            }
            let played = life.play(&input, PATIENCE, true).await;
            let mut found = oracle::look(kind, transport, &input, &played, &Habits::default());
            if life.is_sound() {
                let (observations, _) = life.end().await;
                found.extend(oracle::look_at_end(kind, transport, observations));
            } else {
                life.drop_all().await;
            }
            found
        })
    }

    /// The body of a fuzz target.
    ///
    /// # Panics
    ///
    /// With what is wrong, when something of failure grade is; libFuzzer keeps the bytes.
    pub fn run(&self, data: &[u8]) {
        let found: Vec<Suspicion> = self.check(data).into_iter().filter(|it| it.verdict == Verdict::Fail).collect();
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
