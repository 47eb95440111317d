//! Several strings in one step: every other connection sees all of it or nothing.

use super::super::{Arg, Args, CommandError, Context, Flags, Group, KeyFlags, Outcome, Spec};
use super::set::Options;
use super::{answer, store};
use crate::number::parse_i64;
use crate::store::{Deadline, Key, WriteLocks};

pub(in super::super) const SPECS: &[&Spec] = &[&MGET, &MSET, &MSETNX, &MSETEX];

const MGET: Spec = Spec {
    name: "mget",
    group: Group::String,
    complexity: "O(N) where N is the number of keys to retrieve.",
    summary: "Answers with the strings stored under several keys.",
    flags: Flags::READONLY.and(Flags::FAST),
    tips: &["request_policy:multi_shard"],
    syntax: &[Arg::key("key", KeyFlags::READ).multiple()],
    run: mget,
    ..Spec::BASE
};
const _: () = assert!(MGET.arity(false) == -2);

fn mget(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let keys = args.keys();
    let locks = cx.keys.lock_read(&keys);
    cx.reply.array(keys.len());
    for &key in &keys {
        answer(&mut cx.reply, cx.keys.locked_read(&locks, key));
    }
    Ok(())
}

const MSET: Spec = Spec {
    name: "mset",
    group: Group::String,
    since: "1.0.1",
    complexity: "O(N) where N is the number of keys to set.",
    summary: "Stores several strings under their keys in one step.",
    flags: Flags::WRITE.and(Flags::DENYOOM),
    tips: &["request_policy:multi_shard", "response_policy:all_succeeded"],
    syntax: &[Arg::block("key_value", &[Arg::key("key", KeyFlags::OVERWRITE), Arg::string("value")]).multiple()],
    run: mset,
    ..Spec::BASE
};
const _: () = assert!(MSET.arity(false) == -3);

fn mset(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let (keys, values) = pairs(cx, args)?;
    write(cx, &mut cx.keys.lock_write(&keys), &keys, &values, Deadline::None);
    cx.reply.ok();
    Ok(())
}

const MSETNX: Spec = Spec {
    name: "msetnx",
    group: Group::String,
    since: "1.0.1",
    complexity: "O(N) where N is the number of keys to set.",
    summary: "Stores several strings in one step if none of their keys is there.",
    flags: Flags::WRITE.and(Flags::DENYOOM),
    tips: &["request_policy:multi_shard", "response_policy:agg_min"],
    syntax: &[Arg::block("key_value", &[Arg::key("key", KeyFlags::INSERT), Arg::string("value")]).multiple()],
    run: msetnx,
    ..Spec::BASE
};
const _: () = assert!(MSETNX.arity(false) == -3);

fn msetnx(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let (keys, values) = pairs(cx, args)?;
    let mut locks = cx.keys.lock_write(&keys);
    let absent = keys.iter().all(|&key| !locks.slot(cx.keys.target(key), cx.keys.moment()).is_present());
    if absent {
        write(cx, &mut locks, &keys, &values, Deadline::None);
    }
    drop(locks);
    cx.reply.int(absent.into());
    Ok(())
}

const MSETEX: Spec = Spec {
    name: "msetex",
    group: Group::String,
    since: "8.4.0",
    complexity: "O(N) where N is the number of keys to set.",
    summary: "Stores several strings in one step, with one deadline for all, and with a condition only if none or all of the keys are there.",
    flags: Flags::WRITE.and(Flags::DENYOOM).and(Flags::MOVABLE_KEYS),
    tips: &["request_policy:multi_shard", "response_policy:all_succeeded"],
    syntax: &[
        Arg::key_count("numkeys"),
        Arg::block("data", &[Arg::key("key", KeyFlags::OVERWRITE), Arg::string("value")]).multiple(),
        Arg::one_of("condition", &[Arg::token("nx", "NX"), Arg::token("xx", "XX")]).optional(),
        Arg::one_of(
            "expiration",
            &[
                Arg::integer("seconds").with_token("EX"),
                Arg::integer("milliseconds").with_token("PX"),
                Arg::unix_time("unix-time-seconds").with_token("EXAT"),
                Arg::unix_time("unix-time-milliseconds").with_token("PXAT"),
                Arg::token("keepttl", "KEEPTTL"),
            ],
        )
        .optional(),
    ],
    run: msetex,
    ..Spec::BASE
};
const _: () = assert!(MSETEX.arity(false) == -4);

fn msetex(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    // Redis keeps the number in an `int`.
    let count = parse_i64(args.bytes()?).and_then(|count| i32::try_from(count).ok()).filter(|&count| count > 0);
    let count = count.ok_or(CommandError::text("ERR invalid numkeys value"))?.unsigned_abs() as usize;
    if args.len() / 2 < count {
        return Err(CommandError::text("ERR wrong number of key-value pairs"));
    }
    let (keys, values) = take_pairs(args, count)?;
    let options = Options::of_msetex(args)?;
    let deadline = options.deadline(cx)?.unwrap_or(Deadline::None);
    let mut locks = cx.keys.lock_write(&keys);
    let allowed = keys.iter().all(|&key| options.allow_presence(locks.slot(cx.keys.target(key), cx.keys.moment()).is_present()));
    if allowed {
        write(cx, &mut locks, &keys, &values, deadline);
    }
    drop(locks);
    cx.reply.int(allowed.into());
    Ok(())
}

/// Keys and values from arguments that alternate.
fn pairs<'a>(cx: &Context<'_>, args: &mut Args<'a>) -> Result<(Vec<Key<'a>>, Vec<&'a [u8]>), CommandError> {
    if !args.len().is_multiple_of(2) {
        return Err(CommandError::WrongArity(cx.command.full_name.into()));
    }
    take_pairs(args, args.len() / 2)
}

/// So many keys and values from arguments that alternate. The caller knows that they are there.
fn take_pairs<'a>(args: &mut Args<'a>, count: usize) -> Result<(Vec<Key<'a>>, Vec<&'a [u8]>), CommandError> {
    let (mut keys, mut values) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for _ in 0..count {
        keys.push(args.key()?);
        values.push(args.bytes()?);
    }
    Ok((keys, values))
}

/// Writes in order, so that of a key named twice the last value stays.
fn write(cx: &Context<'_>, locks: &mut WriteLocks<'_>, keys: &[Key<'_>], values: &[&[u8]], deadline: Deadline) {
    for (&key, value) in keys.iter().zip(values) {
        store(&mut locks.slot(cx.keys.target(key), cx.keys.moment()), value, cx.input, deadline);
    }
}
