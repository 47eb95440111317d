//! A batch: the requests that have been parsed and not yet run, in buffers that the worker thread lends. Must not run them.

use std::ops::Range;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use bytes::Bytes;

use crate::clients::Post;
use crate::command::{self, Command, Request};
use crate::resp::{Arg, Argv, Limits, Parsed};
use crate::shared::Shared;
use crate::stats::WorkerStats;
use crate::store::Db;

/// What a worker thread lends to the conversation that it serves.
#[derive(Debug)]
pub struct Worker {
    /// The thread's counters.
    pub stats: Arc<WorkerStats>,
    /// What the batch sends to connections.
    pub(super) post: Post,
    pub(super) requests: Vec<Parsing>,
    pub(super) args: Vec<Arg>,
    pub(super) scratch: Vec<u8>,
    /// Under which the requests were parsed.
    pub(super) limits: Limits,
    /// What the requests lie in, where large parts of it may be kept.
    pub(super) owned: Option<Bytes>,
}

/// A request of the batch, in terms of the batch's buffers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parsing {
    /// Its first byte in the input, and the byte behind its last.
    start: usize,
    pub(super) end: usize,
    /// Its arguments in the batch's list.
    args: (usize, usize),
    /// Its words lie in the scratch buffer.
    inline: bool,
    pub(super) command: Option<&'static Command>,
    hash: Option<u64>,
}

impl Worker {
    /// Bytes that the last input had any one other connection sent at the most.
    pub fn sent_bytes(&self) -> usize {
        self.post.sent_bytes()
    }

    /// Buffers and counters for one worker thread.
    pub fn new(shared: &Shared) -> Self {
        let stats = shared.stats.worker(command::table().len());
        let limits = Limits { bulk_bytes_max: 0, args_max: 0, unauthenticated: true };
        Self { stats, post: Post::default(), requests: Vec::new(), args: Vec::new(), scratch: Vec::new(), limits, owned: None }
    }

    pub(super) fn clear(&mut self) {
        /// Arguments kept room for between batches; a rare larger batch gives its memory back.
        const ARGS_KEPT: usize = 4096;
        self.requests.clear();
        self.args.clear();
        self.args.shrink_to(ARGS_KEPT);
        self.scratch.clear();
    }
}

impl Worker {
    /// Takes a request into the batch that begins at `start` and has the arguments from the `first` one on: finds its command, hashes
    /// its first key, and has the table around that fetched. Returns where it ends.
    #[inline]
    pub(super) fn accept(&mut self, parsed: Parsed, input: &[u8], start: usize, first: usize, shared: &Shared, db: &Db) -> usize {
        let (len, inline) = match parsed {
            Parsed::Multibulk(len) => (len, false),
            Parsed::Inline(len) => (len, true),
            Parsed::Nothing(len) => return start + len,
            Parsed::Incomplete => return start,
        };
        let end = start + len;
        let argv = Argv::new(if inline { &self.scratch } else { &input[start..end] }, &self.args[first..]);
        let command = argv.get(0).and_then(|name| command::table().lookup(name));
        let hash = match command {
            Some(command) if command.first_key > 0 => argv.get(command.first_key).map(|key| shared.store.hasher().hash(key)),
            _ => None,
        };
        if let Some(hash) = hash {
            db.prefetch_home(hash);
        }
        self.requests.push(Parsing { start, end, args: (first, self.args.len()), inline, command, hash });
        end
    }

    #[inline]
    pub(super) fn request<'a>(&'a self, parsing: &Parsing, input: &'a [u8]) -> Request<'a> {
        let bytes = if parsing.inline { &self.scratch } else { &input[parsing.start..parsing.end] };
        let argv = Argv::new(bytes, &self.args[parsing.args.0..parsing.args.1]);
        Request { argv, command: parsing.command, hash: parsing.hash }
    }

    /// Fetches the entries of the batch's keys, so that no request waits for one alone. The tables were asked for before.
    #[inline]
    pub(super) fn prefetch(&self, db: &Db) {
        if self.requests.len() < 2 {
            // The entry is wanted at once: it would not come sooner for being asked for.
            return;
        }
        for hash in self.requests.iter().filter_map(|parsing| parsing.hash) {
            db.prefetch_entry(hash);
        }
    }

    /// Shares the time since `begun` out among these requests, which were not timed on their own. Returns when that time ended.
    pub(super) fn share_time(&self, requests: Range<usize>, begun: Instant, shared: &Shared) -> Instant {
        let ended = Instant::now();
        let requests = &self.requests[requests];
        let nanos = u64::try_from((ended - begun).as_nanos()).unwrap_or(u64::MAX);
        let share = nanos / requests.len().max(1) as u64;
        let tracked = shared.settings.latency_tracking.load(Ordering::Relaxed);
        // Most batches ask for one thing many times.
        let is_same = |one: &Parsing, next: &Parsing| one.command.map(ptr::from_ref) == next.command.map(ptr::from_ref);
        for alike in requests.chunk_by(is_same) {
            if let Some(command) = alike[0].command {
                self.stats.note_durations(command.id, share, tracked);
            }
        }
        ended
    }
}
