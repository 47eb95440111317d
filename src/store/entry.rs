//! One key with its value and its deadline: a single allocation behind a thin pointer.
//!
//! ```text
//! key length | value length | access | [deadline] | key bytes | value bytes | [spare]
//!     4      |      4       |   4    |     8      |
//! ```
//!
//! The two highest bits of each length are flags. There is a deadline only where one is set. An edited value has spare room behind
//! it, which its length alone determines, so that appending is amortised and nothing more has to be stored. Must not know of
//! tables, locks or commands.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error, realloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::clock::UnixMillis;

#[repr(C)]
struct Header {
    key: u32,
    value: u32,
    access: AtomicU32,
}

const HEADER: usize = size_of::<Header>();
const ALIGN: usize = align_of::<Header>();
const DEADLINE: usize = size_of::<u64>();
/// In `Header::key`: a deadline follows the header.
const HAS_DEADLINE: u32 = 1 << 31;
/// In `Header::value`: edited in place, has spare room, and is no integer whatever it looks like.
const EDITED: u32 = 1 << 31;
/// In `Header::value`: text, even where it looks like an integer.
const TEXT: u32 = 1 << 30;
const LEN: u32 = (1 << 30) - 1;

/// Longest key and longest value an entry can hold, in bytes.
pub(crate) const LEN_MAX: usize = LEN as usize;

/// How a value came to be, as far as `OBJECT ENCODING` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Written whole: an integer if it looks like one.
    Written,
    /// Written whole as text: no integer whatever it looks like.
    Text,
    /// Edited in place.
    Edited,
}

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

/// An owned entry.
#[repr(transparent)]
pub struct Entry(NonNull<Header>);

// SAFETY: an entry owns its allocation alone, and all that changes through a shared reference is an atomic.
unsafe impl Send for Entry {}
// SAFETY: as above.
unsafe impl Sync for Entry {}

impl Entry {
    /// Allocates an entry.
    pub fn new(key: &[u8], value: &[u8], form: Form, deadline: Option<UnixMillis>, access: u32) -> Self {
        let mut entry = Self::allocate(key, value.len(), form, deadline, access);
        entry.value_mut().copy_from_slice(value);
        entry
    }

    /// Allocates an entry whose value is to be written by the caller: its bytes are zero.
    fn allocate(key: &[u8], value_len: usize, form: Form, deadline: Option<UnixMillis>, access: u32) -> Self {
        let flags = match form {
            Form::Written => 0,
            Form::Text => TEXT,
            Form::Edited => EDITED,
        };
        let header = Header {
            key: len(key.len()) | if deadline.is_some() { HAS_DEADLINE } else { 0 },
            value: len(value_len) | flags,
            access: AtomicU32::new(access),
        };
        let layout = layout(&header);
        // SAFETY: the layout's size is at least that of the header, so it is not zero.
        let pointer = unsafe { alloc(layout) }.cast::<Header>();
        let Some(pointer) = NonNull::new(pointer) else { handle_alloc_error(layout) };
        let (key_at, value_at) = (key_offset(&header), value_offset(&header));
        // SAFETY: the allocation is new, large enough for the header, the deadline that its flag announces, the key and the capacity
        // of the value, and aligned for the header; the deadline is written unaligned.
        unsafe {
            pointer.write(header);
            let bytes = pointer.cast::<u8>();
            if let Some(deadline) = deadline {
                bytes.add(HEADER).cast::<u64>().write_unaligned(deadline.0);
            }
            bytes.add(key_at).copy_from_nonoverlapping(NonNull::from(key).cast(), key.len());
            bytes.add(value_at).write_bytes(0, value_len);
        }
        Self(pointer)
    }

    fn header(&self) -> &Header {
        // SAFETY: the pointer is to a live header that this entry owns.
        unsafe { self.0.as_ref() }
    }

    /// The key.
    #[inline]
    pub fn key(&self) -> &[u8] {
        let header = self.header();
        // SAFETY: that many bytes of key were initialised at that offset by `allocate`.
        unsafe { std::slice::from_raw_parts(self.0.cast::<u8>().add(key_offset(header)).as_ptr(), (header.key & LEN) as usize) }
    }

    /// The value.
    #[inline]
    pub fn value(&self) -> &[u8] {
        let header = self.header();
        // SAFETY: that many bytes of value are initialised at that offset.
        unsafe { std::slice::from_raw_parts(self.0.cast::<u8>().add(value_offset(header)).as_ptr(), (header.value & LEN) as usize) }
    }

    /// The value, to be changed within its length.
    #[inline]
    pub fn value_mut(&mut self) -> &mut [u8] {
        let header = self.header();
        let (at, len) = (value_offset(header), (header.value & LEN) as usize);
        // SAFETY: that many bytes of value are initialised at that offset, and the entry is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.0.cast::<u8>().add(at).as_ptr(), len) }
    }

    /// The time from which the key is absent.
    #[inline]
    pub fn deadline(&self) -> Option<UnixMillis> {
        if self.header().key & HAS_DEADLINE == 0 {
            return None;
        }
        // SAFETY: the flag says that a deadline was written behind the header; it may lie unaligned.
        Some(UnixMillis(unsafe { self.0.cast::<u8>().add(HEADER).cast::<u64>().read_unaligned() }))
    }

    /// Whether the key is absent at `now`.
    #[inline]
    pub fn is_expired(&self, now: UnixMillis) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= now)
    }

    /// When the key was last used: seconds, or the counter of an LFU policy.
    #[inline]
    pub fn access(&self) -> u32 {
        self.header().access.load(Ordering::Relaxed)
    }

    /// Notes a use. Leaves the memory alone when nothing changes, since other threads may be reading it.
    #[inline]
    pub fn set_access(&self, access: u32) {
        let cell = &self.header().access;
        if cell.load(Ordering::Relaxed) != access {
            cell.store(access, Ordering::Relaxed);
        }
    }

    /// What `OBJECT ENCODING` answers.
    pub fn encoding(&self) -> Encoding {
        let flags = self.header().value;
        let value = self.value();
        if flags & EDITED != 0 {
            Encoding::Raw
        } else if flags & TEXT == 0 && crate::number::parse_i64(value).is_some() {
            Encoding::Int
        } else if value.len() <= EMBSTR_BYTES_MAX {
            Encoding::EmbStr
        } else {
            Encoding::Raw
        }
    }

    /// How the value came to be.
    pub fn form(&self) -> Form {
        match self.header().value & (EDITED | TEXT) {
            0 => Form::Written,
            TEXT => Form::Text,
            _ => Form::Edited,
        }
    }

    /// Bytes of the allocation.
    pub fn size(&self) -> usize {
        layout(self.header()).size()
    }

    /// Replaces value and deadline. In place when the allocation stays as large and as it is laid out.
    #[inline]
    pub fn replace(&mut self, value: &[u8], form: Form, deadline: Option<UnixMillis>) {
        let header = self.header();
        let same_layout = (header.key & HAS_DEADLINE != 0) == deadline.is_some()
            && (header.value & LEN) as usize == value.len()
            && (header.value & EDITED == 0) == (form != Form::Edited);
        if !same_layout {
            let access = self.access();
            *self = Self::new(self.key(), value, form, deadline, access);
            return;
        }
        let flags = match form {
            Form::Written => 0,
            Form::Text => TEXT,
            Form::Edited => EDITED,
        };
        // SAFETY: the entry is borrowed alone, and neither a length nor a flag that decides the layout changes.
        unsafe { self.0.as_mut() }.value = len(value.len()) | flags;
        if let Some(deadline) = deadline {
            self.write_deadline(deadline);
        }
        self.value_mut().copy_from_slice(value);
    }

    /// Makes the value `len` bytes long, zeros behind what it held, and marks it edited.
    pub fn resize(&mut self, new_len: usize) {
        let header = self.header();
        let old_len = (header.value & LEN) as usize;
        let old = layout(header);
        let new = Header { key: header.key, value: len(new_len) | EDITED, access: AtomicU32::new(self.access()) };
        let new_layout = layout(&new);
        if new_layout.size() != old.size() {
            // SAFETY: the pointer was allocated with `old`, and the new size is neither zero nor beyond isize::MAX: the lengths
            // have 30 bits each.
            let pointer = unsafe { realloc(self.0.as_ptr().cast(), old, new_layout.size()) }.cast::<Header>();
            let Some(pointer) = NonNull::new(pointer) else { handle_alloc_error(new_layout) };
            self.0 = pointer;
        }
        let value_at = value_offset(&new);
        // SAFETY: the entry is borrowed alone; the bytes from the old length to the new lie within the capacity just ensured.
        unsafe {
            self.0.write(new);
            if let Some(grown) = new_len.checked_sub(old_len) {
                self.0.cast::<u8>().add(value_at + old_len).write_bytes(0, grown);
            }
        }
    }

    /// Sets or removes the deadline.
    pub fn set_deadline(&mut self, deadline: Option<UnixMillis>) {
        match deadline {
            Some(deadline) if self.deadline().is_some() => self.write_deadline(deadline),
            None if self.deadline().is_none() => {}
            _ => *self = Self::new(self.key(), self.value(), self.form(), deadline, self.access()),
        }
    }

    /// Overwrites the deadline of an entry that has one.
    fn write_deadline(&mut self, deadline: UnixMillis) {
        debug_assert!(self.deadline().is_some());
        // SAFETY: the callers checked the flag, so the eight bytes behind the header are the deadline.
        unsafe { self.0.cast::<u8>().add(HEADER).cast::<u64>().write_unaligned(deadline.0) }
    }

    /// The same value and deadline under another key.
    pub fn under(&self, key: &[u8]) -> Self {
        Self::new(key, self.value(), self.form(), self.deadline(), self.access())
    }

    /// Fetches the entry into the cache. A hint.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(self.0.as_ptr().cast());
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

impl Drop for Entry {
    fn drop(&mut self) {
        let layout = layout(self.header());
        // SAFETY: the entry owns the allocation, which was made with this layout: every change of a length or flag that decides it
        // goes through `resize`, which reallocates, or makes a new entry.
        unsafe { dealloc(self.0.as_ptr().cast(), layout) }
    }
}

#[inline]
fn key_offset(header: &Header) -> usize {
    HEADER + if header.key & HAS_DEADLINE == 0 { 0 } else { DEADLINE }
}

#[inline]
fn value_offset(header: &Header) -> usize {
    key_offset(header) + (header.key & LEN) as usize
}

/// Bytes set aside for an edited value: the next eighth of a power of two, so that growing by one byte at a time copies each byte a
/// bounded number of times.
fn edited_capacity(len: usize) -> usize {
    let step = (len.max(64).next_power_of_two() / 16).max(1);
    len.next_multiple_of(step)
}

#[inline]
fn layout(header: &Header) -> Layout {
    let len = (header.value & LEN) as usize;
    let capacity = if header.value & EDITED == 0 { len } else { edited_capacity(len) };
    let size = value_offset(header) + capacity;
    // SAFETY: the alignment is a power of two, and two lengths of 30 bits and a header stay far below isize::MAX.
    unsafe { Layout::from_size_align_unchecked(size, ALIGN) }
}

/// A length for the header. The callers have checked `proto-max-bulk-len`, which never exceeds [`LEN_MAX`].
fn len(len: usize) -> u32 {
    assert!(len <= LEN_MAX, "a key or value longer than an entry can hold");
    u32::try_from(len).unwrap_or(LEN)
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
