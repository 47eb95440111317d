//! Numbers as Redis reads and writes them. Stricter than Rust's own parsing, and byte for byte Redis's formatting.

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

/// Appends `value` in decimal.
pub fn push_i64(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    push_u64(out, value.unsigned_abs());
}

/// Appends `value` in decimal.
pub fn push_u64(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
