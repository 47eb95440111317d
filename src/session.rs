//! What a client may change about itself: protocol, database, name, authentication, how it is answered.

mod tracked;
mod transaction;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::clients::Client;
use crate::resp::Protocol;
pub use tracked::Tracked;
pub use transaction::{Queue, Transaction};

/// Whether a client is answered: `CLIENT REPLY`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplyMode {
    /// Every request.
    #[default]
    On,
    /// No request.
    Off,
    /// Not the request that asked for it, nor the one after it.
    SkipNext,
    /// Not the request being run.
    Skip,
}

/// One connection's state. Owned by its conversation; what other connections may see of it is in `Client`.
#[derive(Debug)]
pub struct Session {
    /// This connection as others see it.
    pub client: Arc<Client>,
    /// The protocol in which it is answered.
    pub protocol: Protocol,
    /// The selected database.
    pub db: usize,
    /// Whether it has given the password, or came when none was required.
    pub authenticated: bool,
    /// `MONITOR`: it watches every command, and may not touch the keyspace meanwhile.
    pub monitor: bool,
    /// How it tracks what it reads.
    pub tracked: Tracked,
    /// Not every command may be run at once, or something is noted of what it reads: it watches, has subscribed, queues a transaction or
    /// tracks. What [`Self::look_again`] says.
    pub is_special: bool,
    /// Whether it is answered.
    pub reply_mode: ReplyMode,
    /// `CLIENT NO-TOUCH ON`: its reads leave the time of last use alone.
    pub no_touch: bool,
    /// MULTI and WATCH. Boxed because most connections have none: an idle connection is to cost little.
    pub transaction: Option<Box<Transaction>>,
    /// The connection is to be closed once what was answered has been written: `QUIT`, `CLIENT KILL` of itself.
    pub closing: bool,
}

impl Session {
    /// The state of a new connection.
    pub fn new(client: Arc<Client>, authenticated: bool) -> Self {
        Self {
            client,
            protocol: Protocol::Resp2,
            db: 0,
            authenticated,
            monitor: false,
            tracked: Tracked::default(),
            is_special: false,
            reply_mode: ReplyMode::On,
            no_touch: false,
            transaction: None,
            closing: false,
        }
    }

    /// Looks anew whether requests are special to it, behind what may have changed it.
    pub fn look_again(&mut self) {
        self.is_special = self.monitor || self.is_queueing() || self.tracked.is_on() || self.client.has(Client::PUBSUB);
    }

    /// What is queued since MULTI, if anything may be.
    #[inline]
    pub fn queue(&mut self) -> Option<&mut Queue> {
        self.transaction.as_deref_mut().and_then(|transaction| transaction.queue.as_mut())
    }

    /// Whether requests are queued rather than run.
    #[inline]
    pub fn is_queueing(&self) -> bool {
        self.transaction.as_deref().is_some_and(|transaction| transaction.queue.is_some())
    }

    /// Lets others see what it has changed about itself.
    pub fn publish(&self) {
        // Databases are numbered from 0, and there are fewer than 2^32.
        self.client.db.store(u32::try_from(self.db).unwrap_or(u32::MAX), Ordering::Relaxed);
        let version = match self.protocol {
            Protocol::Resp2 => 2,
            Protocol::Resp3 => 3,
        };
        self.client.protocol.store(version, Ordering::Relaxed);
        if let Some(transaction) = &self.transaction {
            transaction.publish(&self.client);
        }
    }
}
