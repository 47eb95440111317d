//! Runs one request: the guards, in Redis's order, then the handler. Names no command.

use super::{Args, Command, CommandError, Context, Flags, Outcome, Resume};
use crate::clients::Unblock;
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

/// Runs a request and answers it, unless it waits: then `cx.wait` says for what.
#[inline]
pub fn dispatch(cx: &mut Context<'_>, request: &Request<'_>) {
    let mark = cx.reply.mark();
    let outcome = run(cx, request);
    // What waits answers later.
    if cx.wait.is_none() {
        finish(cx, outcome, mark);
    }
}

/// Answers for a command that has waited.
pub fn resume(cx: &mut Context<'_>, then: Resume, unblock: Option<Unblock>) {
    let mark = cx.reply.mark();
    let outcome = then(cx, unblock);
    finish(cx, outcome, mark);
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

#[inline]
fn run(cx: &mut Context<'_>, request: &Request<'_>) -> Outcome {
    let argv = request.argv;
    let Some(mut command) = request.command else {
        return Err(unknown_command(argv));
    };
    let mut name_words = 1;
    if !command.subcommands.is_empty() {
        match argv.get(1) {
            Some(name) => {
                command = command.subcommand(name).ok_or_else(|| unknown_subcommand(command, name))?;
                name_words = 2;
            }
            None if command.spec.has(Flags::BARE) => {}
            None => return Err(CommandError::WrongArity(command.full_name.into())),
        }
    }
    let counters = &cx.stats.commands[command.id];
    if let Err(error) = guard(cx, command, argv) {
        counters.rejected.add(1);
        return Err(error);
    }
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
    Ok(())
}

/// Longest part of a request that an error repeats, in bytes.
const ECHO_BYTES_MAX: usize = 128;

fn unknown_command(argv: Argv<'_>) -> CommandError {
    let mut text = b"ERR unknown command '".to_vec();
    text.extend_from_slice(c_string(argv.get(0).unwrap_or_default(), ECHO_BYTES_MAX));
    text.extend_from_slice(b"', with args beginning with: ");
    let mut echoed = Vec::new();
    for arg in argv.iter().skip(1) {
        if echoed.len() >= ECHO_BYTES_MAX {
            break;
        }
        let room = ECHO_BYTES_MAX - echoed.len();
        echoed.push(b'\'');
        echoed.extend_from_slice(c_string(arg, room));
        echoed.extend_from_slice(b"' ");
    }
    text.extend_from_slice(&echoed);
    CommandError::Echo(text)
}

fn unknown_subcommand(container: &Command, name: &[u8]) -> CommandError {
    let mut text = b"ERR unknown subcommand '".to_vec();
    text.extend_from_slice(c_string(name, ECHO_BYTES_MAX));
    text.extend_from_slice(format!("'. Try {} HELP.", container.spec.name.to_ascii_uppercase()).as_bytes());
    CommandError::Echo(text)
}

/// What Redis shows of an argument that it prints as a C string: up to the first NUL, and no more than `len_max` bytes.
fn c_string(bytes: &[u8], len_max: usize) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    &bytes[..end.min(len_max)]
}
