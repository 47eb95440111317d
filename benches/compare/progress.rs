//! Tells on standard error what is being done: one line that is written over on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

/// The stage that was last told as a plain line.
static TOLD: Mutex<String> = Mutex::new(String::new());

/// Shows the stage and, in it, the detail. A log gets a line for each stage and none for details, which would fill it.
pub(crate) fn show(stage: &str, detail: &str) {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        eprint!("\r\x1b[K{stage}: {detail}");
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
