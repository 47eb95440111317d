//! The loads, what each must reach, and one measurement of one load on one server.

use std::fmt;
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::children::Process;
use crate::cpu::{CpuTime, CpuUsed};
use crate::generator::{CONNECTIONS, Pool, Ring, Verb};
use crate::histogram::Histogram;
use crate::server::Server;

/// Requests in one measurement, by pipeline depth and haste. Each is a multiple of its depth.
const PIPELINED_REQUESTS: u32 = 2_000_000;
const PIPELINED_REQUESTS_QUICK: u32 = 300_000;
const UNPIPELINED_REQUESTS: u32 = 300_000;
const UNPIPELINED_REQUESTS_QUICK: u32 = 30_000;

/// The share of a load's requests that warms a server up.
const WARM_UP_SHARE: u32 = 5;

const PIPELINE_DEPTH: u32 = 100;

/// CPU of redlet divided by that of redis-server, at most.
const MUST_PIPELINED_100_THOUSAND_KEYS: f64 = 0.28;
const MUST_PIPELINED_5_MILLION_KEYS: f64 = 0.30;
const MUST_UNPIPELINED: f64 = 0.90;

/// Time a server gets to fall asleep, which settles its CPU counters, before and after a measurement.
const SETTLE: Duration = Duration::from_millis(5);

/// Longest time that redis-benchmark may take to end once its output has ended.
const BENCHMARK_EXIT_MAX: Duration = Duration::from_secs(10);

/// Who sends the requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tool {
    RedisBenchmark,
    Generator,
}

impl Tool {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RedisBenchmark => "redis-benchmark",
            Self::Generator => "generator",
        }
    }
}

/// Something to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Load {
    pub(crate) tool: Tool,
    pub(crate) verb: Verb,
    /// Requests sent on a connection before its replies are read.
    pub(crate) depth: u32,
    pub(crate) keys: u32,
    pub(crate) requests: u32,
}

impl Load {
    /// The same load with fewer requests.
    pub(crate) fn warm_up(&self) -> Self {
        let batches = (self.requests / self.depth / WARM_UP_SHARE).max(1);
        Self { requests: batches * self.depth, ..*self }
    }

    /// What the CPU ratio of redlet to redis-server must not exceed, where that is laid down.
    pub(crate) fn must(&self) -> Option<f64> {
        match (self.depth, self.keys) {
            (1, _) => Some(MUST_UNPIPELINED),
            (PIPELINE_DEPTH, 100_000) => Some(MUST_PIPELINED_100_THOUSAND_KEYS),
            (PIPELINE_DEPTH, 5_000_000) => Some(MUST_PIPELINED_5_MILLION_KEYS),
            _ => None,
        }
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} -P {}", self.tool.name(), self.verb.uppercase(), self.depth)
    }
}

/// Every load over `keys` keys, in the order of the table.
pub(crate) fn all(keys: u32, quick: bool) -> Vec<Load> {
    let depths = match quick {
        false => [(PIPELINE_DEPTH, PIPELINED_REQUESTS), (1, UNPIPELINED_REQUESTS)],
        true => [(PIPELINE_DEPTH, PIPELINED_REQUESTS_QUICK), (1, UNPIPELINED_REQUESTS_QUICK)],
    };
    let mut loads = Vec::new();
    for tool in [Tool::Generator, Tool::RedisBenchmark] {
        for (depth, requests) in depths {
            for verb in [Verb::Get, Verb::Set] {
                loads.push(Load { tool, verb, depth, keys, requests });
            }
        }
    }
    loads
}

/// The generator's requests over one keyspace, shared by all of its loads.
pub(crate) struct Pools {
    get: Pool,
    set: Pool,
}

impl Pools {
    pub(crate) fn encode(keys: u32) -> Self {
        Self { get: Pool::encode(Verb::Get, keys), set: Pool::encode(Verb::Set, keys) }
    }

    fn of(&self, verb: Verb) -> &Pool {
        match verb {
            Verb::Get => &self.get,
            Verb::Set => &self.set,
        }
    }
}

/// How long clients waited for the replies to a batch. A figure that cannot be told is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Latency {
    pub(crate) p50: Option<Duration>,
    pub(crate) p99: Option<Duration>,
    pub(crate) p999: Option<Duration>,
}

impl Latency {
    pub(crate) fn of(histogram: &Histogram) -> Self {
        Self { p50: histogram.quantile(0.5), p99: histogram.quantile(0.99), p999: histogram.quantile(0.999) }
    }
}

/// What one load cost one server, once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) cpu: CpuUsed,
    pub(crate) requests: u32,
    /// From the first request to the last reply, as the client saw it.
    pub(crate) elapsed: Duration,
    pub(crate) latency: Latency,
}

impl Sample {
    pub(crate) fn cpu_micros_per_request(&self) -> f64 {
        Duration::from_nanos(self.cpu.nanos).as_secs_f64() * 1e6 / f64::from(self.requests)
    }

    pub(crate) fn requests_per_second(&self) -> f64 {
        f64::from(self.requests) / self.elapsed.as_secs_f64()
    }

    /// How many cores the server kept busy on average.
    pub(crate) fn cores_busy(&self) -> f64 {
        Duration::from_nanos(self.cpu.nanos).as_secs_f64() / self.elapsed.as_secs_f64()
    }
}

/// A sample and where it belongs.
pub(crate) struct Measurement {
    pub(crate) load: Load,
    pub(crate) server: String,
    pub(crate) round: u32,
    pub(crate) sample: Sample,
}

/// Runs `load` on `server` once.
pub(crate) fn measure(load: &Load, server: &Server, pools: &Pools) -> Result<Sample, String> {
    let measured = match load.tool {
        Tool::Generator => measure_generator(load, server, pools),
        Tool::RedisBenchmark => measure_redis_benchmark(load, server),
    };
    measured.map_err(|e| format!("{load} on {}: {e}", server.name))
}

fn measure_generator(load: &Load, server: &Server, pools: &Pools) -> Result<Sample, String> {
    // Connected before the first look and closed after the second: only requests are measured.
    let mut ring = Ring::connect(server.port)?;
    thread::sleep(SETTLE);
    let before = CpuTime::of(server.process.pid)?;
    let run = ring.run(pools.of(load.verb), load.depth, load.requests)?;
    thread::sleep(SETTLE);
    let cpu = CpuTime::of(server.process.pid)?.since(&before);
    Ok(Sample { cpu, requests: load.requests, elapsed: run.elapsed, latency: Latency::of(&run.latency) })
}

/// Its connecting and closing falls into the measurement: some 50 connections on hundreds of thousands of requests.
fn measure_redis_benchmark(load: &Load, server: &Server) -> Result<Sample, String> {
    let mut command = Command::new("redis-benchmark");
    command.args(["-h", "127.0.0.1", "--csv", "-d", "3", "-t", load.verb.lowercase()]);
    for (flag, number) in
        [("-p", u32::from(server.port)), ("-c", CONNECTIONS), ("-n", load.requests), ("-r", load.keys), ("-P", load.depth)]
    {
        command.args([flag, &number.to_string()]);
    }
    // Its warnings about CONFIG are for its users; failures show in its exit status and output.
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());

    let before = CpuTime::of(server.process.pid)?;
    let mut benchmark = Process::spawn(&mut command)?;
    let mut output = String::new();
    if let Some(stdout) = &mut benchmark.stdout {
        stdout.read_to_string(&mut output).map_err(|e| format!("reading redis-benchmark: {e}"))?;
    }
    let status = benchmark.wait(BENCHMARK_EXIT_MAX)?;
    thread::sleep(SETTLE);
    let cpu = CpuTime::of(server.process.pid)?.since(&before);

    let (rate, latency) = benchmark_result(&output, load.verb)
        .filter(|_| status.success())
        .ok_or_else(|| format!("redis-benchmark ended with {status} and printed {output:?}"))?;
    let elapsed = Duration::from_secs_f64(f64::from(load.requests) / rate);
    Ok(Sample { cpu, requests: load.requests, elapsed, latency })
}

/// Requests per second and latency, from the line that begins with the command's name. Its fields are quoted: name, requests per
/// second, then the average, minimum, p50, p95, p99 and maximum of the latency in milliseconds. There is no p99.9.
fn benchmark_result(csv: &str, verb: Verb) -> Option<(f64, Latency)> {
    let mut rows = csv.lines().map(|line| line.split(',').map(|field| field.trim_matches('"')).collect::<Vec<_>>());
    let fields = rows.find(|fields| fields.first() == Some(&verb.uppercase()))?;
    let rate: f64 = fields.get(1)?.parse().ok()?;
    let millis = |index: usize| {
        let millis: f64 = fields.get(index)?.parse().ok()?;
        Duration::try_from_secs_f64(millis / 1e3).ok()
    };
    (rate > 0.0).then_some((rate, Latency { p50: millis(4), p99: millis(6), p999: None }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_sends_whole_batches() {
        for load in all(100_000, false).iter().chain(&all(100_000, true)) {
            assert_eq!(load.requests % load.depth, 0, "{load}");
            assert_eq!(load.warm_up().requests % load.depth, 0, "{load}");
        }
    }

    #[test]
    fn musts_depend_on_depth_and_keys() {
        let must = |keys, depth| Load { keys, ..all(keys, true)[usize::from(depth == 1) * 2] }.must();
        assert_eq!(must(100_000, 100), Some(0.28));
        assert_eq!(must(5_000_000, 100), Some(0.30));
        assert_eq!(must(70, 100), None);
        assert_eq!(must(70, 1), Some(0.90));
    }

    #[test]
    fn results_are_read_from_the_commands_own_line() {
        let csv = "\"test\",\"rps\",\"avg_latency_ms\"\n\"SET\",\"1234.50\",\"0.7\",\"0.1\",\"0.559\",\"0.8\",\"1.5\",\"2\"\n";
        let millis = |millis: f64| Some(Duration::from_secs_f64(millis / 1e3));
        let latency = Latency { p50: millis(0.559), p99: millis(1.5), p999: None };
        assert_eq!(benchmark_result(csv, Verb::Set), Some((1234.5, latency)));
        assert_eq!(benchmark_result(csv, Verb::Get), None);
        assert_eq!(benchmark_result("\"SET\",\"0.00\"", Verb::Set), None);
        assert_eq!(benchmark_result("\"SET\",\"1.00\"", Verb::Set), Some((1.0, Latency::default())));
    }
}
