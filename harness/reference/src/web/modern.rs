//! POST in revision 2026-07-28: [`post`] checks headers against the body, serves, and answers with JSON or with an event
//! stream. Whoever closes the connection has cancelled.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::header::HeaderMap;
use hyper::{Response, StatusCode};
use serde_json::json;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::task::AbortHandle;
use tokio::time::sleep;

use super::body::{AbortGuard, Reply, event, stream};
use super::{empty, headers, json as json_answer, refusal, taken, text};
use crate::config::{AnswerForm, Eras, MODERN};
use crate::faults::Fault;
use crate::json::{Incoming, Message, RpcError, frames};
use crate::legacy::unwanted_answer;
use crate::modern::{is_modern, open, refuse_initialize, serve};
use crate::server::{Outlet, Server, lock};
use crate::stdio::drops_id;

/// Whether a message is one of this revision, by its body or by its headers.
pub(crate) fn claims(server: &Server, headers: &HeaderMap, message: &Incoming) -> bool {
    match server.config.eras {
        Eras::LegacyOnly => return false,
        Eras::ModernOnly => return true,
        Eras::Dual => {}
    }
    let marked = headers.contains_key(headers::METHOD)
        || headers.contains_key(headers::NAME)
        || text(headers, headers::VERSION) == Some(MODERN);
    match message {
        Incoming::Request { method, params, .. } => {
            is_modern(server, method, params) || (marked && method != "initialize")
        }
        Incoming::Notification { .. } | Incoming::Answer { .. } | Incoming::Invalid { .. } => marked,
    }
}

/// Serves one message.
pub(crate) async fn post(server: &Arc<Server>, headers: &HeaderMap, message: Incoming) -> Response<Reply> {
    let (id, method, params) = match message {
        Incoming::Request { id, method, params } => (id, method, params),
        Incoming::Notification { method, params } => {
            let malformed = method == "notifications/cancelled" && params.raw("requestId").is_none();
            if malformed && server.has(Fault::MalformedCancelFatal) {
                server.fatal.cancel();
            }
            if method != "notifications/cancelled" && server.has(Fault::UnknownNotificationAnswered) {
                return refusal(server, None, RpcError::unknown_method(&method));
            }
            return match unwanted_answer(server, None, &method, &params) {
                Some(answer) => json_answer(server, &answer, 200),
                None => taken(server),
            };
        }
        Incoming::Answer { .. } => {
            return refusal(server, None, RpcError::invalid_request("no response is expected from a client"));
        }
        Incoming::Invalid { id, why } => return refusal(server, id, RpcError::invalid_request(why)),
    };
    if drops_id(server, &id) {
        return std::future::pending().await;
    }
    let handshake = method == "initialize" && params.meta().is_none();
    if handshake {
        return refusal(server, Some(id), refuse_initialize(server, &params));
    }
    let (sender, mut items) = mpsc::unbounded_channel();
    let outlet = {
        let sender = sender.clone();
        // Once the client has gone, nobody wants the messages.
        Outlet::new(move |message| drop(sender.send(Item::Message(message))))
    };
    // What the headers mirror is there at all is a matter of the body, and so comes first.
    let opened = open(server, &params, outlet.clone());
    let checked = match &opened {
        Err(error) if error.code == -32602 => Ok(()),
        _ => headers::check(server, headers, &method, &params),
    };
    let call = match checked.and(opened) {
        Ok(call) => call,
        Err(error) if error.code == -32022 && server.has(Fault::UnsupportedVersionBare) => {
            return empty(StatusCode::BAD_REQUEST);
        }
        Err(error) => return refusal(server, Some(id), error),
    };
    if method == "tools/call"
        && let Err(error) = headers::check_arguments(&call, headers, &params)
    {
        return refusal(server, Some(id), error);
    }
    let listens = method == "subscriptions/listen";
    let called = method == "tools/call";
    let unfinished = Unfinished::begin(server, &method);
    let work = tokio::spawn(async move {
        if let Some(outcome) = serve(call, &id, &method, &params).await {
            let _ = sender.send(Item::Final(Message::Answer { id: Some(id), outcome }));
        }
    });
    let guard = AbortGuard(work.abort_handle());
    let ends_all = called && server.has(Fault::DisconnectEndsAll);
    if ends_all {
        lock(&server.memory).running.push(work.abort_handle());
    }
    let whole = server.config.answers == AnswerForm::Json && !listens;
    let first = loop {
        match items.recv().await {
            // A JSON answer has no room for anything but the result.
            Some(Item::Message(Message::Notification { .. })) if whole => {}
            Some(item) => break item,
            None => return empty(StatusCode::INTERNAL_SERVER_ERROR),
        }
    };
    unfinished.done();
    match first {
        Item::Final(answer @ Message::Answer { outcome: Err(RpcError { status, .. }), .. }) => {
            json_answer(server, &answer, status)
        }
        Item::Final(answer) if server.config.answers != AnswerForm::Sse => json_answer(server, &answer, 200),
        Item::Final(_) | Item::Message(_) if listens && server.has(Fault::ListenAnsweredAsJson) => {
            let answer = Message::Answer { id: None, outcome: Ok(json!({"resultType": "complete"}).into()) };
            json_answer(server, &answer, 200)
        }
        first => {
            let (bytes, receiver) = mpsc::unbounded_channel();
            let server_of_pump = server.clone();
            let disconnects_cancel = !server.has(Fault::DisconnectIgnored) && !ends_all;
            let pump = tokio::spawn(async move {
                let server = server_of_pump;
                let _guard = guard;
                if server.has(Fault::EndlessStream) {
                    drip(&bytes).await;
                }
                let mut next = Some(first);
                while let Some(item) = next {
                    let (message, last) = match item {
                        Item::Message(message) => (message, false),
                        Item::Final(message) => (message, true),
                    };
                    for frame in frames(&server, &message) {
                        let _ = bytes.send(event(&server, None, &frame));
                    }
                    if last && server.has(Fault::StreamStaysOpen) {
                        return std::future::pending().await;
                    }
                    next = match last {
                        true => None,
                        false if ends_all => tokio::select! {
                            item = items.recv() => item,
                            () = bytes.closed() => {
                                std::mem::take(&mut lock(&server.memory).running).iter().for_each(AbortHandle::abort);
                                None
                            }
                        },
                        false => items.recv().await,
                    };
                }
            });
            let guard = disconnects_cancel.then(|| AbortGuard(pump.abort_handle()));
            stream(server, receiver, guard)
        }
    }
}

/// A request that its client may leave before it is answered, which breaks one server for the request after it.
struct Unfinished(Option<Arc<Server>>);

impl Unfinished {
    fn begin(server: &Arc<Server>, method: &str) -> Self {
        let watched = method == "tools/call" && server.has(Fault::EarlyDisconnectPoisons);
        Self(watched.then(|| server.clone()))
    }

    fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(server) = &self.0 {
            lock(&server.memory).poisoned = true;
        }
    }
}

/// Sends comments for ever.
async fn drip(bytes: &UnboundedSender<Bytes>) {
    loop {
        // A client that has gone ends this by ending the task.
        let _ = bytes.send(Bytes::from_static(b": still there\n\n"));
        sleep(Duration::from_millis(20)).await;
    }
}

enum Item {
    Message(Message),
    Final(Message),
}
