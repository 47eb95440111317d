//! The output of a batch against a plain buffer: the same bytes, whatever is shared, taken back, put before, and taken in parts.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use redlet::internals::{Conversation, Output, Protocol, Reply, Shared, Worker};

use crate::seeded;

/// What a batch may do with its output.
#[derive(Clone, Debug)]
enum Act {
    /// A bulk string that is copied.
    Copied(usize),
    /// A bulk string that is shared.
    Shared(usize),
    /// An array whose head is put before these bulk strings, shared where the length is odd.
    Counted(Vec<usize>),
    /// Two bulk strings, one of each kind, that are taken back.
    TakenBack(usize),
}

fn act() -> impl Strategy<Value = Act> {
    let len = || 0..70_usize;
    prop_oneof![
        len().prop_map(Act::Copied),
        len().prop_map(Act::Shared),
        vec(len(), 0..5).prop_map(Act::Counted),
        len().prop_map(Act::TakenBack),
    ]
}

/// Bytes that are told apart from those of other places.
fn value(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| b'a' + u8::try_from((seed * 7 + i) % 26).expect("below 26")).collect()
}

fn bulk(bytes: &[u8]) -> Vec<u8> {
    [format!("${}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// Does it to the output and to the buffer.
fn play(seed: usize, act: &Act, reply: &mut Reply<'_>, plain: &mut Vec<u8>) {
    match act {
        Act::Copied(len) => {
            reply.bulk(value(seed, *len));
            plain.extend(bulk(&value(seed, *len)));
        }
        Act::Shared(len) => {
            reply.shared(value(seed, *len).into());
            plain.extend(bulk(&value(seed, *len)));
        }
        Act::Counted(lens) => {
            let mark = reply.mark();
            plain.extend(format!("*{}\r\n", lens.len()).into_bytes());
            for (i, len) in lens.iter().enumerate() {
                let bytes = value(seed + i, *len);
                plain.extend(bulk(&bytes));
                if len % 2 == 1 { reply.shared(bytes.into()) } else { reply.bulk(bytes) }
            }
            reply.put_before(mark, |reply| reply.array(lens.len()));
        }
        Act::TakenBack(len) => {
            let mark = reply.mark();
            reply.shared(value(seed, *len).into());
            reply.bulk(value(seed, *len));
            reply.rewind(mark);
        }
    }
}

#[test]
fn an_output_is_what_a_plain_buffer_would_be() {
    seeded::check(3000, (vec(act(), 0..12), vec((any::<Index>(), any::<bool>()), 0..20)), |(acts, parts)| {
        let (mut output, mut plain) = (Output::default(), Vec::new());
        for (seed, act) in acts.iter().enumerate() {
            play(seed, act, &mut Reply::new(&mut output, Protocol::Resp2), &mut plain);
            prop_assert_eq!(output.len(), plain.len());
        }
        let mut heard = Vec::new();
        for (part, splits) in parts {
            let left: Vec<u8> = output.pieces().flatten().copied().collect();
            prop_assert!(output.pieces().all(|piece| !piece.is_empty()));
            prop_assert_eq!(output.len(), left.len());
            prop_assert!(output.plain().is_none_or(|bytes| bytes == left));
            let count = part.index(left.len() + 1);
            heard.extend_from_slice(&left[..count]);
            output.take(count);
            if splits {
                // A rest of either kind: copied, and moved with its buffer.
                let rest = output.split_rest(count % 2 * 1000);
                prop_assert!(output.is_empty() && output.plain().is_some());
                output = rest;
            }
        }
        heard.extend(Vec::from(output));
        prop_assert_eq!(String::from_utf8_lossy(&heard), String::from_utf8_lossy(&plain));
        Ok(())
    });
}

#[test]
fn what_was_taken_is_kept_no_longer() {
    let values: Vec<Bytes> = (0..3).map(|seed| value(seed, 100).into()).collect();
    let mut output = Output::default();
    let mut reply = Reply::new(&mut output, Protocol::Resp2);
    values.iter().for_each(|value| reply.shared(value.clone()));
    let mark = reply.mark();
    let taken_back = Bytes::from(value(9, 100));
    reply.shared(taken_back.clone());
    reply.rewind(mark);
    assert!(taken_back.is_unique());
    let kept = |expected: [bool; 3]| {
        let kept: Vec<bool> = values.iter().map(|value| !value.is_unique()).collect();
        assert_eq!(kept, expected);
    };
    let reply_len = bulk(&values[0]).len();
    output.take(reply_len - 3);
    kept([true, true, true]);
    output.take(1);
    kept([false, true, true]);
    output.take(2 + reply_len);
    let mut rest = output.split_rest(1000);
    kept([false, false, true]);
    rest.clear();
    kept([false, false, false]);
}

/// A server and one of its clients, without a socket.
struct Stage {
    shared: Shared,
    worker: Worker,
    conversation: Conversation,
}

impl Stage {
    fn new() -> Self {
        let shared = Shared::new(redlet::Config::default()).expect("a configuration without parameters");
        let worker = Worker::new(&shared);
        let conversation = Conversation::begin(&shared, "127.0.0.1:1".to_owned(), "127.0.0.1:2".to_owned(), 0);
        Self { conversation: conversation.expect("there is room"), worker, shared }
    }

    /// What is answered before it is sent.
    fn ask(&mut self, requests: &str) -> Output {
        let mut output = Output::default();
        let now = self.shared.clock.now();
        let fed = self.conversation.feed(requests.as_bytes(), &mut self.worker, &self.shared, now, &mut output);
        assert_eq!(fed.consumed, requests.len());
        output
    }

    #[track_caller]
    fn check(&mut self, requests: &str, reply: &str) {
        assert_eq!(String::from_utf8_lossy(&Vec::from(self.ask(requests))), reply, "{}", &requests[..requests.len().min(80)]);
    }
}

/// The shortest value that is shared.
const LARGE: usize = 32 * 1024;

fn large(letter: &str) -> String {
    letter.repeat(LARGE)
}

#[test]
fn what_happens_to_a_key_does_not_change_what_was_answered() {
    let (old, len) = (large("o"), LARGE);
    for change in [
        "DEL k",
        "SET k x",
        "SET k x KEEPTTL",
        "GETDEL k",
        "GETSET k x",
        "APPEND k x",
        "SETRANGE k 5 xyz",
        "SETBIT k 77 1",
        "BITFIELD k SET u8 8 255",
        "RENAME k l",
        "PEXPIREAT k 1",
        "GETEX k PXAT 1",
        "PEXPIRE k 100000",
        "PERSIST k",
        "FLUSHALL",
        "SWAPDB 0 1",
    ] {
        let mut stage = Stage::new();
        stage.check(&format!("SET k {old} PX 200000\r\n"), "+OK\r\n");
        let answered = stage.ask("GET k\r\n");
        assert!(answered.plain().is_none(), "the value is shared");
        stage.ask(&format!("{change}\r\n"));
        assert_eq!(Vec::from(answered), format!("${len}\r\n{old}\r\n").into_bytes(), "{change}");
    }
    let mut stage = Stage::new();
    stage.check(&format!("SET k {old}\r\n"), "+OK\r\n");
    let answered = stage.ask("GET k\r\n");
    // In place, as the lengths are equal.
    stage.check(&format!("SET k {}\r\n", large("n")), "+OK\r\n");
    assert_eq!(Vec::from(answered), format!("${len}\r\n{old}\r\n").into_bytes());
    stage.check("GET k\r\n", &format!("${len}\r\n{}\r\n", large("n")));
}

#[test]
fn every_command_that_answers_with_a_value_shares_it() {
    let bulk = format!("${LARGE}\r\n{}\r\n", large("v"));
    for (request, reply) in [
        ("GET k", bulk.clone()),
        ("GETEX k", bulk.clone()),
        ("GETEX k PERSIST", bulk.clone()),
        ("GETDEL k", bulk.clone()),
        ("GETSET k x", bulk.clone()),
        ("SET k x GET", bulk.clone()),
        ("SET k x NX GET", bulk.clone()),
        ("MGET k none k", format!("*3\r\n{bulk}$-1\r\n{bulk}")),
        ("GETRANGE k 0 -1", bulk.clone()),
        ("GETRANGE k 1 -2", format!("${}\r\n{}\r\n", LARGE - 2, &large("v")[2..])),
        ("SUBSTR k 0 -1", bulk.clone()),
    ] {
        let mut stage = Stage::new();
        stage.check(&format!("SET k {}\r\n", large("v")), "+OK\r\n");
        let answered = stage.ask(&format!("{request}\r\n"));
        assert!(answered.plain().is_none(), "{request} shares the value");
        assert_eq!(Vec::from(answered), reply.into_bytes(), "{request}");
    }
}

#[test]
fn what_is_small_is_copied() {
    let mut stage = Stage::new();
    stage.check(&format!("SET k {}\r\nSET s {}\r\n", large("v"), &large("v")[1..]), "+OK\r\n+OK\r\n");
    // A small part of a large value would keep all of it.
    for request in ["GET s", "GETRANGE k 0 100", "GETRANGE k 5 4", "STRLEN k", "ECHO k"] {
        assert!(stage.ask(&format!("{request}\r\n")).plain().is_some(), "{request}");
    }
}

#[test]
fn a_large_reply_can_be_suppressed() {
    let mut stage = Stage::new();
    stage.check(&format!("SET k {}\r\n", large("v")), "+OK\r\n");
    let bulk = format!("${LARGE}\r\n{}\r\n", large("v"));
    stage.check("CLIENT REPLY SKIP\r\nGET k\r\nPING\r\n", "+PONG\r\n");
    stage.check("GET k\r\nCLIENT REPLY SKIP\r\nMGET k k\r\nGET k\r\n", &bulk.repeat(2));
    stage.check("CLIENT REPLY OFF\r\nGET k\r\nCLIENT REPLY ON\r\nGET k\r\n", &format!("+OK\r\n{bulk}"));
}

#[test]
fn shared_values_count_towards_what_is_gathered_before_it_is_written() {
    let mut stage = Stage::new();
    stage.check(&format!("SET k {}\r\n", large("v")), "+OK\r\n");
    let requests = "GET k\r\n".repeat(30);
    let mut output = Output::default();
    let now = stage.shared.clock.now();
    let fed = stage.conversation.feed(requests.as_bytes(), &mut stage.worker, &stage.shared, now, &mut output);
    // 256 KiB are reached with the eighth reply.
    assert_eq!(fed.consumed, "GET k\r\n".len() * 8);
    assert_eq!(Vec::from(output), format!("${LARGE}\r\n{}\r\n", large("v")).repeat(8).into_bytes());
}

#[test]
fn a_value_that_fills_what_it_came_in_is_neither_copied_in_nor_out() {
    let mut stage = Stage::new();
    let request = Bytes::from(format!("*5\r\n$3\r\nSET\r\n$1\r\nk\r\n{}$2\r\nEX\r\n$3\r\n100\r\n", {
        let value = large("v");
        format!("${}\r\n{value}\r\n", value.len())
    }));
    let now = stage.shared.clock.now();
    let fed = stage.conversation.feed_owned(&request, &mut stage.worker, &stage.shared, now, &mut Output::default());
    assert_eq!(fed.consumed, request.len());
    for copy in ["PING", "EXPIRE k 50", "RENAME k l", "COPY l k", "SWAPDB 1 2"] {
        stage.ask(&format!("{copy}\r\n"));
        let answered = stage.ask("GET k\r\nGET l\r\n");
        let shared = answered.pieces().filter(|piece| request.as_ptr_range().contains(&piece.as_ptr())).count();
        assert!(shared > 0, "after {copy}");
    }
    stage.ask("FLUSHALL\r\n");
    assert!(request.is_unique(), "what is deleted is kept no longer");
}
