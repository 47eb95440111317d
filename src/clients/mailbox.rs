//! What others leave for a connection to find. Must not do I/O.

use std::task::Waker;

/// What a client says about itself, and how far its transaction has come.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// `CLIENT SETNAME`; empty when not set.
    pub name: Vec<u8>,
    /// `CLIENT SETINFO LIB-NAME`.
    pub lib_name: Vec<u8>,
    /// `CLIENT SETINFO LIB-VER`.
    pub lib_ver: Vec<u8>,
    /// How many requests are queued since MULTI.
    pub queued: Option<usize>,
    /// How many keys are watched.
    pub watching: usize,
}

#[derive(Debug, Default)]
pub(super) struct Mailbox {
    /// Bytes to be sent between replies.
    pub(super) bytes: Vec<u8>,
    /// A command waits that another client may end.
    pub(super) waiting: bool,
    /// `CLIENT UNBLOCK`: how a waiting command is to end.
    pub(super) unblock: Option<Unblock>,
    /// Wakes the connection's task.
    pub(super) waker: Option<Waker>,
    /// What the client says about itself, and its transaction; few have any of it.
    pub(super) names: Option<Box<Names>>,
}

impl Mailbox {
    pub(super) fn listen(&mut self, waker: &Waker) {
        if !self.waker.as_ref().is_some_and(|old| old.will_wake(waker)) {
            self.waker = Some(waker.clone());
        }
    }

    pub(super) fn collect(&mut self, out: &mut Vec<u8>) {
        if !self.bytes.is_empty() {
            let delivered = std::mem::take(&mut self.bytes);
            if out.is_empty() {
                *out = delivered;
            } else {
                out.extend_from_slice(&delivered);
            }
        }
    }
}

/// How `CLIENT UNBLOCK` ends another client's wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unblock {
    /// As if its time had run out.
    Timeout,
    /// With an error.
    Error,
}
