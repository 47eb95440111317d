//! What the operating system says about this process. Each figure is 0 where it does not say it in `/proc`.

use std::fs;

/// Bytes of memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    /// In physical memory.
    pub resident: u64,
    /// Of it what belongs to no file: the heap and the stacks.
    pub anonymous: u64,
    /// The most that was ever resident.
    pub peak: u64,
    /// Physical memory of the machine.
    pub machine: u64,
}

/// Memory as it is now.
pub fn memory() -> Memory {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let machine = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    Memory {
        resident: kilobytes(&status, "VmRSS:"),
        anonymous: kilobytes(&status, "RssAnon:"),
        peak: kilobytes(&status, "VmHWM:"),
        machine: kilobytes(&machine, "MemTotal:"),
    }
}

/// The number behind `name`, which both files give in KiB, in bytes.
fn kilobytes(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Processor time in hundredths of a second, spent in the program and in the kernel for it.
pub fn cpu_centiseconds() -> (u64, u64) {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field is the program's name in parentheses and may hold spaces; user and system time are the 14th and 15th.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let mut fields = fields.split_whitespace().skip(11).map(|field| field.parse().unwrap_or(0));
    (fields.next().unwrap_or(0), fields.next().unwrap_or(0))
}

/// The operating system: name, release and kind of processor.
pub fn system() -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let name = read("/proc/sys/kernel/ostype");
    let name = if name.is_empty() { std::env::consts::OS.to_owned() } else { name.trim().to_owned() };
    let release = read("/proc/sys/kernel/osrelease");
    [name.as_str(), release.trim(), std::env::consts::ARCH].join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn figures_are_there_and_fit_together() {
        let memory = memory();
        assert!(memory.anonymous > 0 && memory.anonymous <= memory.resident, "{memory:?}");
        assert!(memory.peak > 0 && memory.resident < memory.machine, "{memory:?}");
        assert!(system().starts_with("Linux "), "{}", system());
    }
}
