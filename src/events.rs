//! What happens to keys, told to whom it concerns: who watches them, and who has subscribed to events. Must not look at keys.

use crate::shared::Shared;
use crate::store::{Event, Key, Observer};

/// Tells of the changes that one batch makes.
#[derive(Debug)]
pub struct Events<'a> {
    shared: &'a Shared,
}

impl<'a> Events<'a> {
    /// Of a batch on this server.
    pub fn new(shared: &'a Shared) -> Self {
        Self { shared }
    }
}

impl Observer for Events<'_> {
    fn is_curious(&self) -> bool {
        !self.shared.watched.is_empty()
    }

    #[cold]
    fn happened(&self, db: usize, key: Key<'_>, event: Event) {
        if event.is_change() {
            self.shared.watched.touch(db, key);
        }
    }
}
