//! INCREX: adds to a number within bounds, and sets or takes away the deadline of its key in the same step.

use super::super::generic::{delete, expire::persist};
use super::super::{Arg, Args, CommandError, Context, Flags, Group, KeyFlags, Outcome, Spec};
use super::set::{EXPIRATION, Expiry};
use crate::clock::UnixMillis;
use crate::number::{Extended, I64_BYTES_MAX, format_i64, parse_i64};
use crate::store::{Deadline, Event, Form, Key, Slot};

pub(in super::super) const SPECS: &[&Spec] = &[&INCREX];

const INCREX: Spec = Spec {
    name: "increx",
    group: Group::String,
    since: "8.8.0",
    summary: "Adds to the number stored under a key, within bounds, and sets or takes away its deadline.",
    flags: Flags::WRITE.and(Flags::DENYOOM).and(Flags::FAST),
    syntax: &[
        Arg::key("key", KeyFlags::ACCESS_UPDATE),
        Arg::one_of("increment", &[Arg::double("float").with_token("BYFLOAT"), Arg::integer("integer").with_token("BYINT")])
            .optional(),
        Arg::token("saturate", "SATURATE").optional(),
        Arg::string("lowerbound").with_token("LBOUND").optional(),
        Arg::string("upperbound").with_token("UBOUND").optional(),
        EXPIRATION,
        Arg::token("enx", "ENX").optional(),
    ],
    run: increx,
    ..Spec::BASE
};
const _: () = assert!(INCREX.arity(false) == -2);

/// What it counts in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// BYINT, and nothing said.
    Integer,
    /// BYFLOAT.
    Float,
}

/// The options as they were written. Unlike SET, Redis takes none of them twice.
#[derive(Default)]
struct Options<'a> {
    by: Option<(Mode, &'a [u8])>,
    lower: Option<&'a [u8]>,
    upper: Option<&'a [u8]>,
    saturate: Option<()>,
    /// The time is empty where it is PERSIST.
    expiry: Option<(Expiry, &'a [u8])>,
    /// ENX: a deadline that is there stays.
    keep_old: Option<()>,
}

impl<'a> Options<'a> {
    fn read(args: &mut Args<'a>) -> Result<Self, CommandError> {
        let mut options = Self::default();
        while let Some(word) = args.keyword() {
            match &*word {
                b"BYINT" => set_once(&mut options.by, (Mode::Integer, args.bytes()?))?,
                b"BYFLOAT" => set_once(&mut options.by, (Mode::Float, args.bytes()?))?,
                b"LBOUND" => set_once(&mut options.lower, args.bytes()?)?,
                b"UBOUND" => set_once(&mut options.upper, args.bytes()?)?,
                b"SATURATE" => set_once(&mut options.saturate, ())?,
                b"ENX" => set_once(&mut options.keep_old, ())?,
                word => {
                    let expiry = Expiry::from_keyword(word).filter(|&expiry| expiry != Expiry::Keep).ok_or(CommandError::Syntax)?;
                    let time = if expiry.has_time() { args.bytes()? } else { &[] };
                    set_once(&mut options.expiry, (expiry, time))?;
                }
            }
        }
        match (options.keep_old, options.expiry) {
            (Some(()), Some((Expiry::Persist, _))) => Err(CommandError::Syntax),
            (Some(()), None) => Err(CommandError::text("ERR ENX flag requires an expiration")),
            _ => Ok(options),
        }
    }

    /// What to do about the deadline once the sum is written.
    fn expiry(&self, cx: &Context<'_>) -> Result<NewDeadline, CommandError> {
        let deadline = match self.expiry {
            None => Deadline::Keep,
            Some((Expiry::Persist, _)) => Deadline::None,
            Some((expiry, time)) => Deadline::At(expiry.deadline(time, cx)?),
        };
        Ok(NewDeadline { deadline, keeps_old: self.keep_old.is_some(), now: cx.now() })
    }
}

fn set_once<T>(option: &mut Option<T>, value: T) -> Result<(), CommandError> {
    if option.is_some() {
        return Err(CommandError::Syntax);
    }
    *option = Some(value);
    Ok(())
}

/// A number to count in.
trait Number: Copy + PartialOrd {
    const MIN: Self;
    const MAX: Self;
    const ZERO: Self;
    /// What a sum is told as.
    const ADDED: Event;
    /// How errors about an argument that is none go on, behind the argument's name.
    const NO_NUMBER: &'static str;

    fn parse(text: &[u8]) -> Option<Self>;
    /// Reads what is stored under the key.
    fn parse_stored(text: &[u8]) -> Result<Self, CommandError>;
    /// Whether it is an increment at all.
    fn check_increment(self) -> Result<(), CommandError>;
    /// The sum, if it is in the range of its kind.
    fn add(self, other: Self) -> Option<Self>;
    /// What was added to `self` if the sum is `sum`.
    fn increment_to(self, sum: Self) -> Result<Self, CommandError>;
    /// Writes it and leaves the deadline alone.
    fn write(self, slot: &mut Slot<'_>);
    fn answer(self, cx: &mut Context<'_>);
}

impl Number for i64 {
    const MIN: Self = Self::MIN;
    const MAX: Self = Self::MAX;
    const ZERO: Self = 0;
    const ADDED: Event = Event::INCRBY;
    const NO_NUMBER: &'static str = "is not an integer or out of range";

    fn parse(text: &[u8]) -> Option<Self> {
        parse_i64(text)
    }

    fn parse_stored(text: &[u8]) -> Result<Self, CommandError> {
        parse_i64(text).ok_or(CommandError::NotInteger)
    }

    fn check_increment(self) -> Result<(), CommandError> {
        Ok(())
    }

    fn add(self, other: Self) -> Option<Self> {
        self.checked_add(other)
    }

    fn increment_to(self, sum: Self) -> Result<Self, CommandError> {
        sum.checked_sub(self).ok_or(CommandError::text("ERR applied increment would overflow"))
    }

    fn write(self, slot: &mut Slot<'_>) {
        slot.set(format_i64(self, &mut [0; I64_BYTES_MAX]), Deadline::Keep);
    }

    fn answer(self, cx: &mut Context<'_>) {
        cx.reply.int(self);
    }
}

impl Number for Extended {
    const MIN: Self = Self::MIN;
    const MAX: Self = Self::MAX;
    const ZERO: Self = Self::ZERO;
    const ADDED: Event = Event::INCRBYFLOAT;
    const NO_NUMBER: &'static str = "is not a valid float";

    fn parse(text: &[u8]) -> Option<Self> {
        Self::parse(text)
    }

    fn parse_stored(text: &[u8]) -> Result<Self, CommandError> {
        let value = Self::parse(text).ok_or(CommandError::NotFloat)?;
        if value.is_infinite() { Err(CommandError::text("ERR value cannot be Infinity")) } else { Ok(value) }
    }

    fn check_increment(self) -> Result<(), CommandError> {
        if self.is_infinite() { Err(CommandError::text("ERR BYFLOAT increment cannot be Infinity")) } else { Ok(()) }
    }

    fn add(self, other: Self) -> Option<Self> {
        self.checked_add(other)
    }

    fn increment_to(self, sum: Self) -> Result<Self, CommandError> {
        sum.checked_add(-self).ok_or(CommandError::text("ERR applied increment would be Infinity"))
    }

    fn write(self, slot: &mut Slot<'_>) {
        // Redis does not look whether the sum is an integer.
        slot.set_as(self.to_text().as_bytes(), Form::Text, Deadline::Keep);
    }

    fn answer(self, cx: &mut Context<'_>) {
        cx.reply.double(&self.to_text());
    }
}

/// The increment, and between which numbers the sum has to lie.
struct Step<N> {
    by: N,
    lower: N,
    upper: N,
    saturate: bool,
}

impl<N: Number> Step<N> {
    fn read(options: &Options<'_>, by: N) -> Result<Self, CommandError> {
        let bound = |text: Option<&[u8]>, name, default| text.map_or(Ok(default), |text| parse(text, name));
        let lower = bound(options.lower, "LBOUND", N::MIN)?;
        let upper = bound(options.upper, "UBOUND", N::MAX)?;
        if lower > upper {
            return Err(CommandError::text("ERR LBOUND can't be greater than UBOUND"));
        }
        Ok(Self { by, lower, upper, saturate: options.saturate.is_some() })
    }

    /// The sum, pressed between the bounds if that is wanted; `None` when it lies outside of them.
    fn sum(&self, value: N) -> Option<N> {
        let bound = match value.add(self.by) {
            Some(sum) if sum < self.lower => self.lower,
            Some(sum) if sum > self.upper => self.upper,
            Some(sum) => return Some(sum),
            // It has left the range of its kind, on the side to which the increment leads.
            None if self.by < N::ZERO => self.lower,
            None => self.upper,
        };
        self.saturate.then_some(bound)
    }
}

/// Reads the argument that errors call `name`.
fn parse<N: Number>(text: &[u8], name: &str) -> Result<N, CommandError> {
    N::parse(text).ok_or_else(|| CommandError::made(format!("ERR {name} {}", N::NO_NUMBER)))
}

/// What becomes of the deadline.
struct NewDeadline {
    deadline: Deadline,
    /// Whether one that is there stays all the same.
    keeps_old: bool,
    now: UnixMillis,
}

impl NewDeadline {
    /// Writes the sum. If its deadline has passed already, the key is removed instead, and nothing else is told.
    fn write<N: Number>(&self, slot: &mut Slot<'_>, sum: N) {
        let keeps = self.keeps_old && slot.get().is_some_and(|found| found.deadline().is_some());
        let deadline = if keeps { Deadline::Keep } else { self.deadline };
        if matches!(deadline, Deadline::At(at) if at <= self.now) {
            delete(slot);
            return;
        }
        sum.write(slot);
        slot.tell(N::ADDED);
        match deadline {
            Deadline::Keep => {}
            Deadline::None => {
                persist(slot);
            }
            Deadline::At(at) => {
                slot.set_deadline(Some(at));
                slot.tell(Event::EXPIRE);
            }
        }
    }
}

fn increx(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let options = Options::read(args)?;
    match options.by {
        None => add(cx, key, &options, 1_i64),
        Some((Mode::Integer, by)) => add(cx, key, &options, parse::<i64>(by, "Increment")?),
        Some((Mode::Float, by)) => add(cx, key, &options, parse::<Extended>(by, "Increment")?),
    }
}

/// Answers with what is there afterwards and what was added to it.
fn add<N: Number>(cx: &mut Context<'_>, key: Key<'_>, options: &Options<'_>, by: N) -> Outcome {
    by.check_increment()?;
    let step = Step::read(options, by)?;
    let expiry = options.expiry(cx)?;
    let (value, added) = cx.keys.write(key, |slot| {
        let value = slot.get().map_or(Ok(N::ZERO), |found| N::parse_stored(found.value()))?;
        let Some(sum) = step.sum(value) else { return Ok((value, N::ZERO)) };
        let added = value.increment_to(sum)?;
        expiry.write(slot, sum);
        Ok((sum, added))
    })?;
    cx.reply.array(2);
    value.answer(cx);
    added.answer(cx);
    Ok(())
}
