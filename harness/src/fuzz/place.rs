//! Where the fuzzer plays: one target in one era, and what starts and ends its server.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use mcp_conform_cases::ast::ServedEras;
use mcp_conform_schemas::{Era, Revision};
use serde_json::Value;
use tokio::sync::{RwLock, RwLockReadGuard};

use super::{input::Manner, seeds::Ground};
use crate::{
    conversation::{Bench, Call, Conversation, OpenError, Opening, Policy, Target, all_capabilities, open},
    process::CommandSpec,
    run::HttpTarget,
    trace::{DEFAULT_BUDGET, Recorder, Transport},
    transport::{Endpoint, Grace, ServeError, Served},
};

/// The server behind a URL, where it was started here: all plays share it, and it is started anew when it died or when a
/// finding has to be seen in a server that did nothing before.
#[derive(Debug)]
pub(super) struct Keeper {
    serve: Option<(CommandSpec, Endpoint)>,
    running: RwLock<Option<Served>>,
    /// Counts the starts; whoever opened a conversation before has to open another.
    generation: AtomicU64,
    bench: Arc<Bench>,
}

/// Held while something is played, so that nobody ends the server under it.
#[derive(Debug)]
pub(super) struct Hold<'a>(#[expect(dead_code, reason = "held, not read")] RwLockReadGuard<'a, Option<Served>>);

impl Keeper {
    pub(super) fn new(http: Option<&HttpTarget>, bench: Arc<Bench>) -> Self {
        let serve = http.and_then(|target| Some((target.serve.clone()?, target.endpoint.clone())));
        Self { serve, running: RwLock::default(), generation: AtomicU64::new(0), bench }
    }

    /// Whether a server can be started anew.
    pub(super) fn restarts(&self) -> bool {
        self.serve.is_some()
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(super) async fn hold(&self) -> Hold<'_> {
        Hold(self.running.read().await)
    }

    /// Process of the server, where it is ours.
    pub(super) fn pid(&self) -> Option<u32> {
        // While it is being started anew there is nobody to look at.
        self.running.try_read().ok()?.as_ref().map(Served::pid)
    }

    /// How the server ended by itself, and the last that it said; `None` while it runs.
    pub(super) async fn gone(&self) -> Option<(crate::trace::Exit, Recorder)> {
        let running = self.running.read().await;
        let served = running.as_ref()?;
        Some((served.exit()?, served.recorder().clone()))
    }

    /// Ends the server, where there is one, and starts another. Only if nobody did since `seen`.
    pub(super) async fn restart(&self, seen: u64) -> Result<(), ServeError> {
        let Some((command, endpoint)) = &self.serve else { return Ok(()) };
        let mut running = self.running.write().await;
        if self.generation() != seen {
            return Ok(());
        }
        self.stop(running.take()).await;
        self.bench.count_start();
        let recorder = Recorder::new(self.bench.secrets.clone(), self.bench.limits, DEFAULT_BUDGET);
        let served = Served::start(command, &endpoint.url, self.bench.deadlines.start, recorder).await?;
        *running = Some(served);
        self.generation.fetch_add(1, Ordering::Release);
        Ok(())
    }

    pub(super) async fn end(&self) {
        let served = self.running.write().await.take();
        self.stop(served).await;
    }

    async fn stop(&self, served: Option<Served>) {
        if let Some(served) = served {
            let time = self.bench.deadlines.exit;
            served.end(Grace { eof: time, term: time, kill: time }).await;
        }
    }
}

/// One era of one target over one transport.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) target: Target,
    pub(super) bench: Arc<Bench>,
    pub(super) ground: Arc<Ground>,
    /// The user's own results by the method that asks for them.
    pub(super) answers: Arc<BTreeMap<String, Value>>,
    pub(super) keeper: Arc<Keeper>,
    /// What the target serves, whichever revisions are fuzzed.
    pub(super) served: ServedEras,
    pub(super) pace: Pace,
}

/// How long each tool takes, so that a tool that takes its time is not waited for at each call.
#[derive(Debug, Default)]
pub(super) struct Pace(Mutex<BTreeMap<String, Taken>>);

/// What a call takes at least, on average, that is not waited for each time.
const LONG: Duration = Duration::from_millis(12);

/// How far a call is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Whole,
    Begun,
    None,
}

/// What the calls of one tool took.
#[derive(Debug, Default)]
struct Taken {
    answers: u32,
    total: Duration,
    /// Calls that were made since it is known to take its time.
    since: u32,
}

impl Pace {
    pub(super) fn note(&self, tool: &str, took: Duration) {
        let mut pace = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = pace.entry(tool.to_owned()).or_default();
        taken.answers += 1;
        taken.total += took;
    }

    /// Whether calls of a tool take much longer than a message needs.
    pub(super) fn takes_its_time(&self, tool: &str) -> bool {
        self.usual(tool) > LONG
    }

    /// What a call of a tool took on average.
    pub(super) fn usual(&self, tool: &str) -> Duration {
        let pace = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pace.get(tool).map(|taken| taken.total / taken.answers.max(1)).unwrap_or_default()
    }

    /// How long the next call is waited for. Of a tool whose calls take much longer than a message needs, one in so many
    /// to its end that the wait does not weigh on the rest, and some others until it may have begun to work.
    pub(super) fn wait(&self, tool: &str) -> Wait {
        const LEAST: u128 = 32;
        const BEGUN_ONE_IN: u32 = 4;
        let mut pace = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(taken) = pace.get_mut(tool) else { return Wait::Whole };
        let took = taken.total / taken.answers.max(1);
        if took <= LONG {
            return Wait::Whole;
        }
        taken.since += 1;
        // By steps, so that a little more or less time does not change which calls these are.
        let one_in = took.as_millis().saturating_mul(4).clamp(LEAST, 1 << 12).next_power_of_two();
        match taken.since {
            since if u128::from(since).is_multiple_of(one_in) => Wait::Whole,
            since if since.is_multiple_of(BEGUN_ONE_IN) => Wait::Begun,
            _ => Wait::None,
        }
    }
}

impl Place {
    pub(super) fn revision(&self) -> Revision {
        self.ground.era.judged()
    }

    fn policy(&self, manner: Manner) -> Policy {
        let rules = manner.policy().map(|policy| ("*".to_owned(), policy)).into_iter().collect();
        Policy::new(rules).with_given(self.answers.clone())
    }

    /// Opens a conversation that declares everything.
    pub(super) async fn open(&self, manner: Manner) -> Result<Conversation, OpenError> {
        let version = self.ground.surface.version.filter(|version| *version != self.revision());
        let opening = Opening {
            version: version.map(|version| version.to_string()),
            capabilities: all_capabilities(),
            policy: self.policy(manner),
            tools: self.ground.surface.input_schemas(),
            dual: Some(self.served == ServedEras::Dual),
            ..Opening::new(self.ground.era)
        };
        let talk = open(&self.target, &self.bench, opening).await?;
        if let Some(method) = self.settles() {
            let call = Call { method: method.to_owned(), ..Call::default() };
            let asked = talk.request(call, Some(self.bench.deadlines.start)).await;
            if let Err(error) = asked {
                return Err(OpenError { kind: error.into(), conversation: Some(talk) });
            }
        }
        Ok(talk)
    }

    /// The request that each conversation begins with, where the server has to learn from one of which era it is: over stdio
    /// neither a notification nor `server/discover` says it, and a server of both may still wait for `initialize`.
    pub(super) fn settles(&self) -> Option<&'static str> {
        const LISTS: [(&str, &str); 3] =
            [("tools", "tools/list"), ("resources", "resources/list"), ("prompts", "prompts/list")];
        let open =
            (self.ground.era, self.ground.transport, self.served) == (Era::Modern, Transport::Stdio, ServedEras::Dual);
        let offered = &self.ground.surface.capabilities;
        let list = LISTS.iter().find(|(capability, _)| offered.get(capability).is_some()).or(LISTS.first());
        list.filter(|_| open).map(|(_, method)| *method)
    }

    /// The value of a capability that every sound request relies on.
    pub(super) fn survival(&self) -> (&'static str, Option<Value>) {
        match self.ground.era {
            Era::Legacy => ("ping", None),
            Era::Modern => ("server/discover", None),
        }
    }
}
