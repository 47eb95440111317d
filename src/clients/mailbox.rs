//! What others leave for a connection to find. Must not do I/O.

use std::task::Waker;

use crate::clock::UnixMillis;
use crate::resp::Output;
use crate::settings::OutputLimit;

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
    /// What is to be sent between replies.
    messages: Option<Box<Output>>,
    /// Bytes that were collected or answered, and that the peer has not taken.
    unsent: usize,
    /// Since when more waits than the soft limit allows, in Unix milliseconds; 0 when no more does.
    over_soft_since: u64,
    /// Somebody will wake the connection's task, as soon as the batch that has put messages here is over.
    pub(super) is_noted: bool,
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
    pub(super) fn listen(&mut self, waker: &Waker, unsent: usize) {
        self.unsent = unsent;
        if !self.waker.as_ref().is_some_and(|old| old.will_wake(waker)) {
            self.waker = Some(waker.clone());
        }
    }

    /// Adds a message. Whether as much may wait.
    pub(super) fn put(&mut self, message: &Output, limit: OutputLimit, now: UnixMillis) -> bool {
        self.messages.get_or_insert_default().append(message);
        self.is_within(limit, now)
    }

    /// Whether what waits is allowed to: less than the hard limit at once, less than the soft one for long.
    pub(super) fn is_within(&mut self, limit: OutputLimit, now: UnixMillis) -> bool {
        let waiting = self.output_bytes();
        if limit.soft_bytes == 0 || waiting <= limit.soft_bytes {
            self.over_soft_since = 0;
        } else if self.over_soft_since == 0 {
            self.over_soft_since = now.0;
        } else if now.0.saturating_sub(self.over_soft_since) > limit.soft_millis {
            return false;
        }
        limit.hard_bytes == 0 || waiting <= limit.hard_bytes
    }

    /// What others have left, and what is on its way to the peer.
    pub(super) fn output_bytes(&self) -> usize {
        self.unsent + self.waiting_bytes()
    }

    pub(super) fn waiting_bytes(&self) -> usize {
        self.messages.as_ref().map_or(0, |messages| messages.len())
    }

    /// Moves what was left to the end of `out`. Keeps no memory.
    pub(super) fn collect(&mut self, out: &mut Output) {
        if let Some(messages) = self.messages.take() {
            out.append(&messages);
        }
    }

    /// Forgets what was left.
    pub(super) fn discard(&mut self) {
        self.messages = None;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded_at_once_and_for_long() {
        let limit = OutputLimit { hard_bytes: 100, soft_bytes: 10, soft_millis: 1000 };
        let at = UnixMillis;
        let message = Output::from(vec![b'x'; 8]);
        let mut mailbox = Mailbox::default();
        assert!(mailbox.put(&message, limit, at(1)) && mailbox.put(&message, limit, at(2)), "over the soft limit for a short time");
        assert!(mailbox.is_within(limit, at(1002)) && !mailbox.is_within(limit, at(1003)), "and then for long");
        mailbox.collect(&mut Output::default());
        assert!(mailbox.is_within(limit, at(1003)), "what was taken does not count");
        mailbox.listen(Waker::noop(), 90);
        assert!(mailbox.put(&message, limit, at(1004)), "100 bytes, 90 of them on their way, are allowed");
        assert!(!mailbox.put(&message, limit, at(1004)), "more are not");
        assert!(mailbox.is_within(OutputLimit::default(), at(9999)), "0 stands for no limit");
    }
}
