//! Compares redlet with redis-server, and with any server named by `--peer`, under the same loads on this machine.
//!
//! The headline is the server's CPU time per request, a figure that stays true when the client is the bottleneck.
//! The rounds are interleaved and the result is a ratio: absolute times differ from machine to machine and from
//! hour to hour. Nothing here links against redlet; every server is a process that is spoken to over TCP.
//! It reads `/proc`, so it runs on Linux only.

mod children;
mod cpu;
mod generator;
mod load;
mod options;
mod report;
mod server;
mod summary;
mod syscalls;

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use load::{Load, Measurement, Pools};
use options::{Options, Parsed};
use server::{Recipe, Server};

/// Where the results and the servers' logs go, below the directory the command is started in.
const OUTPUT_DIRECTORY: &str = "target/compare";

fn main() -> ExitCode {
    let options = match options::parse(std::env::args().skip(1)) {
        Ok(Parsed::Run(options)) => options,
        Ok(Parsed::Help) => {
            print!("{}", options::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("compare: {error}\n\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\ncompare: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    children::end_all_on_signal()?;
    let directory = Path::new(OUTPUT_DIRECTORY);
    std::fs::create_dir_all(directory).map_err(|e| format!("{OUTPUT_DIRECTORY}: {e}"))?;
    let recipes = server::recipes(options);
    let environment = report::environment(options)?;

    let mut measurements = Vec::new();
    for &keys in &options.keys {
        measurements.extend(compare_at(options, &recipes, keys, directory)?);
    }
    let syscalls = syscalls::measure_all(&recipes, directory)?;
    clear_progress();

    let csv = directory.join("results.csv");
    std::fs::write(&csv, report::csv(&measurements)).map_err(|e| format!("{}: {e}", csv.display()))?;
    let names: Vec<&str> = recipes.iter().map(|recipe| recipe.name.as_str()).collect();
    println!("{environment}\n");
    println!("{}", report::table(&measurements, &names));
    println!("{}", report::syscall_table(&syscalls));
    println!("Every measurement: {}", csv.display());
    Ok(())
}

/// All loads over one keyspace size, on servers that were started and filled for it.
fn compare_at(options: &Options, recipes: &[Recipe], keys: u32, directory: &Path) -> Result<Vec<Measurement>, String> {
    let servers: Vec<Server> = recipes.iter().map(|recipe| Server::start(recipe, directory)).collect::<Result<_, _>>()?;
    for server in &servers {
        progress(&format!("{keys} keys: filling {}", server.name));
        generator::fill(server.port, keys).map_err(|e| format!("filling {}: {e}", server.name))?;
    }

    let loads = load::all(keys, options.quick);
    progress(&format!("{keys} keys: encoding requests"));
    let pools = Pools::encode(keys);
    for load in loads.iter().map(Load::warm_up) {
        for server in &servers {
            progress(&format!("{keys} keys: warm-up: {load}: {}", server.name));
            load::measure(&load, server, &pools)?;
        }
    }

    let mut measurements = Vec::new();
    for round in 1..=options.rounds {
        for load in &loads {
            for server in &servers {
                progress(&format!("{keys} keys: round {round} of {}: {load}: {}", options.rounds, server.name));
                let sample = load::measure(load, server, &pools)?;
                measurements.push(Measurement { load: *load, server: server.name.clone(), round, sample });
            }
        }
    }
    Ok(measurements)
}

/// Shows what is being done: over the previous line on a terminal, as a line of its own elsewhere.
fn progress(what: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K{what}");
        // A progress line that cannot be shown is no reason to give up the measurement.
        drop(std::io::stderr().flush());
    } else {
        eprintln!("{what}");
    }
}

fn clear_progress() {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
}
