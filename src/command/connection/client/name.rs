//! CLIENT GETNAME, SETNAME, SETINFO: what a client calls itself.

use super::OWN;
use crate::clients::Names;
use crate::command::{Arg, Args, CommandError, Context, Group, Outcome, Spec};

/// Whether `text` can stand in a line of CLIENT LIST, which is split at spaces.
fn fits_list(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_graphic)
}

/// A connection's name, if it may be one. The empty name is none.
pub(in super::super) fn check(name: &[u8]) -> Result<&[u8], CommandError> {
    if fits_list(name) {
        Ok(name)
    } else {
        Err(CommandError::text("ERR Client names cannot contain spaces, newlines or special characters."))
    }
}

/// Names this connection. The name has been checked.
pub(in super::super) fn set(cx: &Context<'_>, name: &[u8]) {
    cx.session.client.rename(|names| names.name = name.to_vec());
}

pub(super) const GETNAME: Spec = Spec {
    name: "getname",
    group: Group::Connection,
    since: "2.6.9",
    summary: "Answers with the name of this connection.",
    flags: OWN,
    run: getname,
    ..Spec::BASE
};
const _: () = assert!(GETNAME.arity(true) == 2);

fn getname(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    let name = cx.session.client.names().name;
    cx.reply.bulk_or_null((!name.is_empty()).then_some(&name));
    Ok(())
}

pub(super) const SETNAME: Spec = Spec {
    name: "setname",
    group: Group::Connection,
    since: "2.6.9",
    summary: "Names this connection. The empty name is none.",
    flags: OWN,
    syntax: &[Arg::string("connection-name")],
    run: setname,
    ..Spec::BASE
};
const _: () = assert!(SETNAME.arity(true) == 3);

fn setname(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let name = check(args.bytes()?)?;
    set(cx, name);
    cx.reply.ok();
    Ok(())
}

pub(super) const SETINFO: Spec = Spec {
    name: "setinfo",
    group: Group::Connection,
    since: "7.2.0",
    summary: "Tells the name or the version of the client library.",
    flags: OWN,
    syntax: &[Arg::one_of("attr", &[Arg::string("libname").with_token("LIB-NAME"), Arg::string("libver").with_token("LIB-VER")])],
    run: setinfo,
    ..Spec::BASE
};
const _: () = assert!(SETINFO.arity(true) == 4);

fn setinfo(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let attribute = args.bytes()?;
    let value = args.bytes()?;
    let slot: fn(&mut Names) -> &mut Vec<u8> = if attribute.eq_ignore_ascii_case(b"LIB-NAME") {
        |names| &mut names.lib_name
    } else if attribute.eq_ignore_ascii_case(b"LIB-VER") {
        |names| &mut names.lib_ver
    } else {
        return Err(CommandError::quoting("ERR Unrecognized option '", attribute, "'"));
    };
    if !fits_list(value) {
        return Err(CommandError::quoting("ERR ", attribute, " cannot contain spaces, newlines or special characters."));
    }
    cx.session.client.rename(|names| *slot(names) = value.to_vec());
    cx.reply.ok();
    Ok(())
}
