//! Part of the suite `footprint`: how long a process takes from its start to its first PONG, and its memory then.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::figure::{Bound, Figure};
use crate::children::Process;
use crate::memory::resident_bytes;
use crate::progress;
use crate::server::{Recipe, free_port};
use crate::suite::Bench;

const STARTS: u32 = 20;
const START_MAX: Duration = Duration::from_secs(15);

/// Pause between two attempts to connect: short against any start, long enough to leave the core to the server.
const ATTEMPT_EVERY: Duration = Duration::from_micros(20);

const MUST_TIME: Bound = Bound::AtMost(3.0);
const GOAL_TIME: Bound = Bound::AtMost(2.0);
const MUST_MEMORY: Bound = Bound::AtMost(6.0);

/// Two rows: time and memory.
pub(crate) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>, String> {
    let mut time = [Vec::new(), Vec::new()];
    let mut memory = [Vec::new(), Vec::new()];
    for round in 1..=STARTS {
        progress::show("footprint: start", &format!("{round} of {STARTS}"));
        for (side, recipe) in bench.recipes[..2].iter().enumerate() {
            let (elapsed, bytes) = start(recipe, bench).map_err(|e| format!("{}: {e}", recipe.name))?;
            #[expect(clippy::cast_precision_loss, reason = "the bytes of a process stay far below 2^52")]
            memory[side].push(bytes as f64 / f64::from(1 << 20));
            time[side].push(elapsed.as_secs_f64() * 1e3);
        }
    }
    Ok(vec![
        Figure::new("start to the first PONG", "ms", 2, time).bounds(MUST_TIME, Some(GOAL_TIME)),
        Figure::new("memory at the first PONG", "MiB", 2, memory).bounds(MUST_MEMORY, None),
    ])
}

fn start(recipe: &Recipe, bench: &Bench<'_>) -> Result<(Duration, u64), String> {
    let port = free_port()?;
    let mut command = recipe.command_on(port, bench.directory);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = Instant::now();
    let process = Process::spawn(&mut command)?;
    let mut stream = loop {
        match TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
            Ok(stream) => break stream,
            Err(error) if error.kind() != ErrorKind::ConnectionRefused => return Err(format!("connecting: {error}")),
            Err(_) => {}
        }
        if let Some(status) = process.exited()? {
            return Err(format!("ended with {status}"));
        }
        if started.elapsed() > START_MAX {
            return Err(format!("does not listen after {START_MAX:?}"));
        }
        thread::sleep(ATTEMPT_EVERY);
    };
    let mut reply = [0; 7];
    let mut answered = || {
        stream.set_read_timeout(Some(START_MAX))?;
        stream.write_all(b"*1\r\n$4\r\nPING\r\n")?;
        stream.read_exact(&mut reply)
    };
    answered().map_err(|e| format!("sending PING: {e}"))?;
    let elapsed = started.elapsed();
    if &reply != b"+PONG\r\n" {
        return Err(format!("PING was answered \"{}\"", reply.escape_ascii()));
    }
    Ok((elapsed, resident_bytes(process.pid)?))
}
