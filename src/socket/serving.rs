//! A connection's life on the worker threads: its turns, its waits, and its way from one thread to another.
//!
//! One future written out by hand rather than by the compiler, which would keep the connection twice and room for every wait: an idle
//! connection is to cost little.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::{Connection, Stream};
use crate::clients::Order;
use crate::clock::UnixMillis;
use crate::conversation::Then;
use crate::resp::Output;
use crate::workers::{Lent, Seat};

/// Input that may gather while a command waits, in bytes. Reading goes on so that the peer's going away is noticed; beyond this it is
/// noticed by [`GONE_CHECK`].
const WAITING_INPUT_BYTES_MAX: usize = 64 * 1024;
/// Input that may gather while the peer does not take its replies, in bytes.
const GATHERED_INPUT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How often a peer that cannot be read from, because it has sent enough, is looked at whether it is still there.
const GONE_CHECK: Duration = Duration::from_secs(1);
/// Bytes that a connection may bring and be sent at one go before others have their turn.
pub(super) const TURN_BYTES_MAX: usize = 512 * 1024;
/// What a turn costs a thread besides what each byte does, in bytes: two calls of the kernel take as long as so many bytes of requests.
const TURN_WORK: usize = 1024;

/// The timers of a connection, of which it rarely has any.
#[derive(Default)]
pub(super) struct Timers {
    /// A command waits until then.
    due: Option<Pin<Box<Sleep>>>,
    /// The peer is looked for then.
    check: Option<Pin<Box<Sleep>>>,
    /// The server is stopping, and listens until then.
    pub(super) grace: Option<Pin<Box<Sleep>>>,
}

/// Why a connection needs nothing more from the thread that served it.
pub(super) enum Parting {
    Close,
    /// It is to be served on another thread.
    Move(usize),
}

/// A connection that is being served, until one side ends it.
pub(crate) struct Serving<S: Stream> {
    connection: Option<Connection<S>>,
    seat: Seat,
}

// With what tokio adds, and with `Client`, its registration and its place in the list, an idle connection takes less than 900 bytes.
const _: () = assert!(size_of::<Serving<TcpStream>>() <= 264);

impl<S: Stream + Send + 'static> Serving<S> {
    /// Has a connection served on the thread where it has its seat, and in whose event loop its stream is.
    pub(crate) fn spawn(connection: Connection<S>, seat: Seat) {
        let handle = seat.handle().clone();
        handle.spawn(Self::new(connection, seat));
    }

    pub(super) fn new(connection: Connection<S>, seat: Seat) -> Self {
        connection.listed.conversation.session().client.set_thread(seat.thread());
        Self { connection: Some(connection), seat }
    }

    /// Takes the connection to another thread, with all that it holds. What its peer sends meanwhile is told to that thread.
    fn go(&mut self, seat: Seat) {
        let Some(connection) = self.connection.take() else { return };
        match connection.stream.move_to(seat.handle()) {
            Ok(stream) => Self::spawn(Connection { stream, ..connection }, seat),
            Err(error) => {
                connection.listed.shared.log.warning(&format!("a connection could not change threads: {error}"));
            }
        }
    }
}

impl<S: Stream> Serving<S> {
    /// Closes the connection. It is forgotten first, so that its place is free by the time its peer can know.
    fn close(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.listed.conversation.leave(&connection.listed.shared);
        }
    }
}

impl<S: Stream> Drop for Serving<S> {
    fn drop(&mut self) {
        self.close();
    }
}

impl<S: Stream + Send + 'static> Future for Serving<S> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let serving = self.get_mut();
        while let Some(connection) = &mut serving.connection {
            // Whatever ends a connection, there is nobody left to tell.
            let Ok(Parting::Move(thread)) = ready!(connection.poll_talk(serving.seat.lent(), cx)) else {
                serving.close();
                break;
            };
            match serving.seat.at(thread) {
                Some(seat) => serving.go(seat),
                None => connection.listed.conversation.session().client.set_thread(serving.seat.thread()),
            }
        }
        Poll::Ready(())
    }
}

impl<S: Stream> Connection<S> {
    pub(super) fn poll_talk(&mut self, desk: &Mutex<Lent>, cx: &mut Context<'_>) -> Poll<io::Result<Parting>> {
        loop {
            if self.rest.is_some() && self.poll_flush(desk, cx)?.is_pending() {
                self.gather(desk, cx)?;
                return Poll::Pending;
            }
            if self.turn_bytes >= TURN_BYTES_MAX {
                self.turn_bytes = 0;
                // Asks to be polled again once the event loop has looked at everything else.
                let _asked = pin!(tokio::task::yield_now()).poll(cx);
                return Poll::Pending;
            }
            self.then = match self.then {
                Then::Read => match self.listed.conversation.session().client.order() {
                    None => {
                        let before = self.turn_bytes;
                        let then = ready!(self.poll_turn(desk, cx))?;
                        let work = TURN_WORK + self.turn_bytes - before;
                        self.listed.conversation.session().client.add_work(work);
                        then
                    }
                    Some(Order::Close) => Then::Close,
                    Some(Order::Move(thread)) => return Poll::Ready(Ok(Parting::Move(thread))),
                },
                Then::Write => ready!(self.poll_feed_own(desk, cx))?,
                Then::Wait(until) => ready!(self.poll_wait(desk, until, cx))?,
                Then::Close => return Poll::Ready(Ok(Parting::Close)),
            }
        }
    }

    /// Reads on while the peer does not take its replies, and runs nothing: many clients send a whole pipeline before they look at the
    /// first reply, and would wait for ever.
    fn gather(&mut self, desk: &Mutex<Lent>, cx: &mut Context<'_>) -> io::Result<()> {
        while self.input.len() < GATHERED_INPUT_BYTES_MAX && matches!(self.then, Then::Read | Then::Write) {
            match self.poll_read_own(desk, cx)? {
                Poll::Ready(read) if read > 0 => self.then = Then::Write,
                _ => break,
            }
        }
        Ok(())
    }

    /// Waits until a command may answer: its time comes, another client ends the wait, or the peer goes away.
    fn poll_wait(&mut self, desk: &Mutex<Lent>, until: Option<UnixMillis>, cx: &mut Context<'_>) -> Poll<io::Result<Then>> {
        let mut timers = self.timers.take().unwrap_or_default();
        let then = self.poll_awaited(desk, until, &mut timers, cx);
        if then.is_pending() {
            self.timers = Some(timers);
        }
        then
    }

    fn poll_awaited(
        &mut self,
        desk: &Mutex<Lent>,
        until: Option<UnixMillis>,
        timers: &mut Timers,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<Then>> {
        let client = &self.listed.conversation.session().client;
        let mut delivered = Output::default();
        client.listen_and_collect(cx.waker(), &mut delivered);
        if client.is_killed() || self.listed.shared.is_stopping() {
            return Poll::Ready(Ok(Then::Close));
        }
        if !delivered.is_empty() {
            self.rest = Some(Box::new(delivered));
            return Poll::Ready(Ok(Then::Wait(until)));
        }
        while self.input.len() < WAITING_INPUT_BYTES_MAX {
            match self.poll_read_own(desk, cx)? {
                Poll::Ready(0) => return Poll::Ready(Ok(Then::Close)),
                Poll::Ready(_) => {}
                Poll::Pending => break,
            }
        }
        if self.input.len() >= WAITING_INPUT_BYTES_MAX {
            if self.stream.is_ended() {
                return Poll::Ready(Ok(Then::Close));
            }
            let check = timers.check.get_or_insert_with(|| Box::pin(sleep(GONE_CHECK)));
            while check.as_mut().poll(cx).is_ready() {
                check.as_mut().reset(Instant::now() + GONE_CHECK);
            }
        }
        if let Some(until) = until
            && timers.due.is_none()
        {
            let millis = until.millis_since(self.listed.shared.clock.now());
            timers.due = Some(Box::pin(sleep(Duration::from_millis(millis))));
        }
        let due = timers.due.as_mut().is_some_and(|due| due.as_mut().poll(cx).is_ready());
        if self.wake(desk) || due { Poll::Ready(Ok(Then::Write)) } else { Poll::Pending }
    }

    /// Has the conversation look whether its wait is over, and answer if it is.
    fn wake(&mut self, desk: &Mutex<Lent>) -> bool {
        let worker = &mut desk.lock().worker;
        let mut answer = Output::default();
        let is_over = self.listed.conversation.wake(worker, &self.listed.shared, self.listed.shared.clock.now(), &mut answer);
        self.rest = (!answer.is_empty()).then(|| Box::new(answer));
        is_over
    }
}
