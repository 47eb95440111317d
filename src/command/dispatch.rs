//! Runs one request: the guards, in Redis's order, then the handler. Names no command.

use std::mem;
use std::sync::atomic::Ordering;

use super::error::{ECHO_BYTES_MAX, shown};
use super::{Args, Command, CommandError, Context, Flags, Outcome, Wait, keys, server, transactions};
use crate::clients::{Client, Unblock};
use crate::clock::UnixMillis;
use crate::resp::{Argv, Protocol};
use crate::session::ReplyMode;

/// A request with what the batch already knows of it.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Its arguments, the name first.
    pub argv: Argv<'a>,
    /// The command of that name.
    pub command: Option<&'static Command>,
    /// The hash of its first key, if the command has keys.
    pub hash: Option<u64>,
}

/// What stands for a secret where others see the request.
const REDACTED: &[u8] = b"(redacted)";

impl<'a> Request<'a> {
    /// The arguments as others may see them: without the secrets that `command` takes.
    pub fn public_argv(&self, command: &Command) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let secrets = command.spec.find_secrets.map_or_else(Vec::new, |find| find(&self.argv));
        self.argv.iter().enumerate().map(move |(index, arg)| if secrets.contains(&index) { REDACTED } else { arg })
    }
}

/// Runs a request and answers it, unless it waits: then `cx.wait` says for what. Whether its command was run rather than refused;
/// `cx.command` is that command.
#[inline]
pub fn dispatch(cx: &mut Context<'_>, request: Request<'_>) -> bool {
    let mark = cx.reply.mark();
    let mut args = Args::new(request.argv, cx.shared.store.hasher(), request.hash);
    let ran = match admit(cx, request.command, &mut args) {
        Ok(command) if cx.session.is_special && is_queued(cx, command, &request) => false,
        Ok(command) => {
            if cx.session.is_special {
                remember(cx, command, &request);
            }
            run(cx, command, &mut args);
            true
        }
        Err(error) => {
            refuse(cx, &request, error);
            false
        }
    };
    if cx.session.reply_mode != ReplyMode::On {
        silence(cx, mark);
    }
    ran
}

/// Runs a request that was queued, and so has passed every guard, and answers it.
pub fn execute(cx: &mut Context<'_>, request: Request<'_>) {
    let mark = cx.reply.mark();
    let mut args = Args::new(request.argv, cx.shared.store.hasher(), request.hash);
    match find(request.command, &request.argv) {
        Ok((command, name_words)) => {
            args.begin(name_words);
            remember(cx, command, &request);
            run(cx, command, &mut args);
        }
        Err(error) => fail(cx, &error),
    }
    if let Some(wait) = cx.wait {
        // Nothing waits here: it answers as it would if its time were over.
        cx.end_wait();
        if let Err(error) = (wait.then)(cx, wait.carried) {
            fail(cx, &error);
        }
    }
    // A request that asks to skip the next reply means the one behind EXEC.
    if cx.is_silent() && !mem::take(&mut cx.has_settled) {
        cx.reply.rewind(mark);
    }
}

/// Has a client that tracks be told when the keys change that the request is about to read. Before it reads them: whoever changes them
/// afterwards knows of it.
#[cold]
fn remember(cx: &Context<'_>, command: &Command, request: &Request<'_>) {
    let reads = command.spec.has(Flags::READONLY) && !command.spec.has(Flags::WRITE);
    if !reads || !cx.session.tracked.remembers() {
        return;
    }
    let keys_max = cx.shared.settings.tracking_keys_max.load(Ordering::Relaxed);
    for (position, _) in keys::find(command.spec, &command.key_specs, &request.argv).unwrap_or_default() {
        if let Some(key) = request.argv.get(position) {
            let key = cx.shared.store.hasher().key(key);
            // What the request would come across is told before it is remembered.
            cx.keys.remove_expired(key);
            cx.shared.tracking.remember(key, keys_max, &cx.shared.clients, cx.sender());
        }
    }
}

/// Queues a request if there is a transaction to queue it in, and says so.
#[cold]
fn is_queued(cx: &mut Context<'_>, command: &Command, request: &Request<'_>) -> bool {
    let is_stale = cx.session.client.has(Client::STALE);
    let bytes_max = cx.shared.settings.query_bytes_max.load(Ordering::Relaxed);
    let Some(queue) = cx.session.queue().filter(|_| !command.spec.has(Flags::UNQUEUED)) else { return false };
    if queue.is_broken || is_stale {
        // It will not be run, and is not kept.
        cx.reply.simple("QUEUED");
    } else if (queue.memory() + request.argv.byte_len()) as u64 > bytes_max {
        const TOO_LARGE: CommandError = CommandError::text("ERR transaction exceeds client-query-buffer-limit");
        refuse(cx, request, TOO_LARGE);
    } else {
        queue.push(&request.argv, request.hash);
        queue.writes |= command.spec.has(Flags::WRITE);
        cx.reply.simple("QUEUED");
    }
    true
}

/// Answers a request that is not run. What a transaction has queued is not run either.
#[cold]
fn refuse(cx: &mut Context<'_>, request: &Request<'_>, error: CommandError) {
    if let Some(queue) = cx.session.queue() {
        queue.break_off();
    }
    match request.command {
        Some(command) if command.spec.has(Flags::COMMITS) => {
            let mark = cx.reply.mark();
            let error = transactions::abort(cx, &error);
            fail(cx, &error);
            // Monitors have seen a transaction begin, and see it end.
            if cx.notes.monitors {
                cx.command = command;
                server::monitor::show(cx, request, mark);
            }
        }
        _ => fail(cx, &error),
    }
}

/// Answers for a command that has waited.
pub fn resume(cx: &mut Context<'_>, wait: Wait, unblock: Option<Unblock>) {
    let mark = cx.reply.mark();
    let outcome = if unblock == Some(Unblock::Error) { Err(CommandError::Unblocked) } else { (wait.then)(cx, wait.carried) };
    if let Err(error) = outcome {
        // The last command is the one that has waited.
        if let Some(counters) = cx.stats.commands.get(cx.session.client.last_command()) {
            counters.failed.add(1);
        }
        fail(cx, &error);
    }
    if cx.session.reply_mode != ReplyMode::On {
        silence(cx, mark);
    }
}

/// Until when a pause holds the request back, if it does. What is refused before it would run is refused at once.
#[cold]
pub fn held_back(cx: &Context<'_>, request: &Request<'_>) -> Option<UnixMillis> {
    let (command, _) = find(request.command, &request.argv).ok()?;
    guard(cx, command, &request.argv).ok()?;
    let commits = command.spec.has(Flags::COMMITS)
        && cx.session.transaction.as_ref().and_then(|transaction| transaction.queue.as_ref()).is_some_and(|queue| queue.writes);
    let writes = commits || command.spec.flags.has_any(Flags::WRITE.and(Flags::MAY_REPLICATE));
    cx.shared.clients.paused(writes, cx.now())
}

/// The command or subcommand that a request names, known or refused.
pub fn named(request: &Request<'_>) -> Option<&'static Command> {
    find(request.command, &request.argv).ok().map(|(command, _)| command)
}

#[cold]
fn fail(cx: &mut Context<'_>, error: &CommandError) {
    let text = error.wire();
    cx.stats.errors.add(1);
    cx.shared.stats.count_error(&text);
    cx.reply.error(&text);
}

/// Takes back what was answered since `mark`: the client does not want to hear it. What waits answers later.
#[cold]
fn silence(cx: &mut Context<'_>, mark: usize) {
    if cx.wait.is_some() {
        return;
    }
    cx.session.reply_mode = match cx.session.reply_mode {
        ReplyMode::On | ReplyMode::Skip => ReplyMode::On,
        ReplyMode::Off => ReplyMode::Off,
        ReplyMode::SkipNext => ReplyMode::Skip,
    };
    if !mem::take(&mut cx.has_settled) {
        cx.reply.rewind(mark);
    }
}

/// The command or subcommand of a request, and how many words its name takes.
#[inline]
fn find(command: Option<&'static Command>, argv: &Argv<'_>) -> Result<(&'static Command, usize), CommandError> {
    match command {
        Some(command) if command.subcommands.is_empty() => Ok((command, 1)),
        Some(container) => find_subcommand(container, argv),
        None => Err(unknown_command(argv)),
    }
}

#[inline(never)]
fn find_subcommand(container: &'static Command, argv: &Argv<'_>) -> Result<(&'static Command, usize), CommandError> {
    match argv.get(1) {
        Some(name) => container.subcommand(name).map(|sub| (sub, 2)).ok_or_else(|| unknown_subcommand(container, name)),
        None if container.spec.has(Flags::BARE) => Ok((container, 1)),
        None => Err(CommandError::WrongArity(container.full_name.into())),
    }
}

/// The command of a request that may run, past whose name `args` then stands. Counts what is refused.
#[inline]
fn admit(cx: &Context<'_>, command: Option<&'static Command>, args: &mut Args<'_>) -> Result<&'static Command, CommandError> {
    let (found, name_words) = find(command, args.argv()).inspect_err(|_| {
        // A container on its own was found, and lacks an argument; with an unknown subcommand nothing was.
        if let Some(container) = command.filter(|_| args.argv().len() == 1) {
            cx.stats.commands[container.id].rejected.add(1);
        }
    })?;
    guard(cx, found, args.argv()).inspect_err(|_| cx.stats.commands[found.id].rejected.add(1))?;
    args.begin(name_words);
    Ok(found)
}

#[expect(clippy::inline_always, reason = "the other place that calls it is rare, and this one is not")]
#[inline(always)]
fn run(cx: &mut Context<'_>, command: &'static Command, args: &mut Args<'_>) {
    cx.command = command;
    if command.spec.has(Flags::ALONE) {
        cx.keys.be_alone();
    }
    let outcome = (command.spec.run)(cx, args);
    // Afterwards, so that CONFIG RESETSTAT is the first command of the new count.
    let counters = &cx.stats.commands[command.id];
    counters.calls.add(1);
    if let Err(error) = outcome {
        counters.failed.add(1);
        fail(cx, &error);
    }
}

/// What every command must pass before it runs.
#[inline]
fn guard(cx: &Context<'_>, command: &Command, argv: &Argv<'_>) -> Outcome {
    if !command.accepts(argv.len()) {
        return Err(CommandError::WrongArity(command.full_name.into()));
    }
    if !cx.session.authenticated && !command.spec.has(Flags::NO_AUTH) && cx.shared.settings.password_required() {
        return Err(CommandError::text("NOAUTH Authentication required."));
    }
    if cx.session.is_special { guard_special(cx, command) } else { Ok(()) }
}

/// What a command must pass of a client that watches, has subscribed or queues a transaction.
#[cold]
fn guard_special(cx: &Context<'_>, command: &Command) -> Outcome {
    let session = &*cx.session;
    if command.spec.has(Flags::NO_MULTI) && session.is_queueing() {
        return Err(CommandError::text("ERR Command not allowed inside a transaction"));
    }
    let hears_only = session.client.has(Client::PUBSUB) && session.protocol == Protocol::Resp2;
    if hears_only && !command.spec.has(Flags::SUBSCRIBED) {
        let name = command.full_name;
        return Err(CommandError::made(format!(
            "ERR Can't execute '{name}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
        )));
    }
    let touches_keys = Flags::READONLY.and(Flags::WRITE).and(Flags::MAY_REPLICATE);
    if session.monitor && command.spec.flags.has_any(touches_keys) {
        return Err(CommandError::text("ERR Replica can't interact with the keyspace"));
    }
    Ok(())
}

#[cold]
fn unknown_command(argv: &Argv<'_>) -> CommandError {
    let mut text = b"ERR unknown command '".to_vec();
    text.extend_from_slice(shown(argv.get(0).unwrap_or_default(), ECHO_BYTES_MAX));
    text.extend_from_slice(b"', with args beginning with: ");
    let mut echoed = Vec::new();
    for arg in argv.iter().skip(1) {
        if echoed.len() >= ECHO_BYTES_MAX {
            break;
        }
        let room = ECHO_BYTES_MAX - echoed.len();
        echoed.push(b'\'');
        echoed.extend_from_slice(shown(arg, room));
        echoed.extend_from_slice(b"' ");
    }
    text.extend_from_slice(&echoed);
    CommandError::Echo(text)
}

fn unknown_subcommand(container: &Command, name: &[u8]) -> CommandError {
    let mut text = b"ERR unknown subcommand '".to_vec();
    text.extend_from_slice(shown(name, ECHO_BYTES_MAX));
    text.extend_from_slice(format!("'. Try {} HELP.", container.spec.name.to_ascii_uppercase()).as_bytes());
    CommandError::Echo(text)
}
