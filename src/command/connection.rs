//! Connections: what a client says about itself, and how it is answered. Knows nothing of sockets.

mod auth;
mod client;

use super::{Arg, Args, CommandError, Context, Flags, Group, Outcome, Spec, transactions};
use crate::clients::Client;
use crate::resp::Protocol;
use crate::session::ReplyMode;

pub(super) const SPECS: &[&Spec] = &[&PING, &ECHO, &SELECT, &QUIT, &RESET, &auth::AUTH, &auth::HELLO, &client::CLIENT];

/// What commands share that a client may send before it has authenticated.
const BEFORE_AUTH: Flags =
    Flags::NOSCRIPT.and(Flags::LOADING).and(Flags::STALE).and(Flags::FAST).and(Flags::NO_AUTH).and(Flags::ALLOW_BUSY);

const PING: Spec = Spec {
    name: "ping",
    group: Group::Connection,
    summary: "Answers PONG, or with the message it was given.",
    flags: Flags::FAST.and(Flags::SUBSCRIBED),
    tips: &["request_policy:all_shards", "response_policy:all_succeeded"],
    syntax: &[Arg::string("message").optional()],
    run: ping,
    ..Spec::BASE
};
const _: () = assert!(PING.arity(false) == -1);

fn ping(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let message = args.next();
    if !args.is_empty() {
        return Err(CommandError::WrongArity("ping".into()));
    }
    match message {
        message if cx.session.client.has(Client::PUBSUB) && cx.session.protocol == Protocol::Resp2 => {
            cx.reply.array(2);
            cx.reply.bulk("pong");
            cx.reply.bulk(message.unwrap_or_default());
        }
        Some(message) => cx.reply.bulk(message),
        None => cx.reply.simple("PONG"),
    }
    Ok(())
}

const ECHO: Spec = Spec {
    name: "echo",
    group: Group::Connection,
    summary: "Answers with the message it was given.",
    flags: Flags::LOADING.and(Flags::STALE).and(Flags::FAST),
    syntax: &[Arg::string("message")],
    run: echo,
    ..Spec::BASE
};
const _: () = assert!(ECHO.arity(false) == 2);

fn echo(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    cx.reply.bulk(args.bytes()?);
    Ok(())
}

const SELECT: Spec = Spec {
    name: "select",
    group: Group::Connection,
    summary: "Chooses the database on which this connection works.",
    flags: Flags::LOADING.and(Flags::STALE).and(Flags::FAST),
    syntax: &[Arg::integer("index")],
    run: select,
    ..Spec::BASE
};
const _: () = assert!(SELECT.arity(false) == 2);

fn select(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    const OUT_OF_RANGE: &str = "ERR value is out of range, value must between -2147483648 and 2147483647";
    let index = i32::try_from(args.int()?).map_err(|_| CommandError::text(OUT_OF_RANGE))?;
    match usize::try_from(index) {
        Ok(index) if index < cx.keys.databases().count() => cx.select(index),
        _ => return Err(CommandError::DbIndex),
    }
    cx.reply.ok();
    Ok(())
}

const QUIT: Spec = Spec {
    name: "quit",
    group: Group::Connection,
    summary: "Answers OK and closes the connection.",
    flags: BEFORE_AUTH.and(Flags::UNQUEUED).and(Flags::SUBSCRIBED).and(Flags::ANY_ARGS),
    run: quit,
    ..Spec::BASE
};
const _: () = assert!(QUIT.arity(false) == -1);

fn quit(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    cx.reply.ok();
    close(cx);
    Ok(())
}

/// Has the connection closed once its replies have been written. Nothing that it has sent behind this request is run.
fn close(cx: &mut Context<'_>) {
    cx.session.closing = true;
    cx.session.client.set_flag(Client::CLOSING, true);
}

const RESET: Spec = Spec {
    name: "reset",
    group: Group::Connection,
    since: "6.2.0",
    summary: "Makes the connection what it was when it was new.",
    flags: BEFORE_AUTH.and(Flags::UNQUEUED).and(Flags::SUBSCRIBED),
    run: reset,
    ..Spec::BASE
};
const _: () = assert!(RESET.arity(false) == 1);

fn reset(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    transactions::discard(cx.session, cx.shared);
    cx.shared.pubsub.forget(&cx.session.client);
    client::tracking::stop(cx);
    if cx.session.monitor {
        cx.session.monitor = false;
        cx.shared.clients.end_monitor(&cx.session.client);
    }
    cx.session.look_again();
    cx.select(0);
    cx.set_protocol(Protocol::Resp2);
    cx.set_no_touch(false);
    cx.session.authenticated = !cx.shared.settings.password_required();
    // A reply that CLIENT REPLY SKIP has suppressed stays suppressed, be it this one.
    if cx.session.reply_mode == ReplyMode::Off {
        cx.session.reply_mode = ReplyMode::On;
    }
    let client = &cx.session.client;
    client.set_flag(Client::SILENT | Client::NO_EVICT, false);
    // What the client's library says about itself is still true.
    client.rename(|names| names.name.clear());
    // What it has been sent so far comes before the answer, and nothing after it.
    cx.settle();
    cx.reply.simple("RESET");
    Ok(())
}
