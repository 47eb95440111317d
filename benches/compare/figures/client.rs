//! The client of the suites: blocking connections that are driven in turn by one thread, and single requests.
//!
//! It reads the replies of one connection, sends it the next batch and goes on to the next; all others have a batch waiting at the
//! server meanwhile. A closed loop, for CPU and throughput. Each batch of replies is compared with the right one.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use super::traffic::{Traffic, command, key};
use crate::histogram::Histogram;

/// Longest silence of a server before the run is given up.
const SILENCE_MAX: Duration = Duration::from_secs(20);

/// SETs of one batch while filling.
const FILL_BATCH: u32 = 1000;

const OK: &[u8] = b"+OK\r\n";

/// One blocking connection.
pub(crate) struct Connection {
    stream: TcpStream,
}

impl Connection {
    pub(crate) fn open(port: u16) -> Result<Self, String> {
        let open = || -> io::Result<TcpStream> {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(SILENCE_MAX))?;
            stream.set_write_timeout(Some(SILENCE_MAX))?;
            Ok(stream)
        };
        let stream = open().map_err(|e| format!("connecting to port {port}: {e}"))?;
        Ok(Self { stream })
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.stream.write_all(bytes).map_err(|e| format!("sending requests: {e}"))
    }

    /// Reads until `replies` is full.
    pub(crate) fn receive(&mut self, replies: &mut [u8]) -> Result<(), String> {
        let mut filled = 0;
        while filled < replies.len() {
            match self.stream.read(&mut replies[filled..]) {
                Ok(0) => return Err(unexpected("the server closed the connection", &replies[..filled])),
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // How a blocking socket reports that its read timeout has passed.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(unexpected(&format!("replies are missing after {SILENCE_MAX:?}"), &replies[..filled]));
                }
                Err(error) => return Err(unexpected(&format!("waiting for replies: {error}"), &replies[..filled])),
            }
        }
        Ok(())
    }

    /// Sends one request and returns its reply, whose first line says how long it is: not an array.
    pub(crate) fn ask(&mut self, words: &[&[u8]]) -> Result<String, String> {
        let mut request = Vec::new();
        command(words, &mut request);
        self.send(&request)?;
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            let mut byte = [0];
            self.receive(&mut byte)?;
            line.extend_from_slice(&byte);
        }
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        if line.starts_with('-') {
            return Err(format!("{}: {line}", String::from_utf8_lossy(words[0])));
        }
        let Some(length) = line.strip_prefix('$') else { return Ok(line) };
        let length: usize = length.parse().map_err(|_| format!("a reply begins with {line}"))?;
        let mut body = vec![0; length + 2];
        self.receive(&mut body)?;
        body.truncate(length);
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    /// The number of keys. Whether expired ones that still take memory are among them is the server's affair.
    pub(crate) fn dbsize(&mut self) -> Result<u32, String> {
        let reply = self.ask(&[b"DBSIZE"])?;
        reply.strip_prefix(':').and_then(|number| number.parse().ok()).ok_or_else(|| format!("DBSIZE answered {reply}"))
    }
}

/// Open connections to one server.
pub(crate) struct Ring {
    connections: Vec<Connection>,
}

impl Ring {
    pub(crate) fn connect(port: u16, connections: u32) -> Result<Self, String> {
        Ok(Self { connections: (0..connections).map(|_| Connection::open(port)).collect::<Result<_, _>>()? })
    }

    /// Every connection, for single requests.
    pub(crate) fn connections(&mut self) -> &mut [Connection] {
        &mut self.connections
    }

    /// Sends `requests` of `traffic`, a batch at a time on each connection, and returns how long all replies took.
    pub(crate) fn run(&mut self, traffic: &Traffic, requests: u32) -> Result<Duration, String> {
        let mut batches = traffic.batches().take((requests / traffic.depth) as usize);
        let mut replies = vec![0; traffic.reply_bytes()];
        let mut receive = |connection: &mut Connection| {
            connection.receive(&mut replies)?;
            if traffic.accepts(&replies) { Ok(()) } else { Err(unexpected("an unexpected reply", &replies)) }
        };
        let started = Instant::now();
        let mut busy = 0;
        for (connection, batch) in self.connections.iter_mut().zip(&mut batches) {
            connection.send(batch)?;
            busy += 1;
        }
        // Each busy connection owes the replies of one batch, until the batches are spent.
        let mut at = 0;
        for batch in batches {
            receive(&mut self.connections[at])?;
            self.connections[at].send(batch)?;
            at = (at + 1) % busy;
        }
        for step in 0..busy {
            receive(&mut self.connections[(at + step) % busy])?;
        }
        Ok(started.elapsed())
    }
}

/// Sets every key of `0..keys` to `value`, with the words of `options` behind, [`FILL_BATCH`] at a time; returns how long each batch
/// took.
pub(crate) fn fill(port: u16, keys: u32, value: &[u8], options: &[&[u8]]) -> Result<Histogram, String> {
    fill_by(FILL_BATCH, port, keys, value, options)
}

/// Like [`fill`], `batch_keys` at a time.
pub(crate) fn fill_by(batch_keys: u32, port: u16, keys: u32, value: &[u8], options: &[&[u8]]) -> Result<Histogram, String> {
    let mut connection = Connection::open(port)?;
    let mut latency = Histogram::new();
    let mut batch = Vec::new();
    let mut replies = Vec::new();
    let mut next = 0;
    while next < keys {
        let end = keys.min(next + batch_keys);
        batch.clear();
        for number in next..end {
            let key = key(number);
            let mut words: Vec<&[u8]> = vec![b"SET", &key, value];
            words.extend_from_slice(options);
            command(&words, &mut batch);
        }
        replies.resize(OK.len() * (end - next) as usize, 0);
        let started = Instant::now();
        connection.send(&batch)?;
        connection.receive(&mut replies)?;
        latency.record(started.elapsed());
        if !replies.chunks_exact(OK.len()).all(|reply| reply == OK) {
            return Err(unexpected("a SET was not answered OK", &replies));
        }
        next = end;
    }
    Ok(latency)
}

fn unexpected(what: &str, received: &[u8]) -> String {
    let shown = &received[..received.len().min(60)];
    format!("{what}; received {} bytes, beginning with \"{}\"", received.len(), shown.escape_ascii())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// A server for one connection that says `reply` to whatever comes first.
    fn server(reply: &'static [u8]) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("a bound address").port();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("the test connects");
            stream.read_exact(&mut [0; b"*1\r\n$4\r\nPING\r\n".len()]).expect("the test sends");
            stream.write_all(reply).expect("the test reads");
        });
        port
    }

    #[test]
    fn replies_of_one_line_and_of_many_bytes_are_read() {
        #[track_caller]
        fn check(reply: &'static [u8], expected: Result<&str, &str>) {
            let answer = Connection::open(server(reply)).and_then(|mut connection| connection.ask(&[b"PING"]));
            assert_eq!(answer.as_deref().map_err(String::as_str), expected);
        }
        check(b"+PONG\r\n", Ok("+PONG"));
        check(b"$7\r\na\r\nb\r\nc\r\n", Ok("a\r\nb\r\nc"));
        check(b"-ERR no\r\n", Err("PING: -ERR no"));
    }

    #[test]
    fn a_server_that_goes_away_is_noticed() {
        let answer = Connection::open(server(b"+PO")).and_then(|mut connection| connection.ask(&[b"PING"]));
        assert!(answer.as_ref().is_err_and(|error| error.contains("closed")), "{answer:?}");
    }
}
