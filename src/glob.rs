//! Redis's glob patterns, byte for byte: `KEYS`, `SCAN MATCH`, `CONFIG GET`.
//!
//! `*` stands for any bytes, `?` for one, `[..]` for one of a set with ranges and `^`, and `\` takes the next byte as it is. Matching
//! goes back to the last `*` only and calls nothing recursively, so that its time is at most the product of both lengths and no
//! pattern can exhaust the stack. Knows nothing of keys.

/// Whether letters differ by their case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// They do.
    Sensitive,
    /// ASCII letters do not, except behind a `\` within a set, where Redis compares them as they are.
    Insensitive,
}

/// Runs of `*` that may stand before something else. Redis answers that nothing matches a pattern with more of them.
const STARS_MAX: usize = 1000;

/// Whether `pattern` matches the whole of `text`. An empty text is matched by an empty pattern alone, not even by `*`.
pub fn matches(pattern: &[u8], text: &[u8], case: Case) -> bool {
    let (mut pattern, mut text) = (pattern, text);
    if text.is_empty() {
        return pattern.is_empty();
    }
    // Where to go on when what follows the last star does not fit: behind that star, one byte further each time.
    let mut retry: Option<(&[u8], &[u8])> = None;
    let mut stars = 0;
    loop {
        if pattern.first() == Some(&b'*') {
            pattern = without_stars(pattern);
            if pattern.is_empty() {
                return true;
            }
            stars += 1;
            if stars > STARS_MAX {
                return false;
            }
            retry = Some((pattern, text));
        }
        match one(pattern, text[0], case) {
            Some(rest) => {
                pattern = rest;
                text = &text[1..];
                if text.is_empty() {
                    // What is left of the pattern would need bytes, and a later start leaves it even fewer.
                    return without_stars(pattern).is_empty();
                }
            }
            None => match retry {
                Some((behind_star, from)) if from.len() > 1 => {
                    pattern = behind_star;
                    text = &from[1..];
                    retry = Some((pattern, text));
                }
                _ => return false,
            },
        }
    }
}

fn without_stars(mut pattern: &[u8]) -> &[u8] {
    while let [b'*', rest @ ..] = pattern {
        pattern = rest;
    }
    pattern
}

/// Matches one byte against the first element of a pattern, which is no star. What follows that element if it fits.
fn one(pattern: &[u8], byte: u8, case: Case) -> Option<&[u8]> {
    let (fits, rest) = match pattern {
        [] => return None,
        [b'?', rest @ ..] => (true, rest),
        [b'[', rest @ ..] => one_of(rest, byte, case),
        // A backslash at the very end stands for itself.
        [b'\\', literal, rest @ ..] | [literal, rest @ ..] => (fold(*literal, case) == fold(byte, case), rest),
    };
    fits.then_some(rest)
}

/// Matches one byte against a set whose `[` has been taken. Whether it fits, and what follows the set.
///
/// A set that is not closed ends with the pattern. A range may be written backwards, and may take the `]` as its end.
fn one_of(set: &[u8], byte: u8, case: Case) -> (bool, &[u8]) {
    let (negated, mut set) = match set {
        [b'^', rest @ ..] => (true, rest),
        _ => (false, set),
    };
    let mut found = false;
    let rest = loop {
        set = match set {
            [] => break set,
            [b'\\', literal, rest @ ..] => {
                found |= *literal == byte;
                rest
            }
            [b']', rest @ ..] => break rest,
            [from, b'-', to, rest @ ..] => {
                found |= in_range(*from, *to, byte, case);
                rest
            }
            [literal, rest @ ..] => {
                found |= fold(*literal, case) == fold(byte, case);
                rest
            }
        };
    };
    (found != negated, rest)
}

/// Whether a byte lies between two others, all of them taken as signed: Redis compares C's `char`.
fn in_range(from: u8, to: u8, byte: u8, case: Case) -> bool {
    let (low, high) = if from.cast_signed() > to.cast_signed() { (to, from) } else { (from, to) };
    let [low, high, byte] = [low, high, byte].map(|byte| fold(byte, case).cast_signed());
    low <= byte && byte <= high
}

fn fold(byte: u8, case: Case) -> u8 {
    match case {
        Case::Sensitive => byte,
        Case::Insensitive => byte.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &[u8], text: &[u8], expected: bool) {
        let actual = matches(pattern, text, Case::Sensitive);
        let (pattern, text) = (pattern.escape_ascii(), text.escape_ascii());
        assert_eq!(actual, expected, "pattern {pattern}, text {text}");
    }

    // What redis-server 7.0.15 answers to KEYS with one key.
    #[test]
    fn the_odd_corners_are_those_of_redis() {
        check(b"**", b"", false);
        check(b"", b"", true);
        check(b"?", b"", false);
        check(b"a*", b"a", true);
        check(b"a**", b"a", true);
        check(b"[", b"a", false);
        check(b"[^", b"a", true);
        check(b"[abc", b"b", true);
        check(b"[abc", b"d", false);
        check(b"[]", b"a", false);
        check(b"[^]", b"a", true);
        check(b"[\\]", b"\\", false);
        check(b"[\\]]", b"]", true);
        check(b"[a-]", b"`", true);
        check(b"[a-]", b"b", false);
        check(b"[a-", b"-", true);
        check(b"[a-", b"b", false);
        check(b"[z-a]", b"c", true);
        check(b"[!a]", b"!", true);
        check(b"[a-c-e]", b"d", false);
        check(b"[--0]", b".", true);
        check(b"\\", b"\\", true);
        check(b"\\\\", b"\\", true);
        check(b"a\\", b"a\\", true);
        check(b"a\\", b"a", false);
        check(b"\\*", b"x", false);
        check(b"a[", b"a", false);
    }

    #[test]
    fn ranges_are_of_signed_bytes() {
        check(b"[a-\xff]", b"\x05", true);
        check(b"[a-\xff]", b"\xff", true);
        check(b"[a-\xff]", b"\xfe", false);
        check(b"[a-\xff]", b"z", false);
    }

    #[test]
    fn more_than_a_thousand_stars_match_nothing() {
        let text = [b'a'; 5000];
        check(&b"*a".repeat(1000), &text, true);
        check(&b"*a".repeat(1001), &text, false);
        check(&b"?*".repeat(1001), &text, true);
        check(&b"?*".repeat(1002), &text, false);
    }

    #[test]
    fn case_is_ignored_except_behind_a_backslash_in_a_set() {
        let insensitive = |pattern: &[u8], text: &[u8]| matches(pattern, text, Case::Insensitive);
        assert!(insensitive(b"MaxMem*", b"maxmemory"));
        assert!(insensitive(b"[A-C]\\X", b"bx"));
        assert!(insensitive(b"[ABC]", b"b"));
        assert!(!insensitive(b"[\\A]", b"a"));
        assert!(!matches(b"A", b"a", Case::Sensitive));
    }

    #[test]
    fn stars_cost_no_more_than_the_product_of_the_lengths() {
        // Going back to every star would take longer than the universe has.
        let pattern = [b"*a".repeat(500), b"b".to_vec()].concat();
        check(&pattern, &[b'a'; 20_000], false);
    }

    /// What a pattern of literals, `?` and `*` means, told by recursion.
    fn by_definition(pattern: &[u8], text: &[u8]) -> bool {
        match pattern {
            [] => text.is_empty(),
            [b'*', rest @ ..] => (0..=text.len()).any(|skipped| by_definition(rest, &text[skipped..])),
            [b'?', rest @ ..] => !text.is_empty() && by_definition(rest, &text[1..]),
            [byte, rest @ ..] => text.first() == Some(byte) && by_definition(rest, &text[1..]),
        }
    }

    #[test]
    fn going_back_to_the_last_star_is_enough() {
        let words = |alphabet: &'static [u8], len: u32| {
            (0..alphabet.len().pow(len)).map(move |mut number| {
                let letter = |_| {
                    let letter = alphabet[number % alphabet.len()];
                    number /= alphabet.len();
                    letter
                };
                (0..len).map(letter).collect::<Vec<_>>()
            })
        };
        for pattern in (0..=5).flat_map(|len| words(b"ab*?", len)) {
            for text in (1..=5).flat_map(|len| words(b"ab", len)) {
                check(&pattern, &text, by_definition(&pattern, &text));
            }
        }
    }
}
