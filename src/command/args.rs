//! The argument cursor. It exists only after the arity check, and walks the arguments once, front to back.

use super::{CommandError, keyword::Keyword};
use crate::number::parse_i64;
use crate::resp::Argv;
use crate::store::{Hasher, Key};

/// The arguments behind a command's name, or behind its subcommand's name.
#[derive(Clone, Debug)]
pub struct Args<'a> {
    argv: Argv<'a>,
    next: usize,
    hasher: &'a Hasher,
    first_key: Option<u64>,
}

impl<'a> Args<'a> {
    /// A cursor at the first argument of `argv`, the command's name. `first_key` is the hash of the first key when the batch has it at
    /// hand.
    pub fn new(argv: Argv<'a>, hasher: &'a Hasher, first_key: Option<u64>) -> Self {
        Self { argv, next: 0, hasher, first_key }
    }

    /// Stands behind a name of so many words.
    pub fn begin(&mut self, name_words: usize) {
        self.next = name_words;
    }

    /// The whole request, the name included.
    pub fn argv(&self) -> &Argv<'a> {
        &self.argv
    }

    /// How many arguments are left.
    pub fn len(&self) -> usize {
        self.argv.len() - self.next
    }

    /// Whether no argument is left.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The next argument, if one is left.
    pub fn next(&mut self) -> Option<&'a [u8]> {
        let arg = self.argv.get(self.next)?;
        self.next += 1;
        Some(arg)
    }

    /// The next argument without moving on.
    pub fn peek(&self) -> Option<&'a [u8]> {
        self.argv.get(self.next)
    }

    /// The next argument.
    ///
    /// # Errors
    /// A syntax error when none is left: an option without its value.
    pub fn bytes(&mut self) -> Result<&'a [u8], CommandError> {
        self.next().ok_or(CommandError::Syntax)
    }

    /// The next argument as a key.
    ///
    /// # Errors
    /// A syntax error when none is left.
    #[inline]
    pub fn key(&mut self) -> Result<Key<'a>, CommandError> {
        let bytes = self.bytes()?;
        Ok(match self.first_key.take() {
            Some(hash) => Key::with_hash(bytes, hash),
            None => self.later_key(bytes),
        })
    }

    /// A key behind the first one, whose hash is not at hand. Apart, so that taking the first key stays small.
    #[inline(never)]
    fn later_key(&self, bytes: &'a [u8]) -> Key<'a> {
        self.hasher.key(bytes)
    }

    /// All arguments that are left, as keys.
    pub fn keys(&mut self) -> Vec<Key<'a>> {
        let mut keys = Vec::with_capacity(self.len());
        while let Ok(key) = self.key() {
            keys.push(key);
        }
        keys
    }

    /// The next argument as an integer.
    ///
    /// # Errors
    /// A syntax error when none is left, `NotInteger` when it is none.
    pub fn int(&mut self) -> Result<i64, CommandError> {
        parse_i64(self.bytes()?).ok_or(CommandError::NotInteger)
    }

    /// The next argument in upper case, to be matched against the words of a syntax. A word too long for any is empty.
    pub fn keyword(&mut self) -> Option<Keyword> {
        self.next().map(Keyword::new)
    }

    /// What is left, for a loop.
    pub fn rest(&mut self) -> impl Iterator<Item = &'a [u8]> {
        std::iter::from_fn(|| self.next())
    }
}
