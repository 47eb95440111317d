//! The SCAN cursor and its guarantee: a key that is there from the first call to the last is returned. And a key at random.
//!
//! A cursor names a shard and a home position within it. Positions are counted with their bits reversed, highest bit of the mask
//! first, as Redis does it: when a table grows or shrinks between two calls, the positions already visited are exactly those whose
//! entries have been returned, whatever the new mask is.

use super::{Db, Found, Moment, random, table};
use crate::clock::UnixMillis;

/// Where a scan stands. 0 begins, and 0 ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor(pub u64);

impl Db {
    /// Visits `count` keys or a few more from `cursor` on. Fewer when the end comes first or few places are taken: a call's work is
    /// bounded, and keys that have expired at `now` are passed over but counted. Returns where to go on. Any number is a cursor.
    pub fn scan(&self, cursor: Cursor, count: usize, now: UnixMillis, mut visit: impl FnMut(&[u8], Found<'_>)) -> Cursor {
        let shards = self.sides.len() as u64;
        let mut shard = cursor.0 % shards;
        let mut position = cursor.0 / shards;
        let mut seen = 0_usize;
        // An empty position costs as well: ten of them for each key asked for, as Redis bounds it.
        let mut steps = count.saturating_mul(10);
        while shard < shards && seen < count && steps > 0 {
            let table = self.read_shard(table::usize_of(shard));
            // An empty table costs next to nothing: it has no positions worth a step.
            let mut done = table.is_empty();
            while !done && seen < count && steps > 0 {
                let mask = table.buckets() as u64 - 1;
                let home = table::usize_of(position & mask);
                let hash = |entry: &super::entry::Entry| self.map.hasher().of(entry);
                table::with_home(&table, home, hash, |entry| {
                    seen += 1;
                    if !entry.is_expired(now) {
                        visit(entry.key(), Found::new(entry));
                    }
                });
                position = next(position, mask);
                done = position == 0;
                steps -= 1;
            }
            if done {
                position = 0;
                shard += 1;
            }
        }
        if shard == shards { Cursor(0) } else { Cursor(position * shards + shard) }
    }

    /// Shows a key that is there to `visit`, each with the same chance. `None` when there is none.
    ///
    /// Of constant cost where there are many keys and most of them have not expired; otherwise what has expired is removed on the way.
    pub fn random_key<R>(&self, at: Moment<'_>, visit: impl FnOnce(&[u8]) -> R) -> Option<R> {
        // Draws before the keys are counted instead. Fewer than two are needed on average where nothing has expired.
        const DRAWS_MAX: usize = 64;
        // Shards with at least as many keys differ so little that none has twice as many as another.
        const SHARD_KEYS_MIN: usize = 64;
        let shards = self.sides.len();
        let len = self.read_shard(random::below(shards)).len();
        if len < SHARD_KEYS_MIN {
            return self.random_key_counted(at, visit);
        }
        for _ in 0..DRAWS_MAX {
            let table = self.read_shard(random::below(shards));
            // A shard is taken the more often the more keys it has, so that each key has the same chance.
            if random::below(len * 2) >= table.len() {
                continue;
            }
            if let Some(entry) = table::draw(&table, random::below).filter(|entry| !entry.is_expired(at.now)) {
                return Some(visit(entry.key()));
            }
        }
        self.random_key_counted(at, visit)
    }

    /// The same by counting all keys and walking to one of them.
    fn random_key_counted<R>(&self, at: Moment<'_>, visit: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let mut skip = random::below(self.len(at));
        // A second round finds what is there if keys went away while the first one walked.
        for shard in (0..self.sides.len()).chain(0..self.sides.len()) {
            let table = self.read_shard(shard);
            if skip >= table.len() {
                skip -= table.len();
            } else if let Some(entry) = table::iter(&table).filter(|entry| !entry.is_expired(at.now)).nth(skip) {
                return Some(visit(entry.key()));
            } else {
                skip = 0;
            }
        }
        None
    }
}

/// The position after `position` under `mask`: an increment that carries from the highest bit of the mask downwards.
fn next(position: u64, mask: u64) -> u64 {
    let carried = (position | !mask).reverse_bits().wrapping_add(1);
    carried.reverse_bits()
}
