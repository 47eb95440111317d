//! The server inside a program: it starts, answers, and leaves nothing behind.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use redlet::Server;

/// Sends `request` and reads as many bytes as `reply` has.
#[track_caller]
fn check(stream: &mut TcpStream, request: &[u8], reply: &[u8]) {
    stream.write_all(request).expect("the server takes a request");
    let mut heard = vec![0; reply.len()];
    stream.read_exact(&mut heard).expect("the server answers");
    assert_eq!(String::from_utf8_lossy(&heard), String::from_utf8_lossy(reply));
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.addr()).expect("the server accepts");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time-out can be set");
    stream
}

#[test]
fn starts_without_a_runtime_and_serves_several_connections() {
    let server = Server::start().expect("a server starts");
    let (mut one, mut other) = (connect(&server), connect(&server));
    check(&mut one, b"SET k v\r\n", b"+OK\r\n");
    check(&mut other, b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", b"$1\r\nv\r\n");
    assert_eq!(server.url(), format!("redis://{}", server.addr()));
}

#[test]
fn servers_of_one_process_share_nothing() {
    let (a, b) = (Server::start().expect("a server starts"), Server::start().expect("another starts"));
    assert_ne!(a.addr(), b.addr());
    check(&mut connect(&a), b"SET k v\r\n", b"+OK\r\n");
    check(&mut connect(&b), b"GET k\r\n", b"$-1\r\n");
}

#[test]
fn stopping_closes_connections_and_frees_the_port() {
    let server = Server::start().expect("a server starts");
    let addr = server.addr();
    let mut stream = connect(&server);
    check(&mut stream, b"PING\r\n", b"+PONG\r\n");
    let begun = Instant::now();
    server.stop().expect("a server stops well");
    assert!(begun.elapsed() < Duration::from_secs(2), "stopping does not wait for idle connections");
    assert_eq!(stream.read(&mut [0; 1]).expect("an orderly end"), 0);
    assert!(TcpStream::connect(addr).is_err(), "nobody listens any more");
}

#[test]
fn what_is_in_is_answered_before_the_end() {
    let server = Server::start().expect("a server starts");
    let mut stream = connect(&server);
    check(&mut stream, b"PING\r\n", b"+PONG\r\n");
    stream.write_all(&b"PING\r\n".repeat(1000)).expect("the server takes requests");
    server.stop().expect("a server stops well");
    let mut heard = Vec::new();
    stream.read_to_end(&mut heard).expect("an orderly end");
    assert_eq!(heard.len(), 7 * 1000);
}

#[tokio::test]
async fn runs_on_the_callers_runtime_and_does_not_need_it_to_serve() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let addr = listener.local_addr().expect("it has an address");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(redlet::run(listener, redlet::Config::default(), async {
        let _ = stopped.await;
    }));
    // Accepting happens on this runtime; what is accepted is served by the server's own threads, while this thread blocks.
    let stream = tokio::net::TcpStream::connect(addr).await.expect("the server accepts");
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut stream = stream.into_std().expect("a plain stream");
    stream.set_nonblocking(false).expect("it can block");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time-out can be set");
    check(&mut stream, b"PING\r\n", b"+PONG\r\n");
    drop(stop);
    running.await.expect("no panic").expect("it ends well");
}

#[tokio::test]
async fn whoever_lets_go_of_it_ends_it() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let addr = listener.local_addr().expect("it has an address");
    let running = tokio::spawn(redlet::run(listener, redlet::Config::default(), std::future::pending()));
    tokio::task::yield_now().await;
    let serving = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(addr).expect("the server accepts");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a time-out can be set");
        check(&mut stream, b"PING\r\n", b"+PONG\r\n");
        stream
    });
    let mut stream = serving.await.expect("it is served");
    running.abort();
    assert!(running.await.is_err_and(|error| error.is_cancelled()));
    let ended = tokio::task::spawn_blocking(move || {
        assert_eq!(stream.read(&mut [0; 1]).expect("an orderly end"), 0);
        let begun = Instant::now();
        while TcpStream::connect(addr).is_ok() {
            assert!(begun.elapsed() < Duration::from_secs(10), "somebody still listens");
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    ended.await.expect("the connection and the listener are closed");
}

#[test]
fn printing_a_server_tells_where_it_is_and_no_password() {
    let parameters = vec![("requirepass".to_owned(), "secret".to_owned())];
    let server = Server::with_config(redlet::Config { parameters, ..redlet::Config::default() }).expect("a server starts");
    assert_eq!(format!("{server:?}"), format!("Server {{ addr: Some({}), .. }}", server.addr()));
}

#[test]
fn a_unix_socket_takes_the_place_of_no_other_file() {
    let path = std::env::temp_dir().join(format!("redlet-data-{}", std::process::id()));
    std::fs::write(&path, "data").expect("a file can be written");
    let config = redlet::Config { port: None, unixsocket: Some(path.clone()), ..redlet::Config::default() };
    let refused = Server::with_config(config).expect_err("the path is taken");
    assert!(matches!(refused, redlet::Error::UnixSocket { .. }), "{refused}");
    assert_eq!(std::fs::read_to_string(&path).expect("the file is still there"), "data");
    std::fs::remove_file(&path).expect("it can be removed");
}
