//! MONITOR: a client watches what all others do.

use std::io::Write as _;

use crate::command::{Args, CommandError, Context, Flags, Group, Outcome, Request, Spec};
use crate::resp::Output;
use crate::session::ReplyMode;

pub(in crate::command) const SPECS: &[&Spec] = &[&MONITOR];

const MONITOR: Spec = Spec {
    name: "monitor",
    group: Group::Server,
    complexity: "",
    summary: "Shows this connection every command that the server runs from here on.",
    flags: Flags::ADMIN.and(Flags::NOSCRIPT).and(Flags::LOADING).and(Flags::STALE),
    run: monitor,
    ..Spec::BASE
};
const _: () = assert!(MONITOR.arity(false) == 1);

fn monitor(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    if cx.in_exec.is_some() {
        return Err(CommandError::text("ERR MONITOR isn't allowed for DENY BLOCKING client"));
    }
    // Who watches already is not answered, as Redis has it.
    if !cx.session.monitor {
        cx.session.monitor = true;
        cx.session.look_again();
        cx.shared.clients.begin_monitor(&cx.session.client);
        cx.reply.ok();
    }
    Ok(())
}

/// Shows the request that was just run to all monitors, as Redis formats it. What steers the server is not shown, nor are secrets. The
/// reply to it began at `mark`.
#[cold]
pub fn show(cx: &mut Context<'_>, request: &Request<'_>, mark: usize) {
    if cx.command.spec.flags.has_any(Flags::ADMIN.and(Flags::SKIP_MONITOR)) {
        return;
    }
    let micros = cx.shared.clock.micros();
    let client = &cx.session.client;
    let (seconds, fraction, db) = (micros / 1_000_000, micros % 1_000_000, cx.keys.selected());
    let mut line = format!("+{seconds}.{fraction:06} [{db} {}]", client.origin()).into_bytes();
    for arg in request.public_argv(cx.command) {
        line.push(b' ');
        push_quoted(&mut line, arg);
    }
    line.extend_from_slice(b"\r\n");
    let hears_itself = hears_itself(cx, mark);
    cx.shared.clients.show_monitors(&Output::from(line), cx.sender(), hears_itself);
}

/// Whether a client hears of its own request, whose reply began at `mark`: only if it hears the reply.
fn hears_itself(cx: &Context<'_>, mark: usize) -> bool {
    let is_over = cx.in_exec.is_none() && cx.wait.is_none();
    if cx.session.closing {
        return false;
    }
    match cx.session.reply_mode {
        ReplyMode::Off => false,
        // Behind the request that asked for it: the next one is not answered.
        ReplyMode::Skip => is_over,
        // What was not to be answered has left nothing behind its beginning, and the mode has gone back to normal.
        ReplyMode::On | ReplyMode::SkipNext => !is_over || cx.reply.mark() > mark,
    }
}

/// Appends `bytes` between double quotes with Redis's escapes.
fn push_quoted(out: &mut Vec<u8>, bytes: &[u8]) {
    out.push(b'"');
    for &byte in bytes {
        match byte {
            b'\\' | b'"' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x07 => out.extend_from_slice(b"\\a"),
            0x08 => out.extend_from_slice(b"\\b"),
            b' '..=b'~' => out.push(byte),
            _ => write!(out, "\\x{byte:02x}").expect("writing to memory does not fail"),
        }
    }
    out.push(b'"');
}
