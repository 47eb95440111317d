//! The load of our own: requests encoded beforehand, replies compared by their fixed size and frame.
//!
//! It must cost less per request than any server under test, so it encodes, parses and allocates nothing while it
//! runs. One thread drives all connections in a ring: it reads the replies of one connection, sends it the next
//! batch, and goes on to the next. All others have a batch waiting at the server meanwhile, so no event loop is needed.
//! A closed loop: a server that is slow is also sent less, so the latencies say what a busy server's clients wait, not what
//! a load that comes at its own pace would.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use crate::histogram::Histogram;

/// Connections of every load, redis-benchmark's default.
pub(crate) const CONNECTIONS: u32 = 50;

/// Longest silence of a server before the run is given up.
const SILENCE_MAX: Duration = Duration::from_secs(20);

/// Requests per batch while filling.
const FILL_BATCH: u32 = 1000;

/// Requests a pool holds at most: 45 MB of SETs.
const POOL_REQUESTS_MAX: u32 = 1_000_000;

/// Start of the key sequence. Fixed, so that every server and every run sees the same keys.
const SEED: u64 = 0x5eed;

/// What is asked of the server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verb {
    Get,
    Set,
}

impl Verb {
    /// The name that redis-benchmark's `-t` takes.
    pub(crate) fn lowercase(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Set => "set",
        }
    }

    pub(crate) fn uppercase(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Set => "SET",
        }
    }

    /// Size of the one right reply, given that every value has 3 bytes: `+OK` and `$3` with its value.
    fn reply_bytes(self) -> usize {
        match self {
            Self::Get => 9,
            Self::Set => 5,
        }
    }

    /// Whether `reply`, of the right size, is the right one. Which 3 bytes the value has does not matter:
    /// redis-benchmark writes values of its own.
    fn accepts(self, reply: &[u8]) -> bool {
        match self {
            Self::Get => reply.starts_with(b"$3\r\n") && reply.ends_with(b"\r\n"),
            Self::Set => reply == b"+OK\r\n",
        }
    }

    /// One request for a key of 16 bytes, named as redis-benchmark names its keys, and a value of 3.
    fn encode(self, key: u32, out: &mut Vec<u8>) {
        let written = match self {
            Self::Get => write!(out, "*2\r\n$3\r\nGET\r\n$16\r\nkey:{key:012}\r\n"),
            Self::Set => write!(out, "*3\r\n$3\r\nSET\r\n$16\r\nkey:{key:012}\r\n$3\r\nxyz\r\n"),
        };
        written.expect("writing to a Vec cannot fail");
    }
}

/// Requests of one kind for random keys, ready to be sent. All have the same size.
pub(crate) struct Pool {
    verb: Verb,
    bytes: Vec<u8>,
    request_bytes: usize,
}

impl Pool {
    /// Encodes requests for keys drawn evenly from `0..keys`: twice as many as keys, as far as memory is worth it.
    pub(crate) fn encode(verb: Verb, keys: u32) -> Self {
        let mut bytes = Vec::new();
        verb.encode(0, &mut bytes);
        let request_bytes = bytes.len();
        bytes.clear();
        let requests = keys.saturating_mul(2).clamp(10_000, POOL_REQUESTS_MAX);
        let mut state = SEED;
        for _ in 0..requests {
            verb.encode(random_below(&mut state, keys), &mut bytes);
        }
        Self { verb, bytes, request_bytes }
    }
}

/// Open connections to one server.
pub(crate) struct Ring {
    streams: Vec<TcpStream>,
}

impl Ring {
    pub(crate) fn connect(port: u16) -> Result<Self, String> {
        let connect = || -> std::io::Result<TcpStream> {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(SILENCE_MAX))?;
            stream.set_write_timeout(Some(SILENCE_MAX))?;
            Ok(stream)
        };
        let streams =
            (0..CONNECTIONS).map(|_| connect()).collect::<Result<_, _>>().map_err(|e| format!("connecting to port {port}: {e}"))?;
        Ok(Self { streams })
    }

    /// Sends `requests` of `pool`, `depth` at a time on each connection, and returns how long their replies took.
    /// `requests` is a multiple of `depth`. Fails at the first reply that is not the expected one.
    pub(crate) fn run(&mut self, pool: &Pool, depth: u32, requests: u32) -> Result<Run, String> {
        let batch_bytes = pool.request_bytes * depth as usize;
        let mut batches = pool.bytes.chunks_exact(batch_bytes).cycle().take((requests / depth) as usize);
        let mut replies = vec![0; pool.verb.reply_bytes() * depth as usize];
        let mut latency = Histogram::new();
        let started = Instant::now();
        let mut sent = Vec::with_capacity(self.streams.len());
        for (stream, batch) in self.streams.iter_mut().zip(&mut batches) {
            sent.push(Instant::now());
            send(stream, batch)?;
        }
        // Each busy connection owes the replies of one batch, until the batches are spent.
        let busy = sent.len();
        let mut at = 0;
        for batch in batches {
            receive(&mut self.streams[at], pool.verb, &mut replies)?;
            // One look at the clock ends this batch and begins the next.
            let now = Instant::now();
            latency.record(now - sent[at]);
            sent[at] = now;
            send(&mut self.streams[at], batch)?;
            at = (at + 1) % busy;
        }
        // Oldest first, as before.
        for place in (at..busy).chain(0..at) {
            receive(&mut self.streams[place], pool.verb, &mut replies)?;
            latency.record(sent[place].elapsed());
        }
        Ok(Run { elapsed: started.elapsed(), latency })
    }
}

/// How long the replies of one load took.
pub(crate) struct Run {
    /// From the first request to the last reply.
    pub(crate) elapsed: Duration,
    /// From sending each batch until all of its replies had been read.
    pub(crate) latency: Histogram,
}

/// Sets every key of `0..keys`, so that no later GET misses.
pub(crate) fn fill(port: u16, keys: u32) -> Result<(), String> {
    let mut ring = Ring::connect(port)?;
    let stream = &mut ring.streams[0];
    let mut batch = Vec::new();
    let mut replies = Vec::new();
    let mut next = 0;
    while next < keys {
        let end = keys.min(next + FILL_BATCH);
        batch.clear();
        (next..end).for_each(|key| Verb::Set.encode(key, &mut batch));
        send(stream, &batch)?;
        replies.resize(Verb::Set.reply_bytes() * (end - next) as usize, 0);
        receive(stream, Verb::Set, &mut replies)?;
        next = end;
    }
    Ok(())
}

fn send(stream: &mut TcpStream, batch: &[u8]) -> Result<(), String> {
    stream.write_all(batch).map_err(|e| format!("sending requests: {e}"))
}

/// Reads as many replies as `replies` has room for.
fn receive(stream: &mut TcpStream, verb: Verb, replies: &mut [u8]) -> Result<(), String> {
    let mut filled = 0;
    while filled < replies.len() {
        match stream.read(&mut replies[filled..]) {
            Ok(0) => {
                return Err(wrong("the server closed the connection", &replies[..filled]));
            }
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // How a blocking socket reports that its read timeout has passed.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let what = format!("replies are missing after {SILENCE_MAX:?} of silence");
                return Err(wrong(&what, &replies[..filled]));
            }
            Err(error) => {
                return Err(wrong(&format!("waiting for replies: {error}"), &replies[..filled]));
            }
        }
    }
    if replies.chunks_exact(verb.reply_bytes()).all(|reply| verb.accepts(reply)) {
        Ok(())
    } else {
        Err(wrong("an unexpected reply", replies))
    }
}

fn wrong(what: &str, received: &[u8]) -> String {
    let shown = &received[..received.len().min(60)];
    format!("{what}; received {} bytes, beginning with \"{}\"", received.len(), shown.escape_ascii())
}

/// splitmix64, scaled to `0..limit`: fast, even, and the same on every machine.
pub(crate) fn random_below(state: &mut u64, limit: u32) -> u32 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    let scaled = ((mixed >> 32) * u64::from(limit)) >> 32;
    u32::try_from(scaled).expect("a 32-bit fraction of a 32-bit limit fits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_one_size_and_keys_within_the_keyspace() {
        for verb in [Verb::Get, Verb::Set] {
            let pool = Pool::encode(verb, 7);
            let requests: Vec<&[u8]> = pool.bytes.chunks(pool.request_bytes).collect();
            let mut seen = [false; 7];
            for request in &requests {
                assert!(request.starts_with(b"*") && request.ends_with(b"\r\n"));
                let key = request.iter().position(|byte| *byte == b':').expect("every key has a colon") + 1;
                let number = std::str::from_utf8(&request[key..key + 12]).expect("digits");
                seen[number.parse::<usize>().expect("a number")] = true;
            }
            assert_eq!((requests.len(), seen), (10_000, [true; 7]));
        }
    }

    #[test]
    fn only_the_right_reply_is_accepted() {
        assert!(Verb::Get.accepts(b"$3\r\nabc\r\n"));
        assert!(!Verb::Get.accepts(b"$-1\r\n$-1\r"));
        assert!(Verb::Set.accepts(b"+OK\r\n"));
        assert!(!Verb::Set.accepts(b"-ERR\r"));
    }
}
