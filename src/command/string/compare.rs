//! What depends on the value that is there: the conditions of SET and DELEX, the digest they can be about, and DELIFEQ.

use twox_hash::XxHash3_64;

use super::super::generic::delete;
use super::super::{Arg, Args, Argv, CommandError, Context, Flags, Group, KeyFlags, Origin, Outcome, Spec};

pub(in super::super) const SPECS: &[&Spec] = &[&DELEX, &DIGEST, &DELIFEQ];

/// What a value is held against: another value or a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    /// IFEQ: it is this one.
    Equal,
    /// IFNE: it is not this one.
    Unequal,
    /// IFDEQ: this is its digest.
    DigestEqual,
    /// IFDNE: this is not its digest.
    DigestUnequal,
}

impl Comparison {
    /// The arguments that ask for one, as the syntax of SET and DELEX has them.
    pub(super) const ARGS: [Arg; 4] = [
        Arg::string("ifeq-value").with_token("IFEQ"),
        Arg::string("ifne-value").with_token("IFNE"),
        Arg::string("ifdeq-digest").with_token("IFDEQ"),
        Arg::string("ifdne-digest").with_token("IFDNE"),
    ];

    pub(super) fn from_keyword(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"IFEQ" => Self::Equal,
            b"IFNE" => Self::Unequal,
            b"IFDEQ" => Self::DigestEqual,
            b"IFDNE" => Self::DigestUnequal,
            _ => return None,
        })
    }

    /// Whether a key that is not there fits: it has no value, which is unlike any.
    pub(super) const fn fits_absence(self) -> bool {
        matches!(self, Self::Unequal | Self::DigestUnequal)
    }

    /// Whether `value` fits when it is held against `given`.
    ///
    /// # Errors
    /// A digest that is not 16 characters long. As in Redis, 16 characters of any kind are taken, and are then no value's digest.
    pub(super) fn fits(self, value: &[u8], given: &[u8]) -> Result<bool, CommandError> {
        let equal = match self {
            Self::Equal | Self::Unequal => value == given,
            Self::DigestEqual | Self::DigestUnequal if given.len() == DIGEST_BYTES => {
                digest_of(value).as_bytes().eq_ignore_ascii_case(given)
            }
            _ => return Err(CommandError::text("ERR must be exactly 16 hexadecimal characters")),
        };
        Ok(equal != self.fits_absence())
    }
}

/// Length of a digest in hexadecimal digits.
const DIGEST_BYTES: usize = 16;

/// The 64 bits of XXH3 in hexadecimal digits, in small letters and with all leading zeros.
fn digest_of(value: &[u8]) -> String {
    format!("{:016x}", XxHash3_64::oneshot(value))
}

const DELEX: Spec = Spec {
    name: "delex",
    group: Group::String,
    since: "8.4.0",
    complexity: "O(1) for IFEQ/IFNE, O(N) for IFDEQ/IFDNE where N is the length of the string value.",
    summary: "Removes a key, and with a condition only if its value or its digest is, or is not, the one given.",
    flags: Flags::WRITE.and(Flags::FAST),
    key_flags: Some(delex_key_flags),
    syntax: &[Arg::key("key", KeyFlags::VARIABLE_DELETE), Arg::one_of("condition", &Comparison::ARGS).optional()],
    run: delex,
    ..Spec::BASE
};
const _: () = assert!(DELEX.arity(false) == -2);

/// Without a condition the value does not matter.
fn delex_key_flags(argv: &Argv<'_>) -> KeyFlags {
    if argv.len() > 2 { KeyFlags::CHECKED_DELETE } else { KeyFlags::DELETE }
}

fn delex(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    if args.is_empty() {
        let removed = cx.keys.write(key, delete);
        cx.reply.int(removed.into());
        return Ok(());
    }
    if args.len() != 2 {
        return Err(CommandError::WrongArity(cx.command.full_name.into()));
    }
    let comparison = args.keyword().and_then(|word| Comparison::from_keyword(&word));
    let given = args.bytes()?;
    let removed = cx.keys.write(key, |slot| {
        // A missing key is answered before the condition is looked at.
        cx.keys.count(key, slot.is_present());
        let Some(found) = slot.get() else { return Ok(false) };
        let comparison = comparison.ok_or(CommandError::text("ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE"))?;
        Ok(comparison.fits(found.value(), given)? && delete(slot))
    })?;
    cx.reply.int(removed.into());
    Ok(())
}

const DIGEST: Spec = Spec {
    name: "digest",
    group: Group::String,
    since: "8.4.0",
    complexity: "O(N) where N is the length of the string value.",
    summary: "Answers with the XXH3 digest of a string as 16 hexadecimal digits.",
    flags: Flags::READONLY.and(Flags::FAST),
    syntax: &[Arg::key("key", KeyFlags::READ)],
    run: digest,
    ..Spec::BASE
};
const _: () = assert!(DIGEST.arity(false) == 2);

fn digest(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let digest = cx.keys.read(key, |found| found.map(|found| digest_of(found.value())));
    cx.reply.bulk_or_null(digest);
    Ok(())
}

const DELIFEQ: Spec = Spec {
    name: "delifeq",
    group: Group::String,
    since: "9.0.0",
    origin: Origin::Valkey,
    summary: "Removes a key if its string is the one given. A command of Valkey: in Redis it is DELEX with IFEQ.",
    flags: Flags::WRITE.and(Flags::FAST),
    syntax: &[Arg::key("key", KeyFlags::DELETE), Arg::string("value")],
    run: delifeq,
    ..Spec::BASE
};
const _: () = assert!(DELIFEQ.arity(false) == 3);

fn delifeq(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let key = args.key()?;
    let value = args.bytes()?;
    let removed = cx.keys.write(key, |slot| slot.get().is_some_and(|found| found.value() == value) && delete(slot));
    cx.reply.int(removed.into());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // What the reference implementation answers. Each of its ways to hash stands at both of its ends: 0, 1 to 3, 4 to 8, 9 to 16,
    // 17 to 128, 129 to 240 and more bytes, of which 1,024 are a block.
    #[test]
    fn digests_are_those_of_the_reference_implementation() {
        let counting = |len: u8| (0..len).collect::<Vec<u8>>();
        let cases = [
            (vec![], "2d06800538d394c2"),
            (b"a".to_vec(), "e6c632b61e964e1f"),
            (b"abc".to_vec(), "78af5f94892f3950"),
            (b"hello".to_vec(), "9555e8555c62dcfd"),
            (b"Hello world".to_vec(), "b6acb9d84a38ff74"),
            (counting(129), "ec7642b431ba3e5a"),
            (counting(240), "375a384d957fe865"),
            (counting(241), "02e8cd95421c6d02"),
            (vec![b'x'; 1024], "fc56a7ce85b3164a"),
            (vec![b'x'; 1025], "9cd2e05a61b8a761"),
            (vec![b'x'; 40_000], "972b74772d2924d9"),
        ];
        for (value, expected) in cases {
            assert_eq!(digest_of(&value), expected, "{} bytes", value.len());
        }
    }
}
