//! The corpus without a socket: whole requests, pipelines and single bytes go straight to conversations.
//! Time stands still but for `@advance` and for what a command waits for, so nothing here sleeps.

use std::collections::BTreeMap;
use std::time::Duration;

use redlet::internals::{Conversation, Output, Shared, TOO_MANY_CLIENTS, Then, UnixMillis, Worker, sweep};
use redlet::{Config, DebugCommand, LogLevel};

use crate::differences::Differences;
use crate::frame;
use crate::play::{Delivery, Heard, Peer};
use crate::stage::check;
use crate::transcript::corpus;

/// A server whose connections are conversations.
pub(crate) struct InProcess {
    shared: Shared,
    worker: Worker,
    conns: BTreeMap<String, Conn>,
}

/// What a socket would hold for one connection.
struct Conn {
    /// `None` when it was refused.
    conversation: Option<Conversation>,
    input: Vec<u8>,
    output: Vec<u8>,
    then: Then,
}

impl InProcess {
    pub(crate) fn new() -> Self {
        let config = Config { enable_debug_command: DebugCommand::Yes, loglevel: LogLevel::Notice, ..Config::default() };
        let shared = Shared::new(config).expect("the parameters exist");
        let worker = Worker::new(&shared);
        Self { shared, worker, conns: BTreeMap::new() }
    }

    /// Lets every connection do what it can.
    fn pump(&mut self) {
        let Self { shared, worker, conns } = self;
        let mut busy = true;
        while busy {
            // Every connection takes its turn, whatever came of the turns before.
            busy = conns.values_mut().map(|conn| conn.turn(shared, worker)).filter(|&changed| changed).count() > 0;
        }
    }

    /// Moves the clock to the time that a connection waits for.
    fn skip_to(&self, until: UnixMillis) {
        let wait = until.millis_since(self.shared.clock.now());
        self.shared.clock.advance(Duration::from_millis(wait + 1));
    }
}

impl Conn {
    /// What a socket does when it is woken. Whether anything came of it.
    fn turn(&mut self, shared: &Shared, worker: &mut Worker) -> bool {
        let Some(conversation) = &mut self.conversation else { return false };
        if self.then == Then::Close {
            return false;
        }
        let client = std::sync::Arc::clone(&conversation.session().client);
        if client.is_killed() || shared.is_stopping() {
            conversation.end(shared);
            self.then = Then::Close;
            return true;
        }
        let now: UnixMillis = shared.clock.now();
        let mut answers = Output::default();
        if matches!(self.then, Then::Wait(_)) && !conversation.wake(worker, shared, now, &mut answers) {
            return false;
        }
        let (held, said) = (self.input.len(), self.output.len() + answers.len());
        let fed = conversation.feed(&self.input, worker, shared, now, &mut answers);
        client.collect(&mut answers);
        self.output.append(&mut answers.into());
        self.input.drain(..fed.consumed);
        let changed = fed.then != self.then;
        self.then = fed.then;
        if self.then == Then::Close {
            conversation.end(shared);
        }
        changed || self.input.len() != held || self.output.len() != said
    }
}

impl Peer for InProcess {
    fn open(&mut self, name: &str) {
        if self.conns.contains_key(name) {
            return;
        }
        let addr = format!("127.0.0.1:{}", 40_000 + self.conns.len());
        let conversation = Conversation::begin(&self.shared, addr, "127.0.0.1:6379".to_owned(), 0);
        let output = if conversation.is_none() { TOO_MANY_CLIENTS.to_vec() } else { Vec::new() };
        let then = if conversation.is_none() { Then::Close } else { Then::Read };
        self.conns.insert(name.to_owned(), Conn { conversation, input: Vec::new(), output, then });
    }

    fn send(&mut self, name: &str, bytes: &[u8]) {
        let conn = self.conns.get_mut(name).expect("an open connection");
        conn.input.extend_from_slice(bytes);
        self.pump();
    }

    fn receive(&mut self, name: &str, _patience: Duration) -> Heard {
        loop {
            self.pump();
            let conn = self.conns.get_mut(name).expect("an open connection");
            match frame::decode(&conn.output) {
                Err(noise) => return Heard::Noise(noise),
                Ok(Some((len, _))) => return Heard::Reply(conn.output.drain(..len).collect()),
                Ok(None) if conn.then == Then::Close => return Heard::Closed,
                Ok(None) => match conn.then {
                    Then::Wait(Some(until)) => self.skip_to(until),
                    _ => return Heard::Silence,
                },
            }
        }
    }

    fn forget(&mut self, name: &str) {
        self.conns.remove(name);
    }

    fn advance(&mut self, by: Duration) {
        self.shared.clock.advance(by);
        sweep(&self.shared);
        self.pump();
    }
}

#[track_caller]
fn check_conversation(delivery: Delivery) {
    let mut corpus = corpus();
    corpus.retain(|transcript| !transcript.needs_server);
    check(&corpus, &[delivery], &Differences::none(), InProcess::new);
}

#[test]
fn requests_one_by_one() {
    check_conversation(Delivery::OneByOne);
}

#[test]
fn pipelines() {
    check_conversation(Delivery::Pipelined);
}

#[test]
fn single_bytes() {
    check_conversation(Delivery::ByteByByte);
}
