//! The suite `large`: GET and SET of values of 1 MiB, by CPU for each GB of values moved and by system calls.

use super::client::{Ring, fill_by};
use super::figure::{Bound, Figure, Findings};
use super::process::user_time;
use super::traffic::{Kind, Traffic, value};
use super::{COLUMNS, spend, start_both};
use crate::progress;
use crate::server::Server;
use crate::suite::{Bench, Outcome};
use crate::syscalls::trace;

const CONNECTIONS: u32 = 4;
const KEYS: u32 = 64;
const VALUE_BYTES: usize = 1 << 20;

const REQUESTS: u32 = 2000;
const REQUESTS_QUICK: u32 = 200;
const REQUESTS_TRACED: u32 = 200;

/// CPU of redlet divided by that of redis-server.
const MUST: Bound = Bound::RatioAtMost(0.5);

pub(crate) fn run(bench: &Bench<'_>) -> Result<Outcome, String> {
    let mut figures = Vec::new();
    let mut notes = vec![format!(
        "{KEYS} keys, {CONNECTIONS} connections, one request at a time on each; a GB is 1,000,000,000 bytes of values. Copies in \
         the kernel, which both servers need, are part of the CPU time. The time outside the kernel is counted in ticks of 10 ms."
    )];
    let works = [("GET of 1 MiB", Kind::Get { value: VALUE_BYTES }), ("SET of 1 MiB", Kind::Set { value: VALUE_BYTES })];
    for (name, kind) in works {
        let traffic = Traffic::encode(kind, 1, KEYS);
        figures.extend(measure(bench, name, &traffic)?);
        match count_calls(bench, name, &traffic) {
            Ok(figure) => figures.push(figure),
            Err(error) => notes.push(format!("System calls of {name} were not counted: {error}.")),
        }
    }
    Ok(Findings { columns: COLUMNS, figures, notes }.outcome("large", "large.csv"))
}

fn start_filled(bench: &Bench<'_>) -> Result<[Server; 2], String> {
    let servers = start_both(bench)?;
    for server in &servers {
        fill_by(1, server.port, KEYS, &value(VALUE_BYTES), &[]).map_err(|e| format!("filling {}: {e}", server.name))?;
    }
    Ok(servers)
}

/// Three rows: CPU for each GB, the part of it outside the kernel, and GB a second.
fn measure(bench: &Bench<'_>, name: &str, traffic: &Traffic) -> Result<[Figure; 3], String> {
    let servers = start_filled(bench)?;
    let requests = if bench.options.quick { REQUESTS_QUICK } else { REQUESTS };
    #[expect(clippy::cast_precision_loss, reason = "the bytes of a run stay far below 2^52")]
    let gigabytes = f64::from(requests) * VALUE_BYTES as f64 / 1e9;
    let mut cpu = [Vec::new(), Vec::new()];
    let mut user = [Vec::new(), Vec::new()];
    let mut rate = [Vec::new(), Vec::new()];
    for round in 0..=bench.options.rounds {
        progress::show(&format!("large: {name}"), &format!("round {round} of {}", bench.options.rounds));
        for (side, server) in servers.iter().enumerate() {
            let mut ring = Ring::connect(server.port, CONNECTIONS)?;
            let user_before = user_time(server.process.pid)?;
            let spent = spend(server, requests, || ring.run(traffic, requests))?;
            let user_spent = user_time(server.process.pid)?.saturating_sub(user_before);
            // The first round warms up.
            if round > 0 {
                cpu[side].push(spent.cpu.as_secs_f64() * 1e3 / gigabytes);
                user[side].push(user_spent.as_secs_f64() * 1e3 / gigabytes);
                rate[side].push(gigabytes / spent.elapsed.as_secs_f64());
            }
        }
    }
    Ok([
        Figure::new(name, "CPU ms/GB", 1, cpu).bounds(MUST, None),
        Figure::new(format!("{name}, outside the kernel"), "CPU ms/GB", 0, user),
        Figure::new(format!("{name}, throughput"), "GB/s", 2, rate),
    ])
}

fn count_calls(bench: &Bench<'_>, name: &str, traffic: &Traffic) -> Result<Figure, String> {
    progress::show(&format!("large: {name}"), "system calls");
    let mut columns = [Vec::new(), Vec::new()];
    for (server, column) in start_filled(bench)?.into_iter().zip(&mut columns) {
        let mut ring = Ring::connect(server.port, CONNECTIONS)?;
        let calls = trace(server, bench.directory, || ring.run(traffic, REQUESTS_TRACED).map(drop))?;
        #[expect(clippy::cast_precision_loss, reason = "a count of calls stays far below 2^52")]
        column.push(calls.total() as f64 / f64::from(REQUESTS_TRACED));
    }
    Ok(Figure::new(format!("{name}, system calls"), "calls/request", 1, columns))
}
