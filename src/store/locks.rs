//! Several keys at once: their shards are locked in the order of database and shard, each once, and their entries fetched ahead.

use super::{Db, Found, Key, Moment, ReadGuard, Slot, Table, WriteGuard, table};

/// A key in a database, to be locked together with others.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The database, whose number decides the order of locking.
    pub db: &'a Db,
    /// The key.
    pub key: Key<'a>,
}

/// The locked shards of several keys.
pub struct Locks<'a, G> {
    /// In the order of locking. The keys of a command lie in two databases at most.
    spans: [Option<Span<'a>>; 2],
    held: Vec<G>,
}

/// Locked for reading.
pub type ReadLocks<'a> = Locks<'a, ReadGuard<'a>>;
/// Locked for writing.
pub type WriteLocks<'a> = Locks<'a, WriteGuard<'a>>;

/// The shards of one database that are locked, as a set of bits: it needs no sorting, and counting tells which of the locks is whose.
struct Span<'a> {
    db: &'a Db,
    words: Vec<Word>,
}

#[derive(Clone, Copy, Default)]
struct Word {
    /// A bit for each shard that is locked.
    shards: u64,
    /// Locks taken before the first of them.
    before: usize,
}

impl<'a> Span<'a> {
    fn new(db: &'a Db) -> Self {
        Self { db, words: vec![Word::default(); db.sides.len().div_ceil(64)] }
    }

    fn shards(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(at, word)| {
            let mut left = word.shards;
            std::iter::from_fn(move || {
                let lowest = left.trailing_zeros() as usize;
                left &= left.wrapping_sub(1);
                (lowest < 64).then_some(at * 64 + lowest)
            })
        })
    }
}

impl<'a> ReadLocks<'a> {
    /// Locks the shards of all `targets` for reading.
    pub fn read(targets: impl Iterator<Item = Target<'a>> + Clone) -> Self {
        Self::take(targets, Db::read_shard)
    }

    /// What is there under a key that was among the targets.
    #[inline]
    pub fn get(&self, target: Target<'_>, at: Moment<'_>) -> Option<Found<'_>> {
        Found::find(&self.held[self.place(target)], target.key, at)
    }
}

impl<'a> WriteLocks<'a> {
    /// Locks the shards of all `targets` for writing.
    pub fn write(targets: impl Iterator<Item = Target<'a>> + Clone) -> Self {
        Self::take(targets, Db::write_shard)
    }

    /// The slot of a key that was among the targets.
    #[inline]
    pub fn slot<'s>(&'s mut self, target: Target<'s>, at: Moment<'s>) -> Slot<'s> {
        let place = self.place(target);
        Slot::find(target.db, &mut self.held[place], target.db.shard_of(target.key.hash()), target.key, at)
    }
}

impl<'a, G: std::ops::Deref<Target = Table>> Locks<'a, G> {
    fn take(targets: impl Iterator<Item = Target<'a>> + Clone, lock: impl Fn(&'a Db, usize) -> G) -> Self {
        let mut spans: [Option<Span<'a>>; 2] = [None, None];
        for target in targets.clone() {
            target.db.prefetch_home(target.key.hash());
            let span = spans.iter_mut().find(|span| span.as_ref().is_none_or(|span| span.db.index == target.db.index));
            let span = span.unwrap_or_else(|| unreachable!("no command names keys of more than two databases"));
            let span = span.get_or_insert_with(|| Span::new(target.db));
            let shard = target.db.shard_of(target.key.hash());
            span.words[shard / 64].shards |= 1 << (shard % 64);
        }
        if let [Some(first), Some(second)] = &spans
            && first.db.index > second.db.index
        {
            spans.swap(0, 1);
        }
        let mut count = 0;
        for word in spans.iter_mut().flatten().flat_map(|span| &mut span.words) {
            word.before = count;
            count += word.shards.count_ones() as usize;
        }
        let mut held = Vec::with_capacity(count);
        for span in spans.iter().flatten() {
            held.extend(span.shards().map(|shard| lock(span.db, shard)));
        }
        let locks = Self { spans, held };
        for target in targets {
            table::prefetch_entry(&locks.held[locks.place(target)], target.key.hash());
        }
        locks
    }

    /// Which of the locks is the one of a target's shard.
    #[inline]
    fn place(&self, target: Target<'_>) -> usize {
        let shard = target.db.shard_of(target.key.hash());
        let span = self.spans.iter().flatten().find(|span| span.db.index == target.db.index);
        span.map(|span| span.words[shard / 64])
            .filter(|word| word.shards >> (shard % 64) & 1 == 1)
            .map(|word| word.before + (word.shards & ((1 << (shard % 64)) - 1)).count_ones() as usize)
            .unwrap_or_else(|| unreachable!("a key whose shard was not locked: the caller names the keys it locked"))
    }
}
