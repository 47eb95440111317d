//! Tells on standard error what is being done: one line that is written over on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The stage that was last told as a plain line.
static TOLD: Mutex<String> = Mutex::new(String::new());

/// Shows the stage and, in it, the detail. A log gets a line for each stage and none for details, which would fill it.
pub(crate) fn show(stage: &str, detail: &str) {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        // Cut off at the edge: a line that is broken in two could not be written over.
        eprint!("\r\x1b[K\x1b[?7l{stage}: {detail}\x1b[?7h");
        // A progress line that cannot be shown is no reason to give up the measurement.
        drop(stderr.flush());
        return;
    }
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if *told != stage {
        eprintln!("{stage}");
        stage.clone_into(&mut told);
    }
}

/// Takes the line away, so that what follows stands alone.
pub(crate) fn clear() {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
}

/// A known number of steps of about equal length, of which some are done.
pub(crate) struct Steps {
    total: usize,
    done: usize,
    started: Instant,
}

impl Steps {
    pub(crate) fn new(total: usize) -> Self {
        Self { total, done: 0, started: Instant::now() }
    }

    /// Shows the next step, before it is taken. A terminal is told how far it is as well.
    pub(crate) fn next(&mut self, stage: &str, detail: &str) {
        let share = self.done * 100 / self.total.max(1);
        let left = self.left(self.started.elapsed());
        let left = left.map_or_else(String::new, |left| format!(", {}:{:02} left", left.as_secs() / 60, left.as_secs() % 60));
        show(stage, &format!("{detail} ({share} %{left})"));
        self.done += 1;
    }

    /// How much longer it takes if it goes on as it went so far.
    fn left(&self, elapsed: Duration) -> Option<Duration> {
        let done = u32::try_from(self.done).ok().filter(|done| *done > 0)?;
        let rest = u32::try_from(self.total.saturating_sub(self.done)).ok()?;
        Some(elapsed / done * rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_from_what_is_done() {
        let mut steps = Steps::new(10);
        assert_eq!(steps.left(Duration::from_secs(4)), None);
        steps.done = 4;
        assert_eq!(steps.left(Duration::from_secs(4)), Some(Duration::from_secs(6)));
        steps.done = 10;
        assert_eq!(steps.left(Duration::from_secs(4)), Some(Duration::ZERO));
    }
}
