//! The corpus against a real redis-server, which is the judge of what it says, and a few files of it against Valkey's server.
//! Knows nothing of our server: what differs by intention stands in `tests/transcripts/differences.txt`.

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use redlet::internals::{Origin, Spec};

use crate::differences::Differences;
use crate::play::Delivery;
use crate::process::{self, Server};
use crate::record;
use crate::stage::check;
use crate::transcript::{self, Judge, Transcript};

/// The files that a server can judge which is of this version.
fn judged_corpus(judge: Judge, version: &str) -> Vec<Transcript> {
    let mut corpus = transcript::corpus();
    corpus.retain(|transcript| transcript.judge == judge);
    corpus.retain(|transcript| transcript.since.as_deref().is_none_or(|since| numbers(since) <= numbers(version)));
    corpus
}

/// Whether this version of redis-server has what came with version `since`.
pub(crate) fn knows(since: &str) -> bool {
    static VERSION: LazyLock<Vec<u32>> = LazyLock::new(|| numbers(&version()));
    numbers(since) <= *VERSION
}

/// Whether this version of redis-server has the command.
pub(crate) fn knows_command(spec: &Spec) -> bool {
    spec.origin == Origin::Redis && knows(spec.since)
}

fn version() -> String {
    version_of("redis-server".as_ref())
}

fn version_of(server: &Path) -> String {
    let output = Command::new(server).arg("--version").output().expect("the server is installed");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split_whitespace().find_map(|word| word.strip_prefix("v="));
    version.unwrap_or_else(|| panic!("no version in {text:?}")).to_owned()
}

fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().expect("a version is numbers and dots")).collect()
}

#[test]
#[ignore = "needs redis-server"]
fn a_real_server_answers_as_the_corpus_says() {
    judge(&judged_corpus(Judge::Redis, &version()), &Differences::load(), Server::redis);
}

/// What newer Redis servers have and Valkey too, and what only Valkey has.
#[test]
#[ignore = "needs Valkey's server"]
fn valkey_answers_as_its_part_of_the_corpus_says() {
    let server = process::valkey_server();
    judge(&judged_corpus(Judge::Valkey, &version_of(&server)), &Differences::none(), || Server::valkey(&server));
}

/// Plays the files to new servers, or has these fill in the replies.
#[track_caller]
fn judge(corpus: &[Transcript], differences: &Differences, new_server: impl Fn() -> Server + Sync) {
    let new_peer = || new_server().into_peer();
    if std::env::var_os("REDLET_RECORD").is_some() {
        return record::record(corpus, differences, new_peer);
    }
    check(corpus, &[Delivery::OneByOne, Delivery::Pipelined], differences, new_peer);
}
