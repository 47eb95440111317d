//! Operations on whole strings of bits.

use super::super::generic::delete;
use super::super::{Arg, Args, CommandError, Context, Flags, Group, KeyFlags, Outcome, Spec};
use crate::store::{Deadline, Event, Form, Found};

pub(in super::super) const SPECS: &[&Spec] = &[&BITOP];

const BITOP: Spec = Spec {
    name: "bitop",
    group: Group::Bitmap,
    since: "2.6.0",
    complexity: "O(N)",
    summary: "Combines strings bit by bit and stores the result.",
    flags: Flags::WRITE.and(Flags::DENYOOM),
    syntax: &[Arg::string("operation"), Arg::key("destkey", KeyFlags::OVERWRITE), Arg::key("key", KeyFlags::READ).multiple()],
    run: bitop,
    ..Spec::BASE
};
const _: () = assert!(BITOP.arity(false) == -4);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    And,
    Or,
    Xor,
    Not,
}

fn bitop(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let operation = match args.keyword().as_deref() {
        Some(b"AND") => Operation::And,
        Some(b"OR") => Operation::Or,
        Some(b"XOR") => Operation::Xor,
        Some(b"NOT") => Operation::Not,
        _ => return Err(CommandError::Syntax),
    };
    let keys = args.keys();
    let Some((&destination, sources)) = keys.split_first() else { return Err(CommandError::Syntax) };
    if operation == Operation::Not && sources.len() != 1 {
        return Err(CommandError::text("ERR BITOP NOT must be called with a single source key."));
    }
    let mut locks = cx.keys.lock_write(&keys);
    let mut result = Vec::new();
    for (index, &source) in sources.iter().enumerate() {
        let slot = locks.slot(cx.keys.target(source), cx.keys.moment());
        cx.keys.count(source, slot.is_present());
        let value = slot.get().map(Found::value).unwrap_or_default();
        if index == 0 {
            result.extend_from_slice(value);
        } else {
            combine(&mut result, operation, value);
        }
    }
    if operation == Operation::Not {
        result.iter_mut().for_each(|byte| *byte = !*byte);
    }
    let mut slot = locks.slot(cx.keys.target(destination), cx.keys.moment());
    if result.is_empty() {
        delete(&mut slot);
    } else {
        slot.set_as(&result, Form::Edited, Deadline::None);
        slot.tell(Event::SET);
    }
    drop(slot);
    drop(locks);
    cx.reply.len(result.len());
    Ok(())
}

/// Combines `result` with `value`, the shorter of them continued with zeros. The compiler takes many bytes at once.
fn combine(result: &mut Vec<u8>, operation: Operation, value: &[u8]) {
    if result.len() < value.len() {
        result.resize(value.len(), 0);
    }
    let (common, rest) = result.split_at_mut(value.len());
    let pairs = common.iter_mut().zip(value);
    match operation {
        Operation::And => {
            pairs.for_each(|(byte, other)| *byte &= other);
            rest.fill(0);
        }
        Operation::Or => pairs.for_each(|(byte, other)| *byte |= other),
        Operation::Xor => pairs.for_each(|(byte, other)| *byte ^= other),
        Operation::Not => {}
    }
}
