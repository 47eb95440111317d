//! The answer to `HELP` of a command with subcommands.

use super::{Context, Outcome};

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
