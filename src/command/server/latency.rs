//! `LATENCY`: the commands that took longer than `latency-monitor-threshold`, and how the durations of all are distributed.

use std::fmt::Write as _;
use std::iter;
use std::sync::atomic::Ordering;

use super::super::{Arg, Args, Command, CommandError, Context, Flags, Group, Outcome, Spec, help, table};
use super::command::find;
use crate::latency::Event;

pub(super) const LATENCY: Spec = Spec {
    name: "latency",
    group: Group::Server,
    since: "2.8.13",
    summary: "Holds the commands about slow moments.",
    subcommands: &[LATENCY_DOCTOR, LATENCY_HISTOGRAM, LATENCY_RESET, LATENCY_HELP, LATENCY_HISTORY, LATENCY_LATEST, LATENCY_GRAPH],
    ..Spec::CONTAINER
};
const _: () = assert!(LATENCY.arity(false) == -2);

const SUBCOMMAND: Spec = Spec {
    group: Group::Server,
    since: "2.8.13",
    flags: Flags::ADMIN.and(Flags::NOSCRIPT).and(Flags::LOADING).and(Flags::STALE),
    tips: &["nondeterministic_output", "request_policy:all_nodes", "response_policy:special"],
    ..Spec::BASE
};

const LATENCY_LATEST: Spec =
    Spec { name: "latest", summary: "Tells of each event its latest sample and its longest.", run: latency_latest, ..SUBCOMMAND };
const _: () = assert!(LATENCY_LATEST.arity(true) == 2);

fn latency_latest(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    let events = cx.shared.latency.all();
    cx.reply.array(events.len());
    for (name, event) in events {
        let (at, millis) = event.samples.back().copied().unwrap_or_default();
        cx.reply.array(4);
        cx.reply.bulk(name);
        cx.reply.natural(at);
        cx.reply.natural(millis);
        cx.reply.natural(event.max_millis);
    }
    Ok(())
}

const LATENCY_HISTORY: Spec = Spec {
    name: "history",
    summary: "Tells the samples of an event: Unix time and milliseconds.",
    syntax: &[Arg::string("event")],
    run: latency_history,
    ..SUBCOMMAND
};
const _: () = assert!(LATENCY_HISTORY.arity(true) == 3);

fn latency_history(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let event = cx.shared.latency.get(args.bytes()?).unwrap_or_default();
    cx.reply.array(event.samples.len());
    for (at, millis) in event.samples {
        cx.reply.array(2);
        cx.reply.natural(at);
        cx.reply.natural(millis);
    }
    Ok(())
}

const LATENCY_RESET: Spec = Spec {
    name: "reset",
    summary: "Forgets the events named, or all.",
    tips: &["request_policy:all_nodes", "response_policy:all_succeeded"],
    syntax: &[Arg::string("event").optional().multiple()],
    run: latency_reset,
    ..SUBCOMMAND
};
const _: () = assert!(LATENCY_RESET.arity(true) == -2);

fn latency_reset(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let names: Vec<_> = args.rest().collect();
    let count = cx.shared.latency.reset(|event| names.is_empty() || names.contains(&event.as_bytes()));
    cx.reply.len(count);
    Ok(())
}

const LATENCY_GRAPH: Spec = Spec {
    name: "graph",
    summary: "Draws the samples of an event.",
    syntax: &[Arg::string("event")],
    run: latency_graph,
    ..SUBCOMMAND
};
const _: () = assert!(LATENCY_GRAPH.arity(true) == 3);

fn latency_graph(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let name = args.bytes()?;
    match cx.shared.latency.get(name) {
        Some(event) => {
            cx.reply.verbatim(graph(&String::from_utf8_lossy(name), &event));
            Ok(())
        }
        None => Err(CommandError::quoting("ERR No samples available for event '", name, "'")),
    }
}

/// A column for each sample, the newest on the right.
fn graph(name: &str, event: &Event) -> String {
    const ROWS: u64 = 4;
    let durations = || event.samples.iter().map(|&(_, millis)| millis);
    let (high, low) = (durations().max().unwrap_or(0), durations().min().unwrap_or(0));
    let mut out = format!("{name} - high {high} ms, low {low} ms (all time high {} ms)\n", event.max_millis);
    for row in (0..ROWS).rev() {
        for millis in durations() {
            let height = (millis - low) * ROWS / (high - low + 1);
            out.push(if height >= row { '#' } else { ' ' });
        }
        out.push('\n');
    }
    out
}

const LATENCY_DOCTOR: Spec = Spec { name: "doctor", summary: "Says in words what was slow.", run: latency_doctor, ..SUBCOMMAND };
const _: () = assert!(LATENCY_DOCTOR.arity(true) == 2);

fn latency_doctor(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    let threshold = cx.shared.settings.latency_millis.load(Ordering::Relaxed);
    let events = cx.shared.latency.all();
    let mut out = String::new();
    if events.is_empty() {
        out.push_str(if threshold == 0 {
            "The latency monitor is off. CONFIG SET latency-monitor-threshold <milliseconds> turns it on.\n"
        } else {
            "Nothing has been slow so far.\n"
        });
    }
    for (name, event) in events {
        let count = event.samples.len() as u64;
        let mean = event.samples.iter().map(|(_, millis)| millis).sum::<u64>() / count.max(1);
        let longest = event.max_millis;
        let _infallible = writeln!(out, "{name}: {count} slow seconds kept, {mean} ms in the mean, {longest} ms at most.");
    }
    cx.reply.verbatim(out);
    Ok(())
}

const LATENCY_HISTOGRAM: Spec = Spec {
    name: "histogram",
    since: "7.0.0",
    complexity: "O(N) where N is the number of commands with latency information being retrieved.",
    summary: "Tells how the durations of the commands named, or of all, are distributed.",
    syntax: &[Arg::string("command").optional().multiple()],
    run: latency_histogram,
    ..SUBCOMMAND
};
const _: () = assert!(LATENCY_HISTOGRAM.arity(true) == -2);

fn latency_histogram(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let commands: Vec<&Command> = if args.is_empty() {
        table().all().collect()
    } else {
        // One that holds others stands for those, and one that is named twice is told twice.
        let named = args.rest().filter_map(find);
        named.flat_map(|command| iter::once(command).chain(&command.subcommands)).collect()
    };
    let durations = |command: &Command| cx.shared.stats.durations(command.id);
    let told: Vec<_> = commands.into_iter().filter_map(|command| Some((command, durations(command)?))).collect();
    cx.reply.map(told.len());
    for (command, durations) in told {
        let doublings = durations.doublings();
        cx.reply.bulk(command.full_name);
        cx.reply.map(2);
        cx.reply.bulk("calls");
        cx.reply.natural(durations.count());
        cx.reply.bulk("histogram_usec");
        cx.reply.map(doublings.len());
        for (micros, calls) in doublings {
            cx.reply.natural(micros);
            cx.reply.natural(calls);
        }
    }
    Ok(())
}

const LATENCY_HELP: Spec =
    Spec { group: Group::Server, since: "2.8.13", run: |cx, _| help::answer(cx, LATENCY_HELP_LINES), ..help::HELP };

const LATENCY_HELP_LINES: &[&str] = &[
    "DOCTOR",
    "    Say in words what was slow.",
    "GRAPH <event>",
    "    Draw the samples of <event>.",
    "HISTORY <event>",
    "    Tell the samples of <event>.",
    "LATEST",
    "    Tell the latest sample of every event.",
    "RESET [<event> ...]",
    "    Forget the events named, or all.",
    "HISTOGRAM [COMMAND ...]",
    "    Tell of the commands named, or of all, how many calls took up to 1, 2, 4 ... microseconds.",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_has_a_column_for_each_sample() {
        let event = Event { samples: [(1, 10), (2, 50), (3, 30)].into(), max_millis: 70 };
        let drawn = graph("command", &event);
        assert_eq!(drawn, "command - high 50 ms, low 10 ms (all time high 70 ms)\n # \n # \n ##\n###\n");
    }
}
