//! The keyed hash of the keyspace, and keys that carry theirs.

use std::hash::{BuildHasher, Hasher as _};

use super::entry::Entry;

/// Hashes keys. Seeded by the operating system, since keys come from strangers.
#[derive(Clone, Debug)]
pub struct Hasher(ahash::RandomState);

impl Hasher {
    /// A hash with a seed of its own.
    pub fn new() -> Self {
        Self(ahash::RandomState::new())
    }

    /// The hash of `bytes`.
    #[inline]
    pub fn hash(&self, bytes: &[u8]) -> u64 {
        let mut hasher = self.0.build_hasher();
        hasher.write(bytes);
        hasher.finish()
    }

    /// `bytes` as a key with its hash.
    #[inline]
    pub fn key<'a>(&self, bytes: &'a [u8]) -> Key<'a> {
        Key { bytes, hash: self.hash(bytes) }
    }

    #[inline]
    pub(super) fn of(&self, entry: &Entry) -> u64 {
        self.hash(entry.key())
    }
}

impl Default for Hasher {
    fn default() -> Self {
        Self::new()
    }
}

impl BuildHasher for Hasher {
    type Hasher = ahash::AHasher;

    fn build_hasher(&self) -> Self::Hasher {
        self.0.build_hasher()
    }
}

/// A key as a client sent it, with its hash at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    bytes: &'a [u8],
    hash: u64,
}

impl<'a> Key<'a> {
    /// A key whose hash is known to be `hash`.
    pub fn with_hash(bytes: &'a [u8], hash: u64) -> Self {
        Self { bytes, hash }
    }

    /// The key's bytes.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// The key's hash.
    pub fn hash(self) -> u64 {
        self.hash
    }
}
