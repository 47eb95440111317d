//! What more cores than this machine has would wait for: a simulation of the locks that threads share.
//!
//! Each core serves batches without end: it enters the gate, then for each request works, takes the lock of a shard, holds it, and goes
//! on. A lock that another core had last is first brought over from that core's cache, which holds the others up that want it. Times
//! are in nanoseconds and come from measurements of one core; a transfer takes what it takes between cores of one socket. Prints
//! one table in Markdown.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Requests of a batch.
const BATCH: usize = 32;
/// The part of a request outside of any lock.
const WORK_NANOS: u64 = 50;
/// How long a shard's lock is held, once to fetch the entry ahead and once to run.
const HELD_NANOS: u64 = 15;
/// How long the gate's lock is worked on, to enter and to leave.
const GATE_NANOS: u64 = 5;
/// A line of memory comes over from another core.
const TRANSFER_NANOS: u64 = 60;
/// A batch's share of reading and writing.
const BATCH_NANOS: u64 = 6000;
/// How much time is simulated.
const UNTIL_NANOS: u64 = 20_000_000;

#[derive(Clone, Copy)]
struct Scene {
    cores: usize,
    shards: usize,
    /// Parts of the gate.
    gates: usize,
    /// One request in so many is for the same key; 0 for none.
    hot: usize,
    /// Requests of a batch: 1 for unpipelined ones.
    batch: usize,
}

#[derive(Default)]
struct Outcome {
    requests: u64,
    waited: u64,
    transfers: u64,
}

/// A lock: when it will be free, and which core had it last.
#[derive(Clone, Copy)]
struct Line {
    free_at: u64,
    last: usize,
}

impl Line {
    /// A core takes it at `now` and holds it for so long. When the core is done.
    fn take(&mut self, core: usize, now: u64, held: u64, outcome: &mut Outcome) -> u64 {
        let begins = now.max(self.free_at);
        outcome.waited += begins - now;
        let moves = self.last != core;
        outcome.transfers += u64::from(moves);
        self.last = core;
        self.free_at = begins + held + if moves { TRANSFER_NANOS } else { 0 };
        self.free_at
    }
}

/// A core on its way through a batch.
struct Core {
    number: usize,
    step: usize,
    /// The shards of the batch's keys.
    shards: Vec<usize>,
}

fn simulate(scene: Scene) -> Outcome {
    let mut outcome = Outcome::default();
    let mut locks = vec![Line { free_at: 0, last: usize::MAX }; scene.shards];
    let mut gates = vec![Line { free_at: 0, last: usize::MAX }; scene.gates];
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let mut cores: Vec<_> = (0..scene.cores).map(|number| Core { number, step: 0, shards: Vec::new() }).collect();
    let mut queue: BinaryHeap<_> = (0..scene.cores).map(|core| Reverse((core as u64 * 97, core))).collect();
    while let Some(Reverse((now, core))) = queue.pop() {
        if now < UNTIL_NANOS {
            queue.push(Reverse((cores[core].advance(now, scene, &mut gates, &mut locks, &mut state, &mut outcome), core)));
        }
    }
    outcome
}

impl Core {
    /// Takes the next lock. When the core is done with it.
    fn advance(
        &mut self,
        now: u64,
        scene: Scene,
        gates: &mut [Line],
        locks: &mut [Line],
        state: &mut u64,
        outcome: &mut Outcome,
    ) -> u64 {
        // A batch of several has its entries fetched ahead before the first one is run.
        let passes = if scene.batch > 1 { 2 } else { 1 };
        let step = self.step;
        self.step += 1;
        if step == 0 {
            self.shards = (0..scene.batch).map(|_| scene.shard(state)).collect();
            return gates[self.number % scene.gates].take(self.number, now, GATE_NANOS, outcome);
        }
        if step > passes * scene.batch {
            self.step = 0;
            return gates[self.number % scene.gates].take(self.number, now, GATE_NANOS, outcome) + BATCH_NANOS;
        }
        let runs = step > (passes - 1) * scene.batch;
        outcome.requests += u64::from(runs);
        let worked = now + if runs { WORK_NANOS } else { 0 };
        locks[self.shards[(step - 1) % scene.batch]].take(self.number, worked, HELD_NANOS, outcome)
    }
}

impl Scene {
    fn shard(self, state: &mut u64) -> usize {
        let mut random = || {
            *state ^= *state << 13;
            *state ^= *state >> 7;
            *state ^= *state << 17;
            usize::try_from(*state >> 1).unwrap_or(0)
        };
        if self.hot > 0 && random().is_multiple_of(self.hot) { 0 } else { random() % self.shards }
    }
}

fn main() {
    println!(
        "| cores | shards | gate | one key takes | requests a batch | rate of a core, of its rate alone | waits, ns a request | lines moved a request |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|");
    for batch in [BATCH, 1] {
        let scenes = [(256, 1, 0), (256, 8, 0), (1024, 8, 0), (4096, 8, 0), (256, 8, 10)];
        for (shards, gates, hot) in scenes {
            let rate = |cores| simulate(Scene { cores, shards, gates, hot, batch });
            let alone = rate(1).requests as f64;
            for cores in [2, 8, 16, 64] {
                let outcome = rate(cores);
                let each = outcome.requests as f64 / cores as f64 / alone * 100.0;
                let waited = outcome.waited as f64 / outcome.requests as f64;
                let moved = outcome.transfers as f64 / outcome.requests as f64;
                let hot = if hot == 0 { "no".to_owned() } else { format!("1 in {hot}") };
                println!("| {cores} | {shards} | {gates} | {hot} | {batch} | {each:.0} % | {waited:.1} | {moved:.2} |");
            }
        }
    }
}
