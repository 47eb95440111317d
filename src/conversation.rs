//! One connection's side of the protocol without the connection: bytes in, requests run, bytes out, a batch at a time.
//!
//! Holds no socket and reads no clock. Up to 32 requests are parsed before the first of them runs, and the memory that they will look
//! at is fetched meanwhile.

mod batch;

use std::mem;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bytes::Bytes;

use crate::clients::{Address, Client, Sender};
use crate::clock::UnixMillis;
use crate::command::{self, Context, Flags, Input, Keyspace, Notes, Request, Wait};
use crate::config::{BATCH_REQUESTS_MAX, OUTPUT_BYTES_SOFT_MAX};
use crate::events::Events;
use crate::resp::{Arg, Limits, Output, Parsed, Parser, ProtocolError, Reply};
use crate::session::{ReplyMode, Session};
use crate::shared::Shared;
use crate::store::{Db, Gate, LEN_MAX, Moment, SHARED_BYTES_MIN};

pub use batch::Worker;

/// Input of fewer bytes holds nothing that would be kept as it came.
pub const OWNED_BYTES_MIN: usize = SHARED_BYTES_MIN;

/// What is to happen next on the connection, after the output has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Read more.
    Read,
    /// Come back with the rest of the input: the output, or what others were sent, is large enough to be written first.
    Write,
    /// Wait until this time or until woken, and [`Conversation::wake`].
    Wait(Option<UnixMillis>),
    /// Close.
    Close,
}

/// What became of some input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fed {
    /// Bytes that are done with. The rest must be offered again, with what follows it.
    pub consumed: usize,
    /// What is to happen next.
    pub then: Then,
}

impl Fed {
    /// Whether the rest of so many bytes stays where it is until it is offered again. What has gathered would otherwise be copied over and
    /// over; what is left in the end is copied, so that it keeps no more memory than it needs.
    pub fn keeps(&self, input_len: usize) -> bool {
        self.consumed == 0 || (self.then == Then::Write && input_len - self.consumed > self.consumed)
    }
}

/// One connection's state between two reads.
#[derive(Debug)]
pub struct Conversation {
    session: Session,
    parser: Parser,
    /// Arguments of a request that has not arrived in full.
    unfinished: Vec<Arg>,
    /// Boxed because it is rare: an idle connection is to cost little.
    waiting: Option<Box<Wait>>,
    /// A pause holds the next request back.
    held_back: bool,
}

/// What a peer is told that comes when `maxclients` are there.
pub const TOO_MANY_CLIENTS: &[u8] = b"-ERR max number of clients reached\r\n";

impl Conversation {
    /// Begins a conversation with a client at `addr`. `None` when there are too many: it is told [`TOO_MANY_CLIENTS`].
    pub fn begin(shared: &Shared, addr: impl Into<Address>, laddr: impl Into<Address>, flags: u32) -> Option<Self> {
        if shared.clients.len() as u64 >= shared.settings.maxclients.load(Ordering::Relaxed) {
            shared.stats.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        shared.stats.connections.fetch_add(1, Ordering::Relaxed);
        let client = shared.clients.add(addr, laddr, flags, shared.clock.now());
        let session = Session::new(client, !shared.settings.password_required());
        Some(Self { session, parser: Parser::default(), unfinished: Vec::new(), waiting: None, held_back: false })
    }

    /// Takes the client off all lists, before its peer can know that it is closed: from here on nobody counts it or sends it anything.
    pub fn leave(&self, shared: &Shared) {
        shared.pubsub.forget(&self.session.client);
        shared.tracking.end(&self.session.client);
        shared.clients.forget(&self.session.client);
    }

    /// Ends it: nobody tells this client anything any more.
    pub fn end(&mut self, shared: &Shared) {
        command::unwatch(&mut self.session, shared);
        self.leave(shared);
        shared.clients.remove(&self.session.client);
    }

    /// The client's own state.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Bytes known to be missing from the request that `input_len` bytes have begun: a hint for the read buffer.
    pub fn bytes_due(&self, input_len: usize) -> usize {
        self.parser.bytes_due(input_len)
    }

    /// Runs all requests in `input` and appends their replies to `out`.
    pub fn feed(&mut self, input: &[u8], worker: &mut Worker, shared: &Shared, now: UnixMillis, out: &mut Output) -> Fed {
        worker.post.begin(self.session.client.id);
        let mut consumed = 0;
        let then = loop {
            if self.session.closing {
                break Then::Close;
            }
            if let Some(wait) = &self.waiting {
                break Then::Wait(wait.until);
            }
            if self.session.client.is_killed() {
                break Then::Close;
            }
            worker.clear();
            let gate = shared.store.enter();
            worker.limits = limits(&self.session, shared);
            let parsed = self.parse(&input[consumed..], worker, shared, gate.db(self.session.db));
            let offset = consumed;
            let (end, stop) = self.run(gate, &input[offset..], worker, shared, now, out);
            consumed += end;
            if let Some(stop) = stop {
                // What was parsed behind the stop is parsed again when it is over.
                self.parser = Parser::default();
                self.unfinished = Vec::new();
                match stop {
                    Stop::Then(then) => break then,
                    Stop::Limits => continue,
                }
            }
            match parsed {
                Ok(skipped) => consumed = offset + skipped,
                Err(error) => {
                    worker.stats.errors.add(1);
                    shared.stats.count_error(&error.wire());
                    if self.session.reply_mode == ReplyMode::On {
                        Reply::new(out, self.session.protocol).error(error.wire());
                    }
                    break Then::Close;
                }
            }
            if worker.requests.is_empty() || consumed == input.len() {
                break Then::Read;
            }
            if worker.sent_bytes() >= OUTPUT_BYTES_SOFT_MAX {
                break Then::Write;
            }
        };
        self.end_batch(worker, shared, now, out);
        self.show(input.len() - consumed, now);
        Fed { consumed, then }
    }

    /// Runs all requests in `input` as [`Self::feed`] does. Large values in it may be kept as they came instead of being copied.
    pub fn feed_owned(&mut self, input: &Bytes, worker: &mut Worker, shared: &Shared, now: UnixMillis, out: &mut Output) -> Fed {
        worker.owned = Some(input.clone());
        let fed = self.feed(input, worker, shared, now, out);
        worker.owned = None;
        fed
    }

    /// Whether a wait is over: its time has come, or something ended it. Appends the answer of a command that is done waiting.
    pub fn wake(&mut self, worker: &mut Worker, shared: &Shared, now: UnixMillis, out: &mut Output) -> bool {
        let Some(wait) = self.waiting.as_deref().copied() else {
            return shared.clients.paused(true, now).is_none();
        };
        let due = wait.until.is_some_and(|until| until <= now);
        let Some(unblock) = self.session.client.end_wait(due) else {
            return false;
        };
        self.waiting = None;
        self.session.client.active.store(now.0, Ordering::Relaxed);
        worker.post.begin(self.session.client.id);
        let events = events(worker, shared, now);
        let mut cx = context(shared.store.enter(), &events, &mut self.session, worker, shared, now, out);
        command::resume(&mut cx, wait, unblock);
        drop(cx);
        worker.post.wake();
        true
    }

    /// Parses requests until the batch is full or the input ends. Returns how many bytes hold nothing but what is in the batch.
    // Apart from its caller, as `run` is: called once a batch, each has the processor's registers for its own loop.
    #[inline(never)]
    fn parse(&mut self, input: &[u8], worker: &mut Worker, shared: &Shared, db: &Db) -> Result<usize, ProtocolError> {
        // Only the first request can have begun earlier. What came of it stays where it is, however often it is cut off.
        let resumed = !self.parser.is_idle();
        if resumed {
            mem::swap(&mut worker.args, &mut self.unfinished);
        }
        let (mut start, mut first) = (0, 0);
        while worker.requests.len() < BATCH_REQUESTS_MAX {
            let parsed = self.parser.parse(&input[start..], &mut worker.args, &mut worker.scratch, &worker.limits)?;
            if parsed == Parsed::Incomplete {
                if resumed && first == 0 {
                    mem::swap(&mut worker.args, &mut self.unfinished);
                } else {
                    self.unfinished = worker.args.drain(first..).collect();
                }
                return Ok(start);
            }
            start = worker.accept(parsed, input, start, first, shared, db);
            first = worker.args.len();
            if start == input.len() {
                break;
            }
        }
        self.unfinished = Vec::new();
        Ok(start)
    }

    /// Runs the batch. Returns where the requests end that are done with, and what stopped it, if something did.
    #[inline(never)]
    fn run(
        &mut self,
        gate: Gate<'_>,
        input: &[u8],
        worker: &Worker,
        shared: &Shared,
        now: UnixMillis,
        out: &mut Output,
    ) -> (usize, Option<Stop>) {
        if worker.requests.is_empty() {
            return (0, None);
        }
        self.go_on();
        let events = events(worker, shared, now);
        let mut cx = context(gate, &events, &mut self.session, worker, shared, now, out);
        worker.prefetch(cx.keys.db());
        let mut begun = Instant::now();
        // Up to the first request whose time is not noted yet.
        let mut noted = 0;
        let (mut answered, mut end, mut stop) = (0, 0, None);
        for parsing in &worker.requests {
            let request = || worker.request(parsing, input);
            if cx.notes.paused
                && let Some(until) = command::held_back(&cx, &request())
            {
                self.held_back = true;
                cx.session.client.set_flag(Client::BLOCKED, true);
                stop = Some(Stop::Then(Then::Wait(Some(until))));
                break;
            }
            let is_timed = cx.notes.time_all || parsing.command.is_some_and(|command| command.timed);
            if is_timed {
                begun = worker.share_time(noted..answered, begun, shared);
            }
            let mark = cx.reply.mark();
            let ran = command::dispatch(&mut cx, request());
            end = parsing.end;
            answered += 1;
            if is_timed {
                begun = command::time(&mut cx, request, ran, begun);
                noted = answered;
            }
            if cx.command.steers || cx.notes.monitors || cx.keys.is_observed() {
                follow_up(&mut cx, ran.then(request).as_ref(), mark);
            }
            if cx.command.steers
                && let Some(steered) = steered(&mut cx, &mut self.waiting, &worker.limits)
            {
                stop = Some(steered);
                break;
            }
            debug_assert!(cx.wait.is_none() && !cx.session.closing, "only what steers may wait or close");
            // Within the batch: it may ask for one large value many times.
            if cx.reply.output_bytes() >= OUTPUT_BYTES_SOFT_MAX {
                stop = Some(Stop::Then(Then::Write));
                break;
            }
        }
        // One that is held back counts, too.
        let last = &worker.requests[if self.held_back { answered } else { answered - 1 }];
        note_last(cx.session, &worker.request(last, input));
        drop(cx);
        worker.share_time(noted..answered, begun, shared);
        (end, stop)
    }

    /// Sends what was put off until the keyspace has been left: who tracks keys by their beginnings is told, and all who were sent
    /// something are woken.
    fn end_batch(&self, worker: &Worker, shared: &Shared, now: UnixMillis, out: &mut Output) {
        if shared.tracking.is_due() {
            let sender = Sender { post: &worker.post, settings: &shared.settings, now };
            shared.tracking.broadcast(&shared.clients, sender);
            if worker.post.take_own() {
                self.session.client.collect(out);
            }
        }
        worker.post.wake();
    }

    /// What a pause has held back may go on, until it is looked at again.
    fn go_on(&mut self) {
        if mem::take(&mut self.held_back) {
            self.session.client.set_flag(Client::BLOCKED, false);
        }
    }

    /// Lets others see what this connection does: once for all that one read brought.
    fn show(&self, query_bytes: usize, now: UnixMillis) {
        let client = &self.session.client;
        client.active.store(now.0, Ordering::Relaxed);
        client.query_bytes.store(query_bytes, Ordering::Relaxed);
        self.session.publish();
    }
}

/// What comes right behind the reply that began at `mark`, to a request which is `None` when it was not run: what monitors see, and what the client has been
/// sent by its own doing.
#[inline(never)]
fn follow_up(cx: &mut Context<'_>, ran: Option<&Request<'_>>, mark: usize) {
    if cx.command.steers {
        cx.look_again();
    }
    if let Some(request) = ran.filter(|_| cx.notes.monitors) {
        command::show_monitors(cx, request, mark);
    }
    let is_said_of_next = ran.is_some() && cx.command.spec.has(Flags::BESIDE_CACHING);
    if cx.session.tracked.is_caching() && !is_said_of_next && !cx.session.is_queueing() {
        cx.session.tracked.set_caching(false);
    }
    if cx.post.take_own() {
        cx.hear();
    }
}

/// Lets others see what a client has last asked for.
#[inline]
fn note_last(session: &Session, request: &Request<'_>) {
    session.client.set_last_command(command::named(request).map_or(usize::MAX, |command| command.id));
}

/// Why a batch ends before its last request.
#[derive(Clone, Copy)]
enum Stop {
    /// Something else comes first.
    Then(Then),
    /// What a request may ask for has changed: the rest is parsed anew.
    Limits,
}

/// What a command has asked for that may wait, close or change the limits. Those under which the batch was parsed are `limits`.
#[inline(never)]
fn steered(cx: &mut Context<'_>, waiting: &mut Option<Box<Wait>>, limits: &Limits) -> Option<Stop> {
    if let Some(wait) = cx.wait.take() {
        *waiting = Some(Box::new(wait));
        return Some(Stop::Then(Then::Wait(wait.until)));
    }
    if cx.session.closing {
        return Some(Stop::Then(Then::Close));
    }
    if self::limits(cx.session, cx.shared) != *limits {
        return Some(Stop::Limits);
    }
    // Within the batch: it may publish many large messages.
    (cx.post.sent_bytes() >= OUTPUT_BYTES_SOFT_MAX).then_some(Stop::Then(Then::Write))
}

/// What a request of this client may ask for.
#[inline]
fn limits(session: &Session, shared: &Shared) -> Limits {
    let settings = &shared.settings;
    // What no entry could hold is refused whatever the parameter says.
    let bulk_bytes_max = settings.bulk_bytes_max.load(Ordering::Relaxed).min(LEN_MAX as u64);
    Limits { bulk_bytes_max, args_max: i32::MAX as u64, unauthenticated: !session.authenticated && settings.password_required() }
}

/// Tells what a batch does to keys.
#[inline]
fn events<'a>(worker: &'a Worker, shared: &'a Shared, now: UnixMillis) -> Events<'a> {
    Events::new(shared, Sender { post: &worker.post, settings: &shared.settings, now })
}

#[inline]
fn context<'a>(
    gate: Gate<'a>,
    events: &'a Events<'a>,
    session: &'a mut Session,
    worker: &'a Worker,
    shared: &'a Shared,
    now: UnixMillis,
    out: &'a mut Output,
) -> Context<'a> {
    let touch = command::touch(session.no_touch, &shared.settings);
    Context {
        keys: Keyspace::new(&shared.store, gate, session.db, Moment { now, touch, observer: None }, events, &worker.stats),
        reply: Reply::new(out, session.protocol),
        input: Input::new(worker.owned.as_ref()),
        session,
        shared,
        stats: &worker.stats,
        post: &worker.post,
        command: &command::table().commands()[0],
        wait: None,
        notes: Notes::look(shared, now),
        has_settled: false,
        in_exec: None,
    }
}
