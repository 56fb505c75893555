//! How a reference server is set up: [`Config`] holds what a personality may vary (eras, answer form, sessions, paging)
//! and the faults that it was asked to have. What a fault does lives where the behaviour is; the table is in `faults`.

use std::time::Duration;

use crate::bugs::Bug;
use crate::faults::Faults;

/// The revision that is served without a handshake.
pub(crate) const MODERN: &str = "2026-07-28";

/// The revisions that `initialize` can settle on, oldest first.
pub const LEGACY_VERSIONS: &[&str] = &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Everything that one server can be told before it starts.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which eras are served.
    pub eras: Eras,
    /// How a request is answered over HTTP.
    pub answers: AnswerForm,
    /// Whether legacy HTTP clients get a session.
    pub sessions: bool,
    /// Whether legacy event streams carry ids and can be resumed.
    pub resumable: bool,
    /// Whether nothing is offered beside what every server has to: no tools, resources, prompts, completion or logging.
    pub bare: bool,
    /// Whether an extension of a vendor's own is advertised (2026-07-28).
    pub extension: bool,
    /// Whether a notification over stdio ends the process while its era is open: before `initialize` and before the first
    /// request of a feature of 2026-07-28. A notification says no revision, and `server/discover` may be a mere probe.
    pub settles_era: bool,
    /// Items on one page of a list; `None` sends every list whole.
    pub page_size: Option<usize>,
    /// What is broken on purpose.
    pub faults: Faults,
    /// The deep bug that it has; see [`crate::bugs`].
    pub bug: Option<Bug>,
    /// Origins that are accepted besides those of the loopback hosts.
    pub allowed_origins: Vec<String>,
    /// The bearer token that every HTTP request has to bring; `None` lets everybody in.
    pub token: Option<String>,
    /// Whether only the HTTP+SSE transport of 2024-11-05 is offered, and of that just its first event.
    pub old_transport: bool,
    /// The legacy versions that are negotiated.
    pub strict_legacy_versions: Vec<&'static str>,
    /// Whether a client that declared roots is asked for them after the handshake.
    pub asks_roots: bool,
    /// After how long the server ends a subscription by itself; `None` leaves that to the client.
    pub listen_limit: Option<Duration>,
    /// How long a request of the server's own may stay unanswered.
    pub request_timeout: Duration,
    /// How long an input request's state is good for.
    pub state_lifetime: Duration,
    /// The longest message that is read.
    pub max_message: usize,
    /// The key that seals cursors and states. It is the same in every process by default, so that a state survives a
    /// restart; a server that guards anything real needs a secret one.
    pub key: Vec<u8>,
}

/// Which eras a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eras {
    /// Both, told apart message by message.
    Dual,
    /// Only what starts with `initialize`.
    LegacyOnly,
    /// Only what carries its metadata in every request.
    ModernOnly,
}

/// How a request is answered over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerForm {
    /// An event stream for a request that emits messages, JSON for all others.
    Auto,
    /// JSON wherever the protocol allows it: progress and log messages are left out.
    Json,
    /// An event stream for every request that is served.
    Sse,
}

/// A way to reach the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Standard input and output.
    Stdio,
    /// Streamable HTTP.
    Http,
}

/// The smallest setting in which a fault shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// A rewritten trace suffices.
    T0,
    /// An exchange with the library over an in-memory pipe.
    T1,
    /// A real process or socket.
    T2,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            eras: Eras::Dual,
            answers: AnswerForm::Auto,
            sessions: true,
            resumable: true,
            bare: false,
            extension: false,
            settles_era: false,
            page_size: Some(3),
            faults: Faults::none(),
            bug: None,
            allowed_origins: Vec::new(),
            token: None,
            old_transport: false,
            strict_legacy_versions: LEGACY_VERSIONS.to_vec(),
            asks_roots: true,
            listen_limit: None,
            request_timeout: Duration::from_secs(60),
            state_lifetime: Duration::from_secs(600),
            max_message: 16 * 1024 * 1024,
            key: b"mcp-reference-server: a key for tests, known to everybody".to_vec(),
        }
    }
}

impl Config {
    pub(crate) fn newest_legacy(&self) -> &'static str {
        self.strict_legacy_versions.iter().copied().max().unwrap_or("2025-11-25")
    }

    pub(crate) fn legacy_version(&self, name: &str) -> Option<&'static str> {
        self.strict_legacy_versions.iter().copied().find(|version| *version == name)
    }
}
