//! Deadlines: setting them, asking for them, removing them.

use super::super::{Arg, Args, CommandError, Context, Flags, Group, KeyFlags, Outcome, Spec};
use super::delete;
use crate::clock::UnixMillis;
use crate::store::{Event, Found, Slot};

pub(in super::super) const SPECS: &[&Spec] =
    &[&EXPIRE, &PEXPIRE, &EXPIREAT, &PEXPIREAT, &TTL, &PTTL, &EXPIRETIME, &PEXPIRETIME, &PERSIST];

const CONDITION: Arg =
    Arg::one_of("condition", &[Arg::token("nx", "NX"), Arg::token("xx", "XX"), Arg::token("gt", "GT"), Arg::token("lt", "LT")])
        .optional()
        .since("7.0.0");

/// What the commands that change a deadline have in common.
const CHANGE: Spec = Spec { group: Group::Generic, flags: Flags::WRITE.and(Flags::FAST), ..Spec::BASE };

const EXPIRE: Spec = Spec {
    name: "expire",
    summary: "Has a key expire in so many seconds.",
    syntax: &[Arg::key("key", KeyFlags::UPDATE), Arg::integer("seconds"), CONDITION],
    run: |cx, args| set(cx, args, Unit::Seconds, Since::Now),
    ..CHANGE
};
const _: () = assert!(EXPIRE.arity(false) == -3);

const PEXPIRE: Spec = Spec {
    name: "pexpire",
    since: "2.6.0",
    summary: "Has a key expire in so many milliseconds.",
    syntax: &[Arg::key("key", KeyFlags::UPDATE), Arg::integer("milliseconds"), CONDITION],
    run: |cx, args| set(cx, args, Unit::Millis, Since::Now),
    ..CHANGE
};
const _: () = assert!(PEXPIRE.arity(false) == -3);

const EXPIREAT: Spec = Spec {
    name: "expireat",
    since: "1.2.0",
    summary: "Has a key expire at a Unix time in seconds.",
    syntax: &[Arg::key("key", KeyFlags::UPDATE), Arg::unix_time("unix-time-seconds"), CONDITION],
    run: |cx, args| set(cx, args, Unit::Seconds, Since::Epoch),
    ..CHANGE
};
const _: () = assert!(EXPIREAT.arity(false) == -3);

const PEXPIREAT: Spec = Spec {
    name: "pexpireat",
    since: "2.6.0",
    summary: "Has a key expire at a Unix time in milliseconds.",
    syntax: &[Arg::key("key", KeyFlags::UPDATE), Arg::unix_time("unix-time-milliseconds"), CONDITION],
    run: |cx, args| set(cx, args, Unit::Millis, Since::Epoch),
    ..CHANGE
};
const _: () = assert!(PEXPIREAT.arity(false) == -3);

/// What a number of time counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Seconds,
    Millis,
}

/// Where the counting of time begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Since {
    Now,
    Epoch,
}

/// When a deadline may be set. Redis takes several conditions unless they contradict each other, and all must hold.
#[derive(Clone, Copy, Default)]
struct Conditions {
    nx: bool,
    xx: bool,
    gt: bool,
    lt: bool,
}

impl Conditions {
    fn parse(args: &mut Args<'_>) -> Result<Self, CommandError> {
        let mut all = Self::default();
        while let Some(option) = args.peek() {
            match args.keyword().as_deref() {
                Some(b"NX") => all.nx = true,
                Some(b"XX") => all.xx = true,
                Some(b"GT") => all.gt = true,
                Some(b"LT") => all.lt = true,
                _ => return Err(CommandError::quoting("ERR Unsupported option ", option, "")),
            }
        }
        if all.nx && (all.xx || all.gt || all.lt) {
            return Err(CommandError::text("ERR NX and XX, GT or LT options at the same time are not compatible"));
        }
        if all.gt && all.lt {
            return Err(CommandError::text("ERR GT and LT options at the same time are not compatible"));
        }
        Ok(all)
    }

    /// Whether a deadline at `new`, in Unix milliseconds, may take the place of `old`. Having none counts as the latest of all.
    fn allow(self, old: Option<UnixMillis>, new: i64) -> bool {
        let old = old.map(millis);
        !(self.nx && old.is_some()
            || self.xx && old.is_none()
            || self.gt && old.is_none_or(|old| new <= old)
            || self.lt && old.is_some_and(|old| new >= old))
    }
}

fn set(cx: &mut Context<'_>, args: &mut Args<'_>, unit: Unit, since: Since) -> Outcome {
    let key = args.key()?;
    let time = args.bytes()?;
    let conditions = Conditions::parse(args)?;
    let time = crate::number::parse_i64(time).ok_or(CommandError::NotInteger)?;
    let now = cx.now();
    let base = if since == Since::Now { millis(now) } else { 0 };
    let scaled = if unit == Unit::Seconds { time.checked_mul(1000) } else { Some(time) };
    let deadline = scaled.and_then(|time| time.checked_add(base)).ok_or(CommandError::InvalidExpire(cx.command.full_name))?;
    let done = cx.keys.write(key, |slot| {
        let Some(old) = slot.get().map(Found::deadline) else { return false };
        if !conditions.allow(old, deadline) {
            return false;
        }
        match u64::try_from(deadline).map(UnixMillis) {
            Ok(deadline) if deadline > now => {
                slot.set_deadline(Some(deadline));
                slot.tell(Event::EXPIRE);
            }
            // A time that has passed removes the key at once.
            _ => {
                delete(slot);
            }
        }
        true
    });
    cx.reply.int(i64::from(done));
    Ok(())
}

/// What the commands that ask for a deadline have in common.
const ASK: Spec = Spec {
    group: Group::Generic,
    flags: Flags::READONLY.and(Flags::FAST),
    syntax: &[Arg::key("key", KeyFlags::READ)],
    ..Spec::BASE
};
const _: () = assert!(ASK.arity(false) == 2);

const TTL: Spec = Spec {
    name: "ttl",
    summary: "Answers with the seconds until a key expires; -1 when it never does, -2 when there is no key.",
    tips: &["nondeterministic_output"],
    run: |cx, args| tell(cx, args, Unit::Seconds, Since::Now),
    ..ASK
};

const PTTL: Spec = Spec {
    name: "pttl",
    since: "2.6.0",
    summary: "Answers with the milliseconds until a key expires; -1 when it never does, -2 when there is no key.",
    tips: &["nondeterministic_output"],
    run: |cx, args| tell(cx, args, Unit::Millis, Since::Now),
    ..ASK
};

const EXPIRETIME: Spec = Spec {
    name: "expiretime",
    since: "7.0.0",
    summary: "Answers with the Unix time in seconds at which a key expires; -1 when it never does, -2 when there is no key.",
    run: |cx, args| tell(cx, args, Unit::Seconds, Since::Epoch),
    ..ASK
};

const PEXPIRETIME: Spec = Spec {
    name: "pexpiretime",
    since: "7.0.0",
    summary: "Answers with the Unix time in milliseconds at which a key expires; -1 when it never does, -2 when there is no key.",
    run: |cx, args| tell(cx, args, Unit::Millis, Since::Epoch),
    ..ASK
};

fn tell(cx: &mut Context<'_>, args: &mut Args<'_>, unit: Unit, since: Since) -> Outcome {
    const NO_KEY: i64 = -2;
    const NO_DEADLINE: i64 = -1;
    let key = args.key()?;
    let answer = match cx.keys.peek(key, |found| found.map(Found::deadline)) {
        None => NO_KEY,
        Some(None) => NO_DEADLINE,
        Some(Some(deadline)) => {
            let time = if since == Since::Now { deadline.millis_since(cx.now()) } else { deadline.0 };
            // Half a second counts as one.
            millis(UnixMillis(if unit == Unit::Seconds { time.saturating_add(500) / 1000 } else { time }))
        }
    };
    cx.reply.int(answer);
    Ok(())
}

/// A time as a signed number. No command sets a deadline beyond what that can hold.
fn millis(time: UnixMillis) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
}

const PERSIST: Spec = Spec {
    name: "persist",
    since: "2.2.0",
    summary: "Has a key never expire.",
    syntax: &[Arg::key("key", KeyFlags::UPDATE)],
    run: run_persist,
    ..CHANGE
};
const _: () = assert!(PERSIST.arity(false) == 2);

fn run_persist(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let had_deadline = cx.keys.write(key, persist);
    cx.reply.int(i64::from(had_deadline));
    Ok(())
}

/// Takes a key's deadline away. Whether it had one.
pub(in super::super) fn persist(slot: &mut Slot<'_>) -> bool {
    let had_deadline = slot.get().and_then(Found::deadline).is_some();
    if had_deadline {
        slot.set_deadline(None);
        slot.tell(Event::PERSIST);
    }
    had_deadline
}
