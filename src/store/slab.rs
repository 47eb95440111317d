//! The memory of one shard's entries: slots of few sizes, carved from chunks that grow with the shard.
//!
//! An allocator for everything rounds 24 bytes up to 32 and must find out at each release whose they were. Here the shard's lock is
//! held anyway, and an entry tells its own size, so that a slot costs nothing beside its bytes. Chunks are a thirty-second of what is
//! there already: a shard of few keys asks for a few slots at a time, and little lies idle in a large one. A chunk goes back when the
//! shard is packed anew, which is worth it when more is free than taken. What is too large for a slot comes from the allocator.
//! Must not know what an entry is.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error, realloc};
use std::ptr::NonNull;

/// Every slot begins at a multiple of this, in bytes.
pub(super) const ALIGN: usize = 8;
/// Up to this size slots differ by [`ALIGN`], in bytes.
const FINE_MAX: usize = 256;
/// Beyond it they differ by this, in bytes.
const COARSE: usize = 32;
/// Largest slot, in bytes.
const SLOT_MAX: usize = 1280;
/// A chunk holds at least as many slots as fit in this, and one at least, in bytes.
const CHUNK_MIN: usize = 128;
/// A chunk is at most this large, in bytes.
const CHUNK_MAX: usize = 64 * 1024;
/// Share of the slots taken by which a class grows.
const GROWTH: usize = 32;
/// Packing anew is not worth it for less than this, in bytes.
const FREE_MIN: usize = 4096;

/// One size of slot.
#[derive(Debug, Default)]
struct Class {
    /// The slot freed last. Its first bytes say which was freed before it.
    free: Option<NonNull<u8>>,
    /// Slots of the latest chunk that have never been taken.
    fresh: Option<NonNull<u8>>,
    fresh_left: u32,
    taken: u32,
}

/// What stands at the beginning of a chunk. Its slots follow.
#[derive(Debug)]
struct Chunk {
    /// The chunk carved before it.
    before: Option<NonNull<Chunk>>,
    layout: Layout,
}

const _: () = assert!(size_of::<Chunk>().is_multiple_of(ALIGN) && align_of::<Chunk>() <= ALIGN);

/// The slots of a shard.
#[derive(Debug, Default)]
pub(super) struct Slabs {
    classes: Vec<Class>,
    /// The chunk carved last.
    chunks: Option<NonNull<Chunk>>,
    /// In slots that are taken.
    taken_bytes: usize,
    /// In all slots there are.
    all_bytes: usize,
    /// Pieces of memory that came from the allocator.
    apart: usize,
}

// SAFETY: the slots belong to these slabs alone, whichever thread has them.
unsafe impl Send for Slabs {}

/// Room for an entry: how large, and where it comes from. Entries with equal spaces fit into each other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Space {
    bytes: usize,
    apart: bool,
}

impl Space {
    /// Room for `size` bytes: in a slot if there are slots as large.
    #[inline]
    pub(super) fn of(size: usize) -> Self {
        if size > SLOT_MAX {
            return Self::apart(size);
        }
        let step = if size > FINE_MAX { COARSE } else { ALIGN };
        Self { bytes: size.next_multiple_of(step), apart: false }
    }

    /// Room for `size` bytes from the allocator. Whoever drops all slabs at once is told that there is some.
    #[inline]
    pub(super) fn apart(size: usize) -> Self {
        Self { bytes: size.next_multiple_of(ALIGN), apart: true }
    }

    /// Bytes that it takes.
    pub(super) fn bytes(self) -> usize {
        self.bytes
    }

    /// Whether it comes from the allocator.
    pub(super) fn is_apart(self) -> bool {
        self.apart
    }

    #[inline]
    fn class(self) -> usize {
        if self.bytes <= FINE_MAX { self.bytes / ALIGN } else { FINE_MAX / ALIGN + (self.bytes - FINE_MAX).div_ceil(COARSE) }
    }

    fn layout(self) -> Layout {
        Layout::from_size_align(self.bytes, ALIGN).expect("an entry is far smaller than the address space")
    }
}

impl Slabs {
    /// Memory for an entry, beginning at a multiple of [`ALIGN`]. The space is not empty.
    #[inline]
    pub(super) fn allocate(&mut self, space: Space) -> NonNull<u8> {
        if space.apart {
            self.apart += 1;
            return request(space.layout());
        }
        let class = space.class();
        if class >= self.classes.len() {
            self.classes.resize_with(class + 1, Class::default);
        }
        self.taken_bytes += space.bytes;
        let class = &mut self.classes[class];
        class.taken += 1;
        if let Some(slot) = class.free {
            // SAFETY: `free` wrote there which slot was freed before; nobody has had the slot since.
            class.free = unsafe { slot.cast::<Option<NonNull<u8>>>().read() };
            return slot;
        }
        let slot = class.fresh.unwrap_or_else(|| {
            class.fresh_left = chunk_slots(class.taken as usize, space.bytes);
            let slots_bytes = class.fresh_left as usize * space.bytes;
            self.all_bytes += slots_bytes;
            carve(&mut self.chunks, slots_bytes)
        });
        class.fresh_left -= 1;
        // SAFETY: where one more slot is left, the chunk goes on behind this one.
        class.fresh = (class.fresh_left > 0).then(|| unsafe { slot.add(space.bytes) });
        slot
    }

    /// Takes memory back.
    ///
    /// # Safety
    /// `slot` came from [`Self::allocate`] of these slabs for an equal space, and is not used any more.
    #[inline]
    pub(super) unsafe fn free(&mut self, slot: NonNull<u8>, space: Space) {
        if space.apart {
            self.apart -= 1;
            // SAFETY: `allocate` requested it with the same layout.
            return unsafe { dealloc(slot.as_ptr(), space.layout()) };
        }
        self.taken_bytes -= space.bytes;
        let class = &mut self.classes[space.class()];
        class.taken -= 1;
        // SAFETY: a slot has room for a pointer and begins at a multiple of its alignment; nobody else uses it any more.
        unsafe { slot.cast::<Option<NonNull<u8>>>().write(class.free) };
        class.free = Some(slot);
    }

    /// Makes memory from the allocator larger or smaller. What both sizes have stays; it may lie elsewhere.
    ///
    /// # Safety
    /// `memory` came from [`Self::allocate`] of these slabs for a space equal to `old`; both spaces are apart.
    pub(super) unsafe fn resize_apart(&mut self, memory: NonNull<u8>, old: Space, new: Space) -> NonNull<u8> {
        debug_assert!(old.apart && new.apart);
        // SAFETY: the memory was requested with the old layout, and the new size is not zero.
        let resized = unsafe { realloc(memory.as_ptr(), old.layout(), new.bytes) };
        NonNull::new(resized).unwrap_or_else(|| handle_alloc_error(new.layout()))
    }

    /// Leaves the memory apart to `heir`, to which its owners move.
    pub(super) fn bequeath_apart(&mut self, heir: &mut Self) {
        heir.apart += std::mem::take(&mut self.apart);
    }

    /// Whether some memory came from the allocator, which does not go back when the slabs do.
    pub(super) fn has_apart(&self) -> bool {
        self.apart > 0
    }

    /// Whether so little of the memory is taken that the entries should be moved together.
    #[inline]
    pub(super) fn is_sparse(&self) -> bool {
        self.idle_bytes() > self.taken_bytes + FREE_MIN
    }

    /// Bytes that lie in chunks and are not taken.
    pub(super) fn idle_bytes(&self) -> usize {
        self.all_bytes - self.taken_bytes
    }
}

impl Drop for Slabs {
    fn drop(&mut self) {
        while let Some(chunk) = self.chunks {
            // SAFETY: `carve` wrote there what stands at the beginning of a chunk and requested it with that layout. Whoever drops the
            // slabs has no entry in them left.
            unsafe {
                let Chunk { before, layout } = chunk.read();
                dealloc(chunk.as_ptr().cast(), layout);
                self.chunks = before;
            }
        }
    }
}

/// Puts a new chunk before `chunks`, and tells where its slots begin.
fn carve(chunks: &mut Option<NonNull<Chunk>>, slots_bytes: usize) -> NonNull<u8> {
    let layout = Space::apart(size_of::<Chunk>() + slots_bytes).layout();
    let chunk = request(layout).cast::<Chunk>();
    // SAFETY: the memory is new, large enough for this and the slots behind it, and aligned for it.
    unsafe {
        chunk.write(Chunk { before: *chunks, layout });
        *chunks = Some(chunk);
        chunk.add(1).cast()
    }
}

/// How many slots of `bytes` the next chunk has when `taken` are wanted.
fn chunk_slots(taken: usize, bytes: usize) -> u32 {
    let wanted = (taken / GROWTH * bytes).clamp(CHUNK_MIN, CHUNK_MAX);
    // Three binary digits: sizes that allocators keep in stock.
    let shift = wanted.ilog2() - 2;
    let room = (wanted >> shift << shift) - size_of::<Chunk>();
    u32::try_from(room / bytes).map_or(1, |slots| slots.max(1))
}

fn request(layout: Layout) -> NonNull<u8> {
    // SAFETY: the layout's size is not zero: nobody asks for an entry without a header.
    let memory = unsafe { alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn slots_are_large_enough_and_do_not_overlap() {
        let mut slabs = Slabs::default();
        let mut held = HashMap::new();
        let sizes = [1, 5, 8, 9, 24, 25, 255, 256, 257, 288, 289, 1279, 1280, 1281, 5000];
        for round in 0..2000_usize {
            let size = sizes[round % sizes.len()];
            let slot = slabs.allocate(Space::of(size));
            assert_eq!(slot.addr().get() % ALIGN, 0);
            // SAFETY: the slot has that many bytes and belongs to this test.
            unsafe { slot.write_bytes(mark(round), size) };
            assert!(held.insert(slot, (size, round)).is_none(), "a slot given out twice");
            if round % 3 == 0 {
                let oldest = held.iter().min_by_key(|(_, (_, round))| *round).map(|(slot, _)| *slot).expect("one was just put in");
                release(&mut slabs, &mut held, oldest);
            }
        }
        for slot in held.keys().copied().collect::<Vec<_>>() {
            release(&mut slabs, &mut held, slot);
        }
        assert_eq!(slabs.taken_bytes, 0);
    }

    fn mark(round: usize) -> u8 {
        u8::try_from(round % 251).unwrap_or_default()
    }

    #[track_caller]
    fn release(slabs: &mut Slabs, held: &mut HashMap<NonNull<u8>, (usize, usize)>, slot: NonNull<u8>) {
        let (size, round) = held.remove(&slot).expect("it is held");
        // SAFETY: the slot was taken for that many bytes, all of them written, and is not used after this.
        unsafe {
            let bytes = std::slice::from_raw_parts(slot.as_ptr(), size);
            assert!(bytes.iter().all(|&byte| byte == mark(round)), "a slot was written through another");
            slabs.free(slot, Space::of(size));
        }
    }

    #[test]
    fn little_lies_idle_however_many_slots_are_taken() {
        for size in [24, 88, 1000] {
            let mut slabs = Slabs::default();
            for taken in 1..20_000_usize {
                slabs.allocate(Space::of(size));
                assert!(
                    slabs.idle_bytes() <= CHUNK_MIN + taken * Space::of(size).bytes() / GROWTH,
                    "{} idle at {taken} of {size}",
                    slabs.idle_bytes()
                );
            }
        }
    }
}
