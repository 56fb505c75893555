//! Revision 2026-07-28: every request brings its own metadata and nothing is remembered. [`is_modern`] tells the eras
//! apart, [`open`] checks the metadata, [`serve`] answers. The mirrored headers are left to `web`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::sleep;

use crate::bugs::Bug;
use crate::call::{Call, Stop};
use crate::config::{Eras, LEGACY_VERSIONS, MODERN};
use crate::faults::Fault;
use crate::features;
use crate::json::{Body, Message, NOTE, Params, Raw, RpcError};
use crate::legacy::{INSTRUCTIONS, META_KEYS, capabilities_of, out_of_line, server_info};
use crate::logging::Level;
use crate::resources;
use crate::server::{Filter, Outlet, SUBSCRIPTION_ID, Server, broken_tag, lock};
use crate::tools;

pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
const LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The methods whose results say how long they may be cached.
const CACHED: &[&str] =
    &["server/discover", "tools/list", "resources/list", "resources/templates/list", "resources/read", "prompts/list"];

/// Whether a request is one of this revision, by what the body says alone.
pub(crate) fn is_modern(server: &Server, method: &str, params: &Params) -> bool {
    match server.config.eras {
        Eras::LegacyOnly => false,
        Eras::ModernOnly => true,
        Eras::Dual => {
            let marks = [VERSION_KEY, CAPABILITIES_KEY, CLIENT_KEY, LEVEL_KEY];
            let marked = params.meta().is_some_and(|meta| marks.iter().any(|mark| meta.contains_key(*mark)));
            marked || matches!(method, "server/discover" | "subscriptions/listen")
        }
    }
}

/// Checks the metadata of a request and makes the call from it.
pub(crate) fn open(server: &Arc<Server>, params: &Params, outlet: Outlet) -> Result<Call, RpcError> {
    let mut call = Call::new(server, None, outlet);
    let invalid = |what: &str| {
        let code = if server.has(Fault::MissingMetaInvalidRequest) { -32600 } else { -32602 };
        let status = if server.has(Fault::MissingMetaStatus200) { 200 } else { 400 };
        RpcError::new(code, format!("params._meta needs {what}")).status(status)
    };
    let empty = Map::new();
    let meta = match params.meta() {
        Some(meta) => meta,
        None if server.has(Fault::MissingMetaServed) => &empty,
        None => return Err(invalid(VERSION_KEY)),
    };
    match meta.get(VERSION_KEY) {
        Some(Value::String(version)) => version_served(server, version)?,
        _ if server.has(Fault::MissingMetaServed) => {}
        None if server.has(Fault::VersionRemembered) && lock(&server.memory).version.is_some() => {}
        _ => return Err(invalid(VERSION_KEY)),
    }
    lock(&server.memory).version = Some(MODERN.to_owned());
    match meta.get(CAPABILITIES_KEY) {
        Some(Value::Object(capabilities)) => call.capabilities = capabilities.clone(),
        None if server.has(Fault::MissingCapabilitiesServed) || server.has(Fault::MissingMetaServed) => {}
        Some(_) if server.has(Fault::CapabilitiesOfAnyType) => {}
        _ => return Err(invalid(CAPABILITIES_KEY)),
    }
    let client = meta.get(CLIENT_KEY).and_then(|client| client.get("name")).and_then(Value::as_str);
    if client.is_none() && server.has(Fault::ClientInfoDemanded) {
        return Err(invalid(CLIENT_KEY));
    }
    call.remember_capabilities(client.unwrap_or_default());
    if server.has(Fault::UnknownCapabilityRefused)
        && call.capabilities.keys().any(|name| !KNOWN.contains(&name.as_str()))
    {
        return Err(invalid("no capabilities but known ones"));
    }
    let refused = |key: &String| {
        (server.has(Fault::UnknownMetaKeyRefused)
            && !key.starts_with("io.modelcontextprotocol/")
            && !KNOWN_META.contains(&key.as_str()))
            || (server.has(Fault::TraceRefused) && key == "traceparent")
    };
    if meta.keys().any(refused) {
        return Err(invalid("no keys but known ones"));
    }
    if server.has(Fault::NegativeTokenRefused)
        && meta.get("progressToken").and_then(Value::as_i64).is_some_and(|token| token < 0)
    {
        return Err(invalid("a progress token that is a string"));
    }
    call.level = level(server, meta)?;
    call.token = params.progress_token();
    Ok(call)
}

/// The answer to a request; `None` if there is none, because the client took it back.
pub(crate) async fn serve(mut call: Call, id: &Raw, method: &str, params: &Params) -> Option<Result<Body, RpcError>> {
    let server = call.server.clone();
    if method == "subscriptions/listen" && !server.has(Fault::ListenUnknown) {
        return Some(listen(&call, id, params).await);
    }
    let echo = params.get("name").and_then(Value::as_str) == Some("echo");
    if server.has(Fault::ClientMethodSent) && method == "tools/call" && echo {
        call.outlet.send(Message::Request { id: out_of_line(&server), method: "tools/list", params: None });
    }
    if server.has(Fault::NotificationWhenIdle) && method == "tools/call" && echo {
        let outlet = call.outlet.clone();
        tokio::spawn(async move {
            // As soon as the answer is out, which takes no time, and before the client asks for more.
            for _ in 0..8 {
                tokio::task::yield_now().await;
            }
            outlet.notify(NOTE, Body::default());
        });
    }
    let discoveries = lock(&server.memory).discoveries;
    let outcome = match method {
        "server/discover" if server.has(Fault::DiscoverUnknown) => Err(unknown(&server, method).into()),
        "server/discover" if server.has(Fault::EmptyCapabilitiesRefused) && call.capabilities.is_empty() => {
            Err(RpcError::invalid_params("no capabilities were declared").status(400).into())
        }
        "server/discover" if server.has(Fault::NegativeIdRefused) && id.value().as_i64().is_some_and(|id| id < 0) => {
            Err(RpcError::invalid_request("ids begin at zero").into())
        }
        "server/discover" if std::mem::take(&mut lock(&server.memory).poisoned) => {
            Err(RpcError::new(-32603, "internal error").into())
        }
        "server/discover" if call.is_held_up_by_sampling() => std::future::pending().await,
        "server/discover" => {
            lock(&server.memory).discoveries += 1;
            Ok(discovered(&server))
        }
        _ if server.has(Fault::DiscoverDemandedFirst) && lock(&server.memory).discoveries == 0 => {
            Err(RpcError::new(-32600, "server/discover has to come first").into())
        }
        "ping" if server.has(Fault::PingInModern) => Ok(json!({})),
        "logging/setLevel" if server.has(Fault::SetLevelInModern) => Ok(json!({})),
        "resources/subscribe" | "resources/unsubscribe" if server.has(Fault::SubscribeInModern) => Ok(json!({})),
        _ if features::offered(&server, method) => features::serve(&mut call, method, params).await,
        _ => Err(unknown(&server, method).into()),
    };
    let came_between = lock(&server.memory).discoveries > discoveries;
    let mixed_up = server.has(Fault::AnswersMixedUp) && method == "tools/call" && came_between;
    let outcome = if mixed_up { Ok(discovered(&server)) } else { outcome };
    Some(match outcome {
        Ok(result) => Ok(completed(&server, method, result)),
        Err(Stop::Tool(why)) => Ok(completed(&server, method, tools::failed(&why))),
        Err(Stop::Input(interim)) => {
            let mut body = Body::from(interim);
            decorate(&server, &mut body);
            Ok(body)
        }
        Err(Stop::Error(error)) => Err(error),
    })
}

/// How a server of this revision alone refuses a handshake: by naming what it speaks.
pub(crate) fn refuse_initialize(server: &Server, params: &Params) -> RpcError {
    let requested = params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    let (code, data) = match () {
        () if requested.is_empty() || requested == MODERN => (-32602, json!({"supported": [MODERN]})),
        () => (-32022, json!({"supported": [MODERN], "requested": requested})),
    };
    let error = RpcError::new(code, format!("this server speaks {MODERN} only, which has no handshake")).status(400);
    if server.has(Fault::InitializeRefusedNamelessly) {
        return RpcError::unknown_method("initialize").status(400);
    }
    error.data(data)
}

fn version_served(server: &Server, version: &str) -> Result<(), RpcError> {
    let memory = lock(&server.memory).version.is_some();
    if lock(&server.memory).mismatched && server.has(Fault::MismatchPoisons) {
        lock(&server.memory).mismatched = false;
        return Err(RpcError::invalid_request("the version was not agreed on").status(400));
    }
    let served = version == MODERN
        || server.has(Fault::AnyVersionServed)
        || (server.has(Fault::LegacyVersionServed) && LEGACY_VERSIONS.contains(&version))
        || (server.has(Fault::VersionsComparedAsText) && version > MODERN)
        || (server.has(Fault::VersionCheckedOnce) && memory);
    if served {
        return Ok(());
    }
    lock(&server.memory).mismatched = true;
    let error = RpcError::new(if server.has(Fault::UnsupportedVersionDraftCode) { -32004 } else { -32022 }, {
        format!("protocol version {version} is not supported")
    });
    let error = match () {
        () if server.has(Fault::UnsupportedVersionWithoutData) => error,
        () if server.has(Fault::UnsupportedVersionListsRequested) => {
            error.data(json!({"supported": [MODERN, version], "requested": version}))
        }
        () if server.has(Fault::UnsupportedVersionWithoutRequested) => error.data(json!({"supported": [MODERN]})),
        () => error.data(json!({"supported": [MODERN], "requested": version})),
    };
    Err(error.status(if server.has(Fault::UnsupportedVersionStatus200) { 200 } else { 400 }))
}

/// The keys of `_meta` without the protocol's prefix.
const KNOWN_META: &[&str] = &["progressToken", "traceparent", "tracestate", "baggage"];

/// The client capabilities that the protocol defines.
const KNOWN: &[&str] = &["elicitation", "sampling", "roots", "experimental", "extensions", "tasks"];

fn level(server: &Server, meta: &Map<String, Value>) -> Result<Option<Level>, RpcError> {
    let level = match meta.get(LEVEL_KEY) {
        None => None,
        Some(name) => match name.as_str().and_then(Level::parse) {
            Some(level) => Some(level),
            None if server.has(Fault::LogLevelUnchecked) => Some(Level::Info),
            None => return Err(RpcError::invalid_params("there is no such log level").status(400)),
        },
    };
    if server.has(Fault::LogLevelSticky) {
        let mut memory = lock(&server.memory);
        if let Some(level) = level {
            memory.log_level = Some(level.name().to_owned());
        }
        return Ok(memory.log_level.as_deref().and_then(Level::parse));
    }
    Ok(level)
}

fn unknown(server: &Server, method: &str) -> RpcError {
    let error = RpcError::unknown_method(method);
    match () {
        () if server.has(Fault::UnknownMethodStatus200) => error,
        () if server.has(Fault::UnknownMethodWrongCode) => RpcError::new(-32600, error.message).status(404),
        () if server.has(Fault::UnknownMethodOldReservedCode) => RpcError::new(-32042, error.message).status(404),
        () => error.status(404),
    }
}

fn discovered(server: &Server) -> Value {
    let mut result = json!({
        "supportedVersions": [MODERN],
        "capabilities": capabilities_of(server, false),
        "instructions": INSTRUCTIONS,
    });
    if let Some(result) = result.as_object_mut() {
        if server.has(Fault::DiscoverListsUnserved) {
            result.insert("supportedVersions".to_owned(), json!([MODERN, "2027-01-15"]));
        }
        if server.has(Fault::DiscoverVersionsAsText) {
            result.insert("supportedVersions".to_owned(), json!(MODERN));
        }
        if server.has(Fault::DiscoverWithoutCapabilities) {
            result.shift_remove("capabilities");
        }
        if server.has(Fault::InstructionsAsList) {
            result.insert("instructions".to_owned(), json!([INSTRUCTIONS]));
        }
    }
    Value::Object(result.as_object().cloned().unwrap_or_default())
}

/// A final result with what this revision wants on it.
fn completed(server: &Server, method: &str, result: Value) -> Body {
    let mut body = Body::from(result);
    let on_lists = server.has(Fault::ResultTypeMissingOnLists) && CACHED.contains(&method);
    if !server.has(Fault::ResultTypeMissing) && !on_lists {
        let kind = if server.has(Fault::ResultTypeInvented) { "done" } else { "complete" };
        body.members.insert("resultType".to_owned(), json!(kind));
    }
    if CACHED.contains(&method) {
        let ttl = match () {
            () if server.has(Fault::TtlNegative) => json!(-1),
            () if server.has(Fault::TtlAsText) => json!("5000"),
            () => json!(5000),
        };
        let scope = match () {
            () if server.has(Fault::CacheScopeInvented) => "shared",
            () if server.has(Fault::CacheScopeDiffersByPage) && !body.members.contains_key("nextCursor") => "private",
            () => "public",
        };
        let discover_only = server.has(Fault::CacheHintsMissingOnDiscover) && method == "server/discover";
        if !server.has(Fault::TtlMissing) && !discover_only {
            body.members.insert("ttlMs".to_owned(), ttl);
        }
        if !server.has(Fault::CacheScopeMissing) && !discover_only {
            body.members.insert("cacheScope".to_owned(), json!(scope));
        }
    }
    decorate(server, &mut body);
    body
}

fn decorate(server: &Server, body: &mut Body) {
    if !server.has(Fault::ServerInfoMissing) {
        let info =
            if server.has(Fault::ServerInfoWithoutVersion) { json!({"name": "nameless"}) } else { server_info(server) };
        body.set_meta(SERVER_KEY, info);
    }
    for (fault, key) in META_KEYS {
        if server.has(*fault) {
            body.set_meta(key, json!(1));
        }
    }
    if server.has(Fault::MetaNotObject) {
        body.members.insert("_meta".to_owned(), json!([]));
    }
}

/// Serves one subscription until somebody ends it.
async fn listen(call: &Call, id: &Raw, params: &Params) -> Result<Body, RpcError> {
    let server = &call.server;
    let asked = match params.get("notifications") {
        Some(Value::Object(asked)) => asked.clone(),
        None if server.has(Fault::ListenFilterOptional) => Map::new(),
        _ => return Err(RpcError::invalid_params("subscriptions/listen needs params.notifications").status(400)),
    };
    let (filter, honoured) = granted(call, &asked)?;
    let tag = broken_tag(server, id);
    let acknowledge = || {
        let mut body = Body::from(json!({"notifications": honoured}));
        if server.has(Fault::AckWithoutFilter) {
            body.members.clear();
        }
        if !server.has(Fault::AckWithoutTag) {
            body = body.raw_meta(SUBSCRIPTION_ID, tag.clone());
        }
        call.outlet.notify("notifications/subscriptions/acknowledged", body);
    };
    if server.has(Fault::AckNotFirst) && filter.tools {
        let early = Body::default().raw_meta(SUBSCRIPTION_ID, tag.clone());
        call.outlet.notify("notifications/tools/list_changed", early);
    }
    if server.has(Fault::AckMissing) {
        // Not even a change is told, so that nothing comes ahead of the acknowledgement.
        return std::future::pending().await;
    }
    // The subscription is registered before it is acknowledged, so that nothing that happens later is missed.
    if server.bug(Bug::SubscriptionsKeepFiles) {
        lock(&server.notebook).open_file();
    }
    let live = filter.uris.contains(resources::LIVE);
    let guard = server.listen(id.clone(), filter, call.outlet.clone());
    acknowledge();
    if live {
        resources::visited(server);
    }
    if server.has(Fault::ListenAnsweredAtOnce) {
        drop(guard);
        return Ok(ended(server, id));
    }
    if server.has(Fault::ListenGoesOnAfterResult) {
        tokio::spawn(async move {
            sleep(Duration::from_secs(60)).await;
            drop(guard);
        });
        return Ok(ended(server, id));
    }
    match server.config.listen_limit {
        Some(limit) => sleep(limit).await,
        None => std::future::pending().await,
    }
    drop(guard);
    if call.pipe && !server.has(Fault::ListenEndsSilently) {
        let params = Body::from(json!({"reason": "the subscription has lasted long enough"}));
        let member = if server.has(Fault::ListenCancelledById) { "id" } else { "requestId" };
        let params = params.raw(member, id.clone()).raw_meta(SUBSCRIPTION_ID, tag);
        call.outlet.notify("notifications/cancelled", params);
    }
    Ok(ended(server, id))
}

fn ended(server: &Server, id: &Raw) -> Body {
    let mut body = Body::default();
    if !server.has(Fault::ListenResultWithoutType) {
        body.members.insert("resultType".to_owned(), json!("complete"));
    }
    if server.has(Fault::ListenResultWithoutTag) {
        return body;
    }
    body.raw_meta(SUBSCRIPTION_ID, broken_tag(server, id))
}

/// The part of the filter that is honoured; what the server does not know is left out.
fn granted(call: &Call, asked: &Map<String, Value>) -> Result<(Filter, Value), RpcError> {
    let mut honoured = Map::new();
    let mut flag = |name: &str| -> Result<bool, RpcError> {
        match asked.get(name) {
            None | Some(Value::Bool(false)) => Ok(call.has(Fault::ListenFalseAsTrue) && asked.contains_key(name)),
            Some(Value::Bool(true)) => {
                honoured.insert(name.to_owned(), json!(true));
                Ok(true)
            }
            Some(_) => Err(RpcError::invalid_params(format!("{name} has to be a boolean")).status(400)),
        }
    };
    let (tools, prompts, resources) =
        (flag("toolsListChanged")?, flag("promptsListChanged")?, flag("resourcesListChanged")?);
    let mut filter = Filter { tools, prompts, resources, ..Filter::default() };
    match asked.get("resourceSubscriptions") {
        None => {}
        Some(Value::Array(uris)) if uris.iter().all(Value::is_string) => {
            let known = uris.iter().filter_map(Value::as_str).filter(|uri| resources::subscribable(call, uri));
            filter.uris = known.map(str::to_owned).collect();
            honoured.insert("resourceSubscriptions".to_owned(), json!(filter.uris));
        }
        Some(_) => return Err(RpcError::invalid_params("resourceSubscriptions has to be a list of uris").status(400)),
    }
    if call.has(Fault::AckGrantsMore) {
        honoured.insert("toolsListChanged".to_owned(), json!(true));
        honoured.insert("promptsListChanged".to_owned(), json!(true));
    }
    let known = ["toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions"];
    if call.has(Fault::ListenUnknownKeyRefused) && asked.keys().any(|name| !known.contains(&name.as_str())) {
        return Err(RpcError::invalid_params("unknown kind of notification").status(400));
    }
    Ok((filter, Value::Object(honoured)))
}
