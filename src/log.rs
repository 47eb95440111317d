//! What a server says about itself, on standard error.

use std::io::Write as _;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::config::LogLevel;

/// Writes lines of at least the set level.
#[derive(Debug)]
pub struct Log {
    level: AtomicU8,
}

impl Log {
    /// A log that starts at `level`.
    pub fn new(level: LogLevel) -> Self {
        Self { level: AtomicU8::new(level as u8) }
    }

    /// Changes the level: `CONFIG SET loglevel`.
    pub fn set_level(&self, level: LogLevel) {
        self.level.store(level as u8, Ordering::Relaxed);
    }

    /// What one would want to know of a server in use.
    pub fn notice(&self, text: &str) {
        self.write(LogLevel::Notice, text);
    }

    /// What went wrong.
    pub fn warning(&self, text: &str) {
        self.write(LogLevel::Warning, text);
    }

    fn write(&self, level: LogLevel, text: &str) {
        if level as u8 >= self.level.load(Ordering::Relaxed) {
            // Whoever read standard error may be gone, which must not end what had something to say.
            let _told = writeln!(std::io::stderr(), "redlet: {text}");
        }
    }
}
