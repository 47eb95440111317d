//! Memory, context switches and user time of a process. Reads `/proc` and nothing else.

use std::fs;
use std::time::Duration;

/// Length of the clock tick that `/proc/PID/stat` counts in: USER_HZ is 100 on every Linux architecture in use.
const TICK: Duration = Duration::from_millis(10);

/// Resident memory of `pid` in bytes: its own pages and those it shares with others, such as code. Memory that the kernel
/// holds for it, such as socket buffers, is not in it.
pub(crate) fn resident_bytes(pid: u32) -> Result<u64, String> {
    let path = format!("/proc/{pid}/smaps_rollup");
    let text = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    let kibibytes = number_after(&text, "Rss:").ok_or_else(|| format!("{path}: no line Rss"))?;
    Ok(kibibytes * 1024)
}

/// How often the threads of `pid` have gone to sleep by themselves, which is how often they were woken. Threads that have ended are
/// not counted.
pub(crate) fn voluntary_switches(pid: u32) -> Result<u64, String> {
    let tasks = format!("/proc/{pid}/task");
    let failed = |e: std::io::Error| format!("{tasks}: {e}");
    let mut sum = 0;
    for task in fs::read_dir(&tasks).map_err(failed)? {
        let path = task.map_err(failed)?.path().join("status");
        // A thread may end between the listing and the reading.
        let Ok(text) = fs::read_to_string(&path) else { continue };
        sum += number_after(&text, "voluntary_ctxt_switches:").ok_or_else(|| format!("{}: no context switches", path.display()))?;
    }
    Ok(sum)
}

/// CPU time that `pid` has spent in its own code so far, not in the kernel. Counted in steps of 10 ms.
pub(crate) fn user_time(pid: u32) -> Result<Duration, String> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    let ticks = user_ticks(&text).ok_or_else(|| format!("{path}: not understood: {text}"))?;
    Ok(TICK * ticks)
}

/// Field 14 of proc(5). The name in parentheses may itself hold blanks and parentheses; what follows it begins with field 3.
fn user_ticks(text: &str) -> Option<u32> {
    let (_, after_name) = text.rsplit_once(')')?;
    after_name.split_ascii_whitespace().nth(14 - 3)?.parse().ok()
}

/// The number in the line that begins with `name`.
fn number_after(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_by_its_whole_name() {
        let text = "Rss:  12 kB\nnonvoluntary_ctxt_switches:\t9\nvoluntary_ctxt_switches:\t34\n";
        assert_eq!(number_after(text, "Rss:"), Some(12));
        assert_eq!(number_after(text, "voluntary_ctxt_switches:"), Some(34));
        assert_eq!(number_after(text, "Pss:"), None);
    }

    #[test]
    fn user_time_is_the_field_after_ten_others() {
        assert_eq!(user_ticks("7 (a) b (c)) S 1 7 7 0 -1 4194560 130 0 0 0 21 34 0 0 20 0 5 0"), Some(21));
        assert_eq!(user_ticks("7 (short) S 1"), None);
    }

    #[test]
    fn memory_that_is_touched_is_resident() {
        let pid = std::process::id();
        let before = resident_bytes(pid).expect("this process has a smaps_rollup file");
        let touched = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = resident_bytes(pid).expect("this process has a smaps_rollup file");
        assert!(after > before + (32 << 20), "{before} {after} {}", touched.len());
    }

    #[test]
    fn a_sleep_is_a_voluntary_switch() {
        let pid = std::process::id();
        let before = voluntary_switches(pid).expect("this process has a status file");
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(voluntary_switches(pid).expect("this process has a status file") > before);
    }
}
