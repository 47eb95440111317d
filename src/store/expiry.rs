//! Reclaiming what has expired, in bounded slices, and the ageing of access counters.

use std::sync::atomic::Ordering;

use super::slot::access_seconds;
use super::{Db, Entry, table};
use crate::clock::UnixMillis;

/// Where a sweep goes on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sweep {
    shard: usize,
}

impl Db {
    /// Removes what has expired from shards that hold something due, until `go_on` says otherwise. Whether a whole round is done.
    pub fn sweep(&self, sweep: &mut Sweep, now: UnixMillis, mut go_on: impl FnMut() -> bool) -> bool {
        while sweep.shard < self.sides.len() {
            if self.expire_shard(sweep.shard, now) && !go_on() {
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
    pub(super) fn expire_shard(&self, shard: usize, now: UnixMillis) -> bool {
        let side = &self.sides[shard];
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
        table::extract(&mut table, doomed, |_| expired += 1);
        side.volatile.fetch_sub(expired, Ordering::Relaxed);
        side.earliest.store(earliest, Ordering::Relaxed);
        self.expired.fetch_add(expired as u64, Ordering::Relaxed);
        self.shrink(&mut table);
        true
    }

    /// Gives back the memory of a table that has become far too large for what it holds.
    pub(super) fn shrink(&self, table: &mut table::Table) {
        const BUCKETS_MIN: usize = 64;
        if table.buckets() >= BUCKETS_MIN && table.len() * 8 < table.buckets() {
            let hasher = self.map.hasher();
            table.shrink_to(table.len() * 2, |(entry, _)| hasher.of(entry));
        }
    }
}

/// The counter of a new key under an LFU policy: Redis's `LFU_INIT_VAL`.
const LFU_START: u32 = 5;
/// Redis's default `lfu-log-factor`.
const LFU_LOG_FACTOR: u32 = 10;

/// A new key's access field under an LFU policy: minutes in the upper bits, a counter in the low eight.
pub(super) fn new_counter(now: UnixMillis) -> u32 {
    minutes(now) << 8 | LFU_START
}

/// The counter as of `now`: it falls by one a minute.
pub(super) fn counter(access: u32, now: UnixMillis) -> u32 {
    let idle = (minutes(now).wrapping_sub(access >> 8)) & 0xff_ffff;
    (access & 0xff).saturating_sub(idle)
}

/// Notes a use under an LFU policy: the counter rises the more rarely the higher it is.
pub(super) fn count_use(entry: &Entry, now: UnixMillis) {
    let counter = counter(entry.access(), now);
    let odds = counter.saturating_sub(LFU_START) * LFU_LOG_FACTOR + 1;
    // The key's own address and counter are random enough to thin out the increments.
    let dice = (entry.access().wrapping_mul(0x9e37_79b9) ^ access_seconds(now).wrapping_mul(0x85eb_ca6b)) >> 8;
    let counter = if counter < 255 && dice.is_multiple_of(odds) { counter + 1 } else { counter };
    entry.set_access(minutes(now) << 8 | counter);
}

fn minutes(now: UnixMillis) -> u32 {
    u32::try_from(now.seconds() / 60).unwrap_or(u32::MAX) & 0xff_ffff
}
