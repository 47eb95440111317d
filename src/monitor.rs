//! What monitors see of a request.

use std::io::Write as _;

use crate::command::{Context, Flags, Request};
use crate::session::ReplyMode;

/// Shows the request that was just run to all monitors, as Redis formats it. What steers the server is not shown, nor are secrets.
#[cold]
pub fn show(cx: &mut Context<'_>, request: &Request<'_>) {
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
    cx.shared.clients.show_monitors(&line, client.id);
    // Its own line comes right behind its reply, and not behind those of the whole batch.
    if cx.session.monitor && !cx.session.closing && cx.session.reply_mode != ReplyMode::Off {
        cx.reply.encoded(&line);
    }
}

/// Appends `bytes` between double quotes with Redis's escapes.
pub fn push_quoted(out: &mut Vec<u8>, bytes: &[u8]) {
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
