//! Connections that are moved from thread to thread while they talk, wait, are killed and end with the server.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::*;

const THREADS: usize = 3;

fn start() -> Server {
    Server::with_config(Config { threads: THREADS, ..Config::default() }).expect("a free port")
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.addr()).expect("the server accepts");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time limit");
    stream
}

#[track_caller]
fn check(stream: &mut (impl Read + Write), request: &str, reply: &str) {
    stream.write_all(request.as_bytes()).expect("the server reads");
    let mut heard = vec![0; reply.len()];
    stream.read_exact(&mut heard).expect("the server answers");
    assert_eq!(String::from_utf8_lossy(&heard), reply, "{request}");
}

#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        std::thread::yield_now();
    }
}

/// Sends a request in two parts, and has the connection moved between them.
#[track_caller]
fn check_moves(server: &Server, stream: &mut (impl Read + Write)) {
    check(stream, "PING\r\n", "+PONG\r\n");
    let client = server.shared.clients.all().pop().expect("it is connected");
    let before = client.thread();
    for round in 1..=4 * THREADS {
        let thread = (before + round) % THREADS;
        stream.write_all(b"ECHO half").expect("the server reads");
        wait_until("the half has come", || client.query_bytes.load(Ordering::Relaxed) == b"ECHO half".len());
        client.order_to(thread);
        check(stream, "-and-half\r\nECHO next\r\n", "$13\r\nhalf-and-half\r\n$4\r\nnext\r\n");
        assert_eq!((client.thread(), client.order()), (thread, None));
    }
}

#[test]
fn half_a_request_moves_along() {
    let server = start();
    check_moves(&server, &mut connect(&server));
    let path = std::env::temp_dir().join(format!("redlet-move-{}.sock", std::process::id()));
    let config = Config { threads: THREADS, unixsocket: Some(path.clone()), ..Config::default() };
    let server = Server::with_config(config).expect("a path that is free");
    check_moves(&server, &mut UnixStream::connect(path).expect("the server accepts"));
}

/// Pipelines requests large and small and checks each reply.
fn talk(server: &Server, name: usize) {
    let mut stream = connect(server);
    let mut writer = stream.try_clone().expect("a second handle");
    let key = format!("key{name}");
    let (mut sent, mut due) = (String::new(), String::new());
    for number in 0..2000 {
        let value = "v".repeat(if number % 50 == 0 { 100_000 } else { number % 100 });
        let len = value.len();
        sent += &format!("INCR {key}\r\n*2\r\n$4\r\nECHO\r\n${len}\r\n{value}\r\n");
        due += &format!(":{}\r\n${len}\r\n{value}\r\n", number + 1);
    }
    let due = due.into_bytes();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // Sizes that cut requests apart in all kinds of places.
            for part in sent.as_bytes().chunks(7777) {
                writer.write_all(part).expect("the server reads");
            }
        });
        let mut heard = vec![0; due.len()];
        for (part, expected) in heard.chunks_mut(5555).zip(due.chunks(5555)) {
            stream.read_exact(part).expect("the server answers");
            assert!(part == expected, "connection {name} hears what it is due, in order");
        }
    });
}

/// Does `work` while every connection is moved on and on.
#[track_caller]
fn while_all_move(server: &Server, work: impl FnOnce()) {
    // Gone when the work is over, also when it fails.
    let at_work = Arc::new(());
    let is_over = Arc::downgrade(&at_work);
    let moves = std::thread::scope(|scope| {
        let mover = scope.spawn(move || {
            let mut moves = 0;
            while is_over.strong_count() > 0 {
                for client in server.shared.clients.all() {
                    if client.order().is_none() {
                        client.order_to((client.thread() + 1) % THREADS);
                        moves += 1;
                    }
                }
                std::thread::sleep(Duration::from_micros(200));
            }
            moves
        });
        let at_work = at_work;
        work();
        drop(at_work);
        mover.join().expect("it only orders")
    });
    assert!(moves > 4 * THREADS, "{moves} moves");
}

#[test]
fn pipelines_that_move_lose_and_reorder_nothing() {
    let server = start();
    while_all_move(&server, || {
        std::thread::scope(|scope| {
            for name in 0..4 {
                let server = &server;
                scope.spawn(move || talk(server, name));
            }
        });
    });
}

#[test]
fn subscribers_that_move_hear_each_message_without_another_one() {
    let server = start();
    let mut subscribers: Vec<_> = (0..8).map(|_| connect(&server)).collect();
    for subscriber in &mut subscribers {
        check(subscriber, "SUBSCRIBE c\r\n", "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
    }
    let mut publishers: Vec<_> = (0..2).map(|_| connect(&server)).collect();
    while_all_move(&server, || {
        for number in 1000..4000 {
            // Both at once: what one of them leaves is not to be taken for what the other one has told.
            for publisher in &mut publishers {
                publisher.write_all(format!("PUBLISH c {number}\r\n").as_bytes()).expect("the server reads");
            }
            let message = format!("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$4\r\n{number}\r\n");
            subscribers.iter_mut().for_each(|subscriber| check(subscriber, "", &message.repeat(2)));
            publishers.iter_mut().for_each(|publisher| check(publisher, "", ":8\r\n"));
        }
    });
}

#[test]
fn one_that_waits_moves_when_the_wait_is_over() {
    let server = start();
    let (mut stream, mut other) = (connect(&server), connect(&server));
    check(&mut stream, "PING\r\n", "+PONG\r\n");
    let client = server.shared.clients.all().remove(0);
    let is_blocked = || client.flags.load(Ordering::Relaxed) != 0;
    stream.write_all(b"DEBUG SLEEP 0.1\r\nECHO a\r\n").expect("the server reads");
    wait_until("it sleeps", is_blocked);
    client.order_to(1);
    check(&mut stream, "", "+OK\r\n$1\r\na\r\n");
    check(&mut stream, "PING\r\n", "+PONG\r\n");
    assert_eq!(client.thread(), 1);
    check(&mut other, "CLIENT PAUSE 100000 WRITE\r\n", "+OK\r\n");
    stream.write_all(b"INCR b\r\n").expect("the server reads");
    wait_until("it is held back", is_blocked);
    client.order_to(2);
    check(&mut other, "CLIENT UNPAUSE\r\n", "+OK\r\n");
    check(&mut stream, "", ":1\r\n");
    check(&mut stream, "PING\r\n", "+PONG\r\n");
    assert_eq!(client.thread(), 2);
}

#[test]
fn what_others_leave_is_found_on_the_new_thread() {
    let server = start();
    let (mut monitor, mut other) = (connect(&server), connect(&server));
    check(&mut monitor, "MONITOR\r\n", "+OK\r\n");
    let client = server.shared.clients.all().remove(0);
    client.order_to(1);
    for _ in 0..3 {
        check(&mut other, "PING\r\n", "+PONG\r\n");
        let mut line = Vec::new();
        while !line.ends_with(b"\"PING\"\r\n") {
            let mut byte = [0];
            monitor.read_exact(&mut byte).expect("the monitor is told");
            line.extend(byte);
        }
    }
    wait_until("it has moved", || client.thread() == 1);
    client.order_to(2);
    client.kill();
    client.order_to(0);
    assert_eq!(monitor.read(&mut [0; 100]).expect("it is closed"), 0, "to be killed counts for more than to move");
}

#[test]
fn a_server_stops_while_connections_are_to_move() {
    let server = start();
    let mut streams: Vec<_> = (0..20).map(|_| connect(&server)).collect();
    for stream in &mut streams {
        check(stream, "PING\r\n", "+PONG\r\n");
    }
    for (number, client) in server.shared.clients.all().iter().enumerate() {
        client.order_to(number % (THREADS + 1));
    }
    for stream in &mut streams {
        stream.write_all(b"ECHO last\r\n").expect("the server reads");
    }
    server.stop().expect("it ends well");
    for stream in &mut streams {
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).expect("it is closed");
        assert_eq!(heard, b"$4\r\nlast\r\n");
    }
}
