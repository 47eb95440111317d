//! The rows of a suite: figures of two columns over the rounds, their bounds, and how they are printed. Measures nothing.

use std::fmt::{self, Write};

use crate::suite::Outcome;
use crate::summary::Summary;
use crate::table::{Align, Table};

/// What a figure has to keep to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// The left column's median divided by the right one's is at most this.
    RatioAtMost(f64),
    /// The left column's median divided by the right one's is at least this.
    RatioAtLeast(f64),
    /// The left column's median is at most this, in the unit of the row.
    AtMost(f64),
}

impl Bound {
    /// Whether `figure` is within it; nothing when a column that it needs was not measured.
    fn holds(self, figure: &Figure) -> Option<bool> {
        match self {
            Self::RatioAtMost(limit) => Some(figure.ratio()?.median <= limit),
            Self::RatioAtLeast(limit) => Some(figure.ratio()?.median >= limit),
            Self::AtMost(limit) => Some(Summary::of(figure.left.iter().copied())?.median <= limit),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RatioAtMost(limit) => write!(f, "ratio <= {limit:.2}"),
            Self::RatioAtLeast(limit) => write!(f, "ratio >= {limit:.2}"),
            Self::AtMost(limit) => write!(f, "<= {limit}"),
        }
    }
}

/// One row: the same thing measured in both columns, once a round.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    /// Digits after the point.
    pub(crate) digits: usize,
    pub(crate) left: Vec<f64>,
    /// As many as `left`, in the order of the rounds, or none where there is nothing to compare with.
    pub(crate) right: Vec<f64>,
    pub(crate) must: Option<Bound>,
    pub(crate) goal: Option<Bound>,
}

impl Figure {
    /// A row that nothing is laid down for.
    pub(crate) fn new(name: impl Into<String>, unit: &'static str, digits: usize, columns: [Vec<f64>; 2]) -> Self {
        let [left, right] = columns;
        Self { name: name.into(), unit, digits, left, right, must: None, goal: None }
    }

    /// The same row with what is laid down for it.
    pub(crate) fn bounds(self, must: Bound, goal: Option<Bound>) -> Self {
        Self { must: Some(must), goal, ..self }
    }

    /// The ratio of the medians, between the smallest and the largest ratio within one round.
    fn ratio(&self) -> Option<Summary> {
        let left = Summary::of(self.left.iter().copied())?;
        let right = Summary::of(self.right.iter().copied())?;
        let by_round = Summary::of(self.left.iter().zip(&self.right).map(|(left, right)| left / right))?;
        // Below what is shown of it a figure is as good as nothing, and nothing is a multiple of it.
        let least = 0.1_f64.powi(i32::try_from(self.digits).unwrap_or(0)) * 5.0;
        let ratio = Summary { median: left.median / right.median, ..by_round };
        (self.right.iter().all(|right| *right >= least) && ratio.median.is_finite()).then_some(ratio)
    }

    /// Which of its bounds the figure keeps to.
    fn verdict(&self) -> &'static str {
        let must = self.must.and_then(|bound| bound.holds(self));
        let goal = self.goal.and_then(|bound| bound.holds(self));
        match (must, goal) {
            (Some(false), _) => "NO",
            (_, Some(true)) => "yes, goal too",
            (Some(true), _) => "yes",
            _ => "",
        }
    }
}

/// What a suite found.
pub(crate) struct Findings {
    /// Names of the two columns.
    pub(crate) columns: [&'static str; 2],
    pub(crate) figures: Vec<Figure>,
    /// Sentences that belong below the table.
    pub(crate) notes: Vec<String>,
}

impl Findings {
    /// The table in Markdown with its notes below, and `file`, a CSV of every single figure.
    pub(crate) fn outcome(&self, suite: &str, file: &'static str) -> Outcome {
        let mut text = self.table().to_string();
        for note in &self.notes {
            text.push_str(&format!("\n{note}\n"));
        }
        Outcome { text, files: vec![(file, self.csv(suite))] }
    }

    fn table(&self) -> Table {
        let [left, right] = self.columns;
        let mut out = Table::new(&[
            ("figure", Align::Left),
            ("unit", Align::Left),
            (left, Align::Right),
            (right, Align::Right),
            ("ratio", Align::Right),
            ("must", Align::Right),
            ("goal", Align::Right),
            ("holds", Align::Left),
        ]);
        let bound = |bound: Option<Bound>| bound.map_or_else(String::new, |bound| bound.to_string());
        for figure in &self.figures {
            out.row([
                figure.name.clone(),
                figure.unit.to_owned(),
                column(&figure.left, figure.digits),
                column(&figure.right, figure.digits),
                figure.ratio().map_or_else(String::new, |ratio| spread(ratio, 3, figure.left.len())),
                bound(figure.must),
                bound(figure.goal),
                figure.verdict().to_owned(),
            ]);
        }
        out
    }

    fn csv(&self, suite: &str) -> String {
        let mut out = String::from("suite,figure,unit,column,round,value\n");
        for figure in &self.figures {
            for (column, values) in self.columns.iter().zip([&figure.left, &figure.right]) {
                for (round, value) in (1..).zip(values) {
                    writeln!(out, "{suite},\"{}\",{},{column},{round},{value}", figure.name, figure.unit)
                        .expect("writing to a String cannot fail");
                }
            }
        }
        out
    }
}

fn column(figures: &[f64], digits: usize) -> String {
    Summary::of(figures.iter().copied()).map_or_else(String::new, |summary| spread(summary, digits, figures.len()))
}

/// A single figure has no spread to show.
fn spread(summary: Summary, digits: usize, rounds: usize) -> String {
    if rounds > 1 { format!("{summary:.digits$}") } else { format!("{:.digits$}", summary.median) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(left: &[f64], right: &[f64]) -> Figure {
        Figure::new("thing, large", "us", 1, [left.to_vec(), right.to_vec()])
    }

    #[track_caller]
    fn check(figure: Figure, expected: &str) {
        let findings = Findings { columns: ["ours", "theirs"], figures: vec![figure], notes: Vec::new() };
        let table = findings.table().to_string();
        let row = table.lines().nth(2).expect("a row below the heading");
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.join("|"), expected, "{table}");
    }

    #[test]
    fn a_row_shows_medians_their_spread_and_the_ratio() {
        check(figure(&[2.0], &[8.0]), "thing, large|us|2.0|8.0|0.250|||");
        check(figure(&[1.0, 3.0, 2.0], &[4.0, 4.0, 4.0]), "thing, large|us|2.0 (1.0–3.0)|4.0 (4.0–4.0)|0.500 (0.250–0.750)|||");
        check(figure(&[2.0], &[]), "thing, large|us|2.0|||||");
        check(figure(&[2.0], &[0.0]), "thing, large|us|2.0|0.0||||");
        check(figure(&[2.0, 2.0, 2.0], &[9.0, 9.0, 0.1]), "thing, large|us|2.0 (2.0–2.0)|9.0 (0.1–9.0)||||");
    }

    #[test]
    fn bounds_hold_up_to_their_limit() {
        let row = |must, goal| figure(&[2.0], &[8.0]).bounds(must, goal);
        check(
            row(Bound::RatioAtMost(0.25), Some(Bound::RatioAtMost(0.2))),
            "thing, large|us|2.0|8.0|0.250|ratio <= 0.25|ratio <= 0.20|yes",
        );
        check(row(Bound::AtMost(3.0), Some(Bound::AtMost(2.0))), "thing, large|us|2.0|8.0|0.250|<= 3|<= 2|yes, goal too");
        check(row(Bound::AtMost(1.9), None), "thing, large|us|2.0|8.0|0.250|<= 1.9||NO");
        check(row(Bound::RatioAtLeast(0.3), None), "thing, large|us|2.0|8.0|0.250|ratio >= 0.30||NO");
    }

    #[test]
    fn an_unmeasured_figure_has_no_verdict() {
        let unmeasured = figure(&[], &[]).bounds(Bound::AtMost(1.0), Some(Bound::AtMost(1.0)));
        check(unmeasured, "thing, large|us||||<= 1|<= 1|");
    }

    #[test]
    fn every_figure_is_a_line_of_the_csv() {
        let findings = Findings { columns: ["ours", "theirs"], figures: vec![figure(&[1.0, 2.0], &[3.0, 4.5])], notes: Vec::new() };
        let lines: Vec<String> = findings.csv("s").lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 5);
        assert_eq!(lines[1], "s,\"thing, large\",us,ours,1,1");
        assert_eq!(lines[4], "s,\"thing, large\",us,theirs,2,4.5");
    }
}
