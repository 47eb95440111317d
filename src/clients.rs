//! All connections as others see them: who they are, what they do, and how to reach them. Must not do I/O.

mod address;
mod mailbox;
mod post;

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::task::Waker;

use parking_lot::Mutex;

use crate::clock::UnixMillis;
use crate::resp::{Output, Protocol};
use crate::settings::{OutputLimit, Settings};
pub use address::Address;
use mailbox::Mailbox;
pub use mailbox::{Names, Unblock};
pub use post::{Post, Sender};

/// One connection as others see it. Its own conversation writes here once a batch; others read, and leave messages.
#[derive(Debug)]
pub struct Client {
    /// Never used twice in a server's life.
    pub id: u64,
    /// The peer's address.
    pub addr: Address,
    /// The address it connected to.
    pub laddr: Address,
    /// The descriptor of its socket; -1 while it has none.
    pub fd: AtomicI32,
    /// When it connected.
    pub created: UnixMillis,
    /// The time of its last batch, in Unix milliseconds.
    pub active: AtomicU64,
    /// The selected database.
    pub db: AtomicU32,
    /// 2 or 3.
    pub protocol: AtomicU8,
    /// The number, in the command table, of the last command; `u32::MAX` when there was none.
    last_command: AtomicU32,
    /// Bytes of a request that has not arrived in full.
    pub query_bytes: AtomicUsize,
    /// Properties shown by `CLIENT LIST`.
    pub flags: AtomicU32,
    /// The worker thread that serves it.
    thread: AtomicU16,
    /// What its task is to do when it comes to it: nothing, close, or move to the thread whose number is one less.
    order: AtomicU32,
    /// What it made its thread do, since somebody last asked.
    work: AtomicU64,
    mailbox: Mutex<Mailbox>,
}

// With an `Arc`'s counts it fits 192 bytes. An idle connection is to cost little.
const _: () = assert!(size_of::<Client>() <= 176);

/// In the place of an order: none, and to close.
const NO_ORDER: u32 = 0;
const CLOSE: u32 = u32::MAX;

/// What a connection's own task is told to do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Close it.
    Close,
    /// Serve it on the thread of this number.
    Move(usize),
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
    /// Waits within a command, or is held back by a pause.
    pub const BLOCKED: u32 = 1 << 4;
    /// To be closed once its output has been written.
    pub const CLOSING: u32 = 1 << 5;
    /// `CLIENT REPLY OFF`: it is sent nothing, not even what it did not ask for.
    pub const SILENT: u32 = 1 << 6;
    /// Between MULTI and EXEC.
    pub const MULTI: u32 = 1 << 7;
    /// Something happened to a key that it watches.
    pub const STALE: u32 = 1 << 8;
    /// Subscribed to something.
    pub const PUBSUB: u32 = 1 << 9;
    /// Its wait within a command ends at some time by itself.
    pub const TIMED: u32 = 1 << 10;
    /// `CLIENT TRACKING ON`.
    pub const TRACKING: u32 = 1 << 11;
    /// The same with BCAST.
    pub const BCAST: u32 = 1 << 12;
    /// The client that is told in its place is gone.
    pub const BROKEN_REDIRECT: u32 = 1 << 13;
    /// It was told in the place of another.
    pub const REDIRECTED_TO: u32 = 1 << 14;
    /// It may be sent what it did not ask for.
    pub const LISTENS: u32 = Self::PUBSUB | Self::MONITOR | Self::TRACKING | Self::REDIRECTED_TO;

    /// The protocol in which it is answered.
    pub fn protocol(&self) -> Protocol {
        if self.protocol.load(Ordering::Relaxed) == 3 { Protocol::Resp3 } else { Protocol::Resp2 }
    }

    /// Whether one of the flags is set.
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

    /// Notes the number, in the command table, of its last command. One that is too large stands for none.
    #[inline]
    pub fn set_last_command(&self, id: usize) {
        self.last_command.store(u32::try_from(id).unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    /// The number, in the command table, of its last command; too large for any when there was none.
    pub fn last_command(&self) -> usize {
        self.last_command.load(Ordering::Relaxed) as usize
    }

    /// Whether the peer is on this machine: on a Unix socket, or at a loopback address.
    pub fn is_local(&self) -> bool {
        let is_loopback = matches!(&self.addr, Address::Inet(ip, _) if ip.to_canonical().is_loopback());
        self.has(Self::UNIX_SOCKET) || is_loopback
    }

    /// Where its requests come from, as monitors see it: its address, or `unix:` and the path of the socket.
    pub fn origin(&self) -> String {
        match &self.addr {
            Address::Text(text) if self.has(Self::UNIX_SOCKET) => format!("unix:{}", text.strip_suffix(":0").unwrap_or(text)),
            addr => addr.to_string(),
        }
    }

    /// What it says about itself.
    pub fn names(&self) -> Names {
        self.mailbox.lock().names.as_deref().cloned().unwrap_or_default()
    }

    /// Its transaction is over.
    pub fn hide_transaction(&self) {
        if let Some(names) = &mut self.mailbox.lock().names {
            (names.queued, names.watching) = (None, 0);
        }
    }

    /// Has it say something else about itself.
    pub fn rename(&self, change: impl FnOnce(&mut Names)) {
        change(self.mailbox.lock().names.get_or_insert_default());
    }

    /// Has the connection closed by its own task, at once.
    pub fn kill(&self) {
        self.order.store(CLOSE, Ordering::Release);
        self.wake(|_| {});
    }

    /// Whether it is to be closed.
    pub fn is_killed(&self) -> bool {
        self.order.load(Ordering::Acquire) == CLOSE
    }

    /// Has its own task move it to another thread, once it has nothing to do there and then. The last such order counts.
    pub fn order_to(&self, thread: usize) {
        let Some(order) = u32::try_from(thread).ok().and_then(|thread| thread.checked_add(1)) else { return };
        self.order.update(Ordering::AcqRel, Ordering::Acquire, |old| if old == CLOSE { CLOSE } else { order });
    }

    /// What its task is to do, if anything.
    #[inline]
    pub fn order(&self) -> Option<Order> {
        match self.order.load(Ordering::Acquire) {
            NO_ORDER => None,
            CLOSE => Some(Order::Close),
            order => Some(Order::Move(order as usize - 1)),
        }
    }

    /// It is served on this thread now: a move is done with.
    pub fn set_thread(&self, thread: usize) {
        self.thread.store(u16::try_from(thread).unwrap_or(u16::MAX), Ordering::Relaxed);
        self.order.update(Ordering::AcqRel, Ordering::Acquire, |old| if old == CLOSE { CLOSE } else { NO_ORDER });
    }

    /// The worker thread that serves it.
    pub fn thread(&self) -> usize {
        self.thread.load(Ordering::Relaxed).into()
    }

    /// It made its thread do this much. Only its own task calls this, so a plain load and store lose nothing.
    #[inline]
    pub fn add_work(&self, work: usize) {
        self.work.store(self.work.load(Ordering::Relaxed).wrapping_add(work as u64), Ordering::Relaxed);
    }

    /// What it made its thread do since this was last asked. What it does at the same moment may be told once more.
    pub fn take_work(&self) -> u64 {
        self.work.swap(0, Ordering::Relaxed)
    }

    /// Leaves a message to be sent between its replies. A client that lets too much wait is cut off. Whether the caller is the one who
    /// has to call [`Self::wake_noted`] when its batch is over; not when the client need not wake, being the sender.
    fn put(&self, message: &Output, limit: OutputLimit, now: UnixMillis, must_wake: bool) -> bool {
        let mut mailbox = self.mailbox.lock();
        if self.is_killed() {
            return false;
        }
        if !mailbox.put(message, limit, now) {
            mailbox.discard();
            self.order.store(CLOSE, Ordering::Release);
        }
        must_wake && !mem::replace(&mut mailbox.is_noted, true)
    }

    /// Has its task look for what has been left for it.
    fn wake_noted(&self) {
        self.wake(|mailbox| mailbox.is_noted = false);
    }

    /// Cuts it off if more waits for it than `settings` allow.
    pub fn check_output(&self, settings: &Settings, now: UnixMillis) {
        let is_within = self.mailbox.lock().is_within(settings.output_limit(self.has(Self::PUBSUB)), now);
        if !is_within {
            self.kill();
        }
    }

    /// A command of its begins to wait: from here on another client may end that.
    pub fn begin_wait(&self) {
        let mut mailbox = self.mailbox.lock();
        mailbox.waiting = true;
        mailbox.unblock = None;
        self.set_flag(Self::BLOCKED, true);
    }

    /// Ends its wait for another client. Whether it was waiting.
    pub fn unblock(&self, how: Unblock) -> bool {
        let mut waiting = false;
        self.wake(|mailbox| {
            waiting = mailbox.waiting;
            if waiting {
                mailbox.waiting = false;
                mailbox.unblock = Some(how);
            }
        });
        waiting
    }

    /// Ends its own wait when it is `due`, or when another client has ended it: then the answer says how. `None` while it goes on.
    pub fn end_wait(&self, due: bool) -> Option<Option<Unblock>> {
        let mut mailbox = self.mailbox.lock();
        let unblock = mailbox.unblock.take();
        if unblock.is_none() && !due {
            return None;
        }
        mailbox.waiting = false;
        self.set_flag(Self::BLOCKED | Self::TIMED, false);
        Some(unblock)
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

    /// Has `waker` woken by the next message, while its peer has yet to take `unsent` bytes. Call before looking for messages, so that
    /// none is missed.
    pub fn listen(&self, waker: &Waker, unsent: usize) {
        self.mailbox.lock().listen(waker, unsent);
    }

    /// Moves what was left for it to the end of `out`. The mailbox keeps no memory.
    pub fn collect(&self, out: &mut Output) {
        self.mailbox.lock().collect(out);
    }

    /// Listens and collects in one.
    pub fn listen_and_collect(&self, waker: &Waker, out: &mut Output) {
        let mut mailbox = self.mailbox.lock();
        mailbox.listen(waker, 0);
        mailbox.collect(out);
    }

    /// Bytes that wait for its peer to take them: sent by others, or answered.
    pub fn output_bytes(&self) -> usize {
        self.mailbox.lock().output_bytes()
    }
}

/// The connections of a server.
#[derive(Debug, Default)]
pub struct Clients {
    next_id: AtomicU64,
    list: Mutex<BTreeMap<u64, Arc<Client>>>,
    monitors: Mutex<Vec<Arc<Client>>>,
    monitor_count: AtomicUsize,
    /// Killed connections that have not been closed yet, and who killed them.
    dying: Mutex<Vec<(u64, Arc<Client>)>>,
    /// `CLIENT PAUSE`: the end of the pause in Unix milliseconds, and in the lowest bit whether it holds back what only reads too.
    /// One word, so that a reader never sees half of a change.
    pause: AtomicU64,
}

impl Clients {
    /// Adds a connection.
    pub fn add(&self, addr: impl Into<Address>, laddr: impl Into<Address>, flags: u32, now: UnixMillis) -> Arc<Client> {
        let client = Arc::new(Client {
            id: self.next_id.fetch_add(1, Ordering::Relaxed) + 1,
            addr: addr.into(),
            laddr: laddr.into(),
            fd: AtomicI32::new(-1),
            created: now,
            active: AtomicU64::new(now.0),
            db: AtomicU32::new(0),
            protocol: AtomicU8::new(2),
            last_command: AtomicU32::new(u32::MAX),
            query_bytes: AtomicUsize::new(0),
            flags: AtomicU32::new(flags),
            thread: AtomicU16::new(0),
            order: AtomicU32::new(NO_ORDER),
            work: AtomicU64::new(0),
            mailbox: Mutex::default(),
        });
        self.list.lock().insert(client.id, Arc::clone(&client));
        client
    }

    /// Forgets a connection that has been closed, and tells those who wait for that.
    pub fn remove(&self, client: &Client) {
        self.forget(client);
        let mut dying = self.dying.lock();
        let (told, rest) = std::mem::take(&mut *dying).into_iter().partition(|(id, _)| *id == client.id);
        *dying = rest;
        let told: Vec<(u64, Arc<Client>)> = told;
        for (_, killer) in told {
            if !dying.iter().any(|(_, other)| other.id == killer.id) {
                killer.unblock(Unblock::Timeout);
            }
        }
    }

    /// The killer waits no longer: an end that comes late must not end another wait of it.
    pub fn stop_waiting_for_killed(&self, killer: &Client) {
        self.dying.lock().retain(|(_, waiting)| waiting.id != killer.id);
    }

    /// Takes a connection that is about to be closed off the list, so that its place is free by the time its peer can know. Whether it
    /// was there.
    pub fn forget(&self, client: &Client) -> bool {
        self.end_monitor(client);
        self.list.lock().remove(&client.id).is_some()
    }

    /// Has a connection closed by its own task, and forgets it at once: who asks after this is told of it no more. The killer's wait,
    /// if it begins one now, ends when all whom it killed have been closed. Whether the connection was still there.
    pub fn kill(&self, client: &Client, killer: &Arc<Client>) -> bool {
        let mut dying = self.dying.lock();
        let there = self.forget(client);
        if there {
            dying.push((client.id, Arc::clone(killer)));
        }
        drop(dying);
        client.kill();
        there
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

    /// Whether anybody watches, so that nobody pays when nobody does.
    #[inline]
    pub fn has_monitors(&self) -> bool {
        self.monitor_count.load(Ordering::Relaxed) > 0
    }

    /// Has a client watch every command.
    pub fn begin_monitor(&self, client: &Arc<Client>) {
        let mut monitors = self.monitors.lock();
        if !client.has(Client::MONITOR) {
            client.set_flag(Client::MONITOR, true);
            monitors.push(Arc::clone(client));
            self.monitor_count.store(monitors.len(), Ordering::Relaxed);
        }
    }

    /// Has a client watch no longer. Nothing is delivered to it after this.
    pub fn end_monitor(&self, client: &Client) {
        if client.has(Client::MONITOR) {
            let mut monitors = self.monitors.lock();
            client.set_flag(Client::MONITOR, false);
            monitors.retain(|monitor| monitor.id != client.id);
            self.monitor_count.store(monitors.len(), Ordering::Relaxed);
        }
    }

    /// Sends a line to all who watch and hear, and to the sender only if it hears what it does itself.
    pub fn show_monitors(&self, line: &Output, sender: Sender<'_>, sender_hears: bool) {
        sender.count(line.len());
        let hears = |client: &&Arc<Client>| !client.has(Client::SILENT) && (sender_hears || client.id != sender.id());
        for client in self.monitors.lock().iter().filter(hears) {
            sender.deliver(client, line);
        }
    }

    /// Holds commands back until `until`. A pause that ends later, or that holds back more, is neither cut short nor weakened.
    pub fn pause(&self, until: UnixMillis, writes_only: bool, now: UnixMillis) {
        let wanted = (until.0.min(u64::MAX >> 1) << 1) | u64::from(!writes_only);
        let change = |old: u64| {
            let still_on = old >> 1 > now.0;
            if still_on { (old.max(wanted) & !1) | ((old | wanted) & 1) } else { wanted }
        };
        self.pause.update(Ordering::AcqRel, Ordering::Acquire, change);
    }

    /// Ends the pause, and has those who were held back go on.
    pub fn unpause(&self) {
        self.pause.store(0, Ordering::Release);
        self.wake_all();
    }

    /// Until when a command is held back at `now`, if it is.
    #[inline]
    pub fn paused(&self, writes: bool, now: UnixMillis) -> Option<UnixMillis> {
        let pause = self.pause.load(Ordering::Acquire);
        let (until, holds_reads) = (UnixMillis(pause >> 1), pause & 1 != 0);
        (until > now && (writes || holds_reads)).then_some(until)
    }

    /// Wakes every connection, so that what was held back is looked at again.
    pub fn wake_all(&self) {
        for client in self.all() {
            client.wake(|_| {});
        }
    }
}

#[cfg(test)]
mod tests;
