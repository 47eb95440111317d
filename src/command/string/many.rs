//! Several strings in one step: every other connection sees all of it or nothing.

use super::super::{Arg, Args, CommandError, Context, Flags, Group, KeyFlags, Outcome, Spec};
use super::{answer, store};
use crate::store::{Deadline, Key, WriteLocks};

pub(in super::super) const SPECS: &[&Spec] = &[&MGET, &MSET, &MSETNX];

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
    write(cx, &mut cx.keys.lock_write(&keys), &keys, &values);
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
        write(cx, &mut locks, &keys, &values);
    }
    drop(locks);
    cx.reply.int(absent.into());
    Ok(())
}

/// Keys and values from arguments that alternate.
fn pairs<'a>(cx: &Context<'_>, args: &mut Args<'a>) -> Result<(Vec<Key<'a>>, Vec<&'a [u8]>), CommandError> {
    let count = args.len() / 2;
    if !args.len().is_multiple_of(2) {
        return Err(CommandError::WrongArity(cx.command.full_name.into()));
    }
    let (mut keys, mut values) = (Vec::with_capacity(count), Vec::with_capacity(count));
    while !args.is_empty() {
        keys.push(args.key()?);
        values.push(args.bytes()?);
    }
    Ok((keys, values))
}

/// Writes in order, so that of a key named twice the last value stays.
fn write(cx: &Context<'_>, locks: &mut WriteLocks<'_>, keys: &[Key<'_>], values: &[&[u8]]) {
    for (&key, value) in keys.iter().zip(values) {
        store(&mut locks.slot(cx.keys.target(key), cx.keys.moment()), value, cx.input, Deadline::None);
    }
}
