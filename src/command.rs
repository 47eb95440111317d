//! Commands: their table, and the one place through which each is run.
//!
//! A command is one [`Spec`] literal with its handler under it, in the file of its group. Dispatch names none of them: what it decides
//! comes from their flags. Must not do I/O or read a clock; answers through the reply writer.

mod args;
mod bitmap;
mod cluster;
mod connection;
mod dispatch;
#[cfg(test)]
mod document;
mod error;
mod generic;
mod help;
mod input;
mod keys;
mod keyspace;
mod keyword;
mod notes;
mod positions;
mod pubsub;
mod scripting;
mod server;
mod spec;
mod string;
mod syntax;
mod table;
mod transactions;

pub use args::Args;
pub use dispatch::{Request, dispatch, held_back, named, resume};
pub use error::CommandError;
pub use input::Input;
pub use keyspace::Keyspace;
pub use keyword::{Choice, Keyword};
pub use notes::{Notes, time};
pub use server::monitor::show as show_monitors;
pub use spec::{Deprecated, Flags, Group, Origin, Spec};
pub use syntax::{Arg, ArgKind, KeyFlags};
pub use table::{Command, table};
pub use transactions::unwatch;

use std::sync::atomic::Ordering;

use crate::clients::{Client, Post, Sender};
use crate::clock::UnixMillis;
use crate::resp::{Argv, Output, Protocol, Reply};
use crate::session::{ReplyMode, Session};
use crate::settings::Settings;
use crate::shared::Shared;
use crate::stats::WorkerStats;
use crate::store::{LEN_MAX, Touch};

/// The commands of every group.
const GROUPS: &[&[&Spec]] = &[
    string::SPECS,
    string::compare::SPECS,
    string::counter::SPECS,
    string::increx::SPECS,
    string::lcs::SPECS,
    string::many::SPECS,
    string::part::SPECS,
    string::set::SPECS,
    bitmap::SPECS,
    bitmap::bitfield::SPECS,
    bitmap::bitop::SPECS,
    bitmap::range::SPECS,
    generic::SPECS,
    generic::expire::SPECS,
    generic::object::SPECS,
    generic::rename::SPECS,
    generic::scan::SPECS,
    generic::wait::SPECS,
    connection::SPECS,
    server::SPECS,
    server::monitor::SPECS,
    scripting::SPECS,
    cluster::SPECS,
    transactions::SPECS,
    pubsub::SPECS,
];

/// A handler has answered once, or it is refused and dispatch answers.
pub type Outcome = Result<(), CommandError>;

/// What a handler works with. One is made for each batch.
pub struct Context<'a> {
    /// The keys, at the time of the batch.
    pub keys: Keyspace<'a>,
    /// Where the answer goes.
    pub reply: Reply<'a>,
    /// What the arguments lie in.
    pub input: Input<'a>,
    /// The client's own state.
    pub session: &'a mut Session,
    /// What all connections share.
    pub shared: &'a Shared,
    /// The worker thread's counters.
    pub stats: &'a WorkerStats,
    /// Through which other connections are sent something.
    pub post: &'a Post,
    /// The command being run.
    pub command: &'static Command,
    /// What the command waits for, when it has not answered yet.
    pub wait: Option<Wait>,
    /// What is noted of every request.
    pub notes: Notes,
    /// EXEC has heeded CLIENT REPLY for itself and for each request that it has run.
    pub has_settled: bool,
    /// Within EXEC, where nothing may wait: how many requests it runs.
    pub in_exec: Option<usize>,
}

impl Context<'_> {
    /// The time of the batch.
    pub fn now(&self) -> UnixMillis {
        self.keys.now()
    }

    /// What is needed to send something to other connections.
    pub fn sender(&self) -> Sender<'_> {
        Sender { post: self.post, settings: &self.shared.settings, now: self.now() }
    }

    /// Looks again at what is noted of every request, behind one that may have changed it.
    pub fn look_again(&mut self) {
        self.notes = Notes::look(self.shared, self.now());
        self.keys.look_for_observer();
    }

    /// Whether the request being run is not answered.
    pub fn is_silent(&self) -> bool {
        matches!(self.session.reply_mode, ReplyMode::Off | ReplyMode::Skip)
    }

    /// Longest string that a command may make, in bytes: `proto-max-bulk-len`, as far as an entry can hold it.
    pub fn string_bytes_max(&self) -> u64 {
        self.shared.settings.bulk_bytes_max.load(Ordering::Relaxed).min(LEN_MAX as u64)
    }

    /// Selects a database that is known to exist.
    pub fn select(&mut self, index: usize) {
        self.session.db = index;
        self.keys.select(index);
    }

    /// Answers in `protocol` from here on.
    pub fn set_protocol(&mut self, protocol: Protocol) {
        self.session.protocol = protocol;
        // Others encode in it what they send from here on.
        self.session.publish();
        self.reply.set_protocol(protocol);
    }

    /// Puts what others have sent this client so far before what it is answered next. Behind an answer that ends a subscription, or that
    /// changes the protocol, a client would take it for a reply.
    pub fn settle(&mut self) {
        // EXEC has done so, and nobody else has run anything since.
        if self.in_exec.is_some() {
            return;
        }
        if self.is_silent() && !self.has_settled {
            // The answer is taken back, and this is not to be taken back with it.
            self.post.keep_own();
        } else {
            self.hear();
        }
    }

    /// Puts what the client has been sent so far behind what it has been answered.
    pub fn hear(&mut self) {
        let mut mail = Output::default();
        self.session.client.collect(&mut mail);
        self.reply.encoded(&mail);
    }

    /// Has accesses leave the time of last use alone, or no longer.
    pub fn set_no_touch(&mut self, on: bool) {
        self.session.no_touch = on;
        self.session.client.set_flag(Client::NO_TOUCH, on);
        self.keys.set_touch(touch(on, &self.shared.settings));
    }

    /// Puts the answer off: nothing is answered now, and `then` answers when the time has come or another client ends the wait.
    /// The connection runs nothing else until then.
    pub fn wait(&mut self, until: Option<UnixMillis>, then: Resume) {
        self.session.client.begin_wait();
        self.session.client.set_flag(Client::TIMED, until.is_some());
        self.wait = Some(Wait { until, then, carried: 0, is_busy: false });
    }

    /// Puts the answer off until then. Unlike [`Self::wait`] this counts as time that the command takes: it is one that only pretends
    /// to be slow.
    pub fn wait_busy(&mut self, until: UnixMillis, then: Resume) {
        self.session.client.begin_wait();
        self.wait = Some(Wait { until: Some(until), then, carried: 0, is_busy: true });
    }

    /// Nanoseconds that the command will be busy from now on although it does nothing.
    pub fn busy_nanos(&self) -> u64 {
        let until = self.wait.filter(|wait| wait.is_busy).and_then(|wait| wait.until);
        until.map_or(0, |until| until.millis_since(self.now()).saturating_mul(1_000_000))
    }

    /// Hands `carried` to what answers after the wait.
    pub fn carry(&mut self, carried: usize) {
        if let Some(wait) = &mut self.wait {
            wait.carried = carried;
        }
    }

    /// Answers now after all.
    pub fn end_wait(&mut self) {
        self.wait = None;
        self.session.client.end_wait(true);
    }
}

/// What an access leaves behind at a key.
#[inline]
pub fn touch(no_touch: bool, settings: &Settings) -> Touch {
    match (no_touch, settings.lfu.load(Ordering::Relaxed)) {
        (true, _) => Touch::No,
        (false, true) => Touch::Lfu,
        (false, false) => Touch::Lru,
    }
}

/// A command that has not answered yet.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// When it ends by itself; `None` for never.
    pub until: Option<UnixMillis>,
    /// What answers in the end.
    pub then: Resume,
    /// What it is handed.
    pub carried: usize,
    /// Whether the wait counts as time that the command takes.
    pub is_busy: bool,
}

/// Answers for a command that has waited. It is handed what the command carried into the wait.
pub type Resume = fn(&mut Context<'_>, usize) -> Outcome;
