//! Every command of the table within a transaction: what it is answered when it is queued, and what EXEC then answers, as
//! redis-server 7.0.15 does. Requests are the shortest that the syntax allows, and one with an argument too many.

use std::time::Duration;

use redlet::internals::{Command, Group, table};

use crate::conversation::InProcess;
use crate::frame;
use crate::oracle;
use crate::play::{Heard, Peer, greet};
use crate::process::Server;
use crate::quoting;
use crate::reply::{Protocol, Reply};
use crate::syntax::{self, Words};
use crate::transcript::request;

/// How long a reply is waited for. Few requests have none, and what comes late shows in what follows.
const PATIENCE: Duration = Duration::from_millis(500);

/// Requests that are not made: how they begin, and why.
const UNASKED: &[(&str, &str)] = &[
    ("DEBUG", "its subcommands are no part of the syntax"),
    ("MEMORY DOCTOR", "tells of the process"),
    ("LOLWUT", "names the version"),
];

/// What is heard from the request on until the connection is of use again.
type Said = Vec<Heard>;

/// Queues a request behind a MULTI, and says EXEC and then PING.
fn transact(peer: &mut impl Peer, protocol: Protocol, words: &Words) -> Said {
    greet(peer, "client", protocol).expect("it has never spoken another protocol");
    for before in [&["FLUSHALL"][..], &["SET", "key", "10"], &["MULTI"]] {
        peer.send("client", &request(before));
        assert!(matches!(peer.receive("client", PATIENCE), Heard::Reply(_)), "{before:?} is answered");
    }
    let mut said = Vec::new();
    for bytes in [request(words), request(&["EXEC"]), request(&["PING"])] {
        peer.send("client", &bytes);
        said.push(peer.receive("client", PATIENCE));
    }
    peer.forget("client");
    said
}

/// What must be the same everywhere: all of it if the command is one of keys, of others the kind of reply, and errors in full.
fn essence(heard: &Heard, command: &Command) -> String {
    let Heard::Reply(bytes) = heard else { return format!("{heard:?}") };
    let of_keys = matches!(command.spec.group, Group::String | Group::Bitmap | Group::Generic);
    if of_keys && command.full_name != "object|help" {
        return quoting::quote(bytes);
    }
    match frame::decode(bytes) {
        Ok(Some((_, reply))) => kind(&reply),
        otherwise => format!("{otherwise:?}"),
    }
}

fn kind(reply: &Reply) -> String {
    match reply {
        Reply::Error(text) => format!("-{}", quoting::quote(text)),
        Reply::Simple(text) => format!("+{}", quoting::quote(text)),
        // Of EXEC's reply the one element says what the command answered.
        Reply::Aggregate { kind: marker, items, .. } if items.len() == 1 => format!("{marker:?} of one: {}", kind(&items[0])),
        Reply::Aggregate { kind, .. } => format!("{kind:?}"),
        Reply::Int(_) => "int".to_owned(),
        Reply::Bulk(_) | Reply::Verbatim(..) => "text".to_owned(),
        other => format!("{other:?}"),
    }
}

fn is_unasked(command: &Command, words: &Words) -> bool {
    let said = words.join(" ");
    !oracle::knows(command.spec.since) || UNASKED.iter().any(|(begin, _)| said.starts_with(begin))
}

#[test]
#[ignore = "needs redis-server"]
fn every_command_is_queued_and_run_as_a_real_server_does() {
    let mut redis = Server::redis().into_peer();
    let mut complaints = Vec::new();
    let mut asked = 0;
    for command in table().all().filter(|command| command.subcommands.is_empty()) {
        let shortest = syntax::requests(command, 0).swap_remove(0);
        let longer = [shortest.clone(), vec!["word".to_owned()]].concat();
        for words in [shortest, longer].iter().filter(|words| !is_unasked(command, words)) {
            for protocol in [Protocol::Resp2, Protocol::Resp3] {
                let [ours, theirs] = [transact(&mut InProcess::new(), protocol, words), transact(&mut redis, protocol, words)]
                    .map(|said| said.iter().map(|heard| essence(heard, command)).collect::<Vec<_>>());
                asked += 1;
                if ours != theirs {
                    let [ours, theirs] = [ours, theirs].map(|said| said.join("; "));
                    complaints.push(format!("{} in {protocol:?}: {ours}\n    but redis-server: {theirs}", words.join(" ")));
                }
            }
        }
    }
    assert!(complaints.is_empty(), "{} of {asked} differ:\n{}", complaints.len(), complaints.join("\n"));
}
