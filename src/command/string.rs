//! Strings: values that are read and written whole, or counted.

use super::{Arg, Args, Context, Flags, Group, KeyFlags, Outcome, Spec};
use crate::store::{Deadline, Found};

pub(super) const SPECS: &[&Spec] = &[&GET, &SET];

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
    cx.keys.read(key, |found| cx.reply.bulk_or_null(found.map(Found::value)));
    Ok(())
}

const SET: Spec = Spec {
    name: "set",
    group: Group::String,
    summary: "Stores a string under a key, whatever was there before.",
    flags: Flags::WRITE.and(Flags::DENYOOM),
    syntax: &[Arg::key("key", KeyFlags::OVERWRITE), Arg::string("value")],
    run: set,
    ..Spec::BASE
};

fn set(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let value = args.bytes()?;
    cx.keys.write(key, |slot| slot.set(value, Deadline::None));
    cx.reply.ok();
    Ok(())
}
