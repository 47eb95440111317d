//! Part of the suite `footprint`: what a connection costs that has said PING and is silent from then on.

use std::thread;
use std::time::Duration;

use super::client::{Connection, Ring};
use super::figure::{Bound, Figure};
use super::start_both;
use crate::memory::resident_bytes;
use crate::progress;
use crate::server::Server;
use crate::suite::Bench;

const CONNECTIONS: u32 = 5_000;

/// Connections opened and closed before memory is looked at, so that code seen for the first time does not count as theirs.
const WARM_UP: u32 = 20;

/// How long a server gets to take buffers back. redis-server looks at every connection once a second and takes back what was
/// not used for two.
const SETTLED: Duration = Duration::from_secs(4);

const MUST_AT_ONCE: Bound = Bound::AtMost(2.0);
const MUST_SETTLED: Bound = Bound::AtMost(1.5);
const GOAL: Bound = Bound::AtMost(1.1);

/// Two rows: at once and settled.
pub(crate) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>, String> {
    let mut at_once = [Vec::new(), Vec::new()];
    let mut settled = [Vec::new(), Vec::new()];
    for (side, server) in start_both(bench)?.iter().enumerate() {
        progress::show("footprint: idle connections", &server.name);
        let (early, late) = measure_one(server)?;
        at_once[side].push(early);
        settled[side].push(late);
    }
    Ok(vec![
        Figure::new("an idle connection, at once", "KiB", 2, at_once).bounds(MUST_AT_ONCE, Some(GOAL)),
        Figure::new("an idle connection, settled", "KiB", 2, settled).bounds(MUST_SETTLED, Some(GOAL)),
    ])
}

/// KiB for each connection, at once and settled.
fn measure_one(server: &Server) -> Result<(f64, f64), String> {
    let pid = server.process.pid;
    drop(opened(server, WARM_UP)?);
    thread::sleep(Duration::from_millis(100));
    let before = resident_bytes(pid)?;
    let _open = opened(server, CONNECTIONS)?;
    let at_once = resident_bytes(pid)?;
    thread::sleep(SETTLED);
    let settled = resident_bytes(pid)?;
    #[expect(clippy::cast_precision_loss, reason = "the bytes of a process stay far below 2^52")]
    let each = |bytes: u64| bytes.saturating_sub(before) as f64 / 1024.0 / f64::from(CONNECTIONS);
    Ok((each(at_once), each(settled)))
}

/// Connections that have each been answered once.
fn opened(server: &Server, count: u32) -> Result<Ring, String> {
    let mut ring = Ring::connect(server.port, count)?;
    for connection in ring.connections() {
        ping(connection).map_err(|e| format!("{}: {e}", server.name))?;
    }
    Ok(ring)
}

fn ping(connection: &mut Connection) -> Result<(), String> {
    let reply = connection.ask(&[b"PING"])?;
    if reply == "+PONG" { Ok(()) } else { Err(format!("PING was answered {reply}")) }
}
