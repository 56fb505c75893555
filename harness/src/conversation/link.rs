//! The transport under a conversation: one type over stdio and HTTP, so that the same case runs over either.

use std::time::Duration;

use bytes::Bytes;

use super::{bench::Deadlines, envelope::Outgoing};
use crate::{
    trace::{Exchange, Intent, Transport},
    transport::{
        http::{HttpCall, HttpClient},
        stdio::{Grace, Stdio},
    },
};

#[derive(Debug)]
pub enum Link {
    Http(HttpClient),
    Stdio(Stdio),
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
                let (event, exchange) = client.start(HttpCall {
                    method: "POST".to_owned(),
                    path: None,
                    headers: outgoing.headers,
                    body: outgoing.body,
                    intent: outgoing.intent,
                });
                Ok((event, Some(exchange)))
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
        let (event, exchange) = client.start(HttpCall { method, path, headers, body, intent });
        Ok((event, Some(exchange)))
    }

    pub async fn http_raw(&self, bytes: Bytes, split: &[usize]) -> Result<(u64, Option<Exchange>), LinkError> {
        let Self::Http(client) = self else { return Err(self.wrong("HTTP")) };
        let (event, exchange) = client.raw(bytes, split);
        Ok((event, Some(exchange)))
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
