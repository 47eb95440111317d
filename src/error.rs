//! What starting or running a server can fail with.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Why a server did not start, or ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// An address could not be listened on: in use, not of this machine, or not permitted.
    Bind {
        /// The address.
        addr: SocketAddr,
        /// What the operating system said.
        source: io::Error,
    },
    /// A Unix socket could not be listened on.
    UnixSocket {
        /// Its path.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// There is neither a TCP port nor a Unix socket to listen on.
    NothingToListenOn,
    /// A runtime parameter is unknown or has no such value. The text is what `CONFIG SET` answers.
    Parameter(String),
    /// A thread or its event loop could not be started.
    Thread(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind { addr, .. } => write!(f, "cannot listen on {addr}"),
            Self::UnixSocket { path, .. } => write!(f, "cannot listen on the Unix socket {}", path.display()),
            Self::NothingToListenOn => f.write_str("there is neither a port nor a Unix socket to listen on"),
            Self::Parameter(text) => f.write_str(text),
            Self::Thread(_) => f.write_str("cannot start a thread with its event loop"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Bind { source, .. } | Self::UnixSocket { source, .. } | Self::Thread(source) => Some(source),
            Self::NothingToListenOn | Self::Parameter(_) => None,
        }
    }
}
