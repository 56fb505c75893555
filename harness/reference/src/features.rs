//! The methods that both eras share, found by name: [`serve`]. Lists are cut into pages here; cursors are sealed
//! offsets, so that they hold on every connection and cannot be made up.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use tokio::time::sleep;

use crate::bugs::{self, Bug};
use crate::call::{Call, Stop};
use crate::faults::Fault;
use crate::json::{Params, RpcError};
use crate::seal::Seal;
use crate::server::{Server, lock};
use crate::{forms, prompts, resources, tools};

/// The methods of [`serve`].
pub(crate) const METHODS: &[&str] = &[
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
];

/// Whether a method of [`serve`] is there for clients.
pub(crate) fn offered(server: &Server, method: &str) -> bool {
    METHODS.contains(&method) && !server.config.bare
}

/// The methods whose work can take long, so that others must not wait for it.
pub(crate) fn takes_long(method: &str) -> bool {
    matches!(method, "tools/call" | "prompts/get" | "resources/read" | "subscriptions/listen" | "tasks/result")
}

/// Serves one request of a shared method.
pub(crate) async fn serve(call: &mut Call, method: &str, params: &Params) -> Result<Value, Stop> {
    if !params.is_object_or_absent() && !call.has(Fault::ParamsShapeUnchecked) {
        return Err(RpcError::invalid_params("params has to be an object").into());
    }
    if call.has(Fault::NeverAnswersPromptsList) && method == "prompts/list" {
        return std::future::pending().await;
    }
    if is_fatal(call, method, params) || is_bug(call, method, params) {
        call.server.fatal.cancel();
        return std::future::pending().await;
    }
    if let Some(error) = broken_refusal(call, method) {
        return Err(error.into());
    }
    let mut result = match method {
        "tools/list" => page(call, "tools", tools::list(call), params),
        "tools/call" => tools::call(call, params).await,
        "resources/list" => page(call, "resources", resources::list(call).into(), params),
        "resources/templates/list" => page(call, "resourceTemplates", resources::templates(call).into(), params),
        "resources/read" => resources::read(call, params).await,
        "prompts/list" => page(call, "prompts", prompts::list(call).into(), params),
        "prompts/get" => prompts::get(call, params).await,
        "completion/complete" => {
            if call.bug(Bug::BacktrackingPattern) {
                let value = params.get("argument").and_then(|argument| argument.get("value"));
                sleep(bugs::backtracking(value.and_then(Value::as_str).unwrap_or_default())).await;
            }
            prompts::complete(call, params)
        }
        _ => Err(RpcError::unknown_method(method).status(404).into()),
    }?;
    forms::break_form(call, method, &mut result);
    Ok(result)
}

/// What ends a broken server.
fn is_fatal(call: &Call, method: &str, params: &Params) -> bool {
    let no_text = |value: Option<&Value>| value.is_some_and(|value| !value.is_string());
    match method {
        "completion/complete" => {
            let value = params.get("argument").and_then(|argument| argument.get("value"));
            call.has(Fault::CompletionOddValueFatal) && no_text(value)
        }
        "resources/read" => {
            call.has(Fault::EmptyUriFatal) && params.get("uri").and_then(Value::as_str).is_some_and(str::is_empty)
        }
        _ => call.has(Fault::CursorOfAnotherTypeFatal) && no_text(params.get("cursor")),
    }
}

/// Where a deep bug ends the process.
fn is_bug(call: &Call, method: &str, params: &Params) -> bool {
    const PATH: [&str; 3] = ["completion/complete", "resources/templates/list", "completion/complete"];
    let size = call.server.config.page_size.unwrap_or(0);
    match call.server.config.bug {
        Some(Bug::ListingBetweenCompletions) => call.notebook().ends_with(method, &PATH),
        Some(Bug::DeepParams) => params.value().is_some_and(|value| bugs::depth(value) > 64),
        Some(Bug::CursorOverflow) => {
            let cursor = params.get("cursor").and_then(Value::as_str);
            method.ends_with("/list") && cursor.is_some_and(|cursor| bugs::cursor_overflows(cursor, size))
        }
        _ => false,
    }
}

fn broken_refusal(call: &Call, method: &str) -> Option<RpcError> {
    if method == "completion/complete" && call.has(Fault::CompletionAdvertisedNotServed) {
        return Some(RpcError::unknown_method(method).status(404));
    }
    if method == "resources/templates/list" && call.has(Fault::TemplatesUnknown) {
        return Some(RpcError::unknown_method(method).status(404));
    }
    if (method == "tools/list" && call.has(Fault::ListInternalError))
        || (method == "resources/list" && call.has(Fault::ResourcesListInternalError))
    {
        return Some(RpcError::new(-32603, "internal error"));
    }
    None
}

/// One page of a list.
fn page(call: &Call, key: &'static str, items: Cow<'_, [Value]>, params: &Params) -> Result<Value, Stop> {
    let refused = || Stop::Error(RpcError::invalid_params("the cursor is not valid"));
    let offset = match params.get("cursor") {
        None if key == "tools" && call.has(Fault::CursorDemanded) => return Err(refused()),
        None => 0,
        Some(Value::String(cursor)) => match offset(call, key, cursor) {
            Some(offset) => offset,
            None if call.has(Fault::BogusCursorAsFirstPage) => 0,
            None if call.has(Fault::BogusCursorInternalError) => {
                return Err(RpcError::new(-32603, "the cursor could not be decoded").into());
            }
            None => return Err(refused()),
        },
        Some(_) if call.has(Fault::BogusCursorAsFirstPage) => 0,
        Some(_) => return Err(refused()),
    };
    if offset > items.len() || (offset > 0 && call.has(Fault::NextPageRefused)) {
        return Err(refused());
    }
    if offset > 0 && call.has(Fault::CursorUsedUp) {
        // Only a cursor that was asked for a moment ago is gone, so that two walks do not disturb each other much.
        let last = lock(&call.server.memory).last_cursor.replace(format!("{key} {offset}"));
        if last == Some(format!("{key} {offset}")) {
            return Err(refused());
        }
    }
    let mut items = items;
    if offset == 0 && key == "tools" && call.has(Fault::ToolOrderChanges) {
        let mut memory = lock(&call.server.memory);
        memory.swapped = !memory.swapped;
        if memory.swapped {
            items.to_mut().swap(0, 1);
        }
    }
    let total = items.len();
    let size = call.server.config.page_size.unwrap_or(usize::MAX).max(1);
    let start = if offset > 0 && call.has(Fault::PagesOverlap) { offset - 1 } else { offset };
    let items: Vec<Value> = items.iter().skip(start).take(size.saturating_add(offset - start)).cloned().collect();
    let end = offset.saturating_add(size);
    let mut result = Map::new();
    result.insert(key.to_owned(), Value::Array(items));
    let seal = |offset: usize| {
        let place = json!({"list": key, "offset": offset});
        json!(if call.bug(Bug::CursorOverflow) { Seal::open_text(&place) } else { call.server.seal.close(&place) })
    };
    let next = match () {
        () if call.has(Fault::CursorNeverEnds) => Some(seal(size.min(total))),
        () if call.has(Fault::CursorCycles) => Some(seal(if end < total { end } else { 0 })),
        () if end < total => Some(seal(end)),
        () if call.has(Fault::CursorNullAtEnd) => Some(Value::Null),
        () => None,
    };
    if let Some(next) = next {
        let next = if call.has(Fault::CursorAsNumber) { json!(end) } else { next };
        result.insert("nextCursor".to_owned(), next);
    }
    if call.has(Fault::ListAsObject) && key == "tools" {
        result.insert(key.to_owned(), json!({}));
    }
    Ok(Value::Object(result))
}

fn offset(call: &Call, key: &str, cursor: &str) -> Option<usize> {
    let opened = match call.bug(Bug::CursorOverflow) {
        true => Seal::open_unverified(cursor)?,
        false => call.server.seal.open(cursor)?,
    };
    if opened.get("list").and_then(Value::as_str) != Some(key) {
        return None;
    }
    usize::try_from(opened.get("offset")?.as_u64()?).ok()
}
