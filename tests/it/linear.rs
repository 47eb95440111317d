//! Histories of clients that meet on a few keys: some order of whole commands and whole transactions must explain every reply.
//!
//! Over TCP, and without a socket, where a command takes microseconds and a hundred times as many can be run. In each round every
//! client runs its commands one by one or pipelined; a round begins with nothing stored, and its history is judged by itself.

mod checker;
pub(crate) mod model;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use redlet::internals::{Conversation, Output, Shared, Then, Worker};
use redlet::{Config, Server};

use crate::frame;
use checker::{Event, History, linearize, show};
use model::{Dice, Op};

const SEED: u64 = 20_260_101;
/// No more rounds are begun after this time.
const TIME_MAX: Duration = Duration::from_secs(6);
/// Requests that are said at once in every other round.
const PIPELINED: usize = 5;
/// Fewest commands of a test that must have run while one of another client did.
const MEETINGS_MIN: usize = 20;

/// Somebody who says requests and hears replies.
pub(crate) trait Client: Send {
    /// Says all of `requests` at once and gives the reply to each.
    fn ask(&mut self, requests: &[u8], replies: usize) -> Vec<Vec<u8>>;
}

/// Takes `count` whole replies from the front of `bytes`, if they are all there.
fn split_replies(bytes: &[u8], count: usize) -> Option<Vec<Vec<u8>>> {
    let mut at = 0;
    let mut replies = Vec::new();
    while replies.len() < count {
        let (len, _) = frame::decode(&bytes[at..]).expect("a well-formed reply")?;
        replies.push(bytes[at..at + len].to_vec());
        at += len;
    }
    assert_eq!(at, bytes.len(), "no more replies than requests");
    Some(replies)
}

pub(crate) struct OverTcp(TcpStream);

impl OverTcp {
    pub(crate) fn new(server: &Server) -> Self {
        let stream = TcpStream::connect(server.addr()).expect("the server accepts");
        stream.set_nodelay(true).expect("small requests are sent at once");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time-out can be set");
        Self(stream)
    }
}

impl Client for OverTcp {
    fn ask(&mut self, requests: &[u8], replies: usize) -> Vec<Vec<u8>> {
        self.0.write_all(requests).expect("the server takes requests");
        let mut heard = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let len = self.0.read(&mut buffer).expect("the server answers");
            assert_ne!(len, 0, "the server stays");
            heard.extend_from_slice(&buffer[..len]);
            if let Some(replies) = split_replies(&heard, replies) {
                return replies;
            }
        }
    }
}

pub(crate) struct InProcess {
    shared: Arc<Shared>,
    conversation: Conversation,
    worker: Worker,
}

impl InProcess {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        let conversation = Conversation::begin(shared, "127.0.0.1:1".to_owned(), "127.0.0.1:2".to_owned(), 0);
        Self { shared: Arc::clone(shared), conversation: conversation.expect("there is room"), worker: Worker::new(shared) }
    }
}

impl Client for InProcess {
    fn ask(&mut self, requests: &[u8], replies: usize) -> Vec<Vec<u8>> {
        let mut heard = Output::default();
        let fed = self.conversation.feed(requests, &mut self.worker, &self.shared, self.shared.clock.now(), &mut heard);
        assert_eq!((fed.consumed, fed.then), (requests.len(), Then::Read));
        split_replies(&Vec::from(heard), replies).expect("every request is answered")
    }
}

/// Where clients wait for each other. Waits without sleeping, since who is woken late meets nobody.
struct Meeting {
    clients: usize,
    arrived: AtomicUsize,
    /// A client has failed, and there is nobody to wait for.
    broken: AtomicBool,
}

impl Meeting {
    fn wait(&self) {
        let arrived = self.arrived.fetch_add(1, Ordering::SeqCst) + 1;
        let all = arrived.next_multiple_of(self.clients);
        let mut looks = 0;
        while self.arrived.load(Ordering::SeqCst) < all {
            assert!(!self.broken.load(Ordering::SeqCst), "another client has failed");
            looks += 1;
            if looks < 2000 { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }
}

/// Tells the others when its client's thread fails.
struct Alarm<'a>(&'a Meeting);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::SeqCst);
        }
    }
}

/// What all clients of a test share.
struct Stage {
    meeting: Meeting,
    /// The clock of calls and returns: no two of them at once.
    clock: AtomicU64,
    over: AtomicBool,
    rounds: usize,
    ops: usize,
}

impl Stage {
    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Plays one client's part in every round. The first client begins each round with nothing stored.
    fn play(&self, number: usize, client: &mut impl Client) -> Vec<Vec<Event>> {
        let _alarm = Alarm(&self.meeting);
        let begun = Instant::now();
        let mut parts = Vec::new();
        for round in 0..self.rounds {
            if number == 0 {
                self.over.store(begun.elapsed() > TIME_MAX, Ordering::SeqCst);
                assert_eq!(client.ask(&Op::FlushAll.request(), 1), [b"+OK\r\n"]);
            }
            let mut dice = Dice(SEED ^ (round as u64) << 20 ^ (number as u64) << 8);
            let ops: Vec<_> = (0..self.ops).map(|_| Op::random(&mut dice)).collect();
            self.meeting.wait();
            if self.over.load(Ordering::SeqCst) {
                break;
            }
            let at_once = if round % 2 == 0 { 1 } else { PIPELINED };
            parts.push(ops.chunks(at_once).flat_map(|ops| self.act(ops, client)).collect());
            self.meeting.wait();
        }
        parts
    }

    /// Runs commands at once, and notes when and with what result.
    fn act(&self, ops: &[Op], client: &mut impl Client) -> Vec<Event> {
        let requests: Vec<u8> = ops.iter().flat_map(Op::request).collect();
        let called = self.tick();
        let mut replies = client.ask(&requests, ops.iter().map(Op::replies).sum()).into_iter();
        let returned = self.tick();
        let event = |op: &Op| {
            let last = replies.nth(op.replies() - 1).expect("every request is answered");
            Event { op: op.clone(), called, returned, reply: op.normal(&last) }
        };
        ops.iter().map(event).collect()
    }
}

/// Has `clients` play `rounds` rounds of `ops` commands each, and judges every history.
#[track_caller]
fn check<C: Client>(mut clients: Vec<C>, rounds: usize, ops: usize) {
    let meeting = Meeting { clients: clients.len(), arrived: AtomicUsize::new(0), broken: AtomicBool::new(false) };
    let stage = Stage { meeting, clock: AtomicU64::new(0), over: AtomicBool::new(false), rounds, ops };
    let mut parts: Vec<_> = std::thread::scope(|scope| {
        let playing = clients.iter_mut().enumerate().map(|(number, client)| {
            let stage = &stage;
            scope.spawn(move || stage.play(number, client))
        });
        // All of them must be there before one of them is waited for.
        let playing: Vec<_> = playing.collect();
        playing.into_iter().map(|client| client.join().expect("no client fails").into_iter()).collect()
    });
    let (mut met, mut played) = (0, 0);
    while let Some(history) = parts.iter_mut().map(Iterator::next).collect::<Option<History>>() {
        if let Err(furthest) = linearize(&history) {
            panic!("round {played}: no order explains these replies\n{}", show(&history, &furthest));
        }
        played += 1;
        met += meetings(&history);
    }
    // A machine with much else to do plays fewer rounds, but a test in which nobody meets shows nothing.
    assert!(met >= MEETINGS_MIN, "in {played} rounds {met} commands met another");
}

/// How many commands ran while one of another client did.
fn meetings(history: &History) -> usize {
    let meets = |event: &Event, others: &Vec<Event>| {
        let first_after = others.partition_point(|other| other.returned < event.called);
        others.get(first_after).is_some_and(|other| other.called < event.returned)
    };
    let of_client = |client: usize| {
        let others = || history.iter().enumerate().filter(|(other, _)| *other != client);
        history[client].iter().filter(|event| others().any(|(_, events)| meets(event, events))).count()
    };
    (0..history.len()).map(of_client).sum()
}

fn check_in_process(clients: usize, rounds: usize, ops: usize) {
    let shared = Arc::new(Shared::new(Config::default()).expect("a configuration without parameters"));
    check((0..clients).map(|_| InProcess::new(&shared)).collect(), rounds, ops);
}

#[test]
fn two_conversations() {
    check_in_process(2, 100, 500);
}

#[test]
fn three_conversations() {
    check_in_process(3, 100, 300);
}

#[test]
fn four_connections() {
    let server = Server::start().expect("a server starts");
    check((0..4).map(|_| OverTcp::new(&server)).collect(), 1000, 4);
}

#[test]
fn three_connections() {
    let server = Server::start().expect("a server starts");
    check((0..3).map(|_| OverTcp::new(&server)).collect(), 1000, 6);
}

#[test]
fn a_key_that_is_renamed_is_always_there() {
    let shared = Arc::new(Shared::new(Config::default()).expect("a configuration without parameters"));
    let mut watcher = InProcess::new(&shared);
    let mut renamer = InProcess::new(&shared);
    watcher.ask(&Op::Set(0, b'1').request(), 1);
    let over = AtomicBool::new(false);
    let renames: Vec<u8> = [(0, 1), (1, 2), (2, 0)].iter().flat_map(|&(from, to)| Op::Rename(from, to).request()).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                renamer.ask(&renames, 3);
            }
        });
        let wrong = (0..20_000).find_map(|_| {
            [(Op::DbSize, b":1\r\n".as_slice()), (Op::RandomKey, b"$1\r\n"), (Op::Exists(vec![0, 1, 2]), b":1\r\n")]
                .into_iter()
                .find_map(|(op, expected)| {
                    let reply = op.normal(&watcher.ask(&op.request(), 1)[0]);
                    (reply != expected).then_some((op, reply))
                })
        });
        over.store(true, Ordering::Relaxed);
        assert_eq!(wrong, None);
    });
}
