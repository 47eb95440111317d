//! Durations counted by size, from which percentiles are read. Recording is one increment: it may stand in a load's loop.
//!
//! Below 128 ns every nanosecond has a bucket; above, each power of two has 64, so a figure read is at most 1/64 too large.

use std::time::Duration;

/// Buckets of one power of two: 2 to the power of `FINE_BITS`.
const FINE_BITS: u32 = 6;
const FINE: usize = 1 << FINE_BITS;

/// Enough for every duration of up to 2^64 ns.
const BUCKETS: usize = (64 - FINE_BITS as usize + 1) * FINE;

/// Samples below which a percentile would be no more than the largest few: this many must lie beyond it.
const BEYOND_MIN: f64 = 1.0;

/// Counts of durations.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    counts: Vec<u32>,
    total: u64,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; BUCKETS], total: 0 }
    }

    pub(crate) fn record(&mut self, duration: Duration) {
        self.counts[bucket(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))] += 1;
        self.total += 1;
    }

    /// The duration that the fraction `quantile` of all samples does not exceed, or none where the samples are too few to tell:
    /// a p99.9 needs a thousand.
    #[expect(clippy::cast_precision_loss, reason = "a count of samples stays far below 2^52")]
    pub(crate) fn quantile(&self, quantile: f64) -> Option<Duration> {
        let below = self.total as f64 * quantile;
        if self.total as f64 - below < BEYOND_MIN - 1e-9 {
            return None;
        }
        let mut seen = 0.0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += f64::from(*count);
            if seen >= below && *count > 0 {
                return Some(Duration::from_nanos(largest_in(index)));
            }
        }
        None
    }

    /// The longest duration, or none of no samples.
    pub(crate) fn longest(&self) -> Option<Duration> {
        let index = self.counts.iter().rposition(|count| *count > 0)?;
        Some(Duration::from_nanos(largest_in(index)))
    }
}

/// Where a duration is counted.
fn bucket(nanos: u64) -> usize {
    let power = nanos.checked_ilog2().unwrap_or(0);
    let shift = power.saturating_sub(FINE_BITS);
    let fine = usize::try_from(nanos >> shift).expect("less than 128 after the shift");
    // Each shift adds 64 buckets; `fine` runs from 64 to 127 there, and from 0 where nothing is shifted.
    shift as usize * FINE + fine
}

/// The longest duration that is counted in bucket `index`, in nanoseconds.
fn largest_in(index: usize) -> u64 {
    let shift = (index / FINE).saturating_sub(1);
    let fine = index - shift * FINE;
    let last = (u128::try_from(fine).expect("small") + 1) << shift;
    u64::try_from(last - 1).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_lies_within_its_bucket() {
        let samples = (0..64).flat_map(|power| {
            let base = 1u64 << power;
            [base - 1, base, base + 1, base + base / 3]
        });
        for nanos in samples.chain([u64::MAX]) {
            let largest = largest_in(bucket(nanos));
            assert!(largest >= nanos && largest - nanos <= nanos / FINE as u64, "{nanos} counted up to {largest}");
            assert!(bucket(largest) == bucket(nanos), "{nanos} and {largest} in one bucket");
        }
        assert!(bucket(u64::MAX) < BUCKETS);
    }

    #[test]
    fn quantiles_are_read_back() {
        let mut histogram = Histogram::new();
        assert_eq!((histogram.quantile(0.5), histogram.longest()), (None, None));
        (1..=999).for_each(|micros| histogram.record(Duration::from_micros(micros)));
        assert_eq!(histogram.quantile(0.999), None, "too few samples");
        histogram.record(Duration::from_millis(50));
        for (quantile, micros) in [(0.5, 500), (0.99, 990), (0.999, 999)] {
            let read = histogram.quantile(quantile).expect("enough samples").as_nanos();
            assert!((micros * 1000..micros * 1000 * 66 / 64).contains(&read), "{quantile}: {read}");
        }
        let longest = histogram.longest().expect("samples").as_micros();
        assert!((50_000..51_600).contains(&longest), "{longest}");
    }
}
