//! What a command is: one literal from which dispatch, `COMMAND`, hints, arity and key positions are derived.

use super::syntax::{Arg, ArgKind, KeyFlags};
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
    /// The version that brought it.
    pub since: &'static str,
    /// The server whose version that is.
    pub origin: Origin,
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
        origin: Origin::Redis,
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

/// The server that brought a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Redis.
    Redis,
    /// Valkey, and Redis has no such command.
    Valkey,
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
    /// Not a write, and yet something that replicas would be told: held back with writes. Redis does not show it.
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
    /// Allowed to a client that has subscribed to something and speaks RESP2.
    pub const SUBSCRIBED: Self = Self(1 << 18);
    /// What `CLIENT CACHING` says of the next request is not said of this one.
    pub const BESIDE_CACHING: Self = Self(1 << 19);
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
