//! Which replies count as equal: the same bytes, except where a clock, chance or the order of a hash table has its say.

use std::fmt::Write as _;

use super::pair::{Answers, Played};
use super::sequence::line;
use super::values;
use crate::quoting;
use crate::reply::{Kind, Reply};

/// How far two clocks may be read apart, in seconds: a machine may be busy with something else in between.
const APART_SECONDS: u64 = 10;

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
    let spans = played.requests.iter().any(|request| values::sets_span(request));
    let mut report = String::new();
    for (request, (theirs, ours)) in played.requests.iter().zip(theirs.iter().zip(&ours)) {
        if theirs.0 != ours.0 && !alike(request, &theirs.1, &ours.1, spans) {
            writeln!(report, "> {}", line(request)).expect("a String takes everything");
            show(&mut report, "redis-server", theirs);
            show(&mut report, "ours        ", ours);
        }
    }
    if report.is_empty() { Ok(()) } else { Err(report) }
}

fn replies<'a>(answers: &'a Answers, who: &str) -> Result<Vec<(&'a [u8], Reply)>, String> {
    answers.replies().map_err(|error| format!("{who}, {error}"))
}

fn show(report: &mut String, who: &str, (bytes, reply): &(&[u8], Reply)) {
    let said = reply.lines().join("\n                ");
    writeln!(report, "  {who}  {said}\n                in bytes {}", quoting::quote(bytes)).expect("a String takes everything");
}

/// Whether two replies that are not the same say the same.
fn alike(request: &[Vec<u8>], theirs: &Reply, ours: &Reply, spans: bool) -> bool {
    let name = request[0].to_ascii_lowercase();
    match name.as_slice() {
        b"ttl" => are_near(theirs, ours, APART_SECONDS),
        b"pttl" => are_near(theirs, ours, APART_SECONDS * 1000),
        b"expiretime" if spans => are_near(theirs, ours, APART_SECONDS),
        b"pexpiretime" if spans => are_near(theirs, ours, APART_SECONDS * 1000),
        b"keys" => in_order(theirs).is_some_and(|theirs| Some(theirs) == in_order(ours)),
        b"scan" => is_scan_alike(theirs, ours),
        b"randomkey" => matches!((theirs, ours), (Reply::Bulk(_), Reply::Bulk(_))),
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

/// Which part of the keyspace a cursor stands for is each server's own affair: only scans that end are compared by their keys.
fn is_scan_alike(theirs: &Reply, ours: &Reply) -> bool {
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
        (Some((true, theirs)), Some((true, ours))) => theirs == ours,
        (Some(_), Some(_)) => true,
        _ => false,
    }
}
