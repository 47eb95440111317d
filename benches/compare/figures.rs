//! The suites whose result is a table of two columns, redlet and redis-server as a rule, and what they have in common.
//!
//! Each has a module of its own and hands back rows; a row knows what is laid down for it. Both servers are started anew, filled
//! alike and measured in turns.

mod client;
pub(crate) mod connections;
mod expiry;
mod figure;
pub(crate) mod footprint;
mod idle;
pub(crate) mod large;
pub(crate) mod latency;
mod paced;
mod process;
mod start;
mod swarm;
pub(crate) mod threads;
mod traffic;
pub(crate) mod workloads;

use std::thread;
use std::time::Duration;

use crate::cpu::{CpuTime, Source};
use crate::server::{REDIS, REDLET, Server};
use crate::suite::Bench;

/// The columns of every suite that compares the two.
pub(crate) const COLUMNS: [&str; 2] = [REDLET, REDIS];

/// Time a server gets to fall asleep, which settles its CPU counters, before and after a measurement.
const SETTLE: Duration = Duration::from_millis(5);

/// Starts redlet and redis-server.
pub(crate) fn start_both(bench: &Bench<'_>) -> Result<[Server; 2], String> {
    let [redlet, redis] = &bench.recipes[..2] else { return Err("redlet and redis-server come first".to_owned()) };
    Ok([Server::start(redlet, bench.directory)?, Server::start(redis, bench.directory)?])
}

/// Raises this program's limit of open files: a connection is a file. The servers inherit it.
pub(crate) fn allow_many_connections() -> Result<(), String> {
    /// 5,000 connections to each of two servers, and what else there is.
    const NEEDED: u64 = 10_200;
    let limit = rlimit::increase_nofile_limit(u64::MAX).map_err(|e| format!("the limit of open files: {e}"))?;
    if limit < NEEDED {
        return Err(format!("needs {NEEDED} open files, and {limit} are allowed: see ulimit -Hn"));
    }
    Ok(())
}

/// What a load cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent {
    pub(crate) requests: u32,
    /// Of the server.
    pub(crate) cpu: Duration,
    /// Of this program.
    pub(crate) client_cpu: Duration,
    /// From the first request to the last reply.
    pub(crate) elapsed: Duration,
    /// How often the server's threads were woken.
    pub(crate) switches: u64,
}

impl Spent {
    pub(crate) fn cpu_micros_per_request(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / f64::from(self.requests)
    }

    pub(crate) fn requests_per_second(&self) -> f64 {
        f64::from(self.requests) / self.elapsed.as_secs_f64()
    }

    #[expect(clippy::cast_precision_loss, reason = "a count of wakes stays far below 2^52")]
    pub(crate) fn switches_per_request(&self) -> f64 {
        self.switches as f64 / f64::from(self.requests)
    }
}

/// Runs `load`, which sends `requests` requests to `server` and returns how long that took.
pub(crate) fn spend(server: &Server, requests: u32, load: impl FnOnce() -> Result<Duration, String>) -> Result<Spent, String> {
    let pid = server.process.pid;
    thread::sleep(SETTLE);
    let switches = process::voluntary_switches(pid)?;
    let before = CpuTime::of(pid)?;
    let client_before = CpuTime::of(std::process::id())?;
    let elapsed = load().map_err(|e| format!("{}: {e}", server.name))?;
    let client_cpu = CpuTime::of(std::process::id())?.since(&client_before);
    thread::sleep(SETTLE);
    let cpu = CpuTime::of(pid)?.since(&before);
    let switches = process::voluntary_switches(pid)?.saturating_sub(switches);
    if cpu.source == Source::Stat && cpu.nanos == 0 {
        return Err(format!("{}: the load was too short for the kernel's clock ticks", server.name));
    }
    Ok(Spent {
        requests,
        cpu: Duration::from_nanos(cpu.nanos),
        client_cpu: Duration::from_nanos(client_cpu.nanos),
        elapsed,
        switches,
    })
}
