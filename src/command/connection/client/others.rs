//! CLIENT KILL, UNBLOCK, PAUSE, UNPAUSE: what a client does to others.

use super::super::{auth, close};
use super::ADMIN;
use super::list::Kind;
use crate::clients::{Client, Unblock};
use crate::clock::UnixMillis;
use crate::command::{Arg, Args, CommandError, Context, Group, Outcome, Spec, help};
use crate::number::parse_i64;

pub(super) const KILL: Spec = Spec {
    name: "kill",
    group: Group::Connection,
    since: "2.4.0",
    complexity: "O(N) where N is the number of client connections",
    summary: "Closes connections.",
    flags: ADMIN,
    syntax: &[Arg::one_of(
        "filter",
        &[
            Arg::string("ip:port").deprecated("2.8.12"),
            Arg::one_of(
                "new-format",
                &[
                    Arg::integer("client-id").with_token("ID").optional().since("2.8.12"),
                    Arg::one_of(
                        "normal_master_slave_pubsub",
                        &[
                            Arg::token("normal", "NORMAL"),
                            Arg::token("master", "MASTER").since("3.2.0"),
                            Arg::token("slave", "SLAVE"),
                            Arg::token("replica", "REPLICA").since("5.0.0"),
                            Arg::token("pubsub", "PUBSUB"),
                        ],
                    )
                    .with_token("TYPE")
                    .optional()
                    .since("2.8.12"),
                    Arg::string("username").with_token("USER").optional(),
                    Arg::string("ip:port").with_token("ADDR").optional(),
                    Arg::string("ip:port").with_token("LADDR").optional().since("6.2.0"),
                    Arg::string("yes/no").with_token("SKIPME").optional(),
                    Arg::integer("maxage").with_token("MAXAGE").optional().since("7.4.0"),
                ],
            )
            .multiple(),
        ],
    )],
    run: kill,
    ..Spec::BASE
};
const _: () = assert!(KILL.arity(true) == -3);

fn kill(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let by_address = args.len() == 1;
    let filter = if by_address { Filter::address(args.bytes()?) } else { Filter::parse(args)? };
    let own_id = cx.session.client.id;
    // Redis has closed them by the time it answers, and clients rely on that. The wait begins first, so that no end is missed.
    let answer = if by_address { killed_one } else { killed_many };
    cx.wait(Some(cx.now().plus_millis(KILL_WAIT_MILLIS)), answer);
    let (mut others, mut own) = (0, 0);
    for client in cx.shared.clients.all() {
        if !filter.matches(&client, cx.now()) {
            continue;
        }
        if client.id != own_id {
            others += usize::from(cx.shared.clients.kill(&client, &cx.session.client));
        } else if !filter.spares_self {
            own = 1;
            close(cx);
        }
    }
    if others > 0 {
        cx.carry(others + own);
        return Ok(());
    }
    cx.end_wait();
    answer(cx, own)
}

/// How long a killer waits at the most for those whom it killed to be closed. They need not wait for anything to do so.
const KILL_WAIT_MILLIS: u64 = 1000;

fn killed_one(cx: &mut Context<'_>, killed: usize) -> Outcome {
    cx.shared.clients.stop_waiting_for_killed(&cx.session.client);
    if killed == 0 {
        return Err(CommandError::text("ERR No such client"));
    }
    cx.reply.ok();
    Ok(())
}

fn killed_many(cx: &mut Context<'_>, killed: usize) -> Outcome {
    cx.shared.clients.stop_waiting_for_killed(&cx.session.client);
    cx.reply.len(killed);
    Ok(())
}

/// Which connections to close: those that match all that was given.
#[derive(Default)]
struct Filter<'a> {
    id: Option<u64>,
    kind: Option<Kind>,
    address: Option<&'a [u8]>,
    own_address: Option<&'a [u8]>,
    seconds_min: Option<u64>,
    /// The connection that asks is left out.
    spares_self: bool,
}

impl<'a> Filter<'a> {
    /// The old form: the one from this address, be it the one that asks.
    fn address(address: &'a [u8]) -> Self {
        Self { address: Some(address), ..Self::default() }
    }

    /// The new form. Of an option given twice the last one counts.
    fn parse(args: &mut Args<'a>) -> Result<Self, CommandError> {
        let mut filter = Self { spares_self: true, ..Self::default() };
        while let Some(option) = args.keyword() {
            let value = args.bytes()?;
            match &*option {
                b"ID" => filter.id = Some(positive(value, BAD_ID, BAD_ID)?),
                b"MAXAGE" => filter.seconds_min = Some(positive(value, NO_AGE, BAD_AGE)?),
                b"TYPE" => filter.kind = Some(Kind::parse(value)?),
                b"ADDR" => filter.address = Some(value),
                b"LADDR" => filter.own_address = Some(value),
                // Every connection is this user's, whether or not it has authenticated.
                b"USER" if value == auth::USER => {}
                b"USER" => return Err(CommandError::quoting("ERR No such user '", value, "'")),
                b"SKIPME" if value.eq_ignore_ascii_case(b"YES") => filter.spares_self = true,
                b"SKIPME" if value.eq_ignore_ascii_case(b"NO") => filter.spares_self = false,
                _ => return Err(CommandError::Syntax),
            }
        }
        Ok(filter)
    }

    fn matches(&self, client: &Client, now: UnixMillis) -> bool {
        let age = now.seconds().saturating_sub(client.created.seconds());
        self.id.is_none_or(|id| id == client.id)
            && self.kind.is_none_or(|kind| kind.is_of(client))
            && self.address.is_none_or(|address| address == client.addr.to_string().as_bytes())
            && self.own_address.is_none_or(|address| address == client.laddr.to_string().as_bytes())
            && self.seconds_min.is_none_or(|seconds| seconds <= age)
    }
}

const BAD_ID: &str = "ERR client-id should be greater than 0";
const NO_AGE: &str = "ERR maxage is not an integer or out of range";
const BAD_AGE: &str = "ERR maxage should be greater than 0";

fn positive(value: &[u8], no_integer: &'static str, not_positive: &'static str) -> Result<u64, CommandError> {
    let value = parse_i64(value).ok_or(CommandError::text(no_integer))?;
    u64::try_from(value).ok().filter(|&value| value > 0).ok_or(CommandError::text(not_positive))
}

pub(super) const UNBLOCK: Spec = Spec {
    name: "unblock",
    group: Group::Connection,
    since: "5.0.0",
    complexity: "O(log N) where N is the number of client connections",
    summary: "Ends the wait of another connection's command.",
    flags: ADMIN,
    syntax: &[
        Arg::integer("client-id"),
        Arg::one_of("timeout_error", &[Arg::token("timeout", "TIMEOUT"), Arg::token("error", "ERROR")]).optional(),
    ],
    run: unblock,
    ..Spec::BASE
};
const _: () = assert!(UNBLOCK.arity(true) == -3);

fn unblock(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let id = args.bytes()?;
    let how = match args.keyword().as_deref() {
        _ if !args.is_empty() => return Err(help::unknown_or_wrong(cx, args)),
        None | Some(b"TIMEOUT") => Unblock::Timeout,
        Some(b"ERROR") => Unblock::Error,
        Some(_) => return Err(CommandError::text("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")),
    };
    let id = parse_i64(id).ok_or(CommandError::NotInteger)?;
    let client = u64::try_from(id).ok().and_then(|id| cx.shared.clients.get(id));
    cx.reply.int(i64::from(client.is_some_and(|client| client.unblock(how))));
    Ok(())
}

pub(super) const PAUSE: Spec = Spec {
    name: "pause",
    group: Group::Connection,
    since: "2.9.50",
    summary: "Holds back commands of all connections for a while.",
    flags: ADMIN,
    syntax: &[
        Arg::integer("timeout"),
        Arg::one_of("mode", &[Arg::token("write", "WRITE"), Arg::token("all", "ALL")]).optional().since("6.2.0"),
    ],
    run: pause,
    ..Spec::BASE
};
const _: () = assert!(PAUSE.arity(true) == -3);

fn pause(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let millis = args.bytes()?;
    let writes_only = match args.keyword().as_deref() {
        _ if !args.is_empty() => return Err(help::unknown_or_wrong(cx, args)),
        Some(b"WRITE") => true,
        None | Some(b"ALL") => false,
        Some(_) => return Err(CommandError::text("ERR CLIENT PAUSE mode must be WRITE or ALL")),
    };
    let millis = parse_i64(millis).ok_or(CommandError::text("ERR timeout is not an integer or out of range"))?;
    let millis = u64::try_from(millis).map_err(|_| CommandError::text("ERR timeout is negative"))?;
    let now = cx.now();
    let until = now.plus_millis(millis);
    if i64::try_from(until.0).is_err() {
        return Err(CommandError::text("ERR timeout is out of range"));
    }
    cx.shared.clients.pause(until, writes_only, now);
    cx.reply.ok();
    Ok(())
}

pub(super) const UNPAUSE: Spec = Spec {
    name: "unpause",
    group: Group::Connection,
    since: "6.2.0",
    complexity: "O(N) Where N is the number of paused clients",
    summary: "Ends a pause. A pause that holds back all commands holds back this one too.",
    flags: ADMIN,
    run: unpause,
    ..Spec::BASE
};
const _: () = assert!(UNPAUSE.arity(true) == 2);

fn unpause(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    cx.shared.clients.unpause();
    cx.reply.ok();
    Ok(())
}
