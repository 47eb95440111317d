//! The worker threads: each with an event loop of its own, and buffers that it lends to the connection it is serving.
//!
//! Connections are packed: a thread gets [`CONNECTIONS_PACKED`] before the next one gets its first. A thread that waits for many
//! connections at once finds several of them ready each time, which is what makes unpipelined requests cheap; and a thread that has
//! something to do need not be woken. Beyond that they are shared out evenly.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::config::READ_BUFFER_BYTES;
use crate::conversation::Worker;
use crate::shared::Shared;

/// How long ending the threads may take; a thread busy for longer is left to itself.
const END_WAIT: Duration = Duration::from_secs(1);
/// Connections that a thread serves before another is asked to help.
const CONNECTIONS_PACKED: usize = 64;

/// What one worker thread lends to its connections, one at a time. Never held across an await.
#[derive(Debug)]
pub(crate) struct Lent {
    /// Buffers and counters of the batch.
    pub(crate) worker: Worker,
    /// What one read brought.
    pub(crate) input: Vec<u8>,
    /// What one write takes away.
    pub(crate) output: Vec<u8>,
}

impl Lent {
    /// Buffers and counters of a thread.
    pub(crate) fn new(shared: &Shared) -> Self {
        Self { worker: Worker::new(shared), input: Vec::with_capacity(READ_BUFFER_BYTES), output: Vec::new() }
    }
}

/// Threads that serve connections. Dropping them ends them, with whatever they still serve, without waiting for that.
pub(crate) struct Workers {
    threads: Vec<WorkerThread>,
}

struct WorkerThread {
    handle: Handle,
    /// Only this thread takes it, so the lock is never contended.
    lent: Arc<Mutex<Lent>>,
    /// How many connections it serves.
    connections: Arc<AtomicUsize>,
    /// Dropped, it ends the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A connection that counts for its thread until it ends, however it ends.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(connections: &Arc<AtomicUsize>) -> Self {
        connections.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(connections))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Workers {
    /// Starts as many threads as the configuration says.
    pub(crate) fn start(shared: &Shared) -> io::Result<Self> {
        let threads = (0..shared.config.threads).map(|number| WorkerThread::start(shared, number)).collect::<io::Result<_>>()?;
        Ok(Self { threads })
    }

    /// Runs what `serve` returns on the thread that is to have the next connection.
    pub(crate) fn spawn<F: Future<Output = ()> + Send + 'static>(&self, serve: impl FnOnce(Arc<Mutex<Lent>>) -> F) {
        let load = |thread: &WorkerThread| thread.connections.load(Ordering::Relaxed);
        let packed = self.threads.iter().find(|thread| load(thread) < CONNECTIONS_PACKED);
        let Some(thread) = packed.or_else(|| self.threads.iter().min_by_key(|thread| load(thread))) else { return };
        let counted = Counted::new(&thread.connections);
        let serving = serve(Arc::clone(&thread.lent));
        thread.handle.spawn(async move {
            let _counted = counted;
            serving.await;
        });
    }

    /// Ends the threads, with whatever they still serve. Blocks until they have ended.
    pub(crate) fn end(&mut self) {
        for thread in &mut self.threads {
            drop(thread.stop.take());
        }
        let begun = Instant::now();
        for thread in self.threads.iter_mut().filter_map(|thread| thread.thread.take()) {
            while !thread.is_finished() && begun.elapsed() < END_WAIT {
                std::thread::sleep(Duration::from_micros(200));
            }
            if thread.is_finished() {
                // A worker that panicked has told so on standard error already.
                let _panicked = thread.join();
            }
        }
    }
}

impl WorkerThread {
    fn start(shared: &Shared, number: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name(format!("redlet-{number}")).spawn(move || {
            // The sender is never used, only dropped.
            let _dropped = runtime.block_on(stopped);
        })?;
        let lent = Arc::new(Mutex::new(Lent::new(shared)));
        Ok(Self { handle, lent, connections: Arc::default(), stop: Some(stop), thread: Some(thread) })
    }
}
