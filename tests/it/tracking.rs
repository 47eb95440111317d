//! Clients that cache while others write: what a cache holds at rest is what the server holds.
//!
//! A reader keeps a map of what it has read, and takes out of it what it is told to forget, while a writer on another thread changes the
//! keys. Every few changes the writer rests; then every value in the map must be the server's.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use redlet::Config;
use redlet::internals::{Conversation, Output, Shared, Then, Worker};

use crate::frame;
use crate::linear::model::Dice;
use crate::reply::{Kind, Reply};

const SEED: u64 = 20_260_201;
const KEYS: usize = 12;
const ROUNDS: usize = 2000;
/// Changes from one rest to the next. The reader reads as long as the writer writes, and as often.
const STEPS: usize = 5;

/// Where the writer and the reader meet.
struct Stage {
    shared: Arc<Shared>,
    /// How often one of them has come.
    arrived: AtomicUsize,
}

impl Stage {
    /// Waits until both have come. Waits without sleeping, since who is woken late meets nobody.
    fn meet(&self, arrivals: usize) {
        self.arrived.fetch_add(1, Ordering::SeqCst);
        let begun = Instant::now();
        while self.arrived.load(Ordering::SeqCst) < arrivals {
            assert!(begun.elapsed() < Duration::from_secs(60), "the other one has failed");
            std::thread::yield_now();
        }
    }
}

/// How a reader caches: what it says at first, and what it says around each read.
struct Mode {
    begin: &'static str,
    before: &'static str,
    after: &'static str,
    /// The replies that come before the one of the read, and behind it.
    replies: (usize, usize),
    /// Whether it writes as well. What it has written itself it takes out of its map by itself.
    writes: bool,
}

const MODES: &[Mode] = &[
    Mode { begin: "CLIENT TRACKING ON", before: "", after: "", replies: (0, 0), writes: false },
    Mode {
        begin: "CLIENT TRACKING ON OPTIN",
        before: "CLIENT CACHING YES\r\nMULTI\r\n",
        after: "EXEC\r\n",
        replies: (3, 0),
        writes: false,
    },
    Mode { begin: "CLIENT TRACKING ON NOLOOP", before: "", after: "PING\r\n", replies: (0, 1), writes: true },
    Mode { begin: "CLIENT TRACKING ON BCAST PREFIX key:", before: "", after: "", replies: (0, 0), writes: false },
];

/// A client without a socket, with the map of one that caches.
struct Caching {
    shared: Arc<Shared>,
    conversation: Conversation,
    worker: Worker,
    heard: VecDeque<Reply>,
    map: HashMap<Vec<u8>, Reply>,
    /// How often it was told to forget something.
    told: usize,
}

impl Caching {
    fn new(shared: &Arc<Shared>) -> Self {
        let conversation = Conversation::begin(shared, "127.0.0.1:1".to_owned(), "127.0.0.1:2".to_owned(), 0);
        let mut client = Self {
            shared: Arc::clone(shared),
            conversation: conversation.expect("there is room"),
            worker: Worker::new(shared),
            heard: VecDeque::new(),
            map: HashMap::new(),
            told: 0,
        };
        client.say("HELLO 3\r\n");
        client.hear();
        client
    }

    /// Has requests answered. What others have left comes behind the answers, as a socket would send it.
    fn say(&mut self, requests: &str) {
        let mut out = Output::default();
        let fed = self.conversation.feed(requests.as_bytes(), &mut self.worker, &self.shared, self.shared.clock.now(), &mut out);
        assert_eq!((fed.consumed, fed.then), (requests.len(), Then::Read));
        self.conversation.session().client.collect(&mut out);
        let heard = Vec::from(out);
        let mut rest = heard.as_slice();
        while let Some((length, reply)) = frame::decode(rest).expect("what the server says can be read") {
            self.heard.push_back(reply);
            rest = &rest[length..];
        }
        assert!(rest.is_empty(), "the server says nothing by halves");
    }

    /// The next reply. What it is told before is heeded.
    fn hear(&mut self) -> Reply {
        loop {
            match self.heard.pop_front().expect("every request is answered") {
                Reply::Aggregate { kind: Kind::Push, items, .. } => self.forget(&items),
                reply => return reply,
            }
        }
    }

    fn forget(&mut self, push: &[Reply]) {
        self.told += 1;
        match push {
            [Reply::Bulk(word), Reply::Nil] if word == b"invalidate" => self.map.clear(),
            [Reply::Bulk(word), Reply::Aggregate { items, .. }] if word == b"invalidate" => items.iter().for_each(|key| {
                let Reply::Bulk(key) = key else { panic!("{key:?} is no key") };
                self.map.remove(key);
            }),
            push => panic!("{push:?}"),
        }
    }

    /// Reads a key, unless it is in the map already.
    fn read(&mut self, key: &str, mode: &Mode) {
        if self.map.contains_key(key.as_bytes()) {
            return;
        }
        self.say(&format!("{}GET {key}\r\n{}", mode.before, mode.after));
        (0..mode.replies.0).for_each(|_| drop(self.hear()));
        let found = match self.hear() {
            Reply::Aggregate { kind: Kind::Array, items, .. } => items.into_iter().next().expect("one was read"),
            found => found,
        };
        self.map.insert(key.as_bytes().to_vec(), found);
        (0..mode.replies.1).for_each(|_| drop(self.hear()));
    }

    /// Hears all that it has been told so far.
    fn catch_up(&mut self) {
        self.say("PING\r\n");
        assert_eq!(self.hear(), Reply::Simple(b"PONG".to_vec()));
        while let Some(heard) = self.heard.pop_front() {
            let Reply::Aggregate { kind: Kind::Push, items, .. } = heard else { panic!("{heard:?} without a request") };
            self.forget(&items);
        }
    }
}

impl Drop for Caching {
    fn drop(&mut self) {
        self.conversation.end(&self.shared);
    }
}

fn key(dice: &mut Dice) -> String {
    format!("key:{}", dice.below(KEYS))
}

/// A change, or several, and how many replies it has.
fn change(dice: &mut Dice) -> (String, usize) {
    let (one, other, value) = (key(dice), key(dice), dice.below(1_000_000));
    match dice.below(40) {
        0 => ("FLUSHALL\r\n".to_owned(), 1),
        1..4 => (format!("DEL {one} {other}\r\n"), 1),
        4..8 => (format!("MSET {one} {value} {other} {value}\r\n"), 1),
        8..12 => (format!("SET {one} {value} PX {}\r\n", 1 + dice.below(3)), 1),
        12..15 => (format!("MULTI\r\nSET {one} {value}\r\nINCR {other}\r\nEXEC\r\n"), 4),
        15..18 => (format!("SET {one} {value}\r\nAPPEND {other} x\r\nGETDEL {one}\r\n"), 3),
        18..20 => (format!("COPY {one} {other} REPLACE\r\n"), 1),
        _ => (format!("SET {one} {value}\r\n"), 1),
    }
}

fn write(stage: &Stage) {
    let mut connection = Caching::new(&stage.shared);
    let mut dice = Dice(SEED);
    for round in 0..ROUNDS {
        stage.meet(4 * round + 2);
        for _ in 0..STEPS {
            let (requests, replies) = change(&mut dice);
            connection.say(&requests);
            (0..replies).for_each(|_| drop(connection.hear()));
        }
        stage.meet(4 * round + 4);
    }
}

/// What it held at rest that was not there.
fn cache(stage: &Stage, mode: &Mode) -> Vec<String> {
    let (mut reader, mut judge) = (Caching::new(&stage.shared), Caching::new(&stage.shared));
    reader.say(&format!("{}\r\n", mode.begin));
    assert_eq!(reader.hear(), Reply::Simple(b"OK".to_vec()));
    let mut dice = Dice(SEED + 1);
    let (mut compared, mut wrong) = (0, Vec::new());
    for round in 0..ROUNDS {
        stage.meet(4 * round + 2);
        for step in 0.. {
            if step >= STEPS && stage.arrived.load(Ordering::SeqCst) > 4 * round + 2 {
                break;
            }
            if mode.writes && dice.below(20) == 0 {
                let key = key(&mut dice);
                reader.say(&format!("SET {key} own\r\n"));
                reader.hear();
                reader.map.remove(key.as_bytes());
            }
            reader.read(&key(&mut dice), mode);
            reader.catch_up();
        }
        reader.catch_up();
        for (key, cached) in reader.map.clone() {
            judge.say(&format!("GET {}\r\n", String::from_utf8_lossy(&key)));
            let there = judge.hear();
            // Its deadline may have passed in this moment. Then the judge has removed it, and the reader is told.
            reader.catch_up();
            if cached != there && reader.map.contains_key(&key) {
                wrong.push(format!("round {round}: {cached:?} for {there:?}"));
            }
            compared += 1;
        }
        stage.meet(4 * round + 4);
    }
    // A test in which nothing is cached, or nothing is told, shows nothing.
    assert!(compared > ROUNDS && reader.told > ROUNDS / 4, "{compared} values compared, told {} times", reader.told);
    wrong
}

#[test]
fn what_is_cached_at_rest_is_what_is_there() {
    for mode in MODES {
        let shared = Arc::new(Shared::new(Config::default()).expect("a configuration without parameters"));
        let stage = Stage { shared, arrived: AtomicUsize::new(0) };
        let wrong = std::thread::scope(|scope| {
            scope.spawn(|| write(&stage));
            cache(&stage, mode)
        });
        assert!(wrong.is_empty(), "{}: {wrong:#?}", mode.begin);
        // Nobody caches any more, and nothing is left.
        let mut asking = Caching::new(&stage.shared);
        asking.say("INFO clients stats\r\n");
        let (Reply::Verbatim(_, text) | Reply::Bulk(text)) = asking.hear() else { panic!("INFO answers with a text") };
        let text = String::from_utf8_lossy(&text);
        for name in ["tracking_clients", "tracking_total_keys", "tracking_total_items", "tracking_total_prefixes"] {
            assert!(text.contains(&format!("{name}:0\r\n")), "{name}: {text}");
        }
    }
}
