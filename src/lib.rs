//! redlet.

mod clients;
mod clock;
mod command;
mod config;
mod conversation;
mod embed;
mod error;
mod glob;
mod latency;
mod log;
mod monitor;
mod number;
mod process;
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
mod workers;

pub use config::{Config, DebugCommand, LogLevel};
pub use embed::{Server, run, serve};
pub use error::Error;

/// What the project's own tests and benches look at. No part of the public interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::clock::{Clock, UnixMillis};
    pub use crate::command::{Arg as SyntaxArg, ArgKind, Command, Flags, Group, Spec, table};
    pub use crate::conversation::{Conversation, Fed, TOO_MANY_CLIENTS, Then, Worker};
    pub use crate::resp::{Arg, Argv, Frame, Limits, Parsed, Parser, Protocol, ProtocolError, Reply, decode};
    pub use crate::session::Session;
    pub use crate::shared::Shared;
    pub use crate::store::{
        Cursor, Databases, Db, Deadline, Encoding, Entry, Form, Gate, Hasher, Key, Locks, Moment, Store, Sweep, Target, Touch,
        WriteLocks,
    };
}
