//! Writes the replies of a real redis-server into the corpus, so that writing a transcript means writing requests.
//! Runs only when asked for with `REDLET_RECORD`. Replies that already hold, `any` and `glob` among them, stay as they are.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::differences::Differences;
use crate::frame;
use crate::play::{Heard, Peer, all_match, greet, id};
use crate::reply::{Kind, Protocol, Reply};
use crate::stage::on_threads;
use crate::transcript::{Say, Step, Transcript};

/// How long a first reply is waited for before a request counts as unanswered.
const FIRST_PATIENCE: Duration = Duration::from_millis(400);

/// How long a further reply to the same request is waited for.
const FURTHER_PATIENCE: Duration = Duration::from_millis(3);

/// The replies to one request, and the protocol they came in.
struct Take {
    protocol: Protocol,
    replies: Vec<Vec<u8>>,
}

/// Rewrites the reply lines of every file where the real server answers otherwise.
pub(crate) fn record<P: Peer>(corpus: &[Transcript], differences: &Differences, new_peer: impl Fn() -> P + Sync) {
    on_threads(corpus, |transcript| {
        if differences.lists_file(&transcript.name()) {
            return;
        }
        let takes: Vec<Vec<Take>> = transcript
            .protocols()
            .into_iter()
            .map(|protocol| {
                listen(transcript, protocol, &mut new_peer())
                    .unwrap_or_else(|error| panic!("{} in {protocol:?}: {error}", transcript.name()))
            })
            .collect();
        rewrite(transcript, &takes, differences);
    });
}

/// Plays a transcript without judging it: one take for each request.
fn listen(transcript: &Transcript, protocol: Protocol, peer: &mut dyn Peer) -> Result<Vec<Take>, String> {
    let mut takes = Vec::new();
    let mut conn = "main".to_owned();
    let mut spoken = BTreeMap::new();
    let mut ids = BTreeMap::new();
    let mut enter = |peer: &mut dyn Peer, conn: &str, spoken: &mut BTreeMap<String, Protocol>| {
        if !spoken.contains_key(conn) {
            greet(peer, conn, protocol)?;
            spoken.insert(conn.to_owned(), protocol);
            if transcript.names_ids() {
                ids.insert(conn.to_owned(), id(peer, conn)?);
            }
        }
        Ok::<_, String>(ids.clone())
    };
    enter(peer, &conn, &mut spoken)?;
    for step in &transcript.steps {
        match step {
            Step::Say(say) => {
                let bytes = say.bytes_with(&enter(peer, &conn, &mut spoken)?)?;
                if !bytes.is_empty() {
                    peer.send(&conn, &bytes);
                }
                takes.push(Take { protocol: spoken[&conn], replies: all_replies(peer, &conn) });
            }
            Step::Conn(name) => {
                conn.clone_from(name);
                enter(peer, &conn, &mut spoken)?;
            }
            Step::Advance(by) => peer.advance(*by),
            Step::Switched(protocol) => {
                spoken.insert(conn.clone(), *protocol);
            }
            Step::Closed => {
                peer.forget(&conn);
                spoken.remove(&conn);
            }
        }
    }
    Ok(takes)
}

fn all_replies(peer: &mut dyn Peer, conn: &str) -> Vec<Vec<u8>> {
    let mut replies = Vec::new();
    let mut patience = FIRST_PATIENCE;
    while let Heard::Reply(bytes) = peer.receive(conn, patience) {
        replies.push(bytes);
        patience = FURTHER_PATIENCE;
    }
    replies
}

fn rewrite(transcript: &Transcript, takes: &[Vec<Take>], differences: &Differences) {
    let mut replacements: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (index, say) in transcript.says().enumerate() {
        let takes: Vec<&Take> = takes.iter().map(|takes| &takes[index]).collect();
        let kept = |take: &&Take| {
            let listed = differences.listed(&transcript.name(), say, take.protocol).is_some();
            listed || holds(say, take)
        };
        if !takes.iter().all(kept) {
            replacements.insert(say.line, lines(&takes));
        }
    }
    if replacements.is_empty() {
        return;
    }
    let old = std::fs::read_to_string(&transcript.path).expect("it was read a moment ago");
    let mut new = String::new();
    let mut replaced = false;
    for (index, line) in old.lines().enumerate() {
        if line.starts_with('<') && replaced {
            continue;
        }
        new.push_str(line);
        new.push('\n');
        if line.starts_with(['>', '@']) {
            let lines = replacements.get(&(index + 1));
            replaced = lines.is_some();
            lines.into_iter().flatten().for_each(|line| {
                new.push_str(line);
                new.push('\n');
            });
        }
    }
    std::fs::write(&transcript.path, new).expect("the corpus can be written");
}

fn holds(say: &Say, take: &Take) -> bool {
    let expected = say.expected.replies(take.protocol);
    expected.is_ok_and(|expected| all_match(&expected, &take.replies, take.protocol))
}

/// The lines for what was heard: one notation for both protocols where one encodes to both, else one for each.
fn lines(takes: &[&Take]) -> Vec<String> {
    let decoded: Vec<Vec<Reply>> = takes.iter().map(|take| take.replies.iter().map(|reply| decode(reply)).collect()).collect();
    if let ([resp2, resp3], [take2, take3]) = (decoded.as_slice(), takes) {
        let merged: Vec<Reply> = resp2.iter().zip(resp3).map(|(resp2, resp3)| merge(resp2, resp3)).collect();
        if !all_match(&merged, &take2.replies, take2.protocol) || !all_match(&merged, &take3.replies, take3.protocol) {
            return [written("<2", resp2), written("<3", resp3)].concat();
        }
        return written("<", &merged);
    }
    decoded.iter().flat_map(|replies| written("<", replies)).collect()
}

fn written(prefix: &str, replies: &[Reply]) -> Vec<String> {
    replies.iter().flat_map(Reply::lines).map(|line| format!("{prefix} {line}")).collect()
}

fn decode(bytes: &[u8]) -> Reply {
    let (_, reply) = frame::decode(bytes).ok().flatten().expect("receive hands over whole replies");
    reply
}

/// RESP3 says more, but a missing array only RESP2 tells from other nulls. Elements that two servers send in two orders have none.
fn merge(resp2: &Reply, resp3: &Reply) -> Reply {
    match (resp2, resp3) {
        (Reply::NilArray, Reply::Nil) => Reply::NilArray,
        (_, Reply::Aggregate { kind: Kind::Attribute, items, .. }) => {
            let mut items = items.clone();
            if let Some(last) = items.last_mut() {
                *last = merge(resp2, last);
            }
            Reply::Aggregate { kind: Kind::Attribute, items, any_order: false }
        }
        (Reply::Aggregate { items: items2, .. }, Reply::Aggregate { kind, items, .. }) if items2.len() == items.len() => {
            let any_order = items2 != items && items.iter().all(|item| items2.contains(item));
            if any_order {
                return Reply::Aggregate { kind: *kind, items: items.clone(), any_order };
            }
            let items = items2.iter().zip(items).map(|(resp2, resp3)| merge(resp2, resp3)).collect();
            Reply::Aggregate { kind: *kind, items, any_order }
        }
        _ => resp3.clone(),
    }
}
