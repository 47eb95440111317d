//! The keyspace as a handler sees it: the selected database at the time of the batch.

use crate::clock::UnixMillis;
use crate::stats::WorkerStats;
use crate::store::{Databases, Db, Event, Found, Gate, Key, Moment, Observer, ReadLocks, Slot, Store, Target, Touch, WriteLocks};

/// The databases, entered by a batch, with one of them selected.
pub struct Keyspace<'a> {
    store: &'a Store,
    gate: Option<Gate<'a>>,
    selected: usize,
    at: Moment<'a>,
    /// Who may want to know what happens to keys.
    observer: &'a dyn Observer,
    stats: &'a WorkerStats,
}

impl<'a> Keyspace<'a> {
    /// The databases of `store`, entered through `gate`. `observer` is told what happens to keys, as long as it is curious; nobody
    /// is at first.
    pub fn new(
        store: &'a Store,
        gate: Gate<'a>,
        selected: usize,
        at: Moment<'a>,
        observer: &'a dyn Observer,
        stats: &'a WorkerStats,
    ) -> Self {
        let mut keyspace = Self { store, gate: Some(gate), selected, at, observer, stats };
        keyspace.look_for_observer();
        keyspace
    }

    /// Leaves, and comes back when all others have left, unless it is so already. It stays so to the end of the batch: a pipeline of
    /// transactions enters once.
    #[inline]
    pub fn be_alone(&mut self) {
        if !matches!(self.gate, Some(Gate::Alone(_))) {
            self.come_back_alone();
        }
    }

    #[cold]
    fn come_back_alone(&mut self) {
        // The old guard must be gone before the new one is asked for.
        self.gate = None;
        self.gate = Some(self.store.enter_alone());
        self.look_for_observer();
    }

    /// Asks whether what happens to keys is to be told: on entering, and behind what may have changed it.
    pub fn look_for_observer(&mut self) {
        self.at.observer = self.observer.is_curious().then_some(self.observer);
    }

    /// Whether what happens to keys is told.
    #[inline]
    pub fn is_observed(&self) -> bool {
        self.at.observer.is_some()
    }

    fn gate(&self) -> &Gate<'a> {
        self.gate.as_ref().expect("the gate is absent only while it comes back")
    }

    /// The databases.
    pub fn databases(&self) -> &Databases {
        self.gate()
    }

    /// The databases to be changed as a whole, by a command with the flag `ALONE`.
    pub fn alone(&mut self) -> &mut Databases {
        self.gate.as_mut().expect("the gate is absent only while it comes back").alone()
    }

    /// The selected database.
    #[inline]
    pub fn db(&self) -> &Db {
        self.gate().db(self.selected)
    }

    /// The number of the selected database.
    pub fn selected(&self) -> usize {
        self.selected
    }

    pub(super) fn select(&mut self, index: usize) {
        self.selected = index;
    }

    /// Decides what an access leaves behind from here on.
    pub(super) fn set_touch(&mut self, touch: Touch) {
        self.at.touch = touch;
    }

    /// What time it is.
    pub fn now(&self) -> UnixMillis {
        self.at.now
    }

    /// The time and what an access leaves behind, for access to a database by hand.
    pub fn moment(&self) -> Moment<'a> {
        self.at
    }

    /// Reads a key: notes its use, counts a hit or a miss.
    #[inline]
    pub fn read<R>(&self, key: Key<'_>, f: impl FnOnce(Option<Found<'_>>) -> R) -> R {
        self.look(key, self.at.touch, f)
    }

    /// Looks at a key without noting a use: TTL, TYPE, OBJECT. Counts a hit or a miss.
    pub fn peek<R>(&self, key: Key<'_>, f: impl FnOnce(Option<Found<'_>>) -> R) -> R {
        self.look(key, Touch::No, f)
    }

    /// Reads a key and notes its use as told. Counts a hit or a miss.
    #[inline]
    pub fn look<R>(&self, key: Key<'_>, touch: Touch, f: impl FnOnce(Option<Found<'_>>) -> R) -> R {
        if self.is_observed() {
            self.remove_expired(key);
        }
        self.db().read(key, Moment { touch, ..self.at }, |found| {
            self.count(key, found.is_some());
            f(found)
        })
    }

    /// Looks at a key as tools do: notes no use and counts nothing.
    pub fn inspect<R>(&self, key: Key<'_>, f: impl FnOnce(Option<Found<'_>>) -> R) -> R {
        self.db().read(key, Moment { touch: Touch::No, ..self.at }, f)
    }

    /// Looks at a key without noting a use or telling of a miss. Counts a hit or a miss.
    pub fn examine<R>(&self, key: Key<'_>, f: impl FnOnce(Option<Found<'_>>) -> R) -> R {
        if self.is_observed() {
            self.remove_expired(key);
        }
        self.inspect(key, |found| {
            self.add(found.is_some());
            f(found)
        })
    }

    /// Counts a hit or a miss, for a command that reads what it then changes, and tells of a miss.
    #[inline]
    pub fn count(&self, key: Key<'_>, hit: bool) {
        self.add(hit);
        if !hit && let Some(observer) = self.at.observer {
            observer.happened(self.selected, key, Event::MISS);
        }
    }

    #[inline]
    fn add(&self, hit: bool) {
        if hit { self.stats.hits.add(1) } else { self.stats.misses.add(1) }
    }

    /// Removes a key past its deadline, so that it is told before a reader finds nothing. A reader alone removes nothing.
    #[cold]
    pub(super) fn remove_expired(&self, key: Key<'_>) {
        if self.db().holds_expired(key, self.at.now) {
            self.db().write(key, self.at, |_| ());
        }
    }

    /// Changes a key.
    #[inline]
    pub fn write<R>(&self, key: Key<'_>, f: impl FnOnce(&mut Slot<'_>) -> R) -> R {
        self.db().write(key, self.at, f)
    }

    /// A key of the selected database, to be locked together with others.
    pub fn target<'k>(&'k self, key: Key<'k>) -> Target<'k> {
        self.target_in(self.selected, key)
    }

    /// A key of any database, to be locked together with others.
    pub fn target_in<'k>(&'k self, index: usize, key: Key<'k>) -> Target<'k> {
        Target { db: self.gate().db(index), key }
    }

    /// Locks several keys of the selected database for reading. Read them with [`Self::locked_read`].
    pub fn lock_read<'k>(&'k self, keys: &[Key<'k>]) -> ReadLocks<'k> {
        if self.is_observed() {
            keys.iter().for_each(|&key| self.remove_expired(key));
        }
        ReadLocks::read(keys.iter().map(|&key| self.target(key)))
    }

    /// Reads a key of the selected database that is among the locked ones: notes its use, counts a hit or a miss.
    pub fn locked_read<'l>(&self, locks: &'l ReadLocks<'_>, key: Key<'_>) -> Option<Found<'l>> {
        self.locked_look(locks, key, self.at.touch)
    }

    /// Reads a key of the selected database that is among the locked ones and notes its use as told. Counts a hit or a miss.
    pub fn locked_look<'l>(&self, locks: &'l ReadLocks<'_>, key: Key<'_>, touch: Touch) -> Option<Found<'l>> {
        let found = locks.get(self.target(key), Moment { touch, ..self.at });
        self.count(key, found.is_some());
        found
    }

    /// Locks several keys of the selected database for writing. Change them with `locks.slot(keys.target(key), keys.moment())`.
    pub fn lock_write<'k>(&'k self, keys: &[Key<'k>]) -> WriteLocks<'k> {
        WriteLocks::write(keys.iter().map(|&key| self.target(key)))
    }
}
