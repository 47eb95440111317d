//! The one clock. Every deadline, `TIME` and every wait reads it, so that who moves it moves them all.
//!
//! It flows with the system's clock by default. It is read once a batch by the socket layer and handed on as an argument; nothing
//! below that reads it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch: the unit of every deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UnixMillis(pub u64);

impl UnixMillis {
    /// Whole seconds since the Unix epoch, rounded down.
    pub const fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// The time `millis` later. Saturates at the end of time.
    #[must_use]
    pub const fn plus_millis(self, millis: u64) -> Self {
        Self(self.0.saturating_add(millis))
    }

    /// Milliseconds from `earlier` until this time; 0 when `earlier` is later.
    pub const fn millis_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// The system's clock plus an offset that can be moved.
#[derive(Debug, Default)]
pub struct Clock {
    offset_micros: AtomicI64,
}

impl Clock {
    /// Microseconds since the Unix epoch.
    pub fn micros(&self) -> u64 {
        let real = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let real = i64::try_from(real.as_micros()).unwrap_or(i64::MAX);
        u64::try_from(real.saturating_add(self.offset_micros.load(Ordering::Relaxed))).unwrap_or_default()
    }

    /// Milliseconds since the Unix epoch.
    pub fn now(&self) -> UnixMillis {
        UnixMillis(self.micros() / 1000)
    }

    /// Moves the clock forward. What is due by then is absent to every command at once.
    pub fn advance(&self, by: Duration) {
        let by = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        self.offset_micros.fetch_add(by, Ordering::Relaxed);
    }
}
