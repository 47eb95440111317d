//! Models of what redlet's threads rely on between them. Each is the protocol alone, with shuttle's threads and locks in the place of the
//! system's, so that a test can play it in very many orders; and each can leave out one of its rules, to show that the test notices.

use shuttle::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use shuttle::sync::{Arc, Mutex, RwLock};
use shuttle::thread::{self, Thread};

/// Whether a model keeps the rule that a test is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    Kept,
    Broken,
}

/// `src/clients/{mailbox,post}.rs`: messages are left at once, and their receiver is woken once for each batch.
#[derive(Default)]
struct Mailbox {
    messages: usize,
    is_noted: bool,
    waker: Option<Thread>,
}

/// Two threads send two batches of two messages each. The receiver sleeps whenever it finds nothing; without a wake-up it sleeps for ever,
/// which shuttle reports. The rule: who wakes a receiver lets others note it again.
///
/// # Panics
/// When what relies on the rule does not hold.
pub fn mailbox(rule: Rule) {
    const SENDERS: usize = 2;
    const BATCHES: usize = 2;
    const MESSAGES: usize = 2;
    let mailbox = Arc::new(Mutex::new(Mailbox::default()));
    let senders: Vec<_> = (0..SENDERS)
        .map(|_| {
            let mailbox = Arc::clone(&mailbox);
            thread::spawn(move || (0..BATCHES).for_each(|_| send(&mailbox, MESSAGES, rule)))
        })
        .collect();
    let mut heard = 0;
    while heard < SENDERS * BATCHES * MESSAGES {
        let mut found = mailbox.lock().expect("no thread panics");
        found.waker = Some(thread::current());
        let messages = std::mem::take(&mut found.messages);
        drop(found);
        heard += messages;
        if messages == 0 {
            thread::park();
        }
    }
    for sender in senders {
        sender.join().expect("no thread panics");
    }
}

fn send(mailbox: &Mutex<Mailbox>, messages: usize, rule: Rule) {
    let mut has_noted = false;
    for _ in 0..messages {
        let mut found = mailbox.lock().expect("no thread panics");
        found.messages += 1;
        has_noted |= !std::mem::replace(&mut found.is_noted, true);
    }
    if has_noted {
        let mut found = mailbox.lock().expect("no thread panics");
        found.is_noted = rule == Rule::Broken;
        let waker = found.waker.take();
        drop(found);
        if let Some(waker) = waker {
            waker.unpark();
        }
    }
}

/// `src/events.rs`, `src/watched.rs` and the store's gate: who changes a key looks once a batch whether anybody watches. The rule: who
/// begins to watch enters alone, so that no batch is within that has looked already.
///
/// # Panics
/// When what relies on the rule does not hold.
pub fn watch(rule: Rule) {
    let gate = Arc::new(RwLock::new(()));
    let (watchers, is_stale) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let key = Arc::new(Mutex::new(0));
    let writer = {
        let (gate, watchers, is_stale, key) = (Arc::clone(&gate), Arc::clone(&watchers), Arc::clone(&is_stale), Arc::clone(&key));
        thread::spawn(move || {
            for _ in 0..2 {
                let _within = gate.read().expect("no thread panics");
                let is_curious = watchers.load(Ordering::Relaxed) > 0;
                for _ in 0..2 {
                    *key.lock().expect("no thread panics") += 1;
                    if is_curious {
                        is_stale.store(true, Ordering::Relaxed);
                    }
                }
            }
        })
    };
    {
        let alone = (rule == Rule::Kept).then(|| gate.write().expect("no thread panics"));
        let shared = alone.is_none().then(|| gate.read().expect("no thread panics"));
        watchers.fetch_add(1, Ordering::Relaxed);
        drop((alone, shared));
    }
    let read = {
        let _within = gate.read().expect("no thread panics");
        *key.lock().expect("no thread panics")
    };
    let alone = gate.write().expect("no thread panics");
    let found = *key.lock().expect("no thread panics");
    assert!(is_stale.load(Ordering::Relaxed) || found == read, "EXEC would run, and {read} has become {found}");
    drop(alone);
    writer.join().expect("no thread panics");
}

/// `src/tracking.rs`: who caches a value is told when it changes. The rule: a reader is entered before it reads.
///
/// # Panics
/// When what relies on the rule does not hold.
pub fn cache(rule: Rule) {
    let key = Arc::new(Mutex::new(0));
    let readers = Arc::new(Mutex::new(false));
    let mark = Arc::new(AtomicUsize::new(0));
    let told = Arc::new(AtomicBool::new(false));
    let writer = {
        let (key, readers, mark, told) = (Arc::clone(&key), Arc::clone(&readers), Arc::clone(&mark), Arc::clone(&told));
        thread::spawn(move || {
            // What happens to a key is told under the lock of its shard.
            let mut value = key.lock().expect("no thread panics");
            *value += 1;
            if mark.load(Ordering::Relaxed) > 0 && std::mem::take(&mut *readers.lock().expect("no thread panics")) {
                told.store(true, Ordering::Relaxed);
            }
        })
    };
    let enter = || {
        let mut found = readers.lock().expect("no thread panics");
        mark.fetch_add(1, Ordering::Relaxed);
        *found = true;
    };
    if rule == Rule::Kept {
        enter();
    }
    let cached = *key.lock().expect("no thread panics");
    if rule == Rule::Broken {
        enter();
    }
    writer.join().expect("no thread panics");
    let found = *key.lock().expect("no thread panics");
    assert!(told.load(Ordering::Relaxed) || found == cached, "{cached} is kept, and {found} is there");
}
