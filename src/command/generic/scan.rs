//! Finding keys: by pattern, step by step, and at random.

use super::super::{Arg, Args, CommandError, Context, Flags, Group, Outcome, Spec};
use crate::glob::{self, Case};
use crate::store::Cursor;

pub(in super::super) const SPECS: &[&Spec] = &[&KEYS, &SCAN, &RANDOMKEY];

const KEYS: Spec = Spec {
    name: "keys",
    group: Group::Generic,
    complexity: "O(N) where N is the number of keys in the database.",
    summary: "Lists all keys that match a glob pattern.",
    flags: Flags::READONLY.and(Flags::DANGEROUS).and(Flags::ALONE),
    tips: &["request_policy:all_shards", "nondeterministic_output_order"],
    syntax: &[Arg::pattern("pattern")],
    run: keys,
    ..Spec::BASE
};
const _: () = assert!(KEYS.arity(false) == 2);

fn keys(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let filter = Filter::new(args.bytes()?);
    let mark = cx.reply.mark();
    let mut len = 0;
    cx.keys.db().for_each(cx.keys.now(), |key, _| {
        if filter.lets_through(key) {
            cx.reply.bulk(key);
            len += 1;
        }
    });
    cx.reply.put_before(mark, |reply| reply.array(len));
    Ok(())
}

const SCAN: Spec = Spec {
    name: "scan",
    group: Group::Generic,
    since: "2.8.0",
    complexity: "O(1) for each call, O(N) for all calls until the cursor is 0 again. N is the number of keys in the database.",
    summary: "Lists keys step by step: some of them, and a cursor with which to ask for more.",
    flags: Flags::READONLY,
    tips: &["nondeterministic_output", "request_policy:special"],
    syntax: &[
        Arg::integer("cursor"),
        Arg::pattern("pattern").with_token("MATCH").optional(),
        Arg::integer("count").with_token("COUNT").optional(),
        Arg::string("type").with_token("TYPE").optional().since("6.0.0"),
    ],
    run: scan,
    ..Spec::BASE
};
const _: () = assert!(SCAN.arity(false) == -2);

/// Keys that one call visits unless `COUNT` says otherwise.
const COUNT: usize = 10;

fn scan(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let cursor = parse_cursor(args.bytes()?).ok_or(CommandError::text("ERR invalid cursor"))?;
    let mut filter = Filter::All;
    let mut count = COUNT;
    let mut any_type = true;
    while let Some(word) = args.keyword() {
        match &*word {
            b"MATCH" => filter = Filter::new(args.bytes()?),
            b"COUNT" => count = usize::try_from(args.int()?).ok().filter(|&count| count > 0).ok_or(CommandError::Syntax)?,
            // A type that does not exist is one that no key has.
            b"TYPE" => any_type = args.bytes()?.eq_ignore_ascii_case(b"string"),
            _ => return Err(CommandError::Syntax),
        }
    }
    let mark = cx.reply.mark();
    let mut len = 0;
    let next = cx.keys.db().scan(cursor, count, cx.keys.now(), |key, _| {
        if any_type && filter.lets_through(key) {
            cx.reply.bulk(key);
            len += 1;
        }
    });
    cx.reply.put_before(mark, |reply| {
        reply.array(2);
        reply.bulk(next.0.to_string());
        reply.array(len);
    });
    Ok(())
}

/// Which keys are wanted.
enum Filter<'a> {
    All,
    Matching(&'a [u8]),
}

impl<'a> Filter<'a> {
    /// The pattern `*` alone stands for all keys, the empty one included, which the matching itself would leave out.
    fn new(pattern: &'a [u8]) -> Self {
        if pattern == b"*" { Self::All } else { Self::Matching(pattern) }
    }

    fn lets_through(&self, key: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Matching(pattern) => glob::matches(pattern, key, Case::Sensitive),
        }
    }
}

/// Reads a cursor as Redis does, with C's `strtoul`: up to the first NUL, an optional sign, digits, nothing else. No digits at all are
/// 0, and a negative number wraps around.
fn parse_cursor(text: &[u8]) -> Option<Cursor> {
    let text = super::super::error::c_string(text);
    let (negative, digits) = match text {
        [] => return Some(Cursor(0)),
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some(Cursor(if negative { number.wrapping_neg() } else { number }))
}

const RANDOMKEY: Spec = Spec {
    name: "randomkey",
    group: Group::Generic,
    summary: "Answers with one of the keys, each with the same chance.",
    flags: Flags::READONLY,
    tips: &["request_policy:all_shards", "nondeterministic_output"],
    run: randomkey,
    ..Spec::BASE
};
const _: () = assert!(RANDOMKEY.arity(false) == 1);

fn randomkey(cx: &mut Context<'_>, _: &mut Args<'_>) -> Outcome {
    let mut found = cx.keys.db().random_key(cx.keys.moment(), |key| cx.reply.bulk(key));
    if found.is_none() {
        // Shards are looked at one after another, and a key that moves meanwhile is missed. There is none only if none can move.
        cx.keys.be_alone();
        found = cx.keys.db().random_key(cx.keys.moment(), |key| cx.reply.bulk(key));
    }
    if found.is_none() {
        cx.reply.null();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &[u8], expected: Option<u64>) {
        assert_eq!(parse_cursor(text).map(|cursor| cursor.0), expected, "{}", text.escape_ascii());
    }

    #[test]
    fn cursors_are_read_as_redis_reads_them() {
        check(b"0", Some(0));
        check(b"", Some(0));
        check(b"\0x", Some(0));
        check(b"5\0x", Some(5));
        check(b"+7", Some(7));
        check(b"007", Some(7));
        check(b"-1", Some(u64::MAX));
        check(b"18446744073709551615", Some(u64::MAX));
        check(b"18446744073709551616", None);
        check(b"-", None);
        check(b"+-1", None);
        check(b" 1", None);
        check(b"1 ", None);
        check(b"1.5", None);
        check(b"abc", None);
    }
}
