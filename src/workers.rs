//! The worker threads: a runtime of their own, and buffers that each thread lends to the connection it is serving.
//!
//! It is tokio's multi-thread runtime: one thread at a time waits for events and so gathers those of all connections, and others help
//! only when there is more to do than it can take.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::{Builder, Runtime};

use crate::config::READ_BUFFER_BYTES;
use crate::conversation::Worker;
use crate::shared::Shared;

/// How long ending the threads may take; a thread busy for longer is left to itself.
const END_WAIT: Duration = Duration::from_secs(1);

thread_local! {
    /// This thread's number among its runtime's workers.
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

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
    fn new(shared: &Shared) -> Self {
        Self { worker: Worker::new(shared), input: Vec::with_capacity(READ_BUFFER_BYTES), output: Vec::new() }
    }
}

/// What each worker thread lends to its connections. A thread takes its own, so the locks are never contended.
pub(crate) struct Lents(Box<[Mutex<Lent>]>);

impl Lents {
    /// Buffers and counters for as many threads.
    pub(crate) fn new(threads: usize, shared: &Shared) -> Self {
        Self((0..threads).map(|_| Mutex::new(Lent::new(shared))).collect())
    }

    /// This thread's buffers and counters.
    pub(crate) fn mine(&self) -> MutexGuard<'_, Lent> {
        self.0[NUMBER.get() % self.0.len()].lock()
    }
}

/// Threads that serve connections.
pub(crate) struct Workers {
    /// Taken when they end.
    runtime: Option<Runtime>,
    lents: Arc<Lents>,
}

impl Workers {
    /// Starts as many threads as the configuration says.
    pub(crate) fn start(shared: &Shared) -> io::Result<Self> {
        let threads = shared.config.threads.max(1);
        let next = AtomicUsize::new(0);
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("redlet-worker")
            .on_thread_start(move || NUMBER.set(next.fetch_add(1, Ordering::Relaxed)))
            .enable_io()
            .enable_time()
            .build()?;
        Ok(Self { runtime: Some(runtime), lents: Arc::new(Lents::new(threads, shared)) })
    }

    /// Runs what `serve` returns on them.
    pub(crate) fn spawn<F: Future<Output = ()> + Send + 'static>(&self, serve: impl FnOnce(Arc<Lents>) -> F) {
        if let Some(runtime) = &self.runtime {
            runtime.spawn(serve(Arc::clone(&self.lents)));
        }
    }

    /// Ends the threads, with whatever they still serve. Blocks until they have ended.
    pub(crate) fn end(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(END_WAIT);
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // Whoever drops a server that is still running may be within a runtime, where blocking is not allowed.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
