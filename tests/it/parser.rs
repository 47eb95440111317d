//! The request parser: redis-protocol agrees on flat requests, and parsing resumed at every split equals parsing at once.

use proptest::prelude::*;
use redis_protocol::resp3::types::Resp3Frame as _;
use redlet::internals::{Arg, Argv, Limits, Parsed, Parser, ProtocolError, decode};

const LIMITS: Limits = Limits { bulk_bytes_max: 512 * 1024 * 1024, args_max: i32::MAX as u64, unauthenticated: false };

/// What a client is seen to say: each request's words, and what ended the conversation, if something did.
#[derive(Debug, Default, PartialEq)]
struct Heard {
    requests: Vec<Vec<Vec<u8>>>,
    error: Option<ProtocolError>,
    /// Bytes of a request that has not arrived in full.
    left: usize,
}

/// Offers `input` in segments that end at `cuts`, as a connection would: what is not consumed is offered again with what follows.
fn hear(input: &[u8], cuts: &[usize], limits: &Limits) -> Heard {
    let mut heard = Heard::default();
    let (mut parser, mut args, mut scratch) = (Parser::default(), Vec::<Arg>::new(), Vec::new());
    let (mut start, mut request_scratch) = (0, 0);
    for end in cuts.iter().copied().chain([input.len()]) {
        loop {
            let parsed = match parser.parse(&input[start..end], &mut args, &mut scratch, limits) {
                Ok(parsed) => parsed,
                Err(error) => {
                    heard.error = Some(error);
                    return heard;
                }
            };
            let (len, argv) = match parsed {
                Parsed::Incomplete => break,
                Parsed::Nothing(len) => {
                    start += len;
                    continue;
                }
                Parsed::Multibulk(len) => (len, Argv::new(&input[start..], &args)),
                Parsed::Inline(len) => (len, Argv::new(&scratch, &args)),
            };
            heard.requests.push(argv.iter().map(<[u8]>::to_vec).collect());
            start += len;
            args.clear();
            request_scratch += 1;
        }
    }
    assert!(request_scratch == heard.requests.len());
    heard.left = input.len() - start;
    heard
}

fn encode(request: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", request.len()).into_bytes();
    for word in request {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

fn words() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..6)
}

/// Bytes that look like a protocol without always being one.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"\r\n".to_vec()),
        Just(b"*2\r\n".to_vec()),
        Just(b"$3\r\nabc\r\n".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"\"".to_vec()),
        Just(b"'".to_vec()),
        Just(b"\\x4".to_vec()),
        Just(b"$".to_vec()),
        Just(b"-1".to_vec()),
        Just(b"0".to_vec()),
        Just(b" ".to_vec()),
        prop::collection::vec(any::<u8>(), 1..4),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_flat_request_means_what_redis_protocol_says(request in words()) {
        let bytes = encode(&request);
        let heard = hear(&bytes, &[], &LIMITS);
        prop_assert_eq!(&heard.requests, &vec![request]);
        let (frame, len) = decode(&bytes).expect("a well-formed frame").expect("a whole frame");
        prop_assert_eq!(len, bytes.len());
        let redlet::internals::Frame::Array { data, .. } = frame else { panic!("an array") };
        let said: Vec<_> = data.iter().map(|item| item.as_bytes().expect("a bulk string").to_vec()).collect();
        prop_assert_eq!(&heard.requests[0], &said);
    }

    #[test]
    fn segments_make_no_difference(pipeline in prop::collection::vec(words(), 0..4), tail in noise(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8)) {
        let mut bytes = pipeline.iter().flat_map(|request| encode(request)).collect::<Vec<_>>();
        bytes.extend(tail);
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        prop_assert_eq!(hear(&bytes, &cuts, &LIMITS), hear(&bytes, &[], &LIMITS));
        let every: Vec<_> = (0..bytes.len()).collect();
        prop_assert_eq!(hear(&bytes, &every, &LIMITS), hear(&bytes, &[], &LIMITS));
    }
}

#[test]
fn a_length_that_is_only_announced_costs_nothing() {
    for bytes in [&b"*2147483647\r\n"[..], b"*2147483647\r\n$536870912\r\nx", b"*1\r\n$536870912\r\n"] {
        let (mut parser, mut args, mut scratch) = (Parser::default(), Vec::new(), Vec::new());
        assert_eq!(parser.parse(bytes, &mut args, &mut scratch, &LIMITS), Ok(Parsed::Incomplete));
        assert!(args.capacity() < 16, "no room is made for what was only announced");
    }
}

#[test]
fn what_breaks_the_framing_is_told_apart() {
    use ProtocolError::*;
    let cases: &[(&[u8], ProtocolError)] = &[
        (b"*2147483648\r\n", MultibulkLength),
        (b"*9223372036854775807\r\n", MultibulkLength),
        (b"*99999999999999999999\r\n", MultibulkLength),
        (b"*x\r\n", MultibulkLength),
        (b"*\r\n", MultibulkLength),
        (b"*01\r\n", MultibulkLength),
        (b"*1\r\n$-1\r\n", BulkLength),
        (b"*1\r\n$536870913\r\n", BulkLength),
        (b"*1\r\n$9223372036854775807\r\n", BulkLength),
        (b"*1\r\n$x\r\n", BulkLength),
        (b"*1\r\n*1\r\n", ExpectedDollar(b'*')),
        (b"*1\r\nPING\r\n", ExpectedDollar(b'P')),
        (b"*1\r\n$4\r\nPINGxx", BulkTerminator),
        (b"SET \"a\r\n", UnbalancedQuotes),
        (b"SET \"a\"b\r\n", UnbalancedQuotes),
        (b"SET 'a\r\n", UnbalancedQuotes),
    ];
    for (bytes, error) in cases {
        let heard = hear(bytes, &[], &LIMITS);
        assert_eq!((heard.requests.len(), heard.error), (0, Some(*error)), "{:?}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn a_line_without_an_end_is_cut_off_at_64_kib() {
    use ProtocolError::*;
    for (head, error) in [(&b"*"[..], BigMultibulkHeader), (b"*1\r\n$", BigBulkHeader), (b"x", BigInline)] {
        let mut bytes = head.to_vec();
        bytes.resize(64 * 1024 + head.len() - 1, b'1');
        assert_eq!(hear(&bytes, &[], &LIMITS).error, None);
        bytes.push(b'1');
        assert_eq!(hear(&bytes, &[], &LIMITS).error, Some(error));
    }
}

#[test]
fn an_unauthenticated_client_may_say_little() {
    use ProtocolError::*;
    let limits = Limits { unauthenticated: true, ..LIMITS };
    assert_eq!(hear(b"*10\r\n", &[], &limits).error, None);
    assert_eq!(hear(b"*11\r\n", &[], &limits).error, Some(UnauthenticatedMultibulk));
    assert_eq!(hear(b"*1\r\n$16384\r\n", &[], &limits).error, None);
    assert_eq!(hear(b"*1\r\n$16385\r\n", &[], &limits).error, Some(UnauthenticatedBulk));
}

#[test]
fn inline_words_follow_the_quoting_rules() {
    let cases: &[(&[u8], &[&[u8]])] = &[
        (b"PING\n", &[b"PING"]),
        (b"  SET\tk   v \r\n", &[b"SET", b"k", b"v"]),
        (b"SET \"a b\" 'c d'\r\n", &[b"SET", b"a b", b"c d"]),
        (b"SET \"\\x41\\n\\t\\q\\\"\" '\\'\\n'\r\n", &[b"SET", b"A\n\tq\"", b"'\\n"]),
        (b"SET k\"v\" ''\r\n", &[b"SET", b"kv", b""]),
        (b"SET \"\\xzz\"\r\n", &[b"SET", b"xzz"]),
        (b"GET a\0b\r\n", &[b"GET", b"a"]),
        (b"\xff \"\\xff\"\n", &[b"\xff", b"\xff"]),
    ];
    for (line, words) in cases {
        let heard = hear(line, &[], &LIMITS);
        assert_eq!(
            heard.requests,
            [words.iter().map(|word| word.to_vec()).collect::<Vec<_>>()],
            "{:?}",
            String::from_utf8_lossy(line)
        );
    }
    assert_eq!(hear(b"\r\n\n  \r\n", &[], &LIMITS).requests.len(), 0, "an empty line asks for nothing");
}

#[test]
fn a_slow_sender_of_a_large_request_costs_linear_time() {
    // Arrives a few bytes at a time. Were each arrival to walk the request from its start, this would take hours.
    let request: Vec<_> = (0..100_000).map(|i: u32| i.to_string().into_bytes()).collect();
    let bytes = encode(&request);
    let cuts: Vec<_> = (0..bytes.len()).step_by(7).collect();
    let heard = hear(&bytes, &cuts, &LIMITS);
    assert_eq!(heard.requests, [request]);
}
