//! Part of the suite `footprint`: a million keys with one and the same deadline, and what another client notices when it comes.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::client::{Connection, fill};
use super::figure::{Bound, Figure};
use super::traffic::{command, value};
use crate::memory::resident_bytes;
use crate::progress;
use crate::server::{Recipe, Server};
use crate::suite::Bench;

const KEYS: u32 = 1_000_000;
const KEYS_QUICK: u32 = 200_000;

/// From the beginning of the filling to the deadline. Where a slow machine has not filled the keyspace by then, it gets longer.
const AHEAD: [Duration; 3] = [Duration::from_secs(5), Duration::from_secs(15), Duration::from_secs(45)];

/// The other client begins so long before the deadline.
const BEFORE: Duration = Duration::from_secs(1);

/// Longest time after the deadline until every key is gone.
const RECLAIMED_MAX: Duration = Duration::from_secs(60);

/// The other client's pace: a request each.
const PACE: Duration = Duration::from_micros(200);

/// At most so many requests are sent at once after a pause.
const LATE_MAX: u32 = 1000;

/// How often the same client asks how many keys have been reclaimed. DBSIZE would not tell: redlet leaves out what has expired, whether
/// or not it still takes memory.
const COUNT_EVERY: Duration = Duration::from_millis(10);

/// The last part of a wait is spent looking at the clock: a sleep ends some ten microseconds late.
const AWAKE: Duration = Duration::from_micros(100);

const MUST_PAUSE: Bound = Bound::AtMost(5.0);
const GOAL_PAUSE: Bound = Bound::AtMost(1.0);

/// A key without a deadline.
const LASTING: &[u8] = b"lasting";
const LASTING_REPLY: &[u8] = b"$3\r\nxxx\r\n";

/// What the other client saw of one server.
struct Seen {
    /// Longest time from when a request was due to its reply, before the deadline: what the machine alone may do.
    longest_before: Duration,
    /// The same from the deadline until every key was gone.
    longest_while: Duration,
    /// From the deadline until every key was gone.
    reclaimed: Duration,
    memory_before: u64,
    memory_after: u64,
}

/// Rows of pauses, of the time until all is reclaimed, and of memory.
pub(crate) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>, String> {
    let mut seen: [Vec<Seen>; 2] = [Vec::new(), Vec::new()];
    for round in 1..=bench.options.rounds {
        progress::show("footprint: deadlines in bulk", &format!("round {round} of {}", bench.options.rounds));
        for (recipe, seen) in bench.recipes.iter().zip(&mut seen) {
            seen.push(watch_new(bench, recipe).map_err(|e| format!("{}: {e}", recipe.name))?);
        }
    }
    let column = |figure: fn(&Seen) -> f64| seen.each_ref().map(|seen| seen.iter().map(figure).collect());
    let keys = if bench.options.quick { KEYS_QUICK } else { KEYS };
    let row = |what: &str, unit, digits, figure| Figure::new(format!("{keys} deadlines: {what}"), unit, digits, column(figure));
    Ok(vec![
        row("longest pause a second before", "ms", 2, |seen| seen.longest_before.as_secs_f64() * 1e3),
        row("longest pause while keys expire", "ms", 2, |seen| seen.longest_while.as_secs_f64() * 1e3)
            .bounds(MUST_PAUSE, Some(GOAL_PAUSE)),
        row("until all are reclaimed", "ms", 0, |seen| seen.reclaimed.as_secs_f64() * 1e3),
        row("memory before", "MiB", 1, |seen| mebibytes(seen.memory_before)),
        row("memory two seconds after", "MiB", 1, |seen| mebibytes(seen.memory_after)),
    ])
}

#[expect(clippy::cast_precision_loss, reason = "the bytes of a process stay far below 2^52")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn watch_new(bench: &Bench<'_>, recipe: &Recipe) -> Result<Seen, String> {
    let keys = if bench.options.quick { KEYS_QUICK } else { KEYS };
    for ahead in AHEAD {
        let server = Server::start(recipe, bench.directory)?;
        if let Some(seen) = watch(&server, keys, ahead)? {
            return Ok(seen);
        }
    }
    Err(format!("{keys} keys were not there a second before their deadline"))
}

/// Nothing when the keys were there too late.
fn watch(server: &Server, keys: u32, ahead: Duration) -> Result<Option<Seen>, String> {
    let deadline = Instant::now() + ahead;
    let at = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|e| e.to_string())? + ahead;
    let mut connection = Connection::open(server.port)?;
    connection.ask(&[b"SET", LASTING, &value(3)])?;
    fill(server.port, keys, &value(3), &[b"PXAT", at.as_millis().to_string().as_bytes()])?;
    if Instant::now() + BEFORE > deadline {
        return Ok(None);
    }
    let counted = connection.dbsize()?;
    if counted != keys + 1 {
        return Err(format!("{counted} keys are there, not {}", keys + 1));
    }
    let memory_before = resident_bytes(server.process.pid)?;
    thread::sleep((deadline - BEFORE).saturating_duration_since(Instant::now()));

    let mut seen = Seen {
        longest_before: Duration::ZERO,
        longest_while: Duration::ZERO,
        reclaimed: Duration::ZERO,
        memory_before,
        memory_after: 0,
    };
    let mut request = Vec::new();
    command(&[b"GET", LASTING], &mut request);
    let mut counted_at = Instant::now();
    let begun = Instant::now();
    let mut number = 1;
    loop {
        let due = begun + PACE * number;
        wait_until(due);
        let count = due_since(due.elapsed());
        ask_all(&mut connection, &request, count)?;
        number += count;
        let now = Instant::now();
        // What was due before the deadline and answered after it belongs to what came with the deadline.
        let longest = if now < deadline { &mut seen.longest_before } else { &mut seen.longest_while };
        *longest = (now - due).max(*longest);
        if now < counted_at + COUNT_EVERY {
            continue;
        }
        counted_at = now;
        if expired_keys(&connection.ask(&[b"INFO", b"stats"])?)? >= keys {
            seen.reclaimed = now.saturating_duration_since(deadline);
            break;
        }
        if now > deadline + RECLAIMED_MAX {
            return Err(format!("keys are left {RECLAIMED_MAX:?} after their deadline"));
        }
    }
    thread::sleep(Duration::from_secs(2));
    seen.memory_after = resident_bytes(server.process.pid)?;
    Ok(Some(seen))
}

/// How many requests are due when the first of them has been for `late`.
fn due_since(late: Duration) -> u32 {
    let more = u32::try_from(late.as_nanos() / PACE.as_nanos()).unwrap_or(LATE_MAX);
    (more + 1).min(LATE_MAX)
}

/// Sends a GET of the lasting key `count` times at once, as a client would have done one by one that does not wait, and reads all replies.
fn ask_all(connection: &mut Connection, request: &[u8], count: u32) -> Result<(), String> {
    let count = count as usize;
    connection.send(&request.repeat(count))?;
    let mut replies = vec![0; LASTING_REPLY.len() * count];
    connection.receive(&mut replies)?;
    if replies.chunks(LASTING_REPLY.len()).all(|reply| reply == LASTING_REPLY) {
        Ok(())
    } else {
        Err(format!("GET was answered \"{}\"", replies[..replies.len().min(60)].escape_ascii()))
    }
}

/// How many expired keys have been removed, as INFO tells it.
fn expired_keys(info: &str) -> Result<u32, String> {
    let line = info.lines().find_map(|line| line.strip_prefix("expired_keys:"));
    line.and_then(|number| number.trim().parse().ok()).ok_or_else(|| "INFO does not tell expired_keys".to_owned())
}

/// Sleeps until shortly before `due`, then looks at the clock until it comes. Returns at once when it has passed.
fn wait_until(due: Instant) {
    let left = due.saturating_duration_since(Instant::now());
    if left > AWAKE {
        thread::sleep(left - AWAKE);
    }
    while Instant::now() < due {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fell_into_a_pause_is_due_at_once() {
        for (micros, count) in [(0, 1), (199, 1), (200, 2), (25_000, 126), (10_000_000, 1000)] {
            assert_eq!(due_since(Duration::from_micros(micros)), count, "{micros} us");
        }
    }

    #[test]
    fn expired_keys_are_read_from_info() {
        let info = "# Stats\r\nexpired_keys:12\r\nexpired_stale_perc:3.00\r\n";
        assert_eq!(expired_keys(info), Ok(12));
        assert!(expired_keys("# Stats\r\n").is_err());
    }
}
