//! `INFO`: what the server says about itself, in sections.

use std::fmt::Write as _;
use std::sync::atomic::Ordering;

use super::super::{Arg, Args, Context, Flags, Group, Outcome, Spec, table};
use crate::clients::Client;
use crate::process::{self, Memory};
use crate::pubsub::Kind;
use crate::stats::{Counter, WorkerStats};
use crate::store::Cursor;

pub(super) const INFO: Spec = Spec {
    name: "info",
    group: Group::Server,
    summary: "Tells how the server is doing, in sections of lines.",
    flags: Flags::LOADING.and(Flags::STALE).and(Flags::DANGEROUS),
    tips: &["nondeterministic_output", "request_policy:all_shards", "response_policy:special"],
    syntax: &[Arg::string("section").optional().multiple()],
    run: info,
    ..Spec::BASE
};
const _: () = assert!(INFO.arity(false) == -1);

/// A section of the answer.
struct Section {
    title: &'static str,
    /// Whether it is shown when no section is asked for.
    by_default: bool,
    write: fn(&Context<'_>, &mut String),
}

const SECTIONS: &[Section] = &[
    Section { title: "Server", by_default: true, write: server },
    Section { title: "Clients", by_default: true, write: clients },
    Section { title: "Memory", by_default: true, write: memory },
    Section { title: "Persistence", by_default: true, write: persistence },
    Section { title: "Stats", by_default: true, write: stats },
    Section { title: "Replication", by_default: true, write: replication },
    Section { title: "CPU", by_default: true, write: cpu },
    Section { title: "Modules", by_default: true, write: |_, _| {} },
    Section { title: "Commandstats", by_default: false, write: commandstats },
    Section { title: "Errorstats", by_default: true, write: errorstats },
    Section { title: "Latencystats", by_default: false, write: latencystats },
    Section { title: "Cluster", by_default: true, write: |_, out| line(out, "cluster_enabled", 0) },
    Section { title: "Keyspace", by_default: true, write: keyspace },
];

fn info(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let wanted: Vec<_> = args.rest().map(<[u8]>::to_ascii_lowercase).collect();
    let asks = |word: &str| wanted.iter().any(|section| section == word.as_bytes());
    let by_default = wanted.is_empty() || asks("default");
    let all = asks("all") || asks("everything");
    let mut out = String::new();
    for section in SECTIONS {
        if all || section.by_default && by_default || asks(&section.title.to_ascii_lowercase()) {
            if !out.is_empty() {
                out.push_str("\r\n");
            }
            let _infallible = write!(out, "# {}\r\n", section.title);
            (section.write)(cx, &mut out);
        }
    }
    cx.reply.verbatim(out);
    Ok(())
}

fn line(out: &mut String, name: &str, value: impl std::fmt::Display) {
    let _infallible = write!(out, "{name}:{value}\r\n");
}

/// A number of bytes, and behind it the same for people to read.
fn bytes(out: &mut String, name: &str, value: u64) {
    line(out, name, value);
    line(out, &format!("{name}_human"), human(value));
}

#[expect(clippy::cast_precision_loss, reason = "two decimals are shown")]
fn human(bytes: u64) -> String {
    let units = [("K", 10), ("M", 20), ("G", 30), ("T", 40), ("P", 50)];
    match units.iter().rev().find(|(_, bits)| bytes >> bits > 0) {
        Some((unit, bits)) => format!("{:.2}{unit}", bytes as f64 / (1_u64 << bits) as f64),
        None => format!("{bytes}B"),
    }
}

fn server(cx: &Context<'_>, out: &mut String) {
    let shared = cx.shared;
    let micros = shared.clock.micros();
    let uptime = cx.now().millis_since(shared.started) / 1000;
    line(out, "redis_version", &shared.config.redis_version);
    line(out, "server_name", env!("CARGO_PKG_NAME"));
    line(out, "redlet_version", env!("CARGO_PKG_VERSION"));
    line(out, "redis_git_sha1", "00000000");
    line(out, "redis_git_dirty", 0);
    line(out, "redis_build_id", 0);
    line(out, "redis_mode", "standalone");
    line(out, "os", process::system());
    line(out, "arch_bits", usize::BITS);
    line(out, "process_id", std::process::id());
    line(out, "process_supervised", "no");
    line(out, "run_id", &shared.run_id);
    line(out, "tcp_port", shared.addr.get().map_or(0, |addr| addr.port()));
    line(out, "server_time_usec", micros);
    line(out, "uptime_in_seconds", uptime);
    line(out, "uptime_in_days", uptime / 86_400);
    line(out, "hz", shared.settings.text("hz"));
    line(out, "configured_hz", shared.settings.text("hz"));
    // 24 bits of seconds, as Redis keeps the time of a key's last use.
    line(out, "lru_clock", (micros / 1_000_000) & 0xff_ffff);
    line(out, "executable", std::env::current_exe().unwrap_or_default().display());
    line(out, "config_file", "");
    line(out, "io_threads_active", 0);
    listeners(cx, out);
}

fn listeners(cx: &Context<'_>, out: &mut String) {
    let mut number = 0;
    if let Some(addr) = cx.shared.addr.get() {
        let bind: String = cx.shared.config.bind.iter().map(|ip| format!(",bind={ip}")).collect();
        line(out, "listener0", format_args!("name=tcp{bind},port={}", addr.port()));
        number += 1;
    }
    if let Some(path) = &cx.shared.config.unixsocket {
        line(out, &format!("listener{number}"), format_args!("name=unix,bind={}", path.display()));
    }
}

fn clients(cx: &Context<'_>, out: &mut String) {
    let all = cx.shared.clients.all();
    let (watching_clients, watched_keys) = cx.shared.watched.totals();
    let longest_input = all.iter().map(|client| client.query_bytes.load(Ordering::Relaxed)).max().unwrap_or(0);
    line(out, "connected_clients", all.len());
    line(out, "cluster_connections", 0);
    line(out, "maxclients", cx.shared.settings.maxclients.load(Ordering::Relaxed));
    line(out, "client_recent_max_input_buffer", longest_input);
    line(out, "client_recent_max_output_buffer", 0);
    line(out, "blocked_clients", all.iter().filter(|client| client.has(Client::BLOCKED)).count());
    line(out, "tracking_clients", cx.shared.tracking.clients());
    line(out, "pubsub_clients", cx.shared.pubsub.clients());
    line(out, "watching_clients", watching_clients);
    line(out, "clients_in_timeout_table", all.iter().filter(|client| client.has(Client::TIMED)).count());
    line(out, "total_watched_keys", watched_keys);
    line(out, "total_blocking_keys", 0);
}

#[expect(clippy::cast_precision_loss, reason = "two decimals are shown")]
fn ratio(of: u64, to: u64) -> f64 {
    if to == 0 { 0.0 } else { of as f64 / to as f64 }
}

fn memory(cx: &Context<'_>, out: &mut String) {
    let Memory { resident, anonymous, peak, machine } = process::memory();
    let maxmemory = cx.shared.settings.text("maxmemory").parse().unwrap_or(0);
    bytes(out, "used_memory", anonymous);
    bytes(out, "used_memory_rss", resident);
    bytes(out, "used_memory_peak", peak);
    line(out, "used_memory_peak_perc", format_args!("{:.2}%", ratio(anonymous, peak) * 100.0));
    bytes(out, "total_system_memory", machine);
    bytes(out, "used_memory_lua", 0);
    bytes(out, "used_memory_scripts", 0);
    line(out, "number_of_cached_scripts", 0);
    line(out, "number_of_functions", 0);
    line(out, "number_of_libraries", 0);
    bytes(out, "maxmemory", maxmemory);
    line(out, "maxmemory_policy", cx.shared.settings.text("maxmemory-policy"));
    line(out, "mem_fragmentation_ratio", format_args!("{:.2}", ratio(resident, anonymous)));
    line(out, "mem_fragmentation_bytes", resident.saturating_sub(anonymous));
    line(out, "mem_not_counted_for_evict", 0);
    line(out, "mem_replication_backlog", 0);
    line(out, "mem_clients_slaves", 0);
    line(out, "mem_aof_buffer", 0);
    line(out, "mem_allocator", if cfg!(feature = "cli") { "mimalloc" } else { "libc" });
    line(out, "active_defrag_running", 0);
    line(out, "lazyfree_pending_objects", 0);
}

/// There is none; the lines are those by which tools tell whether a server is ready.
fn persistence(cx: &Context<'_>, out: &mut String) {
    line(out, "loading", 0);
    line(out, "async_loading", 0);
    line(out, "rdb_changes_since_last_save", 0);
    line(out, "rdb_bgsave_in_progress", 0);
    line(out, "rdb_last_save_time", cx.shared.started.seconds());
    line(out, "rdb_last_bgsave_status", "ok");
    line(out, "rdb_last_bgsave_time_sec", -1);
    line(out, "rdb_current_bgsave_time_sec", -1);
    line(out, "rdb_saves", 0);
    line(out, "aof_enabled", 0);
    line(out, "aof_rewrite_in_progress", 0);
    line(out, "aof_rewrite_scheduled", 0);
    line(out, "aof_last_rewrite_time_sec", -1);
    line(out, "aof_current_rewrite_time_sec", -1);
    line(out, "aof_last_bgrewrite_status", "ok");
    line(out, "aof_last_write_status", "ok");
}

fn stats(cx: &Context<'_>, out: &mut String) {
    let (stats, pubsub) = (&cx.shared.stats, &cx.shared.pubsub);
    let total = |of: fn(&WorkerStats) -> &Counter| stats.total(|worker| of(worker).get());
    let [operations, input, output] = stats.per_second();
    let expired: u64 = cx.keys.databases().used().map(|(_, db)| db.expired()).sum();
    line(out, "total_connections_received", stats.connections.load(Ordering::Relaxed));
    line(out, "total_commands_processed", stats.calls());
    line(out, "instantaneous_ops_per_sec", format_args!("{operations:.0}"));
    line(out, "total_net_input_bytes", total(|worker| &worker.input_bytes));
    line(out, "total_net_output_bytes", total(|worker| &worker.output_bytes));
    line(out, "instantaneous_input_kbps", format_args!("{:.2}", input / 1024.0));
    line(out, "instantaneous_output_kbps", format_args!("{:.2}", output / 1024.0));
    line(out, "rejected_connections", stats.refused.load(Ordering::Relaxed));
    line(out, "sync_full", 0);
    line(out, "sync_partial_ok", 0);
    line(out, "sync_partial_err", 0);
    line(out, "expired_keys", expired + stats.expired.load(Ordering::Relaxed));
    line(out, "evicted_keys", 0);
    line(out, "evicted_clients", 0);
    line(out, "keyspace_hits", total(|worker| &worker.hits));
    line(out, "keyspace_misses", total(|worker| &worker.misses));
    line(out, "pubsub_channels", pubsub.len(Kind::Channel));
    line(out, "pubsub_patterns", pubsub.len(Kind::Pattern));
    line(out, "pubsubshard_channels", pubsub.len(Kind::Shard));
    line(out, "latest_fork_usec", 0);
    line(out, "total_forks", 0);
    line(out, "migrate_cached_sockets", 0);
    let tracked = cx.shared.tracking.totals();
    line(out, "tracking_total_keys", tracked.keys);
    line(out, "tracking_total_items", tracked.items);
    line(out, "tracking_total_prefixes", tracked.prefixes);
    line(out, "unexpected_error_replies", 0);
    line(out, "total_error_replies", total(|worker| &worker.errors));
    line(out, "total_reads_processed", total(|worker| &worker.reads));
    line(out, "total_writes_processed", total(|worker| &worker.writes));
}

fn replication(cx: &Context<'_>, out: &mut String) {
    line(out, "role", "master");
    line(out, "connected_slaves", 0);
    line(out, "master_failover_state", "no-failover");
    line(out, "master_replid", &cx.shared.run_id);
    line(out, "master_replid2", "0".repeat(40));
    line(out, "master_repl_offset", 0);
    line(out, "second_repl_offset", -1);
    line(out, "repl_backlog_active", 0);
    line(out, "repl_backlog_size", cx.shared.settings.text("repl-backlog-size"));
    line(out, "repl_backlog_first_byte_offset", 0);
    line(out, "repl_backlog_histlen", 0);
}

fn cpu(_: &Context<'_>, out: &mut String) {
    let (user, system) = process::cpu_centiseconds();
    let seconds = |centiseconds: u64| format!("{}.{:02}0000", centiseconds / 100, centiseconds % 100);
    line(out, "used_cpu_sys", seconds(system));
    line(out, "used_cpu_user", seconds(user));
    line(out, "used_cpu_sys_children", seconds(0));
    line(out, "used_cpu_user_children", seconds(0));
}

fn commandstats(cx: &Context<'_>, out: &mut String) {
    for command in table().all() {
        let total = |of: fn(&crate::stats::CommandStats) -> &Counter| {
            cx.shared.stats.total(|worker| of(&worker.commands[command.id]).get())
        };
        let (calls, micros) = (total(|stats| &stats.calls), total(|stats| &stats.nanos) / 1000);
        let (rejected, failed) = (total(|stats| &stats.rejected), total(|stats| &stats.failed));
        if calls + rejected + failed > 0 {
            let each = ratio(micros, calls);
            let counts =
                format!("calls={calls},usec={micros},usec_per_call={each:.2},rejected_calls={rejected},failed_calls={failed}");
            line(out, &format!("cmdstat_{}", command.full_name), counts);
        }
    }
}

fn errorstats(cx: &Context<'_>, out: &mut String) {
    for (code, count) in cx.shared.stats.errors() {
        line(out, &format!("errorstat_{code}"), format_args!("count={count}"));
    }
}

#[expect(clippy::cast_precision_loss, reason = "three decimals of a microsecond are shown")]
fn latencystats(cx: &Context<'_>, out: &mut String) {
    let settings = &cx.shared.settings;
    if !settings.latency_tracking.load(Ordering::Relaxed) {
        return;
    }
    let percentiles = settings.text("latency-tracking-info-percentiles");
    for command in table().all() {
        let Some(durations) = cx.shared.stats.durations(command.id) else { continue };
        let micros = |percent: &str| durations.percentile(percent.parse().unwrap_or_default()) as f64 / 1000.0;
        let told: Vec<_> = percentiles.split_whitespace().map(|percent| format!("p{percent}={:.3}", micros(percent))).collect();
        line(out, &format!("latency_percentiles_usec_{}", command.full_name), told.join(","));
    }
}

fn keyspace(cx: &Context<'_>, out: &mut String) {
    let at = cx.keys.moment();
    for (index, db) in cx.keys.databases().used() {
        let keys = db.len(at);
        if keys == 0 {
            continue;
        }
        // The mean of a sample: who looks at all keys to answer INFO holds everyone up.
        const SAMPLE: usize = 64;
        let (mut deadlines, mut millis) = (0, 0_u128);
        db.scan(Cursor(0), SAMPLE, at.now, |_, found| {
            if let Some(deadline) = found.deadline() {
                deadlines += 1;
                millis += u128::from(deadline.millis_since(at.now));
            }
        });
        let mean = millis.checked_div(deadlines).unwrap_or(0);
        line(out, &format!("db{index}"), format_args!("keys={keys},expires={},avg_ttl={mean}", db.volatile()));
    }
}

#[cfg(test)]
mod tests {
    use super::human;

    #[test]
    fn bytes_are_shown_as_redis_shows_them() {
        let shown = [(0, "0B"), (1023, "1023B"), (1024, "1.00K"), (941_104, "919.05K"), (25_276_502_016, "23.54G")];
        for (bytes, text) in shown {
            assert_eq!(human(bytes), text);
        }
    }
}
