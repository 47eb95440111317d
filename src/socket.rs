//! One stream: await bytes, hand them to the conversation, write the replies at once. The only async on the data path.
//!
//! Buffers belong to the worker thread and are lent to whichever connection is being served. A connection owns bytes only while it
//! holds part of a request, or replies that its peer has not taken. While the peer does not take them, nothing is read from it.

mod serving;

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, Interest, Ready};
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::config::{OUTPUT_BYTES_SOFT_MAX, QUERY_BYTES_MAX};
use crate::conversation::{Conversation, Fed, Then, Worker};
use crate::shared::Shared;
use crate::workers::Lent;
pub(crate) use serving::Serving;
use serving::Timers;

/// Output kept room for between batches, in bytes.
const OUTPUT_BYTES_KEPT: usize = 1024 * 1024;
/// Room made for the rest of a request before more of it has come, in bytes: least, and most when little has come so far. What a peer
/// costs that never sends the rest.
const READ_BYTES_MIN: usize = 4 * 1024;
const READ_BYTES_MAX: usize = 16 * 1024;
/// How long a stopping server listens for requests that are already on their way.
const STOP_GRACE: Duration = Duration::from_millis(10);

/// A conversation that is listed among the clients. Whatever ends it takes it off the list, be it a panic or the end of the runtime.
pub(crate) struct Listed {
    pub(crate) conversation: Conversation,
    pub(crate) shared: Arc<Shared>,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.shared.clients.remove(&self.conversation.session().client);
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
    input: Vec<u8>,
    /// Replies that the peer has not taken, behind those that it has.
    output: Vec<u8>,
    /// Bytes of `output` that the peer has taken.
    taken: usize,
    /// Bytes that came and went since others had their turn.
    turn_bytes: usize,
    /// What is to be done next.
    then: Then,
    timers: Option<Box<Timers>>,
}

impl<S: Stream> Connection<S> {
    pub(crate) fn new(stream: S, listed: Listed) -> Self {
        let (input, output) = (Vec::new(), Vec::new());
        Self { stream, listed, input, output, taken: 0, turn_bytes: 0, then: Then::Read, timers: None }
    }

    /// Reads once, runs what came, and writes the replies.
    fn poll_turn(&mut self, desk: &Mutex<Lent>, cx: &mut Context<'_>) -> Poll<io::Result<Then>> {
        if self.input.is_empty() {
            let mut lent = desk.lock();
            let Lent { worker, input, output } = &mut *lent;
            // Emptied here and not only after use: a panic may have kept the last one from doing so.
            input.clear();
            output.clear();
            match pin!(self.stream.read_buf(input)).poll(cx)? {
                Poll::Ready(0) => return Poll::Ready(Ok(Then::Close)),
                Poll::Ready(_) => {
                    worker.stats.reads.add(1);
                    worker.stats.input_bytes.add(input.len() as u64);
                    self.turn_bytes += input.len();
                    let Fed { consumed, then } =
                        self.listed.conversation.feed(input, worker, &self.listed.shared, self.listed.shared.clock.now(), output);
                    self.input.extend_from_slice(&input[consumed..]);
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

    /// Nothing to read: looks for what others have left, and has them wake this connection.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Then>> {
        let client = &self.listed.conversation.session().client;
        client.listen_and_collect(cx.waker(), &mut self.output);
        if client.is_killed() {
            return Poll::Ready(Ok(Then::Close));
        }
        if !self.output.is_empty() {
            return Poll::Ready(Ok(Then::Read));
        }
        if self.listed.shared.is_stopping() {
            let timers = self.timers.get_or_insert_default();
            ready!(timers.grace.get_or_insert_with(|| Box::pin(sleep(STOP_GRACE))).as_mut().poll(cx));
            return Poll::Ready(Ok(Then::Close));
        }
        Poll::Pending
    }

    /// Reads more behind the part of a request that is held here.
    fn poll_read_own(&mut self, desk: &Mutex<Lent>, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let due = self.listed.conversation.bytes_due(self.input.len());
        // Memory follows what has come, not what was announced: at most a doubling at a time.
        self.input.reserve(due.clamp(READ_BYTES_MIN, self.input.len().max(READ_BYTES_MAX)));
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
        let Fed { consumed, mut then } =
            self.listed.conversation.feed(&self.input, worker, &self.listed.shared, self.listed.shared.clock.now(), output);
        self.input.drain(..consumed);
        if self.input.is_empty() {
            self.input = Vec::new();
        }
        let query_bytes_max = self.listed.shared.settings.query_bytes_max.load(Ordering::Relaxed);
        if self.input.len() as u64 > query_bytes_max.min(QUERY_BYTES_MAX) {
            then = Then::Close;
        }
        self.poll_write_lent(cx, worker, output)?;
        Poll::Ready(Ok(then))
    }

    /// Writes the batch's output in one go. What the peer does not take now is kept for [`Self::poll_flush`].
    fn poll_write_lent(&mut self, cx: &mut Context<'_>, worker: &Worker, output: &mut Vec<u8>) -> io::Result<()> {
        if output.is_empty() {
            return Ok(());
        }
        let taken = match Pin::new(&mut self.stream).poll_write(cx, output) {
            Poll::Ready(taken) => taken,
            Poll::Pending => Ok(0),
        };
        if let Ok(taken) = taken {
            worker.stats.writes.add(1);
            worker.stats.output_bytes.add(taken as u64);
            self.turn_bytes += taken;
            if output.len() - taken > OUTPUT_BYTES_SOFT_MAX {
                // A large rest is worth keeping where it is.
                self.output = std::mem::take(output);
                self.taken = taken;
            } else {
                self.output.extend_from_slice(&output[taken..]);
            }
        }
        output.clear();
        output.shrink_to(OUTPUT_BYTES_KEPT);
        taken.map(drop)
    }

    /// Writes what the peer has not taken yet. A killed connection does not wait for it.
    fn poll_flush(&mut self, desk: &Mutex<Lent>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let before = self.taken;
        let outcome = loop {
            if self.taken == self.output.len() {
                break Poll::Ready(Ok(()));
            }
            match Pin::new(&mut self.stream).poll_write(cx, &self.output[self.taken..]) {
                Poll::Ready(Ok(0)) => break Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                // What is taken stays in its place: moving the rest up each time would cost the square of a large reply.
                Poll::Ready(Ok(taken)) => self.taken += taken,
                Poll::Ready(Err(error)) => break Poll::Ready(Err(error)),
                Poll::Pending => {
                    let client = &self.listed.conversation.session().client;
                    client.listen(cx.waker());
                    if client.is_killed() {
                        break Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
                    }
                    break Poll::Pending;
                }
            }
        };
        let taken = self.taken - before;
        if taken > 0 {
            // A peer that takes a large reply slowly is not idle.
            let now = self.listed.shared.clock.now();
            self.listed.conversation.session().client.active.store(now.0, Ordering::Relaxed);
        }
        self.turn_bytes += taken;
        desk.lock().worker.stats.output_bytes.add(taken as u64);
        if outcome.is_ready() {
            self.output = Vec::new();
            self.taken = 0;
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use parking_lot::Mutex;
    use tokio::io::ReadBuf;

    use super::*;
    use crate::config::Config;
    use crate::workers::{Desk, Seat};
    use serving::TURN_BYTES_MAX;

    /// What a peer does when it is written to.
    #[derive(Clone, Copy)]
    enum Taking {
        /// Takes that many bytes each time.
        Bytes(usize),
        Nothing,
        /// A fault of ours, in the place of any.
        Panics,
    }

    /// A peer that says all it has to say, and then stays silent.
    struct Peer {
        says: VecDeque<u8>,
        /// It says the same for ever.
        repeats: bool,
        taking: Taking,
        heard: Arc<Mutex<Vec<u8>>>,
    }

    impl AsyncRead for Peer {
        fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            if self.says.is_empty() {
                return Poll::Pending;
            }
            let len = self.says.len().min(into.remaining());
            let said: Vec<u8> = self.says.drain(..len).collect();
            into.put_slice(&said);
            if self.repeats {
                self.says.extend(said);
            }
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for Peer {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            match self.taking {
                Taking::Nothing => Poll::Pending,
                Taking::Panics => panic!("a fault made for a test"),
                Taking::Bytes(most) => {
                    let len = most.min(bytes.len());
                    self.heard.lock().extend_from_slice(&bytes[..len]);
                    Poll::Ready(Ok(len))
                }
            }
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    impl Stream for Peer {
        fn is_ended(&self) -> bool {
            false
        }

        fn move_to(self, _: &Handle) -> io::Result<Self> {
            Ok(self)
        }
    }

    /// A server without sockets, all of whose connections are served by one thread.
    struct Stage {
        shared: Arc<Shared>,
        desk: Arc<Desk>,
    }

    impl Stage {
        fn new() -> Self {
            let shared = Arc::new(Shared::new(Config::default()).expect("a configuration without parameters"));
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime without any driver");
            Self { desk: Desk::alone(&shared, runtime.handle().clone()), shared }
        }

        fn serve(&self, connection: Connection<Peer>) -> Serving<Peer> {
            Serving::new(connection, Seat::new(&self.desk))
        }

        /// A connection to a peer, and what the peer hears.
        fn connect(&self, says: &[u8], taking: Taking) -> (Connection<Peer>, Arc<Mutex<Vec<u8>>>) {
            let conversation = Conversation::begin(&self.shared, "peer".to_owned(), "here".to_owned(), 0).expect("there is room");
            let listed = Listed { conversation, shared: Arc::clone(&self.shared) };
            let heard = Arc::default();
            let peer = Peer { says: says.iter().copied().collect(), repeats: false, taking, heard: Arc::clone(&heard) };
            (Connection::new(peer, listed), heard)
        }
    }

    fn poll<F: Future>(serving: Pin<&mut F>) -> Poll<F::Output> {
        serving.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_fault_ends_its_own_connection_only() {
        let stage = Stage::new();
        let (broken, _) = stage.connect(b"PING\r\n", Taking::Panics);
        let mut broken = Box::pin(stage.serve(broken));
        assert!(catch_unwind(AssertUnwindSafe(|| poll(broken.as_mut()))).is_err());
        drop(broken);
        assert_eq!(stage.shared.clients.len(), 0, "the client is forgotten");
        let (next, heard) = stage.connect(b"ECHO a\r\n", Taking::Bytes(usize::MAX));
        assert!(poll(Box::pin(stage.serve(next)).as_mut()).is_pending());
        assert_eq!(&*heard.lock(), b"$1\r\na\r\n", "and its replies are");
    }

    #[test]
    fn a_connection_that_is_let_go_is_forgotten() {
        let stage = Stage::new();
        let (connection, _) = stage.connect(b"", Taking::Nothing);
        let mut serving = Box::pin(stage.serve(connection));
        assert!(poll(serving.as_mut()).is_pending());
        assert_eq!(stage.shared.clients.len(), 1);
        drop(serving);
        assert_eq!(stage.shared.clients.len(), 0);
    }

    #[test]
    fn a_peer_that_never_pauses_lets_others_have_their_turn() {
        let stage = Stage::new();
        let (mut connection, heard) = stage.connect(&b"PING\r\n".repeat(1000), Taking::Bytes(usize::MAX));
        connection.stream.repeats = true;
        let mut serving = Box::pin(stage.serve(connection));
        for _ in 0..3 {
            // Would not come back if it went on for as long as there is something to read.
            assert!(poll(serving.as_mut()).is_pending());
        }
        assert!(heard.lock().len() < 4 * 2 * TURN_BYTES_MAX);
    }

    #[test]
    fn a_peer_that_takes_little_at_a_time_hears_everything() {
        let stage = Stage::new();
        let value = "v".repeat(10_000);
        let (connection, heard) = stage.connect(format!("ECHO {value}\r\nPING\r\n").as_bytes(), Taking::Bytes(7));
        assert!(poll(Box::pin(stage.serve(connection)).as_mut()).is_pending());
        assert_eq!(String::from_utf8_lossy(&heard.lock()), format!("$10000\r\n{value}\r\n+PONG\r\n"));
    }

    #[test]
    fn a_peer_that_takes_a_reply_is_not_idle() {
        let stage = Stage::new();
        let (mut connection, _) = stage.connect(b"", Taking::Bytes(3));
        connection.output = b"+OK\r\n".to_vec();
        let client = Arc::clone(&connection.listed.conversation.session().client);
        client.active.store(0, Ordering::Relaxed);
        assert!(poll(Box::pin(stage.serve(connection)).as_mut()).is_pending());
        assert!(client.active.load(Ordering::Relaxed) > 0);
    }

    #[test]
    fn a_peer_that_takes_nothing_costs_little_more_than_one_reply() {
        const VALUE: usize = 60_000;
        let stage = Stage::new();
        let set = format!("SET k {}\r\n", "v".repeat(VALUE));
        let (connection, _) = stage.connect(set.as_bytes(), Taking::Bytes(usize::MAX));
        assert!(poll(Box::pin(stage.serve(connection)).as_mut()).is_pending());
        let (mut connection, _) = stage.connect(&b"GET k\r\n".repeat(5000), Taking::Nothing);
        let seat = Seat::new(&stage.desk);
        for _ in 0..3 {
            assert!(connection.poll_talk(seat.lent(), &mut Context::from_waker(Waker::noop())).is_pending());
        }
        let held = connection.output.len();
        assert!((OUTPUT_BYTES_SOFT_MAX..OUTPUT_BYTES_SOFT_MAX + VALUE + 100).contains(&held), "{held} bytes of output");
    }

    #[test]
    fn a_killed_connection_does_not_wait_for_its_peer() {
        let stage = Stage::new();
        let (connection, _) = stage.connect(b"PING\r\n", Taking::Nothing);
        let client = Arc::clone(&connection.listed.conversation.session().client);
        let mut serving = Box::pin(stage.serve(connection));
        assert!(poll(serving.as_mut()).is_pending());
        client.kill();
        assert!(poll(serving.as_mut()).is_ready());
        assert_eq!(stage.shared.clients.len(), 0);
    }
}
