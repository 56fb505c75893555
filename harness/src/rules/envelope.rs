//! The members that make an object a JSON-RPC message, and the result as a whole.
//!
//! Each broken envelope is told once: a response that holds result and error is not also one with a result of the wrong
//! type, a bare object is one without a result, an object without any sign of JSON-RPC is left to `stdout`.

use mcp_conform_schemas::Revision;

use super::{Breach, Context, Likeness, Request, Row, Rule, Seen, Shape, Verdicts, register::Definition, seen::show};
use crate::{
    trace::{Body, Channel, Event},
    wire::Json,
};

static VERSION: Row = Row::both("base-jsonrpc-member-2-0", Revision::V2024_11_05, "jsonrpc-version-member");
static RESULT: Row = Row::both("base-result-response-has-result", Revision::V2024_11_05, "result-member-present");
static OBJECT: Row = Row::both("base-result-is-object", Revision::V2024_11_05, "result-is-object");
static XOR: Row = Row::both("base-result-xor-error", Revision::V2024_11_05, "jsonrpc-result-xor-error");
static NO_ID: Row = Row::both("base-notification-has-no-id", Revision::V2024_11_05, "notification-no-id");
static PARAMS: Row = Row::modern("jsonrpc-params-is-object");
static RESULT_TYPE: Row = Row::modern("resulttype-present");
static INTERIM: Row = Row::modern("mrtr-resulttype");

pub(super) static DEFINITION: Definition = Definition {
    name: "envelope",
    title: "Every message has the members of JSON-RPC 2.0",
    about: "Each message of the server is looked at as an object: jsonrpc is \"2.0\", a response has exactly one of result \
            and error, a result is an object (in 2026-07-28 with resultType, input_required if it asks for input), a \
            notification has no id. Bodies of HTTP error statuses that do not claim to be JSON-RPC are not judged.",
    rows: &[VERSION, RESULT, OBJECT, XOR, NO_ID, PARAMS, RESULT_TYPE, INTERIM],
    make: || Box::new(Envelope),
};

struct Envelope;

impl Rule for Envelope {
    fn observe(&mut self, event: &Event, context: &Context, out: &mut Verdicts) {
        for seen in context.messages(event).filter(Seen::is_incoming) {
            if seen.shape == Shape::Other || (seen.shape == Shape::Alien && !stands_for_message(&seen, context)) {
                continue;
            }
            version(&seen, context, out);
            match seen.shape {
                Shape::Response { result, error } => response(&seen, result, error, context, out),
                Shape::Bare => {
                    let breach = Breach::at(&seen, "", "a response without result and without error");
                    out.check(&RESULT, context, Some(breach));
                }
                Shape::Request | Shape::Notification => notification(&seen, context, out),
                Shape::Alien | Shape::Other => {}
            }
        }
        unclaimed(event, context, out);
    }
}

/// Whether an object without any sign of JSON-RPC stands where a message is due: on stdout it is foreign text, and what
/// answers anything but a request can be a document of any kind.
fn stands_for_message(seen: &Seen<'_>, context: &Context) -> bool {
    let state = seen.exchange().and_then(|exchange| context.exchange(exchange));
    match seen.channel {
        Channel::Sse { .. } => true,
        Channel::Body { .. } => state.is_some_and(|state| {
            state.method == "POST"
                && !state.requests.is_empty()
                && state.media_type.as_deref() == Some("application/json")
        }),
        Channel::Post { .. } | Channel::Stdio => false,
    }
}

fn version(seen: &Seen<'_>, context: &Context, out: &mut Verdicts) {
    let version = seen.json.get("jsonrpc");
    let breach = match version.map(|version| (version.as_str(), version)) {
        Some((Some("2.0"), _)) => None,
        Some((_, found)) => {
            Some(Breach::at(seen, "/jsonrpc", format!("jsonrpc is {} instead of \"2.0\"", show(Some(found)))))
        }
        None => Some(Breach::at(seen, "", "the member jsonrpc is missing")),
    };
    out.check(&VERSION, context, breach);
}

fn response(seen: &Seen<'_>, result: bool, error: bool, context: &Context, out: &mut Verdicts) {
    let both = result && error;
    let breach = both.then(|| Breach::at(seen, "/error", "a response with result and error at once"));
    out.check(&XOR, context, breach);
    out.occasion(&RESULT, context);
    if both {
        return;
    }
    let Some(value) = seen.json.get("result") else { return };
    let object = value.as_object().is_some();
    let breach =
        (!object).then(|| Breach::at(seen, "/result", format!("the result is {} instead of an object", kind(value))));
    out.check(&OBJECT, context, breach);
    let request = seen.answer.and_then(|answer| answer.request).and_then(|key| context.request(key));
    let sure = seen.answer.is_some_and(|answer| answer.likeness != Likeness::Missing);
    if object
        && sure
        && let Some(request) = request.filter(|request| request.is_modern(context))
    {
        interim(seen, value, request, context, out);
        let breach = match value.get("resultType") {
            Some(found) if found.as_str().is_some() => None,
            Some(found) => Some(Breach::at(
                seen,
                "/result/resultType",
                format!("resultType is {} instead of a string", kind(found)),
            )),
            None => Some(Breach::at(seen, "/result", "the result has no resultType")),
        };
        out.check(&RESULT_TYPE, context, breach);
    }
}

/// A result that asks for input, or hands out a state for the retry, is one that is not complete.
fn interim(seen: &Seen<'_>, result: &Json, request: &Request, context: &Context, out: &mut Verdicts) {
    const ASKING: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];
    let Some(member) = ["inputRequests", "requestState"].into_iter().find(|member| result.get(member).is_some()) else {
        return;
    };
    // Without any resultType it is that which is missing.
    let Some(found) = result.get("resultType").filter(|_| ASKING.contains(&&*request.method)) else { return };
    let what = || format!("a result with {member} has the resultType {} instead of input_required", show(Some(found)));
    let breach = found.as_str() != Some("input_required");
    out.check(&INTERIM, context, breach.then(|| Breach::at(seen, "/result/resultType", what())));
}

fn notification(seen: &Seen<'_>, context: &Context, out: &mut Verdicts) {
    let named = seen.method().is_some_and(|method| method.starts_with("notifications/"));
    if named {
        let id = seen.json.get("id");
        let breach = id.map(|id| Breach::at(seen, "/id", format!("a notification with the id {}", show(Some(id)))));
        out.check(&NO_ID, context, breach);
    }
    if (named || seen.shape == Shape::Notification)
        && let Some(params) = seen.json.get("params")
    {
        let breach = params.as_object().is_none();
        let breach =
            breach.then(|| Breach::at(seen, "/params", format!("params is {} instead of an object", kind(params))));
        out.check(&PARAMS, context, breach);
    }
}

/// An error under an HTTP error status that has everything of JSON-RPC but the member that names it.
fn unclaimed(event: &Event, context: &Context, out: &mut Verdicts) {
    let Body::HttpBody(body) = &event.body else { return };
    if event.message().is_some() {
        return;
    }
    let Some(json) = body.frame.as_ref().and_then(|frame| frame.json.as_ref()) else { return };
    let code = json.pointer("/error/code").and_then(Json::as_number).and_then(|code| code.as_i64());
    let reserved = code.is_some_and(|code| (-32_768..=-32_000).contains(&code));
    if reserved && json.get("id").is_some() && json.get("jsonrpc").is_none() {
        let breach = Breach::new(event.seq, "", "a JSON-RPC error without the member jsonrpc");
        out.check(&VERSION, context, Some(breach));
    }
}

fn kind(json: &Json) -> String {
    match json.type_name() {
        name @ ("array" | "integer" | "object") => format!("an {name}"),
        name @ ("boolean" | "number" | "string") => format!("a {name}"),
        name => name.to_owned(),
    }
}
