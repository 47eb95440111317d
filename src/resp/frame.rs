//! Replies as values, for those who read them: the embedding program, `redlet ping` and the tests. Not on the data path.

use bytes::Bytes;

/// A reply as a value, in either protocol.
pub use redis_protocol::resp3::types::BytesFrame as Frame;

/// Reads one reply from the front of `input`: the reply and its length in bytes, or `None` while it is incomplete.
///
/// # Errors
/// The decoder's own words when the bytes are no reply.
pub fn decode(input: &[u8]) -> Result<Option<(Frame, usize)>, String> {
    let bytes = Bytes::copy_from_slice(input);
    redis_protocol::resp3::decode::complete::decode_bytes(&bytes).map_err(|error| error.to_string())
}
