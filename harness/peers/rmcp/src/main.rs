//! A small server on rmcp: `rmcp-peer stdio`, or `rmcp-peer http --port PORT` for `http://127.0.0.1:PORT/mcp`.
//!
//! What it offers is in [`rmcp_peer::Peer`]. It uses the SDK as its documentation says, with nothing added to please us.

use std::error::Error;

use rmcp::{
    ServiceExt,
    transport::{
        stdio,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
        },
    },
};

use rmcp_peer::Peer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["stdio"] => {
            Peer::new().serve(stdio()).await?.waiting().await?;
            Ok(())
        }
        ["http", "--port", port] => http(port.parse()?).await,
        _ => Err("use: rmcp-peer stdio | rmcp-peer http --port PORT".into()),
    }
}

async fn http(port: u16) -> Result<(), Box<dyn Error>> {
    let service: StreamableHttpService<Peer, LocalSessionManager> =
        StreamableHttpService::new(|| Ok(Peer::new()), Default::default(), StreamableHttpServerConfig::default());
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
