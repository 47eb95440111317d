//! Connections that do not wait for each other, driven by one thread with an event loop: whichever has its replies is sent the next
//! batch at once, so that no worker thread of the server runs dry. Replies are counted by their bytes and not looked at.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token};

use super::traffic::Traffic;

/// Longest silence of a server before the run is given up.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(20);

const READ_BYTES: usize = 64 << 10;
const EVENTS: usize = 256;

/// Open connections and the event loop that they belong to.
pub(crate) struct Swarm {
    poll: Poll,
    streams: Vec<mio::net::TcpStream>,
}

/// A connection's part in a run.
#[derive(Clone, Copy)]
struct Share<'a> {
    /// What of its batch is still to be sent.
    unsent: &'a [u8],
    /// Bytes of replies that are still to come.
    owed: usize,
}

impl Swarm {
    pub(crate) fn connect(port: u16, connections: u32) -> Result<Self, String> {
        let connect = || -> io::Result<Self> {
            let poll = Poll::new()?;
            let mut streams = Vec::new();
            for number in 0..connections as usize {
                let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)?;
                let mut stream = mio::net::TcpStream::from_std(stream);
                poll.registry().register(&mut stream, Token(number), Interest::READABLE | Interest::WRITABLE)?;
                streams.push(stream);
            }
            Ok(Self { poll, streams })
        };
        connect().map_err(|e| format!("connecting to port {port}: {e}"))
    }

    /// Sends `requests` of `traffic`, a batch at a time on each connection, and returns how long all replies took.
    pub(crate) fn run(&mut self, traffic: &Traffic, requests: u32) -> Result<Duration, String> {
        let total = requests / traffic.depth;
        let mut batches = traffic.batches().take(total as usize);
        let mut next = || batches.next().map(|batch| Share { unsent: batch, owed: traffic.reply_bytes() });
        let idle = Share { unsent: &[], owed: 0 };
        let mut events = Events::with_capacity(EVENTS);
        let mut scratch = vec![0; READ_BYTES];
        let started = Instant::now();
        let mut shares = Vec::with_capacity(self.streams.len());
        for stream in &mut self.streams {
            let mut share = next().unwrap_or(idle);
            send(stream, &mut share)?;
            shares.push(share);
        }
        let mut answered = 0;
        while answered < total {
            wait(&mut self.poll, &mut events, SILENCE_MAX)?;
            if events.is_empty() {
                return Err(format!("replies to {} batches are missing after {SILENCE_MAX:?}", total - answered));
            }
            for event in &events {
                let (stream, share) = (&mut self.streams[event.token().0], &mut shares[event.token().0]);
                let received = receive(stream, &mut scratch, |_| {})?;
                if received > share.owed {
                    return Err(format!("{received} bytes of replies, where {} were to come", share.owed));
                }
                share.owed -= received;
                if received > 0 && share.owed == 0 {
                    answered += 1;
                    *share = next().unwrap_or(idle);
                }
                send(stream, share)?;
            }
        }
        Ok(started.elapsed())
    }

    /// The event loop and the streams by the number of their token.
    pub(crate) fn parts(&mut self) -> (&mut Poll, &mut [mio::net::TcpStream]) {
        (&mut self.poll, &mut self.streams)
    }
}

/// Waits for events; an interrupted wait brings none and is begun again.
pub(crate) fn wait(poll: &mut Poll, events: &mut Events, limit: Duration) -> Result<(), String> {
    loop {
        match poll.poll(events, Some(limit)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other.map_err(|e| format!("waiting for replies: {e}")),
        }
    }
}

/// Sends what the server takes of a batch.
fn send(stream: &mut mio::net::TcpStream, share: &mut Share<'_>) -> Result<(), String> {
    while !share.unsent.is_empty() {
        match stream.write(share.unsent) {
            Ok(count) => share.unsent = &share.unsent[count..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("sending requests: {error}")),
        }
    }
    Ok(())
}

/// Reads what has come, shows it to `look` piece by piece and returns how much it was.
pub(crate) fn receive(stream: &mut mio::net::TcpStream, scratch: &mut [u8], mut look: impl FnMut(&[u8])) -> Result<usize, String> {
    let mut received = 0;
    loop {
        match stream.read(scratch) {
            Ok(0) => return Err("the server closed a connection".to_owned()),
            Ok(count) => {
                received += count;
                look(&scratch[..count]);
                // A short read has emptied the socket; what comes later is an event of its own.
                if count < scratch.len() {
                    return Ok(received);
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(received),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("waiting for replies: {error}")),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::super::traffic::Kind;
    use super::*;

    /// A server for any number of connections that says `reply` for every `request_bytes` it has read.
    pub(crate) fn answering(request_bytes: usize, reply: &'static [u8]) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("a bound address").port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.expect("a connection");
                thread::spawn(move || {
                    let mut request = vec![0; request_bytes];
                    // It ends with the test's connection.
                    while stream.read_exact(&mut request).and_then(|()| stream.write_all(reply)).is_ok() {}
                });
            }
        });
        port
    }

    fn get(depth: u32) -> Traffic {
        Traffic::encode(Kind::Get { value: 3 }, depth, 1000)
    }

    fn request_bytes() -> usize {
        get(1).batches().next().map_or(0, <[u8]>::len)
    }

    #[test]
    fn all_connections_are_answered() {
        let port = answering(request_bytes(), b"$3\r\nxxx\r\n");
        let mut swarm = Swarm::connect(port, 5).expect("the server accepts");
        // Neither the batches nor the requests are a multiple of the connections; batches as large as sockets take in pieces.
        for (depth, requests) in [(1, 7), (10, 990), (400, 4000), (1, 1)] {
            swarm.run(&get(depth), requests).expect("the server answers");
        }
    }

    #[test]
    fn too_many_bytes_are_noticed() {
        let port = answering(request_bytes(), b"-ERR this is not the value\r\n");
        let mut swarm = Swarm::connect(port, 2).expect("the server accepts");
        let error = swarm.run(&get(1), 10).expect_err("the reply is too long");
        assert!(error.contains("where 9 were to come"), "{error}");
    }
}
