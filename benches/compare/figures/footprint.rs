//! The suite `footprint`: memory for each key, for a deadline and for an idle connection; pauses while the keyspace grows and while
//! it expires; and what a start takes.

use std::thread;
use std::time::Duration;

use super::client::{Connection, fill};
use super::figure::{Bound, Figure, Findings};
use super::traffic::{EXPIRE_SECONDS, value};
use super::{COLUMNS, expiry, idle, start};
use crate::histogram::Histogram;
use crate::memory::resident_bytes;
use crate::progress;
use crate::server::Server;
use crate::suite::{Bench, Outcome};

const KEYS: u32 = 5_000_000;
/// Enough for a p99.9 of batches. Bytes a key depend on how full the tables are, so no bound is applied to them.
const KEYS_QUICK: u32 = 1_000_000;

/// Time for a server to finish growing in the background before its memory is looked at.
const GROWN: Duration = Duration::from_secs(2);

const MUST_VALUE_3: Bound = Bound::AtMost(52.0);
const GOAL_VALUE_3: Bound = Bound::AtMost(40.0);
const MUST_VALUE_64: Bound = Bound::AtMost(116.0);
const GOAL_VALUE_64: Bound = Bound::AtMost(104.0);
const MUST_DEADLINE: Bound = Bound::AtMost(16.0);
const GOAL_DEADLINE: Bound = Bound::AtMost(8.0);
const MUST_GROWTH: Bound = Bound::RatioAtMost(0.5);
const GOAL_GROWTH: Bound = Bound::RatioAtMost(0.25);

/// One figure of each column, once a round.
type Columns = [Vec<f64>; 2];

pub(crate) fn run(bench: &Bench<'_>) -> Result<Outcome, String> {
    super::allow_many_connections()?;
    let keys = if bench.options.quick { KEYS_QUICK } else { KEYS };
    let mut figures = memory_and_growth(bench, keys)?;
    figures.extend(idle::measure(bench)?);
    figures.extend(start::measure(bench)?);
    figures.extend(expiry::measure(bench)?);
    let notes = vec![
        format!("Bytes a key: resident memory after {keys} SETs of keys of 16 bytes less that before them, divided by their number."),
        "Memory is what `/proc/PID/smaps_rollup` calls Rss. The kernel's memory for a connection's socket, which both servers need, \
         is not in it."
            .to_owned(),
    ];
    Ok(Findings { columns: COLUMNS, figures, notes }.outcome("footprint", "footprint.csv"))
}

/// What one filling of a new server tells.
struct Filled {
    bytes_a_key: f64,
    /// How long each batch of SETs took.
    batches: Histogram,
}

fn fill_one(server: &Server, keys: u32, value_bytes: usize, options: &[&[u8]]) -> Result<Filled, String> {
    let pid = server.process.pid;
    let before = resident_bytes(pid)?;
    let batches = fill(server.port, keys, &value(value_bytes), options).map_err(|e| format!("filling {}: {e}", server.name))?;
    let counted = Connection::open(server.port)?.dbsize()?;
    if counted != keys {
        return Err(format!("{} holds {counted} keys, not {keys}", server.name));
    }
    thread::sleep(GROWN);
    let grown = resident_bytes(pid)?.saturating_sub(before);
    #[expect(clippy::cast_precision_loss, reason = "the bytes of a process stay far below 2^52")]
    let bytes_a_key = grown as f64 / f64::from(keys);
    Ok(Filled { bytes_a_key, batches })
}

/// Rows of bytes a key, and of how long batches of SETs take while the keyspace grows from nothing.
fn memory_and_growth(bench: &Bench<'_>, keys: u32) -> Result<Vec<Figure>, String> {
    let rounds = bench.options.rounds;
    let mut memory = Columns::default();
    let mut growth: [Columns; 4] = Default::default();
    for round in 1..=rounds {
        progress::show(&format!("footprint: growing to {keys} keys"), &format!("round {round} of {rounds}"));
        for side in 0..2 {
            let filled = fill_new(bench, side, keys, 3, &[])?;
            memory[side].push(filled.bytes_a_key);
            let quantile = |quantile| filled.batches.quantile(quantile);
            let waits = [quantile(0.5), quantile(0.99), quantile(0.999), filled.batches.longest()];
            for (columns, wait) in growth.iter_mut().zip(waits) {
                columns[side].extend(wait.map(|wait| wait.as_secs_f64() * 1e3));
            }
        }
    }
    // The memory of the others does not vary enough for rounds.
    let once = |value_bytes, options: &[&[u8]]| -> Result<Columns, String> {
        progress::show(&format!("footprint: growing to {keys} keys"), &format!("values of {value_bytes}"));
        let mut columns = Columns::default();
        for (side, column) in columns.iter_mut().enumerate() {
            column.push(fill_new(bench, side, keys, value_bytes, options)?.bytes_a_key);
        }
        Ok(columns)
    };
    let memory_64 = once(64, &[])?;
    let deadline_3 = minus(once(3, &[b"EX", EXPIRE_SECONDS])?, &memory);
    let deadline_64 = minus(once(64, &[b"EX", EXPIRE_SECONDS])?, &memory_64);

    let laid_down = |figure: Figure, must, goal| if bench.options.quick { figure } else { figure.bounds(must, Some(goal)) };
    let bytes = |name, columns| Figure::new(name, "bytes/key", 1, columns);
    let mut figures = vec![
        laid_down(bytes("memory, values of 3", memory), MUST_VALUE_3, GOAL_VALUE_3),
        laid_down(bytes("memory, values of 64", memory_64), MUST_VALUE_64, GOAL_VALUE_64),
        laid_down(bytes("a deadline, values of 3: more memory", deadline_3), MUST_DEADLINE, GOAL_DEADLINE),
        laid_down(bytes("a deadline, values of 64: more memory", deadline_64), MUST_DEADLINE, GOAL_DEADLINE),
    ];
    for (name, columns) in ["p50", "p99", "p99.9", "longest"].into_iter().zip(growth) {
        let figure = Figure::new(format!("1000 SETs while growing, {name}"), "ms", 3, columns);
        figures.push(if name == "p99.9" { laid_down(figure, MUST_GROWTH, GOAL_GROWTH) } else { figure });
    }
    Ok(figures)
}

/// Fills a new server of its own: the other's memory must not stand in its way.
fn fill_new(bench: &Bench<'_>, side: usize, keys: u32, value_bytes: usize, options: &[&[u8]]) -> Result<Filled, String> {
    let server = Server::start(&bench.recipes[side], bench.directory)?;
    fill_one(&server, keys, value_bytes, options)
}

/// What `more` is above the median of `less`.
fn minus(more: Columns, less: &Columns) -> Columns {
    let mut columns = more;
    for (column, less) in columns.iter_mut().zip(less) {
        let Some(less) = crate::summary::Summary::of(less.iter().copied()) else { continue };
        column.iter_mut().for_each(|figure| *figure -= less.median);
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_against_the_median() {
        let difference = minus([vec![10.0, 12.0], vec![7.0]], &[vec![1.0, 9.0, 4.0], vec![]]);
        assert_eq!(difference, [vec![6.0, 8.0], vec![7.0]]);
    }
}
