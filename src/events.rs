//! What happens to keys, told to those whom it concerns: who watches them, and who has subscribed to events. Must not look at keys.

use std::sync::atomic::Ordering;

use crate::clients::Sender;
use crate::settings::events::{BY_EVENT, BY_KEY, bit};
use crate::shared::Shared;
use crate::store::{Event, Key, Observer};

/// Tells of the changes that one batch makes.
#[derive(Debug)]
pub struct Events<'a> {
    shared: &'a Shared,
    sender: Sender<'a>,
}

impl<'a> Events<'a> {
    /// Of a batch on this server.
    pub fn new(shared: &'a Shared, sender: Sender<'a>) -> Self {
        Self { shared, sender }
    }

    /// Publishes an event on the channels that are asked for.
    fn publish(&self, classes: u64, db: usize, key: &[u8], name: &str) {
        if classes & BY_KEY != 0 {
            let channel = [format!("__keyspace@{db}__:").as_bytes(), key].concat();
            self.shared.pubsub.publish(&channel, name.as_bytes(), self.sender);
        }
        if classes & BY_EVENT != 0 {
            self.shared.pubsub.publish(format!("__keyevent@{db}__:{name}").as_bytes(), key, self.sender);
        }
    }
}

impl Observer for Events<'_> {
    fn is_curious(&self) -> bool {
        let events = self.shared.settings.events.load(Ordering::Relaxed);
        !self.shared.watched.is_empty() || !self.shared.tracking.is_empty() || (events != 0 && !self.shared.pubsub.is_idle())
    }

    #[cold]
    fn happened(&self, db: usize, key: Key<'_>, event: Event) {
        if event.is_change() {
            self.shared.watched.touch(db, key);
            // That a deadline passes is nobody's doing, whoever comes across it.
            let by = (event != Event::EXPIRED).then_some(self.sender.id());
            self.shared.tracking.invalidate(key, by, &self.shared.clients, self.sender);
        }
        let classes = self.shared.settings.events.load(Ordering::Relaxed);
        if classes & bit(event.class) != 0 {
            self.publish(classes, db, key.bytes(), event.name);
        }
    }
}
