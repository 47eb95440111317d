//! Cheap random numbers for choices that need to be fair but not secret: a random key, access counters.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

thread_local! {
    // Each thread's state begins at a number that the standard library takes from the operating system.
    static STATE: Cell<u64> = Cell::new(RandomState::new().hash_one(0));
}

/// A random number of 64 bits: Weyl's sequence, its steps mixed by a wide multiplication (wyrand).
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the two halves of the product are what is wanted")]
pub(super) fn next() -> u64 {
    let state = STATE.get().wrapping_add(0xa076_1d64_78bd_642f);
    STATE.set(state);
    let product = u128::from(state) * u128::from(state ^ 0xe703_7ed1_a0b4_28db);
    (product >> 64) as u64 ^ product as u64
}

/// A random number below `limit`, all of them equally likely as far as 64 bits can tell; 0 when `limit` is 0.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the upper half of the product is below the limit, which is a usize")]
pub fn below(limit: usize) -> usize {
    ((u128::from(next()) * limit as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_about_equally_often() {
        // 10 cells, 10,000 expected in each with a standard deviation of 95.
        let mut cells = [0_i32; 10];
        for _ in 0..100_000 {
            cells[below(10)] += 1;
        }
        assert!(cells.iter().all(|count| (count - 10_000).abs() < 800), "{cells:?}");
        assert_eq!(below(1), 0);
        assert_eq!(below(0), 0);
    }
}
