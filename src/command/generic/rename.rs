//! Giving a value another key or another database. Its deadline goes with it.

use super::super::{Arg, Args, CommandError, Context, Flags, Group, KeyFlags, Outcome, Spec};
use crate::number::parse_i64;
use crate::store::{Event, Key, Target, WriteLocks};

pub(in super::super) const SPECS: &[&Spec] = &[&RENAME, &RENAMENX, &COPY, &MOVE];

const RENAME: Spec = Spec {
    name: "rename",
    group: Group::Generic,
    summary: "Gives a value another key, whatever was there before.",
    flags: Flags::WRITE,
    syntax: &[Arg::key("key", KeyFlags::ACCESS_DELETE), Arg::key("newkey", KeyFlags::OVERWRITE)],
    run: rename,
    ..Spec::BASE
};
const _: () = assert!(RENAME.arity(false) == 3);

fn rename(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let (from, to) = (args.key()?, args.key()?);
    relocate(cx, (cx.keys.selected(), from), (cx.keys.selected(), to), Occupied::Replace).ok_or(CommandError::NoSuchKey)?;
    cx.reply.ok();
    Ok(())
}

const RENAMENX: Spec = Spec {
    name: "renamenx",
    group: Group::Generic,
    summary: "Gives a value another key unless there is a value under that.",
    flags: Flags::WRITE.and(Flags::FAST),
    syntax: &[Arg::key("key", KeyFlags::ACCESS_DELETE), Arg::key("newkey", KeyFlags::INSERT)],
    run: renamenx,
    ..Spec::BASE
};
const _: () = assert!(RENAMENX.arity(false) == 3);

fn renamenx(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let (from, to) = (args.key()?, args.key()?);
    let selected = cx.keys.selected();
    let done = relocate(cx, (selected, from), (selected, to), Occupied::Refuse).ok_or(CommandError::NoSuchKey)?;
    cx.reply.int(i64::from(done));
    Ok(())
}

const MOVE: Spec = Spec {
    name: "move",
    group: Group::Generic,
    summary: "Moves a key to another database unless it is there already.",
    flags: Flags::WRITE.and(Flags::FAST),
    syntax: &[Arg::key("key", KeyFlags::ACCESS_UPDATE), Arg::integer("db")],
    run: move_key,
    ..Spec::BASE
};
const _: () = assert!(MOVE.arity(false) == 3);

fn move_key(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let db = database(cx, args)?;
    let selected = cx.keys.selected();
    if db == selected {
        return Err(SAME);
    }
    let done = relocate(cx, (selected, key), (db, key), Occupied::Refuse);
    cx.reply.int(i64::from(done == Some(true)));
    Ok(())
}

const COPY: Spec = Spec {
    name: "copy",
    group: Group::Generic,
    since: "6.2.0",
    complexity: "O(N) where N is the length of the value.",
    summary: "Copies a value to another key.",
    flags: Flags::WRITE.and(Flags::DENYOOM),
    syntax: &[
        Arg::key("source", KeyFlags::READ),
        Arg::key("destination", KeyFlags::OVERWRITE),
        Arg::integer("destination-db").with_token("DB").optional(),
        Arg::token("replace", "REPLACE").optional(),
    ],
    run: copy,
    ..Spec::BASE
};
const _: () = assert!(COPY.arity(false) == -3);

fn copy(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let (from, to) = (args.key()?, args.key()?);
    let selected = cx.keys.selected();
    let mut db = selected;
    let mut occupied = Occupied::Refuse;
    while let Some(word) = args.keyword() {
        match &*word {
            b"REPLACE" => occupied = Occupied::Replace,
            b"DB" => db = database(cx, args)?,
            _ => return Err(CommandError::Syntax),
        }
    }
    if db == selected && from.bytes() == to.bytes() {
        return Err(SAME);
    }
    let (source, target) = (cx.keys.target(from), cx.keys.target_in(db, to));
    let mut locks = WriteLocks::write([source, target].into_iter());
    let at = cx.keys.moment();
    let found = locks.slot(source, at).is_present();
    cx.keys.count(from, found);
    let free = found && (occupied == Occupied::Replace || !locks.slot(target, at).is_present());
    let copy = if free { locks.slot(source, at).get().map(|found| found.content()) } else { None };
    let done = copy.is_some();
    if let Some(copy) = copy {
        let mut slot = locks.slot(target, at);
        slot.put_copy(copy);
        slot.tell(Event::COPY_TO);
    }
    cx.reply.int(i64::from(done));
    Ok(())
}

const SAME: CommandError = CommandError::text("ERR source and destination objects are the same");

/// What to do when there is a value where one is to go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Occupied {
    Replace,
    Refuse,
}

/// Moves a value from a key of a database to another. Whether it was moved; `None` when there is nothing to move.
fn relocate(cx: &Context<'_>, from: (usize, Key<'_>), to: (usize, Key<'_>), occupied: Occupied) -> Option<bool> {
    let at = cx.keys.moment();
    let target = |(db, key)| -> Target<'_> { cx.keys.target_in(db, key) };
    let (from, to) = (target(from), target(to));
    let mut locks = WriteLocks::write([from, to].into_iter());
    if !locks.slot(from, at).is_present() {
        return None;
    }
    if from.db.index() == to.db.index() && from.key.bytes() == to.key.bytes() {
        // Nothing moves: RENAME has done what was asked for, and RENAMENX finds a value in the way.
        return Some(occupied == Occupied::Replace);
    }
    if occupied == Occupied::Refuse && locks.slot(to, at).is_present() {
        return Some(false);
    }
    let [left, came] =
        if from.db.index() == to.db.index() { [Event::RENAME_FROM, Event::RENAME_TO] } else { [Event::MOVE_FROM, Event::MOVE_TO] };
    let content = locks.slot(from, at).take()?;
    let mut slot = locks.slot(to, at);
    slot.put(content);
    slot.owe_nothing();
    drop(slot);
    locks.slot(from, at).tell(left);
    locks.slot(to, at).tell(came);
    Some(true)
}

/// Reads the number of a database.
fn database(cx: &Context<'_>, args: &mut Args<'_>) -> Result<usize, CommandError> {
    const OUT_OF_RANGE: CommandError =
        CommandError::text("ERR value is out of range, value must between -2147483648 and 2147483647");
    let index = parse_i64(args.bytes()?).ok_or(CommandError::NotInteger)?;
    let index = i32::try_from(index).map_err(|_| OUT_OF_RANGE)?;
    usize::try_from(index).ok().filter(|&index| index < cx.keys.databases().count()).ok_or(CommandError::DbIndex)
}
