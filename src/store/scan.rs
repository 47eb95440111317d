//! The SCAN cursor and its guarantee: a key that is there from the first call to the last is returned.
//!
//! A cursor names a shard and a home position within it. Positions are counted with their bits reversed, highest bit of the mask
//! first, as Redis does it: when a table grows or shrinks between two calls, the positions already visited are exactly those whose
//! entries have been returned, whatever the new mask is.

use super::{Db, Found, table};
use crate::clock::UnixMillis;

/// Where a scan stands. 0 begins, and 0 ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor(pub u64);

impl Db {
    /// Visits at least `count` keys from `cursor` on, unless the end comes first. Keys that have expired at `now` are passed over
    /// but counted, so that a call's work is bounded. Returns where to go on.
    pub fn scan(&self, cursor: Cursor, count: usize, now: UnixMillis, mut visit: impl FnMut(&[u8], Found<'_>)) -> Cursor {
        let shards = self.sides.len() as u64;
        let mut shard = cursor.0 % shards;
        let mut position = cursor.0 / shards;
        let mut seen = 0_usize;
        // An empty position costs as well: ten of them for each key asked for, as Redis bounds it.
        let mut steps = count.saturating_mul(10);
        while shard < shards {
            let table = self.read_shard(table::usize_of(shard));
            if table.is_empty() {
                position = 0;
                shard += 1;
                continue;
            }
            let mask = table.buckets() as u64 - 1;
            loop {
                table::with_home(
                    &table,
                    table::usize_of(position & mask),
                    |entry| self.map.hasher().of(entry),
                    |entry| {
                        seen += 1;
                        if !entry.is_expired(now) {
                            visit(entry.key(), Found::new(entry));
                        }
                    },
                );
                position = next(position, mask);
                steps = steps.saturating_sub(1);
                if position == 0 || seen >= count || steps == 0 {
                    break;
                }
            }
            if position == 0 {
                shard += 1;
            }
            if seen >= count || steps == 0 {
                break;
            }
        }
        if shard == shards { Cursor(0) } else { Cursor(position * shards + shard) }
    }
}

/// The position after `position` under `mask`: an increment that carries from the highest bit of the mask downwards.
fn next(position: u64, mask: u64) -> u64 {
    let carried = (position | !mask).reverse_bits().wrapping_add(1);
    carried.reverse_bits()
}
