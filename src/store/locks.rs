//! Several keys at once: their shards are locked in the order of database and shard, each once.

use super::{Db, Found, Key, Moment, ReadGuard, Slot, WriteGuard};

/// A key in a database, to be locked together with others.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The database.
    pub db: &'a Db,
    /// Its index, which decides the order of locking.
    pub index: usize,
    /// The key.
    pub key: Key<'a>,
}

/// The locked shards of several keys.
pub struct Locks<'a, G> {
    held: Vec<(usize, usize, &'a Db, G)>,
}

/// Locked for reading.
pub type ReadLocks<'a> = Locks<'a, ReadGuard<'a>>;
/// Locked for writing.
pub type WriteLocks<'a> = Locks<'a, WriteGuard<'a>>;

impl<'a> ReadLocks<'a> {
    /// Locks the shards of all `targets` for reading.
    pub fn read(targets: impl Iterator<Item = Target<'a>>) -> Self {
        Self::take(targets, Db::read_shard)
    }

    /// What is there under a key that was among the targets.
    pub fn get(&self, target: Target<'_>, at: Moment) -> Option<Found<'_>> {
        let (_, _, _, table) = &self.held[self.place(target)];
        Found::find(table, target.key, at)
    }
}

impl<'a> WriteLocks<'a> {
    /// Locks the shards of all `targets` for writing.
    pub fn write(targets: impl Iterator<Item = Target<'a>>) -> Self {
        Self::take(targets, Db::write_shard)
    }

    /// The slot of a key that was among the targets.
    pub fn slot<'s>(&'s mut self, target: Target<'s>, at: Moment) -> Slot<'s> {
        let place = self.place(target);
        let (_, shard, db, table) = &mut self.held[place];
        Slot::find(db, table, *shard, target.key, at)
    }
}

impl<'a, G> Locks<'a, G> {
    fn take(targets: impl Iterator<Item = Target<'a>>, lock: impl Fn(&'a Db, usize) -> G) -> Self {
        let mut order: Vec<_> = targets.map(|target| (target.index, target.db.shard_of(target.key.hash()), target.db)).collect();
        order.sort_unstable_by_key(|&(index, shard, _)| (index, shard));
        order.dedup_by_key(|&mut (index, shard, _)| (index, shard));
        Self { held: order.into_iter().map(|(index, shard, db)| (index, shard, db, lock(db, shard))).collect() }
    }

    fn place(&self, target: Target<'_>) -> usize {
        let wanted = (target.index, target.db.shard_of(target.key.hash()));
        self.held
            .binary_search_by_key(&wanted, |&(index, shard, _, _)| (index, shard))
            .unwrap_or_else(|_| unreachable!("a key whose shard was not locked: the caller names the keys it locked"))
    }
}
