//! How the durations of a command are distributed: counts in steps of less than a hundredth, as Redis keeps them. Must not read a clock.

use std::array;
use std::sync::OnceLock;

use super::Counter;

/// Steps of an octave, which is from a power of two to the next: enough for two significant digits.
const STEPS: usize = 128;
const STEPS_BITS: u32 = STEPS.ilog2();
/// The longest duration told apart. What takes longer counts as this.
const NANOS_MAX: u64 = 1_000_000_000;
/// Groups of steps. The first two hold single nanoseconds, each further one an octave.
const GROUPS: usize = step_of(NANOS_MAX) / STEPS + 1;

/// Durations of one command on one thread. A group takes 1 KB of memory from the first duration on that falls into it.
#[derive(Debug)]
pub(super) struct Histogram([OnceLock<Box<[Counter; STEPS]>>; GROUPS]);

impl Default for Histogram {
    fn default() -> Self {
        Self(array::from_fn(|_| OnceLock::new()))
    }
}

impl Histogram {
    /// Counts `count` durations of so many nanoseconds. One of no time at all counts as a nanosecond, as in Redis.
    pub(super) fn add(&self, nanos: u64, count: u64) {
        let step = step_of(nanos.clamp(1, NANOS_MAX));
        let group = self.0[step / STEPS].get_or_init(|| Box::new(array::from_fn(|_| Counter::default())));
        group[step % STEPS].add(count);
    }

    /// Starts from nothing again. The memory stays for what comes next.
    pub(super) fn reset(&self) {
        self.0.iter().filter_map(OnceLock::get).flat_map(|group| group.iter()).for_each(Counter::reset);
    }
}

/// The step that a duration of at least one nanosecond falls into.
#[expect(clippy::cast_possible_truncation, reason = "what is left of it is less than two octaves' steps")]
const fn step_of(nanos: u64) -> usize {
    let octave = nanos.ilog2().saturating_sub(STEPS_BITS);
    STEPS * octave as usize + (nanos >> octave) as usize
}

/// The shortest and the longest duration of a step.
fn range_of(step: usize) -> (u64, u64) {
    let octave = (step / STEPS).saturating_sub(1);
    let first = ((step - STEPS * octave) as u64) << octave;
    (first, first + (1 << octave) - 1)
}

/// A distribution of durations, added up over all threads.
#[derive(Clone, Debug)]
pub struct Distribution {
    /// By their steps.
    counts: Vec<u64>,
}

impl Default for Distribution {
    fn default() -> Self {
        Self { counts: vec![0; GROUPS * STEPS] }
    }
}

impl Distribution {
    pub(super) fn add(&mut self, histogram: &Histogram) {
        for (counts, group) in self.counts.chunks_mut(STEPS).zip(&histogram.0) {
            let group = group.get().into_iter().flat_map(|group| group.iter());
            counts.iter_mut().zip(group).for_each(|(count, counted)| *count += counted.get());
        }
    }

    /// How many durations there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many durations were no longer than so many microseconds: for each doubling, from one microsecond on, that adds any. The
    /// doublings are of 1,024 ns, and what falls into the same step counts with them, which the microseconds tell.
    pub fn doublings(&self) -> Vec<(u64, u64)> {
        const FIRST_NANOS: u64 = 1024;
        let mut told = Vec::new();
        let (mut limit, mut before, mut so_far) = (step_of(FIRST_NANOS), 0, 0);
        for (step, count) in self.counts.iter().enumerate() {
            so_far += count;
            let is_last = step + 1 == self.counts.len();
            if step == limit || is_last {
                let (first, last) = range_of(step);
                if so_far > before {
                    told.push((last / 1000, so_far));
                }
                before = so_far;
                // The last doubling lies beyond what is told apart.
                limit = step_of(first * 2);
            }
        }
        told
    }

    /// The duration, in nanoseconds, that this share of them, in per cent, does not exceed.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of durations"
    )]
    pub fn percentile(&self, percent: f64) -> u64 {
        let wanted = ((percent / 100.0 * self.count() as f64 + 0.5) as u64).max(1);
        let mut so_far = 0;
        let reaches = |count: &u64| {
            so_far += count;
            so_far >= wanted
        };
        let (first, last) = self.counts.iter().position(reaches).map_or((0, 0), range_of);
        if percent == 0.0 { first } else { last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(durations: &[(u64, u64)]) -> Distribution {
        let histogram = Histogram::default();
        durations.iter().for_each(|&(nanos, count)| histogram.add(nanos, count));
        let mut distribution = Distribution::default();
        distribution.add(&histogram);
        distribution
    }

    #[test]
    fn steps_follow_each_other_without_a_gap() {
        let mut next = 0;
        for step in 0..GROUPS * STEPS {
            let (first, last) = range_of(step);
            assert_eq!(first, next);
            assert!(last == first || last - first < first / 100, "{first} to {last} is more than a hundredth");
            if first > 0 {
                assert_eq!((step_of(first), step_of(last)), (step, step));
            }
            next = last + 1;
        }
        assert!(next > NANOS_MAX);
    }

    /// What redis-server 7.0.15 tells of such durations.
    #[test]
    fn doublings_are_those_of_redis() {
        let ones: Vec<_> = (0..32).map(|power| (1000 << power, 1)).collect();
        let limits = [
            1, 2, 4, 8, 16, 33, 66, 132, 264, 528, 1056, 2113, 4227, 8454, 16_908, 33_816, 67_633, 135_266, 270_532, 541_065,
            1_073_741,
        ];
        let told = distribution(&ones).doublings();
        assert_eq!(told.iter().map(|&(micros, _)| micros).collect::<Vec<_>>(), limits);
        assert_eq!((told[0].1, told[1].1, told[19].1, told[20].1), (1, 2, 20, 32));
        assert_eq!(distribution(&[(100_000_000, 1), (1_200_000_000, 1)]).doublings(), [(135_266, 1), (1_073_741, 2)]);
        assert_eq!(distribution(&[]).doublings(), []);
    }

    #[test]
    fn percentiles_are_those_of_redis() {
        let two = distribution(&[(100_100_000, 1), (1_200_000_000, 1)]);
        assert_eq!(
            [0.0, 50.0, 99.0, 100.0].map(|share| two.percentile(share)),
            [99_614_720, 100_139_007, 1_002_438_655, 1_002_438_655]
        );
        assert_eq!([0.0, 50.0].map(|share| distribution(&[(0, 1)]).percentile(share)), [1, 1]);
        let many = distribution(&[(1000, 990), (2000, 10)]);
        assert_eq!([50.0, 99.0, 99.9].map(|share| many.percentile(share)), [1003, 1003, 2007]);
        assert_eq!(distribution(&[]).percentile(50.0), 0);
    }

    #[test]
    fn a_reset_leaves_nothing() {
        let histogram = Histogram::default();
        histogram.add(5, 3);
        histogram.reset();
        let mut distribution = Distribution::default();
        distribution.add(&histogram);
        assert_eq!(distribution.count(), 0);
    }
}
