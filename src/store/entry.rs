//! One key with its value and its deadline: a single piece of memory behind a thin pointer, laid out as [`Shape`] says.
//!
//! A large value lies elsewhere and is shared with the replies that bring it. Must not know of tables, locks or commands.

use std::mem::{align_of, size_of};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;

use super::shape::{ACCESS, Form, KEY_AT, Kind, LONG_KEY, SHARED_BYTES_MIN, Shape, has_deadline};
use super::slab::{ALIGN, Slabs};
use crate::clock::UnixMillis;

/// What `OBJECT ENCODING` answers for a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// A 64-bit integer.
    Int,
    /// Text of at most 44 bytes.
    EmbStr,
    /// Longer or edited text.
    Raw,
}

/// Longest text that Redis keeps beside its object header, in bytes: `OBJ_ENCODING_EMBSTR_SIZE_LIMIT`.
const EMBSTR_BYTES_MAX: usize = 44;

/// A value on its own, with all that goes with it to another key.
#[derive(Clone, Debug)]
pub struct Content {
    pub(super) value: Bytes,
    pub(super) form: Form,
    pub(super) deadline: Option<UnixMillis>,
    pub(super) access: u32,
}

const _: () = assert!(align_of::<Bytes>() <= ALIGN && align_of::<AtomicU32>() <= ALIGN);

/// An entry in the slabs of its shard. To be freed there: dropped, it would leak.
#[repr(transparent)]
pub struct Entry(NonNull<u8>);

// SAFETY: an entry owns its memory alone, and all that changes through a shared reference is an atomic.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

impl Entry {
    /// Makes an entry.
    pub(super) fn new(slabs: &mut Slabs, key: &[u8], value: &[u8], form: Form, deadline: Option<UnixMillis>, access: u32) -> Self {
        let shape = Shape::new(key.len(), value.len(), form, deadline.is_some());
        let mut entry = Self::allocate(slabs, shape, key, access);
        entry.fill(shape, value, deadline);
        entry
    }

    /// Makes an entry of what another key had.
    pub(super) fn with_content(slabs: &mut Slabs, key: &[u8], content: Content) -> Self {
        let Content { value, form, deadline, access } = content;
        if value.len() < SHARED_BYTES_MIN {
            return Self::new(slabs, key, &value, form, deadline, access);
        }
        let shape = Shape::new(key.len(), value.len(), Form::Written, deadline.is_some());
        let mut entry = Self::allocate(slabs, shape, key, access);
        entry.write_tail(shape, deadline);
        entry.put_shared(shape, value);
        entry
    }

    /// Takes memory for an entry and writes what comes before the value's length.
    fn allocate(slabs: &mut Slabs, shape: Shape, key: &[u8], access: u32) -> Self {
        let mut entry = Self(slabs.allocate(shape.space()));
        let key_len = u8::try_from(key.len()).unwrap_or(LONG_KEY);
        // SAFETY: the memory is new and as large as the shape says, which begins with these parts; it is aligned for the word.
        unsafe {
            entry.0.cast::<AtomicU32>().write(AtomicU32::new(shape.flags() | access & ACCESS));
            entry.0.add(size_of::<u32>()).write(key_len);
        }
        if key.len() >= usize::from(LONG_KEY) {
            entry.write(KEY_AT, &len(key.len()).to_le_bytes());
        }
        entry.write(shape.len_at() - key.len(), key);
        entry
    }

    /// Writes the value, and what comes between the key and it. The memory is as large as `shape` says.
    #[inline]
    fn fill(&mut self, shape: Shape, value: &[u8], deadline: Option<UnixMillis>) {
        self.write_tail(shape, deadline);
        if shape.kind == Kind::Shared {
            self.put_shared(shape, Bytes::copy_from_slice(value));
        } else {
            self.write(shape.value_at(), value);
        }
    }

    /// Writes the flags, the value's length and the deadline.
    #[inline]
    fn write_tail(&mut self, shape: Shape, deadline: Option<UnixMillis>) {
        let access = self.access();
        *self.word_mut() = shape.flags() | access;
        let value_len = len(shape.value_len).to_le_bytes();
        match shape.len_bytes() {
            0 => {}
            1 => self.write(shape.len_at(), &value_len[..1]),
            2 => self.write(shape.len_at(), &value_len[..2]),
            _ => self.write(shape.len_at(), &value_len),
        }
        if let Some(deadline) = deadline {
            self.write(shape.deadline_at(), &deadline.0.to_le_bytes());
        }
    }

    fn put_shared(&mut self, shape: Shape, value: Bytes) {
        debug_assert!(shape.kind == Kind::Shared);
        // SAFETY: the memory is as large as the shape says, and has room for a `Bytes` there, at a multiple of its alignment. What
        // was there before is none: a shared value is never written over.
        unsafe { self.0.add(shape.value_at()).cast::<Bytes>().write(value) }
    }

    /// Copies `bytes` to offset `at`. The callers have made room for them there.
    #[inline]
    fn write(&mut self, at: usize, bytes: &[u8]) {
        // SAFETY: the callers derive the offset from the shape of this entry, whose memory is as large as that says. `bytes` belong
        // to somebody else, since this entry is borrowed alone.
        unsafe { self.0.add(at).copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) }
    }

    /// `LEN` bytes at offset `at`.
    #[inline]
    fn read<const LEN: usize>(&self, at: usize) -> [u8; LEN] {
        // SAFETY: the callers derive the offset from the flags, which say that these bytes were written.
        unsafe { self.0.add(at).cast::<[u8; LEN]>().read() }
    }

    #[inline]
    fn word(&self) -> &AtomicU32 {
        // SAFETY: every entry begins with this word, and at a multiple of its alignment.
        unsafe { self.0.cast().as_ref() }
    }

    #[inline]
    fn word_mut(&mut self) -> &mut u32 {
        // SAFETY: as in `word`; the entry is borrowed alone.
        unsafe { self.0.cast::<AtomicU32>().as_mut() }.get_mut()
    }

    /// Where the key begins, and how long it is.
    #[inline]
    fn key_span(&self) -> (usize, usize) {
        let [len] = self.read(size_of::<u32>());
        if len == LONG_KEY {
            return (KEY_AT + size_of::<u32>(), u32::from_le_bytes(self.read(KEY_AT)) as usize);
        }
        (KEY_AT, usize::from(len))
    }

    #[inline]
    fn shape(&self) -> Shape {
        let flags = self.word().load(Ordering::Relaxed);
        let (key_at, key_len) = self.key_span();
        let len_at = key_at + key_len;
        Shape::read(flags, key_len, |bytes| match bytes {
            1 => usize::from(self.read::<1>(len_at)[0]),
            2 => usize::from(u16::from_le_bytes(self.read(len_at))),
            _ => u32::from_le_bytes(self.read(len_at)) as usize,
        })
    }

    /// The key.
    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        let (at, len) = self.key_span();
        // SAFETY: that many bytes of key were written there by `allocate`.
        unsafe { std::slice::from_raw_parts(self.0.add(at).as_ptr(), len) }
    }

    /// The value.
    #[inline]
    pub(super) fn value(&self) -> &[u8] {
        let shape = self.shape();
        if let Some(shared) = self.shared_in(shape) {
            return shared;
        }
        // SAFETY: that many bytes of value were written there.
        unsafe { std::slice::from_raw_parts(self.0.add(shape.value_at()).as_ptr(), shape.value_len) }
    }

    /// The value, if it is shared.
    #[inline]
    pub(super) fn shared(&self) -> Option<&Bytes> {
        self.shared_in(self.shape())
    }

    #[inline]
    fn shared_in(&self, shape: Shape) -> Option<&Bytes> {
        // SAFETY: the flags say that there is a `Bytes`, which `put_shared` wrote.
        (shape.kind == Kind::Shared).then(|| unsafe { self.0.add(shape.value_at()).cast().as_ref() })
    }

    /// The value of an edited entry, to be changed within its length.
    pub(super) fn edited_mut(&mut self) -> &mut [u8] {
        let shape = self.shape();
        assert!(shape.kind == Kind::Edited, "only what has been made ready for it is edited");
        // SAFETY: that many bytes of value were written there, and the entry is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.0.add(shape.value_at()).as_ptr(), shape.value_len) }
    }

    /// The time from which the key is absent.
    #[inline]
    pub(super) fn deadline(&self) -> Option<UnixMillis> {
        if !has_deadline(self.word().load(Ordering::Relaxed)) {
            return None;
        }
        Some(UnixMillis(u64::from_le_bytes(self.read(self.shape().deadline_at()))))
    }

    /// Whether the key is absent at `now`.
    #[inline]
    pub(super) fn is_expired(&self, now: UnixMillis) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= now)
    }

    /// When the key was last used: 24 bits of seconds, or minutes and the counter of an LFU policy.
    #[inline]
    pub(super) fn access(&self) -> u32 {
        self.word().load(Ordering::Relaxed) & ACCESS
    }

    /// Notes a use. Leaves the memory alone when nothing changes, since other threads may be reading it.
    #[inline]
    pub(super) fn set_access(&self, access: u32) {
        let word = self.word().load(Ordering::Relaxed);
        let new = word & !ACCESS | access & ACCESS;
        if new != word {
            // What others may do at the same time is the same: the flags change only while an entry is borrowed alone.
            self.word().store(new, Ordering::Relaxed);
        }
    }

    /// What `OBJECT ENCODING` answers.
    pub(super) fn encoding(&self) -> Encoding {
        let value = self.value();
        match self.shape().kind {
            Kind::Written if crate::number::parse_i64(value).is_some() => Encoding::Int,
            Kind::Written | Kind::Text if value.len() <= EMBSTR_BYTES_MAX => Encoding::EmbStr,
            _ => Encoding::Raw,
        }
    }

    /// How the value came to be. A shared one counts as written: it is too long for the difference to matter.
    pub(super) fn form(&self) -> Form {
        match self.shape().kind {
            Kind::Written | Kind::Shared => Form::Written,
            Kind::Text => Form::Text,
            Kind::Edited => Form::Edited,
        }
    }

    /// Bytes of memory that the entry takes.
    pub(super) fn size(&self) -> usize {
        self.shape().space().bytes() + self.shared().map_or(0, Bytes::len)
    }

    /// What would go with the value to another key.
    pub(super) fn content(&self) -> Content {
        let value = self.shared().map_or_else(|| Bytes::copy_from_slice(self.value()), Bytes::clone);
        Content { value, form: self.form(), deadline: self.deadline(), access: self.access() }
    }

    /// Replaces a value that has no deadline by one that is as long and of the same form, where it is. Whether it did.
    #[inline]
    pub(super) fn overwrite(&mut self, value: &[u8], form: Form) -> bool {
        let shape = self.shape();
        let fits = !shape.has_deadline && shape.kind == Kind::inline(form) && shape.value_len == value.len();
        if fits {
            self.write(shape.value_at(), value);
        }
        fits
    }

    /// Replaces value and deadline where they are, if there is as much room as they need and no more. Whether it did.
    #[inline]
    pub(super) fn replace(&mut self, value: &[u8], form: Form, deadline: Option<UnixMillis>) -> bool {
        let old = self.shape();
        let new = Shape::new(old.key_len, value.len(), form, deadline.is_some());
        let fits = old.kind != Kind::Shared && new.kind != Kind::Shared && old.space() == new.space();
        if fits {
            self.fill(new, value, deadline);
        }
        fits
    }

    /// Makes the value `len` bytes long, zeros behind what it held, and marks it edited.
    pub(super) fn resize(&mut self, slabs: &mut Slabs, new_len: usize) {
        let old = self.shape();
        let new = Shape::new(old.key_len, new_len, Form::Edited, old.has_deadline);
        let old_value = self.value();
        let (old_len, kept) = (old_value.len(), old_value.len().min(new_len));
        let (old_space, new_space) = (old.space(), new.space());
        if old.kind != Kind::Edited || (old_space != new_space && !(old_space.is_apart() && new_space.is_apart())) {
            let (deadline, access) = (self.deadline(), self.access());
            let mut moved = Self::allocate(slabs, new, self.key(), access);
            moved.write_tail(new, deadline);
            moved.write(new.value_at(), &old_value[..kept]);
            std::mem::replace(self, moved).free(slabs);
        } else {
            if old_space != new_space {
                // SAFETY: the memory came from these slabs for the old shape, and both shapes lie apart.
                self.0 = unsafe { slabs.resize_apart(self.0, old_space, new_space) };
            }
            self.write_tail(new, None);
        }
        if let Some(grown) = new_len.checked_sub(old_len) {
            // SAFETY: the memory is now as large as the new shape says, and the entry is borrowed alone.
            unsafe { self.0.add(new.value_at() + old_len).write_bytes(0, grown) }
        }
    }

    /// Sets or removes the deadline.
    pub(super) fn set_deadline(&mut self, slabs: &mut Slabs, deadline: Option<UnixMillis>) {
        let shape = self.shape();
        match deadline {
            Some(deadline) if shape.has_deadline => self.write(shape.deadline_at(), &deadline.0.to_le_bytes()),
            None if !shape.has_deadline => {}
            _ => {
                let changed = match self.shared() {
                    Some(_) => Self::with_content(slabs, self.key(), Content { deadline, ..self.content() }),
                    None => Self::new(slabs, self.key(), self.value(), self.form(), deadline, self.access()),
                };
                std::mem::replace(self, changed).free(slabs);
            }
        }
    }

    /// Moves the entry from the slabs that it is in to `slabs`.
    pub(super) fn relocate(&mut self, slabs: &mut Slabs) {
        let space = self.shape().space();
        if space.is_apart() {
            return;
        }
        let moved = slabs.allocate(space);
        // SAFETY: both places are that large, and the new one is nobody else's. What an entry is does not depend on where it lies.
        unsafe { moved.copy_from_nonoverlapping(self.0, space.bytes()) }
        self.0 = moved;
    }

    /// Gives the memory back to the slabs that it came from.
    #[inline]
    pub(super) fn free(self, slabs: &mut Slabs) {
        let shape = self.shape();
        if shape.kind == Kind::Shared {
            // SAFETY: the flags say that there is a `Bytes`, and nobody can see it any more.
            unsafe { self.0.add(shape.value_at()).cast::<Bytes>().drop_in_place() }
        }
        // SAFETY: the memory came from the slabs of the shard for a space equal to this one: every change of what decides it either
        // leaves it equal or takes new memory.
        unsafe { slabs.free(self.0, shape.space()) }
    }

    /// Fetches the entry into the cache. A hint.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(self.0.as_ptr());
    }
}

// dashmap asks for both of its keys; the look-ups here go by hash and bytes.
impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

impl std::hash::Hash for Entry {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write(self.key());
    }
}

/// A length to be stored. The shape's was checked.
#[inline]
fn len(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// Asks the processor to fetch the line at `pointer`. Any address will do.
#[inline]
pub(super) fn prefetch(pointer: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction has no effect but on the cache and never faults; SSE is part of x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(pointer.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = pointer;
}
