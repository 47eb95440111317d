//! The keys that clients watch: `WATCH`. Who watches a key is marked when something happens to it, and its EXEC then does nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::clients::Client;
use crate::marks::Marks;
use crate::store::Key;

/// Who watches which keys.
#[derive(Debug, Default)]
pub struct Watched {
    /// By key: the numbers of the databases in which it is watched, and who does.
    keys: Mutex<HashMap<Box<[u8]>, Vec<Watcher>>>,
    /// How often a key is watched, so that nobody pays when none is.
    count: AtomicUsize,
    /// Of the keys.
    marks: Marks,
}

/// The number of a database, and who watches a key of it.
type Watcher = (usize, Arc<Client>);

impl Watched {
    /// Whether no key is watched.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Marks `client` from here on when something happens to `key` of the database with the number `db`. Called while no batch is in
    /// the keyspace but the client's own, so that every other one knows of it.
    pub fn watch(&self, db: usize, key: Key<'_>, client: &Arc<Client>) {
        self.keys.lock().entry(key.bytes().into()).or_default().push((db, Arc::clone(client)));
        self.marks.add(key.hash());
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes back one [`Self::watch`].
    pub fn unwatch(&self, db: usize, key: Key<'_>, client: &Client) {
        let mut keys = self.keys.lock();
        let Some(watching) = keys.get_mut(key.bytes()) else { return };
        let Some(place) = watching.iter().position(|(index, other)| *index == db && other.id == client.id) else { return };
        watching.swap_remove(place);
        if watching.is_empty() {
            keys.remove(key.bytes());
        }
        self.marks.remove(key.hash());
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many clients watch, and how many keys are watched, a key in each database counted for itself.
    pub fn totals(&self) -> (usize, usize) {
        let keys = self.keys.lock();
        let clients: HashSet<_> = keys.values().flatten().map(|(_, client)| client.id).collect();
        let databases = |watching: &Vec<Watcher>| watching.iter().map(|(db, _)| *db).collect::<HashSet<_>>().len();
        (clients.len(), keys.values().map(databases).sum())
    }

    /// Something happened to a key.
    #[inline]
    pub fn touch(&self, db: usize, key: Key<'_>) {
        if self.marks.has(key.hash())
            && let Some(watching) = self.keys.lock().get(key.bytes())
        {
            watching.iter().filter(|(index, _)| *index == db).for_each(|(_, client)| client.set_flag(Client::STALE, true));
        }
    }

    /// Something happened to a whole database: to the keys for which `is_concerned` says so.
    pub fn touch_all(&self, db: usize, is_concerned: impl Fn(&[u8]) -> bool) {
        if self.is_empty() {
            return;
        }
        for (key, watching) in self.keys.lock().iter() {
            let mut here = watching.iter().filter(|(index, _)| *index == db).peekable();
            if here.peek().is_some() && is_concerned(key) {
                here.for_each(|(_, client)| client.set_flag(Client::STALE, true));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::Clients;
    use crate::clock::UnixMillis;

    #[test]
    fn a_watcher_is_marked_by_what_happens_to_its_key_and_by_nothing_else() {
        let clients = Clients::default();
        let new = || clients.add(String::new(), String::new(), 0, UnixMillis(0));
        let (one, other) = (new(), new());
        let watched = Watched::default();
        // The same mark for both, so that it does not decide.
        let (a, b) = (Key::with_hash(b"a", 5), Key::with_hash(b"b", 5));
        watched.watch(0, a, &one);
        watched.watch(1, a, &other);
        assert_eq!(watched.totals(), (2, 2));
        watched.watch(0, b, &one);
        assert_eq!(watched.totals(), (2, 3), "a client that watches two keys");
        watched.unwatch(0, b, &one);
        watched.touch(0, b);
        assert!(![&one, &other].iter().any(|client| client.has(Client::STALE)), "another key");
        watched.touch(1, a);
        assert_eq!([&one, &other].map(|client| client.has(Client::STALE)), [false, true]);
        watched.touch_all(0, |key| key == b"b");
        assert!(!one.has(Client::STALE), "its key is not concerned");
        watched.touch_all(0, |key| key == b"a");
        assert!(one.has(Client::STALE));
        one.set_flag(Client::STALE, false);
        watched.unwatch(0, a, &one);
        watched.touch(0, a);
        assert!(!one.has(Client::STALE) && !watched.is_empty());
        watched.unwatch(1, a, &other);
        assert!(watched.is_empty() && watched.keys.lock().is_empty());
    }
}
