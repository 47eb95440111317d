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

/// Requests in the order in which one client sends them.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Sequence {
    pub(super) protocol: Protocol,
    pub(super) requests: Vec<Vec<Vec<u8>>>,
}

impl Sequence {
    /// The name of the last request, in capitals.
    pub(super) fn last_name(&self) -> String {
        let name = self.requests.last().and_then(|request| request.first());
        name.map(|name| String::from_utf8_lossy(name).to_ascii_uppercase()).unwrap_or_default()
    }
}

impl std::fmt::Debug for Sequence {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(out, "in {:?}:", self.protocol)?;
        self.requests.iter().try_for_each(|request| writeln!(out, "> {}", line(request)))
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

/// The longest sequence that is made.
const REQUESTS_MAX: usize = 30;

/// Makes sequences.
pub(super) struct Sequences(pub(super) Catalogue);

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
        let len = 10 + dice.below(REQUESTS_MAX - 9);
        let first = dice.chance(60).then(|| Catalogue::first(&mut dice));
        let requests = first.into_iter().chain((0..len).map(|_| self.0.request(&mut dice))).collect();
        Ok(Shrinking::new(Sequence { protocol, requests }))
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
                if size(&candidate) < size(&self.failing) && candidate.requests.iter().all(|request| is_fair(request)) {
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
    sequence.requests.iter().flatten().map(|word| word.len() + 1).sum()
}

fn edits(sequence: &Sequence) -> Vec<Edit> {
    let mut edits = Vec::new();
    let len = sequence.requests.len();
    let mut portion = len;
    while portion > 0 {
        edits.extend((0..len).step_by(portion).rev().map(|start| Edit::DropRequests(start, portion)));
        portion /= 2;
    }
    for (index, request) in sequence.requests.iter().enumerate() {
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
            requests[index].remove(word);
            values::tame(&mut requests[index]);
        }
        Edit::Shorten(index, word, length) => {
            requests[index][word].truncate(length);
            values::tame(&mut requests[index]);
        }
    }
    sequence
}

#[test]
fn a_failing_sequence_shrinks_to_what_makes_it_fail() {
    use proptest::test_runner::TestError;

    let is_get = |request: &Vec<Vec<u8>>| request[0].eq_ignore_ascii_case(b"get");
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    let outcome = TestRunner::new(config).run(&Sequences(Catalogue::new()), |sequence| {
        let gets = sequence.requests.iter().filter(|request| is_get(request)).count();
        if gets < 2 { Ok(()) } else { Err(TestCaseError::fail("two GETs")) }
    });
    let Err(TestError::Fail(_, sequence)) = outcome else { panic!("some sequence holds two GETs") };
    assert!(
        sequence.requests.len() == 2 && sequence.requests.iter().all(|request| request.len() == 1 && is_get(request)),
        "{sequence:?}"
    );
}
