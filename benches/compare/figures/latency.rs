//! The suite `latency`: unpipelined GETs at half the rate that the slower server can take, each stamped with the time it was due.

use std::time::Duration;

use super::client::{Ring, fill};
use super::figure::{Figure, Findings};
use super::paced::{self, Pace};
use super::swarm::Swarm;
use super::traffic::{Kind, Traffic, value};
use super::{COLUMNS, spend, start_both};
use crate::histogram::Histogram;
use crate::progress;
use crate::server::Server;
use crate::suite::{Bench, Outcome};

const CONNECTIONS: u32 = 50;
const KEYS: u32 = 100_000;

/// Requests by which the capacity is measured, as often as there are rounds.
const CAPACITY_REQUESTS: u32 = 100_000;
const CAPACITY_REQUESTS_QUICK: u32 = 20_000;

/// Length of one measurement.
const SECONDS: u32 = 4;
const SECONDS_QUICK: u32 = 1;

/// The share of the slower server's capacity.
const SHARE: f64 = 0.5;

pub(crate) fn run(bench: &Bench<'_>) -> Result<Outcome, String> {
    let servers = start_both(bench)?;
    for server in &servers {
        fill(server.port, KEYS, &value(3), &[]).map_err(|e| format!("filling {}: {e}", server.name))?;
    }
    let traffic = Traffic::encode(Kind::Get { value: 3 }, 1, KEYS);
    let capacity = capacity(bench, &servers, &traffic)?;
    let slower = capacity.iter().filter_map(|rates| crate::summary::Summary::of(rates.iter().copied())).map(|rate| rate.median);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "half a rate of requests is below 2^32 and positive"
    )]
    let rate = (slower.fold(f64::INFINITY, f64::min) * SHARE).min(f64::from(u32::MAX)).max(1.0) as u32;
    let seconds = if bench.options.quick { SECONDS_QUICK } else { SECONDS };
    let pace = Pace { requests_per_second: rate, requests: rate * seconds };

    let mut figures = vec![Figure::new("capacity, unpipelined, closed loop", "requests/s", 0, capacity)];
    figures.extend(measure(bench, &servers, &traffic, pace)?);
    let notes = vec![
        format!(
            "{rate} requests a second, half of the slower server's capacity, for {seconds} s in each round; {CONNECTIONS} connections. \
             Latency runs from when a request was due, whether or not it could be sent then."
        ),
        "The client never sleeps and keeps a core to itself. Lateness is how much later than due it sent, for whatever reason; \
         it is part of the latency, so figures of its size say nothing about the server."
            .to_owned(),
    ];
    Ok(Findings { columns: COLUMNS, figures, notes }.outcome("latency", "latency.csv"))
}

/// Requests a second that each server answers to a client that waits for each reply, once a round.
fn capacity(bench: &Bench<'_>, servers: &[Server; 2], traffic: &Traffic) -> Result<[Vec<f64>; 2], String> {
    let requests = if bench.options.quick { CAPACITY_REQUESTS_QUICK } else { CAPACITY_REQUESTS };
    let mut columns = [Vec::new(), Vec::new()];
    for round in 0..=bench.options.rounds {
        progress::show("latency: capacity", &format!("round {round} of {}", bench.options.rounds));
        for (server, column) in servers.iter().zip(&mut columns) {
            let mut ring = Ring::connect(server.port, CONNECTIONS)?;
            let spent = spend(server, requests, || ring.run(traffic, requests))?;
            // The first round warms up.
            if round > 0 {
                column.push(spent.requests_per_second());
            }
        }
    }
    Ok(columns)
}

/// Rows of latency, of the client's lateness and of CPU, at the given pace.
fn measure(bench: &Bench<'_>, servers: &[Server; 2], traffic: &Traffic, pace: Pace) -> Result<Vec<Figure>, String> {
    let mut latency: [[Vec<f64>; 2]; 4] = Default::default();
    let mut lateness = [Vec::new(), Vec::new()];
    let mut cpu = [Vec::new(), Vec::new()];
    for round in 1..=bench.options.rounds {
        progress::show("latency: fixed rate", &format!("round {round} of {}", bench.options.rounds));
        for (side, server) in servers.iter().enumerate() {
            let mut swarm = Swarm::connect(server.port, CONNECTIONS)?;
            let mut seen = None;
            let spent = spend(server, pace.requests, || {
                let run = paced::run(&mut swarm, traffic, pace)?;
                let elapsed = run.elapsed;
                seen = Some(run);
                Ok(elapsed)
            })?;
            let Some(seen) = seen else { continue };
            for (columns, wait) in latency.iter_mut().zip(percentiles(&seen.latency)) {
                columns[side].extend(wait.map(micros));
            }
            lateness[side].extend(seen.lateness.quantile(0.999).map(micros));
            cpu[side].push(spent.cpu_micros_per_request());
        }
    }
    let mut figures: Vec<Figure> = ["p50", "p99", "p99.9", "longest"]
        .into_iter()
        .zip(latency)
        .map(|(name, columns)| Figure::new(format!("latency, {name}"), "us", 0, columns))
        .collect();
    figures.push(Figure::new("client's lateness, p99.9", "us", 0, lateness));
    figures.push(Figure::new("CPU at that rate", "us/request", 3, cpu));
    Ok(figures)
}

fn percentiles(histogram: &Histogram) -> [Option<Duration>; 4] {
    [histogram.quantile(0.5), histogram.quantile(0.99), histogram.quantile(0.999), histogram.longest()]
}

fn micros(wait: Duration) -> f64 {
    wait.as_secs_f64() * 1e6
}
