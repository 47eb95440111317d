//! A real redis-server and ours, side by side, and the same sequence played to both.
//! Gives what each of them answered; what of it counts as equal is for `compare` to say.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use redlet::Config;
use redlet::internals::{Conversation, Output, Shared, Then, Worker};

use super::counters;
use super::sequence::{Said, Sequence};
use super::values::KEYS;
use crate::frame;
use crate::process::Server;
use crate::reply::{Protocol, Reply};
use crate::transcript::request;

/// How long redis-server may take to answer a whole sequence.
const PATIENCE: Duration = Duration::from_secs(20);

/// Databases that there are.
const DATABASES: usize = 16;

/// Databases whose keys are looked at one by one in the end. Of the others only the names are.
const DATABASES_SHOWN: usize = 4;

/// The last request of each sequence; nothing else is answered like this.
const END: &str = "the end of this sequence";

/// Both servers with some connections to each.
pub(super) struct Pair {
    theirs: Theirs,
    ours: Ours,
    /// What is asked after each sequence.
    questions: Vec<Said>,
}

/// All that was said in one sequence.
pub(super) struct Played {
    /// The sequence, and then the questions about what it left behind.
    pub(super) requests: Vec<Said>,
    /// redis-server's replies.
    pub(super) theirs: Answers,
    /// Our replies.
    pub(super) ours: Answers,
}

/// Replies in the order of the requests.
#[derive(PartialEq, Eq)]
pub(super) struct Answers(Vec<u8>);

/// Requests of one connection that are sent at once.
struct Portion {
    conn: usize,
    bytes: Vec<u8>,
    requests: usize,
}

impl Pair {
    /// With this many connections to each server.
    pub(super) fn new(conns: usize) -> Pair {
        Pair { theirs: Theirs::new(conns), ours: Ours::new(conns), questions: questions() }
    }

    /// Plays a sequence to both servers, each on an empty keyspace.
    pub(super) fn play(&mut self, sequence: &Sequence) -> Played {
        let prelude = self.prelude(sequence.protocol);
        let requests: Vec<_> = sequence.requests.iter().chain(&self.questions).cloned().collect();
        let end = Said { conn: 0, words: vec![b"ECHO".to_vec(), END.into()] };
        let mut portions = portions(prelude.iter().chain(&requests).chain([&end]));
        let last = portions.pop().expect("there is an end");
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for portion in portions {
            // Theirs works in its own process while ours answers here.
            self.theirs.send(&portion);
            ours.extend(self.ours.answer(&portion));
            theirs.extend(self.theirs.receive(&portion));
        }
        self.theirs.send(&last);
        ours.extend(without_end(self.ours.answer(&last)));
        theirs.extend(self.theirs.receive_to_end());
        let [theirs, ours] = [theirs, ours].map(|bytes| Answers::behind_prelude(bytes, prelude.len()));
        Played { requests, theirs, ours }
    }

    /// What each connection says first: that it is as if new. The first of them empties the keyspace and the counters, last of all.
    fn prelude(&self, protocol: Protocol) -> Vec<Said> {
        let hello = if protocol == Protocol::Resp3 { "3" } else { "2" };
        let said = |conn: usize, words: &[&str]| Said { conn, words: words.iter().map(|word| word.as_bytes().to_vec()).collect() };
        let greetings =
            (0..self.ours.conversations.len()).rev().flat_map(|conn| [said(conn, &["RESET"]), said(conn, &["HELLO", hello])]);
        greetings.chain([said(0, &["FLUSHALL"]), said(0, &["CONFIG", "RESETSTAT"])]).collect()
    }
}

/// Requests of the same connection that follow each other are sent together.
fn portions<'a>(requests: impl Iterator<Item = &'a Said>) -> Vec<Portion> {
    let mut portions: Vec<Portion> = Vec::new();
    for said in requests {
        match portions.last_mut() {
            Some(portion) if portion.conn == said.conn => {
                portion.bytes.extend(request(&said.words));
                portion.requests += 1;
            }
            _ => portions.push(Portion { conn: said.conn, bytes: request(&said.words), requests: 1 }),
        }
    }
    portions
}

impl Answers {
    /// Without what the prelude was answered, since HELLO tells versions and ids.
    fn behind_prelude(mut bytes: Vec<u8>, replies: usize) -> Answers {
        let end = end_of(&bytes, replies).expect("the prelude is answered in full");
        bytes.drain(..end);
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

/// Where so many replies end, if they are all there.
fn end_of(bytes: &[u8], replies: usize) -> Option<usize> {
    let mut at = 0;
    for _ in 0..replies {
        at += frame::decode(&bytes[at..]).expect("a reply")?.0;
    }
    Some(at)
}

fn without_end(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = end();
    assert!(bytes.ends_with(&end), "the last request is answered otherwise");
    bytes.truncate(bytes.len() - end.len());
    bytes
}

/// What was counted, the keyspace key by key, and then as a whole.
fn questions() -> Vec<Said> {
    let words = |words: &[&[u8]]| Said { conn: 0, words: words.iter().map(|word| word.to_vec()).collect() };
    // Nothing of them is to be queued.
    let mut questions = vec![words(&[b"DISCARD"])];
    questions
        .extend(counters::QUESTIONS.iter().map(|question| words(&question.iter().map(|word| word.as_bytes()).collect::<Vec<_>>())));
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
    streams: Vec<TcpStream>,
    /// Ended when this is dropped.
    _server: Server,
}

impl Theirs {
    fn new(conns: usize) -> Theirs {
        let server = Server::redis();
        let streams: Vec<_> = (0..conns).map(|_| server.connect()).collect();
        for stream in &streams {
            stream.set_read_timeout(Some(PATIENCE)).expect("the time-out is not zero");
        }
        let mut theirs = Theirs { streams, _server: server };
        // What is past its deadline must not be counted at one moment and be gone at the next.
        let bytes = request(&["DEBUG", "SET-ACTIVE-EXPIRE", "0"]);
        let portion = Portion { conn: 0, bytes, requests: 1 };
        theirs.send(&portion);
        assert_eq!(theirs.receive(&portion), b"+OK\r\n");
        theirs
    }

    fn send(&mut self, portion: &Portion) {
        self.streams[portion.conn].write_all(&portion.bytes).expect("redis-server reads");
    }

    /// One reply to each request.
    fn receive(&mut self, portion: &Portion) -> Vec<u8> {
        let mut bytes = Vec::new();
        while end_of(&bytes, portion.requests) != Some(bytes.len()) {
            self.read(portion.conn, &mut bytes);
        }
        bytes
    }

    /// Everything up to the answer to the last request, without that.
    fn receive_to_end(&mut self) -> Vec<u8> {
        let end = end();
        let mut bytes = Vec::new();
        while !bytes.ends_with(&end) {
            self.read(0, &mut bytes);
        }
        without_end(bytes)
    }

    fn read(&mut self, conn: usize, bytes: &mut Vec<u8>) {
        let mut chunk = vec![0; 64 * 1024];
        let length = self.streams[conn].read(&mut chunk).expect("redis-server answers in time");
        assert!(length > 0, "redis-server has closed the connection after {bytes:?}");
        bytes.extend_from_slice(&chunk[..length]);
    }
}

fn end() -> Vec<u8> {
    format!("${}\r\n{END}\r\n", END.len()).into_bytes()
}

struct Ours {
    shared: Shared,
    worker: Worker,
    conversations: Vec<Conversation>,
}

impl Ours {
    fn new(conns: usize) -> Ours {
        // By default DEBUG is taken from the machine itself, which is where these clients claim to be.
        let shared = Shared::new(Config::default()).expect("the defaults are fine");
        let worker = Worker::new(&shared);
        let begin =
            |conn: usize| Conversation::begin(&shared, format!("127.0.0.1:{}", 40_000 + conn), "127.0.0.1:6379".to_owned(), 0);
        let conversations = (0..conns).map(|conn| begin(conn).expect("there is room for a few clients")).collect();
        Ours { shared, worker, conversations }
    }

    fn answer(&mut self, portion: &Portion) -> Vec<u8> {
        let mut input = portion.bytes.as_slice();
        let mut bytes = Vec::new();
        while !input.is_empty() {
            let now = self.shared.clock.now();
            let mut out = Output::default();
            let fed = self.conversations[portion.conn].feed(input, &mut self.worker, &self.shared, now, &mut out);
            bytes.append(&mut out.into());
            input = &input[fed.consumed..];
            assert!(matches!(fed.then, Then::Read | Then::Write), "{:?} with {} bytes left to read", fed.then, input.len());
        }
        bytes
    }
}
