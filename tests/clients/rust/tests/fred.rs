//! fred: one client and a pool, in both protocols. It asks the server for its version when it connects.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use fred::prelude::*;
use fred::types::RespVersion;
use futures_util::{StreamExt, future::join_all};
use redlet_rust_clients::{PASSWORD, Server};

const PROTOCOLS: [RespVersion; 2] = [RespVersion::RESP2, RespVersion::RESP3];

fn config(server: &Server, version: RespVersion) -> Config {
    let server = ServerConfig::new_centralized(server.addr().ip().to_string(), server.addr().port());
    Config { server, version, ..Config::default() }
}

async fn connect(config: Config) -> Client {
    let client = Builder::from_config(config)
        .with_performance_config(|p| p.default_command_timeout = Duration::from_secs(10))
        .build()
        .unwrap();
    in_time(client.init()).await.unwrap();
    client
}

async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), work).await.expect("done within 30 seconds")
}

#[tokio::test]
async fn everything_left_at_its_default() {
    let server = Server::start(&[]);
    let client = Builder::from_config(Config::from_url(&server.url()).unwrap()).build().unwrap();
    in_time(client.init()).await.unwrap();
    assert_eq!(client.ping::<String>(None).await.unwrap(), "PONG");
    let _: () = client.set("k", "v", None, None, false).await.unwrap();
    assert_eq!(client.get::<Option<String>, _>("k").await.unwrap().as_deref(), Some("v"));
    assert_eq!(client.get::<Option<String>, _>("absent").await.unwrap(), None);
    assert!(client.server_version().is_some());
    client.quit().await.unwrap();
}

#[tokio::test]
async fn strings_keys_and_expiry() {
    let server = Server::start(&[]);
    for version in PROTOCOLS {
        let c = connect(config(&server, version)).await;
        let _: () = c.flushall(false).await.unwrap();
        let set: Option<String> = c.set("k", "v", Some(Expiration::EX(100)), Some(SetOptions::NX), false).await.unwrap();
        assert_eq!(set.as_deref(), Some("OK"));
        let again: Option<String> = c.set("k", "w", None, Some(SetOptions::NX), false).await.unwrap();
        assert_eq!(again, None);
        assert!(c.ttl::<i64, _>("k").await.unwrap() > 0);
        let _: () = c.mset(HashMap::from([("a", 1), ("b", 2)])).await.unwrap();
        let values: Vec<Option<i64>> = c.mget(vec!["a", "absent", "b"]).await.unwrap();
        assert_eq!(values, [Some(1), None, Some(2)]);
        assert_eq!(c.incr_by::<i64, _>("a", 41).await.unwrap(), 42);
        assert_eq!(c.incr_by_float::<f64, _>("b", 0.5).await.unwrap(), 2.5);
        let bytes: Vec<u8> = (0..=255).collect();
        let _: () = c.set(bytes.as_slice(), bytes.as_slice(), None, None, false).await.unwrap();
        assert_eq!(c.get::<Vec<u8>, _>(bytes.as_slice()).await.unwrap(), bytes);
        let config: HashMap<String, String> = c.config_get("maxclients").await.unwrap();
        assert!(config.contains_key("maxclients"));
        let memory: Option<u64> = c.memory_usage("a", None).await.unwrap();
        assert!(memory > Some(0));
        let error = c.incr::<i64, _>("k").await.unwrap_err();
        assert!(error.details().contains("value is not an integer or out of range"), "{error}");
        assert_eq!(c.pexpire::<i64, _>("k", 20, None).await.unwrap(), 1);
        tokio::time::sleep(Duration::from_millis(40)).await;
        assert_eq!(c.exists::<i64, _>("k").await.unwrap(), 0);
        c.quit().await.unwrap();
    }
}

#[tokio::test]
async fn pipelines_and_scans() {
    let server = Server::start(&[]);
    for version in PROTOCOLS {
        let c = connect(config(&server, version)).await;
        let pipeline = c.pipeline();
        for i in 0..1000 {
            let _: () = pipeline.set(format!("scan:{i}"), i, None, None, false).await.unwrap();
        }
        let _: () = pipeline.get("scan:999").await.unwrap();
        assert_eq!(in_time(pipeline.last::<i64>()).await.unwrap(), 999);
        let found: HashSet<String> =
            in_time(c.scan_buffered("scan:*", Some(50), None).map(|key| key.unwrap().as_str().unwrap().to_owned()).collect()).await;
        assert_eq!(found.len(), 1000);
        c.quit().await.unwrap();
    }
}

#[tokio::test]
async fn a_pool_and_many_requests_at_once() {
    let server = Server::start(&[]);
    for version in PROTOCOLS {
        let pool = Builder::from_config(config(&server, version)).build_pool(8).unwrap();
        in_time(pool.init()).await.unwrap();
        let _: () = pool.set("n", 0, None, None, false).await.unwrap();
        in_time(join_all((0..1000).map(|_| pool.incr::<i64, _>("n")))).await;
        assert_eq!(pool.get::<i64, _>("n").await.unwrap(), 1000);
        pool.quit().await.unwrap();
    }
}

#[tokio::test]
async fn names_and_databases() {
    let server = Server::start(&[]);
    for version in PROTOCOLS {
        let c = connect(Config { database: Some(5), ..config(&server, version) }).await;
        let _: () = c.client_setname("the-name").await.unwrap();
        let line: String = c.client_info().await.unwrap();
        assert!(line.contains(" name=the-name ") && line.contains(" db=5 "), "{line}");
        c.quit().await.unwrap();
    }
}

#[tokio::test]
async fn password() {
    let server = Server::start(&["--requirepass", PASSWORD]);
    for version in PROTOCOLS {
        let with = |password: Option<&str>| Config { password: password.map(str::to_owned), ..config(&server, version.clone()) };
        let c = connect(with(Some(PASSWORD))).await;
        assert_eq!(c.ping::<String>(None).await.unwrap(), "PONG");
        c.quit().await.unwrap();
        for refused in [None, Some("wrong")] {
            let client = Builder::from_config(with(refused)).build().unwrap();
            let error = in_time(client.init()).await.unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Auth, "{error}");
        }
    }
}

#[tokio::test]
async fn unix_socket() {
    let server = Server::start(&[]);
    let c = connect(Config { server: ServerConfig::new_unix_socket(server.socket()), ..Config::default() }).await;
    let _: () = c.set("k", "v", None, None, false).await.unwrap();
    assert_eq!(c.get::<String, _>("k").await.unwrap(), "v");
    c.quit().await.unwrap();
}

#[tokio::test]
async fn finds_the_server_again() {
    for version in PROTOCOLS {
        let server = Server::start(&[]);
        let port = server.addr().port();
        let client =
            Builder::from_config(config(&server, version)).set_policy(ReconnectPolicy::new_constant(100, 100)).build().unwrap();
        in_time(client.init()).await.unwrap();
        let _: () = client.set("k", "v", None, None, false).await.unwrap();
        drop(server);
        let _server = Server::start_on(port, &[]);
        let after = in_time(async {
            loop {
                match client.get::<Option<String>, _>("k").await {
                    Ok(value) => break value,
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                }
            }
        })
        .await;
        assert_eq!(after, None);
        client.quit().await.unwrap();
    }
}
