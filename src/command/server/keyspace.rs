//! The keyspace as a whole, the time, and what a server that neither replicates nor saves says about both.

use std::sync::atomic::Ordering;

use super::super::{Arg, Args, CommandError, Context, Flags, Group, Outcome, Spec};
use crate::number::parse_i64;
use crate::store::{Db, Moment};

pub(super) const DBSIZE: Spec = Spec {
    name: "dbsize",
    group: Group::Server,
    summary: "Counts the keys of the selected database.",
    // Shards are counted one after another, and a key that moves meanwhile would be counted twice or not at all.
    flags: Flags::READONLY.and(Flags::FAST).and(Flags::KEYSPACE).and(Flags::ALONE),
    tips: &["request_policy:all_shards", "response_policy:agg_sum"],
    run: dbsize,
    ..Spec::BASE
};
const _: () = assert!(DBSIZE.arity(false) == 1);

fn dbsize(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    cx.reply.len(cx.keys.db().len(cx.keys.moment()));
    Ok(())
}

const FLUSH: Spec = Spec {
    group: Group::Server,
    flags: Flags::WRITE.and(Flags::DANGEROUS).and(Flags::KEYSPACE).and(Flags::ALONE),
    tips: &["request_policy:all_shards", "response_policy:all_succeeded"],
    syntax: &[
        Arg::one_of("async", &[Arg::token("async", "ASYNC").since("4.0.0"), Arg::token("sync", "SYNC").since("6.2.0")]).optional()
    ],
    ..Spec::BASE
};

pub(super) const FLUSHDB: Spec = Spec {
    name: "flushdb",
    complexity: "O(N) where N is the number of keys in the selected database",
    summary: "Removes all keys of the selected database.",
    run: flushdb,
    ..FLUSH
};
const _: () = assert!(FLUSHDB.arity(false) == -1);

fn flushdb(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    check_flush_mode(args)?;
    let selected = cx.keys.selected();
    touch_watched(cx, selected, &[selected]);
    cx.shared.tracking.flush(&cx.shared.clients, cx.sender());
    let taken = cx.keys.alone().take(selected);
    discard(taken.into_iter(), cx);
    cx.reply.ok();
    Ok(())
}

pub(super) const FLUSHALL: Spec = Spec {
    name: "flushall",
    complexity: "O(N) where N is the total number of keys in all databases",
    summary: "Removes all keys of all databases.",
    run: flushall,
    ..FLUSH
};
const _: () = assert!(FLUSHALL.arity(false) == -1);

fn flushall(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    check_flush_mode(args)?;
    (0..cx.keys.databases().count()).for_each(|index| touch_watched(cx, index, &[index]));
    cx.shared.tracking.flush(&cx.shared.clients, cx.sender());
    let databases = cx.keys.alone();
    let taken: Vec<_> = (0..databases.count()).filter_map(|index| databases.take(index)).collect();
    discard(taken.into_iter(), cx);
    cx.reply.ok();
    Ok(())
}

/// Has those know who watch a key of the database with the number `index` that is in one of `databases`: it goes away, or comes.
fn touch_watched(cx: &Context<'_>, index: usize, databases: &[usize]) {
    let hasher = cx.shared.store.hasher();
    let is_there = |key: &[u8]| databases.iter().any(|&other| cx.keys.databases().db(other).holds(hasher.key(key)));
    cx.shared.watched.touch_all(index, is_there);
}

/// Both modes are the same here: the keys are gone at once, and their memory is given back by another thread.
fn check_flush_mode(args: &mut Args<'_>) -> Outcome {
    match args.keyword().as_deref() {
        None => Ok(()),
        Some(b"ASYNC" | b"SYNC") if args.is_empty() => Ok(()),
        Some(_) => Err(CommandError::Syntax),
    }
}

/// Databases of fewer keys are given back on the spot: that takes less time than a thread.
const KEYS_DROPPED_AT_ONCE_MAX: usize = 1000;

/// Gives back the memory of databases that nobody can reach any more, without holding up the worker.
fn discard(databases: impl Iterator<Item = Box<Db>>, cx: &Context<'_>) {
    let databases: Vec<_> = databases.collect();
    let mut keys = 0;
    for db in &databases {
        keys += db.len(Moment { observer: None, ..cx.keys.moment() });
        cx.shared.stats.expired.fetch_add(db.expired(), Ordering::Relaxed);
    }
    if keys <= KEYS_DROPPED_AT_ONCE_MAX {
        return;
    }
    let thread = std::thread::Builder::new().name("redlet-flush".to_owned());
    // Without a thread to be had, the closure and with it the data has been dropped here: slower, and as good.
    if let Err(error) = thread.spawn(move || drop(databases)) {
        cx.shared.log.warning(&format!("no thread to give memory back: {error}"));
    }
}

pub(super) const SWAPDB: Spec = Spec {
    name: "swapdb",
    group: Group::Server,
    since: "4.0.0",
    complexity: "O(N) where N is the count of clients watching or blocking on keys from both databases.",
    summary: "Exchanges two databases.",
    flags: Flags::WRITE.and(Flags::FAST).and(Flags::DANGEROUS).and(Flags::KEYSPACE).and(Flags::ALONE),
    syntax: &[Arg::integer("index1"), Arg::integer("index2")],
    run: swapdb,
    ..Spec::BASE
};
const _: () = assert!(SWAPDB.arity(false) == 3);

fn swapdb(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    // Redis has an integer of 32 bits in mind.
    let index = |text| parse_i64(text).and_then(|number| i32::try_from(number).ok());
    let first = index(args.bytes()?).ok_or(CommandError::text("ERR invalid first DB index"))?;
    let second = index(args.bytes()?).ok_or(CommandError::text("ERR invalid second DB index"))?;
    let count = cx.keys.databases().count();
    let index = |number| usize::try_from(number).ok().filter(|&index| index < count).ok_or(CommandError::DbIndex);
    let (first, second) = (index(first)?, index(second)?);
    if first == second {
        cx.reply.ok();
        return Ok(());
    }
    for index in [first, second] {
        touch_watched(cx, index, &[first, second]);
    }
    cx.keys.alone().swap(first, second);
    cx.reply.ok();
    Ok(())
}

pub(super) const TIME: Spec = Spec {
    name: "time",
    group: Group::Server,
    since: "2.6.0",
    summary: "Tells the server's time: Unix seconds, and the microseconds within the second.",
    flags: Flags::LOADING.and(Flags::STALE).and(Flags::FAST),
    tips: &["nondeterministic_output"],
    run: time,
    ..Spec::BASE
};
const _: () = assert!(TIME.arity(false) == 1);

fn time(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    let micros = cx.shared.clock.micros();
    cx.reply.array(2);
    cx.reply.bulk((micros / 1_000_000).to_string());
    cx.reply.bulk((micros % 1_000_000).to_string());
    Ok(())
}

pub(super) const ROLE: Spec = Spec {
    name: "role",
    group: Group::Server,
    since: "2.8.12",
    summary: "Tells that the server is a master without replicas.",
    flags: Flags::NOSCRIPT.and(Flags::LOADING).and(Flags::STALE).and(Flags::FAST).and(Flags::STEERING),
    run: role,
    ..Spec::BASE
};
const _: () = assert!(ROLE.arity(false) == 1);

fn role(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    cx.reply.array(3);
    cx.reply.bulk("master");
    cx.reply.int(0);
    cx.reply.array(0);
    Ok(())
}

pub(super) const LASTSAVE: Spec = Spec {
    name: "lastsave",
    group: Group::Server,
    summary: "Tells the Unix time of the last save: here that of the start, since nothing is ever saved.",
    flags: Flags::LOADING.and(Flags::STALE).and(Flags::FAST).and(Flags::STEERING),
    tips: &["nondeterministic_output"],
    run: lastsave,
    ..Spec::BASE
};
const _: () = assert!(LASTSAVE.arity(false) == 1);

fn lastsave(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    cx.reply.natural(cx.shared.started.seconds());
    Ok(())
}
