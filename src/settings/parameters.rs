//! The table of parameters: all that Redis 7 knows, whether or not they mean something here.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize};

use super::Settings;
use super::kind::Kind;
use super::special::{
    activedefrag, client_output_buffer_limit, hostname, hz, notify_keyspace_events, oom_score_adj_values, percentiles,
    repl_backlog_size, save, title_template,
};

/// One parameter.
#[derive(Debug)]
pub struct Parameter {
    /// Its name in lower case.
    pub name: &'static str,
    /// What it is before anyone sets it, in the form in which `CONFIG GET` answers it.
    pub default: &'static str,
    /// What it does here.
    pub effect: Effect,
    kind: Kind,
    settable: Settable,
    /// The parameter of which this is an older name.
    alias_of: Option<&'static str>,
}

/// What a parameter does here.
#[derive(Clone, Copy, Debug)]
pub enum Effect {
    /// Nothing: it is kept and returned.
    None,
    /// It tells how the server was started.
    AtStart,
    /// It is looked up whenever it is needed.
    LookedUp,
    /// It is the log's level, which the log itself keeps.
    Log,
    /// It is this number, not negative.
    Count(fn(&Settings) -> &AtomicU64),
    /// It is this number.
    Number(fn(&Settings) -> &AtomicI64),
    /// It is this length.
    Length(fn(&Settings) -> &AtomicUsize),
    /// It is this switch.
    Switch(fn(&Settings) -> &AtomicBool),
    /// It is the password.
    Password,
    /// It says how much may wait for a client.
    OutputLimits,
    /// It says which events of keys are told.
    Events,
    /// It decides between the two ways of noting a key's use.
    Policy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settable {
    Always,
    AtStart,
    Protected,
}

impl Parameter {
    const fn new(name: &'static str, default: &'static str, kind: Kind) -> Self {
        Self { name, default, effect: Effect::None, kind, settable: Settable::Always, alias_of: None }
    }

    const fn alias(name: &'static str, of: &'static str) -> Self {
        Self { alias_of: Some(of), ..Self::new(name, "", Kind::Text) }
    }

    const fn immutable(self) -> Self {
        Self { settable: Settable::AtStart, ..self }
    }

    const fn protected(self) -> Self {
        Self { settable: Settable::Protected, ..self }
    }

    const fn acts(self, effect: Effect) -> Self {
        Self { effect, ..self }
    }

    /// The name under which its value is kept: its own, or that of the parameter of which it is an older name.
    pub fn first_name(&self) -> &'static str {
        self.alias_of.unwrap_or(self.name)
    }

    /// What it takes.
    pub fn kind(&self) -> Kind {
        self.first().kind
    }

    fn first(&self) -> &Self {
        self.alias_of.and_then(|name| find(name.as_bytes())).unwrap_or(self)
    }

    /// Why `CONFIG SET` may not change it, if it may not.
    pub(super) fn unsettable(&self) -> Option<&'static str> {
        match self.first().settable {
            Settable::Always => None,
            Settable::AtStart => Some("can't set immutable config"),
            Settable::Protected => Some("can't set protected config"),
        }
    }
}

/// The parameter of this name, in any case of letters.
pub fn find(name: &[u8]) -> Option<&'static Parameter> {
    let name = name.to_ascii_lowercase();
    let place = PARAMETERS.binary_search_by(|parameter| parameter.name.as_bytes().cmp(&name)).ok()?;
    Some(&PARAMETERS[place])
}

pub(super) const INT_MAX: i64 = i32::MAX as i64;
const INT_MIN: i64 = i32::MIN as i64;
const UINT_MAX: i64 = u32::MAX as i64;
const PORT_MAX: i64 = u16::MAX as i64;
pub(super) const LLONG_MAX: u64 = i64::MAX as u64;

const POLICIES: &[&str] = &[
    "volatile-lru",
    "volatile-lfu",
    "volatile-random",
    "volatile-ttl",
    "allkeys-lru",
    "allkeys-lfu",
    "allkeys-random",
    "noeviction",
];

/// All parameters, sorted by name.
pub static PARAMETERS: &[Parameter] = &[
    Parameter::new("acl-pubsub-default", "resetchannels", Kind::Enum(&["allchannels", "resetchannels"])),
    Parameter::new("aclfile", "", Kind::Text).immutable(),
    Parameter::new("acllog-max-len", "128", Kind::Int(0, i64::MAX)),
    Parameter::new("active-defrag-cycle-max", "25", Kind::Int(1, 99)),
    Parameter::new("active-defrag-cycle-min", "1", Kind::Int(1, 99)),
    Parameter::new("active-defrag-ignore-bytes", "104857600", Kind::Memory(1, LLONG_MAX)),
    Parameter::new("active-defrag-max-scan-fields", "1000", Kind::Int(1, i64::MAX)),
    Parameter::new("active-defrag-threshold-lower", "10", Kind::Int(0, 1_000)),
    Parameter::new("active-defrag-threshold-upper", "100", Kind::Int(0, 1_000)),
    Parameter::new("active-expire-effort", "1", Kind::Int(1, 10)),
    Parameter::new("activedefrag", "no", Kind::Special(activedefrag)),
    Parameter::new("activerehashing", "yes", Kind::Bool),
    Parameter::new("always-show-logo", "no", Kind::Text).immutable(),
    Parameter::new("aof-disable-auto-gc", "no", Kind::Bool),
    Parameter::new("aof-load-truncated", "yes", Kind::Bool),
    Parameter::new("aof-rewrite-incremental-fsync", "yes", Kind::Bool),
    Parameter::new("aof-timestamp-enabled", "no", Kind::Bool),
    Parameter::new("aof-use-rdb-preamble", "yes", Kind::Bool),
    Parameter::new("aof_rewrite_cpulist", "", Kind::Text).immutable(),
    Parameter::new("appenddirname", "appendonlydir", Kind::Text).immutable(),
    Parameter::new("appendfilename", "appendonly.aof", Kind::Text).immutable(),
    Parameter::new("appendfsync", "everysec", Kind::Enum(&["everysec", "always", "no"])),
    Parameter::new("appendonly", "no", Kind::Bool),
    Parameter::new("auto-aof-rewrite-min-size", "67108864", Kind::Memory(0, LLONG_MAX)),
    Parameter::new("auto-aof-rewrite-percentage", "100", Kind::Int(0, INT_MAX)),
    Parameter::new("bgsave_cpulist", "", Kind::Text).immutable(),
    Parameter::new("bind", "127.0.0.1 ::1", Kind::Text).immutable().acts(Effect::AtStart),
    Parameter::new("bind-source-addr", "", Kind::Text),
    Parameter::new("bio_cpulist", "", Kind::Text).immutable(),
    Parameter::new("busy-reply-threshold", "5000", Kind::Int(0, i64::MAX)),
    Parameter::new(
        "client-output-buffer-limit",
        "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60",
        Kind::Special(client_output_buffer_limit),
    )
    .acts(Effect::OutputLimits),
    Parameter::new("client-query-buffer-limit", "1073741824", Kind::Memory(1_048_576, LLONG_MAX))
        .acts(Effect::Count(|settings| &settings.query_bytes_max)),
    Parameter::new("cluster-allow-pubsubshard-when-down", "yes", Kind::Bool),
    Parameter::new("cluster-allow-reads-when-down", "no", Kind::Bool),
    Parameter::new("cluster-allow-replica-migration", "yes", Kind::Bool),
    Parameter::new("cluster-announce-bus-port", "0", Kind::Int(0, PORT_MAX)),
    Parameter::new("cluster-announce-hostname", "", Kind::Special(hostname)),
    Parameter::new("cluster-announce-human-nodename", "", Kind::Text),
    Parameter::new("cluster-announce-ip", "", Kind::Text),
    Parameter::new("cluster-announce-port", "0", Kind::Int(0, PORT_MAX)),
    Parameter::new("cluster-announce-tls-port", "0", Kind::Int(0, PORT_MAX)),
    Parameter::new("cluster-config-file", "nodes.conf", Kind::Text).immutable(),
    Parameter::new("cluster-enabled", "no", Kind::Text).immutable(),
    Parameter::new("cluster-link-sendbuf-limit", "0", Kind::Memory(0, u64::MAX)),
    Parameter::new("cluster-migration-barrier", "1", Kind::Int(0, INT_MAX)),
    Parameter::new("cluster-node-timeout", "15000", Kind::Int(0, i64::MAX)),
    Parameter::new("cluster-port", "0", Kind::Text).immutable(),
    Parameter::new("cluster-preferred-endpoint-type", "ip", Kind::Enum(&["ip", "hostname", "unknown-endpoint"])),
    Parameter::new("cluster-replica-no-failover", "no", Kind::Bool),
    Parameter::new("cluster-replica-validity-factor", "10", Kind::Int(0, INT_MAX)),
    Parameter::new("cluster-require-full-coverage", "yes", Kind::Bool),
    Parameter::alias("cluster-slave-no-failover", "cluster-replica-no-failover"),
    Parameter::alias("cluster-slave-validity-factor", "cluster-replica-validity-factor"),
    Parameter::new("crash-log-enabled", "no", Kind::Bool),
    Parameter::new("crash-memcheck-enabled", "no", Kind::Bool),
    Parameter::new("daemonize", "no", Kind::Text).immutable(),
    Parameter::new("databases", "16", Kind::Text).immutable().acts(Effect::AtStart),
    Parameter::new("dbfilename", "dump.rdb", Kind::Text).protected(),
    Parameter::new("dir", "", Kind::Text).protected(),
    Parameter::new("disable-thp", "no", Kind::Text).immutable(),
    Parameter::new("dynamic-hz", "yes", Kind::Bool),
    Parameter::new("enable-debug-command", "local", Kind::Text).immutable().acts(Effect::AtStart),
    Parameter::new("enable-module-command", "no", Kind::Text).immutable(),
    Parameter::new("enable-protected-configs", "no", Kind::Text).immutable(),
    Parameter::new("hash-max-listpack-entries", "512", Kind::Int(0, i64::MAX)),
    Parameter::new("hash-max-listpack-value", "64", Kind::Memory(0, LLONG_MAX)),
    Parameter::alias("hash-max-ziplist-entries", "hash-max-listpack-entries"),
    Parameter::alias("hash-max-ziplist-value", "hash-max-listpack-value"),
    Parameter::new("hide-user-data-from-log", "no", Kind::Bool),
    Parameter::new("hll-sparse-max-bytes", "3000", Kind::Memory(0, LLONG_MAX)),
    Parameter::new("hz", "10", Kind::Special(hz)),
    Parameter::new("ignore-warnings", "", Kind::Text),
    Parameter::new("io-threads", "1", Kind::Text).immutable().acts(Effect::AtStart),
    Parameter::new("io-threads-do-reads", "no", Kind::Text).immutable(),
    Parameter::new("jemalloc-bg-thread", "yes", Kind::Bool),
    Parameter::new("latency-monitor-threshold", "0", Kind::Int(0, i64::MAX))
        .acts(Effect::Count(|settings| &settings.latency_millis)),
    Parameter::new("latency-tracking", "yes", Kind::Bool).acts(Effect::Switch(|settings| &settings.latency_tracking)),
    Parameter::new("latency-tracking-info-percentiles", "50 99 99.9", Kind::Special(percentiles)).acts(Effect::LookedUp),
    Parameter::new("lazyfree-lazy-eviction", "no", Kind::Bool),
    Parameter::new("lazyfree-lazy-expire", "no", Kind::Bool),
    Parameter::new("lazyfree-lazy-server-del", "no", Kind::Bool),
    Parameter::new("lazyfree-lazy-user-del", "no", Kind::Bool),
    Parameter::new("lazyfree-lazy-user-flush", "no", Kind::Bool),
    Parameter::new("lfu-decay-time", "1", Kind::Int(0, INT_MAX)),
    Parameter::new("lfu-log-factor", "10", Kind::Int(0, INT_MAX)),
    Parameter::new("list-compress-depth", "0", Kind::Int(0, INT_MAX)),
    Parameter::new("list-max-listpack-size", "-2", Kind::Int(INT_MIN, INT_MAX)),
    Parameter::alias("list-max-ziplist-size", "list-max-listpack-size"),
    Parameter::new("locale-collate", "", Kind::Text),
    Parameter::new("logfile", "", Kind::Text).immutable(),
    Parameter::new("loglevel", "notice", Kind::Enum(&["debug", "verbose", "notice", "warning", "nothing"])).acts(Effect::Log),
    Parameter::alias("lua-time-limit", "busy-reply-threshold"),
    Parameter::new("masterauth", "", Kind::Text),
    Parameter::new("masteruser", "", Kind::Text),
    Parameter::new("max-new-connections-per-cycle", "10", Kind::Int(1, 1000)),
    Parameter::new("max-new-tls-connections-per-cycle", "1", Kind::Int(1, 1000)),
    Parameter::new("maxclients", "10000", Kind::Int(1, UINT_MAX)).acts(Effect::Count(|settings| &settings.maxclients)),
    Parameter::new("maxmemory", "0", Kind::Memory(0, u64::MAX)),
    Parameter::new("maxmemory-clients", "0", Kind::MemoryOrPercent),
    Parameter::new("maxmemory-eviction-tenacity", "10", Kind::Int(0, 100)),
    Parameter::new("maxmemory-policy", "noeviction", Kind::Enum(POLICIES)).acts(Effect::Policy),
    Parameter::new("maxmemory-samples", "5", Kind::Int(1, INT_MAX)),
    Parameter::new("min-replicas-max-lag", "10", Kind::Int(0, INT_MAX)),
    Parameter::new("min-replicas-to-write", "0", Kind::Int(0, INT_MAX)),
    Parameter::alias("min-slaves-max-lag", "min-replicas-max-lag"),
    Parameter::alias("min-slaves-to-write", "min-replicas-to-write"),
    Parameter::new("no-appendfsync-on-rewrite", "no", Kind::Bool),
    Parameter::new("notify-keyspace-events", "", Kind::Special(notify_keyspace_events)).acts(Effect::Events),
    Parameter::new("oom-score-adj", "no", Kind::Enum(&["no", "yes", "relative", "absolute"])),
    Parameter::new("oom-score-adj-values", "0 200 800", Kind::Special(oom_score_adj_values)),
    Parameter::new("pidfile", "", Kind::Text).immutable(),
    Parameter::new("port", "0", Kind::Text).immutable().acts(Effect::AtStart),
    Parameter::new("proc-title-template", "{title} {listen-addr} {server-mode}", Kind::Special(title_template)),
    Parameter::new("propagation-error-behavior", "ignore", Kind::Enum(&["ignore", "panic", "panic-on-replicas"])),
    Parameter::new("protected-mode", "no", Kind::Bool),
    Parameter::new("proto-max-bulk-len", "536870912", Kind::Memory(1_048_576, LLONG_MAX))
        .acts(Effect::Count(|settings| &settings.bulk_bytes_max)),
    Parameter::new("rdb-del-sync-files", "no", Kind::Bool),
    Parameter::new("rdb-save-incremental-fsync", "yes", Kind::Bool),
    Parameter::new("rdbchecksum", "yes", Kind::Text).immutable(),
    Parameter::new("rdbcompression", "yes", Kind::Bool),
    Parameter::new("repl-backlog-size", "1048576", Kind::Special(repl_backlog_size)),
    Parameter::new("repl-backlog-ttl", "3600", Kind::Int(0, i64::MAX)),
    Parameter::new("repl-disable-tcp-nodelay", "no", Kind::Bool),
    Parameter::new("repl-diskless-load", "disabled", Kind::Enum(&["disabled", "on-empty-db", "swapdb"])),
    Parameter::new("repl-diskless-sync", "yes", Kind::Bool),
    Parameter::new("repl-diskless-sync-delay", "5", Kind::Int(0, INT_MAX)),
    Parameter::new("repl-diskless-sync-max-replicas", "0", Kind::Int(0, INT_MAX)),
    Parameter::new("repl-ping-replica-period", "10", Kind::Int(1, INT_MAX)),
    Parameter::alias("repl-ping-slave-period", "repl-ping-replica-period"),
    Parameter::new("repl-timeout", "60", Kind::Int(1, INT_MAX)),
    Parameter::new("replica-announce-ip", "", Kind::Text),
    Parameter::new("replica-announce-port", "0", Kind::Int(0, PORT_MAX)),
    Parameter::new("replica-announced", "yes", Kind::Bool),
    Parameter::new("replica-ignore-disk-write-errors", "no", Kind::Bool),
    Parameter::new("replica-ignore-maxmemory", "yes", Kind::Bool),
    Parameter::new("replica-lazy-flush", "no", Kind::Bool),
    Parameter::new("replica-priority", "100", Kind::Int(0, INT_MAX)),
    Parameter::new("replica-read-only", "yes", Kind::Bool),
    Parameter::new("replica-serve-stale-data", "yes", Kind::Bool),
    Parameter::new("replicaof", "", Kind::Text).immutable(),
    Parameter::new("requirepass", "", Kind::Text).acts(Effect::Password),
    Parameter::new("sanitize-dump-payload", "no", Kind::Enum(&["no", "yes", "clients"])),
    Parameter::new("save", "", Kind::Special(save)),
    Parameter::new("server_cpulist", "", Kind::Text).immutable(),
    Parameter::new("set-max-intset-entries", "512", Kind::Int(0, i64::MAX)),
    Parameter::new("set-max-listpack-entries", "128", Kind::Int(0, i64::MAX)),
    Parameter::new("set-max-listpack-value", "64", Kind::Memory(0, LLONG_MAX)),
    Parameter::new("set-proc-title", "no", Kind::Text).immutable(),
    Parameter::new("shutdown-on-sigint", "default", Kind::Enum(&["default", "save", "nosave", "now", "force"])),
    Parameter::new("shutdown-on-sigterm", "default", Kind::Enum(&["default", "save", "nosave", "now", "force"])),
    Parameter::new("shutdown-timeout", "10", Kind::Int(0, INT_MAX)),
    Parameter::alias("slave-announce-ip", "replica-announce-ip"),
    Parameter::alias("slave-announce-port", "replica-announce-port"),
    Parameter::alias("slave-ignore-maxmemory", "replica-ignore-maxmemory"),
    Parameter::alias("slave-lazy-flush", "replica-lazy-flush"),
    Parameter::alias("slave-priority", "replica-priority"),
    Parameter::alias("slave-read-only", "replica-read-only"),
    Parameter::alias("slave-serve-stale-data", "replica-serve-stale-data"),
    Parameter::alias("slaveof", "replicaof"),
    Parameter::new("slowlog-log-slower-than", "10000", Kind::Int(-1, i64::MAX))
        .acts(Effect::Number(|settings| &settings.slowlog_micros)),
    Parameter::new("slowlog-max-len", "128", Kind::Int(0, i64::MAX)).acts(Effect::Length(|settings| &settings.slowlog_len_max)),
    Parameter::new("socket-mark-id", "0", Kind::Text).immutable(),
    Parameter::new("stop-writes-on-bgsave-error", "yes", Kind::Bool),
    Parameter::new("stream-node-max-bytes", "4096", Kind::Memory(0, LLONG_MAX)),
    Parameter::new("stream-node-max-entries", "100", Kind::Int(0, i64::MAX)),
    Parameter::new("supervised", "no", Kind::Text).immutable(),
    Parameter::new("syslog-enabled", "no", Kind::Text).immutable(),
    Parameter::new("syslog-facility", "local0", Kind::Text).immutable(),
    Parameter::new("syslog-ident", "redis", Kind::Text).immutable(),
    Parameter::new("tcp-backlog", "511", Kind::Text).immutable(),
    Parameter::new("tcp-keepalive", "300", Kind::Int(0, INT_MAX)).acts(Effect::Count(|settings| &settings.keepalive_seconds)),
    Parameter::new("timeout", "0", Kind::Int(0, INT_MAX)).acts(Effect::Count(|settings| &settings.timeout_seconds)),
    Parameter::new("tls-auth-clients", "yes", Kind::Enum(&["no", "yes", "optional"])),
    Parameter::new("tls-ca-cert-dir", "", Kind::Text),
    Parameter::new("tls-ca-cert-file", "", Kind::Text),
    Parameter::new("tls-cert-file", "", Kind::Text),
    Parameter::new("tls-ciphers", "", Kind::Text),
    Parameter::new("tls-ciphersuites", "", Kind::Text),
    Parameter::new("tls-client-cert-file", "", Kind::Text),
    Parameter::new("tls-client-key-file", "", Kind::Text),
    Parameter::new("tls-client-key-file-pass", "", Kind::Text),
    Parameter::new("tls-cluster", "no", Kind::Bool),
    Parameter::new("tls-dh-params-file", "", Kind::Text),
    Parameter::new("tls-key-file", "", Kind::Text),
    Parameter::new("tls-key-file-pass", "", Kind::Text),
    Parameter::new("tls-port", "0", Kind::Int(0, PORT_MAX)),
    Parameter::new("tls-prefer-server-ciphers", "no", Kind::Bool),
    Parameter::new("tls-protocols", "", Kind::Text),
    Parameter::new("tls-replication", "no", Kind::Bool),
    Parameter::new("tls-session-cache-size", "20480", Kind::Int(0, INT_MAX)),
    Parameter::new("tls-session-cache-timeout", "300", Kind::Int(0, INT_MAX)),
    Parameter::new("tls-session-caching", "yes", Kind::Bool),
    Parameter::new("tracking-table-max-keys", "1000000", Kind::Int(0, i64::MAX))
        .acts(Effect::Length(|settings| &settings.tracking_keys_max)),
    Parameter::new("unixsocket", "", Kind::Text).immutable().acts(Effect::AtStart),
    Parameter::new("unixsocketperm", "0", Kind::Text).immutable(),
    Parameter::new("zset-max-listpack-entries", "128", Kind::Int(0, i64::MAX)),
    Parameter::new("zset-max-listpack-value", "64", Kind::Memory(0, LLONG_MAX)),
    Parameter::alias("zset-max-ziplist-entries", "zset-max-listpack-entries"),
    Parameter::alias("zset-max-ziplist-value", "zset-max-listpack-value"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_its_defaults_are_values() {
        assert!(PARAMETERS.is_sorted_by(|a, b| a.name < b.name));
        for parameter in PARAMETERS {
            assert_eq!(find(parameter.first_name().as_bytes()).map(|first| first.alias_of), Some(None), "{}", parameter.name);
            if parameter.alias_of.is_none() {
                let default = parameter.default.as_bytes();
                let kept = parameter.kind.accept(default, default);
                assert_eq!(kept.as_deref(), Ok(default), "the default of {} is what setting it keeps", parameter.name);
            }
        }
    }
}
