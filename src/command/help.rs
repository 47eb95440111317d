//! What commands with subcommands have in common: the answer to `HELP`, and the refusal that points to it.

use super::{CommandError, Context, Outcome, error::c_string};

/// Answers with a head line, `lines` and what `HELP` itself does. A line that says what the line above it means begins with four spaces.
pub(super) fn answer(cx: &mut Context<'_>, lines: &[&str]) -> Outcome {
    let container = cx.command.full_name.split('|').next().unwrap_or_default().to_ascii_uppercase();
    cx.reply.array(lines.len() + 3);
    cx.reply.simple(&format!("{container} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"));
    for line in lines.iter().chain(&["HELP", "    Print this help."]) {
        cx.reply.simple(line);
    }
    Ok(())
}

/// Longest part of a request that an error repeats, in bytes.
const ECHO_BYTES_MAX: usize = 128;

/// The refusal of a subcommand that the container takes apart itself, or of one with too many arguments. `name` is as it was sent.
pub(super) fn unknown_or_wrong(cx: &Context<'_>, name: &[u8]) -> CommandError {
    let container = cx.command.full_name.split('|').next().unwrap_or_default().to_ascii_uppercase();
    let mut text = b"ERR unknown subcommand or wrong number of arguments for '".to_vec();
    let name = c_string(name);
    text.extend_from_slice(&name[..name.len().min(ECHO_BYTES_MAX)]);
    text.extend_from_slice(format!("'. Try {container} HELP.").as_bytes());
    CommandError::Echo(text)
}
