//! One key's place in a locked shard: what is there, and what may be done to it.

use super::access::touch;
use super::table::{self, Place, Table};
use super::{Db, Encoding, Entry, Form, Key, Moment, access};
use crate::clock::UnixMillis;

/// What to do about a deadline when a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// The key has none from now on.
    None,
    /// The key is absent from this time on.
    At(UnixMillis),
    /// It keeps what it had.
    Keep,
}

/// A key that is there.
#[derive(Clone, Copy)]
pub struct Found<'a> {
    entry: &'a Entry,
}

impl<'a> Found<'a> {
    pub(super) fn new(entry: &'a Entry) -> Self {
        Self { entry }
    }

    #[inline]
    pub(super) fn find(table: &'a Table, key: Key<'_>, at: Moment) -> Option<Self> {
        let place = table::find(table, key.hash(), key.bytes())?;
        let entry = table::get(table, &place);
        if entry.is_expired(at.now) {
            return None;
        }
        touch(entry, at);
        Some(Self { entry })
    }

    /// The value.
    #[inline]
    pub fn value(self) -> &'a [u8] {
        self.entry.value()
    }

    /// The time from which the key is absent.
    pub fn deadline(self) -> Option<UnixMillis> {
        self.entry.deadline()
    }

    /// What `OBJECT ENCODING` answers.
    pub fn encoding(self) -> Encoding {
        self.entry.encoding()
    }

    /// How the value came to be.
    pub fn form(self) -> Form {
        self.entry.form()
    }

    /// Seconds since the key was last used: `OBJECT IDLETIME`. Means something unless an LFU policy is selected.
    pub fn idle_seconds(self, now: UnixMillis) -> u32 {
        access::idle_seconds(self.entry.access(), now)
    }

    /// How much the key is used, 0 to 255 on a logarithmic scale: `OBJECT FREQ`. Means something under an LFU policy.
    pub fn frequency(self, now: UnixMillis) -> u32 {
        access::counter(self.entry.access(), now)
    }

    /// Bytes of memory that the key takes, its slot in the table included.
    pub fn memory(self) -> usize {
        self.entry.size() + size_of::<Entry>() + 1
    }

    /// The same value and deadline under another key, as an entry to be put elsewhere.
    pub fn copy_under(self, key: &[u8]) -> Entry {
        self.entry.under(key)
    }
}

/// The place of a key in a shard that is locked for writing. A key past its deadline has been removed by the time there is a slot.
pub struct Slot<'a> {
    db: &'a Db,
    table: &'a mut Table,
    shard: usize,
    key: Key<'a>,
    at: Moment,
    place: Option<Place>,
}

impl<'a> Slot<'a> {
    #[inline]
    pub(super) fn find(db: &'a Db, table: &'a mut Table, shard: usize, key: Key<'a>, at: Moment) -> Self {
        let place = table::find(table, key.hash(), key.bytes());
        let mut slot = Self { db, table, shard, key, at, place };
        let expired = match &slot.place {
            Some(place) => {
                let entry = table::get(slot.table, place);
                touch(entry, at);
                entry.is_expired(at.now)
            }
            None => false,
        };
        if expired {
            slot.remove();
            slot.db.expired.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        slot
    }

    fn entry(&self) -> Option<&Entry> {
        self.place.as_ref().map(|place| table::get(self.table, place))
    }

    fn entry_mut(&mut self) -> Option<&mut Entry> {
        let place = self.place.as_ref()?;
        Some(table::get_mut(self.table, place))
    }

    /// The key of this slot.
    pub fn key(&self) -> Key<'a> {
        self.key
    }

    /// What is there.
    pub fn get(&self) -> Option<Found<'_>> {
        self.entry().map(Found::new)
    }

    /// Whether a key is there.
    pub fn is_present(&self) -> bool {
        self.place.is_some()
    }

    /// Writes a whole value, an integer if it looks like one.
    #[inline]
    pub fn set(&mut self, value: &[u8], deadline: Deadline) {
        self.set_as(value, Form::Written, deadline);
    }

    /// Writes a whole value, and says how `OBJECT ENCODING` is to take it.
    #[inline]
    pub fn set_as(&mut self, value: &[u8], form: Form, deadline: Deadline) {
        let old = self.entry().and_then(Entry::deadline);
        let new = match deadline {
            Deadline::None => None,
            Deadline::At(at) => Some(at),
            Deadline::Keep => old,
        };
        match self.entry_mut() {
            Some(entry) => entry.replace(value, form, new),
            None => {
                let access = access::fresh(self.at);
                self.insert(Entry::new(self.key.bytes(), value, form, new, access));
                return;
            }
        }
        self.deadline_changed(old, new);
    }

    /// Puts an entry made elsewhere here: `RENAME`, `COPY`. Its key must be this slot's.
    pub fn put(&mut self, entry: Entry) {
        debug_assert!(entry.key() == self.key.bytes());
        let new = entry.deadline();
        match self.entry_mut() {
            Some(place) => {
                let old = std::mem::replace(place, entry).deadline();
                self.deadline_changed(old, new);
            }
            None => self.insert(entry),
        }
    }

    /// Puts a copy here. Unlike an entry that was moved it has just been made, and counts as used now.
    pub fn put_copy(&mut self, entry: Entry) {
        entry.set_access(access::fresh(self.at));
        self.put(entry);
    }

    fn insert(&mut self, entry: Entry) {
        let deadline = entry.deadline();
        let hasher = self.db.map.hasher();
        self.place = Some(table::insert(self.table, self.key.hash(), entry, |entry| hasher.of(entry)));
        self.db.sides[self.shard].whereabouts.note(self.table);
        self.deadline_changed(None, deadline);
    }

    /// Makes the value `len` bytes long, with zeros behind what it held, and lets `edit` change it. A missing key is made.
    ///
    /// The value counts as edited: `OBJECT ENCODING` says `raw`. The caller has checked `len` against `proto-max-bulk-len`.
    pub fn edit<R>(&mut self, len: usize, edit: impl FnOnce(&mut [u8]) -> R) -> R {
        if self.place.is_none() {
            let access = access::fresh(self.at);
            self.insert(Entry::new(self.key.bytes(), b"", Form::Edited, None, access));
        }
        match self.entry_mut() {
            Some(entry) => {
                entry.resize(len);
                edit(entry.value_mut())
            }
            None => edit(&mut []),
        }
    }

    /// Sets or removes the deadline of a key that is there.
    pub fn set_deadline(&mut self, deadline: Option<UnixMillis>) {
        let old = self.entry().and_then(Entry::deadline);
        if let Some(entry) = self.entry_mut() {
            entry.set_deadline(deadline);
            self.deadline_changed(old, deadline);
        }
    }

    /// Removes the key. Whether there was one.
    pub fn remove(&mut self) -> bool {
        self.take().is_some()
    }

    /// Removes the key and hands its entry over.
    pub fn take(&mut self) -> Option<Entry> {
        let place = self.place.take()?;
        let entry = table::remove(self.table, place);
        self.deadline_changed(entry.deadline(), None);
        let hasher = self.db.map.hasher();
        table::shrink(self.table, |entry| hasher.of(entry));
        self.db.sides[self.shard].whereabouts.note(self.table);
        Some(entry)
    }

    fn deadline_changed(&self, old: Option<UnixMillis>, new: Option<UnixMillis>) {
        if old == new {
            return;
        }
        let side = &self.db.sides[self.shard];
        if old.is_some() {
            side.deadline_removed();
        }
        if let Some(new) = new {
            side.deadline_added(new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Hasher, Touch};

    #[test]
    fn memory_comes_back_when_a_client_removes_most_keys() {
        let db = Db::new(2, Hasher::new());
        let at = Moment { now: UnixMillis(1), touch: Touch::Lru };
        let buckets = || (0..2).map(|shard| db.read_shard(shard).buckets()).sum::<usize>();
        let key = |number: u32| number.to_le_bytes();
        (0..20_000).for_each(|number| db.write(db.map.hasher().key(&key(number)), at, |slot| slot.set(b"v", Deadline::None)));
        let full = buckets();
        (20..20_000).for_each(|number| assert!(db.write(db.map.hasher().key(&key(number)), at, |slot| slot.remove())));
        assert!(buckets() < full / 50, "{} of {full}", buckets());
        assert!((0..20).all(|number| db.read(db.map.hasher().key(&key(number)), at, |found| found.is_some())));
    }
}
