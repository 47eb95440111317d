//! `SLOWLOG`: the commands that took longer than `slowlog-log-slower-than`.

use super::super::{Arg, Args, CommandError, Context, Flags, Group, Outcome, Spec, help};
use crate::number::parse_i64;

pub(super) const SLOWLOG: Spec = Spec {
    name: "slowlog",
    group: Group::Server,
    since: "2.2.12",
    summary: "Holds the commands about the slow log.",
    subcommands: &[SLOWLOG_RESET, SLOWLOG_HELP, SLOWLOG_GET, SLOWLOG_LEN],
    ..Spec::CONTAINER
};
const _: () = assert!(SLOWLOG.arity(false) == -2);

const SUBCOMMAND: Spec =
    Spec { group: Group::Server, since: "2.2.12", flags: Flags::ADMIN.and(Flags::LOADING).and(Flags::STALE), ..Spec::BASE };

/// How many entries are told when no number is given.
const DEFAULT_COUNT: usize = 10;

const SLOWLOG_GET: Spec = Spec {
    name: "get",
    complexity: "O(N) where N is the number of entries returned",
    summary: "Tells the newest entries.",
    tips: &["request_policy:all_nodes", "nondeterministic_output"],
    syntax: &[Arg::integer("count").optional()],
    run: slowlog_get,
    ..SUBCOMMAND
};
const _: () = assert!(SLOWLOG_GET.arity(true) == -2);

fn slowlog_get(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    if args.len() > 1 {
        return Err(help::unknown_or_wrong(cx, args));
    }
    let count = match args.next() {
        None => DEFAULT_COUNT,
        Some(text) => match parse_i64(text) {
            Some(-1) => usize::MAX,
            Some(count @ 0..) => usize::try_from(count).unwrap_or(usize::MAX),
            _ => return Err(CommandError::text("ERR count should be greater than or equal to -1")),
        },
    };
    let entries = cx.shared.slowlog.newest(count);
    cx.reply.array(entries.len());
    for entry in entries {
        cx.reply.array(6);
        [entry.id, entry.at_seconds, entry.micros].into_iter().for_each(|number| cx.reply.natural(number));
        cx.reply.array(entry.argv.len());
        entry.argv.iter().for_each(|arg| cx.reply.bulk(arg));
        cx.reply.bulk(entry.addr);
        cx.reply.bulk(entry.name);
    }
    Ok(())
}

const SLOWLOG_LEN: Spec = Spec {
    name: "len",
    summary: "Counts the entries.",
    tips: &["request_policy:all_nodes", "response_policy:agg_sum", "nondeterministic_output"],
    run: slowlog_len,
    ..SUBCOMMAND
};
const _: () = assert!(SLOWLOG_LEN.arity(true) == 2);

fn slowlog_len(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    cx.reply.len(cx.shared.slowlog.len());
    Ok(())
}

const SLOWLOG_RESET: Spec = Spec {
    name: "reset",
    complexity: "O(N) where N is the number of entries in the slowlog",
    summary: "Forgets all entries.",
    tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
    run: slowlog_reset,
    ..SUBCOMMAND
};
const _: () = assert!(SLOWLOG_RESET.arity(true) == 2);

fn slowlog_reset(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    cx.shared.slowlog.reset();
    cx.reply.ok();
    Ok(())
}

const SLOWLOG_HELP: Spec =
    Spec { group: Group::Server, since: "6.2.0", run: |cx, _| help::answer(cx, SLOWLOG_HELP_LINES), ..help::HELP };

const SLOWLOG_HELP_LINES: &[&str] = &[
    "GET [<count>]",
    "    Tell the newest <count> entries (default 10, -1 for all), each with its id, Unix time, duration in",
    "    microseconds, arguments, and the sender's address and name.",
    "LEN",
    "    Count the entries.",
    "RESET",
    "    Forget all entries.",
];
