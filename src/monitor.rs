//! What monitors see of a request.

use std::io::Write as _;

use crate::command::{Flags, Request};
use crate::session::Session;
use crate::shared::Shared;

/// Shows a request to all monitors, as Redis formats it. What steers the server, or holds secrets, is not shown.
pub fn show(shared: &Shared, session: &Session, db: usize, request: &Request<'_>) {
    let Some(command) = request.command else { return };
    let command = request.argv.get(1).and_then(|name| command.subcommand(name)).unwrap_or(command);
    if command.spec.has(Flags::ADMIN) || command.spec.has(Flags::SKIP_MONITOR) {
        return;
    }
    let micros = shared.clock.micros();
    let client = &session.client;
    let mut line = format!("+{}.{:06} [{db} {}]", micros / 1_000_000, micros % 1_000_000, client.addr).into_bytes();
    for arg in request.argv.iter() {
        line.push(b' ');
        push_quoted(&mut line, arg);
    }
    line.extend_from_slice(b"\r\n");
    shared.clients.show_monitors(&line);
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
