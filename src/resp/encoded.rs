//! One message for many connections: encoded once for each protocol.

use super::output::Output;
use super::reply::{Protocol, Reply};

/// A message, and what has been made of it so far.
#[derive(Debug)]
pub struct Encoded<F> {
    write: F,
    resp2: Option<Output>,
    resp3: Option<Output>,
}

impl<F: Fn(&mut Reply<'_>)> Encoded<F> {
    /// The message that `write` writes.
    pub fn new(write: F) -> Self {
        Self { write, resp2: None, resp3: None }
    }

    /// Its bytes in a protocol.
    pub fn in_protocol(&mut self, protocol: Protocol) -> &Output {
        let Self { write, resp2, resp3 } = self;
        let place = match protocol {
            Protocol::Resp2 => resp2,
            Protocol::Resp3 => resp3,
        };
        place.get_or_insert_with(|| {
            let mut output = Output::default();
            write(&mut Reply::new(&mut output, protocol));
            output
        })
    }
}
