//! `MEMORY`: what keys and the process take.

use super::super::{Arg, Args, CommandError, Context, Flags, Group, KeyFlags, Outcome, Spec, help};
use crate::process::{self, Memory};

pub(super) const MEMORY: Spec = Spec {
    name: "memory",
    group: Group::Server,
    since: "4.0.0",
    summary: "Holds the commands about memory.",
    subcommands: &[MEMORY_MALLOC_STATS, MEMORY_HELP, MEMORY_PURGE, MEMORY_DOCTOR, MEMORY_STATS, MEMORY_USAGE],
    ..Spec::CONTAINER
};
const _: () = assert!(MEMORY.arity(false) == -2);

const REPORT: Spec = Spec {
    group: Group::Server,
    since: "4.0.0",
    tips: &["nondeterministic_output", "request_policy:all_shards", "response_policy:special"],
    ..Spec::BASE
};

const MEMORY_USAGE: Spec = Spec {
    name: "usage",
    group: Group::Server,
    since: "4.0.0",
    complexity: "O(N) where N is the number of samples.",
    summary: "Tells how many bytes a key and its value take.",
    flags: Flags::READONLY,
    syntax: &[Arg::key("key", KeyFlags::LOOK), Arg::integer("count").with_token("SAMPLES").optional()],
    run: memory_usage,
    ..Spec::BASE
};
const _: () = assert!(MEMORY_USAGE.arity(true) == -3);

fn memory_usage(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    while let Some(word) = args.keyword() {
        // A string has no elements to take samples of; the count is checked all the same.
        if &*word != b"SAMPLES" || args.is_empty() || args.int()? < 0 {
            return Err(CommandError::Syntax);
        }
    }
    match cx.keys.inspect(key, |found| found.map(crate::store::Found::memory)) {
        Some(bytes) => cx.reply.len(bytes),
        None => cx.reply.null(),
    }
    Ok(())
}

const MEMORY_STATS: Spec = Spec { name: "stats", summary: "Tells what takes memory.", run: memory_stats, ..REPORT };
const _: () = assert!(MEMORY_STATS.arity(true) == 2);

#[expect(clippy::cast_precision_loss, reason = "ratios are rough figures")]
fn memory_stats(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    let Memory { resident, anonymous, peak, .. } = process::memory();
    let at = cx.keys.moment();
    let databases: Vec<_> = cx
        .keys
        .databases()
        .used()
        .map(|(index, db)| (index, db.len(at), db.table_bytes()))
        .filter(|&(_, keys, _)| keys > 0)
        .collect();
    let keys: usize = databases.iter().map(|&(_, keys, _)| keys).sum();
    let overhead: usize = databases.iter().map(|&(_, _, bytes)| bytes).sum();
    let ratio = |of: u64, to: u64| if to == 0 { 0.0 } else { of as f64 / to as f64 };
    let integers = [
        ("peak.allocated", peak),
        ("total.allocated", anonymous),
        ("replication.backlog", 0),
        ("clients.slaves", 0),
        ("aof.buffer", 0),
        ("lua.caches", 0),
        ("functions.caches", 0),
        ("overhead.total", overhead as u64),
        ("keys.count", keys as u64),
        ("keys.bytes-per-key", anonymous / (keys as u64).max(1)),
        ("fragmentation.bytes", resident.saturating_sub(anonymous)),
    ];
    let doubles = [("peak.percentage", ratio(anonymous, peak) * 100.0), ("fragmentation", ratio(resident, anonymous))];
    cx.reply.map(integers.len() + doubles.len() + databases.len());
    for (name, value) in integers {
        cx.reply.bulk(name);
        cx.reply.natural(value);
    }
    for (index, _, bytes) in databases {
        cx.reply.bulk(format!("db.{index}"));
        cx.reply.map(2);
        cx.reply.bulk("overhead.hashtable.main");
        cx.reply.len(bytes);
        cx.reply.bulk("overhead.hashtable.expires");
        cx.reply.int(0);
    }
    for (name, value) in doubles {
        cx.reply.bulk(name);
        cx.reply.double(&value.to_string());
    }
    Ok(())
}

const MEMORY_DOCTOR: Spec = Spec { name: "doctor", summary: "Says in words what takes memory.", run: memory_doctor, ..REPORT };
const _: () = assert!(MEMORY_DOCTOR.arity(true) == 2);

fn memory_doctor(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    let Memory { resident, peak, machine, .. } = process::memory();
    let mut advice = String::new();
    if resident * 2 < peak {
        advice.push_str("It once took more than twice as much: the allocator keeps some of that for later.\n");
    }
    if machine > 0 && resident > machine / 4 * 3 {
        advice.push_str(
            "That is more than three quarters of this machine's memory. Nothing is evicted here: keys without a deadline stay.\n",
        );
    }
    if advice.is_empty() {
        advice.push_str("Nothing about that calls for attention.\n");
    }
    cx.reply.verbatim(format!("This server takes {} MiB of memory.\n{advice}", resident >> 20));
    Ok(())
}

const MEMORY_MALLOC_STATS: Spec = Spec {
    name: "malloc-stats",
    complexity: "Depends on how much memory is allocated, could be slow",
    summary: "Would tell the allocator's own figures; it gives none.",
    run: memory_malloc_stats,
    ..REPORT
};
const _: () = assert!(MEMORY_MALLOC_STATS.arity(true) == 2);

fn memory_malloc_stats(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    cx.reply.bulk("Stats not supported for the current allocator");
    Ok(())
}

const MEMORY_PURGE: Spec = Spec {
    name: "purge",
    complexity: "Depends on how much memory is allocated, could be slow",
    summary: "Asks the allocator to give unused memory back, which it does by itself.",
    tips: &["request_policy:all_shards", "response_policy:all_succeeded"],
    run: memory_purge,
    ..REPORT
};
const _: () = assert!(MEMORY_PURGE.arity(true) == 2);

fn memory_purge(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    cx.reply.ok();
    Ok(())
}

const MEMORY_HELP: Spec =
    Spec { group: Group::Server, since: "4.0.0", run: |cx, _| help::answer(cx, MEMORY_HELP_LINES), ..help::HELP };

const MEMORY_HELP_LINES: &[&str] = &[
    "DOCTOR",
    "    Say in words what takes memory.",
    "MALLOC-STATS",
    "    Tell the allocator's own figures, if it gives any.",
    "PURGE",
    "    Ask the allocator to give unused memory back.",
    "STATS",
    "    Tell what takes memory.",
    "USAGE <key> [SAMPLES <count>]",
    "    Tell how many bytes <key> and its value take.",
];
