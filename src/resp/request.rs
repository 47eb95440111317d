//! The resumable request parser: flat arrays of bulk strings, and inline commands.
//!
//! It looks at each byte once, whatever segments the bytes came in, copies none of them, and allocates nothing for a length that was
//! only announced. It knows what clients send and nothing more: a nested array is a protocol error by construction.

use super::error::ProtocolError;
use super::inline;
use crate::number::parse_i64;

/// Where one argument lies, counted from the first byte of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arg {
    start: u32,
    len: u32,
}

impl Arg {
    #[expect(clippy::cast_possible_truncation, reason = "asserted below, and what an argument lies in is bounded")]
    pub(super) fn new(start: usize, len: usize) -> Self {
        // A query buffer never exceeds `client-query-buffer-limit`, which is capped below 4 GiB.
        debug_assert!(u32::try_from(start).is_ok() && u32::try_from(len).is_ok());
        Self { start: start as u32, len: len as u32 }
    }
}

/// The arguments of one request, borrowed from the buffer they arrived in.
#[derive(Clone, Copy, Debug)]
pub struct Argv<'a> {
    bytes: &'a [u8],
    args: &'a [Arg],
}

impl<'a> Argv<'a> {
    /// Reads `args` as ranges of `bytes`.
    pub fn new(bytes: &'a [u8], args: &'a [Arg]) -> Self {
        Self { bytes, args }
    }

    /// How many arguments there are, the command's name included.
    pub fn len(&self) -> usize {
        self.args.len()
    }

    /// Whether there is no argument at all, not even a name.
    pub fn is_empty(&self) -> bool {
        self.args.is_empty()
    }

    /// The argument at `index`; `None` past the end.
    pub fn get(&self, index: usize) -> Option<&'a [u8]> {
        let arg = self.args.get(index)?;
        Some(&self.bytes[arg.start as usize..arg.start as usize + arg.len as usize])
    }

    /// The same request without its first `count` arguments: a request within a request.
    #[must_use]
    pub fn skip(self, count: usize) -> Self {
        Self { args: self.args.get(count..).unwrap_or_default(), ..self }
    }

    /// All arguments in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let bytes = self.bytes;
        self.args.iter().map(move |arg| &bytes[arg.start as usize..][..arg.len as usize])
    }

    /// Appends the request to `bytes`, and its arguments to `args`: what [`Self::new`] makes the same request of.
    pub fn record(&self, bytes: &mut Vec<u8>, args: &mut Vec<Arg>) {
        bytes.extend_from_slice(self.bytes);
        args.extend_from_slice(self.args);
    }

    /// Bytes of all arguments together.
    pub fn byte_len(&self) -> usize {
        self.args.iter().map(|arg| arg.len as usize).sum()
    }
}

/// What a request may ask for before memory is spent on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest accepted bulk string in bytes: `proto-max-bulk-len`.
    pub bulk_bytes_max: u64,
    /// Most arguments of one request.
    pub args_max: u64,
    /// Whether the peer has yet to authenticate: then 10 arguments of 16,384 bytes, as Redis has it.
    pub unauthenticated: bool,
}

/// Longest inline request and longest header line, in bytes: Redis's `PROTO_INLINE_MAX_SIZE`.
pub(super) const LINE_BYTES_MAX: usize = 64 * 1024;
const UNAUTHENTICATED_ARGS_MAX: u64 = 10;
const UNAUTHENTICATED_BULK_BYTES_MAX: u64 = 16_384;

/// What one call of [`Parser::parse`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A whole request that ends before this byte. Its arguments are ranges of the input.
    Multibulk(usize),
    /// A whole inline request that ends before this byte. Its arguments are ranges of the scratch buffer.
    Inline(usize),
    /// Bytes that ask for nothing, up to this one: an empty line or an array without elements.
    Nothing(usize),
    /// The input ends within the request. More bytes, appended to the same input, resume it.
    Incomplete,
}

/// The place inside a request that has not arrived in full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parser {
    /// The first byte of the line or body that is due.
    at: usize,
    /// Bytes of the due line that have been searched for its end.
    searched: usize,
    /// Arguments still to come; 0 before the header has been read.
    args_due: u32,
    /// Length of the argument whose header has been read.
    body_due: Option<u32>,
}

impl Parser {
    /// Whether nothing of a request has been read.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.at == 0 && self.searched == 0
    }

    /// Bytes that must follow before the request can go on, as far as announced: a hint for the read buffer, not a promise.
    pub fn bytes_due(&self, input_len: usize) -> usize {
        self.body_due.map_or(0, |len| (self.at + len as usize + 2).saturating_sub(input_len))
    }

    /// Reads one request from `input`, whose first byte is the request's first byte.
    ///
    /// Pushes its arguments to `args`. After [`Parsed::Incomplete`] call again with the same bytes and more, and the same `args`.
    #[inline]
    pub fn parse(
        &mut self,
        input: &[u8],
        args: &mut Vec<Arg>,
        scratch: &mut Vec<u8>,
        limits: &Limits,
    ) -> Result<Parsed, ProtocolError> {
        // Nearly every request is all there and needs no look at a limit: no limit is as low as its lengths.
        if self.is_idle()
            && let [b'*', count @ b'1'..=b'9', b'\r', b'\n', bulks @ ..] = input
        {
            let (due, rest) = short_bulks(u32::from(count - b'0'), input, bulks, args);
            let at = input.len() - rest.len();
            if due == 0 {
                return Ok(Parsed::Multibulk(at));
            }
            *self = Self { at, args_due: due, ..Self::default() };
        }
        self.go_on(input, args, scratch, limits)
    }

    /// Goes on where it stands, with whatever comes.
    #[inline(never)]
    fn go_on(
        &mut self,
        input: &[u8],
        args: &mut Vec<Arg>,
        scratch: &mut Vec<u8>,
        limits: &Limits,
    ) -> Result<Parsed, ProtocolError> {
        if self.args_due == 0 {
            match input.first() {
                None => return Ok(Parsed::Incomplete),
                Some(b'*') => {}
                Some(_) => return self.inline(input, args, scratch),
            }
            let Some(count) = self.header(input, ProtocolError::MultibulkLength, ProtocolError::BigMultibulkHeader)? else {
                return Ok(Parsed::Incomplete);
            };
            let count = match u64::try_from(count) {
                Err(_) | Ok(0) => {
                    let end = self.at;
                    *self = Self::default();
                    return Ok(Parsed::Nothing(end));
                }
                Ok(count) if count > limits.args_max => return Err(ProtocolError::MultibulkLength),
                Ok(count) if limits.unauthenticated && count > UNAUTHENTICATED_ARGS_MAX => {
                    return Err(ProtocolError::UnauthenticatedMultibulk);
                }
                Ok(count) => count,
            };
            self.args_due = u32::try_from(count).map_err(|_| ProtocolError::MultibulkLength)?;
        }
        while self.args_due > 0 {
            // A body whose header was taken before may begin like a header.
            if self.body_due.is_none() && self.searched == 0 {
                let bulks = &input[self.at..];
                let (due, rest) = short_bulks(self.args_due, input, bulks, args);
                self.at = input.len() - rest.len();
                self.args_due = due;
            }
            if self.args_due > 0 && self.bulk(input, args, limits)?.is_none() {
                return Ok(Parsed::Incomplete);
            }
        }
        let end = self.at;
        *self = Self::default();
        Ok(Parsed::Multibulk(end))
    }

    /// Takes one bulk string of any length. `None` when it has not arrived in full.
    fn bulk(&mut self, input: &[u8], args: &mut Vec<Arg>, limits: &Limits) -> Result<Option<()>, ProtocolError> {
        let len = match self.body_due {
            Some(len) => len,
            None => match self.bulk_header(input, limits)? {
                Some(len) => len,
                None => return Ok(None),
            },
        };
        let end = self.at + len as usize;
        match *input.get(end..).unwrap_or_default() {
            [b'\r', b'\n', ..] => {
                args.push(Arg::new(self.at, len as usize));
                self.at = end + 2;
                self.args_due -= 1;
                self.body_due = None;
                Ok(Some(()))
            }
            [] | [_] => {
                self.body_due = Some(len);
                Ok(None)
            }
            _ => Err(ProtocolError::BulkTerminator),
        }
    }

    /// Reads the line `$<length>`. The limits are checked here, before a byte of the body is waited for.
    fn bulk_header(&mut self, input: &[u8], limits: &Limits) -> Result<Option<u32>, ProtocolError> {
        match input.get(self.at) {
            None => return Ok(None),
            Some(b'$') => {}
            // Redis finds the end of the line before it looks at its first byte.
            Some(&byte) => {
                return match self.line_end(input, ProtocolError::BigBulkHeader)? {
                    None => Ok(None),
                    Some(_) => Err(ProtocolError::ExpectedDollar(byte)),
                };
            }
        }
        let Some(len) = self.header(input, ProtocolError::BulkLength, ProtocolError::BigBulkHeader)? else {
            return Ok(None);
        };
        match u64::try_from(len) {
            Ok(len) if len > limits.bulk_bytes_max => Err(ProtocolError::BulkLength),
            Ok(len) if limits.unauthenticated && len > UNAUTHENTICATED_BULK_BYTES_MAX => Err(ProtocolError::UnauthenticatedBulk),
            Ok(len) => Ok(Some(u32::try_from(len).map_err(|_| ProtocolError::BulkLength)?)),
            Err(_) => Err(ProtocolError::BulkLength),
        }
    }

    /// Reads the number of the header line at `self.at`, past its first byte, and moves behind it.
    fn header(&mut self, input: &[u8], bad: ProtocolError, big: ProtocolError) -> Result<Option<i64>, ProtocolError> {
        let Some(end) = self.line_end(input, big)? else {
            return Ok(None);
        };
        if input[end + 1] != b'\n' {
            return Err(bad);
        }
        let number = parse_i64(&input[self.at + 1..end]).ok_or(bad)?;
        self.at = end + 2;
        self.searched = 0;
        Ok(Some(number))
    }

    /// Where the due line's CR stands, once the byte behind it has come as well. Resumes its search.
    fn line_end(&mut self, input: &[u8], big: ProtocolError) -> Result<Option<usize>, ProtocolError> {
        let line = &input[self.at..];
        let found = line[self.searched..].iter().position(|&byte| byte == b'\r').map(|i| self.searched + i);
        let len = found.unwrap_or(line.len());
        if len > LINE_BYTES_MAX {
            return Err(big);
        }
        self.searched = len;
        Ok(found.filter(|&cr| cr + 1 < line.len()).map(|cr| self.at + cr))
    }

    fn inline(&mut self, input: &[u8], args: &mut Vec<Arg>, scratch: &mut Vec<u8>) -> Result<Parsed, ProtocolError> {
        let found = input[self.searched..].iter().position(|&byte| byte == b'\n').map(|i| self.searched + i);
        if found.unwrap_or(input.len()) > LINE_BYTES_MAX {
            return Err(ProtocolError::BigInline);
        }
        let Some(newline) = found else {
            self.searched = input.len();
            return Ok(Parsed::Incomplete);
        };
        *self = Self::default();
        let before = args.len();
        inline::split(&input[..newline], args, scratch)?;
        Ok(if args.len() == before { Parsed::Nothing(newline + 1) } else { Parsed::Inline(newline + 1) })
    }
}

/// Takes bulk strings off the front of `bulks`, the end of `input`, for as long as they are short and all there. Returns how many of
/// the `due` ones are left, and what was not taken.
#[inline(always)]
fn short_bulks<'a>(mut due: u32, input: &'a [u8], mut bulks: &'a [u8], args: &mut Vec<Arg>) -> (u32, &'a [u8]) {
    while due > 0
        && let Some((len, body)) = short_header(bulks)
        && let Some((_, behind)) = body.split_at_checked(len)
        && let Some(next) = behind.strip_prefix(b"\r\n")
    {
        args.push(Arg::new(input.len() - body.len(), len));
        due -= 1;
        bulks = next;
    }
    (due, bulks)
}

/// Reads the header of a bulk string whose length has one or two digits, as nearly all have: the length, and what is behind the header.
#[inline]
fn short_header(line: &[u8]) -> Option<(usize, &[u8])> {
    let digit = |byte: u8| usize::from(byte - b'0');
    match line {
        [b'$', a @ b'0'..=b'9', b'\r', b'\n', body @ ..] => Some((digit(*a), body)),
        [b'$', a @ b'1'..=b'9', b @ b'0'..=b'9', b'\r', b'\n', body @ ..] => Some((digit(*a) * 10 + digit(*b), body)),
        _ => None,
    }
}
