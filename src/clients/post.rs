//! What a batch sends to connections: put into their mailboxes as it arises, so that it comes in its order, while each receiver is woken
//! once, when the batch is over. Must not do I/O, and is used with the locks of keys held: it waits for nobody.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::Client;
use crate::clock::UnixMillis;
use crate::resp::Output;
use crate::settings::Settings;

/// The messages of one worker thread's batch.
#[derive(Debug, Default)]
pub struct Post {
    /// Whose batch it is; 0 for nobody's.
    sender: Cell<u64>,
    /// Whether the sender has been sent something itself: it comes right behind the reply to the request that caused it.
    has_own: Cell<bool>,
    /// Who is to be woken.
    noted: RefCell<Vec<Arc<Client>>>,
}

/// Receivers noted without a new piece of memory.
const NOTED_KEPT: usize = 1024;

impl Post {
    /// Begins a batch of the client with this id.
    pub fn begin(&self, sender: u64) {
        self.sender.set(sender);
        self.has_own.set(false);
    }

    /// Whether the sender has been sent something itself, since this was last asked.
    #[inline]
    pub fn take_own(&self) -> bool {
        self.has_own.replace(false)
    }

    /// Wakes all who were sent something. Called when the keyspace has been left.
    pub fn wake(&self) {
        if self.noted.borrow().is_empty() {
            return;
        }
        let mut noted = self.noted.take();
        noted.drain(..).for_each(|client| client.wake_noted());
        noted.shrink_to(NOTED_KEPT);
        *self.noted.borrow_mut() = noted;
    }
}

impl Drop for Post {
    fn drop(&mut self) {
        self.wake();
    }
}

/// What is needed to send something.
#[derive(Clone, Copy, Debug)]
pub struct Sender<'a> {
    /// Through which it is sent.
    pub post: &'a Post,
    /// How much may wait for a client.
    pub settings: &'a Settings,
    /// When it is sent.
    pub now: UnixMillis,
}

impl Sender<'_> {
    /// The client whose batch it is; 0 for nobody's.
    pub fn id(self) -> u64 {
        self.post.sender.get()
    }

    /// Sends a message, encoded in the client's protocol, to be sent between its replies. A client that lets too much wait is cut off.
    pub fn deliver(self, to: &Arc<Client>, message: &Output) {
        let is_own = to.id == self.id();
        if to.put(message, self.settings.output_limit(to.has(Client::PUBSUB)), self.now, !is_own) {
            self.post.noted.borrow_mut().push(Arc::clone(to));
        }
        if is_own {
            self.post.has_own.set(true);
        }
    }
}
