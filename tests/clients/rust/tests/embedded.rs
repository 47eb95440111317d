//! redlet started inside the test, as a crate that has it among its dev-dependencies does.

use std::net::TcpStream;
use std::time::Duration;

use fred::prelude::*;
use redis::{AsyncCommands, Commands};

#[test]
fn from_a_plain_test() {
    let server = redlet::Server::start().unwrap();
    let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    let _: () = connection.set("k", "v").unwrap();
    assert_eq!(Commands::get::<_, String>(&mut connection, "k").unwrap(), "v");
}

#[tokio::test]
async fn from_an_async_runtime_of_one_thread() {
    let server = redlet::Server::start().unwrap();
    let client = redis::Client::open(server.url()).unwrap();
    let mut connection = client.get_multiplexed_async_connection().await.unwrap();
    let _: () = AsyncCommands::set(&mut connection, "k", "v").await.unwrap();
    let client = Builder::from_config(Config::from_url(&server.url()).unwrap()).build().unwrap();
    client.init().await.unwrap();
    assert_eq!(client.get::<String, _>("k").await.unwrap(), "v");
    client.quit().await.unwrap();
}

#[test]
fn servers_are_apart_from_each_other() {
    let servers: Vec<_> = (0..4).map(|_| redlet::Server::start().unwrap()).collect();
    for (i, server) in servers.iter().enumerate() {
        let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
        let _: () = connection.set("who", i).unwrap();
    }
    for (i, server) in servers.iter().enumerate() {
        let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
        assert_eq!(Commands::get::<_, usize>(&mut connection, "who").unwrap(), i);
    }
}

#[test]
fn gone_once_it_is_dropped() {
    let server = redlet::Server::start().unwrap();
    let addr = server.addr();
    let mut connection = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    drop(server);
    let error = connection.ping::<String>().unwrap_err();
    assert!(error.is_connection_dropped(), "{error}");
    assert!(TcpStream::connect_timeout(&addr, Duration::from_secs(1)).is_err());
}
