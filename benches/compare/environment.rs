//! Where and with what a run was made: what belongs above every result.

use std::fmt;
use std::fs;
use std::process::Command;

use crate::options::Options;

/// The machine and the servers of a run.
pub(crate) struct Environment {
    /// Year, month and day.
    pub(crate) date: String,
    /// Processor and kernel.
    pub(crate) machine: String,
    /// One for each kind of server.
    pub(crate) versions: Vec<String>,
    /// What was asked for and is not the default.
    asked: String,
}

impl Environment {
    pub(crate) fn find(options: &Options, versions: Vec<String>) -> Result<Self, String> {
        let processors = fs::read_to_string("/proc/cpuinfo").map_err(|e| format!("/proc/cpuinfo: {e}"))?;
        let model = processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let model = model.map_or("an unnamed processor", |(_, name)| name);
        let cores = std::thread::available_parallelism().map_err(|e| format!("number of cores: {e}"))?;
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").map_err(|e| format!("kernel release: {e}"))?;
        // redlet and redis-server come first; the others take part in some suites only.
        let with_others = options.suites.iter().any(|suite| suite.every_server);
        let versions = versions.into_iter().take(if with_others { usize::MAX } else { 2 }).collect();
        Ok(Self {
            date: today()?,
            machine: format!("{cores} cores of {model}; Linux {}", kernel.trim()),
            versions,
            asked: format!("rounds: {}{}", options.rounds, if options.quick { ", --quick" } else { "" }),
        })
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}; {}; {}.", self.date, self.machine, self.versions.join("; "), self.asked)
    }
}

fn today() -> Result<String, String> {
    let output = Command::new("date").arg("+%F").output().map_err(|e| format!("date: {e}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
