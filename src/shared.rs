//! What all connections of a server share.

use std::net::SocketAddr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

use parking_lot::Mutex;

use crate::clients::Clients;
use crate::clock::{Clock, UnixMillis};
use crate::config::Config;
use crate::error::Error;
use crate::latency::Latency;
use crate::log::Log;
use crate::pubsub::PubSub;
use crate::settings::Settings;
use crate::slowlog::SlowLog;
use crate::stats::Stats;
use crate::store::Store;
use crate::tracking::Tracking;
use crate::watched::Watched;

/// One server's keyspace, clock, clients, parameters and counters.
#[derive(Debug)]
pub struct Shared {
    /// The keyspace.
    pub store: Store,
    /// The one clock.
    pub clock: Clock,
    /// The connections.
    pub clients: Clients,
    /// The runtime parameters.
    pub settings: Settings,
    /// The counters.
    pub stats: Stats,
    /// The slow log.
    pub slowlog: SlowLog,
    /// The subscriptions.
    pub pubsub: PubSub,
    /// What clients may have kept.
    pub tracking: Tracking,
    /// The keys that clients watch.
    pub watched: Watched,
    /// The slow moments.
    pub latency: Latency,
    /// Where the server says what happens to it.
    pub log: Log,
    /// How it was started.
    pub config: Config,
    /// When it was started.
    pub started: UnixMillis,
    /// 40 hexadecimal digits that no other server has.
    pub run_id: String,
    /// The first TCP address it listens on.
    pub addr: OnceLock<SocketAddr>,
    stopping: AtomicBool,
    /// Of the one who runs the server.
    stop_waker: Mutex<Option<Waker>>,
}

impl Shared {
    /// The state of a server that is about to start.
    ///
    /// # Errors
    /// A parameter in `config` that is unknown or has no such value.
    pub fn new(config: Config) -> Result<Self, Error> {
        config.check()?;
        let clock = Clock::default();
        let started = clock.now();
        let settings =
            Settings::new(&config).map_err(|refused| Error::Parameter(String::from_utf8_lossy(&refused.wire()).into_owned()))?;
        let shards = config.shards.next_power_of_two();
        Ok(Self {
            log: Log::new(settings.loglevel()),
            store: Store::new(config.databases, shards),
            clients: Clients::default(),
            settings,
            stats: Stats::default(),
            slowlog: SlowLog::default(),
            pubsub: PubSub::default(),
            tracking: Tracking::default(),
            watched: Watched::default(),
            latency: Latency::default(),
            config,
            started,
            run_id: run_id(),
            addr: OnceLock::new(),
            stopping: AtomicBool::new(false),
            stop_waker: Mutex::default(),
            clock,
        })
    }

    /// Has the server stop accepting, answer what is in, and end: `SHUTDOWN`, a signal, a dropped handle.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        let waker = self.stop_waker.lock().take();
        if let Some(waker) = waker {
            waker.wake();
        }
        self.clients.wake_all();
    }

    /// Whether it is ending.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Has `waker`, and no earlier one, woken when the server is told to end. Ask [`Self::is_stopping`] afterwards, so that nothing
    /// is missed.
    pub fn on_stop(&self, waker: &Waker) {
        *self.stop_waker.lock() = Some(waker.clone());
    }
}

/// Random digits: two keyed hashes whose seeds come from the operating system.
fn run_id() -> String {
    let random = |salt: &[u8]| crate::store::Hasher::new().hash(salt);
    format!("{:016x}{:016x}{:08x}", random(b"a"), random(b"b"), random(b"c") >> 32)
}
