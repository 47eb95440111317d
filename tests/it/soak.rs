//! Publish and subscribe at length: many subscribers, slow ones, and connections that come and go. Nothing is lost that should come, and
//! nothing is left when all have gone.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use redlet::internals::{Conversation, Output, Shared, Worker};
use redlet::{Config, Server};

use crate::linear::model::Dice;

/// A server without sockets, and the one thread that serves all.
struct Stage {
    shared: Shared,
    worker: Worker,
}

impl Stage {
    fn new() -> Self {
        let shared = Shared::new(Config::default()).expect("no parameter is given");
        let worker = Worker::new(&shared);
        Self { shared, worker }
    }

    fn connect(&self) -> Conversation {
        Conversation::begin(&self.shared, String::new(), String::new(), 0).expect("there is room for it")
    }

    fn say(&mut self, client: &mut Conversation, requests: &[u8]) -> Vec<u8> {
        let mut output = Output::default();
        let now = self.shared.clock.now();
        client.feed(requests, &mut self.worker, &self.shared, now, &mut output);
        output.into()
    }

    /// What others have left for a client.
    fn left(client: &Conversation) -> Output {
        let mut output = Output::default();
        client.session().client.collect(&mut output);
        output
    }
}

#[test]
fn ten_thousand_hear_each_message_and_share_a_large_one() {
    const SUBSCRIBERS: usize = 10_000;
    let mut stage = Stage::new();
    let mut publisher = stage.connect();
    stage.say(&mut publisher, b"CONFIG SET maxclients 20000\r\n");
    let mut subscribers: Vec<_> = (0..SUBSCRIBERS).map(|_| stage.connect()).collect();
    subscribers.iter_mut().for_each(|client| drop(stage.say(client, b"SUBSCRIBE channel\r\n")));
    assert_eq!(stage.say(&mut publisher, b"PUBLISH channel small\r\n"), b":10000\r\n");
    let small = b"*3\r\n$7\r\nmessage\r\n$7\r\nchannel\r\n$5\r\nsmall\r\n";
    assert!(subscribers.iter().all(|client| Vec::from(Stage::left(client)) == small));

    let large = vec![b'x'; 1024 * 1024];
    let request = [b"*3\r\n$7\r\nPUBLISH\r\n$7\r\nchannel\r\n$1048576\r\n", &large[..], b"\r\n"].concat();
    assert_eq!(stage.say(&mut publisher, &request), b":10000\r\n");
    // Had each its own, they would take 10 GB.
    let left: Vec<_> = subscribers.iter().map(Stage::left).collect();
    let first = left[0].pieces().find(|piece| piece.len() == large.len()).expect("a message that is not copied").as_ptr();
    let is_first = |output: &Output| output.pieces().any(|piece| piece.as_ptr() == first);
    assert!(left.iter().all(|output| output.len() > large.len() && is_first(output)), "they share it");

    subscribers.iter_mut().for_each(|client| client.end(&stage.shared));
    assert!(stage.shared.pubsub.is_idle());
    assert_eq!(stage.say(&mut publisher, b"PUBLISH channel small\r\n"), b":0\r\n");
}

fn connect(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).expect("the server accepts");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out can be set");
    stream
}

/// Counts how often a client is woken. It listens again at once, as one does that is served by another thread.
struct Counting {
    count: AtomicUsize,
    listen: Box<dyn Fn(&Waker) + Send + Sync>,
}

impl Wake for Counting {
    fn wake(self: Arc<Self>) {
        self.count.fetch_add(1, Ordering::Relaxed);
        (self.listen)(&Waker::from(Arc::clone(&self)));
    }
}

#[test]
fn a_pipelined_publisher_wakes_a_subscriber_once() {
    const MESSAGES: usize = 1000;
    let mut stage = Stage::new();
    let (mut subscriber, mut publisher) = (stage.connect(), stage.connect());
    stage.say(&mut subscriber, b"SUBSCRIBE channel\r\n");
    let client = Arc::clone(&subscriber.session().client);
    let listen = move |waker: &Waker| client.listen(waker, 0);
    let counting = Arc::new(Counting { count: AtomicUsize::new(0), listen: Box::new(listen) });
    (counting.listen)(&Waker::from(Arc::clone(&counting)));
    let requests: Vec<u8> = (0..MESSAGES).flat_map(|number| format!("PUBLISH channel {number:04}\r\n").into_bytes()).collect();
    assert_eq!(stage.say(&mut publisher, &requests), b":1\r\n".repeat(MESSAGES));
    assert_eq!(counting.count.load(Ordering::Relaxed), 1, "for all that one read brought");
    let text = String::from_utf8(Stage::left(&subscriber).into()).expect("messages of text");
    let numbers: Vec<_> = text.split("$4\r\n").skip(1).map(|part| part[..4].to_owned()).collect();
    assert_eq!(numbers, (0..MESSAGES).map(|number| format!("{number:04}")).collect::<Vec<_>>(), "in their order");
    stage.say(&mut publisher, b"PUBLISH channel last\r\n");
    assert_eq!(counting.count.load(Ordering::Relaxed), 2);
}

#[test]
fn a_subscriber_that_waits_hears_meanwhile() {
    let server = Server::start().expect("a server starts");
    let (mut subscriber, mut publisher) = (connect(server.addr()), connect(server.addr()));
    // The wait ends by itself long after the test would have given up.
    subscriber.write_all(b"HELLO 3\r\nSUBSCRIBE channel\r\nWAIT 1 60000\r\n").expect("they are taken");
    let mut heard = Vec::new();
    let mut buffer = [0; 4096];
    let message: &[u8] = b">3\r\n$7\r\nmessage\r\n$7\r\nchannel\r\n$1\r\nm\r\n";
    while !heard.ends_with(b":1\r\n") {
        let read = subscriber.read(&mut buffer).expect("it is answered");
        heard.extend_from_slice(&buffer[..read]);
    }
    publisher.write_all(b"PUBLISH channel m\r\n").expect("it is taken");
    while !heard.ends_with(message) {
        let read = subscriber.read(&mut buffer).expect("it hears the message while it waits");
        heard.extend_from_slice(&buffer[..read]);
    }
}

/// What one of the crowd does in its life.
fn live(addr: SocketAddr, mut dice: Dice, until: Instant) -> usize {
    let mut lives = 0;
    while Instant::now() < until {
        let mut stream = connect(addr);
        let channel = dice.below(20);
        let (requests, end): (String, &[u8]) = match dice.below(8) {
            0 => (format!("SUBSCRIBE c{channel} c{}\r\nPSUBSCRIBE c*\r\n", channel + 1), b":3\r\n"),
            1 => (format!("SSUBSCRIBE c{channel}\r\n"), b":1\r\n"),
            2 => (format!("HELLO 3\r\nSUBSCRIBE c{channel}\r\nPUBLISH c{channel} own\r\nPING\r\n"), b"+PONG\r\n"),
            3 => {
                (format!("WATCH k{channel}\r\nMULTI\r\nSET k{channel} v\r\nPUBLISH c{channel} m\r\nEXEC\r\nPING\r\n"), b"+PONG\r\n")
            }
            4 => (format!("MULTI\r\nSPUBLISH c{channel} m\r\n"), b"+QUEUED\r\n"),
            5 => (format!("HELLO 3\r\nCLIENT TRACKING ON\r\nGET k{channel}\r\nPING\r\n"), b"+PONG\r\n"),
            6 => (format!("CLIENT KILL ID {}\r\nPING\r\n", dice.below(5000)), b"+PONG\r\n"),
            _ => ((0..50).map(|number| format!("PUBLISH c{channel} {number}\r\n")).collect::<String>() + "PING\r\n", b"+PONG\r\n"),
        };
        stream.write_all(requests.as_bytes()).expect("they are taken");
        let mut heard = Vec::new();
        let mut buffer = [0; 4096];
        // Whoever has subscribed may be killed at any time, and is sent more behind what it waits for.
        while !heard.windows(end.len()).any(|part| part == end) {
            match stream.read(&mut buffer) {
                Ok(read) if read > 0 => heard.extend_from_slice(&buffer[..read]),
                _ => break,
            }
        }
        lives += 1;
    }
    lives
}

/// Resident memory of this process in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("this process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a process has resident memory");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number of KiB") * 1024
}

#[test]
fn a_thousand_that_come_and_go_leave_nothing() {
    /// Threads, each of which is one of those who come and go after the other.
    const CROWD: usize = 16;
    /// Subscribers that stay, and do not read.
    const STANDING: usize = 1000;
    rlimit::increase_nofile_limit(8192).expect("a limit can be asked for");
    let server = Server::start().expect("a server starts");
    let ask = |what: &str| {
        let mut stream = connect(server.addr());
        stream.write_all(format!("{what}\r\n").as_bytes()).expect("it is taken");
        let mut buffer = vec![0; 1 << 16];
        let read = stream.read(&mut buffer).expect("it is answered");
        String::from_utf8_lossy(&buffer[..read]).into_owned()
    };
    let mut resident_before = 0;
    // The first round gives buffers and tables their size.
    for round in 0..2 {
        let standing: Vec<_> = (0..STANDING)
            .map(|number| {
                let mut stream = connect(server.addr());
                stream.write_all(format!("SUBSCRIBE c{}\r\n", number % 20).as_bytes()).expect("it is taken");
                stream
            })
            .collect();
        let until = Instant::now() + Duration::from_secs(3);
        let threads: Vec<_> = (0..CROWD)
            .map(|number| {
                let addr = server.addr();
                std::thread::spawn(move || live(addr, Dice((round * CROWD + number) as u64), until))
            })
            .collect();
        let lives: usize = threads.into_iter().map(|thread| thread.join().expect("a life without mistakes")).sum();
        assert!(lives >= 1000, "{lives} lives");
        drop(standing);
        let begun = Instant::now();
        let is_empty = || {
            let info = ask("INFO");
            ["connected_clients:1", "pubsub_clients:0", "pubsub_channels:0", "pubsub_patterns:0", "pubsubshard_channels:0"]
                .iter()
                .chain(&["watching_clients:0", "total_watched_keys:0", "tracking_clients:0", "tracking_total_keys:0"])
                .all(|field| info.contains(&format!("\n{field}\r\n")))
        };
        while !is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(10), "something is left: {}", ask("INFO clients"));
            std::thread::sleep(Duration::from_millis(20));
        }
        if round == 0 {
            resident_before = resident();
        }
    }
    let grown = resident().saturating_sub(resident_before);
    assert!(grown < 32 * 1024 * 1024, "{} MiB more than after as many before", grown >> 20);
}
