//! Client-side caching: the cache of redis-rs, and the invalidations that fred hands on.

use std::time::Duration;

use fred::prelude::{
    Builder, ClientInterface, ClientLike, Config, KeysInterface, PubsubInterface, ServerConfig, TrackingInterface,
};
use fred::types::RespVersion;
use redis::aio::MultiplexedConnection;
use redis::caching::{CacheConfig, CacheMode};
use redis::{AsyncCommands, AsyncConnectionConfig, Client, CommandCacheConfig, InfoDict, cmd, pipe};
use redlet_rust_clients::Server;

async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), work).await.expect("done within 30 seconds")
}

// A connection with a cache, and one without.
async fn pair(server: &Server, mode: CacheMode) -> (MultiplexedConnection, MultiplexedConnection) {
    let config = AsyncConnectionConfig::new().set_cache_config(CacheConfig::new().set_mode(mode));
    let client = Client::open(format!("{}/?protocol=resp3", server.url())).unwrap();
    let cached = client.get_multiplexed_async_connection_with_config(&config).await.unwrap();
    (cached, client.get_multiplexed_async_connection().await.unwrap())
}

// How many GETs came to the server so far.
async fn gets(other: &mut MultiplexedConnection) -> u64 {
    let info: InfoDict = cmd("INFO").arg("commandstats").query_async(other).await.unwrap();
    let line: String = info.get("cmdstat_get").unwrap_or_default();
    line.split([',', '=']).nth(1).map_or(0, |calls| calls.parse().unwrap())
}

// Asks the cache until it gives `expected`: an invalidation takes its time.
async fn until(cached: &mut MultiplexedConnection, expected: Option<&str>) {
    while cached.get::<_, Option<String>>("k").await.unwrap().as_deref() != expected {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn redis_rs_asks_once_and_hears_of_every_change() {
    let server = Server::start(&[]);
    in_time(async {
        let (mut cached, mut other) = pair(&server, CacheMode::All).await;
        let _: () = other.set("k", "v").await.unwrap();
        for _ in 0..50 {
            assert_eq!(cached.get::<_, String>("k").await.unwrap(), "v");
        }
        assert_eq!(gets(&mut other).await, 1);
        let statistics = cached.get_cache_statistics().unwrap();
        assert_eq!((statistics.hit, statistics.miss), (49, 1));

        let _: () = other.set("k", "w").await.unwrap();
        until(&mut cached, Some("w")).await;
        let _: () = pipe().atomic().set("a", 1).append("k", "x").query_async(&mut other).await.unwrap();
        until(&mut cached, Some("wx")).await;
        let _: () = other.del("k").await.unwrap();
        until(&mut cached, None).await;
        let _: () = cached.set("k", "own").await.unwrap();
        until(&mut cached, Some("own")).await;
        let _: () = other.flushall().await.unwrap();
        until(&mut cached, None).await;
        let _: () = other.pset_ex("k", "short", 200).await.unwrap();
        until(&mut cached, Some("short")).await;
        until(&mut cached, None).await;
    })
    .await;
}

#[tokio::test]
async fn redis_rs_caches_what_it_was_told_to() {
    let server = Server::start(&[]);
    in_time(async {
        let (mut cached, mut other) = pair(&server, CacheMode::OptIn).await;
        let _: () = other.mset(&[("k", "v"), ("uncached", "x")]).await.unwrap();
        let mut get = cmd("GET");
        get.arg("k").set_cache_config(CommandCacheConfig::new().set_enable_cache(true));
        for _ in 0..10 {
            assert_eq!(get.query_async::<String>(&mut cached).await.unwrap(), "v");
            assert_eq!(cached.get::<_, String>("uncached").await.unwrap(), "x");
        }
        assert_eq!(gets(&mut other).await, 11);
        let _: () = other.set("k", "w").await.unwrap();
        while get.query_async::<String>(&mut cached).await.unwrap() != "w" {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn fred_hands_on_invalidations() {
    let server = Server::start(&[]);
    let config = |version| {
        let server = ServerConfig::new_centralized(server.addr().ip().to_string(), server.addr().port());
        Config { server, version, ..Config::default() }
    };
    in_time(async {
        let other = Builder::from_config(config(RespVersion::RESP2)).build().unwrap();
        let tracking = Builder::from_config(config(RespVersion::RESP3)).build().unwrap();
        other.init().await.unwrap();
        tracking.init().await.unwrap();
        let mut invalidations = tracking.invalidation_rx();
        tracking.start_tracking(None, false, false, false, false).await.unwrap();
        let _: Option<String> = tracking.get("k").await.unwrap();
        let _: () = other.mset(vec![("unread", "x"), ("k", "v")]).await.unwrap();
        assert_eq!(invalidations.recv().await.unwrap().keys, ["k".into()]);

        tracking.stop_tracking().await.unwrap();
        tracking.start_tracking(vec!["p:", "q:"], true, false, false, false).await.unwrap();
        let _: () = other.set("k", "w", None, None, false).await.unwrap();
        let _: () = other.set("q:1", "w", None, None, false).await.unwrap();
        assert_eq!(invalidations.recv().await.unwrap().keys, ["q:1".into()], "its prefixes, whether it read them or not");
        tracking.quit().await.unwrap();
        other.quit().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn fred_redirects_invalidations_in_resp2() {
    let server = Server::start(&[]);
    in_time(async {
        let at = ServerConfig::new_centralized(server.addr().ip().to_string(), server.addr().port());
        let subscriber = Builder::from_config(Config { server: at, ..Config::default() }).build().unwrap();
        let client = subscriber.clone_new();
        subscriber.init().await.unwrap();
        client.init().await.unwrap();
        let mut invalidations = subscriber.invalidation_rx();
        subscriber.subscribe("__redis__:invalidate").await.unwrap();
        let id = subscriber.connection_ids().into_iter().next().unwrap().1;
        let _: () = client.client_tracking("on", Some(id), None, false, false, false, false).await.unwrap();
        assert_eq!(client.client_getredir::<i64>().await.unwrap(), id);
        let _: Option<String> = client.get("k").await.unwrap();
        let _: () = client.set("k", "v", None, None, false).await.unwrap();
        assert_eq!(invalidations.recv().await.unwrap().keys, ["k".into()]);
        client.quit().await.unwrap();
        subscriber.quit().await.unwrap();
    })
    .await;
}
