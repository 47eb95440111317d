//! Which replies count as equal: the same bytes, except where a clock, chance or the order of a hash table has its say.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use redlet::internals::table;

use super::counters;
use super::pair::{Answers, Played};
use super::sequence::{Said, line};
use super::values;
use crate::quoting;
use crate::reply::{Kind, Reply};

/// How far two clocks may be read apart, in seconds: a machine may be busy with something else in between.
const APART_SECONDS: u64 = 10;

/// Lines of a reply that are shown.
const LINES_SHOWN_MAX: usize = 40;

/// Fails with all that differs.
pub(super) fn compare(played: &Played) -> Result<(), String> {
    if played.theirs == played.ours {
        return Ok(());
    }
    let (theirs, ours) = (replies(&played.theirs, "redis-server")?, replies(&played.ours, "ours")?);
    if theirs.len() != ours.len() || ours.len() != played.requests.len() {
        let counts = (played.requests.len(), theirs.len(), ours.len());
        return Err(format!("{} requests, redis-server answers {}, ours {}", counts.0, counts.1, counts.2));
    }
    let about = About::new(&played.requests);
    let mut queues = Queues::default();
    let mut report = String::new();
    let mut counts_differ = false;
    for (said, (theirs, ours)) in played.requests.iter().zip(theirs.iter().zip(&ours)) {
        let ran = queues.follow(said, &theirs.1);
        let answered = answered(said, &ran, &theirs.1, &ours.1);
        counts_differ |= answered.iter().any(|(words, _, ours)| counters::is_excused(words, ours));
        if theirs.0 == ours.0 {
            continue;
        }
        if counters::is_asked(&said.words) {
            let is_excused = counts_differ || about.dead_keys;
            if !is_excused && !counters::are_alike(&theirs.1, &ours.1) {
                writeln!(report, "> {}", line(&said.words)).expect("a String takes everything");
                report.push_str(&counters::difference(&theirs.1, &ours.1));
            }
            continue;
        }
        let is_unlike = |(words, theirs, ours): &&Answered| theirs != ours && !alike(words, theirs, ours, &about);
        let unlike: Vec<_> = answered.iter().filter(is_unlike).collect();
        if unlike.iter().all(|(words, theirs, ours)| is_listed(words, theirs, ours)) && theirs.1 != ours.1 {
            // What is answered otherwise by intention is counted otherwise.
            counts_differ |= !unlike.is_empty();
        } else {
            writeln!(report, "{}> {}", said.conn, line(&said.words)).expect("a String takes everything");
            show(&mut report, "redis-server", theirs, ours);
            show(&mut report, "ours        ", ours, theirs);
        }
    }
    if report.is_empty() { Ok(()) } else { Err(report) }
}

/// What each connection has queued.
#[derive(Default)]
struct Queues(BTreeMap<usize, Vec<Vec<Vec<u8>>>>);

impl Queues {
    /// Takes note of a request and its reply. What it ran, if it is an EXEC.
    fn follow(&mut self, said: &Said, reply: &Reply) -> Vec<Vec<Vec<u8>>> {
        let queue = self.0.entry(said.conn).or_default();
        if *reply == Reply::Simple(b"QUEUED".to_vec()) {
            queue.push(said.words.clone());
            return Vec::new();
        }
        // Of all others only those that begin or end a transaction are run while there is one.
        let over = ["multi", "exec", "discard", "reset"].iter().any(|name| is_named(said, name.as_bytes()));
        if over && !matches!(reply, Reply::Error(text) if text.starts_with(b"ERR MULTI")) {
            std::mem::take(queue)
        } else {
            Vec::new()
        }
    }
}

fn is_named(said: &Said, name: &[u8]) -> bool {
    said.words[0].eq_ignore_ascii_case(name)
}

/// A request and both replies to it.
type Answered<'a> = (&'a [Vec<u8>], &'a Reply, &'a Reply);

/// What was answered to a request, or to each of those that an EXEC has run.
fn answered<'a>(said: &'a Said, ran: &'a [Vec<Vec<u8>>], theirs: &'a Reply, ours: &'a Reply) -> Vec<Answered<'a>> {
    match (theirs, ours) {
        (Reply::Aggregate { items: theirs, .. }, Reply::Aggregate { items: ours, .. })
            if is_named(said, b"exec") && [theirs.len(), ours.len()] == [ran.len(); 2] =>
        {
            ran.iter().zip(theirs.iter().zip(ours)).map(|(words, (theirs, ours))| (words.as_slice(), theirs, ours)).collect()
        }
        _ => vec![(&said.words, theirs, ours)],
    }
}

fn replies<'a>(answers: &'a Answers, who: &str) -> Result<Vec<(&'a [u8], Reply)>, String> {
    answers.replies().map_err(|error| format!("{who}, {error}"))
}

/// One reply, and its bytes where the other means the same and is written otherwise.
fn show(report: &mut String, who: &str, (bytes, reply): &(&[u8], Reply), other: &(&[u8], Reply)) {
    let mut lines = reply.lines();
    let left_out = lines.len().saturating_sub(LINES_SHOWN_MAX);
    if left_out > 0 {
        lines.truncate(LINES_SHOWN_MAX);
        lines.push(format!("and {left_out} lines more"));
    }
    let said = lines.join("\n                ");
    let as_sent = if *reply == other.1 { format!("\n                in bytes {}", quoting::quote(bytes)) } else { String::new() };
    writeln!(report, "  {who}  {said}{as_sent}").expect("a String takes everything");
}

/// What of a sequence bears on its replies.
struct About {
    /// A deadline depends on the time of the request.
    spans: bool,
    /// A key may have been written with a deadline in the past.
    dead_keys: bool,
}

impl About {
    fn new(requests: &[Said]) -> About {
        let is_absolute = |word: &Vec<u8>| word.eq_ignore_ascii_case(b"exat") || word.eq_ignore_ascii_case(b"pxat");
        About {
            spans: requests.iter().any(|said| values::sets_span(&said.words)),
            dead_keys: requests.iter().flat_map(|said| &said.words).any(is_absolute),
        }
    }
}

/// Differences by intention: what the command is, why, and how the replies differ.
type Listed = (&'static [u8], &'static str, fn(request: &[Vec<u8>], theirs: &Reply, ours: &Reply) -> bool);

const LISTED: &[Listed] = &[
    (b"bitcount", "since 7.2 arguments are looked at although the key is missing", is_mistake_unnoticed),
    (b"bitpos", "since 7.2 arguments are looked at although the key is missing", is_mistake_unnoticed),
    (b"command", "GETKEYS of a command that does not exist here", is_of_a_command_unknown_here),
    (
        b"object",
        "REFCOUNT: whether a small integer or, within a transaction, a request shares the value is not kept track of",
        is_shared,
    ),
];

fn is_of_a_command_unknown_here(request: &[Vec<u8>], _: &Reply, ours: &Reply) -> bool {
    let is_unknown = request.get(2).is_some_and(|name| table().lookup(name).is_none());
    is_unknown && *ours == Reply::Error(b"ERR Invalid command specified".to_vec())
}

fn is_shared(_: &[Vec<u8>], theirs: &Reply, ours: &Reply) -> bool {
    const SHARED: i64 = i32::MAX as i64;
    // Within a transaction the request that wrote the value still holds it.
    matches!((theirs, ours), (Reply::Int(1), Reply::Int(SHARED)) | (Reply::Int(2), Reply::Int(1)))
}

fn is_mistake_unnoticed(_: &[Vec<u8>], theirs: &Reply, ours: &Reply) -> bool {
    matches!((theirs, ours), (Reply::Int(0 | -1), Reply::Error(_)))
}

fn is_listed(request: &[Vec<u8>], theirs: &Reply, ours: &Reply) -> bool {
    LISTED.iter().any(|(name, _, differ)| request[0].eq_ignore_ascii_case(name) && differ(request, theirs, ours))
}

/// Whether two replies that are not the same say the same.
fn alike(request: &[Vec<u8>], theirs: &Reply, ours: &Reply, about: &About) -> bool {
    let name = request[0].to_ascii_lowercase();
    match name.as_slice() {
        b"ttl" => are_near(theirs, ours, APART_SECONDS),
        b"pttl" => are_near(theirs, ours, APART_SECONDS * 1000),
        b"expiretime" if about.spans => are_near(theirs, ours, APART_SECONDS),
        b"pexpiretime" if about.spans => are_near(theirs, ours, APART_SECONDS * 1000),
        b"keys" => in_order(theirs).is_some_and(|theirs| Some(theirs) == in_order(ours)),
        b"scan" => is_scan_alike(request, theirs, ours),
        // redis-server counts a key that is past its deadline until something looks at it.
        b"dbsize" => about.dead_keys && matches!((theirs, ours), (Reply::Int(theirs), Reply::Int(ours)) if theirs > ours),
        b"debug" => about.dead_keys && is_digest(theirs) && is_digest(ours),
        // redis-server keeps small integers for all keys together, with the time at which any of them was last used.
        b"object" if request[1].eq_ignore_ascii_case(b"idletime") => matches!((theirs, ours), (Reply::Int(0..), Reply::Int(0..))),
        b"randomkey" => matches!((theirs, ours), (Reply::Bulk(_), Reply::Bulk(_))),
        _ => false,
    }
}

/// What DIGEST or DIGEST-VALUE answers.
fn is_digest(reply: &Reply) -> bool {
    match reply {
        Reply::Simple(digits) => digits.len() == 40,
        Reply::Aggregate { items, .. } => items.iter().all(is_digest),
        _ => false,
    }
}

fn are_near(theirs: &Reply, ours: &Reply, apart_max: u64) -> bool {
    matches!((theirs, ours), (Reply::Int(theirs), Reply::Int(ours)) if *theirs > 0 && *ours > 0 && theirs.abs_diff(*ours) <= apart_max)
}

/// The strings of an array, sorted.
fn in_order(reply: &Reply) -> Option<Vec<&[u8]>> {
    let Reply::Aggregate { kind: Kind::Array, items, .. } = reply else { return None };
    let strings: Option<Vec<&[u8]>> =
        items.iter().map(|item| if let Reply::Bulk(bytes) = item { Some(bytes.as_slice()) } else { None }).collect();
    let mut strings = strings?;
    strings.sort_unstable();
    Some(strings)
}

/// Which part of the keyspace a cursor stands for is each server's own affair: only scans from beginning to end are compared by their keys.
fn is_scan_alike(request: &[Vec<u8>], theirs: &Reply, ours: &Reply) -> bool {
    let parts = |reply: &Reply| match reply {
        Reply::Aggregate { kind: Kind::Array, items, .. } => match items.as_slice() {
            [Reply::Bulk(cursor), keys] => {
                Some((cursor == b"0", in_order(keys)?.into_iter().map(<[u8]>::to_vec).collect::<Vec<_>>()))
            }
            _ => None,
        },
        _ => None,
    };
    match (parts(theirs), parts(ours)) {
        (Some((true, theirs)), Some((true, ours))) if request[1] == b"0" => theirs == ours,
        (Some(_), Some(_)) => true,
        _ => false,
    }
}
