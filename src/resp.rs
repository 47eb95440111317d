//! The wire: requests in, replies out. Knows bytes and their framing, and nothing of what a command means.

mod encoded;
mod error;
mod frame;
mod inline;
mod output;
mod reply;
mod request;

pub use encoded::Encoded;
pub use error::ProtocolError;
pub use frame::{Frame, decode};
pub use output::Output;
pub use reply::{Protocol, Reply};
pub use request::{Arg, Argv, Limits, Parsed, Parser};
