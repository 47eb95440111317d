//! Feeds batches of one kind of request to a conversation, for a tool that counts instructions: `benches/instructions` runs it.
//!
//! `batches KIND KEYS BATCHES`: fills a keyspace, then runs so many batches of 100 requests. Only what [`measured`] does is to be
//! counted, and it does nothing but that.

mod stage;

use std::env;

use stage::{BATCH, Stage, batch, key, request};

/// A request of this kind for a key.
fn of_kind(kind: &str, key: &str) -> Vec<u8> {
    match kind {
        "GET" | "INCR" | "TTL" => request(&[kind, key]),
        "SET" => request(&["SET", key, "300"]),
        "SETEX" => request(&["SET", key, "300", "EX", "1000"]),
        "PING" => request(&["PING"]),
        "PUBLISH" => request(&["PUBLISH", key, "300"]),
        "EXEC" => [request(&["MULTI"]), request(&["SET", key, "300"]), request(&["GET", key]), request(&["EXEC"])].concat(),
        _ => {
            panic!("the kinds are GET, SET, SETEX (SET with EX), INCR, TTL, PING, PUBLISH and EXEC (a transaction of SET and GET)")
        }
    }
}

/// What is counted.
#[inline(never)]
fn measured(stage: &mut Stage, batches: &[Vec<u8>]) -> usize {
    batches.iter().map(|batch| stage.feed(batch).len()).sum()
}

fn main() {
    let args: Vec<_> = env::args().skip(1).collect();
    let [kind, keys, count] = args.as_slice() else { panic!("three arguments are needed: KIND KEYS BATCHES") };
    let keys: usize = keys.parse().expect("KEYS is a number");
    let count: usize = count.parse().expect("BATCHES is a number");
    let mut stage = Stage::new(keys);
    // A fixed sequence that looks random: the same keys each time.
    let mut number = 0x5eed_usize;
    let mut next = || {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (number >> 33) % keys
    };
    let drawn: Vec<_> = (0..count * BATCH).map(|_| next()).collect();
    let batches: Vec<_> = drawn.chunks(BATCH).map(|keys| batch(|index| of_kind(kind, &key(keys[index])))).collect();
    // The first one gives the buffers their size, and every key of a kind that needs it its deadline.
    batches.iter().for_each(|batch| drop(stage.feed(batch).to_vec()));
    let bytes = measured(&mut stage, &batches);
    println!("{} requests, {bytes} bytes of replies", count * BATCH);
}
