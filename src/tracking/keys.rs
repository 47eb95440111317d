//! Which clients may have cached which keys: a table of a bounded number of keys. Must not know how anybody is told.

use std::collections::HashMap;
use std::sync::Arc;

use crate::store::{Key, random_below};

/// The keys by their names: those of all databases under one, as clients know them.
#[derive(Debug, Default)]
pub(super) struct Keys {
    readers: HashMap<Arc<[u8]>, Readers>,
    /// All of them once more, so that one can be chosen at random.
    names: Vec<Arc<[u8]>>,
    /// How many readers the keys have.
    items: usize,
}

/// A key that has left the table.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) name: Arc<[u8]>,
    pub(super) hash: u64,
    /// The clients that have read it, in the order of their ids. Some may have gone.
    pub(super) ids: Vec<u64>,
}

#[derive(Debug)]
struct Readers {
    ids: Vec<u64>,
    hash: u64,
    /// The key's place among the names.
    place: usize,
}

impl Keys {
    /// Notes that a client reads a key. Whether the key is a new one. Clients of which `is_there` does not know are forgotten on
    /// occasion: who comes, reads and goes leaves nothing that adds up.
    pub(super) fn add(&mut self, key: Key<'_>, id: u64, is_there: impl Fn(u64) -> bool) -> bool {
        if let Some(Readers { ids, .. }) = self.readers.get_mut(key.bytes()) {
            if let Err(place) = ids.binary_search(&id) {
                let before = ids.len();
                if before == ids.capacity() {
                    ids.retain(|&id| is_there(id));
                }
                let place = if ids.len() == before { place } else { ids.partition_point(|&other| other < id) };
                ids.insert(place, id);
                self.items = self.items + ids.len() - before;
            }
            return false;
        }
        let name: Arc<[u8]> = key.bytes().into();
        self.readers.insert(Arc::clone(&name), Readers { ids: vec![id], hash: key.hash(), place: self.names.len() });
        self.names.push(name);
        self.items += 1;
        true
    }

    /// Takes a key out, if it is there.
    pub(super) fn take(&mut self, name: &[u8]) -> Option<Taken> {
        let (name, Readers { ids, hash, place }) = self.readers.remove_entry(name)?;
        self.names.swap_remove(place);
        if let Some(moved) = self.names.get(place).and_then(|moved| self.readers.get_mut(moved)) {
            moved.place = place;
        }
        self.items -= ids.len();
        Some(Taken { name, hash, ids })
    }

    /// Takes out a key that chance chooses.
    pub(super) fn take_any(&mut self) -> Option<Taken> {
        let name = Arc::clone(self.names.get(random_below(self.names.len()))?);
        self.take(&name)
    }

    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// How many readers they have, all together.
    pub(super) fn items(&self) -> usize {
        self.items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key<'_> {
        Key::with_hash(name.as_bytes(), name.len() as u64)
    }

    #[test]
    fn a_key_knows_its_readers_until_it_is_taken() {
        let mut keys = Keys::default();
        assert!(keys.add(key("a"), 7, |_| true) && !keys.add(key("a"), 3, |_| true) && !keys.add(key("a"), 7, |_| true));
        assert!(keys.add(key("bb"), 7, |_| true));
        assert_eq!((keys.len(), keys.items()), (2, 3));
        assert_eq!(keys.take(b"a"), Some(Taken { name: b"a".as_slice().into(), hash: 1, ids: vec![3, 7] }));
        assert_eq!(keys.take(b"a"), None);
        assert_eq!(keys.take_any().map(|taken| taken.hash), Some(2), "the only one that is left");
        assert_eq!(keys.take_any(), None);
        assert_eq!((keys.len(), keys.items()), (0, 0));
    }

    #[test]
    fn any_key_may_be_chosen_and_the_others_keep_their_places() {
        let mut keys = Keys::default();
        let names: Vec<String> = (0..100).map(|number| format!("key{number}")).collect();
        names.iter().for_each(|name| assert!(keys.add(key(name), 1, |_| true)));
        let mut taken: Vec<_> = std::iter::from_fn(|| keys.take_any()).map(|taken| taken.name).collect();
        assert!(taken.windows(2).any(|pair| pair[0] > pair[1]), "in no order");
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), names.len());
    }

    #[test]
    fn readers_that_have_gone_do_not_add_up() {
        let mut keys = Keys::default();
        for id in 0..10_000 {
            keys.add(key("hot"), id, |other| other + 3 > id);
        }
        assert!(keys.items() < 20, "{}", keys.items());
        let taken = keys.take(b"hot").map(|taken| taken.ids).unwrap_or_default();
        assert!(taken.is_sorted() && taken.ends_with(&[9_998, 9_999]), "{taken:?}");
        assert_eq!(keys.items(), 0);
    }
}
