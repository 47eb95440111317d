//! Who has subscribed to what, and the messages that they are sent. Must not do I/O; waits for no subscriber.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::clients::{Client, Sender};
use crate::glob::{self, Case};
use crate::resp::{Encoded, Reply};

/// What one can subscribe to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A channel.
    Channel,
    /// All channels that match a pattern.
    Pattern,
    /// A channel that belongs to a slot of a cluster.
    Shard,
}

impl Kind {
    /// Whether it is counted together with `other` when a client is told how much it has subscribed to.
    fn counts_with(self, other: Self) -> bool {
        (self == Self::Shard) == (other == Self::Shard)
    }

    const ALL: [Self; 3] = [Self::Channel, Self::Pattern, Self::Shard];
}

/// The subscriptions of a server.
#[derive(Debug, Default)]
pub struct PubSub {
    registry: Mutex<Registry>,
    /// How many clients have subscribed to something, so that nobody pays when none has.
    subscribers: AtomicUsize,
}

/// One lock for all of it: every subscriber gets the messages of all publishers in the same order, as in Redis.
#[derive(Debug, Default)]
struct Registry {
    /// By kind, then by name. In the order of names, so that a message comes to patterns in the same order each time.
    topics: [BTreeMap<Arc<[u8]>, Subscribers>; 3],
    clients: HashMap<u64, Subscriptions>,
}

/// In the order in which they connected.
type Subscribers = BTreeMap<u64, Arc<Client>>;

/// What one client has subscribed to, by kind.
type Subscriptions = [BTreeSet<Arc<[u8]>>; 3];

impl PubSub {
    /// Whether nobody has subscribed to anything.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.subscribers.load(Ordering::Relaxed) == 0
    }

    /// Has a client hear of `name`. Returns how many subscriptions it has that count together.
    pub fn subscribe(&self, kind: Kind, name: &[u8], client: &Arc<Client>) -> usize {
        let mut registry = self.registry.lock();
        let Registry { topics, clients } = &mut *registry;
        let topics = &mut topics[kind as usize];
        let name = topics.get_key_value(name).map_or_else(|| name.into(), |(name, _)| Arc::clone(name));
        topics.entry(Arc::clone(&name)).or_default().insert(client.id, Arc::clone(client));
        let own = clients.entry(client.id).or_default();
        own[kind as usize].insert(name);
        client.set_flag(Client::PUBSUB, true);
        let count = counted(own, kind);
        self.subscribers.store(clients.len(), Ordering::Relaxed);
        count
    }

    /// Has a client hear of `name` no longer. Returns how many subscriptions it has left that count together.
    pub fn unsubscribe(&self, kind: Kind, name: &[u8], client: &Client) -> usize {
        let mut registry = self.registry.lock();
        let Registry { topics, clients } = &mut *registry;
        let Some(own) = clients.get_mut(&client.id) else { return 0 };
        if own[kind as usize].remove(name) {
            leave(&mut topics[kind as usize], name, client.id);
        }
        let count = counted(own, kind);
        if own.iter().all(BTreeSet::is_empty) {
            clients.remove(&client.id);
            client.set_flag(Client::PUBSUB, false);
        }
        self.subscribers.store(clients.len(), Ordering::Relaxed);
        count
    }

    /// Has a client hear of nothing.
    pub fn forget(&self, client: &Client) {
        if !client.has(Client::PUBSUB) {
            return;
        }
        let mut registry = self.registry.lock();
        let Registry { topics, clients } = &mut *registry;
        let own = clients.remove(&client.id).unwrap_or_default();
        for (topics, names) in topics.iter_mut().zip(own) {
            names.iter().for_each(|name| leave(topics, name, client.id));
        }
        client.set_flag(Client::PUBSUB, false);
        self.subscribers.store(clients.len(), Ordering::Relaxed);
    }

    /// Does something while nobody publishes: what was published before is in the mailboxes, and what is published afterwards sees all that
    /// was changed.
    pub fn while_quiet(&self, f: impl FnOnce()) {
        let _quiet = self.registry.lock();
        f();
    }

    /// What a client has subscribed to.
    pub fn subscriptions(&self, kind: Kind, client: &Client) -> Vec<Arc<[u8]>> {
        let registry = self.registry.lock();
        registry.clients.get(&client.id).map(|own| own[kind as usize].iter().cloned().collect()).unwrap_or_default()
    }

    /// How many channels, patterns and shard channels a client has subscribed to.
    pub fn counts(&self, client: &Client) -> [usize; 3] {
        let registry = self.registry.lock();
        registry.clients.get(&client.id).map_or([0; 3], |own| Kind::ALL.map(|kind| own[kind as usize].len()))
    }

    /// Sends a message to those who have subscribed to the channel, and to patterns that it matches. To how many.
    pub fn publish(&self, channel: &[u8], message: &[u8], sender: Sender<'_>) -> usize {
        if self.is_idle() {
            return 0;
        }
        let registry = self.registry.lock();
        let body = Body::new(message);
        let [channels, patterns, _] = &registry.topics;
        let mut count = channels.get(channel).map_or(0, |to| send(to, sender, |reply| body.push(reply, &[b"message", channel])));
        for (pattern, to) in patterns.iter().filter(|(pattern, _)| glob::matches(pattern, channel, Case::Sensitive)) {
            count += send(to, sender, |reply| body.push(reply, &[b"pmessage", pattern, channel]));
        }
        count
    }

    /// Sends a message to those who have subscribed to the shard channel. To how many.
    pub fn publish_to_shard(&self, channel: &[u8], message: &[u8], sender: Sender<'_>) -> usize {
        if self.is_idle() {
            return 0;
        }
        let registry = self.registry.lock();
        let to = registry.topics[Kind::Shard as usize].get(channel);
        to.map_or(0, |to| send(to, sender, |reply| Body::new(message).push(reply, &[b"smessage", channel])))
    }

    /// The names to which somebody has subscribed, and that match `pattern` if there is one.
    pub fn names(&self, kind: Kind, pattern: Option<&[u8]>) -> Vec<Arc<[u8]>> {
        let registry = self.registry.lock();
        let names = registry.topics[kind as usize].keys();
        names.filter(|name| pattern.is_none_or(|pattern| glob::matches(pattern, name, Case::Sensitive))).cloned().collect()
    }

    /// How many names there are to which somebody has subscribed.
    pub fn len(&self, kind: Kind) -> usize {
        self.registry.lock().topics[kind as usize].len()
    }

    /// How many have subscribed to `name`.
    pub fn subscribers(&self, kind: Kind, name: &[u8]) -> usize {
        self.registry.lock().topics[kind as usize].get(name).map_or(0, BTreeMap::len)
    }

    /// How many clients have subscribed to something.
    pub fn clients(&self) -> usize {
        self.subscribers.load(Ordering::Relaxed)
    }
}

fn counted(own: &Subscriptions, kind: Kind) -> usize {
    Kind::ALL.into_iter().filter(|other| kind.counts_with(*other)).map(|other| own[other as usize].len()).sum()
}

fn leave(topics: &mut BTreeMap<Arc<[u8]>, Subscribers>, name: &[u8], id: u64) {
    if let Some(subscribers) = topics.get_mut(name) {
        subscribers.remove(&id);
        if subscribers.is_empty() {
            topics.remove(name);
        }
    }
}

/// Sends one push to all of them. It is encoded once for each protocol, however many they are.
fn send(to: &Subscribers, sender: Sender<'_>, push: impl Fn(&mut Reply<'_>)) -> usize {
    let mut encoded = Encoded::new(push);
    let mut longest = 0;
    for client in to.values() {
        let message = encoded.in_protocol(client.protocol());
        longest = longest.max(message.len());
        sender.deliver(client, message);
    }
    sender.count(longest);
    to.len()
}

/// What is published: copied into each mailbox when it is small, shared by all of them when it is large.
enum Body<'a> {
    Small(&'a [u8]),
    Large(Bytes),
}

impl<'a> Body<'a> {
    fn new(message: &'a [u8]) -> Self {
        /// From here on a message takes more time to copy than to count references of.
        const LARGE_BYTES: usize = 16 * 1024;
        if message.len() < LARGE_BYTES { Self::Small(message) } else { Self::Large(Bytes::copy_from_slice(message)) }
    }

    fn push(&self, reply: &mut Reply<'_>, words: &[&[u8]]) {
        reply.push(words.len() + 1);
        words.iter().for_each(|word| reply.bulk(word));
        match self {
            Self::Small(message) => reply.bulk(message),
            Self::Large(message) => reply.shared(message.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::Clients;
    use crate::clock::UnixMillis;

    #[test]
    fn both_directions_agree_until_nobody_is_left() {
        let (clients, pubsub) = (Clients::default(), PubSub::default());
        let [one, other] = [(); 2].map(|()| clients.add(String::new(), String::new(), 0, UnixMillis(0)));
        assert_eq!(pubsub.subscribe(Kind::Channel, b"a", &one), 1);
        assert_eq!(pubsub.subscribe(Kind::Channel, b"a", &one), 1, "twice is once");
        assert_eq!(pubsub.subscribe(Kind::Pattern, b"a*", &one), 2, "channels and patterns are counted together");
        assert_eq!(pubsub.subscribe(Kind::Shard, b"a", &one), 1, "shard channels apart");
        assert_eq!(pubsub.subscribe(Kind::Channel, b"a", &other), 1);
        assert_eq!((pubsub.subscribers(Kind::Channel, b"a"), pubsub.subscribers(Kind::Shard, b"a"), pubsub.clients()), (2, 1, 2));
        assert_eq!((pubsub.counts(&one), pubsub.counts(&other)), ([1, 1, 1], [1, 0, 0]));
        assert_eq!(pubsub.unsubscribe(Kind::Channel, b"never", &other), 1);
        assert_eq!(pubsub.unsubscribe(Kind::Channel, b"a", &other), 0);
        assert!(!other.has(Client::PUBSUB) && one.has(Client::PUBSUB));
        pubsub.forget(&one);
        pubsub.forget(&one);
        assert!(pubsub.is_idle() && Kind::ALL.iter().all(|kind| pubsub.len(*kind) == 0) && !one.has(Client::PUBSUB));
    }
}
