//! [`Repro`]: where the server is, as a shell finds it, and the two lines that provoke a finding again.

use std::sync::Arc;

use mcp_conform_schemas::{Era, Revision};
use url::Url;

use super::{
    choice::{borrows, choose},
    curl, pipe, shell,
};
use crate::{
    script::Sources,
    trace::{Body, Event, Transport},
};

/// Longer ones are for nobody to copy; the trace has them.
const LONGEST: usize = 16 * 1024;

/// How the target is reached, for lines that provoke something again.
#[derive(Clone, Debug, Default)]
pub struct Repro {
    /// `--server '…'` or `--url …`, quoted for a shell.
    pub target: String,
    pub place: Place,
}

/// Where the server is, for a shell. Nothing for one in memory.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The command of a server over stdio.
    pub stdio: Option<String>,
    pub http: Option<WebPlace>,
}

/// A server at a URL.
#[derive(Clone, Debug)]
pub struct WebPlace {
    /// The URL as a word of the shell.
    pub(super) url: String,
    /// Scheme, host and port, as a word that something may follow.
    pub(super) origin: String,
    /// Path and query.
    pub(super) path: String,
    /// The value of the Host header.
    pub(super) authority: String,
    /// For raw bytes; not with TLS.
    pub(super) telnet: Option<String>,
    /// Further options of curl, each with a space before it.
    pub(super) options: String,
    /// The command that starts it.
    pub(super) serve: Option<String>,
}

impl WebPlace {
    /// `shown` is the URL without secrets.
    pub fn new(url: &Url, shown: &str, options: String, serve: Option<String>) -> Option<Self> {
        let none = shell::Variables::default();
        let host = url.host_str()?;
        let authority = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let port = url.port_or_known_default()?;
        Some(Self {
            url: shell::word(shown.as_bytes(), &none)?,
            origin: format!("{}://{authority}", url.scheme()),
            path: format!("{}{query}", url.path()),
            telnet: (url.scheme() == "http").then(|| format!("telnet://{host}:{port}")),
            authority,
            options,
            serve,
        })
    }
}

impl Repro {
    /// A run of ours that plays the named cases and rules.
    pub fn command<'a>(&self, revision: Revision, checks: impl IntoIterator<Item = &'a str>) -> String {
        // A server that a configuration names alone needs no flag.
        let target = if self.target.is_empty() { String::new() } else { format!(" {}", self.target) };
        let mut line = format!("mcp-conform run{target} --revision {revision}");
        for check in checks {
            line.push_str(&format!(" --case {check}"));
        }
        line
    }

    /// A shell line that needs nothing of ours; nothing where no line can say it. `others` are further conversations that
    /// took part.
    pub fn by_hand(&self, events: &[Arc<Event>], sources: &Sources, others: &[Vec<Arc<Event>>]) -> Option<String> {
        let (era, transport) = events.iter().find_map(|event| match &event.body {
            Body::Opened(opened) => Some((opened.era, opened.transport)),
            _ => None,
        })?;
        // Sessions touch each other in ways that no trace of one of them shows.
        if era == Era::Legacy && !others.is_empty() {
            return None;
        }
        let moment = super::choice::Moment { sent: sources.sent, last: sources.sent.max(sources.received) };
        let choice = choose(events, moment)?;
        if others.iter().any(|other| borrows(&choice.said, other)) {
            return None;
        }
        let line = match transport {
            Transport::Stdio => pipe::pipeline(events, &choice, self.place.stdio.as_deref()?),
            Transport::Http => curl::lines(events, &choice, self.place.http.as_ref()?)?,
        };
        (line.len() <= LONGEST).then_some(line)
    }
}
