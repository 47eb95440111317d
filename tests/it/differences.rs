//! What redis-server answers otherwise than this server, by intention: `tests/transcripts/differences.txt`.
//! Holds the list; whether it is true is found out by playing the corpus to the real server.

use crate::reply::{Protocol, Reply};
use crate::transcript::{self, Expected, Judge, Say, Transcript};

/// The whole list.
pub(crate) struct Differences {
    entries: Vec<Difference>,
}

/// One request that the peer answers otherwise, or a file that is not true of the peer, if no request is named.
#[derive(Default)]
pub(crate) struct Difference {
    file: String,
    text: String,
    occurrence: usize,
    reason: String,
    peer: Expected,
}

impl Difference {
    /// What the peer answers.
    pub(crate) fn replies(&self, protocol: Protocol) -> Result<Vec<Reply>, String> {
        self.peer.replies(protocol)
    }
}

impl Differences {
    /// For a peer that must answer as the corpus says.
    pub(crate) fn none() -> Differences {
        Differences { entries: Vec::new() }
    }

    /// The list in the repository.
    pub(crate) fn load() -> Differences {
        let path = transcript::directory().join("differences.txt");
        let text = std::fs::read_to_string(&path).expect("the list is in the repository");
        Differences::parse(&text).unwrap_or_else(|error| panic!("{}:{error}", path.display()))
    }

    /// The entry for this request, if the peer answers it otherwise in this protocol.
    pub(crate) fn listed(&self, file: &str, say: &Say, protocol: Protocol) -> Option<&Difference> {
        self.entries.iter().find(|entry| {
            entry.file == file && entry.text == say.text && entry.occurrence == say.occurrence && entry.peer.speaks_of(protocol)
        })
    }

    /// Whether the whole file is listed, because what the peer does leads elsewhere and not only to another reply.
    pub(crate) fn lists_file(&self, file: &str) -> bool {
        self.entries.iter().any(|entry| entry.file == file && entry.text.is_empty())
    }

    fn parse(text: &str) -> Result<Differences, String> {
        let mut entries: Vec<Difference> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let at = |error: &str| format!("{}: {error}", index + 1);
            if let Some(file) = line.strip_prefix("@file ") {
                entries.push(Difference { file: file.to_owned(), occurrence: 1, ..Difference::default() });
                continue;
            }
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let entry = entries.last_mut().ok_or_else(|| at("an entry begins with @file"))?;
            if let Some(reason) = line.strip_prefix("@because ") {
                reason.clone_into(&mut entry.reason);
            } else if let Some(occurrence) = line.strip_prefix("@occurrence ") {
                entry.occurrence = occurrence.parse().map_err(|_| at("@occurrence wants a number"))?;
            } else if line.starts_with('<') {
                entry.peer.push(line).map_err(|error| at(&error))?;
            } else {
                line.clone_into(&mut entry.text);
            }
        }
        Ok(Differences { entries })
    }
}

/// Whether redis-server 7.0.15 can judge it, so that there can be a difference.
fn is_judged(transcript: &Transcript) -> bool {
    transcript.since.is_none() && transcript.judge == Judge::Redis
}

#[test]
fn every_listed_difference_names_a_request_of_the_corpus_and_a_reason() {
    let corpus = transcript::corpus();
    for entry in Differences::load().entries {
        let played = corpus.iter().find(|transcript| transcript.name() == entry.file && is_judged(transcript));
        let found = played.is_some_and(|transcript| {
            let named = |say: &Say| say.text == entry.text && say.occurrence == entry.occurrence;
            let heard = transcript.protocols().into_iter().any(|protocol| entry.peer.speaks_of(protocol));
            entry.text.is_empty() || heard && transcript.says().any(named)
        });
        let filtered = std::env::var_os("REDLET_TRANSCRIPT").is_some();
        assert!(found || filtered, "nothing in {} is {:?} number {}", entry.file, entry.text, entry.occurrence);
        assert!(!entry.reason.is_empty(), "{}: {:?} is listed without @because", entry.file, entry.text);
    }
}
