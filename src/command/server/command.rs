//! `COMMAND`: the command table, as clients ask for it. All answers are derived from the table that dispatches.

use super::super::keys::{self, KeySpec};
use super::super::{Arg, Args, Command, CommandError, Context, Flags, Group, KeyFlags, Outcome, Spec, help, table};
use super::docs;
use crate::glob::{self, Case};
use crate::resp::Argv;

pub(super) const COMMAND: Spec = Spec {
    name: "command",
    complexity: "O(N) where N is the total number of Redis commands",
    summary: "Describes all commands to clients.",
    flags: SUBCOMMAND.flags.and(Flags::BARE),
    tips: &["nondeterministic_output_order"],
    subcommands: &[COMMAND_HELP, COMMAND_DOCS, COMMAND_LIST, COMMAND_COUNT, COMMAND_GETKEYSANDFLAGS, COMMAND_INFO, COMMAND_GETKEYS],
    run: command,
    ..SUBCOMMAND
};
const _: () = assert!(COMMAND.arity(false) == -1);

const SUBCOMMAND: Spec =
    Spec { group: Group::Server, since: "2.8.13", flags: Flags::LOADING.and(Flags::STALE).and(Flags::CONNECTION), ..Spec::BASE };

fn command(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    let commands = table().commands();
    cx.reply.array(commands.len());
    commands.iter().for_each(|command| describe(cx, command));
    Ok(())
}

/// The command of a name such as `get` or `config|get`, in any case of letters.
pub(super) fn find(name: &[u8]) -> Option<&'static Command> {
    let mut words = name.splitn(2, |&byte| byte == b'|');
    let command = table().lookup(words.next()?)?;
    match words.next() {
        Some(subcommand) => command.subcommand(subcommand),
        None => Some(command),
    }
}

fn describe(cx: &mut Context<'_>, command: &Command) {
    let spec = command.spec;
    let reply = &mut cx.reply;
    reply.array(10);
    reply.bulk(command.full_name);
    reply.int(i64::from(command.arity));
    let flags: Vec<_> = Flags::SHOWN.iter().filter(|(_, flag)| spec.has(*flag)).map(|(name, _)| *name).collect();
    reply.set(flags.len());
    flags.into_iter().for_each(|flag| reply.simple(flag));
    let (first, last, step) = range(&command.key_specs);
    [first, last, step].into_iter().for_each(|number| reply.int(number));
    let categories = keys::categories(spec);
    reply.set(categories.len());
    categories.into_iter().for_each(|category| reply.simple(&format!("@{category}")));
    reply.set(spec.tips.len());
    spec.tips.iter().for_each(|tip| reply.bulk(tip));
    reply.set(command.key_specs.len());
    for run in &command.key_specs {
        describe_keys(cx, run, spec.key_notes);
    }
    // Redis says that there are none as a set, and lists them as an array.
    if command.subcommands.is_empty() {
        cx.reply.set(0);
    } else {
        cx.reply.array(command.subcommands.len());
    }
    for subcommand in &command.subcommands {
        describe(cx, subcommand);
    }
}

/// The keys as one range: what `COMMAND` said before it knew of key specifications. Keys that are counted by an argument make none.
fn range(specs: &[KeySpec]) -> (i64, i64, i64) {
    let mut ranges = specs.iter().filter(|run| run.count_at.is_none());
    let (Some(first), Some(last)) = (ranges.clone().next(), ranges.next_back()) else {
        return (0, 0, 0);
    };
    let end = if last.last < 0 { -1 } else { signed(last.first) + i64::from(last.last) };
    (signed(first.first), end, signed(first.step))
}

fn describe_keys(cx: &mut Context<'_>, run: &KeySpec, notes: Option<&str>) {
    let reply = &mut cx.reply;
    reply.map(3 + usize::from(notes.is_some()));
    if let Some(notes) = notes {
        reply.bulk("notes");
        reply.bulk(notes);
    }
    reply.bulk("flags");
    reply.set(run.flags.0.len());
    run.flags.0.iter().for_each(|flag| reply.simple(flag));
    reply.bulk("begin_search");
    reply.map(2);
    reply.bulk("type");
    reply.bulk("index");
    reply.bulk("spec");
    reply.map(1);
    reply.bulk("index");
    reply.len(run.count_at.unwrap_or(run.first));
    reply.bulk("find_keys");
    reply.map(2);
    reply.bulk("type");
    reply.bulk(if run.count_at.is_some() { "keynum" } else { "range" });
    reply.bulk("spec");
    reply.map(3);
    let (names, numbers) = match run.count_at {
        // Both places are counted from where the search begins.
        Some(at) => (["keynumidx", "firstkey", "keystep"], [0, signed(run.first - at), signed(run.step)]),
        None => (["lastkey", "keystep", "limit"], [i64::from(run.last), signed(run.step), 0]),
    };
    for (name, number) in names.into_iter().zip(numbers) {
        reply.bulk(name);
        reply.int(number);
    }
}

/// A position or a step. No syntax is so long that it would not fit.
fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

const COMMAND_COUNT: Spec = Spec { name: "count", summary: "Counts the commands.", run: command_count, ..SUBCOMMAND };
const _: () = assert!(COMMAND_COUNT.arity(true) == 2);

fn command_count(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    cx.reply.len(table().commands().len());
    Ok(())
}

const COMMAND_INFO: Spec = Spec {
    name: "info",
    complexity: "O(N) where N is the number of commands to look up",
    summary: "Describes the commands named, or all: arity, flags, keys and categories.",
    tips: &["nondeterministic_output_order"],
    syntax: &[Arg::string("command-name").optional().multiple()],
    run: command_info,
    ..SUBCOMMAND
};
const _: () = assert!(COMMAND_INFO.arity(true) == -2);

fn command_info(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    if args.is_empty() {
        return command(cx, args);
    }
    cx.reply.array(args.len());
    for name in args.rest() {
        match find(name) {
            Some(command) => describe(cx, command),
            None => cx.reply.null(),
        }
    }
    Ok(())
}

const COMMAND_DOCS: Spec = Spec {
    name: "docs",
    since: "7.0.0",
    summary: "Documents the commands named, or all: what they do and their arguments.",
    run: command_docs,
    ..COMMAND_INFO
};
const _: () = assert!(COMMAND_DOCS.arity(true) == -2);

fn command_docs(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let chosen: Vec<&Command> =
        if args.is_empty() { table().commands().iter().collect() } else { args.rest().filter_map(find).collect() };
    cx.reply.map(chosen.len());
    chosen.into_iter().for_each(|command| docs::document(&mut cx.reply, command));
    Ok(())
}

const COMMAND_LIST: Spec = Spec {
    name: "list",
    since: "7.0.0",
    complexity: "O(N) where N is the total number of Redis commands",
    summary: "Names all commands, or those of a category or matching a pattern.",
    tips: &["nondeterministic_output_order"],
    syntax: &[Arg::one_of(
        "filterby",
        &[
            Arg::string("module-name").with_token("MODULE"),
            Arg::string("category").with_token("ACLCAT"),
            Arg::pattern("pattern").with_token("PATTERN"),
        ],
    )
    .with_token("FILTERBY")
    .optional()],
    run: command_list,
    ..SUBCOMMAND
};
const _: () = assert!(COMMAND_LIST.arity(true) == -2);

fn command_list(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let names: Vec<&str> = match args.keyword().as_deref() {
        None => table().commands().iter().map(|command| command.full_name).collect(),
        Some(b"FILTERBY") if args.len() == 2 => {
            let by = args.keyword();
            let word = args.bytes()?;
            let chosen: Box<dyn Fn(&Command) -> bool> = match by.as_deref() {
                Some(b"MODULE") => Box::new(|_| false),
                Some(b"ACLCAT") => Box::new(|command| {
                    keys::categories(command.spec).iter().any(|category| category.as_bytes().eq_ignore_ascii_case(word))
                }),
                Some(b"PATTERN") => Box::new(|command| glob::matches(word, command.full_name.as_bytes(), Case::Insensitive)),
                _ => return Err(CommandError::Syntax),
            };
            table().all().filter(|command| chosen(command)).map(|command| command.full_name).collect()
        }
        Some(_) => return Err(CommandError::Syntax),
    };
    cx.reply.array(names.len());
    names.into_iter().for_each(|name| cx.reply.bulk(name));
    Ok(())
}

const COMMAND_GETKEYS: Spec = Spec {
    name: "getkeys",
    complexity: "O(N) where N is the number of arguments to the command",
    summary: "Finds the keys in a request.",
    syntax: &[Arg::string("command"), Arg::string("arg").multiple()],
    run: command_getkeys,
    ..SUBCOMMAND
};
const _: () = assert!(COMMAND_GETKEYS.arity(true) == -4);

fn command_getkeys(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let request = args.argv().skip(2);
    let found = keys_of(&request)?;
    cx.reply.array(found.len());
    for (position, _) in found {
        cx.reply.bulk(request.get(position).unwrap_or_default());
    }
    Ok(())
}

const COMMAND_GETKEYSANDFLAGS: Spec = Spec {
    name: "getkeysandflags",
    since: "7.0.0",
    summary: "Finds the keys in a request, and what would be done to each.",
    run: command_getkeysandflags,
    ..COMMAND_GETKEYS
};
const _: () = assert!(COMMAND_GETKEYSANDFLAGS.arity(true) == -4);

fn command_getkeysandflags(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let request = args.argv().skip(2);
    let found = keys_of(&request)?;
    cx.reply.array(found.len());
    for (position, flags) in found {
        cx.reply.array(2);
        cx.reply.bulk(request.get(position).unwrap_or_default());
        cx.reply.set(flags.0.len());
        flags.0.iter().for_each(|flag| cx.reply.simple(flag));
    }
    Ok(())
}

fn keys_of(request: &Argv<'_>) -> Result<Vec<(usize, KeyFlags)>, CommandError> {
    const INVALID_COMMAND: CommandError = CommandError::text("ERR Invalid command specified");
    let mut command = request.get(0).and_then(|name| table().lookup(name)).ok_or(INVALID_COMMAND)?;
    if let Some(name) = request.get(1).filter(|_| !command.subcommands.is_empty()) {
        command = command.subcommand(name).ok_or(INVALID_COMMAND)?;
    }
    if !command.key_specs.iter().any(KeySpec::is_of_keys) {
        return Err(CommandError::text("ERR The command has no key arguments"));
    }
    if !command.accepts(request.len()) {
        return Err(CommandError::text("ERR Invalid number of arguments specified for command"));
    }
    keys::find(command.spec, &command.key_specs, request).ok_or(CommandError::text("ERR Invalid arguments specified for command"))
}

const COMMAND_HELP: Spec = Spec {
    group: Group::Server,
    since: "5.0.0",
    flags: SUBCOMMAND.flags,
    run: |cx, _| help::answer(cx, COMMAND_HELP_LINES),
    ..help::HELP
};

const COMMAND_HELP_LINES: &[&str] = &[
    "(no subcommand)",
    "    Describe all commands.",
    "COUNT",
    "    Count the commands.",
    "LIST",
    "    Name the commands, all or those that a filter lets through.",
    "INFO [<command-name> ...]",
    "    Describe the commands named, or all.",
    "DOCS [<command-name> ...]",
    "    Document the commands named, or all.",
    "GETKEYS <full-command>",
    "    Find the keys in a request.",
    "GETKEYSANDFLAGS <full-command>",
    "    Find the keys in a request, and what would be done to each.",
];
