//! The tools: their published descriptions and what they do. [`list`] and [`call`] are the two methods; paging, result
//! decoration and the envelope are left to `features`.

use std::borrow::Cow;
use std::sync::LazyLock;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};

use crate::arguments::mismatch;
use crate::bugs::{Bug, Scratch};
use crate::call::{Call, Input, Stop};
use crate::faults::Fault;
use crate::json::{Body, Message, NOTE, Params, RpcError};
use crate::logging::Level;
use crate::resources::note_uri;
use crate::server::{Change, Counted, random_text};
use crate::tasks;

/// All tools as they are published, in a fixed order.
pub(crate) fn list(call: &Call) -> Cow<'static, [Value]> {
    let known = if tasks::offered(&call.server, call.version) { &*WITH_TASKS } else { &*TOOLS };
    let mut tools = Cow::from(known);
    if call.server.has_extra() {
        tools.to_mut().push(extra());
    }
    if !call.server.config.faults.is_empty() {
        break_list(call, tools.to_mut());
    }
    tools
}

/// One tool as it is published.
pub(crate) fn find(call: &Call, name: &str) -> Option<Cow<'static, Value>> {
    let named = |tool: &&Value| is_named(tool, name);
    match list(call) {
        Cow::Borrowed(tools) => tools.iter().find(named).map(Cow::Borrowed),
        Cow::Owned(tools) => tools.iter().find(named).cloned().map(Cow::Owned),
    }
}

/// Calls a tool.
pub(crate) async fn call(call: &mut Call, params: &Params) -> Result<Value, Stop> {
    let name = match params.get("name") {
        Some(Value::String(name)) => name.clone(),
        _ if call.has(Fault::NamelessCallInternalError) => {
            return Err(RpcError::new(-32603, "internal error").into());
        }
        _ => return Err(RpcError::invalid_params("tools/call needs a name").into()),
    };
    let arguments = match params.get("arguments") {
        None if call.has(Fault::ArgumentsDemanded) => {
            return Err(RpcError::invalid_params("tools/call needs arguments").into());
        }
        None => json!({}),
        Some(arguments @ Value::Object(_)) => arguments.clone(),
        Some(_) if call.has(Fault::MalformedCallAsToolError) => {
            return Err(Stop::Tool("arguments has to be an object".to_owned()));
        }
        Some(_) => return Err(RpcError::invalid_params("arguments has to be an object").into()),
    };
    let lookup = if call.has(Fault::ToolNamesCaseBlind) { name.to_lowercase() } else { name.clone() };
    let Some(tool) = find(call, &lookup) else {
        return unknown_tool(call, &name);
    };
    call.open_flow("tools/call", &json!(name), params).await?;
    if let Some(why) = tool.get("inputSchema").and_then(|schema| mismatch(schema, &arguments, call.server.config.bug)) {
        if call.has(Fault::WrongArgumentsFatal) {
            // The process has died: nothing that was asked is ever answered.
            call.server.fatal.cancel();
            return std::future::pending().await;
        }
        if call.has(Fault::WrongArgumentsAsProtocolError) {
            return Err(RpcError::invalid_params(format!("invalid arguments: {why}")).into());
        }
        if !call.has(Fault::ArgumentsNotChecked) {
            return Err(Stop::Tool(format!("invalid arguments: {why}")));
        }
    }
    let mut result = run(call, &lookup, &arguments).await?;
    break_result(call, &mut result);
    Ok(result)
}

/// A failed tool's result.
pub(crate) fn failed(why: &str) -> Value {
    json!({"content": [{"type": "text", "text": why}], "isError": true})
}

const READ_ONLY: &str = r#"{"readOnlyHint": true, "openWorldHint": false}"#;
const WRITES: &str = r#"{"readOnlyHint": false, "destructiveHint": false, "openWorldHint": false}"#;
const DESTROYS: &str = r#"{"readOnlyHint": false, "destructiveHint": true, "openWorldHint": false}"#;

static TOOLS: LazyLock<Vec<Value>> = LazyLock::new(described);

/// The same for a client that may call some of them as tasks.
static WITH_TASKS: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let mut tools = described();
    for tool in tools.iter_mut().filter(|tool| tasks::CAPABLE.iter().any(|name| is_named(tool, name))) {
        tool["execution"] = json!({"taskSupport": "optional"});
    }
    tools
});

fn extra() -> Value {
    let about = "Is there after touch_list was called an odd number of times.";
    tool("extra", about, READ_ONLY, closed(json!({}), &[]))
}

fn is_named(tool: &Value, name: &str) -> bool {
    tool.get("name").and_then(Value::as_str) == Some(name)
}

fn described() -> Vec<Value> {
    let text = |length: u64| json!({"type": "string", "minLength": 1, "maxLength": length});
    let mut tools = vec![
        tool("echo", "Says what it was told.", READ_ONLY, closed(json!({"text": {"type": "string"}}), &["text"])),
        tool(
            "add",
            "Adds two numbers.",
            READ_ONLY,
            closed(json!({"a": {"type": "number"}, "b": {"type": "number"}}), &["a", "b"]),
        ),
        tool(
            "pick",
            "Picks things of one colour.",
            READ_ONLY,
            closed(
                json!({
                    "colour": {"type": "string", "enum": ["red", "green", "blue"]},
                    "count": {"type": "integer", "minimum": 1, "maximum": 5},
                    "tags": {"type": "array", "items": {"type": "string", "minLength": 1}, "maxItems": 4},
                }),
                &["colour", "count"],
            ),
        ),
        tool(
            "slow",
            "Takes its time, step by step, and reports progress.",
            READ_ONLY,
            closed(
                json!({
                    "steps": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 3},
                    "stepMs": {"type": "integer", "minimum": 0, "maximum": 60000, "default": 50},
                }),
                &[],
            ),
        ),
        tool("busy", "Tells how many slow calls are being worked on.", READ_ONLY, closed(json!({}), &[])),
        tool("ask", "Asks the user for a name and greets.", READ_ONLY, closed(json!({}), &[])),
        tool("ask_twice", "Asks for a name, then for a colour.", READ_ONLY, closed(json!({}), &[])),
        tool("ask_both", "Asks for a name and a size at once.", READ_ONLY, closed(json!({}), &[])),
        tool("ask_roots", "Asks the client for its roots.", READ_ONLY, closed(json!({}), &[])),
        tool("ask_model", "Asks the client's model for a word.", READ_ONLY, closed(json!({}), &[])),
        tool("ask_form", "Asks for one thing of each kind, all optional.", READ_ONLY, closed(json!({}), &[])),
        tool("ask_page", "Sends the user to a page.", READ_ONLY, closed(json!({}), &[])),
        tool("locked", "Is served to nobody who has not been to a page.", READ_ONLY, closed(json!({}), &[])),
        tool("fail", "Always fails.", READ_ONLY, closed(json!({}), &[])),
        tool("log_some", "Writes one log message of each level.", READ_ONLY, closed(json!({}), &[])),
        tool("media", "Returns one content block of each kind.", READ_ONLY, closed(json!({}), &[])),
        tool(
            "routed",
            "Shows to which region and shard a call went.",
            READ_ONLY,
            closed(
                json!({
                    "region": {"type": "string", "maxLength": 64, "x-mcp-header": "Region"},
                    "shard": {"type": "integer", "minimum": 0, "maximum": 1_000_000, "x-mcp-header": "Shard"},
                    "urgent": {"type": "boolean", "x-mcp-header": "Urgent"},
                }),
                &[],
            ),
        ),
        tool("touch_list", "Adds or removes one tool and one prompt.", WRITES, closed(json!({}), &[])),
        tool(
            "write_note",
            "Writes a note.",
            WRITES,
            closed(json!({"id": text(32), "text": {"type": "string", "maxLength": 10_000}}), &["id", "text"]),
        ),
        tool("delete_note", "Deletes a note.", DESTROYS, closed(json!({"id": text(32)}), &["id"])),
    ];
    if let Some(media) = tools.iter_mut().find(|tool| is_named(tool, "media")).and_then(Value::as_object_mut) {
        media.insert("title".to_owned(), json!("Media"));
        media.insert("icons".to_owned(), json!([{"src": "https://example.com/media.png", "theme": "dark"}]));
        media.insert("_meta".to_owned(), json!({"com.example/kind": "media"}));
        if let Some(schema) = media.get_mut("inputSchema").and_then(Value::as_object_mut) {
            schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        }
    }
    if let Some(add) = tools.get_mut(1).and_then(Value::as_object_mut) {
        let output = json!({"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]});
        add.insert("outputSchema".to_owned(), output);
    }
    tools
}

fn tool(name: &str, description: &str, hints: &str, schema: Value) -> Value {
    let hints: Value = serde_json::from_str(hints).unwrap_or_default();
    json!({"name": name, "description": description, "inputSchema": schema, "annotations": hints})
}

fn closed(properties: Value, required: &[&str]) -> Value {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    if properties.as_object().is_some_and(|properties| !properties.is_empty()) {
        schema.insert("properties".to_owned(), properties);
    }
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
    Value::Object(schema)
}

async fn run(call: &mut Call, name: &str, arguments: &Value) -> Result<Value, Stop> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    match name {
        "echo" => Ok(echo(call, text("text"))),
        "add" if call.bug(Bug::SumOverflow) && overflows(arguments) => {
            call.server.fatal.cancel();
            std::future::pending().await
        }
        "add" => add(call, arguments),
        "pick" => {
            let tags = arguments.get("tags").and_then(Value::as_array).map_or(0, Vec::len);
            let count = arguments.get("count").cloned().unwrap_or_default();
            Ok(said(&format!("picked {count} of {} with {tags} tags", text("colour"))))
        }
        "slow" => slow(call, arguments).await,
        "busy" => Ok(said(&call.server.busy.load(Ordering::Relaxed).to_string())),
        "ask" => {
            let answers = call.ask(&[("name", name_form())]).await?;
            let name = accepted(call, &answers, 0, "name")?;
            Ok(said(&format!("Hello, {name}.")))
        }
        "ask_twice" => {
            let first = call.ask(&[("name", name_form())]).await?;
            let name = accepted(call, &first, 0, "name")?;
            let second = call.ask(&[("colour", colour_form())]).await?;
            let colour = accepted(call, &second, 0, "colour")?;
            Ok(said(&format!("{name} likes {colour}.")))
        }
        "ask_both" => {
            let answers = call.ask(&[("name", name_form()), ("size", size_form())]).await?;
            let name = accepted(call, &answers, 0, "name")?;
            let size = accepted(call, &answers, 1, "size")?;
            Ok(said(&format!("{name} has size {size}.")))
        }
        "ask_roots" => {
            let answers = call.ask(&[("roots", Input::Roots)]).await?;
            let roots = answers.first().and_then(|answer| answer.get("roots")).and_then(Value::as_array);
            Ok(said(&format!("The client has {} roots.", roots.map_or(0, Vec::len))))
        }
        "ask_model" => {
            let prompt = "Say one word.";
            let answers = call.ask(&[("reply", Input::Model { prompt })]).await?;
            let content = answers.first().and_then(|answer| answer.get("content")).cloned().unwrap_or_default();
            let blocks = content.as_array().cloned().unwrap_or_else(|| vec![content]);
            let words: Vec<&str> =
                blocks.iter().filter_map(|block| block.get("text").and_then(Value::as_str)).collect();
            Ok(said(&format!("The model said: {}", words.join(" "))))
        }
        "ask_form" => {
            let answers = call.ask(&[("form", any_form(call))]).await?;
            let action = answers.first().and_then(|answer| answer.get("action")).cloned().unwrap_or_default();
            Ok(said(&format!("The form came back with {action}.")))
        }
        "ask_page" => page(call).await,
        "locked" if call.modern() => page(call).await,
        "locked" => locked(call),
        "fail" if call.has(Fault::ToolErrorAsProtocolError) => Err(RpcError::new(-32603, "the tool failed").into()),
        "fail" => Err(Stop::Tool("This tool always fails.".to_owned())),
        "log_some" => {
            for level in [Level::Debug, Level::Info, Level::Notice, Level::Warning, Level::Error, Level::Critical] {
                call.log(level, json!({"text": format!("a message of level {}", level.name())}));
            }
            Ok(said("logged"))
        }
        "media" => Ok(media()),
        "routed" => Ok(said(&format!("routed by {arguments}"))),
        "extra" => Ok(said("the extra tool")),
        "touch_list" => {
            call.server.change(|world| {
                world.extra = !world.extra;
                vec![Change::Tools, Change::Prompts]
            });
            Ok(said("the lists have changed"))
        }
        "write_note" => {
            let (id, note) = (text("id").to_owned(), text("text").to_owned());
            call.server.change(|world| {
                let uri = note_uri(&id);
                let before = world.notes.insert(id, note);
                if before.is_some() {
                    vec![Change::Resource(uri)]
                } else {
                    vec![Change::Resources, Change::Resource(uri)]
                }
            });
            Ok(said("the note is written"))
        }
        "delete_note" => {
            let id = text("id").to_owned();
            let mut known = false;
            call.server.change(|world| {
                known = world.notes.remove(&id).is_some();
                // What was gone before is no change.
                if known { vec![Change::Resources, Change::Resource(note_uri(&id))] } else { Vec::new() }
            });
            Ok(said(if known { "the note is deleted" } else { "there was no such note" }))
        }
        _ => Err(RpcError::invalid_params("unknown tool").into()),
    }
}

/// The text, with metadata of a vendor's own and, where the protocol names it, the trace that the call belongs to.
fn echo(call: &Call, text: &str) -> Value {
    if call.has(Fault::NotificationParamsAsList) {
        call.outlet.notify(NOTE, Body::default());
    }
    let mut meta = json!({"com.example.reference/characters": text.chars().count()});
    if call.modern() {
        meta["traceparent"] = match () {
            () if call.has(Fault::TraceparentMalformed) => json!("00-abc-def-01"),
            () if call.has(Fault::TraceparentAsNumber) => json!(1),
            () => json!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        };
    }
    let mut result = said(text);
    result["_meta"] = meta;
    result
}

fn said(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn overflows(arguments: &Value) -> bool {
    let number = |name: &str| arguments.get(name).and_then(Value::as_i64);
    matches!((number("a"), number("b")), (Some(a), Some(b)) if a.checked_add(b).is_none())
}

fn add(call: &Call, arguments: &Value) -> Result<Value, Stop> {
    let number = |name: &str| arguments.get(name).cloned().unwrap_or_default();
    let (a, b) = (number("a"), number("b"));
    let sum = match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => a.checked_add(b).map(|sum| json!(sum)),
        _ => None,
    };
    let sum = sum.unwrap_or_else(|| json!(a.as_f64().unwrap_or_default() + b.as_f64().unwrap_or_default()));
    if sum.is_null() {
        return Err(Stop::Tool("the sum is too large".to_owned()));
    }
    let sum = if call.has(Fault::StructuredContentWrongType) { json!(sum.to_string()) } else { sum };
    let structured = json!({ "sum": sum });
    let mut result = said(&structured.to_string());
    if let Some(result) = result.as_object_mut() {
        if call.has(Fault::StructuredContentWithoutText) {
            result.insert("content".to_owned(), json!([{"type": "text", "text": "added"}]));
        }
        if !call.has(Fault::StructuredContentMissing) {
            result.insert("structuredContent".to_owned(), structured);
        }
    }
    Ok(result)
}

/// The least time between two reports of progress.
const PROGRESS_PAUSE: Duration = Duration::from_millis(30);

async fn slow(call: &Call, arguments: &Value) -> Result<Value, Stop> {
    let number =
        |name: &str, default: f64| arguments.get(name).and_then(Value::as_f64).unwrap_or(default).clamp(0.0, 60_000.0);
    let (steps, pause) = (number("steps", 3.0), number("stepMs", 50.0));
    let _busy = Counted::new(&call.server.busy);
    let scratch = Scratch::new(&call.server);
    if steps > 100.0 && call.is_over_pipe() && call.bug(Bug::ProgressBar) {
        call.outlet.send(Message::Noise(b"[##########..........]  50%".to_vec()));
    }
    call.progress(0.0, steps, crate::json::FIRST_PROGRESS);
    // However short the steps are, nobody is flooded.
    let mut told = Instant::now();
    for step in 1..=steps as u64 {
        sleep(Duration::from_millis(pause as u64)).await;
        if told.elapsed() >= PROGRESS_PAUSE || step == steps as u64 {
            told = Instant::now();
            call.progress(step as f64, steps, &format!("step {step} is done"));
        }
    }
    scratch.done();
    if call.has(Fault::ProgressFlood) {
        for part in 1..=150 {
            call.progress(steps + f64::from(part) / 1000.0, steps, "nearly done");
        }
    }
    if call.has(Fault::ProgressAfterCompletion) {
        let mut late = Call::new(&call.server, call.session.as_ref(), call.outlet.clone());
        late.token = call.token.clone();
        tokio::spawn(async move {
            // Once as soon as the answer is out, which takes no time, and once after a while.
            for _ in 0..8 {
                tokio::task::yield_now().await;
            }
            late.progress(steps + 1.0, steps + 1.0, "too late");
            sleep(Duration::from_millis(5)).await;
            late.progress(steps + 2.0, steps + 2.0, "much too late");
        });
    }
    Ok(said(&format!("did {steps} steps")))
}

fn name_form() -> Input {
    let name = json!({"type": "string", "title": "Name", "minLength": 1, "maxLength": 50});
    let schema = json!({"type": "object", "properties": {"name": name}, "required": ["name"]});
    Input::Form { message: "What is your name?", schema }
}

/// A field of each kind that the version has.
fn any_form(call: &Call) -> Input {
    let mut fields = json!({
        "mail": {"type": "string", "title": "Mail", "format": "email"},
        "count": {"type": "integer", "minimum": 0},
        "sure": {"type": "boolean", "default": false},
        "colour": {"type": "string", "enum": ["red", "green"], "enumNames": ["Red", "Green"]},
    });
    if call.version >= "2025-11-25" {
        fields["mail"]["default"] = json!("ada@example.com");
        fields["count"]["default"] = json!(2);
        fields["shape"] = json!({"type": "string", "oneOf": [
            {"const": "round", "title": "Round"}, {"const": "square", "title": "Square"},
        ]});
        fields["some"] = json!({"type": "array", "items": {"type": "string", "enum": ["one", "two"]}, "maxItems": 2});
    }
    Input::Form { message: "Fill in what you like.", schema: json!({"type": "object", "properties": fields}) }
}

/// Sends the user to a page and believes that they were there.
async fn page(call: &mut Call) -> Result<Value, Stop> {
    let id = random_text();
    let answers = call.ask(&[("page", Input::Page { id: id.clone() })]).await?;
    let action = answers.first().and_then(|answer| answer.get("action")).and_then(Value::as_str);
    if action != Some("accept") {
        return Err(Stop::Tool("The user did not go to the page.".to_owned()));
    }
    if !call.modern() {
        let params = if call.has(Fault::CompletionOfNothing) { json!({}) } else { json!({"elicitationId": id}) };
        call.outlet.notify("notifications/elicitation/complete", params);
    }
    Ok(said("The user has been to the page."))
}

/// Says to which page the user has to go first, and that the call has to come again.
fn locked(call: &Call) -> Result<Value, Stop> {
    let page = Input::Page { id: random_text() };
    call.require(&page)?;
    let mut entry = call.request(&page).1.unwrap_or_default();
    if call.has(Fault::RequiredFormListed) {
        entry["mode"] = json!("form");
    }
    let error = RpcError::new(-32042, "a page has to be visited first");
    let listed = if call.has(Fault::RequiredListEmpty) { json!([]) } else { json!([entry]) };
    Err(error.data(json!({ "elicitations": listed })).into())
}

fn colour_form() -> Input {
    let colour = json!({"type": "string", "title": "Colour", "enum": ["red", "green", "blue"]});
    let schema = json!({"type": "object", "properties": {"colour": colour}, "required": ["colour"]});
    Input::Form { message: "Which colour do you like?", schema }
}

fn size_form() -> Input {
    let size = json!({"type": "integer", "title": "Size", "minimum": 1, "maximum": 60});
    let schema = json!({"type": "object", "properties": {"size": size}, "required": ["size"]});
    Input::Form { message: "Which size do you wear?", schema }
}

/// What the user filled in; declining is no error of the protocol, but the tool cannot go on.
fn accepted(call: &Call, answers: &[Value], index: usize, field: &str) -> Result<String, Stop> {
    let answer = answers.get(index).cloned().unwrap_or_default();
    let action = answer.get("action").and_then(Value::as_str).unwrap_or("cancel");
    if action != "accept" && !call.has(Fault::DeclineTakenAsAccept) {
        return Err(Stop::Tool(format!("The user did not give the {field} ({action}).")));
    }
    Ok(match answer.pointer(&format!("/content/{field}")) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "whoever you are".to_owned(),
    })
}

/// A PNG of one pixel.
pub(crate) const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
/// A WAV file of one sample.
const CLICK: &str = "UklGRiUAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQEAAACA";

pub(crate) fn image() -> Value {
    json!({"type": "image", "data": PIXEL, "mimeType": "image/png"})
}

pub(crate) fn sound() -> Value {
    json!({"type": "audio", "data": CLICK, "mimeType": "audio/wav"})
}

fn media() -> Value {
    json!({"content": [
        {"type": "text", "text": "One block of each kind."},
        image(),
        sound(),
        {"type": "resource_link", "uri": "ref://text/readme", "name": "readme", "mimeType": "text/plain"},
        {"type": "resource", "resource": {"uri": "ref://text/guide", "mimeType": "text/markdown", "text": "# Guide"}},
    ]})
}

fn unknown_tool(call: &Call, name: &str) -> Result<Value, Stop> {
    if call.has(Fault::UnknownToolAsToolError) {
        return Err(Stop::Tool(format!("unknown tool: {name}")));
    }
    if call.has(Fault::UnknownToolAsUnknownMethod) {
        return Err(RpcError::unknown_method("tools/call").into());
    }
    if let Some((_, code)) = UNKNOWN_TOOL_CODES.iter().find(|(fault, _)| call.has(*fault)) {
        let error = RpcError::new(*code, format!("unknown tool: {name}"));
        let versions = json!({"supported": ["2026-07-28"], "requested": "2026-07-28"});
        return Err(if *code == -32_022 { error.data(versions) } else { error }.into());
    }
    if call.has(Fault::ErrorMessageIsTrace) {
        let trace = format!("unknown tool: {name}\n    at tools::call\n    at features::serve");
        return Err(RpcError::invalid_params(trace).into());
    }
    Err(RpcError::invalid_params(format!("unknown tool: {name}")).into())
}

/// Codes that are not for an unknown tool, or for nothing at all.
const UNKNOWN_TOOL_CODES: [(Fault, i64); 4] = [
    (Fault::UnknownToolCustomCode, -32_500),
    (Fault::UnknownToolOldBlock, -32_011),
    (Fault::UnknownToolUndefinedCode, -32_029),
    (Fault::UnknownToolAsUnsupportedVersion, -32_022),
];

fn break_list(call: &Call, tools: &mut Vec<Value>) {
    if call.has(Fault::ToolNamesRepeat)
        && let Some(first) = tools.first().cloned()
    {
        tools.insert(1, first);
    }
    for tool in tools.iter_mut().filter_map(Value::as_object_mut) {
        let fail = tool.get("name") == Some(&json!("fail"));
        if fail && call.has(Fault::ToolWithoutSchema) {
            tool.shift_remove("inputSchema");
        }
        if fail && call.has(Fault::ToolSchemaNoObject) {
            tool.insert("inputSchema".to_owned(), json!({"type": "string"}));
        }
        if fail && call.has(Fault::ToolSchemaInvalid) {
            tool.insert("inputSchema".to_owned(), json!({"type": "object", "properties": {"text": {"type": "strin"}}}));
        }
        if fail && call.has(Fault::ToolNameWithSpace) {
            tool.insert("name".to_owned(), json!("fail always"));
        }
        if fail && call.has(Fault::ToolNameTooLong) {
            tool.insert("name".to_owned(), json!("n".repeat(129)));
        }
        if fail && call.has(Fault::ToolHintAsText) {
            tool.insert("annotations".to_owned(), json!({"readOnlyHint": "true"}));
        }
        if tool.get("name") == Some(&json!("routed")) && call.has(Fault::HeaderAnnotationEmpty) {
            let schema = tool.get_mut("inputSchema").and_then(|schema| schema.pointer_mut("/properties/region"));
            if let Some(region) = schema.and_then(Value::as_object_mut) {
                region.insert("x-mcp-header".to_owned(), json!(""));
            }
        }
    }
}

fn break_result(call: &Call, result: &mut Value) {
    let Some(result) = result.as_object_mut() else { return };
    if call.has(Fault::ContentMissing) {
        result.shift_remove("content");
    }
    if call.has(Fault::ContentOfUnknownType) {
        result.insert("content".to_owned(), json!([{"type": "markdown", "text": "# hello"}]));
    }
    if call.has(Fault::TextBlockWithoutText) {
        result.insert("content".to_owned(), json!([{"type": "text"}]));
    }
    for block in result.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(block) = block.as_object_mut() else { continue };
        if block.get("type") == Some(&json!("image")) && call.has(Fault::ImageNotBase64) {
            block.insert("data".to_owned(), json!("<not base64>"));
        }
    }
    if call.has(Fault::IsErrorAsText) {
        result.insert("isError".to_owned(), json!("false"));
    }
}
