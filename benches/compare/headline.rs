//! The suite `headline`: GET and SET, pipelined and not, from the generator and from redis-benchmark, on every server in turns.

use crate::generator;
use crate::load::{self, Load, Measurement, Pools};
use crate::progress;
use crate::report;
use crate::server::Server;
use crate::suite::{Bench, Outcome};

pub(crate) fn run(bench: &Bench<'_>) -> Result<Outcome, String> {
    let mut measurements = Vec::new();
    for &keys in &bench.options.keys {
        measurements.extend(compare_at(bench, keys)?);
    }
    let names: Vec<&str> = bench.recipes.iter().map(|recipe| recipe.name.as_str()).collect();
    let text = report::table(&measurements, &names).to_string();
    Ok(Outcome { text, files: vec![("results.csv", report::csv(&measurements))] })
}

/// All loads over one keyspace size, on servers that were started and filled for it.
fn compare_at(bench: &Bench<'_>, keys: u32) -> Result<Vec<Measurement>, String> {
    let servers: Vec<Server> =
        bench.recipes.iter().map(|recipe| Server::start(recipe, bench.directory)).collect::<Result<_, _>>()?;
    for server in &servers {
        progress::show(&format!("{keys} keys: filling"), &server.name);
        generator::fill(server.port, keys).map_err(|e| format!("filling {}: {e}", server.name))?;
    }

    let loads = load::all(keys, bench.options.quick);
    progress::show(&format!("{keys} keys"), "encoding requests");
    let pools = Pools::encode(keys);
    for load in loads.iter().map(Load::warm_up) {
        for server in &servers {
            progress::show(&format!("{keys} keys: warm-up: {load}"), &server.name);
            load::measure(&load, server, &pools)?;
        }
    }

    let rounds = bench.options.rounds;
    let mut measurements = Vec::new();
    for round in 1..=rounds {
        for load in &loads {
            for server in &servers {
                progress::show(&format!("{keys} keys: round {round} of {rounds}: {load}"), &server.name);
                let sample = load::measure(load, server, &pools)?;
                measurements.push(Measurement { load: *load, server: server.name.clone(), round, sample });
            }
        }
    }
    Ok(measurements)
}
