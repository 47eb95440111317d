//! Every number with its unit, its default and where that came from: how a server starts, and the limits that never change.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use crate::error::Error;

/// How a server is started. `Config::default()` suits a server inside a test: a free port on loopback and a small keyspace.
///
/// ```
/// use redlet::{Config, Server};
///
/// let password = ("requirepass".to_owned(), "secret".to_owned());
/// let server = Server::with_config(Config { databases: 4, parameters: vec![password], ..Config::default() })?;
/// # Ok::<(), redlet::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    /// Addresses to listen on. Default 127.0.0.1 and ::1; an address that does not exist on this machine is skipped when another does.
    pub bind: Vec<IpAddr>,
    /// TCP port; 0 takes a free one. `None` listens on no TCP port. Default 0.
    pub port: Option<u16>,
    /// Path of a Unix socket to listen on as well. A socket file that nobody listens on is replaced, any other file is an error.
    /// Default none.
    pub unixsocket: Option<PathBuf>,
    /// Most worker threads among which connections are shared out, 1 to 1,024; each is started when it is needed. Default: one a core.
    pub threads: usize,
    /// How many databases there are, 1 to 1,048,576. Default 16, as Redis has it.
    pub databases: usize,
    /// Shards of each database, 2 to 65,536, rounded up to a power of two. More of them are in each other's way less often and make for
    /// shorter pauses when a large keyspace grows, at 224 bytes each, and take more of the cache. Default 64; the binary takes as many
    /// for each thread, 256 at least.
    pub shards: usize,
    /// What is written to standard error. Default nothing; the binary takes [`LogLevel::Notice`].
    pub loglevel: LogLevel,
    /// The version of Redis that clients are told in `HELLO` and `INFO`, as `x.y.z`: libraries gate on it. Default 7.4.0.
    pub redis_version: String,
    /// From where `DEBUG` is taken. Default [`DebugCommand::Local`].
    pub enable_debug_command: DebugCommand,
    /// Runtime parameters to start with, as `CONFIG SET` takes them: name and value.
    pub parameters: Vec<(String, String)>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            bind: vec![IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1])],
            port: Some(0),
            unixsocket: None,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            databases: 16,
            shards: 64,
            loglevel: LogLevel::Nothing,
            redis_version: "7.4.0".to_owned(),
            enable_debug_command: DebugCommand::Local,
            parameters: Vec::new(),
        }
    }
}

impl Config {
    /// Whether the numbers are such that a server can be made of them without asking for memory without bound.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let within = |name: &str, value: usize, range: RangeInclusive<usize>| match range.contains(&value) {
            true => Ok(()),
            false => Err(Error::Parameter(format!("{name} must be between {} and {}", range.start(), range.end()))),
        };
        within("databases", self.databases, 1..=DATABASES_MAX)?;
        within("threads", self.threads, 1..=THREADS_MAX)?;
        within("shards", self.shards, 2..=SHARDS_MAX)
    }
}

/// Most databases of a server, at 16 bytes each before the first use.
const DATABASES_MAX: usize = 1 << 20;
/// Most worker threads.
const THREADS_MAX: usize = 1024;
/// Most shards of a database: their number has to be known from a part of the hash.
const SHARDS_MAX: usize = 1 << 16;

/// How much a server tells about itself, in Redis's words, the most talkative first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Everything.
    Debug,
    /// Much.
    Verbose,
    /// What one would want to know of a server in use.
    Notice,
    /// Only what went wrong.
    Warning,
    /// Nothing.
    Nothing,
}

impl LogLevel {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Debug, Self::Verbose, Self::Notice, Self::Warning, Self::Nothing];

    /// Redis's word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Verbose => "verbose",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Nothing => "nothing",
        }
    }
}

/// From where the command `DEBUG` is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DebugCommand {
    /// From nowhere.
    No,
    /// From loopback addresses and Unix sockets.
    Local,
    /// From everywhere.
    Yes,
}

impl DebugCommand {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::No, Self::Local, Self::Yes];

    /// Redis's word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::No => "no",
            Self::Local => "local",
            Self::Yes => "yes",
        }
    }
}

/// Requests of a batch that are parsed before the first of them runs: enough to hide the latency of memory behind them.
pub(crate) const BATCH_REQUESTS_MAX: usize = 32;

/// Replies gathered before they are written although more input is at hand, in bytes. Bounds the output of a pipeline of large reads.
pub(crate) const OUTPUT_BYTES_SOFT_MAX: usize = 256 * 1024;

/// Largest `client-query-buffer-limit` that is honoured, in bytes: positions within a request have 32 bits, and one read may go beyond.
pub(crate) const QUERY_BYTES_MAX: u64 = 3 * 1024 * 1024 * 1024;

/// Each worker's read buffer, in bytes: larger than a batch is expected to be, so that a short read ends it.
pub(crate) const READ_BUFFER_BYTES: usize = 64 * 1024;

/// Monitor lines and other unasked-for bytes that may wait for one client, in bytes. Beyond it the client is cut off.
pub(crate) const MAILBOX_BYTES_MAX: usize = 32 * 1024 * 1024;
