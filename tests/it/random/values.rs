//! Words to fill in: few keys, so that commands meet, and values at the borders where their meaning changes.
//! Knows no command; also keeps time and memory from deciding what is answered.

use super::dice::Dice;

/// The keys of all sequences. One is empty and one is binary.
pub(super) const KEYS: &[&[u8]] =
    &[b"", b"a", b"b", b"user:{1}", b"\x00\xff\r\n*", b"a key that is longer than what any small buffer holds"];

const INTEGERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "-5",
    "7",
    "10",
    "42",
    "100",
    "127",
    "-128",
    "255",
    "256",
    "9999",
    "10000",
    "65535",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775806",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775807",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
];

const FLOATS: &[&str] = &[
    "0.1",
    "0.2",
    "-0.3",
    "1.5",
    "-1.5",
    "3.0",
    "10.50",
    ".5",
    "5.",
    "+1.5",
    "1e5",
    "5.0e3",
    "1e-5",
    "1e-17",
    "1e-18",
    "1e17",
    "1e18",
    "1e21",
    "1e300",
    "-1e300",
    "1e400",
    "1e4932",
    "1e4933",
    "1e-4950",
    "1e-5000",
    "inf",
    "-inf",
    "Infinity",
    "nan",
    "-0",
    "-0.0",
    "0x1p3",
    "0x1.8",
    "3.14159265358979323846",
    "123456789012345678901234567890",
    "99999999999999999",
    "9223372036854775807.5",
    "0.30000000000000004",
];

/// What looks like a number and mostly is none.
const GARBAGE: &[&str] = &[
    "",
    "-",
    "+1",
    " 1",
    "1 ",
    "\t1",
    "1\n",
    "1\0",
    "1.",
    "1,5",
    "0x1",
    "0x",
    "1e5",
    "1e",
    "-0",
    "00",
    "01",
    "--1",
    "1_0",
    "abc",
    "nan",
    "1.5",
    "999999999999999999999999999999",
    "-999999999999999999999999999999",
    "\u{663}",
];

const TEXTS: &[&str] =
    &["", "x", "ab", "foobar", "foo", "ohmytext", "mynewtext", "\0", "\0\0\0", "\r\n", "a b", "\"quoted\"", "OK", "NX"];

/// Lengths at which Redis keeps a string in another form, others around powers of two, and those at which this server keeps it so.
const LENGTHS: &[usize] = &[1, 2, 8, 19, 20, 21, 28, 29, 43, 44, 45, 46, 63, 64, 65, 200, 255, 256, 1240, 1280];

/// Lengths of values that are shared with replies, and of others nearly as long. Few of them are made: they take their time.
const LARGE_LENGTHS: &[usize] = &[32_767, 32_768, 65_535, 65_536];

const POSITIONS: &[&str] =
    &["0", "0", "1", "-1", "2", "3", "-2", "-3", "4", "5", "7", "8", "9", "15", "16", "23", "31", "32", "63", "64", "100", "-100"];

/// Databases. What happens in the first few is looked at key by key in the end.
const DATABASES: &[&str] = &["0", "0", "1", "1", "2", "2", "3", "15", "16", "-1"];

/// Time from now, in seconds or milliseconds: long enough never to end while a sequence is played, or already over.
const SPANS: &[&str] = &[
    "1000000",
    "2000000",
    "3000000",
    "50000000",
    "700000000",
    "9000000000",
    "1000000",
    "3000000",
    "50000000",
    "9000000000",
    "0",
    "-1",
    "-1000000",
    "9223372036854775",
    "9223372036854776",
    "9223370000000000",
    "9223372036854775807",
    "-9223372036854775",
    "-9223372036854776",
    "-9223372036854775808",
];

const UNIX_SECONDS: &[&str] = &[
    "33177117420",
    "33177117421",
    "9999999999",
    "33177117420",
    "33177117421",
    "9999999999",
    "9999999998",
    "1",
    "1000000000",
    "0",
    "-1",
    "9223372036854775",
    "9223372036854776",
    "9223372036854775807",
    "-9223372036854776",
    "-9223372036854775808",
];

const UNIX_MILLIS: &[&str] = &[
    "33177117420000",
    "33177117420500",
    "33177117420000",
    "33177117420499",
    "33177117420500",
    "33177117420999",
    "33177117421000",
    "9999999999999",
    "1",
    "1000000000000",
    "0",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
];

const PATTERNS: &[&str] =
    &["*", "a", "a*", "*a*", "?", "[ab]", "[^a]", "[a-c]", "\\a", "", "**", "user:*", "[", "a[", "*\n*", "[z-a]", "user:{1}"];

const ENCODINGS: &[&str] = &[
    "u1", "u2", "u3", "u7", "u8", "u16", "u31", "u32", "u33", "u62", "u63", "i1", "i2", "i5", "i8", "i16", "i32", "i63", "i64",
    "u64", "i65", "u0", "i0", "U8", "i", "8", "u08", "i+8",
];

const TYPES: &[&str] = &["string", "STRING", "list", "hash", "stream", "set", "zset", "nosuch"];

/// What an argument holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Key,
    Value,
    Integer,
    Position,
    Float,
    Garbage,
    Database,
    Span,
    UnixSeconds,
    UnixMillis,
    Pattern,
    Encoding,
    Type,
    BitOperation,
    Cursor,
    Count,
    Bit,
}

/// A word of this sort; now and then of another.
pub(super) fn word(sort: Sort, dice: &mut Dice) -> Vec<u8> {
    let choices: &[&str] = match sort {
        Sort::Key => return dice.pick(KEYS).to_vec(),
        Sort::Float if dice.chance(40) => return decimal(dice),
        Sort::Integer if dice.chance(15) => return digits(dice, 20),
        Sort::Value => return value(dice),
        Sort::Integer if dice.chance(15) => GARBAGE,
        Sort::Position if dice.chance(10) => INTEGERS,
        Sort::Position | Sort::Database | Sort::Count | Sort::Bit if dice.chance(5) => GARBAGE,
        Sort::Span | Sort::UnixSeconds | Sort::UnixMillis | Sort::Float if dice.chance(8) => GARBAGE,
        Sort::Integer => INTEGERS,
        Sort::Position => POSITIONS,
        Sort::Float => FLOATS,
        Sort::Garbage => GARBAGE,
        Sort::Database => DATABASES,
        Sort::Span => SPANS,
        Sort::UnixSeconds => UNIX_SECONDS,
        Sort::UnixMillis => UNIX_MILLIS,
        Sort::Pattern => PATTERNS,
        Sort::Encoding => ENCODINGS,
        Sort::Type => TYPES,
        Sort::BitOperation => &["AND", "OR", "XOR", "NOT", "and", "Not", "NAND"],
        Sort::Cursor => &["0", "0", "0", "0", "1", "17", "x", "-1", "18446744073709551615", "18446744073709551616", " 0", "0x"],
        Sort::Count => &["1", "5", "10", "10", "100", "1000", "0", "-1", "x"],
        Sort::Bit => &["0", "1", "0", "1", "0", "1", "2", "-1", "9223372036854775808"],
    };
    dice.pick(choices).as_bytes().to_vec()
}

/// A few digits, perhaps behind a minus sign.
fn digits(dice: &mut Dice, most: usize) -> Vec<u8> {
    let sign: &[u8] = if dice.chance(30) { b"-" } else { b"" };
    let count = 1 + dice.below(most);
    sign.iter().copied().chain((0..count).map(|_| *dice.pick(b"0123456789"))).collect()
}

/// A number with digits behind its point, and perhaps an exponent.
fn decimal(dice: &mut Dice) -> Vec<u8> {
    let mut number = digits(dice, 12);
    if dice.chance(80) {
        number.push(b'.');
        number.extend((0..dice.below(20)).map(|_| *dice.pick(b"0123456789")));
    }
    if dice.chance(25) {
        number.push(*dice.pick(b"eE"));
        number.extend(digits(dice, 2));
    }
    number
}

fn value(dice: &mut Dice) -> Vec<u8> {
    match dice.below(11) {
        10 => decimal(dice),
        0..=2 => dice.pick(TEXTS).as_bytes().to_vec(),
        3..=5 => dice.pick(INTEGERS).as_bytes().to_vec(),
        6 => dice.pick(FLOATS).as_bytes().to_vec(),
        7 => {
            let lengths = if dice.chance(10) { LARGE_LENGTHS } else { LENGTHS };
            vec![*dice.pick(b"x1\0\xff"); *dice.pick(lengths)]
        }
        8 => (0..dice.below(12)).map(|_| dice.byte()).collect(),
        _ => dice.pick(GARBAGE).as_bytes().to_vec(),
    }
}

/// Spans that may end while a sequence is played: between now and a quarter of an hour, in milliseconds.
const SHORT_SPANS: std::ops::RangeInclusive<i64> = 1..=999_999;

/// Offsets that would be accepted and ask for memory that takes longer to clear than all else together.
const LARGE_OFFSETS: std::ops::RangeInclusive<i64> = 10_001..=4_294_967_295;

/// Replaces what would make the answer a matter of time, and what would take too much memory. Doing it again changes nothing.
pub(super) fn tame(request: &mut [Vec<u8>]) {
    let Some(name) = request.first().map(|name| name.to_ascii_lowercase()) else { return };
    let timed_at = matches!(name.as_slice(), b"expire" | b"pexpire" | b"setex" | b"psetex").then_some(2);
    for index in 1..request.len() {
        let behind_option = matches!(request[index - 1].to_ascii_lowercase().as_slice(), b"ex" | b"px");
        if (behind_option || Some(index) == timed_at)
            && let Some(span) = number(&request[index]).filter(|span| SHORT_SPANS.contains(span))
        {
            request[index] = (SHORT_SPANS.end() + span).to_string().into_bytes();
        }
        if matches!(name.as_slice(), b"setrange" | b"setbit" | b"bitfield") {
            let (mark, digits) = request[index].split_at(usize::from(request[index].starts_with(b"#")));
            if let Some(offset) = number(digits).filter(|offset| LARGE_OFFSETS.contains(offset)) {
                let smaller = (offset % 1000).to_string();
                request[index] = [mark, smaller.as_bytes()].concat();
            }
        }
    }
}

fn number(word: &[u8]) -> Option<i64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Whether a deadline is set that depends on the time of the request.
pub(super) fn sets_span(request: &[Vec<u8>]) -> bool {
    let is = |word: &Vec<u8>, names: &[&str]| names.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes()));
    request.first().is_some_and(|name| is(name, &["expire", "pexpire", "setex", "psetex"]))
        || request.iter().any(|word| is(word, &["ex", "px"]))
}

#[test]
fn taming_leaves_no_short_span_and_no_large_offset() {
    let check = |line: &str, expected: &str| {
        let mut request = crate::quoting::words(line).expect("a line of words");
        tame(&mut request);
        assert_eq!(request, crate::quoting::words(expected).expect("a line of words"));
        tame(&mut request);
        assert_eq!(request, crate::quoting::words(expected).expect("a line of words"));
    };
    check("PEXPIRE k 1 NX", "PEXPIRE k 1000000 NX");
    check("set k 1 px 999999", "set k 1 px 1999998");
    check("EXPIRE k -1", "EXPIRE k -1");
    check("SETBIT k 4294967295 1", "SETBIT k 295 1");
    check("BITFIELD k SET u8 #10001 1", "BITFIELD k SET u8 #1 1");
    check("SETRANGE k 4294967296 1", "SETRANGE k 4294967296 1");
}
