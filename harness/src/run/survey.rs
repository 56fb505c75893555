//! Learns what a server offers in one era by using it as a client would.
//!
//! Everything here is sound traffic: lists, reads, prompts, completions, and one call of each tool that may be called. It
//! gives the cases their tools and arguments, and the rules their occasions.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use mcp_conform_cases::ast::InputKind;
use mcp_conform_schemas::{Era, InstanceSchema, generate};
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    options::RunOptions,
    surface::{CallState, Surface, ToolFacts},
};
use crate::{
    conversation::{Answer, AnswerKind, Call, Conversation, Ticket, related},
    trace::{Body, Direction, Transport},
    wire::Message,
};

/// Pages of a list that are followed; more are a matter of the pagination check.
const MOST_PAGES: usize = 20;
/// Entries of a kind that are read or called beyond the lists: enough to see how, without doing the server's whole work.
const MOST_READS: usize = 5;
/// Rounds of one multi round-trip request.
const MOST_ROUNDS: usize = 5;
/// How long after its call an announcement of a changed list is waited for.
const ANNOUNCED: Duration = Duration::from_millis(500);
/// The same as a multiple of what the slowest plain request took, and the most that it comes to.
const SLOW: u32 = 10;
const MOST_ANNOUNCED: Duration = Duration::from_secs(5);
/// How many calls an announcement may be late.
const LATE_BY: usize = 6;
/// What the last calls are waited for, in graces: 1.5 s of the plain deadlines. A tool that works longer is slow.
const SLOW_IN_GRACES: u32 = 3;
/// How long one call holds up the next; the slow ones finish side by side. Over stdio what the server sends on its own is
/// taken for the doing of the last call.
const STAGGER_STDIO: Duration = Duration::from_secs(1);
/// Over HTTP it comes on the stream of its call.
const STAGGER_HTTP: Duration = Duration::from_millis(300);

/// Asks an open conversation that declared everything for what the server offers.
pub(crate) async fn offered(talk: &Conversation, options: &RunOptions, discovered: Option<&Value>) -> Surface {
    talk.mark("", "survey", "");
    let mut surface = Surface { version: talk.negotiated(), session: talk.session().is_some(), ..Surface::default() };
    match discovered {
        Some(result) => {
            surface.capabilities = result.get("capabilities").cloned().unwrap_or_default();
            let info =
                result.pointer("/_meta/io.modelcontextprotocol~1serverInfo").or_else(|| result.get("serverInfo"));
            surface.server = info.and_then(server_name);
        }
        None => {
            surface.capabilities = talk.server_capabilities();
            surface.server = initialize_result(talk).as_ref().and_then(|r| server_name(r.get("serverInfo")?));
        }
    }
    if talk.era() == Era::Legacy {
        ask(talk, &mut surface, "ping", None).await;
    }
    if surface.has_capability("tools") {
        let tools = list(talk, &mut surface, "tools/list", "tools").await;
        surface.tools = tools.into_iter().map(|tool| facts(tool, options)).collect();
        let names: BTreeSet<String> = surface.tools.iter().map(|facts| facts.name().to_owned()).collect();
        for facts in &mut surface.tools {
            facts.other_case = Some(swapped(facts.name())).filter(|name| !names.contains(name));
        }
    }
    if surface.has_capability("resources") {
        surface.resources = list(talk, &mut surface, "resources/list", "resources").await;
        surface.templates = list(talk, &mut surface, "resources/templates/list", "resourceTemplates").await;
    }
    if surface.has_capability("prompts") {
        surface.prompts = list(talk, &mut surface, "prompts/list", "prompts").await;
    }
    surface
}

/// Uses what is offered, and gives the calls that are not waited for: they are to be answered before the conversation ends.
pub(crate) async fn use_all(talk: &Conversation, surface: &mut Surface) -> Vec<(String, Ticket)> {
    talk.mark("", "survey", "");
    let listening = listen(talk, surface).await;
    let late = call_tools(talk, surface).await;
    for resource in surface.resources.clone().iter().take(MOST_READS) {
        if let Some(uri) = resource.get("uri") {
            ask(talk, surface, "resources/read", Some(json!({ "uri": uri }))).await;
        }
    }
    for prompt in surface.prompts.clone().iter().take(MOST_READS) {
        if let Some(name) = prompt.get("name") {
            let params = json!({"name": name, "arguments": prompt_arguments(prompt)});
            ask(talk, surface, "prompts/get", Some(params)).await;
        }
    }
    if surface.has_capability("completions") {
        complete(talk, surface).await;
    }
    if let Some(ticket) = listening {
        // A connection that ended has nothing to cancel.
        let _ = talk.cancel(&ticket).await;
    }
    surface.resumable = resumable(talk);
    surface.used = true;
    late
}

/// Opens a subscription for what the server says it announces, as a client keeps one open beside its calls.
async fn listen(talk: &Conversation, surface: &Surface) -> Option<Ticket> {
    let mut filter = Map::new();
    for (capability, member) in [
        ("tools.listChanged", "toolsListChanged"),
        ("prompts.listChanged", "promptsListChanged"),
        ("resources.listChanged", "resourcesListChanged"),
    ] {
        if surface.has_capability(capability) {
            filter.insert(member.to_owned(), true.into());
            // One kind is enough: what else comes was not asked for.
            break;
        }
    }
    if talk.era() == Era::Legacy || filter.is_empty() {
        return None;
    }
    let params = json!({ "notifications": filter });
    let call = Call { method: "subscriptions/listen".to_owned(), params: Some(params.into()), ..Call::default() };
    let ticket = talk.send_long(call).await.ok()?;
    let acknowledged = |event: &std::sync::Arc<crate::trace::Event>| {
        let view = event.message().filter(|view| view.direction == Direction::In)?;
        let known = matches!(&view.frame.message, Message::Notification { method }
            if &**method == "notifications/subscriptions/acknowledged");
        known.then_some(())
    };
    talk.message(ticket.event, "the acknowledgement of subscriptions/listen", None, acknowledged).await;
    Some(ticket)
}

/// The result of `initialize`, as it stands in the trace.
pub(super) fn initialize_result(talk: &Conversation) -> Option<Value> {
    talk.events().iter().find_map(|event| {
        let view = event.message().filter(|view| view.direction == Direction::In)?;
        let json = view.frame.json.as_ref()?.to_value();
        json.get("result").filter(|result| result.get("protocolVersion").is_some()).cloned()
    })
}

pub(super) fn server_name(info: &Value) -> Option<String> {
    let name = info.get("name")?.as_str()?;
    let version = info.get("version").and_then(Value::as_str).unwrap_or_default();
    Some(format!("{name} {version}").trim().to_owned())
}

pub(crate) fn facts(tool: Value, options: &RunOptions) -> ToolFacts {
    let name = tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let schema = tool.get("inputSchema").cloned().unwrap_or_else(|| json!({"type": "object"}));
    let given = options.tool_args.get(&name).cloned();
    let quick = if given.is_none() { quick_arguments(&schema) } else { None };
    let arguments = given.or_else(|| generate::minimal(&schema)).filter(Value::is_object);
    let call = if !options.tools.allows(&tool) {
        CallState::NotAllowed
    } else if arguments.is_none() {
        CallState::NoArguments("no arguments could be made from its inputSchema".to_owned())
    } else {
        CallState::Refused("it was not called".to_owned())
    };
    ToolFacts {
        tool,
        call,
        arguments,
        quick,
        asks: BTreeSet::new(),
        state: false,
        progress: false,
        changes_list: false,
        other_case: None,
    }
}

/// Arguments with small numbers where the schema's defaults are greater: how long a tool works is often one of them.
fn quick_arguments(schema: &Value) -> Option<Value> {
    let mut arguments = generate::minimal(schema)?;
    let members = arguments.as_object_mut()?;
    let mut changed = false;
    for (name, property) in schema.get("properties").and_then(Value::as_object)? {
        let number = |member: &str| property.get(member).and_then(Value::as_f64);
        let is_number = matches!(property.get("type").and_then(Value::as_str), Some("integer" | "number"));
        let least = number("minimum").map_or(1.0, |minimum| minimum.ceil().max(1.0));
        if is_number && number("default").is_some_and(|default| default > least) {
            // Whole and small, so that nothing is lost.
            members.insert(name.clone(), (least as i64).into());
            changed = true;
        }
    }
    // Other keywords of the schema may rule the number out.
    let fits = InstanceSchema::new(schema).is_ok_and(|schema| schema.accepts(&arguments));
    (changed && fits).then_some(arguments)
}

/// A name with the case of its ASCII letters swapped; the same name where it has none.
fn swapped(name: &str) -> String {
    let swap = |c: char| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() };
    name.chars().map(swap).collect()
}

async fn ask(talk: &Conversation, surface: &mut Surface, method: &str, params: Option<Value>) -> Option<Answer> {
    let call = Call { method: method.to_owned(), params: params.map(Into::into), ..Call::default() };
    let asked = Instant::now();
    let (_, answer) = talk.request(call, None).await.ok()?;
    surface.slowest = surface.slowest.max(asked.elapsed());
    Some(answer)
}

async fn list(talk: &Conversation, surface: &mut Surface, method: &str, member: &str) -> Vec<Value> {
    let mut out: Vec<Value> = Vec::new();
    let mut cursor: Option<Value> = None;
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for _ in 0..MOST_PAGES {
        let params = cursor.as_ref().map(|cursor| json!({ "cursor": cursor }));
        let Some(answer) = ask(talk, surface, method, params).await else { break };
        let Some(result) = answer.result() else {
            surface.gaps.push(format!("{method} was answered with {}", answer.describe()));
            break;
        };
        let items = result.get(member).and_then(Value::as_array).cloned().unwrap_or_default();
        out.extend(items);
        match result.get("nextCursor") {
            Some(next @ Value::String(text)) if seen.insert(text.clone()) => cursor = Some(next.clone()),
            _ => break,
        }
    }
    out
}

/// A call on its way.
struct Pending {
    index: usize,
    ticket: Ticket,
    /// What was sent: a late answer that asks for input is gone on with like any other.
    call: Call,
}

/// Calls each tool that may be called once, with everything declared and a progress token. Gives the calls that take so
/// long that nothing else is held up for them.
async fn call_tools(talk: &Conversation, surface: &mut Surface) -> Vec<(String, Ticket)> {
    let stagger = match talk.transport() {
        Transport::Http => STAGGER_HTTP,
        Transport::Stdio => STAGGER_STDIO,
    };
    let mut late: Vec<Pending> = Vec::new();
    let mut called: Vec<(usize, u64)> = Vec::new();
    for index in 0..surface.tools.len() {
        let Some(facts) = surface.tools.get(index) else { continue };
        if !matches!(facts.call, CallState::Refused(_)) {
            continue;
        }
        if !talk.link().is_open() {
            if let Some(facts) = surface.tools.get_mut(index) {
                facts.call = CallState::Lost { came: "nothing, because the server had ended".to_owned(), ended: true };
            }
            continue;
        }
        let call = tool_call(talk, surface, facts, facts.arguments.clone());
        let Ok(ticket) = talk.send(call.clone()).await else { continue };
        let from = ticket.event;
        called.push((index, from));
        let answer = talk.answer_within(&ticket, stagger).await;
        note_messages(talk, surface, index, from);
        match answer {
            Some(answer) => learn(talk, surface, index, &ticket, answer, call).await,
            None => late.push(Pending { index, ticket, call }),
        }
    }
    let since = Instant::now();
    let slow = wait_for_late(talk, surface, late).await;
    confirm_changes(talk, surface, &called, since).await;
    slow
}

fn tool_call(talk: &Conversation, surface: &Surface, facts: &ToolFacts, arguments: Option<Value>) -> Call {
    let mut params = json!({"name": facts.name(), "arguments": arguments});
    if talk.era() == Era::Modern && surface.has_capability("logging") {
        // Without a level no log messages are sent.
        params["_meta"] = json!({"io.modelcontextprotocol/logLevel": "debug"});
    }
    Call {
        method: "tools/call".to_owned(),
        params: Some(params.into()),
        token: Some(talk.bench().next_id().to_string()),
        ..Call::default()
    }
}

/// Gives the late ones a little more time, and those whose work may be made shorter another call beside it. Gives the
/// calls that are still out.
async fn wait_for_late(talk: &Conversation, surface: &mut Surface, late: Vec<Pending>) -> Vec<(String, Ticket)> {
    let mut quicker = Vec::new();
    for pending in &late {
        let Some(facts) = surface.tools.get(pending.index) else { continue };
        let Some(arguments) = facts.quick.clone() else { continue };
        let call = tool_call(talk, surface, facts, Some(arguments.clone()));
        if let Ok(ticket) = talk.send(call.clone()).await {
            quicker.push((pending.index, arguments, call, ticket));
        }
    }
    let until = Instant::now() + talk.bench().deadlines.grace * SLOW_IN_GRACES;
    let left = || until.saturating_duration_since(Instant::now());
    let mut out = Vec::new();
    let mut quick: BTreeMap<usize, Value> = BTreeMap::new();
    for (index, arguments, call, ticket) in quicker {
        let Some(answer) = talk.answer_within(&ticket, left()).await else {
            let name = surface.tools.get(index).map(|facts| facts.name().to_owned()).unwrap_or_default();
            out.push((name, ticket));
            continue;
        };
        learn(talk, surface, index, &ticket, answer, call).await;
        if let Some(facts) = surface.tools.get_mut(index).filter(|facts| facts.callable()) {
            quick.insert(index, arguments);
            facts.call = CallState::Refused("it was not answered yet".to_owned());
        }
    }
    for Pending { index, ticket, call } in late {
        let quick = quick.remove(&index);
        match talk.answer_within(&ticket, if quick.is_some() { Duration::ZERO } else { left() }).await {
            // It was just about to answer, and needs no other arguments.
            Some(answer) => learn(talk, surface, index, &ticket, answer, call).await,
            None => {
                let Some(facts) = surface.tools.get_mut(index) else { continue };
                facts.progress |= reports_progress(talk, &ticket);
                if let Some(arguments) = quick {
                    facts.arguments = Some(arguments);
                    facts.call = CallState::Accepted;
                    // What it does was seen; nobody needs the long work any more.
                    let _ = talk.cancel(&ticket).await;
                } else {
                    facts.call = CallState::Slow;
                    out.push((facts.name().to_owned(), ticket));
                }
            }
        }
    }
    out
}

fn reports_progress(talk: &Conversation, ticket: &Ticket) -> bool {
    related(ticket, &talk.events())
        .iter()
        .any(|(_, value)| value.get("method").and_then(Value::as_str) == Some("notifications/progress"))
}

/// Finds the tool that changes the list of tools. An announcement may come some calls late, and over HTTP somebody else may
/// have caused it: the tools that were called before it are called once more, the nearest first, until one is seen to.
async fn confirm_changes(talk: &Conversation, surface: &mut Surface, called: &[(usize, u64)], since: Instant) {
    let is_announced = |event: &std::sync::Arc<crate::trace::Event>| {
        let view = event.message().filter(|view| view.direction == Direction::In)?;
        is_list_change(&view.frame.message).then_some(())
    };
    let Some((_, from)) = called.first() else { return };
    if !surface.has_capability("tools.listChanged") {
        return;
    }
    let position = |event: &std::sync::Arc<crate::trace::Event>| is_announced(event).map(|()| event.seq);
    // A server that is slow all over announces late, too.
    let time = ANNOUNCED.max((surface.slowest * SLOW).min(MOST_ANNOUNCED));
    let left = time.saturating_sub(since.elapsed());
    let what = "an announcement that the list of tools has changed";
    let Some(announced) = talk.message(*from, what, Some(left), position).await else { return };
    let before = called.iter().rev().filter(|(_, event)| *event < announced);
    for (index, _) in before.take(LATE_BY) {
        let Some(facts) = surface.tools.get_mut(*index) else { continue };
        if facts.call != CallState::Accepted || !talk.link().is_open() {
            continue;
        }
        let params = json!({"name": facts.name(), "arguments": facts.arguments});
        let call = Call { method: "tools/call".to_owned(), params: Some(params.into()), ..Call::default() };
        let Ok((ticket, _)) = talk.request(call, None).await else { continue };
        facts.changes_list = talk.message(ticket.event, what, Some(time), is_announced).await.is_some();
        if facts.changes_list {
            return;
        }
    }
}

fn is_list_change(message: &Message) -> bool {
    matches!(message, Message::Notification { method } if &**method == "notifications/tools/list_changed")
}

/// Requests (legacy era) that the server sent while a tool ran.
fn note_messages(talk: &Conversation, surface: &mut Surface, index: usize, from: u64) {
    let Some(facts) = surface.tools.get_mut(index) else { return };
    for event in talk.recorder().events(usize::try_from(from).unwrap_or(usize::MAX)) {
        let Some(view) = event.message().filter(|view| view.direction == Direction::In) else { continue };
        if let Message::Request { method, .. } = &view.frame.message {
            facts.asks.extend(input_kind(method));
        }
    }
}

async fn learn(talk: &Conversation, surface: &mut Surface, index: usize, ticket: &Ticket, answer: Answer, call: Call) {
    let Some(facts) = surface.tools.get_mut(index) else { return };
    facts.progress |= reports_progress(talk, ticket);
    let note = |_: &Answer, result: &Value| {
        facts.call = CallState::Accepted;
        facts.state |= result.get("requestState").is_some();
        let requests = result.get("inputRequests").and_then(Value::as_object);
        for request in requests.into_iter().flat_map(Map::values) {
            let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
            facts.asks.extend(input_kind(method));
        }
    };
    // Where the connection broke on the way, the first answer is all that is known.
    let last = talk.rounds(call, (ticket.clone(), answer.clone()), MOST_ROUNDS, note).await;
    let answer = last.map_or(answer, |(_, answer)| answer);
    let asked = !facts.asks.is_empty();
    facts.call = match &answer.result() {
        Some(result) if result.get("isError") != Some(&Value::Bool(true)) => CallState::Accepted,
        // It asked and then did not like what we made up: it can be asked again all the same.
        _ if asked => CallState::Accepted,
        Some(result) => {
            let text = result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or_default();
            CallState::Refused(format!("it answered with isError: {}", first_line(text)))
        }
        None if matches!(answer.kind, AnswerKind::Closed | AnswerKind::Unread) => {
            CallState::Lost { came: answer.describe(), ended: answer.kind == AnswerKind::Closed }
        }
        None => CallState::Refused(format!("it was answered with {}", answer.describe())),
    };
}

fn input_kind(method: &str) -> Option<InputKind> {
    match method {
        "elicitation/create" => Some(InputKind::Elicitation),
        "roots/list" => Some(InputKind::Roots),
        "sampling/createMessage" => Some(InputKind::Sampling),
        _ => None,
    }
}

pub(crate) fn prompt_arguments(prompt: &Value) -> Value {
    let mut out = Map::new();
    for argument in prompt.get("arguments").and_then(Value::as_array).into_iter().flatten() {
        if let Some(name) = argument.get("name").and_then(Value::as_str) {
            out.insert(name.to_owned(), "example".into());
        }
    }
    Value::Object(out)
}

async fn complete(talk: &Conversation, surface: &mut Surface) {
    let prompt = surface.prompts.iter().find_map(|prompt| {
        let argument = prompt.pointer("/arguments/0/name")?;
        Some(json!({"ref": {"type": "ref/prompt", "name": prompt.get("name")?},
                    "argument": {"name": argument, "value": ""}}))
    });
    let template = surface.templates.iter().find_map(|template| {
        let uri = template.get("uriTemplate")?.as_str()?;
        let name = uri.split_once('{')?.1.split_once('}')?.0.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']);
        let name = name.split([',', ':', '*']).next()?;
        Some(json!({"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": name, "value": ""}}))
    });
    for params in [prompt, template].into_iter().flatten() {
        ask(talk, surface, "completion/complete", Some(params)).await;
    }
}

/// An event id was seen on a stream of a POST: whether a GET resumes it is for the cases to find out.
fn resumable(talk: &Conversation) -> bool {
    talk.transport() == Transport::Http
        && talk.events().iter().any(|event| matches!(&event.body, Body::Sse(sse) if sse.id.is_some()))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(120).collect()
}

/// Whether an answer is a result of the modern era's discovery.
pub(super) fn discover_result(answer: &Answer) -> Option<Value> {
    let result = answer.result()?;
    (answer.kind == AnswerKind::Result && result.get("supportedVersions").is_some()).then_some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_made_quick_where_the_schema_lets_them() {
        let quick = |property: Value| quick_arguments(&json!({"type": "object", "properties": {"n": property}}));
        assert_eq!(quick(json!({"type": "number", "default": 10})), Some(json!({"n": 1})));
        assert_eq!(quick(json!({"type": "integer", "default": 10, "minimum": 3})), Some(json!({"n": 3})));
        assert_eq!(quick(json!({"type": "integer", "default": 1})), None, "it is small already");
        assert_eq!(quick(json!({"type": "integer"})), None, "nothing says what it would be");
        assert_eq!(quick(json!({"type": "string", "default": "10"})), None);
        assert_eq!(quick(json!({"type": "integer", "default": 100, "multipleOf": 50})), None, "1 is no multiple");
        assert_eq!(quick(json!({"type": "number", "default": 10, "exclusiveMinimum": 5})), None);
    }
}
