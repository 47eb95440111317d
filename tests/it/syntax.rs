//! Requests made from the syntax that the command table gives: what its arguments can look like, in words.
//! Knows the table and nothing of who answers.

use redlet::internals::{ArgKind, Command, SyntaxArg, table};

/// A request, or some of its arguments.
pub(crate) type Words = Vec<String>;

/// In how many arguments a request differs from the shortest one of its command.
const DEVIATIONS_MAX: usize = 3;

/// What a client says to name the command: `CLIENT LIST` for `client|list`.
pub(crate) fn name(command: &Command) -> Words {
    command.full_name.split('|').map(str::to_ascii_uppercase).collect()
}

/// Requests with every optional argument, every alternative and every repetition, and combinations of up to `DEVIATIONS_MAX`.
pub(crate) fn allowed(command: &Command) -> Vec<Words> {
    requests(command, DEVIATIONS_MAX)
}

/// Requests in which at most `deviations` arguments are not as in the shortest one.
pub(crate) fn requests(command: &Command, deviations: usize) -> Vec<Words> {
    let sequences = Syntax { command }.sequences(command.spec.syntax, deviations);
    sequences.into_iter().map(|words| [name(command), words].concat()).collect()
}

/// Requests in which two alternatives that exclude each other stand one after the other.
pub(crate) fn excluded(command: &Command) -> Vec<Words> {
    let pairs = Syntax { command }.excluded(command.spec.syntax);
    pairs.into_iter().map(|words| [name(command), words].concat()).collect()
}

/// All tokens of a syntax, those within blocks and alternatives too.
pub(crate) fn tokens(syntax: &'static [SyntaxArg]) -> Vec<&'static str> {
    syntax.iter().flat_map(|arg| arg.token.into_iter().chain(tokens(arg.args))).collect()
}

/// Whether a word behind the required arguments may be any word, so that no token is out of place there.
pub(crate) fn takes_any_word(syntax: &[SyntaxArg]) -> bool {
    syntax.iter().any(|arg| arg.flags & (SyntaxArg::OPTIONAL | SyntaxArg::MULTIPLE) != 0 && begins_with_any_word(arg))
}

fn begins_with_any_word(arg: &SyntaxArg) -> bool {
    arg.token.is_none()
        && match arg.kind {
            ArgKind::Key | ArgKind::Channel | ArgKind::String | ArgKind::Pattern => true,
            ArgKind::OneOf => arg.args.iter().any(begins_with_any_word),
            ArgKind::Block => arg.args.first().is_some_and(begins_with_any_word),
            _ => false,
        }
}

/// Writes arguments of one command.
struct Syntax<'a> {
    command: &'a Command,
}

impl Syntax<'_> {
    /// Ways to write all of `args`, the shortest first.
    fn sequences(&self, args: &[SyntaxArg], deviations: usize) -> Vec<Words> {
        let ways: Vec<Vec<Words>> = args
            .iter()
            .map(|arg| {
                let absent = (arg.flags & SyntaxArg::OPTIONAL != 0).then(Words::new);
                absent.into_iter().chain(self.present(arg, deviations)).collect()
            })
            .collect();
        let mut sequences = Vec::new();
        combine(&ways, deviations, &Words::new(), &mut sequences);
        sequences
    }

    /// Ways to write an argument that is not left out, the shortest first.
    fn present(&self, arg: &SyntaxArg, deviations: usize) -> Vec<Words> {
        let bare: Vec<Words> = match arg.kind {
            ArgKind::PureToken => vec![Words::new()],
            ArgKind::OneOf => arg.args.iter().flat_map(|choice| self.present(choice, deviations)).collect(),
            ArgKind::Block => {
                let mut ways = self.sequences(arg.args, deviations.max(1));
                // A block may consist of nothing but what can be left out, and is then there only if something of it is.
                ways.retain(|words| !words.is_empty());
                ways
            }
            _ => vec![vec![sample(self.command, arg)]],
        };
        let token: Words = arg.token.map(str::to_owned).into_iter().collect();
        let mut ways: Vec<Words> = bare.iter().map(|words| [token.clone(), words.clone()].concat()).collect();
        if arg.flags & SyntaxArg::MULTIPLE != 0 {
            let between = if arg.flags & SyntaxArg::MULTIPLE_TOKEN != 0 { token } else { Words::new() };
            let first = ways[0].clone();
            ways.extend(bare.iter().map(|words| [first.clone(), between.clone(), words.clone()].concat()));
        }
        ways
    }

    /// Ways to write `args` with both of two alternatives.
    fn excluded(&self, args: &[SyntaxArg]) -> Vec<Words> {
        let mut found = Vec::new();
        for (place, arg) in args.iter().enumerate() {
            let inner = match arg.kind {
                ArgKind::OneOf => {
                    self.pairs(arg).into_iter().chain(arg.args.iter().flat_map(|choice| self.excluded_within(choice))).collect()
                }
                _ => self.excluded_within(arg),
            };
            let before = self.sequences(&args[..place], 0).swap_remove(0);
            let behind = self.sequences(&args[place + 1..], 0).swap_remove(0);
            let token: Words = arg.token.map(str::to_owned).into_iter().collect();
            found.extend(inner.into_iter().map(|words| [before.clone(), token.clone(), words, behind.clone()].concat()));
        }
        found
    }

    fn excluded_within(&self, arg: &SyntaxArg) -> Vec<Words> {
        match arg.kind {
            ArgKind::Block => self.excluded(arg.args),
            _ => Vec::new(),
        }
    }

    /// Every alternative behind every other one. Of what may be repeated, none excludes another.
    fn pairs(&self, arg: &SyntaxArg) -> Vec<Words> {
        if arg.flags & SyntaxArg::MULTIPLE != 0 {
            return Vec::new();
        }
        let ways: Vec<Words> = arg.args.iter().map(|choice| self.present(choice, 0).swap_remove(0)).collect();
        let behind = |first: usize| (0..ways.len()).filter(move |&second| second != first).map(move |second| (first, second));
        (0..ways.len()).flat_map(behind).map(|(first, second)| [ways[first].clone(), ways[second].clone()].concat()).collect()
    }
}

/// Appends to `out` what begins with `begun` and goes on with one way of each place, at most `deviations` of them not the first.
fn combine(ways: &[Vec<Words>], deviations: usize, begun: &Words, out: &mut Vec<Words>) {
    let Some((here, behind)) = ways.split_first() else {
        out.push(begun.clone());
        return;
    };
    for (index, words) in here.iter().enumerate() {
        if index > 0 && deviations == 0 {
            break;
        }
        combine(behind, deviations - usize::from(index > 0), &[begun.clone(), words.clone()].concat(), out);
    }
}

/// A value that the command takes as this argument.
fn sample(command: &Command, arg: &SyntaxArg) -> String {
    let value = match (command.full_name, arg.name) {
        ("move", "db") | ("swapdb", "index2") | ("copy", "destination-db") => "1",
        (_, "cursor") => "0",
        (_, "ifdeq-digest" | "ifdne-digest") => "0123456789abcdef",
        ("increx", "lowerbound") => "1",
        ("increx", "upperbound") => "100",
        ("select" | "swapdb" | "memory|usage" | "wait" | "client|pause", _) if arg.kind == ArgKind::Integer => "0",
        ("scan", "type") => "string",
        ("bitop", _) if arg.kind == ArgKind::String => "AND",
        ("config|set", "value") => "100",
        ("config|get" | "config|set", _) => "maxclients",
        ("command|getkeys" | "command|getkeysandflags", "command") => "MGET",
        ("command|list", "category") => "fast",
        ("debug", "subcommand") => "SLEEP",
        ("debug", _) => "0",
        ("lolwut", _) => "5",
        ("latency|graph" | "latency|history" | "latency|reset", _) => "command",
        (_, "encoding") => "i8",
        (_, "protover") => "3",
        (_, "username") => "default",
        (_, "ip:port") => "127.0.0.1:1",
        (_, "yes/no") => "no",
        (_, "sha1") => "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        (_, "command-name" | "command") => "get",
        (_, "unix-time-milliseconds") => "9999999999999",
        (_, "destkey" | "destination" | "newkey" | "key2") => "other",
        _ => match arg.kind {
            ArgKind::Key => "key",
            ArgKind::Integer | ArgKind::KeyCount => "1",
            ArgKind::Double => "1.5",
            ArgKind::Pattern => "*",
            ArgKind::UnixTime => "9999999999",
            _ => "word",
        },
    };
    value.to_owned()
}

#[test]
fn requests_are_made_from_every_part_of_a_syntax() {
    let command = |name: &str| table().all().find(|command| command.full_name == name).expect("it is in the table");
    let said = |requests: Vec<Words>| -> Vec<String> { requests.iter().map(|words| words.join(" ")).collect() };
    assert_eq!(said(requests(command("set"), 0)), ["SET key word"]);
    assert_eq!(
        said(allowed(command("bitpos"))),
        ["BITPOS key 1", "BITPOS key 1 1", "BITPOS key 1 1 1", "BITPOS key 1 1 1 BYTE", "BITPOS key 1 1 1 BIT",]
    );
    assert!(said(allowed(command("set"))).contains(&"SET key word XX GET PX 1".to_owned()));
    assert!(said(allowed(command("bitfield_ro"))).contains(&"BITFIELD_RO key GET i8 1 GET i8 1".to_owned()));
    assert!(said(allowed(command("mset"))).contains(&"MSET key word key word".to_owned()));
    assert_eq!(said(excluded(command("flushdb"))), ["FLUSHDB ASYNC SYNC", "FLUSHDB SYNC ASYNC"]);
    assert_eq!(tokens(command("copy").spec.syntax), ["DB", "REPLACE"]);
    assert!(takes_any_word(command("del").spec.syntax) && !takes_any_word(command("copy").spec.syntax));
}
