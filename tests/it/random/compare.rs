//! Which replies count as equal: the same bytes, except where a clock, chance or the order of a hash table has its say.

use std::fmt::Write as _;

use redlet::internals::table;

use super::counters;
use super::pair::{Answers, Played};
use super::sequence::line;
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
    let mut report = String::new();
    let mut counts_differ = played.requests.iter().zip(&ours).any(|(request, ours)| counters::is_excused(request, &ours.1));
    for (request, (theirs, ours)) in played.requests.iter().zip(theirs.iter().zip(&ours)) {
        if theirs.0 == ours.0 || alike(request, &theirs.1, &ours.1, &about) {
            continue;
        }
        if counters::is_asked(request) {
            let is_excused = counts_differ || about.dead_keys;
            if !is_excused && !counters::are_alike(&theirs.1, &ours.1) {
                writeln!(report, "> {}", line(request)).expect("a String takes everything");
                report.push_str(&counters::difference(&theirs.1, &ours.1));
            }
        } else if is_listed(request, &theirs.1, &ours.1) {
            // What is answered otherwise by intention is counted otherwise.
            counts_differ = true;
        } else {
            writeln!(report, "> {}", line(request)).expect("a String takes everything");
            show(&mut report, "redis-server", theirs, ours);
            show(&mut report, "ours        ", ours, theirs);
        }
    }
    if report.is_empty() { Ok(()) } else { Err(report) }
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
    fn new(requests: &[Vec<Vec<u8>>]) -> About {
        let is_absolute = |word: &Vec<u8>| word.eq_ignore_ascii_case(b"exat") || word.eq_ignore_ascii_case(b"pxat");
        About {
            spans: requests.iter().any(|request| values::sets_span(request)),
            dead_keys: requests.iter().flatten().any(is_absolute),
        }
    }
}

/// Differences by intention: what the command is, why, and how the replies differ.
type Listed = (&'static [u8], &'static str, fn(request: &[Vec<u8>], theirs: &Reply, ours: &Reply) -> bool);

const LISTED: &[Listed] = &[
    (b"bitcount", "since 7.2 arguments are looked at although the key is missing", is_mistake_unnoticed),
    (b"bitpos", "since 7.2 arguments are looked at although the key is missing", is_mistake_unnoticed),
    (b"command", "GETKEYS of a command that does not exist here", is_of_a_command_unknown_here),
    (b"object", "REFCOUNT: whether a copy of a small integer shares it is not kept track of here", is_shared_or_not),
];

fn is_of_a_command_unknown_here(request: &[Vec<u8>], _: &Reply, ours: &Reply) -> bool {
    let is_unknown = request.get(2).is_some_and(|name| table().lookup(name).is_none());
    is_unknown && *ours == Reply::Error(b"ERR Invalid command specified".to_vec())
}

fn is_shared_or_not(_: &[Vec<u8>], theirs: &Reply, ours: &Reply) -> bool {
    const SHARED: i64 = i32::MAX as i64;
    matches!((theirs, ours), (Reply::Int(1), Reply::Int(SHARED)))
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
