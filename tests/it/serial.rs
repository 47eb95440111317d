//! Transactions of many clients on a few keys: one of them after the other explains every reply.
//!
//! Each transaction begins with an INCR of the same key, so that its reply tells its place. All of them, played in that order to a
//! keyspace without threads, must be answered as they were. Others add to a number as applications do, with WATCH, GET, MULTI, SET and
//! EXEC until it succeeds, or many times in a row with INCR: no addition may be lost. Without a socket; and, with fewer requests, over TCP.

use std::sync::Arc;

use redlet::internals::Shared;
use redlet::{Config, Server};

use crate::frame;
use crate::linear::model::{Dice, Op, State};
use crate::linear::{Client, InProcess, OverTcp};
use crate::reply::{Kind, Reply};

const SEED: u64 = 20_260_101;
/// The key whose value tells the order. The model does not know it.
const ORDER: &str = "order";
/// The key that is added to under a WATCH; nothing else touches it.
const TOTAL: &str = "total";

/// Additions without a transaction that are sent together.
const IN_A_ROW: usize = 20;

/// What one client did.
#[derive(Default)]
struct Part {
    /// Transactions: their place, what they did, and how each of it was answered.
    transactions: Vec<(i64, Vec<Op>, Vec<u8>)>,
    /// The places of the successful additions by transaction.
    places: Vec<i64>,
    /// What the number was after each addition.
    sums: Vec<i64>,
    /// Transactions that found the number changed.
    repeated: usize,
}

/// A command whose reply does not depend on keys that the model does not know.
fn command(dice: &mut Dice) -> Op {
    loop {
        let op = Op::command(dice);
        if !matches!(op, Op::SwapDb | Op::FlushAll | Op::DbSize | Op::Keys | Op::RandomKey) {
            return op;
        }
    }
}

fn integer(reply: &[u8]) -> i64 {
    let text = std::str::from_utf8(reply).expect("a number is text").trim_end();
    let digits = text.strip_prefix(':').or_else(|| text.split_once("\r\n").map(|(_, digits)| digits));
    digits.and_then(|digits| digits.parse().ok()).unwrap_or_else(|| panic!("{text:?} is no number"))
}

/// Runs a transaction of several commands. Half of them come in one piece, half in two, so that others come between.
fn transact(client: &mut impl Client, dice: &mut Dice) -> (i64, Vec<Op>, Vec<u8>) {
    let ops: Vec<Op> = (0..1 + dice.below(6)).map(|_| command(dice)).collect();
    let queued: Vec<u8> = ops.iter().flat_map(Op::request).collect();
    let begin = format!("MULTI\r\nINCR {ORDER}\r\n").into_bytes();
    let replies = if dice.below(2) == 0 {
        client.ask(&[begin, queued, b"EXEC\r\n".to_vec()].concat(), ops.len() + 3)
    } else {
        client.ask(&[begin, queued].concat(), ops.len() + 2);
        client.ask(b"EXEC\r\n", 1)
    };
    let exec = replies.last().expect("EXEC is answered");
    let header = exec.windows(2).position(|pair| pair == b"\r\n").map_or(exec.len(), |end| end + 2);
    let (length, _) = frame::decode(&exec[header..]).ok().flatten().expect("INCR is answered");
    (integer(&exec[header..header + length]), ops, exec[header + length..].to_vec())
}

/// Adds one to the number as it is found. The place and the sum, or nothing if it was changed meanwhile.
fn add(client: &mut impl Client) -> Option<(i64, i64)> {
    let found = client.ask(format!("WATCH {TOTAL}\r\nGET {TOTAL}\r\n").as_bytes(), 2).pop().expect("GET is answered");
    let found = integer(&found);
    let change = format!("MULTI\r\nINCR {ORDER}\r\nSET {TOTAL} {}\r\nEXEC\r\n", found + 1);
    let exec = client.ask(change.as_bytes(), 4).pop().expect("EXEC is answered");
    match frame::decode(&exec).expect("a reply").expect("a whole one").1 {
        Reply::NilArray => None,
        Reply::Aggregate { kind: Kind::Array, items, .. } => match items.as_slice() {
            [Reply::Int(place), Reply::Simple(ok)] if ok == b"OK" => Some((*place, found + 1)),
            items => panic!("{items:?}"),
        },
        reply => panic!("{reply:?}"),
    }
}

/// Adds one many times, without a transaction. What the sum was each time.
fn add_in_a_row(client: &mut impl Client) -> Vec<i64> {
    let replies = client.ask(format!("INCR {TOTAL}\r\n").repeat(IN_A_ROW).as_bytes(), IN_A_ROW);
    replies.iter().map(|reply| integer(reply)).collect()
}

fn play(number: usize, steps: usize, client: &mut impl Client) -> Part {
    let mut part = Part::default();
    let mut dice = Dice(SEED ^ (number as u64) << 8);
    for _ in 0..steps {
        match dice.below(6) {
            0..3 => part.transactions.push(transact(client, &mut dice)),
            3..5 => {
                let (place, sum) = loop {
                    match add(client) {
                        Some(addition) => break addition,
                        None => part.repeated += 1,
                    }
                };
                part.places.push(place);
                part.sums.push(sum);
            }
            _ => part.sums.extend(add_in_a_row(client)),
        }
    }
    part
}

/// Has all clients play `steps` steps, and judges what they were answered.
#[track_caller]
fn check<C: Client>(mut clients: Vec<C>, steps: usize) {
    clients[0].ask(format!("SET {TOTAL} 0\r\n").as_bytes(), 1);
    let parts: Vec<Part> = std::thread::scope(|scope| {
        let playing = clients.iter_mut().enumerate().map(|(number, client)| scope.spawn(move || play(number, steps, client)));
        let playing: Vec<_> = playing.collect();
        playing.into_iter().map(|client| client.join().expect("no client fails")).collect()
    });
    let total = integer(&clients[0].ask(format!("GET {TOTAL}\r\n").as_bytes(), 1)[0]);
    let mut sums: Vec<i64> = parts.iter().flat_map(|part| &part.sums).copied().collect();
    sums.sort_unstable();
    assert!(sums.iter().copied().eq(1..=total), "an addition was lost: {} of them made {total}", sums.len());

    let mut transactions: Vec<_> = parts.iter().flat_map(|part| &part.transactions).collect();
    transactions.sort_unstable_by_key(|(place, ..)| *place);
    let mut places: Vec<i64> = parts.iter().flat_map(|part| &part.places).copied().collect();
    places.extend(transactions.iter().map(|(place, ..)| *place));
    places.sort_unstable();
    assert!((1..).zip(&places).all(|(expected, place)| expected == *place), "every place is somebody's: {places:?}");
    let mut state = State::default();
    for (place, ops, replies) in transactions {
        let expected: Vec<u8> = ops.iter().flat_map(|op| op.apply(&mut state)).collect();
        let [expected, replies] = [&expected, replies].map(|bytes| String::from_utf8_lossy(bytes).replace("\r\n", " "));
        assert_eq!(expected, replies, "transaction {place}: {ops:?}");
    }
    let repeated: usize = parts.iter().map(|part| part.repeated).sum();
    // A test in which nobody meets shows nothing.
    assert!(repeated > 0, "nobody found the number changed, in {total} additions");
}

fn conversations(count: usize) -> Vec<InProcess> {
    let shared = Arc::new(Shared::new(Config::default()).expect("a configuration without parameters"));
    (0..count).map(|_| InProcess::new(&shared)).collect()
}

#[test]
fn transactions_of_two_conversations_have_an_order() {
    check(conversations(2), 20_000);
}

#[test]
fn transactions_of_four_conversations_have_an_order() {
    check(conversations(4), 2000);
}

#[test]
fn transactions_of_four_connections_have_an_order() {
    let server = Server::start().expect("a server starts");
    check((0..4).map(|_| OverTcp::new(&server)).collect(), 300);
}
