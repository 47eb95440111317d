//! CLIENT: connections as clients see them, their own and each other's.

mod list;
pub(super) mod name;
mod others;
pub(super) mod tracking;

use crate::clients::Client;
use crate::command::{Arg, Args, CommandError, Context, Flags, Group, Outcome, Spec, help};
use crate::session::ReplyMode;

pub(super) const CLIENT: Spec = Spec {
    name: "client",
    group: Group::Connection,
    since: "2.4.0",
    summary: "Asks about connections and steers them.",
    subcommands: &[
        name::GETNAME,
        list::INFO,
        ID,
        name::SETNAME,
        name::SETINFO,
        REPLY,
        others::UNBLOCK,
        others::KILL,
        list::LIST,
        NO_EVICT,
        NO_TOUCH,
        others::PAUSE,
        others::UNPAUSE,
        tracking::GETREDIR,
        tracking::TRACKING,
        tracking::TRACKINGINFO,
        tracking::CACHING,
        HELP,
    ],
    ..Spec::CONTAINER
};
const _: () = assert!(CLIENT.arity(false) == -2);

/// What the subcommands about the own connection share.
const OWN: Flags = Flags::NOSCRIPT.and(Flags::LOADING).and(Flags::STALE).and(Flags::BESIDE_CACHING);
/// What the subcommands about all connections share.
const ADMIN: Flags = OWN.and(Flags::ADMIN);

const ON_OFF: &[Arg] = &[Arg::token("on", "ON"), Arg::token("off", "OFF")];

/// Reads `ON` or `OFF`.
fn switch(args: &mut Args<'_>) -> Result<bool, CommandError> {
    match args.keyword().as_deref() {
        Some(b"ON") => Ok(true),
        Some(b"OFF") => Ok(false),
        _ => Err(CommandError::Syntax),
    }
}

const ID: Spec = Spec {
    name: "id",
    group: Group::Connection,
    since: "5.0.0",
    summary: "Answers with the number of this connection, which no other ever has.",
    flags: OWN,
    run: id,
    ..Spec::BASE
};
const _: () = assert!(ID.arity(true) == 2);

fn id(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    cx.reply.natural(cx.session.client.id);
    Ok(())
}

const REPLY: Spec = Spec {
    name: "reply",
    group: Group::Connection,
    since: "3.2.0",
    summary: "Chooses whether requests are answered.",
    flags: OWN,
    syntax: &[Arg::one_of("on_off_skip", &[Arg::token("on", "ON"), Arg::token("off", "OFF"), Arg::token("skip", "SKIP")])],
    run: reply,
    ..Spec::BASE
};
const _: () = assert!(REPLY.arity(true) == 3);

fn reply(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let mode = match args.keyword().as_deref() {
        Some(b"ON") => ReplyMode::On,
        Some(b"OFF") => ReplyMode::Off,
        // Who is not answered at all has nothing to skip.
        Some(b"SKIP") if cx.session.reply_mode == ReplyMode::Off => return Ok(()),
        Some(b"SKIP") => ReplyMode::SkipNext,
        _ => return Err(CommandError::Syntax),
    };
    cx.session.reply_mode = mode;
    cx.session.client.set_flag(Client::SILENT, mode == ReplyMode::Off);
    if mode == ReplyMode::On {
        cx.reply.ok();
    }
    Ok(())
}

const NO_EVICT: Spec = Spec {
    name: "no-evict",
    group: Group::Connection,
    since: "7.0.0",
    summary: "Spares this connection, or no longer, when connections take too much memory.",
    flags: ADMIN,
    syntax: &[Arg::one_of("enabled", ON_OFF)],
    run: no_evict,
    ..Spec::BASE
};
const _: () = assert!(NO_EVICT.arity(true) == 3);

fn no_evict(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let on = switch(args)?;
    cx.session.client.set_flag(Client::NO_EVICT, on);
    cx.reply.ok();
    Ok(())
}

const NO_TOUCH: Spec = Spec {
    name: "no-touch",
    group: Group::Connection,
    since: "7.2.0",
    summary: "Has this connection's accesses leave a key's time of last use alone, or no longer.",
    flags: OWN,
    syntax: &[Arg::one_of("enabled", ON_OFF)],
    run: no_touch,
    ..Spec::BASE
};
const _: () = assert!(NO_TOUCH.arity(true) == 3);

fn no_touch(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let on = switch(args)?;
    cx.set_no_touch(on);
    cx.reply.ok();
    Ok(())
}

const HELP: Spec = Spec { group: Group::Connection, since: "5.0.0", run: |cx, _| help::answer(cx, HELP_LINES), ..help::HELP };

const HELP_LINES: &[&str] = &[
    "GETNAME",
    "    The name of this connection.",
    "GETREDIR",
    "    The connection that invalidations are sent to.",
    "ID",
    "    The number of this connection.",
    "INFO",
    "    All there is to say about this connection.",
    "KILL <addr>",
    "    Close the connection from this address.",
    "KILL <option> <value> [<option> <value> [...]]",
    "    Close the connections that match all of:",
    "    * ADDR <ip:port>, LADDR <ip:port>: the peer's address, and its own. <path>:0 for a Unix socket.",
    "    * ID <client-id>",
    "    * MAXAGE <seconds>: at least that old.",
    "    * SKIPME (YES|NO): whether to spare this connection. Default YES.",
    "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
    "    * USER <username>",
    "LIST [TYPE (NORMAL|MASTER|REPLICA|PUBSUB) | ID <client-id> [<client-id> ...]]",
    "    All there is to say about connections.",
    "NO-EVICT (ON|OFF)",
    "    Spare this connection when connections take too much memory.",
    "NO-TOUCH (ON|OFF)",
    "    Have reads leave a key's time of last use alone.",
    "PAUSE <milliseconds> [WRITE|ALL]",
    "    Hold back commands of all connections: those that write, or all.",
    "REPLY (ON|OFF|SKIP)",
    "    Answer, do not answer, or do not answer the next request.",
    "SETINFO (LIB-NAME|LIB-VER) <value>",
    "    Tell the client library's name or version.",
    "SETNAME <name>",
    "    Name this connection.",
    "UNBLOCK <client-id> [TIMEOUT|ERROR]",
    "    End the wait of another connection, as if its time were up or with an error.",
    "UNPAUSE",
    "    End a pause.",
];
