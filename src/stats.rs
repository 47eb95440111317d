//! Counters. Each worker thread writes its own, so that counting costs no shared line of memory; who wants a total adds them up.

mod histogram;
mod rates;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::clock::UnixMillis;
pub use histogram::Distribution;
use histogram::Histogram;
use rates::Rates;

/// A counter written by one thread and read by any.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`. Only the owning thread calls this, so a plain load and store lose nothing.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    /// The count so far.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Starts from 0 again: `CONFIG RESETSTAT`. A count made at the same moment may survive.
    pub fn reset(&self) {
        self.set(0);
    }

    fn set(&self, count: u64) {
        self.0.store(count, Ordering::Relaxed);
    }
}

/// What is counted for each command.
#[derive(Debug, Default)]
pub struct CommandStats {
    /// How often it ran.
    pub calls: Counter,
    /// Nanoseconds that it took. For commands of constant cost an equal share of the time of their batch.
    pub nanos: Counter,
    /// Refused before it ran.
    pub rejected: Counter,
    /// Ran and answered with an error.
    pub failed: Counter,
}

/// How long the calls of a command took.
#[derive(Debug, Default)]
struct Durations {
    /// Calls whose duration has been noted.
    noted: Counter,
    /// Of those that were noted while durations were tracked.
    histogram: OnceLock<Box<Histogram>>,
}

/// One worker thread's counters.
#[derive(Debug)]
pub struct WorkerStats {
    /// By the command's number in the command table.
    pub commands: Box<[CommandStats]>,
    /// By the same number, and apart, since requests do not look at them.
    durations: Box<[Durations]>,
    /// Reads that found their key.
    pub hits: Counter,
    /// Reads that did not.
    pub misses: Counter,
    /// Bytes read from clients.
    pub input_bytes: Counter,
    /// Bytes written to clients.
    pub output_bytes: Counter,
    /// Reads from clients that brought something.
    pub reads: Counter,
    /// Writes to clients.
    pub writes: Counter,
    /// Error replies.
    pub errors: Counter,
}

impl WorkerStats {
    fn new(commands: usize) -> Self {
        Self {
            commands: (0..commands).map(|_| CommandStats::default()).collect(),
            durations: (0..commands).map(|_| Durations::default()).collect(),
            hits: Counter::default(),
            misses: Counter::default(),
            input_bytes: Counter::default(),
            output_bytes: Counter::default(),
            reads: Counter::default(),
            writes: Counter::default(),
            errors: Counter::default(),
        }
    }

    /// Notes that each call of a command whose duration is not noted yet took `nanos`. Only the owning thread calls this.
    pub fn note_durations(&self, command: usize, nanos: u64, tracked: bool) {
        let (counters, durations) = (&self.commands[command], &self.durations[command]);
        let (calls, noted) = (counters.calls.get(), durations.noted.get());
        if calls == noted {
            return;
        }
        durations.noted.set(calls);
        // There are fewer calls than noted ones when another thread is about to reset both.
        let new = calls.saturating_sub(noted);
        counters.nanos.add(nanos.saturating_mul(new));
        if tracked {
            durations.histogram.get_or_init(Box::default).add(nanos, new);
        }
    }

    fn reset(&self) {
        for command in &self.commands {
            for counter in [&command.calls, &command.nanos, &command.rejected, &command.failed] {
                counter.reset();
            }
        }
        for durations in &self.durations {
            durations.noted.reset();
            durations.histogram.get().into_iter().for_each(|histogram| histogram.reset());
        }
        let all = [&self.hits, &self.misses, &self.input_bytes, &self.output_bytes, &self.reads, &self.writes, &self.errors];
        all.into_iter().for_each(Counter::reset);
    }
}

/// All counters of a server.
#[derive(Debug, Default)]
pub struct Stats {
    workers: Mutex<Vec<Arc<WorkerStats>>>,
    /// Error replies by their code, such as `ERR`.
    errors: Mutex<BTreeMap<String, u64>>,
    /// Connections accepted.
    pub connections: AtomicU64,
    /// Connections refused because of `maxclients`.
    pub refused: AtomicU64,
    /// Keys that had expired in databases that have been flushed since.
    pub expired: AtomicU64,
    rates: Mutex<Rates>,
}

impl Stats {
    /// Counters for a new worker thread, for `commands` commands.
    pub fn worker(&self, commands: usize) -> Arc<WorkerStats> {
        let worker = Arc::new(WorkerStats::new(commands));
        self.workers.lock().push(Arc::clone(&worker));
        worker
    }

    /// A total over all worker threads.
    pub fn total(&self, of: impl Fn(&WorkerStats) -> u64) -> u64 {
        self.workers.lock().iter().map(|worker| of(worker)).sum()
    }

    /// Calls of all commands together.
    pub fn calls(&self) -> u64 {
        self.total(|worker| worker.commands.iter().map(|command| command.calls.get()).sum())
    }

    /// How the durations of a command are distributed; `None` when there are none.
    pub fn durations(&self, command: usize) -> Option<Distribution> {
        let workers = self.workers.lock();
        let histograms = workers.iter().filter_map(|worker| worker.durations[command].histogram.get());
        let all = histograms.fold(None, |all: Option<Distribution>, histogram| {
            let mut all = all.unwrap_or_default();
            all.add(histogram);
            Some(all)
        });
        all.filter(|durations| durations.count() > 0)
    }

    /// Counts an error reply by its code: the first word of its text. Texts are the server's own, so there are only so many.
    pub fn count_error(&self, text: &[u8]) {
        let code = text.split(|&byte| byte == b' ').next().unwrap_or_default();
        let code = String::from_utf8_lossy(code);
        let mut errors = self.errors.lock();
        if let Some(count) = errors.get_mut(&*code) {
            *count += 1;
        } else {
            errors.insert(code.into_owned(), 1);
        }
    }

    /// Error replies by their code.
    pub fn errors(&self) -> BTreeMap<String, u64> {
        self.errors.lock().clone()
    }

    /// Notes how far the counters have come, for [`Self::per_second`]. To be called a few times a second.
    pub fn sample(&self, now: UnixMillis) {
        let total = |of: fn(&WorkerStats) -> &Counter| self.total(|worker| of(worker).get());
        let counters = [self.calls(), total(|worker| &worker.input_bytes), total(|worker| &worker.output_bytes)];
        self.rates.lock().sample(now, counters);
    }

    /// Requests, bytes read and bytes written a second, over the last samples.
    pub fn per_second(&self) -> [f64; 3] {
        self.rates.lock().per_second()
    }

    /// Starts all counters from 0: `CONFIG RESETSTAT`.
    pub fn reset(&self) {
        self.workers.lock().iter().for_each(|worker| worker.reset());
        self.errors.lock().clear();
        self.connections.store(0, Ordering::Relaxed);
        self.refused.store(0, Ordering::Relaxed);
        self.expired.store(0, Ordering::Relaxed);
        self.rates.lock().reset();
    }
}
