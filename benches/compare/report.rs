//! What is printed and written at the end. Computes ratios from the measurements and takes none.

use std::fmt::Write;
use std::fs;
use std::process::Command;
use std::time::Duration;

use crate::generator::CONNECTIONS;
use crate::load::{Latency, Load, Measurement, Sample};
use crate::options::Options;
use crate::server::{REDIS, REDLET};
use crate::summary::Summary;
use crate::table::{Align, Table};

/// The line that belongs above every result: date, processor, kernel, versions, and what was asked for.
pub(crate) fn environment(options: &Options) -> Result<String, String> {
    let processors = fs::read_to_string("/proc/cpuinfo").map_err(|e| format!("/proc/cpuinfo: {e}"))?;
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = std::thread::available_parallelism().map_err(|e| format!("number of cores: {e}"))?;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").map_err(|e| format!("kernel release: {e}"))?;
    let redis = first_line_of("redis-server", "--version")?;
    let threads = options.threads.map_or_else(|| "its default".to_owned(), |threads| threads.to_string());
    let binary = match &options.redlet {
        Some(path) => format!("redlet at {}", path.display()),
        None => format!("redlet {}", env!("CARGO_PKG_VERSION")),
    };
    Ok(format!(
        "{}; {} cores of {}; Linux {}; {redis}; {binary} with --threads {threads}; \
         {CONNECTIONS} connections, keys of 16 bytes, values of 3, rounds: {}{}.",
        first_line_of("date", "+%F")?,
        cores,
        model.map_or("an unnamed processor", |(_, name)| name),
        kernel.trim(),
        options.rounds,
        if options.quick { ", --quick" } else { "" },
    ))
}

fn first_line_of(program: &str, argument: &str) -> Result<String, String> {
    let output = Command::new(program).arg(argument).output().map_err(|e| format!("{program} {argument}: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().map(str::to_owned).ok_or_else(|| format!("{program} {argument} printed nothing"))
}

/// The table of all loads and servers.
pub(crate) fn table(measurements: &[Measurement], servers: &[&str]) -> Table {
    let mut out = Table::new(&[
        ("load", Align::Left),
        ("keys", Align::Right),
        ("server", Align::Left),
        ("CPU us/request", Align::Right),
        ("requests/s", Align::Right),
        ("cores busy", Align::Right),
        ("p50 us", Align::Right),
        ("p99 us", Align::Right),
        ("p99.9 us", Align::Right),
        ("CPU / redis-server", Align::Right),
        ("must", Align::Right),
        ("holds", Align::Left),
    ]);
    for load in loads_of(measurements) {
        let redis = samples(measurements, &load, REDIS);
        for server in servers {
            row(&mut out, &load, server, &samples(measurements, &load, server), &redis);
        }
    }
    out
}

/// Each load once, in the order of its first measurement.
fn loads_of(measurements: &[Measurement]) -> Vec<Load> {
    let mut loads: Vec<Load> = Vec::new();
    for measurement in measurements {
        if !loads.contains(&measurement.load) {
            loads.push(measurement.load);
        }
    }
    loads
}

/// The samples of one load on one server, by round.
fn samples(measurements: &[Measurement], load: &Load, server: &str) -> Vec<Sample> {
    let matching = measurements.iter().filter(|m| m.load == *load && m.server == server);
    matching.map(|m| m.sample).collect()
}

fn row(out: &mut Table, load: &Load, server: &str, ours: &[Sample], redis: &[Sample]) {
    let cpu = Summary::of(ours.iter().map(Sample::cpu_micros_per_request));
    let rate = Summary::of(ours.iter().map(Sample::requests_per_second));
    let busy = Summary::of(ours.iter().map(Sample::cores_busy));
    let (Some(cpu), Some(rate), Some(busy)) = (cpu, rate, busy) else {
        return;
    };
    let ratio = ratio(ours, redis).filter(|_| server != REDIS);
    let must = load.must().filter(|_| server == REDLET);
    let coarse = ours.iter().any(|sample| sample.cpu.source == crate::cpu::Source::Stat);
    out.row([
        load.to_string(),
        load.keys.to_string(),
        server.to_owned(),
        format!("{cpu:.3}{}", if coarse { " in 10 ms ticks" } else { "" }),
        format!("{rate:.0}"),
        format!("{:.2}", busy.median),
        micros(ours, |latency| latency.p50),
        micros(ours, |latency| latency.p99),
        micros(ours, |latency| latency.p999),
        ratio.map_or_else(String::new, |ratio| format!("{ratio:.3}")),
        must.map_or_else(String::new, |must| format!("<= {must:.2}")),
        verdict(ratio.map(|ratio| ratio.median), must).to_owned(),
    ]);
}

/// The median over the rounds of one figure of latency; empty unless every round has it.
fn micros(samples: &[Sample], figure: impl Fn(&Latency) -> Option<Duration>) -> String {
    let figures: Option<Vec<f64>> =
        samples.iter().map(|sample| figure(&sample.latency).map(|wait| wait.as_secs_f64() * 1e6)).collect();
    figures.and_then(Summary::of).map_or_else(String::new, |summary| format!("{:.0}", summary.median))
}

/// The ratio of the medians, between the smallest and the largest ratio within one round.
fn ratio(ours: &[Sample], redis: &[Sample]) -> Option<Summary> {
    let median = |samples: &[Sample]| Summary::of(samples.iter().map(Sample::cpu_micros_per_request));
    let by_round = ours.iter().zip(redis).map(|(a, b)| a.cpu_micros_per_request() / b.cpu_micros_per_request());
    Some(Summary { median: median(ours)?.median / median(redis)?.median, ..Summary::of(by_round)? })
}

/// Whether a figure keeps its bound, where both are there.
pub(crate) fn verdict(actual: Option<f64>, must: Option<f64>) -> &'static str {
    match (actual, must) {
        (Some(actual), Some(must)) if actual <= must => "yes",
        (Some(_), Some(_)) => "NO",
        _ => "",
    }
}

/// Every single measurement, one a line.
pub(crate) fn csv(measurements: &[Measurement]) -> String {
    let mut out = String::from(
        "tool,command,depth,keys,server,round,requests,cpu_ns,cpu_source,elapsed_ns,cpu_us_per_request,requests_per_second\n",
    );
    for Measurement { load, server, round, sample } in measurements {
        writeln!(
            out,
            "{},{},{},{},{},{round},{},{},{},{},{:.4},{:.0}",
            load.tool.name(),
            load.verb.uppercase(),
            load.depth,
            load.keys,
            server.replace([',', '"', '\n'], "_"),
            sample.requests,
            sample.cpu.nanos,
            sample.cpu.source.name(),
            sample.elapsed.as_nanos(),
            sample.cpu_micros_per_request(),
            sample.requests_per_second(),
        )
        .expect("writing to a String cannot fail");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::{CpuUsed, Source};

    fn measurement(server: &str, round: u32, nanos: u64) -> Measurement {
        let load = crate::load::all(100_000, true)[0];
        let cpu = CpuUsed { nanos, source: Source::Schedstat };
        let sample = Sample { cpu, requests: 1000, elapsed: Duration::from_millis(1), latency: Latency::default() };
        Measurement { load, server: server.to_owned(), round, sample }
    }

    #[test]
    fn the_ratio_is_that_of_the_medians() {
        let figures = [(REDLET, 1, 100_000), (REDIS, 1, 500_000), (REDLET, 2, 300_000), (REDIS, 2, 900_000)];
        let measurements: Vec<_> = figures.map(|(server, round, nanos)| measurement(server, round, nanos)).into();
        let table = table(&measurements, &[REDLET, REDIS]).to_string();
        let cells = |line: &str| line.split('|').map(str::trim).collect::<Vec<_>>().join("|");
        let rows: Vec<String> = table.lines().skip(2).map(cells).collect();
        let (name, rate) = ("|generator GET -P 100|100000", "1000000 (1000000–1000000)");
        assert_eq!(
            rows,
            [
                format!("{name}|redlet|0.200 (0.100–0.300)|{rate}|0.20||||0.286 (0.200–0.333)|<= 0.28|NO|"),
                format!("{name}|redis-server|0.700 (0.500–0.900)|{rate}|0.70|||||||"),
            ]
        );
        assert_eq!(csv(&measurements).lines().count(), 5);
    }

    #[test]
    fn a_must_holds_up_to_its_limit() {
        assert_eq!(verdict(Some(0.28), Some(0.28)), "yes");
        assert_eq!(verdict(Some(0.281), Some(0.28)), "NO");
        assert_eq!(verdict(Some(0.1), None), "");
    }
}
