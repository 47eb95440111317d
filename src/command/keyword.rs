//! Words of a syntax, compared without regard to case and without allocating.

use std::ops::Deref;

/// An argument in upper case. Longer than any word of any syntax, it is empty and matches none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Keyword {
    bytes: [u8; Self::LEN_MAX],
    len: usize,
}

impl Keyword {
    /// Longest word of any syntax, in bytes.
    const LEN_MAX: usize = 24;

    /// Takes `word` in upper case, up to its first NUL: Redis compares the words of a syntax as C strings.
    pub fn new(word: &[u8]) -> Self {
        let word = &word[..word.iter().position(|&byte| byte == 0).unwrap_or(word.len())];
        let mut bytes = [0; Self::LEN_MAX];
        let len = if word.len() <= Self::LEN_MAX { word.len() } else { 0 };
        bytes[..len].copy_from_slice(&word[..len]);
        bytes[..len].make_ascii_uppercase();
        Self { bytes, len }
    }
}

impl Deref for Keyword {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// At most one of a group of options that exclude each other.
#[derive(Clone, Copy, Debug)]
pub struct Choice<T>(Option<T>);

impl<T> Choice<T> {
    /// Nothing chosen yet.
    pub const fn new() -> Self {
        Self(None)
    }

    /// Chooses `value`, which may have been chosen before: Redis takes an option twice.
    ///
    /// # Errors
    /// A syntax error when something else was chosen before.
    pub fn pick(&mut self, value: T) -> Result<(), super::CommandError>
    where
        T: PartialEq,
    {
        if self.0.as_ref().is_some_and(|chosen| *chosen != value) {
            return Err(super::CommandError::Syntax);
        }
        self.0 = Some(value);
        Ok(())
    }

    /// What was chosen.
    pub fn get(self) -> Option<T> {
        self.0
    }
}

impl<T> Default for Choice<T> {
    fn default() -> Self {
        Self::new()
    }
}
