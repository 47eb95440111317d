//! Times the parts of a request, each on its own and together, without a socket: `cargo bench --bench micro`.

mod stage;

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime};
use redlet::internals::{Deadline, Limits, Moment, Output, Parsed, Parser, Protocol, Reply, Store, Touch, UnixMillis, table};
use stage::{BATCH, Stage, batch, key, request};

/// Keys that are there where a keyspace is needed. More than fit a processor's nearest caches.
const KEYS: usize = 100_000;

fn get(number: usize) -> Vec<u8> {
    request(&["GET", &key(scattered(number))])
}

fn set(number: usize) -> Vec<u8> {
    request(&["SET", &key(scattered(number)), "300"])
}

fn mget(number: usize) -> Vec<u8> {
    let keys: Vec<_> = (number * 10..number * 10 + 10).map(|number| key(scattered(number))).collect();
    request(&["MGET"].into_iter().chain(keys.iter().map(String::as_str)).collect::<Vec<_>>())
}

/// Spreads numbers over the keys that are there.
fn scattered(number: usize) -> usize {
    number * 7919 % KEYS
}

/// A group of benches whose figures are for one request, or one of whatever a batch holds.
fn group<'c>(criterion: &'c mut Criterion, name: &str) -> BenchmarkGroup<'c, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(BATCH as u64));
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(2));
    group
}

fn parser(criterion: &mut Criterion) {
    let limits = Limits { bulk_bytes_max: 512 << 20, args_max: 1 << 20, unauthenticated: false };
    let mut group = group(criterion, "parser");
    let long = "v".repeat(1024);
    let inputs = [
        ("GET", batch(get)),
        ("SET", batch(set)),
        ("SET of 1 KiB", batch(|number| request(&["SET", &key(number), &long]))),
        ("MGET of 10", batch(mget)),
        ("inline", batch(|number| format!("GET {}\r\n", key(number)).into_bytes())),
    ];
    for (name, input) in &inputs {
        let (mut parser, mut args, mut scratch) = (Parser::default(), Vec::new(), Vec::new());
        group.bench_function(*name, |bencher| {
            bencher.iter(|| {
                args.clear();
                scratch.clear();
                let mut rest = black_box(input.as_slice());
                while let Ok(Parsed::Multibulk(len) | Parsed::Inline(len)) = parser.parse(rest, &mut args, &mut scratch, &limits) {
                    rest = &rest[len..];
                }
                assert!(rest.is_empty(), "the input holds whole requests");
                black_box(args.len())
            });
        });
    }
}

fn dispatch(criterion: &mut Criterion) {
    let mut group = group(criterion, "dispatch");
    let names: Vec<_> = ["GET", "set", "INCRBY", "expire"].into_iter().cycle().take(BATCH).collect();
    group.bench_function("look-up of a name", |bencher| {
        bencher.iter(|| {
            black_box(&names).iter().filter_map(|name| table().lookup(name.as_bytes())).map(|found| found.id).sum::<usize>()
        });
    });
    let requests = [
        ("PING", batch(|_| request(&["PING"]))),
        ("GET without a key", batch(|_| request(&["GET"]))),
        ("GET", batch(get)),
        ("SET", batch(set)),
        ("INCR", batch(|number| request(&["INCR", &key(scattered(number))]))),
        ("MGET of 10", batch(mget)),
    ];
    let mut stage = Stage::new(KEYS);
    for (name, batch) in &requests {
        group.bench_function(*name, |bencher| bencher.iter(|| stage.feed(black_box(batch)).len()));
    }
}

fn reply(criterion: &mut Criterion) {
    let mut group = group(criterion, "reply");
    let mut out = Output::default();
    let mut bench = |name: &str, write: &dyn Fn(&mut Reply<'_>)| {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                out.clear();
                let mut reply = Reply::new(&mut out, Protocol::Resp2);
                (0..BATCH).for_each(|_| write(&mut reply));
                black_box(reply.mark())
            });
        });
    };
    let long = "v".repeat(1024);
    bench("OK", &|reply| reply.ok());
    bench("integer", &|reply| reply.int(black_box(123_456)));
    bench("bulk string of 3", &|reply| reply.bulk(black_box("abc")));
    bench("bulk string of 1 KiB", &|reply| reply.bulk(black_box(&long)));
    bench("error", &|reply| reply.error("ERR syntax error"));
}

fn store(criterion: &mut Criterion) {
    let store = Store::new(1, 256);
    let gate = store.enter();
    let db = gate.db(0);
    let at = Moment { now: UnixMillis(1_700_000_000_000), touch: Touch::Lru, observer: None };
    let names = |numbers: std::ops::Range<usize>| numbers.map(|number| key(scattered(number))).collect::<Vec<_>>();
    for name in (0..KEYS).map(key) {
        db.write(store.hasher().key(name.as_bytes()), at, |slot| slot.set(b"100", Deadline::None));
    }
    let (there, absent) = (names(0..BATCH), (KEYS..KEYS + BATCH).map(key).collect::<Vec<_>>());
    let mut group = group(criterion, "store");
    let hash = |name: &String| store.hasher().hash(name.as_bytes());
    group.bench_function("hash", |bencher| bencher.iter(|| black_box(&there).iter().map(hash).fold(0, |all, one| all ^ one)));
    let len =
        |name: &String| db.read(store.hasher().key(name.as_bytes()), at, |found| found.map_or(0, |found| found.value().len()));
    group.bench_function("read", |bencher| bencher.iter(|| black_box(&there).iter().map(len).sum::<usize>()));
    group.bench_function("read of no key", |bencher| bencher.iter(|| black_box(&absent).iter().map(len).sum::<usize>()));
    let set =
        |name: &String, value: &[u8]| db.write(store.hasher().key(name.as_bytes()), at, |slot| slot.set(value, Deadline::None));
    let remove = |name: &String| db.write(store.hasher().key(name.as_bytes()), at, |slot| slot.remove());
    group.bench_function("write of an equal length", |bencher| {
        bencher.iter(|| black_box(&there).iter().for_each(|name| set(name, b"200")))
    });
    group.bench_function("write of a new key, and its removal", |bencher| {
        bencher.iter(|| {
            black_box(&absent).iter().for_each(|name| set(name, b"200"));
            black_box(&absent).iter().filter(|name| remove(name)).count()
        });
    });
}

criterion_group!(benches, parser, dispatch, reply, store);
criterion_main!(benches);
