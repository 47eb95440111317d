//! The loads of the headline, what each must reach, how many requests it takes, and one measurement of one load on one server.

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

/// How long one measurement takes, whatever the server.
const MEASUREMENT: Duration = Duration::from_millis(600);
const MEASUREMENT_QUICK: Duration = Duration::from_millis(80);

/// The share of a measurement's time that warms a server up and tells how many requests a measurement holds.
const WARM_UP_SHARE: u32 = 5;

/// Requests of the first look at a server's speed, at least one batch for each connection.
const FIRST_LOOK_REQUESTS: u32 = 2000;

/// Far more than any server answers in a measurement.
const REQUESTS_MAX: f64 = 1e8;

const PIPELINE_DEPTH: u32 = 100;

/// The first comparison's `-n` and `-r`.
const ORIGINAL_REQUESTS: u32 = 100_000;
const ORIGINAL_KEYS: u32 = 100_000_000;

/// CPU of redlet divided by that of redis-server, at most.
const MUST_PIPELINED_100_THOUSAND_KEYS: f64 = 0.28;
const MUST_PIPELINED_5_MILLION_KEYS: f64 = 0.30;
const MUST_UNPIPELINED: f64 = 0.90;

/// Time a server gets to fall asleep, which settles its CPU counters, before and after a measurement.
const SETTLE: Duration = Duration::from_millis(5);

/// Longest time that redis-benchmark may take to end once its output has ended.
const BENCHMARK_EXIT_MAX: Duration = Duration::from_secs(10);

/// Who sends the requests, and over which keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Tool {
    Generator,
    RedisBenchmark,
    /// redis-benchmark as the first comparison ran it, on a server that begins empty.
    Original,
}

impl Tool {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Generator => "generator",
            Self::RedisBenchmark => "redis-benchmark",
            Self::Original => "original",
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
    /// Keys are drawn from so many.
    pub(crate) keys: u32,
}

impl Load {
    /// What the CPU ratio of redlet to redis-server must not exceed, where that is laid down.
    pub(crate) fn must(&self) -> Option<f64> {
        match (self.tool, self.depth, self.keys) {
            (Tool::Original, ..) => None,
            (_, 1, _) => Some(MUST_UNPIPELINED),
            (_, PIPELINE_DEPTH, 100_000) => Some(MUST_PIPELINED_100_THOUSAND_KEYS),
            (_, PIPELINE_DEPTH, 5_000_000) => Some(MUST_PIPELINED_5_MILLION_KEYS),
            _ => None,
        }
    }

    /// The requests that take `time` at `rate` a second, in whole batches and at least one for each connection.
    fn requests_in(&self, time: Duration, rate: f64) -> u32 {
        let depth = f64::from(self.depth);
        let batches = (rate * time.as_secs_f64()).min(REQUESTS_MAX) / depth;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and REQUESTS_MAX")]
        let batches = batches.round() as u32;
        batches.max(CONNECTIONS) * self.depth
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} -P {}", self.tool.name(), self.verb.uppercase(), self.depth)
    }
}

/// Every load over a keyspace that was filled with `keys` keys, in the order of the table.
pub(crate) fn on_filled(keys: u32) -> Vec<Load> {
    let mut loads = Vec::new();
    for tool in [Tool::Generator, Tool::RedisBenchmark] {
        for depth in [PIPELINE_DEPTH, 1] {
            loads.extend([Verb::Get, Verb::Set].map(|verb| Load { tool, verb, depth, keys }));
        }
    }
    loads
}

/// The first comparison's loads. SET comes first: it is what leaves keys for the GETs.
pub(crate) fn originals() -> Vec<Load> {
    let of_depth = |depth| [Verb::Set, Verb::Get].map(|verb| Load { tool: Tool::Original, verb, depth, keys: ORIGINAL_KEYS });
    [PIPELINE_DEPTH, 1].into_iter().flat_map(of_depth).collect()
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

/// Warms `server` up and tells how many requests of `load` make a measurement on it: a slow server is sent fewer, so that every
/// measurement takes about as long. The original loads have a number of their own, which only `quick` goes below.
pub(crate) fn requests_for(load: &Load, server: &Server, pools: &Pools, quick: bool) -> Result<u32, String> {
    let time = if quick { MEASUREMENT_QUICK } else { MEASUREMENT };
    let rate = measure(load, FIRST_LOOK_REQUESTS.max(CONNECTIONS * load.depth), server, pools)?.requests_per_second();
    let warm_up = load.requests_in(time / WARM_UP_SHARE, rate);
    let rate = measure(load, warm_up, server, pools)?.requests_per_second();
    let requests = load.requests_in(time, rate);
    Ok(match load.tool {
        Tool::Original if quick => requests.min(ORIGINAL_REQUESTS),
        Tool::Original => ORIGINAL_REQUESTS,
        _ => requests,
    })
}

/// Sends `requests` of `load` to `server` once.
pub(crate) fn measure(load: &Load, requests: u32, server: &Server, pools: &Pools) -> Result<Sample, String> {
    let measured = match load.tool {
        Tool::Generator => measure_generator(load, requests, server, pools),
        Tool::RedisBenchmark | Tool::Original => measure_redis_benchmark(load, requests, server),
    };
    measured.map_err(|e| format!("{load} on {}: {e}", server.name))
}

fn measure_generator(load: &Load, requests: u32, server: &Server, pools: &Pools) -> Result<Sample, String> {
    // Connected before the first look and closed after the second: only requests are measured.
    let mut ring = Ring::connect(server.port)?;
    thread::sleep(SETTLE);
    let before = CpuTime::of(server.process.pid)?;
    let run = ring.run(pools.of(load.verb), load.depth, requests)?;
    thread::sleep(SETTLE);
    let cpu = CpuTime::of(server.process.pid)?.since(&before);
    Ok(Sample { cpu, requests, elapsed: run.elapsed, latency: Latency::of(&run.latency) })
}

/// Its connecting and closing falls into the measurement: some 50 connections on tens of thousands of requests and more.
fn measure_redis_benchmark(load: &Load, requests: u32, server: &Server) -> Result<Sample, String> {
    let mut command = Command::new("redis-benchmark");
    command.args(["-h", "127.0.0.1", "--csv", "-d", "3", "-t", load.verb.lowercase()]);
    for (flag, number) in
        [("-p", u32::from(server.port)), ("-c", CONNECTIONS), ("-n", requests), ("-r", load.keys), ("-P", load.depth)]
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
    let elapsed = Duration::from_secs_f64(f64::from(requests) / rate);
    Ok(Sample { cpu, requests, elapsed, latency })
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
    fn measurements_take_whole_batches_and_all_connections() {
        let second = Duration::from_secs(1);
        for load in on_filled(100_000).into_iter().chain(originals()) {
            for rate in [0.0, 777.7, 1_234_567.8, f64::INFINITY] {
                let requests = load.requests_in(second, rate);
                assert_eq!(requests % load.depth, 0, "{load}");
                assert!(requests >= CONNECTIONS * load.depth, "{load}: {requests}");
            }
        }
        assert_eq!(on_filled(1)[0].requests_in(second, 1_234_567.8), 1_234_600);
    }

    #[test]
    fn musts_depend_on_depth_and_keys() {
        let must = |keys, depth| Load { depth, ..on_filled(keys)[0] }.must();
        assert_eq!(must(100_000, 100), Some(0.28));
        assert_eq!(must(5_000_000, 100), Some(0.30));
        assert_eq!(must(70, 100), None);
        assert_eq!(must(70, 1), Some(0.90));
        assert!(originals().iter().all(|load| load.must().is_none()));
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
