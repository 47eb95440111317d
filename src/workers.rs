//! The worker threads: each with an event loop of its own, and buffers that it lends to the connection it is serving.
//!
//! Connections are packed: a thread gets [`CONNECTIONS_PACKED`] before the next one gets its first, and is started for it. A thread that
//! waits for many connections at once finds several of them ready each time, which is what makes unpipelined requests cheap; and a
//! thread that has something to do need not be woken. Beyond that they are shared out evenly. When a thread cannot keep up while another
//! has time and the machine an idle core, [`balance`] has it hand connections over.

mod balance;

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::config::READ_BUFFER_BYTES;
use crate::conversation::Worker;
use crate::resp::Output;
use crate::shared::Shared;
use balance::Balance;

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
    pub(crate) output: Output,
}

impl Lent {
    /// Buffers and counters of a thread.
    pub(crate) fn new(shared: &Shared) -> Self {
        Self { worker: Worker::new(shared), input: Vec::with_capacity(READ_BUFFER_BYTES), output: Output::default() }
    }
}

/// A worker thread as its connections see it.
pub(crate) struct Desk {
    /// Its number among the threads.
    number: usize,
    handle: Handle,
    /// Only this thread takes it, so the lock is never contended.
    lent: Mutex<Lent>,
    /// How many connections it serves.
    connections: AtomicUsize,
    /// Where the kernel tells how long it has run, if it does.
    schedstat: OnceLock<File>,
    pool: Weak<Pool>,
}

impl Desk {
    fn new(shared: &Shared, number: usize, handle: Handle, pool: Weak<Pool>) -> Self {
        let lent = Mutex::new(Lent::new(shared));
        Self { number, handle, lent, connections: AtomicUsize::new(0), schedstat: OnceLock::new(), pool }
    }

    /// A desk without a thread: whoever polls the connection serves it.
    #[cfg(test)]
    pub(crate) fn alone(shared: &Shared, handle: Handle) -> Arc<Self> {
        Arc::new(Self::new(shared, 0, handle, Weak::new()))
    }
}

/// A connection's place at a desk, which counts for as long as it is held.
pub(crate) struct Seat(Arc<Desk>);

impl Seat {
    /// A place at `desk`.
    pub(crate) fn new(desk: &Arc<Desk>) -> Self {
        desk.connections.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(desk))
    }

    /// The number of its thread.
    pub(crate) fn thread(&self) -> usize {
        self.0.number
    }

    /// What its thread lends.
    pub(crate) fn lent(&self) -> &Mutex<Lent> {
        &self.0.lent
    }

    /// The event loop of its thread.
    pub(crate) fn handle(&self) -> &Handle {
        &self.0.handle
    }

    /// A place on another thread. `None` when it is the same one, or there is no such thread any more.
    pub(crate) fn at(&self, thread: usize) -> Option<Self> {
        let pool = self.0.pool.upgrade()?;
        let desk = pool.desk(thread)?;
        (thread != self.0.number).then(|| Self::new(&desk))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Threads that serve connections. Dropping them ends them, with whatever they still serve, without waiting for that.
pub(crate) struct Workers {
    pool: Arc<Pool>,
    balance: Mutex<Balance>,
}

struct Pool {
    shared: Arc<Shared>,
    threads: Mutex<Threads>,
}

/// The threads that have been started, and how many there may be.
struct Threads {
    started: Vec<WorkerThread>,
    most: usize,
}

struct WorkerThread {
    desk: Arc<Desk>,
    /// Dropped, it ends the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: JoinHandle<()>,
}

impl Workers {
    /// Starts the first thread. The others, up to as many as the configuration says, are started when they are needed.
    pub(crate) fn start(shared: &Arc<Shared>) -> io::Result<Self> {
        let threads = Mutex::new(Threads { started: Vec::new(), most: shared.config.threads });
        let pool = Arc::new(Pool { shared: Arc::clone(shared), threads });
        pool.start_next(&mut pool.threads.lock())?;
        Ok(Self { pool, balance: Mutex::default() })
    }

    /// A place for the next connection. `None` when the threads are ending.
    pub(crate) fn seat(&self) -> Option<Seat> {
        let mut threads = self.pool.threads.lock();
        let load = |thread: &WorkerThread| thread.desk.connections.load(Ordering::Relaxed);
        let packed = threads.started.iter().find(|thread| load(thread) < CONNECTIONS_PACKED).map(|thread| Seat::new(&thread.desk));
        if packed.is_some() {
            return packed;
        }
        if let Some(desk) = self.pool.start_up_to(threads.started.len(), &mut threads) {
            return Some(Seat::new(&desk));
        }
        threads.started.iter().min_by_key(|thread| load(thread)).map(|thread| Seat::new(&thread.desk))
    }

    /// Looks how busy the threads are, and has connections go where there is more time. To be called a few times a second.
    pub(crate) fn balance(&self) {
        let (desks, most) = {
            let threads = self.pool.threads.lock();
            (threads.started.iter().map(|thread| Arc::clone(&thread.desk)).collect::<Vec<_>>(), threads.most)
        };
        if most > 1 {
            let files: Vec<_> = desks.iter().map(|desk| desk.schedstat.get()).collect();
            self.balance.lock().look(&files, most, &self.pool.shared.clients);
        }
    }

    /// Ends the threads, with whatever they still serve. Blocks until they have ended.
    pub(crate) fn end(&mut self) {
        let mut threads = self.pool.threads.lock();
        threads.most = 0;
        let mut ending = std::mem::take(&mut threads.started);
        drop(threads);
        for thread in &mut ending {
            drop(thread.stop.take());
        }
        let begun = Instant::now();
        for WorkerThread { thread, .. } in ending {
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

impl Pool {
    /// The desk of a thread, which is started if it has not been. `None` when there is to be no such thread.
    fn desk(self: &Arc<Self>, number: usize) -> Option<Arc<Desk>> {
        self.start_up_to(number, &mut self.threads.lock())
    }

    /// As [`Self::desk`]. When a thread cannot be started the others do its work, and it is not tried again.
    fn start_up_to(self: &Arc<Self>, number: usize, threads: &mut Threads) -> Option<Arc<Desk>> {
        while number >= threads.started.len() && number < threads.most {
            if let Err(error) = self.start_next(threads) {
                threads.most = threads.started.len();
                self.shared.log.warning(&format!("there are {} worker threads, and no more: {error}", threads.most));
            }
        }
        threads.started.get(number).map(|thread| Arc::clone(&thread.desk))
    }

    fn start_next(self: &Arc<Self>, threads: &mut Threads) -> io::Result<Arc<Desk>> {
        let number = threads.started.len();
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let desk = Arc::new(Desk::new(&self.shared, number, runtime.handle().clone(), Arc::downgrade(self)));
        let (stop, stopped) = oneshot::channel::<()>();
        let own = Arc::clone(&desk);
        let thread = std::thread::Builder::new().name(format!("redlet-{number}")).spawn(move || {
            if let Ok(file) = File::open("/proc/thread-self/schedstat") {
                own.schedstat.get_or_init(|| file);
            }
            drop(own);
            // The sender is never used, only dropped.
            let _dropped = runtime.block_on(stopped);
        })?;
        threads.started.push(WorkerThread { desk: Arc::clone(&desk), stop: Some(stop), thread });
        Ok(desk)
    }
}
