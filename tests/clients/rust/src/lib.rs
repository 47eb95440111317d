//! Starts the server under test, redlet or redis-server, on a free port of the loopback. No test and no client belongs here.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{self, Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const START: Duration = Duration::from_secs(20);

/// Without a blank: fred sends its HELLO as an inline command and quotes nothing.
pub const PASSWORD: &str = "sec/ret@1";

/// A running server. Its process and its files are gone when this is dropped.
pub struct Server {
    child: Child,
    // Kept open, so that the server can still print.
    _stdout: Option<BufReader<ChildStdout>>,
    directory: PathBuf,
    addr: SocketAddr,
}

impl Server {
    /// Starts a server on a free port. `flags` are those both servers know: `--requirepass`, for instance.
    pub fn start(flags: &[&str]) -> Self {
        Self::start_on(0, flags)
    }

    /// Starts a server on `port`: for tests that bring back one that was dropped.
    pub fn start_on(port: u16, flags: &[&str]) -> Self {
        let binary = binary();
        let is_redlet = Path::new(&binary).file_name().is_some_and(|name| name == "redlet");
        let directory = new_directory();
        let mut command = Command::new(&binary);
        command.arg("--unixsocket").arg(directory.join("s.sock")).args(flags).stdin(Stdio::null());
        let asked = if is_redlet || port != 0 { port } else { free_port() };
        command.arg("--port").arg(asked.to_string());
        if is_redlet {
            command.stdout(Stdio::piped());
        } else {
            command.args(["--bind", "127.0.0.1", "--save", "", "--dir"]).arg(&directory).stdout(Stdio::null());
        }
        let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {}: {error}", binary.display()));
        let mut stdout = child.stdout.take().map(BufReader::new);
        let port = match &mut stdout {
            Some(lines) if asked == 0 => announced_port(lines),
            _ => asked,
        };
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let server = Self { child, _stdout: stdout, directory, addr };
        server.wait_until_it_listens();
        server
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// `redis://127.0.0.1:<port>`, without a path.
    pub fn url(&self) -> String {
        format!("redis://{}", self.addr)
    }

    /// Its Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.directory.join("s.sock")
    }

    fn wait_until_it_listens(&self) {
        let end = Instant::now() + START;
        while TcpStream::connect(self.addr).is_err() {
            assert!(Instant::now() < end, "nothing listens on {}", self.addr);
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A child that has ended already leaves nothing to kill, which is no failure.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

fn binary() -> OsString {
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../target/debug/redlet");
    env::var_os("REDLET_TEST_SERVER").unwrap_or_else(|| built.into())
}

fn announced_port(lines: &mut impl BufRead) -> u16 {
    let mut line = String::new();
    lines.read_line(&mut line).expect("the server's output is readable");
    let port = line.trim_end().strip_prefix("PORT=").and_then(|digits| digits.parse().ok());
    port.unwrap_or_else(|| panic!("the first line is {line:?}, not PORT=<n>"))
}

fn free_port() -> u16 {
    let probe = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("the loopback has a free port");
    probe.local_addr().expect("a bound socket has an address").port()
}

fn new_directory() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("redlet-test-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let directory = env::temp_dir().join(name);
    fs::create_dir(&directory).expect("the temporary directory is writable");
    directory
}
