//! Publish and subscribe, and keyspace events, with redis-rs and fred.

use std::collections::HashMap;
use std::time::Duration;

use fred::prelude::{
    Builder, ClientInterface, ClientLike, ConfigInterface, EventInterface, KeysInterface, PubsubInterface, ReconnectPolicy,
    ServerConfig,
};
use fred::types::{Expiration, RespVersion};
use futures_util::StreamExt;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{
    AsyncCommands, AsyncConnectionConfig, Client, Commands, ControlFlow, IntoConnectionInfo, Msg, ProtocolVersion, PubSubCommands,
    PushInfo, PushKind, Value, cmd, pipe,
};
use redlet_rust_clients::Server;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

const PROTOCOLS: [ProtocolVersion; 2] = [ProtocolVersion::RESP2, ProtocolVersion::RESP3];

fn client(server: &Server, protocol: ProtocolVersion) -> Client {
    let info = server.url().into_connection_info().unwrap();
    let settings = info.redis_settings().clone().set_protocol(protocol);
    Client::open(info.set_redis_settings(settings)).unwrap()
}

async fn in_time<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(30), work).await.expect("done within 30 seconds")
}

fn text(message: &Msg) -> (String, String) {
    (message.get_channel_name().to_owned(), message.get_payload().unwrap())
}

#[test]
fn blocking() {
    let server = Server::start(&[]);
    for protocol in PROTOCOLS {
        let client = client(&server, protocol);
        let mut publisher = client.get_connection().unwrap();
        let mut subscriber = client.get_connection().unwrap();
        let mut pubsub = subscriber.as_pubsub();
        pubsub.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        pubsub.subscribe(&["a", "b"]).unwrap();
        pubsub.psubscribe("p*").unwrap();
        let mut thousand = pipe();
        for i in 0..1000 {
            thousand.publish("a", i);
        }
        assert_eq!(thousand.query::<Vec<i64>>(&mut publisher).unwrap(), [1; 1000]);
        for i in 0..1000 {
            assert_eq!(text(&pubsub.get_message().unwrap()), ("a".to_owned(), i.to_string()));
        }
        assert_eq!(publisher.publish::<_, _, i64>("p1", "x").unwrap(), 1);
        let message = pubsub.get_message().unwrap();
        assert_eq!(message.get_pattern::<String>().unwrap(), "p*");
        pubsub.unsubscribe("a").unwrap();
        assert_eq!(publisher.publish::<_, _, i64>("a", "x").unwrap(), 0);
        drop(pubsub);
        assert_eq!(subscriber.get::<_, Option<String>>("absent").unwrap(), None, "the connection is an ordinary one again");

        publisher.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let publishing = std::thread::spawn(move || {
            // Again until somebody is there: the other end subscribes meanwhile.
            while publisher.publish::<_, _, i64>("late", "x").unwrap() == 0 {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let heard: String = subscriber.subscribe("late", |message| ControlFlow::Break(message.get_payload().unwrap())).unwrap();
        assert_eq!(heard, "x");
        publishing.join().unwrap();
    }
}

#[tokio::test]
async fn asynchronous() {
    let server = Server::start(&[]);
    for protocol in PROTOCOLS {
        in_time(async {
            let client = client(&server, protocol);
            let mut publisher = client.get_multiplexed_async_connection().await.unwrap();
            let (mut sink, mut messages) = client.get_async_pubsub().await.unwrap().split();
            sink.subscribe("c").await.unwrap();
            sink.psubscribe("c*").await.unwrap();
            let replies: Vec<i64> = pipe().atomic().publish("c", 1).publish("c2", 2).query_async(&mut publisher).await.unwrap();
            assert_eq!(replies, [2, 1]);
            let mut heard = Vec::new();
            for _ in 0..3 {
                heard.push(text(&messages.next().await.unwrap()));
            }
            assert_eq!(heard, [("c", "1"), ("c", "1"), ("c2", "2")].map(|(c, m)| (c.to_owned(), m.to_owned())));
            sink.unsubscribe("c").await.unwrap();
            sink.punsubscribe("c*").await.unwrap();
            assert_eq!(publisher.publish::<_, _, i64>("c", 3).await.unwrap(), 0);
        })
        .await;
    }
}

// The next push of `kind`, whatever else is told before it.
async fn push_of(kind: PushKind, pushes: &mut UnboundedReceiver<PushInfo>) -> Vec<Value> {
    loop {
        let push = pushes.recv().await.expect("the connection is there");
        if push.kind == kind {
            return push.data;
        }
    }
}

fn bulk(text: &str) -> Value {
    Value::BulkString(text.as_bytes().to_vec())
}

#[tokio::test]
async fn pushes_between_the_replies_of_a_multiplexed_connection() {
    let server = Server::start(&[]);
    in_time(async {
        let (sender, mut pushes) = unbounded_channel();
        let config = AsyncConnectionConfig::new().set_push_sender(sender);
        let client = client(&server, ProtocolVersion::RESP3);
        let mut c = client.get_multiplexed_async_connection_with_config(&config).await.unwrap();
        c.subscribe("c").await.unwrap();
        for i in 0..100 {
            let replies: (Value, i64, i64) = pipe().set("k", i).publish("c", i).get("k").query_async(&mut c).await.unwrap();
            assert_eq!(replies, (Value::Okay, 1, i));
            assert_eq!(push_of(PushKind::Message, &mut pushes).await, [bulk("c"), bulk(&i.to_string())]);
        }
        let _: () = cmd("SSUBSCRIBE").arg("s").query_async(&mut c).await.unwrap();
        assert_eq!(cmd("SPUBLISH").arg("s").arg("x").query_async::<i64>(&mut c).await.unwrap(), 1);
        assert_eq!(push_of(PushKind::SMessage, &mut pushes).await, [bulk("s"), bulk("x")]);
    })
    .await;
}

#[tokio::test]
async fn a_killed_manager_subscribes_again() {
    let server = Server::start(&[]);
    in_time(async {
        let (sender, mut pushes) = unbounded_channel();
        let config = ConnectionManagerConfig::new().set_push_sender(sender).set_automatic_resubscription();
        let client = client(&server, ProtocolVersion::RESP3);
        let mut manager = ConnectionManager::new_with_config(client.clone(), config).await.unwrap();
        manager.subscribe("c").await.unwrap();
        let mut other = client.get_multiplexed_async_connection().await.unwrap();
        let killed: i64 = cmd("CLIENT").arg("KILL").arg("TYPE").arg("pubsub").query_async(&mut other).await.unwrap();
        assert_eq!(killed, 1);
        while other.publish::<_, _, i64>("c", "again").await.unwrap() == 0 {
            // A manager connects again when it is asked for something.
            let _ = manager.get::<_, Option<String>>("absent").await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(push_of(PushKind::Message, &mut pushes).await, [bulk("c"), bulk("again")]);
    })
    .await;
}

#[tokio::test]
async fn fred_subscribes_again_and_hears_keyspace_events() {
    let server = Server::start(&[]);
    for version in [RespVersion::RESP2, RespVersion::RESP3] {
        let at = ServerConfig::new_centralized(server.addr().ip().to_string(), server.addr().port());
        let config = fred::types::config::Config { server: at, version, ..Default::default() };
        let builder = Builder::from_config(config).set_policy(ReconnectPolicy::new_constant(100, 50)).clone();
        in_time(async {
            let client = builder.build().unwrap();
            client.init().await.unwrap();
            let _: () = client.config_set("notify-keyspace-events", "KEA").await.unwrap();
            let subscriber = builder.build_subscriber_client().unwrap();
            subscriber.init().await.unwrap();
            let managed = subscriber.manage_subscriptions();
            let (mut messages, mut events) = (subscriber.message_rx(), subscriber.keyspace_event_rx());
            subscriber.subscribe("c").await.unwrap();
            subscriber.ssubscribe("s").await.unwrap();
            subscriber.psubscribe("__keyevent@*__:*").await.unwrap();
            assert_eq!(client.publish::<i64, _, _>("c", "x").await.unwrap(), 1);
            assert_eq!(client.spublish::<i64, _, _>("s", "y").await.unwrap(), 1);
            for expected in ["x", "y"] {
                assert_eq!(messages.recv().await.unwrap().value.convert::<String>().unwrap(), expected);
            }
            let _: () = client.set("k", "v", Some(Expiration::PX(100)), None, false).await.unwrap();
            for expected in ["set", "expire", "expired"] {
                assert_eq!(events.recv().await.unwrap().operation, expected);
            }
            let subscribed: HashMap<String, i64> = client.pubsub_numsub("c").await.unwrap();
            assert_eq!(subscribed["c"], 1);
            let id = subscriber.connection_ids().into_iter().next().unwrap().1;
            let filter = fred::types::client::ClientKillFilter::ID(id.to_string());
            assert_eq!(client.client_kill::<i64>(vec![filter]).await.unwrap(), 1);
            while client.publish::<i64, _, _>("c", "again").await.unwrap() == 0 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            assert_eq!(messages.recv().await.unwrap().value.convert::<String>().unwrap(), "again");
            subscriber.quit().await.unwrap();
            managed.abort();
            client.quit().await.unwrap();
        })
        .await;
    }
}
