//! Opening a conversation: starting or reaching the server, and the handshake where the era has one.

use std::{fmt, sync::Arc, time::Duration};

use mcp_conform_schemas::{Era, Revision};
use serde_json::{Value, json};
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

use super::{
    answer::{Answer, AnswerKind, Ticket},
    bench::Bench,
    envelope::{Call, client_info},
    link::{Link, LinkError},
    memory::{MemoryPipes, MemoryServer},
    talk::{Conversation, Opening, SendError, response_header},
};
use crate::{
    process::{CommandSpec, StartError},
    trace::{Body, DEFAULT_BUDGET, Direction, Event, Recorder, Transport},
    transport::{Endpoint, HttpClient, Limits, Stdio},
};

/// How the server is reached.
#[derive(Clone, Debug)]
pub enum Target {
    Http(Endpoint),
    Stdio(StdioTarget),
}

#[derive(Clone)]
pub enum StdioTarget {
    /// A server inside this process, over in-memory pipes.
    Memory(Arc<dyn MemoryServer>),
    Process(CommandSpec),
}

impl fmt::Debug for StdioTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(_) => f.write_str("Memory"),
            Self::Process(command) => f.debug_tuple("Process").field(command).finish(),
        }
    }
}

impl Target {
    pub fn transport(&self) -> Transport {
        match self {
            Self::Http(_) => Transport::Http,
            Self::Stdio(_) => Transport::Stdio,
        }
    }

    /// Command line or URL, for reports. Secrets are replaced by the caller.
    pub fn name(&self) -> String {
        match self {
            Self::Http(endpoint) => endpoint.url.to_string(),
            Self::Stdio(StdioTarget::Memory(_)) => "in memory".to_owned(),
            Self::Stdio(StdioTarget::Process(command)) => command.to_string(),
        }
    }
}

/// Why a conversation could not be opened. The trace of the attempt is kept.
#[derive(Debug)]
pub struct OpenError {
    pub kind: OpenErrorKind,
    /// `None` when nothing was started.
    pub conversation: Option<Conversation>,
}

impl OpenError {
    /// The handshake was answered by a result, and that result cannot be used: the server means to serve the era.
    pub fn meant_to_serve(&self) -> bool {
        match &self.kind {
            OpenErrorKind::Refused(answer) => answer.kind == AnswerKind::Result,
            OpenErrorKind::UnknownVersion(_) => true,
            OpenErrorKind::Send(_) | OpenErrorKind::Start(_) => false,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum OpenErrorKind {
    #[error("{0}")]
    Start(#[from] StartError),
    #[error(transparent)]
    Send(#[from] SendError),
    /// `initialize` got something else than an `InitializeResult`.
    #[error("initialize was answered with {}", .0.describe())]
    Refused(Answer),
    /// A version that no published revision has.
    #[error("initialize was answered with protocolVersion {0}, which no published revision has")]
    UnknownVersion(String),
}

/// Reaches the server and, in the legacy era, shakes hands.
pub async fn open(target: &Target, bench: &Arc<Bench>, opening: Opening) -> Result<Conversation, OpenError> {
    let talk = connect(target, bench, opening).await.map_err(|kind| OpenError { kind, conversation: None })?;
    match talk.era() {
        Era::Modern => {
            if let Ok(version) = talk.opening().version().parse::<Revision>() {
                talk.settle(version, Value::Null, None);
            }
            Ok(talk)
        }
        Era::Legacy => match shake_hands(&talk).await {
            Ok(()) => Ok(talk),
            Err(kind) => Err(OpenError { kind, conversation: Some(talk) }),
        },
    }
}

/// Reaches the server and says nothing.
pub async fn connect(target: &Target, bench: &Arc<Bench>, opening: Opening) -> Result<Conversation, OpenErrorKind> {
    let recorder = Recorder::new(bench.secrets.clone(), bench.limits, DEFAULT_BUDGET);
    let limits = Limits { wire: bench.limits, ..Limits::default() };
    let link = match target {
        Target::Http(endpoint) => Link::Http(HttpClient::new(endpoint.clone(), recorder.clone(), limits)),
        Target::Stdio(StdioTarget::Process(command)) => {
            let turn = bench.turn_to_start().await;
            bench.count_start();
            let stdio = Stdio::start(command, recorder.clone(), limits)?;
            tokio::spawn(until_up(recorder.clone(), turn, bench.longest_turn()));
            Link::Stdio(Box::new(stdio))
        }
        Target::Stdio(StdioTarget::Memory(server)) => {
            bench.count_start();
            let MemoryPipes { stdin, stdout, exit, signals } = server.start();
            Link::Stdio(Box::new(Stdio::over_signalled(stdin, stdout, exit, signals, recorder.clone(), limits)))
        }
    };
    let name = bench.secrets.redact_text(&target.name());
    Ok(Conversation::over(link, recorder, bench.clone(), opening, name))
}

/// Holds a turn to start until the process has said its first line, has ended, or is so late that it hardly works.
async fn until_up(recorder: Recorder, turn: Option<OwnedSemaphorePermit>, longest: Duration) {
    let up = |event: &Arc<Event>| match &event.body {
        Body::StdoutEnded | Body::Drained => Some(()),
        Body::Line(line) => (line.direction == Direction::In).then_some(()),
        _ => None,
    };
    // Whether it came or not: the turn goes on.
    let _ = recorder.wait(0, Instant::now() + longest, up).await;
    drop(turn);
}

/// `initialize`, `notifications/initialized` and, over HTTP, the GET stream that a client keeps open.
async fn shake_hands(talk: &Conversation) -> Result<(), OpenErrorKind> {
    talk.mark("", "initialize", "");
    let (ticket, answer) = talk.request(initialize(talk.opening()), Some(talk.bench().deadlines.start)).await?;
    settle(talk, &ticket, answer)?;

    let initialized = Call { method: "notifications/initialized".to_owned(), ..Call::default() };
    let ticket = talk.notify(initialized).await?;
    if talk.transport() == Transport::Http {
        // The next message may overtake a POST that is still on its way.
        talk.answer(&ticket, None).await;
        let headers = vec![("accept".to_owned(), Some(b"text/event-stream".to_vec()))];
        talk.http("GET", None, headers, bytes::Bytes::new(), false).await?;
    }
    Ok(())
}

/// One `initialize` that asks for a version on a connection of its own, and what came of it.
#[derive(Clone, Debug)]
pub struct Handshake {
    pub asked: String,
    pub talk: Conversation,
    /// Event of the request; `None` where the connection was gone before it.
    pub sent: Option<u64>,
    pub answer: Answer,
}

impl Handshake {
    /// The version that the server answered, whatever it is.
    pub fn version(&self) -> Option<String> {
        self.answer.result()?.get("protocolVersion")?.as_str().map(str::to_owned)
    }
}

/// Asks for a version and goes no further; `case` is what the trace names as the reason. The conversation is to be ended by
/// the caller.
pub async fn ask_for_version(
    target: &Target,
    bench: &Arc<Bench>,
    version: &str,
    case: &str,
) -> Result<Handshake, OpenErrorKind> {
    let opening = Opening { version: Some(version.to_owned()), ..Opening::new(Era::Legacy) };
    let call = initialize(&opening);
    let talk = connect(target, bench, opening).await?;
    talk.mark(case, "ask for a version", version);
    let (ticket, answer) = match talk.request(call, Some(bench.deadlines.start)).await {
        Ok((ticket, answer)) => (Some(ticket), answer),
        // Whoever closes the connection does not negotiate.
        Err(SendError::Link(LinkError::Write(_))) => (None, Answer::closed(None)),
        Err(error) => return Err(error.into()),
    };
    let sent = ticket.as_ref().map(|ticket| ticket.event);
    // A session that was opened can then be closed as well; an answer that settles nothing needs no more.
    let _ = ticket.map(|ticket| settle(&talk, &ticket, answer.clone()));
    Ok(Handshake { asked: version.to_owned(), talk, sent, answer })
}

/// Takes over what an answer to `initialize` settles: version, capabilities and session.
pub fn settle(talk: &Conversation, ticket: &Ticket, answer: Answer) -> Result<(), OpenErrorKind> {
    let result = match answer.kind {
        AnswerKind::Result => answer.result().unwrap_or_default(),
        _ => return Err(OpenErrorKind::Refused(answer)),
    };
    let Some(version) = result.get("protocolVersion").and_then(Value::as_str) else {
        return Err(OpenErrorKind::Refused(answer));
    };
    let version: Revision = version.parse().map_err(|_| OpenErrorKind::UnknownVersion(version.to_owned()))?;
    let capabilities = result.get("capabilities").cloned().unwrap_or_default();
    let session = response_header(&talk.events(), ticket.exchange, "mcp-session-id");
    talk.settle(version, capabilities, session);
    Ok(())
}

/// The `initialize` request of an opening.
fn initialize(opening: &Opening) -> Call {
    Call {
        method: "initialize".to_owned(),
        params: Some(
            json!({
                "protocolVersion": opening.version(),
                "capabilities": opening.capabilities,
                "clientInfo": client_info(),
            })
            .into(),
        ),
        ..Call::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{conversation::Deadlines, process::CommandSpec, trace::Secrets, wire};

    #[cfg(unix)]
    #[tokio::test]
    async fn an_output_that_was_closed_before_the_request_is_not_waited_for() {
        // It lives on.
        let server = CommandSpec::new("sh", ["-c", "exec >&-; exec sleep 600"]);
        let bench = Arc::new(Bench::new(Deadlines::default(), wire::Limits::default(), Arc::new(Secrets::default())));
        let target = Target::Stdio(StdioTarget::Process(server));
        let talk = connect(&target, &bench, Opening::new(Era::Legacy)).await.unwrap();
        let long = Instant::now() + Duration::from_secs(60);
        let closed = |event: &Arc<Event>| matches!(event.body, Body::StdoutEnded).then_some(());
        talk.recorder().wait(0, long, closed).await.unwrap();
        let (_, answer) = talk.request(initialize(talk.opening()), Some(Duration::from_secs(600))).await.unwrap();
        assert_eq!(answer.describe(), "the end of stdout (the server closed it)");
        talk.drop_connection().await;
    }
}
