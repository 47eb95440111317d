//! The runtime parameters: what `CONFIG GET` answers and `CONFIG SET` changes.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};

use parking_lot::RwLock;

use crate::secret;

/// Parameters that are looked at on the data path or by the socket layer. Each is read with one relaxed load.
#[derive(Debug)]
pub struct Settings {
    /// `requirepass`; empty when none is required.
    requirepass: RwLock<Vec<u8>>,
    password_required: AtomicBool,
    /// `proto-max-bulk-len` in bytes.
    pub bulk_bytes_max: AtomicU64,
    /// `client-query-buffer-limit` in bytes.
    pub query_bytes_max: AtomicU64,
    /// `maxclients`.
    pub maxclients: AtomicU64,
    /// `timeout` in seconds; 0 is never.
    pub timeout_seconds: AtomicU64,
    /// `tcp-keepalive` in seconds; 0 is off.
    pub keepalive_seconds: AtomicU64,
    /// `slowlog-log-slower-than` in microseconds; negative is never.
    pub slowlog_micros: AtomicI64,
    /// `slowlog-max-len`.
    pub slowlog_len_max: AtomicUsize,
    /// Whether `maxmemory-policy` is one of the LFU policies.
    pub lfu: AtomicBool,
    /// Whether the sweeper runs: `DEBUG SET-ACTIVE-EXPIRE`.
    pub active_expire: AtomicBool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            requirepass: RwLock::default(),
            password_required: AtomicBool::new(false),
            bulk_bytes_max: AtomicU64::new(512 * 1024 * 1024),
            query_bytes_max: AtomicU64::new(1024 * 1024 * 1024),
            maxclients: AtomicU64::new(10_000),
            timeout_seconds: AtomicU64::new(0),
            keepalive_seconds: AtomicU64::new(300),
            slowlog_micros: AtomicI64::new(10_000),
            slowlog_len_max: AtomicUsize::new(128),
            lfu: AtomicBool::new(false),
            active_expire: AtomicBool::new(true),
        }
    }
}

impl Settings {
    /// Whether a new connection must authenticate.
    pub fn password_required(&self) -> bool {
        self.password_required.load(Ordering::Acquire)
    }

    /// Whether `password` is the required one. How long it takes tells nothing about the required one.
    pub fn password_is(&self, password: &[u8]) -> bool {
        secret::is_same(&self.requirepass.read(), password)
    }

    /// Requires `password` of new connections; an empty one requires none.
    pub fn set_password(&self, password: &[u8]) {
        *self.requirepass.write() = password.to_vec();
        self.password_required.store(!password.is_empty(), Ordering::Release);
    }
}
