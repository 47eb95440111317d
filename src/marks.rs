//! A quick answer to whether anybody cares about a key: most changes concern no key that somebody does, and take no lock to know it.

use std::sync::atomic::{AtomicU32, Ordering};

/// How many keys somebody cares about, for each value of the lowest bits of a key's hash.
#[derive(Debug)]
pub struct Marks(Box<[AtomicU32]>);

/// A power of two.
const MARKS: usize = 512;

impl Default for Marks {
    fn default() -> Self {
        Self((0..MARKS).map(|_| AtomicU32::new(0)).collect())
    }
}

impl Marks {
    /// Whether somebody may care about a key with this hash.
    #[inline]
    pub fn has(&self, hash: u64) -> bool {
        self.of(hash).load(Ordering::Relaxed) > 0
    }

    /// Somebody cares about a key with this hash.
    pub fn add(&self, hash: u64) {
        self.of(hash).fetch_add(1, Ordering::Relaxed);
    }

    /// Takes back one [`Self::add`].
    pub fn remove(&self, hash: u64) {
        self.of(hash).fetch_sub(1, Ordering::Relaxed);
    }

    /// Nobody cares about any key.
    pub fn clear(&self) {
        self.0.iter().for_each(|mark| mark.store(0, Ordering::Relaxed));
    }

    #[inline]
    fn of(&self, hash: u64) -> &AtomicU32 {
        &self.0[usize::try_from(hash % MARKS as u64).unwrap_or_default()]
    }
}
