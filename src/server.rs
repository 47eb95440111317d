//! Listening, accepting under the connection cap, sweeping, and the graceful end.

use std::future::Future;
use std::hint::black_box;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::{Duration, Instant};

use socket2::{Domain, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::clients::{Address, Client, Post, Sender};
use crate::clock::UnixMillis;
use crate::config::Config;
use crate::conversation::{Conversation, TOO_MANY_CLIENTS};
use crate::error::Error;
use crate::events::Events;
use crate::shared::Shared;
use crate::socket::{Connection, Listed, Serving, Stream};
use crate::store::{Moment, Observer, Sweep, Touch};
use crate::workers::Workers;

/// Connections that may wait to be accepted: Redis's `tcp-backlog`.
const BACKLOG: i32 = 511;
/// Longest time between keep-alive probes that Linux takes, in seconds: its `MAX_TCP_KEEPIDLE`.
const KEEPALIVE_SECONDS_MAX: u64 = 32_767;
/// How often the sweeper looks for keys that have expired, and housekeeping for idle connections.
const TICK: Duration = Duration::from_millis(100);
/// Ticks between two occasions for the allocator to give memory back.
const TICKS_STIR: u32 = 10;
/// Bytes asked for on such an occasion: so many that the allocator looks at what it got from the system. None of them is touched.
const STIR_BYTES: usize = 1024 * 1024;
/// How long the sweeper may hold up one thread at a time.
const SWEEP_SLICE: Duration = Duration::from_micros(500);
/// How long a stopping server waits for its connections to be answered.
const STOP_WAIT: Duration = Duration::from_secs(2);

/// A server that listens but does not accept yet.
pub(crate) struct Bound {
    pub(crate) shared: Arc<Shared>,
    workers: Workers,
    tcp: Vec<TcpListener>,
    unix: Option<UnixListener>,
}

impl Bound {
    /// Listens on all that `config` says. Needs a tokio runtime around it.
    pub(crate) fn new(config: Config) -> Result<Self, Error> {
        let tcp = match config.port {
            Some(port) => listen_on_all(&config.bind, port)?,
            None => Vec::new(),
        };
        let unix = match &config.unixsocket {
            Some(path) => Some(listen_on_path(path).map_err(|source| Error::UnixSocket { path: path.clone(), source })?),
            None => None,
        };
        if tcp.is_empty() && unix.is_none() {
            return Err(Error::NothingToListenOn);
        }
        Self::with_listeners(config, tcp, unix)
    }

    /// Takes listeners that the caller has made.
    pub(crate) fn with_listeners(config: Config, tcp: Vec<TcpListener>, unix: Option<UnixListener>) -> Result<Self, Error> {
        let shared = Arc::new(Shared::new(config)?);
        if let Some(addr) = tcp.first().and_then(|listener| listener.local_addr().ok()) {
            shared.addr.get_or_init(|| addr);
        }
        let workers = Workers::start(&shared).map_err(Error::Thread)?;
        Ok(Self { shared, workers, tcp, unix })
    }

    /// Serves until `shutdown` is done or a client says SHUTDOWN, then answers what is in.
    pub(crate) async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let Self { shared, workers, tcp, unix } = self;
        let unixsocket = unix.as_ref().and_then(|_| shared.config.unixsocket.clone());
        for addr in tcp.iter().filter_map(|listener| listener.local_addr().ok()) {
            shared.log.notice(&format!("listening on {addr}"));
        }
        if let Some(path) = &unixsocket {
            shared.log.notice(&format!("listening on {}", path.display()));
        }
        let ending = Ending { shared: Arc::clone(&shared), unixsocket };
        let workers = Arc::new(workers);
        let mut accepting = JoinSet::new();
        for listener in tcp {
            accepting.spawn(accept_tcp(listener, Arc::clone(&shared), Arc::clone(&workers)));
        }
        if let Some(listener) = unix {
            accepting.spawn(accept_unix(listener, Arc::clone(&shared), Arc::clone(&workers)));
        }
        accepting.spawn(tick(Arc::clone(&shared), Arc::clone(&workers)));
        either(shutdown, stopped(&shared)).await;
        drop(ending);
        accepting.shutdown().await;
        // A connection that does not end in time is ended with its worker.
        let _late = timeout(STOP_WAIT, drained(&shared)).await;
        // Ending the threads must not hold up the caller's event loop. The accepting tasks are gone, and with them their share.
        if let Some(mut workers) = Arc::into_inner(workers) {
            let _ended = tokio::task::spawn_blocking(move || workers.end()).await;
        }
        shared.log.notice("stopped");
        Ok(())
    }
}

/// Waits for whichever comes first.
async fn either(one: impl Future<Output = ()>, other: impl Future<Output = ()>) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    std::future::poll_fn(|cx| {
        let done = one.as_mut().poll(cx).is_ready() || other.as_mut().poll(cx).is_ready();
        if done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Has everything end that the server has begun, also when whoever runs it lets go of it.
struct Ending {
    shared: Arc<Shared>,
    /// The socket file that was made.
    unixsocket: Option<PathBuf>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(path) = &self.unixsocket {
            // Somebody may have removed it already.
            let _gone = std::fs::remove_file(path);
        }
    }
}

async fn stopped(shared: &Shared) {
    std::future::poll_fn(|cx| {
        shared.on_stop(cx.waker());
        if shared.is_stopping() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

async fn drained(shared: &Shared) {
    while !shared.clients.is_empty() {
        sleep(Duration::from_millis(2)).await;
    }
}

/// Listens on every address of `bind`. With port 0 all of them share the port that the first one got.
fn listen_on_all(bind: &[IpAddr], port: u16) -> Result<Vec<TcpListener>, Error> {
    let mut listeners: Vec<TcpListener> = Vec::new();
    let mut missing = None;
    let mut port = port;
    for &ip in bind {
        let addr = SocketAddr::new(ip, port);
        match listen(addr) {
            Ok(listener) => {
                port = listener.local_addr().map_or(port, |addr| addr.port());
                listeners.push(listener);
            }
            // A machine without IPv6 has no ::1; the other addresses will do.
            Err(source) if source.kind() == io::ErrorKind::AddrNotAvailable || source.raw_os_error() == Some(EAFNOSUPPORT) => {
                missing = Some(Error::Bind { addr, source });
            }
            Err(source) => return Err(Error::Bind { addr, source }),
        }
    }
    match missing {
        Some(error) if listeners.is_empty() => Err(error),
        _ => Ok(listeners),
    }
}

/// "Address family not supported", which `std` has no name for.
const EAFNOSUPPORT: i32 = 97;

fn listen(addr: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(addr), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    if addr.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&addr.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Listens on a Unix socket. A socket file that nobody listens on is left from an earlier server and is replaced; a file of any other
/// kind is somebody's data and stays.
fn listen_on_path(path: &Path) -> io::Result<UnixListener> {
    match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let is_socket = std::fs::symlink_metadata(path)?.file_type().is_socket();
            if !is_socket || std::os::unix::net::UnixStream::connect(path).is_ok() {
                return Err(error);
            }
            std::fs::remove_file(path)?;
            UnixListener::bind(path)
        }
        listening => listening,
    }
}

async fn accept_tcp(listener: TcpListener, shared: Arc<Shared>, workers: Arc<Workers>) {
    loop {
        match listener.accept().await {
            Ok((stream, addr)) => {
                if let Err(error) = admit_tcp(stream, addr, &shared, &workers) {
                    shared.log.warning(&format!("a connection from {addr} could not be served: {error}"));
                }
            }
            Err(error) => accept_failed(&shared, &error).await,
        }
    }
}

async fn accept_unix(listener: UnixListener, shared: Arc<Shared>, workers: Arc<Workers>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                if let Err(error) = admit_unix(stream, &shared, &workers) {
                    shared.log.warning(&format!("a connection through the Unix socket could not be served: {error}"));
                }
            }
            Err(error) => accept_failed(&shared, &error).await,
        }
    }
}

/// The peer left early, which is its own business; or descriptors have run out, and as that ends when others leave, there is no use
/// in trying at once.
async fn accept_failed(shared: &Shared, error: &io::Error) {
    if error.kind() != io::ErrorKind::ConnectionAborted {
        shared.log.warning(&format!("a connection could not be accepted: {error}"));
        sleep(TICK).await;
    }
}

fn admit_tcp(stream: TcpStream, addr: SocketAddr, shared: &Arc<Shared>, workers: &Workers) -> io::Result<()> {
    let laddr = stream.local_addr()?;
    stream.set_nodelay(true)?;
    let seconds = shared.settings.keepalive_seconds.load(Ordering::Relaxed).min(KEEPALIVE_SECONDS_MAX);
    if seconds > 0 {
        let interval = Duration::from_secs((seconds / 3).max(1));
        let keepalive = TcpKeepalive::new().with_time(Duration::from_secs(seconds)).with_interval(interval).with_retries(3);
        SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
    }
    admit(stream, [addr.into(), laddr.into()], 0, shared, workers)
}

fn admit_unix(stream: UnixStream, shared: &Arc<Shared>, workers: &Workers) -> io::Result<()> {
    let path = shared.config.unixsocket.as_deref().map_or_else(String::new, |path| path.display().to_string());
    let addr = Address::Text(format!("{path}:0").into());
    admit(stream, [addr.clone(), addr], Client::UNIX_SOCKET, shared, workers)
}

/// Begins a conversation on the worker thread whose turn it is, unless there are too many: then the peer is told so.
fn admit<S>(stream: S, [addr, laddr]: [Address; 2], flags: u32, shared: &Arc<Shared>, workers: &Workers) -> io::Result<()>
where
    S: Stream + AsFd + Send + 'static,
{
    let Some(conversation) = Conversation::begin(shared, addr, laddr, flags) else {
        // A peer that is already gone needs no telling.
        let _told = SockRef::from(&stream).send(TOO_MANY_CLIENTS);
        return Ok(());
    };
    conversation.session().client.fd.store(stream.as_fd().as_raw_fd(), Ordering::Relaxed);
    let listed = Listed { conversation, shared: Arc::clone(shared) };
    // Without a thread it is closed: the server is ending.
    if let Some(seat) = workers.seat() {
        Serving::spawn(Connection::new(stream.move_to(seat.handle())?, listed), seat);
    }
    Ok(())
}

/// Reclaims what has expired, closes connections that have been idle for too long, and keeps the worker threads busy alike.
async fn tick(shared: Arc<Shared>, workers: Arc<Workers>) {
    for ticks in (1..=TICKS_STIR).cycle() {
        sleep(TICK).await;
        if ticks == TICKS_STIR {
            stir_allocator();
        }
        shared.stats.sample(shared.clock.now());
        close_idle(&shared);
        cut_off(&shared);
        workers.balance();
        if !shared.settings.active_expire.load(Ordering::Relaxed) {
            continue;
        }
        let mut at = Place::default();
        while !sweep_slice(&shared, &mut at) {
            // Others come first, on this thread as well.
            sleep(SWEEP_SLICE).await;
        }
    }
}

/// Has the allocator look whether there is memory to give back. mimalloc does so only when something large is asked for, so that a server
/// that falls idle after FLUSHALL, or after its keys have expired, would keep it all.
fn stir_allocator() {
    drop(black_box(Vec::<u8>::with_capacity(STIR_BYTES)));
}

/// Removes all that has expired, at one go: for tests whose clock moves at once.
pub fn sweep(shared: &Shared) {
    let mut at = Place::default();
    let mut is_done = !shared.settings.active_expire.load(Ordering::Relaxed);
    while !is_done {
        is_done = sweep_slice(shared, &mut at);
    }
}

/// Where a sweep over all databases goes on.
#[derive(Default)]
struct Place {
    database: usize,
    sweep: Sweep,
}

/// Sweeps for one slice of time and tells of what it removes. Whether the last database is done.
fn sweep_slice(shared: &Shared, at: &mut Place) -> bool {
    let (post, now) = (Post::default(), shared.clock.now());
    let sender = Sender { post: &post, settings: &shared.settings, now };
    let is_done = sweep_databases(shared, at, now, &Events::new(shared, sender));
    if shared.tracking.is_due() {
        shared.tracking.broadcast(&shared.clients, sender);
    }
    is_done
}

fn sweep_databases(shared: &Shared, at: &mut Place, now: UnixMillis, observer: &dyn Observer) -> bool {
    let begun = Instant::now();
    let databases = shared.store.enter();
    let moment = Moment { now, touch: Touch::No, observer: observer.is_curious().then_some(observer) };
    // A database that is done waits for the next round, or one in which much expires would keep the sweep from the others.
    for (index, db) in databases.used() {
        if index < at.database {
            continue;
        }
        if index > at.database {
            *at = Place { database: index, sweep: Sweep::default() };
        }
        if !db.sweep(&mut at.sweep, moment, || begun.elapsed() < SWEEP_SLICE) {
            return false;
        }
        at.database = index + 1;
    }
    true
}

/// Cuts off those who have let more wait than the soft limit allows for too long, also when nothing more comes for them.
fn cut_off(shared: &Shared) {
    if shared.pubsub.is_idle() && shared.tracking.is_empty() && !shared.clients.has_monitors() {
        return;
    }
    let now = shared.clock.now();
    for client in shared.clients.all().iter().filter(|client| client.has(Client::LISTENS)) {
        client.check_output(&shared.settings, now);
    }
}

/// Closes connections that have been silent for longer than `timeout`. Those that wait or watch are meant to be silent.
fn close_idle(shared: &Shared) {
    let seconds = shared.settings.timeout_seconds.load(Ordering::Relaxed);
    if seconds == 0 {
        return;
    }
    let now = shared.clock.now();
    for client in shared.clients.all() {
        let active = UnixMillis(client.active.load(Ordering::Relaxed));
        if now.millis_since(active) > seconds * 1000 && !client.has(Client::BLOCKED | Client::PUBSUB | Client::MONITOR) {
            client.kill();
        }
    }
}
