//! What an idle connection costs. A test target of its own, since it replaces the allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};

use redlet::Server;

/// Bytes that are allocated, in all threads.
static BYTES: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, and a count of the bytes that it has given and not taken back.
struct Counting;

// SAFETY: every call goes on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the promises that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above; and this allocator's memory is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CONNECTIONS: usize = 400;
/// Bytes that one may take.
const BYTES_MAX: usize = 900;

fn connect(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(server.addr()).expect("the server accepts");
    stream.write_all(b"PING\r\n").expect("the server reads");
    let mut reply = [0; 7];
    stream.read_exact(&mut reply).expect("the server answers");
    assert_eq!(&reply, b"+PONG\r\n");
    stream
}

#[test]
fn an_idle_connection_costs_little() {
    let server = Server::start().expect("a free port");
    let mut streams = Vec::with_capacity(2 * CONNECTIONS);
    // All threads have started, and their buffers have their size.
    streams.extend((0..CONNECTIONS).map(|_| connect(&server)));
    let before = BYTES.load(Ordering::Relaxed);
    streams.extend((0..CONNECTIONS).map(|_| connect(&server)));
    let each = (BYTES.load(Ordering::Relaxed) - before) / CONNECTIONS;
    assert!((500..=BYTES_MAX).contains(&each), "{each} bytes");
}
