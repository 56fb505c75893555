//! The table of all deep bugs: [`Bug`] names one, [`BugInfo`] is its row.

use std::fmt;

use crate::config::Transport;
use crate::faults::nearest;

/// A revision's way to speak, as far as a bug depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// After `initialize`, in 2025-11-25.
    Legacy,
    /// Without a handshake, in 2026-07-28.
    Modern,
}

/// How a bug is seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shows {
    /// The process is gone.
    Death,
    /// A request is not answered, and nothing else was going on.
    Hang,
    /// A request is answered seconds too late, and everything waits for it.
    Slow,
    /// One of several requests is not answered.
    Lost,
    /// A request is answered twice.
    Doubled,
    /// An answer holds what belongs to another request.
    Swapped,
    /// An answer stands under an id that nobody gave.
    ForeignId,
    /// An answer is neither a result nor an error, but both.
    Malformed,
    /// A notification is answered.
    NotificationAnswered,
    /// Something on stdout is no message.
    Pollution,
    /// HTTP status 500.
    Status500,
    /// A stack trace or a path of the server's own in a message.
    Trace,
    /// What the schema or the seal forbids is accepted.
    Accepted,
    /// What is allowed is refused.
    Refused,
    /// What one conversation said is told to another.
    Leaked,
    /// A subscription that was ended is told of a change, or a message comes on another stream.
    Astray,
    /// Memory grows with each repetition.
    Memory,
    /// Open descriptors grow with each repetition.
    Descriptors,
    /// The process does not end with its input.
    UncleanExit,
}

/// What one deep bug is about.
#[derive(Clone, Copy, Debug)]
pub struct BugInfo {
    /// The bug itself.
    pub bug: Bug,
    /// Its name, which is also what the command line takes.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub what: &'static str,
    /// The eras in which it shows, each over each of the transports.
    pub eras: &'static [Era],
    /// The transports over which it shows.
    pub transports: &'static [Transport],
    /// The fewest messages of a client that show it, after the opening.
    pub messages: usize,
    /// How it is seen.
    pub shows: Shows,
    /// The real bug that it was made after, by repository and issue; `None` if it was made up.
    pub after: Option<&'static str>,
}

/// A name that no bug has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownBug {
    /// The name as it was given.
    pub name: String,
    /// The nearest name that a bug has, if one is near.
    pub suggestion: Option<&'static str>,
}

impl Bug {
    /// The bug of a name.
    pub fn parse(name: &str) -> Result<Self, UnknownBug> {
        let known = bugs().iter().find(|info| info.name == name).map(|info| info.bug);
        known.ok_or_else(|| UnknownBug {
            name: name.to_owned(),
            suggestion: nearest(name, bugs().iter().map(|info| info.name)),
        })
    }
}

impl fmt::Display for UnknownBug {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "there is no bug named {:?}", self.name)?;
        match self.suggestion {
            Some(suggestion) => write!(formatter, "; did you mean {suggestion:?}?"),
            None => write!(formatter, "; --list-bugs names them all"),
        }
    }
}

impl std::error::Error for UnknownBug {}

macro_rules! table {
    (@after) => {
        None
    };
    (@after $after:literal) => {
        Some($after)
    };
    ($(
        $bug:ident $name:literal [$($era:ident)+] [$($transport:ident)+] $messages:literal $shows:ident $what:literal
        $(after $after:literal)?;
    )*) => {
        /// One deep bug.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Bug {
            $(#[doc = $what] $bug,)*
        }

        /// All deep bugs.
        pub fn bugs() -> &'static [BugInfo] {
            &[$(BugInfo {
                bug: Bug::$bug,
                name: $name,
                what: $what,
                eras: &[$(Era::$era),+],
                transports: &[$(Transport::$transport),+],
                messages: $messages,
                shows: Shows::$shows,
                after: table!(@after $($after)?),
            }),*]
        }
    };
}

table! {
    ListingBetweenCompletions "listing-between-completions" [Legacy Modern] [Stdio] 3 Death
        "A completion panics when the templates were listed since the completion before it.";
    SumOverflow "sum-overflow" [Legacy Modern] [Stdio Http] 1 Death
        "The tool add panics when two integers have a sum beyond 64 bits.";
    DeepParams "deep-params" [Legacy Modern] [Stdio Http] 1 Death
        "Params that are nested more than 64 deep exhaust the stack."
        after "paiml/paiml-mcp-agent-toolkit#648";
    CursorOverflow "cursor-overflow" [Legacy Modern] [Stdio Http] 2 Death
        "Cursors are offsets without a seal, and one near 2^63 overflows with the size of the page."
        after "MongLong0214/logic-pro-mcp#218";
    SecondAnswerFirst "second-answer-first" [Modern] [Stdio Http] 2 Death
        "A retry that brings the second of two answers without the first panics.";
    AnswerAfterCancel "answer-after-cancel" [Legacy] [Stdio Http] 3 Death
        "The client's answer to a question of a call that it has cancelled since panics."
        after "MarkusPfundstein/mcp-gsuite#21";
    TaskForever "task-forever" [Legacy] [Stdio Http] 1 Death
        "The end of a task whose ttl is near 2^63 overflows.";
    ArrayOfAnswers "array-of-answers" [Legacy Modern] [Stdio Http] 1 Death
        "An array that begins with a response is taken for a batch of answers, and panics."
        after "huaweicloud/huaweicloud-devkit#565";
    CancelledCallsKept "cancelled-calls-kept" [Legacy Modern] [Stdio] 2 Memory
        "Each call of slow that is cancelled leaves a megabyte behind."
        after "mark3labs/mcp-go#756";
    SubscriptionsKeepFiles "subscriptions-keep-files" [Legacy Modern] [Stdio Http] 1 Descriptors
        "Each subscription opens a file that is never closed.";
    RefusedIdTaken "refused-id-taken" [Modern] [Stdio] 2 Hang
        "A request under the id of one that was answered by an error is never answered."
        after "apollographql/apollo-mcp-server#321";
    StateUsedTwice "state-used-twice" [Modern] [Stdio Http] 3 Hang
        "A requestState that comes a second time is never answered.";
    TemplateExpandsItself "template-expands-itself" [Legacy Modern] [Stdio Http] 1 Hang
        "An argument of a prompt that names an argument in braces is expanded for ever."
        after "modelcontextprotocol/rust-sdk#905";
    CancelledTaskAwaited "cancelled-task-awaited" [Legacy] [Stdio Http] 3 Hang
        "The result of a task that was cancelled is waited for for ever."
        after "modelcontextprotocol/java-sdk#130";
    BacktrackingPattern "backtracking-pattern" [Legacy Modern] [Stdio] 1 Slow
        "A pattern on the typed value backtracks on 28 letters or digits in a row, while nothing else is served.";
    AnswerLostBetween "answer-lost-between" [Legacy Modern] [Stdio] 3 Lost
        "A notification and another request during a call lose the answer to the call.";
    TokenAnswersTwice "token-answers-twice" [Legacy Modern] [Stdio] 2 Doubled
        "Of two calls at once under one progress token the second is answered twice.";
    LargeAnswerTwice "large-answer-twice" [Legacy Modern] [Stdio] 1 Doubled
        "An answer of more than 64 KiB is written twice."
        after "YawLabs/mcp-compliance 0.14.1";
    FlowsShareAnswers "flows-share-answers" [Modern] [Stdio Http] 3 Swapped
        "Flows of one tool with the same arguments share what was answered so far.";
    SessionsShareIds "sessions-share-ids" [Legacy] [Http] 2 Lost
        "Two sessions with one id in flight: the answer to the first goes to the second."
        after "modelcontextprotocol/python-sdk#3060";
    LongIdCut "long-id-cut" [Legacy Modern] [Stdio Http] 1 ForeignId
        "An id of more than 255 characters comes back cut."
        after "modelcontextprotocol/python-sdk#961";
    FloatIdTurnsIds "float-id-turns-ids" [Legacy Modern] [Stdio] 2 ForeignId
        "After an id that was written as a float, integers come back as strings."
        after "can1357/oh-my-pi#7107";
    CancelledTwice "cancelled-twice" [Legacy Modern] [Stdio] 3 Malformed
        "The second cancellation of a call is answered with a result and an error."
        after "modelcontextprotocol/python-sdk#2480";
    ReasonAnswered "reason-answered" [Legacy Modern] [Stdio] 1 NotificationAnswered
        "A cancellation whose reason is no text is answered."
        after "pgEdge/pgedge-postgres-mcp#142";
    TraceWarning "trace-warning" [Modern] [Stdio] 1 Pollution
        "A traceparent that is malformed is warned of on stdout."
        after "s-stefanov/actual-mcp#161";
    ProgressBar "progress-bar" [Legacy Modern] [Stdio] 1 Pollution
        "More than 100 steps of slow draw a progress bar on stdout."
        after "hustcc/mcp-mermaid#25";
    AstralPrefix "astral-prefix" [Legacy Modern] [Stdio Http] 1 Trace
        "Completing a value with a character beyond U+FFFF fails with a stack trace.";
    OddEscape "odd-escape" [Legacy Modern] [Stdio Http] 1 Trace
        "Reading a uri with a percent sign that begins no escape fails with a stack trace.";
    Charset "charset" [Legacy Modern] [Http] 1 Status500
        "A body in a charset other than UTF-8 is answered by status 500 and a stack trace."
        after "hoophq/hoop#1764";
    OddEventId "odd-event-id" [Legacy] [Http] 1 Status500
        "Taking up a stream behind an event id without a number is answered by status 500.";
    NextStreamReplayed "next-stream-replayed" [Legacy] [Http] 3 Astray
        "Behind the last event of a stream that has ended, the events of the next stream are replayed."
        after "modelcontextprotocol/servers#4099";
    OldestListensOn "oldest-listens-on" [Modern] [Stdio] 4 Astray
        "Ending the older of two subscriptions to the same things ends the newer one.";
    ListenersHoldProcess "listeners-hold-process" [Modern] [Stdio] 2 UncleanExit
        "With two subscriptions open the process does not end with its input."
        after "modelcontextprotocol/python-sdk#2231";
    LargeNumbersPass "large-numbers-pass" [Legacy Modern] [Stdio Http] 1 Accepted
        "A number beyond 2^53 is not held against its bounds."
        after "Ahmad-Faraj mcpprobe census";
    EnumCaseBlind "enum-case-blind" [Legacy Modern] [Stdio Http] 1 Accepted
        "Values of an enum are compared without regard to case.";
    StateTailOpen "state-tail-open" [Modern] [Stdio Http] 2 Accepted
        "The signature of a requestState covers its first 64 bytes only.";
    StateOfAnyContent "state-of-any-content" [Modern] [Stdio Http] 2 Accepted
        "A state that prompts/get handed out completes resources/read, and the reverse."
        after "agentfront/frontmcp#529";
    NamesRecalled "names-recalled" [Legacy Modern] [Http] 2 Leaked
        "Arguments that somebody used for a prompt are proposed to everybody."
        after "domdomegg/computer-use-mcp#64";
    ModernSticks "modern-sticks" [Legacy] [Stdio] 2 Refused
        "After one request of 2026-07-28 the session knows no ping any more.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn rows_are_whole() {
        let names: BTreeSet<&str> = bugs().iter().map(|info| info.name).collect();
        assert_eq!(names.len(), bugs().len());
        for info in bugs() {
            let kebab = info.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
            assert!(kebab && (1..=5).contains(&info.messages), "{}", info.name);
            assert!(info.what.ends_with('.') && info.what.len() < 110, "{}", info.name);
        }
        let real = bugs().iter().filter(|info| info.after.is_some()).count();
        assert!(bugs().len() >= 24 && real * 2 >= bugs().len(), "{real} of {}", bugs().len());
    }

    #[test]
    fn a_name_is_read_or_a_near_one_is_told() {
        assert_eq!(Bug::parse("long-id-cut"), Ok(Bug::LongIdCut));
        let error = Bug::parse("long-id-cot").expect_err("the name is misspelt");
        assert_eq!(error.suggestion, Some("long-id-cut"));
    }
}
