//! redis-rs: its blocking, multiplexed and self-healing connections, in both protocols, with the time-outs it ships with.

use std::collections::{HashMap, HashSet};
use std::thread;
use std::time::Duration;

use futures_util::StreamExt;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{
    AsyncCommands, Client, Commands, Connection, ConnectionAddr, ErrorKind, ExistenceCheck, InfoDict, IntoConnectionInfo,
    ProtocolVersion, RedisResult, ServerErrorKind, SetExpiry, SetOptions, Value, pipe,
};
use redlet_rust_clients::{PASSWORD, Server};

const PROTOCOLS: [ProtocolVersion; 2] = [ProtocolVersion::RESP2, ProtocolVersion::RESP3];

fn client(server: &Server, protocol: ProtocolVersion) -> Client {
    let info = server.url().into_connection_info().unwrap();
    let settings = info.redis_settings().clone().set_protocol(protocol);
    Client::open(info.set_redis_settings(settings)).unwrap()
}

fn connection(server: &Server, protocol: ProtocolVersion) -> Connection {
    let connection = client(server, protocol).get_connection_with_timeout(Duration::from_secs(5)).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    connection
}

async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), work).await.expect("done within 30 seconds")
}

#[test]
fn everything_left_at_its_default() {
    let server = Server::start(&[]);
    let mut connection = Client::open(server.url()).unwrap().get_connection().unwrap();
    assert_eq!(connection.ping::<String>().unwrap(), "PONG");
    let _: () = connection.set("k", 42).unwrap();
    assert_eq!(connection.get::<_, i64>("k").unwrap(), 42);
    assert_eq!(connection.get::<_, Option<String>>("absent").unwrap(), None);
    let info: InfoDict = redis::cmd("INFO").query(&mut connection).unwrap();
    assert_eq!(info.get::<String>("redis_mode").unwrap(), "standalone");
}

#[test]
fn strings_keys_and_expiry() {
    let server = Server::start(&[]);
    for protocol in PROTOCOLS {
        let mut c = connection(&server, protocol);
        let _: () = c.flushall().unwrap();
        let options = SetOptions::default().conditional_set(ExistenceCheck::NX).with_expiration(SetExpiry::EX(100));
        assert_eq!(c.set_options::<_, _, Value>("k", "v", options.clone()).unwrap(), Value::Okay);
        assert_eq!(c.set_options::<_, _, Value>("k", "w", options).unwrap(), Value::Nil);
        assert!(c.ttl::<_, i64>("k").unwrap() > 0);
        assert!(c.persist::<_, bool>("k").unwrap());
        let _: () = c.mset(&[("a", "1"), ("b", "2")]).unwrap();
        let values: Vec<Option<String>> = c.mget(&["a", "absent", "b"]).unwrap();
        assert_eq!(values, [Some("1".into()), None, Some("2".into())]);
        assert_eq!(c.incr::<_, _, i64>("a", 41).unwrap(), 42);
        assert_eq!(c.incr::<_, _, f64>("b", 0.5).unwrap(), 2.5);
        assert_eq!(c.getrange::<_, String>("k", 0, 0).unwrap(), "v");
        assert_eq!(c.del::<_, i64>(&["a", "b", "absent"]).unwrap(), 2);
        let bytes: Vec<u8> = (0..=255).collect();
        let _: () = c.set(&bytes, &bytes).unwrap();
        assert_eq!(c.get::<_, Vec<u8>>(&bytes).unwrap(), bytes);
        assert!(c.pexpire::<_, bool>("k", 20).unwrap());
        thread::sleep(Duration::from_millis(40));
        assert!(!c.exists::<_, bool>("k").unwrap());
    }
}

#[test]
fn scan_yields_every_key() {
    let server = Server::start(&[]);
    for protocol in PROTOCOLS {
        let mut c = connection(&server, protocol);
        let names: HashSet<String> = (0..1000).map(|i| format!("scan:{i}")).collect();
        let pairs: Vec<(&str, u8)> = names.iter().map(|name| (name.as_str(), 0)).collect();
        let _: () = c.mset(&pairs).unwrap();
        let _: () = c.set("other", 0).unwrap();
        let found: HashSet<String> = c.scan_match("scan:*").unwrap().collect::<RedisResult<_>>().unwrap();
        assert_eq!(found, names);
    }
}

#[test]
fn pipelines() {
    let server = Server::start(&[]);
    for protocol in PROTOCOLS {
        let mut c = connection(&server, protocol);
        let mut thousand = pipe();
        for i in 0..1000 {
            thousand.set(format!("k{i}"), i).ignore().get(format!("k{i}"));
        }
        assert_eq!(thousand.query::<Vec<i64>>(&mut c).unwrap(), (0..1000).collect::<Vec<i64>>());
        let failed = pipe().set("k", "text").incr("k", 1).get("k").query::<Value>(&mut c).unwrap_err();
        assert!(failed.to_string().contains("value is not an integer or out of range"), "{failed}");
        assert_eq!(c.get::<_, String>("k").unwrap(), "text");
    }
}

#[test]
fn errors_by_kind() {
    let server = Server::start(&[]);
    for protocol in PROTOCOLS {
        let mut c = connection(&server, protocol);
        let unknown = redis::cmd("NO-SUCH").arg("a").query::<Value>(&mut c).unwrap_err();
        assert_eq!(unknown.kind(), ErrorKind::Server(ServerErrorKind::ResponseError));
        assert_eq!(unknown.code(), Some("ERR"));
        assert_eq!(unknown.detail(), Some("unknown command 'NO-SUCH', with args beginning with: 'a' "));
        let arity = redis::cmd("GET").query::<Value>(&mut c).unwrap_err();
        assert_eq!(arity.detail(), Some("wrong number of arguments for 'get' command"));
        assert_eq!(redis::cmd("PING").query::<String>(&mut c).unwrap(), "PONG");
    }
}

#[test]
fn the_connection_says_who_it_is() {
    let server = Server::start(&[]);
    for protocol in PROTOCOLS {
        let client = Client::open(format!("{}/5", server.url())).unwrap();
        let info = client.get_connection_info().clone();
        let settings = info.redis_settings().clone().set_protocol(protocol).set_lib_name("the-lib", "1.2.3");
        let mut c = Client::open(info.set_redis_settings(settings)).unwrap().get_connection().unwrap();
        let _: () = c.client_setname("the-name").unwrap();
        let line: String = redis::cmd("CLIENT").arg("INFO").query(&mut c).unwrap();
        assert!(line.contains(" name=the-name ") && line.contains(" db=5 "), "{line}");
        let version: String = redis::cmd("INFO").arg("server").query::<InfoDict>(&mut c).unwrap().get("redis_version").unwrap();
        if !version.starts_with("7.0.") {
            assert!(line.contains(" lib-name=the-lib lib-ver=1.2.3"), "{line}");
        }
    }
}

#[test]
fn maps_and_nulls_of_resp3() {
    let server = Server::start(&[]);
    let mut c = connection(&server, ProtocolVersion::RESP3);
    let raw: Value = redis::cmd("CONFIG").arg("GET").arg("maxclients").query(&mut c).unwrap();
    assert!(matches!(&raw, Value::Map(pairs) if pairs.len() == 1), "{raw:?}");
    let config: HashMap<String, String> = redis::cmd("CONFIG").arg("GET").arg("maxclients").query(&mut c).unwrap();
    assert!(config["maxclients"].parse::<u32>().unwrap() > 0);
    let info: Value = redis::cmd("INFO").arg("server").query(&mut c).unwrap();
    assert!(matches!(info, Value::VerbatimString { .. }), "{info:?}");
    assert_eq!(c.get::<_, Value>("absent").unwrap(), Value::Nil);
}

#[test]
fn password() {
    let server = Server::start(&["--requirepass", PASSWORD]);
    for protocol in PROTOCOLS {
        let info = server.url().into_connection_info().unwrap();
        let settings = info.redis_settings().clone().set_protocol(protocol);
        let open = |settings| Client::open(info.clone().set_redis_settings(settings)).unwrap().get_connection();
        let mut c = open(settings.clone().set_password(PASSWORD)).unwrap();
        assert_eq!(c.ping::<String>().unwrap(), "PONG");
        let mut c = open(settings.clone().set_username("default").set_password(PASSWORD)).unwrap();
        assert_eq!(c.ping::<String>().unwrap(), "PONG");
        let Err(refused) = open(settings.clone().set_password("wrong")) else { panic!("a wrong password was taken") };
        // In RESP3 the password travels with HELLO, and the error is given as the server spelt it.
        let by_code = refused.code() == Some("WRONGPASS");
        assert!(by_code || refused.kind() == ErrorKind::AuthenticationFailed, "{refused}");
        let refused = open(settings).and_then(|mut c| c.ping::<String>()).unwrap_err();
        assert!(refused.to_string().contains("NOAUTH") || refused.to_string().contains("uthentication"), "{refused}");
    }
}

#[test]
fn unix_socket() {
    let server = Server::start(&[]);
    let mut c = Client::open(ConnectionAddr::Unix(server.socket())).unwrap().get_connection().unwrap();
    let _: () = c.set("k", "v").unwrap();
    assert_eq!(c.get::<_, String>("k").unwrap(), "v");
}

#[test]
fn forty_threads() {
    let server = Server::start(&[]);
    thread::scope(|scope| {
        for _ in 0..40 {
            scope.spawn(|| {
                let mut c = connection(&server, ProtocolVersion::RESP3);
                for _ in 0..25 {
                    let _: () = c.incr("n", 1).unwrap();
                }
            });
        }
    });
    assert_eq!(connection(&server, ProtocolVersion::RESP2).get::<_, i64>("n").unwrap(), 1000);
}

#[tokio::test]
async fn multiplexed() {
    let server = Server::start(&[]);
    for protocol in PROTOCOLS {
        in_time(async {
            let c = client(&server, protocol).get_multiplexed_async_connection().await.unwrap();
            let tasks: Vec<_> = (0..200)
                .map(|i| {
                    let mut c = c.clone();
                    tokio::spawn(async move {
                        let _: () = c.set(format!("k{i}"), i).await.unwrap();
                        c.get::<_, i64>(format!("k{i}")).await.unwrap()
                    })
                })
                .collect();
            for (i, task) in tasks.into_iter().enumerate() {
                assert_eq!(task.await.unwrap(), i as i64);
            }
            let mut c = c.clone();
            let replies: (Value, i64, Option<String>) =
                pipe().set("n", 1).incr("n", 1).get("none").query_async(&mut c).await.unwrap();
            assert_eq!(replies, (Value::Okay, 2, None));
            let found: HashSet<String> = c.scan_match::<_, String>("k1?").await.unwrap().map(Result::unwrap).collect().await;
            assert_eq!(found.len(), 10);
        })
        .await;
    }
}

#[tokio::test]
async fn a_manager_reconnects() {
    let server = Server::start(&[]);
    for protocol in PROTOCOLS {
        in_time(async {
            let mut manager = ConnectionManager::new(client(&server, protocol)).await.unwrap();
            let _: () = manager.set("k", "v").await.unwrap();
            let id: u64 = redis::cmd("CLIENT").arg("ID").query_async(&mut manager).await.unwrap();
            let mut other = client(&server, protocol).get_multiplexed_async_connection().await.unwrap();
            let killed: i64 = redis::cmd("CLIENT").arg("KILL").arg("ID").arg(id).query_async(&mut other).await.unwrap();
            assert_eq!(killed, 1);
            assert_eq!(first_success(&mut manager).await, Some("v".to_owned()));
        })
        .await;
    }
}

#[tokio::test]
async fn a_manager_finds_the_server_again() {
    let server = Server::start(&[]);
    let port = server.addr().port();
    let config = ConnectionManagerConfig::new().set_max_delay(Duration::from_millis(200)).set_number_of_retries(50);
    let mut manager = ConnectionManager::new_with_config(client(&server, ProtocolVersion::RESP3), config).await.unwrap();
    let _: () = manager.set("k", "v").await.unwrap();
    drop(server);
    let _server = Server::start_on(port, &[]);
    in_time(async { assert_eq!(first_success(&mut manager).await, None) }).await;
}

// The requests that were under way when the connection broke fail; one of those after it succeeds.
async fn first_success(manager: &mut ConnectionManager) -> Option<String> {
    loop {
        match manager.get("k").await {
            Ok(value) => return value,
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}
