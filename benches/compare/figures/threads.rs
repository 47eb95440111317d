//! The suite `threads`: redlet with two worker threads against one, under loads that cost the client little.
//!
//! The client needs a share of the same cores, so throughput alone says little on a small machine. What the threads cost each other shows
//! as CPU per request, which stays the same where they share nothing.

use super::client::fill;
use super::figure::{Bound, Figure, Findings};
use super::swarm::Swarm;
use super::traffic::{Kind, Traffic, value};
use super::{Spent, spend};
use crate::progress;
use crate::server::{REDLET, Recipe, Server};
use crate::suite::{Bench, Outcome};

const COLUMNS: [&str; 2] = ["2 threads", "1 thread"];
const THREADS: [u32; 2] = [2, 1];

/// More than the caches hold: a look at a key then takes the server longer than sending its name takes the client.
const KEYS: u32 = 1_000_000;

/// Enough that each of two threads has its own, however they are placed.
const CONNECTIONS: u32 = 128;

const MUST: Bound = Bound::RatioAtLeast(1.7);

/// Kind, depth, requests, and whether the client costs so little that throughput is to show the threads.
const LOADS: [(&str, Kind, u32, u32, bool); 3] = [
    ("EXISTS of 100 keys, -P 20", Kind::Exists { keys: 100 }, 20, 60_000, true),
    ("GET, 3 bytes, -P 100", Kind::Get { value: 3 }, 100, 2_000_000, false),
    ("SET, 3 bytes, -P 100", Kind::Set { value: 3 }, 100, 2_000_000, false),
];

const QUICK_SHARE: u32 = 10;

pub(crate) fn run(bench: &Bench<'_>) -> Result<Outcome, String> {
    let redlet = bench.recipes.iter().find(|recipe| recipe.name == REDLET).ok_or("there is no redlet")?;
    let recipes = [redlet.with_threads(THREADS[0])?, redlet.with_threads(THREADS[1])?];
    let servers = recipes.each_ref().map(|recipe| start_filled(bench, recipe));
    let [two, one] = servers;
    let servers = [two?, one?];
    let mut figures = Vec::new();
    for (name, kind, depth, requests, bound) in LOADS {
        let requests = if bench.options.quick { requests / QUICK_SHARE } else { requests };
        let traffic = Traffic::encode(kind, depth, KEYS);
        figures.extend(measure(bench, &servers, name, &traffic, requests, bound)?);
    }
    let cores = std::thread::available_parallelism().map_err(|e| format!("number of cores: {e}"))?;
    let notes = vec![
        format!("{cores} cores, {CONNECTIONS} connections, {KEYS} keys. Requests were encoded beforehand and replies are only counted."),
        "The client's time is in per cent of the server's; throughput can only double where it is small or has a core of its own. \
         With a core for everyone, two threads would be faster by twice the CPU per request with one thread divided by that with two."
            .to_owned(),
    ];
    Ok(Findings { columns: COLUMNS, figures, notes }.outcome("threads", "threads.csv"))
}

fn start_filled(bench: &Bench<'_>, recipe: &Recipe) -> Result<Server, String> {
    let server = Server::start(recipe, bench.directory)?;
    fill(server.port, KEYS, &value(3), &[]).map_err(|e| format!("filling {}: {e}", server.name))?;
    Ok(server)
}

fn measure(
    bench: &Bench<'_>,
    servers: &[Server; 2],
    name: &str,
    traffic: &Traffic,
    requests: u32,
    bound: bool,
) -> Result<Vec<Figure>, String> {
    let mut samples: [Vec<Spent>; 2] = [Vec::new(), Vec::new()];
    for round in 0..=bench.options.rounds {
        progress::show(&format!("threads: {name}"), &format!("round {round} of {}", bench.options.rounds));
        for (server, samples) in servers.iter().zip(&mut samples) {
            let mut swarm = Swarm::connect(server.port, CONNECTIONS)?;
            let spent = spend(server, requests, || swarm.run(traffic, requests))?;
            // The first round warms up.
            if round > 0 {
                samples.push(spent);
            }
        }
    }
    let column = |figure: fn(&Spent) -> f64| samples.each_ref().map(|samples| samples.iter().map(figure).collect::<Vec<_>>());
    let [two, one] = column(Spent::cpu_micros_per_request);
    let possible = two.iter().zip(&one).map(|(two, one)| f64::from(THREADS[0]) * one / two).collect();
    let row = |what: &str, unit, digits, columns| Figure::new(format!("{name}: {what}"), unit, digits, columns);
    let throughput = row("throughput", "requests/s", 0, column(Spent::requests_per_second));
    Ok(vec![
        if bound { throughput.bounds(MUST, None) } else { throughput },
        row("CPU", "us/request", 3, [two, one]),
        row("cores busy with the server", "cores", 2, column(|spent| spent.cpu.as_secs_f64() / spent.elapsed.as_secs_f64())),
        row("client's time", "% of server's", 0, column(|spent| 100.0 * spent.client_cpu.as_secs_f64() / spent.cpu.as_secs_f64())),
        row("speed-up with a core for everyone", "times", 2, [possible, Vec::new()]),
    ])
}
