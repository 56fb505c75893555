//! Streamable HTTP: [`HttpServer`] serves both eras at one endpoint. Here are the checks that every request passes
//! whatever it holds; the eras have a module each, and so have bodies, mirrored headers and resumable streams.

mod body;
mod headers;
mod legacy;
mod modern;
pub(crate) mod streams;

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming as RequestBody;
use hyper::header::{
    ACCEPT, ALLOW, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, ORIGIN, WWW_AUTHENTICATE,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::mpsc::unbounded_channel;

use crate::bugs::{self, Bug};
use crate::config::{Config, Eras, MODERN};
use crate::faults::Fault;
use crate::json::{Incoming, Message, Parsed, Raw, RpcError, parse};
use crate::server::Server;
use body::Reply;

/// The one path that is served.
pub const ENDPOINT: &str = "/mcp";

/// One HTTP server: one shared state, however many connections.
#[derive(Clone)]
pub struct HttpServer {
    server: Arc<Server>,
}

impl HttpServer {
    /// A server that is ready for connections.
    pub fn new(config: Config) -> Self {
        Self { server: Server::new(config) }
    }

    /// Serves one connection until it closes.
    pub async fn serve_connection<I: AsyncRead + AsyncWrite + Unpin + Send + 'static>(&self, io: I) {
        let server = self.server.clone();
        let service = service_fn(move |request| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(answer(&server, request).await) }
        });
        let mut http = hyper::server::conn::http1::Builder::new();
        http.auto_date_header(false);
        tokio::select! {
            // A connection that breaks is the client's own affair.
            _ = http.serve_connection(TokioIo::new(io), service) => {}
            () = self.server.fatal.cancelled() => {}
        }
    }

    /// Serves every connection of a listener.
    pub async fn serve(self, listener: TcpListener) -> io::Result<()> {
        loop {
            let (stream, _) = tokio::select! {
                accepted = listener.accept() => accepted?,
                () = self.server.fatal.cancelled() => return Err(io::Error::other("a fault has ended the server")),
            };
            let server = self.clone();
            tokio::spawn(async move { server.serve_connection(stream).await });
        }
    }
}

async fn answer(server: &Arc<Server>, request: Request<RequestBody>) -> Response<Reply> {
    let (head, body) = request.into_parts();
    if !origin_allowed(server, &head.method, &head.headers) {
        let status = if server.has(Fault::BadOrigin400) { 400 } else { 403 };
        return refusal(server, None, RpcError::new(-32600, "this origin is not allowed").status(status));
    }
    if head.uri.path() != ENDPOINT {
        return empty(StatusCode::NOT_FOUND);
    }
    if !token_given(server, &head.headers) {
        let mut response = empty(StatusCode::UNAUTHORIZED);
        response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        return response;
    }
    if server.config.old_transport {
        return old_transport(server, &head.method);
    }
    if server.has(Fault::RedirectsAway) {
        let mut response = empty(StatusCode::TEMPORARY_REDIRECT);
        response.headers_mut().insert(LOCATION, HeaderValue::from_static("http://127.0.0.1:9/elsewhere"));
        return response;
    }
    if server.has(Fault::ServesPages) {
        return page();
    }
    let legacy = server.config.eras != Eras::ModernOnly;
    let modern_claim = text(&head.headers, headers::VERSION) == Some(MODERN) && server.config.eras == Eras::Dual;
    match head.method {
        Method::POST => post(server, &head.headers, body).await,
        Method::GET if server.has(Fault::GetServesPage) => page(),
        Method::GET if server.has(Fault::GetUnknown) => empty(StatusCode::NOT_FOUND),
        Method::GET if legacy && server.config.sessions && !modern_claim => legacy::get(server, &head.headers).await,
        Method::DELETE if legacy && server.config.sessions && !modern_claim => legacy::delete(server, &head.headers),
        _ => {
            let status =
                if server.has(Fault::GetNotFound) { StatusCode::NOT_FOUND } else { StatusCode::METHOD_NOT_ALLOWED };
            let mut response = empty(status);
            let allowed = if legacy && server.config.sessions { "POST, GET, DELETE" } else { "POST" };
            response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
            response
        }
    }
}

async fn post(server: &Arc<Server>, headers: &HeaderMap, body: RequestBody) -> Response<Reply> {
    let kind = text(headers, CONTENT_TYPE.as_str()).unwrap_or_default();
    if !media_type(kind).eq_ignore_ascii_case("application/json") {
        return empty(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    if server.bug(Bug::Charset) && bugs::odd_charset(kind) {
        return crashed(&bugs::trace("the charset of the body is not supported", "web.rs", 152));
    }
    let literal = text(headers, ACCEPT.as_str()) == Some("application/json, text/event-stream");
    if server.has(Fault::AcceptComparedLiterally) && !literal {
        return empty(StatusCode::NOT_ACCEPTABLE);
    }
    if !accepts(headers, "application/json") || !accepts(headers, "text/event-stream") {
        return empty(StatusCode::NOT_ACCEPTABLE);
    }
    let Ok(body) = Limited::new(body, server.config.max_message).collect().await else {
        return empty(StatusCode::PAYLOAD_TOO_LARGE);
    };
    if server.has(Fault::NeverAnswers) {
        return std::future::pending().await;
    }
    match parse(&server.config.faults, &body.to_bytes()) {
        Parsed::Unreadable if server.has(Fault::UnreadableStatus500) => empty(StatusCode::INTERNAL_SERVER_ERROR),
        Parsed::Unreadable if server.has(Fault::UnreadableFatal) => {
            server.fatal.cancel();
            std::future::pending().await
        }
        Parsed::Unreadable => refusal(server, None, RpcError::unreadable(server)),
        Parsed::Many(items) if bugs::begins_with_answer(server, &items) => {
            server.fatal.cancel();
            std::future::pending().await
        }
        Parsed::Many(items) => legacy::post_batch(server, headers, items).await,
        Parsed::One(Incoming::Invalid { id, why }) => refusal(server, id, RpcError::no_message(server, why)),
        Parsed::One(message) if modern::claims(server, headers, &message) => {
            let mut response = modern::post(server, headers, message).await;
            if server.has(Fault::SessionIssuedInModern) {
                response.headers_mut().insert("mcp-session-id", HeaderValue::from_static("0123456789abcdef"));
            }
            response
        }
        Parsed::One(message) => legacy::post(server, headers, message).await,
    }
}

/// Only loopback pages and what was configured may send requests from a browser.
fn origin_allowed(server: &Server, method: &Method, headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(ORIGIN) else { return true };
    let unchecked =
        server.has(Fault::OriginNotChecked) || (server.has(Fault::OriginCheckedOnPostOnly) && method != Method::POST);
    let Ok(origin) = origin.to_str() else { return unchecked };
    if unchecked || server.config.allowed_origins.iter().any(|allowed| allowed == origin) {
        return true;
    }
    let Some(rest) = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")) else { return false };
    if server.has(Fault::OriginComparedByPrefix) {
        return rest.starts_with("localhost") || rest.starts_with("127.0.0.1");
    }
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !rest.ends_with(']') => (host, Some(port)),
        _ => (rest, None),
    };
    let port_sound = port.is_none_or(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    port_sound && matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

fn token_given(server: &Server, headers: &HeaderMap) -> bool {
    let Some(token) = &server.config.token else { return true };
    text(headers, AUTHORIZATION.as_str()).and_then(|value| value.strip_prefix("Bearer ")) == Some(token)
}

/// The transport of 2024-11-05 as far as a client has to recognize it: a stream that begins by naming an endpoint.
fn old_transport(server: &Server, method: &Method) -> Response<Reply> {
    if method != Method::GET {
        return empty(StatusCode::METHOD_NOT_ALLOWED);
    }
    let (sender, receiver) = unbounded_channel();
    // The receiver is at hand, so that sending cannot fail.
    let _ = sender.send(Bytes::from_static(b"event: endpoint\ndata: /messages?session=1\n\n"));
    let open = tokio::spawn(async move {
        let _sender = sender;
        std::future::pending::<()>().await;
    });
    body::stream(server, receiver, Some(body::AbortGuard(open.abort_handle())))
}

/// Whether a kind of answer is among those that the client takes; one that says nothing takes all.
fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let mut values = headers.get_all(ACCEPT).iter().peekable();
    if values.peek().is_none() {
        return true;
    }
    let group = wanted.split('/').next().unwrap_or_default();
    values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).any(|range| {
        let range = media_type(range).to_ascii_lowercase();
        range == wanted || range == "*/*" || range.strip_suffix("/*") == Some(group)
    })
}

fn media_type(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// A JSON-RPC error with the status that goes with it.
fn refusal(server: &Server, id: Option<Raw>, error: RpcError) -> Response<Reply> {
    let status = error.status;
    json(server, &Message::Answer { id, outcome: Err(error) }, status)
}

/// One message as JSON.
fn json(server: &Server, message: &Message, status: u16) -> Response<Reply> {
    let mut frames = crate::json::frames(server, message).into_iter();
    let mut response = Response::new(Reply::full(frames.next().unwrap_or_default()));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = if server.has(Fault::AnswersAsPlainText) { "text/plain" } else { "application/json" };
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// An exception that nobody caught.
fn crashed(trace: &str) -> Response<Reply> {
    let mut response = Response::new(Reply::full(trace.as_bytes().to_vec()));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}

fn empty(status: StatusCode) -> Response<Reply> {
    let mut response = Response::new(Reply::full(Vec::new()));
    *response.status_mut() = status;
    response
}

/// The answer to a notification or a response that was taken.
fn taken(server: &Server) -> Response<Reply> {
    match () {
        () if server.has(Fault::NotificationStatus200) => empty(StatusCode::OK),
        () if server.has(Fault::NotificationStatus204) => empty(StatusCode::NO_CONTENT),
        () if server.has(Fault::NotificationWithBody) => {
            let mut response = Response::new(Reply::full(b"null".to_vec()));
            *response.status_mut() = StatusCode::ACCEPTED;
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        () => empty(StatusCode::ACCEPTED),
    }
}

fn page() -> Response<Reply> {
    let mut response = Response::new(Reply::full(b"<!doctype html><title>MCP</title>".to_vec()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html"));
    response
}
