//! Plays a transcript to a peer and reports every reply that is not what the transcript says.
//! Knows a peer only through `Peer`, so a socket, a process and a conversation without either are all alike here.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use crate::differences::Differences;
use crate::frame;
use crate::quoting;
use crate::reply::{Protocol, Reply};
use crate::transcript::{Say, Step, Transcript, request};

/// How long a reply may take before it counts as missing.
const REPLY_PATIENCE: Duration = Duration::from_secs(20);

/// How long a connection is listened to at the end, when nothing more should come.
const SILENCE_PATIENCE: Duration = Duration::from_millis(10);

/// Whoever answers requests. Connections are known by name.
pub(crate) trait Peer {
    /// Opens a connection, unless one of this name is open.
    fn open(&mut self, conn: &str);
    /// Hands over bytes on an open connection. Bytes after the peer has closed are lost without complaint.
    fn send(&mut self, conn: &str, bytes: &[u8]);
    /// The next whole reply. A peer that answers at once may ignore the patience.
    fn receive(&mut self, conn: &str, patience: Duration) -> Heard;
    /// Forgets a connection that was closed, so that its name can be opened again.
    fn forget(&mut self, conn: &str);
    /// Lets time pass.
    fn advance(&mut self, by: Duration);
}

/// What listening gave.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Reply(Vec<u8>),
    Closed,
    Silence,
    /// Bytes that no reply begins with.
    Noise(String),
}

/// In which portions the bytes of requests reach the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// One request, then its replies, then the next.
    OneByOne,
    /// All requests between two directives at once, then all their replies.
    Pipelined,
    /// Like one by one, but in portions of a single byte. Behind the first 4,096 bytes portions grow, or long values take all day.
    ByteByByte,
}

/// Plays the whole transcript and returns a report for each reply that differs. Of a file that is listed as a whole nothing
/// is reported, unless nothing differs.
pub(crate) fn play(
    transcript: &Transcript,
    protocol: Protocol,
    delivery: Delivery,
    peer: &mut dyn Peer,
    differences: &Differences,
) -> Vec<String> {
    let mut player = Player {
        transcript,
        protocol,
        delivery,
        peer,
        differences,
        conn: "main".to_owned(),
        spoken: BTreeMap::new(),
        ids: BTreeMap::new(),
        waiting: Vec::new(),
        reports: Vec::new(),
    };
    if let Err(reason) = player.run() {
        let report = format!("{} in {protocol:?}, {delivery:?}: {reason}", transcript.name());
        player.reports.push(report);
    }
    if differences.lists_file(&transcript.name()) {
        return match player.reports.is_empty() {
            true => vec![format!("{}: differences.txt lists this file, but nothing differs any more", transcript.name())],
            false => Vec::new(),
        };
    }
    player.reports
}

/// Makes a connection ready to be spoken to in this protocol. Whether `HELLO` was welcome shows in the replies that follow.
pub(crate) fn greet(peer: &mut dyn Peer, conn: &str, protocol: Protocol) -> Result<(), String> {
    peer.open(conn);
    if protocol == Protocol::Resp3 {
        peer.send(conn, &request(&["HELLO", "3"]));
        match peer.receive(conn, REPLY_PATIENCE) {
            Heard::Reply(_) => {}
            heard => return Err(format!("HELLO 3 on connection {conn}: {heard:?}")),
        }
    }
    Ok(())
}

/// Asks a connection for its id.
pub(crate) fn id(peer: &mut dyn Peer, conn: &str) -> Result<String, String> {
    peer.send(conn, &request(&["CLIENT", "ID"]));
    match peer.receive(conn, REPLY_PATIENCE) {
        Heard::Reply(bytes) => Ok(String::from_utf8_lossy(&bytes).trim_matches([':', '\r', '\n']).to_owned()),
        heard => Err(format!("CLIENT ID on connection {conn}: {heard:?}")),
    }
}

struct Player<'a> {
    transcript: &'a Transcript,
    protocol: Protocol,
    delivery: Delivery,
    peer: &'a mut dyn Peer,
    differences: &'a Differences,
    conn: String,
    /// The protocol each open connection hears.
    spoken: BTreeMap<String, Protocol>,
    /// The id of each connection, if the transcript names any.
    ids: BTreeMap<String, String>,
    /// What was not yet sent, all of it for the current connection.
    waiting: Vec<&'a Say>,
    reports: Vec<String>,
}

impl<'a> Player<'a> {
    fn run(&mut self) -> Result<(), String> {
        let transcript = self.transcript;
        self.enter()?;
        let listed = self.differences.lists_file(&transcript.name());
        for step in &transcript.steps {
            if let Step::Say(say) = step {
                self.waiting.push(say);
                if self.delivery != Delivery::Pipelined {
                    self.flush()?;
                }
                continue;
            }
            self.flush()?;
            if listed && !self.reports.is_empty() {
                // The peer has gone its own way, and what follows would be waited for in vain.
                return Ok(());
            }
            match step {
                Step::Say(_) => {}
                Step::Conn(name) => {
                    self.conn.clone_from(name);
                    self.enter()?;
                }
                Step::Advance(by) => self.peer.advance(*by),
                Step::Switched(protocol) => {
                    self.spoken.insert(self.conn.clone(), *protocol);
                }
                Step::Closed => self.closed()?,
            }
        }
        self.flush()?;
        self.silence();
        Ok(())
    }

    fn enter(&mut self) -> Result<(), String> {
        if !self.spoken.contains_key(&self.conn) {
            greet(self.peer, &self.conn, self.protocol)?;
            if self.transcript.names_ids() {
                self.ids.insert(self.conn.clone(), id(self.peer, &self.conn)?);
            }
            self.spoken.insert(self.conn.clone(), self.protocol);
        }
        Ok(())
    }

    fn closed(&mut self) -> Result<(), String> {
        match self.peer.receive(&self.conn, REPLY_PATIENCE) {
            Heard::Closed => {}
            heard => {
                return Err(format!("connection {} should be closed, but: {heard:?}", self.conn));
            }
        }
        self.peer.forget(&self.conn);
        self.spoken.remove(&self.conn);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), String> {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        self.enter()?;
        let bytes = waiting.iter().map(|say| say.bytes_with(&self.ids)).collect::<Result<Vec<_>, _>>()?.concat();
        if self.delivery == Delivery::ByteByByte {
            bytes.chunks(1).for_each(|byte| self.peer.send(&self.conn, byte));
        } else if !bytes.is_empty() {
            self.peer.send(&self.conn, &bytes);
        }
        waiting.into_iter().try_for_each(|say| self.hear(say))
    }

    fn hear(&mut self, say: &'a Say) -> Result<(), String> {
        let protocol = self.spoken.get(&self.conn).copied().unwrap_or(self.protocol);
        let at = |error: String| format!("line {}: {}\n    {error}", say.line, say.text);
        let ours = say.expected.replies(protocol).map_err(at)?;
        let listed = self.differences.listed(&self.transcript.name(), say, protocol);
        let expected = match listed {
            Some(difference) => difference.replies(protocol).map_err(at)?,
            None => ours.clone(),
        };
        let mut heard = Vec::new();
        for reply in &expected {
            match self.peer.receive(&self.conn, REPLY_PATIENCE) {
                Heard::Reply(bytes) => heard.push(bytes),
                other => {
                    return Err(at(format!("expected {}\n    but: {other:?}", reply.lines().join("\n      "))));
                }
            }
        }
        for bytes in &heard {
            if let Err(reason) = frame::judge(bytes, protocol) {
                self.report(say, protocol, &reason);
            }
        }
        if !all_match(&expected, &heard, protocol) {
            self.report(say, protocol, &comparison(&expected, &heard));
        } else if listed.is_some() && all_match(&ours, &heard, protocol) {
            self.report(say, protocol, "differences.txt lists this, but there is no difference any more");
        }
        Ok(())
    }

    fn report(&mut self, say: &Say, protocol: Protocol, what: &str) {
        let name = self.transcript.name();
        self.reports.push(format!("{name}:{} in {protocol:?}, {:?}: {}\n{what}", say.line, self.delivery, say.text));
    }

    fn silence(&mut self) {
        for conn in self.spoken.keys() {
            match self.peer.receive(conn, SILENCE_PATIENCE) {
                Heard::Silence => {}
                heard => self.reports.push(format!(
                    "{} in {:?}, {:?}: at the end connection {conn} should be open and silent, but: {heard:?}",
                    self.transcript.name(),
                    self.protocol,
                    self.delivery
                )),
            }
        }
    }
}

/// Whether these are the expected replies, one for one.
pub(crate) fn all_match(expected: &[Reply], heard: &[Vec<u8>], protocol: Protocol) -> bool {
    expected.len() == heard.len() && expected.iter().zip(heard).all(|(reply, bytes)| reply.matches(bytes, protocol))
}

fn comparison(expected: &[Reply], heard: &[Vec<u8>]) -> String {
    let mut out = String::new();
    for reply in expected {
        writeln!(out, "    expected {}", reply.lines().join("\n      ")).expect("a String takes everything");
    }
    for bytes in heard {
        let said = match frame::decode(bytes) {
            Ok(Some((_, reply))) => reply.lines().join("\n      "),
            _ => String::from("what cannot be decoded"),
        };
        writeln!(out, "    heard    {said}\n      in bytes {}", quoting::quote(bytes)).expect("a String takes everything");
    }
    out
}
