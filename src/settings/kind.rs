//! What values a parameter takes, and the form in which each is kept. The texts are Redis's.

use std::borrow::Cow;

use crate::number::parse_i64;

/// Makes the value to keep out of the old and the given one, or says why it does not take it.
pub type Accept = fn(old: &[u8], given: &[u8]) -> Accepted;

/// The form to be kept, or the reason against the value.
pub type Accepted = Result<Vec<u8>, Cow<'static, str>>;

/// The values that a parameter takes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// `yes` or `no`.
    Bool,
    /// One of these words.
    Enum(&'static [&'static str]),
    /// An integer between the two, both included.
    Int(i64, i64),
    /// Bytes, in a unit such as `mb` if one is given, between the two, both included.
    Memory(u64, u64),
    /// Bytes, or a share of `maxmemory` such as `10%`.
    MemoryOrPercent,
    /// Anything.
    Text,
    /// What this function takes.
    Special(Accept),
}

impl Kind {
    /// Makes the value to keep.
    ///
    /// # Errors
    /// The reason against `given`, in Redis's words.
    pub fn accept(self, old: &[u8], given: &[u8]) -> Accepted {
        match self {
            Self::Bool => match given.to_ascii_lowercase().as_slice() {
                word @ (b"yes" | b"no") => Ok(word.to_vec()),
                _ => Err("argument must be 'yes' or 'no'".into()),
            },
            Self::Enum(words) => match words.iter().find(|word| word.as_bytes().eq_ignore_ascii_case(given)) {
                Some(word) => Ok(word.as_bytes().to_vec()),
                None => Err(format!("argument(s) must be one of the following: {}", words.join(", ")).into()),
            },
            Self::Int(min, max) => {
                let value = parse_i64(given).ok_or("argument couldn't be parsed into an integer")?;
                within(value, min, max)
            }
            Self::Memory(min, max) => {
                let value = memory(given).ok_or("argument must be a memory value")?;
                within(value, min, max)
            }
            Self::MemoryOrPercent => memory_or_percent(given),
            Self::Text => Ok(given.to_vec()),
            Self::Special(accept) => accept(old, given),
        }
    }
}

fn within<T: PartialOrd + ToString>(value: T, min: T, max: T) -> Accepted {
    if value < min || value > max {
        return Err(format!("argument must be between {} and {} inclusive", min.to_string(), max.to_string()).into());
    }
    Ok(value.to_string().into_bytes())
}

/// Reads a number of bytes with an optional unit the way Redis does: too many digits saturate, and the unit then wraps around.
pub(super) fn memory(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, unit) = text.split_at(digits);
    let factor: u64 = match unit.to_ascii_lowercase().as_slice() {
        b"" | b"b" => 1,
        b"k" => 1000,
        b"kb" => 1 << 10,
        b"m" => 1_000_000,
        b"mb" => 1 << 20,
        b"g" => 1_000_000_000,
        b"gb" => 1 << 30,
        _ => return None,
    };
    let number = digits.iter().fold(0_u64, |number, &digit| number.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    Some(number.wrapping_mul(factor))
}

fn memory_or_percent(given: &[u8]) -> Accepted {
    const REASON: &str = "argument must be a memory or percent value";
    match given.strip_suffix(b"%") {
        None => Ok(memory(given).ok_or(REASON)?.to_string().into_bytes()),
        Some(share) => {
            let share = parse_i64(share).filter(|&share| share >= 0).ok_or(REASON)?;
            if share > 100 {
                return Err("percentage argument must be less or equal to 100".into());
            }
            Ok(format!("{share}%").into_bytes())
        }
    }
}
