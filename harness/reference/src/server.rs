//! What all connections of one server share: [`Server`] with its configuration, the things that tools can change, the
//! open subscriptions and the legacy sessions. Who may hear of a change is decided here, how it is sent is not.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::bugs::{Bug, Notebook};
use crate::config::Config;
use crate::faults::Fault;
use crate::json::{Body, Message, Raw};
use crate::seal::Seal;
use crate::session::Session;

pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// One server: everything that outlives a connection.
pub(crate) struct Server {
    pub(crate) config: Config,
    pub(crate) seal: Seal,
    world: Mutex<World>,
    listeners: Mutex<Vec<Listener>>,
    sessions: Mutex<BTreeMap<String, Arc<Session>>>,
    counter: AtomicU64,
    started: (SystemTime, Instant),
    /// Slow calls that are being worked on.
    pub(crate) busy: Arc<AtomicU64>,
    /// Set when a fault makes the process die.
    pub(crate) fatal: Cancel,
    /// What broken servers remember of a client although they should not.
    pub(crate) memory: Mutex<Memory>,
    /// What a deep bug remembers beyond a session.
    pub(crate) notebook: Mutex<Notebook>,
}

/// What tools can change.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) extra: bool,
    /// How often the visits were subscribed to.
    pub(crate) visits: u64,
    pub(crate) notes: BTreeMap<String, String>,
}

/// Something that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Tools,
    Prompts,
    Resources,
    Resource(String),
}

/// What a subscription asked for and was granted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    pub(crate) uris: BTreeSet<String>,
}

struct Listener {
    key: u64,
    tag: Raw,
    filter: Filter,
    outlet: Outlet,
}

/// Only faults read and write this.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) capabilities_by_client: BTreeMap<String, Map<String, Value>>,
    pub(crate) version: Option<String>,
    pub(crate) log_level: Option<String>,
    /// How often server/discover was served.
    pub(crate) discoveries: u64,
    pub(crate) last_cursor: Option<String>,
    pub(crate) mismatched: bool,
    pub(crate) swapped: bool,
    /// A client was told that its session is gone.
    pub(crate) told_gone: bool,
    /// A client left before it was answered.
    pub(crate) poisoned: bool,
    /// The tool calls that are being worked on.
    pub(crate) running: Vec<AbortHandle>,
    /// The questions that were asked and not answered.
    pub(crate) open_questions: BTreeSet<String>,
}

/// Where messages go: a pipe, the stream of a request, the general stream of a session.
#[derive(Clone)]
pub(crate) struct Outlet(Arc<dyn Fn(Message) + Send + Sync>);

impl Outlet {
    pub(crate) fn new(send: impl Fn(Message) + Send + Sync + 'static) -> Self {
        Self(Arc::new(send))
    }

    pub(crate) fn send(&self, message: Message) {
        (self.0)(message);
    }

    pub(crate) fn notify(&self, method: &'static str, params: impl Into<Body>) {
        self.send(Message::Notification { method, params: Some(params.into()) });
    }
}

impl Server {
    pub(crate) fn new(config: Config) -> Arc<Self> {
        let notes = [("first", "Buy milk."), ("second", "Water the plants.")];
        Arc::new(Self {
            seal: match () {
                () if config.faults.has(Fault::StateOfProcess) => Seal::new(random_text().as_bytes()),
                () if config.bug == Some(Bug::StateTailOpen) => Seal::new(&config.key).covering(64),
                () => Seal::new(&config.key),
            },
            config,
            world: Mutex::new(World {
                extra: false,
                visits: 0,
                notes: notes.map(|(id, text)| (id.to_owned(), text.to_owned())).into(),
            }),
            listeners: Mutex::default(),
            sessions: Mutex::default(),
            counter: AtomicU64::new(1),
            started: (SystemTime::now(), Instant::now()),
            busy: Arc::default(),
            fatal: Cancel::new(),
            memory: Mutex::default(),
            notebook: Mutex::default(),
        })
    }

    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.config.faults.has(fault)
    }

    /// Whether this server has a deep bug.
    pub(crate) fn bug(&self, bug: Bug) -> bool {
        self.config.bug == Some(bug)
    }

    /// A number that this server gives out once.
    pub(crate) fn count(&self) -> u64 {
        self.counter.fetch_add(1, Ordering::Relaxed)
    }

    /// Seconds since 1970: the real time at the start, and from there what the runtime's clock says, which tests hold.
    pub(crate) fn now(&self) -> u64 {
        let (wall, clock) = self.started;
        (wall + clock.elapsed()).duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }

    pub(crate) fn has_extra(&self) -> bool {
        lock(&self.world).extra
    }

    pub(crate) fn visits(&self) -> u64 {
        lock(&self.world).visits
    }

    pub(crate) fn notes(&self) -> BTreeMap<String, String> {
        lock(&self.world).notes.clone()
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut World) -> Vec<Change>) {
        let changes = change(&mut lock(&self.world));
        for change in changes {
            self.publish(&change);
        }
    }

    pub(crate) fn add_session(&self, session: Arc<Session>) {
        lock(&self.sessions).insert(session.id.clone(), session);
    }

    pub(crate) fn session(&self, id: &str) -> Option<Arc<Session>> {
        lock(&self.sessions).get(id).cloned()
    }

    pub(crate) fn remove_session(&self, id: &str) -> Option<Arc<Session>> {
        lock(&self.sessions).remove(id)
    }

    pub(crate) fn sessions(&self) -> Vec<Arc<Session>> {
        lock(&self.sessions).values().cloned().collect()
    }

    /// Opens a subscription; it ends when the guard is dropped.
    pub(crate) fn listen(self: &Arc<Self>, tag: Raw, filter: Filter, outlet: Outlet) -> ListenGuard {
        let key = self.count();
        lock(&self.listeners).push(Listener { key, tag, filter, outlet });
        ListenGuard { server: self.clone(), key }
    }

    /// Tells everybody who is entitled to hear of a change.
    fn publish(&self, change: &Change) {
        let (method, params) = change.notification();
        for listener in lock(&self.listeners).iter() {
            if !listener.filter.covers(change) && !self.has(Fault::ListenFilterIgnored) {
                continue;
            }
            let tag = broken_tag(self, &listener.tag);
            let body = broken_update(self, params.clone());
            let body = if self.has(Fault::ListenEventsUntagged) { body } else { body.raw_meta(SUBSCRIPTION_ID, tag) };
            listener.outlet.notify(method, body);
            if self.has(Fault::ListenOnlyFirstSubscriber) {
                break;
            }
        }
        for session in self.sessions() {
            if session.hears_of(change, self) {
                let params = change.legacy_params().map(|params| broken_update(self, params));
                session.general(self, &Message::Notification { method, params });
            }
        }
    }
}

/// The tag of a subscription as a broken server writes it.
pub(crate) fn broken_tag(server: &Server, tag: &Raw) -> Raw {
    if server.has(Fault::ListenTagOwn) {
        return Raw::from_text("\"0d5a1d7e-0000-4000-8000-5ca1ab1e0001\"".to_owned());
    }
    if server.has(Fault::ListenTagStringified) && tag.value().is_number() {
        return Raw::from_text(json!(tag.text()).to_string());
    }
    tag.clone()
}

/// The params of a change as a broken server writes them.
fn broken_update(server: &Server, mut params: Value) -> Body {
    if server.has(Fault::UpdateNamesResource)
        && let Some(members) = params.as_object_mut()
        && let Some(uri) = members.shift_remove("uri")
    {
        members.insert("resource".to_owned(), uri);
    }
    params.into()
}

impl Change {
    fn notification(&self) -> (&'static str, Value) {
        match self {
            Self::Tools => ("notifications/tools/list_changed", json!({})),
            Self::Prompts => ("notifications/prompts/list_changed", json!({})),
            Self::Resources => ("notifications/resources/list_changed", json!({})),
            Self::Resource(uri) => ("notifications/resources/updated", json!({"uri": uri})),
        }
    }

    fn legacy_params(&self) -> Option<Value> {
        match self {
            Self::Resource(uri) => Some(json!({"uri": uri})),
            _ => None,
        }
    }
}

impl Filter {
    fn covers(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools,
            Change::Prompts => self.prompts,
            Change::Resources => self.resources,
            Change::Resource(uri) => self.uris.contains(uri),
        }
    }
}

/// Keeps a subscription open.
pub(crate) struct ListenGuard {
    server: Arc<Server>,
    key: u64,
}

impl Drop for ListenGuard {
    fn drop(&mut self) {
        let mut listeners = lock(&self.server.listeners);
        let mut key = self.key;
        if self.server.bug(Bug::OldestListensOn) {
            let own = listeners.iter().find(|one| one.key == key).map(|one| one.filter.clone());
            let alike = listeners.iter().filter(|one| Some(&one.filter) == own.as_ref()).map(|one| one.key).max();
            key = alike.unwrap_or(key);
        }
        listeners.retain(|listener| listener.key != key);
    }
}

/// Counts something for as long as it lives.
pub(crate) struct Counted(Arc<AtomicU64>);

impl Counted {
    pub(crate) fn new(counter: &Arc<AtomicU64>) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(counter.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Tells a running request that its client has no more use for it.
#[derive(Clone)]
pub(crate) struct Cancel(Arc<watch::Sender<bool>>);

impl Cancel {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::channel(false).0))
    }

    pub(crate) fn cancel(&self) {
        self.0.send_replace(true);
    }

    pub(crate) async fn cancelled(&self) {
        // The sender lives in this very value, so that waiting for it cannot fail.
        let _ = self.0.subscribe().wait_for(|cancelled| *cancelled).await;
    }
}

/// The requests that are being worked on over one channel.
#[derive(Clone, Default)]
pub(crate) struct Flights(Arc<Mutex<BTreeMap<String, Cancel>>>);

impl Flights {
    /// Notes a request, unless one with the same id is still being worked on.
    pub(crate) fn begin(&self, id: &Raw) -> Option<Flight> {
        let mut flights = lock(&self.0);
        let key = id.key();
        if flights.contains_key(&key) {
            return None;
        }
        let cancel = Cancel::new();
        flights.insert(key.clone(), cancel.clone());
        Some(Flight { flights: self.clone(), key, cancel })
    }

    pub(crate) fn cancel(&self, id: &Raw) {
        if let Some(cancel) = lock(&self.0).get(&id.key()) {
            cancel.cancel();
        }
    }

    pub(crate) fn has(&self, id: &Raw) -> bool {
        lock(&self.0).contains_key(&id.key())
    }

    /// The requests that are being worked on, by their keys.
    pub(crate) fn keys(&self) -> Vec<String> {
        lock(&self.0).keys().cloned().collect()
    }

    pub(crate) fn cancel_all(&self) {
        for cancel in lock(&self.0).values() {
            cancel.cancel();
        }
    }
}

/// One request that is being worked on; it is over when this is dropped.
pub(crate) struct Flight {
    flights: Flights,
    key: String,
    pub(crate) cancel: Cancel,
}

impl Drop for Flight {
    fn drop(&mut self) {
        lock(&self.flights.0).remove(&self.key);
    }
}

/// Locks; a panic elsewhere does not make the data unusable.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// 128 bits that nobody can guess, as hexadecimal text. Each hasher is keyed by the operating system's random source.
pub(crate) fn random_text() -> String {
    let words: Vec<u8> = (0..4_u64).flat_map(|word| RandomState::new().hash_one(word).to_le_bytes()).collect();
    Sha256::digest(words).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
