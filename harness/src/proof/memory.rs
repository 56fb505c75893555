//! The reference server as a target in this process: no process, no socket, and the clock of the runtime.

use std::sync::Arc;

use mcp_reference_server::{Config, HttpServer, serve_stdio};
use tokio::io::duplex;
use url::Url;

use crate::{
    conversation::{StdioTarget, in_memory},
    run::HttpTarget,
    transport::{BoxedIo, Connector, Endpoint, EndpointError, TlsOptions},
};

/// What a socket holds before the writer waits.
const BUFFER: usize = 64 * 1024;

/// The reference server over stdio: a "process" of its own for each conversation.
pub fn stdio_target(config: Config) -> StdioTarget {
    StdioTarget::Memory(in_memory(move |stdin, stdout| {
        let serving = serve_stdio(config.clone(), stdin, stdout);
        async move { serving.await.code }
    }))
}

/// The reference server over HTTP: one server for all connections. Needs a Tokio runtime.
pub fn http_target(config: Config) -> Result<HttpTarget, EndpointError> {
    let server = HttpServer::new(config);
    let connect = move || -> BoxedIo {
        let (ours, theirs) = duplex(BUFFER);
        let server = server.clone();
        tokio::spawn(async move { server.serve_connection(theirs).await });
        Box::pin(ours)
    };
    // Port 80 stands in the Host header as nothing; the server takes its origins from it.
    let url = Url::parse("http://localhost/mcp").map_err(|_| EndpointError::Host("localhost".to_owned()))?;
    let mut endpoint = Endpoint::new(url, &TlsOptions::default())?;
    endpoint.connector = Connector::Memory(Arc::new(connect));
    Ok(HttpTarget { endpoint, serve: None })
}
