//! Publish and subscribe.

mod introspection;

use super::{Arg, Args, CommandError, Context, Flags, Group, Outcome, Spec};
use crate::pubsub::Kind;

pub(super) const SPECS: &[&Spec] = &[
    &SUBSCRIBE,
    &UNSUBSCRIBE,
    &PSUBSCRIBE,
    &PUNSUBSCRIBE,
    &SSUBSCRIBE,
    &SUNSUBSCRIBE,
    &PUBLISH,
    &SPUBLISH,
    &introspection::PUBSUB,
];

/// What the commands that begin and end subscriptions have in common.
const SUBSCRIPTION: Spec = Spec {
    group: Group::Pubsub,
    since: "2.0.0",
    flags: Flags::PUBSUB.and(Flags::NOSCRIPT).and(Flags::LOADING).and(Flags::STALE).and(Flags::SUBSCRIBED),
    ..Spec::BASE
};

const CHANNELS: &[Arg] = &[Arg::string("channel").multiple()];
const SHARD_CHANNELS: &[Arg] = &[Arg::channel("shardchannel").multiple()];
const OPTIONAL_PATTERNS: &[Arg] = &[Arg::pattern("pattern").optional().multiple()];

const SUBSCRIBE: Spec = Spec {
    name: "subscribe",
    complexity: "O(N) where N is the number of channels to subscribe to.",
    summary: "Has this connection hear what is published on channels.",
    syntax: CHANNELS,
    run: |cx, args| subscribe(cx, args, Kind::Channel, "subscribe"),
    ..SUBSCRIPTION
};
const _: () = assert!(SUBSCRIBE.arity(false) == -2);

const UNSUBSCRIBE: Spec = Spec {
    name: "unsubscribe",
    complexity: "O(N) where N is the number of clients already subscribed to a channel.",
    summary: "Has this connection hear no more of channels, or of none at all.",
    syntax: &[Arg::string("channel").optional().multiple()],
    run: |cx, args| unsubscribe(cx, args, Kind::Channel, "unsubscribe"),
    ..SUBSCRIPTION
};
const _: () = assert!(UNSUBSCRIBE.arity(false) == -1);

const PSUBSCRIBE: Spec = Spec {
    name: "psubscribe",
    complexity: "O(N) where N is the number of patterns the client is already subscribed to.",
    summary: "Has this connection hear what is published on channels whose names match patterns.",
    syntax: &[Arg::block("pattern", &[Arg::pattern("pattern")]).multiple()],
    run: |cx, args| subscribe(cx, args, Kind::Pattern, "psubscribe"),
    ..SUBSCRIPTION
};
const _: () = assert!(PSUBSCRIBE.arity(false) == -2);

const PUNSUBSCRIBE: Spec = Spec {
    name: "punsubscribe",
    complexity: "O(N+M) where N is the number of patterns the client is already subscribed and M is the number of total patterns \
                 subscribed in the system (by any client).",
    summary: "Has this connection hear no more of patterns, or of none at all.",
    syntax: OPTIONAL_PATTERNS,
    run: |cx, args| unsubscribe(cx, args, Kind::Pattern, "punsubscribe"),
    ..SUBSCRIPTION
};
const _: () = assert!(PUNSUBSCRIBE.arity(false) == -1);

const SSUBSCRIBE: Spec = Spec {
    name: "ssubscribe",
    since: "7.0.0",
    complexity: "O(N) where N is the number of shard channels to subscribe to.",
    summary: "Has this connection hear what is published on shard channels.",
    syntax: SHARD_CHANNELS,
    run: ssubscribe,
    ..SUBSCRIPTION
};
const _: () = assert!(SSUBSCRIBE.arity(false) == -2);

const SUNSUBSCRIBE: Spec = Spec {
    name: "sunsubscribe",
    since: "7.0.0",
    complexity: "O(N) where N is the number of clients already subscribed to a shard channel.",
    summary: "Has this connection hear no more of shard channels, or of none at all.",
    syntax: &[Arg::channel("shardchannel").optional().multiple()],
    run: |cx, args| unsubscribe(cx, args, Kind::Shard, "sunsubscribe"),
    ..SUBSCRIPTION
};
const _: () = assert!(SUNSUBSCRIBE.arity(false) == -1);

fn ssubscribe(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    if cx.in_exec.is_some() {
        return Err(CommandError::text("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client"));
    }
    subscribe(cx, args, Kind::Shard, "ssubscribe")
}

fn subscribe(cx: &mut Context<'_>, args: &mut Args<'_>, kind: Kind, word: &str) -> Outcome {
    // Others encode messages in the protocol that they see.
    cx.session.publish();
    for name in args.rest() {
        let count = cx.shared.pubsub.subscribe(kind, name, &cx.session.client);
        confirm(cx, word, Some(name), count);
    }
    cx.session.look_again();
    Ok(())
}

fn unsubscribe(cx: &mut Context<'_>, args: &mut Args<'_>, kind: Kind, word: &str) -> Outcome {
    let client = std::sync::Arc::clone(&cx.session.client);
    let leave = |cx: &mut Context<'_>, name: &[u8]| {
        let count = cx.shared.pubsub.unsubscribe(kind, name, &client);
        cx.has_settled = cx.is_silent();
        cx.settle();
        confirm(cx, word, Some(name), count);
    };
    if !args.is_empty() {
        args.rest().for_each(|name| leave(cx, name));
    } else {
        let all = cx.shared.pubsub.subscriptions(kind, &client);
        all.iter().for_each(|name| leave(cx, name));
        if all.is_empty() {
            let [channels, patterns, shards] = cx.shared.pubsub.counts(&client);
            confirm(cx, word, None, if kind == Kind::Shard { shards } else { channels + patterns });
        }
    }
    cx.session.look_again();
    Ok(())
}

/// Tells a client that it hears of something from here on, or no longer. It is told even when it is not answered.
fn confirm(cx: &mut Context<'_>, word: &str, name: Option<&[u8]>, count: usize) {
    cx.reply.push(3);
    cx.reply.bulk(word);
    cx.reply.bulk_or_null(name);
    cx.reply.len(count);
    cx.has_settled = cx.is_silent();
}

const PUBLISH: Spec = Spec {
    name: "publish",
    group: Group::Pubsub,
    since: "2.0.0",
    complexity: "O(N+M) where N is the number of clients subscribed to the receiving channel and M is the total number of subscribed \
                 patterns (by any client).",
    summary: "Sends a message to those who have subscribed to a channel and tells how many they are.",
    flags: Flags::PUBSUB.and(Flags::LOADING).and(Flags::STALE).and(Flags::FAST).and(Flags::MAY_REPLICATE),
    syntax: &[Arg::string("channel"), Arg::string("message")],
    run: publish,
    ..Spec::BASE
};
const _: () = assert!(PUBLISH.arity(false) == 3);

fn publish(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let (channel, message) = (args.bytes()?, args.bytes()?);
    let count = cx.shared.pubsub.publish(channel, message, cx.sender());
    cx.reply.len(count);
    Ok(())
}

const SPUBLISH: Spec = Spec {
    name: "spublish",
    since: "7.0.0",
    complexity: "O(N) where N is the number of clients subscribed to the receiving shard channel.",
    summary: "Sends a message to those who have subscribed to a shard channel and tells how many they are.",
    syntax: &[Arg::channel("shardchannel"), Arg::string("message")],
    run: spublish,
    ..PUBLISH
};
const _: () = assert!(SPUBLISH.arity(false) == 3);

fn spublish(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let (channel, message) = (args.bytes()?, args.bytes()?);
    let count = cx.shared.pubsub.publish_to_shard(channel, message, cx.sender());
    cx.reply.len(count);
    Ok(())
}
