//! Where cases are played: one era of one target over one transport, with the conversations that can be shared.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use mcp_conform_cases::ast::{ServedEras, Setup};
use mcp_conform_schemas::{Era, Revision};
use serde_json::{Value, json};

use super::values::{Unset, Values};
use crate::{
    conversation::{Bench, Conversation, OpenError, OpenErrorKind, Opening, Policy, Target, open},
    run::surface::Surface,
    trace::Transport,
};

/// One era of one target over one transport.
#[derive(Debug)]
pub struct Stage {
    pub target: Target,
    pub bench: Arc<Bench>,
    pub era: Era,
    /// The revision whose requirements judge here.
    pub revision: Revision,
    pub served: ServedEras,
    pub surface: Arc<Surface>,
    /// The user gave a credential.
    pub token: bool,
    pub fixture: bool,
    pub seed: u64,
    /// `--server '…'` or `--url …`, quoted for a shell, for repro lines.
    pub repro_target: String,
    pub pool: Pool,
    /// How often a plain request of a method (and tool) got no answer at all.
    pub dead: Mutex<BTreeMap<String, u32>>,
}

/// After so many sound requests without an answer nothing more is asked of a method: one hanging server must not cost an
/// hour.
const DEAD_AFTER: u32 = 2;

/// Idle conversations by what they were opened with.
#[derive(Debug, Default)]
pub struct Pool {
    idle: Mutex<BTreeMap<String, Vec<Conversation>>>,
}

impl Pool {
    fn take(&self, key: &str) -> Option<Conversation> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let list = idle.get_mut(key)?;
        while let Some(talk) = list.pop() {
            if talk.retired().is_none() {
                return Some(talk);
            }
        }
        None
    }

    pub fn put(&self, key: String, talk: Conversation) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().push(talk);
    }

    /// Everything that is idle, to be ended.
    pub fn drain(&self) -> Vec<Conversation> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *idle).into_values().flatten().collect()
    }
}

/// A conversation in use by a case.
#[derive(Clone, Debug)]
pub struct Lease {
    pub talk: Conversation,
    /// Where it goes when the case is done; `None`: ended with the case.
    pub key: Option<String>,
    /// Others used it before.
    pub shared: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    #[error(transparent)]
    Unset(#[from] Unset),
    #[error("no conversation could be opened: {}", .0.kind)]
    Open(OpenError),
}

impl Stage {
    pub fn transport(&self) -> Transport {
        self.target.transport()
    }

    pub fn opening(&self, setup: &Setup, values: &Values) -> Result<Opening, Unset> {
        let capabilities = match &setup.capabilities {
            Some(template) => values.value(template)?,
            None => json!({}),
        };
        Ok(Opening {
            era: self.era,
            version: self.version(),
            capabilities,
            policy: Policy::new(setup.answers.clone()),
            tools: self.surface.input_schemas(),
            dual: Some(self.served == ServedEras::Dual),
        })
    }

    /// Opens or takes a conversation for a case.
    pub async fn lease(&self, setup: &Setup, fresh: bool, values: &Values) -> Result<Lease, LeaseError> {
        let opening = self.opening(setup, values)?;
        let fresh = fresh || setup.fresh;
        let key = key(&opening);
        if !fresh && let Some(talk) = self.pool.take(&key) {
            return Ok(Lease { talk, key: Some(key), shared: true });
        }
        let talk = self.open(opening).await.map_err(LeaseError::Open)?;
        Ok(Lease { talk, key: (!fresh).then_some(key), shared: false })
    }

    /// Opens one more, and a second time where a start failed: a server that was started once starts again.
    async fn open(&self, opening: Opening) -> Result<Conversation, OpenError> {
        match open(&self.target, &self.bench, opening.clone()).await {
            Err(OpenError { kind: OpenErrorKind::Start(_), conversation: None }) => {
                open(&self.target, &self.bench, opening).await
            }
            other => other,
        }
    }

    /// How long an answer to an odd request is waited for: much longer than any plain request took here, and no longer than
    /// the deadline. Silence is common there, and must not cost the whole deadline each time.
    pub fn odd_deadline(&self) -> Duration {
        const FACTOR: u32 = 30;
        const LEAST: Duration = Duration::from_secs(2);
        let answer = self.bench.deadlines.answer;
        if self.surface.slowest.is_zero() { answer } else { (self.surface.slowest * FACTOR).max(LEAST).min(answer) }
    }

    /// Notes that a sound request got no answer.
    pub fn note_silence(&self, method: &str) {
        *self.dead.lock().unwrap_or_else(PoisonError::into_inner).entry(method.to_owned()).or_default() += 1;
    }

    /// Whether a method was dead too often to be asked again.
    pub fn is_dead(&self, method: &str) -> bool {
        let dead = self.dead.lock().unwrap_or_else(PoisonError::into_inner);
        dead.get(method).is_some_and(|times| *times >= DEAD_AFTER)
    }

    /// An older legacy version that the target negotiated is asked for again, so that no conversation drifts.
    fn version(&self) -> Option<String> {
        self.surface.version.filter(|version| *version != self.revision).map(|version| version.to_string())
    }
}

fn key(opening: &Opening) -> String {
    let capabilities: &Value = &opening.capabilities;
    format!("{} {} {capabilities} {}", opening.era, opening.version(), opening.policy.key())
}
