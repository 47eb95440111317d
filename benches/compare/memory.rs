//! The memory that a process has resident. Reads `/proc` and nothing else.

use std::fs;

/// Resident memory of process `pid`, in bytes: its own pages and those it shares with others, such as code. Memory that the kernel
/// holds for it, such as socket buffers, is not in it. `VmRSS` in `/proc/PID/status` would be cheaper, but is an estimate.
pub(crate) fn resident_bytes(pid: u32) -> Result<u64, String> {
    let path = format!("/proc/{pid}/smaps_rollup");
    let text = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    parse(&text).ok_or_else(|| format!("{path}: no line Rss"))
}

/// The line `Rss:      5244 kB`, whose unit is always this one and means 1024 bytes.
fn parse(text: &str) -> Option<u64> {
    let figure = text.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    let kilobytes: u64 = figure.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_line_is_read() {
        assert_eq!(parse("00400000-7fff [rollup]\nRss:    5244 kB\nPss:  1 kB\nPss_Anon:  1 kB\n"), Some(5244 * 1024));
        assert_eq!(parse("Pss:  9000 kB\n"), None);
    }

    #[test]
    fn memory_that_is_touched_is_counted() {
        let before = resident_bytes(std::process::id()).expect("this process has a smaps_rollup file");
        let touched = std::hint::black_box(vec![1u8; 64 << 20]);
        let after = resident_bytes(std::process::id()).expect("this process has a smaps_rollup file");
        // Other tests run beside this one and may give some back meanwhile.
        assert!(after >= before + (48 << 20), "{before} and then {after} bytes, with {} touched", touched.len());
    }
}
