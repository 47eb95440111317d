//! How fast counters rise: the mean over the last samples, as Redis computes its `instantaneous_` figures.

use std::collections::VecDeque;

use crate::clock::UnixMillis;

/// Samples that are kept: Redis's `STATS_METRIC_SAMPLES`.
const SAMPLES: usize = 16;

/// The last samples of a set of counters.
#[derive(Debug, Default)]
pub(super) struct Rates {
    /// The time, and the counters as they stood then; the oldest first.
    samples: VecDeque<(UnixMillis, [u64; 3])>,
}

impl Rates {
    /// Notes how the counters stand.
    pub(super) fn sample(&mut self, now: UnixMillis, counters: [u64; 3]) {
        if self.samples.len() > SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back((now, counters));
    }

    /// Forgets all samples: the counters begin anew.
    pub(super) fn reset(&mut self) {
        self.samples.clear();
    }

    /// By how much each counter rose a second.
    pub(super) fn per_second(&self) -> [f64; 3] {
        let (Some(&(begin, first)), Some(&(end, last))) = (self.samples.front(), self.samples.back()) else {
            return [0.0; 3];
        };
        #[expect(clippy::cast_precision_loss, reason = "a rate is a rough figure")]
        let rate = |index: usize| match end.millis_since(begin) {
            0 => 0.0,
            millis => last[index].saturating_sub(first[index]) as f64 * 1000.0 / millis as f64,
        };
        [rate(0), rate(1), rate(2)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_the_mean_over_the_samples_that_are_kept() {
        let mut rates = Rates::default();
        assert_eq!(rates.per_second(), [0.0; 3]);
        for step in 0..100 {
            rates.sample(UnixMillis(step * 100), [step * 10, 0, 7]);
        }
        assert_eq!(rates.per_second(), [100.0, 0.0, 0.0]);
        rates.reset();
        assert_eq!(rates.per_second(), [0.0; 3]);
    }
}
