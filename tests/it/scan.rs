//! SCAN's guarantee while the keyspace grows, shrinks and loses keys; RANDOMKEY's chances.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use redlet::internals::{Cursor, Db, Deadline, Moment, Store, Touch, UnixMillis};

/// What happens between two calls of SCAN.
#[derive(Clone, Debug)]
enum Step {
    /// So many new keys.
    Add(usize),
    /// Every key but one in so many goes.
    Thin(usize),
    /// So many keys come and go again, which leaves slots that were used.
    Churn(usize),
    /// A call with this COUNT.
    Scan(usize),
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (1_usize..400).prop_map(Step::Add),
        1 => (2_usize..40).prop_map(Step::Thin),
        1 => (1_usize..300).prop_map(Step::Churn),
        6 => (1_usize..30).prop_map(Step::Scan),
    ]
}

const AT: Moment<'static> = Moment { now: UnixMillis(1_000_000), touch: Touch::No, observer: None };

struct Scanned<'a> {
    store: &'a Store,
    db: &'a Db,
    /// Numbers of the keys that are there.
    present: HashSet<u64>,
    /// Those among them that were there when the scan began and have been ever since.
    throughout: HashSet<u64>,
    returned: HashSet<u64>,
    next: u64,
    cursor: Cursor,
}

impl Scanned<'_> {
    fn add(&mut self) {
        let number = self.next;
        self.next += 1;
        self.present.insert(number);
        self.db.write(self.store.hasher().key(&number.to_le_bytes()), AT, |slot| slot.set(b"v", Deadline::None));
    }

    fn remove(&mut self, number: u64) {
        self.present.remove(&number);
        self.throughout.remove(&number);
        assert!(self.db.write(self.store.hasher().key(&number.to_le_bytes()), AT, |slot| slot.remove()));
    }

    fn apply(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Add(count) => (0..count).for_each(|_| self.add()),
            Step::Thin(kept) => {
                let doomed: Vec<_> = self.present.iter().copied().filter(|number| number % kept as u64 != 0).collect();
                doomed.into_iter().for_each(|number| self.remove(number));
            }
            Step::Churn(count) => {
                let first = self.next;
                (0..count).for_each(|_| self.add());
                (first..self.next).for_each(|number| self.remove(number));
            }
            Step::Scan(count) => self.scan(count)?,
        }
        Ok(())
    }

    fn scan(&mut self, count: usize) -> Result<(), TestCaseError> {
        let mut got = Vec::new();
        self.cursor = self.db.scan(self.cursor, count, AT.now, |key, _| got.push(number(key)));
        for number in got {
            prop_assert!(self.present.contains(&number), "a key that is not there");
            self.returned.insert(number);
        }
        if self.cursor == Cursor(0) {
            let missed: Vec<_> = self.throughout.difference(&self.returned).collect();
            prop_assert!(missed.is_empty(), "{} of {} keys missed", missed.len(), self.throughout.len());
            self.throughout.clone_from(&self.present);
            self.returned.clear();
        }
        Ok(())
    }
}

fn number(key: &[u8]) -> u64 {
    u64::from_le_bytes(key.try_into().expect("keys of this test are eight bytes long"))
}

#[test]
fn scan_returns_every_key_that_is_there_throughout() {
    let start = (0_usize..2000, prop::collection::vec(steps(), 1..120));
    crate::seeded::check(100, start, |(keys, steps)| {
        let store = Store::new(1, 2);
        let gate = store.enter();
        let mut scanned = Scanned {
            store: &store,
            db: gate.db(0),
            present: HashSet::new(),
            throughout: HashSet::new(),
            returned: HashSet::new(),
            next: 0,
            cursor: Cursor(0),
        };
        (0..keys).for_each(|_| scanned.add());
        scanned.throughout.clone_from(&scanned.present);
        for step in &steps {
            scanned.apply(step)?;
        }
        // Whatever the number of keys, so many calls of ten keys end a scan of tables that are an eighth full or more.
        let calls = scanned.present.len() * 8 / 10 + 200;
        for _ in 0..calls {
            scanned.scan(10)?;
            if scanned.cursor == Cursor(0) {
                return Ok(());
            }
        }
        Err(TestCaseError::fail("the scan does not end"))
    });
}

#[test]
fn a_call_of_scan_is_bounded_and_any_number_is_a_cursor() {
    let store = Store::new(1, 2);
    let gate = store.enter();
    let db = gate.db(0);
    for number in 0..10_000_u64 {
        db.write(store.hasher().key(&number.to_le_bytes()), AT, |slot| slot.set(b"v", Deadline::None));
    }
    crate::seeded::check(1000, (any::<u64>(), 1_usize..50), |(cursor, count)| {
        let mut seen = 0;
        let next = db.scan(Cursor(cursor), count, AT.now, |_, _| seen += 1);
        // The last position visited may hold a few more than one key.
        prop_assert!(seen <= count + 20, "{} keys", seen);
        prop_assert_ne!(next, Cursor(cursor));
        Ok(())
    });
}

/// Draws so many keys and counts how often each came.
fn draw(db: &Db, draws: usize) -> HashMap<u64, usize> {
    let mut counts = HashMap::new();
    for _ in 0..draws {
        *counts.entry(db.random_key(AT, number).expect("there are keys")).or_default() += 1;
    }
    counts
}

#[track_caller]
fn check_chances(keys: usize, shards: usize) {
    const EXPECTED: usize = 50;
    let store = Store::new(1, shards);
    let gate = store.enter();
    let db = gate.db(0);
    for number in 0..keys as u64 {
        db.write(store.hasher().key(&number.to_le_bytes()), AT, |slot| slot.set(b"v", Deadline::None));
        // As many keys that have expired must not get in the way.
        let expired = Deadline::At(UnixMillis(AT.now.0 - 1));
        db.write(store.hasher().key(&(number + (1 << 32)).to_le_bytes()), AT, |slot| slot.set(b"v", expired));
    }
    let counts = draw(db, keys * EXPECTED);
    assert!(counts.keys().all(|&number| number < keys as u64), "an expired key");
    // Pearson's statistic has a mean of `keys` and a standard deviation of its square root times 1.4: seven of those are allowed.
    let square = |number| (counts.get(&number).copied().unwrap_or_default() as f64 - EXPECTED as f64).powi(2) / EXPECTED as f64;
    let statistic: f64 = (0..keys as u64).map(square).sum();
    let allowed = keys as f64 + 10.0 * (keys as f64).sqrt();
    assert!(statistic < allowed, "{keys} keys in {shards} shards: {statistic} instead of about {keys}, at most {allowed}");
}

#[test]
fn a_random_key_is_each_key_with_the_same_chance() {
    check_chances(1, 2);
    check_chances(10, 64);
    check_chances(300, 64);
    check_chances(3000, 8);
}

#[test]
fn there_is_no_random_key_when_all_have_expired() {
    let store = Store::new(1, 4);
    let gate = store.enter();
    let db = gate.db(0);
    assert_eq!(db.random_key(AT, number), None);
    for number in 0..5000_u64 {
        let deadline = Deadline::At(UnixMillis(AT.now.0 + 1));
        db.write(store.hasher().key(&number.to_le_bytes()), AT, |slot| slot.set(b"v", deadline));
    }
    assert!(db.random_key(AT, number).is_some());
    assert_eq!(db.random_key(Moment { now: UnixMillis(AT.now.0 + 1), ..AT }, number), None);
    assert_eq!(db.len(AT), 0, "what had expired was removed on the way");
}
