//! One shard's table, and the few places that look below its safe interface.
//!
//! dashmap keeps each shard in hashbrown's raw table of 8-byte slots. Here a slot is found once and then used, its memory prefetched
//! before it is needed, and its neighbours walked by home position for `SCAN`. Must not know of locks or commands.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use dashmap::SharedValue;
use hashbrown::raw::{Bucket, RawTable};

use super::entry::{Entry, prefetch};
use super::slab::Slabs;

/// How far ahead of a walk over all entries they are fetched: none of them is likely to be in the cache.
const AHEAD: usize = 16;

/// What a slot holds: dashmap pairs each key with a value, which here is nothing.
pub(super) type Pair = (Entry, SharedValue<()>);
pub(super) type Table = RawTable<Pair>;

/// Where an entry lies. Valid until its table next changes.
pub(super) struct Place(Bucket<Pair>);

/// hashbrown marks a slot that has never been used since the last rehash with this control byte.
const EMPTY: u8 = 0xff;
/// Slots whose control bytes hashbrown looks at together. A probe goes on while none of them is empty. hashbrown has a width for
/// processors with SSE2, and one machine word elsewhere, 64 bits on ARM too.
const GROUP: usize = if cfg!(all(target_feature = "sse2", any(target_arch = "x86", target_arch = "x86_64"), not(miri))) {
    16
} else if cfg!(any(target_pointer_width = "64", target_arch = "aarch64", target_arch = "x86_64", target_arch = "wasm32")) {
    8
} else {
    4
};

#[inline]
pub(super) fn find(table: &Table, hash: u64, key: &[u8]) -> Option<Place> {
    table.find(hash, |(entry, _)| entry.key() == key).map(Place)
}

#[inline]
pub(super) fn get<'t>(_table: &'t Table, place: &Place) -> &'t Entry {
    // SAFETY: `place` was found in this table, which has been borrowed since and so has not changed.
    unsafe { &place.0.as_ref().0 }
}

#[inline]
pub(super) fn get_mut<'t>(_table: &'t mut Table, place: &Place) -> &'t mut Entry {
    // SAFETY: as in `get`; the table is borrowed alone.
    unsafe { &mut place.0.as_mut().0 }
}

/// Puts an entry in whose key is not there. A large table grows when it is fuller than `crowd` allows.
#[inline]
pub(super) fn insert(table: &mut Table, hash: u64, entry: Entry, crowd: Crowd, rehash: impl Fn(&Entry) -> u64) -> Place {
    if crowd.is_exceeded(table) {
        grow(table, &rehash);
    }
    Place(table.insert(hash, (entry, SharedValue::new(())), |(entry, _)| rehash(entry)))
}

/// How full a table may become before it grows: each shard's differs, so that tables which hold about as much as each other do not all
/// grow at the same time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crowd {
    /// What is left out of the fullest, in 1,024ths of the slots.
    spared: usize,
}

impl Crowd {
    /// Tables with fewer slots grow in no time, and as hashbrown would have them.
    const BUCKETS_MIN: usize = 1024;

    /// That of the shard with number `shard` of `shards`.
    pub(super) fn of(shard: usize, shards: usize) -> Self {
        // Between 21 and 28 of 32 slots; hashbrown itself allows the latter.
        Self { spared: 7 * 32 * shard / shards }
    }

    #[inline]
    fn is_exceeded(self, table: &Table) -> bool {
        let buckets = table.buckets();
        buckets >= Self::BUCKETS_MIN && table.len() >= buckets / 8 * 7 - buckets / 1024 * self.spared
    }
}

/// Doubles a table. The key of each entry has to be read for that.
#[cold]
fn grow(table: &mut Table, rehash: impl Fn(&Entry) -> u64) {
    let mut grown = Table::with_capacity(table.buckets() / 8 * 7 + 1);
    // SAFETY: the table outlives both iterators and does not change meanwhile. Entries are moved out of it, and dropping it drops
    // none: an entry is freed by hand.
    let mut slots = unsafe { (table.iter(), table.iter()) };
    let fetch = |bucket: Option<Bucket<Pair>>| {
        if let Some(bucket) = bucket {
            // SAFETY: the iterator yields full slots.
            unsafe { bucket.as_ref() }.0.prefetch();
        }
    };
    (0..AHEAD).for_each(|_| fetch(slots.1.next()));
    for bucket in slots.0 {
        fetch(slots.1.next());
        // SAFETY: as above; each entry is moved once.
        let pair = unsafe { bucket.as_ptr().read() };
        grown.insert(rehash(&pair.0), pair, |(entry, _)| rehash(entry));
    }
    *table = grown;
}

/// Moves the entries of a table together when little of their memory is left in use.
#[inline]
pub(super) fn pack_if_sparse(table: &mut Table, slabs: &mut Slabs) {
    if slabs.is_sparse() {
        pack(table, slabs);
    }
}

#[cold]
fn pack(table: &mut Table, slabs: &mut Slabs) {
    let mut packed = Slabs::default();
    // SAFETY: the table outlives the iterator and does not change meanwhile.
    for bucket in unsafe { table.iter() } {
        // SAFETY: the iterator yields full slots, and the table is borrowed alone.
        unsafe { bucket.as_mut() }.0.relocate(&mut packed);
    }
    slabs.bequeath_apart(&mut packed);
    *slabs = packed;
}

#[inline]
pub(super) fn remove(table: &mut Table, place: Place) -> Entry {
    // SAFETY: `place` was found in this table, which has not changed since: the slot is full.
    unsafe { table.remove(place.0) }.0.0
}

/// All entries of a table.
pub(super) fn iter(table: &Table) -> impl Iterator<Item = &Entry> {
    // SAFETY: the table is borrowed for as long as the iterator and its entries live, and so neither changes nor goes away.
    unsafe { table.iter().map(|bucket| &bucket.as_ref().0) }
}

/// An entry at random, each with the same chance. `random` tells a number below the one it is given. `None` when the table is empty,
/// or so nearly empty that luck was not enough.
pub(super) fn draw(table: &Table, mut random: impl FnMut(usize) -> usize) -> Option<&Entry> {
    // A table that is at least an eighth full yields nothing once in 20 million times.
    const DRAWS: usize = 128;
    (0..DRAWS).find_map(|_| at(table, random(table.buckets())))
}

/// Gives back the memory of a table that has become far too large for what it holds. What remains fills a fifth of it at least, so
/// that the work is paid for by as many removals or insertions before it comes up again.
pub(super) fn shrink(table: &mut Table, rehash: impl Fn(&Entry) -> u64) {
    const BUCKETS_MIN: usize = 64;
    if table.buckets() >= BUCKETS_MIN && table.len() * 8 < table.buckets() {
        table.shrink_to(table.len() * 2, |(entry, _)| rehash(entry));
    }
}

/// The entry in slot `index`, if that slot is full.
fn at(table: &Table, index: usize) -> Option<&Entry> {
    if index >= table.buckets() {
        return None;
    }
    // SAFETY: the index is in range, and the slot is read only if it is full.
    unsafe { table.is_bucket_full(index).then(|| &table.bucket(index).as_ref().0) }
}

/// Removes every entry that `doomed` tells and hands it over, to be freed.
pub(super) fn extract(table: &mut Table, mut doomed: impl FnMut(&Entry) -> bool, mut take: impl FnMut(Entry)) {
    for index in 0..table.buckets() {
        if let Some(entry) = at(table, index + AHEAD) {
            entry.prefetch();
        }
        if at(table, index).is_some_and(&mut doomed) {
            // SAFETY: the slot was just seen to be full.
            take(unsafe { table.remove(table.bucket(index)) }.0.0);
        }
    }
}

/// Calls `visit` with every entry whose home position, `hash & (buckets - 1)`, is `home`.
///
/// Such entries lie on the probe sequence that begins there, before its first group with an empty slot.
pub(super) fn with_home(table: &Table, home: usize, rehash: impl Fn(&Entry) -> u64, mut visit: impl FnMut(&Entry)) {
    let mask = table.buckets() - 1;
    let mut start = home & mask;
    let mut stride = 0;
    while stride < table.buckets() {
        let mut saw_empty = false;
        for offset in 0..GROUP.min(table.buckets()) {
            let index = (start + offset) & mask;
            match at(table, index) {
                Some(entry) if usize_of(rehash(entry)) & mask == home & mask => visit(entry),
                Some(_) => {}
                None => saw_empty |= control(table, index) == EMPTY,
            }
        }
        if saw_empty {
            return;
        }
        stride += GROUP;
        start = (start + stride) & mask;
    }
}

fn control(table: &Table, index: usize) -> u8 {
    debug_assert!(index < table.buckets());
    // SAFETY: control bytes, one a slot, lie upwards from the end of the data, and the index is in range.
    unsafe { table.data_end().cast::<u8>().add(index).read() }
}

/// Where a table's memory lies, for those who want it in the cache and do not have the table's lock. What they read may be old: it is
/// a hint, and nothing that it points to is read.
#[derive(Debug, Default)]
pub(super) struct Whereabouts {
    /// Control bytes lie upwards from here, slots downwards.
    end: AtomicPtr<Pair>,
    mask: AtomicUsize,
}

impl Whereabouts {
    /// Notes where the table lies now. Whoever may have moved it calls this under its lock.
    #[inline]
    pub(super) fn note(&self, table: &Table) {
        let (end, mask) = (table.data_end().as_ptr(), table.buckets() - 1);
        if self.end.load(Ordering::Relaxed) != end || self.mask.load(Ordering::Relaxed) != mask {
            self.end.store(end, Ordering::Relaxed);
            self.mask.store(mask, Ordering::Relaxed);
        }
    }

    /// Fetches what a look-up of `hash` will read first: the control bytes and the slot of its home position.
    #[inline]
    pub(super) fn prefetch_home(&self, hash: u64) {
        let end = self.end.load(Ordering::Relaxed);
        let home = usize_of(hash) & self.mask.load(Ordering::Relaxed);
        prefetch(end.cast::<u8>().wrapping_add(home));
        prefetch(end.wrapping_sub(home + 1).cast());
    }
}

/// Fetches the entry that a look-up of `hash` will most likely compare with.
#[inline]
pub(super) fn prefetch_entry(table: &Table, hash: u64) {
    // Whatever entry carries the same tag will do: this is a hint.
    if let Some(bucket) = table.find(hash, |_| true) {
        get(table, &Place(bucket)).prefetch();
    }
}

/// hashbrown takes a position from the low bits of a hash.
#[expect(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
pub(super) fn usize_of(hash: u64) -> usize {
    hash as usize
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::store::Form;

    /// A hash that the key itself tells, so that a test can put entries where it wants them.
    fn hash(entry: &Entry) -> u64 {
        u64::from_le_bytes(entry.key().try_into().expect("keys of this test are eight bytes long"))
    }

    /// A table with the memory of its entries.
    #[derive(Default)]
    struct Shard {
        table: Table,
        slabs: Slabs,
    }

    impl Shard {
        fn add(&mut self, hash_wanted: u64) {
            let entry = Entry::new(&mut self.slabs, &hash_wanted.to_le_bytes(), b"", Form::Written, None, 0);
            insert(&mut self.table, hash_wanted, entry, Crowd::of(0, 1), hash);
        }

        fn extract(&mut self, doomed: impl FnMut(&Entry) -> bool) {
            extract(&mut self.table, doomed, |entry| entry.free(&mut self.slabs));
        }
    }

    #[track_caller]
    fn check_homes(table: &Table) {
        let mut seen = HashMap::new();
        for home in 0..table.buckets() {
            with_home(table, home, hash, |entry| {
                assert_eq!(usize_of(hash(entry)) & (table.buckets() - 1), home);
                *seen.entry(hash(entry)).or_insert(0) += 1;
            });
        }
        assert_eq!(seen.len(), table.len(), "of {} buckets", table.buckets());
        assert!(seen.values().all(|&times| times == 1), "an entry seen twice");
    }

    // Entries crowd around few homes, and every slot has been used: probes are as long as they get.
    #[test]
    fn every_entry_is_found_at_its_home() {
        for homes in [1, 2, 5, 64] {
            let mut shard = Shard::default();
            for number in 0..3000_u64 {
                // The tag lies in the upper bits; the home is one of a few.
                shard.add((number << 20) | (number % homes * 7));
                if number % 3 == 2 {
                    let gone = ((number - 1) << 20) | ((number - 1) % homes * 7);
                    let place = find(&shard.table, gone, &gone.to_le_bytes()).expect("it was added in the step before");
                    remove(&mut shard.table, place).free(&mut shard.slabs);
                }
                if number % 97 == 0 {
                    check_homes(&shard.table);
                }
            }
            check_homes(&shard.table);
        }
    }

    #[test]
    fn a_table_that_lost_most_of_its_entries_gives_memory_back() {
        let mut shard = Shard::default();
        (0..10_000_u64).for_each(|number| shard.add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let before = shard.table.buckets();
        shard.extract(|entry| entry.key()[0] > 10);
        shrink(&mut shard.table, hash);
        let (len, buckets) = (shard.table.len(), shard.table.buckets());
        assert!(len > 100 && buckets < before / 8, "{len} in {buckets}");
        check_homes(&shard.table);
        shard.extract(|_| true);
        shrink(&mut shard.table, hash);
        assert_eq!((shard.table.len(), shard.table.buckets()), (0, 1));
    }
}
