//! When connections go to another thread, which ones, and where to. Orders them to go, and moves nothing itself.
//!
//! It looks at what the kernel says: how long each thread ran, and how long it would have run had there been a processor for it. A
//! thread that ran nearly all the time and never had to wait is the limit of its connections' throughput; if meanwhile another
//! thread was idle for the most part, and so was a core of the machine, its connections would be served sooner there. Where the
//! kernel does not say it, everything stays where it is.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::time::Instant;

use crate::clients::{Client, Clients};

/// A thread that runs for a larger part of the time than this cannot keep up.
const BUSY: f64 = 0.85;
/// A thread that had to wait for a processor for a larger part of the time than this would be slowed down by any other thread.
const QUEUED: f64 = 0.1;
/// A thread that runs for a smaller part of the time than this could take something over.
const FREE: f64 = 0.5;
/// Cores that have to be idle for a thread to find one.
const IDLE_CORES: f64 = 0.5;
/// Looks that pass after a decision until the next, so that its effect can be seen.
const LOOKS_BETWEEN: u32 = 10;

/// Nanoseconds since a thread was started.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    running: u64,
    queued: u64,
}

impl Spent {
    fn read(file: &File) -> Option<Self> {
        let mut text = [0; 64];
        let len = file.read_at(&mut text, 0).ok()?;
        let mut fields = std::str::from_utf8(&text[..len]).ok()?.split_whitespace().map(str::parse);
        Some(Self { running: fields.next()?.ok()?, queued: fields.next()?.ok()? })
    }
}

/// The parts of the time that a thread ran, and waited for a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Load {
    running: f64,
    queued: f64,
}

/// What was seen at the last look.
#[derive(Debug, Default)]
pub(super) struct Balance {
    at: Option<Instant>,
    spent: Vec<Spent>,
    /// Since the last look, a thread cannot keep up: when the machine's cores had been idle for that long, in hundredths of a second.
    suspicion: Option<u64>,
    /// Looks until the next decision.
    pause: u32,
}

impl Balance {
    /// Looks at the threads that have been started, of the `most` that there may be, and orders clients elsewhere if that helps.
    pub(super) fn look(&mut self, files: &[Option<&File>], most: usize, clients: &Clients) {
        let now = Instant::now();
        let Some(spent) = files.iter().map(|file| file.and_then(Spent::read)).collect::<Option<Vec<_>>>() else { return };
        let before = std::mem::replace(&mut self.spent, spent);
        let Some(elapsed) = self.at.replace(now).map(|at| (now - at).as_secs_f64()) else { return };
        let loads: Vec<Load> = (self.spent.iter().zip(before.iter().chain(std::iter::repeat(&Spent::default()))))
            .map(|(now, before)| Load {
                running: (now.running - before.running) as f64 / 1e9 / elapsed,
                queued: (now.queued - before.queued) as f64 / 1e9 / elapsed,
            })
            .collect();
        self.pause = self.pause.saturating_sub(1);
        let suspicion = self.suspicion.take();
        let Some((from, free)) = overload(&loads, most).filter(|_| self.pause == 0) else { return };
        // Only asked for now: on a machine with many cores the kernel takes a while to answer.
        let Some(idle) = idle_centiseconds() else { return };
        self.suspicion = Some(idle);
        let candidates: Vec<_> = clients.all().into_iter().filter(|client| client.thread() == from).collect();
        let work: Vec<u64> = candidates.iter().map(|client| client.take_work()).collect();
        let Some(before) = suspicion else { return };
        let idle_cores = idle.saturating_sub(before) as f64 / 100.0 / elapsed;
        let helpers = helpers(&free, idle_cores);
        if helpers.is_empty() {
            return;
        }
        let went = send(candidates.iter().zip(work), helpers);
        if went > 0 {
            self.pause = LOOKS_BETWEEN;
        }
    }
}

/// The thread that cannot keep up although no other keeps it from running, and those that could help it, the least busy first.
fn overload(loads: &[Load], most: usize) -> Option<(usize, Vec<usize>)> {
    let (from, _) = loads
        .iter()
        .enumerate()
        .filter(|(_, load)| load.running >= BUSY && load.queued <= QUEUED)
        .max_by(|(_, a), (_, b)| a.running.total_cmp(&b.running))?;
    let running = |thread: usize| loads.get(thread).map_or(0.0, |load| load.running);
    let mut free: Vec<usize> = (0..most).filter(|&thread| running(thread) <= FREE).collect();
    free.sort_by(|&a, &b| running(a).total_cmp(&running(b)));
    (!free.is_empty()).then_some((from, free))
}

/// As many of the threads that have time as there are cores for them.
fn helpers(free: &[usize], idle_cores: f64) -> &[usize] {
    let mut cores = 0;
    while cores < free.len() && idle_cores >= cores as f64 + IDLE_CORES {
        cores += 1;
    }
    &free[..cores]
}

/// Shares clients out among their own thread and the helpers by the work they made, and orders those to go that are to. How many.
fn send<'a>(clients: impl Iterator<Item = (&'a Arc<Client>, u64)>, helpers: &[usize]) -> usize {
    let mut working: Vec<_> = clients.filter(|(_, work)| *work > 0).collect();
    working.sort_by_key(|(_, work)| std::cmp::Reverse(*work));
    // The first is their own thread: a client that makes most of the work stays, and the others go.
    let mut shares = vec![0; 1 + helpers.len()];
    let mut went = 0;
    for (client, work) in working {
        let place = (0..shares.len()).min_by_key(|&place| shares[place]).unwrap_or(0);
        shares[place] += work;
        if let Some(helper) = place.checked_sub(1) {
            client.order_to(helpers[helper]);
            went += 1;
        }
    }
    went
}

/// Hundredths of a second that the machine's cores have been idle, all together.
fn idle_centiseconds() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    // "cpu", and then the time spent in programs, in programs that are nice, in the kernel, and idle.
    stat.lines().next()?.split_whitespace().nth(4)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::Order;
    use crate::clock::UnixMillis;

    fn loads(running: &[f64]) -> Vec<Load> {
        running.iter().map(|&running| Load { running, queued: 0.0 }).collect()
    }

    #[track_caller]
    fn check_overload(running: &[f64], most: usize, found: Option<(usize, &[usize])>) {
        assert_eq!(overload(&loads(running), most), found.map(|(from, free)| (from, free.to_vec())), "{running:?}");
    }

    #[test]
    fn a_thread_is_helped_by_those_that_have_time() {
        check_overload(&[0.99], 3, Some((0, &[1, 2])));
        check_overload(&[0.4, 0.99, 0.1], 3, Some((1, &[2, 0])));
        check_overload(&[0.9, 0.99], 3, Some((1, &[2])));
        check_overload(&[0.99], 1, None);
        check_overload(&[0.99, 0.6], 2, None);
        check_overload(&[0.8, 0.0], 2, None);
        check_overload(&[], 2, None);
    }

    #[test]
    fn a_thread_that_waits_for_a_processor_is_not_helped() {
        assert_eq!(overload(&[Load { running: 0.86, queued: 0.14 }, Load::default()], 2), None);
    }

    #[test]
    fn helpers_are_as_many_as_idle_cores() {
        assert_eq!(helpers(&[1, 2, 3], 0.4), &[] as &[usize]);
        assert_eq!(helpers(&[1, 2, 3], 0.6), &[1]);
        assert_eq!(helpers(&[1, 2, 3], 2.2), &[1, 2]);
        assert_eq!(helpers(&[1, 2, 3], 60.0), &[1, 2, 3]);
    }

    /// Clients that made this much work on thread 0 are served on these threads, when those of `helpers` help.
    #[track_caller]
    fn check_sent(work: &[u64], helpers: &[usize], threads: &[usize]) {
        let clients = Clients::default();
        let all: Vec<_> = work.iter().map(|_| clients.add("a".to_owned(), "b".to_owned(), 0, UnixMillis(0))).collect();
        let went = send(all.iter().zip(work.iter().copied()), helpers);
        let thread = |client: &Arc<Client>| match client.order() {
            Some(Order::Move(thread)) => thread,
            Some(Order::Close) | None => 0,
        };
        assert_eq!(all.iter().map(thread).collect::<Vec<_>>(), threads, "{work:?}");
        assert_eq!(went, threads.iter().filter(|thread| **thread > 0).count());
    }

    #[test]
    fn work_is_shared_out_and_idle_connections_stay() {
        check_sent(&[5, 5, 0, 5, 5], &[1], &[0, 1, 0, 0, 1]);
        check_sent(&[1, 100, 1, 1], &[3], &[3, 0, 3, 3]);
        check_sent(&[100], &[1], &[0]);
        check_sent(&[9, 9, 9, 9, 9, 9], &[2, 4], &[0, 2, 4, 0, 2, 4]);
        check_sent(&[0, 0], &[1], &[0, 0]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_kernel_tells_what_was_spent() {
        let file = File::open("/proc/thread-self/schedstat").expect("the kernel keeps it");
        let before = Spent::read(&file).expect("two numbers");
        let begun = Instant::now();
        while begun.elapsed().as_millis() < 20 {
            std::hint::spin_loop();
        }
        let after = Spent::read(&file).expect("two numbers");
        assert!(after.running > before.running, "{before:?} {after:?}");
        assert!(idle_centiseconds().is_some());
    }
}
