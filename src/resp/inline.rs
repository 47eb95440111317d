//! Inline commands: one line, split into words by the quoting rules of redis-cli.

use super::error::ProtocolError;
use super::request::Arg;

/// Splits `line` into words. Each is appended to `scratch`, without its quotes, and its range there to `args`.
///
/// Between double quotes `\xHH`, `\n`, `\r`, `\t`, `\b` and `\a` stand for a byte, and any other escaped byte for itself. Between
/// single quotes only `\'` is an escape. A closing quote must end its word. A NUL ends the line, as it does for Redis.
pub(super) fn split(line: &[u8], args: &mut Vec<Arg>, scratch: &mut Vec<u8>) -> Result<(), ProtocolError> {
    let end = line.iter().position(|&byte| byte == 0).unwrap_or(line.len());
    let mut rest = &line[..end];
    loop {
        rest = &rest[rest.iter().position(|&byte| !is_space(byte)).unwrap_or(rest.len())..];
        if rest.is_empty() {
            return Ok(());
        }
        let start = scratch.len();
        rest = word(rest, scratch)?;
        args.push(Arg::new(start, scratch.len() - start));
    }
}

/// Takes one word off the front of `rest`, which does not begin with white space.
fn word<'a>(mut rest: &'a [u8], out: &mut Vec<u8>) -> Result<&'a [u8], ProtocolError> {
    while let Some((&byte, after)) = rest.split_first() {
        rest = match byte {
            b'"' | b'\'' => return quoted(after, byte, out),
            byte if ends_word(byte) => return Ok(rest),
            byte => {
                out.push(byte);
                after
            }
        };
    }
    Ok(rest)
}

/// Takes the rest of a quoted part. What follows its closing quote must be white space.
fn quoted<'a>(mut rest: &'a [u8], quote: u8, out: &mut Vec<u8>) -> Result<&'a [u8], ProtocolError> {
    loop {
        rest = match *rest {
            [byte, ref after @ ..] if byte == quote => {
                return match after.first() {
                    Some(&next) if !is_space(next) => Err(ProtocolError::UnbalancedQuotes),
                    _ => Ok(after),
                };
            }
            [b'\\', b'\'', ref after @ ..] if quote == b'\'' => {
                out.push(b'\'');
                after
            }
            [b'\\', b'x', high, low, ref after @ ..] if quote == b'"' && high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                out.push(hex(high) * 16 + hex(low));
                after
            }
            [b'\\', byte, ref after @ ..] if quote == b'"' => {
                out.push(match byte {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 0x08,
                    b'a' => 0x07,
                    other => other,
                });
                after
            }
            [byte, ref after @ ..] => {
                out.push(byte);
                after
            }
            [] => return Err(ProtocolError::UnbalancedQuotes),
        };
    }
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

/// What ends an unquoted word. Unlike between words, a form feed and a vertical tab do not.
fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit - b'A' + 10,
    }
}
