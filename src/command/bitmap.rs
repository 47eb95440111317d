//! Strings as arrays of bits. Bit 0 is the highest bit of the first byte, and behind the last byte all bits are 0.

pub(super) mod bitfield;
pub(super) mod bitop;
pub(super) mod range;

use super::{Arg, Args, CommandError, Context, Flags, Group, KeyFlags, Outcome, Spec};
use crate::number::parse_i64;
use crate::store::{Event, Found, LEN_MAX, Slot};

pub(super) const SPECS: &[&Spec] = &[&SETBIT, &GETBIT];

const SETBIT: Spec = Spec {
    name: "setbit",
    group: Group::Bitmap,
    since: "2.2.0",
    summary: "Sets or clears one bit of a string and answers with what it was.",
    flags: Flags::WRITE.and(Flags::DENYOOM),
    syntax: &[Arg::key("key", KeyFlags::ACCESS_UPDATE), Arg::integer("offset"), Arg::integer("value")],
    run: setbit,
    ..Spec::BASE
};
const _: () = assert!(SETBIT.arity(false) == 4);

fn setbit(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let offset = parse_offset(cx, args.bytes()?)?;
    let on = match parse_i64(args.bytes()?) {
        Some(0) => false,
        Some(1) => true,
        _ => return Err(CommandError::text("ERR bit is not an integer or out of range")),
    };
    let (byte, mask) = place(offset);
    let was = cx.keys.write(key, |slot| {
        edit(slot, byte + 1, |bytes| {
            let was = bytes[byte] & mask != 0;
            bytes[byte] = if on { bytes[byte] | mask } else { bytes[byte] & !mask };
            Edit { result: was, wrote: true, differs: was != on }
        })
    });
    cx.reply.int(was.into());
    Ok(())
}

const GETBIT: Spec = Spec {
    name: "getbit",
    group: Group::Bitmap,
    since: "2.2.0",
    summary: "Answers with one bit of a string.",
    flags: Flags::READONLY.and(Flags::FAST),
    syntax: &[Arg::key("key", KeyFlags::READ), Arg::integer("offset")],
    run: getbit,
    ..Spec::BASE
};
const _: () = assert!(GETBIT.arity(false) == 3);

fn getbit(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let (byte, mask) = place(parse_offset(cx, args.bytes()?)?);
    let value =
        cx.keys.read(key, |found| found.map(Found::value).unwrap_or_default().get(byte).is_some_and(|bits| bits & mask != 0));
    cx.reply.int(value.into());
    Ok(())
}

/// The byte in which a bit lies, and the bit within it.
fn place(offset: usize) -> (usize, u8) {
    (offset / 8, 0x80 >> (offset % 8))
}

/// What was done to the bits of a value.
struct Edit<R> {
    result: R,
    /// Bits were written, be it what they were before.
    wrote: bool,
    /// A bit is another than before.
    differs: bool,
}

/// Changes the value in place, made at least `len` bytes long.
fn edit<R>(slot: &mut Slot<'_>, len: usize, change: impl FnOnce(&mut [u8]) -> Edit<R>) -> R {
    let old_len = slot.get().map_or(0, |found| found.value().len());
    let Edit { result, wrote, differs } = slot.edit(old_len.max(len), change);
    if differs || (wrote && len > old_len) {
        slot.tell(Event::SETBIT);
    } else {
        slot.owe_nothing();
    }
    result
}

fn parse_offset(cx: &Context<'_>, text: &[u8]) -> Result<usize, CommandError> {
    parse_i64(text).and_then(|offset| check_offset(cx, offset)).ok_or(BAD_OFFSET)
}

const BAD_OFFSET: CommandError = CommandError::text("ERR bit offset is not an integer or out of range");

/// An offset of a bit that a string of `proto-max-bulk-len` can have.
fn check_offset(cx: &Context<'_>, offset: i64) -> Option<usize> {
    /// A field that begins in the last byte takes up to 8 more.
    const FIELD_BYTES_MAX: u64 = 8;
    let offset = u64::try_from(offset).ok()?;
    if offset / 8 >= cx.string_bytes_max().min(LEN_MAX as u64 - FIELD_BYTES_MAX) {
        return None;
    }
    usize::try_from(offset).ok()
}
