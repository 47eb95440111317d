//! A real redis-server and ours, side by side, and the same sequence played to both.
//! Gives what each of them answered; what of it counts as equal is for `compare` to say.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use redlet::Config;
use redlet::internals::{Conversation, Output, Shared, Then, Worker};

use super::counters;
use super::sequence::Sequence;
use super::values::KEYS;
use crate::frame;
use crate::process::Server;
use crate::reply::{Protocol, Reply};
use crate::transcript::request;

/// How long redis-server may take to answer a whole sequence.
const PATIENCE: Duration = Duration::from_secs(60);

/// Databases that there are.
const DATABASES: usize = 16;

/// Databases whose keys are looked at one by one in the end. Of the others only the names are.
const DATABASES_SHOWN: usize = 4;

/// The last request of each sequence; nothing else is answered like this.
const END: &str = "the end of this sequence";

/// Both servers with one connection to each.
pub(super) struct Pair {
    theirs: Theirs,
    ours: Ours,
    /// What is asked after each sequence.
    questions: Vec<Vec<Vec<u8>>>,
}

/// All that was said in one sequence.
pub(super) struct Played {
    /// The sequence, and then the questions about what it left behind.
    pub(super) requests: Vec<Vec<Vec<u8>>>,
    /// redis-server's replies.
    pub(super) theirs: Answers,
    /// Our replies.
    pub(super) ours: Answers,
}

/// Replies in the order of the requests.
#[derive(PartialEq, Eq)]
pub(super) struct Answers(Vec<u8>);

impl Pair {
    pub(super) fn new() -> Pair {
        Pair { theirs: Theirs::new(), ours: Ours::new(), questions: questions() }
    }

    /// Plays a sequence to both servers, each on an empty keyspace.
    pub(super) fn play(&mut self, sequence: &Sequence) -> Played {
        let hello = if sequence.protocol == Protocol::Resp3 { "3" } else { "2" };
        let prelude =
            [request(&["RESET"]), request(&["HELLO", hello]), request(&["FLUSHALL"]), request(&["CONFIG", "RESETSTAT"])].concat();
        let requests: Vec<_> = sequence.requests.iter().chain(&self.questions).cloned().collect();
        let mut bytes = prelude;
        requests.iter().for_each(|words| bytes.extend(request(words)));
        bytes.extend(request(&["ECHO", END]));
        // Theirs works in its own process while ours answers here.
        self.theirs.send(&bytes);
        let ours = self.ours.answer(&bytes);
        let theirs = self.theirs.receive();
        Played { requests, theirs: Answers::behind_prelude(theirs), ours: Answers::behind_prelude(ours) }
    }
}

impl Answers {
    /// Without what the prelude was answered, since HELLO tells versions and ids.
    fn behind_prelude(mut bytes: Vec<u8>) -> Answers {
        for _ in 0..4 {
            let (length, _) = frame::decode(&bytes).expect("the prelude is answered").expect("the prelude is answered in full");
            bytes.drain(..length);
        }
        Answers(bytes)
    }

    /// One reply for each request, as it came and as it is meant. The error tells after how many replies the rest made no sense.
    pub(super) fn replies(&self) -> Result<Vec<(&[u8], Reply)>, String> {
        let mut rest = self.0.as_slice();
        let mut replies = Vec::new();
        while !rest.is_empty() {
            let decoded = frame::decode(rest).map_err(|error| format!("after {} replies: {error}", replies.len()))?;
            let (length, reply) = decoded.ok_or_else(|| format!("after {} replies there is part of one", replies.len()))?;
            let (bytes, behind) = rest.split_at(length);
            replies.push((bytes, reply));
            rest = behind;
        }
        Ok(replies)
    }
}

/// What was counted, the keyspace key by key, and then as a whole.
fn questions() -> Vec<Vec<Vec<u8>>> {
    let words = |words: &[&[u8]]| words.iter().map(|word| word.to_vec()).collect::<Vec<_>>();
    let counters = counters::QUESTIONS.iter().map(|question| question.iter().map(|word| word.as_bytes().to_vec()).collect());
    let mut questions: Vec<_> = counters.collect();
    for db in 0..DATABASES {
        questions.push(words(&[b"SELECT", db.to_string().as_bytes()]));
        for key in KEYS.iter().filter(|_| db < DATABASES_SHOWN) {
            questions.push(words(&[b"PEXPIRETIME", key]));
            questions.push(words(&[b"EXPIRETIME", key]));
            questions.push(words(&[b"OBJECT", b"ENCODING", key]));
            questions.push(words(&[b"GET", key]));
        }
        // This makes redis-server drop what is past its deadline, so that it is not counted either.
        questions.push(words(&[b"KEYS", b"*"]));
        questions.push(words(&[b"DBSIZE"]));
    }
    questions.push(words(&[b"DEBUG", b"DIGEST"]));
    questions
}

struct Theirs {
    stream: TcpStream,
    /// Ended when this is dropped.
    _server: Server,
}

impl Theirs {
    fn new() -> Theirs {
        let server = Server::redis();
        let stream = server.connect();
        stream.set_read_timeout(Some(PATIENCE)).expect("the time-out is not zero");
        let mut theirs = Theirs { stream, _server: server };
        // What is past its deadline must not be counted at one moment and be gone at the next.
        theirs.send(&[request(&["DEBUG", "SET-ACTIVE-EXPIRE", "0"]), request(&["ECHO", END])].concat());
        assert_eq!(theirs.receive()[..5], *b"+OK\r\n");
        theirs
    }

    fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("redis-server reads");
    }

    /// Everything up to the answer to the last request, without that.
    fn receive(&mut self) -> Vec<u8> {
        let end = end();
        let mut bytes = Vec::new();
        let mut chunk = vec![0; 64 * 1024];
        while !bytes.ends_with(&end) {
            let length = self.stream.read(&mut chunk).expect("redis-server answers in time");
            assert!(length > 0, "redis-server has closed the connection after {bytes:?}");
            bytes.extend_from_slice(&chunk[..length]);
        }
        bytes.truncate(bytes.len() - end.len());
        bytes
    }
}

fn end() -> Vec<u8> {
    format!("${}\r\n{END}\r\n", END.len()).into_bytes()
}

struct Ours {
    shared: Shared,
    worker: Worker,
    conversation: Conversation,
}

impl Ours {
    fn new() -> Ours {
        // By default DEBUG is taken from the machine itself, which is where this client claims to be.
        let shared = Shared::new(Config::default()).expect("the defaults are fine");
        let worker = Worker::new(&shared);
        let conversation = Conversation::begin(&shared, "127.0.0.1:40000".to_owned(), "127.0.0.1:6379".to_owned(), 0);
        Ours { shared, worker, conversation: conversation.expect("there is room for one client") }
    }

    fn answer(&mut self, mut input: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        while !input.is_empty() {
            let now = self.shared.clock.now();
            let mut out = Output::default();
            let fed = self.conversation.feed(input, &mut self.worker, &self.shared, now, &mut out);
            bytes.append(&mut out.into());
            input = &input[fed.consumed..];
            assert!(matches!(fed.then, Then::Read | Then::Write), "{:?} with {} bytes left to read", fed.then, input.len());
        }
        let end = end();
        assert!(bytes.ends_with(&end), "the last request is answered otherwise");
        bytes.truncate(bytes.len() - end.len());
        bytes
    }
}
