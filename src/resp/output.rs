//! What a batch answers: bytes of its own, and between them large values that it shares with the keyspace.
//!
//! Small replies see a plain buffer and pay for nothing else. What the peer has taken is let go of at once where it is shared, and
//! stays in its place where it is not: moving the rest up each time would cost the square of a large reply. Must not do I/O.

use std::collections::VecDeque;

use bytes::{Buf as _, Bytes};

/// Replies on their way to a peer.
#[derive(Debug, Default)]
pub struct Output {
    /// What was written here.
    pub(super) own: Vec<u8>,
    /// Bytes of `own` that are taken.
    taken: usize,
    /// What is not taken of each shared value, and before which byte of `own` it stands.
    shared: VecDeque<(usize, Bytes)>,
    /// Bytes of all that is in `shared`.
    shared_len: usize,
}

impl Output {
    /// Bytes that are not taken yet.
    #[inline]
    pub fn len(&self) -> usize {
        self.own.len() - self.taken + self.shared_len
    }

    /// Bytes that were written, shared ones included, as long as none is taken.
    #[inline]
    pub(super) fn gathered(&self) -> usize {
        self.own.len() + self.shared_len
    }

    /// Whether nothing is left to be taken.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is not taken yet, where none of it is shared.
    #[inline]
    pub fn plain(&self) -> Option<&[u8]> {
        self.shared.is_empty().then(|| &self.own[self.taken..])
    }

    /// What is not taken yet, piece by piece. No piece is empty.
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let mut from = self.taken;
        let shared = self.shared.iter().map(|(at, bytes)| (*at, bytes.as_ref()));
        let pieces = shared.chain(std::iter::once((self.own.len(), [].as_slice()))).flat_map(move |(at, bytes)| {
            let own = &self.own[from..at];
            from = at;
            [own, bytes]
        });
        pieces.filter(|piece| !piece.is_empty())
    }

    /// Notes that the peer has taken `count` bytes more.
    #[inline]
    pub fn take(&mut self, mut count: usize) {
        while let Some((at, bytes)) = self.shared.front_mut() {
            let before = *at - self.taken;
            if count < before {
                break;
            }
            self.taken = *at;
            let part = (count - before).min(bytes.len());
            bytes.advance(part);
            self.shared_len -= part;
            count -= before + part;
            if !bytes.is_empty() {
                return;
            }
            self.shared.pop_front();
        }
        self.taken += count;
        debug_assert!(self.taken <= self.own.len(), "a peer takes what it is given");
    }

    /// Moves what is not taken to an output of its own. Up to `copied_max` own bytes are copied, so that this output keeps its buffer;
    /// more of them take the buffer along.
    pub fn split_rest(&mut self, copied_max: usize) -> Self {
        if self.own.len() - self.taken > copied_max {
            return std::mem::take(self);
        }
        let own = self.own[self.taken..].to_vec();
        let mut shared = std::mem::take(&mut self.shared);
        shared.iter_mut().for_each(|(at, _)| *at -= self.taken);
        let rest = Self { own, taken: 0, shared, shared_len: self.shared_len };
        self.clear();
        rest
    }

    /// Forgets everything. The buffer is kept.
    #[inline]
    pub fn clear(&mut self) {
        self.own.clear();
        self.taken = 0;
        if !self.shared.is_empty() {
            self.shared = VecDeque::new();
        }
        self.shared_len = 0;
    }

    /// Gives back what the buffer takes beyond `kept` bytes. Call it when it is empty.
    #[inline]
    pub fn shrink_to(&mut self, kept: usize) {
        self.own.shrink_to(kept);
    }

    /// Appends a value that is not copied. It must stand within a reply: own bytes come before and after it, so that no place between
    /// two replies is its place.
    pub(super) fn push_shared(&mut self, bytes: Bytes) {
        self.shared_len += bytes.len();
        self.shared.push_back((self.own.len(), bytes));
    }

    /// Appends whole replies that nothing was taken of. Shared values stay shared.
    pub fn append(&mut self, other: &Self) {
        debug_assert!(other.taken == 0, "what has been taken in part is not sent again");
        let before = self.own.len();
        self.own.extend_from_slice(&other.own);
        self.shared.extend(other.shared.iter().map(|(at, bytes)| (at + before, bytes.clone())));
        self.shared_len += other.shared_len;
    }

    /// Takes back everything from the own byte at `mark` on.
    #[inline]
    pub(super) fn truncate(&mut self, mark: usize) {
        self.own.truncate(mark);
        while self.shared.back().is_some_and(|(at, _)| *at > mark) {
            self.shared_len -= self.shared.pop_back().map_or(0, |(_, bytes)| bytes.len());
        }
    }

    /// Moves the last `len` own bytes before all that follows the own byte at `mark`. No shared value is among them.
    pub(super) fn rotate(&mut self, mark: usize, len: usize) {
        self.own[mark..].rotate_right(len);
        self.shared.iter_mut().rev().take_while(|(at, _)| *at > mark).for_each(|(at, _)| *at += len);
    }
}

impl From<Vec<u8>> for Output {
    fn from(own: Vec<u8>) -> Self {
        Self { own, ..Self::default() }
    }
}

impl From<Output> for Vec<u8> {
    fn from(output: Output) -> Self {
        if output.shared.is_empty() && output.taken == 0 { output.own } else { output.pieces().collect::<Vec<_>>().concat() }
    }
}
