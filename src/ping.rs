//! `redlet ping`: a health check by the binary itself.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use redlet::internals::{Frame, decode};

/// How long connecting and each reply may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Whom to ask.
#[derive(clap::Args, Debug)]
pub(crate) struct PingArgs {
    /// Host to connect to.
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// TCP port.
    #[arg(short, long, env = "REDLET_PORT", default_value_t = 6379)]
    port: u16,
    /// Path of a Unix socket, instead of host and port.
    #[arg(long, env = "REDLET_UNIXSOCKET")]
    unixsocket: Option<PathBuf>,
    /// Password, if one is required.
    #[arg(short = 'a', long, env = "REDLET_REQUIREPASS", hide_env_values = true)]
    requirepass: Option<String>,
}

/// Connects, authenticates if there is a password, and asks for PONG.
pub(crate) fn ping(args: &PingArgs) -> Result<(), Box<dyn Error>> {
    let whom = args.unixsocket.as_ref().map_or_else(|| format!("{}:{}", args.host, args.port), |path| path.display().to_string());
    connect_and_ask(args).map_err(|error| {
        // The system calls a read that took too long "temporarily unavailable", which tells nobody anything.
        let late = error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        let why = if late { format!("no reply within {} seconds", PATIENCE.as_secs()) } else { error.to_string() };
        format!("no PONG from {whom}: {why}").into()
    })
}

fn connect_and_ask(args: &PingArgs) -> Result<(), Box<dyn Error>> {
    if let Some(path) = &args.unixsocket {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        return ask(stream, args);
    }
    let addr = (args.host.as_str(), args.port).to_socket_addrs()?.next().ok_or("the host has no address")?;
    let stream = TcpStream::connect_timeout(&addr, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    ask(stream, args)
}

fn ask(mut stream: impl Read + Write, args: &PingArgs) -> Result<(), Box<dyn Error>> {
    if let Some(password) = &args.requirepass {
        let request = format!("*2\r\n$4\r\nAUTH\r\n${}\r\n{password}\r\n", password.len());
        expect(&mut stream, request.as_bytes(), "OK")?;
    }
    expect(&mut stream, b"*1\r\n$4\r\nPING\r\n", "PONG")
}

/// Sends a request and reads the one reply it must get.
fn expect(stream: &mut (impl Read + Write), request: &[u8], wanted: &str) -> Result<(), Box<dyn Error>> {
    stream.write_all(request)?;
    let mut received = Vec::new();
    let mut chunk = [0; 512];
    loop {
        if let Some((frame, _)) = decode(&received)? {
            return match frame {
                Frame::SimpleString { data, .. } if data == wanted => Ok(()),
                Frame::SimpleError { data, .. } => Err(data.to_string().into()),
                other => Err(format!("an unexpected reply: {other:?}").into()),
            };
        }
        match stream.read(&mut chunk)? {
            0 => return Err("the server closed the connection".into()),
            read => received.extend_from_slice(&chunk[..read]),
        }
    }
}
