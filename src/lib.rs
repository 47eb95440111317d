//! A Redis-protocol key-value server for strings, keys and connections: to run, to type into and to embed in tests.
//!
//! The public interface is:
//! - [`Server`]: starts on a free port, on threads of its own, from a plain `#[test]` or from async code; stops when dropped.
//! - [`run`] and [`serve`]: for those who have a tokio runtime.
//! - [`Config`], [`LogLevel`], [`DebugCommand`]: how a server is started.
//! - [`Error`]: why it did not start, or ended.
//!
//! ```
//! use std::io::{Read, Write};
//!
//! let server = redlet::Server::start()?;
//! let mut client = std::net::TcpStream::connect(server.addr())?;
//! client.write_all(b"SET greeting hello\r\nGET greeting\r\n")?;
//! let mut replies = [0; 16];
//! client.read_exact(&mut replies)?;
//! assert_eq!(&replies, b"+OK\r\n$5\r\nhello\r\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Any Redis client library connects to [`Server::url`].
//!
//! # Features
//! `cli` (on by default) builds the binary: flag parsing and its allocator. Who embeds the server needs neither and says
//! `default-features = false`.
//!
//! # Reading the source
//! `conversation` is the middle: bytes in, requests run, bytes out. Below it are `resp` (the wire), `command` (what requests mean) and
//! `store` (the keyspace); above it `socket`, `workers` and `server`. ARCHITECTURE.md has the map.

mod clients;
mod clock;
mod command;
mod config;
mod conversation;
#[cfg(test)]
mod document;
mod embed;
mod error;
mod events;
mod glob;
mod latency;
mod log;
mod marks;
mod number;
mod process;
mod pubsub;
mod resp;
mod secret;
mod server;
mod session;
mod settings;
mod shared;
mod slowlog;
mod socket;
mod stats;
mod store;
mod tracking;
mod watched;
mod workers;

pub use config::{Config, DebugCommand, LogLevel};
pub use embed::{Server, run, serve};
pub use error::Error;

/// What the project's own tests and benches look at. No part of the public interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::clock::{Clock, UnixMillis};
    pub use crate::command::{Arg as SyntaxArg, ArgKind, Command, Flags, Group, Origin, Spec, table};
    pub use crate::conversation::{Conversation, Fed, TOO_MANY_CLIENTS, Then, Worker};
    pub use crate::resp::{Arg, Argv, Frame, Limits, Output, Parsed, Parser, Protocol, ProtocolError, Reply, decode};
    pub use crate::server::sweep;
    pub use crate::session::Session;
    pub use crate::shared::Shared;
    pub use crate::store::{
        Content, Cursor, Databases, Db, Deadline, Encoding, Form, Gate, Hasher, Key, Locks, Moment, Store, Sweep, Target, Touch,
        WriteLocks,
    };
}
