//! Sequences of requests as proptest wants them: made from a seed, and shrunk to the fewest and shortest words that still fail.
//! Knows nothing of servers.

use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::strategy::{NewTree, ValueTree};
use proptest::test_runner::TestRunner;

use super::dice::Dice;
use super::generate::{Catalogue, is_fair};
use super::values;
use crate::quoting;
use crate::reply::Protocol;

/// Requests in the order in which they are sent: each when the one before it was answered, whoever sent that.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Sequence {
    pub(super) protocol: Protocol,
    pub(super) requests: Vec<Said>,
}

/// A request, and which of several connections sends it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) conn: usize,
    pub(super) words: Vec<Vec<u8>>,
}

impl Sequence {
    /// The name of the last request, in capitals.
    pub(super) fn last_name(&self) -> String {
        let name = self.requests.last().and_then(|said| said.words.first());
        name.map(|name| String::from_utf8_lossy(name).to_ascii_uppercase()).unwrap_or_default()
    }
}

impl std::fmt::Debug for Sequence {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(out, "in {:?}:", self.protocol)?;
        let mut conn = 0;
        self.requests.iter().try_for_each(|said| {
            if std::mem::replace(&mut conn, said.conn) != said.conn {
                writeln!(out, "@conn {conn}")?;
            }
            writeln!(out, "> {}", line(&said.words))
        })
    }
}

/// A request as the transcripts write it.
pub(super) fn line(request: &[Vec<u8>]) -> String {
    let mut out = String::new();
    for word in request {
        let plain = !word.is_empty() && word.iter().all(|byte| byte.is_ascii_graphic() && !b"\"'\\".contains(byte));
        let separator = if out.is_empty() { "" } else { " " };
        match std::str::from_utf8(word) {
            Ok(word) if plain => write!(out, "{separator}{word}"),
            _ => write!(out, "{separator}{}", quoting::quote(word)),
        }
        .expect("a String takes everything");
    }
    out
}

/// The longest sequence that is made for each connection.
const REQUESTS_MAX: usize = 30;

/// Makes sequences.
pub(super) struct Sequences {
    pub(super) catalogue: Catalogue,
    /// How many connections take turns, at most.
    pub(super) conns_max: usize,
}

impl std::fmt::Debug for Sequences {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Sequences")
    }
}

impl Strategy for Sequences {
    type Tree = Shrinking;
    type Value = Sequence;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let mut dice = Dice::new(runner.rng().next_u64());
        let protocol = if dice.chance(50) { Protocol::Resp3 } else { Protocol::Resp2 };
        let conns = (1 + dice.below(self.conns_max)).max(self.conns_max.min(2));
        let len = (10 + dice.below(REQUESTS_MAX - 9)) * conns;
        let mut requests = Vec::new();
        if dice.chance(60) {
            requests.push(Said { conn: 0, words: Catalogue::first(&mut dice) });
        }
        if conns == 1 {
            requests.extend((0..len).map(|_| Said { conn: 0, words: self.catalogue.request(&mut dice) }));
        }
        while conns > 1 && requests.len() < len {
            self.meet(conns, &mut requests, &mut dice);
        }
        Ok(Shrinking::new(Sequence { protocol, requests }))
    }
}

impl Sequences {
    /// Adds what shows whether a few requests change what a connection watches; or requests of several connections as they come.
    fn meet(&self, conns: usize, requests: &mut Vec<Said>, dice: &mut Dice) {
        let watcher = dice.below(conns);
        let is_told = dice.chance(60);
        if is_told {
            requests.push(Said { conn: watcher, words: Catalogue::watch(dice) });
        }
        // The more happens, the more certain it is that something is changed by it, and the less is shown.
        for _ in 0..1 + dice.below(if is_told { 2 } else { 8 }) {
            let words = if is_told { self.catalogue.on_few_keys(dice) } else { self.catalogue.meeting(dice) };
            requests.push(Said { conn: dice.below(conns), words });
        }
        if is_told {
            let words = |name: &str| vec![name.as_bytes().to_vec()];
            requests.push(Said { conn: watcher, words: words("MULTI") });
            requests.extend((0..dice.below(3)).map(|_| Said { conn: dice.below(conns), words: self.catalogue.on_few_keys(dice) }));
            requests.push(Said { conn: watcher, words: words("EXEC") });
        }
    }
}

/// One way to make a sequence smaller.
#[derive(Clone, Copy)]
enum Edit {
    /// Leaves out this many requests from here on.
    DropRequests(usize, usize),
    /// Leaves out a word.
    DropWord(usize, usize),
    /// Keeps the first bytes of a word.
    Shorten(usize, usize, usize),
}

/// A failing sequence and the smaller one that is tried.
pub(super) struct Shrinking {
    failing: Sequence,
    tried: Option<Sequence>,
    edits: Vec<Edit>,
    next: usize,
    /// Whether this round through the edits has led anywhere.
    smaller: bool,
}

impl Shrinking {
    fn new(sequence: Sequence) -> Shrinking {
        Shrinking { edits: edits(&sequence), failing: sequence, tried: None, next: 0, smaller: false }
    }

    /// Tries the next edit that makes it smaller and asks for nothing that is left out. Taming may undo an edit or more, so that not every
    /// edit does.
    fn advance(&mut self) -> bool {
        loop {
            while let Some(edit) = self.edits.get(self.next) {
                self.next += 1;
                let candidate = apply(&self.failing, *edit);
                if size(&candidate) < size(&self.failing) && candidate.requests.iter().all(|said| is_fair(&said.words)) {
                    self.tried = Some(candidate);
                    return true;
                }
            }
            if !std::mem::take(&mut self.smaller) {
                return false;
            }
            self.next = 0;
        }
    }
}

impl ValueTree for Shrinking {
    type Value = Sequence;

    fn current(&self) -> Sequence {
        self.tried.as_ref().unwrap_or(&self.failing).clone()
    }

    /// The current one fails: goes on from it.
    fn simplify(&mut self) -> bool {
        if let Some(failing) = self.tried.take() {
            // The same edit is tried again: behind what was left out stands something else now.
            self.next = self.next.saturating_sub(1);
            self.smaller = true;
            self.edits = edits(&failing);
            self.failing = failing;
        }
        self.advance()
    }

    /// The current one passes: goes back to the one that failed.
    fn complicate(&mut self) -> bool {
        self.tried = None;
        self.advance()
    }
}

fn size(sequence: &Sequence) -> usize {
    sequence.requests.iter().flat_map(|said| &said.words).map(|word| word.len() + 1).sum()
}

fn edits(sequence: &Sequence) -> Vec<Edit> {
    let mut edits = Vec::new();
    let len = sequence.requests.len();
    let mut portion = len;
    while portion > 0 {
        edits.extend((0..len).step_by(portion).rev().map(|start| Edit::DropRequests(start, portion)));
        portion /= 2;
    }
    for (index, request) in sequence.requests.iter().map(|said| &said.words).enumerate() {
        edits.extend((1..request.len()).rev().map(|word| Edit::DropWord(index, word)));
        for (place, word) in request.iter().enumerate().skip(1) {
            let lengths = [0, 1, word.len() / 2, word.len().saturating_sub(1)];
            edits.extend(
                lengths.into_iter().filter(|length| *length < word.len()).map(|length| Edit::Shorten(index, place, length)),
            );
        }
    }
    edits
}

fn apply(sequence: &Sequence, edit: Edit) -> Sequence {
    let mut sequence = sequence.clone();
    let requests = &mut sequence.requests;
    match edit {
        Edit::DropRequests(start, count) => {
            // Not all of them: nothing is no sequence.
            if count < requests.len() {
                requests.drain(start..requests.len().min(start + count));
            }
        }
        Edit::DropWord(index, word) => {
            requests[index].words.remove(word);
            values::tame(&mut requests[index].words);
        }
        Edit::Shorten(index, word, length) => {
            requests[index].words[word].truncate(length);
            values::tame(&mut requests[index].words);
        }
    }
    sequence
}

#[test]
fn a_failing_sequence_shrinks_to_what_makes_it_fail() {
    use proptest::test_runner::TestError;

    let is_get = |said: &Said| said.words[0].eq_ignore_ascii_case(b"get");
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let outcome = TestRunner::new(config).run(&Sequences { catalogue: Catalogue::new(), conns_max: 1 }, |sequence| {
        let gets = sequence.requests.iter().filter(|said| is_get(said)).count();
        if gets < 2 { Ok(()) } else { Err(TestCaseError::fail("two GETs")) }
    });
    let Err(TestError::Fail(_, sequence)) = outcome else { panic!("some sequence holds two GETs") };
    assert!(
        sequence.requests.len() == 2 && sequence.requests.iter().all(|said| said.words.len() == 1 && is_get(said)),
        "{sequence:?}"
    );
}
