//! What is printed and written at the end. Computes ratios from the measurements and takes none.

use std::fmt::Write;
use std::time::Duration;

use crate::chart::{Chart, Emphasis, Group, Panel};
use crate::environment::Environment;
use crate::generator::{CONNECTIONS, Verb};
use crate::headline::Memory;
use crate::load::{Latency, Load, Sample, Tool};
use crate::server::{REDIS, REDLET};
use crate::summary::Summary;
use crate::table::{Align, Table};

/// A sample and where it belongs.
pub(crate) struct Measurement {
    pub(crate) load: Load,
    pub(crate) server: String,
    pub(crate) round: u32,
    pub(crate) sample: Sample,
    /// The server's, where it was filled for this load.
    pub(crate) memory: Option<Memory>,
}

/// The table of all loads and servers.
pub(crate) fn table(measurements: &[Measurement], servers: &[&str]) -> Table {
    let mut out = Table::new(&[
        ("load", Align::Left),
        ("keys", Align::Right),
        ("server", Align::Left),
        ("CPU us/request", Align::Right),
        ("CPU / redis-server", Align::Right),
        ("must", Align::Right),
        ("holds", Align::Left),
        ("CPU / redlet", Align::Right),
        ("requests/s", Align::Right),
        ("cores busy", Align::Right),
        ("p50 us", Align::Right),
        ("p99 us", Align::Right),
        ("p99.9 us", Align::Right),
        ("memory MB", Align::Right),
        ("bytes/key", Align::Right),
    ]);
    for load in loads_of(measurements) {
        let redis = samples(measurements, &load, REDIS);
        let redlet = samples(measurements, &load, REDLET);
        for server in servers {
            let memory = measurements.iter().find(|m| m.load == load && m.server == *server).and_then(|m| m.memory);
            row(&mut out, &load, server, &samples(measurements, &load, server), [&redis, &redlet], memory);
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

/// One server under one load. Without a sample there is no row.
fn row(out: &mut Table, load: &Load, server: &str, own: &[Sample], others: [&[Sample]; 2], memory: Option<Memory>) {
    let cpu = Summary::of(own.iter().map(Sample::cpu_micros_per_request));
    let rate = Summary::of(own.iter().map(Sample::requests_per_second));
    let busy = Summary::of(own.iter().map(Sample::cores_busy));
    let (Some(cpu), Some(rate), Some(busy)) = (cpu, rate, busy) else {
        return;
    };
    let [redis, redlet] = others.map(|other| ratio(own, other));
    let redis = redis.filter(|_| server != REDIS);
    let redlet = redlet.filter(|_| server != REDLET);
    let must = load.must().filter(|_| server == REDLET);
    let coarse = own.iter().any(|sample| sample.cpu.source == crate::cpu::Source::Stat);
    out.row([
        load.to_string(),
        load.keys.to_string(),
        server.to_owned(),
        format!("{cpu:.3}{}", if coarse { " in 10 ms ticks" } else { "" }),
        redis.map_or_else(String::new, |ratio| format!("{ratio:.3}")),
        must.map_or_else(String::new, |must| format!("<= {must:.2}")),
        verdict(redis.map(|ratio| ratio.median), must).to_owned(),
        redlet.map_or_else(String::new, |ratio| format!("{:.2}", ratio.median)),
        format!("{:.0}", rate.median),
        format!("{:.2}", busy.median),
        micros(own, |latency| latency.p50),
        micros(own, |latency| latency.p99),
        micros(own, |latency| latency.p999),
        memory.map_or_else(String::new, |memory| format!("{:.1}", megabytes(memory.bytes))),
        memory.map_or_else(String::new, |memory| format!("{:.0}", memory.bytes_per_key)),
    ]);
}

#[expect(clippy::cast_precision_loss, reason = "a server's memory stays far below 2^52 bytes")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
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

/// CPU per request of every server, from the generator over the first keyspace: a panel for each pipeline depth.
pub(crate) fn chart(measurements: &[Measurement], servers: &[&str], environment: &Environment) -> Chart {
    let mut loads = loads_of(measurements);
    let keys = loads.first().map(|load| load.keys);
    loads.retain(|load| load.tool == Tool::Generator && load.verb == Verb::Get && Some(load.keys) == keys);
    let panel = |get: &Load| {
        let set = Load { verb: Verb::Set, ..*get };
        let median = |server: &str, load: &Load| {
            Summary::of(samples(measurements, load, server).iter().map(Sample::cpu_micros_per_request)).map(|cpu| cpu.median)
        };
        let group = |server: &&str| {
            let emphasis = if *server == REDLET { Emphasis::Own } else { Emphasis::Other };
            let values = [median(server, get)?, median(server, &set)?];
            Some(Group { name: (*server).to_owned(), emphasis, values })
        };
        let title = match get.depth {
            1 => "one request at a time".to_owned(),
            depth => format!("{depth} requests in a pipeline"),
        };
        Panel { title: format!("{title} (-P {})", get.depth), groups: servers.iter().filter_map(group).collect() }
    };
    Chart {
        title: "Server CPU per request, in microseconds: shorter is better".to_owned(),
        series: ["GET", "SET"],
        panels: loads.iter().map(panel).collect(),
        caption: format!(
            "{CONNECTIONS} connections, {} keys of 16 bytes, values of 3; user and system time of the whole process; medians. {environment}",
            keys.unwrap_or_default()
        ),
    }
}

/// Every single measurement, one a line. Cells are empty where a figure cannot be told.
pub(crate) fn csv(measurements: &[Measurement]) -> String {
    let mut out = String::from(
        "tool,command,depth,keys,server,round,requests,cpu_ns,cpu_source,elapsed_ns,cpu_us_per_request,requests_per_second,\
         p50_ns,p99_ns,p999_ns,memory_bytes,memory_bytes_per_key\n",
    );
    for Measurement { load, server, round, sample, memory } in measurements {
        let nanos = |wait: Option<Duration>| wait.map_or_else(String::new, |wait| wait.as_nanos().to_string());
        writeln!(
            out,
            "{},{},{},{},{},{round},{},{},{},{},{:.4},{:.0},{},{},{},{},{}",
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
            nanos(sample.latency.p50),
            nanos(sample.latency.p99),
            nanos(sample.latency.p999),
            memory.map_or_else(String::new, |memory| memory.bytes.to_string()),
            memory.map_or_else(String::new, |memory| format!("{:.1}", memory.bytes_per_key)),
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
        let load = crate::load::on_filled(100_000)[0];
        let cpu = CpuUsed { nanos, source: Source::Schedstat };
        let sample = Sample { cpu, requests: 1000, elapsed: Duration::from_millis(1), latency: Latency::default() };
        let memory = Some(Memory { bytes: 21_340_000, bytes_per_key: 96.4 });
        Measurement { load, server: server.to_owned(), round, sample, memory }
    }

    #[test]
    fn the_ratio_is_that_of_the_medians() {
        let figures = [(REDLET, 1, 100_000), (REDIS, 1, 500_000), (REDLET, 2, 300_000), (REDIS, 2, 900_000)];
        let measurements: Vec<_> = figures.map(|(server, round, nanos)| measurement(server, round, nanos)).into();
        let table = table(&measurements, &[REDLET, REDIS]).to_string();
        let cells = |line: &str| line.split('|').map(str::trim).collect::<Vec<_>>().join("|");
        let rows: Vec<String> = table.lines().skip(2).map(cells).collect();
        let name = "|generator GET -P 100|100000";
        let redlet = "|redlet|0.200 (0.100–0.300)|0.286 (0.200–0.333)|<= 0.28|NO||1000000|0.20|||";
        let redis = "|redis-server|0.700 (0.500–0.900)||||3.50|1000000|0.70|||";
        assert_eq!(rows, [redlet, redis].map(|cells| format!("{name}{cells}|21.3|96|")));
        assert_eq!(csv(&measurements).lines().count(), 5);
    }

    #[test]
    fn a_must_holds_up_to_its_limit() {
        assert_eq!(verdict(Some(0.28), Some(0.28)), "yes");
        assert_eq!(verdict(Some(0.281), Some(0.28)), "NO");
        assert_eq!(verdict(Some(0.1), None), "");
    }
}
