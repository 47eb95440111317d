//! Runs one request: the guards, in Redis's order, then the handler. Names no command.

use super::error::{ECHO_BYTES_MAX, shown};
use super::{Args, Command, CommandError, Context, Flags, Outcome, Wait};
use crate::clients::Unblock;
use crate::clock::UnixMillis;
use crate::resp::Argv;
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
pub fn dispatch(cx: &mut Context<'_>, request: &Request<'_>) -> bool {
    let mark = cx.reply.mark();
    let mut ran = false;
    let outcome = run(cx, request, &mut ran);
    // What waits answers later.
    if cx.wait.is_none() {
        finish(cx, outcome, mark);
    }
    ran
}

/// Answers for a command that has waited.
pub fn resume(cx: &mut Context<'_>, wait: Wait, unblock: Option<Unblock>) {
    let mark = cx.reply.mark();
    let outcome = if unblock == Some(Unblock::Error) { Err(CommandError::Unblocked) } else { (wait.then)(cx, wait.carried) };
    finish(cx, outcome, mark);
}

/// Until when a pause holds the request back, if it does. What is refused before it would run is refused at once.
#[cold]
pub fn held_back(cx: &Context<'_>, request: &Request<'_>) -> Option<UnixMillis> {
    let (command, _) = find(request).ok()?;
    guard(cx, command, request.argv).ok()?;
    let writes = command.spec.flags.has_any(Flags::WRITE.and(Flags::MAY_REPLICATE));
    cx.shared.clients.paused(writes, cx.now())
}

/// The command or subcommand that a request names, known or refused.
pub fn named(request: &Request<'_>) -> Option<&'static Command> {
    find(request).ok().map(|(command, _)| command)
}

#[inline]
fn finish(cx: &mut Context<'_>, outcome: Outcome, mark: usize) {
    if let Err(error) = outcome {
        let text = error.wire();
        cx.stats.errors.add(1);
        cx.shared.stats.count_error(&text);
        cx.reply.error(&text);
    }
    silence(cx, mark);
}

/// Takes back what was answered since `mark` when the client does not want to hear it.
#[inline]
fn silence(cx: &mut Context<'_>, mark: usize) {
    let next = match cx.session.reply_mode {
        ReplyMode::On => return,
        ReplyMode::Off => ReplyMode::Off,
        ReplyMode::SkipNext => ReplyMode::Skip,
        ReplyMode::Skip => ReplyMode::On,
    };
    cx.session.reply_mode = next;
    cx.reply.rewind(mark);
}

/// The command or subcommand of a request, and how many words its name takes.
#[inline]
fn find(request: &Request<'_>) -> Result<(&'static Command, usize), CommandError> {
    let Some(command) = request.command else {
        return Err(unknown_command(request.argv));
    };
    if command.subcommands.is_empty() {
        return Ok((command, 1));
    }
    match request.argv.get(1) {
        Some(name) => command.subcommand(name).map(|sub| (sub, 2)).ok_or_else(|| unknown_subcommand(command, name)),
        None if command.spec.has(Flags::BARE) => Ok((command, 1)),
        None => Err(CommandError::WrongArity(command.full_name.into())),
    }
}

#[inline]
fn run(cx: &mut Context<'_>, request: &Request<'_>, ran: &mut bool) -> Outcome {
    let argv = request.argv;
    let (command, name_words) = find(request).inspect_err(|_| {
        // A container on its own was found, and lacks an argument; with an unknown subcommand nothing was.
        if let Some(container) = request.command.filter(|_| argv.len() == 1) {
            cx.stats.commands[container.id].rejected.add(1);
        }
    })?;
    let counters = &cx.stats.commands[command.id];
    if let Err(error) = guard(cx, command, argv) {
        counters.rejected.add(1);
        return Err(error);
    }
    *ran = true;
    cx.command = command;
    cx.keys.set_alone(command.spec.has(Flags::ALONE));
    let mut args = Args::new(argv, name_words, cx.shared.store.hasher(), request.hash);
    let outcome = (command.spec.run)(cx, &mut args);
    // Afterwards, so that CONFIG RESETSTAT is the first command of the new count.
    counters.calls.add(1);
    if outcome.is_err() {
        counters.failed.add(1);
    }
    outcome
}

/// What every command must pass before it runs.
#[inline]
fn guard(cx: &Context<'_>, command: &Command, argv: Argv<'_>) -> Outcome {
    if !command.accepts(argv.len()) {
        return Err(CommandError::WrongArity(command.full_name.into()));
    }
    if !cx.session.authenticated && !command.spec.has(Flags::NO_AUTH) && cx.shared.settings.password_required() {
        return Err(CommandError::text("NOAUTH Authentication required."));
    }
    let touches_keys = Flags::READONLY.and(Flags::WRITE).and(Flags::MAY_REPLICATE);
    if cx.session.monitor && command.spec.flags.has_any(touches_keys) {
        return Err(CommandError::text("ERR Replica can't interact with the keyspace"));
    }
    Ok(())
}

fn unknown_command(argv: Argv<'_>) -> CommandError {
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
