//! Reaching an HTTP origin: [`Endpoint`] says where it is, and how a connection to it comes about.

use std::{
    fmt, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use rustls_pki_types::ServerName;
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, lookup_host},
    time::{Instant, timeout, timeout_at},
};
use tokio_rustls::TlsConnector;
use url::{Host, Url};

use super::tls::{TlsError, TlsOptions};

/// Both directions of a connection.
pub trait Io: AsyncRead + AsyncWrite + Send {}

impl<T: AsyncRead + AsyncWrite + Send> Io for T {}

pub type BoxedIo = Pin<Box<dyn Io>>;

/// How a connection comes about.
#[derive(Clone)]
pub enum Connector {
    Tcp,
    /// A server in memory: gives our end of a new connection.
    Memory(Arc<dyn Fn() -> BoxedIo + Send + Sync>),
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "Tcp",
            Self::Memory(_) => "Memory",
        })
    }
}

/// Where an MCP server is served.
#[derive(Clone)]
pub struct Endpoint {
    pub url: Url,
    pub connector: Connector,
    /// The user's own headers, such as credentials: sent with every request that does not have them.
    pub headers: Vec<(String, String)>,
    /// There with `https` only.
    tls: Option<TlsConnector>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Headers may be secrets.
        f.debug_struct("Endpoint").field("url", &self.url.as_str()).finish_non_exhaustive()
    }
}

#[derive(Debug, Error)]
pub enum EndpointError {
    #[error("`{0}` is no http or https URL")]
    Scheme(String),
    #[error("`{0}` names no host")]
    Host(String),
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl Endpoint {
    pub fn new(url: Url, tls: &TlsOptions) -> Result<Self, EndpointError> {
        let tls = match url.scheme() {
            "http" => None,
            "https" => Some(tls.connector()?),
            _ => return Err(EndpointError::Scheme(url.to_string())),
        };
        if url.host().is_none() {
            return Err(EndpointError::Host(url.to_string()));
        }
        Ok(Self { url, connector: Connector::Tcp, headers: Vec::new(), tls })
    }

    /// The value of the `Host` header: the port only where it is not the scheme's own.
    pub fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Path and query of the URL.
    pub fn path(&self) -> String {
        let query = self.url.query().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}{query}", self.url.path())
    }

    pub(super) async fn connect(&self, within: Duration) -> Result<BoxedIo, ConnectError> {
        let deadline = Instant::now() + within;
        let plain: BoxedIo = match &self.connector {
            Connector::Tcp => Box::pin(tcp(&self.url, within).await?),
            Connector::Memory(open) => open(),
        };
        let Some(tls) = &self.tls else { return Ok(plain) };
        let name = match self.url.host() {
            Some(Host::Ipv4(address)) => ServerName::from(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => ServerName::from(IpAddr::V6(address)),
            _ => ServerName::try_from(self.url.host_str().unwrap_or_default().to_owned())
                .map_err(|error| ConnectError::Tls(error.to_string()))?,
        };
        match timeout_at(deadline, tls.connect(name, plain)).await {
            Ok(Ok(stream)) => Ok(Box::pin(stream)),
            Ok(Err(error)) => Err(ConnectError::Tls(error.to_string())),
            Err(_) => Err(ConnectError::Tls(format!("no answer within {within:?}"))),
        }
    }
}

/// Nothing could be sent. The texts are what [`diagnose`](super::diagnose) knows them by.
#[derive(Debug, Error)]
pub(super) enum ConnectError {
    #[error("{RESOLVE} `{host}`: {message}")]
    Resolve { host: String, message: String },
    #[error("{CONNECT} {address}: {message}")]
    Connect { address: String, message: String },
    #[error("{TLS_FAILED}: {0}")]
    Tls(String),
}

pub(super) const RESOLVE: &str = "could not resolve";
pub(super) const CONNECT: &str = "could not connect to";
pub(super) const TLS_FAILED: &str = "the TLS handshake failed";

/// Connects to the first address that answers.
pub(super) async fn tcp(url: &Url, within: Duration) -> Result<TcpStream, ConnectError> {
    let deadline = Instant::now() + within;
    let addresses = addresses(url, within).await?;
    let each = within / u32::try_from(addresses.len().max(1)).unwrap_or(u32::MAX);
    let mut failed = ConnectError::Resolve {
        host: url.host_str().unwrap_or_default().to_owned(),
        message: "no address is known".to_owned(),
    };
    for address in addresses {
        let until = deadline.min(Instant::now() + each);
        let message = match timeout_at(until, TcpStream::connect(address)).await {
            // A closed port of the ephemeral range can connect to itself.
            Ok(Ok(stream)) if stream.local_addr().is_ok_and(|own| own == address) => "connection refused".to_owned(),
            Ok(Ok(stream)) => {
                // Split writes have to leave at once.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {each:?}"),
        };
        failed = ConnectError::Connect { address: address.to_string(), message };
    }
    Err(failed)
}

async fn addresses(url: &Url, within: Duration) -> Result<Vec<SocketAddr>, ConnectError> {
    let port = url.port_or_known_default().unwrap_or(80);
    let host = match url.host() {
        Some(Host::Ipv4(address)) => return Ok(vec![SocketAddr::new(IpAddr::V4(address), port)]),
        Some(Host::Ipv6(address)) => return Ok(vec![SocketAddr::new(IpAddr::V6(address), port)]),
        Some(Host::Domain(name)) => name.to_owned(),
        None => String::new(),
    };
    let local = host.eq_ignore_ascii_case("localhost") || host.to_ascii_lowercase().ends_with(".localhost");
    let found = match timeout(within, lookup_host((host.as_str(), port))).await {
        Ok(Ok(found)) => Ok(found.collect()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer within {within:?}")),
    };
    let mut addresses: Vec<SocketAddr> = match found {
        Ok(found) => found,
        Err(_) if local => Vec::new(),
        Err(message) => return Err(ConnectError::Resolve { host, message }),
    };
    if local {
        // A server may listen on one family only, and a resolver may know only the other.
        for address in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
            let address = SocketAddr::new(address, port);
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
    }
    Ok(addresses)
}
