//! A legacy client as the server knows it after `initialize`: [`Session`], one for a stdio process or an HTTP session.
//! It holds what was negotiated and the server's own requests that wait for an answer. Event streams are in `streams`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::bugs::{Bug, Notebook};
use crate::faults::Fault;
use crate::json::{Body, Message, Raw, frames};
use crate::logging::Level;
use crate::server::{Change, Flights, Outlet, Server, lock, random_text};
use crate::tasks::Tasks;
use crate::web::streams::Streams;

pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) flights: Flights,
    pub(crate) streams: Streams,
    pub(crate) tasks: Tasks,
    /// What a deep bug remembers of this client.
    pub(crate) notebook: Mutex<Notebook>,
    inner: Mutex<Inner>,
    /// Where messages go that belong to no request; over HTTP that is a stream of the session's own.
    general: Option<Outlet>,
}

#[derive(Default)]
struct Inner {
    phase: Phase,
    version: &'static str,
    capabilities: Map<String, Value>,
    level: Option<Level>,
    subscriptions: BTreeSet<String>,
    pending: BTreeMap<String, oneshot::Sender<Result<Value, Value>>>,
    next_request: u64,
    /// The ids of requests that were taken up; only broken servers keep them.
    begun: BTreeSet<String>,
    /// What the client says of itself.
    client: Value,
}

/// How far the handshake has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    #[default]
    New,
    Answered,
    Operating,
}

/// Why a request of the server's own brought no result.
#[derive(Clone, Debug)]
pub(crate) enum AskError {
    Refused(Value),
    TimedOut,
}

impl Session {
    pub(crate) fn over_pipe(general: Outlet, flights: Flights) -> Arc<Self> {
        Arc::new(Self {
            id: "pipe".to_owned(),
            flights,
            streams: Streams::new(String::new()),
            tasks: Tasks::default(),
            notebook: Mutex::default(),
            inner: Mutex::default(),
            general: Some(general),
        })
    }

    pub(crate) fn over_http(server: &Server, client: Option<&Value>) -> Arc<Self> {
        // An id that the same client was given and has not come back with yet.
        let same =
            |session: &Arc<Self>| session.phase() == Phase::Answered && Some(&lock(&session.inner).client) == client;
        let again = server.has(Fault::SessionIdGivenAgain).then(|| server.sessions().into_iter().find(same)).flatten();
        let id = match again {
            Some(session) => session.id.clone(),
            None if server.has(Fault::SessionIdNotAscii) => format!("session {}", server.count()),
            None if server.has(Fault::SessionIdCounted) => format!("session-{}", server.count()),
            None => random_text(),
        };
        Arc::new(Self {
            id,
            flights: Flights::default(),
            streams: Streams::new(random_text().chars().take(8).collect()),
            tasks: Tasks::default(),
            notebook: Mutex::default(),
            inner: Mutex::default(),
            general: None,
        })
    }

    pub(crate) fn phase(&self) -> Phase {
        lock(&self.inner).phase
    }

    pub(crate) fn operate(&self) {
        lock(&self.inner).phase = Phase::Operating;
    }

    pub(crate) fn negotiated(&self, version: &'static str, capabilities: Map<String, Value>) {
        let mut inner = lock(&self.inner);
        inner.phase = Phase::Answered;
        inner.version = version;
        inner.capabilities = capabilities;
    }

    pub(crate) fn introduce(&self, client: Value) {
        lock(&self.inner).client = client;
    }

    pub(crate) fn version(&self) -> &'static str {
        lock(&self.inner).version
    }

    pub(crate) fn capabilities(&self) -> Map<String, Value> {
        lock(&self.inner).capabilities.clone()
    }

    /// The lowest level that is sent; `info` until the client sets one.
    pub(crate) fn level(&self) -> Level {
        lock(&self.inner).level.unwrap_or(Level::Info)
    }

    pub(crate) fn set_level(&self, level: Level) {
        lock(&self.inner).level = Some(level);
    }

    pub(crate) fn subscribe(&self, uri: &str) {
        lock(&self.inner).subscriptions.insert(uri.to_owned());
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        lock(&self.inner).subscriptions.remove(uri);
    }

    pub(crate) fn hears_of(&self, change: &Change, server: &Server) -> bool {
        let inner = lock(&self.inner);
        if inner.phase != Phase::Operating {
            return false;
        }
        match change {
            Change::Resource(uri) => inner.subscriptions.contains(uri) || server.has(Fault::UpdatedUnsubscribed),
            _ => true,
        }
    }

    /// Sends what belongs to no request.
    pub(crate) fn general(&self, server: &Server, message: &Message) {
        match &self.general {
            Some(outlet) => outlet.send(message.clone()),
            None => {
                for frame in frames(server, message) {
                    self.streams.general(server, &frame);
                }
            }
        }
    }

    /// Sends a request to the client and waits for what it says.
    pub(crate) async fn ask(
        &self,
        server: &Server,
        outlet: &Outlet,
        method: &'static str,
        params: Option<Value>,
    ) -> Result<Value, AskError> {
        let (sender, receiver) = oneshot::channel();
        let id = {
            let mut inner = lock(&self.inner);
            inner.next_request += 1;
            let id = own_id(server, inner.next_request);
            inner.pending.insert(id.key(), sender);
            id
        };
        let mut waiting = Waiting { server, session: self, outlet, id: id.clone(), open: true };
        let mut params = params.map(Body::from);
        if let Some(params) = params.as_mut() {
            // Models and users take their time: the client may say how far it is.
            let token = match () {
                () if server.has(Fault::OwnTokenFractional) => json!(1.5),
                () if server.has(Fault::OwnTokenShared) => json!("of-this-server"),
                () => json!(format!("of-{}", id.text())),
            };
            params.set_meta("progressToken", token);
        }
        outlet.send(Message::Request { id, method, params });
        let outcome = timeout(server.config.request_timeout, receiver).await;
        waiting.open = outcome.is_err();
        match outcome {
            Ok(Ok(Ok(result))) => Ok(result),
            Ok(Ok(Err(error))) => Err(AskError::Refused(error)),
            Ok(Err(_)) | Err(_) => Err(AskError::TimedOut),
        }
    }

    /// Whether a request of the server's own is unanswered.
    pub(crate) fn waits(&self) -> bool {
        !lock(&self.inner).pending.is_empty()
    }

    /// Gives up all requests of the server's own, as no answer can come any more.
    pub(crate) fn abandon(&self) {
        lock(&self.inner).pending.clear();
    }

    /// Takes the client's answer; says whether anybody waits for it.
    pub(crate) fn answered(&self, server: &Server, id: &Raw, outcome: Result<Value, Value>) -> bool {
        if server.bug(Bug::AnswerAfterCancel) && lock(&self.notebook).given_up.contains(&id.key()) {
            server.fatal.cancel();
        }
        let waiting = lock(&self.inner).pending.remove(&id.key());
        waiting.is_some_and(|sender| {
            // The one who asked may have gone; then nobody wants the answer.
            let _ = sender.send(outcome);
            true
        })
    }

    /// Notes a request, as a server that goes wrong over one that is over has to know it.
    pub(crate) fn note_begun(&self, server: &Server, id: &Raw) {
        const NEEDED_BY: [Fault; 3] =
            [Fault::CompletedCancelFatal, Fault::StrayCancelAnswered, Fault::StrayCancelAnsweredOverHttp];
        if NEEDED_BY.iter().any(|fault| server.has(*fault)) {
            lock(&self.inner).begun.insert(id.key());
        }
    }

    /// Whether a request was taken up and is no longer worked on.
    pub(crate) fn is_over(&self, id: &Raw) -> bool {
        lock(&self.inner).begun.contains(&id.key()) && !self.flights.has(id)
    }

    /// Whether the client is at the other end of a pipe.
    pub(crate) fn is_over_pipe(&self) -> bool {
        self.general.is_some()
    }

    /// What a fault does that ends everything: the process over a pipe, the session over HTTP, where others go on.
    pub(crate) fn fail(&self, server: &Server) {
        match &self.general {
            Some(_) => server.fatal.cancel(),
            None => drop(server.remove_session(&self.id)),
        }
    }
}

fn own_id(server: &Server, number: u64) -> Raw {
    match () {
        () if server.has(Fault::OwnIdNull) => Raw::from_text("null".to_owned()),
        () if server.has(Fault::OwnIdReused) => Raw::number(1),
        () if server.has(Fault::OwnIdFractional) => Raw::from_text(format!("{number}.5")),
        () => Raw::number(number),
    }
}

/// A request of the server's own; if it is given up, the client is told.
struct Waiting<'a> {
    server: &'a Server,
    session: &'a Session,
    outlet: &'a Outlet,
    id: Raw,
    open: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.open {
            lock(&self.session.inner).pending.remove(&self.id.key());
            if self.server.bug(Bug::AnswerAfterCancel) {
                lock(&self.session.notebook).given_up.insert(self.id.key());
            }
            let params = Body::from(json!({"reason": "the answer is no longer needed"}));
            self.outlet.notify("notifications/cancelled", params.raw("requestId", self.id.clone()));
        }
    }
}
