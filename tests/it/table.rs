//! The command table judged by itself: handlers take the options that its syntax gives, and no others. What they refuse, and in
//! which words, is then judged by redis-server.
//! Every request made from a syntax goes to a server of its own, in process, where `key` holds `10` and nothing else is.

use std::collections::BTreeSet;
use std::time::Duration;

use redlet::internals::{Command, Flags, Group, table};

use crate::conversation::InProcess;
use crate::oracle;
use crate::play::{Heard, Peer};
use crate::process::Server;
use crate::quoting;
use crate::syntax::{self, Words};
use crate::transcript::request;

/// Errors that say of a request that its form is wrong, whatever the values in it.
const FORM: &[&str] = &[
    "ERR syntax error",
    "ERR wrong number of arguments for '",
    "ERR unknown subcommand or wrong number of arguments for '",
    "ERR Syntax error in HELLO option '",
    "ERR Unsupported option ",
    "ERR Unknown argument ",
    "ERR SCRIPT FLUSH only support SYNC|ASYNC option",
    "ERR FUNCTION FLUSH only supports SYNC|ASYNC option",
    "ERR CLIENT PAUSE mode must be WRITE or ALL",
    "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR",
    "ERR NX and XX, GT or LT options at the same time are not compatible",
    "ERR GT and LT options at the same time are not compatible",
];

/// Errors about a token that stands where a value is expected. With the token nothing is wrong but that it is no such value.
const NO_SUCH_VALUE: &[&str] = &[
    "ERR value is not an integer or out of range",
    "ERR Invalid client ID",
    "ERR Protocol version is not an integer or out of range",
    "ERR count should be greater than or equal to -1",
];

/// Requests of good form that are refused all the same: how they begin, behind `..` how they end, what they are answered, and why.
const REFUSED: &[(&str, &str, &str)] = &[
    ("ASKING", "ERR This instance has cluster support disabled", "cluster mode is off, whatever the arguments"),
    ("AUTH word", "ERR AUTH <password> called without any password", "there is no password to give"),
    ("CLIENT KILL 127.0.0.1:1", "ERR No such client", "nobody has that address"),
    ("CLIENT LIST TYPE", "ERR syntax error", "TYPE and ID are two optional arguments to the documentation and exclude each other"),
    ("CLIENT CACHING", "ERR CLIENT CACHING can be called only when", "it does not track"),
    (
        "CLIENT TRACKING",
        "ERR OPTIN and OPTOUT are not compatible with BCAST",
        "the documentation says in words only what goes together",
    ),
    ("CLIENT TRACKING", "ERR PREFIX option requires BCAST mode", "the documentation says in words only what goes together"),
    ("CLIENT TRACKING", "ERR Prefix 'word' overlaps with another", "twice the same"),
    (
        "CLIENT TRACKING",
        "ERR You can't specify both OPTIN mode and OPTOUT",
        "the documentation says in words only what goes together",
    ),
    ("CLUSTER", "ERR This instance has cluster support disabled", "cluster mode is off, whatever the arguments"),
    ("CONFIG REWRITE", "ERR The server is running without a config file", "there is none"),
    ("CONFIG SET maxclients 100 maxclients", "ERR CONFIG SET failed", "a parameter is set once in a request"),
    ("DEBUG SLEEP", "ERR unknown subcommand or wrong number of arguments for 'SLEEP'", "the syntax leaves its arguments open"),
    ("DISCARD", "ERR DISCARD without MULTI", "nothing was begun"),
    ("EXEC", "ERR EXEC without MULTI", "nothing was begun"),
    ("FUNCTION DELETE", "ERR Library not found", "there are none"),
    ("FUNCTION KILL", "NOTBUSY", "nothing runs"),
    ("INCREX .. ENX", "ERR ENX flag requires an expiration", "ENX is an option of its own to the documentation"),
    ("INCREX .. PERSIST ENX", "ERR syntax error", "the two exclude each other, which the documentation says in words only"),
    ("LATENCY GRAPH", "ERR No samples available", "nothing took long"),
    ("LCS key other LEN IDX", "ERR If you want both the length and indexes", "Redis leaves the choice out of the syntax"),
    ("MSETEX 1 key word key word", "ERR syntax error", "the number does not say that there are two"),
    ("OBJECT FREQ", "ERR An LFU maxmemory policy is not selected", "it is kept only under such a policy"),
    ("READONLY", "ERR This instance has cluster support disabled", "cluster mode is off, whatever the arguments"),
    ("READWRITE", "ERR This instance has cluster support disabled", "cluster mode is off, whatever the arguments"),
    ("SCRIPT KILL", "NOTBUSY", "nothing runs"),
    ("SHUTDOWN ABORT", "ERR No shutdown in progress.", "none is"),
    ("SHUTDOWN", "ERR syntax error", "ABORT takes no other option beside it"),
    ("SHUTDOWN SAVE", "ERR Errors trying to SHUTDOWN", "there is no file to save to"),
];

/// Alternatives that do not exclude each other, whatever the syntax says: the command, both words, and why.
const TOGETHER: &[(&str, &str, &str, &str)] = &[
    ("bitfield", "SET", "INCRBY", "the second one is the next operation"),
    ("expire", "XX", "GT", COMPATIBLE),
    ("expire", "XX", "LT", COMPATIBLE),
    ("pexpire", "XX", "GT", COMPATIBLE),
    ("pexpire", "XX", "LT", COMPATIBLE),
    ("expireat", "XX", "GT", COMPATIBLE),
    ("expireat", "XX", "LT", COMPATIBLE),
    ("pexpireat", "XX", "GT", COMPATIBLE),
    ("pexpireat", "XX", "LT", COMPATIBLE),
];
const COMPATIBLE: &str = "Redis forbids NX beside the others and GT beside LT, nothing else";

/// Commands in whose arguments no token can be out of place, and why, besides those whose syntax ends in any words.
const OPEN: &[(&str, &str)] = &[
    ("cluster", "cluster mode is off, whatever the arguments"),
    ("debug", "its subcommands are no part of the syntax"),
    ("lolwut", "Redis looks at nothing but VERSION and numbers behind it"),
];

/// Commands that refuse a number of arguments that their arity allows, that number and why.
const PICKY: &[(&str, usize, &str)] = &[
    ("delex", 3, "a condition without its value"),
    ("mset", 4, "a key without its value"),
    ("msetnx", 4, "a key without its value"),
    ("ping", 3, "Redis's arity does not say that there is at most one"),
];

/// What the words are refused with by a new server of ours, if they are.
fn refusal(words: &Words) -> Option<String> {
    refusal_by(&mut InProcess::new(), words)
}

/// What the words are refused with on a new connection, if they are.
fn refusal_by(peer: &mut impl Peer, words: &Words) -> Option<String> {
    match answer_by(peer, words) {
        Heard::Reply(bytes) if bytes.starts_with(b"-") => Some(String::from_utf8_lossy(&bytes[1..]).trim_end().to_owned()),
        Heard::Reply(_) | Heard::Closed | Heard::Silence => None,
        Heard::Noise(noise) => panic!("{}: {noise}", words.join(" ")),
    }
}

/// What the words are answered on a new connection.
fn answer_by(peer: &mut impl Peer, words: &Words) -> Heard {
    // Long enough for a server that answers at all.
    const PATIENCE: Duration = Duration::from_millis(300);
    peer.open("client");
    for before in [&["FLUSHALL"][..], &["SET", "key", "10"]] {
        peer.send("client", &request(before));
        peer.receive("client", PATIENCE);
    }
    peer.send("client", &request(words));
    let heard = peer.receive("client", PATIENCE);
    peer.forget("client");
    heard
}

fn is_refusal(heard: &Heard) -> bool {
    matches!(heard, Heard::Reply(bytes) if bytes.starts_with(b"-"))
}

fn begins_with_any(text: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| text.starts_with(beginning))
}

/// The commands that are run themselves.
fn commands() -> impl Iterator<Item = &'static Command> {
    table().all().filter(|command| command.subcommands.is_empty())
}

fn is_open(command: &Command) -> bool {
    let container = command.full_name.split('|').next();
    OPEN.iter().any(|(name, _)| Some(*name) == container)
}

/// Reports all complaints together, and what a list holds without need.
#[track_caller]
fn check<T: Ord + std::fmt::Debug>(complaints: &[String], listed: impl IntoIterator<Item = T>, met: &BTreeSet<T>) {
    let stale: Vec<_> = listed.into_iter().filter(|entry| !met.contains(entry)).collect();
    assert!(complaints.is_empty() && stale.is_empty(), "\n{}\nlisted without need: {stale:#?}", complaints.join("\n"));
}

#[test]
fn what_the_syntax_allows_is_accepted() {
    let (mut complaints, mut met) = (Vec::new(), BTreeSet::new());
    for words in commands().flat_map(syntax::allowed) {
        let Some(error) = refusal(&words) else { continue };
        let said = words.join(" ");
        let listed = REFUSED.iter().filter(|(form, answer, _)| {
            let (begin, end) = form.split_once(" ..").unwrap_or((form, ""));
            said.starts_with(begin) && said.ends_with(end) && error.starts_with(answer)
        });
        match listed.max_by_key(|(begin, ..)| begin.len()) {
            Some(entry) => drop(met.insert(entry)),
            None => complaints.push(format!("{said}: {error}")),
        }
    }
    check(&complaints, REFUSED, &met);
}

#[test]
fn alternatives_exclude_each_other() {
    let (mut complaints, mut met) = (Vec::new(), BTreeSet::new());
    for command in commands().filter(|command| !is_open(command)) {
        for words in syntax::excluded(command) {
            let has = |word: &str| words.iter().any(|said| said == word);
            let together = TOGETHER.iter().find(|(name, one, other, _)| command.full_name == *name && has(one) && has(other));
            match (refusal(&words), together) {
                (None, Some(entry)) => drop(met.insert(entry)),
                (Some(error), None) if begins_with_any(&error, FORM) => {}
                (answer, _) => complaints.push(format!("{}: {answer:?}", words.join(" "))),
            }
        }
    }
    check(&complaints, TOGETHER, &met);
}

#[test]
fn tokens_of_other_commands_are_refused() {
    let mut complaints = Vec::new();
    for words in commands().filter(|command| !is_open(command)).flat_map(with_foreign_tokens) {
        match refusal(&words) {
            Some(error) if begins_with_any(&error, FORM) || begins_with_any(&error, NO_SUCH_VALUE) => {}
            answer => complaints.push(format!("{}: {answer:?}", words.join(" "))),
        }
    }
    check(&complaints, [(); 0], &BTreeSet::new());
}

/// Requests that end in a token which the command does not have; none when its last argument may be any word.
fn with_foreign_tokens(command: &Command) -> Vec<Words> {
    if command.arity > 0 || command.spec.has(Flags::ANY_ARGS) || syntax::takes_any_word(command.spec.syntax) {
        return Vec::new();
    }
    let mut foreign: BTreeSet<&str> = table().all().flat_map(|command| syntax::tokens(command.spec.syntax)).collect();
    foreign.retain(|token| !syntax::tokens(command.spec.syntax).contains(token));
    let begun = syntax::requests(command, 1).into_iter().filter(|words| refusal(words).is_none());
    begun
        .flat_map(|words| foreign.iter().map(move |token| [words.clone(), vec![(*token).to_owned()]].concat()).collect::<Vec<_>>())
        .collect()
}

#[test]
fn the_number_of_arguments_is_judged_as_the_arity_says() {
    let (mut complaints, mut met) = (Vec::new(), BTreeSet::new());
    for command in commands() {
        let wrong = format!("wrong number of arguments for '{}' command", command.full_name);
        let name_words = syntax::name(command).len();
        let least = command.arity.unsigned_abs() as usize;
        for count in name_words..least + 3 {
            let mut words = syntax::requests(command, 0).swap_remove(0);
            words.resize(count, "1".to_owned());
            let refused = refusal(&words).is_some_and(|error| error.ends_with(&wrong));
            let fits = if command.arity < 0 { count >= least } else { count == least };
            let picky = PICKY.iter().find(|(name, words, _)| command.full_name == *name && count == *words);
            if let Some(entry) = picky.filter(|_| refused && fits) {
                met.insert(entry);
            } else if refused == fits {
                complaints.push(format!("{}: arity {}, refused: {refused}", words.join(" "), command.arity));
            }
        }
    }
    check(&complaints, PICKY, &met);
}

/// Requests about which redis-server 7.0.15 is not asked: how they begin, a part of them, and why. Nor is it asked about commands that
/// it does not know.
const UNASKED: &[(&str, &str, &str)] = &[
    ("CLIENT KILL", "MAXAGE", "it came with 7.4"),
    ("CLIENT TRACKING", "REDIRECT", "it knows clients by other ids"),
    ("DEBUG", "", "its subcommands are no part of the syntax"),
    ("SET ", " IF", "conditions on the value came with 8.4"),
    ("SHUTDOWN", "", "a server that shuts down answers nothing else"),
];

#[test]
#[ignore = "needs redis-server"]
fn a_real_server_answers_requests_of_any_form_the_same() {
    let mut redis = Server::redis().into_peer();
    let mut complaints = Vec::new();
    for command in commands().filter(|command| oracle::knows_command(command.spec)) {
        let all =
            [syntax::allowed(command), syntax::excluded(command), with_foreign_tokens(command), with_own_words(command)].concat();
        let is_unasked = |words: &Words| {
            let said = words.join(" ");
            UNASKED.iter().any(|(begin, word, _)| said.starts_with(begin) && said.contains(word))
        };
        for words in all.into_iter().filter(|words| !is_unasked(words)) {
            let mut answers = [answer_by(&mut InProcess::new(), &words), answer_by(&mut redis, &words)];
            if !is_the_same_everywhere(command) {
                answers = answers.map(|heard| if is_refusal(&heard) { heard } else { Heard::Silence });
            }
            let [ours, theirs] = answers;
            if ours != theirs {
                let [ours, theirs] = [ours, theirs].map(|heard| match heard {
                    Heard::Reply(bytes) => quoting::quote(&bytes),
                    heard => format!("{heard:?}"),
                });
                complaints.push(format!("{}: {ours}, but redis-server: {theirs}", words.join(" ")));
            }
        }
    }
    check(&complaints, [(); 0], &BTreeSet::new());
}

/// Whether servers give the same answer down to the last byte. Of all other commands only the refusals are compared.
fn is_the_same_everywhere(command: &Command) -> bool {
    let of_keys = matches!(command.spec.group, Group::String | Group::Bitmap | Group::Generic);
    of_keys && !["object|help", "scan"].contains(&command.full_name)
}

/// The name alone and the shortest request, with up to `EXTRA_WORDS` of the command's own tokens and two values behind, in every order.
fn with_own_words(command: &Command) -> Vec<Words> {
    const EXTRA_WORDS: u32 = 3;
    let own = syntax::tokens(command.spec.syntax);
    if own.is_empty() {
        return Vec::new();
    }
    let own: Vec<&str> = own.into_iter().chain(["1", "word"]).collect::<BTreeSet<_>>().into_iter().collect();
    let shortest = syntax::requests(command, 0).swap_remove(0);
    // Behind a name alone the words would be taken for keys.
    let name = (command.first_key == 0).then(|| syntax::name(command));
    let mut begun: Vec<Words> = name.into_iter().chain([shortest]).collect();
    let mut found = begun.clone();
    for _ in 0..EXTRA_WORDS {
        begun = begun.iter().flat_map(|words| own.iter().map(|word| [words.clone(), vec![(*word).to_owned()]].concat())).collect();
        found.extend_from_slice(&begun);
    }
    found
}
