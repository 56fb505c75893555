//! Where cases are played: one era of one target over one transport, with the conversations that can be shared.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use mcp_conform_cases::ast::{ServedEras, Setup};
use mcp_conform_schemas::{Era, Revision};
use serde_json::{Value, json};
use tokio::{
    sync::{Notify, OnceCell, watch},
    time::Instant,
};

use super::values::{Unset, Values};
use crate::{
    conversation::{
        AnswerKind, Bench, Call, Conversation, Handshake, OpenError, OpenErrorKind, Opening, Policy, Target, connect,
        open,
    },
    repro::Repro,
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
    /// What the target offers; more of it once its tools were called.
    pub known: watch::Sender<Arc<Surface>>,
    /// What the probe asked for already.
    pub handshakes: Arc<Vec<Handshake>>,
    /// The user's own results by the method that asks for them.
    pub answers: Arc<BTreeMap<String, Value>>,
    /// The user gave a credential.
    pub token: bool,
    pub fixture: bool,
    pub seed: u64,
    pub repro: Arc<Repro>,
    pub pool: Pool,
    /// Whether the server ends after ordinary requests, too; found out when it first ends where it should not.
    pub frail: OnceCell<bool>,
    /// How often in a row a plain request of a method (and tool) got no answer at all.
    pub dead: Mutex<BTreeMap<String, u32>>,
}

/// After so many sound requests in a row without an answer nothing more is asked of a method: one hanging server must not cost an
/// hour.
const DEAD_AFTER: u32 = 5;

/// Conversations that can be shared, by what they were opened with.
#[derive(Debug, Default)]
pub struct Pool {
    shelves: Mutex<BTreeMap<String, Shelf>>,
    /// Told whenever a conversation comes back, or will not.
    returned: Notify,
}

#[derive(Debug, Default)]
struct Shelf {
    idle: Vec<Conversation>,
    /// How many are in use.
    out: usize,
    /// When one was last taken or came back.
    moved: Option<Instant>,
}

impl Pool {
    /// Takes an idle conversation, or counts one out that the caller opens. A start costs more than a turn: while others
    /// are in use, and one of them was taken or came back within `patience`, the next is waited for. Where all are held up,
    /// one of those who wait opens another.
    async fn take(&self, key: &str, patience: Duration) -> Option<Conversation> {
        loop {
            let deadline;
            let returned = self.returned.notified();
            {
                let mut shelves = self.shelves();
                let shelf = shelves.entry(key.to_owned()).or_default();
                shelf.idle.retain(|talk| talk.retired().is_none());
                let talk = shelf.idle.pop();
                let now = Instant::now();
                deadline = shelf.moved.unwrap_or(now) + patience;
                if talk.is_some() || shelf.out == 0 || now >= deadline {
                    shelf.out += 1;
                    shelf.moved = Some(now);
                    return talk;
                }
            }
            // Time that passed is seen in the next round.
            let _ = tokio::time::timeout_at(deadline, returned).await;
        }
    }

    pub fn put(&self, key: &str, talk: Conversation) {
        self.shelves().entry(key.to_owned()).or_default().idle.push(talk);
        self.forget(key);
    }

    /// One that was taken does not come back.
    pub fn forget(&self, key: &str) {
        if let Some(shelf) = self.shelves().get_mut(key) {
            shelf.out = shelf.out.saturating_sub(1);
            shelf.moved = Some(Instant::now());
        }
        self.returned.notify_waiters();
    }

    /// Everything that is idle, to be ended.
    pub fn drain(&self) -> Vec<Conversation> {
        std::mem::take(&mut *self.shelves()).into_values().flat_map(|shelf| shelf.idle).collect()
    }

    fn shelves(&self) -> MutexGuard<'_, BTreeMap<String, Shelf>> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// What is known of the target by now.
    pub fn surface(&self) -> Arc<Surface> {
        self.known.borrow().clone()
    }

    /// Waits until it is known what the tools do.
    pub async fn used(&self) {
        // The sender is ours, so that the wait cannot end otherwise.
        let _ = self.known.subscribe().wait_for(|surface| surface.used).await;
    }

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
            policy: Policy::new(setup.answers.clone()).with_given(self.answers.clone()),
            tools: self.surface().input_schemas(),
            dual: Some(self.served == ServedEras::Dual),
        })
    }

    /// Opens or takes a conversation for a case. The `first` of a case may be waited for; who holds one already would keep
    /// others waiting.
    pub async fn lease(&self, setup: &Setup, fresh: bool, first: bool, values: &Values) -> Result<Lease, LeaseError> {
        let opening = self.opening(setup, values)?;
        if setup.silent && self.era == Era::Legacy {
            let open = |kind| LeaseError::Open(OpenError { kind, conversation: None });
            let talk = connect(&self.target, &self.bench, opening).await.map_err(open)?;
            return Ok(Lease { talk, key: None, shared: false });
        }
        let fresh = fresh || setup.fresh;
        let key = key(&opening);
        if fresh {
            let talk = self.open(opening).await.map_err(LeaseError::Open)?;
            return Ok(Lease { talk, key: None, shared: false });
        }
        let patience = match self.transport() {
            Transport::Stdio if first => self.bench.slowest_start() * 2,
            Transport::Stdio | Transport::Http => Duration::ZERO,
        };
        if let Some(talk) = self.pool.take(&key, patience).await {
            return Ok(Lease { talk: talk.opened_as(opening), key: Some(key), shared: true });
        }
        match self.open(opening).await {
            Ok(talk) => Ok(Lease { talk, key: Some(key), shared: false }),
            Err(error) => {
                self.pool.forget(&key);
                Err(LeaseError::Open(error))
            }
        }
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
        let slowest = self.surface().slowest;
        if slowest.is_zero() { answer } else { (slowest * FACTOR).max(LEAST).min(answer) }
    }

    /// A short deadline of a script, stretched where plain requests take long here.
    pub fn stretched(&self, within: Duration) -> Duration {
        stretched(within, self.surface().slowest, self.bench.deadlines.answer)
    }

    /// Sees whether the server ends after requests that have nothing odd: then its end after an odd one says nothing of that.
    pub async fn look_if_frail(&self) {
        self.frail.get_or_init(|| self.ends_by_itself()).await;
    }

    async fn ends_by_itself(&self) -> bool {
        let opening = Opening { version: self.version(), ..Opening::new(self.era) };
        let Ok(talk) = self.open(opening).await else { return true };
        let method = match self.era {
            Era::Legacy => "ping",
            Era::Modern => "server/discover",
        };
        let mut ended = false;
        for _ in 0..3 {
            let call = Call { method: method.to_owned(), ..Call::default() };
            ended |= match talk.request(call, None).await {
                Ok((_, answer)) => answer.kind == AnswerKind::Closed,
                Err(_) => true,
            };
        }
        talk.end().await;
        ended
    }

    /// Notes that a sound request got no answer.
    pub fn note_silence(&self, method: &str) {
        *self.dead.lock().unwrap_or_else(PoisonError::into_inner).entry(method.to_owned()).or_default() += 1;
    }

    /// Notes that one got an answer: it is not dead, whatever was before.
    pub fn note_answer(&self, method: &str) {
        self.dead.lock().unwrap_or_else(PoisonError::into_inner).remove(method);
    }

    /// Whether a method was dead too often to be asked again.
    pub fn is_dead(&self, method: &str) -> bool {
        let dead = self.dead.lock().unwrap_or_else(PoisonError::into_inner);
        dead.get(method).is_some_and(|times| *times >= DEAD_AFTER)
    }

    /// An older legacy version that the target negotiated is asked for again, so that no conversation drifts.
    fn version(&self) -> Option<String> {
        self.surface().version.filter(|version| *version != self.revision).map(|version| version.to_string())
    }
}

/// What has to be the same for a connection to be shared. In the modern era each message says it anew.
fn key(opening: &Opening) -> String {
    let capabilities: &Value = &opening.capabilities;
    match opening.era {
        Era::Legacy => format!("{} {} {capabilities} {}", opening.era, opening.version(), opening.policy.key()),
        Era::Modern => format!("{} {}", opening.era, opening.version()),
    }
}

/// What is slow all over is no silence: so much longer than a plain request took, and no longer than the deadline of an
/// answer. The shortest ones are pauses and stay as they are.
fn stretched(within: Duration, slowest: Duration, answer: Duration) -> Duration {
    const FACTOR: u32 = 4;
    const PAUSE: Duration = Duration::from_millis(100);
    if within <= PAUSE { within } else { within.max((slowest * FACTOR).min(answer)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_deadline_grows_with_what_plain_requests_take_and_no_further_than_the_deadline() {
        let ms = Duration::from_millis;
        let (half, answer) = (ms(500), ms(10_000));
        assert_eq!(stretched(half, ms(20), answer), half, "a quick server");
        assert_eq!(stretched(half, ms(400), answer), ms(1_600), "a slow one");
        assert_eq!(stretched(half, ms(9_000), answer), answer);
        assert_eq!(stretched(ms(60_000), ms(9_000), answer), ms(60_000), "never shorter than the script has it");
        assert_eq!(stretched(ms(50), ms(9_000), answer), ms(50), "a pause");
    }
}
