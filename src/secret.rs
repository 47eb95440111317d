//! Comparing secrets. Must not let the time it takes tell how much of a guess is right.

/// Whether `guess` is the `secret`. The time depends on the length of the guess alone.
pub fn is_same(secret: &[u8], guess: &[u8]) -> bool {
    let mut difference = u8::from(secret.len() != guess.len());
    for (index, byte) in guess.iter().enumerate() {
        let other = secret.get(index % secret.len().max(1)).copied().unwrap_or_default();
        // Keeps the compiler from leaving the loop at the first difference.
        difference |= std::hint::black_box(byte ^ other);
    }
    difference == 0
}

#[cfg(test)]
mod tests {
    use super::is_same;

    #[test]
    fn only_the_secret_is_the_secret() {
        assert!(is_same(b"abab", b"abab"));
        for wrong in [&b""[..], b"ab", b"abababab", b"abac", b"bbab", b"abab\0"] {
            assert!(!is_same(b"abab", wrong), "{wrong:?}");
        }
        assert!(is_same(b"", b""));
        assert!(!is_same(b"", b"\0"), "an empty secret is not the same as zeros");
    }
}
