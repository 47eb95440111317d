//! The numbered databases, and the gate through which every batch enters them.
//!
//! A batch enters with others; what concerns the keyspace as a whole enters alone. So a command over all databases is atomic without
//! a lock of every shard, and the order of databases can change under nobody's feet.

use std::ops::Deref;
use std::sync::{OnceLock, PoisonError};

use crossbeam_utils::sync::{ShardedLock, ShardedLockReadGuard, ShardedLockWriteGuard};

use super::{Db, Hasher};

/// All databases.
#[derive(Debug)]
pub struct Store {
    /// A lock in several parts: a thread that enters with others writes to the memory of its own part only.
    databases: ShardedLock<Databases>,
    hasher: Hasher,
}

/// The databases as one sees them through the gate.
#[derive(Debug)]
pub struct Databases {
    list: Vec<OnceLock<Box<Db>>>,
    shards: usize,
    hasher: Hasher,
}

/// How a batch stands within the keyspace.
pub enum Gate<'a> {
    /// Together with others.
    Shared(ShardedLockReadGuard<'a, Databases>),
    /// With nobody else.
    Alone(ShardedLockWriteGuard<'a, Databases>),
}

impl Store {
    /// `count` databases of `shards` shards each, a power of two of at least 2. None is made before it is used.
    pub fn new(count: usize, shards: usize) -> Self {
        let hasher = Hasher::new();
        let list = (0..count).map(|_| OnceLock::new()).collect();
        Self { databases: ShardedLock::new(Databases { list, shards, hasher: hasher.clone() }), hasher }
    }

    /// The hash of the keyspace.
    pub fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    /// Enters together with others.
    pub fn enter(&self) -> Gate<'_> {
        Gate::Shared(self.databases.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Enters when all others have left, and keeps them out.
    pub fn enter_alone(&self) -> Gate<'_> {
        Gate::Alone(self.databases.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Deref for Gate<'_> {
    type Target = Databases;

    fn deref(&self) -> &Databases {
        match self {
            Self::Shared(databases) => databases,
            Self::Alone(databases) => databases,
        }
    }
}

impl Gate<'_> {
    /// The databases to be changed as a whole. Dispatch enters alone for every command with the flag `ALONE`.
    pub fn alone(&mut self) -> &mut Databases {
        match self {
            Self::Alone(databases) => databases,
            Self::Shared(_) => unreachable!("a command that changes the databases as a whole bears the flag ALONE"),
        }
    }
}

impl Databases {
    /// How many databases there are: `databases`.
    pub fn count(&self) -> usize {
        self.list.len()
    }

    /// A database, made when it was not yet used. The index has been checked against [`Self::count`].
    #[inline]
    pub fn db(&self, index: usize) -> &Db {
        self.list[index].get_or_init(|| Box::new(Db::new(index, self.shards, self.hasher.clone())))
    }

    /// The databases that have been used, with their indices.
    pub fn used(&self) -> impl Iterator<Item = (usize, &Db)> {
        self.list.iter().filter_map(|db| db.get().map(|db| (db.index, &**db)))
    }

    /// Exchanges two databases.
    pub fn swap(&mut self, a: usize, b: usize) {
        self.list.swap(a, b);
        for index in [a, b] {
            if let Some(db) = self.list[index].get_mut() {
                db.index = index;
            }
        }
    }

    /// Takes a database's contents out and leaves it empty. The caller drops them, which may take long, outside the gate.
    pub fn take(&mut self, index: usize) -> Option<Box<Db>> {
        self.list[index].take()
    }
}
