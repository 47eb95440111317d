//! How often requests allocate memory: the hot ones never. A test target of its own, since it replaces the allocator.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

#[path = "../benches/stage.rs"]
mod stage;

use stage::{BATCH, Stage, batch, key, request};

thread_local! {
    /// Of this thread: the tests run side by side.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, and a count of how often it is asked for memory.
struct Counting;

// SAFETY: every call goes on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the promises that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as above; and this allocator's memory is the system's.
        unsafe { System.realloc(pointer, layout, new_size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Keys that are there.
const KEYS: usize = 20_000;
/// Tables that may grow while a batch of new keys is stored. Most of them are far from full at this number of keys.
const GROWING_MAX: usize = 10;

fn allocations(stage: &mut Stage, batch: &[u8], reply: &str) -> usize {
    let expected = reply.repeat(BATCH);
    let before = ALLOCATIONS.get();
    let replies = stage.feed(batch);
    let counted = ALLOCATIONS.get() - before;
    assert_eq!(String::from_utf8_lossy(replies), expected);
    counted
}

/// Batches of which the one that allocates least counts: one that takes longer than any before it, since the machine is busy, takes
/// memory to count that.
const ATTEMPTS: usize = 20;

/// Requests on keys that are there allocate `each` times apiece, once the buffers of the batch have their size.
#[track_caller]
fn check(each: usize, reply: &str, of: impl Fn(usize) -> Vec<u8>) {
    check_each(each, |_| reply.to_owned(), of);
}

/// The same where the reply to the batch of a number depends on that.
#[track_caller]
fn check_each(each: usize, reply: impl Fn(usize) -> String, of: impl Fn(usize) -> Vec<u8>) {
    let mut stage = Stage::new(KEYS);
    let batch = batch(of);
    let fewest = (0..ATTEMPTS).map(|number| allocations(&mut stage, &batch, &reply(number))).min();
    assert_eq!(fewest, Some(each * BATCH));
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(Box::new(1)));
    let mut bytes = std::hint::black_box(vec![1_u8]);
    bytes.reserve_exact(100);
    assert_eq!(ALLOCATIONS.get() - before, 3);
}

#[test]
fn get_of_a_key_never() {
    check(0, "$3\r\n100\r\n", |number| request(&["GET", &key(number)]));
}

#[test]
fn get_of_no_key_never() {
    check(0, "$-1\r\n", |number| request(&["GET", &key(KEYS + number)]));
}

#[test]
fn set_of_an_equal_length_never() {
    check(0, "+OK\r\n", |number| request(&["SET", &key(number), "200"]));
}

#[test]
fn set_of_a_key_with_a_deadline_never() {
    check(0, "+OK\r\n", |number| request(&["SET", &key(number), "200", "EX", "100"]));
}

#[test]
fn incr_of_an_equal_length_never() {
    check_each(0, |number| format!(":{}\r\n", 101 + number), |number| request(&["INCR", &key(number)]));
}

#[test]
fn set_of_a_new_key_at_most_once() {
    let mut stage = Stage::new(KEYS);
    let new = |first: usize| batch(|number| request(&["SET", &key(first + number), "300"]));
    allocations(&mut stage, &new(KEYS), "+OK\r\n");
    let counted = allocations(&mut stage, &new(KEYS + BATCH), "+OK\r\n");
    assert!(counted <= BATCH + GROWING_MAX, "{counted} for {BATCH} keys");
}

/// The keys, the set of their shards, and the locks.
#[test]
fn mget_of_ten_keys_three_times() {
    let keys: Vec<_> = (0..10).map(key).collect();
    let words: Vec<_> = ["MGET"].into_iter().chain(keys.iter().map(String::as_str)).collect();
    check(3, &format!("*10\r\n{}", "$3\r\n100\r\n".repeat(10)), |_| request(&words));
}

/// As MGET, and the values.
#[test]
fn mset_of_ten_keys_four_times() {
    let keys: Vec<_> = (0..10).map(key).collect();
    let words: Vec<_> = ["MSET"].into_iter().chain(keys.iter().flat_map(|key| [key.as_str(), "400"])).collect();
    check(4, "+OK\r\n", |_| request(&words));
}
