//! The suite `headline`: GET and SET, pipelined and not, from the generator and from redis-benchmark, on every server in turns.

use std::thread;
use std::time::Duration;

use crate::generator;
use crate::load::{self, Load, Pools};
use crate::memory::resident_bytes;
use crate::progress::{self, Steps};
use crate::report::{self, Measurement};
use crate::server::Server;
use crate::suite::{Bench, Outcome};

/// Time that servers get after filling, to give back what only filling needed.
const REST: Duration = Duration::from_millis(500);

/// What a server needed to hold the keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Memory {
    /// Resident after filling.
    pub(crate) bytes: u64,
    /// Resident after filling less resident before, divided by keys.
    pub(crate) bytes_per_key: f64,
}

/// A server, and its memory where it was filled.
struct Filled {
    server: Server,
    memory: Option<Memory>,
}

pub(crate) fn run(bench: &Bench<'_>) -> Result<Outcome, String> {
    let mut measurements = Vec::new();
    let mut notes = Vec::new();
    for &keys in &bench.options.keys {
        let servers = filled(bench, keys)?;
        let missing: Vec<&str> = bench.recipes.iter().filter(|r| !r.holds(keys)).map(|r| r.name.as_str()).collect();
        if !missing.is_empty() {
            notes.push(format!("Left out with {keys} keys, for the memory they would take: {}.", missing.join(", ")));
        }
        progress::show(&format!("{keys} keys"), "encoding requests");
        let pools = Pools::encode(keys);
        measurements.extend(compare(bench, &format!("{keys} keys"), &load::on_filled(keys), &servers, &pools)?);
    }
    // Servers of their own: these loads begin on an empty keyspace and let it grow.
    let servers = empty(bench)?;
    measurements.extend(compare(bench, "as first compared", &load::originals(), &servers, &Pools::encode(1))?);
    drop(servers);

    let names: Vec<&str> = bench.recipes.iter().map(|recipe| recipe.name.as_str()).collect();
    let mut text = report::table(&measurements, &names).to_string();
    notes.iter().for_each(|note| text.push_str(&format!("\n{note}\n")));
    let files = vec![
        ("results.csv", report::csv(&measurements)),
        ("results.svg", report::chart(&measurements, &names, bench.environment).svg()),
    ];
    Ok(Outcome { text, files })
}

/// Every server that can hold so many keys, with the keys in it.
fn filled(bench: &Bench<'_>, keys: u32) -> Result<Vec<Filled>, String> {
    let mut servers = Vec::new();
    for recipe in bench.recipes.iter().filter(|recipe| recipe.holds(keys)) {
        progress::show(&format!("{keys} keys: filling"), &recipe.name);
        let server = Server::start(recipe, bench.directory)?;
        let before = resident_bytes(server.process.pid)?;
        generator::fill(server.port, keys).map_err(|e| format!("filling {}: {e}", server.name))?;
        servers.push((server, before));
    }
    thread::sleep(REST);
    let measured = |(server, before): (Server, u64)| {
        let bytes = resident_bytes(server.process.pid)?;
        #[expect(clippy::cast_precision_loss, reason = "a server's memory stays far below 2^52 bytes")]
        let bytes_per_key = (bytes as f64 - before as f64) / f64::from(keys);
        Ok(Filled { server, memory: Some(Memory { bytes, bytes_per_key }) })
    };
    servers.into_iter().map(measured).collect()
}

fn empty(bench: &Bench<'_>) -> Result<Vec<Filled>, String> {
    let start = |recipe| Ok(Filled { server: Server::start(recipe, bench.directory)?, memory: None });
    bench.recipes.iter().map(start).collect()
}

/// All rounds of `loads` on `servers`, which take turns within each load and round.
fn compare(bench: &Bench<'_>, stage: &str, loads: &[Load], servers: &[Filled], pools: &Pools) -> Result<Vec<Measurement>, String> {
    let rounds = bench.options.rounds;
    let mut requests = Vec::new();
    for load in loads {
        for Filled { server, .. } in servers {
            progress::show(&format!("{stage}: warm-up: {load}"), &server.name);
            requests.push(load::requests_for(load, server, pools, bench.options.quick)?);
        }
    }
    let mut measurements = Vec::new();
    let mut steps = Steps::new(requests.len() * rounds as usize);
    for round in 1..=rounds {
        let mut requests = requests.iter();
        for load in loads {
            for (Filled { server, memory }, requests) in servers.iter().zip(&mut requests) {
                steps.next(&format!("{stage}: round {round} of {rounds}: {load}"), &server.name);
                let sample = load::measure(load, *requests, server, pools)?;
                measurements.push(Measurement { load: *load, server: server.name.clone(), round, sample, memory: *memory });
            }
        }
    }
    Ok(measurements)
}
