//! Random sequences of requests, played to a real redis-server and to our server: equal replies byte for byte, and in the end equal
//! counters, keys, values, encodings and deadlines. proptest makes the sequences and shrinks one that fails.
//!
//! Some are of one connection, sent at once; some of several that take turns, most of whose requests are about transactions and watched
//! keys, sent one after the other: the order in which they run is the same for both servers, and so is everything that is answered.
//!
//! `REDLET_RANDOM_CASES` is how many sequences are played, `REDLET_RANDOM_SEED` repeats a run whose seed was told.

mod compare;
mod counters;
mod dice;
mod generate;
mod pair;
mod sequence;
mod values;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use generate::Catalogue;
use pair::Pair;
use sequence::{Sequence, Sequences};

/// Sequences of a run that is not told how many.
const CASES: u32 = 5000;

/// Sequences of several connections, each of which has to be waited for in its turn.
const CASES_OF_SEVERAL: u32 = 1000;

/// Connections that take turns in a sequence.
const CONNS_MAX: usize = 3;

/// Sequences between two seeds. After a failure the run goes on with the next seed, to find other differences as well.
const CASES_PER_SEED: u32 = 100;

/// Failures after which a run ends early, divided by the square of the number of connections: each is made smaller step by step, which takes its time.
const FAILURES_MAX: usize = 30;

/// How often a sequence is played before a difference counts. What lies between two readings of the clock cannot be ruled out;
/// a difference is not allowed to depend on it.
const ATTEMPTS: u32 = 3;

/// Steps in which a failing sequence may be made smaller.
const SHRINK_STEPS_MAX: u32 = 2000;

/// One run over both servers.
struct Run {
    /// Both servers, unless one of them has panicked in the middle of a sequence and they are out of step.
    pair: RefCell<Option<Pair>>,
    conns: usize,
    /// Sequences that differed once and not again.
    unsteady: RefCell<Vec<String>>,
}

impl Run {
    /// Whether both servers say the same.
    fn judge(&self, sequence: &Sequence) -> Result<(), String> {
        let mut first = None;
        for _ in 0..ATTEMPTS {
            let mut pair = self.pair.take().unwrap_or_else(|| Pair::new(self.conns));
            let played = pair.play(sequence);
            self.pair.replace(Some(pair));
            match compare::compare(&played) {
                Ok(()) => {
                    if let Some(report) = first {
                        self.unsteady.borrow_mut().push(format!("{sequence:?}{report}"));
                    }
                    return Ok(());
                }
                Err(report) => first = first.or(Some(report)),
            }
        }
        Err(first.expect("there was an attempt"))
    }

    /// Plays `cases` sequences. Of one that fails: the command it ends with, and how it reads when it is as small as can be.
    fn play(&self, seed: u64, cases: u32, sequences: &Sequences) -> Result<(), (String, String)> {
        let config = Config { cases, max_shrink_iters: SHRINK_STEPS_MAX, failure_persistence: None, ..Config::default() };
        // The low half decides; the high half only keeps the seed from being all zeros, which this algorithm does not take.
        let rng = TestRng::from_seed(RngAlgorithm::XorShift, &[seed.to_le_bytes(), *b"sequence"].concat());
        let outcome =
            TestRunner::new_with_rng(config, rng).run(sequences, |sequence| self.judge(&sequence).map_err(TestCaseError::fail));
        match outcome {
            Ok(()) => Ok(()),
            Err(TestError::Fail(what, sequence)) => Err((sequence.last_name(), format!("seed {seed}, {sequence:?}{what}"))),
            Err(TestError::Abort(why)) => Err((String::new(), format!("seed {seed}: {why}"))),
        }
    }
}

fn number_from(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} should be a number, not {text:?}")))
}

/// Plays sequences of up to `conns_max` connections: `cases` of them, or as many as asked for.
#[track_caller]
fn check(conns_max: usize, cases: u32) {
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let first_seed = number_from("REDLET_RANDOM_SEED").unwrap_or_else(clock);
    let cases = number_from("REDLET_RANDOM_CASES").unwrap_or(cases.into());
    println!("REDLET_RANDOM_SEED={first_seed} REDLET_RANDOM_CASES={cases}");

    let begin = Instant::now();
    let run = Run { pair: RefCell::default(), conns: conns_max, unsteady: RefCell::default() };
    let sequences = Sequences { catalogue: Catalogue::new(), conns_max };
    // A difference that is found often should not hide another: one report for each command.
    let mut reports = BTreeMap::new();
    let mut failures = 0;
    let mut left = cases;
    for seed in first_seed.. {
        let now = u32::try_from(left.min(CASES_PER_SEED.into())).expect("it is at most CASES_PER_SEED");
        if now == 0 || failures >= FAILURES_MAX / conns_max.pow(2) {
            break;
        }
        if let Err((name, report)) = run.play(seed, now, &sequences) {
            failures += 1;
            reports.entry(name).or_insert(report);
        }
        left -= u64::from(now);
    }
    let unsteady = run.unsteady.into_inner();
    println!("{} sequences in {:.1?}, {} differed once and not again", cases - left, begin.elapsed(), unsteady.len());
    unsteady.iter().for_each(|sequence| println!("differed once {sequence}"));
    let reports: Vec<_> = reports.into_values().collect();
    assert!(reports.is_empty(), "{failures} sequences are answered otherwise, such as these:\n\n{}", reports.join("\n"));
}

#[test]
#[ignore = "needs redis-server"]
fn random_sequences_are_answered_as_redis_server_answers_them() {
    check(1, CASES);
}

#[test]
#[ignore = "needs redis-server"]
fn random_sequences_of_several_connections_are_answered_as_redis_server_answers_them() {
    check(CONNS_MAX, CASES_OF_SEVERAL);
}
