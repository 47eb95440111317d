//! OBJECT: how a value is kept, and how much it is used.

use std::sync::atomic::Ordering;

use super::super::{Arg, Args, CommandError, Context, Flags, Group, KeyFlags, Outcome, Spec, help};
use crate::store::{Encoding, Found};

pub(in super::super) const SPECS: &[&Spec] = &[&OBJECT];

const OBJECT: Spec = Spec {
    name: "object",
    group: Group::Generic,
    since: "2.2.3",
    summary: "Tells how values are kept and how much they are used.",
    subcommands: &[HELP, FREQ, ENCODING, IDLETIME, REFCOUNT],
    ..Spec::CONTAINER
};
const _: () = assert!(OBJECT.arity(false) == -2);

/// What the subcommands about a key have in common.
const ABOUT_KEY: Spec = Spec {
    group: Group::Generic,
    since: "2.2.3",
    flags: Flags::READONLY,
    tips: &["nondeterministic_output"],
    syntax: &[Arg::key("key", KeyFlags::LOOK)],
    ..Spec::BASE
};
const _: () = assert!(ABOUT_KEY.arity(true) == 3);

const HELP: Spec = Spec { group: Group::Generic, since: "6.2.0", run: |cx, _| help::answer(cx, HELP_LINES), ..help::HELP };

const HELP_LINES: &[&str] = &[
    "ENCODING <key>",
    "    Name the form in which the value is kept: int, embstr or raw.",
    "FREQ <key>",
    "    Tell how much the key is used, 0 to 255 on a logarithmic scale that falls",
    "    with time. Needs an LFU maxmemory-policy.",
    "IDLETIME <key>",
    "    Tell the seconds since the key was last used. Needs a maxmemory-policy that",
    "    is not LFU.",
    "REFCOUNT <key>",
    "    Tell how many references to the value there are.",
];

const FREQ: Spec = Spec {
    name: "freq",
    since: "4.0.0",
    summary: "Tells how much a key is used, 0 to 255 on a logarithmic scale.",
    run: freq,
    ..ABOUT_KEY
};

fn freq(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    const REFUSAL: CommandError = CommandError::text(
        "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between \
         policies at runtime LRU and LFU data will take some time to adjust.",
    );
    let now = cx.now();
    let selected = cx.shared.settings.lfu.load(Ordering::Relaxed);
    about(cx, args, |found| if selected { Ok(i64::from(found.frequency(now))) } else { Err(REFUSAL) })
}

const ENCODING: Spec =
    Spec { name: "encoding", summary: "Names the form in which a value is kept: int, embstr or raw.", run: encoding, ..ABOUT_KEY };

fn encoding(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let name = cx.keys.examine(key, |found| found.map(Found::encoding)).map(|encoding| match encoding {
        Encoding::Int => "int",
        Encoding::EmbStr => "embstr",
        Encoding::Raw => "raw",
    });
    cx.reply.bulk_or_null(name);
    Ok(())
}

const IDLETIME: Spec =
    Spec { name: "idletime", summary: "Tells the seconds since a key was last used.", run: idletime, ..ABOUT_KEY };

fn idletime(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    const REFUSAL: CommandError = CommandError::text(
        "ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when switching between policies at \
         runtime LRU and LFU data will take some time to adjust.",
    );
    let now = cx.now();
    let lfu = cx.shared.settings.lfu.load(Ordering::Relaxed);
    about(cx, args, |found| if lfu { Err(REFUSAL) } else { Ok(i64::from(found.idle_seconds(now))) })
}

const REFCOUNT: Spec =
    Spec { name: "refcount", summary: "Tells how many references to a value there are.", run: refcount, ..ABOUT_KEY };

fn refcount(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    about(cx, args, |found| Ok(references(found)))
}

/// What Redis answers: it has one shared value for each integer below 10,000, and its count of references is not kept.
fn references(found: Found<'_>) -> i64 {
    const SHARED_BELOW: i64 = 10_000;
    const SHARED: i64 = i32::MAX as i64;
    let shared = found.encoding() == Encoding::Int
        && crate::number::parse_i64(found.value()).is_some_and(|value| (0..SHARED_BELOW).contains(&value));
    if shared { SHARED } else { 1 }
}

/// Answers with a number about a key, or null where there is none.
fn about(cx: &mut Context<'_>, args: &mut Args<'_>, of: impl FnOnce(Found<'_>) -> Result<i64, CommandError>) -> Outcome {
    let key = args.key()?;
    match cx.keys.examine(key, |found| found.map(of)) {
        Some(number) => cx.reply.int(number?),
        None => cx.reply.null(),
    }
    Ok(())
}
