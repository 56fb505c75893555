//! Every living server of this run, so that an interrupted run leaves none behind: [`end_all`].

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::timeout;

use super::owned::Handle;

static STARTS: AtomicU64 = AtomicU64::new(0);
static NUMBERS: AtomicU64 = AtomicU64::new(1);
static CLOSED: AtomicBool = AtomicBool::new(false);
static LIVING: Mutex<BTreeMap<u64, Handle>> = Mutex::new(BTreeMap::new());

/// Processes started so far.
pub fn starts() -> u64 {
    STARTS.load(Ordering::Relaxed)
}

/// Process ids of the servers that run now.
pub fn living() -> Vec<u32> {
    lock().values().map(|handle| handle.pid).collect()
}

/// Kills every server that still runs, with everything that it started, and waits (not longer than five seconds) until
/// they are gone. No server can be started afterwards, until [`begin`] is called.
pub async fn end_all() {
    CLOSED.store(true, Ordering::SeqCst);
    let handles: Vec<Handle> = lock().values().cloned().collect();
    for handle in &handles {
        handle.kill();
    }
    let gone = async {
        for handle in &handles {
            handle.gone().await;
        }
    };
    // What does not die from KILL sits in the kernel; nothing more can be done about it.
    let _ = timeout(Duration::from_secs(5), gone).await;
}

/// Servers may be started again: one process may run after another, never beside it.
pub fn begin() {
    CLOSED.store(false, Ordering::SeqCst);
}

pub(super) fn is_closed() -> bool {
    CLOSED.load(Ordering::SeqCst)
}

/// Number of the server, unique in this process.
pub(super) fn number() -> u64 {
    NUMBERS.fetch_add(1, Ordering::Relaxed)
}

pub(super) fn enter(number: u64, handle: Handle) {
    STARTS.fetch_add(1, Ordering::Relaxed);
    lock().insert(number, handle.clone());
    // It may have been started while all others were ended.
    if is_closed() {
        handle.kill();
    }
}

pub(super) fn leave(number: u64) {
    lock().remove(&number);
}

fn lock() -> MutexGuard<'static, BTreeMap<u64, Handle>> {
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}
