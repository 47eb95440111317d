//! What a command is: one literal from which dispatch, `COMMAND`, hints, arity and key positions are derived.

use super::{Context, Outcome, args::Args};

/// Runs a command. Its arity has been checked, so a required argument is there.
pub type Handler = fn(&mut Context<'_>, &mut Args<'_>) -> Outcome;

/// One command or subcommand. The only place where its name, syntax, keys and flags stand.
#[derive(Debug)]
pub struct Spec {
    /// The name in lower case. Of a subcommand its own name only: `setname`, not `client|setname`.
    pub name: &'static str,
    /// The group under which `help @group` lists it.
    pub group: Group,
    /// The version of Redis that brought it.
    pub since: &'static str,
    /// Cost in Redis's notation. A command that is not `O(1)` is timed on its own.
    pub complexity: &'static str,
    /// What it does, in one sentence of our own.
    pub summary: &'static str,
    /// How dispatch treats it, and what `COMMAND INFO` says of it.
    pub flags: Flags,
    /// Hints for cluster-aware clients and proxies, such as `request_policy:all_shards`.
    pub tips: &'static [&'static str],
    /// The arguments behind the name.
    pub syntax: &'static [Arg],
    /// The subcommands. A command that has some is never run itself.
    pub subcommands: &'static [Spec],
    /// Since when there is a better way, and which.
    pub deprecated: Option<Deprecated>,
    /// What runs it.
    pub run: Handler,
    /// Finds the arguments that are secrets, so that neither monitors nor the slow log show them. `None` for all but a few.
    pub find_secrets: Option<FindSecrets>,
    /// What a given request does to its keys, where its options decide that. `None` where the syntax says it all.
    pub key_flags: Option<FindKeyFlags>,
    /// What `COMMAND INFO` adds to the flags of its keys, in Redis's words.
    pub key_notes: Option<&'static str>,
}

/// Positions of the secrets in a request, whether or not the request is well-formed.
pub type FindSecrets = fn(argv: &super::Argv<'_>) -> Vec<usize>;

/// What a request does to its keys.
pub type FindKeyFlags = fn(argv: &super::Argv<'_>) -> KeyFlags;

impl Spec {
    /// What a literal leaves out: no flags, no arguments, no subcommands.
    pub const BASE: Self = Self {
        name: "",
        group: Group::Server,
        since: "1.0.0",
        complexity: "O(1)",
        summary: "",
        flags: Flags::NONE,
        tips: &[],
        syntax: &[],
        subcommands: &[],
        deprecated: None,
        run: unreachable_container,
        find_secrets: None,
        key_flags: None,
        key_notes: None,
    };

    /// What a literal leaves out that holds subcommands.
    pub const CONTAINER: Self = Self { complexity: "Depends on subcommand.", ..Self::BASE };

    /// The number of arguments with the name counted; negative for "at least". A subcommand counts its container's name too.
    pub const fn arity(&self, is_subcommand: bool) -> i32 {
        if !self.subcommands.is_empty() {
            return if self.has(Flags::BARE) { -1 } else { -2 };
        }
        let (required, open) = count(self.syntax);
        let total = required + 1 + is_subcommand as i32;
        if open || self.has(Flags::ANY_ARGS) { -total } else { total }
    }

    /// Whether all of `flags` are set.
    pub const fn has(&self, flags: Flags) -> bool {
        self.flags.0 & flags.0 == flags.0
    }
}

/// Dispatch looks a container's subcommand up and never runs the container itself.
fn unreachable_container(_: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    Err(super::CommandError::Syntax)
}

/// Required words of `syntax`, and whether more may follow.
const fn count(syntax: &[Arg]) -> (i32, bool) {
    let mut required = 0;
    let mut open = false;
    let mut i = 0;
    while i < syntax.len() {
        let arg = &syntax[i];
        i += 1;
        let (inner, inner_open) = match arg.kind {
            ArgKind::Block => count(arg.args),
            ArgKind::OneOf => least(arg.args),
            ArgKind::PureToken => (0, false),
            _ => (1, false),
        };
        open = open || inner_open || arg.flags & (Arg::OPTIONAL | Arg::MULTIPLE) != 0;
        if arg.flags & Arg::OPTIONAL == 0 {
            required += inner + arg.token.is_some() as i32;
        }
    }
    (required, open)
}

/// The words of the shortest alternative.
const fn least(choices: &[Arg]) -> (i32, bool) {
    let mut least = i32::MAX;
    let mut open = false;
    let mut i = 0;
    while i < choices.len() {
        // That the choice as a whole may be left out is said by the flags of the choice as a whole.
        let choice = Arg { flags: choices[i].flags & !Arg::OPTIONAL, ..choices[i] };
        let (required, inner_open) = count(std::slice::from_ref(&choice));
        open = open || inner_open || (least != i32::MAX && least != required);
        if required < least {
            least = required;
        }
        i += 1;
    }
    (least, open)
}

/// What `COMMAND DOCS` says of a command that new programs should not use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deprecated {
    /// The version of Redis since which there is a better way.
    pub since: &'static str,
    /// The better way, with commands and tokens in backquotes.
    pub replaced_by: &'static str,
}

/// Groups of commands as Redis names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Values that are strings.
    String,
    /// Strings seen as arrays of bits.
    Bitmap,
    /// Keys of any type.
    Generic,
    /// The client's own connection.
    Connection,
    /// The server as a whole.
    Server,
    /// Scripts and functions.
    Scripting,
    /// Cluster mode.
    Cluster,
    /// MULTI and EXEC.
    Transactions,
    /// Channels.
    Pubsub,
}

impl Group {
    /// The access category of its commands, without the `@`; `None` where membership in the group means none.
    pub const fn category(self) -> Option<&'static str> {
        match self {
            Self::String => Some("string"),
            Self::Bitmap => Some("bitmap"),
            Self::Generic => Some("keyspace"),
            Self::Connection => Some("connection"),
            Self::Scripting => Some("scripting"),
            Self::Transactions => Some("transaction"),
            Self::Server | Self::Cluster | Self::Pubsub => None,
        }
    }

    /// The name in `COMMAND DOCS`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Bitmap => "bitmap",
            Self::Generic => "generic",
            Self::Connection => "connection",
            Self::Server => "server",
            Self::Scripting => "scripting",
            Self::Cluster => "cluster",
            Self::Transactions => "transactions",
            Self::Pubsub => "pubsub",
        }
    }
}

/// A set of properties of a command. The first ones bear Redis's names and are shown by `COMMAND INFO`; the rest is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(u32);

impl Flags {
    /// No property.
    pub const NONE: Self = Self(0);
    /// May change the keyspace.
    pub const WRITE: Self = Self(1);
    /// Never changes the keyspace.
    pub const READONLY: Self = Self(1 << 1);
    /// May grow memory.
    pub const DENYOOM: Self = Self(1 << 2);
    /// Steers the server.
    pub const ADMIN: Self = Self(1 << 3);
    /// Belongs to publish and subscribe.
    pub const PUBSUB: Self = Self(1 << 4);
    /// May not stand in a script.
    pub const NOSCRIPT: Self = Self(1 << 5);
    /// May wait.
    pub const BLOCKING: Self = Self(1 << 6);
    /// Allowed while data is loaded.
    pub const LOADING: Self = Self(1 << 7);
    /// Allowed on a replica with old data.
    pub const STALE: Self = Self(1 << 8);
    /// Not shown to monitors.
    pub const SKIP_MONITOR: Self = Self(1 << 9);
    /// Not kept in the slow log.
    pub const SKIP_SLOWLOG: Self = Self(1 << 10);
    /// Never slower than a step of constant or logarithmic cost.
    pub const FAST: Self = Self(1 << 11);
    /// Allowed before the client has authenticated.
    pub const NO_AUTH: Self = Self(1 << 12);
    /// Allowed on a replica that may block.
    pub const MAY_REPLICATE: Self = Self(1 << 13);
    /// Not allowed within a transaction.
    pub const NO_MULTI: Self = Self(1 << 14);
    /// Its keys need a look at the arguments.
    pub const MOVABLE_KEYS: Self = Self(1 << 15);
    /// Allowed while a server is busy with a script.
    pub const ALLOW_BUSY: Self = Self(1 << 16);
    /// Not sent to replicas in the asynchronous loading mode.
    pub const NO_ASYNC_LOADING: Self = Self(1 << 17);
    /// In the access category `@dangerous` without being ADMIN.
    pub const DANGEROUS: Self = Self(1 << 24);
    /// In the access category `@keyspace` whatever its group.
    pub const KEYSPACE: Self = Self(1 << 25);
    /// Runs while no other connection runs anything: it sees or changes the keyspace as a whole.
    pub const ALONE: Self = Self(1 << 26);
    /// Run at once even between MULTI and EXEC.
    pub const UNQUEUED: Self = Self(1 << 27);
    /// Runs what a transaction has queued. When it is refused, the transaction is over.
    pub const COMMITS: Self = Self(1 << 28);
    /// Takes any arguments behind those of its syntax, and ignores them.
    pub const ANY_ARGS: Self = Self(1 << 22);

    /// In the access categories `@admin` and `@dangerous` without being ADMIN.
    pub const STEERING: Self = Self(1 << 29);
    /// In the access category `@connection` in place of its group's.
    pub const CONNECTION: Self = Self(1 << 30);
    /// Has subcommands and also runs without one.
    pub const BARE: Self = Self(1 << 31);
    /// Meant for those who work on the server: `COMMAND DOCS` says `syscmd`.
    pub const INTERNAL: Self = Self(1 << 23);

    /// The names of the properties that `COMMAND INFO` shows, in Redis's order.
    pub const SHOWN: &[(&str, Self)] = &[
        ("write", Self::WRITE),
        ("readonly", Self::READONLY),
        ("denyoom", Self::DENYOOM),
        ("admin", Self::ADMIN),
        ("pubsub", Self::PUBSUB),
        ("noscript", Self::NOSCRIPT),
        ("blocking", Self::BLOCKING),
        ("loading", Self::LOADING),
        ("stale", Self::STALE),
        ("skip_monitor", Self::SKIP_MONITOR),
        ("skip_slowlog", Self::SKIP_SLOWLOG),
        ("fast", Self::FAST),
        ("no_auth", Self::NO_AUTH),
        ("may_replicate", Self::MAY_REPLICATE),
        ("no_async_loading", Self::NO_ASYNC_LOADING),
        ("no_multi", Self::NO_MULTI),
        ("movablekeys", Self::MOVABLE_KEYS),
        ("allow_busy", Self::ALLOW_BUSY),
    ];

    /// Both sets together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `flags` are set.
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Whether at least one of `flags` is set.
    pub const fn has_any(self, flags: Self) -> bool {
        self.0 & flags.0 != 0
    }
}

/// The kind of an argument, named as `COMMAND DOCS` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// A key.
    Key,
    /// Any bytes.
    String,
    /// An integer.
    Integer,
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
            Self::String => "string",
            Self::Integer => "integer",
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
    /// Removes the key.
    pub const DELETE: Self = Self(&["RM", "delete"]);
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

    /// Any bytes.
    pub const fn string(name: &'static str) -> Self {
        Self::new(name, ArgKind::String)
    }

    /// An integer.
    pub const fn integer(name: &'static str) -> Self {
        Self::new(name, ArgKind::Integer)
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
