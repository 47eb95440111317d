//! Where the parts of an entry lie.
//!
//! ```text
//! access 3 | flags 1 | key length 1 | [key length 4] | key | [value length 1, 2 or 4] | [deadline 8] | value | [spare]
//! ```
//!
//! The key comes first, so that a look-up finds it without reading the rest. A length is stored in as few bytes as it needs: the flags
//! hold that of a value of up to 28 bytes, and a key longer than 254 has its length behind the byte that is then 255. An edited value
//! has spare room behind it, which its length alone determines, so that appending is amortised and nothing more has to be stored. A
//! large value is a [`Bytes`] in the place of the value. Must not touch memory.

use std::mem::{align_of, size_of};

use bytes::Bytes;

use super::slab::Space;

/// Longest key and longest value an entry can hold, in bytes.
pub(crate) const LEN_MAX: usize = (1 << 30) - 1;
/// Values written whole that are at least as large are shared with replies instead of copied into them, in bytes.
pub(crate) const SHARED_BYTES_MIN: usize = 32 * 1024;

/// The low bits of an entry's first word say when it was used.
pub(super) const ACCESS: u32 = (1 << 24) - 1;
/// Five bits of flags: the length of the value, or in how many bytes behind the key it stands.
const LEN_SHIFT: u32 = 24;
const LEN_CODE: u32 = 0b1_1111;
const LEN_IN_1: u32 = 29;
const LEN_IN_2: u32 = 30;
const LEN_IN_4: u32 = 31;
/// Two bits of flags.
const KIND_SHIFT: u32 = 29;
/// The highest flag.
const HAS_DEADLINE: u32 = 1 << 31;
/// In the place of a key's length: it is longer, and the length follows.
pub(super) const LONG_KEY: u8 = u8::MAX;
/// Where the key begins, if its length needs no more than a byte.
pub(super) const KEY_AT: usize = size_of::<u32>() + 1;
const DEADLINE: usize = size_of::<u64>();

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

/// How an entry holds its value. The number stands in its flags.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Written = 0,
    Text = 1,
    Edited = 2,
    /// As a [`Bytes`], written whole.
    Shared = 3,
}

impl Kind {
    /// That of a value in the entry itself.
    #[inline]
    pub(super) fn inline(form: Form) -> Self {
        match form {
            Form::Written => Self::Written,
            Form::Text => Self::Text,
            Form::Edited => Self::Edited,
        }
    }
}

/// What decides where the parts of an entry lie and how large it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) key_len: usize,
    /// 0 if it is shared.
    pub(super) value_len: usize,
    pub(super) kind: Kind,
    pub(super) has_deadline: bool,
}

impl Shape {
    #[inline]
    pub(super) fn new(key_len: usize, value_len: usize, form: Form, has_deadline: bool) -> Self {
        assert!(key_len.max(value_len) <= LEN_MAX, "a key or value longer than an entry can hold");
        let is_shared = form != Form::Edited && value_len >= SHARED_BYTES_MIN;
        let kind = if is_shared { Kind::Shared } else { Kind::inline(form) };
        Self { key_len, value_len: if kind == Kind::Shared { 0 } else { value_len }, kind, has_deadline }
    }

    /// The shape that `flags` tell of an entry with a key of `key_len` bytes. `read_len` reads the value's length, which stands behind
    /// the key in the number of bytes it is told.
    #[inline]
    pub(super) fn read(flags: u32, key_len: usize, read_len: impl FnOnce(usize) -> usize) -> Self {
        let value_len = match flags >> LEN_SHIFT & LEN_CODE {
            LEN_IN_1 => read_len(1),
            LEN_IN_2 => read_len(2),
            LEN_IN_4 => read_len(4),
            len => len as usize,
        };
        let kind = match flags >> KIND_SHIFT & 0b11 {
            0 => Kind::Written,
            1 => Kind::Text,
            2 => Kind::Edited,
            _ => Kind::Shared,
        };
        Self { key_len, value_len, kind, has_deadline: has_deadline(flags) }
    }

    /// The flags that tell it.
    #[inline]
    pub(super) fn flags(self) -> u32 {
        let len = match self.len_bytes() {
            #[expect(clippy::cast_possible_truncation, reason = "a length for which no bytes are set aside has five bits")]
            0 => self.value_len as u32,
            1 => LEN_IN_1,
            2 => LEN_IN_2,
            _ => LEN_IN_4,
        };
        let deadline = if self.has_deadline { HAS_DEADLINE } else { 0 };
        deadline | (self.kind as u32) << KIND_SHIFT | len << LEN_SHIFT
    }

    /// Bytes behind the key that hold the value's length.
    #[inline]
    pub(super) fn len_bytes(self) -> usize {
        match self.value_len {
            // So that nothing moves when it grows.
            _ if self.kind == Kind::Edited => 4,
            0..29 => 0,
            29..=0xff => 1,
            0x100..=0xffff => 2,
            _ => 4,
        }
    }

    /// Where they stand: behind the key.
    #[inline]
    pub(super) fn len_at(self) -> usize {
        let key_at = if self.key_len < usize::from(LONG_KEY) { KEY_AT } else { KEY_AT + size_of::<u32>() };
        key_at + self.key_len
    }

    #[inline]
    pub(super) fn deadline_at(self) -> usize {
        self.len_at() + self.len_bytes()
    }

    #[inline]
    pub(super) fn value_at(self) -> usize {
        let at = self.deadline_at() + if self.has_deadline { DEADLINE } else { 0 };
        if self.kind == Kind::Shared { at.next_multiple_of(align_of::<Bytes>()) } else { at }
    }

    #[inline]
    pub(super) fn space(self) -> Space {
        match self.kind {
            Kind::Written | Kind::Text => Space::of(self.value_at() + self.value_len),
            Kind::Edited => Space::of(self.value_at() + edited_capacity(self.value_len)),
            // It has to be dropped, and only what lies apart is looked for when all slots go at once.
            Kind::Shared => Space::apart(self.value_at() + size_of::<Bytes>()),
        }
    }
}

/// Whether `flags` say that there is a deadline.
#[inline]
pub(super) fn has_deadline(flags: u32) -> bool {
    flags & HAS_DEADLINE != 0
}

/// Bytes set aside for an edited value: the next sixteenth of a power of two, so that growing by one byte at a time copies each byte
/// a bounded number of times.
fn edited_capacity(len: usize) -> usize {
    let step = (len.max(64).next_power_of_two() / 16).max(1);
    len.next_multiple_of(step)
}
