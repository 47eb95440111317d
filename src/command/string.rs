//! Strings: values that are read and written whole, in part, or counted.

pub(super) mod compare;
pub(super) mod counter;
pub(super) mod increx;
pub(super) mod lcs;
pub(super) mod many;
pub(super) mod part;
pub(super) mod set;

use super::generic::delete;
use super::{Arg, Args, CommandError, Context, Deprecated, Flags, Group, Input, KeyFlags, Outcome, Spec};
use crate::resp::Reply;
use crate::store::{Deadline, Event, Found, SHARED_BYTES_MIN, Slot};

pub(super) const SPECS: &[&Spec] = &[&GET, &GETDEL, &GETSET, &STRLEN];

const GET: Spec = Spec {
    name: "get",
    group: Group::String,
    summary: "Answers with the string stored under a key.",
    flags: Flags::READONLY.and(Flags::FAST),
    syntax: &[Arg::key("key", KeyFlags::READ)],
    run: get,
    ..Spec::BASE
};
const _: () = assert!(GET.arity(false) == 2);

fn get(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    cx.keys.read(key, |found| answer(&mut cx.reply, found));
    Ok(())
}

const GETDEL: Spec = Spec {
    name: "getdel",
    group: Group::String,
    since: "6.2.0",
    summary: "Hands over a string and removes its key in one step.",
    flags: Flags::WRITE.and(Flags::FAST),
    syntax: &[Arg::key("key", KeyFlags::ACCESS_DELETE)],
    run: getdel,
    ..Spec::BASE
};
const _: () = assert!(GETDEL.arity(false) == 2);

fn getdel(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let hit = cx.keys.write(key, |slot| {
        answer(&mut cx.reply, slot.get());
        delete(slot)
    });
    cx.keys.count(key, hit);
    Ok(())
}

const GETSET: Spec = Spec {
    name: "getset",
    group: Group::String,
    summary: "Stores a string under a key and answers with the one it replaced.",
    flags: Flags::WRITE.and(Flags::DENYOOM).and(Flags::FAST),
    syntax: &[Arg::key("key", KeyFlags::ACCESS_UPDATE), Arg::string("value")],
    deprecated: Some(Deprecated { since: "6.2.0", replaced_by: "`SET` with the `!GET` argument" }),
    run: getset,
    ..Spec::BASE
};
const _: () = assert!(GETSET.arity(false) == 3);

fn getset(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let value = args.bytes()?;
    cx.keys.write(key, |slot| {
        let hit = slot.is_present();
        answer(&mut cx.reply, slot.get());
        cx.keys.count(key, hit);
        store(slot, value, cx.input, Deadline::None);
    });
    Ok(())
}

const STRLEN: Spec = Spec {
    name: "strlen",
    group: Group::String,
    since: "2.2.0",
    summary: "Answers with the length of a string in bytes.",
    flags: Flags::READONLY.and(Flags::FAST),
    syntax: &[Arg::key("key", KeyFlags::LOOK)],
    run: strlen,
    ..Spec::BASE
};
const _: () = assert!(STRLEN.arity(false) == 2);

fn strlen(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let len = cx.keys.read(key, |found| found.map_or(0, |found| found.value().len()));
    cx.reply.len(len);
    Ok(())
}

/// Answers with a value, or null. A large one is not copied.
#[inline]
fn answer(reply: &mut Reply<'_>, found: Option<Found<'_>>) {
    let Some(found) = found else { return reply.null() };
    let value = found.value();
    match if value.len() < SHARED_BYTES_MIN { None } else { found.shared() } {
        Some(bytes) => reply.shared(bytes),
        None => reply.bulk(value),
    }
}

/// Stores a whole value, which lies in `input`. A large one is kept as it came, if it can be.
#[inline]
fn store(slot: &mut Slot<'_>, value: &[u8], input: Input<'_>, deadline: Deadline) {
    if value.len() < SHARED_BYTES_MIN {
        slot.set(value, deadline)
    } else {
        slot.set_owned(input.keep(value), deadline)
    }
    slot.tell(Event::SET);
    if matches!(deadline, Deadline::At(_)) {
        slot.tell(Event::EXPIRE);
    }
}

/// Refuses a string of `len` and `more` bytes that would exceed `proto-max-bulk-len`.
fn check_len(cx: &Context<'_>, len: u64, more: usize) -> Outcome {
    let fits = len.checked_add(more as u64).is_some_and(|total| total <= cx.string_bytes_max());
    if fits { Ok(()) } else { Err(CommandError::StringTooLong) }
}
