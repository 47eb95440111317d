//! Where a connection comes from or goes to. Must not do I/O.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// One end of a connection. Kept as it came and written out when asked for: an idle connection is to cost little.
#[derive(Clone, Debug)]
pub enum Address {
    /// Of TCP.
    Inet(IpAddr, u16),
    /// Of anything else: a socket's path followed by `:0`.
    Text(Arc<str>),
}

impl From<SocketAddr> for Address {
    fn from(addr: SocketAddr) -> Self {
        Self::Inet(addr.ip(), addr.port())
    }
}

impl From<String> for Address {
    fn from(text: String) -> Self {
        text.parse::<SocketAddr>().map_or_else(|_| Self::Text(text.into()), Self::from)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inet(ip, port) => SocketAddr::new(*ip, *port).fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}
