//! A conversation without a socket over a keyspace of its own: what the micro benches and the test of allocations feed.
//! Must not measure anything itself.

use redlet::Config;
use redlet::internals::{Conversation, Fed, Shared, Then, Worker};

/// Shards of each database: as many as the binary has.
const SHARDS: usize = 256;
/// Requests of a batch, as `redis-benchmark -P 100` sends them.
pub(crate) const BATCH: usize = 100;

/// A server, one worker thread's buffers and one connection.
pub(crate) struct Stage {
    shared: Shared,
    worker: Worker,
    conversation: Conversation,
    replies: Vec<u8>,
}

impl Stage {
    /// A server that holds `keys` keys, each with a value of three digits.
    pub(crate) fn new(keys: usize) -> Self {
        let config = Config { shards: SHARDS, ..Config::default() };
        let shared = Shared::new(config).expect("the defaults are valid");
        let worker = Worker::new(&shared);
        let conversation = Conversation::begin(&shared, String::new(), String::new(), 0).expect("there is room for a client");
        let mut stage = Self { shared, worker, conversation, replies: Vec::new() };
        for number in 0..keys {
            assert_eq!(stage.feed(&request(&["SET", &key(number), "100"])), b"+OK\r\n");
        }
        stage
    }

    /// Runs what is in `batch`, whole requests, and hands out the replies.
    pub(crate) fn feed(&mut self, batch: &[u8]) -> &[u8] {
        self.replies.clear();
        let now = self.shared.clock.now();
        let fed = self.conversation.feed(batch, &mut self.worker, &self.shared, now, &mut self.replies);
        assert_eq!(fed, Fed { consumed: batch.len(), then: Then::Read });
        &self.replies
    }
}

/// The key of this number, 16 bytes long as redis-benchmark's are.
pub(crate) fn key(number: usize) -> String {
    format!("key:{number:012}")
}

/// A request of these words.
pub(crate) fn request(words: &[&str]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len());
    for word in words {
        bytes += &format!("${}\r\n{word}\r\n", word.len());
    }
    bytes.into_bytes()
}

/// A batch of requests, each made from its number.
pub(crate) fn batch(of: impl Fn(usize) -> Vec<u8>) -> Vec<u8> {
    (0..BATCH).flat_map(of).collect()
}
