//! What each [`TargetStatus`] means to the person whose server could not be judged.

use crate::model::TargetStatus;

/// What happened, and the way out for when the run itself gives none.
pub fn explain(status: TargetStatus) -> (&'static str, &'static str) {
    match status {
        TargetStatus::Ok => ("the server answers", ""),
        TargetStatus::NotFound => (
            "the command could not be started",
            "Check the spelling and the PATH; a file needs the right to be executed. The command is split as a shell \
             splits it, but no shell runs it.",
        ),
        TargetStatus::Exited => (
            "the server ended before it answered",
            "Its last words stand below. Run the command by hand; it may want arguments, or variables given with --env.",
        ),
        TargetStatus::NoAnswer => (
            "the server did not answer in time",
            "Check that it speaks MCP over this transport. A server that starts slowly needs a larger --patience.",
        ),
        TargetStatus::NotMcp => (
            "what came back is not MCP",
            "Over stdio only messages may go to standard output; over HTTP the URL has to be the MCP endpoint itself.",
        ),
        TargetStatus::Unreachable => (
            "the URL cannot be reached",
            "Check the host, the port and whether the server runs; --serve COMMAND starts it for the run.",
        ),
        TargetStatus::NeedsAuth => (
            "the server wants a credential",
            "Give one with --header 'Authorization=env:VARIABLE'; the report does not show its value.",
        ),
        TargetStatus::Redirects => {
            ("the URL redirects elsewhere", "Give the URL that it redirects to, if you trust it.")
        }
        TargetStatus::OldTransport => (
            "the server speaks only the HTTP+SSE transport of 2024-11-05",
            "The revisions judged here use Streamable HTTP; the server has to offer that.",
        ),
        TargetStatus::NeedsConfiguration => (
            "the server wants configuration",
            "Its own words stand below. Give arguments after `--`, variables with --env.",
        ),
    }
}
