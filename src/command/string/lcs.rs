//! The longest common subsequence of two strings.
//!
//! The table of lengths that the textbook fills cell by cell is kept as one bit a cell, and 64 cells are computed at once: a bit is
//! clear where a row of the table grows by one. So LCS takes a 32nd of the memory that Redis's limit is about, and a fraction of the
//! time. Must not hold a lock while it computes.

use super::super::{Arg, Args, CommandError, Context, Flags, Group, KeyFlags, Outcome, Spec};
use crate::store::Found;

pub(in super::super) const SPECS: &[&Spec] = &[&LCS];

const LCS: Spec = Spec {
    name: "lcs",
    group: Group::String,
    since: "7.0.0",
    complexity: "O(N*M) where N and M are the lengths of s1 and s2, respectively",
    summary: "Finds the longest sequence of bytes that two strings have in common, gaps allowed.",
    flags: Flags::READONLY,
    syntax: &[
        Arg::key("key1", KeyFlags::READ),
        Arg::key("key2", KeyFlags::READ),
        Arg::token("len", "LEN").optional(),
        Arg::token("idx", "IDX").optional(),
        Arg::integer("len").with_token("MINMATCHLEN").optional(),
        Arg::token("withmatchlen", "WITHMATCHLEN").optional(),
    ],
    run: lcs,
    ..Spec::BASE
};
const _: () = assert!(LCS.arity(false) == -3);

#[derive(Default)]
struct Options {
    len: bool,
    idx: bool,
    /// Shorter ranges are not shown.
    match_len_min: i64,
    with_match_len: bool,
}

fn options(args: &mut Args<'_>) -> Result<Options, CommandError> {
    let mut options = Options::default();
    while let Some(word) = args.keyword() {
        match &*word {
            b"LEN" => options.len = true,
            b"IDX" => options.idx = true,
            b"WITHMATCHLEN" => options.with_match_len = true,
            b"MINMATCHLEN" => options.match_len_min = args.int()?,
            _ => return Err(CommandError::Syntax),
        }
    }
    if options.len && options.idx {
        return Err(CommandError::text("ERR If you want both the length and indexes, please just use IDX."));
    }
    Ok(options)
}

fn lcs(cx: &mut Context<'_>, args: &mut Args<'_>) -> Outcome {
    let keys = [args.key()?, args.key()?];
    let options = options(args);
    // The keys count as looked at whatever the options are, and are only refused after those.
    let strings = copies(cx, keys);
    let (options, (a, b)) = (options?, strings?);
    if options.len {
        let len = Table::new(&a, &b, Rows::Last).len();
        cx.reply.len(len);
        return Ok(());
    }
    let table = Table::new(&a, &b, Rows::All);
    let matches = table.matches(&a, &b);
    if options.idx {
        show(cx, &matches, &options);
    } else {
        let text: Vec<u8> = matches.iter().rev().flat_map(|range| &a[range.a..range.a + range.len]).copied().collect();
        cx.reply.bulk(text);
    }
    Ok(())
}

/// Both values as they were at one moment, empty for a missing key, once it is known that their table is not too large.
fn copies(cx: &Context<'_>, keys: [crate::store::Key<'_>; 2]) -> Result<(Vec<u8>, Vec<u8>), CommandError> {
    /// What a cell of the table costs in Redis, and so what its limit counts.
    const CELL_BYTES: u64 = 4;
    let locks = cx.keys.lock_read(&keys);
    let [a, b] = keys.map(|key| cx.keys.locked_read(&locks, key).map(Found::value).unwrap_or_default());
    // Two lengths of 30 bits.
    let cells = (a.len() as u64 + 1) * (b.len() as u64 + 1);
    if cells * CELL_BYTES > cx.string_bytes_max() {
        return Err(CommandError::text("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len"));
    }
    Ok((a.to_vec(), b.to_vec()))
}

fn show(cx: &mut Context<'_>, matches: &[Match], options: &Options) {
    let long = |range: &&Match| i64::try_from(range.len).is_ok_and(|len| len >= options.match_len_min);
    cx.reply.map(2);
    cx.reply.bulk("matches");
    cx.reply.array(matches.iter().filter(long).count());
    for range in matches.iter().filter(long) {
        cx.reply.array(2 + usize::from(options.with_match_len));
        for start in [range.a, range.b] {
            cx.reply.array(2);
            cx.reply.len(start);
            cx.reply.len(start + range.len - 1);
        }
        if options.with_match_len {
            cx.reply.len(range.len);
        }
    }
    cx.reply.bulk("len");
    cx.reply.len(matches.iter().map(|range| range.len).sum());
}

/// A range of bytes of the subsequence that lie together in both strings.
struct Match {
    /// Where it begins in the first string.
    a: usize,
    /// Where it begins in the second string.
    b: usize,
    len: usize,
}

/// Which rows of a table are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rows {
    All,
    Last,
}

/// The table of lengths: a row for each byte of the first string, a column for each byte of the second.
///
/// Bit `j` of row `i` is clear where the length for `a[..=i]` and `b[..=j]` is one more than for `a[..=i]` and `b[..j]`.
struct Table {
    rows: Vec<u64>,
    /// Words of a row.
    width: usize,
    columns: usize,
}

impl Table {
    fn new(a: &[u8], b: &[u8], kept: Rows) -> Self {
        let width = b.len().div_ceil(64);
        let occurrences = Occurrences::new(a, b, width);
        let mut rows = Vec::with_capacity(if kept == Rows::All { a.len() * width } else { width });
        let mut row = vec![u64::MAX; width];
        for &byte in a {
            let mut carry = false;
            for (word, &equal) in row.iter_mut().zip(occurrences.of(byte)) {
                // Within each run of set bits that ends at a clear one, the sum moves the clear bit down to the lowest match.
                let matched = *word & equal;
                let (sum, over) = word.overflowing_add(matched);
                let (sum, over_again) = sum.overflowing_add(u64::from(carry));
                carry = over || over_again;
                *word = sum | (*word & !equal);
            }
            if kept == Rows::All {
                rows.extend_from_slice(&row);
            }
        }
        if kept == Rows::Last {
            rows = row;
        }
        Self { rows, width, columns: b.len() }
    }

    /// The length of the subsequence: how often the last row grows.
    fn len(&self) -> usize {
        let last = &self.rows[self.rows.len() - self.width..];
        // Bits behind the last column match nothing and so stay set.
        last.iter().map(|word| word.count_zeros() as usize).sum()
    }

    /// The ranges of the subsequence, the last one first. Of several subsequences the one that Redis finds.
    fn matches(&self, a: &[u8], b: &[u8]) -> Vec<Match> {
        let mut matches: Vec<Match> = Vec::new();
        let (mut i, mut j) = (a.len(), self.columns);
        let mut joined = false;
        while i > 0 && j > 0 {
            if a[i - 1] == b[j - 1] {
                (i, j) = (i - 1, j - 1);
                match matches.last_mut() {
                    Some(range) if joined => *range = Match { a: i, b: j, len: range.len + 1 },
                    _ => matches.push(Match { a: i, b: j, len: 1 }),
                }
                joined = true;
                continue;
            }
            joined = false;
            // Where the row grows at this column, the row above has as long a subsequence and the column before has not.
            let grows = self.rows[(i - 1) * self.width + (j - 1) / 64] >> ((j - 1) % 64) & 1 == 0;
            if grows { i -= 1 } else { j -= 1 }
        }
        matches
    }
}

/// Where each byte of the first string occurs in the second, a bit for each column.
struct Occurrences {
    /// For each byte the place of its bits, one up; 0 for a byte that the first string does not have.
    places: [usize; 256],
    bits: Vec<u64>,
    width: usize,
}

impl Occurrences {
    /// Takes no more memory than a table of all rows: no byte has bits that is not in `a`.
    fn new(a: &[u8], b: &[u8], width: usize) -> Self {
        let mut places = [0; 256];
        let mut count = 0;
        for &byte in a {
            let place = &mut places[usize::from(byte)];
            if *place == 0 {
                count += 1;
                *place = count;
            }
        }
        let mut bits = vec![0; count * width];
        for (column, &byte) in b.iter().enumerate() {
            if let Some(place) = places[usize::from(byte)].checked_sub(1) {
                bits[place * width + column / 64] |= 1 << (column % 64);
            }
        }
        Self { places, bits, width }
    }

    fn of(&self, byte: u8) -> &[u64] {
        let start = self.places[usize::from(byte)].saturating_sub(1) * self.width;
        &self.bits[start..start + self.width]
    }
}
