//! PUBSUB: who has subscribed to what.

use crate::command::{Arg, Args, Context, Flags, Group, Outcome, Spec, help};
use crate::pubsub::Kind;

pub(super) const PUBSUB: Spec = Spec {
    name: "pubsub",
    group: Group::Pubsub,
    since: "2.8.0",
    summary: "Tells of subscriptions.",
    subcommands: &[CHANNELS, HELP, NUMPAT, NUMSUB, SHARDCHANNELS, SHARDNUMSUB],
    ..Spec::CONTAINER
};
const _: () = assert!(PUBSUB.arity(false) == -2);

const ABOUT: Spec =
    Spec { group: Group::Pubsub, since: "2.8.0", flags: Flags::PUBSUB.and(Flags::LOADING).and(Flags::STALE), ..Spec::BASE };

const CHANNELS: Spec = Spec {
    name: "channels",
    complexity: "O(N) where N is the number of active channels, and assuming constant time pattern matching (relatively short channels \
                 and patterns)",
    summary: "Lists the channels to which somebody has subscribed.",
    syntax: &[Arg::pattern("pattern").optional()],
    run: |cx, args| names(cx, args, Kind::Channel),
    ..ABOUT
};
const _: () = assert!(CHANNELS.arity(true) == -2);

const SHARDCHANNELS: Spec = Spec {
    name: "shardchannels",
    since: "7.0.0",
    complexity: "O(N) where N is the number of active shard channels, and assuming constant time pattern matching (relatively short \
                 shard channels).",
    summary: "Lists the shard channels to which somebody has subscribed.",
    run: |cx, args| names(cx, args, Kind::Shard),
    ..CHANNELS
};

fn names(cx: &mut Context<'_>, args: &mut Args<'_>, kind: Kind) -> Outcome {
    let pattern = args.next();
    if !args.is_empty() {
        return Err(help::unknown_or_wrong(cx, args));
    }
    let names = cx.shared.pubsub.names(kind, pattern);
    cx.reply.array(names.len());
    names.iter().for_each(|name| cx.reply.bulk(name));
    Ok(())
}

const NUMSUB: Spec = Spec {
    name: "numsub",
    complexity: "O(N) for the NUMSUB subcommand, where N is the number of requested channels",
    summary: "Counts those who have subscribed to channels, not counting patterns.",
    syntax: &[Arg::string("channel").optional().multiple()],
    run: |cx, args| counts(cx, args, Kind::Channel),
    ..ABOUT
};
const _: () = assert!(NUMSUB.arity(true) == -2);

const SHARDNUMSUB: Spec = Spec {
    name: "shardnumsub",
    since: "7.0.0",
    complexity: "O(N) for the SHARDNUMSUB subcommand, where N is the number of requested shard channels",
    summary: "Counts those who have subscribed to shard channels.",
    syntax: &[Arg::string("shardchannel").optional().multiple()],
    run: |cx, args| counts(cx, args, Kind::Shard),
    ..ABOUT
};
const _: () = assert!(SHARDNUMSUB.arity(true) == -2);

fn counts(cx: &mut Context<'_>, args: &mut Args<'_>, kind: Kind) -> Outcome {
    cx.reply.array(args.len() * 2);
    for name in args.rest() {
        cx.reply.bulk(name);
        cx.reply.len(cx.shared.pubsub.subscribers(kind, name));
    }
    Ok(())
}

const NUMPAT: Spec =
    Spec { name: "numpat", summary: "Counts the patterns to which somebody has subscribed.", run: numpat, ..ABOUT };
const _: () = assert!(NUMPAT.arity(true) == 2);

fn numpat(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    cx.reply.len(cx.shared.pubsub.len(Kind::Pattern));
    Ok(())
}

const HELP: Spec = Spec { group: Group::Pubsub, since: "6.2.0", run: usage, ..help::HELP };

fn usage(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    const LINES: &[&str] = &[
        "CHANNELS [<pattern>]",
        "    List the channels to which somebody has subscribed, or those that match a pattern (default: '*').",
        "NUMPAT",
        "    Count the patterns to which somebody has subscribed.",
        "NUMSUB [<channel> ...]",
        "    Count those who have subscribed to channels, not counting patterns.",
        "SHARDCHANNELS [<pattern>]",
        "    List the shard channels to which somebody has subscribed, or those that match a pattern (default: '*').",
        "SHARDNUMSUB [<shardchannel> ...]",
        "    Count those who have subscribed to shard channels.",
    ];
    help::answer(cx, LINES)
}
