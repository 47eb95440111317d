//! What `COMMAND` says of our commands, judged by redis-server 7.0.15: `INFO`, `DOCS`, `GETKEYS` and `GETKEYSANDFLAGS`, in RESP3.
//! Sets are compared as sets; everything else is compared as it was sent.

use std::collections::BTreeSet;
use std::time::Duration;

use redlet::internals::{Command, table};

use crate::conversation::InProcess;
use crate::frame;
use crate::play::{Heard, Peer};
use crate::process::Server;
use crate::reply::{Kind, Reply};
use crate::syntax;
use crate::transcript::request;

/// What differs by intention: the command, the part of what is said of it, and why.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    ("client", "subcommands", "two of them came with 7.2"),
    ("client|kill", "arguments", "MAXAGE came with 7.4"),
    ("client|no-touch", "command", "it came with 7.2"),
    ("client|no-touch", "keys", "it came with 7.2"),
    ("client|setinfo", "command", "it came with 7.2"),
    ("client|setinfo", "keys", "it came with 7.2"),
    ("command|getkeys", "arguments", "7.0 documents none; the arity is derived from them here"),
    ("command|getkeysandflags", "arguments", "7.0 documents none; the arity is derived from them here"),
    ("copy", "complexity", "there are no collections here"),
    ("debug", "arguments", "7.0 documents none; the arity is derived from them here"),
    ("del", "complexity", "there are no collections here"),
    ("delex", "command", "it came with 8.4"),
    ("delex", "keys", "it came with 8.4"),
    ("delifeq", "command", "it came with Valkey 9.0"),
    ("delifeq", "keys", "it came with Valkey 9.0"),
    ("digest", "command", "it came with 8.4"),
    ("digest", "keys", "it came with 8.4"),
    ("increx", "command", "it came with 8.8"),
    ("increx", "keys", "it came with 8.8"),
    ("keys", "complexity", "said in our own words"),
    ("msetex", "command", "it came with 8.4"),
    ("msetex", "keys", "it came with 8.4"),
    ("scan", "complexity", "said in our own words"),
    ("set", "arguments", "conditions on the value came with 8.4"),
    ("set", "keys", "conditions on the value came with 8.4"),
    ("unlink", "complexity", "values are freed at once here, not by another thread"),
];

/// The parts of an entry of `COMMAND INFO`.
const INFO: [&str; 10] =
    ["name", "arity", "flags", "first key", "last key", "key step", "categories", "tips", "key specifications", "subcommands"];

/// One thing that is said of a command.
#[derive(Debug, PartialEq, Eq)]
struct Part {
    name: String,
    value: Reply,
}

/// Asks both servers and notes in what their answers differ.
struct Judge<Redis> {
    redis: Redis,
    redlet: InProcess,
    met: BTreeSet<(&'static str, &'static str, &'static str)>,
    complaints: Vec<String>,
}

impl<Redis: Peer> Judge<Redis> {
    fn new(mut redis: Redis) -> Self {
        let mut redlet = InProcess::new();
        ask_on_new_connection(&mut redis);
        ask_on_new_connection(&mut redlet);
        Self { redis, redlet, met: BTreeSet::new(), complaints: Vec::new() }
    }

    /// What redlet and redis-server answer.
    fn ask(&mut self, words: &[&str]) -> [Reply; 2] {
        [ask(&mut self.redlet, words), ask(&mut self.redis, words)]
    }

    /// Notes which parts differ, or are missing on one side.
    fn compare(&mut self, command: &Command, ours: &[Part], theirs: &[Part]) {
        let mut names: BTreeSet<&str> = ours.iter().chain(theirs).map(|part| part.name.as_str()).collect();
        if ours.is_empty() || theirs.is_empty() {
            // The command as a whole is missing.
            names = BTreeSet::from(["command"]);
        }
        for name in names {
            let [ours, theirs] = [ours, theirs].map(|parts| parts.iter().find(|part| part.name == name).map(|part| &part.value));
            if ours == theirs && name != "command" {
                continue;
            }
            match DIFFERENCES.iter().find(|(of, part, _)| *of == command.full_name && *part == name) {
                Some(entry) => drop(self.met.insert(*entry)),
                None => self.complaints.push(format!(
                    "{}: {name}\n{}\n  redis-server:\n{}",
                    command.full_name,
                    shown(ours),
                    shown(theirs)
                )),
            }
        }
    }

    /// Fails with everything that differs, and with what is listed and does not.
    #[track_caller]
    fn finish(self, about: impl Fn(&str) -> bool) {
        let stale: Vec<_> = DIFFERENCES.iter().filter(|entry| about(entry.1) && !self.met.contains(*entry)).collect();
        assert!(self.complaints.is_empty(), "\n{}", self.complaints.join("\n"));
        assert!(stale.is_empty(), "listed and no longer so: {stale:#?}");
    }
}

fn ask_on_new_connection(peer: &mut impl Peer) {
    peer.open("judge");
    ask(peer, &["HELLO", "3"]);
}

fn ask(peer: &mut impl Peer, words: &[&str]) -> Reply {
    peer.send("judge", &request(words));
    match peer.receive("judge", Duration::from_secs(10)) {
        Heard::Reply(bytes) => in_order(frame::decode(&bytes).expect("a reply").expect("a whole one").1),
        heard => panic!("{words:?}: {heard:?}"),
    }
}

/// The same with the items of every set in one order.
fn in_order(reply: Reply) -> Reply {
    match reply {
        Reply::Aggregate { kind, items, any_order } => {
            let mut items: Vec<Reply> = items.into_iter().map(in_order).collect();
            if kind == Kind::Set {
                items.sort_by_key(Reply::lines);
            }
            Reply::Aggregate { kind, items, any_order }
        }
        reply => reply,
    }
}

fn shown(value: Option<&Reply>) -> String {
    value.map_or_else(|| "    (none)".to_owned(), |reply| format!("    {}", reply.lines().join("\n    ")))
}

fn items(reply: Reply) -> Vec<Reply> {
    match reply {
        Reply::Aggregate { items, .. } => items,
        reply => panic!("no aggregate: {reply:?}"),
    }
}

fn text(reply: &Reply) -> String {
    match reply {
        Reply::Bulk(bytes) | Reply::Simple(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        reply => panic!("no text: {reply:?}"),
    }
}

/// The pairs of a map.
fn pairs(reply: Reply) -> Vec<(String, Reply)> {
    let mut items = items(reply).into_iter();
    let mut pairs = Vec::new();
    while let (Some(name), Some(value)) = (items.next(), items.next()) {
        pairs.push((text(&name), value));
    }
    pairs
}

/// The parts of an answer to `COMMAND INFO` about one command; none when it is not known.
fn info_parts(reply: Reply) -> Vec<Part> {
    let Reply::Aggregate { items: parts, .. } = items(reply).swap_remove(0) else { return Vec::new() };
    assert_eq!(parts.len(), INFO.len());
    let parts = INFO.iter().zip(parts).map(|(name, value)| match (*name, value) {
        // Subcommands are asked about one by one, those that we do not have not at all.
        ("subcommands", Reply::Aggregate { kind, items: subcommands, any_order }) => {
            let names = subcommands.into_iter().map(|subcommand| items(subcommand).swap_remove(0));
            let mut known: Vec<Reply> = names.filter(|name| table().all().any(|command| command.full_name == text(name))).collect();
            known.sort_by_key(text);
            ("subcommands", Reply::Aggregate { kind, items: known, any_order })
        }
        part => part,
    });
    parts.map(|(name, value)| Part { name: name.to_owned(), value: in_order(value) }).collect()
}

/// The parts of an answer to `COMMAND DOCS` about one command, but for those that are in our own words or came later than 7.0.
fn docs_parts(reply: Reply) -> Vec<Part> {
    let Some((_, entry)) = pairs(reply).pop() else { return Vec::new() };
    let parts = pairs(entry).into_iter().filter(|(name, _)| !["summary", "history", "subcommands"].contains(&name.as_str()));
    parts.map(|(name, value)| Part { name, value: without_display_text(value) }).collect()
}

/// Arguments without `display_text`, which came with 7.2.
fn without_display_text(reply: Reply) -> Reply {
    match reply {
        Reply::Aggregate { kind, mut items, any_order } => {
            if kind == Kind::Map {
                let named = items.iter().step_by(2).position(|name| text(name) == "display_text");
                named.into_iter().for_each(|pair| drop(items.drain(pair * 2..pair * 2 + 2)));
            }
            let items = items.into_iter().map(without_display_text).collect();
            Reply::Aggregate { kind, items, any_order }
        }
        reply => reply,
    }
}

#[test]
#[ignore = "needs redis-server"]
fn a_real_server_says_the_same_of_commands() {
    let mut judge = Judge::new(Server::redis().into_peer());
    for command in table().all() {
        let [ours, theirs] = judge.ask(&["COMMAND", "INFO", command.full_name]).map(info_parts);
        judge.compare(command, &ours, &theirs);
        let [ours, theirs] = judge.ask(&["COMMAND", "DOCS", command.full_name]).map(docs_parts);
        judge.compare(command, &ours, &theirs);
    }
    judge.finish(|part| part != "keys");
}

#[test]
#[ignore = "needs redis-server"]
fn a_real_server_finds_the_same_keys() {
    let mut judge = Judge::new(Server::redis().into_peer());
    for command in table().all().filter(|command| command.subcommands.is_empty()) {
        for words in syntax::requests(command, 1) {
            for finder in ["GETKEYS", "GETKEYSANDFLAGS"] {
                let words: Vec<&str> = ["COMMAND", finder].into_iter().chain(words.iter().map(String::as_str)).collect();
                let [ours, theirs] = judge.ask(&words).map(|value| [Part { name: "keys".to_owned(), value }]);
                judge.compare(command, &ours, &theirs);
            }
        }
    }
    judge.finish(|part| part == "keys");
}
