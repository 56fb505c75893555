//! The case language as types: what a parsed script holds.
//!
//! [`Case`] is the root and [`Step`] the closed list of what a script can do. The parser lowers YAML into these types and
//! nothing else builds them; the interpreter in `mcp-conform` walks them. Every node that a message may have to point at
//! carries the byte range where it stood.

use std::{ops::Deref, sync::Arc, time::Duration};

use mcp_conform_schemas::Revision;

/// A byte range in the script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

/// A node and where it stood.
#[derive(Clone, Debug, PartialEq)]
pub struct Spanned<T> {
    pub node: T,
    pub span: Span,
}

impl<T> Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.node
    }
}

/// The script's text and the name to show for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    pub name: Arc<str>,
    pub text: Arc<str>,
}

/// One script.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Stable slug, unique over the suite.
    pub id: Spanned<String>,
    pub title: String,
    /// Why the case is there and how it provokes what it judges; shown by `explain`.
    pub about: Option<String>,
    /// The judged revisions that it is for, in order.
    pub revisions: Vec<Revision>,
    /// Defaults to both.
    pub transports: Vec<Transport>,
    pub needs: Vec<Spanned<Need>>,
    /// How the conversation called `main` is set up.
    pub conversation: Setup,
    pub steps: Vec<Spanned<Step>>,
    pub source: Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    Http,
    Stdio,
}

/// A fact about the target without which the case does not apply (`Capability`, `Era`, `Lacks`, `Loopback`) or cannot be provoked
/// (all others).
#[derive(Clone, Debug, PartialEq)]
pub enum Need {
    /// A server capability by its dotted path, such as `resources.subscribe`.
    Capability(String),
    Era(ServedEras),
    /// A server capability that is not declared.
    Lacks(String),
    /// The server implements the official suite's fixture contract.
    Fixture,
    /// The URL is on a loopback address.
    Loopback,
    /// SSE events of the server carry ids and a GET with Last-Event-ID is answered.
    Resumable,
    /// The server issued a session id.
    Session,
    /// The user gave a credential.
    Token,
    /// A tool of a certain kind, bound to a variable. Tools of one case are distinct.
    Tool {
        name: String,
        kind: ToolKind,
    },
}

/// Which eras the target was seen to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedEras {
    Dual,
    LegacyOnly,
    ModernOnly,
}

/// What a tool must be, beside callable under the user's side-effect rules with arguments that it accepted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolKind {
    /// The list of tools changes when it is called, and the server says so.
    pub changes_list: bool,
    /// Asks the client for something while it is called, when the client declared that it can.
    pub asks: Option<InputKind>,
    /// Hands out a `requestState`.
    pub state: bool,
    /// Sends progress when given a token.
    pub progress: bool,
    /// May be called as a task.
    pub task: bool,
    /// Has a required argument with a type.
    pub required_argument: bool,
    pub output_schema: bool,
    /// Its inputSchema requires no argument.
    pub nothing_required: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InputKind {
    Elicitation,
    Roots,
    Sampling,
}

/// How a conversation is opened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setup {
    /// A process or session of its own even where one could be shared.
    pub fresh: bool,
    /// Client capabilities: of `initialize` in the legacy era, of each request in the modern one. `None`: the default of
    /// the suite, which declares nothing.
    pub capabilities: Option<Spanned<Template>>,
    /// The answering side, by server-to-client method (`*` for every other one).
    pub answers: Vec<(String, AnswerPolicy)>,
    /// Legacy era: the connection is made and nothing is said, so that the script shakes hands by itself.
    pub silent: bool,
}

/// What happens to a request (or an embedded input request) of the server.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum AnswerPolicy {
    /// A sound answer made from the request.
    #[default]
    Answer,
    Cancel,
    Decline,
    Delay(Duration),
    /// A JSON-RPC error of this code.
    Error(i64),
    /// Left unanswered.
    Hold,
    /// A result that its type does not allow.
    Malformed,
}

/// A value with holes. A string that starts with `$` is a variable; `$$` escapes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Template {
    /// Anything without a hole.
    Literal(serde_json::Value),
    /// `{json: '…'}`: text that goes out as it stands, because no parser would keep it.
    Raw(String),
    /// `$name` or `$name/json/pointer`.
    Variable(Variable),
    Array(Vec<Template>),
    Object(Vec<(String, Template)>),
    /// `{flip: $name/pointer, at: N}`: a text with one bit of what it encodes changed.
    Flipped {
        value: Box<Template>,
        at: u64,
    },
    /// A header value in its Base64 form, between `=?mark?` and `?=`.
    Sentinel {
        mark: String,
        value: Box<Template>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    /// JSON Pointer, empty for the whole value.
    pub pointer: String,
    pub span: Span,
}

/// A value that may differ between the two judged revisions.
#[derive(Clone, Debug, PartialEq)]
pub enum ByRevision<T> {
    Same(T),
    Each(Vec<(Revision, T)>),
}

impl<T> ByRevision<T> {
    pub fn of(&self, revision: Revision) -> Option<&T> {
        match self {
            Self::Same(value) => Some(value),
            Self::Each(each) => each.iter().find(|(r, _)| *r == revision).map(|(_, value)| value),
        }
    }

    pub fn values(&self) -> impl Iterator<Item = &T> {
        let (same, each) = match self {
            Self::Same(value) => (Some(value), &[][..]),
            Self::Each(each) => (None, each.as_slice()),
        };
        same.into_iter().chain(each.iter().map(|(_, value)| value))
    }
}

/// A catalogue id, or `own/…` in a user's own case.
pub type RequirementRef = ByRevision<Spanned<String>>;

/// A request as the script sees it: the conversation supplies the envelope.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub method: ByRevision<Spanned<String>>,
    pub params: Option<Spanned<Template>>,
    /// Forces the JSON-RPC id.
    pub id: Option<Spanned<Template>>,
    /// Asks for progress under this token.
    pub token: Option<Spanned<Template>>,
    /// Client capabilities of this request alone (modern era).
    pub capabilities: Option<Spanned<Template>>,
    /// Headers added or replaced (`Some`) or left out (`None`) over HTTP.
    pub headers: Vec<(String, Option<Spanned<Template>>)>,
}

/// The one change of a probe.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Client capabilities of the request (modern era).
    Capabilities(Template),
    /// One header replaced, added (`Some`) or left out (`None`); the body stays.
    Header { name: String, value: Option<Template> },
    /// A member of the whole message removed. Mirrored headers follow the body, except below `/params/_meta`.
    Remove { pointer: String },
    /// A member of the whole message set. Mirrored headers follow the body, except below `/params/_meta`.
    Set { pointer: String, value: Template },
    /// The claimed protocol version, in `_meta` and header alike, or in the header of a legacy conversation.
    Version(Template),
}

/// Something seen, and what it means.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub requirement: RequirementRef,
    /// Judged only where this holds; else not-verified with `unless`.
    pub given: Option<See>,
    /// The reason shown when `given` does not hold.
    pub unless: Option<String>,
    /// The first that matches decides; none: the requirement is broken.
    pub outcomes: Vec<Outcome>,
    /// What to say when it is broken, in the words of the case.
    pub says: Option<String>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub name: String,
    pub see: See,
    pub verdict: OutcomeVerdict,
    /// Said with the verdict; a must for `not-verified` and `contested`.
    pub reason: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeVerdict {
    Contested,
    /// Broken: fail, warn or advice, as the catalogue grades the requirement.
    Fail,
    NotVerified,
    Pass,
    /// Broken in a form that warns at most, whatever the grade.
    Warn,
}

/// What an answer looks like. Every member that is given must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct See {
    pub class: Option<Class>,
    pub result: Option<Matcher>,
    pub error: Option<SeeError>,
    /// HTTP statuses of which one must be met; over stdio the member holds by itself.
    pub status: Vec<StatusRange>,
    /// Response headers, by name in any case; `absent` by [`Matcher::Absent`]. Hold by themselves over stdio.
    pub headers: Vec<(String, Matcher)>,
    /// The text of the HTTP response's body, absent if it is empty; holds by itself over stdio.
    pub body: Option<Matcher>,
    pub id: Option<SeeId>,
    /// Messages seen for this request beside its response: on its HTTP stream, or attributed by token and tag on stdio.
    pub messages: Vec<SeeMessages>,
    pub any_of: Vec<See>,
    pub not: Option<Box<See>>,
    /// Holds over this transport only: for an outcome that the other transport cannot have.
    pub over: Option<Transport>,
    pub span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A JSON-RPC result.
    Accepted,
    /// Whatever came, silence included.
    Anything,
    /// Any message or HTTP response at all.
    Answered,
    /// The process ended or the connection broke before an answer.
    Closed,
    /// A JSON-RPC error, or an HTTP status of 400 and above.
    Refused,
    /// Nothing within the deadline.
    Silence,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeeError {
    /// Codes of which one must be met; empty: any.
    pub code: Vec<i64>,
    pub data: Option<Matcher>,
    pub message: Option<Matcher>,
}

/// Inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatusRange {
    pub from: u16,
    pub to: u16,
}

/// How the id of the response compares with the request's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeeId {
    /// No id member.
    Absent,
    Null,
    /// The same number after rounding to a double, but not the same number.
    Rounded,
    /// Same JSON type and value.
    Same,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SeeMessages {
    Any(Matcher),
    First(Matcher),
    None(Matcher),
}

/// A pattern over one JSON value. Objects are open: members that the pattern does not name may be there. Arrays and
/// scalars match whole; strings and numbers are distinct, `7` and `7.0` are the same number.
#[derive(Clone, Debug, PartialEq)]
pub enum Matcher {
    /// `$absent`: the member is not there.
    Absent,
    /// `$any`: there, whatever it is.
    Any,
    Array(Vec<Matcher>),
    /// `{$contains: m}`: an array with at least one element, or an object with at least one member value, that matches.
    Contains(Box<Matcher>),
    /// `{$each: m}`: every element or member value matches.
    Each(Box<Matcher>),
    Literal(serde_json::Value),
    /// `{$matches: regex}` on a string, unanchored.
    Matches(String),
    /// `{$not: m}`.
    Not(Box<Matcher>),
    Object(Vec<(String, Matcher)>),
    /// `{$one_of: [m, …]}`.
    OneOf(Vec<Matcher>),
    /// `{$min: n}`, `{$max: n}`, or both, on a number.
    Range {
        min: Option<f64>,
        max: Option<f64>,
    },
    /// `{$type: string}`: string, number, integer, boolean, array, object or null.
    Type(JsonType),
    /// `$name` or `$name/pointer`: equal to that value.
    Variable(Variable),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonType {
    Array,
    Boolean,
    Integer,
    Null,
    Number,
    Object,
    String,
}

/// What a script can do. The list is closed: a new step is a variant and one arm wherever the compiler asks.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Answers a request of the server that a policy held, by its handle.
    Answer {
        of: Spanned<String>,
        with: Spanned<Template>,
    },
    Await(Await),
    /// `notifications/cancelled` for a request in flight; closes its stream in the modern era over HTTP.
    Cancel {
        of: Spanned<String>,
    },
    Check(NamedCheck),
    /// Closes stdin and leaves the process alone.
    CloseStdin {
        on: ConversationRef,
    },
    /// Closes our side of the HTTP exchange of a request.
    CloseStream {
        of: Spanned<String>,
    },
    /// Ends a conversation without good-bye: the process is killed, the connections dropped.
    DropConnection {
        on: ConversationRef,
    },
    Expect(Expect),
    ExpectExit(ExpectExit),
    ExpectNothing(ExpectNothing),
    ForEach(ForEach),
    Http(Http),
    HttpRaw(HttpRaw),
    Notify(Notify),
    Open(Open),
    /// Branches run side by side; all end before the next step.
    Parallel(Vec<Vec<Spanned<Step>>>),
    Probe(Probe),
    /// Bytes written to stdin as they stand.
    Raw(Raw),
    /// `send` and `await` in one.
    Request(RequestStep),
    Require(Require),
    /// The next round of a multi round-trip request, built from its last answer.
    Retry(Retry),
    Send(Send),
    Signal {
        on: ConversationRef,
        signal: ProcessSignal,
    },
    Snapshot {
        of: Spanned<String>,
        name: String,
    },
}

/// A conversation by name; `None` is `main`.
pub type ConversationRef = Option<Spanned<String>>;

#[derive(Clone, Debug, PartialEq)]
pub struct Open {
    pub name: Spanned<String>,
    pub setup: Setup,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Send {
    pub on: ConversationRef,
    pub request: Request,
    /// The handle's name.
    pub handle: Spanned<String>,
    /// Pointers of what is wrong on purpose in the message; `headers/NAME` for an HTTP header.
    pub wrong: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RequestStep {
    pub on: ConversationRef,
    pub request: Request,
    pub handle: Option<Spanned<String>>,
    pub wrong: Vec<String>,
    pub within: Option<Duration>,
    pub judgements: Vec<Judgement>,
    pub captures: Vec<Capture>,
}

/// A variable taken out of an answer's message by JSON Pointer.
#[derive(Clone, Debug, PartialEq)]
pub struct Capture {
    pub variable: String,
    pub pointer: String,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Await {
    pub target: AwaitTarget,
    pub within: Option<Duration>,
    pub judgements: Vec<Judgement>,
    pub captures: Vec<Capture>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AwaitTarget {
    /// The response to a request.
    Answer { of: Spanned<String> },
    /// A request or notification of the server; with `of`, one that belongs to that request.
    Message { on: ConversationRef, of: Option<Spanned<String>>, like: Matcher, handle: Option<Spanned<String>> },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Notify {
    pub on: ConversationRef,
    pub method: ByRevision<Spanned<String>>,
    pub params: Option<Spanned<Template>>,
    pub headers: Vec<(String, Option<Spanned<Template>>)>,
    pub handle: Option<Spanned<String>>,
    pub judgements: Vec<Judgement>,
    pub wrong: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Raw {
    pub on: ConversationRef,
    pub bytes: Vec<u8>,
    /// Offsets at which the bytes are cut into writes of their own; empty: one write.
    pub split: Vec<usize>,
}

/// An HTTP request of any kind to the server's endpoint. Session and version headers of the conversation are added unless
/// `bare`.
#[derive(Clone, Debug, PartialEq)]
pub struct Http {
    pub on: ConversationRef,
    pub method: String,
    /// Path and query instead of the endpoint's.
    pub path: Option<String>,
    pub bare: bool,
    pub headers: Vec<(String, Option<Spanned<Template>>)>,
    pub body: Option<Spanned<Template>>,
    pub handle: Option<Spanned<String>>,
    pub within: Option<Duration>,
    pub judgements: Vec<Judgement>,
    pub captures: Vec<Capture>,
}

/// Bytes written to a fresh TCP (or TLS) connection. `{host}` and `{path}` in the text stand for the endpoint's.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpRaw {
    pub on: ConversationRef,
    pub bytes: Vec<u8>,
    pub split: Vec<usize>,
    pub handle: Option<Spanned<String>>,
    pub within: Option<Duration>,
    pub judgements: Vec<Judgement>,
}

/// A base, sent unchanged as the control, and the base with exactly one change.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    pub on: ConversationRef,
    pub base: Request,
    pub change: Spanned<Change>,
    /// The handle of the changed request.
    pub handle: Option<Spanned<String>>,
    pub within: Option<Duration>,
    pub judgements: Vec<Judgement>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// The request whose answer was `input_required`.
    pub of: Spanned<String>,
    pub on: ConversationRef,
    /// Instead of the state that was given; `Some(None)` leaves it out.
    pub state: Option<Option<Spanned<Template>>>,
    /// Instead of what the answering policy makes of the input requests.
    pub responses: Option<Spanned<Template>>,
    /// How many of the responses are left out, from the first on.
    pub without: usize,
    /// Answers added to the responses, under keys of their own.
    pub also: Vec<(String, Spanned<Template>)>,
    /// The tool or prompt that is named instead of the first request's.
    pub name: Option<Spanned<Template>>,
    /// Pointers of what is wrong on purpose in the message; `headers/NAME` for an HTTP header.
    pub wrong: Vec<String>,
    pub handle: Option<Spanned<String>>,
    pub within: Option<Duration>,
    pub judgements: Vec<Judgement>,
    pub captures: Vec<Capture>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    pub subject: ExpectSubject,
    pub judgements: Vec<Judgement>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExpectSubject {
    /// The answer of a handle.
    Answer(Spanned<String>),
    /// A value, looked at as the result of an answer: `see: {result: …}`.
    Value(Spanned<Template>),
}

/// What must be there before judging can start; else the case's judgements from here on are not-verified.
#[derive(Clone, Debug, PartialEq)]
pub struct Require {
    pub what: Requirement,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a script has a handful of them")]
pub enum Requirement {
    Answer { of: Spanned<String>, see: See },
    Differ(Vec<Spanned<Template>>),
    Value { that: Spanned<Template>, is: Matcher },
}

/// Nothing that matches comes from here until the conversation has been drained to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectNothing {
    pub on: ConversationRef,
    /// Only what belongs to this request.
    pub of: Option<Spanned<String>>,
    pub like: Matcher,
    pub requirement: RequirementRef,
    pub says: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ExpectExit {
    pub on: ConversationRef,
    pub within: Option<Duration>,
    /// Exit codes of which one must be met; empty: any end.
    pub code: Vec<i32>,
    pub requirement: RequirementRef,
    pub says: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessSignal {
    Interrupt,
    Kill,
    Terminate,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ForEach {
    pub over: Spanned<LoopSource>,
    /// The first thing alone, where any would do.
    pub only_first: bool,
    /// The variable of the round.
    pub variable: String,
    pub steps: Vec<Spanned<Step>>,
}

/// Each round is a subject with its own verdicts.
#[derive(Clone, Debug, PartialEq)]
pub enum LoopSource {
    Boundary(Template),
    NearMiss(Template),
    Prompts(PromptKind),
    Resources,
    Templates,
    Tools(ToolKind),
    Valid(Template),
    Values(Vec<Template>),
}

/// Which prompts a loop goes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptKind {
    All,
    /// It declares an argument.
    Argument,
    /// Every argument may be left out.
    Optional,
    /// It has a required argument.
    Required,
}

/// A check written in Rust, for what data cannot say. Its roles are bound to requirements by the script.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedCheck {
    pub name: Spanned<String>,
    pub on: ConversationRef,
    pub with: Vec<(String, Spanned<Template>)>,
    pub judges: Vec<(Spanned<String>, RequirementRef)>,
}
