//! What a command can be refused for. Answered, and the connection lives on.

use std::borrow::Cow;
use std::fmt;

/// Why a command was not carried out. `Display` is the wire text without the leading `-`, byte for byte Redis's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandError {
    /// Options that do not fit together or are unknown.
    Syntax,
    /// An argument or a value is not an integer of 64 bits.
    NotInteger,
    /// An argument or a value is not a floating-point number.
    NotFloat,
    /// An expire time that is out of range for the command of this name.
    InvalidExpire(&'static str),
    /// The result would leave the range of 64 bits.
    Overflow,
    /// A string would exceed `proto-max-bulk-len`.
    StringTooLong,
    /// A database number that does not exist.
    DbIndex,
    /// Another client ended the wait with an error.
    Unblocked,
    /// A source key that does not exist.
    NoSuchKey,
    /// The number of arguments does not fit the command of this full name.
    WrongArity(Cow<'static, str>),
    /// Text of its own, beginning with its code, such as `ERR bit offset is not an integer or out of range`.
    Other(Cow<'static, str>),
    /// The same, repeating bytes of the request that need not be text.
    Echo(Vec<u8>),
}

impl CommandError {
    /// An error with fixed text, its code included.
    pub const fn text(text: &'static str) -> Self {
        Self::Other(Cow::Borrowed(text))
    }

    /// An error with text made for the occasion, its code included.
    pub fn made(text: impl Into<String>) -> Self {
        Self::Other(Cow::Owned(text.into()))
    }

    /// An error that repeats an argument, as a C string: up to its first NUL. Line ends at its end are dropped, as Redis does.
    pub fn quoting(before: &str, argument: &[u8], after: &str) -> Self {
        let mut text = [before.as_bytes(), c_string(argument), after.as_bytes()].concat();
        while let Some(b'\r' | b'\n') = text.last() {
            text.pop();
        }
        Self::Echo(text)
    }

    /// The bytes that are sent.
    pub fn wire(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Echo(bytes) => Cow::Borrowed(bytes),
            error => Cow::Owned(error.to_string().into_bytes()),
        }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Syntax => "ERR syntax error",
            Self::NotInteger => "ERR value is not an integer or out of range",
            Self::NotFloat => "ERR value is not a valid float",
            Self::InvalidExpire(name) => return write!(f, "ERR invalid expire time in '{name}' command"),
            Self::Overflow => "ERR increment or decrement would overflow",
            Self::StringTooLong => "ERR string exceeds maximum allowed size (proto-max-bulk-len)",
            Self::DbIndex => "ERR DB index is out of range",
            Self::Unblocked => "UNBLOCKED client unblocked via CLIENT UNBLOCK",
            Self::NoSuchKey => "ERR no such key",
            Self::WrongArity(name) => return write!(f, "ERR wrong number of arguments for '{name}' command"),
            Self::Other(text) => text,
            Self::Echo(bytes) => return f.write_str(&String::from_utf8_lossy(bytes)),
        })
    }
}

/// Longest part of a request that an error repeats, in bytes.
pub(super) const ECHO_BYTES_MAX: usize = 128;

/// What Redis shows of an argument that it prints as a C string of at most `len_max` bytes.
pub(super) fn shown(bytes: &[u8], len_max: usize) -> &[u8] {
    let bytes = c_string(bytes);
    &bytes[..bytes.len().min(len_max)]
}

/// What Redis shows of an argument that it prints as a C string: up to the first NUL.
pub(super) fn c_string(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    &bytes[..end]
}
