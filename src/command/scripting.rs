//! Scripts and functions, as a server that holds none of them answers: test suites flush them between tests.

use super::{Arg, Args, CommandError, Context, Flags, Group, Outcome, Spec, error::c_string, help};

pub(super) const SPECS: &[&Spec] = &[&SCRIPT, &FUNCTION];

const ASYNC_OR_SYNC: &[Arg] = &[Arg::token("async", "ASYNC"), Arg::token("sync", "SYNC")];

const SCRIPT: Spec = Spec {
    name: "script",
    group: Group::Scripting,
    since: "2.6.0",
    summary: "Holds the commands about scripts.",
    subcommands: &[SCRIPT_HELP, SCRIPT_EXISTS, SCRIPT_FLUSH, SCRIPT_KILL],
    ..Spec::CONTAINER
};
const _: () = assert!(SCRIPT.arity(false) == -2);

const OF_SCRIPT: Spec = Spec { group: Group::Scripting, since: "2.6.0", flags: Flags::NOSCRIPT, ..Spec::BASE };

const SCRIPT_EXISTS: Spec = Spec {
    name: "exists",
    complexity: "O(N) with N being the number of scripts to check (so checking a single script is an O(1) operation).",
    summary: "Tells of each digest whether there is a script with it: none ever is.",
    tips: &["request_policy:all_shards", "response_policy:agg_logical_and"],
    syntax: &[Arg::string("sha1").multiple()],
    run: script_exists,
    ..OF_SCRIPT
};
const _: () = assert!(SCRIPT_EXISTS.arity(true) == -3);

fn script_exists(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    cx.reply.array(args.len());
    (0..args.len()).for_each(|_| cx.reply.int(0));
    Ok(())
}

const SCRIPT_FLUSH: Spec = Spec {
    name: "flush",
    complexity: "O(N) with N being the number of scripts in cache",
    summary: "Forgets all scripts.",
    tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
    syntax: &[Arg::one_of("async", ASYNC_OR_SYNC).since("6.2.0").optional()],
    run: script_flush,
    ..OF_SCRIPT
};
const _: () = assert!(SCRIPT_FLUSH.arity(true) == -2);

fn script_flush(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    flush(cx, args, "ERR SCRIPT FLUSH only support SYNC|ASYNC option")
}

/// Nothing is there to be forgotten, in either mode.
fn flush(cx: &mut Context<'_>, args: &mut Args<'_>, unknown_mode: &'static str) -> Outcome {
    match args.keyword().as_deref() {
        None => {}
        Some(b"ASYNC" | b"SYNC") if args.is_empty() => {}
        Some(_) => return Err(CommandError::text(unknown_mode)),
    }
    cx.reply.ok();
    Ok(())
}

const SCRIPT_KILL: Spec = Spec {
    name: "kill",
    summary: "Would end the script that runs; none ever does.",
    flags: Flags::NOSCRIPT.and(Flags::ALLOW_BUSY),
    tips: &["request_policy:all_shards", "response_policy:one_succeeded"],
    run: kill,
    ..OF_SCRIPT
};
const _: () = assert!(SCRIPT_KILL.arity(true) == 2);

fn kill(_: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    Err(CommandError::text("NOTBUSY No scripts in execution right now."))
}

const SCRIPT_HELP: Spec =
    Spec { group: Group::Scripting, since: "5.0.0", run: |cx, _| help::answer(cx, SCRIPT_HELP_LINES), ..help::HELP };

const SCRIPT_HELP_LINES: &[&str] = &[
    "EXISTS <sha1> [<sha1> ...]",
    "    Tell of each digest whether there is a script with it.",
    "FLUSH [ASYNC|SYNC]",
    "    Forget all scripts.",
    "KILL",
    "    End the script that runs.",
];

const FUNCTION: Spec = Spec {
    name: "function",
    group: Group::Scripting,
    since: "7.0.0",
    summary: "Holds the commands about functions.",
    subcommands: &[FUNCTION_DELETE, FUNCTION_FLUSH, FUNCTION_HELP, FUNCTION_KILL, FUNCTION_LIST, FUNCTION_STATS],
    ..Spec::CONTAINER
};
const _: () = assert!(FUNCTION.arity(false) == -2);

const OF_FUNCTION: Spec = Spec { group: Group::Scripting, since: "7.0.0", flags: Flags::NOSCRIPT, ..Spec::BASE };

const FUNCTION_DELETE: Spec = Spec {
    name: "delete",
    summary: "Removes a library; there is none.",
    flags: Flags::WRITE.and(Flags::NOSCRIPT),
    tips: &["request_policy:all_shards", "response_policy:all_succeeded"],
    syntax: &[Arg::string("library-name")],
    run: function_delete,
    ..OF_FUNCTION
};
const _: () = assert!(FUNCTION_DELETE.arity(true) == 3);

fn function_delete(_: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    Err(CommandError::text("ERR Library not found"))
}

const FUNCTION_FLUSH: Spec = Spec {
    name: "flush",
    complexity: "O(N) where N is the number of functions deleted",
    summary: "Removes all libraries.",
    flags: Flags::WRITE.and(Flags::NOSCRIPT),
    tips: &["request_policy:all_shards", "response_policy:all_succeeded"],
    syntax: &[Arg::one_of("async", ASYNC_OR_SYNC).optional()],
    run: function_flush,
    ..OF_FUNCTION
};
const _: () = assert!(FUNCTION_FLUSH.arity(true) == -2);

fn function_flush(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    if args.len() > 1 {
        return Err(help::unknown_or_wrong(cx, args));
    }
    flush(cx, args, "ERR FUNCTION FLUSH only supports SYNC|ASYNC option")
}

const FUNCTION_LIST: Spec = Spec {
    name: "list",
    complexity: "O(N) where N is the number of functions",
    summary: "Tells the libraries: none.",
    tips: &["nondeterministic_output_order"],
    syntax: &[
        Arg::string("library-name-pattern").with_token("LIBRARYNAME").optional(),
        Arg::token("withcode", "WITHCODE").optional(),
    ],
    run: function_list,
    ..OF_FUNCTION
};
const _: () = assert!(FUNCTION_LIST.arity(true) == -2);

fn function_list(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let (mut named, mut with_code) = (false, false);
    while let Some(word) = args.next() {
        match word.to_ascii_uppercase().as_slice() {
            b"WITHCODE" if !with_code => with_code = true,
            b"LIBRARYNAME" if !named => {
                named = true;
                args.next().ok_or(CommandError::text("ERR library name argument was not given"))?;
            }
            _ => return Err(CommandError::Echo([b"ERR Unknown argument ", c_string(word)].concat())),
        }
    }
    cx.reply.array(0);
    Ok(())
}

const FUNCTION_STATS: Spec = Spec {
    name: "stats",
    summary: "Tells that no function runs, and that there is none.",
    flags: Flags::NOSCRIPT.and(Flags::ALLOW_BUSY),
    tips: &["nondeterministic_output", "request_policy:all_shards", "response_policy:special"],
    run: function_stats,
    ..OF_FUNCTION
};
const _: () = assert!(FUNCTION_STATS.arity(true) == 2);

fn function_stats(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    cx.reply.map(2);
    cx.reply.bulk("running_script");
    cx.reply.null();
    cx.reply.bulk("engines");
    cx.reply.map(1);
    cx.reply.bulk("LUA");
    cx.reply.map(2);
    for name in ["libraries_count", "functions_count"] {
        cx.reply.bulk(name);
        cx.reply.int(0);
    }
    Ok(())
}

const FUNCTION_KILL: Spec = Spec { since: "7.0.0", summary: "Would end the function that runs; none ever does.", ..SCRIPT_KILL };
const _: () = assert!(FUNCTION_KILL.arity(true) == 2);

const FUNCTION_HELP: Spec =
    Spec { group: Group::Scripting, since: "7.0.0", run: |cx, _| help::answer(cx, FUNCTION_HELP_LINES), ..help::HELP };

const FUNCTION_HELP_LINES: &[&str] = &[
    "DELETE <LIBRARY NAME>",
    "    Remove a library.",
    "LIST [LIBRARYNAME PATTERN] [WITHCODE]",
    "    Tell the libraries.",
    "STATS",
    "    Tell which function runs, and how many there are.",
    "KILL",
    "    End the function that runs.",
    "FLUSH [ASYNC|SYNC]",
    "    Remove all libraries.",
];
