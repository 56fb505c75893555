//! The transport under a conversation: one type over stdio and HTTP, so that the same case runs over either.

use std::time::Duration;

use bytes::Bytes;

use super::{bench::Deadlines, envelope::Outgoing};
use crate::{
    process::Signal,
    trace::{Body, Exchange, Intent, Transport},
    transport::{Grace, HttpCall, HttpClient, Stdio},
};

#[derive(Debug)]
pub enum Link {
    Http(HttpClient),
    Stdio(Box<Stdio>),
}

#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("the step needs a server over {needs}, and this one is spoken to over {has}")]
    WrongTransport { needs: &'static str, has: &'static str },
    #[error("the server no longer reads: {0}")]
    Write(String),
}

impl Link {
    pub fn transport(&self) -> Transport {
        match self {
            Self::Http(_) => Transport::Http,
            Self::Stdio(_) => Transport::Stdio,
        }
    }

    pub fn is_open(&self) -> bool {
        match self {
            Self::Http(_) => true,
            Self::Stdio(stdio) => stdio.is_open(),
        }
    }

    /// Sends one message; gives the event of the message and the exchange that carries it.
    pub async fn send(&self, outgoing: Outgoing) -> Result<(u64, Option<Exchange>), LinkError> {
        match self {
            Self::Stdio(stdio) => {
                let event = stdio
                    .send(outgoing.body, outgoing.intent)
                    .await
                    .map_err(|error| LinkError::Write(error.to_string()))?;
                Ok((event, None))
            }
            Self::Http(client) => {
                let call = HttpCall {
                    method: "POST".to_owned(),
                    path: None,
                    headers: outgoing.headers,
                    body: outgoing.body,
                    intent: outgoing.intent,
                };
                Ok(start(client, |client| client.start(call)))
            }
        }
    }

    pub async fn raw(&self, bytes: Bytes, split: &[usize]) -> Result<u64, LinkError> {
        match self {
            Self::Stdio(stdio) => {
                stdio.write_raw(bytes, split).await.map_err(|error| LinkError::Write(error.to_string()))
            }
            Self::Http(_) => Err(self.wrong("stdio")),
        }
    }

    pub async fn http(
        &self,
        method: &str,
        path: Option<String>,
        headers: Vec<(String, Bytes)>,
        body: Bytes,
        intent: Intent,
    ) -> Result<(u64, Option<Exchange>), LinkError> {
        let Self::Http(client) = self else { return Err(self.wrong("HTTP")) };
        let method = method.to_owned();
        let call = HttpCall { method, path, headers, body, intent };
        Ok(start(client, |client| client.start(call)))
    }

    pub async fn http_raw(&self, bytes: Bytes, split: &[usize]) -> Result<(u64, Option<Exchange>), LinkError> {
        let Self::Http(client) = self else { return Err(self.wrong("HTTP")) };
        Ok(start(client, |client| client.raw(bytes, split)))
    }

    /// Fills `{host}` and `{path}` of a raw request in.
    pub fn place(&self, bytes: &[u8]) -> Bytes {
        let Self::Http(client) = self else { return Bytes::copy_from_slice(bytes) };
        let endpoint = client.endpoint();
        let mut out = Vec::with_capacity(bytes.len());
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            if let Some(after) = rest.strip_prefix(b"{host}") {
                out.extend_from_slice(endpoint.host().as_bytes());
                rest = after;
            } else if let Some(after) = rest.strip_prefix(b"{path}") {
                out.extend_from_slice(endpoint.path().as_bytes());
                rest = after;
            } else {
                out.push(*first);
                rest = rest.get(1..).unwrap_or_default();
            }
        }
        Bytes::from(out)
    }

    pub fn close_stdin(&self) -> Result<(), LinkError> {
        let Self::Stdio(stdio) = self else { return Err(self.wrong("stdio")) };
        stdio.close_stdin();
        Ok(())
    }

    pub fn signal(&self, signal: Signal) -> Result<(), LinkError> {
        let Self::Stdio(stdio) = self else { return Err(self.wrong("stdio")) };
        stdio.signal(signal);
        Ok(())
    }

    pub fn close_exchange(&self, exchange: Exchange) {
        if let Self::Http(client) = self {
            client.close(exchange);
        }
    }

    /// Ends gently and drains; gives the time that was waited on purpose.
    pub async fn end(&self, deadlines: &Deadlines) -> Duration {
        match self {
            Self::Http(client) => {
                client.end().await;
                Duration::ZERO
            }
            Self::Stdio(stdio) => {
                let grace = Grace { eof: deadlines.exit, term: deadlines.exit, kill: deadlines.exit };
                stdio.end(grace).await.waited
            }
        }
    }

    /// Ends at once.
    pub async fn abort(&self) {
        match self {
            Self::Http(client) => client.end().await,
            Self::Stdio(stdio) => {
                let none = Duration::ZERO;
                stdio.end(Grace { eof: none, term: none, kill: Duration::from_secs(5) }).await;
            }
        }
    }

    fn wrong(&self, needs: &'static str) -> LinkError {
        let has = match self {
            Self::Http(_) => "HTTP",
            Self::Stdio(_) => "stdio",
        };
        LinkError::WrongTransport { needs, has }
    }
}

/// Starts an exchange and finds the event of its request, which stands in the trace when the call returns.
fn start(client: &HttpClient, call: impl FnOnce(&HttpClient) -> Exchange) -> (u64, Option<Exchange>) {
    let recorder = client.recorder();
    let from = recorder.len();
    let exchange = call(client);
    let event = recorder.events(from).iter().find_map(|event| match &event.body {
        Body::HttpRequest(request) if request.exchange == exchange => Some(event.seq),
        _ => None,
    });
    (event.unwrap_or(from as u64), Some(exchange))
}
