//! What can happen to a key, and who is told of it. Must not know why anybody wants to know.

use super::Key;

/// Something that happened to a key, as `notify-keyspace-events` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its name.
    pub name: &'static str,
    /// The letter of its class.
    pub class: u8,
}

impl Event {
    /// A key came to be. What made it is told as well.
    pub const NEW: Self = Self { name: "new", class: b'n' };
    /// A key was looked for that is not there.
    pub const MISS: Self = Self { name: "keymiss", class: b'm' };
    /// A key was removed because its deadline had passed.
    pub const EXPIRED: Self = Self { name: "expired", class: b'x' };

    /// A value was written whole.
    pub const SET: Self = Self::string("set");
    /// A value became longer.
    pub const APPEND: Self = Self::string("append");
    /// Part of a value was overwritten.
    pub const SETRANGE: Self = Self::string("setrange");
    /// Bits of a value were changed.
    pub const SETBIT: Self = Self::string("setbit");
    /// An integer was added to.
    pub const INCRBY: Self = Self::string("incrby");
    /// A floating-point number was added to.
    pub const INCRBYFLOAT: Self = Self::string("incrbyfloat");

    /// A key was removed.
    pub const DEL: Self = Self::generic("del");
    /// A key was given a deadline.
    pub const EXPIRE: Self = Self::generic("expire");
    /// A key lost its deadline.
    pub const PERSIST: Self = Self::generic("persist");
    /// A value went from this key to another.
    pub const RENAME_FROM: Self = Self::generic("rename_from");
    /// A value came to this key from another.
    pub const RENAME_TO: Self = Self::generic("rename_to");
    /// A key went from this database to another.
    pub const MOVE_FROM: Self = Self::generic("move_from");
    /// A key came to this database from another.
    pub const MOVE_TO: Self = Self::generic("move_to");
    /// A value was copied to this key.
    pub const COPY_TO: Self = Self::generic("copy_to");

    const fn string(name: &'static str) -> Self {
        Self { name, class: b'$' }
    }

    const fn generic(name: &'static str) -> Self {
        Self { name, class: b'g' }
    }

    /// Whether something is different afterwards that is not told as well.
    pub fn is_change(self) -> bool {
        !matches!(self.class, b'n' | b'm')
    }
}

/// Who wants to know what happens to keys.
pub trait Observer: std::fmt::Debug {
    /// Whether anything is to be told. Asked when a batch enters the keyspace: who begins to want to know does so while no batch is
    /// within.
    fn is_curious(&self) -> bool;

    /// An event of a key of the database with the number `db`. The key's shard is locked, so that events of a key come in their order;
    /// whoever is told must not look at keys.
    fn happened(&self, db: usize, key: Key<'_>, event: Event);
}
