//! What a client may cost: memory, descriptors and the time of others, whatever it announces, asks for or leaves unread.
//! Our binary is asked from outside, by its process; stopping is tried within the program.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use redlet::Server as Embedded;

use crate::process::Server;

const PATIENCE: Duration = Duration::from_secs(20);
const MIB: usize = 1024 * 1024;

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server accepts");
    stream.set_nodelay(true).expect("small requests are sent at once");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out can be set");
    stream
}

/// Sends inline requests and hears exactly `reply`.
#[track_caller]
fn check(stream: &mut TcpStream, requests: &str, reply: &str) {
    stream.write_all(requests.as_bytes()).expect("the server takes requests");
    let mut heard = vec![0; reply.len()];
    stream.read_exact(&mut heard).expect("the server answers");
    assert_eq!(String::from_utf8_lossy(&heard), reply);
}

/// The integer that a request is answered with.
fn ask(stream: &mut TcpStream, request: &str) -> u64 {
    stream.write_all(request.as_bytes()).expect("the server takes a request");
    let (mut line, mut byte) = (String::new(), [0]);
    while !line.ends_with("\r\n") {
        stream.read_exact(&mut byte).expect("the server answers");
        line.push(char::from(byte[0]));
    }
    line.trim_end().strip_prefix(':').and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("an integer, not {line:?}"))
}

/// Resident memory of a process, in bytes.
fn resident(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("the server runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a process has resident memory");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number of KiB") * 1024
}

/// Open descriptors of a process.
fn descriptors(server: &Server) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", server.pid())).expect("the server runs").count()
}

/// Waits until something is so.
#[track_caller]
fn check_soon(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until a process has been as large as it is now for a while.
fn settled(server: &Server) -> usize {
    let mut sizes = [0; 10];
    let begun = Instant::now();
    while sizes.iter().any(|size| *size != sizes[0]) || sizes[0] == 0 {
        sizes.rotate_left(1);
        sizes[9] = resident(server);
        assert!(begun.elapsed() < PATIENCE, "the server's memory does not settle: {sizes:?}");
        std::thread::sleep(Duration::from_millis(30));
    }
    sizes[0]
}

#[test]
fn what_is_only_announced_costs_nothing() {
    let server = Server::redlet();
    let mut other = connect(server.address());
    check(&mut other, "PING\r\n", "+PONG\r\n");
    let before = settled(&server);
    let announced: Vec<_> = (0..200)
        .map(|number| {
            let mut stream = connect(server.address());
            let request: &[u8] =
                if number % 2 == 0 { b"*1\r\n$536870912\r\nabc" } else { b"*2147483647\r\n$4\r\nMGET\r\n$536870912\r\nk" };
            stream.write_all(request).expect("the server takes what is sent");
            stream
        })
        .collect();
    check(&mut other, "PING\r\n", "+PONG\r\n");
    let grown = settled(&server).saturating_sub(before);
    // Each of them holds a socket, a task and a read buffer of 16 KiB, where one of them alone announces 512 MiB.
    assert!(grown < announced.len() * 48 * 1024, "{grown} bytes for {} requests that were begun", announced.len());
}

#[test]
fn a_part_of_a_large_request_costs_little_more_than_its_bytes() {
    const SENT: usize = 100 * 1024;
    let server = Server::redlet();
    let mut other = connect(server.address());
    check(&mut other, "PING\r\n", "+PONG\r\n");
    let before = settled(&server);
    let request = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$536870912\r\n{}", "v".repeat(SENT));
    let begun: Vec<_> = (0..100)
        .map(|_| {
            let mut stream = connect(server.address());
            stream.write_all(request.as_bytes()).expect("the server takes what is sent");
            stream
        })
        .collect();
    check(&mut other, "PING\r\n", "+PONG\r\n");
    let grown = settled(&server).saturating_sub(before);
    assert!(grown > begun.len() * SENT * 9 / 10, "{grown} bytes: the server has not read yet what was sent");
    assert!(grown < begun.len() * (SENT + 48 * 1024), "{grown} bytes for {} requests of which {SENT} have come", begun.len());
}

/// Stores a value of `len` bytes under `k`.
fn store_value(stream: &mut TcpStream, len: usize) {
    let request = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${len}\r\n{}\r\n", "v".repeat(len));
    check(stream, &request, "+OK\r\n");
}

#[test]
fn a_peer_that_does_not_read_is_not_answered_ahead() {
    const PEERS: usize = 20;
    const REQUESTS: usize = 200;
    let server = Server::redlet();
    let mut other = connect(server.address());
    store_value(&mut other, MIB);
    let before = settled(&server);
    let mut deaf: Vec<_> = (0..PEERS).map(|_| connect(server.address())).collect();
    for stream in &mut deaf {
        stream.write_all(&b"GET k\r\n".repeat(REQUESTS)).expect("the server takes the first requests");
    }
    let grown = settled(&server).saturating_sub(before);
    check(&mut other, "PING\r\n", "+PONG\r\n");
    // A reply and a little more for each, where all replies would be 4,000 MiB.
    assert!(grown < PEERS * 3 * MIB, "{grown} bytes for {PEERS} peers that do not read");
    let reply = format!("${MIB}\r\n{}\r\n", "v".repeat(MIB)).into_bytes();
    let mut heard = vec![0; reply.len()];
    for number in 0..REQUESTS {
        deaf[0].read_exact(&mut heard).expect("the server answers once the peer reads");
        assert!(heard == reply, "reply {number} is whole");
    }
    check(&mut deaf[0], "PING\r\n", "+PONG\r\n");
}

#[test]
fn a_peer_that_does_not_read_can_be_killed() {
    let server = Server::redlet();
    let mut other = connect(server.address());
    store_value(&mut other, 8 * MIB);
    let before = descriptors(&server);
    let mut deaf = connect(server.address());
    let id = ask(&mut deaf, "CLIENT ID\r\n");
    deaf.write_all(&b"GET k\r\n".repeat(10)).expect("the server takes requests");
    settled(&server);
    check(&mut other, &format!("CLIENT KILL ID {id}\r\n"), ":1\r\n");
    check_soon("the killed connection's descriptor is closed", || descriptors(&server) == before);
}

#[test]
fn a_peer_that_leaves_while_it_waits_is_noticed() {
    let server = Server::redlet();
    let mut other = connect(server.address());
    check(&mut other, "PING\r\n", "+PONG\r\n");
    let before = descriptors(&server);
    // The second one has sent more than is read while a command waits.
    for requests in [0, 16_000] {
        let mut waiting = connect(server.address());
        waiting.write_all(b"WAIT 1 0\r\n").expect("the server takes a request");
        waiting.write_all(&b"PING\r\n".repeat(requests)).expect("the server, or the system, takes more requests");
        settled(&server);
        assert_eq!(descriptors(&server), before + 1, "it waits");
        drop(waiting);
        check_soon("the connection is closed", || descriptors(&server) == before);
    }
}

#[test]
fn connections_that_come_and_go_leave_nothing_behind() {
    const ROUNDS: usize = 20;
    const AT_ONCE: usize = 50;
    let server = Server::redlet();
    let mut other = connect(server.address());
    check(&mut other, "PING\r\n", "+PONG\r\n");
    let before = descriptors(&server);
    for _ in 0..ROUNDS {
        let mut streams: Vec<_> = (0..AT_ONCE).map(|_| connect(server.address())).collect();
        for (number, stream) in streams.iter_mut().enumerate() {
            // Idle, served, with half a request, with a reply left unread, at the end of its own will, with the protocol broken.
            match number % 6 {
                0 => {}
                1 => check(stream, "PING\r\n", "+PONG\r\n"),
                2 => stream.write_all(b"*1\r\n$4\r\nPI").expect("the server takes a part"),
                3 => stream.write_all(b"PING\r\n").expect("the server takes a request"),
                4 => check(stream, "QUIT\r\n", "+OK\r\n"),
                _ => stream.write_all(b"*x\r\n").expect("the server takes anything"),
            }
        }
        drop(streams);
        // Before the next round: more at once would have another thread started, with descriptors of its own.
        check_soon("every descriptor is closed", || descriptors(&server) == before);
    }
    check(&mut other, "CLIENT KILL TYPE normal\r\n", ":0\r\n");
}

#[test]
fn one_client_too_many_is_told_so_and_none_once_another_leaves() {
    let server = Server::redlet();
    let mut first = connect(server.address());
    check(&mut first, "CONFIG SET maxclients 2\r\n", "+OK\r\n");
    let mut second = connect(server.address());
    check(&mut second, "PING\r\n", "+PONG\r\n");
    let mut heard = String::new();
    connect(server.address()).read_to_string(&mut heard).expect("an orderly end");
    assert_eq!(heard, "-ERR max number of clients reached\r\n");
    drop(second);
    check_soon("there is room again", || {
        let mut next = connect(server.address());
        // A refused one is closed, perhaps before it has said anything.
        let asked = next.write_all(b"PING\r\n");
        let mut heard = [0; 7];
        asked.is_ok() && next.read_exact(&mut heard).is_ok() && &heard == b"+PONG\r\n"
    });
}

#[test]
fn no_parameter_of_sockets_keeps_clients_out() {
    let server = Embedded::start().expect("a server starts");
    let mut first = connect(server.addr());
    for (name, value) in
        [("tcp-keepalive", "2147483647"), ("timeout", "2147483647"), ("tcp-keepalive", "0"), ("tcp-keepalive", "1")]
    {
        check(&mut first, &format!("CONFIG SET {name} {value}\r\n"), "+OK\r\n");
        check(&mut connect(server.addr()), "PING\r\n", "+PONG\r\n");
    }
}

/// Stops a server that has something to do, and says how long that took.
fn time_to_stop(server: Embedded) -> Duration {
    let begun = Instant::now();
    server.stop().expect("a server stops well");
    begun.elapsed()
}

#[test]
fn a_server_stops_while_clients_write() {
    let server = Embedded::start().expect("a server starts");
    let address = server.addr();
    let writers: Vec<_> = (0..3)
        .map(|_| {
            let mut stream = connect(address);
            let mut reader = stream.try_clone().expect("a second handle");
            let heard = std::thread::spawn(move || {
                let mut chunk = [0; 65536];
                while reader.read(&mut chunk).is_ok_and(|len| len > 0) {}
            });
            let said = std::thread::spawn(move || while stream.write_all(&b"PING\r\n".repeat(100)).is_ok() {});
            (said, heard)
        })
        .collect();
    std::thread::sleep(Duration::from_millis(100));
    let elapsed = time_to_stop(server);
    for (said, heard) in writers {
        said.join().expect("the writer sees the end");
        heard.join().expect("the reader sees the end");
    }
    assert!(elapsed < Duration::from_secs(6), "{elapsed:?}");
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[test]
fn a_server_stops_though_a_peer_does_not_read() {
    let server = Embedded::start().expect("a server starts");
    let mut deaf = connect(server.addr());
    store_value(&mut deaf, 16 * MIB);
    deaf.write_all(&b"GET k\r\n".repeat(4)).expect("the server takes requests");
    std::thread::sleep(Duration::from_millis(200));
    let elapsed = time_to_stop(server);
    assert!(elapsed < Duration::from_secs(6), "{elapsed:?}");
}

#[test]
fn a_log_that_nobody_reads_disturbs_nobody() {
    let (reader, writer) = std::io::pipe().expect("a pipe can be had");
    let server = Server::redlet_logging_to(writer.into());
    drop(reader);
    check(&mut connect(server.address()), "DEBUG LOG text\r\nPING\r\n", "+OK\r\n+PONG\r\n");
}

#[test]
fn a_signal_has_what_is_in_answered_and_the_process_end_well() {
    for signal in ["TERM", "INT"] {
        let mut server = Server::redlet();
        let mut stream = connect(server.address());
        check(&mut stream, "PING\r\n", "+PONG\r\n");
        stream.write_all(&b"PING\r\n".repeat(1000)).expect("the server takes requests");
        assert_eq!(server.end_by(signal).code(), Some(0), "{signal}");
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).expect("an orderly end");
        assert_eq!(heard.len(), b"+PONG\r\n".len() * 1000, "{signal}");
        assert!(TcpStream::connect(server.address()).is_err(), "nobody listens any more");
    }
}

#[test]
fn memory_goes_back_to_the_system_when_nothing_is_asked_for_any_more() {
    let server = Server::redlet();
    let mut stream = connect(server.address());
    let value = "v".repeat(64 * 1024);
    for number in 0..1000 {
        let set = format!("*3\r\n$3\r\nSET\r\n$4\r\n{number:04}\r\n${}\r\n{value}\r\n", value.len());
        check(&mut stream, &set, "+OK\r\n");
    }
    let full = resident(&server);
    check(&mut stream, "FLUSHALL\r\n", "+OK\r\n");
    let begun = Instant::now();
    while resident(&server) > full / 2 {
        assert!(begun.elapsed() < PATIENCE, "{} of {full} bytes are still there", resident(&server));
        std::thread::sleep(Duration::from_millis(50));
    }
}

// Many client libraries send a whole pipeline before they look at the first reply.
#[test]
fn a_pipeline_that_is_larger_than_all_buffers_is_answered_to_a_peer_that_reads_last() {
    const VALUES: usize = 90;
    let server = Server::redlet();
    let mut stream = connect(server.address());
    let value = "v".repeat(256 * 1024);
    let len = value.len();
    let request =
        |number| format!("*3\r\n$3\r\nSET\r\n$2\r\n{number:02}\r\n${len}\r\n{value}\r\n*2\r\n$3\r\nGET\r\n$2\r\n{number:02}\r\n");
    let requests: String = (0..VALUES).map(request).collect();
    check(&mut stream, &requests, &format!("+OK\r\n${len}\r\n{value}\r\n").repeat(VALUES));
}

#[test]
fn a_transaction_keeps_no_more_than_a_request_may_be_long() {
    let server = Server::redlet();
    let mut stream = connect(server.address());
    check(&mut stream, "CONFIG SET client-query-buffer-limit 1mb\r\nMULTI\r\n", "+OK\r\n+OK\r\n");
    let value = "x".repeat(600_000);
    let set = format!("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n${}\r\n{value}\r\n", value.len());
    check(&mut stream, &set, "+QUEUED\r\n");
    check(&mut stream, &set, "-ERR transaction exceeds client-query-buffer-limit\r\n");
    let kept = settled(&server);
    for _ in 0..100 {
        // What will not be run is not kept.
        check(&mut stream, &set, "+QUEUED\r\n");
    }
    assert!(resident(&server) < kept + 20 * MIB, "{} MiB more", (resident(&server) - kept) / MIB);
    let aborted = "-EXECABORT Transaction discarded because of previous errors.\r\n";
    check(&mut stream, "EXEC\r\nEXISTS k\r\nPING\r\n", &format!("{aborted}:0\r\n+PONG\r\n"));
}

/// Has a subscriber that does not read be sent more than it may let wait, and returns when it is cut off.
fn check_cut_off(limit: &str) {
    let server = Server::redlet();
    let (mut subscriber, mut publisher) = (connect(server.address()), connect(server.address()));
    check(&mut publisher, &format!("CONFIG SET client-output-buffer-limit \"pubsub {limit}\"\r\n"), "+OK\r\n");
    check(&mut subscriber, "SUBSCRIBE c\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
    let kept = settled(&server);
    let message = "x".repeat(100_000);
    let publish = format!("*3\r\n$7\r\nPUBLISH\r\n$1\r\nc\r\n${}\r\n{message}\r\n", message.len());
    // As much as the kernel takes for the subscriber, and more than it may let wait.
    let mut heard = 1;
    for _ in 0..200 {
        heard = ask(&mut publisher, &publish);
    }
    let begun = Instant::now();
    while heard > 0 {
        assert!(begun.elapsed() < PATIENCE, "it is not cut off: {limit}");
        std::thread::sleep(Duration::from_millis(50));
        heard = ask(&mut publisher, "PUBLISH c x\r\n");
    }
    assert!(resident(&server) < kept + 40 * MIB, "{limit}: {} MiB more", (resident(&server) - kept) / MIB);
    subscriber.read_to_end(&mut Vec::new()).expect("it is closed");
}

#[test]
fn a_subscriber_that_does_not_read_is_cut_off() {
    check_cut_off("1mb 0 0");
    check_cut_off("0 1mb 1");
}
