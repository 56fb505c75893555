//! Tasks of 2025-11-25: a tool call that is answered at once by a task, which is then asked after by its id. [`call`]
//! starts one, [`serve`] answers for all that were started in the session.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::bugs::Bug;
use crate::call::{Call, Stop};
use crate::faults::Fault;
use crate::features;
use crate::forms::break_form;
use crate::json::{Body, Message, Params, RpcError};
use crate::server::{Outlet, Server, lock, random_text};
use crate::session::Session;
use crate::tools;

/// The one version that has tasks of this kind.
const VERSION: &str = "2025-11-25";

/// The tools that may be called as a task.
pub(crate) const CAPABLE: &[&str] = &["slow"];

/// How long a task is kept when its client does not say, in milliseconds.
const TTL: u64 = 60_000;

/// The tasks of one session.
pub(crate) type Tasks = Mutex<BTreeMap<String, Task>>;

pub(crate) struct Task {
    status: &'static str,
    why: Option<String>,
    created: u64,
    updated: u64,
    ttl: Value,
    work: AbortHandle,
    /// What the call came to, once it has.
    outcome: watch::Sender<Option<Result<Value, RpcError>>>,
}

/// Whether a client of this version is offered tasks: they live in a session.
pub(crate) fn offered(server: &Server, version: &str) -> bool {
    version == VERSION && server.config.sessions && !server.config.bare
}

/// What is declared of them.
pub(crate) fn capability(server: &Server) -> Value {
    let list = if server.has(Fault::TasksCapabilityFlag) { json!(true) } else { json!({}) };
    json!({"list": list, "cancel": {}, "requests": {"tools": {"call": {}}}})
}

/// Whether the end of a task is beyond what 64 bits hold in milliseconds.
pub(crate) fn never_ends(server: &Server, params: &Params) -> bool {
    let ttl = params.get("task").and_then(|task| task.get("ttl")).and_then(Value::as_f64);
    let now = i64::try_from(server.now()).unwrap_or(i64::MAX).saturating_mul(1000);
    // The conversion saturates.
    ttl.is_some_and(|ttl| now.checked_add(ttl as i64).is_none())
}

/// Starts a tool call as a task and answers with the task.
pub(crate) fn call(server: &Arc<Server>, session: &Arc<Session>, params: &Params) -> Result<Value, RpcError> {
    let wish = params.get("task").and_then(Value::as_object);
    let wish = wish.ok_or_else(|| RpcError::invalid_params("task has to be an object"))?;
    let ttl = match wish.get("ttl") {
        None => json!(TTL),
        Some(ttl) if ttl.is_number() => ttl.clone(),
        Some(_) => return Err(RpcError::invalid_params("ttl has to be a number")),
    };
    let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
    if !CAPABLE.contains(&name) {
        return Err(RpcError::new(-32601, "this tool cannot be called as a task"));
    }
    let id = random_text();
    // Whatever a task has to say before its end belongs to no request any more.
    let mut work = Call::new(server, Some(session), Outlet::new(|_| {}));
    let (server_of_work, session_of_work, id_of_work, params) =
        (server.clone(), session.clone(), id.clone(), params.clone());
    let work = tokio::spawn(async move {
        let outcome = features::serve(&mut work, "tools/call", &params).await;
        end(&server_of_work, &session_of_work, &id_of_work, outcome);
    });
    let now = server.now();
    let task = Task {
        status: "working",
        why: None,
        created: now,
        updated: now,
        ttl,
        work: work.abort_handle(),
        outcome: watch::Sender::new(None),
    };
    let mut shown = shape(&id, &task);
    lock(&session.tasks).insert(id, task);
    if server.has(Fault::TaskFlatInCreate) {
        return Ok(shown);
    }
    break_task(server, session, "tasks/create", &mut shown);
    Ok(json!({ "task": shown }))
}

/// Answers one of the methods on tasks; `None` if the method is none of them.
pub(crate) async fn serve(
    server: &Arc<Server>,
    session: &Arc<Session>,
    method: &str,
    params: &Params,
) -> Option<Result<Value, RpcError>> {
    let id = params.get("taskId").and_then(Value::as_str).unwrap_or_default();
    let unknown = || RpcError::invalid_params("there is no such task");
    let found = |look: &mut dyn FnMut(&mut Task) -> Result<Value, RpcError>| {
        lock(&session.tasks).get_mut(id).ok_or_else(unknown).and_then(look)
    };
    let mut outcome = match method {
        "tasks/list" => {
            let tasks: Vec<Value> = lock(&session.tasks).iter().map(|(id, task)| shape(id, task)).collect();
            Ok(json!({ "tasks": tasks }))
        }
        "tasks/get" => found(&mut |task| Ok(shape(id, task))),
        "tasks/cancel" => {
            let cancelled = found(&mut |task| {
                if task.status != "working" {
                    return Err(RpcError::invalid_params("the task has ended"));
                }
                task.work.abort();
                task.status = "cancelled";
                task.updated = server.now();
                task.outcome.send_replace(Some(Err(RpcError::new(-32603, "the task was cancelled"))));
                Ok(shape(id, task))
            });
            if cancelled.is_ok() {
                tell(server, session, id);
            }
            cancelled
        }
        "tasks/result" => {
            let receiver = lock(&session.tasks).get(id).map(|task| task.outcome.subscribe());
            let cancelled = lock(&session.tasks).get(id).is_some_and(|task| task.status == "cancelled");
            if cancelled && server.bug(Bug::CancelledTaskAwaited) {
                return std::future::pending().await;
            }
            match receiver {
                Some(receiver) => outcome_of(receiver, id).await,
                None => Err(unknown()),
            }
        }
        _ => return None,
    };
    if let Ok(result) = &mut outcome {
        break_task(server, session, method, result);
        if method == "tasks/get" && server.has(Fault::TaskNestedInGet) {
            *result = json!({ "task": result });
        }
    }
    Some(outcome)
}

/// Waits for the end of the call, and gives what it came to under the name of its task.
async fn outcome_of(
    mut receiver: watch::Receiver<Option<Result<Value, RpcError>>>,
    id: &str,
) -> Result<Value, RpcError> {
    // The task outlives every wait for it; if it is gone all the same, nothing is known of it.
    let Ok(outcome) = receiver.wait_for(Option::is_some).await.map(|outcome| outcome.clone()) else {
        return Err(RpcError::invalid_params("there is no such task"));
    };
    let mut result = outcome.unwrap_or_else(|| Ok(json!({})))?;
    if let Some(members) = result.as_object_mut() {
        let meta = members.entry("_meta").or_insert_with(|| json!({}));
        if let Some(meta) = meta.as_object_mut() {
            meta.insert("io.modelcontextprotocol/related-task".to_owned(), json!({"taskId": id}));
        }
    }
    Ok(result)
}

/// The call of a task has ended.
fn end(server: &Arc<Server>, session: &Arc<Session>, id: &str, outcome: Result<Value, Stop>) {
    let outcome = match outcome {
        Ok(result) => Ok(result),
        Err(Stop::Tool(why)) => Ok(tools::failed(&why)),
        Err(Stop::Error(error)) => Err(error),
        Err(Stop::Input(_)) => Err(RpcError::new(-32603, "this revision has no input requests")),
    };
    let failed = match &outcome {
        Ok(result) if result.get("isError") == Some(&json!(true)) => Some("the tool failed".to_owned()),
        Ok(_) => None,
        Err(error) => Some(error.message.clone()),
    };
    if let Some(task) = lock(&session.tasks).get_mut(id) {
        task.status = if failed.is_some() { "failed" } else { "completed" };
        task.why = failed;
        task.updated = server.now();
        task.outcome.send_replace(Some(outcome));
    }
    tell(server, session, id);
}

/// Tells the client that the status of a task has changed.
fn tell(server: &Arc<Server>, session: &Arc<Session>, id: &str) {
    let Some(mut params) = lock(&session.tasks).get(id).map(|task| shape(id, task)) else { return };
    if server.has(Fault::TaskStatusBare) {
        params = json!({"taskId": id, "status": params.get("status")});
    }
    let message = Message::Notification { method: "notifications/tasks/status", params: Some(Body::from(params)) };
    session.general(server, &message);
}

fn shape(id: &str, task: &Task) -> Value {
    let mut shown = Map::new();
    shown.insert("taskId".to_owned(), json!(id));
    shown.insert("status".to_owned(), json!(task.status));
    if let Some(why) = &task.why {
        shown.insert("statusMessage".to_owned(), json!(why));
    }
    shown.insert("createdAt".to_owned(), json!(timestamp(task.created)));
    shown.insert("lastUpdatedAt".to_owned(), json!(timestamp(task.updated)));
    shown.insert("ttl".to_owned(), task.ttl.clone());
    shown.insert("pollInterval".to_owned(), json!(100));
    Value::Object(shown)
}

fn break_task(server: &Arc<Server>, session: &Arc<Session>, method: &str, shown: &mut Value) {
    let call = Call::new(server, Some(session), Outlet::new(|_| {}));
    break_form(&call, method, shown);
}

/// Seconds since 1970 as RFC 3339 has them.
fn timestamp(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut year, mut left) = (1970, days);
    loop {
        let length = if leap(year) { 366 } else { 365 };
        if left < length {
            break;
        }
        left -= length;
        year += 1;
    }
    let mut month = 1;
    for length in [31, if leap(year) { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}T{:02}:{:02}:{:02}Z", left + 1, rest / 3600, rest / 60 % 60, rest % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_written_as_dates() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00Z");
        assert_eq!(timestamp(951_827_696), "2000-02-29T12:34:56Z");
        assert_eq!(timestamp(1_796_083_199), "2026-11-30T23:59:59Z");
    }
}
