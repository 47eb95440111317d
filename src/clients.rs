//! All connections as others see them: who they are, what they do, and how to reach them. Must not do I/O.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::task::Waker;

use parking_lot::Mutex;

use crate::clock::UnixMillis;
use crate::config::MAILBOX_BYTES_MAX;

/// One connection as others see it. Its own conversation writes here once a batch; others read, and leave messages.
#[derive(Debug)]
pub struct Client {
    /// Never used twice in a server's life.
    pub id: u64,
    /// The peer's address, or the socket's path followed by `:0`.
    pub addr: String,
    /// The address it connected to.
    pub laddr: String,
    /// When it connected.
    pub created: UnixMillis,
    /// The time of its last batch, in Unix milliseconds.
    pub active: AtomicU64,
    /// The selected database.
    pub db: AtomicUsize,
    /// 2 or 3.
    pub protocol: AtomicUsize,
    /// The number, in the command table, of the last command; `usize::MAX` before the first.
    pub last_command: AtomicUsize,
    /// Bytes of a request that has not arrived in full.
    pub query_bytes: AtomicUsize,
    /// Properties shown by `CLIENT LIST`.
    pub flags: AtomicU32,
    /// What it says about itself.
    pub names: Mutex<Names>,
    killed: AtomicBool,
    mailbox: Mutex<Mailbox>,
}

/// What a client says about itself.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// `CLIENT SETNAME`; empty when not set.
    pub name: Vec<u8>,
    /// `CLIENT SETINFO LIB-NAME`.
    pub lib_name: Vec<u8>,
    /// `CLIENT SETINFO LIB-VER`.
    pub lib_ver: Vec<u8>,
}

#[derive(Debug, Default)]
struct Mailbox {
    /// Bytes to be sent between replies.
    bytes: Vec<u8>,
    /// `CLIENT UNBLOCK`: how a waiting command is to end.
    unblock: Option<Unblock>,
    /// Wakes the connection's task.
    waker: Option<Waker>,
}

/// How `CLIENT UNBLOCK` ends another client's wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unblock {
    /// As if its time had run out.
    Timeout,
    /// With an error.
    Error,
}

impl Client {
    /// The client watches every command: `MONITOR`.
    pub const MONITOR: u32 = 1;
    /// Connected through a Unix socket.
    pub const UNIX_SOCKET: u32 = 1 << 1;
    /// `CLIENT NO-EVICT ON`.
    pub const NO_EVICT: u32 = 1 << 2;
    /// `CLIENT NO-TOUCH ON`.
    pub const NO_TOUCH: u32 = 1 << 3;
    /// Waits within a command.
    pub const BLOCKED: u32 = 1 << 4;
    /// To be closed once its output has been written.
    pub const CLOSING: u32 = 1 << 5;

    /// Whether a flag is set.
    pub fn has(&self, flag: u32) -> bool {
        self.flags.load(Ordering::Relaxed) & flag != 0
    }

    /// Sets or clears a flag.
    pub fn set_flag(&self, flag: u32, on: bool) {
        if on {
            self.flags.fetch_or(flag, Ordering::Relaxed);
        } else {
            self.flags.fetch_and(!flag, Ordering::Relaxed);
        }
    }

    /// Whether the peer is on this machine: on a Unix socket, or at a loopback address.
    pub fn is_local(&self) -> bool {
        let is_loopback = || self.addr.parse::<SocketAddr>().is_ok_and(|addr| addr.ip().to_canonical().is_loopback());
        self.has(Self::UNIX_SOCKET) || is_loopback()
    }

    /// Has the connection closed by its own task, at once.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::Release);
        self.wake(|_| {});
    }

    /// Whether it is to be closed.
    pub fn is_killed(&self) -> bool {
        self.killed.load(Ordering::Acquire)
    }

    /// Leaves `bytes` to be sent between its replies. A client that lets too many of them wait is cut off.
    pub fn deliver(&self, bytes: &[u8]) {
        self.wake(|mailbox| {
            if mailbox.bytes.len() + bytes.len() > MAILBOX_BYTES_MAX {
                self.killed.store(true, Ordering::Release);
            } else {
                mailbox.bytes.extend_from_slice(bytes);
            }
        });
    }

    /// Ends its wait.
    pub fn unblock(&self, how: Unblock) {
        self.wake(|mailbox| mailbox.unblock = Some(how));
    }

    fn wake(&self, change: impl FnOnce(&mut Mailbox)) {
        let waker = {
            let mut mailbox = self.mailbox.lock();
            change(&mut mailbox);
            mailbox.waker.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Has `waker` woken by the next message. Call before looking for messages, so that none is missed.
    pub fn listen(&self, waker: &Waker) {
        let mut mailbox = self.mailbox.lock();
        if !mailbox.waker.as_ref().is_some_and(|old| old.will_wake(waker)) {
            mailbox.waker = Some(waker.clone());
        }
    }

    /// Moves what was delivered to the end of `out`.
    pub fn collect(&self, out: &mut Vec<u8>) {
        out.append(&mut self.mailbox.lock().bytes);
    }

    /// How its wait was ended by another client, if it was.
    pub fn take_unblock(&self) -> Option<Unblock> {
        self.mailbox.lock().unblock.take()
    }
}

/// The connections of a server.
#[derive(Debug, Default)]
pub struct Clients {
    next_id: AtomicU64,
    list: Mutex<BTreeMap<u64, Arc<Client>>>,
    monitors: AtomicUsize,
    /// Commands are held back until this time, in Unix milliseconds: `CLIENT PAUSE`.
    pub(crate) paused_until: AtomicU64,
    /// Whether the pause holds back only what writes.
    pub(crate) pause_writes_only: AtomicBool,
}

impl Clients {
    /// Adds a connection.
    pub fn add(&self, addr: String, laddr: String, flags: u32, now: UnixMillis) -> Arc<Client> {
        let client = Arc::new(Client {
            id: self.next_id.fetch_add(1, Ordering::Relaxed) + 1,
            addr,
            laddr,
            created: now,
            active: AtomicU64::new(now.0),
            db: AtomicUsize::new(0),
            protocol: AtomicUsize::new(2),
            last_command: AtomicUsize::new(usize::MAX),
            query_bytes: AtomicUsize::new(0),
            flags: AtomicU32::new(flags),
            names: Mutex::default(),
            killed: AtomicBool::new(false),
            mailbox: Mutex::default(),
        });
        self.list.lock().insert(client.id, Arc::clone(&client));
        client
    }

    /// Forgets a connection.
    pub fn remove(&self, client: &Client) {
        self.set_monitor(client, false);
        self.list.lock().remove(&client.id);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.lock().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them in the order in which they came.
    pub fn all(&self) -> Vec<Arc<Client>> {
        self.list.lock().values().cloned().collect()
    }

    /// The one with this id.
    pub fn get(&self, id: u64) -> Option<Arc<Client>> {
        self.list.lock().get(&id).cloned()
    }

    /// Whether anybody watches: looked at once a batch, so that nobody pays when nobody does.
    pub fn has_monitors(&self) -> bool {
        self.monitors.load(Ordering::Relaxed) > 0
    }

    /// Has a client watch every command, or no longer.
    pub fn set_monitor(&self, client: &Client, on: bool) {
        if client.has(Client::MONITOR) != on {
            client.set_flag(Client::MONITOR, on);
            if on {
                self.monitors.fetch_add(1, Ordering::Relaxed);
            } else {
                self.monitors.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Sends a line to all who watch.
    pub fn show_monitors(&self, line: &[u8]) {
        for client in self.all().iter().filter(|client| client.has(Client::MONITOR)) {
            client.deliver(line);
        }
    }

    /// Holds commands back until `until`. A pause that ends later, or that holds back more, is not cut short.
    pub fn pause(&self, until: UnixMillis, writes_only: bool) {
        self.paused_until.store(until.0, Ordering::Relaxed);
        self.pause_writes_only.store(writes_only, Ordering::Release);
    }

    /// Until when a command is held back at `now`, if it is.
    pub fn paused(&self, writes: bool, now: UnixMillis) -> Option<UnixMillis> {
        let until = UnixMillis(self.paused_until.load(Ordering::Relaxed));
        (until > now && (writes || !self.pause_writes_only.load(Ordering::Acquire))).then_some(until)
    }

    /// Wakes every connection, so that what was held back is looked at again.
    pub fn wake_all(&self) {
        for client in self.all() {
            client.wake(|_| {});
        }
    }
}
