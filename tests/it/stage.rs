//! Plays many transcripts at once, each to a peer of its own, and fails with all that differs.
//! Knows no kind of peer: whoever calls says how one is made.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::differences::Differences;
use crate::play::{Delivery, Peer, play};
use crate::reply::Protocol;
use crate::transcript::Transcript;

/// Files played at the same time. Most of a play is waiting.
const THREADS: usize = 6;

/// Plays every file in each of its protocols and each delivery.
#[track_caller]
pub(crate) fn check<P: Peer>(
    corpus: &[Transcript],
    deliveries: &[Delivery],
    differences: &Differences,
    new_peer: impl Fn() -> P + Sync,
) {
    let mut plays: Vec<(&Transcript, Protocol, Delivery)> = Vec::new();
    for transcript in corpus {
        for protocol in transcript.protocols() {
            plays.extend(deliveries.iter().map(|delivery| (transcript, protocol, *delivery)));
        }
    }
    let reports =
        on_threads(&plays, |(transcript, protocol, delivery)| play(transcript, *protocol, *delivery, &mut new_peer(), differences));
    let reports = reports.concat();
    assert!(reports.is_empty(), "{} replies differ:\n\n{}", reports.len(), reports.join("\n"));
}

/// Does `work` for every item, several at a time, and returns the results in the order of the items.
pub(crate) fn on_threads<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    let result = work(item);
                    results.lock().expect("no thread panics while it holds the lock").insert(index, result);
                }
            });
        }
    });
    results.into_inner().expect("the threads have ended").into_values().collect()
}
