//! Integers of any width anywhere in a string.

use super::super::{Arg, Args, Argv, CommandError, Context, Flags, Group, KeyFlags, Outcome, Reply, Spec};
use super::{BAD_OFFSET, Edit, check_offset, edit};
use crate::number::parse_i64;
use crate::store::Found;

pub(in super::super) const SPECS: &[&Spec] = &[&BITFIELD, &BITFIELD_RO];

const BITFIELD: Spec = Spec {
    name: "bitfield",
    group: Group::Bitmap,
    since: "3.2.0",
    complexity: "O(1) for each subcommand specified",
    summary: "Reads, writes and counts integers of any width in a string.",
    flags: Flags::WRITE.and(Flags::DENYOOM),
    key_flags: Some(bitfield_key_flags),
    key_notes: Some("This command allows both access and modification of the key"),
    syntax: &[Arg::key("key", KeyFlags::VARIABLE), Arg::one_of("operation", &[GET, WRITE]).multiple().optional()],
    run: bitfield,
    ..Spec::BASE
};
const _: () = assert!(BITFIELD.arity(false) == -2);

/// Reading only, if every operation does nothing else. What is no operation counts as writing.
fn bitfield_key_flags(argv: &Argv<'_>) -> KeyFlags {
    let mut at = 2;
    while let Some(word) = argv.get(at) {
        let behind = argv.len() - at - 1;
        at += match word.to_ascii_lowercase().as_slice() {
            b"get" if behind >= 2 => 3,
            b"overflow" if behind >= 1 => 2,
            _ => return KeyFlags::ACCESS_UPDATE,
        };
    }
    KeyFlags::READ
}

const BITFIELD_RO: Spec = Spec {
    name: "bitfield_ro",
    group: Group::Bitmap,
    since: "6.0.0",
    complexity: "O(1) for each subcommand specified",
    summary: "Reads integers of any width in a string.",
    flags: Flags::READONLY.and(Flags::FAST),
    syntax: &[Arg::key("key", KeyFlags::READ), GET.multiple_token().optional()],
    run: bitfield_ro,
    ..Spec::BASE
};
const _: () = assert!(BITFIELD_RO.arity(false) == -2);

const GET: Arg = Arg::block("encoding_offset", &[Arg::string("encoding"), Arg::integer("offset")]).with_token("GET");

const WRITE: Arg = Arg::block(
    "write",
    &[
        Arg::one_of("wrap_sat_fail", &[Arg::token("wrap", "WRAP"), Arg::token("sat", "SAT"), Arg::token("fail", "FAIL")])
            .with_token("OVERFLOW")
            .optional(),
        Arg::one_of(
            "write_operation",
            &[
                Arg::block("encoding_offset_value", &[Arg::string("encoding"), Arg::integer("offset"), Arg::integer("value")])
                    .with_token("SET"),
                Arg::block(
                    "encoding_offset_increment",
                    &[Arg::string("encoding"), Arg::integer("offset"), Arg::integer("increment")],
                )
                .with_token("INCRBY"),
            ],
        ),
    ],
);

fn bitfield(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let operations = operations(cx, args)?;
    let Some(len) = operations.iter().filter_map(Operation::bytes_written).max() else {
        read(cx, key, &operations);
        return Ok(());
    };
    cx.reply.array(operations.len());
    cx.keys.write(key, |slot| {
        // Room is made even for what is then not written because it overflows.
        edit(slot, len, |bytes| {
            let mut edit = Edit { result: (), wrote: false, differs: false };
            operations.iter().for_each(|operation| operation.run(bytes, &mut cx.reply, &mut edit));
            edit
        });
    });
    Ok(())
}

fn bitfield_ro(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let operations = operations(cx, args)?;
    if operations.iter().any(|operation| operation.bytes_written().is_some()) {
        return Err(CommandError::text("ERR BITFIELD_RO only supports the GET subcommand"));
    }
    read(cx, key, &operations);
    Ok(())
}

/// Runs operations none of which writes.
fn read(cx: &mut Context<'_>, key: crate::store::Key<'_>, operations: &[Operation]) {
    cx.keys.read(key, |found| {
        let bytes = found.map(Found::value).unwrap_or_default();
        cx.reply.array(operations.len());
        operations.iter().for_each(|operation| cx.reply.int(operation.field.get(bytes)));
    });
}

/// What happens to a number that its field cannot hold.
#[derive(Clone, Copy)]
enum Overflow {
    /// Its lowest bits are written.
    Wrap,
    /// The nearest number that the field can hold is written.
    Saturate,
    /// Nothing is written, and null answered.
    Fail,
}

#[derive(Clone, Copy)]
enum Action {
    /// Answers with the number.
    Get,
    /// Writes a number and answers with the old one.
    Set(i64, Overflow),
    /// Adds to the number and answers with the sum.
    Add(i64, Overflow),
}

struct Operation {
    field: Field,
    action: Action,
}

fn operations(cx: &Context<'_>, args: &mut Args<'_>) -> Result<Vec<Operation>, CommandError> {
    let mut overflow = Overflow::Wrap;
    let mut operations = Vec::new();
    while let Some(word) = args.keyword() {
        // An operation that lacks an argument is one that does not exist.
        let action: fn(i64, Overflow) -> Action = match &*word {
            b"GET" if args.len() >= 2 => |_, _| Action::Get,
            b"SET" if args.len() >= 3 => Action::Set,
            b"INCRBY" if args.len() >= 3 => Action::Add,
            b"OVERFLOW" if !args.is_empty() => {
                overflow = parse_overflow(args)?;
                continue;
            }
            _ => return Err(CommandError::Syntax),
        };
        let field = Field::parse(cx, args)?;
        let operand = if &*word == b"GET" { 0 } else { args.int()? };
        operations.push(Operation { field, action: action(operand, overflow) });
    }
    Ok(operations)
}

fn parse_overflow(args: &mut Args<'_>) -> Result<Overflow, CommandError> {
    match args.keyword().as_deref() {
        Some(b"WRAP") => Ok(Overflow::Wrap),
        Some(b"SAT") => Ok(Overflow::Saturate),
        Some(b"FAIL") => Ok(Overflow::Fail),
        _ => Err(CommandError::text("ERR Invalid OVERFLOW type specified")),
    }
}

impl Operation {
    /// The length that the string must have for this operation to write; `None` if it only reads.
    fn bytes_written(&self) -> Option<usize> {
        match self.action {
            Action::Get => None,
            Action::Set(..) | Action::Add(..) => Some((self.field.offset + self.field.bits as usize).div_ceil(8)),
        }
    }

    /// Answers, and notes in `edit` what was done.
    fn run(&self, bytes: &mut [u8], reply: &mut Reply<'_>, edit: &mut Edit<()>) {
        let field = self.field;
        let old = field.get(bytes);
        let (wanted, overflow) = match self.action {
            Action::Get => return reply.int(old),
            Action::Set(value, overflow) => (field.literal(value), overflow),
            Action::Add(increment, overflow) => (i128::from(old) + i128::from(increment), overflow),
        };
        let Some(new) = field.fit(wanted, overflow) else {
            return reply.null();
        };
        field.set(bytes, new);
        edit.wrote = true;
        edit.differs |= old != new;
        reply.int(if matches!(self.action, Action::Set(..)) { old } else { new });
    }
}

/// An integer in a string.
#[derive(Clone, Copy)]
struct Field {
    signed: bool,
    /// Its width: at most 64, and at most 63 without a sign.
    bits: u32,
    /// The position of its highest bit.
    offset: usize,
}

impl Field {
    /// Reads a type such as `u8`, and an offset in bits, or, behind `#`, in fields of this type.
    fn parse(cx: &Context<'_>, args: &mut Args<'_>) -> Result<Self, CommandError> {
        let (signed, bits) = parse_type(args.bytes()?).ok_or(CommandError::text(
            "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.",
        ))?;
        let offset = match args.bytes()? {
            // Redis does not look whether the product overflows, only whether what is left of it is an offset.
            [b'#', index @ ..] => parse_i64(index).map(|index| index.wrapping_mul(i64::from(bits))),
            offset => parse_i64(offset),
        };
        let offset = offset.and_then(|offset| check_offset(cx, offset)).ok_or(BAD_OFFSET)?;
        Ok(Self { signed, bits, offset })
    }

    /// The bytes that hold the field, and how far right of its lowest bit they go on.
    fn window(self) -> (std::ops::Range<usize>, usize) {
        let end = self.offset + self.bits as usize;
        let last = end.div_ceil(8);
        (self.offset / 8..last, last * 8 - end)
    }

    fn mask(self) -> u128 {
        (1 << self.bits) - 1
    }

    /// The number. Bytes behind the end count as zeros.
    fn get(self, bytes: &[u8]) -> i64 {
        let (window, shift) = self.window();
        let all = window.fold(0_u128, |all, at| all << 8 | u128::from(bytes.get(at).copied().unwrap_or(0)));
        let field = all >> shift & self.mask();
        self.truncate(field.cast_signed())
    }

    /// Writes a number that the field can hold. The bytes are there.
    fn set(self, bytes: &mut [u8], value: i64) {
        let (window, shift) = self.window();
        let bytes = &mut bytes[window];
        let all = bytes.iter().fold(0_u128, |all, &byte| all << 8 | u128::from(byte));
        let field = i128::from(value).cast_unsigned() & self.mask();
        let mut all = all & !(self.mask() << shift) | field << shift;
        for byte in bytes.iter_mut().rev() {
            *byte = (all & 0xff) as u8;
            all >>= 8;
        }
    }

    /// A number to be written as it is. Redis reads it as one without a sign if the field is.
    fn literal(self, value: i64) -> i128 {
        if !self.signed {
            return i128::from(value.cast_unsigned());
        }
        // Redis subtracts the value from the greatest one in 64 bits. Where that overflows it takes the value for too large, not for too
        // small, except in a field of all 64 bits. What it is taken for here has the same lowest bits.
        let is_taken_for_large = self.bits < 64 && self.max().checked_sub(value).is_none();
        i128::from(value) + (i128::from(is_taken_for_large) << 64)
    }

    /// The greatest number that a field with a sign can hold.
    fn max(self) -> i64 {
        i64::MAX >> (64 - self.bits)
    }

    /// What is written in place of `wanted`; `None` for nothing.
    fn fit(self, wanted: i128, overflow: Overflow) -> Option<i64> {
        let (min, max) = if self.signed {
            let half = 1_i128 << (self.bits - 1);
            (-half, half - 1)
        } else {
            (0, (1_i128 << self.bits) - 1)
        };
        match overflow {
            Overflow::Saturate => i64::try_from(wanted.clamp(min, max)).ok(),
            Overflow::Fail if !(min..=max).contains(&wanted) => None,
            Overflow::Wrap | Overflow::Fail => Some(self.truncate(wanted)),
        }
    }

    /// The lowest bits of a number, read as the field reads them.
    fn truncate(self, number: i128) -> i64 {
        let unused = 128 - self.bits;
        let number = if self.signed { number << unused >> unused } else { number & self.mask().cast_signed() };
        // A field of 64 bits has a sign, and one without has 63.
        i64::try_from(number).unwrap_or(i64::MAX)
    }
}

/// A sign, `i` or `u`, and a width.
fn parse_type(text: &[u8]) -> Option<(bool, u32)> {
    // Redis reads the width as a C string.
    let text = text.split(|&byte| byte == 0).next()?;
    let (signed, width, most) = match text {
        [b'i', width @ ..] => (true, width, 64),
        [b'u', width @ ..] => (false, width, 63),
        _ => return None,
    };
    let bits = u32::try_from(parse_i64(width)?).ok()?;
    (1..=most).contains(&bits).then_some((signed, bits))
}
