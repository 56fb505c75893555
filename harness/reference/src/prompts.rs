//! The prompts and the completion of arguments: [`list`], [`get`] and [`complete`]. Argument values are strings, so
//! everything else is refused.

use serde_json::{Map, Value, json};

use crate::bugs::{self, Bug};
use crate::call::{Call, Input, Stop};
use crate::faults::Fault;
use crate::json::{Params, RpcError};
use crate::resources::{self, NOTE_TEMPLATE};
use crate::server::lock;
use crate::tools;

const STYLES: &[&str] = &["formal", "friendly", "funny", "frosty"];

/// All prompts, in a fixed order.
pub(crate) fn list(call: &Call) -> Vec<Value> {
    let mut prompts = vec![
        json!({
            "name": "greeting",
            "description": "Greets somebody.",
            "arguments": [
                {"name": "name", "description": "Who is greeted.", "required": true},
                {"name": "style", "description": "How.", "required": false},
            ],
        }),
        json!({"name": "review", "description": "Reviews the guide, which is embedded, by eye and ear."}),
        json!({"name": "guided", "description": "Asks a client that can be asked for a topic."}),
        json!({
            "name": "note",
            "description": "Talks about a note.",
            "arguments": [{"name": "id", "description": "The note.", "required": false}],
        }),
    ];
    if call.server.has_extra() {
        prompts.push(json!({"name": "extra", "description": "Is there while the extra tool is."}));
    }
    if let Some(first) = prompts.first_mut().and_then(Value::as_object_mut) {
        first.insert("icons".to_owned(), json!([{"src": "https://example.com/prompt.png"}]));
    }
    if let Some(first) = prompts.first_mut().and_then(Value::as_object_mut)
        && call.has(Fault::PromptRequiredAsText)
    {
        first.insert("arguments".to_owned(), json!([{"name": "name", "required": "yes"}]));
    }
    if call.has(Fault::PromptNamesRepeat)
        && let Some(first) = prompts.first().cloned()
    {
        prompts.insert(1, first);
    }
    prompts
}

/// Fills in one prompt.
pub(crate) async fn get(call: &mut Call, params: &Params) -> Result<Value, Stop> {
    let name = match params.get("name") {
        Some(Value::String(name)) => name.clone(),
        _ => return Err(RpcError::invalid_params("prompts/get needs a name").into()),
    };
    let arguments = match params.get("arguments") {
        None if call.has(Fault::PromptArgumentsDemanded) => {
            return Err(RpcError::invalid_params("prompts/get needs arguments").into());
        }
        None => Map::new(),
        Some(Value::Object(arguments)) => arguments.clone(),
        Some(_) => return Err(RpcError::invalid_params("arguments has to be an object").into()),
    };
    let Some(prompt) = list(call).into_iter().find(|prompt| prompt.get("name").and_then(Value::as_str) == Some(&name))
    else {
        return unknown_prompt(call, &name);
    };
    if arguments.values().any(|value| !value.is_string()) && call.modern() && call.has(Fault::PromptOddValueHangs) {
        return std::future::pending().await;
    }
    if arguments.values().any(|value| !value.is_string()) && !call.has(Fault::PromptValuesUnchecked) {
        return Err(RpcError::invalid_params("the arguments of a prompt are strings").into());
    }
    let declared = prompt.get("arguments").and_then(Value::as_array).cloned().unwrap_or_default();
    for argument in &declared {
        let name = argument.get("name").and_then(Value::as_str).unwrap_or_default();
        let required = argument.get("required") == Some(&Value::Bool(true));
        if required && !arguments.contains_key(name) && !call.has(Fault::PromptArgumentsUnchecked) {
            return Err(RpcError::invalid_params(format!("the argument {name} is missing")).into());
        }
    }
    let braced = |name: &str| format!("{{{name}}}");
    let names = declared.iter().filter_map(|one| one.get("name").and_then(Value::as_str));
    let expands = names.map(braced).any(|name| texts(&arguments).any(|text| text.contains(&name)));
    if expands && call.bug(Bug::TemplateExpandsItself) {
        return std::future::pending().await;
    }
    if call.bug(Bug::NamesRecalled) {
        lock(&call.server.notebook).names.extend(texts(&arguments).map(str::to_owned));
    }
    call.open_flow("prompts/get", &json!(name), params).await?;
    let text = |name: &str, default: &str| arguments.get(name).and_then(Value::as_str).unwrap_or(default).to_owned();
    let said = |text: String| json!({"role": "user", "content": {"type": "text", "text": text}});
    let mut messages = match name.as_str() {
        "greeting" => {
            vec![said(format!("Greet {} in a {} way.", text("name", "somebody"), text("style", "friendly")))]
        }
        "review" => {
            let shown = |content: Value| json!({"role": "user", "content": content});
            vec![said("Review this guide.".to_owned()), embedded(call), shown(tools::image()), shown(tools::sound())]
        }
        "guided" => {
            let topic = topic(call).await?;
            vec![said(format!("Explain {topic} step by step."))]
        }
        "note" => vec![said(format!("What follows from the note {}?", text("id", "first")))],
        _ => vec![said("The extra prompt.".to_owned())],
    };
    break_messages(call, &mut messages);
    Ok(json!({"description": prompt.get("description"), "messages": messages}))
}

fn texts(arguments: &Map<String, Value>) -> impl Iterator<Item = &str> {
    arguments.values().filter_map(Value::as_str)
}

/// Completes one argument of a prompt or of a template.
pub(crate) fn complete(call: &Call, params: &Params) -> Result<Value, Stop> {
    let invalid = |why: &str| Stop::Error(RpcError::invalid_params(why));
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let reference = params.get("ref").and_then(Value::as_object).ok_or_else(|| invalid("completion needs a ref"))?;
    if params.get("argument").is_none() && call.has(Fault::CompletionGapsTaken) {
        return Ok(json!({"completion": {"values": [], "total": 0, "hasMore": false}}));
    }
    let argument = params.get("argument").and_then(Value::as_object).ok_or_else(|| invalid("an argument is needed"))?;
    let name = text(argument.get("name")).ok_or_else(|| invalid("the argument needs a name"))?;
    let typed = text(argument.get("value")).ok_or_else(|| invalid("the argument needs a value"))?;
    if call.bug(Bug::AstralPrefix) && bugs::is_astral(&typed) {
        let why = format!("byte index 1 is not a char boundary; it is inside {typed:?}");
        return Err(RpcError::new(-32603, bugs::trace(&why, "prompts.rs", 141)).into());
    }
    if params.get("context").is_some_and(|context| !context.is_object()) {
        return Err(invalid("context has to be an object"));
    }
    if params.get("context").is_some() && call.has(Fault::CompletionContextRefused) {
        return Err(invalid("context is not known"));
    }
    let kind = reference.get("type").and_then(Value::as_str);
    if (kind == Some("ref/prompt") && call.has(Fault::CompletionWithoutPrompts))
        || (kind == Some("ref/resource") && call.has(Fault::CompletionWithoutTemplates))
    {
        return Err(invalid("this kind of reference is not known"));
    }
    let candidates = match reference.get("type").and_then(Value::as_str) {
        Some("ref/prompt") => {
            let wanted = text(reference.get("name")).ok_or_else(|| invalid("a prompt reference needs a name"))?;
            let prompt =
                list(call).into_iter().find(|prompt| prompt.get("name").and_then(Value::as_str) == Some(&wanted));
            match prompt {
                Some(prompt) => prompt_values(call, &prompt, &name).ok_or_else(|| invalid("unknown argument"))?,
                None if call.has(Fault::CompletionUnknownPromptEmpty) => Vec::new(),
                None => return Err(invalid("unknown prompt")),
            }
        }
        Some("ref/resource") => match text(reference.get("uri")) {
            Some(uri) if uri == NOTE_TEMPLATE && name == "id" => call.server.notes().into_keys().collect(),
            Some(uri) if uri == NOTE_TEMPLATE => return Err(invalid("unknown argument")),
            Some(uri) if resources::known(call, &uri) => Vec::new(),
            Some(_) => return Err(invalid("unknown resource")),
            None => return Err(invalid("a resource reference needs a uri")),
        },
        _ => return Err(invalid("unknown kind of reference")),
    };
    let recalled = call.bug(Bug::NamesRecalled).then(|| lock(&call.server.notebook).names.clone());
    let candidates = candidates.into_iter().chain(recalled.unwrap_or_default());
    let mut values: Vec<String> = candidates.filter(|value| value.starts_with(&typed)).collect();
    if call.has(Fault::CompletionTooMany) {
        values = (0..150).map(|number| format!("{typed}{number}")).collect();
    }
    let total = values.len();
    if call.has(Fault::CompletionTotalTooSmall) {
        values = ["one", "two"].map(str::to_owned).to_vec();
        return Ok(json!({"completion": {"values": values, "total": 1, "hasMore": false}}));
    }
    if call.has(Fault::CompletionFlat) {
        return Ok(json!({ "values": values }));
    }
    if !call.has(Fault::CompletionTooMany) {
        values.truncate(100);
    }
    let more = total > values.len();
    Ok(json!({"completion": {"values": values, "total": total, "hasMore": more}}))
}

fn prompt_values(call: &Call, prompt: &Value, argument: &str) -> Option<Vec<String>> {
    let declared = prompt.get("arguments").and_then(Value::as_array)?;
    declared.iter().find(|one| one.get("name").and_then(Value::as_str) == Some(argument))?;
    Some(match argument {
        "style" => STYLES.iter().map(|style| (*style).to_owned()).collect(),
        "id" => call.server.notes().into_keys().collect(),
        _ => Vec::new(),
    })
}

fn embedded(call: &Call) -> Value {
    let mut resource = Map::new();
    resource.insert("uri".to_owned(), json!("ref://text/guide"));
    resource.insert("mimeType".to_owned(), json!("text/markdown"));
    resource.insert("text".to_owned(), json!("# Guide\n\nBreak it in exactly one way."));
    if call.has(Fault::EmbeddedWithoutUri) {
        resource.shift_remove("uri");
    }
    if call.has(Fault::EmbeddedWithoutData) {
        resource.shift_remove("text");
    }
    json!({"role": "user", "content": {"type": "resource", "resource": resource}})
}

async fn topic(call: &mut Call) -> Result<String, Stop> {
    let modes = call.capabilities.get("elicitation").and_then(Value::as_object);
    let can_ask = modes.is_some_and(|modes| modes.is_empty() || modes.contains_key("form"));
    if !call.modern() || !can_ask {
        return Ok("anything".to_owned());
    }
    let topic = json!({"type": "string", "title": "Topic", "minLength": 1, "maxLength": 100});
    let schema = json!({"type": "object", "properties": {"name": topic}, "required": ["name"]});
    let answers = call.ask(&[("name", Input::Form { message: "What is it about?", schema })]).await?;
    let topic = answers.first().and_then(|answer| answer.pointer("/content/name")).and_then(Value::as_str);
    Ok(topic.unwrap_or("anything").to_owned())
}

fn unknown_prompt(call: &Call, name: &str) -> Result<Value, Stop> {
    if call.has(Fault::UnknownPromptEmpty) {
        return Ok(json!({"messages": []}));
    }
    let code = if call.has(Fault::UnknownPromptInternalError) { -32603 } else { -32602 };
    Err(RpcError::new(code, format!("unknown prompt: {name}")).into())
}

fn break_messages(call: &Call, messages: &mut [Value]) {
    let Some(first) = messages.first_mut().and_then(Value::as_object_mut) else { return };
    if call.has(Fault::PromptRoleSystem) {
        first.insert("role".to_owned(), json!("system"));
    }
    if call.has(Fault::PromptContentAsList) {
        let content = first.get("content").cloned();
        first.insert("content".to_owned(), json!([content]));
    }
}
