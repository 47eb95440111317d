//! Connections without sockets: peers that take little, nothing, or break, and what they cost.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parking_lot::Mutex;
use tokio::io::ReadBuf;

use super::*;
use crate::config::Config;
use crate::workers::{Desk, Seat};
use serving::TURN_BYTES_MAX;

/// What a peer does when it is written to.
#[derive(Clone, Copy)]
enum Taking {
    /// Takes that many bytes each time, of one piece if it is offered several.
    Bytes(usize),
    /// Takes that many bytes each time, of several pieces too.
    Pieces(usize),
    Nothing,
    /// A fault of ours, in the place of any.
    Panics,
}

/// A peer that says all it has to say, and then stays silent.
struct Peer {
    says: VecDeque<u8>,
    /// Bytes that it says at once.
    says_at_once: usize,
    /// It says the same for ever.
    repeats: bool,
    taking: Taking,
    heard: Arc<Mutex<Vec<u8>>>,
    /// What it finds when its connection is closed.
    at_close: Option<Box<dyn FnOnce() + Send>>,
}

impl Drop for Peer {
    fn drop(&mut self) {
        if let Some(look) = self.at_close.take() {
            look();
        }
    }
}

impl AsyncRead for Peer {
    fn poll_read(mut self: Pin<&mut Self>, _: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.says.is_empty() {
            return Poll::Pending;
        }
        let len = self.says.len().min(into.remaining()).min(self.says_at_once);
        let said: Vec<u8> = self.says.drain(..len).collect();
        into.put_slice(&said);
        if self.repeats {
            self.says.extend(said);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Peer {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.taking {
            Taking::Nothing => Poll::Pending,
            Taking::Panics => panic!("a fault made for a test"),
            Taking::Bytes(most) | Taking::Pieces(most) => {
                let len = most.min(bytes.len());
                self.heard.lock().extend_from_slice(&bytes[..len]);
                Poll::Ready(Ok(len))
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        matches!(self.taking, Taking::Pieces(_))
    }

    fn poll_write_vectored(self: Pin<&mut Self>, cx: &mut Context<'_>, pieces: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        assert!(pieces.len() <= WRITE_PIECES_MAX && pieces.iter().all(|piece| !piece.is_empty()));
        let Taking::Pieces(most) = self.taking else { return self.poll_write(cx, &pieces[0]) };
        let mut bytes = Vec::new();
        for piece in pieces {
            bytes.extend_from_slice(&piece[..piece.len().min(most - bytes.len())]);
        }
        self.poll_write(cx, &bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Stream for Peer {
    fn is_ended(&self) -> bool {
        false
    }

    fn move_to(self, _: &Handle) -> io::Result<Self> {
        Ok(self)
    }
}

/// A server without sockets, all of whose connections are served by one thread.
struct Stage {
    shared: Arc<Shared>,
    desk: Arc<Desk>,
}

impl Stage {
    fn new() -> Self {
        let shared = Arc::new(Shared::new(Config::default()).expect("a configuration without parameters"));
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime without any driver");
        Self { desk: Desk::alone(&shared, runtime.handle().clone()), shared }
    }

    fn serve(&self, connection: Connection<Peer>) -> Serving<Peer> {
        Serving::new(connection, Seat::new(&self.desk))
    }

    /// A connection to a peer, and what the peer hears.
    fn connect(&self, says: &[u8], taking: Taking) -> (Connection<Peer>, Arc<Mutex<Vec<u8>>>) {
        let conversation = Conversation::begin(&self.shared, "peer".to_owned(), "here".to_owned(), 0).expect("there is room");
        let listed = Listed { conversation, shared: Arc::clone(&self.shared) };
        let heard = Arc::default();
        let peer = Peer {
            says: says.iter().copied().collect(),
            says_at_once: usize::MAX,
            repeats: false,
            taking,
            heard: Arc::clone(&heard),
            at_close: None,
        };
        (Connection::new(peer, listed), heard)
    }
}

fn poll<F: Future>(serving: Pin<&mut F>) -> Poll<F::Output> {
    serving.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_fault_ends_its_own_connection_only() {
    let stage = Stage::new();
    let (broken, _) = stage.connect(b"PING\r\n", Taking::Panics);
    let mut broken = Box::pin(stage.serve(broken));
    assert!(catch_unwind(AssertUnwindSafe(|| poll(broken.as_mut()))).is_err());
    drop(broken);
    assert_eq!(stage.shared.clients.len(), 0, "the client is forgotten");
    let (next, heard) = stage.connect(b"ECHO a\r\n", Taking::Bytes(usize::MAX));
    assert!(poll(Box::pin(stage.serve(next)).as_mut()).is_pending());
    assert_eq!(&*heard.lock(), b"$1\r\na\r\n", "and its replies are");
}

#[test]
fn a_connection_that_is_let_go_is_forgotten() {
    let stage = Stage::new();
    let (connection, _) = stage.connect(b"", Taking::Nothing);
    let mut serving = Box::pin(stage.serve(connection));
    assert!(poll(serving.as_mut()).is_pending());
    assert_eq!(stage.shared.clients.len(), 1);
    drop(serving);
    assert_eq!(stage.shared.clients.len(), 0);
}

#[test]
fn a_peer_that_never_pauses_lets_others_have_their_turn() {
    let stage = Stage::new();
    let (mut connection, heard) = stage.connect(&b"PING\r\n".repeat(1000), Taking::Bytes(usize::MAX));
    connection.stream.repeats = true;
    let mut serving = Box::pin(stage.serve(connection));
    for _ in 0..3 {
        // Would not come back if it went on for as long as there is something to read.
        assert!(poll(serving.as_mut()).is_pending());
    }
    assert!(heard.lock().len() < 4 * 2 * TURN_BYTES_MAX);
}

#[test]
fn a_peer_that_takes_little_at_a_time_hears_everything() {
    let stage = Stage::new();
    let value = "v".repeat(10_000);
    let (connection, heard) = stage.connect(format!("ECHO {value}\r\nPING\r\n").as_bytes(), Taking::Bytes(7));
    assert!(poll(Box::pin(stage.serve(connection)).as_mut()).is_pending());
    assert_eq!(String::from_utf8_lossy(&heard.lock()), format!("$10000\r\n{value}\r\n+PONG\r\n"));
}

#[test]
fn a_peer_that_takes_a_reply_is_not_idle() {
    let stage = Stage::new();
    let (mut connection, _) = stage.connect(b"", Taking::Bytes(3));
    connection.rest = Some(Box::new(Output::from(b"+OK\r\n".to_vec())));
    let client = Arc::clone(&connection.listed.conversation.session().client);
    client.active.store(0, Ordering::Relaxed);
    assert!(poll(Box::pin(stage.serve(connection)).as_mut()).is_pending());
    assert!(client.active.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_peer_that_takes_nothing_costs_little_more_than_one_reply() {
    const VALUE: usize = 60_000;
    let stage = Stage::new();
    let set = format!("SET k {}\r\n", "v".repeat(VALUE));
    let (connection, _) = stage.connect(set.as_bytes(), Taking::Bytes(usize::MAX));
    assert!(poll(Box::pin(stage.serve(connection)).as_mut()).is_pending());
    let (mut connection, _) = stage.connect(&b"GET k\r\n".repeat(5000), Taking::Nothing);
    let seat = Seat::new(&stage.desk);
    for _ in 0..3 {
        assert!(connection.poll_talk(seat.lent(), &mut Context::from_waker(Waker::noop())).is_pending());
    }
    let held = connection.rest.as_ref().map_or(0, |rest| rest.len());
    assert!((OUTPUT_BYTES_SOFT_MAX..OUTPUT_BYTES_SOFT_MAX + VALUE + 100).contains(&held), "{held} bytes of output");
}

#[test]
fn a_killed_connection_does_not_wait_for_its_peer() {
    let stage = Stage::new();
    let (connection, _) = stage.connect(b"PING\r\n", Taking::Nothing);
    let client = Arc::clone(&connection.listed.conversation.session().client);
    let mut serving = Box::pin(stage.serve(connection));
    assert!(poll(serving.as_mut()).is_pending());
    client.kill();
    assert!(poll(serving.as_mut()).is_ready());
    assert_eq!(stage.shared.clients.len(), 0);
}

#[test]
fn a_subscriber_is_forgotten_by_the_time_its_peer_can_know_that_it_is_closed() {
    let stage = Stage::new();
    let (mut connection, _) = stage.connect(b"SUBSCRIBE a\r\nQUIT\r\n", Taking::Bytes(usize::MAX));
    let (shared, found) = (Arc::clone(&stage.shared), Arc::new(Mutex::new(None)));
    let finds = Arc::clone(&found);
    connection.stream.at_close = Some(Box::new(move || *finds.lock() = Some((shared.pubsub.clients(), shared.clients.len()))));
    assert!(poll(Box::pin(stage.serve(connection)).as_mut()).is_ready());
    assert_eq!(*found.lock(), Some((0, 0)));
}

#[test]
fn who_publishes_all_that_has_gathered_lets_subscribers_have_their_turn() {
    const MESSAGE: usize = 1000;
    let stage = Stage::new();
    let (subscriber, heard) = stage.connect(b"SUBSCRIBE a\r\n", Taking::Bytes(usize::MAX));
    let client = Arc::clone(&subscriber.listed.conversation.session().client);
    let mut subscriber = Box::pin(stage.serve(subscriber));
    assert!(poll(subscriber.as_mut()).is_pending());
    let (mut publisher, _) = stage.connect(b"", Taking::Bytes(usize::MAX));
    let requests = format!("PUBLISH a {}\r\n", "x".repeat(MESSAGE)).repeat(8000);
    publisher.input = BytesMut::from(requests.as_bytes());
    publisher.then = Then::Write;
    let mut publisher = Box::pin(stage.serve(publisher));
    for turn in 0.. {
        assert!(poll(publisher.as_mut()).is_pending());
        let left = client.output_bytes();
        assert!(left < 2 * TURN_BYTES_MAX, "{left} bytes wait after turn {turn}");
        assert!(poll(subscriber.as_mut()).is_pending());
        if left == 0 {
            break;
        }
    }
    let messages = heard.lock().windows(7).filter(|word| word == b"message").count();
    assert_eq!(messages, 8000);
}

/// Lets a connection do what it can.
fn talk(stage: &Stage, connection: &mut Connection<Peer>) -> Poll<io::Result<()>> {
    let seat = Seat::new(&stage.desk);
    connection.poll_talk(seat.lent(), &mut Context::from_waker(Waker::noop())).map_ok(drop)
}

/// The length of a value that is shared with replies.
const LARGE: usize = 40_000;

/// A stage on which `k` is a large value.
fn stage_with_large_value() -> (Stage, String) {
    let stage = Stage::new();
    let value = "0123456789".repeat(LARGE / 10);
    let (connection, _) = stage.connect(format!("SET k {value}\r\n").as_bytes(), Taking::Bytes(usize::MAX));
    assert!(poll(Box::pin(stage.serve(connection)).as_mut()).is_pending());
    (stage, format!("${LARGE}\r\n{value}\r\n"))
}

#[test]
fn large_values_among_small_replies_are_heard_whole_however_they_are_taken() {
    let (stage, large) = stage_with_large_value();
    let mget = format!("MGET{}\r\n", " k none".repeat(100));
    let requests = format!("PING\r\nGET k\r\nHELLO 3\r\nRESET\r\nGET k\r\nGET k\r\nGET none\r\n{mget}ECHO a\r\nGET k\r\n");
    let nulls = format!("{large}$-1\r\n").repeat(100);
    let expected = format!("{large}{large}$-1\r\n*200\r\n{nulls}$1\r\na\r\n{large}");
    for most in [9999, LARGE, usize::MAX] {
        for taking in [Taking::Bytes(most), Taking::Pieces(most)] {
            let (connection, heard) = stage.connect(requests.as_bytes(), taking);
            let mut serving = Box::pin(stage.serve(connection));
            // It lets others have their turn in between.
            (0..100).for_each(|_| assert!(poll(serving.as_mut()).is_pending()));
            let heard = heard.lock();
            assert!(heard.starts_with(format!("+PONG\r\n{large}").as_bytes()), "in parts of {most}");
            assert!(heard.ends_with(format!("+RESET\r\n{expected}").as_bytes()), "in parts of {most}");
        }
    }
}

#[test]
fn null_and_large_values_in_resp3() {
    let (stage, large) = stage_with_large_value();
    let (connection, heard) = stage.connect(b"HELLO 3\r\nMGET k none k\r\nGET none\r\n", Taking::Pieces(5000));
    let mut serving = Box::pin(stage.serve(connection));
    assert!(poll(serving.as_mut()).is_pending());
    assert!(heard.lock().ends_with(format!("*3\r\n{large}_\r\n{large}_\r\n").as_bytes()));
}

#[test]
fn a_value_that_is_being_sent_stays_what_it_was() {
    for change in ["SETRANGE k 9 x", "SET k y", "DEL k"] {
        let (stage, large) = stage_with_large_value();
        let (mut connection, heard) = stage.connect(b"GET k\r\nGET k\r\n", Taking::Nothing);
        assert!(talk(&stage, &mut connection).is_pending());
        let (other, _) = stage.connect(format!("{change}\r\n").as_bytes(), Taking::Bytes(usize::MAX));
        assert!(poll(Box::pin(stage.serve(other)).as_mut()).is_pending());
        connection.stream.taking = Taking::Pieces(7000);
        assert!(talk(&stage, &mut connection).is_pending());
        assert!(*heard.lock() == large.repeat(2).into_bytes(), "{change}");
        assert!(connection.rest.is_none(), "nothing is kept");
    }
}

/// Plays requests that come in segments and hears the replies.
fn hear(stage: &Stage, requests: &str, segment: usize) -> String {
    let (mut connection, heard) = stage.connect(requests.as_bytes(), Taking::Pieces(usize::MAX));
    connection.stream.says_at_once = segment;
    let mut serving = Box::pin(stage.serve(connection));
    // It lets others have their turn in between.
    (0..50).for_each(|_| assert!(poll(serving.as_mut()).is_pending()));
    String::from_utf8_lossy(&heard.lock()).into_owned()
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

#[test]
fn large_values_are_stored_whole_however_they_come() {
    let values: Vec<String> =
        [30_000, 32_768, 70_001, 65_536, 300_000, 40_000, 3].iter().map(|len| "0123456789abc".repeat(len / 13 + 1)).collect();
    let [a, b, c, d, e, f, g] = [0, 1, 2, 3, 4, 5, 6].map(|index| bulk(&values[index]));
    let requests = [
        format!("*3\r\n$3\r\nSET\r\n$1\r\na\r\n{a}"),
        format!("*5\r\n$3\r\nSET\r\n$1\r\nb\r\n{b}$2\r\nPX\r\n$6\r\n100000\r\n"),
        "*1\r\n$4\r\nPING\r\n".repeat(2000),
        format!("*9\r\n$4\r\nMSET\r\n$1\r\nc\r\n{c}$1\r\nd\r\n{d}$1\r\ne\r\n{e}$1\r\nb\r\n{b}"),
        format!("*3\r\n$6\r\nGETSET\r\n$1\r\na\r\n{f}"),
        format!("*4\r\n$5\r\nSETEX\r\n$1\r\ng\r\n$3\r\n100\r\n{g}*2\r\n$3\r\nGET\r\n$1\r\ng\r\n"),
        format!("*3\r\n$5\r\nSETNX\r\n$1\r\nf\r\n{e}"),
        format!("*3\r\n$6\r\nAPPEND\r\n$1\r\nh\r\n{d}"),
    ];
    let (requests, pongs) = (requests.concat(), "+PONG\r\n".repeat(2000));
    let replies = format!("+OK\r\n+OK\r\n{pongs}+OK\r\n{a}+OK\r\n{g}:1\r\n:{}\r\n", values[3].len());
    for segment in [977, 4096, 16_384, 65_537, 100_000, usize::MAX] {
        let stage = Stage::new();
        assert!(hear(&stage, &requests, segment) == replies, "in segments of {segment}");
        let heard = hear(&stage, "MGET a b c d e f g h\r\n", usize::MAX);
        assert!(heard == format!("*8\r\n{f}{b}{c}{d}{e}{e}{g}{d}"), "in segments of {segment}");
    }
}

#[test]
fn a_large_value_that_is_there_is_read_at_once() {
    let stage = Stage::new();
    let value = bulk(&"v".repeat(1024 * 1024));
    let request = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n{value}");
    let reads = || Seat::new(&stage.desk).lent().lock().worker.stats.reads.get();
    assert_eq!(hear(&stage, &request, usize::MAX), "+OK\r\n");
    // What the lent buffer takes, and all the rest.
    assert_eq!(reads(), 2);
    // A client may send the length on its own: then room is made once more on the way.
    let stage = Stage::new();
    let (mut connection, heard) = stage.connect(&request.as_bytes()[..33], Taking::Bytes(usize::MAX));
    assert!(talk(&stage, &mut connection).is_pending());
    connection.stream.says.extend(&request.as_bytes()[33..]);
    for _ in 0..5 {
        assert!(talk(&stage, &mut connection).is_pending());
    }
    assert_eq!(&*heard.lock(), b"+OK\r\n");
    assert_eq!(Seat::new(&stage.desk).lent().lock().worker.stats.reads.get(), 3);
}
