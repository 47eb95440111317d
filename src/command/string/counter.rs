//! Strings that are numbers: integers of 64 bits, and C's `long double`.

use super::super::{Arg, Args, CommandError, Context, Flags, Group, KeyFlags, Outcome, Spec};
use crate::number::{Extended, I64_BYTES_MAX, format_i64, parse_i64};
use crate::store::{Deadline, Event, Form};

pub(in super::super) const SPECS: &[&Spec] = &[&INCR, &DECR, &INCRBY, &DECRBY, &INCRBYFLOAT];

const FLAGS: Flags = Flags::WRITE.and(Flags::DENYOOM).and(Flags::FAST);

const INCR: Spec = Spec {
    name: "incr",
    group: Group::String,
    summary: "Adds 1 to the integer stored under a key.",
    flags: FLAGS,
    syntax: &[Arg::key("key", KeyFlags::ACCESS_UPDATE)],
    run: |cx, args| add(cx, args, |_| Ok(1)),
    ..Spec::BASE
};
const _: () = assert!(INCR.arity(false) == 2);

const DECR: Spec = Spec {
    name: "decr",
    group: Group::String,
    summary: "Takes 1 from the integer stored under a key.",
    flags: FLAGS,
    syntax: &[Arg::key("key", KeyFlags::ACCESS_UPDATE)],
    run: |cx, args| add(cx, args, |_| Ok(-1)),
    ..Spec::BASE
};
const _: () = assert!(DECR.arity(false) == 2);

const INCRBY: Spec = Spec {
    name: "incrby",
    group: Group::String,
    summary: "Adds to the integer stored under a key.",
    flags: FLAGS,
    syntax: &[Arg::key("key", KeyFlags::ACCESS_UPDATE), Arg::integer("increment")],
    run: |cx, args| add(cx, args, Args::int),
    ..Spec::BASE
};
const _: () = assert!(INCRBY.arity(false) == 3);

const DECRBY: Spec = Spec {
    name: "decrby",
    group: Group::String,
    summary: "Takes from the integer stored under a key.",
    flags: FLAGS,
    syntax: &[Arg::key("key", KeyFlags::ACCESS_UPDATE), Arg::integer("decrement")],
    run: |cx, args| add(cx, args, |args| args.int()?.checked_neg().ok_or(CommandError::text("ERR decrement would overflow"))),
    ..Spec::BASE
};
const _: () = assert!(DECRBY.arity(false) == 3);

/// Adds the increment that stands behind the key, and answers with the sum. A number that keeps its length is changed where it lies.
#[inline]
fn add<'a>(
    cx: &mut Context<'_>,
    args: &mut Args<'a>,
    increment: impl FnOnce(&mut Args<'a>) -> Result<i64, CommandError>,
) -> Outcome {
    let key = args.key()?;
    let increment = increment(args)?;
    let sum = cx.keys.write(key, |slot| {
        let value = match slot.get() {
            Some(found) => parse_i64(found.value()).ok_or(CommandError::NotInteger)?,
            None => 0,
        };
        let sum = value.checked_add(increment).ok_or(CommandError::Overflow)?;
        slot.set(format_i64(sum, &mut [0; I64_BYTES_MAX]), Deadline::Keep);
        slot.tell(Event::INCRBY);
        Ok(sum)
    })?;
    cx.reply.int(sum);
    Ok(())
}

const INCRBYFLOAT: Spec = Spec {
    name: "incrbyfloat",
    group: Group::String,
    since: "2.6.0",
    summary: "Adds to the floating-point number stored under a key.",
    flags: FLAGS,
    syntax: &[Arg::key("key", KeyFlags::ACCESS_UPDATE), Arg::double("increment")],
    run: incrbyfloat,
    ..Spec::BASE
};
const _: () = assert!(INCRBYFLOAT.arity(false) == 3);

fn incrbyfloat(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let increment = Extended::parse(args.bytes()?).ok_or(CommandError::NotFloat)?;
    let text = cx.keys.write(key, |slot| {
        let value = match slot.get() {
            Some(found) => Extended::parse(found.value()).ok_or(CommandError::NotFloat)?,
            None => Extended::ZERO,
        };
        let sum = value.checked_add(increment).ok_or(CommandError::text("ERR increment would produce NaN or Infinity"))?;
        let mut text = Vec::new();
        sum.push(&mut text);
        // Redis does not look whether the sum is an integer.
        slot.set_as(&text, Form::Text, Deadline::Keep);
        slot.tell(Event::INCRBYFLOAT);
        Ok(text)
    })?;
    cx.reply.bulk(text);
    Ok(())
}
