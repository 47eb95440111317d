//! Where a command's keys stand, and to which access categories it belongs: derived from its Spec.

use super::Argv;
use super::spec::{Flags, Spec};
use super::syntax::{Arg, ArgKind, KeyFlags};
use crate::number::parse_i64;

/// A run of keys in a request, as `COMMAND INFO` describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySpec {
    /// What the command does to them.
    pub flags: KeyFlags,
    /// The position of the first one.
    pub first: usize,
    /// The position of the argument that says how many there are; `None` when `last` tells.
    pub count_at: Option<usize>,
    /// The last one: counted from the first, or from the end of the request when negative.
    pub last: i32,
    /// From one to the next.
    pub step: usize,
}

impl KeySpec {
    /// Whether they are keys and not channels.
    pub fn is_of_keys(&self) -> bool {
        self.flags != KeyFlags::CHANNEL
    }

    /// The positions of its keys in a request; `None` when the first one is missing, or the last one of so many.
    fn positions(&self, argv: &Argv<'_>) -> Option<impl Iterator<Item = usize>> {
        let argc = argv.len();
        let last = match (self.count_at, usize::try_from(self.last)) {
            (Some(at), _) => {
                let behind_first = usize::try_from(parse_i64(argv.get(at)?)?).ok()?.checked_sub(1)?;
                behind_first.checked_mul(self.step)?.checked_add(self.first)?
            }
            (None, Ok(last)) => self.first + last,
            (None, Err(_)) => argc.checked_sub(1)?,
        };
        (self.first <= last && last < argc).then(|| (self.first..=last).step_by(self.step))
    }
}

/// The runs of keys in a syntax whose first argument stands at `position`.
pub(super) fn key_specs(syntax: &[Arg], mut position: usize) -> Vec<KeySpec> {
    let mut specs: Vec<KeySpec> = Vec::new();
    let mut count_at = None;
    for arg in syntax {
        // Behind what may be left out or repeated, no position is certain.
        if arg.flags & Arg::OPTIONAL != 0 && arg.kind != ArgKind::Channel {
            break;
        }
        position += usize::from(arg.token.is_some());
        let repeated = arg.flags & Arg::MULTIPLE != 0;
        let last = if repeated { -1 } else { 0 };
        match arg.kind {
            ArgKind::Key | ArgKind::Channel => {
                match specs.last_mut() {
                    Some(run) if !repeated && run.flags == arg.key && run.last >= 0 => run.last += 1,
                    _ => specs.push(KeySpec { flags: arg.key, first: position, count_at, last, step: 1 }),
                }
                position += 1;
            }
            ArgKind::Block => {
                let step = if repeated { arg.args.len() } else { 1 };
                specs.extend(key_specs(arg.args, position).into_iter().map(|run| KeySpec { count_at, last, step, ..run }));
                position += arg.args.len();
            }
            ArgKind::KeyCount => {
                count_at = Some(position);
                position += 1;
            }
            ArgKind::OneOf if arg.args.iter().any(|choice| !matches!(choice.kind, ArgKind::PureToken)) => break,
            _ => position += 1,
        }
        if repeated {
            break;
        }
    }
    specs
}

/// The keys of a request: their positions and what is done to them. `None` when the request is too short to have them.
pub(super) fn find(spec: &Spec, specs: &[KeySpec], argv: &Argv<'_>) -> Option<Vec<(usize, KeyFlags)>> {
    let mut found = Vec::new();
    for run in specs.iter().filter(|run| run.is_of_keys()) {
        let flags = spec.key_flags.map_or(run.flags, |decide| decide(argv));
        found.extend(run.positions(argv)?.map(|position| (position, flags)));
    }
    Some(found)
}

/// The access categories in Redis's order.
const CATEGORIES: &[&str] = &[
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
];

/// The access categories to which a command belongs, without the `@`.
pub(super) fn categories(spec: &Spec) -> Vec<&'static str> {
    let has = |flags| spec.has(flags);
    let connection = has(Flags::CONNECTION);
    // What holds subcommands is in none by its group, since it is never run itself.
    let of_group = if connection || !spec.subcommands.is_empty() { None } else { spec.group.category() };
    let belongs = |category: &str| match category {
        "keyspace" if has(Flags::KEYSPACE) => true,
        "connection" if connection => true,
        "read" => has(Flags::READONLY),
        "write" => has(Flags::WRITE),
        "pubsub" => has(Flags::PUBSUB),
        "admin" => has(Flags::ADMIN) || has(Flags::STEERING),
        "dangerous" => has(Flags::ADMIN) || has(Flags::STEERING) || has(Flags::DANGEROUS),
        "fast" => has(Flags::FAST),
        "slow" => !has(Flags::FAST),
        "blocking" => has(Flags::BLOCKING),
        _ => of_group == Some(category),
    };
    CATEGORIES.iter().copied().filter(|category| belongs(category)).collect()
}
