//! `CONFIG`: the runtime parameters, asked for and set.

use std::sync::atomic::Ordering;

use super::super::{Arg, Args, CommandError, Context, Flags, Group, Outcome, Spec, help};
use crate::glob::{self, Case};
use crate::resp::Argv;
use crate::settings::{PARAMETERS, Parameter, find};

pub(super) const CONFIG: Spec = Spec {
    name: "config",
    group: Group::Server,
    since: "2.0.0",
    summary: "Holds the commands about the server's parameters.",
    subcommands: &[CONFIG_RESETSTAT, CONFIG_REWRITE, CONFIG_HELP, CONFIG_GET, CONFIG_SET],
    ..Spec::CONTAINER
};
const _: () = assert!(CONFIG.arity(false) == -2);

const SUBCOMMAND: Spec = Spec {
    group: Group::Server,
    since: "2.0.0",
    flags: Flags::ADMIN.and(Flags::NOSCRIPT).and(Flags::LOADING).and(Flags::STALE),
    ..Spec::BASE
};

const CONFIG_GET: Spec = Spec {
    name: "get",
    complexity: "O(N) when N is the number of configuration parameters provided",
    summary: "Tells the values of the parameters whose names match any of the patterns.",
    syntax: &[Arg::block("parameter", &[Arg::string("parameter")]).multiple()],
    run: config_get,
    ..SUBCOMMAND
};
const _: () = assert!(CONFIG_GET.arity(true) == -3);

fn config_get(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let mut chosen: Vec<(&[u8], &Parameter)> = Vec::new();
    for pattern in args.rest() {
        // A name without a wildcard is answered as it was typed.
        if !pattern.iter().any(|byte| b"[*?".contains(byte)) {
            choose(&mut chosen, pattern, find(pattern));
            continue;
        }
        for parameter in PARAMETERS {
            let name = parameter.name.as_bytes();
            choose(&mut chosen, name, glob::matches(pattern, name, Case::Insensitive).then_some(parameter));
        }
    }
    cx.reply.map(chosen.len());
    for (name, parameter) in chosen {
        cx.reply.bulk(name);
        cx.reply.bulk(value(cx, parameter));
    }
    Ok(())
}

/// Adds a parameter to the answer, once.
fn choose<'a>(chosen: &mut Vec<(&'a [u8], &'static Parameter)>, name: &'a [u8], parameter: Option<&'static Parameter>) {
    if let Some(parameter) = parameter
        && chosen.iter().all(|(_, earlier)| earlier.name != parameter.name)
    {
        chosen.push((name, parameter));
    }
}

fn value(cx: &Context<'_>, parameter: &Parameter) -> Vec<u8> {
    match (parameter.name, cx.shared.addr.get()) {
        // The one that was found free, when any was asked for.
        ("port", Some(addr)) => addr.port().to_string().into_bytes(),
        _ => cx.shared.settings.get(parameter),
    }
}

const CONFIG_SET: Spec = Spec {
    name: "set",
    complexity: "O(N) when N is the number of configuration parameters provided",
    summary: "Sets parameters, all of them or none.",
    tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
    syntax: &[Arg::block("parameter_value", &[Arg::string("parameter"), Arg::string("value")]).multiple()],
    find_secrets: Some(set_secrets),
    run: config_set,
    ..SUBCOMMAND
};
const _: () = assert!(CONFIG_SET.arity(true) == -4);

/// The values of parameters that hold secrets.
fn set_secrets(argv: &Argv<'_>) -> Vec<usize> {
    const SECRETS: [&[u8]; 3] = [b"requirepass", b"masterauth", b"masteruser"];
    let is_secret = |&at: &usize| argv.get(at).is_some_and(|name| SECRETS.iter().any(|secret| name.eq_ignore_ascii_case(secret)));
    (2..argv.len()).step_by(2).filter(is_secret).map(|at| at + 1).collect()
}

fn config_set(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let mut pairs = Vec::with_capacity(args.len() / 2);
    while let Some(name) = args.next() {
        pairs.push((name, args.bytes()?));
    }
    cx.shared.settings.set(&pairs).map_err(|refused| CommandError::Echo(refused.wire()))?;
    cx.shared.log.set_level(cx.shared.settings.loglevel());
    // A slow log that nothing is added to any more stays as it is.
    if cx.shared.settings.slowlog_micros.load(Ordering::Relaxed) >= 0 {
        cx.shared.slowlog.trim(cx.shared.settings.slowlog_len_max.load(Ordering::Relaxed));
    }
    // The memory policy decides what accesses leave behind, in this very batch as well.
    cx.set_no_touch(cx.session.no_touch);
    cx.reply.ok();
    Ok(())
}

const CONFIG_RESETSTAT: Spec =
    Spec { name: "resetstat", summary: "Lets the counters of INFO begin anew.", run: config_resetstat, ..SUBCOMMAND };
const _: () = assert!(CONFIG_RESETSTAT.arity(true) == 2);

fn config_resetstat(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    cx.shared.stats.reset();
    for (_, db) in cx.keys.databases().used() {
        db.reset_expired();
    }
    cx.reply.ok();
    Ok(())
}

const CONFIG_REWRITE: Spec = Spec {
    name: "rewrite",
    since: "2.8.0",
    summary: "Would write the parameters to the file that the server was started with; there is none.",
    run: config_rewrite,
    ..SUBCOMMAND
};
const _: () = assert!(CONFIG_REWRITE.arity(true) == 2);

fn config_rewrite(_: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    Err(CommandError::text("ERR The server is running without a config file"))
}

const CONFIG_HELP: Spec =
    Spec { group: Group::Server, since: "5.0.0", run: |cx, _| help::answer(cx, CONFIG_HELP_LINES), ..help::HELP };

const CONFIG_HELP_LINES: &[&str] = &[
    "GET <pattern>",
    "    Tell the values of the parameters whose names match <pattern>.",
    "SET <directive> <value>",
    "    Set the parameter <directive> to <value>.",
    "RESETSTAT",
    "    Let the counters of INFO begin anew.",
    "REWRITE",
    "    Refused: there is no file to write to.",
];
