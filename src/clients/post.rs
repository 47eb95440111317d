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
    /// Bytes that any one receiver has been sent at the most since the batch began.
    sent_bytes: Cell<usize>,
    /// Who is to be woken.
    noted: RefCell<Vec<Arc<Client>>>,
}

/// Receivers noted without a new piece of memory.
const NOTED_KEPT: usize = 1024;

impl Post {
    /// Begins a batch of the client with this id.
    pub fn begin(&self, sender: u64) {
        self.sender.set(sender);
        self.sent_bytes.set(0);
        self.has_own.set(false);
    }

    /// Bytes that any one receiver has been sent at the most since the batch began. Who runs much at one go without a look at this fills
    /// mailboxes that their owners would have emptied.
    #[inline]
    pub fn sent_bytes(&self) -> usize {
        self.sent_bytes.get()
    }

    /// Has the sender collect what is in its mailbox behind the reply to the request.
    pub fn keep_own(&self) {
        self.has_own.set(true);
    }

    /// Whether it is to, once for each time that it has been sent something.
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

    /// Notes that a message of so many bytes is sent, to however many.
    pub fn count(self, bytes: usize) {
        self.post.sent_bytes.set(self.post.sent_bytes().saturating_add(bytes));
    }

    /// Sends a message, encoded in the client's protocol, to be sent between its replies. A client that lets too much wait is cut off.
    pub fn deliver(self, to: &Arc<Client>, message: &Output) {
        let is_own = to.id == self.id();
        if is_own {
            self.post.keep_own();
        }
        if to.put(message, self.settings.output_limit(to.has(Client::PUBSUB)), self.now, !is_own) {
            self.post.noted.borrow_mut().push(Arc::clone(to));
        }
    }
}
