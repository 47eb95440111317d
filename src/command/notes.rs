//! What is noted of requests beyond their answers, if somebody asks for it: how long they took, and what monitors see.

use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::clock::UnixMillis;
use crate::shared::Shared;
use crate::slowlog::{self, SlowEntry};

use super::{Context, Flags, Request};

/// What has been asked for that makes every request cost more. Looked at once a batch, and again behind a request that may have changed
/// it: what another connection asks for takes effect with the next batch.
#[derive(Clone, Copy, Debug)]
pub struct Notes {
    /// `CLIENT PAUSE` holds some requests back.
    pub paused: bool,
    /// The slow log asks about commands that are otherwise not worth two looks at the clock: its threshold is below a millisecond.
    pub time_all: bool,
    /// Somebody sees every request.
    pub monitors: bool,
}

impl Notes {
    /// What is asked for at the beginning of a batch.
    pub fn look(shared: &Shared, now: UnixMillis) -> Self {
        Self {
            paused: shared.clients.paused(true, now).is_some(),
            time_all: (0..1000).contains(&shared.settings.slowlog_micros.load(Ordering::Relaxed)),
            monitors: shared.clients.has_monitors(),
        }
    }
}

/// Notes how long a request took that has just been answered, if it ran. Returns when that was.
#[cold]
pub fn time<'r>(cx: &mut Context<'_>, request: impl FnOnce() -> Request<'r>, ran: bool, begun: Instant) -> Instant {
    let ended = Instant::now();
    if !ran {
        return ended;
    }
    let taken = u64::try_from((ended - begun).as_nanos()).unwrap_or(u64::MAX);
    let nanos = taken.saturating_add(cx.busy_nanos());
    // What waits has no duration yet, unless it is known beforehand.
    let tracked = cx.shared.settings.latency_tracking.load(Ordering::Relaxed) && cx.wait.is_none_or(|wait| wait.is_busy);
    cx.stats.note_durations(cx.command.id, nanos, tracked);
    let millis = nanos / 1_000_000;
    let threshold = cx.shared.settings.latency_millis.load(Ordering::Relaxed);
    if threshold > 0 && millis >= threshold {
        let event = if cx.command.spec.has(Flags::FAST) { "fast-command" } else { "command" };
        cx.shared.latency.add(event, cx.now().seconds(), millis);
    }
    // The threshold as it is now: the command may have been the one that set it.
    let slow_micros = cx.shared.settings.slowlog_micros.load(Ordering::Relaxed);
    let is_slow = u64::try_from(slow_micros).is_ok_and(|threshold| nanos / 1000 >= threshold);
    if is_slow && !cx.command.spec.has(Flags::SKIP_SLOWLOG) {
        let entry = SlowEntry {
            id: 0,
            at_seconds: cx.now().seconds(),
            micros: nanos / 1000,
            argv: slowlog::trimmed(request().public_argv(cx.command)),
            addr: cx.session.client.addr.to_string(),
            name: cx.session.client.names().name,
        };
        cx.shared.slowlog.add(entry, cx.shared.settings.slowlog_len_max.load(Ordering::Relaxed));
    }
    ended
}
