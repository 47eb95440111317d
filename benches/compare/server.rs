//! The servers under comparison: how each is started on a free loopback port, and when it is ready.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::children::Process;

/// Names as they appear in the results; the ratios are against redis-server.
pub(crate) const REDLET: &str = "redlet";
pub(crate) const REDIS: &str = "redis-server";

/// Longest time from start to the first PONG.
const START_MAX: Duration = Duration::from_secs(15);
const START_POLL: Duration = Duration::from_millis(10);

/// What redlet prints on its first line, before the number.
const PORT_PREFIX: &str = "PORT=";

/// How to start one kind of server.
pub(crate) struct Recipe {
    pub(crate) name: String,
    /// More keys than this are not put into it.
    keys_max: Option<u32>,
    how: How,
}

/// What is started.
pub(crate) enum How {
    /// The binary and the worker threads asked for. It picks its own port and prints it.
    Redlet { binary: PathBuf, threads: Option<u32> },
    /// redis-server, and a server that takes the same flags.
    Redis { binary: PathBuf },
    /// One of the servers in Python, by its kind.
    Python { python: PathBuf, sources: PathBuf, kind: &'static str },
    /// A shell command with `{port}` in it.
    Shell(String),
}

impl Recipe {
    pub(crate) fn new(name: &str, how: How) -> Self {
        Self { name: name.to_owned(), keys_max: None, how }
    }

    pub(crate) fn with_keys_max(self, keys: u32) -> Self {
        Self { keys_max: Some(keys), ..self }
    }

    /// The same server with another number of worker threads, if it is redlet.
    pub(crate) fn with_threads(&self, threads: u32) -> Result<Self, String> {
        match &self.how {
            How::Redlet { binary, .. } => Ok(Self::new(&self.name, How::Redlet { binary: binary.clone(), threads: Some(threads) })),
            How::Redis { .. } | How::Python { .. } | How::Shell(_) => Err(format!("{} has no worker threads", self.name)),
        }
    }

    /// The command line that starts the server on `port`; redlet chooses one itself when that is 0.
    pub(crate) fn command_on(&self, port: u16, directory: &Path) -> Command {
        match &self.how {
            How::Redlet { binary, threads } => {
                let mut command = Command::new(binary);
                command.args(["--port", &port.to_string()]);
                if let Some(threads) = threads {
                    command.args(["--threads", &threads.to_string()]);
                }
                command
            }
            How::Redis { binary } => {
                let mut command = Command::new(binary);
                // Nothing is saved, so that no fork and no file falls into a measurement.
                command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize", "no"]);
                command.args(["--port", &port.to_string()]).arg("--dir").arg(directory);
                command
            }
            How::Python { python, sources, kind } => {
                let mut command = Command::new(python);
                // -B: no compiled files among the sources.
                command.arg("-B").arg(sources).args([kind, port.to_string().as_str()]);
                command
            }
            How::Shell(text) => {
                let mut command = Command::new("sh");
                // exec, so that the process that is measured and ended is the server and not the shell.
                command.arg("-c").arg(format!("exec {}", text.replace("{port}", &port.to_string())));
                command
            }
        }
    }

    /// Whether the server is one of those in Python, which are too slow for what only matters among the others.
    pub(crate) fn is_python(&self) -> bool {
        matches!(self.how, How::Python { .. })
    }

    /// Whether it can be expected to hold so many keys.
    pub(crate) fn holds(&self, keys: u32) -> bool {
        self.keys_max.is_none_or(|most| keys <= most)
    }
}

/// A running server that answers; dropping it ends it.
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) port: u16,
    pub(crate) process: Process,
}

impl Server {
    /// Starts a server and waits until it answers. What it prints goes to `NAME.log` in `directory`.
    pub(crate) fn start(recipe: &Recipe, directory: &Path) -> Result<Self, String> {
        let log = directory.join(format!("{}.log", recipe.name.replace('/', "_")));
        let server = start_logged(recipe, directory, &log);
        server.map_err(|e| format!("{}: {e}; its output is in {}", recipe.name, log.display()))
    }
}

fn start_logged(recipe: &Recipe, directory: &Path, log: &Path) -> Result<Server, String> {
    let file = File::create(log).map_err(|e| e.to_string())?;
    let errors = file.try_clone().map_err(|e| e.to_string())?;
    let chosen = match recipe.how {
        How::Redlet { .. } => None,
        How::Redis { .. } | How::Python { .. } | How::Shell(_) => Some(free_port()?),
    };
    let mut command = recipe.command_on(chosen.unwrap_or(0), directory);
    let process = Process::spawn(command.stdin(Stdio::null()).stdout(file).stderr(errors))?;
    let deadline = Instant::now() + START_MAX;
    let port = match chosen {
        Some(port) => port,
        None => await_some(&process, deadline, "no PORT= line", || printed_port(log))?,
    };
    await_some(&process, deadline, "no answer to PING", || answers(port).then_some(()))?;
    // A server that lost its port to another process ends, and the answer was not its own.
    if let Some(status) = process.exited()? {
        return Err(format!("ended with {status}"));
    }
    Ok(Server { name: recipe.name.clone(), port, process })
}

pub(crate) fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|e| format!("no free port: {e}"))?;
    Ok(listener.local_addr().map_err(|e| format!("no free port: {e}"))?.port())
}

/// Asks `what` until it has an answer, the process ends or the time is up.
fn await_some<T>(process: &Process, deadline: Instant, missing: &str, mut what: impl FnMut() -> Option<T>) -> Result<T, String> {
    loop {
        if let Some(found) = what() {
            return Ok(found);
        }
        if let Some(status) = process.exited()? {
            return Err(format!("ended with {status}"));
        }
        if Instant::now() >= deadline {
            return Err(format!("{missing} within {START_MAX:?}"));
        }
        thread::sleep(START_POLL);
    }
}

/// The port in the log's `PORT=` line, once that line is complete.
fn printed_port(log: &Path) -> Option<u16> {
    let text = fs::read_to_string(log).ok()?;
    let (complete, _) = text.rsplit_once('\n')?;
    complete.lines().find_map(|line| line.strip_prefix(PORT_PREFIX)?.trim().parse().ok())
}

/// Whether a server on `port` answers a PING.
fn answers(port: u16) -> bool {
    let pong = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"*1\r\n$4\r\nPING\r\n")?;
        let mut reply = [0; 7];
        stream.read_exact(&mut reply)?;
        Ok(&reply == b"+PONG\r\n")
    };
    pong().unwrap_or(false)
}
