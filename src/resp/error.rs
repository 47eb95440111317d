//! What can break the framing of a request. Each is answered once, and then the connection is closed.

use std::fmt;

/// A request whose framing is lost. The wire text is without the leading `-` and the line end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// The count after `*` is no number or exceeds the largest count.
    MultibulkLength,
    /// The length after `$` is no number, negative, or exceeds `proto-max-bulk-len`.
    BulkLength,
    /// A bulk string header was due and another byte came.
    ExpectedDollar(u8),
    /// The two bytes after a bulk string are not CRLF.
    BulkTerminator,
    /// An inline request exceeds the longest line.
    BigInline,
    /// A line that begins with `*` exceeds the longest line.
    BigMultibulkHeader,
    /// A line that begins with `$` exceeds the longest line.
    BigBulkHeader,
    /// An inline request whose quotes do not close, or close within a word.
    UnbalancedQuotes,
    /// More arguments than a client may send before it has authenticated.
    UnauthenticatedMultibulk,
    /// A longer argument than a client may send before it has authenticated.
    UnauthenticatedBulk,
}

impl ProtocolError {
    /// The bytes that are sent. They repeat a byte of the request, which need not be text.
    pub fn wire(self) -> Vec<u8> {
        match self {
            Self::ExpectedDollar(byte) => [b"ERR Protocol error: expected '$', got '".as_slice(), &[byte], b"'"].concat(),
            error => error.to_string().into_bytes(),
        }
    }
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ERR Protocol error: ")?;
        match *self {
            Self::MultibulkLength => f.write_str("invalid multibulk length"),
            Self::BulkLength => f.write_str("invalid bulk length"),
            Self::ExpectedDollar(byte) => write!(f, "expected '$', got '{}'", char::from(byte)),
            Self::BulkTerminator => f.write_str("expected CRLF after bulk string"),
            Self::BigInline => f.write_str("too big inline request"),
            Self::BigMultibulkHeader => f.write_str("too big mbulk count string"),
            Self::BigBulkHeader => f.write_str("too big bulk count string"),
            Self::UnbalancedQuotes => f.write_str("unbalanced quotes in request"),
            Self::UnauthenticatedMultibulk => f.write_str("unauthenticated multibulk length"),
            Self::UnauthenticatedBulk => f.write_str("unauthenticated bulk length"),
        }
    }
}
