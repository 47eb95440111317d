//! The corpus against a real redis-server, which is the judge of what it says.
//! Knows nothing of our server: what differs by intention stands in `tests/transcripts/differences.txt`.

use std::process::Command;
use std::sync::LazyLock;

use crate::differences::Differences;
use crate::play::Delivery;
use crate::process::Server;
use crate::record;
use crate::stage::check;
use crate::transcript::{self, Transcript};

/// The files that this version of redis-server can judge.
fn judged_corpus() -> Vec<Transcript> {
    let version = version();
    let mut corpus = transcript::corpus();
    corpus.retain(|transcript| transcript.since.as_deref().is_none_or(|since| numbers(since) <= numbers(&version)));
    corpus
}

/// Whether this version of redis-server has what came with version `since`.
pub(crate) fn knows(since: &str) -> bool {
    static VERSION: LazyLock<Vec<u32>> = LazyLock::new(|| numbers(&version()));
    numbers(since) <= *VERSION
}

fn version() -> String {
    let output = Command::new("redis-server").arg("--version").output().expect("redis-server is installed");
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
    if std::env::var_os("REDLET_RECORD").is_some() {
        record::record(&judged_corpus(), &Differences::load());
        return;
    }
    let deliveries = [Delivery::OneByOne, Delivery::Pipelined];
    check(&judged_corpus(), &deliveries, &Differences::load(), || Server::redis().into_peer());
}
