//! System calls per unpipelined request, counted by strace where it is installed and allowed to attach.
//!
//! `/proc/PID/io` would need no tool, but it counts `read` and `write` only: a server that uses `recv` and `send`
//! would seem to make none. Tracing slows a server, so a wait finds more connections ready than it would otherwise:
//! the share of waiting calls is a lower bound, that of reads and writes is exact.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::children::Process;
use crate::generator::{CONNECTIONS, Pool, Ring, Verb, fill};
use crate::progress;
use crate::report::verdict;
use crate::server::{REDLET, Server};
use crate::suite::{Bench, Outcome};
use crate::table::{Align, Table};

/// Calls per request that redlet may make.
const MUST_CALLS_PER_REQUEST: f64 = 2.15;

const KEYS: u32 = 1000;
const REQUESTS: u32 = 20_000;
const REQUESTS_QUICK: u32 = 2000;

/// Longest time for strace to attach, and to write its summary once the server is gone.
const STRACE_MAX: Duration = Duration::from_secs(5);
const STRACE_POLL: Duration = Duration::from_millis(10);

/// System calls by what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Calls {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) waits: u64,
    pub(crate) others: u64,
    /// Those of the others with which threads wait for and wake each other.
    pub(crate) futexes: u64,
}

/// The calls of one server under one load, or why they could not be counted.
struct Counted {
    server: String,
    verb: Verb,
    /// Per request: reads, writes, waits, others, and all of them.
    calls: Result<[f64; 5], String>,
}

impl Calls {
    pub(crate) fn total(&self) -> u64 {
        self.reads + self.writes + self.waits + self.others
    }

    #[expect(clippy::cast_precision_loss, reason = "a count of calls stays far below 2^52")]
    fn per(&self, requests: u32) -> [f64; 5] {
        [self.reads, self.writes, self.waits, self.others, self.total()].map(|calls| calls as f64 / f64::from(requests))
    }
}

pub(crate) fn run(bench: &Bench<'_>) -> Result<Outcome, String> {
    if Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_err() {
        let text = "Not counted: strace is not there; on Debian and Ubuntu: apt-get install strace".to_owned();
        return Ok(Outcome { text, files: Vec::new() });
    }
    let requests = if bench.options.quick { REQUESTS_QUICK } else { REQUESTS };
    let mut all = Vec::new();
    for verb in [Verb::Get, Verb::Set] {
        let pool = Pool::encode(verb, KEYS);
        // What the interpreter does between its calls is of no interest here.
        for recipe in bench.recipes.iter().filter(|recipe| !recipe.is_python()) {
            progress::show(&format!("system calls: {}", verb.uppercase()), &recipe.name);
            // A server of its own: it is ended to make strace write its summary.
            let server = Server::start(recipe, bench.directory)?;
            fill(server.port, KEYS).map_err(|e| format!("filling {}: {e}", recipe.name))?;
            // Not being allowed to attach is no failure: the reason then stands below the table.
            let calls = count(server, &pool, requests, bench.directory);
            all.push(Counted { server: recipe.name.clone(), verb, calls });
        }
    }
    let mut text = format!("Per request, {CONNECTIONS} connections, unpipelined, under strace:\n\n{}", table(&all));
    for Counted { server, verb, calls } in &all {
        if let Err(reason) = calls {
            text.push_str(&format!("\n{} on {server} was not counted: {reason}\n", verb.uppercase()));
        }
    }
    Ok(Outcome { text, files: Vec::new() })
}

fn count(server: Server, pool: &Pool, requests: u32, directory: &Path) -> Result<[f64; 5], String> {
    let mut ring = Ring::connect(server.port)?;
    let calls = trace(server, directory, || ring.run(pool, 1, requests).map(drop))?;
    if calls.reads < u64::from(requests / CONNECTIONS) {
        return Err(format!("strace counted {} reads for {requests} requests", calls.reads));
    }
    Ok(calls.per(requests))
}

/// The system calls of `server` during `load`, which ends it.
pub(crate) fn trace(server: Server, directory: &Path, load: impl FnOnce() -> Result<(), String>) -> Result<Calls, String> {
    let summary = directory.join("strace.txt");
    let log = directory.join("strace.log");
    let errors = File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    let pid = server.process.pid;
    let mut command = Command::new("strace");
    command.args(["-c", "-f", "-p", &pid.to_string()]).arg("-o").arg(&summary);
    let strace = Process::spawn(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors))?;
    await_attached(&strace, pid)?;
    load()?;
    drop(server);
    strace.wait(STRACE_MAX)?;
    let text = fs::read_to_string(&summary).map_err(|e| format!("{}: {e}", summary.display()))?;
    Ok(parse(&text))
}

/// Waits until every thread of `pid` is traced.
fn await_attached(strace: &Process, pid: u32) -> Result<(), String> {
    let deadline = Instant::now() + STRACE_MAX;
    while !all_traced(pid)? {
        if let Some(status) = strace.exited()? {
            return Err(format!("strace cannot attach: {status}"));
        }
        if Instant::now() >= deadline {
            return Err(format!("strace did not attach within {STRACE_MAX:?}"));
        }
        thread::sleep(STRACE_POLL);
    }
    Ok(())
}

fn all_traced(pid: u32) -> Result<bool, String> {
    let failed = |e: std::io::Error| format!("/proc/{pid}/task: {e}");
    for task in fs::read_dir(format!("/proc/{pid}/task")).map_err(failed)? {
        let status = fs::read_to_string(task.map_err(failed)?.path().join("status")).map_err(failed)?;
        let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
        if tracer.is_none_or(|tracer| tracer.trim() == "0") {
            return Ok(false);
        }
    }
    Ok(true)
}

fn table(counted: &[Counted]) -> Table {
    let mut out = Table::new(&[
        ("command", Align::Left),
        ("server", Align::Left),
        ("reads", Align::Right),
        ("writes", Align::Right),
        ("waits", Align::Right),
        ("others", Align::Right),
        ("total", Align::Right),
        ("must", Align::Right),
        ("holds", Align::Left),
    ]);
    for Counted { server, verb, calls } in counted {
        let must = Some(MUST_CALLS_PER_REQUEST).filter(|_| server == REDLET);
        let total = calls.as_ref().ok().map(|calls| calls[4]);
        let mut row = vec![verb.uppercase().to_owned(), server.clone()];
        row.extend(match calls {
            Ok(calls) => calls.map(|count| format!("{count:.3}")),
            Err(_) => Default::default(),
        });
        row.push(must.map_or_else(String::new, |must| format!("<= {must:.2}")));
        row.push(verdict(total, must).to_owned());
        out.row(row);
    }
    out
}

/// Sorts the lines of `strace -c`: share, seconds, microseconds per call, calls, errors if any, name.
fn parse(summary: &str) -> Calls {
    let mut calls = Calls::default();
    for line in summary.lines() {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let (Some(count), Some(name)) = (fields.get(3).and_then(|field| field.parse::<u64>().ok()), fields.last()) else {
            continue;
        };
        match *name {
            "total" => {}
            "read" | "readv" | "recvfrom" | "recvmsg" => calls.reads += count,
            "write" | "writev" | "sendto" | "sendmsg" => calls.writes += count,
            "epoll_wait" | "epoll_pwait" | "epoll_pwait2" | "poll" | "ppoll" | "select" | "pselect6" => {
                calls.waits += count;
            }
            "futex" => {
                calls.futexes += count;
                calls.others += count;
            }
            _ => calls.others += count,
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_sorted_by_purpose() {
        let summary = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.600000          30     20000           write
 30.00    0.300000          14     20400       400 recvfrom
  9.00    0.090000          90      1000           epoll_wait
  0.90    0.009000          10        30        30 futex
  0.10    0.001000          10         2           mmap
------ ----------- ----------- --------- --------- ----------------
100.00    1.000000          24     41432       430 total
";
        let calls = parse(summary);
        assert_eq!(calls, Calls { reads: 20_400, writes: 20_000, waits: 1000, others: 32, futexes: 30 });
        assert_eq!(calls.per(20_000), [1.02, 1.0, 0.05, 0.0016, 2.0716]);
    }
}
