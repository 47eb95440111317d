//! Starting a server from a program: on a thread of its own, or on the caller's runtime.

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use tokio::net::TcpListener;
use tokio::runtime::Builder;

use crate::config::Config;
use crate::error::Error;
use crate::server::Bound;
use crate::shared::Shared;

/// A server that runs on threads of its own and stops when it is dropped.
///
/// It needs no runtime of the caller's and disturbs none: start it from a plain `#[test]` as well as from async code.
///
/// ```
/// use std::io::{Read, Write};
///
/// let server = redlet::Server::start()?;
/// let mut client = std::net::TcpStream::connect(server.addr())?;
/// client.write_all(b"PING\r\n")?;
/// let mut reply = [0; 7];
/// client.read_exact(&mut reply)?;
/// assert_eq!(&reply, b"+PONG\r\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Server {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl Server {
    /// Starts a server on a free port of 127.0.0.1 (and of ::1 where there is one). It accepts connections when this returns.
    ///
    /// # Errors
    /// [`Error::Bind`] when no port is to be had, [`Error::Thread`] when no thread is.
    pub fn start() -> Result<Self, Error> {
        Self::with_config(Config::default())
    }

    /// Starts a server as `config` says. It accepts connections when this returns.
    ///
    /// # Errors
    /// Whatever keeps it from listening, and parameters that do not exist.
    pub fn with_config(config: Config) -> Result<Self, Error> {
        let (started, starting) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("redlet".to_owned())
            .spawn(move || {
                let runtime = Builder::new_current_thread().enable_io().enable_time().build().map_err(Error::Thread)?;
                runtime.block_on(async {
                    let bound = Bound::new(config)?;
                    // The receiver waits for this or for the thread's end.
                    let _heard = started.send(Arc::clone(&bound.shared));
                    bound.run(std::future::pending()).await
                })
            })
            .map_err(Error::Thread)?;
        match starting.recv() {
            Ok(shared) => Ok(Self { shared, thread: Some(thread) }),
            Err(mpsc::RecvError) => match thread.join() {
                Ok(Err(error)) => Err(error),
                Ok(Ok(())) => unreachable!("a server that ends well has started"),
                Err(panic) => std::panic::resume_unwind(panic),
            },
        }
    }

    /// The TCP address it listens on; the first one if there are several.
    ///
    /// # Panics
    /// When it was configured to listen on a Unix socket only.
    pub fn addr(&self) -> SocketAddr {
        *self.shared.addr.get().expect("a server with `port: None` has no TCP address")
    }

    /// The address as a URL that client libraries take: `redis://127.0.0.1:40123`.
    ///
    /// # Panics
    /// As [`Self::addr`].
    pub fn url(&self) -> String {
        format!("redis://{}", self.addr())
    }

    /// Waits until the server ends by itself: a client said SHUTDOWN.
    ///
    /// # Errors
    /// What it failed with.
    pub fn wait(mut self) -> Result<(), Error> {
        self.join()
    }

    /// Stops accepting, answers what is in, and ends. Dropping does the same.
    ///
    /// # Errors
    /// What it failed with.
    pub fn stop(mut self) -> Result<(), Error> {
        self.shared.stop();
        self.join()
    }

    fn join(&mut self) -> Result<(), Error> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(outcome)) => outcome,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(()),
        }
    }
}

// What is inside is long and holds the password.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("addr", &self.shared.addr.get()).finish_non_exhaustive()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(thread) = self.thread.take() {
            // A drop has nobody to tell: who wants to know calls `stop`.
            let _outcome = thread.join();
        }
    }
}

/// Serves the connections that `listener` brings until `shutdown` is done, on the caller's tokio runtime: for those who have one.
///
/// Connections are accepted on the caller's runtime and then served by worker threads of the server's own. So a client that blocks the
/// only thread of a runtime waits for ever to be accepted: use [`Server`] there. Of `config`, the addresses to listen on are not looked at.
///
/// # Errors
/// [`Error::Thread`] when the worker threads cannot be started, [`Error::Parameter`] for parameters that do not exist.
pub async fn run(listener: TcpListener, config: Config, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
    Bound::with_listeners(config, vec![listener], None)?.run(shutdown).await
}

/// Serves as `config` says until `shutdown` is done; `started` is told the address once connections are accepted.
///
/// # Errors
/// As [`Server::with_config`].
pub async fn serve(
    config: Config,
    started: impl FnOnce(Option<SocketAddr>),
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    let bound = Bound::new(config)?;
    started(bound.shared.addr.get().copied());
    bound.run(shutdown).await
}

#[cfg(test)]
mod tests;
