//! Context switches and user time of a process. Reads `/proc` and nothing else.

use std::fs;
use std::path::Path;
use std::time::Duration;

/// Length of the clock tick that `/proc/PID/stat` counts in: USER_HZ is 100 on every Linux architecture in use.
const TICK: Duration = Duration::from_millis(10);

/// How often the threads of `pid` have gone to sleep by themselves, which is how often they were woken. Threads that have ended are
/// not counted.
pub(crate) fn voluntary_switches(pid: u32) -> Result<u64, String> {
    let tasks = format!("/proc/{pid}/task");
    let failed = |e: std::io::Error| format!("{tasks}: {e}");
    let mut sum = 0;
    for task in fs::read_dir(&tasks).map_err(failed)? {
        // A thread may end between the listing and the reading.
        sum += voluntary_switches_of(&task.map_err(failed)?.path()).unwrap_or(0);
    }
    if sum == 0 { Err(format!("{tasks}: no context switches")) } else { Ok(sum) }
}

/// The same of one thread, by its folder in `/proc`.
fn voluntary_switches_of(thread: &Path) -> Option<u64> {
    let text = fs::read_to_string(thread.join("status")).ok()?;
    number_after(&text, "voluntary_ctxt_switches:")
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
        let text = "Threads:\t12\nnonvoluntary_ctxt_switches:\t9\nvoluntary_ctxt_switches:\t34\n";
        assert_eq!(number_after(text, "Threads:"), Some(12));
        assert_eq!(number_after(text, "voluntary_ctxt_switches:"), Some(34));
        assert_eq!(number_after(text, "Pid:"), None);
    }

    #[test]
    fn user_time_is_the_field_after_ten_others() {
        assert_eq!(user_ticks("7 (a) b (c)) S 1 7 7 0 -1 4194560 130 0 0 0 21 34 0 0 20 0 5 0"), Some(21));
        assert_eq!(user_ticks("7 (short) S 1"), None);
    }

    #[test]
    fn a_sleep_is_a_voluntary_switch() {
        // Of this thread alone: those of other tests come and go.
        let thread = Path::new("/proc/thread-self");
        let before = voluntary_switches_of(thread).expect("this thread has a status file");
        std::thread::sleep(Duration::from_millis(2));
        assert!(voluntary_switches_of(thread).expect("this thread has a status file") > before);
        assert!(voluntary_switches(std::process::id()).expect("this process has threads") > 0);
    }
}
