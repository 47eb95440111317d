//! Median, minimum and maximum of a few figures. Arithmetic only.

use std::fmt;

/// The spread of one figure over the rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Summary {
    /// Of no figures there is no summary. With an even count the median is the mean of the two in the middle.
    pub(crate) fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let upper = sorted.len() / 2;
        let lower = (sorted.len() - 1) / 2;
        Some(Self { median: (sorted[lower] + sorted[upper]) / 2.0, min, max })
    }
}

/// `median (min–max)`, with the precision asked for.
impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(2);
        write!(f, "{:.digits$} ({:.digits$}–{:.digits$})", self.median, self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(figures: &[f64], expected: Option<&str>) {
        let actual = Summary::of(figures.iter().copied()).map(|summary| format!("{summary:.1}"));
        assert_eq!(actual.as_deref(), expected, "{figures:?}");
    }

    #[test]
    fn medians() {
        check(&[], None);
        check(&[3.0], Some("3.0 (3.0–3.0)"));
        check(&[9.0, 1.0], Some("5.0 (1.0–9.0)"));
        check(&[7.0, 1.0, 2.0], Some("2.0 (1.0–7.0)"));
        check(&[4.0, 1.0, 30.0, 2.0], Some("3.0 (1.0–30.0)"));
    }
}
