//! Transactions of redis-rs and fred: atomic pipelines, WATCH loops under contention, and what fails inside.

use std::thread;
use std::time::Duration;

use fred::prelude::{Builder, ClientLike, Config, KeysInterface, ServerConfig, TransactionInterface};
use fred::types::RespVersion;
use futures_util::future::join_all;
use redis::aio::transaction_async;
use redis::{AsyncCommands, Client, Commands, IntoConnectionInfo, ProtocolVersion, RedisResult, Value, pipe, transaction};
use redlet_rust_clients::Server;

const PROTOCOLS: [ProtocolVersion; 2] = [ProtocolVersion::RESP2, ProtocolVersion::RESP3];
const WORKERS: usize = 6;
const ROUNDS: usize = 20;

fn client(server: &Server, protocol: ProtocolVersion) -> Client {
    let info = server.url().into_connection_info().unwrap();
    let settings = info.redis_settings().clone().set_protocol(protocol);
    Client::open(info.set_redis_settings(settings)).unwrap()
}

async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), work).await.expect("done within 30 seconds")
}

#[test]
fn atomic_pipelines() {
    let server = Server::start(&[]);
    for protocol in PROTOCOLS {
        let mut c = client(&server, protocol).get_connection().unwrap();
        c.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let replies: (i64, String) = pipe().atomic().set("k", 1).ignore().incr("k", 1).get("k").query(&mut c).unwrap();
        assert_eq!(replies, (2, "2".to_owned()));
        let mut thousands = pipe();
        thousands.atomic();
        for i in 0..3000 {
            thousands.set(format!("k{i}"), i).ignore().get(format!("k{i}"));
        }
        assert_eq!(thousands.query::<Vec<i64>>(&mut c).unwrap(), (0..3000).collect::<Vec<i64>>());
        let failed = pipe().atomic().set("k", "text").incr("k", 1).append("k", "!").query::<Value>(&mut c).unwrap_err();
        assert!(failed.to_string().contains("value is not an integer or out of range"), "{failed}");
        assert_eq!(c.get::<_, String>("k").unwrap(), "text!", "what came after the error was done");
        let aborted = pipe().atomic().set("k", "lost").cmd("NO-SUCH").query::<Value>(&mut c).unwrap_err();
        assert!(aborted.to_string().contains("unknown command 'NO-SUCH'"), "{aborted}");
        assert_eq!(c.get::<_, String>("k").unwrap(), "text!");
    }
}

#[test]
fn increments_of_many_threads_by_watch() {
    let server = Server::start(&[]);
    for protocol in PROTOCOLS {
        let mut reader = client(&server, protocol).get_connection().unwrap();
        let _: () = reader.set("n", 0).unwrap();
        thread::scope(|scope| {
            for _ in 0..WORKERS {
                scope.spawn(|| {
                    let mut c = client(&server, protocol).get_connection().unwrap();
                    c.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
                    for _ in 0..ROUNDS {
                        let _: () = transaction(&mut c, &["n"], |c, pipe| {
                            let value: usize = c.get("n")?;
                            pipe.set("n", value + 1).query(c)
                        })
                        .unwrap();
                    }
                });
            }
        });
        assert_eq!(reader.get::<_, usize>("n").unwrap(), WORKERS * ROUNDS);
    }
}

#[tokio::test]
async fn increments_of_many_tasks_by_watch() {
    let server = Server::start(&[]);
    for protocol in PROTOCOLS {
        let client = client(&server, protocol);
        let mut reader = client.get_multiplexed_async_connection().await.unwrap();
        let _: () = reader.set("n", 0).await.unwrap();
        in_time(join_all((0..WORKERS).map(|_| async {
            // What is watched belongs to a connection, so that each task has its own.
            let connection = client.get_multiplexed_async_connection().await.unwrap();
            for _ in 0..ROUNDS {
                let done: RedisResult<()> = transaction_async(connection.clone(), &["n"], |mut c, mut pipe| async move {
                    let value: usize = c.get("n").await?;
                    pipe.set("n", value + 1).query_async(&mut c).await
                })
                .await;
                done.unwrap();
            }
        })))
        .await;
        assert_eq!(reader.get::<_, usize>("n").await.unwrap(), WORKERS * ROUNDS);
    }
}

#[tokio::test]
async fn atomic_pipelines_of_one_multiplexed_connection() {
    let server = Server::start(&[]);
    for protocol in PROTOCOLS {
        let connection = client(&server, protocol).get_multiplexed_async_connection().await.unwrap();
        in_time(join_all((0..200_i64).map(|i| {
            let mut c = connection.clone();
            async move {
                let key = format!("k{i}");
                let replies: (Value, i64, i64) =
                    pipe().atomic().set(&key, i).incr(&key, 1).get(&key).query_async(&mut c).await.unwrap();
                assert_eq!(replies, (Value::Okay, i + 1, i + 1));
            }
        })))
        .await;
    }
}

#[tokio::test]
async fn transactions_of_fred() {
    let server = Server::start(&[]);
    for version in [RespVersion::RESP2, RespVersion::RESP3] {
        let at = ServerConfig::new_centralized(server.addr().ip().to_string(), server.addr().port());
        let client = Builder::from_config(Config { server: at, version, ..Config::default() }).build().unwrap();
        in_time(client.init()).await.unwrap();
        let multi = client.multi();
        let queued: fred::types::Value = multi.set("k", 1, None, None, false).await.unwrap();
        assert!(queued.is_queued());
        let _: () = multi.incr("k").await.unwrap();
        let _: () = multi.get("k").await.unwrap();
        let replies: (String, i64, String) = in_time(multi.exec(true)).await.unwrap();
        assert_eq!(replies, ("OK".to_owned(), 2, "2".to_owned()));
        let multi = client.multi();
        let _: () = multi.set("k", "text", None, None, false).await.unwrap();
        let _: () = multi.incr("k").await.unwrap();
        let failed = in_time(multi.exec::<Vec<fred::types::Value>>(false)).await;
        let told = format!("{failed:?}");
        assert!(told.contains("value is not an integer or out of range"), "{told}");
        assert_eq!(client.get::<String, _>("k").await.unwrap(), "text");
        let pipeline = client.pipeline();
        for _ in 0..1000 {
            let _: () = pipeline.incr("n").await.unwrap();
        }
        assert!(in_time(pipeline.last::<i64>()).await.unwrap() >= 1000);
        client.quit().await.unwrap();
    }
}
