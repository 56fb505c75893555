//! What every conversation of a run shares: numbers that must be unique over the run, counts, limits and deadlines.

use std::{
    collections::{BTreeMap, VecDeque},
    num::NonZero,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use crate::{trace::Secrets, wire::Limits};

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// From a request to its answer.
    pub answer: Duration,
    /// From the start of a server to its first answer; package runners and interpreters take their time.
    pub start: Duration,
    /// From the end of stdin (or a signal) to the end of the process.
    pub exit: Duration,
    /// How long what may come late is waited for, where nothing shows that it has ended.
    pub grace: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            answer: Duration::from_secs(10),
            start: Duration::from_secs(60),
            exit: Duration::from_secs(3),
            grace: Duration::from_millis(500),
        }
    }
}

/// Where the ids that we make begin. Scripts that name an id use small ones, so that the two never meet in a
/// conversation.
const FIRST_ID: u64 = 1001;

/// Shared by all conversations of a run.
#[derive(Debug)]
pub struct Bench {
    pub deadlines: Deadlines,
    pub limits: Limits,
    pub secrets: Arc<Secrets>,
    ids: AtomicU64,
    conversations: AtomicU32,
    requests: AtomicU64,
    process_starts: AtomicU64,
    waits: Mutex<Waits>,
    slowest_start_us: AtomicU64,
    /// Processes that may be starting at once: a start is work for a whole core, and more than there are only make each
    /// other late.
    starting: Arc<Semaphore>,
    /// Conversations that hold a session, by its id. Ids are unique, unless a server gives one twice.
    sessions: Mutex<BTreeMap<String, u32>>,
}

impl Bench {
    pub fn new(deadlines: Deadlines, limits: Limits, secrets: Arc<Secrets>) -> Self {
        Self {
            deadlines,
            limits,
            secrets,
            ids: AtomicU64::new(FIRST_ID),
            conversations: AtomicU32::new(1),
            requests: AtomicU64::new(0),
            process_starts: AtomicU64::new(0),
            waits: Mutex::default(),
            slowest_start_us: AtomicU64::new(0),
            starting: Arc::new(Semaphore::new(std::thread::available_parallelism().map_or(2, NonZero::get))),
            sessions: Mutex::default(),
        }
    }

    /// A JSON-RPC id or progress token that nothing else in this run has, so that cross-talk can be attributed.
    pub fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Leaves out the first ids, for those who choose some by hand.
    pub fn skip_ids(&self, count: u64) {
        self.ids.fetch_add(count, Ordering::Relaxed);
    }

    pub fn next_conversation(&self) -> u32 {
        self.conversations.fetch_add(1, Ordering::Relaxed)
    }

    pub fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    pub fn count_start(&self) {
        self.process_starts.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until one more process may start. What is given back is held until the process is up.
    pub async fn turn_to_start(&self) -> Option<OwnedSemaphorePermit> {
        // It is never closed; and if it were, nothing would have to wait.
        self.starting.clone().acquire_owned().await.ok()
    }

    /// Notes that a conversation has a session.
    pub fn hold_session(&self, id: &str) {
        *self.sessions().entry(id.to_owned()).or_default() += 1;
    }

    /// Notes that it needs it no more. Whether nobody else has one of that id, so that it can be ended.
    pub fn release_session(&self, id: &str) -> bool {
        let mut sessions = self.sessions();
        let Some(holders) = sessions.get_mut(id) else { return true };
        *holders = holders.saturating_sub(1);
        let last = *holders == 0;
        if last {
            sessions.remove(id);
        }
        last
    }

    fn sessions(&self) -> MutexGuard<'_, BTreeMap<String, u32>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes how long a process took from its first request to its first answer.
    pub fn note_start(&self, took: Duration) {
        self.slowest_start_us.fetch_max(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// The longest that a process of this run took to its first answer.
    pub fn slowest_start(&self) -> Duration {
        Duration::from_micros(self.slowest_start_us.load(Ordering::Relaxed))
    }

    /// How long a process that is silent keeps others from starting: longer than a start took here.
    pub fn longest_turn(&self) -> Duration {
        const LEAST: Duration = Duration::from_secs(3);
        (self.slowest_start() * 2).clamp(LEAST, self.deadlines.start.max(LEAST))
    }

    /// What a process that has said nothing yet is given beside every deadline, so that a slow start is not taken for
    /// silence. Side by side with others a start takes longer than those that were measured.
    pub fn start_allowance(&self) -> Duration {
        (self.slowest_start() * 4).min(self.deadlines.start)
    }

    /// Time that was waited on purpose until now: a deadline that passed, a process that had to be given time to end.
    pub fn count_wait(&self, time: Duration) {
        let now = Instant::now();
        let from = now.checked_sub(time).unwrap_or(now);
        self.waits.lock().unwrap_or_else(PoisonError::into_inner).add(from, now);
    }

    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    pub fn process_starts(&self) -> u64 {
        self.process_starts.load(Ordering::Relaxed)
    }

    /// How long something was waited for by the clock: what was waited for side by side counts once.
    pub fn waited(&self) -> Duration {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner).total()
    }
}

/// When was waited on purpose: what was waited for side by side is one wait.
#[derive(Debug, Default)]
struct Waits {
    /// All that are no longer kept.
    earlier: Duration,
    /// From and to, apart from each other and in order.
    kept: VecDeque<(Instant, Instant)>,
}

impl Waits {
    /// A night of fuzzing has millions of them, and none reaches back over so many others.
    const MOST: usize = 64;

    fn add(&mut self, mut from: Instant, mut to: Instant) {
        while let Some((earlier, later)) = self.kept.pop_back_if(|(_, later)| *later >= from) {
            (from, to) = (from.min(earlier), to.max(later));
        }
        self.kept.push_back((from, to));
        if self.kept.len() > Self::MOST
            && let Some((from, to)) = self.kept.pop_front()
        {
            self.earlier += to.saturating_duration_since(from);
        }
    }

    fn total(&self) -> Duration {
        self.kept.iter().fold(self.earlier, |sum, (from, to)| sum + to.saturating_duration_since(*from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_side_by_side_count_once() {
        let bench = Bench::new(Deadlines::default(), Limits::default(), Arc::default());
        tokio::time::advance(Duration::from_secs(10)).await;
        bench.count_wait(Duration::from_secs(4));
        bench.count_wait(Duration::from_secs(3));
        assert_eq!(bench.waited(), Duration::from_secs(4));
        tokio::time::advance(Duration::from_secs(5)).await;
        bench.count_wait(Duration::from_secs(6));
        bench.count_wait(Duration::from_secs(1));
        assert_eq!(bench.waited(), Duration::from_secs(9));
        for _ in 0..1000 {
            tokio::time::advance(Duration::from_secs(3)).await;
            bench.count_wait(Duration::from_secs(2));
        }
        assert_eq!(bench.waited(), Duration::from_secs(2009));
        assert_eq!(bench.waits.lock().unwrap_or_else(PoisonError::into_inner).kept.len(), Waits::MOST);
        // One that lasted over others is one with them.
        bench.count_wait(Duration::from_secs(30));
        assert_eq!(bench.waited(), Duration::from_secs(2019));
    }
}
