//! Writing whole strings, with conditions and deadlines: SET and its elder relatives, and GETEX, which shares its options.

use super::super::generic::{delete, expire::persist};
use super::super::{Arg, Args, Argv, Choice, CommandError, Context, Flags, Group, KeyFlags, Keyword, Outcome, Spec};
use super::compare::Comparison;
use super::{answer, store};
use crate::clock::UnixMillis;
use crate::number::parse_i64;
use crate::store::{Deadline, Event, Found, Key};

pub(in super::super) const SPECS: &[&Spec] = &[&SET, &SETNX, &SETEX, &PSETEX, &GETEX];

/// What must hold for SET to write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    /// NX: the key is not there.
    Absent,
    /// XX: the key is there.
    Present,
    /// What is there fits when it is held against the argument that follows.
    Compared(Comparison),
}

/// What SET and its relatives can do about the deadline. Those with a time take it from the argument that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expiry {
    /// EX: seconds from now.
    Seconds,
    /// PX: milliseconds from now.
    Millis,
    /// EXAT: Unix time in seconds.
    AtSeconds,
    /// PXAT: Unix time in milliseconds.
    AtMillis,
    /// KEEPTTL: it stays what it is.
    Keep,
    /// PERSIST: it is taken away.
    Persist,
}

impl Expiry {
    pub(super) fn from_keyword(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"EX" => Self::Seconds,
            b"PX" => Self::Millis,
            b"EXAT" => Self::AtSeconds,
            b"PXAT" => Self::AtMillis,
            b"KEEPTTL" => Self::Keep,
            b"PERSIST" => Self::Persist,
            _ => return None,
        })
    }

    pub(super) const fn has_time(self) -> bool {
        !matches!(self, Self::Keep | Self::Persist)
    }

    /// Reads the time of a deadline. It may lie in the past.
    pub(super) fn deadline(self, time: &[u8], cx: &Context<'_>) -> Result<UnixMillis, CommandError> {
        let invalid = CommandError::InvalidExpire(cx.command.full_name);
        let time = parse_i64(time).ok_or(CommandError::NotInteger)?;
        let millis = match self {
            Self::Seconds | Self::AtSeconds => time.checked_mul(1000),
            _ => Some(time),
        };
        let Some(millis) = millis.filter(|&millis| millis > 0) else { return Err(invalid) };
        let now = match self {
            Self::Seconds | Self::Millis => cx.now().0,
            _ => 0,
        };
        // Redis keeps deadlines in 64 bits with a sign.
        let deadline = millis.checked_add_unsigned(now).ok_or(invalid)?;
        Ok(UnixMillis(deadline.unsigned_abs()))
    }
}

/// Options of SET and its relatives as they were written.
#[derive(Default)]
pub(super) struct Options<'a> {
    expiry: Choice<Expiry>,
    time: &'a [u8],
    condition: Choice<Condition>,
    given: &'a [u8],
    get: bool,
}

impl<'a> Options<'a> {
    /// Options of SET.
    fn of_set(args: &mut Args<'a>) -> Result<Self, CommandError> {
        let mut options = Self::default();
        while let Some(word) = args.keyword() {
            if let Some(comparison) = Comparison::from_keyword(&word) {
                options.condition.pick(Condition::Compared(comparison))?;
                options.given = args.bytes()?;
            } else if *word == *b"GET" {
                options.get = true;
            } else {
                options.take(&word, args)?;
            }
        }
        Ok(options)
    }

    /// Options of MSETEX: those of SET that are not about a value.
    pub(super) fn of_msetex(args: &mut Args<'a>) -> Result<Self, CommandError> {
        let mut options = Self::default();
        while let Some(word) = args.keyword() {
            options.take(&word, args)?;
        }
        Ok(options)
    }

    /// Options of GETEX: what it does about the deadline.
    fn of_getex(args: &mut Args<'a>) -> Result<Self, CommandError> {
        let mut options = Self::default();
        while let Some(word) = args.keyword() {
            match &*word {
                b"KEEPTTL" => return Err(CommandError::Syntax),
                word => options.take_expiry(word, args)?,
            }
        }
        Ok(options)
    }

    /// Takes an option that every command that writes whole values has.
    fn take(&mut self, word: &[u8], args: &mut Args<'a>) -> Result<(), CommandError> {
        match word {
            b"NX" => self.condition.pick(Condition::Absent),
            b"XX" => self.condition.pick(Condition::Present),
            b"PERSIST" => Err(CommandError::Syntax),
            word => self.take_expiry(word, args),
        }
    }

    fn take_expiry(&mut self, word: &[u8], args: &mut Args<'a>) -> Result<(), CommandError> {
        let expiry = Expiry::from_keyword(word).ok_or(CommandError::Syntax)?;
        self.expiry.pick(expiry)?;
        if expiry.has_time() {
            self.time = args.bytes()?;
        }
        Ok(())
    }

    /// Whether the condition lets SET write over what is there.
    fn allow(&self, found: Option<Found<'_>>) -> Result<bool, CommandError> {
        match (self.condition.get(), found) {
            (Some(Condition::Compared(comparison)), Some(found)) => comparison.fits(found.value(), self.given),
            // A digest is not looked at when there is nothing to hold it against.
            (Some(Condition::Compared(comparison)), None) => Ok(comparison.fits_absence()),
            (_, found) => Ok(self.allow_presence(found.is_some())),
        }
    }

    /// The same for a command that takes NX and XX only.
    pub(super) fn allow_presence(&self, present: bool) -> bool {
        match self.condition.get() {
            Some(Condition::Absent) => !present,
            Some(Condition::Present) => present,
            _ => true,
        }
    }

    /// What to do about the deadline; `None` when nothing was said.
    pub(super) fn deadline(&self, cx: &Context<'_>) -> Result<Option<Deadline>, CommandError> {
        Ok(match self.expiry.get() {
            None => None,
            Some(Expiry::Keep) => Some(Deadline::Keep),
            Some(Expiry::Persist) => Some(Deadline::None),
            Some(expiry) => Some(Deadline::At(expiry.deadline(self.time, cx)?)),
        })
    }
}

const SET: Spec = Spec {
    name: "set",
    group: Group::String,
    summary: "Stores a string under a key, whatever was there before.",
    flags: Flags::WRITE.and(Flags::DENYOOM),
    key_flags: Some(set_key_flags),
    key_notes: Some("RW and ACCESS due to the optional `GET` argument"),
    syntax: &[
        Arg::key("key", KeyFlags::VARIABLE),
        Arg::string("value"),
        Arg::one_of(
            "condition",
            &[
                Arg::token("nx", "NX").since("2.6.12"),
                Arg::token("xx", "XX").since("2.6.12"),
                Comparison::ARGS[0].since("8.4.0"),
                Comparison::ARGS[1].since("8.4.0"),
                Comparison::ARGS[2].since("8.4.0"),
                Comparison::ARGS[3].since("8.4.0"),
            ],
        )
        .optional(),
        Arg::token("get", "GET").since("6.2.0").optional(),
        Arg::one_of(
            "expiration",
            &[
                Arg::integer("seconds").with_token("EX").since("2.6.12"),
                Arg::integer("milliseconds").with_token("PX").since("2.6.12"),
                Arg::unix_time("unix-time-seconds").with_token("EXAT").since("6.2.0"),
                Arg::unix_time("unix-time-milliseconds").with_token("PXAT").since("6.2.0"),
                Arg::token("keepttl", "KEEPTTL").since("6.0.0"),
            ],
        )
        .optional(),
    ],
    run: set,
    ..Spec::BASE
};
const _: () = assert!(SET.arity(false) == -3);

/// With GET the old value is read, and with a condition on it the server reads it but does not show it. Redis looks at all words
/// behind the value, those that belong to an option among them.
fn set_key_flags(argv: &Argv<'_>) -> KeyFlags {
    let has = |wanted: &dyn Fn(&[u8]) -> bool| argv.iter().skip(3).any(|word| wanted(&Keyword::new(word)));
    if has(&|word| word == b"GET") {
        KeyFlags::ACCESS_UPDATE
    } else if has(&|word| Comparison::from_keyword(word).is_some()) {
        KeyFlags::UPDATE
    } else {
        KeyFlags::OVERWRITE
    }
}

#[inline]
fn set(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let value = args.bytes()?;
    if !args.is_empty() {
        return set_with_options(cx, key, value, args);
    }
    cx.keys.write(key, |slot| store(slot, value, cx.input, Deadline::None));
    cx.reply.ok();
    Ok(())
}

fn set_with_options(cx: &mut Context<'_>, key: Key<'_>, value: &[u8], args: &mut Args<'_>) -> Outcome {
    let options = Options::of_set(args)?;
    let deadline = options.deadline(cx)?.unwrap_or(Deadline::None);
    let written = cx.keys.write(key, |slot| {
        let written = options.allow(slot.get())?;
        if options.get {
            answer(&mut cx.reply, slot.get());
            cx.keys.count(key, slot.is_present());
        }
        if written {
            // A deadline that has passed removes the key as any other does.
            store(slot, value, cx.input, deadline);
        }
        Ok(written)
    })?;
    match (options.get, written) {
        // The old value was the answer.
        (true, _) => {}
        (false, true) => cx.reply.ok(),
        (false, false) => cx.reply.null(),
    }
    Ok(())
}

const SETNX: Spec = Spec {
    name: "setnx",
    group: Group::String,
    summary: "Stores a string under a key that is not there yet.",
    flags: Flags::WRITE.and(Flags::DENYOOM).and(Flags::FAST),
    syntax: &[Arg::key("key", KeyFlags::INSERT), Arg::string("value")],
    run: setnx,
    ..Spec::BASE
};
const _: () = assert!(SETNX.arity(false) == 3);

fn setnx(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let value = args.bytes()?;
    let written = cx.keys.write(key, |slot| {
        let written = !slot.is_present();
        if written {
            store(slot, value, cx.input, Deadline::None);
        }
        written
    });
    cx.reply.int(written.into());
    Ok(())
}

const SETEX: Spec = Spec {
    name: "setex",
    group: Group::String,
    since: "2.0.0",
    summary: "Stores a string under a key for a number of seconds.",
    flags: Flags::WRITE.and(Flags::DENYOOM),
    syntax: &[Arg::key("key", KeyFlags::OVERWRITE), Arg::integer("seconds"), Arg::string("value")],
    run: |cx, args| set_for(cx, args, Expiry::Seconds),
    ..Spec::BASE
};
const _: () = assert!(SETEX.arity(false) == 4);

const PSETEX: Spec = Spec {
    name: "psetex",
    group: Group::String,
    since: "2.6.0",
    summary: "Stores a string under a key for a number of milliseconds.",
    flags: Flags::WRITE.and(Flags::DENYOOM),
    syntax: &[Arg::key("key", KeyFlags::OVERWRITE), Arg::integer("milliseconds"), Arg::string("value")],
    run: |cx, args| set_for(cx, args, Expiry::Millis),
    ..Spec::BASE
};
const _: () = assert!(PSETEX.arity(false) == 4);

fn set_for(cx: &mut Context<'_>, args: &mut Args<'_>, expiry: Expiry) -> Outcome {
    let key = args.key()?;
    let deadline = expiry.deadline(args.bytes()?, cx)?;
    let value = args.bytes()?;
    cx.keys.write(key, |slot| store(slot, value, cx.input, Deadline::At(deadline)));
    cx.reply.ok();
    Ok(())
}

/// What becomes of the deadline, where the value stays the key's own: it is set, or taken away.
pub(super) const EXPIRATION: Arg = Arg::one_of(
    "expiration",
    &[
        Arg::integer("seconds").with_token("EX"),
        Arg::integer("milliseconds").with_token("PX"),
        Arg::unix_time("unix-time-seconds").with_token("EXAT"),
        Arg::unix_time("unix-time-milliseconds").with_token("PXAT"),
        Arg::token("persist", "PERSIST"),
    ],
)
.optional();

const GETEX: Spec = Spec {
    name: "getex",
    group: Group::String,
    since: "6.2.0",
    summary: "Answers with a string and sets or takes away its deadline.",
    flags: Flags::WRITE.and(Flags::FAST),
    key_notes: Some("RW and UPDATE because it changes the TTL"),
    syntax: &[Arg::key("key", KeyFlags::ACCESS_UPDATE), EXPIRATION],
    run: getex,
    ..Spec::BASE
};
const _: () = assert!(GETEX.arity(false) == -2);

fn getex(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let options = Options::of_getex(args)?;
    // A missing key is answered before the time is looked at.
    let deadline = options.deadline(cx);
    let now = cx.now();
    cx.keys.write(key, |slot| {
        cx.keys.count(key, slot.is_present());
        let Some(found) = slot.get() else {
            cx.reply.null();
            return Ok(());
        };
        let deadline = deadline?;
        answer(&mut cx.reply, Some(found));
        match deadline {
            None | Some(Deadline::Keep) => {}
            Some(Deadline::None) => {
                persist(slot);
            }
            Some(Deadline::At(at)) if at <= now => {
                delete(slot);
            }
            Some(Deadline::At(at)) => {
                slot.set_deadline(Some(at));
                slot.tell(Event::EXPIRE);
            }
        }
        Ok(())
    })
}
