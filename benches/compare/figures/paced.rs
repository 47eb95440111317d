//! An open loop: requests are due at fixed times, whatever the server does, and latency runs from when a request was due. A server that
//! stops for a while is thus charged for every request that should have come in the meantime.
//!
//! One thread sends and receives and never sleeps, since a sleep ends late. It keeps a core busy by itself.

use std::io::{ErrorKind, Write};
use std::time::{Duration, Instant};

use mio::Events;

use super::swarm::{SILENCE_MAX, Swarm, receive, wait};
use super::traffic::Traffic;
use crate::histogram::Histogram;

const READ_BYTES: usize = 4096;
const EVENTS: usize = 256;

/// Due times of a load at a fixed rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) requests_per_second: u32,
    pub(crate) requests: u32,
}

impl Pace {
    /// When request `number` is due, from the beginning.
    fn due(self, number: u32) -> Duration {
        let nanos = u64::from(number) * 1_000_000_000 / u64::from(self.requests_per_second);
        Duration::from_nanos(nanos)
    }
}

/// What an open loop saw.
pub(crate) struct Run {
    /// From the first due time to the last reply.
    pub(crate) elapsed: Duration,
    /// From when a request was due to its reply.
    pub(crate) latency: Histogram,
    /// From when a request was due until it was sent: what the client adds by itself.
    pub(crate) lateness: Histogram,
}

/// Sends unpipelined requests of `traffic` to the connections in turn, each when it is due.
pub(crate) fn run(swarm: &mut Swarm, traffic: &Traffic, pace: Pace) -> Result<Run, String> {
    let (poll, streams) = swarm.parts();
    let connections = u32::try_from(streams.len()).map_err(|e| e.to_string())?;
    let mut requests = traffic.batches();
    let mut replies = vec![Replies { answered: 0, partial: 0 }; streams.len()];
    let mut run = Run { elapsed: Duration::ZERO, latency: Histogram::new(), lateness: Histogram::new() };
    let mut events = Events::with_capacity(EVENTS);
    let mut scratch = vec![0; READ_BYTES];
    let (mut sent, mut answered) = (0, 0);
    let begun = Instant::now();
    let mut heard = begun;
    while answered < pace.requests {
        while sent < pace.requests && begun.elapsed() >= pace.due(sent) {
            let request = requests.next().ok_or("there are no requests")?;
            send(&mut streams[(sent % connections) as usize], request)?;
            run.lateness.record(begun.elapsed().saturating_sub(pace.due(sent)));
            sent += 1;
        }
        wait(poll, &mut events, Duration::ZERO)?;
        for event in &events {
            let place = event.token().0;
            let first = u32::try_from(place).map_err(|e| e.to_string())?;
            let mut right = true;
            let mut partial = replies[place].partial;
            let received = receive(&mut streams[place], &mut scratch, |bytes| {
                // Where a reply comes in pieces, it is counted only.
                let whole = partial == 0 && bytes.len() % traffic.reply_bytes() == 0;
                partial = (partial + bytes.len()) % traffic.reply_bytes();
                right &= !whole || bytes.chunks(traffic.reply_bytes()).all(|reply| traffic.accepts(reply));
            })?;
            if !right {
                return Err("an unexpected reply".to_owned());
            }
            let now = begun.elapsed();
            for nth in replies[place].take(received, traffic.reply_bytes()) {
                run.latency.record(now.saturating_sub(pace.due(first + nth * connections)));
                answered += 1;
            }
            heard = begun + now;
        }
        if answered < sent && heard.elapsed() > SILENCE_MAX {
            return Err(format!("replies are missing after {SILENCE_MAX:?}"));
        }
    }
    run.elapsed = begun.elapsed();
    Ok(run)
}

/// Replies that one connection has had.
#[derive(Clone, Copy)]
struct Replies {
    answered: u32,
    /// Bytes of the one that has not come in full.
    partial: usize,
}

impl Replies {
    /// Counts `received` bytes in and returns which replies are complete with them.
    fn take(&mut self, received: usize, reply_bytes: usize) -> std::ops::Range<u32> {
        self.partial += received;
        let first = self.answered;
        while self.partial >= reply_bytes {
            self.partial -= reply_bytes;
            self.answered += 1;
        }
        first..self.answered
    }
}

/// A request is small and its connection's buffer large: where it does not fit, the server has stopped reading.
fn send(stream: &mut mio::net::TcpStream, request: &[u8]) -> Result<(), String> {
    loop {
        match stream.write(request) {
            Ok(count) if count == request.len() => return Ok(()),
            Ok(_) => return Err("the server has stopped taking requests".to_owned()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("sending a request: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::swarm::tests::answering;
    use super::super::traffic::Kind;
    use super::*;

    fn run_against(reply: &'static [u8], pace: Pace) -> Result<Run, String> {
        let traffic = Traffic::encode(Kind::Get { value: 3 }, 1, 1000);
        let request_bytes = traffic.batches().next().map_or(0, <[u8]>::len);
        let mut swarm = Swarm::connect(answering(request_bytes, reply), 3)?;
        run(&mut swarm, &traffic, pace)
    }

    #[test]
    fn the_pace_is_kept_and_every_reply_counted() {
        let run = run_against(b"$3\r\nxxx\r\n", Pace { requests_per_second: 2_000, requests: 400 }).expect("the server answers");
        // The last of 400 requests is due after 199.5 ms.
        assert!(run.elapsed >= Duration::from_micros(199_500), "{:?}", run.elapsed);
        let (shortest, longest) = (run.latency.quantile(0.0), run.latency.longest());
        assert!(shortest > Some(Duration::ZERO) && longest <= Some(run.elapsed), "{shortest:?} {longest:?}");
    }

    #[test]
    fn a_wrong_reply_ends_the_run() {
        let error = run_against(b"-ERR no\r\n", Pace { requests_per_second: 2_000, requests: 10 }).map(|run| run.elapsed);
        assert_eq!(error, Err("an unexpected reply".to_owned()));
    }

    #[test]
    fn requests_are_due_evenly() {
        let pace = Pace { requests_per_second: 40_000, requests: 4_000_000_000 };
        assert_eq!(pace.due(0), Duration::ZERO);
        assert_eq!(pace.due(1), Duration::from_micros(25));
        assert_eq!(pace.due(40_000), Duration::from_secs(1));
        assert_eq!(pace.due(4_000_000_000), Duration::from_secs(100_000));
    }

    #[test]
    fn replies_in_pieces_are_counted_when_complete() {
        let mut replies = Replies { answered: 0, partial: 0 };
        assert_eq!(replies.take(4, 9), 0..0);
        assert_eq!(replies.take(5, 9), 0..1);
        assert_eq!(replies.take(20, 9), 1..3);
        assert_eq!(replies.take(7, 9), 3..4);
    }
}
