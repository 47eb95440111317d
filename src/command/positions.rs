//! Ranges of positions that may count from the end, as GETRANGE and BITCOUNT take them.

use std::ops::Range;

/// The part of the range from `start` up to and including `end` that lies within `0..len`, unless it is empty.
/// Negative positions count from the end.
pub(super) fn within(start: i64, end: i64, len: usize) -> Option<Range<usize>> {
    let signed_len = i64::try_from(len).unwrap_or(i64::MAX);
    // What lies before the first place is taken for the first place, be it the end of the range.
    let place = |position: i64| if position < 0 { position.saturating_add(signed_len).max(0) } else { position };
    let (start, end) = (place(start), place(end).min(signed_len - 1));
    (start <= end).then_some(())?;
    Some(usize::try_from(start).ok()?..usize::try_from(end).ok()? + 1)
}

/// Whether a range counted from the end runs backwards. It is empty even where both ends lie before the first place.
pub(super) fn runs_backwards(start: i64, end: i64) -> bool {
    start < 0 && end < 0 && start > end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_to_what_is_there() {
        let cases = [
            (0, -1, 5, Some(0..5)),
            (1, 2, 5, Some(1..3)),
            (-2, -1, 5, Some(3..5)),
            (-100, -100, 5, Some(0..1)),
            (3, 100, 5, Some(3..5)),
            (i64::MIN, i64::MAX, 5, Some(0..5)),
            (5, 6, 5, None),
            (3, 2, 5, None),
            (0, -1, 0, None),
            (0, 0, 0, None),
        ];
        for (start, end, len, expected) in cases {
            assert_eq!(within(start, end, len), expected, "{start} to {end} of {len}");
        }
        assert!(runs_backwards(-1, -2) && !runs_backwards(-2, -1) && !runs_backwards(1, -2));
    }
}
