//! Transactions: requests that are queued and then run while nobody else runs anything, unless a watched key has changed.

use std::time::Instant;

use super::dispatch::execute;
use super::{Arg, Args, CommandError, Context, Flags, Group, KeyFlags, Outcome, Request, Spec, notes, server, table};
use crate::clients::Client;
use crate::session::{Queue, ReplyMode, Session, Transaction};
use crate::shared::Shared;

pub(super) const SPECS: &[&Spec] = &[&MULTI, &EXEC, &DISCARD, &WATCH, &UNWATCH];

/// What they have in common.
const COMMON: Spec = Spec {
    group: Group::Transactions,
    flags: Flags::NOSCRIPT.and(Flags::LOADING).and(Flags::STALE).and(Flags::FAST).and(Flags::ALLOW_BUSY),
    ..Spec::BASE
};
/// Those that make up a transaction are not part of it.
const UNQUEUED: Flags = COMMON.flags.and(Flags::UNQUEUED);

const MULTI: Spec = Spec {
    name: "multi",
    since: "1.2.0",
    summary: "Begins a transaction: what follows is queued until EXEC.",
    flags: UNQUEUED,
    run: multi,
    ..COMMON
};
const _: () = assert!(MULTI.arity(false) == 1);

fn multi(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    if cx.session.is_queueing() {
        return Err(CommandError::text("ERR MULTI calls can not be nested"));
    }
    cx.session.transaction.get_or_insert_default().queue = Some(Queue::new());
    cx.session.client.set_flag(Client::MULTI, true);
    cx.session.look_again();
    cx.reply.ok();
    Ok(())
}

const EXEC: Spec = Spec {
    name: "exec",
    since: "1.2.0",
    complexity: "Depends on commands in the transaction",
    summary: "Runs what was queued since MULTI while no other connection runs anything.",
    flags: Flags::NOSCRIPT
        .and(Flags::LOADING)
        .and(Flags::STALE)
        .and(Flags::SKIP_SLOWLOG)
        .and(Flags::UNQUEUED)
        .and(Flags::COMMITS)
        .and(Flags::ALONE),
    run: exec,
    ..COMMON
};
const _: () = assert!(EXEC.arity(false) == 1);

fn exec(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    if !cx.session.is_queueing() {
        return Err(CommandError::text("ERR EXEC without MULTI"));
    }
    let is_stale = cx.session.client.has(Client::STALE) || has_expired(cx);
    let queue = take(cx.session, cx.shared);
    let outcome = commit(cx, &queue, is_stale);
    cx.session.client.hide_transaction();
    outcome
}

fn commit(cx: &mut Context<'_>, queue: &Queue, is_stale: bool) -> Outcome {
    if queue.is_broken {
        return Err(CommandError::text("EXECABORT Transaction discarded because of previous errors."));
    }
    if is_stale {
        cx.reply.null_array();
        return Ok(());
    }
    // Behind the answers a client could not tell what it was sent before one of them ended its subscription.
    if cx.session.client.has(Client::LISTENS) {
        cx.settle();
    }
    // Each request is answered or not on its own, and so is EXEC.
    if !cx.is_silent() {
        cx.reply.array(queue.len());
    }
    // Others, and it itself, see it within the transaction until that is over.
    cx.in_exec = Some(queue.len());
    cx.session.client.set_flag(Client::MULTI, true);
    cx.session.client.set_last_command(cx.command.id);
    run(cx, queue);
    cx.session.client.set_flag(Client::MULTI, false);
    cx.in_exec = None;
    cx.has_settled = cx.session.reply_mode != ReplyMode::On;
    Ok(())
}

/// Runs what was queued, and notes of each request what is noted of any.
fn run(cx: &mut Context<'_>, queue: &Queue) {
    let exec = cx.command;
    let mut begun = Instant::now();
    for (argv, hash) in queue.iter() {
        let request = Request { argv, command: argv.get(0).and_then(|name| table().lookup(name)), hash };
        let mark = cx.reply.mark();
        execute(cx, request);
        begun = notes::time(cx, || request, true, begun);
        if cx.command.steers {
            cx.look_again();
        }
        if cx.notes.monitors {
            server::monitor::show(cx, &request, mark);
        }
    }
    cx.command = exec;
}

/// What EXEC is refused with when it is not run. The transaction is over.
pub(super) fn abort(cx: &mut Context<'_>, why: &CommandError) -> CommandError {
    discard(cx.session, cx.shared);
    let why = why.wire();
    let why = why.strip_prefix(b"ERR ").unwrap_or(&why);
    CommandError::Echo([b"EXECABORT Transaction discarded because of: ", why].concat())
}

const DISCARD: Spec = Spec {
    name: "discard",
    since: "2.0.0",
    complexity: "O(N), when N is the number of queued commands",
    summary: "Ends a transaction without running what was queued.",
    flags: UNQUEUED,
    run: run_discard,
    ..COMMON
};
const _: () = assert!(DISCARD.arity(false) == 1);

fn run_discard(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    if !cx.session.is_queueing() {
        return Err(CommandError::text("ERR DISCARD without MULTI"));
    }
    discard(cx.session, cx.shared);
    cx.reply.ok();
    Ok(())
}

const WATCH: Spec = Spec {
    name: "watch",
    since: "2.2.0",
    complexity: "O(1) for every key.",
    summary: "Has the next EXEC do nothing if something happens to one of the keys before it.",
    // Whoever changes a key looks once a batch whether anybody watches: nobody is within the keyspace when somebody begins to.
    flags: UNQUEUED.and(Flags::ALONE),
    syntax: &[Arg::key("key", KeyFlags::LOOK).multiple()],
    run: watch,
    ..COMMON
};
const _: () = assert!(WATCH.arity(false) == -2);

fn watch(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    if cx.session.is_queueing() {
        return Err(CommandError::text("ERR WATCH inside MULTI is not allowed"));
    }
    let db = cx.keys.selected();
    for key in args.keys() {
        // One that has expired is removed now: that it goes away is not what is watched for.
        cx.keys.write(key, |_| ());
        let watching = &mut cx.session.transaction.get_or_insert_default().watching;
        if watching.insert((db, key.bytes().into())) {
            cx.shared.watched.watch(db, key, &cx.session.client);
        }
    }
    cx.reply.ok();
    Ok(())
}

const UNWATCH: Spec =
    Spec { name: "unwatch", since: "2.2.0", summary: "Forgets the keys that this connection watches.", run: run_unwatch, ..COMMON };
const _: () = assert!(UNWATCH.arity(false) == 1);

fn run_unwatch(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    unwatch(cx.session, cx.shared);
    cx.reply.ok();
    Ok(())
}

/// Ends a client's transaction.
pub(super) fn discard(session: &mut Session, shared: &Shared) {
    take(session, shared);
    session.client.hide_transaction();
}

/// Ends a client's transaction and hands over what was queued. Others see it until the caller hides it.
fn take(session: &mut Session, shared: &Shared) -> Queue {
    unwatch(session, shared);
    session.client.set_flag(Client::MULTI, false);
    let queue = session.transaction.take().and_then(|transaction| transaction.queue);
    session.look_again();
    queue.unwrap_or_default()
}

/// Forgets the keys that a client watches.
pub fn unwatch(session: &mut Session, shared: &Shared) {
    let Some(transaction) = &mut session.transaction else { return };
    for (db, key) in std::mem::take(&mut transaction.watching) {
        shared.watched.unwatch(db, shared.store.hasher().key(&key), &session.client);
    }
    session.client.set_flag(Client::STALE, false);
    if transaction.queue.is_none() {
        session.transaction = None;
        session.client.hide_transaction();
    }
}

/// Whether a watched key is past its deadline without having been removed.
fn has_expired(cx: &Context<'_>) -> bool {
    let Some(Transaction { watching, .. }) = cx.session.transaction.as_deref() else { return false };
    let hasher = cx.shared.store.hasher();
    watching.iter().any(|(db, key)| cx.keys.databases().db(*db).holds_expired(hasher.key(key), cx.now()))
}
