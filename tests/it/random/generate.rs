//! Requests from the command table: every command of the table is asked for, with the options of its syntax in any order, and some
//! requests are then spoilt. What is left out stands in `LEFT_OUT` with its reason.

use redlet::internals::{ArgKind, Flags, Group, Spec, SyntaxArg, table};

use super::dice::Dice;
use super::values::{self, Sort};
use crate::oracle;

/// Commands, or containers with all their subcommands, that are not asked for.
pub(super) const LEFT_OUT: &[(&str, &str)] = &[
    ("time", "answers with the time"),
    ("lastsave", "answers with the time"),
    ("info", "tells of the process"),
    ("memory", "tells of the process"),
    ("slowlog", "tells how long commands took"),
    ("latency", "tells how long commands took"),
    ("lolwut", "names the version"),
    ("hello", "names the version and a client's id"),
    ("client|id", "names a client's id"),
    ("client|info", "names a client's id and age"),
    ("client|list", "names clients' ids and ages"),
    ("client|kill", "may end the connection"),
    ("client|pause", "waits"),
    ("client|tracking", "names clients by their ids, and sends what was not asked for"),
    ("client|reply", "leaves requests without a reply"),
    ("wait", "waits"),
    ("subscribe", "is answered for each name, and changes what may be asked"),
    ("psubscribe", "is answered for each name, and changes what may be asked"),
    ("ssubscribe", "is answered for each name, and changes what may be asked"),
    ("unsubscribe", "is answered for each name"),
    ("punsubscribe", "is answered for each name"),
    ("sunsubscribe", "is answered for each name"),
    ("quit", "ends the connection"),
    ("shutdown", "ends the server"),
    ("monitor", "is answered again and again"),
    ("config", "the servers have other parameters, and what is set outlives a sequence"),
    ("command", "the servers have other commands; GETKEYS is asked for on its own"),
    ("debug", "tells of the process; DIGEST and DIGEST-VALUE are asked for on their own"),
];

/// Keys that several connections meet at.
const FEW_KEYS: &[&[u8]] = &[b"a", b"b", b"user:{1}"];

/// A command and how often it is asked for.
struct Entry {
    /// Its name, and for a subcommand its container's before it.
    name: Vec<&'static str>,
    spec: &'static Spec,
    weight: usize,
}

/// All that can be asked for.
pub(super) struct Catalogue {
    entries: Vec<Entry>,
    weight: usize,
    /// Every word that is an option of some command.
    tokens: Vec<&'static str>,
}

impl Catalogue {
    pub(super) fn new() -> Catalogue {
        let mut entries = Vec::new();
        let mut tokens = Vec::new();
        for command in table().all().filter(|command| !is_left_out(command.full_name) && oracle::knows_command(command.spec)) {
            let weight = match (command.spec.group, command.spec.name) {
                (_, "flushall" | "flushdb" | "reset") => 2,
                (_, "set") => 150,
                (_, "multi" | "exec") => 60,
                (_, "watch") => 30,
                (_, "select" | "swapdb") => 20,
                (Group::String | Group::Bitmap | Group::Generic, _) if command.spec.has(Flags::WRITE) => 40,
                (Group::String | Group::Bitmap | Group::Generic, _) => 30,
                (Group::Connection | Group::Server, _) => 4,
                _ => 1,
            };
            gather_tokens(command.spec.syntax, &mut tokens);
            entries.push(Entry { name: command.full_name.split('|').collect(), spec: command.spec, weight });
        }
        tokens.sort_unstable();
        tokens.dedup();
        let weight = entries.iter().map(|entry| entry.weight).sum();
        Catalogue { entries, weight, tokens }
    }

    /// One request.
    pub(super) fn request(&self, dice: &mut Dice) -> Vec<Vec<u8>> {
        let mut request = match dice.below(40) {
            0 => self.special(dice),
            _ => self.ordinary(dice),
        };
        if dice.chance(15) {
            let mut spoilt = request.clone();
            self.spoil(&mut spoilt, dice);
            if is_fair(&spoilt) {
                request = spoilt;
            }
        }
        values::tame(&mut request);
        request
    }

    /// One request of a connection among others, perhaps one of those that make up a transaction.
    pub(super) fn meeting(&self, dice: &mut Dice) -> Vec<Vec<u8>> {
        let name = match dice.below(100) {
            0..15 => "MULTI",
            15..35 => "EXEC",
            35..38 => "DISCARD",
            38..40 => "UNWATCH",
            40..50 => return Self::watch(dice),
            _ => return self.on_few_keys(dice),
        };
        vec![name.as_bytes().to_vec()]
    }

    /// A WATCH of a few keys.
    pub(super) fn watch(dice: &mut Dice) -> Vec<Vec<u8>> {
        let keys = (0..1 + dice.below(2)).map(|_| dice.pick(FEW_KEYS).to_vec());
        std::iter::once(b"WATCH".to_vec()).chain(keys).collect()
    }

    /// One request, mostly about keys that others are about as well.
    pub(super) fn on_few_keys(&self, dice: &mut Dice) -> Vec<Vec<u8>> {
        let mut request = self.request(dice);
        for word in request.iter_mut().filter(|word| values::KEYS.contains(&word.as_slice())) {
            if dice.chance(80) {
                *word = dice.pick(FEW_KEYS).to_vec();
            }
        }
        request
    }

    /// Something to begin with: a few keys that are there.
    pub(super) fn first(dice: &mut Dice) -> Vec<Vec<u8>> {
        let pairs = 1 + dice.below(4);
        let words = (0..pairs).flat_map(|_| [values::word(Sort::Key, dice), values::word(Sort::Value, dice)]);
        std::iter::once(b"MSET".to_vec()).chain(words.collect::<Vec<_>>()).collect()
    }

    fn ordinary(&self, dice: &mut Dice) -> Vec<Vec<u8>> {
        let mut at = dice.below(self.weight);
        let entry = self.entries.iter().find(|entry| match at.checked_sub(entry.weight) {
            Some(rest) => {
                at = rest;
                false
            }
            None => true,
        });
        let entry = entry.expect("the weights add up");
        let mut request: Vec<_> = entry.name.iter().map(|word| spelling(word, dice)).collect();
        fill(entry, entry.spec.syntax, &mut request, dice);
        request
    }

    /// What the table does not lead to.
    fn special(&self, dice: &mut Dice) -> Vec<Vec<u8>> {
        let words = |words: &[&str]| words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>();
        match dice.below(5) {
            0 => words(&["DEBUG", "DIGEST"]),
            1 => [words(&["DEBUG", "DIGEST-VALUE"]), (0..dice.below(3)).map(|_| values::word(Sort::Key, dice)).collect()].concat(),
            2 => [words(&["COMMAND", "GETKEYS"]), self.ordinary(dice)].concat(),
            3 => [words(&["COMMAND", "GETKEYSANDFLAGS"]), self.ordinary(dice)].concat(),
            _ => {
                let name = dice.pick(&["nosuch", "getx", "se t", "", "a\0b", "SETX\r\n"]);
                [words(&[name]), (0..dice.below(4)).map(|_| values::word(Sort::Value, dice)).collect()].concat()
            }
        }
    }

    /// Adds, drops, repeats, swaps or replaces a word behind the name.
    fn spoil(&self, request: &mut Vec<Vec<u8>>, dice: &mut Dice) {
        let extra = match dice.below(3) {
            0 => spelling(dice.pick::<&str>(&self.tokens), dice),
            1 => values::word(Sort::Garbage, dice),
            _ => values::word(Sort::Value, dice),
        };
        let place = 1 + dice.below(request.len());
        if place == request.len() {
            request.push(extra);
            return;
        }
        let other = 1 + dice.below(request.len() - 1);
        match dice.below(5) {
            0 => request.insert(place, extra),
            1 => drop(request.remove(place)),
            2 => request.insert(place, request[other].clone()),
            3 => request.swap(place, other),
            _ => request[place] = extra,
        }
    }
}

/// Whether a command is not asked for through the table. HELP is described in words of our own.
pub(super) fn is_left_out(full_name: &str) -> bool {
    full_name.ends_with("|help")
        || LEFT_OUT
            .iter()
            .any(|(name, _)| full_name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('|')))
}

/// Whether a request may be asked for, whatever has been done to its words.
pub(super) fn is_fair(request: &[Vec<u8>]) -> bool {
    let Some(command) = request.first().and_then(|name| table().lookup(name)) else { return true };
    let subcommand = request.get(1).and_then(|name| command.subcommand(name));
    match (command.spec.name, subcommand) {
        ("command", subcommand) => subcommand.is_some_and(|subcommand| subcommand.spec.name.starts_with("getkeys")),
        // No other word that DEBUG knows is ever put behind it.
        ("debug", _) => true,
        (_, subcommand) => !is_left_out(subcommand.unwrap_or(command).full_name),
    }
}

fn gather_tokens(syntax: &'static [SyntaxArg], tokens: &mut Vec<&'static str>) {
    for arg in known(syntax) {
        tokens.extend(arg.token);
        gather_tokens(arg.args, tokens);
    }
}

/// A word that stands for itself, in capital or small letters or both.
fn spelling(word: &str, dice: &mut Dice) -> Vec<u8> {
    match dice.below(4) {
        0 => word.to_ascii_lowercase().into_bytes(),
        1 => word.bytes().map(|byte| if dice.chance(50) { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() }).collect(),
        _ => word.to_ascii_uppercase().into_bytes(),
    }
}

/// Appends arguments as `syntax` allows them. Options next to each other come in any order.
fn fill(entry: &Entry, syntax: &'static [SyntaxArg], request: &mut Vec<Vec<u8>>, dice: &mut Dice) {
    let mut order: Vec<_> = known(syntax).collect();
    for later in 1..order.len() {
        let earlier = dice.below(later + 1);
        if order[earlier..=later].iter().all(|arg| is_optional(arg)) {
            order.swap(earlier, later);
        }
    }
    for arg in order {
        if !is_optional(arg) || dice.chance(45) {
            fill_one(entry, arg, request, dice);
        }
    }
}

/// The arguments that redis-server knows.
fn known(syntax: &'static [SyntaxArg]) -> impl Iterator<Item = &'static SyntaxArg> {
    syntax.iter().filter(|arg| arg.since.is_none_or(oracle::knows))
}

fn is_optional(arg: &SyntaxArg) -> bool {
    arg.flags & SyntaxArg::OPTIONAL != 0
}

fn fill_one(entry: &Entry, arg: &'static SyntaxArg, request: &mut Vec<Vec<u8>>, dice: &mut Dice) {
    let times = if arg.flags & SyntaxArg::MULTIPLE == 0 { 1 } else { 1 + dice.below(3) };
    for time in 0..times {
        if let Some(token) = arg.token
            && (time == 0 || arg.flags & SyntaxArg::MULTIPLE_TOKEN != 0)
        {
            request.push(spelling(token, dice));
        }
        match arg.kind {
            ArgKind::PureToken => {}
            ArgKind::Block => fill(entry, arg.args, request, dice),
            ArgKind::OneOf => fill_one(entry, dice.pick::<&SyntaxArg>(&known(arg.args).collect::<Vec<_>>()), request, dice),
            _ => {
                let mut word = values::word(sort(entry, arg), dice);
                if entry.spec.name.starts_with("bitfield") && arg.name == "offset" && dice.chance(30) {
                    word.insert(0, b'#');
                }
                request.push(word);
            }
        }
    }
}

/// What to put where this argument is asked for.
fn sort(entry: &Entry, arg: &SyntaxArg) -> Sort {
    match (arg.kind, arg.name, entry.spec.name) {
        (ArgKind::Key, ..) => Sort::Key,
        (ArgKind::Double, ..) => Sort::Float,
        (ArgKind::Pattern, ..) => Sort::Pattern,
        (ArgKind::UnixTime, name, _) if name.contains("milli") => Sort::UnixMillis,
        (ArgKind::UnixTime, ..) => Sort::UnixSeconds,
        (ArgKind::Integer, "seconds" | "milliseconds", _) => Sort::Span,
        (ArgKind::Integer, "db" | "index" | "index1" | "index2" | "destination-db", _) => Sort::Database,
        (ArgKind::Integer, "value", "setbit") | (ArgKind::Integer, "bit", _) => Sort::Bit,
        (ArgKind::Integer, "offset" | "start" | "end" | "len", _) => Sort::Position,
        (ArgKind::Integer, "cursor", _) => Sort::Cursor,
        (ArgKind::Integer, "count", _) => Sort::Count,
        (ArgKind::Integer, ..) => Sort::Integer,
        (ArgKind::String, "encoding", _) => Sort::Encoding,
        (ArgKind::String, "type", _) => Sort::Type,
        (ArgKind::String, "operation", _) => Sort::BitOperation,
        _ => Sort::Value,
    }
}

#[test]
fn what_is_left_out_exists() {
    for (name, reason) in LEFT_OUT {
        assert!(
            table().all().any(|command| command.full_name == *name),
            "{name} is left out because it {reason}, but there is no such command"
        );
    }
}
