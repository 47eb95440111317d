//! Requests encoded beforehand, in batches that a client sends one after the other, and the replies that each batch must get.
//! Holds bytes and sends none.

use std::io::Write;

use crate::generator::random_below;

/// Start of the key sequence. Fixed, so that every server and every run sees the same keys.
const SEED: u64 = 0x5eed;

/// Bytes of batches at most, where that is more than one batch: they are sent over and over.
const POOL_BYTES_MAX: usize = 48 << 20;

/// Requests of a pool at most.
const POOL_REQUESTS_MAX: usize = 200_000;

/// The value that every counter starts with: ten digits, so that all replies to INCR have the same size.
pub(crate) const COUNTER_START: &[u8] = b"1000000000";

/// Seconds that a key with a deadline lives: longer than any suite.
pub(crate) const EXPIRE_SECONDS: &[u8] = b"3600";

/// One kind of request. Sizes of values are in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Get {
        value: usize,
    },
    Set {
        value: usize,
    },
    /// A SET that gives the key a deadline.
    SetExpire {
        value: usize,
    },
    /// Values of 3 bytes.
    Mget {
        keys: usize,
    },
    /// Values of 3 bytes.
    Mset {
        keys: usize,
    },
    /// Of keys that hold [`COUNTER_START`] or more.
    Incr,
    /// Three GETs and a SET in turn, with values of 3 bytes.
    Mix,
    /// MULTI, so many times a SET and a GET of values of 3 bytes, and EXEC: what clients make of a pipeline by default.
    Transaction {
        pairs: usize,
    },
    /// A message to which nobody has subscribed.
    Publish,
    /// A count of keys that all exist: much work for few bytes.
    Exists {
        keys: usize,
    },
}

impl Kind {
    /// Encodes the request at place `index` of a batch, with keys drawn evenly from `0..keyspace`.
    fn request(self, index: usize, state: &mut u64, keyspace: u32, out: &mut Vec<u8>) {
        let mut key = || key(random_below(state, keyspace));
        match self {
            Self::Get { .. } => command(&[b"GET", &key()], out),
            Self::Set { value: bytes } => command(&[b"SET", &key(), &value(bytes)], out),
            Self::SetExpire { value: bytes } => command(&[b"SET", &key(), &value(bytes), b"EX", EXPIRE_SECONDS], out),
            Self::Mget { keys } => command_over(b"MGET", (0..keys).map(|_| key()).collect(), out),
            Self::Mset { keys } => command_over(b"MSET", (0..keys).flat_map(|_| [key(), value(3)]).collect(), out),
            Self::Incr => command(&[b"INCR", &key()], out),
            Self::Mix if index % 4 == 3 => command(&[b"SET", &key(), &value(3)], out),
            Self::Mix => command(&[b"GET", &key()], out),
            Self::Transaction { pairs } => {
                command(&[b"MULTI"], out);
                for _ in 0..pairs {
                    let key = key();
                    command(&[b"SET", &key, &value(3)], out);
                    command(&[b"GET", &key], out);
                }
                command(&[b"EXEC"], out);
            }
            Self::Publish => command(&[b"PUBLISH", &key(), &value(3)], out),
            Self::Exists { keys } => command_over(b"EXISTS", (0..keys).map(|_| key()).collect(), out),
        }
    }

    /// Encodes the reply to the request at place `index` of a batch.
    fn reply(self, index: usize, out: &mut Vec<u8>) {
        match self {
            Self::Get { value: bytes } => bulk(&value(bytes), out),
            Self::Mix if index % 4 != 3 => bulk(&value(3), out),
            Self::Set { .. } | Self::SetExpire { .. } | Self::Mset { .. } | Self::Mix => out.extend_from_slice(b"+OK\r\n"),
            Self::Mget { keys } => {
                header(b'*', keys, out);
                (0..keys).for_each(|_| bulk(&value(3), out));
            }
            Self::Incr => {
                out.push(b':');
                out.extend_from_slice(COUNTER_START);
                out.extend_from_slice(b"\r\n");
            }
            Self::Transaction { pairs } => {
                out.extend_from_slice(b"+OK\r\n");
                (0..2 * pairs).for_each(|_| out.extend_from_slice(b"+QUEUED\r\n"));
                header(b'*', 2 * pairs, out);
                for _ in 0..pairs {
                    out.extend_from_slice(b"+OK\r\n");
                    bulk(&value(3), out);
                }
            }
            Self::Publish => header(b':', 0, out),
            Self::Exists { keys } => header(b':', keys, out),
        }
    }
}

/// Batches of one kind of request over random keys. All have the same size, as have their replies.
pub(crate) struct Traffic {
    kind: Kind,
    bytes: Vec<u8>,
    batch_bytes: usize,
    /// The replies to a batch. Of counters only the size is known beforehand.
    replies: Vec<u8>,
    /// Requests of a batch.
    pub(crate) depth: u32,
}

impl Traffic {
    /// Encodes batches of `depth` requests for keys of `0..keyspace`: about twice as many requests as keys, as far as memory is
    /// worth it.
    pub(crate) fn encode(kind: Kind, depth: u32, keyspace: u32) -> Self {
        let depth_usize = depth as usize;
        let mut state = SEED;
        let mut bytes = Vec::new();
        let mut replies = Vec::new();
        let batch = |state: &mut u64, bytes: &mut Vec<u8>| {
            (0..depth_usize).for_each(|index| kind.request(index, state, keyspace, bytes));
        };
        batch(&mut state, &mut bytes);
        let batch_bytes = bytes.len();
        let requests = (keyspace as usize * 2).min(POOL_REQUESTS_MAX);
        let batches = (requests / depth_usize).min(POOL_BYTES_MAX / batch_bytes).max(1);
        (1..batches).for_each(|_| batch(&mut state, &mut bytes));
        (0..depth_usize).for_each(|index| kind.reply(index, &mut replies));
        Self { kind, bytes, batch_bytes, replies, depth }
    }

    /// The batches in order, over and over.
    pub(crate) fn batches(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.batch_bytes).cycle()
    }

    /// Size of the replies to one batch.
    pub(crate) fn reply_bytes(&self) -> usize {
        self.replies.len()
    }

    /// Whether `received`, of the right size, is the right replies to a batch.
    pub(crate) fn accepts(&self, received: &[u8]) -> bool {
        match self.kind {
            Kind::Incr => {
                let size = COUNTER_START.len() + 3;
                received.chunks_exact(size).all(|reply| reply[0] == b':' && reply.ends_with(b"\r\n"))
            }
            _ => received == self.replies,
        }
    }
}

/// A key of 16 bytes, named as redis-benchmark names its keys.
pub(crate) fn key(number: u32) -> Vec<u8> {
    format!("key:{number:012}").into_bytes()
}

/// The one value of `bytes` bytes.
pub(crate) fn value(bytes: usize) -> Vec<u8> {
    vec![b'x'; bytes]
}

/// Encodes one request.
pub(crate) fn command(words: &[&[u8]], out: &mut Vec<u8>) {
    header(b'*', words.len(), out);
    words.iter().for_each(|word| bulk(word, out));
}

fn command_over(name: &[u8], arguments: Vec<Vec<u8>>, out: &mut Vec<u8>) {
    header(b'*', arguments.len() + 1, out);
    bulk(name, out);
    arguments.iter().for_each(|argument| bulk(argument, out));
}

fn bulk(bytes: &[u8], out: &mut Vec<u8>) {
    header(b'$', bytes.len(), out);
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

fn header(mark: u8, number: usize, out: &mut Vec<u8>) {
    write!(out, "{}{number}\r\n", char::from(mark)).expect("writing to a Vec cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 8] = [
        Kind::Get { value: 64 },
        Kind::Set { value: 64 },
        Kind::SetExpire { value: 3 },
        Kind::Mget { keys: 10 },
        Kind::Mset { keys: 10 },
        Kind::Incr,
        Kind::Mix,
        Kind::Exists { keys: 100 },
    ];

    #[test]
    fn all_batches_have_one_size_and_whole_requests() {
        for kind in KINDS {
            let traffic = Traffic::encode(kind, 8, 1000);
            assert_eq!(traffic.bytes.len() % traffic.batch_bytes, 0, "{kind:?}");
            let batches = traffic.bytes.len() / traffic.batch_bytes;
            assert_eq!(batches, 250, "{kind:?}");
            for batch in traffic.batches().take(batches) {
                assert!(batch.starts_with(b"*") && batch.ends_with(b"\r\n"), "{kind:?}: {}", batch.escape_ascii());
            }
        }
    }

    #[test]
    fn a_request_and_its_reply() {
        #[track_caller]
        fn check(kind: Kind, index: usize, request: &str, reply: &str) {
            let (mut sent, mut received) = (Vec::new(), Vec::new());
            // A keyspace of one key has only key 0.
            kind.request(index, &mut 0, 1, &mut sent);
            kind.reply(index, &mut received);
            assert_eq!((String::from_utf8_lossy(&sent).as_ref(), String::from_utf8_lossy(&received).as_ref()), (request, reply));
        }
        let get = "*2\r\n$3\r\nGET\r\n$16\r\nkey:000000000000\r\n";
        let set = "*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000000\r\n$3\r\nxxx\r\n";
        check(Kind::Get { value: 3 }, 0, get, "$3\r\nxxx\r\n");
        check(Kind::Set { value: 3 }, 0, set, "+OK\r\n");
        check(Kind::Mix, 2, get, "$3\r\nxxx\r\n");
        check(Kind::Mix, 3, set, "+OK\r\n");
        check(Kind::Incr, 0, "*2\r\n$4\r\nINCR\r\n$16\r\nkey:000000000000\r\n", ":1000000000\r\n");
        let exists = "*3\r\n$6\r\nEXISTS\r\n$16\r\nkey:000000000000\r\n$16\r\nkey:000000000000\r\n";
        check(Kind::Exists { keys: 2 }, 0, exists, ":2\r\n");
        check(Kind::Mget { keys: 1 }, 0, "*2\r\n$4\r\nMGET\r\n$16\r\nkey:000000000000\r\n", "*1\r\n$3\r\nxxx\r\n");
    }

    #[test]
    fn wrong_replies_are_not_accepted() {
        let get = Traffic::encode(Kind::Get { value: 3 }, 2, 10);
        assert!(get.accepts(b"$3\r\nxxx\r\n$3\r\nxxx\r\n"));
        assert!(!get.accepts(b"$3\r\nxxx\r\n$3\r\nxxy\r\n"));
        let incr = Traffic::encode(Kind::Incr, 2, 10);
        assert!(incr.accepts(b":1000000007\r\n:1234567890\r\n"));
        assert!(!incr.accepts(b":1000000007\r\n-ERR value..\r\n"));
    }

    #[test]
    fn a_large_value_is_encoded_once_at_least() {
        let set = Traffic::encode(Kind::Set { value: 64 << 20 }, 1, 10);
        assert_eq!(set.bytes.len(), set.batch_bytes);
    }
}
