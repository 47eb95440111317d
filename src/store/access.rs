//! What an entry keeps of its use: the time of the last one, or under an LFU policy a counter that ages.
//!
//! There are 24 bits for it, as in Redis: seconds that begin again after 194 days, or minutes in the upper 16 and the counter in the
//! lower eight. When the policy changes at run time, old fields are read wrongly until the next use, as in Redis too.

use super::entry::Entry;
use super::{Moment, Touch, random};
use crate::clock::UnixMillis;

/// The counter of a new key: Redis's `LFU_INIT_VAL`.
const LFU_START: u32 = 5;
/// Redis's default `lfu-log-factor`.
const LFU_LOG_FACTOR: u32 = 10;
const COUNTER_MAX: u32 = 255;
/// What there is room for of each.
const SECONDS: u32 = 0xff_ffff;
const MINUTES: u32 = 0xffff;

/// Notes a use.
#[inline]
pub(super) fn touch(entry: &Entry, at: Moment<'_>) {
    match at.touch {
        Touch::No => {}
        Touch::Lru => entry.set_access(seconds(at.now)),
        Touch::Lfu => count(entry, at.now),
    }
}

/// Counts a use, with odds that fall as the counter rises.
#[cold]
fn count(entry: &Entry, now: UnixMillis) {
    let old = counter(entry.access(), now);
    let odds = old.saturating_sub(LFU_START) * LFU_LOG_FACTOR + 1;
    let rises = old < COUNTER_MAX && random::below(odds as usize) == 0;
    entry.set_access(minutes(now) << 8 | (old + u32::from(rises)));
}

/// The field of a key that is made now.
pub(super) fn fresh(at: Moment<'_>) -> u32 {
    match at.touch {
        Touch::Lfu => minutes(at.now) << 8 | LFU_START,
        Touch::Lru | Touch::No => seconds(at.now),
    }
}

/// The counter as of `now`: it falls by one a minute, Redis's default `lfu-decay-time`.
pub(super) fn counter(access: u32, now: UnixMillis) -> u32 {
    let idle = minutes(now).wrapping_sub(access >> 8) & MINUTES;
    (access & 0xff).saturating_sub(idle)
}

/// Seconds since the last use.
pub(super) fn idle_seconds(access: u32, now: UnixMillis) -> u32 {
    seconds(now).wrapping_sub(access) & SECONDS
}

#[inline]
fn seconds(now: UnixMillis) -> u32 {
    u32::try_from(now.seconds() & u64::from(SECONDS)).unwrap_or_default()
}

fn minutes(now: UnixMillis) -> u32 {
    u32::try_from((now.seconds() / 60) & u64::from(MINUTES)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Form;
    use crate::store::slab::Slabs;

    fn lfu(seconds: u64) -> Moment<'static> {
        Moment { now: UnixMillis(seconds * 1000), touch: Touch::Lfu, observer: None }
    }

    #[test]
    fn the_counter_rises_with_use_and_ages() {
        let start = 1_700_000_000;
        let mut slabs = Slabs::default();
        let entry = Entry::new(&mut slabs, b"k", b"v", Form::Written, None, fresh(lfu(start)));
        assert_eq!(counter(entry.access(), lfu(start).now), 5);
        // The first use counts for certain, the next ones with a chance of 1 in 11, 21, 31 ...
        touch(&entry, lfu(start));
        assert_eq!(counter(entry.access(), lfu(start).now), 6);
        for _ in 0..1000 {
            touch(&entry, lfu(start));
        }
        // The expected counter c obeys 1 + 11 + 21 + .. = 1001, so that about 14 steps were taken.
        let risen = counter(entry.access(), lfu(start).now);
        assert!((12..30).contains(&risen), "{risen}");
        assert_eq!(counter(entry.access(), lfu(start + 180).now), risen - 3);
        assert_eq!(counter(entry.access(), lfu(start + 6000).now), 0);
        entry.set_access(minutes(lfu(start).now) << 8 | COUNTER_MAX);
        touch(&entry, lfu(start));
        assert_eq!(counter(entry.access(), lfu(start).now), COUNTER_MAX);
    }
}
