//! Keys, whatever they hold: removing, counting, naming their type.

pub(super) mod expire;
pub(super) mod object;
pub(super) mod rename;
pub(super) mod scan;
pub(super) mod wait;

use std::sync::atomic::Ordering;

use super::{Arg, Args, Context, Flags, Group, KeyFlags, Outcome, Spec};
use crate::store::{Event, Slot, Touch};

pub(super) const SPECS: &[&Spec] = &[&DEL, &UNLINK, &EXISTS, &TOUCH, &TYPE];

/// For proxies: a command whose keys may be spread, and whose answers are then added up.
const SUMMED: &[&str] = &["request_policy:multi_shard", "response_policy:agg_sum"];

const DEL: Spec = Spec {
    name: "del",
    group: Group::Generic,
    complexity: "O(N) where N is the number of keys.",
    summary: "Removes keys and counts those that were there.",
    flags: Flags::WRITE,
    tips: SUMMED,
    syntax: &[Arg::key("key", KeyFlags::DELETE).multiple()],
    run: remove,
    ..Spec::BASE
};
const _: () = assert!(DEL.arity(false) == -2);

const UNLINK: Spec = Spec {
    name: "unlink",
    since: "4.0.0",
    summary: "Removes keys and counts those that were there, the same as DEL.",
    flags: Flags::WRITE.and(Flags::FAST),
    ..DEL
};
const _: () = assert!(UNLINK.arity(false) == -2);

fn remove(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let removed = if args.len() == 1 {
        let key = args.key()?;
        usize::from(cx.keys.write(key, delete))
    } else {
        let keys = args.keys();
        let mut locks = cx.keys.lock_write(&keys);
        keys.iter().filter(|&&key| delete(&mut locks.slot(cx.keys.target(key), cx.keys.moment()))).count()
    };
    cx.reply.len(removed);
    Ok(())
}

/// Removes a key because it was asked for. Whether there was one.
#[inline]
pub(super) fn delete(slot: &mut Slot<'_>) -> bool {
    let removed = slot.remove();
    if removed {
        slot.tell(Event::DEL);
    }
    removed
}

const EXISTS: Spec = Spec {
    name: "exists",
    group: Group::Generic,
    complexity: "O(N) where N is the number of keys to check.",
    summary: "Counts the keys that are there; one that is named twice counts twice.",
    flags: Flags::READONLY.and(Flags::FAST),
    tips: SUMMED,
    syntax: &[Arg::key("key", KeyFlags::LOOK).multiple()],
    run: exists,
    ..Spec::BASE
};
const _: () = assert!(EXISTS.arity(false) == -2);

fn exists(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    count_present(cx, args, Touch::No)
}

const TOUCH: Spec = Spec {
    name: "touch",
    since: "3.2.1",
    complexity: "O(N) where N is the number of keys that will be touched.",
    summary: "Notes a use of keys and counts those that are there.",
    run: touch,
    ..EXISTS
};
const _: () = assert!(TOUCH.arity(false) == -2);

fn touch(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    // It does what its name says even for a client that has said CLIENT NO-TOUCH.
    let touch = if cx.shared.settings.lfu.load(Ordering::Relaxed) { Touch::Lfu } else { Touch::Lru };
    count_present(cx, args, touch)
}

fn count_present(cx: &mut Context<'_>, args: &mut Args<'_>, touch: Touch) -> Outcome {
    let present = if args.len() == 1 {
        let key = args.key()?;
        usize::from(cx.keys.look(key, touch, |found| found.is_some()))
    } else {
        let keys = args.keys();
        let locks = cx.keys.lock_read(&keys);
        keys.iter().filter(|&&key| cx.keys.locked_look(&locks, key, touch).is_some()).count()
    };
    cx.reply.len(present);
    Ok(())
}

const TYPE: Spec = Spec {
    name: "type",
    group: Group::Generic,
    summary: "Names the type of the value under a key: string, or none where there is no key.",
    flags: Flags::READONLY.and(Flags::FAST),
    syntax: &[Arg::key("key", KeyFlags::LOOK)],
    run: type_of,
    ..Spec::BASE
};
const _: () = assert!(TYPE.arity(false) == 2);

fn type_of(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let present = cx.keys.peek(key, |found| found.is_some());
    cx.reply.simple(if present { "string" } else { "none" });
    Ok(())
}
