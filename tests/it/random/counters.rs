//! What a sequence leaves behind in the counters of both servers: the sections of INFO and the histograms of LATENCY that are asked for
//! behind it, without what depends on the clock or on the process.

use std::collections::{BTreeMap, BTreeSet};

use crate::reply::Reply;

/// What is asked of the counters. They start from 0 before each sequence.
pub(super) const QUESTIONS: &[&[&str]] = &[
    &["LATENCY", "HISTOGRAM"],
    &["INFO", "commandstats"],
    &["INFO", "errorstats"],
    &["INFO", "latencystats"],
    &["INFO", "stats"],
    &["INFO", "clients"],
    &["INFO", "keyspace"],
];

/// The lines of the sections `stats` and `clients` that are compared. redis-server 7.0.15 knows fewer than this server, and counts more.
const LINES: &[&str] = &[
    "total_connections_received",
    "total_commands_processed",
    "rejected_connections",
    "expired_keys",
    "evicted_keys",
    "evicted_clients",
    "keyspace_hits",
    "keyspace_misses",
    "pubsub_channels",
    "pubsub_patterns",
    "pubsubshard_channels",
    "tracking_total_keys",
    "tracking_total_items",
    "tracking_total_prefixes",
    "unexpected_error_replies",
    "total_error_replies",
    "connected_clients",
    "cluster_connections",
    "maxclients",
    "blocked_clients",
    "tracking_clients",
    "clients_in_timeout_table",
];

/// Whether this is one of the questions.
pub(super) fn is_asked(request: &[Vec<u8>]) -> bool {
    QUESTIONS.iter().any(|question| question.iter().map(|word| word.as_bytes()).eq(request.iter().map(Vec::as_slice)))
}

/// Whether a request that is answered `ours` by both servers may be counted otherwise, by intention.
pub(super) fn is_excused(request: &[Vec<u8>], ours: &Reply) -> bool {
    let has = |word: &[u8]| request.iter().any(|other| other.eq_ignore_ascii_case(word));
    match request[0].to_ascii_lowercase().as_slice() {
        // Since 7.2 arguments are looked at before the key.
        b"bitcount" | b"bitpos" => matches!(ours, Reply::Error(_)),
        // Since 7.4 a key whose type is asked for does not count as looked up.
        b"scan" => has(b"type"),
        _ => false,
    }
}

/// Whether both servers have counted the same.
pub(super) fn are_alike(theirs: &Reply, ours: &Reply) -> bool {
    let (theirs, ours) = (counted(theirs), counted(ours));
    theirs.is_some() && theirs == ours
}

/// What they have counted otherwise, in words.
pub(super) fn difference(theirs: &Reply, ours: &Reply) -> String {
    let (Some(theirs), Some(ours)) = (counted(theirs), counted(ours)) else {
        return format!("  redis-server  {theirs:?}\n  ours          {ours:?}\n");
    };
    let names: BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
    let differing = names.into_iter().filter(|name| theirs.get(*name) != ours.get(*name));
    let said = |counted: &BTreeMap<String, String>, name| counted.get(name).cloned().unwrap_or_else(|| "nothing".to_owned());
    differing.map(|name| format!("  {name}: redis-server {}, ours {}\n", said(&theirs, name), said(&ours, name))).collect()
}

/// By the name of a line, or of a command in a histogram, what is compared of it.
fn counted(reply: &Reply) -> Option<BTreeMap<String, String>> {
    match reply {
        Reply::Bulk(text) | Reply::Verbatim(_, text) => Some(String::from_utf8_lossy(text).lines().filter_map(line).collect()),
        Reply::Aggregate { items, .. } => items.chunks(2).map(histogram).collect(),
        _ => None,
    }
}

fn line(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(':')?;
    let parts = |unlike: &[&str]| {
        let is_compared = |part: &&str| !unlike.iter().any(|name| part.split('=').next() == Some(name));
        value.split(',').filter(is_compared).collect::<Vec<_>>().join(",")
    };
    let compared = if name.starts_with("cmdstat_") {
        parts(&["usec", "usec_per_call"])
    } else if name.starts_with("latency_percentiles_usec_") {
        value.split(',').map(|part| part.split('=').next().unwrap_or_default()).collect::<Vec<_>>().join(",")
    } else if name.starts_with("db") {
        parts(&["avg_ttl"])
    } else if name.starts_with("errorstat_") || LINES.contains(&name) {
        value.to_owned()
    } else {
        return None;
    };
    Some((name.to_owned(), compared))
}

/// A command and its calls. The last number of its distribution is the same again.
fn histogram(pair: &[Reply]) -> Option<(String, String)> {
    let [Reply::Bulk(name), Reply::Aggregate { items, .. }] = pair else { return None };
    let [_, Reply::Int(calls), _, Reply::Aggregate { items: distribution, .. }] = items.as_slice() else { return None };
    let is_whole = distribution.last() == Some(&Reply::Int(*calls));
    is_whole.then(|| (String::from_utf8_lossy(name).into_owned(), calls.to_string()))
}
