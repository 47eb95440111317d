//! The store against a hash map, under random operations and times.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use redlet::internals::{Cursor, Db, Deadline, Encoding, Form, Gate, Moment, Store, Target, Touch, UnixMillis, WriteLocks};

/// What the model knows of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    value: Vec<u8>,
    form: Form,
    deadline: Option<u64>,
}

type Model = HashMap<Vec<u8>, Held>;

#[derive(Clone, Debug)]
enum Step {
    Set { key: u8, value: Vec<u8>, text: bool, deadline: When },
    Edit { key: u8, len: usize, byte: u8 },
    SetDeadline { key: u8, deadline: Option<u64> },
    Remove { key: u8 },
    Copy { from: u8, to: u8 },
    Rename { from: u8, to: u8 },
    Advance { millis: u64 },
    Count,
}

/// A deadline in milliseconds from now on; 0 has passed already.
#[derive(Clone, Copy, Debug)]
enum When {
    Never,
    In(u64),
    Keep,
}

/// Values that differ in length and in how they are kept.
fn values() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string().into_bytes()),
        prop_oneof![Just("007"), Just("-0"), Just("0"), Just("9223372036854775808"), Just("+1"), Just("")]
            .prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..4),
        (40_usize..50).prop_map(|len| vec![b'x'; len]),
        // Where the length of a value takes one more byte, and where it lies elsewhere.
        prop_oneof![9 => prop_oneof![Just(28_usize), Just(29), Just(255), Just(256)], 1 => prop_oneof![Just(32_767_usize), Just(32_768), Just(65_535), Just(65_536)]]
            .prop_map(|len| vec![b'z'; len]),
        (0_usize..3000).prop_map(|len| vec![b'y'; len]),
    ]
}

fn steps() -> impl Strategy<Value = Step> {
    // Few keys, so that the steps meet.
    let key = || 0_u8..12;
    let when = || prop_oneof![Just(When::Never), Just(When::Keep), (0_u64..50).prop_map(When::In)];
    prop_oneof![
        4 => (key(), values(), any::<bool>(), when()).prop_map(|(key, value, text, deadline)| Step::Set { key, value, text, deadline }),
        3 => (key(), prop_oneof![8 => 0_usize..5, 8 => 0_usize..200, 8 => 0_usize..5000, 1 => 32_000_usize..34_000], any::<u8>())
            .prop_map(|(key, len, byte)| Step::Edit { key, len, byte }),
        2 => (key(), prop::option::of(0_u64..50)).prop_map(|(key, deadline)| Step::SetDeadline { key, deadline }),
        2 => key().prop_map(|key| Step::Remove { key }),
        1 => (key(), key()).prop_map(|(from, to)| Step::Copy { from, to }),
        1 => (key(), key()).prop_map(|(from, to)| Step::Rename { from, to }),
        2 => (0_u64..30).prop_map(|millis| Step::Advance { millis }),
        1 => Just(Step::Count),
    ]
}

/// Keys of several lengths: the empty one, and those around which the length takes more room.
fn name(key: u8) -> Vec<u8> {
    let len = match key {
        9 => 254,
        10 => 255,
        11 => 300,
        short => usize::from(short) * 3,
    };
    vec![b'a' + key; len]
}

/// The store and the model side by side.
struct Pair<'a> {
    store: &'a Store,
    gate: Gate<'a>,
    model: Model,
    now: u64,
}

impl Pair<'_> {
    fn db(&self) -> &Db {
        self.gate.db(0)
    }

    fn at(&self) -> Moment<'static> {
        Moment { now: UnixMillis(self.now), touch: Touch::Lru, observer: None }
    }

    fn forget_expired(&mut self) {
        let now = self.now;
        self.model.retain(|_, held| held.deadline.is_none_or(|deadline| deadline > now));
    }

    fn apply(&mut self, step: Step) -> Result<(), TestCaseError> {
        let now = self.now;
        match step {
            Step::Set { key, value, text, deadline } => {
                self.set(&name(key), value, if text { Form::Text } else { Form::Written }, deadline)
            }
            Step::Edit { key, len, byte } => self.edit(&name(key), len, byte)?,
            Step::SetDeadline { key, deadline } => {
                let (key, deadline) = (name(key), deadline.map(|millis| now + millis));
                let hashed = self.store.hasher().key(&key);
                self.db().write(hashed, self.at(), |slot| slot.set_deadline(deadline.map(UnixMillis)));
                if let Some(held) = self.model.get_mut(&key) {
                    held.deadline = deadline;
                }
            }
            Step::Remove { key } => {
                let key = name(key);
                let removed = self.db().write(self.store.hasher().key(&key), self.at(), |slot| slot.remove());
                prop_assert_eq!(removed, self.model.remove(&key).is_some());
            }
            Step::Copy { from, to } if from != to => self.relocate(&name(from), &name(to), true),
            Step::Rename { from, to } if from != to => self.relocate(&name(from), &name(to), false),
            Step::Copy { .. } | Step::Rename { .. } => {}
            Step::Advance { millis } => self.now += millis,
            Step::Count => self.compare_counts()?,
        }
        self.forget_expired();
        self.compare()
    }

    fn set(&mut self, key: &[u8], value: Vec<u8>, form: Form, when: When) {
        let deadline = match when {
            When::Never => Deadline::None,
            When::In(millis) => Deadline::At(UnixMillis(self.now + millis)),
            When::Keep => Deadline::Keep,
        };
        self.db().write(self.store.hasher().key(key), self.at(), |slot| slot.set_as(&value, form, deadline));
        let deadline = match when {
            When::Never => None,
            When::In(millis) => Some(self.now + millis),
            When::Keep => self.model.get(key).and_then(|held| held.deadline),
        };
        let form = self::form(value.len(), form);
        self.model.insert(key.to_vec(), Held { value, form, deadline });
    }

    fn edit(&mut self, key: &[u8], len: usize, byte: u8) -> Result<(), TestCaseError> {
        let change = |value: &mut [u8]| {
            if let Some(last) = value.last_mut() {
                *last = byte;
            }
            value.len()
        };
        let edited = self.db().write(self.store.hasher().key(key), self.at(), |slot| slot.edit(len, change));
        prop_assert_eq!(edited, len);
        let held = self.model.entry(key.to_vec()).or_insert(Held { value: Vec::new(), form: Form::Edited, deadline: None });
        held.form = form(len, Form::Edited);
        held.value.resize(len, 0);
        change(&mut held.value);
        Ok(())
    }

    fn relocate(&mut self, from: &[u8], to: &[u8], keep: bool) {
        let hasher = self.store.hasher();
        let target = |key| Target { db: self.gate.db(0), key: hasher.key(key) };
        let (source, target) = (target(from), target(to));
        let mut locks = WriteLocks::write([source, target].into_iter());
        let entry = if keep {
            locks.slot(source, self.at()).get().map(|found| found.content())
        } else {
            locks.slot(source, self.at()).take()
        };
        if let Some(entry) = entry {
            if keep { locks.slot(target, self.at()).put_copy(entry) } else { locks.slot(target, self.at()).put(entry) }
        }
        drop(locks);
        let held = if keep { self.model.get(from).cloned() } else { self.model.remove(from) };
        if let Some(held) = held {
            self.model.insert(to.to_vec(), held);
        }
    }

    /// Every key, one by one.
    fn compare(&self) -> Result<(), TestCaseError> {
        for key in (0..12).map(name) {
            self.db().read(self.store.hasher().key(&key), self.at(), |found| {
                let expected = self.model.get(&key);
                let actual = found.map(|found| Held {
                    value: found.value().to_vec(),
                    form: form(found.value().len(), found.form()),
                    deadline: found.deadline().map(|deadline| deadline.0),
                });
                prop_assert_eq!(actual.as_ref(), expected);
                prop_assert_eq!(found.map(|found| found.encoding()), expected.map(encoding));
                Ok(())
            })?;
        }
        Ok(())
    }

    /// The keyspace as a whole: counting, walking, scanning, drawing.
    fn compare_counts(&mut self) -> Result<(), TestCaseError> {
        self.forget_expired();
        let now = UnixMillis(self.now);
        let mut walked = Vec::new();
        self.db().for_each(now, |key, _| walked.push(key.to_vec()));
        let mut scanned = Vec::new();
        prop_assert_eq!(self.db().scan(Cursor(0), usize::MAX, now, |key, _| scanned.push(key.to_vec())), Cursor(0));
        let mut expected: Vec<_> = self.model.keys().cloned().collect();
        for keys in [&mut walked, &mut scanned, &mut expected] {
            keys.sort();
        }
        prop_assert_eq!(&walked, &expected);
        prop_assert_eq!(&scanned, &expected);
        let drawn = self.db().random_key(self.at(), <[u8]>::to_vec);
        prop_assert_eq!(drawn.is_some(), !expected.is_empty());
        prop_assert!(drawn.is_none_or(|key| self.model.contains_key(&key)));
        prop_assert_eq!(self.db().len(self.at()), self.model.len());
        // Counting has removed what has expired, so that only living deadlines are left.
        prop_assert_eq!(self.db().volatile(), self.model.values().filter(|held| held.deadline.is_some()).count());
        let earliest = self.model.values().filter_map(|held| held.deadline).min();
        // The bound may lie too low, which costs a look, but never too high, which would keep what has expired.
        prop_assert!(earliest.is_none_or(|earliest| self.db().next_deadline().is_some_and(|bound| bound.0 <= earliest)));
        Ok(())
    }
}

/// How a value of `len` bytes came to be. Nothing tells for a large one.
fn form(len: usize, form: Form) -> Form {
    if len >= 32 * 1024 { Form::Text } else { form }
}

/// What OBJECT ENCODING has to say, found in another way than the store's.
fn encoding(held: &Held) -> Encoding {
    let text = std::str::from_utf8(&held.value).unwrap_or_default();
    let is_integer = text.parse::<i64>().is_ok_and(|number| number.to_string() == text);
    match held.form {
        Form::Edited => Encoding::Raw,
        Form::Written if is_integer => Encoding::Int,
        Form::Written | Form::Text if held.value.len() <= 44 => Encoding::EmbStr,
        Form::Written | Form::Text => Encoding::Raw,
    }
}

#[test]
fn the_store_does_what_a_hash_map_does() {
    crate::seeded::check(200, prop::collection::vec(steps(), 1..150), |steps| {
        // Few shards, so that several keys share one.
        let store = Store::new(1, 2);
        let mut pair = Pair { store: &store, gate: store.enter(), model: Model::new(), now: 1_700_000_000_000 };
        for step in steps {
            pair.apply(step)?;
        }
        pair.compare_counts()
    });
}

#[test]
fn a_sweep_removes_what_is_due_and_nothing_else() {
    let store = Store::new(1, 4);
    let gate = store.enter();
    let db = gate.db(0);
    let at = |now| Moment { now: UnixMillis(now), touch: Touch::No, observer: None };
    for number in 0..1000_u64 {
        let deadline = if number % 2 == 0 { Deadline::At(UnixMillis(number + 1)) } else { Deadline::None };
        db.write(store.hasher().key(&number.to_le_bytes()), at(0), |slot| slot.set(b"v", deadline));
    }
    let mut sweep = redlet::internals::Sweep::default();
    assert!(!db.sweep(&mut sweep, at(500), || false), "one slice is not a round");
    while !db.sweep(&mut sweep, at(500), || false) {}
    assert_eq!(db.expired(), 250);
    assert_eq!(db.volatile(), 250);
    assert_eq!(db.next_deadline(), Some(UnixMillis(501)));
    assert_eq!(db.len(at(0)), 750);
}
