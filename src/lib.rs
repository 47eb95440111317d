//! redlet.

mod clients;
mod clock;
mod command;
mod config;
mod conversation;
mod monitor;
mod number;
mod resp;
mod session;
mod settings;
mod shared;
mod slowlog;
mod stats;
mod store;

pub use config::Config;

/// What the project's own tests and benches look at. No part of the public interface.
#[doc(hidden)]
pub mod internals {
    pub use crate::clock::{Clock, UnixMillis};
    pub use crate::command::{Arg as SyntaxArg, ArgKind, Command, Flags, Group, Spec, table};
    pub use crate::conversation::{Conversation, Fed, Then, Worker};
    pub use crate::resp::{Arg, Argv, Frame, Limits, Parsed, Parser, Protocol, ProtocolError, Reply, decode};
    pub use crate::session::Session;
    pub use crate::shared::Shared;
    pub use crate::store::{Cursor, Databases, Db, Deadline, Entry, Form, Hasher, Key, Moment, Store, Touch};
}
