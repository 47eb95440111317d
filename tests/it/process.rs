//! Servers as child processes on free ports, and the peer that speaks to them over TCP.
//! Ends only the processes it started, by their handle.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::frame;
use crate::play::{Heard, Peer};

/// How long a server may take to accept its first connection.
const START_PATIENCE: Duration = Duration::from_secs(10);

/// A running server, killed when dropped.
pub(crate) struct Server {
    child: Child,
    address: SocketAddr,
    directory: PathBuf,
    /// Kept open, since a server that logs must not find its output gone.
    _stdout_kept: Option<ChildStdout>,
}

impl Server {
    /// Debian's redis-server with nothing configured but what the corpus needs.
    pub(crate) fn redis() -> Server {
        Server::redis_or_kin("redis-server".as_ref())
    }

    /// Valkey's server in the same way. It lies at `program`: see [`valkey_server`].
    pub(crate) fn valkey(program: &Path) -> Server {
        Server::redis_or_kin(program)
    }

    fn redis_or_kin(program: &Path) -> Server {
        // A port that was free a moment ago may be taken by now, so a start that fails is tried again.
        for _ in 0..5 {
            let directory = new_directory();
            let address = free_address();
            let mut command = Command::new(program);
            command.args(["--port", &address.port().to_string(), "--save", "", "--enable-debug-command", "yes"]);
            let child = start(command.stdout(Stdio::null()).stderr(Stdio::null()), &directory);
            let mut server = Server { child, address, directory, _stdout_kept: None };
            if server.accepts() {
                return server;
            }
        }
        panic!("{} does not start; redis-server is in Debian's package redis-server", program.display());
    }

    /// Our binary, which tells the port it got on its first line.
    #[cfg(feature = "cli")]
    pub(crate) fn redlet() -> Server {
        Server::redlet_logging_to(Stdio::null())
    }

    /// The same with another standard error.
    #[cfg(feature = "cli")]
    pub(crate) fn redlet_logging_to(stderr: Stdio) -> Server {
        use std::io::BufRead as _;

        let directory = new_directory();
        let mut command = Command::new(env!("CARGO_BIN_EXE_redlet"));
        command.args(["--port", "0", "--enable-debug-command", "yes"]);
        let child = start(command.stdout(Stdio::piped()).stderr(stderr), &directory);
        // Whatever its first line says, from here on it is ended.
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut server = Server { child, address, directory, _stdout_kept: None };
        let mut stdout = io::BufReader::new(server.child.stdout.take().expect("stdout was asked for"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("our binary writes its first line");
        let port = line.trim_end().strip_prefix("PORT=").and_then(|port| port.parse().ok());
        let port: u16 = port.unwrap_or_else(|| panic!("the first line should be PORT=<n>, not {line:?}"));
        server.address.set_port(port);
        server._stdout_kept = Some(stdout.into_inner());
        server
    }

    /// Where it listens.
    #[cfg(feature = "cli")]
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends it a signal by name, and waits for its end.
    #[cfg(feature = "cli")]
    pub(crate) fn end_by(&mut self, signal: &str) -> std::process::ExitStatus {
        let sent = Command::new("kill").args([format!("-{signal}"), self.pid().to_string()]).status();
        assert!(sent.expect("there is a command kill").success(), "the process takes a signal");
        self.child.wait().expect("a process can be waited for")
    }

    /// The number of its process.
    #[cfg(feature = "cli")]
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A connection of its own, for those who do not play transcripts.
    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("the server accepts");
        stream.set_nodelay(true).expect("a TCP stream takes this option");
        stream
    }

    /// A peer without any connection yet, which takes the server with it when it goes.
    pub(crate) fn into_peer(self) -> TcpPeer {
        TcpPeer { connections: BTreeMap::new(), server: self }
    }

    fn accepts(&mut self) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < START_PATIENCE {
            if self.child.try_wait().expect("our child can be asked").is_some() {
                return false;
            }
            if let Ok(stream) = TcpStream::connect(self.address) {
                return self.is_behind(stream);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        false
    }

    /// Whether our child answers here, and not another server that was given the same port.
    fn is_behind(&self, mut stream: TcpStream) -> bool {
        // If the requests cannot be sent there is no answer either.
        drop(stream.write_all(b"INFO server\r\nQUIT\r\n"));
        let mut connection = Connection { stream, input: Vec::new() };
        let mut heard = Vec::new();
        // Until it is closed: transcripts count connections, and must not find this one.
        while let Heard::Reply(bytes) = connection.receive(Instant::now() + START_PATIENCE) {
            heard.extend_from_slice(&bytes);
        }
        let ours = format!("process_id:{}\r\n", self.child.id());
        heard.windows(ours.len()).any(|part| part == ours.as_bytes())
    }
}

/// Where Valkey's server lies: `VALKEY_SERVER`, else the one on PATH, else the one that `benches/compare/run --install` has fetched.
pub(crate) fn valkey_server() -> PathBuf {
    if let Some(named) = std::env::var_os("VALKEY_SERVER") {
        return named.into();
    }
    let on_path = PathBuf::from("valkey-server");
    if Command::new(&on_path).arg("--version").output().is_ok() {
        return on_path;
    }
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let told = Command::new(package.join("target/compare/venv/bin/python"))
        .arg("-B")
        .arg(package.join("benches/peers/installed.py"))
        .output()
        .expect("no valkey-server on PATH, and benches/compare/run --install has not fetched one");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let path = told.lines().nth(1).filter(|path| !path.is_empty());
    PathBuf::from(path.expect("what benches/compare/run --install has fetched holds a valkey-server for this machine"))
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself, and a directory that cannot be removed is the system's to clean up.
        drop(self.child.kill());
        drop(self.child.wait());
        drop(std::fs::remove_dir_all(&self.directory));
    }
}

fn start(command: &mut Command, directory: &Path) -> Child {
    let program = command.get_program().to_owned();
    let child = command.current_dir(directory).stdin(Stdio::null()).spawn();
    child.unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}

fn new_directory() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let directory = std::env::temp_dir().join(format!("redlet-it-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("the temporary directory can be written");
    directory
}

fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback has a free port");
    listener.local_addr().expect("a bound listener has an address")
}

/// Named TCP connections to one server.
pub(crate) struct TcpPeer {
    connections: BTreeMap<String, Connection>,
    server: Server,
}

struct Connection {
    stream: TcpStream,
    /// What has arrived and was not yet asked for.
    input: Vec<u8>,
}

impl TcpPeer {
    fn connection(&mut self, conn: &str) -> &mut Connection {
        self.connections.get_mut(conn).expect("the player opens before it speaks")
    }
}

impl Peer for TcpPeer {
    fn open(&mut self, conn: &str) {
        if self.connections.contains_key(conn) {
            return;
        }
        self.connections.insert(conn.to_owned(), Connection { stream: self.server.connect(), input: Vec::new() });
    }

    fn send(&mut self, conn: &str, bytes: &[u8]) {
        // A server may close in the middle of what it refuses; what it said before is what counts.
        drop(self.connection(conn).stream.write_all(bytes));
    }

    fn receive(&mut self, conn: &str, patience: Duration) -> Heard {
        let deadline = Instant::now() + patience;
        self.connection(conn).receive(deadline)
    }

    fn forget(&mut self, conn: &str) {
        self.connections.remove(conn);
    }

    fn advance(&mut self, by: Duration) {
        std::thread::sleep(by);
    }
}

impl Connection {
    fn receive(&mut self, deadline: Instant) -> Heard {
        loop {
            match frame::decode(&self.input) {
                Ok(Some((length, _))) => return Heard::Reply(self.input.drain(..length).collect()),
                Ok(None) => {}
                Err(reason) => return Heard::Noise(reason),
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Heard::Silence;
            }
            self.stream.set_read_timeout(Some(left)).expect("the time-out is not zero");
            let mut chunk = [0; 16 * 1024];
            match self.stream.read(&mut chunk) {
                Ok(0) => return Heard::Closed,
                Ok(length) => self.input.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return Heard::Closed;
                }
                // Being early is no fault: the deadline decides.
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(error) => return Heard::Noise(error.to_string()),
            }
        }
    }
}
