//! `notify-keyspace-events`: which events of keys are told to subscribers, and on which channels.

/// What the letter `A` stands for, in the order in which Redis shows the letters; n, K, E and m lie outside it.
pub(super) const ALL: &[u8] = b"g$lshzxetd";
const OTHERS: &[u8] = b"nmKE";

/// Events are told on the channels of their keys.
pub const BY_KEY: u64 = bit(b'K');
/// Events are told on the channels of their names.
pub const BY_EVENT: u64 = bit(b'E');

/// The bit of a letter in the set of what is told; 0 for a letter that means nothing.
pub const fn bit(letter: u8) -> u64 {
    let mut at = 0;
    while at < ALL.len() + OTHERS.len() {
        let other = if at < ALL.len() { ALL[at] } else { OTHERS[at - ALL.len()] };
        if letter == other {
            return 1 << at;
        }
        at += 1;
    }
    0
}

/// The letters of a value, which is a C string to Redis: up to its first NUL.
pub(super) fn letters(value: &[u8]) -> &[u8] {
    value.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// The set that a value stands for as it was given. Redis shows no `n` beside an `A`, and tells of new keys all the same.
pub(super) fn mask(value: &[u8]) -> u64 {
    letters(value)
        .iter()
        .flat_map(|letter| if *letter == b'A' { ALL } else { std::slice::from_ref(letter) })
        .fold(0, |set, letter| set | bit(*letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_make_up_a_set() {
        assert_eq!(mask(b""), 0);
        assert_eq!(mask(b"Kx"), BY_KEY | bit(b'x'));
        assert_eq!(mask(b"AE"), BY_EVENT | mask(ALL));
        assert_eq!(mask(b"A") & (bit(b'n') | bit(b'm')), 0, "neither new keys nor misses are part of all");
        let all = [ALL, OTHERS].concat();
        assert_eq!(all.iter().map(|letter| bit(*letter).count_ones()).sum::<u32>() as usize, all.len(), "a bit each");
    }
}
