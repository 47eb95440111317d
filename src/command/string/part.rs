//! Parts of strings: reading, overwriting and appending.

use super::super::{Arg, Args, CommandError, Context, Deprecated, Flags, Group, KeyFlags, Outcome, Spec, positions};
use super::check_len;
use crate::store::{Deadline, Event, Found};

pub(in super::super) const SPECS: &[&Spec] = &[&GETRANGE, &SUBSTR, &SETRANGE, &APPEND];

const GETRANGE_COST: &str = "O(N) where N is the length of the returned string. The complexity is ultimately determined by the \
    returned length, but because creating a substring from an existing string is very cheap, it can be considered O(1) for small \
    strings.";

const GETRANGE: Spec = Spec {
    name: "getrange",
    group: Group::String,
    since: "2.4.0",
    complexity: GETRANGE_COST,
    summary: "Answers with the bytes of a string between two positions.",
    flags: Flags::READONLY,
    syntax: &[Arg::key("key", KeyFlags::READ), Arg::integer("start"), Arg::integer("end")],
    run: getrange,
    ..Spec::BASE
};
const _: () = assert!(GETRANGE.arity(false) == 4);

fn getrange(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let (start, end) = (args.int()?, args.int()?);
    cx.keys.read(key, |found| {
        let value = found.map(Found::value).unwrap_or_default();
        let range = if positions::runs_backwards(start, end) { None } else { positions::within(start, end, value.len()) };
        let range = range.unwrap_or_default();
        // A part that is shared keeps all of the value, so it has to be most of it.
        let shared = found.filter(|_| range.len() > value.len() / 2).and_then(Found::shared);
        match shared {
            Some(bytes) => cx.reply.shared(bytes.slice(range)),
            None => cx.reply.bulk(&value[range]),
        }
    });
    Ok(())
}

const SUBSTR: Spec = Spec {
    name: "substr",
    since: "1.0.0",
    summary: "Answers with the bytes of a string between two positions: the old name of GETRANGE.",
    deprecated: Some(Deprecated { since: "2.0.0", replaced_by: "`GETRANGE`" }),
    ..GETRANGE
};

const SETRANGE: Spec = Spec {
    name: "setrange",
    group: Group::String,
    since: "2.2.0",
    complexity: "O(1), not counting the time taken to copy the new string in place. Usually, this string is very small so the \
        amortized complexity is O(1). Otherwise, complexity is O(M) with M being the length of the value argument.",
    summary: "Overwrites a string from a position on, with zeros before it where there was nothing.",
    flags: Flags::WRITE.and(Flags::DENYOOM),
    syntax: &[Arg::key("key", KeyFlags::UPDATE), Arg::integer("offset"), Arg::string("value")],
    run: setrange,
    ..Spec::BASE
};
const _: () = assert!(SETRANGE.arity(false) == 4);

fn setrange(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let offset = args.int()?;
    let value = args.bytes()?;
    let offset = u64::try_from(offset).map_err(|_| CommandError::text("ERR offset is out of range"))?;
    // Writing nothing makes no key and lengthens none, wherever it is written.
    let fits = if value.is_empty() { Ok(()) } else { check_len(cx, offset, value.len()) };
    let len = cx.keys.write(key, |slot| {
        let len = slot.get().map_or(0, |found| found.value().len());
        if value.is_empty() {
            return Ok(len);
        }
        fits?;
        let start = usize::try_from(offset).map_err(|_| CommandError::StringTooLong)?;
        let end = start + value.len();
        slot.edit(len.max(end), |bytes| bytes[start..end].copy_from_slice(value));
        slot.tell(Event::SETRANGE);
        Ok(len.max(end))
    })?;
    cx.reply.len(len);
    Ok(())
}

const APPEND: Spec = Spec {
    name: "append",
    group: Group::String,
    since: "2.0.0",
    complexity: "O(1). The amortized time complexity is O(1) assuming the appended value is small and the already present value is of \
        any size, since the dynamic string library used by Redis will double the free space available on every reallocation.",
    summary: "Adds bytes to the end of a string.",
    flags: Flags::WRITE.and(Flags::DENYOOM).and(Flags::FAST),
    syntax: &[Arg::key("key", KeyFlags::EXTEND), Arg::string("value")],
    run: append,
    ..Spec::BASE
};
const _: () = assert!(APPEND.arity(false) == 3);

fn append(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let value = args.bytes()?;
    let limit = cx.string_bytes_max();
    let len = cx.keys.write(key, |slot| {
        let Some(len) = slot.get().map(|found| found.value().len()) else {
            slot.set(value, Deadline::None);
            slot.tell(Event::APPEND);
            return Ok(value.len());
        };
        let end = len + value.len();
        if end as u64 > limit {
            return Err(CommandError::StringTooLong);
        }
        slot.edit(end, |bytes| bytes[len..].copy_from_slice(value));
        slot.tell(Event::APPEND);
        Ok(end)
    })?;
    cx.reply.len(len);
    Ok(())
}
