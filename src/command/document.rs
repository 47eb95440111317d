//! `docs/commands.md`, made from the command table, and the test that the file is what the table says.

use std::fmt::Write as _;

use super::{Arg, ArgKind, Command, Flags, Group, Origin, Spec, table};

/// The groups in the order of the document.
const GROUPS: &[Group] = &[
    Group::String,
    Group::Bitmap,
    Group::Generic,
    Group::Connection,
    Group::Server,
    Group::Transactions,
    Group::Pubsub,
    Group::Scripting,
    Group::Cluster,
];

/// What can be run: all but the names that only hold subcommands.
fn commands() -> impl Iterator<Item = &'static Command> {
    table().all().filter(|command| command.subcommands.is_empty() || command.spec.has(Flags::BARE))
}

/// What a client types: the name and its arguments, with what may be left out in brackets.
fn usage(command: &Command) -> String {
    let mut out = command.full_name.to_ascii_uppercase().replace('|', " ");
    for arg in command.spec.syntax {
        out.push(' ');
        out.push_str(&written(arg));
    }
    out
}

fn written(arg: &Arg) -> String {
    let within = |between: &str| arg.args.iter().map(written).collect::<Vec<_>>().join(between);
    let mut out = match arg.kind {
        ArgKind::PureToken => String::new(),
        // What may be left out has brackets of its own.
        ArgKind::OneOf if arg.flags == Arg::OPTIONAL && arg.token.is_none() => within(" | "),
        ArgKind::OneOf => format!("<{}>", within(" | ")),
        ArgKind::Block => within(" "),
        _ => arg.name.to_owned(),
    };
    let repeated = out.clone();
    if let Some(token) = arg.token {
        out = if out.is_empty() { token.to_owned() } else { format!("{token} {out}") };
    }
    if arg.flags & Arg::MULTIPLE != 0 {
        let again = if arg.flags & Arg::MULTIPLE_TOKEN != 0 { out.clone() } else { repeated };
        // An alternative is too long to be said twice.
        let again = if arg.kind == ArgKind::OneOf { " ...".to_owned() } else { format!(" [{again} ...]") };
        out.push_str(&again);
    }
    if arg.flags & Arg::OPTIONAL != 0 { format!("[{out}]") } else { out }
}

/// A text in a cell of a table, where a bar would end it.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The version that brought a command, and the server if it was not Redis.
fn since(spec: &Spec) -> String {
    match spec.origin {
        Origin::Redis => spec.since.to_owned(),
        Origin::Valkey => format!("Valkey {}", spec.since),
    }
}

fn document() -> String {
    let mut out = String::from(
        "# Commands\n\n\
         Each stands with the version of Redis that brought it, or of Valkey where that is said, and what it costs.\n\
         `redis-cli` shows the same as hints and with `help`.\n\
         `[...]` may be left out, `a | b` is one or the other, and `...` is more of the same.\n",
    );
    for group in GROUPS {
        let of_group: Vec<_> = commands().filter(|command| command.spec.group == *group).collect();
        if of_group.is_empty() {
            continue;
        }
        let name = group.name();
        let title = name[..1].to_ascii_uppercase() + &name[1..];
        write!(out, "\n## {title}\n\n| command | since | complexity | what it does |\n| --- | --- | --- | --- |\n")
            .expect("a String takes everything");
        for command in of_group {
            let spec = command.spec;
            let usage = cell(&usage(command));
            let instead =
                spec.deprecated.map(|deprecated| format!(" Since {} better: {}.", deprecated.since, deprecated.replaced_by));
            let summary = cell(&format!("{}{}", spec.summary, instead.unwrap_or_default()));
            writeln!(out, "| `{usage}` | {} | {} | {summary} |", since(spec), cell(spec.complexity))
                .expect("a String takes everything");
        }
    }
    out
}

#[test]
fn the_file_says_what_the_table_says() {
    crate::document::check("commands.md", &document());
}

#[test]
fn every_command_stands_in_one_group() {
    let document = document();
    for command in commands() {
        let begin = format!("\n| `{}", cell(&usage(command)));
        assert_eq!(document.matches(&(begin + "` |")).count(), 1, "{}", command.full_name);
    }
}
