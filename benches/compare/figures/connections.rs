//! The suite `connections`: unpipelined GETs over one connection, 50, 500 and 5,000, by CPU, by system calls and by wakes.

use super::client::{Ring, fill};
use super::figure::{Bound, Figure, Findings};
use super::traffic::{Kind, Traffic, value};
use super::{COLUMNS, Spent, spend, start_both};
use crate::progress;
use crate::server::Server;
use crate::suite::{Bench, Outcome};
use crate::syscalls::{Calls, trace};

const KEYS: u32 = 100_000;

/// Connections, requests of one measurement, and requests under strace.
const STEPS: [(u32, u32, u32); 4] = [(1, 40_000, 4_000), (50, 200_000, 20_000), (500, 200_000, 20_000), (5_000, 200_000, 40_000)];

const QUICK_SHARE: u32 = 10;

/// Where bounds are laid down: at the usual number of connections.
const BOUND_CONNECTIONS: u32 = 50;
const MUST_CPU: Bound = Bound::RatioAtMost(0.90);
const GOAL_CPU: Bound = Bound::RatioAtMost(0.80);
const MUST_CALLS: Bound = Bound::AtMost(2.15);
const GOAL_CALLS: Bound = Bound::AtMost(2.05);

pub(crate) fn run(bench: &Bench<'_>) -> Result<Outcome, String> {
    super::allow_many_connections()?;
    let servers = start_filled(bench)?;
    let traffic = Traffic::encode(Kind::Get { value: 3 }, 1, KEYS);
    let mut figures = Vec::new();
    let mut notes = vec![
        "Wakes are voluntary context switches of all threads, counted by the kernel without tracing. Calls are counted by strace in \
         a run of their own; it slows the server, so its waits are a lower bound."
            .to_owned(),
    ];
    for (connections, requests, traced) in STEPS {
        figures.extend(measure(bench, &servers, &traffic, connections, requests)?);
        match count_calls(bench, &traffic, connections, traced) {
            Ok(rows) => figures.extend(rows),
            Err(error) => notes.push(format!("System calls of {connections} connections were not counted: {error}.")),
        }
    }
    Ok(Findings { columns: COLUMNS, figures, notes }.outcome("connections", "connections.csv"))
}

fn start_filled(bench: &Bench<'_>) -> Result<[Server; 2], String> {
    let servers = start_both(bench)?;
    for server in &servers {
        fill(server.port, KEYS, &value(3), &[]).map_err(|e| format!("filling {}: {e}", server.name))?;
    }
    Ok(servers)
}

/// A row's name: with the number of connections before it, which is how rows are told apart.
fn name(connections: u32, what: &str) -> String {
    format!("{connections} connection{}: {what}", if connections == 1 { "" } else { "s" })
}

/// Three rows: CPU per request, requests a second, wakes per request.
fn measure(
    bench: &Bench<'_>,
    servers: &[Server; 2],
    traffic: &Traffic,
    connections: u32,
    requests: u32,
) -> Result<[Figure; 3], String> {
    let requests = if bench.options.quick { requests / QUICK_SHARE } else { requests };
    let mut rings = Vec::new();
    for server in servers {
        rings.push(Ring::connect(server.port, connections).map_err(|e| format!("{connections} connections: {e}"))?);
    }
    let mut samples: [Vec<Spent>; 2] = [Vec::new(), Vec::new()];
    for round in 0..=bench.options.rounds {
        progress::show(&format!("connections: {connections}"), &format!("round {round} of {}", bench.options.rounds));
        for (side, server) in servers.iter().enumerate() {
            let spent = spend(server, requests, || rings[side].run(traffic, requests))?;
            // The first round warms up.
            if round > 0 {
                samples[side].push(spent);
            }
        }
    }
    let column = |figure: fn(&Spent) -> f64| samples.each_ref().map(|samples| samples.iter().map(figure).collect());
    let cpu = Figure::new(name(connections, "CPU"), "us/request", 3, column(Spent::cpu_micros_per_request));
    Ok([
        if connections == BOUND_CONNECTIONS { cpu.bounds(MUST_CPU, Some(GOAL_CPU)) } else { cpu },
        Figure::new(name(connections, "throughput"), "requests/s", 0, column(Spent::requests_per_second)),
        Figure::new(name(connections, "wakes"), "1/request", 4, column(Spent::switches_per_request)),
    ])
}

/// Three rows, on servers of their own, which strace ends: all calls, those that wait, and futex calls.
fn count_calls(bench: &Bench<'_>, traffic: &Traffic, connections: u32, requests: u32) -> Result<[Figure; 3], String> {
    progress::show(&format!("connections: {connections}"), "system calls");
    let mut counted = Vec::new();
    for server in start_filled(bench)? {
        let mut ring = Ring::connect(server.port, connections)?;
        counted.push(trace(server, bench.directory, || ring.run(traffic, requests).map(drop))?);
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of calls stays far below 2^52")]
    let column = |figure: fn(&Calls) -> u64| {
        let share = |calls: &Calls| vec![figure(calls) as f64 / f64::from(requests)];
        [share(&counted[0]), share(&counted[1])]
    };
    let total = Figure::new(name(connections, "system calls"), "1/request", 3, column(Calls::total));
    Ok([
        if connections == BOUND_CONNECTIONS { total.bounds(MUST_CALLS, Some(GOAL_CALLS)) } else { total },
        Figure::new(name(connections, "of these waits"), "1/request", 3, column(|calls| calls.waits)),
        Figure::new(name(connections, "of these futex"), "1/request", 3, column(|calls| calls.futexes)),
    ])
}
