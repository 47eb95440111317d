//! What a client has said since MULTI, and what it watches.

use std::collections::BTreeSet;

use crate::clients::Client;
use crate::resp::{Arg, Argv};

/// A transaction that is being put together: between the first WATCH or MULTI and what ends it.
#[derive(Debug, Default)]
pub struct Transaction {
    /// What was queued since MULTI; `None` before it.
    pub queue: Option<Queue>,
    /// The keys that are watched, with the numbers of their databases.
    pub watching: BTreeSet<(usize, Box<[u8]>)>,
}

impl Transaction {
    /// Lets others see how far it has come.
    pub(super) fn publish(&self, client: &Client) {
        client.rename(|names| {
            names.queued = self.queue.as_ref().map(Queue::len);
            names.watching = self.watching.len();
        });
    }
}

/// Requests that wait for EXEC, in one piece of memory.
#[derive(Debug, Default)]
pub struct Queue {
    bytes: Vec<u8>,
    args: Vec<Arg>,
    requests: Vec<Queued>,
    /// How many requests have been queued, also when they are not kept.
    count: usize,
    /// Whether one of them may change the keyspace.
    pub writes: bool,
    /// Whether a request was refused: EXEC then runs none.
    pub is_broken: bool,
}

/// Where a request ends in the queue's memory.
#[derive(Debug)]
struct Queued {
    bytes_end: usize,
    args_end: usize,
    /// The hash of its first key.
    hash: Option<u64>,
}

impl Queue {
    /// A queue with room for the few small requests that most transactions have, so that it is made and given back at one go.
    pub fn new() -> Self {
        Self { bytes: Vec::with_capacity(256), args: Vec::with_capacity(16), requests: Vec::with_capacity(8), ..Self::default() }
    }

    /// Has nothing of it be run, and keeps none of it.
    pub fn break_off(&mut self) {
        *self = Self { count: self.count, is_broken: true, ..Self::default() };
    }

    /// Adds a request.
    pub fn push(&mut self, argv: &Argv<'_>, hash: Option<u64>) {
        argv.record(&mut self.bytes, &mut self.args);
        self.count += 1;
        self.requests.push(Queued { bytes_end: self.bytes.len(), args_end: self.args.len(), hash });
    }

    /// How many requests have been queued.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether none has been queued.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of memory that the requests take.
    pub fn memory(&self) -> usize {
        self.bytes.len() + size_of_val(self.args.as_slice()) + size_of_val(self.requests.as_slice())
    }

    /// The requests in their order, each with the hash of its first key.
    pub fn iter(&self) -> impl Iterator<Item = (Argv<'_>, Option<u64>)> {
        let (mut bytes_start, mut args_start) = (0, 0);
        self.requests.iter().map(move |queued| {
            let argv = Argv::new(&self.bytes[bytes_start..queued.bytes_end], &self.args[args_start..queued.args_end]);
            (bytes_start, args_start) = (queued.bytes_end, queued.args_end);
            (argv, queued.hash)
        })
    }
}
