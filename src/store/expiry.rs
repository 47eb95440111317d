//! Reclaiming what has expired, in bounded slices.

use std::sync::atomic::Ordering;

use super::{Db, Event, Moment, entry::Entry, table};
use crate::clock::UnixMillis;

/// Where a sweep goes on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sweep {
    shard: usize,
}

impl Db {
    /// Removes what has expired from shards that hold something due, until `go_on` says otherwise. Whether a whole round is done.
    pub fn sweep(&self, sweep: &mut Sweep, at: Moment<'_>, mut go_on: impl FnMut() -> bool) -> bool {
        while sweep.shard < self.sides.len() {
            if self.expire_shard(sweep.shard, at) && !go_on() {
                sweep.shard += 1;
                return false;
            }
            sweep.shard += 1;
        }
        sweep.shard = 0;
        true
    }

    /// The earliest time at which a key may expire; `None` when none has a deadline.
    pub fn next_deadline(&self) -> Option<UnixMillis> {
        let earliest = self.sides.iter().map(|side| side.earliest.load(Ordering::Relaxed)).min()?;
        (earliest != u64::MAX).then_some(UnixMillis(earliest))
    }

    /// Removes what has expired from one shard. Whether there was something to look for.
    pub(super) fn expire_shard(&self, shard: usize, at: Moment<'_>) -> bool {
        let (now, side) = (at.now, &self.sides[shard]);
        if side.earliest.load(Ordering::Relaxed) > now.0 {
            return false;
        }
        let mut table = self.write_shard(shard);
        let mut earliest = u64::MAX;
        let mut expired = 0;
        let doomed = |entry: &Entry| match entry.deadline() {
            Some(deadline) if deadline <= now => true,
            Some(deadline) => {
                earliest = earliest.min(deadline.0);
                false
            }
            None => false,
        };
        let mut slabs = side.slabs.lock();
        table::extract(&mut table, doomed, |entry| {
            if let Some(observer) = at.observer {
                observer.happened(self.index, self.map.hasher().key(entry.key()), Event::EXPIRED);
            }
            entry.free(&mut slabs);
            expired += 1;
        });
        side.volatile.fetch_sub(expired, Ordering::Relaxed);
        side.earliest.store(earliest, Ordering::Relaxed);
        self.expired.fetch_add(expired as u64, Ordering::Relaxed);
        table::shrink(&mut table, |entry| self.map.hasher().of(entry));
        table::pack_if_sparse(&mut table, &mut slabs);
        self.whereabouts[shard].note(&table);
        true
    }
}
