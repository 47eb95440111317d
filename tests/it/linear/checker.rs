//! Whether a history could have happened one command at a time: the search of Wing and Gong, with Lowe's memory of where it has been.
//!
//! A command took effect at some moment between its call and its return, and one client's commands in their order. The search tries
//! every client's next command that no other unfinished command has returned before, and gives up on a place it has seen already.

use std::collections::HashSet;

use super::model::{Op, State};

/// A command that one client ran, and when by a clock that all clients share.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) op: Op,
    /// Before the request was sent.
    pub(crate) called: u64,
    /// After the reply was there.
    pub(crate) returned: u64,
    /// The reply, in normal form.
    pub(crate) reply: Vec<u8>,
}

/// What each client did, in its order.
pub(crate) type History = Vec<Vec<Event>>;

/// How many commands of each client have taken effect, and what is stored then.
type Place = (Vec<usize>, State);

/// Looks for an order that explains every reply, from an empty keyspace on. If there is none, says how many commands of each client
/// some order explains: the most of all.
pub(crate) fn linearize(history: &History) -> Result<(), Vec<usize>> {
    let mut seen: HashSet<Place> = HashSet::new();
    let mut furthest = vec![0; history.len()];
    let mut open: Vec<Place> = vec![(vec![0; history.len()], State::default())];
    while let Some((done, state)) = open.pop() {
        let next = || history.iter().zip(&done).enumerate().filter_map(|(client, (events, at))| Some((client, events.get(*at)?)));
        // Whatever was called after this took effect after it as well.
        let Some(first_return) = next().map(|(_, event)| event.returned).min() else {
            return Ok(());
        };
        if done.iter().sum::<usize>() > furthest.iter().sum() {
            furthest.clone_from(&done);
        }
        for (client, event) in next().filter(|(_, event)| event.called < first_return) {
            let mut state = state.clone();
            if event.op.apply(&mut state) != event.reply {
                continue;
            }
            let mut done = done.clone();
            done[client] += 1;
            let place = (done, state);
            if seen.insert(place.clone()) {
                open.push(place);
            }
        }
    }
    Err(furthest)
}

/// The part of a history behind which no order goes on, as a table in the order of calls.
pub(crate) fn show(history: &History, furthest: &[usize]) -> String {
    const AROUND: usize = 6;
    let part = |client: usize| {
        let events = history[client].iter().take(furthest[client] + AROUND).skip(furthest[client].saturating_sub(AROUND));
        events.map(move |event| (event.called, client, event))
    };
    let mut lines: Vec<_> = (0..history.len()).flat_map(part).collect();
    lines.sort_by_key(|(called, client, _)| (*called, *client));
    let line = |(called, client, event): &(u64, usize, &Event)| {
        let reply = String::from_utf8_lossy(&event.reply).replace("\r\n", " ");
        format!("client {client}  {called:>6}..{:<6}  {:?}  -> {reply}\n", event.returned, event.op)
    };
    lines.iter().map(line).collect()
}

mod tests {
    use super::*;

    fn event(op: Op, called: u64, returned: u64, reply: &[u8]) -> Event {
        Event { op, called, returned, reply: reply.to_vec() }
    }

    #[track_caller]
    fn check(history: History, expected: bool) {
        let found = linearize(&history);
        assert_eq!(found.is_ok(), expected, "\n{}", show(&history, &vec![0; history.len()]));
    }

    const NULL: &[u8] = b"$-1\r\n";
    const ONE: &[u8] = b"$1\r\n1\r\n";
    const TWO: &[u8] = b"$1\r\n2\r\n";
    const OK: &[u8] = b"+OK\r\n";

    #[test]
    fn one_client_must_read_what_it_wrote() {
        let write = event(Op::Set(0, b'1'), 0, 1, OK);
        check(vec![vec![write.clone(), event(Op::Get(0), 2, 3, ONE)]], true);
        check(vec![vec![write, event(Op::Get(0), 2, 3, NULL)]], false);
    }

    #[test]
    fn a_read_beside_a_write_may_see_either_but_not_first_the_new_and_then_the_old() {
        let write = vec![event(Op::Set(0, b'1'), 0, 9, OK)];
        check(vec![write.clone(), vec![event(Op::Get(0), 1, 2, NULL), event(Op::Get(0), 3, 4, ONE)]], true);
        check(vec![write.clone(), vec![event(Op::Get(0), 1, 2, ONE), event(Op::Get(0), 3, 4, NULL)]], false);
        // Nor may two clients, when the second asks after the first has heard.
        check(vec![write, vec![event(Op::Get(0), 1, 2, ONE)], vec![event(Op::Get(0), 3, 4, NULL)]], false);
    }

    #[test]
    fn a_read_after_a_write_has_returned_sees_it() {
        check(vec![vec![event(Op::Set(0, b'1'), 0, 1, OK)], vec![event(Op::Get(0), 2, 3, NULL)]], false);
    }

    #[test]
    fn an_increment_must_not_be_lost() {
        let twice = |second: &[u8]| vec![vec![event(Op::Incr(0), 0, 9, b":1\r\n")], vec![event(Op::Incr(0), 0, 9, second)]];
        check(twice(b":2\r\n"), true);
        check(twice(b":1\r\n"), false);
    }

    #[test]
    fn half_of_mset_must_not_be_seen() {
        let write = vec![event(Op::MSet(vec![(0, b'1'), (1, b'1')]), 0, 9, OK)];
        let read = |a: &[u8], b: &[u8]| vec![event(Op::MGet(vec![0, 1]), 1, 2, &[b"*2\r\n", a, b].concat())];
        check(vec![write.clone(), read(NULL, NULL)], true);
        check(vec![write.clone(), read(ONE, ONE)], true);
        check(vec![write.clone(), read(ONE, NULL)], false);
        check(vec![write, read(NULL, ONE)], false);
    }

    #[test]
    fn two_msets_must_not_be_mixed() {
        let write = |digit| vec![event(Op::MSet(vec![(0, digit), (1, digit)]), 0, 5, OK)];
        let read = |b: &[u8]| vec![event(Op::MGet(vec![0, 1]), 6, 7, &[b"*2\r\n", ONE, b].concat())];
        check(vec![write(b'1'), write(b'2'), read(ONE)], true);
        check(vec![write(b'1'), write(b'2'), read(TWO)], false);
    }

    #[test]
    fn a_renamed_key_is_never_under_both_names_nor_under_none() {
        let write = event(Op::Set(0, b'1'), 0, 1, OK);
        let rename = vec![write, event(Op::Rename(0, 1), 2, 9, OK)];
        let count = |reply: &[u8]| vec![event(Op::Exists(vec![0, 1]), 3, 4, reply)];
        check(vec![rename.clone(), count(b":1\r\n")], true);
        check(vec![rename.clone(), count(b":0\r\n")], false);
        check(vec![rename, count(b":2\r\n")], false);
    }

    #[test]
    fn a_pipeline_is_run_in_its_order() {
        let pipeline = |first: &[u8], second: &[u8]| vec![vec![event(Op::Incr(0), 0, 9, first), event(Op::Incr(0), 0, 9, second)]];
        check(pipeline(b":1\r\n", b":2\r\n"), true);
        check(pipeline(b":2\r\n", b":1\r\n"), false);
    }
}
