//! The reference server as a target in this process: no process, no socket, and the clock of the runtime.

use std::{pin::Pin, sync::Arc};

use mcp_reference_server::{Config, HttpServer, serve_stdio};
use tokio::{
    io::{AsyncRead, AsyncWrite, duplex, split},
    sync::mpsc,
};
use url::Url;

use crate::{
    conversation::{MemoryPipes, MemoryServer, StdioTarget},
    process::Signal,
    run::HttpTarget,
    trace::Exit,
    transport::{BoxedIo, Connector, Endpoint, EndpointError, TlsOptions},
};

/// What a pipe or socket holds before the writer waits.
const BUFFER: usize = 64 * 1024;

/// The reference server over stdio: a "process" of its own for each conversation.
pub fn stdio_target(config: Config) -> StdioTarget {
    StdioTarget::Memory(Arc::new(Pipes(config)))
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

struct Pipes(Config);

impl MemoryServer for Pipes {
    fn start(&self) -> MemoryPipes {
        let (ours, theirs) = duplex(BUFFER);
        let (read, write) = split(theirs);
        let (signals, mut given) = mpsc::unbounded_channel();
        let config = self.0.clone();
        let exit = async move {
            let serving = serve_stdio(config, read, write);
            tokio::select! {
                status = serving => Exit { code: Some(status.code), signal: None },
                signal = ending(&mut given) => Exit { code: None, signal: Some(signal) },
            }
        };
        let (stdout, stdin): (_, _) = split(ours);
        let stdout: Box<dyn AsyncRead + Send + Unpin> = Box::new(stdout);
        let stdin: Box<dyn AsyncWrite + Send + Unpin> = Box::new(stdin);
        let exit: Pin<Box<dyn Future<Output = Exit> + Send>> = Box::pin(exit);
        MemoryPipes { stdin, stdout, exit, signals }
    }
}

/// The number of the signal that ends the server, when one comes.
async fn ending(given: &mut mpsc::UnboundedReceiver<Signal>) -> i32 {
    match given.recv().await {
        Some(Signal::Terminate) => 15,
        Some(Signal::Kill) => 9,
        Some(Signal::Hangup) => 1,
        Some(Signal::Interrupt) => 2,
        // Nobody is left who could send one: the server ends by its input.
        None => std::future::pending().await,
    }
}
