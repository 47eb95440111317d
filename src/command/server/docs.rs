//! The entries of `COMMAND DOCS`, from which `redis-cli` makes its hints and `help`.

use super::super::{Arg, ArgKind, Command, Flags};
use crate::resp::Reply;

/// Answers with a command's name and what there is to say about it.
pub(super) fn document(reply: &mut Reply<'_>, command: &Command) {
    let spec = command.spec;
    let internal = spec.has(Flags::INTERNAL);
    let flagged = internal || spec.deprecated.is_some();
    reply.bulk(command.full_name);
    let optional = [!spec.syntax.is_empty(), !command.subcommands.is_empty(), flagged];
    let deprecation = if spec.deprecated.is_some() { 2 } else { 0 };
    // Redis gives no complexity for some.
    let has_complexity = !spec.complexity.is_empty();
    reply.map(3 + usize::from(has_complexity) + optional.into_iter().filter(|&there| there).count() + deprecation);
    for (name, value) in [("summary", spec.summary), ("since", spec.since), ("group", spec.group.name())] {
        reply.bulk(name);
        reply.bulk(value);
    }
    if has_complexity {
        reply.bulk("complexity");
        reply.bulk(spec.complexity);
    }
    if flagged {
        reply.bulk("doc_flags");
        reply.set(usize::from(spec.deprecated.is_some()) + usize::from(internal));
        if spec.deprecated.is_some() {
            reply.simple("deprecated");
        }
        if internal {
            reply.simple("syscmd");
        }
    }
    if let Some(deprecated) = spec.deprecated {
        reply.bulk("deprecated_since");
        reply.bulk(deprecated.since);
        reply.bulk("replaced_by");
        reply.bulk(deprecated.replaced_by);
    }
    if !spec.syntax.is_empty() {
        reply.bulk("arguments");
        arguments(reply, spec.syntax, &mut KeyCount::new(command));
    }
    if !command.subcommands.is_empty() {
        reply.bulk("subcommands");
        reply.map(command.subcommands.len());
        for subcommand in &command.subcommands {
            document(reply, subcommand);
        }
    }
}

/// Tells, for one key of a syntax after another, to which of the command's key specifications it belongs.
struct KeyCount<'a> {
    command: &'a Command,
    spec: usize,
    /// Keys of that specification that have been met.
    met: i32,
}

impl<'a> KeyCount<'a> {
    fn new(command: &'a Command) -> Self {
        Self { command, spec: 0, met: 0 }
    }

    fn next(&mut self) -> usize {
        let spec = self.spec;
        self.met += 1;
        let last = self.command.key_specs.get(spec).map_or(-1, |run| run.last);
        if last < 0 || self.met > last {
            (self.spec, self.met) = (spec + 1, 0);
        }
        spec
    }
}

fn arguments(reply: &mut Reply<'_>, args: &[Arg], keys: &mut KeyCount<'_>) {
    reply.array(args.len());
    for arg in args {
        argument(reply, arg, keys);
    }
}

fn argument(reply: &mut Reply<'_>, arg: &Arg, keys: &mut KeyCount<'_>) {
    const FLAGS: [(&str, u8); 3] =
        [("optional", Arg::OPTIONAL), ("multiple", Arg::MULTIPLE), ("multiple_token", Arg::MULTIPLE_TOKEN)];
    let is_key = arg.kind == ArgKind::Key;
    let is_group = matches!(arg.kind, ArgKind::OneOf | ArgKind::Block);
    let optional =
        [is_key, !is_group, arg.token.is_some(), arg.since.is_some(), arg.deprecated_since.is_some(), arg.flags != 0, is_group];
    reply.map(2 + optional.into_iter().filter(|&there| there).count());
    reply.bulk("name");
    reply.bulk(arg.name);
    reply.bulk("type");
    reply.bulk(arg.kind.name());
    if !is_group {
        reply.bulk("display_text");
        reply.bulk(arg.name);
    }
    if is_key {
        reply.bulk("key_spec_index");
        reply.len(keys.next());
    }
    if let Some(token) = arg.token {
        reply.bulk("token");
        reply.bulk(token);
    }
    if let Some(since) = arg.since {
        reply.bulk("since");
        reply.bulk(since);
    }
    if let Some(since) = arg.deprecated_since {
        reply.bulk("deprecated_since");
        reply.bulk(since);
    }
    if arg.flags != 0 {
        reply.bulk("flags");
        reply.set(arg.flags.count_ones() as usize);
        for (name, _) in FLAGS.into_iter().filter(|(_, flag)| arg.flags & flag != 0) {
            reply.simple(name);
        }
    }
    if is_group {
        reply.bulk("arguments");
        arguments(reply, arg.args, keys);
    }
}
