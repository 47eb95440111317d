//! The worker threads: each with an event loop of its own, and buffers that it lends to the connections it serves.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::shared::Shared;
use crate::socket::Lent;

/// Threads among which connections are shared out in turn. Dropping them ends them, with whatever they still serve.
pub(crate) struct Workers {
    threads: Vec<WorkerThread>,
    next: AtomicUsize,
}

struct WorkerThread {
    handle: Handle,
    lent: Arc<Mutex<Lent>>,
    /// Dropped, it ends the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Workers {
    pub(crate) fn start(shared: &Shared) -> io::Result<Self> {
        let threads =
            (0..shared.config.threads.max(1)).map(|number| WorkerThread::start(shared, number)).collect::<io::Result<_>>()?;
        Ok(Self { threads, next: AtomicUsize::new(0) })
    }

    /// Runs `serve` on the thread whose turn it is.
    pub(crate) fn spawn<F: Future<Output = ()> + Send + 'static>(&self, serve: impl FnOnce(Arc<Mutex<Lent>>) -> F) {
        let turn = self.next.fetch_add(1, Ordering::Relaxed) % self.threads.len();
        let thread = &self.threads[turn];
        thread.handle.spawn(serve(Arc::clone(&thread.lent)));
    }
}

impl WorkerThread {
    fn start(shared: &Shared, number: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name(format!("redlet-{number}")).spawn(move || {
            // The sender is never used, only dropped.
            let _closed = runtime.block_on(stopped);
        })?;
        Ok(Self { handle, lent: Arc::new(Mutex::new(Lent::new(shared))), stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for WorkerThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A worker that panicked has told so on standard error already.
            let _panicked = thread.join();
        }
    }
}
