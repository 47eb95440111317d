//! The reply vocabulary. A handler names what it answers; the bytes of RESP2 and RESP3 are decided here alone.

use bytes::Bytes;

use super::output::Output;
use crate::number::{push_i64, push_u64};

/// The protocol a connection speaks: RESP2 until it says `HELLO 3`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// RESP2: maps and sets are arrays, doubles are bulk strings, there are two nulls and no pushes.
    #[default]
    Resp2,
    /// RESP3.
    Resp3,
}

/// The numbers below 100 in two digits.
static TWO_DIGITS: [[u8; 2]; 100] = {
    let mut digits = [[0; 2]; 100];
    let mut n = 0_u8;
    while n < 100 {
        digits[n as usize] = [b'0' + n / 10, b'0' + n % 10];
        n += 1;
    }
    digits
};

/// Appends replies to the output of a batch.
#[derive(Debug)]
pub struct Reply<'a> {
    out: &'a mut Output,
    protocol: Protocol,
}

impl<'a> Reply<'a> {
    /// A writer that appends to `out`.
    pub fn new(out: &'a mut Output, protocol: Protocol) -> Self {
        Self { out, protocol }
    }

    /// The protocol in which this connection is answered.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Switches the encoding of all that is written from here on: `HELLO`.
    pub fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
    }

    /// A place between two replies: what [`Self::rewind`] goes back to. It counts no shared bytes.
    pub fn mark(&self) -> usize {
        self.out.own.len()
    }

    /// Takes back all that was written since `mark`.
    pub fn rewind(&mut self, mark: usize) {
        self.out.truncate(mark);
    }

    /// Bytes that wait to be sent, shared ones included.
    #[inline]
    pub fn output_bytes(&self) -> usize {
        self.out.gathered()
    }

    /// Replies that are encoded already: what this connection would have been sent between two replies.
    pub fn encoded(&mut self, replies: &Output) {
        self.out.append(replies);
    }

    /// Puts what `head` writes before all that was written since `mark`: the head of an array whose length is known only afterwards.
    pub fn put_before(&mut self, mark: usize, head: impl FnOnce(&mut Self)) {
        let end = self.mark();
        head(self);
        self.out.rotate(mark, self.mark() - end);
    }

    /// `+OK`
    pub fn ok(&mut self) {
        self.out.own.extend_from_slice(b"+OK\r\n");
    }

    /// A status such as `+PONG`. `text` holds no line end.
    pub fn simple(&mut self, text: &str) {
        self.out.own.push(b'+');
        self.line(text.as_bytes());
    }

    /// An error. Line ends in `text` become spaces, since they would break the framing.
    pub fn error(&mut self, text: impl AsRef<[u8]>) {
        self.out.own.push(b'-');
        self.out.own.extend(text.as_ref().iter().map(|&byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte }));
        self.out.own.extend_from_slice(b"\r\n");
    }

    /// An integer.
    pub fn int(&mut self, value: i64) {
        self.out.own.push(b':');
        push_i64(&mut self.out.own, value);
        self.out.own.extend_from_slice(b"\r\n");
    }

    /// A count or a length as an integer.
    pub fn len(&mut self, value: usize) {
        self.header(b':', value);
    }

    /// An integer that is never negative. Clients read 63 bits of it.
    pub fn natural(&mut self, value: u64) {
        self.out.own.push(b':');
        push_u64(&mut self.out.own, value);
        self.out.own.extend_from_slice(b"\r\n");
    }

    /// A bulk string.
    pub fn bulk(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        /// Room for the header, and for the two line ends.
        const AROUND: usize = 32;
        self.out.own.reserve(bytes.len() + AROUND);
        self.header(b'$', bytes.len());
        self.line(bytes);
    }

    /// A bulk string that is not copied: it is kept until the peer has taken it.
    pub fn shared(&mut self, bytes: Bytes) {
        self.header(b'$', bytes.len());
        self.out.push_shared(bytes);
        self.line(b"");
    }

    /// A bulk string, or null.
    pub fn bulk_or_null(&mut self, bytes: Option<impl AsRef<[u8]>>) {
        match bytes {
            Some(bytes) => self.bulk(bytes),
            None => self.null(),
        }
    }

    /// The null of a missing value: `$-1`, and `_` in RESP3.
    pub fn null(&mut self) {
        self.out.own.extend_from_slice(match self.protocol {
            Protocol::Resp2 => b"$-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// The null of a missing array: `*-1`, and `_` in RESP3.
    pub fn null_array(&mut self) {
        self.out.own.extend_from_slice(match self.protocol {
            Protocol::Resp2 => b"*-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// The head of an array: `len` replies follow.
    pub fn array(&mut self, len: usize) {
        self.header(b'*', len);
    }

    /// The head of a map: `len` pairs of replies follow. A flat array in RESP2.
    pub fn map(&mut self, len: usize) {
        match self.protocol {
            Protocol::Resp2 => self.header(b'*', len * 2),
            Protocol::Resp3 => self.header(b'%', len),
        }
    }

    /// The head of a set: `len` replies follow. An array in RESP2.
    pub fn set(&mut self, len: usize) {
        match self.protocol {
            Protocol::Resp2 => self.header(b'*', len),
            Protocol::Resp3 => self.header(b'~', len),
        }
    }

    /// The head of a push: `len` replies follow, its kind first. An array in RESP2.
    pub fn push(&mut self, len: usize) {
        match self.protocol {
            Protocol::Resp2 => self.header(b'*', len),
            Protocol::Resp3 => self.header(b'>', len),
        }
    }

    /// Attributes of the reply that follows: `len` pairs. RESP3 only; the caller writes none in RESP2.
    pub fn attributes(&mut self, len: usize) {
        self.header(b'|', len);
    }

    /// A double, `text` being its digits. A bulk string in RESP2.
    pub fn double(&mut self, text: &str) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(text),
            Protocol::Resp3 => {
                self.out.own.push(b',');
                self.line(text.as_bytes());
            }
        }
    }

    /// A boolean. The integer 1 or 0 in RESP2.
    pub fn boolean(&mut self, value: bool) {
        self.out.own.extend_from_slice(match (self.protocol, value) {
            (Protocol::Resp2, true) => b":1\r\n",
            (Protocol::Resp2, false) => b":0\r\n",
            (Protocol::Resp3, true) => b"#t\r\n",
            (Protocol::Resp3, false) => b"#f\r\n",
        });
    }

    /// A number too large for an integer. A bulk string in RESP2.
    pub fn big_number(&mut self, digits: &str) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(digits),
            Protocol::Resp3 => {
                self.out.own.push(b'(');
                self.line(digits.as_bytes());
            }
        }
    }

    /// Plain text to be shown as it is. A bulk string in RESP2.
    pub fn verbatim(&mut self, text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        match self.protocol {
            Protocol::Resp2 => self.bulk(text),
            Protocol::Resp3 => {
                self.header(b'=', text.len() + 4);
                self.out.own.extend_from_slice(b"txt:");
                self.line(text);
            }
        }
    }

    #[inline]
    fn header(&mut self, kind: u8, len: usize) {
        // Nearly every length has one or two digits.
        if let Some(tens) = TWO_DIGITS.get(len) {
            let [ten, one] = *tens;
            if len < 10 {
                self.out.own.extend_from_slice(&[kind, one, b'\r', b'\n']);
            } else {
                self.out.own.extend_from_slice(&[kind, ten, one, b'\r', b'\n']);
            }
            return;
        }
        self.out.own.push(kind);
        push_u64(&mut self.out.own, len as u64);
        self.out.own.extend_from_slice(b"\r\n");
    }

    #[inline]
    fn line(&mut self, bytes: &[u8]) {
        self.out.own.extend_from_slice(bytes);
        self.out.own.extend_from_slice(b"\r\n");
    }
}
