//! The CPU time, user and system, that a process has used so far. Reads `/proc` and nothing else.

use std::collections::BTreeMap;
use std::fs;

/// Length of the clock tick that `/proc/PID/stat` counts in: USER_HZ is 100 on every Linux architecture in use.
const TICK_NANOS: u64 = 10_000_000;

/// One look at a process.
pub(crate) struct CpuTime {
    /// Run time of each thread in nanoseconds, by thread id. Empty when the kernel keeps none.
    threads: BTreeMap<u32, u64>,
    /// User and system time of the whole process, ended threads included, in clock ticks.
    ticks: u64,
}

/// CPU time used between two looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CpuUsed {
    pub(crate) nanos: u64,
    pub(crate) source: Source,
}

/// Where a figure comes from, which says how fine it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Source {
    /// `/proc/PID/task/*/schedstat`, in nanoseconds.
    Schedstat,
    /// `/proc/PID/stat`, in steps of 10 ms.
    Stat,
}

impl Source {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Schedstat => "schedstat",
            Self::Stat => "stat",
        }
    }
}

impl CpuTime {
    /// Looks at process `pid` now.
    pub(crate) fn of(pid: u32) -> Result<Self, String> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).map_err(|e| format!("/proc/{pid}/stat: {e}"))?;
        let ticks = parse_stat(&stat).ok_or_else(|| format!("/proc/{pid}/stat: not understood: {stat}"))?;
        let mut threads = BTreeMap::new();
        let tasks = format!("/proc/{pid}/task");
        for task in fs::read_dir(&tasks).map_err(|e| format!("{tasks}: {e}"))? {
            let task = task.map_err(|e| format!("{tasks}: {e}"))?;
            let id = task.file_name().to_str().and_then(|name| name.parse().ok());
            // A thread may end between the listing and the reading; `since` notices by its absence.
            let text = fs::read_to_string(task.path().join("schedstat")).ok();
            let nanos = text.as_deref().and_then(parse_schedstat);
            if let (Some(id), Some(nanos)) = (id, nanos) {
                threads.insert(id, nanos);
            }
        }
        Ok(Self { threads, ticks })
    }

    /// What was used since `before`. Falls back to clock ticks when a thread has ended in between and taken its
    /// nanoseconds with it, or when the kernel counts none.
    pub(crate) fn since(&self, before: &Self) -> CpuUsed {
        let all_alive = before.threads.keys().all(|id| self.threads.contains_key(id));
        let nanos: u64 =
            self.threads.iter().map(|(id, now)| now.saturating_sub(before.threads.get(id).copied().unwrap_or(0))).sum();
        if all_alive && nanos > 0 {
            return CpuUsed { nanos, source: Source::Schedstat };
        }
        CpuUsed { nanos: self.ticks.saturating_sub(before.ticks) * TICK_NANOS, source: Source::Stat }
    }
}

/// User plus system time in ticks. The name in parentheses may itself hold blanks and parentheses.
fn parse_stat(text: &str) -> Option<u64> {
    let (_, after_name) = text.rsplit_once(')')?;
    // utime and stime are fields 14 and 15 of proc(5); what follows the name begins with field 3.
    let mut fields = after_name.split_ascii_whitespace().skip(14 - 3);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// The first field: time spent on a CPU, in nanoseconds.
fn parse_schedstat(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(threads: &[(u32, u64)], ticks: u64) -> CpuTime {
        CpuTime { threads: threads.iter().copied().collect(), ticks }
    }

    #[test]
    fn stat_survives_a_name_with_parentheses() {
        let line = "7 (a) b (c)) S 1 7 7 0 -1 4194560 130 0 0 0 21 34 0 0 20 0 5 0";
        assert_eq!(parse_stat(line), Some(55));
        assert_eq!(parse_stat("7 (short) S 1"), None);
    }

    #[test]
    fn threads_old_and_new_are_summed() {
        let used = look(&[(1, 150), (2, 40)], 9).since(&look(&[(1, 100)], 3));
        assert_eq!(used, CpuUsed { nanos: 90, source: Source::Schedstat });
    }

    #[test]
    fn an_ended_thread_falls_back_to_ticks() {
        let used = look(&[(1, 150)], 9).since(&look(&[(1, 100), (2, 40)], 3));
        assert_eq!(used, CpuUsed { nanos: 60_000_000, source: Source::Stat });
    }

    #[test]
    fn this_process_uses_time() {
        let pid = std::process::id();
        let before = CpuTime::of(pid).expect("this process has a stat file");
        let mut sum = 0u64;
        for i in 0..20_000_000u64 {
            sum = std::hint::black_box(sum ^ i);
        }
        let used = CpuTime::of(pid).expect("this process has a stat file").since(&before);
        assert!(used.nanos > 1_000_000, "{used:?}");
    }
}
