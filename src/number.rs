//! Numbers as Redis reads and writes them. Stricter than Rust's own parsing, and byte for byte Redis's formatting.

mod extended;
mod natural;

pub use extended::Extended;

/// Reads a decimal integer the way Redis does: no sign but `-`, no leading zero, no white space, nothing behind it.
pub fn parse_i64(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    match digits {
        [b'0'] if text.len() == 1 => return Some(0),
        [b'1'..=b'9', ..] if digits.len() <= 19 => {}
        _ => return None,
    }
    let mut magnitude = 0_u64;
    for &byte in digits {
        if !byte.is_ascii_digit() {
            return None;
        }
        // 19 digits never overflow u64.
        magnitude = magnitude * 10 + u64::from(byte - b'0');
    }
    if digits.len() == text.len() { i64::try_from(magnitude).ok() } else { 0_i64.checked_sub_unsigned(magnitude) }
}

/// Longest decimal integer of 64 bits, its sign included, in bytes.
pub const I64_BYTES_MAX: usize = 20;

/// Writes `value` in decimal to the end of `buffer` and hands out what was written.
pub fn format_i64(value: i64, buffer: &mut [u8; I64_BYTES_MAX]) -> &[u8] {
    let mut at = digits(value.unsigned_abs(), buffer);
    if value < 0 {
        at -= 1;
        buffer[at] = b'-';
    }
    &buffer[at..]
}

/// Appends `value` in decimal.
pub fn push_i64(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(format_i64(value, &mut [0; I64_BYTES_MAX]));
}

/// Appends `value` in decimal.
pub fn push_u64(out: &mut Vec<u8>, value: u64) {
    let mut buffer = [0; 20];
    let at = digits(value, &mut buffer);
    out.extend_from_slice(&buffer[at..]);
}

/// Appends `value` in decimal, with zeros before it up to `width` digits.
fn push_padded(out: &mut Vec<u8>, value: u64, width: usize) {
    let mut buffer = [b'0'; 20];
    let at = digits(value, &mut buffer);
    out.extend_from_slice(&buffer[at.min(buffer.len() - width)..]);
}

/// Writes decimal digits to the end of `buffer`. Returns where they begin.
#[inline]
fn digits(mut value: u64, buffer: &mut [u8; 20]) -> usize {
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            return at;
        }
    }
}
