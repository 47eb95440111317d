//! The memory that a process has resident. Reads `/proc` and nothing else.

use std::fs;

/// Resident memory of process `pid`, in bytes.
pub(crate) fn resident_bytes(pid: u32) -> Result<u64, String> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"))?;
    parse(&status).ok_or_else(|| format!("{path}: no VmRSS"))
}

/// The line `VmRSS:      5244 kB`, whose unit is always this one and means 1024 bytes.
fn parse(status: &str) -> Option<u64> {
    let figure = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = figure.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_line_is_read() {
        assert_eq!(parse("VmHWM:\t 9000 kB\nVmRSS:\t    5244 kB\nRssAnon:\t 1 kB\n"), Some(5244 * 1024));
        assert_eq!(parse("VmHWM:\t 9000 kB\n"), None);
    }

    #[test]
    fn memory_that_is_touched_is_counted() {
        let before = resident_bytes(std::process::id()).expect("this process has a status file");
        let touched = std::hint::black_box(vec![1u8; 64 << 20]);
        let after = resident_bytes(std::process::id()).expect("this process has a status file");
        // Other tests run beside this one and may give some back meanwhile.
        assert!(after >= before + (48 << 20), "{before} and then {after} bytes, with {} touched", touched.len());
    }
}
