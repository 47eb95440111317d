//! The keyspace: databases of sharded tables, and the only user of dashmap.
//!
//! No lock leaves this module except inside a guard that a handler holds while it runs: [`Slot`] and [`Found`] live in a closure,
//! [`Locks`] in a handler's frame. Locks of several shards are taken in the order of database and shard, so that no two handlers wait
//! for each other. Every access says what time it is, and a key past its deadline is absent to it. Must not read a clock, do I/O or
//! know of commands.

mod access;
mod databases;
mod entry;
mod expiry;
mod hasher;
mod locks;
mod observer;
mod random;
mod scan;
mod shape;
mod slab;
mod slot;
mod table;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use dashmap::{DashMap, RwLockReadGuard, RwLockWriteGuard};
use parking_lot::Mutex;

pub use databases::{Databases, Gate, Store};
pub use entry::{Content, Encoding};
pub use expiry::Sweep;
pub use hasher::{Hasher, Key};
pub use locks::{Locks, ReadLocks, Target, WriteLocks};
pub use observer::{Event, Observer};
pub use random::below as random_below;
pub use scan::Cursor;
pub use shape::Form;
pub(crate) use shape::{LEN_MAX, SHARED_BYTES_MIN};
pub use slot::{Deadline, Found, Slot};

use crate::clock::UnixMillis;
use entry::Entry;
use slab::Slabs;
use table::{Table, Whereabouts};

type ReadGuard<'a> = RwLockReadGuard<'a, Table>;
type WriteGuard<'a> = RwLockWriteGuard<'a, Table>;

/// The time at which an access happens, what it leaves behind in the entry, and who is told of it.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// Keys whose deadline is not later than this are absent.
    pub now: UnixMillis,
    /// What an access notes in the entry.
    pub touch: Touch,
    /// Who is told what happens to the key.
    pub observer: Option<&'a dyn Observer>,
}

/// What an access notes in the entry that it found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Nothing: `CLIENT NO-TOUCH`, and commands that only look at a key.
    No,
    /// The time in seconds, for `OBJECT IDLETIME`.
    Lru,
    /// A counter that rises with use and falls with time, for `OBJECT FREQ`.
    Lfu,
}

/// What stands beside each shard, changed only under its write lock.
#[derive(Debug)]
struct Side {
    /// How many entries have a deadline.
    volatile: AtomicUsize,
    /// No deadline in the shard is earlier than this; `u64::MAX` when there is none.
    earliest: AtomicU64,
    /// The memory of the shard's entries. Its lock is taken within the shard's, and so by nobody else at the time.
    slabs: Mutex<Slabs>,
}

impl Side {
    fn new() -> Self {
        Self { volatile: AtomicUsize::new(0), earliest: AtomicU64::new(u64::MAX), slabs: Mutex::default() }
    }

    fn deadline_added(&self, deadline: UnixMillis) {
        self.volatile.fetch_add(1, Ordering::Relaxed);
        self.earliest.fetch_min(deadline.0, Ordering::Relaxed);
    }

    fn deadline_removed(&self) {
        self.volatile.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One database.
pub struct Db {
    /// Its number.
    index: usize,
    map: DashMap<Entry, (), Hasher>,
    sides: Box<[Side]>,
    /// Where the shards' tables lie. Apart from the sides: every batch reads it, and it hardly ever changes.
    whereabouts: Box<[Whereabouts]>,
    /// Keys that were removed because their deadline had passed.
    expired: AtomicU64,
}

impl Db {
    fn new(index: usize, shards: usize, hasher: Hasher) -> Self {
        let map = DashMap::with_capacity_and_hasher_and_shard_amount(0, hasher, shards);
        let sides = map.shards().iter().map(|_| Side::new()).collect();
        let whereabouts = map.shards().iter().map(|_| Whereabouts::default()).collect();
        Self { index, map, sides, whereabouts, expired: AtomicU64::new(0) }
    }

    /// Its number among the databases.
    pub fn index(&self) -> usize {
        self.index
    }

    #[inline]
    fn shard_of(&self, hash: u64) -> usize {
        self.map.determine_shard(table::usize_of(hash))
    }

    #[inline]
    fn read_shard(&self, shard: usize) -> ReadGuard<'_> {
        self.map.shards()[shard].read()
    }

    #[inline]
    fn write_shard(&self, shard: usize) -> WriteGuard<'_> {
        self.map.shards()[shard].write()
    }

    /// Looks at a key. `f` runs under the shard's shared lock.
    #[inline]
    pub fn read<R>(&self, key: Key<'_>, at: Moment<'_>, f: impl FnOnce(Option<Found<'_>>) -> R) -> R {
        let table = self.read_shard(self.shard_of(key.hash()));
        f(Found::find(&table, key, at))
    }

    /// Whether an entry is there, past its deadline or not.
    pub fn holds(&self, key: Key<'_>) -> bool {
        table::find(&self.read_shard(self.shard_of(key.hash())), key.hash(), key.bytes()).is_some()
    }

    /// Whether an entry is there that is past its deadline.
    pub fn holds_expired(&self, key: Key<'_>, now: UnixMillis) -> bool {
        let table = self.read_shard(self.shard_of(key.hash()));
        table::find(&table, key.hash(), key.bytes()).is_some_and(|place| table::get(&table, &place).is_expired(now))
    }

    /// Changes a key. `f` runs under the shard's exclusive lock.
    #[inline]
    pub fn write<R>(&self, key: Key<'_>, at: Moment<'_>, f: impl FnOnce(&mut Slot<'_>) -> R) -> R {
        let shard = self.shard_of(key.hash());
        let mut table = self.write_shard(shard);
        f(&mut Slot::find(self, &mut table, shard, key, at))
    }

    /// Fetches the shard's lock, and its table around a key's home position, into the cache. A hint, and takes no lock.
    #[inline]
    pub fn prefetch_home(&self, hash: u64) {
        let shard = self.shard_of(hash);
        entry::prefetch(std::ptr::from_ref(&self.map.shards()[shard]).cast());
        self.whereabouts[shard].prefetch_home(hash);
    }

    /// Fetches the entry of a key into the cache. A hint: a busy shard is passed over.
    #[inline]
    pub fn prefetch_entry(&self, hash: u64) {
        if let Some(table) = self.map.shards()[self.shard_of(hash)].try_read() {
            table::prefetch_entry(&table, hash);
        }
    }

    /// How many keys there are. Removes what has expired on the way.
    pub fn len(&self, at: Moment<'_>) -> usize {
        (0..self.sides.len())
            .map(|shard| {
                self.expire_shard(shard, at);
                self.read_shard(shard).len()
            })
            .sum()
    }

    /// How many keys have a deadline.
    pub fn volatile(&self) -> usize {
        self.sides.iter().map(|side| side.volatile.load(Ordering::Relaxed)).sum()
    }

    /// How many keys were removed because their deadline had passed.
    pub fn expired(&self) -> u64 {
        self.expired.load(Ordering::Relaxed)
    }

    /// Bytes of memory that the tables take, without the entries in them.
    pub fn table_bytes(&self) -> usize {
        (0..self.sides.len()).map(|shard| self.read_shard(shard).buckets() * (size_of::<table::Pair>() + 1)).sum()
    }

    /// Counts removed keys from 0 again: `CONFIG RESETSTAT`.
    pub fn reset_expired(&self) {
        self.expired.store(0, Ordering::Relaxed);
    }

    /// Calls `visit` with every key that is there at `now`, one shard after another.
    pub fn for_each(&self, now: UnixMillis, mut visit: impl FnMut(&[u8], Found<'_>)) {
        for shard in 0..self.sides.len() {
            let table = self.read_shard(shard);
            for entry in table::iter(&table).filter(|entry| !entry.is_expired(now)) {
                visit(entry.key(), Found::new(entry));
            }
        }
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        for (shard, side) in self.sides.iter_mut().enumerate() {
            let slabs = side.slabs.get_mut();
            // What lies in the slots goes with them.
            if slabs.has_apart() {
                table::extract(&mut self.map.shards()[shard].write(), |_| true, |entry| entry.free(slabs));
            }
        }
    }
}

impl std::fmt::Debug for Db {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Db").field("shards", &self.sides.len()).finish_non_exhaustive()
    }
}
