//! The slow log: commands that took long, the newest first.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// One slow command.
#[derive(Clone, Debug)]
pub struct SlowEntry {
    /// Never used twice in a server's life.
    pub id: u64,
    /// When it ran, in Unix seconds.
    pub at_seconds: u64,
    /// How long it took.
    pub micros: u64,
    /// Its arguments, trimmed as Redis trims them.
    pub argv: Vec<Vec<u8>>,
    /// Who sent it.
    pub addr: String,
    /// The sender's name.
    pub name: Vec<u8>,
}

/// The slow commands of a server.
#[derive(Debug, Default)]
pub struct SlowLog {
    entries: Mutex<(u64, VecDeque<SlowEntry>)>,
}

/// Most arguments kept of one command: Redis's `SLOWLOG_ENTRY_MAX_ARGC`.
const ARGS_MAX: usize = 32;
/// Most bytes kept of one argument: Redis's `SLOWLOG_ENTRY_MAX_STRING`.
const ARG_BYTES_MAX: usize = 128;

impl SlowLog {
    /// Adds a command and drops the oldest beyond `len_max`.
    pub fn add(&self, mut entry: SlowEntry, len_max: usize) {
        let mut guard = self.entries.lock();
        let (next_id, entries) = &mut *guard;
        entry.id = *next_id;
        *next_id += 1;
        entries.push_front(entry);
        entries.truncate(len_max);
    }

    /// Drops the oldest beyond `len_max`.
    pub fn trim(&self, len_max: usize) {
        self.entries.lock().1.truncate(len_max);
    }

    /// The newest `count` entries.
    pub fn newest(&self, count: usize) -> Vec<SlowEntry> {
        self.entries.lock().1.iter().take(count).cloned().collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.lock().1.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets all.
    pub fn reset(&self) {
        self.entries.lock().1.clear();
    }
}

/// The arguments of a command as the slow log keeps them.
pub fn trimmed<'a>(argv: impl ExactSizeIterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let count = argv.len();
    let kept = if count > ARGS_MAX { ARGS_MAX - 1 } else { count };
    let mut args: Vec<_> = argv.take(kept).map(trimmed_arg).collect();
    if count > kept {
        args.push(format!("... ({} more arguments)", count - kept).into_bytes());
    }
    args
}

fn trimmed_arg(arg: &[u8]) -> Vec<u8> {
    if arg.len() <= ARG_BYTES_MAX {
        return arg.to_vec();
    }
    let mut kept = arg[..ARG_BYTES_MAX].to_vec();
    kept.extend_from_slice(format!("... ({} more bytes)", arg.len() - ARG_BYTES_MAX).as_bytes());
    kept
}
