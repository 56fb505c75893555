//! What a server with a deep bug remembers: a [`Notebook`] of the server, and one of each legacy session.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::bugs::Bug;
use crate::server::{Outlet, Server, lock};

/// How much a cancelled call leaves behind.
const LEFT_BEHIND: usize = 1 << 20;

/// Only bugs read and write this.
#[derive(Default)]
pub(crate) struct Notebook {
    /// The last methods, newest last.
    pub(crate) trail: Vec<String>,
    /// The ids of requests that were cancelled while they were worked on.
    pub(crate) cancelled: BTreeSet<String>,
    /// The ids of requests that were answered by an error.
    pub(crate) refused: BTreeSet<String>,
    /// The ids of own requests that were given up.
    pub(crate) given_up: BTreeSet<String>,
    /// The requests during which a notification came.
    pub(crate) interrupted: Vec<String>,
    /// The requests whose answers are not sent.
    pub(crate) lost: BTreeSet<String>,
    /// The requests being worked on by their progress token.
    pub(crate) tokens: BTreeMap<String, BTreeSet<String>>,
    /// The requests that are answered twice.
    pub(crate) doubled: BTreeSet<String>,
    pub(crate) float_seen: bool,
    pub(crate) modern_seen: bool,
    pub(crate) used_states: BTreeSet<String>,
    /// What was answered so far, by what the flow is bound to.
    pub(crate) answers: BTreeMap<String, Map<String, Value>>,
    /// Arguments of prompts that somebody used.
    pub(crate) names: BTreeSet<String>,
    /// Where the answer to a request goes, by its id alone.
    pub(crate) routes: BTreeMap<String, Outlet>,
    pub(crate) kept: Vec<Vec<u8>>,
    pub(crate) files: Vec<File>,
}

impl Notebook {
    /// Notes a method; says whether the last ones are these.
    pub(crate) fn ends_with(&mut self, method: &str, path: &[&str]) -> bool {
        self.trail.push(method.to_owned());
        if self.trail.len() > path.len() {
            self.trail.remove(0);
        }
        self.trail == path
    }

    /// Opens a file and keeps it.
    pub(crate) fn open_file(&mut self) {
        let opened = std::env::current_exe().and_then(File::open);
        self.files.extend(opened);
    }

    /// Begins a request under its token; one that comes second under it is answered twice.
    pub(crate) fn begin(&mut self, id: String, token: String) {
        let others = self.tokens.entry(token).or_default();
        if !others.is_empty() {
            self.doubled.insert(id.clone());
        }
        others.insert(id);
    }

    /// Ends a request; says whether it is answered twice.
    pub(crate) fn end(&mut self, id: &str) -> bool {
        for ids in self.tokens.values_mut() {
            ids.remove(id);
        }
        self.tokens.retain(|_, ids| !ids.is_empty());
        self.doubled.remove(id)
    }
}

/// The working space of a call, which a bug does not give back if the call is cancelled.
pub(crate) struct Scratch {
    server: Arc<Server>,
    done: bool,
}

impl Scratch {
    pub(crate) fn new(server: &Arc<Server>) -> Self {
        Self { server: server.clone(), done: !server.bug(Bug::CancelledCallsKept) }
    }

    pub(crate) fn done(mut self) {
        self.done = true;
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.done {
            // Not of zeros, which the system would give without memory behind them.
            lock(&self.server.notebook).kept.push(vec![1; LEFT_BEHIND]);
        }
    }
}
