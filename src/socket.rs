//! One stream: await bytes, hand them to the conversation, write the replies at once. The only async on the data path.
//!
//! Buffers belong to the worker thread and are lent to whichever connection is being served. A connection owns bytes only while it
//! holds part of a request, or replies that its peer has not taken. While the peer does not take them, nothing is read from it.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::time::{Sleep, sleep};

use crate::clock::UnixMillis;
use crate::config::READ_BUFFER_BYTES;
use crate::conversation::{Conversation, Fed, Then, Worker};
use crate::shared::Shared;
use crate::workers::{Lent, Lents};

/// Output kept room for between batches, in bytes.
const OUTPUT_BYTES_KEPT: usize = 1024 * 1024;
/// Input that may gather while a command waits, in bytes. Reading goes on so that the peer's going away is noticed.
const WAITING_INPUT_BYTES_MAX: usize = 64 * 1024;
/// How long a stopping server listens for requests that are already on their way.
const STOP_GRACE: Duration = Duration::from_millis(10);

/// A connection that is being served.
pub(crate) struct Connection<S> {
    stream: S,
    conversation: Conversation,
    shared: Arc<Shared>,
    lents: Arc<Lents>,
    /// Part of a request, or requests that wait for their turn.
    input: Vec<u8>,
    /// Replies that the peer has not taken.
    output: Vec<u8>,
    grace: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(crate) fn new(stream: S, conversation: Conversation, shared: Arc<Shared>, lents: Arc<Lents>) -> Self {
        Self { stream, conversation, shared, lents, input: Vec::new(), output: Vec::new(), grace: None }
    }

    /// Serves the connection until one side ends it.
    pub(crate) async fn serve(mut self) {
        // Whatever ends a connection, there is nobody left to tell.
        let _ended: io::Result<()> = self.talk().await;
        self.shared.clients.remove(&self.conversation.session().client);
    }

    async fn talk(&mut self) -> io::Result<()> {
        let mut then = Then::Read;
        loop {
            if !self.output.is_empty() {
                std::future::poll_fn(|cx| self.poll_flush(cx)).await?;
            }
            then = match then {
                Then::Read => std::future::poll_fn(|cx| self.poll_turn(cx)).await?,
                Then::Write => std::future::poll_fn(|cx| self.poll_feed_own(cx)).await?,
                Then::Wait(until) => self.wait(until).await?,
                Then::Close => return Ok(()),
            }
        }
    }

    /// Reads once, runs what came, and writes the replies.
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Then>> {
        if self.conversation.session().client.is_killed() {
            return Poll::Ready(Ok(Then::Close));
        }
        if self.input.is_empty() {
            let lents = Arc::clone(&self.lents);
            let mut lent = lents.mine();
            let Lent { worker, input, output } = &mut *lent;
            input.clear();
            match pin!(self.stream.read_buf(input)).poll(cx)? {
                Poll::Ready(0) => return Poll::Ready(Ok(Then::Close)),
                Poll::Ready(_) => {
                    worker.stats.reads.add(1);
                    worker.stats.input_bytes.add(input.len() as u64);
                    let Fed { consumed, then } =
                        self.conversation.feed(input, worker, &self.shared, self.shared.clock.now(), output);
                    self.input.extend_from_slice(&input[consumed..]);
                    self.poll_write_lent(cx, worker, output)?;
                    return Poll::Ready(Ok(then));
                }
                Poll::Pending => {}
            }
        } else {
            match self.poll_read_own(cx)? {
                Poll::Ready(0) => return Poll::Ready(Ok(Then::Close)),
                Poll::Ready(_) => return self.poll_feed_own(cx),
                Poll::Pending => {}
            }
        }
        self.poll_idle(cx)
    }

    /// Nothing to read: looks for what others have left, and has them wake this connection.
    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Then>> {
        let client = &self.conversation.session().client;
        client.listen(cx.waker());
        if client.is_killed() {
            return Poll::Ready(Ok(Then::Close));
        }
        client.collect(&mut self.output);
        if !self.output.is_empty() {
            return Poll::Ready(Ok(Then::Read));
        }
        if self.shared.is_stopping() {
            let grace = self.grace.get_or_insert_with(|| Box::pin(sleep(STOP_GRACE)));
            ready!(grace.as_mut().poll(cx));
            return Poll::Ready(Ok(Then::Close));
        }
        Poll::Pending
    }

    /// Reads more behind the part of a request that is held here.
    fn poll_read_own(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let due = self.conversation.bytes_due(self.input.len());
        // Memory follows what has come, not what was announced: at most a doubling at a time.
        self.input.reserve(due.clamp(4096, self.input.len().max(READ_BUFFER_BYTES)));
        let read = ready!(pin!(self.stream.read_buf(&mut self.input)).poll(cx))?;
        let lent = self.lents.mine();
        lent.worker.stats.reads.add(1);
        lent.worker.stats.input_bytes.add(read as u64);
        Poll::Ready(Ok(read))
    }

    /// Runs what is held here.
    fn poll_feed_own(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Then>> {
        let lents = Arc::clone(&self.lents);
        let mut lent = lents.mine();
        let Lent { worker, output, .. } = &mut *lent;
        let Fed { consumed, mut then } = self.conversation.feed(&self.input, worker, &self.shared, self.shared.clock.now(), output);
        self.input.drain(..consumed);
        if self.input.is_empty() {
            self.input = Vec::new();
        }
        if self.input.len() as u64 > self.shared.settings.query_bytes_max.load(Ordering::Relaxed) {
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
            self.output.extend_from_slice(&output[taken..]);
        }
        output.clear();
        output.shrink_to(OUTPUT_BYTES_KEPT);
        taken.map(drop)
    }

    /// Writes what the peer has not taken yet. A killed connection does not wait for it.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut done = 0;
        let outcome = loop {
            if done == self.output.len() {
                break Poll::Ready(Ok(()));
            }
            match Pin::new(&mut self.stream).poll_write(cx, &self.output[done..]) {
                Poll::Ready(Ok(0)) => break Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(taken)) => done += taken,
                Poll::Ready(Err(error)) => break Poll::Ready(Err(error)),
                Poll::Pending => {
                    let client = &self.conversation.session().client;
                    client.listen(cx.waker());
                    if client.is_killed() {
                        break Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
                    }
                    break Poll::Pending;
                }
            }
        };
        self.output.drain(..done);
        if self.output.is_empty() {
            self.output = Vec::new();
        }
        self.lents.mine().worker.stats.output_bytes.add(done as u64);
        outcome
    }

    /// Waits until a command may answer: its time comes, another client ends the wait, or the peer goes away.
    async fn wait(&mut self, until: Option<UnixMillis>) -> io::Result<Then> {
        let mut timer = until.map(|until| Box::pin(sleep(Duration::from_millis(until.millis_since(self.shared.clock.now())))));
        std::future::poll_fn(|cx| {
            let client = Arc::clone(&self.conversation.session().client);
            client.listen(cx.waker());
            if client.is_killed() || self.shared.is_stopping() {
                return Poll::Ready(Ok(Then::Close));
            }
            while self.input.len() < WAITING_INPUT_BYTES_MAX {
                match self.poll_read_own(cx)? {
                    Poll::Ready(0) => return Poll::Ready(Ok(Then::Close)),
                    Poll::Ready(_) => {}
                    Poll::Pending => break,
                }
            }
            let due = timer.as_mut().is_some_and(|timer| timer.as_mut().poll(cx).is_ready());
            if self.wake() || due { Poll::Ready(Ok(Then::Write)) } else { Poll::Pending }
        })
        .await
    }

    /// Has the conversation look whether its wait is over, and answer if it is.
    fn wake(&mut self) -> bool {
        let lents = Arc::clone(&self.lents);
        let worker = &mut lents.mine().worker;
        self.conversation.wake(worker, &self.shared, self.shared.clock.now(), &mut self.output)
    }
}
