//! The arguments of a command as its Spec lists them, from which its arity, its keys and its documentation are derived.
//!
//! Describes only: what parses a request are the handlers.

/// The kind of an argument, named as `COMMAND DOCS` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// A key.
    Key,
    /// A shard channel: no key, but it tells as one does where in a cluster the command belongs.
    Channel,
    /// Any bytes.
    String,
    /// An integer.
    Integer,
    /// An integer: how many keys follow it, each with what belongs to it.
    KeyCount,
    /// A floating-point number.
    Double,
    /// A glob pattern.
    Pattern,
    /// A Unix time.
    UnixTime,
    /// A word that stands for itself.
    PureToken,
    /// One of the arguments within.
    OneOf,
    /// The arguments within, in order.
    Block,
}

impl ArgKind {
    /// The name in `COMMAND DOCS`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Channel | Self::String => "string",
            Self::Integer | Self::KeyCount => "integer",
            Self::Double => "double",
            Self::Pattern => "pattern",
            Self::UnixTime => "unix-time",
            Self::PureToken => "pure-token",
            Self::OneOf => "oneof",
            Self::Block => "block",
        }
    }
}

/// What a command does to a key, as `COMMAND INFO` shows it in its key specifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyFlags(pub &'static [&'static str]);

impl KeyFlags {
    /// Reads the value.
    pub const READ: Self = Self(&["RO", "access"]);
    /// Looks at the key but not at its value.
    pub const LOOK: Self = Self(&["RO"]);
    /// Replaces the value without a look at it.
    pub const OVERWRITE: Self = Self(&["OW", "update"]);
    /// Changes the value.
    pub const UPDATE: Self = Self(&["RW", "update"]);
    /// Changes the value and answers with it.
    pub const ACCESS_UPDATE: Self = Self(&["RW", "access", "update"]);
    /// Writes a value that was not there.
    pub const INSERT: Self = Self(&["OW", "insert"]);
    /// Adds to the value.
    pub const EXTEND: Self = Self(&["RW", "insert"]);
    /// Changes the value, and the arguments tell whether its old one is read or nothing but read.
    pub const VARIABLE: Self = Self(&["RW", "access", "update", "variable_flags"]);
    /// Answers with the value and removes the key.
    pub const ACCESS_DELETE: Self = Self(&["RW", "access", "delete"]);
    /// It is no key, but tells as one does where in a cluster the command belongs.
    pub const CHANNEL: Self = Self(&["not_key"]);
    /// Removes the key.
    pub const DELETE: Self = Self(&["RM", "delete"]);
    /// Removes the key, if its value is as it should be.
    pub const CHECKED_DELETE: Self = Self(&["RW", "delete"]);
    /// Removes the key, and the arguments tell whether its value matters.
    pub const VARIABLE_DELETE: Self = Self(&["RW", "delete", "variable_flags"]);
}

/// One argument of a command's syntax.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// Its name in the documentation.
    pub name: &'static str,
    /// What it holds.
    pub kind: ArgKind,
    /// The word that comes before it, or that it is.
    pub token: Option<&'static str>,
    /// `OPTIONAL`, `MULTIPLE`, `MULTIPLE_TOKEN`.
    pub flags: u8,
    /// The version that brought it, when later than the command.
    pub since: Option<&'static str>,
    /// The version that made it obsolete.
    pub deprecated_since: Option<&'static str>,
    /// The arguments within a block or a choice.
    pub args: &'static [Arg],
    /// What the command does to it, when it is a key.
    pub key: KeyFlags,
}

impl Arg {
    /// May be left out.
    pub const OPTIONAL: u8 = 1;
    /// May be repeated.
    pub const MULTIPLE: u8 = 2;
    /// Its token is repeated with it.
    pub const MULTIPLE_TOKEN: u8 = 4;

    const fn new(name: &'static str, kind: ArgKind) -> Self {
        Self { name, kind, token: None, flags: 0, since: None, deprecated_since: None, args: &[], key: KeyFlags::LOOK }
    }

    /// A key, and what the command does to it.
    pub const fn key(name: &'static str, key: KeyFlags) -> Self {
        Self { key, ..Self::new(name, ArgKind::Key) }
    }

    /// A shard channel.
    pub const fn channel(name: &'static str) -> Self {
        Self { key: KeyFlags::CHANNEL, ..Self::new(name, ArgKind::Channel) }
    }

    /// Any bytes.
    pub const fn string(name: &'static str) -> Self {
        Self::new(name, ArgKind::String)
    }

    /// An integer.
    pub const fn integer(name: &'static str) -> Self {
        Self::new(name, ArgKind::Integer)
    }

    /// How many keys follow.
    pub const fn key_count(name: &'static str) -> Self {
        Self::new(name, ArgKind::KeyCount)
    }

    /// A floating-point number.
    pub const fn double(name: &'static str) -> Self {
        Self::new(name, ArgKind::Double)
    }

    /// A glob pattern.
    pub const fn pattern(name: &'static str) -> Self {
        Self::new(name, ArgKind::Pattern)
    }

    /// A Unix time.
    pub const fn unix_time(name: &'static str) -> Self {
        Self::new(name, ArgKind::UnixTime)
    }

    /// A word that stands for itself.
    pub const fn token(name: &'static str, token: &'static str) -> Self {
        Self { token: Some(token), ..Self::new(name, ArgKind::PureToken) }
    }

    /// One of `args`.
    pub const fn one_of(name: &'static str, args: &'static [Self]) -> Self {
        Self { args, ..Self::new(name, ArgKind::OneOf) }
    }

    /// All of `args`, in order.
    pub const fn block(name: &'static str, args: &'static [Self]) -> Self {
        Self { args, ..Self::new(name, ArgKind::Block) }
    }

    /// The same, and it may be left out.
    #[must_use]
    pub const fn optional(self) -> Self {
        Self { flags: self.flags | Self::OPTIONAL, ..self }
    }

    /// The same, and it may be repeated.
    #[must_use]
    pub const fn multiple(self) -> Self {
        Self { flags: self.flags | Self::MULTIPLE, ..self }
    }

    /// The same, repeated together with its token.
    #[must_use]
    pub const fn multiple_token(self) -> Self {
        Self { flags: self.flags | Self::MULTIPLE | Self::MULTIPLE_TOKEN, ..self }
    }

    /// The same, behind the word `token`.
    #[must_use]
    pub const fn with_token(self, token: &'static str) -> Self {
        Self { token: Some(token), ..self }
    }

    /// The same, made obsolete by version `since`.
    #[must_use]
    pub const fn deprecated(self, since: &'static str) -> Self {
        Self { deprecated_since: Some(since), ..self }
    }

    /// The same, brought by version `since`.
    #[must_use]
    pub const fn since(self, since: &'static str) -> Self {
        Self { since: Some(since), ..self }
    }
}
