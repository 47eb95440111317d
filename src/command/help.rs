//! What commands with subcommands have in common: `HELP` and its answer, and the refusal that points to it.

use super::error::{ECHO_BYTES_MAX, shown};
use super::{Args, CommandError, Context, Flags, Outcome, Spec};

/// What the subcommands `help` share. Each says its group, since when it is there, and what runs it.
pub(super) const HELP: Spec =
    Spec { name: "help", summary: "Lists the subcommands.", flags: Flags::LOADING.and(Flags::STALE), ..Spec::BASE };
const _: () = assert!(HELP.arity(true) == 2);

/// Answers with a head line, `lines` and what `HELP` itself does. A line that says what the line above it means begins with four spaces.
pub(super) fn answer(cx: &mut Context<'_>, lines: &[&str]) -> Outcome {
    let container = container(cx);
    cx.reply.array(lines.len() + 3);
    cx.reply.simple(&format!("{container} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"));
    for line in lines.iter().chain(&["HELP", "    Print this help."]) {
        cx.reply.simple(line);
    }
    Ok(())
}

/// The refusal of a subcommand that its container takes apart itself, or of more arguments than a subcommand takes where its arity has
/// no upper bound.
pub(super) fn unknown_or_wrong(cx: &Context<'_>, args: &Args<'_>) -> CommandError {
    let name = shown(args.argv().get(1).unwrap_or_default(), ECHO_BYTES_MAX);
    let hint = format!("'. Try {} HELP.", container(cx));
    CommandError::Echo([b"ERR unknown subcommand or wrong number of arguments for '", name, hint.as_bytes()].concat())
}

/// The name of the command that holds the one being run, as `HELP` shows it.
fn container(cx: &Context<'_>) -> String {
    cx.command.full_name.split('|').next().unwrap_or_default().to_ascii_uppercase()
}
