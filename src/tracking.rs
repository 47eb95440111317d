//! Client-side caching: which clients may have kept the values of which keys, and how they are told that a key has changed.
//!
//! A client is entered for a key before it reads it, so that whoever changes the key afterwards finds it here. Must not look at keys.

mod keys;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::clients::{Client, Clients, Sender};
use crate::marks::Marks;
use crate::resp::{Encoded, Protocol, Reply};
use crate::store::Key;
use keys::{Keys, Taken};

/// What the clients of a server may have kept.
#[derive(Debug, Default)]
pub struct Tracking {
    table: Mutex<Table>,
    /// How many clients there are to be told, so that nobody pays when there is none.
    clients: AtomicUsize,
    /// Of the keys in the table.
    marks: Marks,
    /// How many prefixes there are.
    prefixes: AtomicUsize,
    /// Whether a prefix has changed keys that were not told.
    is_due: AtomicBool,
}

#[derive(Debug, Default)]
struct Table {
    keys: Keys,
    prefixes: BTreeMap<Box<[u8]>, Prefix>,
    clients: HashMap<u64, Tracker>,
}

/// Keys that are thrown out at one go when there are too many: a lower limit takes effect little by little.
const THROWN_OUT_MAX: usize = 100;

/// `BCAST`: keys that begin alike.
#[derive(Debug, Default)]
struct Prefix {
    ids: BTreeSet<u64>,
    /// What has changed since it was last told, and who changed it last.
    changed: BTreeMap<Box<[u8]>, Option<u64>>,
}

/// A client that is told.
#[derive(Debug)]
struct Tracker {
    client: Arc<Client>,
    how: How,
    prefixes: BTreeSet<Box<[u8]>>,
}

/// How a client is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct How {
    /// Which other client is told in its place.
    pub redirect: Option<u64>,
    /// It is not told what it has changed itself.
    pub noloop: bool,
}

/// How much there is in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Keys of which somebody may have kept the value.
    pub keys: usize,
    /// The same, a key counted once for each client.
    pub items: usize,
    /// Prefixes of `BCAST`.
    pub prefixes: usize,
}

impl Tracking {
    /// Whether there is nobody to be told.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.clients.load(Ordering::Relaxed) == 0
    }

    /// How many clients there are to be told.
    pub fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    /// Does something while nobody is told of anything.
    pub fn while_quiet(&self, f: impl FnOnce()) {
        let _quiet = self.table.lock();
        f();
    }

    /// How much there is in the table.
    pub fn totals(&self) -> Totals {
        let table = self.table.lock();
        Totals { keys: table.keys.len(), items: table.keys.items(), prefixes: table.prefixes.len() }
    }

    /// Has a client be told, or told in another way, and of the keys that begin with `prefixes`. Called while no batch is in the keyspace
    /// but the client's own, so that every other one knows of it.
    pub fn begin(&self, client: &Arc<Client>, how: How, prefixes: &[&[u8]]) {
        let mut table = self.table.lock();
        let Table { prefixes: all, clients, .. } = &mut *table;
        let tracker =
            clients.entry(client.id).or_insert_with(|| Tracker { client: Arc::clone(client), how, prefixes: BTreeSet::new() });
        tracker.how = how;
        for prefix in prefixes {
            tracker.prefixes.insert((*prefix).into());
            all.entry((*prefix).into()).or_default().ids.insert(client.id);
        }
        self.prefixes.store(all.len(), Ordering::Relaxed);
        client.set_flag(Client::TRACKING, true);
        client.set_flag(Client::BCAST, !tracker.prefixes.is_empty());
        client.set_flag(Client::BROKEN_REDIRECT, false);
        self.clients.store(clients.len(), Ordering::Relaxed);
    }

    /// Has a client be told no longer. What it has read stays in the table until it changes, or until nobody is left.
    pub fn end(&self, client: &Client) {
        if !client.has(Client::TRACKING) {
            return;
        }
        let mut table = self.table.lock();
        let Table { keys, prefixes: all, clients } = &mut *table;
        for prefix in clients.remove(&client.id).map(|tracker| tracker.prefixes).unwrap_or_default() {
            if let Some(found) = all.get_mut(&prefix) {
                found.ids.remove(&client.id);
                if found.ids.is_empty() {
                    all.remove(&prefix);
                }
            }
        }
        if clients.is_empty() {
            *keys = Keys::default();
            self.marks.clear();
        }
        self.prefixes.store(all.len(), Ordering::Relaxed);
        client.set_flag(Client::TRACKING | Client::BCAST | Client::BROKEN_REDIRECT, false);
        self.clients.store(clients.len(), Ordering::Relaxed);
    }

    /// Which other client is told in a client's place; `None` when it is not told at all.
    pub fn redirect(&self, client: &Client) -> Option<u64> {
        let table = self.table.lock();
        table.clients.get(&client.id).map(|tracker| tracker.how.redirect.unwrap_or(0))
    }

    /// The prefixes of which a client is told.
    pub fn prefixes(&self, client: &Client) -> Vec<Box<[u8]>> {
        let table = self.table.lock();
        table.clients.get(&client.id).map(|tracker| tracker.prefixes.iter().cloned().collect()).unwrap_or_default()
    }

    /// A client is about to read a key. When more than `keys_max` of them are in the table, others are told as if they had changed.
    pub fn remember(&self, key: Key<'_>, keys_max: usize, clients: &Clients, sender: Sender<'_>) {
        let mut table = self.table.lock();
        let id = sender.id();
        let Table { keys, clients: trackers, .. } = &mut *table;
        if keys.add(key, id, |id| trackers.contains_key(&id)) {
            self.marks.add(key.hash());
        }
        for _ in 0..THROWN_OUT_MAX {
            if keys_max == 0 || table.keys.len() <= keys_max {
                break;
            }
            if let Some(taken) = table.keys.take_any() {
                self.forget(&table, &taken, None, clients, sender);
            }
        }
    }

    /// A key has changed. The client with the id `by` has changed it, if any has.
    #[inline]
    pub fn invalidate(&self, key: Key<'_>, by: Option<u64>, clients: &Clients, sender: Sender<'_>) {
        // Whoever reads the key's old value was entered before, and is seen here: the lock of the key's shard lies between.
        if self.marks.has(key.hash()) || self.prefixes.load(Ordering::Relaxed) > 0 {
            self.invalidate_now(key, by, clients, sender);
        }
    }

    fn invalidate_now(&self, key: Key<'_>, by: Option<u64>, clients: &Clients, sender: Sender<'_>) {
        let mut table = self.table.lock();
        if let Some(taken) = table.keys.take(key.bytes()) {
            self.forget(&table, &taken, by, clients, sender);
        }
        for (_, prefix) in table.prefixes.iter_mut().filter(|(prefix, _)| key.bytes().starts_with(prefix)) {
            prefix.changed.insert(key.bytes().into(), by);
            self.is_due.store(true, Ordering::Relaxed);
        }
    }

    /// Tells those who may have kept the value of a key that has left the table.
    fn forget(&self, table: &Table, taken: &Taken, by: Option<u64>, clients: &Clients, sender: Sender<'_>) {
        self.marks.remove(taken.hash);
        let names = [&*taken.name];
        let mut message = Encoded::new(|reply| push(reply, Some(&names)));
        for tracker in taken.ids.iter().filter_map(|id| table.clients.get(id)) {
            // A client that goes over to BCAST is told of what begins so, read or not.
            let is_own = tracker.how.noloop && by == Some(tracker.client.id);
            if !is_own && tracker.prefixes.is_empty() {
                tracker.tell(&mut message, clients, sender);
            }
        }
    }

    /// All keys of a database are gone, or of all databases. Whoever is told so forgets all that it has read, of any database.
    pub fn flush(&self, clients: &Clients, sender: Sender<'_>) {
        if self.is_empty() {
            return;
        }
        let mut table = self.table.lock();
        let mut message = Encoded::new(|reply| push(reply, None));
        table.clients.values().for_each(|tracker| tracker.tell(&mut message, clients, sender));
        table.keys = Keys::default();
        self.marks.clear();
    }

    /// Whether keys have changed whose prefixes have not been told.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Relaxed)
    }

    /// Tells of the keys that have changed by their prefixes: one message for each client and prefix. Called when a batch is over.
    pub fn broadcast(&self, clients: &Clients, sender: Sender<'_>) {
        self.is_due.store(false, Ordering::Relaxed);
        let mut table = self.table.lock();
        let Table { prefixes, clients: trackers, .. } = &mut *table;
        for prefix in prefixes.values_mut().filter(|prefix| !prefix.changed.is_empty()) {
            let changed = std::mem::take(&mut prefix.changed);
            let all: Vec<&[u8]> = changed.keys().map(|key| &**key).collect();
            let mut message = Encoded::new(|reply| push(reply, Some(&all)));
            for tracker in prefix.ids.iter().filter_map(|id| trackers.get(id)) {
                let id = tracker.client.id;
                if !tracker.how.noloop || changed.values().all(|by| *by != Some(id)) {
                    tracker.tell(&mut message, clients, sender);
                    continue;
                }
                let others: Vec<&[u8]> = changed.iter().filter(|(_, by)| **by != Some(id)).map(|(key, _)| &**key).collect();
                if !others.is_empty() {
                    tracker.tell(&mut Encoded::new(|reply| push(reply, Some(&others))), clients, sender);
                }
            }
        }
    }
}

impl Tracker {
    /// Sends a message to the client, or to the one that is told in its place, if that one can be told.
    fn tell<F: Fn(&mut Reply<'_>)>(&self, message: &mut Encoded<F>, clients: &Clients, sender: Sender<'_>) {
        let Some(id) = self.how.redirect else {
            if self.client.protocol() == Protocol::Resp3 {
                sender.deliver(&self.client, message.in_protocol(Protocol::Resp3));
            }
            return;
        };
        match clients.get(id) {
            Some(other) if other.protocol() == Protocol::Resp3 || other.has(Client::PUBSUB) => {
                sender.deliver(&other, message.in_protocol(other.protocol()));
            }
            Some(_) => {}
            None => self.break_off(id, sender),
        }
    }

    /// The one that was told in its place is gone. In RESP3 it can be told that.
    fn break_off(&self, id: u64, sender: Sender<'_>) {
        self.client.set_flag(Client::BROKEN_REDIRECT, true);
        if self.client.protocol() == Protocol::Resp3 {
            let mut message = Encoded::new(|reply| {
                reply.push(2);
                reply.bulk("tracking-redir-broken");
                reply.natural(id);
            });
            sender.deliver(&self.client, message.in_protocol(Protocol::Resp3));
        }
    }
}

/// The keys that have changed, or all of them.
fn push(reply: &mut Reply<'_>, keys: Option<&[&[u8]]>) {
    match reply.protocol() {
        Protocol::Resp2 => {
            reply.push(3);
            reply.bulk("message");
            reply.bulk("__redis__:invalidate");
        }
        Protocol::Resp3 => {
            reply.push(2);
            reply.bulk("invalidate");
        }
    }
    match keys {
        Some(keys) => {
            reply.array(keys.len());
            keys.iter().for_each(|key| reply.bulk(key));
        }
        None => reply.null(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::Post;
    use crate::clock::UnixMillis;
    use crate::resp::Output;
    use crate::settings::Settings;

    /// A server's clients, and a batch of whoever it is.
    struct Stage {
        tracking: Tracking,
        clients: Clients,
        settings: Settings,
        post: Post,
    }

    impl Stage {
        fn new() -> Self {
            Self {
                tracking: Tracking::default(),
                clients: Clients::default(),
                settings: Settings::default(),
                post: Post::default(),
            }
        }

        /// A client that speaks RESP3 and is told as `how` says.
        fn begin(&self, how: How, prefixes: &[&[u8]]) -> Arc<Client> {
            let client = self.clients.add(String::new(), String::new(), 0, UnixMillis(0));
            client.protocol.store(3, Ordering::Relaxed);
            self.tracking.begin(&client, how, prefixes);
            client
        }

        fn sender(&self, id: u64) -> Sender<'_> {
            self.post.begin(id);
            Sender { post: &self.post, settings: &self.settings, now: UnixMillis(1) }
        }

        fn read(&self, client: &Client, key: &str, keys_max: usize) {
            self.tracking.remember(Key::with_hash(key.as_bytes(), 7), keys_max, &self.clients, self.sender(client.id));
        }

        fn change(&self, key: &str, by: Option<u64>) {
            let sender = self.sender(by.unwrap_or(0));
            self.tracking.invalidate(Key::with_hash(key.as_bytes(), 7), by, &self.clients, sender);
        }

        /// How often a client has been told since this was last asked.
        fn told(client: &Client) -> usize {
            let mut heard = Output::default();
            client.collect(&mut heard);
            String::from_utf8_lossy(&Vec::from(heard)).matches("invalidate").count()
        }
    }

    #[test]
    fn who_has_read_a_key_is_told_once_unless_the_change_is_its_own() {
        let stage = Stage::new();
        let one = stage.begin(How::default(), &[]);
        let silent = stage.begin(How { noloop: true, ..How::default() }, &[]);
        for client in [&one, &silent, &one] {
            stage.read(client, "k", 0);
        }
        assert_eq!(stage.tracking.totals(), Totals { keys: 1, items: 2, prefixes: 0 });
        stage.change("other", None);
        stage.change("k", Some(silent.id));
        stage.change("k", None);
        assert_eq!([&one, &silent].map(|client| Stage::told(client)), [1, 0]);
        stage.read(&silent, "k", 0);
        stage.change("k", None);
        assert_eq!(Stage::told(&silent), 1, "a deadline that passes is nobody's doing");
    }

    #[test]
    fn the_table_is_bounded_and_ends_with_the_last_client() {
        let stage = Stage::new();
        let [one, other] = [(); 2].map(|()| stage.begin(How::default(), &[]));
        (0..10).for_each(|number| stage.read(&one, &number.to_string(), 3));
        assert_eq!((stage.tracking.totals().keys, Stage::told(&one)), (3, 7), "what does not stay is told");
        stage.tracking.end(&one);
        // Chance has chosen which three are left.
        (0..10).for_each(|number| stage.change(&number.to_string(), None));
        assert_eq!((Stage::told(&one), stage.tracking.totals().keys), (0, 0));
        stage.read(&other, "k", 3);
        stage.tracking.end(&other);
        assert!(stage.tracking.is_empty() && stage.tracking.totals() == Totals::default() && !stage.tracking.marks.has(7));
    }

    #[test]
    fn prefixes_are_told_once_a_batch() {
        let stage = Stage::new();
        let client = stage.begin(How { noloop: true, ..How::default() }, &[b"a", b"b"]);
        for (key, by) in [("a1", None), ("a2", Some(client.id)), ("a1", None), ("b1", Some(client.id)), ("c", None)] {
            stage.change(key, by);
        }
        assert!(stage.tracking.is_due());
        stage.tracking.broadcast(&stage.clients, stage.sender(0));
        let mut heard = Output::default();
        client.collect(&mut heard);
        assert_eq!(String::from_utf8_lossy(&Vec::from(heard)), ">2\r\n$10\r\ninvalidate\r\n*1\r\n$2\r\na1\r\n");
        stage.tracking.broadcast(&stage.clients, stage.sender(0));
        assert!(!stage.tracking.is_due() && Stage::told(&client) == 0);
        stage.tracking.end(&client);
        assert_eq!(stage.tracking.totals(), Totals::default());
    }
}
