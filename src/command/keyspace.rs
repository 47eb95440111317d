//! The keyspace as a handler sees it: the selected database at the time of the batch.

use crate::clock::UnixMillis;
use crate::stats::WorkerStats;
use crate::store::{Databases, Db, Found, Gate, Key, Moment, ReadLocks, Slot, Store, Target, Touch, WriteLocks};

/// The databases, entered by a batch, with one of them selected.
pub struct Keyspace<'a> {
    store: &'a Store,
    gate: Option<Gate<'a>>,
    selected: usize,
    at: Moment,
    stats: &'a WorkerStats,
}

impl<'a> Keyspace<'a> {
    /// The databases of `store`, entered through `gate`.
    pub fn new(store: &'a Store, gate: Gate<'a>, selected: usize, at: Moment, stats: &'a WorkerStats) -> Self {
        Self { store, gate: Some(gate), selected, at, stats }
    }

    /// Leaves and comes back when all others have left, or the other way round, unless it is so already.
    #[inline]
    pub fn set_alone(&mut self, alone: bool) {
        if alone != matches!(self.gate, Some(Gate::Alone(_))) {
            self.come_back(alone);
        }
    }

    #[cold]
    fn come_back(&mut self, alone: bool) {
        // The old guard must be gone before the new one is asked for.
        self.gate = None;
        self.gate = Some(if alone { self.store.enter_alone() } else { self.store.enter() });
    }

    fn gate(&self) -> &Gate<'a> {
        self.gate.as_ref().expect("the gate is absent only within set_alone")
    }

    /// The databases.
    pub fn databases(&self) -> &Databases {
        self.gate()
    }

    /// The databases to be changed as a whole, by a command with the flag `ALONE`.
    pub fn alone(&mut self) -> &mut Databases {
        self.gate.as_mut().expect("the gate is absent only within set_alone").alone()
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
    pub fn moment(&self) -> Moment {
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
        self.db().read(key, Moment { touch, ..self.at }, |found| {
            self.count(found.is_some());
            f(found)
        })
    }

    /// Looks at a key as tools do: notes no use and counts nothing.
    pub fn inspect<R>(&self, key: Key<'_>, f: impl FnOnce(Option<Found<'_>>) -> R) -> R {
        self.db().read(key, Moment { touch: Touch::No, ..self.at }, f)
    }

    /// Counts a hit or a miss, for a command that reads what it then changes.
    #[inline]
    pub fn count(&self, hit: bool) {
        if hit { self.stats.hits.add(1) } else { self.stats.misses.add(1) }
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
        Target { db: self.gate().db(index), index, key }
    }

    /// Locks several keys of the selected database for reading. Read them with [`Self::locked_read`].
    pub fn lock_read<'k>(&'k self, keys: &[Key<'k>]) -> ReadLocks<'k> {
        ReadLocks::read(keys.iter().map(|&key| self.target(key)))
    }

    /// Reads a key of the selected database that is among the locked ones: notes its use, counts a hit or a miss.
    pub fn locked_read<'l>(&self, locks: &'l ReadLocks<'_>, key: Key<'_>) -> Option<Found<'l>> {
        self.locked_look(locks, key, self.at.touch)
    }

    /// Reads a key of the selected database that is among the locked ones and notes its use as told. Counts a hit or a miss.
    pub fn locked_look<'l>(&self, locks: &'l ReadLocks<'_>, key: Key<'_>, touch: Touch) -> Option<Found<'l>> {
        let found = locks.get(self.target(key), Moment { touch, ..self.at });
        self.count(found.is_some());
        found
    }

    /// Locks several keys of the selected database for writing. Change them with `locks.slot(keys.target(key), keys.moment())`.
    pub fn lock_write<'k>(&'k self, keys: &[Key<'k>]) -> WriteLocks<'k> {
        WriteLocks::write(keys.iter().map(|&key| self.target(key)))
    }
}
