//! HTTP up to 2025-11-25: [`post`], [`get`] and [`delete`] within sessions. A client that closes a stream has not
//! cancelled: the work goes on, and the stream can be taken up again.

use std::sync::Arc;

use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;
use tokio::sync::mpsc;

use super::body::{AbortGuard, Reply, stream};
use super::{accepts, crashed, empty, headers, json as json_answer, refusal, taken, text};
use crate::bugs::{self, Bug};
use crate::config::AnswerForm;
use crate::faults::Fault;
use crate::json::{Incoming, Message, RpcError, frames};
use crate::legacy::{message, notification, unwanted_answer};
use crate::server::{Outlet, Server, lock};
use crate::session::Session;
use crate::stdio::drops_id;

const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";

/// Serves one message.
pub(crate) async fn post(server: &Arc<Server>, headers: &HeaderMap, incoming: Incoming) -> Response<Reply> {
    let id = match &incoming {
        Incoming::Request { id, .. } => Some(id.clone()),
        _ => None,
    };
    if let Err(error) = version_allowed(server, headers) {
        return refusal(server, id, error);
    }
    let opening = matches!(&incoming, Incoming::Request { method, .. } if method == "initialize");
    if opening && std::mem::take(&mut lock(&server.memory).told_gone) {
        return refusal(server, id, RpcError::invalid_request("this server has had its session"));
    }
    let session = match (opening && !headers.contains_key(SESSION), server.config.sessions) {
        (true, true) => Session::over_http(server, client_of(&incoming)),
        (_, false) => passing_session(server, headers, opening),
        (false, true) => match session_of(server, headers) {
            Ok(session) => session,
            Err(error) => return refusal(server, id, error),
        },
    };
    match incoming {
        Incoming::Request { ref id, .. } if drops_id(server, id) => std::future::pending().await,
        Incoming::Request { id, method, params } => {
            let request = Incoming::Request { id, method, params };
            let mut response = exchange(server, &session, request).await;
            let opened = opening && server.config.sessions && session.phase() != crate::session::Phase::New;
            let again = server.has(Fault::SessionIdGivenAgain);
            if opened && (again || server.session(&session.id).is_none()) {
                if let Ok(id) = HeaderValue::from_bytes(session.id.as_bytes()) {
                    response.headers_mut().insert(SESSION, id);
                }
                server.add_session(session);
            }
            response
        }
        Incoming::Notification { method, params } => {
            notification(server, &session, &method, &params);
            match unwanted_answer(server, Some(&session), &method, &params) {
                Some(answer) => json_answer(server, &answer, 200),
                None => taken(server),
            }
        }
        Incoming::Answer { id, outcome } => {
            if !session.answered(server, &id, outcome) && server.has(Fault::StrayResponseAnswered) {
                let why = RpcError::new(-32600, "no request of the server's own has this id");
                return refusal(server, None, why);
            }
            taken(server)
        }
        Incoming::Invalid { id, why } => refusal(server, id, RpcError::invalid_request(why)),
    }
}

/// What the client of a handshake says of itself.
fn client_of(incoming: &Incoming) -> Option<&serde_json::Value> {
    match incoming {
        Incoming::Request { params, .. } => params.get("clientInfo"),
        _ => None,
    }
}

/// Serves an array of messages, which only 2025-03-26 knows.
pub(crate) async fn post_batch(server: &Arc<Server>, headers: &HeaderMap, items: Vec<Incoming>) -> Response<Reply> {
    let refused = || RpcError::invalid_request("a body is one JSON object");
    let session = session_of(server, headers).ok().filter(|session| session.version() == "2025-03-26");
    let Some(session) = session.filter(|_| !items.is_empty()) else { return refusal(server, None, refused()) };
    let silent = Outlet::new(|_| {});
    let mut answers = Vec::new();
    for item in items {
        answers.extend(message(server, &session, item, &silent).await);
    }
    if answers.is_empty() { taken(server) } else { json_answer(server, &Message::Batch(answers), 200) }
}

/// Opens or takes up a stream.
pub(crate) async fn get(server: &Arc<Server>, headers: &HeaderMap) -> Response<Reply> {
    if server.has(Fault::GetHangs) {
        return std::future::pending().await;
    }
    if !accepts(headers, "text/event-stream") {
        return empty(StatusCode::NOT_ACCEPTABLE);
    }
    let session = match version_allowed_on_get(server, headers).and_then(|()| session_of(server, headers)) {
        Ok(session) => session,
        Err(error) => return refusal(server, None, error),
    };
    let odd = |id: &str| id.rsplit('-').next().is_some_and(|number| number.parse::<u64>().is_err());
    if server.bug(Bug::OddEventId) && text(headers, LAST_EVENT).is_some_and(odd) {
        return crashed(&bugs::trace("invalid digit found in string", "streams.rs", 161));
    }
    let primed = session.version() >= "2025-11-25";
    let last = text(headers, LAST_EVENT).filter(|_| server.config.resumable);
    let receiver = match last {
        None => Some(session.streams.open_general(server, primed)),
        Some(last) if server.has(Fault::ReplayIgnoresSession) => {
            let owner = server.sessions().into_iter().find(|session| session.streams.knows(last));
            owner.and_then(|owner| owner.streams.resume(server, last))
        }
        Some(last) => session.streams.resume(server, last),
    };
    match receiver {
        Some(receiver) => stream(server, receiver, None),
        None => refusal(server, None, RpcError::invalid_request("no stream of this session has such an event")),
    }
}

/// Ends a session.
pub(crate) fn delete(server: &Arc<Server>, headers: &HeaderMap) -> Response<Reply> {
    let session = match version_allowed_on_get(server, headers).and_then(|()| session_of(server, headers)) {
        Ok(session) => session,
        Err(error) => return refusal(server, None, error),
    };
    if server.has(Fault::DeleteKeepsSession) {
        return empty(StatusCode::NO_CONTENT);
    }
    let mut ended = vec![session.clone()];
    if server.has(Fault::DeleteEndsAllSessions) {
        let alike = |other: &Arc<Session>| other.id != session.id && other.capabilities() == session.capabilities();
        ended.extend(server.sessions().into_iter().filter(|other| !session.capabilities().is_empty() && alike(other)));
    }
    for session in ended {
        server.remove_session(&session.id);
        session.flights.cancel_all();
        session.abandon();
        session.streams.close();
    }
    empty(StatusCode::NO_CONTENT)
}

/// The session that the header names.
fn session_of(server: &Server, headers: &HeaderMap) -> Result<Arc<Session>, RpcError> {
    if !headers.contains_key(SESSION) {
        let status = if server.has(Fault::MissingSession404) { 404 } else { 400 };
        return Err(RpcError::new(-32600, "the header Mcp-Session-Id is missing").status(status));
    }
    let known = text(headers, SESSION).and_then(|id| server.session(id));
    if known.is_none() && server.has(Fault::UnknownSessionServed) {
        let session = Session::over_http(server, None);
        session.negotiated(server.config.newest_legacy(), serde_json::Map::new());
        return Ok(session);
    }
    if known.is_none() && server.has(Fault::OneSessionOnly) {
        lock(&server.memory).told_gone = true;
    }
    let status = if server.has(Fault::UnknownSession400) { 400 } else { 404 };
    known.ok_or_else(|| RpcError::new(-32600, "there is no such session").status(status))
}

/// What stands for a session where none is kept: it lasts for one request.
fn passing_session(server: &Server, headers: &HeaderMap, opening: bool) -> Arc<Session> {
    let session = Session::over_http(server, None);
    if !opening {
        let named = text(headers, headers::VERSION).and_then(|name| server.config.legacy_version(name));
        session.negotiated(named.unwrap_or_else(|| server.config.newest_legacy()), serde_json::Map::new());
    }
    session
}

fn version_allowed(server: &Server, headers: &HeaderMap) -> Result<(), RpcError> {
    let Some(value) = headers.get(headers::VERSION) else {
        if server.has(Fault::VersionHeaderDemanded) && headers.contains_key(SESSION) {
            return Err(RpcError::invalid_request("MCP-Protocol-Version is missing"));
        }
        return Ok(());
    };
    let known = value.to_str().is_ok_and(|name| server.config.legacy_version(name).is_some());
    if known || server.has(Fault::VersionHeaderUnchecked) {
        return Ok(());
    }
    Err(RpcError::invalid_request("the protocol version of the header is not supported"))
}

fn version_allowed_on_get(server: &Server, headers: &HeaderMap) -> Result<(), RpcError> {
    if server.has(Fault::VersionHeaderCheckedOnPostOnly) {
        return Ok(());
    }
    version_allowed(server, headers)
}

enum Item {
    Message(Message),
    Final(Message),
}

/// Serves one request and answers with JSON or with a stream.
async fn exchange(server: &Arc<Server>, session: &Arc<Session>, request: Incoming) -> Response<Reply> {
    let (sender, mut items) = mpsc::unbounded_channel();
    let outlet = {
        let (sender, server, session) = (sender.clone(), server.clone(), session.clone());
        Outlet::new(move |message| {
            if server.has(Fault::RelatedOnGeneralStream) {
                session.general(&server, &message);
                return;
            }
            // If there is no stream, there is nobody to tell.
            let _ = sender.send(Item::Message(message));
        })
    };
    let called = matches!(&request, Incoming::Request { method, .. } if method == "tools/call");
    // Narrow enough that the handshake and all else still work.
    let got_prompt = matches!(&request, Incoming::Request { method, .. } if method == "prompts/get");
    {
        let (server, session) = (server.clone(), session.clone());
        let route = match &request {
            Incoming::Request { id, .. } if server.bug(Bug::SessionsShareIds) => Some(id.key()),
            _ => None,
        };
        let last = Outlet::new(move |answer| drop(sender.send(Item::Final(answer))));
        if let Some(route) = &route {
            lock(&server.notebook).routes.insert(route.clone(), last.clone());
        }
        tokio::spawn(async move {
            let Some(answer) = message(&server, &session, request, &outlet).await else { return };
            let routed = route.and_then(|route| lock(&server.notebook).routes.remove(&route));
            routed.unwrap_or(last).send(answer);
        });
    }
    let whole = server.config.answers == AnswerForm::Json;
    let mut first = None;
    // Only a stream that is there can be passed by.
    while !(server.has(Fault::RelatedOnGeneralStream) && called)
        && let Some(item) = items.recv().await
    {
        // A JSON answer has no room for notifications, but a request of the server's own has to go out.
        if !(whole && matches!(item, Item::Message(Message::Notification { .. }))) {
            first = Some(item);
            break;
        }
    }
    let sse = server.config.answers == AnswerForm::Sse;
    if let Some(Item::Final(answer)) = &first {
        let status = match answer {
            Message::Answer { outcome: Err(error), .. } => Some(error.status),
            _ => None,
        };
        if status.is_some() || !sse {
            return json_answer(server, answer, status.unwrap_or(200));
        }
    }
    let primed = session.version() >= "2025-11-25";
    let (number, receiver) = session.streams.open(server, primed);
    let (server_of_pump, session) = (server.clone(), session.clone());
    let pump = tokio::spawn(async move {
        let server = server_of_pump;
        if server.has(Fault::EndlessStream) {
            session.streams.drip(number).await;
        }
        let mut next = match first {
            None => items.recv().await,
            first => first,
        };
        while let Some(item) = next {
            let (message, last) = match item {
                Item::Message(message) => (message, false),
                Item::Final(message) => (message, true),
            };
            if last && got_prompt && server.has(Fault::StreamWithoutResponse) {
                break;
            }
            for frame in frames(&server, &message) {
                let astray = !last && server.has(Fault::RelatedOnOtherStream);
                if last && got_prompt && server.has(Fault::ResponseOnGeneralStream) {
                    session.streams.general(&server, &frame);
                } else if !astray || !session.streams.push_astray(&server, number, &frame) {
                    session.streams.push(&server, number, &frame);
                }
            }
            if last && got_prompt && server.has(Fault::MessageAfterResponse) {
                let params = Some(json!({"level": "info", "data": "the prompt is filled in"}).into());
                for frame in frames(&server, &Message::Notification { method: "notifications/message", params }) {
                    session.streams.push(&server, number, &frame);
                }
            }
            if last && server.has(Fault::StreamStaysOpen) {
                return;
            }
            next = if last { None } else { items.recv().await };
        }
        session.streams.finish(number);
    });
    // Only a broken server takes a closed stream for a cancellation.
    let guard = server.has(Fault::DisconnectEndsLegacyStream).then(|| AbortGuard(pump.abort_handle()));
    stream(server, receiver, guard)
}
