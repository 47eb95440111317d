//! One key's place in a locked shard: what is there, and what may be done to it.

use bytes::Bytes;

use super::access::touch;
use super::entry::{Content, Entry};
use super::slab::Slabs;
use super::table::{self, Crowd, Place, Table};
use super::{Db, Encoding, Event, Form, Key, Moment, Side, access};
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

impl Deadline {
    /// What the deadline is afterwards, when it was `old`.
    #[inline]
    fn over(self, old: Option<UnixMillis>) -> Option<UnixMillis> {
        match self {
            Self::None => None,
            Self::At(at) => Some(at),
            Self::Keep => old,
        }
    }
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
    pub(super) fn find(table: &'a Table, key: Key<'_>, at: Moment<'_>) -> Option<Self> {
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

    /// The value as something to keep, if it is large enough to be shared rather than copied.
    #[inline]
    pub fn shared(self) -> Option<Bytes> {
        self.entry.shared().cloned()
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

    /// A copy of the value and the deadline, to be put elsewhere.
    pub fn content(self) -> Content {
        self.entry.content()
    }
}

/// The place of a key in a shard that is locked for writing. A key past its deadline has been removed by the time there is a slot.
pub struct Slot<'a> {
    db: &'a Db,
    table: &'a mut Table,
    shard: usize,
    key: Key<'a>,
    at: Moment<'a>,
    place: Option<Place>,
    /// What was changed has not been told yet.
    #[cfg(debug_assertions)]
    untold: bool,
}

impl<'a> Slot<'a> {
    #[inline]
    pub(super) fn find(db: &'a Db, table: &'a mut Table, shard: usize, key: Key<'a>, at: Moment<'a>) -> Self {
        let place = table::find(table, key.hash(), key.bytes());
        let mut slot = Self {
            db,
            table,
            shard,
            key,
            at,
            place,
            #[cfg(debug_assertions)]
            untold: false,
        };
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
            slot.tell(Event::EXPIRED);
        }
        slot
    }

    /// Tells whoever wants to know what has happened here. Every change of a key is told.
    #[inline]
    pub fn tell(&mut self, event: Event) {
        #[cfg(debug_assertions)]
        if event.is_change() {
            self.untold = false;
        }
        if let Some(observer) = self.at.observer {
            observer.happened(self.db.index, self.key, event);
        }
    }

    /// What was done here changed nothing that anybody can see, or the caller tells it later.
    #[inline]
    pub fn owe_nothing(&mut self) {
        #[cfg(debug_assertions)]
        {
            self.untold = false;
        }
    }

    #[inline]
    fn changes(&mut self) {
        #[cfg(debug_assertions)]
        {
            self.untold = true;
        }
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

    /// Writes a whole value that is large enough to be shared, as it is.
    pub fn set_owned(&mut self, value: Bytes, deadline: Deadline) {
        let deadline = deadline.over(self.entry().and_then(Entry::deadline));
        let access = self.entry().map_or_else(|| access::fresh(self.at), Entry::access);
        self.put_new(|slabs, key| Entry::with_content(slabs, key, Content { value, form: Form::Written, deadline, access }));
    }

    /// Writes a whole value, and says how `OBJECT ENCODING` is to take it.
    #[inline]
    pub fn set_as(&mut self, value: &[u8], form: Form, deadline: Deadline) {
        self.changes();
        // What most writes are.
        if deadline == Deadline::None && self.entry_mut().is_some_and(|entry| entry.overwrite(value, form)) {
            return;
        }
        let old = self.entry().and_then(Entry::deadline);
        let new = deadline.over(old);
        if self.entry_mut().is_some_and(|entry| entry.replace(value, form, new)) {
            return self.deadline_changed(old, new);
        }
        let access = self.entry().map_or_else(|| access::fresh(self.at), Entry::access);
        self.put_new(|slabs, key| Entry::new(slabs, key, value, form, new, access));
    }

    /// Puts what another key had here: `RENAME`. What was here is gone, and the key counts as a new one.
    pub fn put(&mut self, content: Content) {
        let replaces = self.is_present();
        self.put_new(|slabs, key| Entry::with_content(slabs, key, content));
        if replaces {
            self.tell(Event::NEW);
        }
    }

    /// Puts a copy here. Unlike what was moved it has just been made, and counts as used now.
    pub fn put_copy(&mut self, content: Content) {
        self.put(Content { access: access::fresh(self.at), ..content });
    }

    /// Puts a new entry in the place of what is there, or of nothing.
    fn put_new(&mut self, make: impl FnOnce(&mut Slabs, &[u8]) -> Entry) {
        self.changes();
        let mut slabs = self.side().slabs.lock();
        let entry = make(&mut slabs, self.key.bytes());
        let new = entry.deadline();
        if let Some(place) = &self.place {
            let old = std::mem::replace(table::get_mut(self.table, place), entry);
            let had = old.deadline();
            old.free(&mut slabs);
            table::pack_if_sparse(self.table, &mut slabs);
            self.deadline_changed(had, new);
            return;
        }
        let (hasher, crowd) = (self.db.map.hasher(), Crowd::of(self.shard, self.db.sides.len()));
        self.place = Some(table::insert(self.table, self.key.hash(), entry, crowd, |entry| hasher.of(entry)));
        self.db.whereabouts[self.shard].note(self.table);
        self.deadline_changed(None, new);
        self.tell(Event::NEW);
    }

    /// Makes the value `len` bytes long, with zeros behind what it held, and lets `edit` change it. A missing key is made.
    ///
    /// The value counts as edited: `OBJECT ENCODING` says `raw`. The caller has checked `len` against `proto-max-bulk-len`.
    pub fn edit<R>(&mut self, len: usize, edit: impl FnOnce(&mut [u8]) -> R) -> R {
        if self.place.is_none() {
            let access = access::fresh(self.at);
            self.put_new(|slabs, key| Entry::new(slabs, key, b"", Form::Edited, None, access));
        }
        self.changes();
        let mut slabs = self.side().slabs.lock();
        let Some(place) = &self.place else { return edit(&mut []) };
        table::get_mut(self.table, place).resize(&mut slabs, len);
        table::pack_if_sparse(self.table, &mut slabs);
        edit(table::get_mut(self.table, place).edited_mut())
    }

    /// Sets or removes the deadline of a key that is there.
    pub fn set_deadline(&mut self, deadline: Option<UnixMillis>) {
        let mut slabs = self.side().slabs.lock();
        let Some(place) = &self.place else { return };
        let entry = table::get_mut(self.table, place);
        let old = entry.deadline();
        entry.set_deadline(&mut slabs, deadline);
        table::pack_if_sparse(self.table, &mut slabs);
        self.deadline_changed(old, deadline);
        self.changes();
    }

    /// Removes the key. Whether there was one.
    pub fn remove(&mut self) -> bool {
        let Some(place) = self.place.take() else { return false };
        self.changes();
        let entry = table::remove(self.table, place);
        let had = entry.deadline();
        let mut slabs = self.side().slabs.lock();
        entry.free(&mut slabs);
        let hasher = self.db.map.hasher();
        table::shrink(self.table, |entry| hasher.of(entry));
        table::pack_if_sparse(self.table, &mut slabs);
        self.db.whereabouts[self.shard].note(self.table);
        self.deadline_changed(had, None);
        true
    }

    /// Removes the key and hands over what it had. It is told by the caller, when what it had has its new place.
    pub fn take(&mut self) -> Option<Content> {
        let content = self.entry()?.content();
        self.remove();
        self.owe_nothing();
        Some(content)
    }

    fn side(&self) -> &'a Side {
        &self.db.sides[self.shard]
    }

    fn deadline_changed(&self, old: Option<UnixMillis>, new: Option<UnixMillis>) {
        if old == new {
            return;
        }
        let side = self.side();
        if old.is_some() {
            side.deadline_removed();
        }
        if let Some(new) = new {
            side.deadline_added(new);
        }
    }
}

#[cfg(debug_assertions)]
impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let is_owed = self.untold && self.at.observer.is_some_and(|observer| observer.is_curious());
        assert!(!is_owed || std::thread::panicking(), "a change of a key was not told");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Hasher, Touch};

    #[test]
    fn memory_comes_back_when_a_client_removes_most_keys() {
        let db = Db::new(0, 2, Hasher::new());
        let at = Moment { now: UnixMillis(1), touch: Touch::Lru, observer: None };
        let buckets = || (0..2).map(|shard| db.read_shard(shard).buckets()).sum::<usize>();
        let key = |number: u32| number.to_le_bytes();
        (0..20_000).for_each(|number| db.write(db.map.hasher().key(&key(number)), at, |slot| slot.set(b"v", Deadline::None)));
        let full = buckets();
        (20..20_000).for_each(|number| assert!(db.write(db.map.hasher().key(&key(number)), at, |slot| slot.remove())));
        assert!(buckets() < full / 50, "{} of {full}", buckets());
        assert!((0..20).all(|number| db.read(db.map.hasher().key(&key(number)), at, |found| found.is_some())));
    }

    #[test]
    fn memory_follows_values_that_change_their_size() {
        let db = Db::new(0, 2, Hasher::new());
        let at = Moment { now: UnixMillis(1), touch: Touch::Lru, observer: None };
        let idle = || db.sides.iter().map(|side| side.slabs.lock().idle_bytes()).sum::<usize>();
        let key = |number: u32| number.to_le_bytes();
        let keys = 4000;
        for len in [3, 64, 200, 5, 1500, 30, 40_000, 0] {
            // The large ones are few, so that the test stays small.
            let keys = if len < 10_000 { keys } else { 40 };
            for number in 0..keys {
                db.write(db.map.hasher().key(&key(number)), at, |slot| slot.set(&vec![b'x'; len], Deadline::None));
            }
            // Redis's allocator would keep what the smaller values had for as long as the server runs.
            let taken = 4000 * 24 + 4000 * len.min(240);
            assert!(idle() <= taken * 2 + 16_384, "{} idle with values of {len}", idle());
            for number in 0..keys {
                db.read(db.map.hasher().key(&key(number)), at, |found| {
                    let found = found.expect("it was set");
                    assert!(found.value().len() == len && found.value().iter().all(|&byte| byte == b'x'), "{number} of {len}");
                    assert_eq!(found.shared().is_some(), len >= 32 * 1024);
                });
            }
        }
    }
}
