//! One stream: await bytes, hand them to the conversation, write the replies at once. The only async on the data path.
//!
//! Buffers belong to the worker thread and are lent to whichever connection is being served. A connection owns bytes only while it
//! holds part of a request, or replies that its peer has not taken. While the peer does not take them, what it sends is gathered up to a limit, and nothing of it
//! is run.

mod serving;

use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use bytes::{Buf as _, BytesMut};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, Interest, Ready};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::clients::Client;
use crate::config::{OUTPUT_BYTES_SOFT_MAX, QUERY_BYTES_MAX, READ_BUFFER_BYTES};
use crate::conversation::{Conversation, Fed, OWNED_BYTES_MIN, Then, Worker};
use crate::resp::Output;
use crate::shared::Shared;
use crate::workers::Lent;
pub(crate) use serving::Serving;
use serving::Timers;

/// Output kept room for between batches, in bytes.
const OUTPUT_BYTES_KEPT: usize = 1024 * 1024;
/// Room made for the rest of a request before more of it has come, in bytes: least, and most when little has come so far. What a peer
/// costs that never sends the rest; room that nothing was read into takes no memory but addresses.
const READ_BYTES_MIN: usize = 4 * 1024;
const READ_BYTES_MAX: usize = 16 * 1024;
/// How many times as much as has come there may be room for: enough for a value of 1 MiB once [`READ_BYTES_MAX`] have come.
const ROOM_FACTOR: usize = 64;
/// Pieces of output that one write hands to the system.
const WRITE_PIECES_MAX: usize = 64;
/// How long a stopping server listens for requests that are already on their way.
const STOP_GRACE: Duration = Duration::from_millis(10);

/// A conversation that is listed among the clients. Whatever ends it takes it off the list, be it a panic or the end of the runtime.
pub(crate) struct Listed {
    pub(crate) conversation: Conversation,
    pub(crate) shared: Arc<Shared>,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.conversation.end(&self.shared);
    }
}

/// A stream that can tell that its peer has ended it before all that the peer sent has been read.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Sized {
    /// Whether the peer sends nothing more, as far as is known.
    fn is_ended(&self) -> bool;

    /// Has another event loop tell what there is to read and when there is room to write.
    fn move_to(self, handle: &Handle) -> io::Result<Self>;
}

/// What readiness tells at once, without waiting for it.
fn tells_of_end(ready: impl Future<Output = io::Result<Ready>>) -> bool {
    let told = pin!(ready).poll(&mut Context::from_waker(Waker::noop()));
    matches!(told, Poll::Ready(Ok(ready)) if ready.is_read_closed())
}

impl Stream for TcpStream {
    fn is_ended(&self) -> bool {
        tells_of_end(self.ready(Interest::READABLE))
    }

    fn move_to(self, handle: &Handle) -> io::Result<Self> {
        let stream = self.into_std()?;
        let _there = handle.enter();
        Self::from_std(stream)
    }
}

impl Stream for UnixStream {
    fn is_ended(&self) -> bool {
        tells_of_end(self.ready(Interest::READABLE))
    }

    fn move_to(self, handle: &Handle) -> io::Result<Self> {
        let stream = self.into_std()?;
        let _there = handle.enter();
        Self::from_std(stream)
    }
}

/// A connection that is being served.
pub(crate) struct Connection<S> {
    // Comes before `listed`: who waits for a killed connection to be closed is told when that is done.
    stream: S,
    listed: Listed,
    /// Part of a request, or requests that wait for their turn.
    input: BytesMut,
    /// Replies that the peer has not taken.
    rest: Option<Box<Output>>,
    /// Bytes that came and went, or were sent to others, since others had their turn.
    turn_bytes: usize,
    /// What is to be done next.
    then: Then,
    timers: Option<Box<Timers>>,
}

impl<S: Stream> Connection<S> {
    pub(crate) fn new(stream: S, listed: Listed) -> Self {
        Self { stream, listed, input: BytesMut::new(), rest: None, turn_bytes: 0, then: Then::Read, timers: None }
    }

    /// Reads once, runs what came, and writes the replies.
    fn poll_turn(&mut self, desk: &Mutex<Lent>, cx: &mut Context<'_>) -> Poll<io::Result<Then>> {
        if self.fits_lent() {
            let mut lent = desk.lock();
            let Lent { worker, input, output } = &mut *lent;
            // Emptied here and not only after use: a panic may have kept the last one from doing so.
            input.clear();
            output.clear();
            input.extend_from_slice(&self.input);
            match pin!(self.stream.read_buf(input)).poll(cx)? {
                Poll::Ready(0) => return Poll::Ready(Ok(Then::Close)),
                Poll::Ready(read) => {
                    worker.stats.reads.add(1);
                    worker.stats.input_bytes.add(read as u64);
                    self.turn_bytes += read;
                    let Fed { consumed, then } =
                        self.listed.conversation.feed(input, worker, &self.listed.shared, self.listed.shared.clock.now(), output);
                    self.turn_bytes += worker.sent_bytes();
                    self.hold(&input[consumed..]);
                    self.collect(output);
                    self.poll_write_lent(cx, worker, output)?;
                    return Poll::Ready(Ok(then));
                }
                Poll::Pending => {}
            }
        } else {
            match self.poll_read_own(desk, cx)? {
                Poll::Ready(0) => return Poll::Ready(Ok(Then::Close)),
                Poll::Ready(_) => return self.poll_feed_own(desk, cx),
                Poll::Pending => {}
            }
        }
        self.poll_idle(cx)
    }

    /// Takes along what others have left. A connection that always has something to read would not come to it otherwise.
    #[inline]
    fn collect(&self, output: &mut Output) {
        let client = &self.listed.conversation.session().client;
        if client.has(Client::LISTENS) {
            client.collect(output);
        }
    }

    /// Nothing to read: looks for what others have left, and has them wake this connection.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Then>> {
        let client = &self.listed.conversation.session().client;
        let mut delivered = Output::default();
        client.listen_and_collect(cx.waker(), &mut delivered);
        if client.is_killed() {
            return Poll::Ready(Ok(Then::Close));
        }
        if !delivered.is_empty() {
            self.rest = Some(Box::new(delivered));
            return Poll::Ready(Ok(Then::Read));
        }
        if self.listed.shared.is_stopping() {
            let timers = self.timers.get_or_insert_default();
            ready!(timers.grace.get_or_insert_with(|| Box::pin(sleep(STOP_GRACE))).as_mut().poll(cx));
            return Poll::Ready(Ok(Then::Close));
        }
        Poll::Pending
    }

    /// Whether what is held here is little, and what is due to it too: then it goes through the lent buffer.
    fn fits_lent(&self) -> bool {
        let held = self.input.len();
        held <= READ_BYTES_MIN && held + self.listed.conversation.bytes_due(held) < READ_BUFFER_BYTES
    }

    /// Keeps what is to be offered again, with room for what is known to be due to it.
    fn hold(&mut self, rest: &[u8]) {
        if !rest.is_empty() {
            self.input = BytesMut::with_capacity(rest.len() + self.room(rest.len()));
            self.input.extend_from_slice(rest);
        } else if self.input.capacity() > 0 {
            self.input = BytesMut::new();
        }
    }

    /// Room for what is due to a request of which `held` bytes have come. A byte more than that, so that a read that brings all of it
    /// is a short one, which tells that there is no more. Memory follows what has come, not what was announced.
    fn room(&self, held: usize) -> usize {
        match self.listed.conversation.bytes_due(held) {
            0 => 0,
            due => (due + 1).min(READ_BYTES_MAX.max(held.saturating_mul(ROOM_FACTOR))),
        }
    }

    /// Reads more behind the part of a request that is held here.
    fn poll_read_own(&mut self, desk: &Mutex<Lent>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let (held, spare) = (self.input.len(), self.input.capacity() - self.input.len());
        let room = match self.room(held) {
            0 => READ_BYTES_MIN,
            room => room,
        };
        // Not before the old room is used up: it would be copied along.
        if spare < room.min(READ_BYTES_MAX) {
            self.input.reserve(room);
        }
        let read = ready!(pin!(self.stream.read_buf(&mut self.input)).poll(cx))?;
        self.turn_bytes += read;
        let lent = desk.lock();
        lent.worker.stats.reads.add(1);
        lent.worker.stats.input_bytes.add(read as u64);
        Poll::Ready(Ok(read))
    }

    /// Runs what is held here.
    fn poll_feed_own(&mut self, desk: &Mutex<Lent>, cx: &mut Context<'_>) -> Poll<io::Result<Then>> {
        let mut lent = desk.lock();
        let Lent { worker, output, .. } = &mut *lent;
        output.clear();
        let Listed { conversation, shared } = &mut self.listed;
        let (now, held) = (shared.clock.now(), self.input.len());
        let is_full = held >= OWNED_BYTES_MIN && self.input.capacity() - held <= held / 8 && conversation.bytes_due(held) == 0;
        let mut input = std::mem::take(&mut self.input);
        let Fed { mut then, .. } = if is_full {
            // What fills its buffer may be kept with it.
            let input = input.freeze();
            let fed = conversation.feed_owned(&input, worker, shared, now, output);
            if fed.keeps(input.len()) {
                let rest = input.slice(fed.consumed..);
                drop(input);
                self.input = rest.into();
            } else {
                self.hold(&input[fed.consumed..]);
            }
            fed
        } else {
            let fed = conversation.feed(&input, worker, shared, now, output);
            if fed.keeps(input.len()) {
                input.advance(fed.consumed);
                self.input = input;
            } else {
                self.hold(&input[fed.consumed..]);
            }
            fed
        };
        self.turn_bytes += worker.sent_bytes();
        let query_bytes_max = self.listed.shared.settings.query_bytes_max.load(Ordering::Relaxed);
        if self.input.len() as u64 > query_bytes_max.min(QUERY_BYTES_MAX) {
            then = Then::Close;
        }
        self.collect(output);
        self.poll_write_lent(cx, worker, output)?;
        Poll::Ready(Ok(then))
    }

    /// Writes the batch's output in one go. What the peer does not take now is kept for [`Self::poll_flush`].
    fn poll_write_lent(&mut self, cx: &mut Context<'_>, worker: &Worker, output: &mut Output) -> io::Result<()> {
        if output.is_empty() {
            return Ok(());
        }
        let taken = match poll_write(&mut self.stream, cx, output) {
            Poll::Ready(taken) => taken,
            Poll::Pending => Ok(0),
        };
        if let Ok(taken) = taken {
            worker.stats.writes.add(1);
            worker.stats.output_bytes.add(taken as u64);
            self.turn_bytes += taken;
            if !output.is_empty() {
                self.rest = Some(Box::new(output.split_rest(OUTPUT_BYTES_SOFT_MAX)));
            }
        }
        output.clear();
        output.shrink_to(OUTPUT_BYTES_KEPT);
        taken.map(drop)
    }

    /// Writes what the peer has not taken yet. A killed connection does not wait for it.
    fn poll_flush(&mut self, desk: &Mutex<Lent>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(rest) = &mut self.rest else { return Poll::Ready(Ok(())) };
        let before = rest.len();
        let outcome = loop {
            if rest.is_empty() {
                break Poll::Ready(Ok(()));
            }
            match poll_write(&mut self.stream, cx, rest) {
                Poll::Ready(Ok(0)) => break Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(_)) => {}
                Poll::Ready(Err(error)) => break Poll::Ready(Err(error)),
                Poll::Pending => {
                    let client = &self.listed.conversation.session().client;
                    client.listen(cx.waker(), rest.len());
                    if client.is_killed() {
                        break Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
                    }
                    break Poll::Pending;
                }
            }
        };
        let taken = before - rest.len();
        if taken > 0 {
            // A peer that takes a large reply slowly is not idle.
            let now = self.listed.shared.clock.now();
            self.listed.conversation.session().client.active.store(now.0, Ordering::Relaxed);
        }
        self.turn_bytes += taken;
        desk.lock().worker.stats.output_bytes.add(taken as u64);
        if outcome.is_ready() {
            self.rest = None;
        }
        outcome
    }
}

/// Writes from the front of `output`, and takes off it what the peer took. Shared values are written from where they lie.
#[inline]
fn poll_write(stream: &mut (impl AsyncWrite + Unpin), cx: &mut Context<'_>, output: &mut Output) -> Poll<io::Result<usize>> {
    let taken = match output.plain() {
        Some(bytes) => ready!(Pin::new(stream).poll_write(cx, bytes)),
        None => ready!(poll_write_pieces(stream, cx, output)),
    }?;
    output.take(taken);
    Poll::Ready(Ok(taken))
}

fn poll_write_pieces(stream: &mut (impl AsyncWrite + Unpin), cx: &mut Context<'_>, output: &Output) -> Poll<io::Result<usize>> {
    // A stream that knows no vectored writes takes the first piece.
    let most = if stream.is_write_vectored() { WRITE_PIECES_MAX } else { 1 };
    let mut slices = [IoSlice::new(&[]); WRITE_PIECES_MAX];
    let mut count = 0;
    for (slice, piece) in slices.iter_mut().zip(output.pieces()).take(most) {
        *slice = IoSlice::new(piece);
        count += 1;
    }
    Pin::new(stream).poll_write_vectored(cx, &slices[..count])
}

#[cfg(test)]
mod tests;
