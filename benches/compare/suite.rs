//! The suites: what can be measured, by name. A suite is added with one line in `SUITES` and a module of its own.
//!
//! Holds no measurement: it says what a suite is given and what it hands back.

use std::path::Path;

use crate::environment::Environment;
use crate::options::Options;
use crate::server::Recipe;
use crate::{figures, headline, syscalls};

/// What every suite is given.
pub(crate) struct Bench<'a> {
    pub(crate) options: &'a Options,
    /// How to start each server, in the order in which they take turns; redlet and redis-server come first.
    pub(crate) recipes: &'a [Recipe],
    pub(crate) environment: &'a Environment,
    /// Where logs go, and every file that a suite needs while it runs.
    pub(crate) directory: &'a Path,
}

/// What a suite found out.
pub(crate) struct Outcome {
    /// Markdown to be printed, a heading not included.
    pub(crate) text: String,
    /// Files for the directory of results: name and contents.
    pub(crate) files: Vec<(&'static str, String)>,
}

/// Something to measure, which starts and ends its own servers. One is told from another by its name.
#[derive(Debug)]
pub(crate) struct Suite {
    /// As `--suite` takes it.
    pub(crate) name: &'static str,
    /// One line for `--help`.
    pub(crate) about: &'static str,
    /// Whether it measures every server and keyspace that is asked for. The others compare redlet with redis-server.
    pub(crate) every_server: bool,
    pub(crate) run: fn(&Bench<'_>) -> Result<Outcome, String>,
}

impl PartialEq for Suite {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Every suite, in the order of `--help`.
pub(crate) const SUITES: &[Suite] = &[
    Suite {
        name: "headline",
        about: "GET and SET, pipelined and not, against every server there is: CPU, throughput, latency, memory",
        every_server: true,
        run: headline::run,
    },
    Suite { name: "syscalls", about: "system calls per unpipelined request; needs strace", every_server: true, run: syscalls::run },
    Suite {
        name: "workloads",
        about: "other depths, values and commands, and GET and SET with features on: CPU per request; 3 minutes",
        every_server: false,
        run: figures::workloads::run,
    },
    Suite {
        name: "large",
        about: "GET and SET of 1 MiB: CPU for each GB, system calls; 1 minute",
        every_server: false,
        run: figures::large::run,
    },
    Suite {
        name: "connections",
        about: "unpipelined GET over 1, 50, 500 and 5,000 connections: CPU, wakes, system calls; 3 minutes",
        every_server: false,
        run: figures::connections::run,
    },
    Suite {
        name: "threads",
        about: "redlet with two worker threads against one; 1 minute",
        every_server: false,
        run: figures::threads::run,
    },
    Suite {
        name: "latency",
        about: "at a fixed rate, half of the slower server's capacity; 1 minute",
        every_server: false,
        run: figures::latency::run,
    },
    Suite {
        name: "footprint",
        about: "memory for keys, deadlines and connections, pauses of growth and expiry, start; 6 minutes",
        every_server: false,
        run: figures::footprint::run,
    },
];

/// What runs when no suite is named.
pub(crate) const DEFAULT: &[&str] = &["headline", "syscalls"];

/// The suite of that name.
pub(crate) fn find(name: &str) -> Option<&'static Suite> {
    SUITES.iter().find(|suite| suite.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_the_default_exists() {
        for (place, suite) in SUITES.iter().enumerate() {
            assert!(SUITES[..place].iter().all(|other| other.name != suite.name), "{}", suite.name);
        }
        assert!(DEFAULT.iter().all(|name| find(name).is_some()));
        assert!(find("no such suite").is_none());
    }
}
