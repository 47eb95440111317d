//! Compares redlet with redis-server and other servers under the same loads on this machine.
//!
//! The headline is the server's CPU time per request, a figure that stays true when the client is the bottleneck.
//! The rounds are interleaved and the result is a ratio: absolute times differ from machine to machine and from
//! hour to hour. Nothing here links against redlet; every server is a process that is spoken to over TCP.
//! It reads `/proc`, so it runs on Linux only.

mod chart;
mod children;
mod cpu;
mod environment;
mod figures;
mod generator;
mod headline;
mod histogram;
mod load;
mod memory;
mod options;
mod peers;
mod progress;
mod report;
mod server;
mod suite;
mod summary;
mod syscalls;
mod table;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use environment::Environment;
use options::{Options, Parsed};
use peers::Peers;
use suite::Bench;

/// Where the results and the servers' logs go, below the directory the command is started in.
const OUTPUT_DIRECTORY: &str = "target/compare";

/// Where `--save` puts the charts that the README shows.
const SAVED_DIRECTORY: &str = "benches";

fn main() -> ExitCode {
    let options = match options::parse(std::env::args().skip(1)) {
        Ok(Parsed::Run(options)) => options,
        Ok(Parsed::Help) => {
            print!("{}", options::usage());
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("compare: {error} (--help lists the options)");
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
    let peers = Peers::find(options)?;
    let environment = Environment::find(options, peers.versions)?;
    let bench = Bench { options, recipes: &peers.recipes, environment: &environment, directory };
    peers.left_out.iter().for_each(|line| eprintln!("compare: {line}"));

    say(&environment.to_string())?;
    for suite in &options.suites {
        let outcome = (suite.run)(&bench).map_err(|e| format!("{}: {e}", suite.name))?;
        progress::clear();
        let mut told = format!("\n## {}\n\n{}\n", suite.name, outcome.text.trim_end());
        for (name, contents) in outcome.files {
            let path = directory.join(name);
            std::fs::write(&path, contents).map_err(|e| format!("{}: {e}", path.display()))?;
            told.push_str(&format!("\nWritten: {}\n", path.display()));
            if options.save && name.ends_with(".svg") {
                let saved = Path::new(SAVED_DIRECTORY).join(name);
                std::fs::copy(&path, &saved).map_err(|e| format!("{}: {e}", saved.display()))?;
                told.push_str(&format!("Saved: {}\n", saved.display()));
            }
        }
        // After the files: whoever reads this may have gone away meanwhile.
        say(told.trim_end_matches('\n'))?;
    }
    Ok(())
}

/// Prints to standard output, which may be a pipe that nobody reads any more.
fn say(text: &str) -> Result<(), String> {
    let mut output = std::io::stdout();
    writeln!(output, "{text}").and_then(|()| output.flush()).map_err(|e| format!("standard output: {e}"))
}
