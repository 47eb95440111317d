//! Counting and finding bits within a range of a string.

use super::super::{Arg, Args, CommandError, Context, Flags, Group, KeyFlags, Outcome, Spec, positions};
use crate::store::Found;

pub(in super::super) const SPECS: &[&Spec] = &[&BITCOUNT, &BITPOS];

const UNIT: Arg = Arg::one_of("index_unit", &[Arg::token("byte", "BYTE"), Arg::token("bit", "BIT")]).since("7.0.0").optional();

const BITCOUNT: Spec = Spec {
    name: "bitcount",
    group: Group::Bitmap,
    since: "2.6.0",
    complexity: "O(N)",
    summary: "Counts the bits of a string that are 1.",
    flags: Flags::READONLY,
    syntax: &[Arg::key("key", KeyFlags::READ), Arg::block("index", &[Arg::integer("start"), Arg::integer("end"), UNIT]).optional()],
    run: bitcount,
    ..Spec::BASE
};
const _: () = assert!(BITCOUNT.arity(false) == -2);

fn bitcount(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let range = match args.len() {
        0 => None,
        2 => Some((args.int()?, args.int()?, Unit::Byte)),
        3 => Some((args.int()?, args.int()?, Unit::parse(args)?)),
        _ => return Err(CommandError::Syntax),
    };
    let count = cx.keys.read(key, |found| {
        let value = found.map(Found::value).unwrap_or_default();
        let bits = match range {
            Some((start, end, _)) if positions::runs_backwards(start, end) => None,
            Some((start, end, unit)) => Bits::within(value, start, end, unit),
            None => Bits::all(value),
        };
        bits.map_or(0, |bits| bits.count(value))
    });
    cx.reply.len(count);
    Ok(())
}

const BITPOS: Spec = Spec {
    name: "bitpos",
    group: Group::Bitmap,
    since: "2.8.7",
    complexity: "O(N)",
    summary: "Finds the first bit of a string that is 1, or 0.",
    flags: Flags::READONLY,
    syntax: &[
        Arg::key("key", KeyFlags::READ),
        Arg::integer("bit"),
        Arg::block("index", &[Arg::integer("start"), Arg::block("end_index", &[Arg::integer("end"), UNIT]).optional()]).optional(),
    ],
    run: bitpos,
    ..Spec::BASE
};
const _: () = assert!(BITPOS.arity(false) == -3);

fn bitpos(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let bit = match args.int()? {
        0 => false,
        1 => true,
        _ => return Err(CommandError::text("ERR The bit argument must be 1 or 0.")),
    };
    let (start, end, unit) = bitpos_range(args)?;
    let position = cx.keys.read(key, |found| {
        // A missing key is all zeros without an end, whatever the range.
        let Some(value) = found.map(Found::value) else { return if bit { None } else { Some(0) } };
        let bits = Bits::within(value, start, end.unwrap_or(i64::MAX), unit)?;
        // Without an end the zeros behind the string belong to the range.
        bits.find(value, bit).or((!bit && end.is_none()).then_some(value.len() * 8))
    });
    match position {
        Some(position) => cx.reply.len(position),
        None => cx.reply.int(-1),
    }
    Ok(())
}

fn bitpos_range(args: &mut Args<'_>) -> Result<(i64, Option<i64>, Unit), CommandError> {
    let start = match args.len() {
        0 => return Ok((0, None, Unit::Byte)),
        1..=3 => args.int()?,
        _ => return Err(CommandError::Syntax),
    };
    let Some(end) = args.next() else { return Ok((start, None, Unit::Byte)) };
    // An unknown unit is complained of before the end.
    let unit = if args.is_empty() { Unit::Byte } else { Unit::parse(args)? };
    let end = crate::number::parse_i64(end).ok_or(CommandError::NotInteger)?;
    Ok((start, Some(end), unit))
}

/// What a range counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Byte,
    Bit,
}

impl Unit {
    fn parse(args: &mut Args<'_>) -> Result<Self, CommandError> {
        match args.keyword().as_deref() {
            Some(b"BIT") => Ok(Self::Bit),
            Some(b"BYTE") => Ok(Self::Byte),
            _ => Err(CommandError::Syntax),
        }
    }
}

/// A range of bits of a string, not empty.
#[derive(Clone, Copy)]
struct Bits {
    /// The first bit.
    start: usize,
    /// The bit behind the last.
    end: usize,
}

impl Bits {
    fn all(value: &[u8]) -> Option<Self> {
        (!value.is_empty()).then_some(Self { start: 0, end: value.len() * 8 })
    }

    /// The part of the range from `start` up to and including `end` that lies within `value`. Negative positions count from the end.
    fn within(value: &[u8], start: i64, end: i64, unit: Unit) -> Option<Self> {
        // A string is as many places long as it has bytes or bits.
        let (places, bits) = if unit == Unit::Bit { (8, 1) } else { (1, 8) };
        let range = positions::within(start, end, value.len() * places)?;
        Some(Self { start: range.start * bits, end: range.end * bits })
    }

    /// Whole bytes of the range, with the bits outside of it replaced by `filler` in a copy of the outermost ones: the first byte,
    /// those between, and the last byte. A range within a single byte has only a first one.
    fn parts(self, value: &[u8], filler: bool) -> (u8, &[u8], Option<u8>) {
        let (first, last) = (self.start / 8, (self.end - 1) / 8);
        let head = 0xff_u8 >> (self.start % 8);
        let tail = 0xff_u8 << (7 - (self.end - 1) % 8);
        let fill = |byte: u8, mask: u8| if filler { byte | !mask } else { byte & mask };
        if first == last {
            return (fill(value[first], head & tail), &[], None);
        }
        (fill(value[first], head), &value[first + 1..last], Some(fill(value[last], tail)))
    }

    /// How many of the bits are 1.
    fn count(self, value: &[u8]) -> usize {
        let (first, middle, last) = self.parts(value, false);
        let ends = first.count_ones() + last.unwrap_or(0).count_ones();
        let (words, rest) = middle.as_chunks::<8>();
        let words: usize = words.iter().map(|word| u64::from_ne_bytes(*word).count_ones() as usize).sum();
        let rest: usize = rest.iter().map(|byte| byte.count_ones() as usize).sum();
        ends as usize + words + rest
    }

    /// The first of the bits that is `bit`.
    fn find(self, value: &[u8], bit: bool) -> Option<usize> {
        // Looking for ones, what is of no interest is zero, and the other way round.
        let dull = if bit { 0 } else { 0xff };
        let (first, middle, last) = self.parts(value, !bit);
        let within = |byte: u8| (byte ^ dull).leading_zeros() as usize;
        let base = self.start / 8 * 8;
        if first != dull {
            return Some(base + within(first));
        }
        let words = middle.as_chunks::<8>().0;
        let whole = words.iter().take_while(|word| **word == [dull; 8]).count() * 8;
        let skipped = whole + middle[whole..].iter().take_while(|&&byte| byte == dull).count();
        let base = base + 8 + skipped * 8;
        match middle.get(skipped) {
            Some(&byte) => Some(base + within(byte)),
            None => last.filter(|&byte| byte != dull).map(|byte| base + within(byte)),
        }
    }
}
