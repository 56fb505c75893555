//! The revisions up to 2025-11-25: the handshake, then requests within a [`Session`]. [`request`] and [`notification`]
//! are what a transport calls; sessions over HTTP and their streams are its own business.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::bugs::Bug;
use crate::call::{Call, Stop};
use crate::config::LEGACY_VERSIONS;
use crate::faults::Fault;
use crate::features;
use crate::json::{Body, Incoming, Message, Params, Raw, RpcError};
use crate::logging::Level;
use crate::server::{Outlet, Server, lock};
use crate::session::{AskError, Phase, Session};
use crate::{resources, tasks, tools};

/// Serves one request and gives its answer.
pub(crate) async fn request(
    server: &Arc<Server>,
    session: &Arc<Session>,
    method: &str,
    params: &Params,
    outlet: &Outlet,
) -> Result<Body, RpcError> {
    let mut result = served(server, session, method, params, outlet).await?;
    decorate(server, &mut result);
    Ok(result)
}

/// Takes one notification.
pub(crate) fn notification(server: &Arc<Server>, session: &Arc<Session>, method: &str, params: &Params) {
    match method {
        "notifications/initialized" if session.phase() == Phase::Answered => {
            session.operate();
            fetch_roots(server, session);
            greet(server, session);
        }
        "notifications/roots/list_changed" if server.has(Fault::RootsChangeFatal) => session.fail(server),
        "notifications/roots/list_changed" if session.phase() == Phase::Operating => fetch_roots(server, session),
        "notifications/progress" if server.has(Fault::UnknownProgressFatal) => session.fail(server),
        "notifications/cancelled" => {
            if let Some(id) = params.raw("requestId") {
                // A request that is looked up by its number, and is not there.
                let lost = id.value().is_number() && !session.flights.has(&id);
                if (session.is_over(&id) && server.has(Fault::CompletedCancelFatal))
                    || (lost && server.has(Fault::IdleCancelEndsSession))
                {
                    session.fail(server);
                }
                if server.bug(Bug::CancelledTwice) && session.flights.has(&id) {
                    lock(&session.notebook).cancelled.insert(id.key());
                }
                session.flights.cancel(&id);
                if server.has(Fault::CancelByLooseId) {
                    session.flights.cancel(&id.other_type());
                }
            } else if server.has(Fault::MalformedCancelFatal) {
                server.fatal.cancel();
            }
        }
        // Whatever else a client notifies of is of no interest here.
        _ => {}
    }
}

/// Serves a message within an established channel, where nothing but the id decides to whom the answer goes.
/// `None` if there is nothing to say.
pub(crate) async fn message(
    server: &Arc<Server>,
    session: &Arc<Session>,
    message: Incoming,
    outlet: &Outlet,
) -> Option<Message> {
    match message {
        Incoming::Request { id, method, params } => {
            if method == "initialize" {
                let outcome = request(server, session, &method, &params, outlet).await;
                return Some(Message::Answer { id: Some(id), outcome });
            }
            let Some(flight) = session.flights.begin(&id) else {
                return Some(duplicate(id));
            };
            session.note_begun(server, &id);
            let outcome = tokio::select! {
                outcome = request(server, session, &method, &params, outlet) => outcome,
                () = flight.cancel.cancelled() => return late_answer(server, id),
            };
            Some(Message::Answer { id: Some(id), outcome })
        }
        Incoming::Notification { method, params } => {
            notification(server, session, &method, &params);
            unwanted_answer(server, Some(session), &method, &params)
        }
        Incoming::Answer { id, outcome } => {
            session.answered(server, &id, outcome);
            None
        }
        Incoming::Invalid { id, why } => Some(Message::Answer { id, outcome: Err(RpcError::no_message(server, why)) }),
    }
}

/// The answer to a request whose id is taken.
pub(crate) fn duplicate(id: Raw) -> Message {
    let error = RpcError::invalid_request("a request with this id is still being worked on");
    Message::Answer { id: Some(id), outcome: Err(error) }
}

/// What a broken server says to a notification.
pub(crate) fn unwanted_answer(
    server: &Server,
    session: Option<&Session>,
    method: &str,
    params: &Params,
) -> Option<Message> {
    let stray = server.has(Fault::StrayCancelAnswered) || server.has(Fault::StrayCancelAnsweredOverHttp);
    if stray && method == "notifications/cancelled" {
        let known = |id: &Raw| session.is_some_and(|session| session.flights.has(id) || session.is_over(id));
        let known = params.raw("requestId").is_none_or(|id| known(&id));
        let error = RpcError::new(-32600, "there is no such request");
        return (!known).then_some(Message::Answer { id: None, outcome: Err(error) });
    }
    let named = method.starts_with("notifications/");
    let answers =
        if named { server.has(Fault::NotificationAnswered) } else { server.has(Fault::RequestWithoutIdAnswered) };
    if !answers {
        return None;
    }
    // A request method without an id would be answered like the request, under an id that nobody gave.
    let id = params.progress_token().unwrap_or_else(|| Raw::number(0));
    Some(Message::Answer { id: Some(id), outcome: Ok(Body::default()) })
}

/// What a broken server says after the client has cancelled.
pub(crate) fn late_answer(server: &Server, id: Raw) -> Option<Message> {
    let outcome = Err(RpcError::new(-32603, "the request was cancelled"));
    server.has(Fault::CancelAnswered).then_some(Message::Answer { id: Some(id), outcome })
}

async fn served(
    server: &Arc<Server>,
    session: &Arc<Session>,
    method: &str,
    params: &Params,
    outlet: &Outlet,
) -> Result<Body, RpcError> {
    match method {
        "initialize" => return initialize(server, session, params),
        "ping" if server.has(Fault::PingNotEmpty) => return Ok(json!({"pong": true}).into()),
        "ping" if server.has(Fault::PingNeverAnswered) => return std::future::pending().await,
        "ping" if server.has(Fault::ReservedMetaAssumed) && has_odd_reserved_key(params) => {
            return Err(RpcError::new(-32603, "a reserved key of _meta is no object"));
        }
        "ping"
            if server.has(Fault::IntegerTokenRefused)
                && params.progress_token().is_some_and(|it| it.value().is_number()) =>
        {
            return Err(RpcError::invalid_params("a progress token is a string"));
        }
        "ping" if server.bug(Bug::ModernSticks) && lock(&session.notebook).modern_seen => {
            return Err(RpcError::unknown_method(method));
        }
        "ping" if server.has(Fault::PingUnknown) => return Err(RpcError::unknown_method(method)),
        "ping" if server.has(Fault::PingNeedsParams) && params.object().is_none() => {
            return Err(RpcError::invalid_params("params are missing"));
        }
        "ping" => return Ok(Body::default()),
        _ if session.phase() == Phase::New && !server.has(Fault::ServesBeforeInitialize) => {
            return Err(RpcError::invalid_request("initialize has to come first"));
        }
        _ => {}
    }
    if tasks::offered(server, session.version()) {
        if method == "tools/call" && params.get("task").is_some() {
            if server.bug(Bug::TaskForever) && tasks::never_ends(server, params) {
                server.fatal.cancel();
                return std::future::pending().await;
            }
            return Ok(tasks::call(server, session, params)?.into());
        }
        if let Some(outcome) = tasks::serve(server, session, method, params).await {
            return Ok(outcome?.into());
        }
    }
    match method {
        "logging/setLevel" if logs(server) => set_level(server, session, params),
        "resources/subscribe" if subscribes(server) => subscription(server, session, params, true),
        "resources/unsubscribe" if subscribes(server) => subscription(server, session, params, false),
        _ if features::offered(server, method) => {
            let mut call = Call::new(server, Some(session), outlet.clone());
            call.token = params.progress_token();
            call.level = logs(server).then(|| session.level());
            match features::serve(&mut call, method, params).await {
                Ok(result) => Ok(result.into()),
                Err(Stop::Tool(why)) => Ok(tools::failed(&why).into()),
                Err(Stop::Error(error)) => Err(error),
                Err(Stop::Input(_)) => Err(RpcError::new(-32603, "this revision has no input requests")),
            }
        }
        _ => Err(unknown_method(server, method)),
    }
}

/// Whether a key under the protocol's own prefix has a value that is no object.
fn has_odd_reserved_key(params: &Params) -> bool {
    let odd = |(key, value): (&String, &Value)| key.starts_with("io.modelcontextprotocol/") && !value.is_object();
    params.meta().is_some_and(|meta| meta.iter().any(odd))
}

fn unknown_method(server: &Server, method: &str) -> RpcError {
    let error = RpcError::unknown_method(method);
    match () {
        () if server.has(Fault::UnknownMethodWrongCode) => RpcError::new(-32600, error.message),
        () => error,
    }
}

fn initialize(server: &Arc<Server>, session: &Arc<Session>, params: &Params) -> Result<Body, RpcError> {
    if session.phase() != Phase::New {
        return Err(RpcError::invalid_request("the connection is initialized already"));
    }
    let invalid = |what: &str| RpcError::invalid_params(format!("initialize needs {what}"));
    let checked = !server.has(Fault::InitializeUnchecked);
    let requested = params.get("protocolVersion").and_then(Value::as_str);
    let capabilities = params.get("capabilities").and_then(Value::as_object);
    let client = params.get("clientInfo").and_then(Value::as_object);
    let named = |name: &str| client.and_then(|client| client.get(name)).is_some_and(Value::is_string);
    if checked {
        requested.ok_or_else(|| invalid("a protocolVersion"))?;
        capabilities.ok_or_else(|| invalid("capabilities"))?;
        if !named("name") || !named("version") {
            return Err(invalid("a clientInfo with name and version"));
        }
    }
    if capabilities.is_some_and(Map::is_empty) && server.has(Fault::CapabilitiesDemanded) {
        return Err(invalid("capabilities that are not empty"));
    }
    let requested = requested.unwrap_or("2025-11-25");
    let known = server.config.legacy_version(requested);
    let version = known.unwrap_or_else(|| server.config.newest_legacy());
    if known.is_none() && server.has(Fault::UnknownVersionRefused) {
        return Err(RpcError::new(-32603, "unsupported protocol version"));
    }
    session.negotiated(version, capabilities.cloned().unwrap_or_default());
    session.introduce(params.get("clientInfo").cloned().unwrap_or_default());
    let said = match () {
        () if server.has(Fault::VersionEchoed) => json!(requested),
        () if server.has(Fault::VersionAsNumber) => json!(20_251_125),
        () if known.is_some() && server.has(Fault::VersionAlwaysOldest) => json!(LEGACY_VERSIONS.first()),
        () if known.is_none() && server.has(Fault::FallbackIsOldest) => json!(LEGACY_VERSIONS.first()),
        () => json!(version),
    };
    let mut capabilities = capabilities_of(server, true);
    if tasks::offered(server, version)
        && let Some(capabilities) = capabilities.as_object_mut()
    {
        capabilities.insert("tasks".to_owned(), tasks::capability(server));
    }
    let mut result = json!({
        "protocolVersion": said,
        "capabilities": capabilities,
        "serverInfo": server_info(server),
        "instructions": INSTRUCTIONS,
    });
    if let Some(result) = result.as_object_mut() {
        if server.has(Fault::ServerInfoWithoutVersion) {
            result.insert("serverInfo".to_owned(), json!({"name": "mcp-reference-server"}));
        }
        if server.has(Fault::ServerInfoAbsent) {
            result.shift_remove("serverInfo");
        }
        if server.has(Fault::InstructionsAsList) {
            result.insert("instructions".to_owned(), json!([INSTRUCTIONS]));
        }
    }
    if server.has(Fault::AsksBeforeInitialized) {
        fetch_roots(server, session);
    }
    Ok(result.into())
}

pub(crate) const INSTRUCTIONS: &str = "Call any tool that is marked read-only; nothing here has an effect outside.";

pub(crate) fn server_info(server: &Server) -> Value {
    let page = if server.has(Fault::ServerPageNull) { Value::Null } else { json!("https://example.com/reference") };
    json!({
        "name": "mcp-reference-server",
        "title": "Reference server",
        "version": env!("CARGO_PKG_VERSION"),
        "websiteUrl": page,
    })
}

/// What the server can do. Without sessions there is nobody to notify and no level to keep.
pub(crate) fn capabilities_of(server: &Server, legacy: bool) -> Value {
    let notifies = !legacy || server.config.sessions;
    let feature = |flags: &[&str]| -> Value {
        let flags = flags.iter().filter(|_| notifies).map(|flag| ((*flag).to_owned(), json!(true)));
        Value::Object(flags.collect())
    };
    let mut capabilities = Map::new();
    if server.config.bare {
        return Value::Object(capabilities);
    }
    capabilities.insert("tools".to_owned(), feature(&["listChanged"]));
    capabilities.insert("resources".to_owned(), feature(&["subscribe", "listChanged"]));
    capabilities.insert("prompts".to_owned(), feature(&["listChanged"]));
    capabilities.insert("completions".to_owned(), json!({}));
    if notifies {
        capabilities.insert("logging".to_owned(), json!({}));
    }
    for (fault, name) in [
        (Fault::ToolsUndeclared, "tools"),
        (Fault::ResourcesUndeclared, "resources"),
        (Fault::PromptsUndeclared, "prompts"),
        (Fault::CompletionsUndeclared, "completions"),
        (Fault::LoggingUndeclared, "logging"),
    ] {
        if server.has(fault) {
            capabilities.shift_remove(name);
        }
    }
    if server.has(Fault::SubscribeUndeclared) {
        capabilities.insert("resources".to_owned(), feature(&["listChanged"]));
    }
    if !legacy && server.config.extension {
        let settings = if server.has(Fault::ExtensionSettingFlag) { json!(true) } else { json!({}) };
        capabilities.insert("extensions".to_owned(), json!({ "com.example/reference": settings }));
    }
    if server.has(Fault::CapabilityFlagAsText) {
        capabilities.insert("tools".to_owned(), json!({"listChanged": "true"}));
    }
    Value::Object(capabilities)
}

fn logs(server: &Server) -> bool {
    server.config.sessions && !server.config.bare
}

fn subscribes(server: &Server) -> bool {
    server.config.sessions && !server.config.bare
}

fn set_level(server: &Server, session: &Session, params: &Params) -> Result<Body, RpcError> {
    let name = params.get("level").and_then(Value::as_str).unwrap_or_default();
    match Level::parse(name) {
        Some(Level::Emergency) if server.has(Fault::EmergencyUnknown) => {
            return Err(RpcError::invalid_params("there is no such level"));
        }
        Some(level) => session.set_level(level),
        None if server.has(Fault::LogLevelUnchecked) => {}
        None => return Err(RpcError::invalid_params("there is no such level")),
    }
    Ok(if server.has(Fault::SetLevelAnswersLevel) { json!({"level": name}).into() } else { Body::default() })
}

fn subscription(server: &Arc<Server>, session: &Arc<Session>, params: &Params, on: bool) -> Result<Body, RpcError> {
    let Some(uri) = params.get("uri").and_then(Value::as_str) else {
        return Err(RpcError::invalid_params("a uri is needed"));
    };
    let call = Call::new(server, Some(session), Outlet::new(|_| {}));
    if on && !resources::subscribable(&call, uri) {
        return Err(RpcError::new(-32002, "there is no such resource").data(json!({"uri": uri})));
    }
    if on {
        session.subscribe(uri);
        if server.bug(Bug::SubscriptionsKeepFiles) {
            lock(&server.notebook).open_file();
        }
        if uri == resources::LIVE {
            // The subscription is answered first.
            let server = server.clone();
            tokio::spawn(async move { resources::visited(&server) });
        }
    } else if !server.has(Fault::UnsubscribeIgnored) {
        session.unsubscribe(uri);
    }
    if server.has(Fault::SubscribeAnswersUri) {
        return Ok(json!({ "subscribed": uri }).into());
    }
    Ok(Body::default())
}

/// Asks a client that declared roots for them, without holding anything up.
fn fetch_roots(server: &Arc<Server>, session: &Arc<Session>) {
    let declared = session.capabilities().get("roots").is_some_and(Value::is_object);
    if !(declared || server.has(Fault::RootsAskedUndeclared)) || !server.config.asks_roots || !server.config.sessions {
        return;
    }
    let (server, session) = (server.clone(), session.clone());
    tokio::spawn(async move {
        let (to, general) = (server.clone(), session.clone());
        let outlet = Outlet::new(move |message| general.general(&to, &message));
        // Whether the client answers is its own business: nothing here depends on the roots.
        let answer = session.ask(&server, &outlet, "roots/list", None).await;
        if server.has(Fault::RootsErrorFatal) && matches!(answer, Err(AskError::Refused(_))) {
            session.fail(&server);
        }
    });
}

/// What broken servers send right after the handshake.
fn greet(server: &Server, session: &Session) {
    if server.has(Fault::ClientMethodSent) {
        let message = Message::Request { id: out_of_line(server), method: "tools/list", params: None };
        session.general(server, &message);
    }
    if server.has(Fault::CancelsUnknownRequest) {
        let params = json!({"requestId": "never-asked", "reason": "no reason"}).into();
        session.general(server, &Message::Notification { method: "notifications/cancelled", params: Some(params) });
    }
}

/// An id for a request that no server sends.
pub(crate) fn out_of_line(server: &Server) -> Raw {
    Raw::from_text(json!(format!("out-of-line-{}", server.count())).to_string())
}

fn decorate(server: &Server, result: &mut Body) {
    for (fault, key) in META_KEYS {
        if server.has(*fault) {
            result.set_meta(key, json!(1));
        }
    }
    if server.has(Fault::MetaNotObject) {
        result.members.insert("_meta".to_owned(), json!([]));
    }
}

/// Faults that put one wrong key into `_meta`.
pub(crate) const META_KEYS: &[(Fault, &str)] = &[
    (Fault::MetaNameUnderscore, "_private"),
    (Fault::MetaNameTrailingDot, "com.example/name."),
    (Fault::MetaPrefixEmptyLabel, "com..example/name"),
    (Fault::MetaLabelDigit, "1x/foo"),
    (Fault::MetaLabelHyphen, "-bad.example/k"),
    (Fault::MetaPrefixForward, "example.com/name"),
    (Fault::MetaReservedPrefix, "io.modelcontextprotocol/invented"),
];
