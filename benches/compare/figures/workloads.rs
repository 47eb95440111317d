//! The suite `workloads`: CPU per request of other commands, depths and sizes of values than the headline's, and of GET and SET
//! while the server keeps books: SLOWLOG, maxclients, deadlines and INFO.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::client::{Connection, Ring, fill};
use super::figure::{Bound, Figure, Findings};
use super::traffic::{COUNTER_START, EXPIRE_SECONDS, Kind, Traffic, value};
use super::{COLUMNS, Spent, spend, start_both};
use crate::progress;
use crate::server::Server;
use crate::suite::{Bench, Outcome};

const CONNECTIONS: u32 = 50;
const KEYS: u32 = 100_000;

/// A tenth of the requests are sent with `--quick`, and to warm up.
const QUICK_SHARE: u32 = 10;

/// How often INFO is asked for.
const INFO_EVERY: Duration = Duration::from_millis(100);

/// CPU of redlet divided by that of redis-server, at `-P 100` with values of 3 bytes.
const MUST_PIPELINED: Bound = Bound::RatioAtMost(0.28);
const GOAL_PIPELINED: Bound = Bound::RatioAtMost(0.20);

const UNIT: &str = "CPU us/request";

/// One kind of request, so many at a time.
struct Work {
    name: &'static str,
    kind: Kind,
    depth: u32,
    /// A multiple of ten times the depth.
    requests: u32,
}

const fn work(name: &'static str, kind: Kind, depth: u32, requests: u32) -> Work {
    Work { name, kind, depth, requests }
}

/// Works over one filling of the keyspace.
struct Group {
    value: fn() -> Vec<u8>,
    works: &'static [Work],
}

const GROUPS: [Group; 4] = [
    Group {
        value: || value(3),
        works: &[
            work("GET, 3 bytes, -P 16", Kind::Get { value: 3 }, 16, 480_000),
            work("SET, 3 bytes, -P 16", Kind::Set { value: 3 }, 16, 480_000),
            work("MGET of 10 keys, -P 16", Kind::Mget { keys: 10 }, 16, 80_000),
            work("MSET of 10 keys, -P 16", Kind::Mset { keys: 10 }, 16, 80_000),
            work("MGET of 100 keys, -P 16", Kind::Mget { keys: 100 }, 16, 8_000),
            work("MSET of 100 keys, -P 16", Kind::Mset { keys: 100 }, 16, 8_000),
            work("MULTI, SET, GET, EXEC, -P 16", Kind::Transaction { pairs: 1 }, 16, 80_000),
            work("transactions of 10 commands, -P 1", Kind::Transaction { pairs: 5 }, 1, 40_000),
            work("PUBLISH to nobody, -P 100", Kind::Publish, 100, 1_000_000),
            work("3 GETs to 1 SET, 3 bytes, -P 100", Kind::Mix, 100, 1_000_000),
        ],
    },
    Group {
        value: || value(64),
        works: &[
            work("GET, 64 bytes, -P 100", Kind::Get { value: 64 }, 100, 1_000_000),
            work("SET, 64 bytes, -P 100", Kind::Set { value: 64 }, 100, 1_000_000),
        ],
    },
    Group {
        value: || value(1024),
        works: &[
            work("GET, 1 KiB, -P 100", Kind::Get { value: 1024 }, 100, 400_000),
            work("SET, 1 KiB, -P 100", Kind::Set { value: 1024 }, 100, 400_000),
        ],
    },
    Group { value: || COUNTER_START.to_vec(), works: &[work("INCR, -P 100", Kind::Incr, 100, 1_000_000)] },
];

const PLAIN: [Work; 2] = [
    work("GET, 3 bytes, -P 100, plain", Kind::Get { value: 3 }, 100, 1_000_000),
    work("SET, 3 bytes, -P 100, plain", Kind::Set { value: 3 }, 100, 1_000_000),
];
const KEEPING_BOOKS: [Work; 2] = [
    work("GET, 3 bytes, -P 100, features on", Kind::Get { value: 3 }, 100, 1_000_000),
    work("SET EX, 3 bytes, -P 100, features on", Kind::SetExpire { value: 3 }, 100, 1_000_000),
];

/// What is configured where features are on, and where they are off.
const FEATURES_ON: [[&str; 2]; 3] = [["slowlog-log-slower-than", "10000"], ["slowlog-max-len", "128"], ["maxclients", "1000"]];
const FEATURES_OFF: [[&str; 2]; 1] = [["slowlog-log-slower-than", "-1"]];

pub(crate) fn run(bench: &Bench<'_>) -> Result<Outcome, String> {
    let mut figures = Vec::new();
    for group in &GROUPS {
        figures.extend(measure_group(bench, group)?);
    }
    figures.extend(measure_features(bench)?);
    let notes = vec![
        format!("{KEYS} keys, {CONNECTIONS} connections; a request of several keys and a transaction count as one."),
        format!(
            "Features on: SLOWLOG with its default of 10 ms, maxclients 1000, a deadline on every key, and INFO asked for every \
             {} ms by another connection; its cost is in the figure. SET EX is a longer request than SET.",
            INFO_EVERY.as_millis()
        ),
    ];
    Ok(Findings { columns: COLUMNS, figures, notes }.outcome("workloads", "workloads.csv"))
}

fn measure_group(bench: &Bench<'_>, group: &Group) -> Result<Vec<Figure>, String> {
    let servers = start_both(bench)?;
    for server in &servers {
        fill(server.port, KEYS, &(group.value)(), &[]).map_err(|e| format!("filling {}: {e}", server.name))?;
    }
    group.works.iter().map(|work| measure_work(bench, work, &servers)).collect()
}

/// One row: the rounds of one work, both servers in turns.
fn measure_work(bench: &Bench<'_>, work: &Work, servers: &[Server; 2]) -> Result<Figure, String> {
    let traffic = Traffic::encode(work.kind, work.depth, KEYS);
    let mut columns = [Vec::new(), Vec::new()];
    for round in 0..=bench.options.rounds {
        progress::show(&format!("workloads: {}", work.name), &format!("round {round} of {}", bench.options.rounds));
        for (server, column) in servers.iter().zip(&mut columns) {
            let warm_up = round == 0;
            let spent = measure_once(work, &traffic, server, warm_up || bench.options.quick)?;
            if !warm_up {
                column.push(spent.cpu_micros_per_request());
            }
        }
    }
    Ok(Figure::new(work.name, UNIT, 3, columns))
}

fn measure_once(work: &Work, traffic: &Traffic, server: &Server, short: bool) -> Result<Spent, String> {
    let requests = if short { work.requests / QUICK_SHARE } else { work.requests };
    let mut ring = Ring::connect(server.port, CONNECTIONS)?;
    spend(server, requests, || ring.run(traffic, requests)).map_err(|e| format!("{}: {e}", work.name))
}

/// GET and SET on a plain server and on one that keeps books, and what the books cost.
fn measure_features(bench: &Bench<'_>) -> Result<Vec<Figure>, String> {
    let plain = start_both(bench)?;
    let busy = start_both(bench)?;
    for (servers, settings, options) in
        [(&plain, &FEATURES_OFF[..], &[][..]), (&busy, &FEATURES_ON[..], &[b"EX", EXPIRE_SECONDS][..])]
    {
        for server in servers {
            let mut connection = Connection::open(server.port)?;
            for [name, setting] in settings {
                connection.ask(&[b"CONFIG", b"SET", name.as_bytes(), setting.as_bytes()])?;
            }
            fill(server.port, KEYS, &value(3), options).map_err(|e| format!("filling {}: {e}", server.name))?;
        }
    }
    let mut figures = Vec::new();
    for (off, on) in PLAIN.iter().zip(&KEEPING_BOOKS) {
        figures.extend(measure_pair(bench, off, on, &plain, &busy)?);
    }
    Ok(figures)
}

/// Three rows: features off, features on, and the second divided by the first, round by round.
fn measure_pair(bench: &Bench<'_>, off: &Work, on: &Work, plain: &[Server; 2], busy: &[Server; 2]) -> Result<Vec<Figure>, String> {
    let traffic = [off, on].map(|work| Traffic::encode(work.kind, work.depth, KEYS));
    let mut columns = [[Vec::new(), Vec::new()], [Vec::new(), Vec::new()]];
    for round in 0..=bench.options.rounds {
        progress::show(&format!("workloads: {}", on.name), &format!("round {round} of {}", bench.options.rounds));
        let short = round == 0 || bench.options.quick;
        for side in 0..2 {
            let without = measure_once(off, &traffic[0], &plain[side], short)?;
            let with = while_asking_for_info(&busy[side], || measure_once(on, &traffic[1], &busy[side], short))?;
            if round > 0 {
                columns[0][side].push(without.cpu_micros_per_request());
                columns[1][side].push(with.cpu_micros_per_request());
            }
        }
    }
    let [without, with] = columns;
    let cost = [0, 1].map(|side| with[side].iter().zip(&without[side]).map(|(with, without)| with / without).collect());
    Ok(vec![
        Figure::new(off.name, UNIT, 3, without).bounds(MUST_PIPELINED, Some(GOAL_PIPELINED)),
        Figure::new(on.name, UNIT, 3, with),
        Figure::new(format!("{} / plain", on.name), "times", 3, cost),
    ])
}

/// Runs `measure` while another connection asks for INFO at a steady pace.
fn while_asking_for_info(server: &Server, measure: impl FnOnce() -> Result<Spent, String>) -> Result<Spent, String> {
    let mut connection = Connection::open(server.port)?;
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let asking = scope.spawn(|| -> Result<(), String> {
            while !done.load(Ordering::Relaxed) {
                connection.ask(&[b"INFO"])?;
                thread::park_timeout(INFO_EVERY);
            }
            Ok(())
        });
        let spent = measure();
        done.store(true, Ordering::Relaxed);
        asking.thread().unpark();
        asking.join().map_err(|_| "asking for INFO panicked".to_owned())??;
        spent
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_work_sends_whole_batches() {
        let all = GROUPS.iter().flat_map(|group| group.works).chain(&PLAIN).chain(&KEEPING_BOOKS);
        for work in all {
            assert_eq!(work.requests % (work.depth * QUICK_SHARE), 0, "{}", work.name);
        }
    }
}
