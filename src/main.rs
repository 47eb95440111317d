//! The binary: flags and their environment variables, and the process's signals.

use std::io::Write as _;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use redlet::{Config, DebugCommand, LogLevel};
use tokio::signal::unix::{SignalKind, signal};

mod ping;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A Redis-protocol server for strings, keys and connections.
#[derive(Parser, Debug)]
#[command(version, about, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Asks a running server for PONG and exits 0 when it answers: a health check.
    Ping(ping::PingArgs),
}

#[derive(clap::Args, Debug)]
struct ServerArgs {
    /// TCP port; 0 takes a free one. The port is printed as `PORT=n` on the first line of standard output.
    #[arg(short, long, env = "REDLET_PORT", default_value_t = 6379)]
    port: u16,
    /// IP addresses to listen on, separated by commas.
    #[arg(long, env = "REDLET_BIND", default_value = "127.0.0.1,::1", value_delimiter = ',')]
    bind: Vec<IpAddr>,
    /// Path of a Unix socket to listen on as well.
    #[arg(long, env = "REDLET_UNIXSOCKET")]
    unixsocket: Option<PathBuf>,
    /// Worker threads; by default one a core.
    #[arg(long, env = "REDLET_THREADS")]
    threads: Option<usize>,
    /// Number of databases.
    #[arg(long, env = "REDLET_DATABASES", default_value_t = 16)]
    databases: usize,
    /// Shards of each database: more of them are in each other's way less often, and grow with shorter pauses. [default: 64 a
    /// thread, 256 at least and 4096 at most]
    #[arg(long, env = "REDLET_SHARDS")]
    shards: Option<usize>,
    /// Password that clients must give.
    #[arg(long, env = "REDLET_REQUIREPASS", hide_env_values = true)]
    requirepass: Option<String>,
    /// Most connections at a time; 10000 unless given.
    #[arg(long, env = "REDLET_MAXCLIENTS")]
    maxclients: Option<u64>,
    /// Seconds after which a silent connection is closed; 0 is never.
    #[arg(long, env = "REDLET_TIMEOUT")]
    timeout: Option<u64>,
    /// Seconds between TCP keep-alive probes; 0 is off.
    #[arg(long, env = "REDLET_TCP_KEEPALIVE")]
    tcp_keepalive: Option<u64>,
    /// What is written to standard error: debug, verbose, notice, warning or nothing.
    #[arg(long, env = "REDLET_LOGLEVEL", default_value = "notice", value_parser = parse_loglevel)]
    loglevel: LogLevel,
    /// From where the command DEBUG is taken: no, local (loopback and Unix sockets) or yes.
    #[arg(long, env = "REDLET_ENABLE_DEBUG_COMMAND", default_value = "local", value_parser = parse_debug_command)]
    enable_debug_command: DebugCommand,
    /// The version of Redis that clients are told, as x.y.z: libraries choose their features by it.
    #[arg(long, env = "REDLET_REDIS_VERSION", default_value = "7.4.0", value_parser = parse_version)]
    redis_version: String,
    /// Any other parameter of `CONFIG SET`, as NAME=VALUE; may be repeated, or hold several separated by semicolons.
    #[arg(long = "set", value_name = "NAME=VALUE", env = "REDLET_SET", value_delimiter = ';', value_parser = parse_parameter)]
    parameters: Vec<(String, String)>,
}

fn parse_loglevel(text: &str) -> Result<LogLevel, String> {
    let level = LogLevel::ALL.into_iter().find(|level| level.name() == text);
    level.ok_or_else(|| "one of debug, verbose, notice, warning, nothing".to_owned())
}

fn parse_debug_command(text: &str) -> Result<DebugCommand, String> {
    let choice = DebugCommand::ALL.into_iter().find(|choice| choice.name() == text);
    choice.ok_or_else(|| "one of no, local, yes".to_owned())
}

fn parse_version(text: &str) -> Result<String, String> {
    let numbers = text.split('.').filter(|part| part.parse::<u32>().is_ok()).count();
    if numbers == 3 && text.matches('.').count() == 2 {
        Ok(text.to_owned())
    } else {
        Err("the form is x.y.z, three numbers".to_owned())
    }
}

fn parse_parameter(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("the form is NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl ServerArgs {
    fn config(self) -> Config {
        let mut parameters = self.parameters;
        let mut set = |name: &str, value: Option<String>| {
            parameters.extend(value.map(|value| (name.to_owned(), value)));
        };
        set("requirepass", self.requirepass);
        set("maxclients", Some(clients_within_limit(self.maxclients.unwrap_or(MAXCLIENTS)).to_string()));
        set("timeout", self.timeout.map(|value| value.to_string()));
        set("tcp-keepalive", self.tcp_keepalive.map(|value| value.to_string()));
        let default = Config::default();
        let threads = self.threads.unwrap_or(default.threads);
        Config {
            bind: self.bind,
            port: Some(self.port),
            unixsocket: self.unixsocket,
            threads,
            databases: self.databases,
            shards: self.shards.unwrap_or_else(|| shards_for(threads)),
            loglevel: self.loglevel,
            enable_debug_command: self.enable_debug_command,
            redis_version: self.redis_version,
            parameters,
        }
    }
}

/// Shards for this many threads. Each thread holds one at a time, so that with as many for each few meet.
fn shards_for(threads: usize) -> usize {
    threads.saturating_mul(64).clamp(256, 4096).next_power_of_two()
}

/// Redis's default `maxclients`.
const MAXCLIENTS: u64 = 10_000;
/// Descriptors that are not clients': listeners, event loops, standard streams. As many as Redis sets aside.
const DESCRIPTORS_RESERVED: u64 = 32;

/// Raises the process's limit of open files for `wanted` clients, as far as it may be raised, and tells how many it will do for.
fn clients_within_limit(wanted: u64) -> u64 {
    let needed = wanted.saturating_add(DESCRIPTORS_RESERVED);
    match rlimit::increase_nofile_limit(needed) {
        Ok(limit) if limit < needed => {
            let clients = limit.saturating_sub(DESCRIPTORS_RESERVED).max(1);
            // Whoever closed standard error does not want to be told.
            let _told =
                writeln!(std::io::stderr(), "redlet: the limit of {limit} open files allows {clients} clients, not {wanted}");
            clients
        }
        // Where the limit cannot be asked for, accepting tells when it is reached.
        Ok(_) | Err(_) => wanted,
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command {
        Some(Command::Ping(args)) => ping::ping(&args),
        None => serve(cli.server.config()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A closed standard error leaves the exit code to tell.
            let _told = writeln!(
                std::io::stderr(),
                "redlet: {}{}",
                error.to_string().trim_start_matches("ERR "),
                error.source().map_or_else(String::new, |source| format!(": {source}"))
            );
            ExitCode::FAILURE
        }
    }
}

fn serve(config: Config) -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let shutdown = async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        };
        redlet::serve(config, announce, shutdown).await?;
        Ok(())
    })
}

/// Tells on the first line of standard output which port it is.
fn announce(addr: Option<std::net::SocketAddr>) {
    if let Some(addr) = addr {
        // Whoever started us may have closed standard output: the server serves all the same.
        let _told = writeln!(std::io::stdout(), "PORT={}", addr.port());
    }
}
