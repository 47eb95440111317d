//! Bytes that no client of good will sends: whatever comes, nothing panics, and the next client is served.
//! Random bytes, scraps of the protocol with lengths of every size, and every command with arguments that it does not expect.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestCaseError;
use redlet::internals::{Command, Conversation, Output, Shared, SyntaxArg, Then, UnixMillis, Worker, table};
use redlet::{Config, Server};

use crate::seeded;

/// Pieces of requests, right and wrong.
const SCRAPS: &[&[u8]] = &[
    b"*",
    b"$",
    b"\r\n",
    b"\r",
    b"\n",
    b"-1",
    b"0",
    b"1",
    b"3",
    b"*1\r\n",
    b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n",
    b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n",
    b"*2147483647\r\n",
    b"*2147483648\r\n",
    b"*9223372036854775807\r\n",
    b"*-9223372036854775808\r\n",
    b"$536870912\r\n",
    b"$536870913\r\n",
    b"$4294967295\r\n",
    b"$9223372036854775807\r\n",
    b"$99999999999999999999\r\n",
    b"$-1\r\n",
    b"$0\r\n\r\n",
    b"PING\r\n",
    b"PING \"\r\n",
    b"ECHO \"\\x00\\xff\\n\"\r\n",
    b"'",
    b"\"",
    b"\\",
    b"\\x",
    b"\0",
    b"\xff",
    b" ",
    b"+OK\r\n",
    b"HELLO 3\r\n",
];

/// Random bytes among scraps, and now and then a long run of one byte.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => select(SCRAPS).prop_map(<[u8]>::to_vec),
        3 => vec(any::<u8>(), 0..20),
        1 => (any::<u8>(), 0..70_000_usize).prop_map(|(byte, len)| vec![byte; len]),
    ];
    vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

/// A server without sockets, one of whose clients behaves as it likes.
struct Stage {
    shared: Shared,
    worker: Worker,
    conversation: Conversation,
}

impl Stage {
    fn new() -> Self {
        let shared = Shared::new(Config::default()).expect("a configuration without parameters");
        let (worker, conversation) = (Worker::new(&shared), begin(&shared).expect("there is room"));
        Self { shared, worker, conversation }
    }

    fn now(&self) -> UnixMillis {
        self.shared.clock.now()
    }

    /// Says what is given, in these segments. What waits is not waited for.
    fn say<'a>(&mut self, segments: impl Iterator<Item = &'a [u8]>) {
        let mut input = Vec::new();
        for segment in segments {
            input.extend_from_slice(segment);
            loop {
                let now = self.now();
                let fed = self.conversation.feed(&input, &mut self.worker, &self.shared, now, &mut Output::default());
                input.drain(..fed.consumed);
                match fed.then {
                    Then::Read => break,
                    Then::Write => {}
                    Then::Wait(_) | Then::Close => return,
                }
            }
        }
    }

    /// Whether a client that comes now is answered. The one before may have set a password or a pause.
    fn answers(&mut self) -> bool {
        let Some(mut next) = begin(&self.shared) else { return true };
        let mut heard = Output::default();
        let now = self.now();
        let fed = next.feed(b"PING\r\n", &mut self.worker, &self.shared, now, &mut heard);
        let heard = Vec::from(heard);
        [b"+PONG\r\n".as_slice(), b"-NOAUTH Authentication required.\r\n"].contains(&heard.as_slice())
            || matches!(fed.then, Then::Wait(_))
    }
}

fn begin(shared: &Shared) -> Option<Conversation> {
    Conversation::begin(shared, "127.0.0.1:1".to_owned(), "127.0.0.1:2".to_owned(), 0)
}

#[test]
fn no_bytes_disturb_a_conversation() {
    seeded::check(2000, (stream(), 1..2000_usize), |(bytes, segment)| {
        let mut stage = Stage::new();
        stage.say(bytes.chunks(segment));
        prop_assert!(stage.answers());
        Ok(())
    });
}

/// Arguments that sit on an edge. None is a length that a value could still have and that would take much memory.
const ARGUMENTS: &[&str] = &[
    "",
    "k",
    "l",
    "v",
    "0",
    "1",
    "-1",
    "2",
    "7",
    "63",
    "64",
    "100",
    "-100",
    "65535",
    "1000000",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "0x10",
    "+1",
    " 1",
    "1.5",
    "-0",
    "nan",
    "inf",
    "-inf",
    "1e308",
    "1e4932",
    "1e-4950",
    "1e99999",
    "u8",
    "i64",
    "u64",
    "i0",
    "#1",
    "#9223372036854775807",
    "*",
    "[",
    "[a",
    "[^",
    "\\",
    "?",
    "a-b",
    "\0",
    "\u{fffd}",
    "yes",
    "no",
    "normal",
    "ON",
    "OFF",
    "SKIP",
    "GET",
    "SET",
    "127.0.0.1:1",
    "maxmemory",
    "timeout",
    "1gb",
    "999999999999999999999gb",
];

/// Every command and subcommand but those that end the server or hold up the test.
fn commands() -> Vec<&'static Command> {
    let spared = ["shutdown", "debug|sleep"];
    table().all().filter(|command| !spared.contains(&command.full_name)).collect()
}

/// The words of a command's own options.
fn tokens(syntax: &'static [SyntaxArg], into: &mut Vec<&'static str>) {
    for arg in syntax {
        into.extend(arg.token);
        tokens(arg.args, into);
    }
}

/// A request of some command with some arguments, half of the words from its own options.
fn request() -> impl Strategy<Value = Vec<u8>> {
    (select(commands()), vec((any::<bool>(), any::<prop::sample::Index>()), 0..8)).prop_map(|(command, choices)| {
        let mut own = Vec::new();
        tokens(command.spec.syntax, &mut own);
        let word = |(own_word, index): (bool, prop::sample::Index)| {
            if own_word && !own.is_empty() { *index.get(&own) } else { *index.get(ARGUMENTS) }
        };
        let words: Vec<&str> = command.full_name.split('|').chain(choices.into_iter().map(word)).collect();
        let bulks = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len()));
        std::iter::once(format!("*{}\r\n", words.len())).chain(bulks).collect::<String>().into_bytes()
    })
}

#[test]
fn no_arguments_disturb_a_command() {
    seeded::check(4000, (any::<bool>(), vec(request(), 1..12)), |(resp3, requests)| {
        let mut stage = Stage::new();
        if resp3 {
            stage.say(std::iter::once(b"HELLO 3\r\n".as_slice()));
        }
        stage.say(std::iter::once(b"SET k 10\r\nSET l some-text\r\n".as_slice()));
        stage.say(requests.iter().map(Vec::as_slice));
        prop_assert!(stage.answers());
        Ok(())
    });
}

/// Sends all of it in segments, hears all there is to hear, and then asks on another connection whether the server is well.
fn check_over_tcp(server: &Server, bytes: &[u8], segment: usize) -> Result<(), TestCaseError> {
    let connect = || {
        let stream = TcpStream::connect(server.addr()).expect("the server accepts");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time-out can be set");
        stream
    };
    let mut hostile = connect();
    for segment in bytes.chunks(segment) {
        // The server may have closed already, which is its good right.
        if hostile.write_all(segment).is_err() {
            break;
        }
    }
    // For the same reason neither end of it needs to be orderly.
    drop(hostile.shutdown(Shutdown::Write));
    let mut heard = Vec::new();
    let ended = hostile.read_to_end(&mut heard);
    let timed_out = ended.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
    prop_assert!(!timed_out, "the connection is not closed");
    let mut good = connect();
    good.write_all(b"PING\r\n").expect("the server takes a request");
    let mut pong = [0; 7];
    good.read_exact(&mut pong).expect("the server answers");
    prop_assert_eq!(&pong, b"+PONG\r\n");
    Ok(())
}

#[test]
fn a_bulk_string_that_no_entry_can_hold_is_refused_by_its_length() {
    let mut stage = Stage::new();
    let mut heard = Output::default();
    let request = b"CONFIG SET proto-max-bulk-len 8gb\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1073741824\r\n";
    let now = stage.now();
    let fed = stage.conversation.feed(request, &mut stage.worker, &stage.shared, now, &mut heard);
    assert_eq!(String::from_utf8_lossy(&Vec::from(heard)), "+OK\r\n-ERR Protocol error: invalid bulk length\r\n");
    assert_eq!(fed.then, Then::Close);
}

#[test]
fn clients_cannot_make_up_codes_of_errors_that_are_counted() {
    let mut stage = Stage::new();
    for request in ["DEBUG ERROR CODE", "CODE", "GET", "CLIENT CODE", "CONFIG SET CODE 1", "EVAL CODE 0", "AUTH CODE"] {
        stage.say(std::iter::once(format!("{request}\r\n").as_bytes()));
    }
    let errors = stage.shared.stats.errors();
    assert_eq!(errors.keys().collect::<Vec<_>>(), ["ERR"], "{errors:?}");
}

#[test]
fn no_bytes_disturb_a_server() {
    let server = Server::start().expect("a server starts");
    seeded::check(200, (stream(), 1..5000_usize), |(bytes, segment)| check_over_tcp(&server, &bytes, segment));
}

#[test]
fn half_a_request_is_forgotten() {
    let server = Server::start().expect("a server starts");
    for half in
        [b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nhal".as_slice(), b"SET k half", b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\nhalf\r"]
    {
        check_over_tcp(&server, half, usize::MAX).expect("the server is well");
        let mut stream = TcpStream::connect(server.addr()).expect("the server accepts");
        stream.write_all(b"GET k\r\nQUIT\r\n").expect("the server takes a request");
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).expect("an orderly end");
        assert_eq!(String::from_utf8_lossy(&heard), "$-1\r\n+OK\r\n");
    }
}
