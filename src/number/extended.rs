//! The extended floating-point numbers of the x87: 64 bits of mantissa and 15 of exponent, as `INCRBYFLOAT` counts in.
//!
//! Redis computes in C's `long double`, which on its usual machines is this format, so sums agree with Redis's to the last digit only
//! if they are rounded as this format rounds: to nearest, ties to even, with gradual underflow. Knows no NaN: what would be one is
//! refused.

use std::cmp::Ordering;
use std::ops::Neg;

use super::natural::Natural;

/// A number of the extended format.
#[derive(Clone, Copy, Debug)]
pub enum Extended {
    /// `mantissa * 2^exponent`, negated or not.
    Finite {
        /// Whether it is below zero. A zero may be either.
        negative: bool,
        /// Below 2^63 only for zero and for numbers below the smallest normal one.
        mantissa: u64,
        /// From -16,445 to 16,320.
        exponent: i32,
    },
    /// Beyond all others.
    Infinite {
        /// Whether it is below all of them.
        negative: bool,
    },
}

/// The exponent below which nothing is represented.
const EXPONENT_MIN: i32 = -16_445;
/// The exponent of the largest numbers.
const EXPONENT_MAX: i32 = 16_383 - 63;
/// Longest accepted text, in bytes, plus one: Redis's `MAX_LONG_DOUBLE_CHARS`.
const TEXT_BYTES_END: usize = 5 * 1024;
/// Digits behind the point: Redis prints with `%.17Lf`.
const FRACTION_DIGITS: usize = 17;
const FRACTION_POWER: u128 = 10_u128.pow(17);
/// A number of `n` decimal places before the point is too large for the format if `n` is larger than this.
const PLACES_MAX: i64 = 4933;
/// A number below `10^n` rounds to zero if `n` is smaller than this.
const PLACES_MIN: i64 = -4950;

impl Extended {
    /// Zero.
    pub const ZERO: Self = Self::Finite { negative: false, mantissa: 0, exponent: EXPONENT_MIN };
    /// The largest that is not infinite.
    pub const MAX: Self = Self::Finite { negative: false, mantissa: u64::MAX, exponent: EXPONENT_MAX };

    /// The smallest that is not infinite.
    pub const MIN: Self = Self::Finite { negative: true, mantissa: u64::MAX, exponent: EXPONENT_MAX };

    /// Reads what Redis takes for a `long double`: all that C's `strtold` takes, decimal, hexadecimal or infinite, as long as nothing
    /// stands around it, it is no NaN, and it neither overflows nor vanishes in rounding.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.len() >= TEXT_BYTES_END {
            return None;
        }
        let (negative, magnitude) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        match magnitude {
            [b'0', b'x' | b'X', hex @ ..] => Literal::split(hex, b'p', u8::is_ascii_hexdigit)?.hexadecimal(negative),
            _ if magnitude.eq_ignore_ascii_case(b"inf") || magnitude.eq_ignore_ascii_case(b"infinity") => {
                Some(Self::Infinite { negative })
            }
            _ => Literal::split(magnitude, b'e', u8::is_ascii_digit)?.decimal(negative),
        }
    }

    /// The rounded sum; `None` when it is infinite or no number.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let (
            Self::Finite { negative, mantissa, exponent },
            Self::Finite { negative: other_negative, mantissa: other_mantissa, exponent: other_exponent },
        ) = (self, other)
        else {
            return None;
        };
        if mantissa == 0 {
            return Some(other);
        }
        if other_mantissa == 0 {
            return Some(self);
        }
        let (mut a, a_exponent) = high(mantissa, exponent);
        let (mut b, b_exponent) = high(other_mantissa, other_exponent);
        if a_exponent >= b_exponent {
            b = shift_right_jam(b, a_exponent.abs_diff(b_exponent));
        } else {
            a = shift_right_jam(a, a_exponent.abs_diff(b_exponent));
        }
        let (negative, sum) = match (negative == other_negative, a >= b) {
            (true, _) => (negative, a + b),
            (false, true) => (negative, a - b),
            (false, false) => (other_negative, b - a),
        };
        match Self::round(negative, sum, a_exponent.max(b_exponent), false) {
            Self::Infinite { .. } => None,
            sum => Some(sum),
        }
    }

    /// Whether it is infinite, on either side.
    pub fn is_infinite(self) -> bool {
        matches!(self, Self::Infinite { .. })
    }

    /// Whether it is below zero, which a zero may also be said to be.
    pub fn is_negative(self) -> bool {
        match self {
            Self::Finite { negative, .. } | Self::Infinite { negative } => negative,
        }
    }

    /// What it is compared by without its sign: of two numbers the one with the larger exponent is larger, since all but the smallest
    /// have the highest bit of their mantissa set, and the smallest have the smallest exponent.
    fn magnitude(self) -> (i32, u64) {
        match self {
            Self::Finite { mantissa, exponent, .. } => (exponent, mantissa),
            Self::Infinite { .. } => (i32::MAX, 0),
        }
    }

    /// Appends it as Redis prints it: 17 digits behind the point, trailing zeros taken away, never an exponent.
    pub fn push(self, out: &mut Vec<u8>) {
        let (negative, mantissa, exponent) = match self {
            Self::Finite { negative, mantissa, exponent } => (negative, mantissa, exponent),
            Self::Infinite { negative } => return out.extend_from_slice(if negative { b"-inf" } else { b"inf" }),
        };
        let below_one = exponent.unsigned_abs();
        if exponent >= 0 {
            if negative && mantissa != 0 {
                out.push(b'-');
            }
            Natural::shifted(mantissa, below_one as usize).push_decimal(out);
            return;
        }
        // The product has 121 bits at most, so a shift by more leaves less than half of the last digit.
        let scaled = u128::from(mantissa) * FRACTION_POWER;
        let scaled = if below_one < 128 { shift_right_even(scaled, below_one, false) } else { 0 };
        if negative && scaled != 0 {
            out.push(b'-');
        }
        push(out, scaled / FRACTION_POWER, 1);
        let fraction = scaled % FRACTION_POWER;
        if fraction != 0 {
            out.push(b'.');
            push(out, fraction, FRACTION_DIGITS);
            let zeros = out.iter().rev().take_while(|&&digit| digit == b'0').count();
            out.truncate(out.len() - zeros);
        }
    }

    /// It as Redis prints it: see [`Self::push`].
    pub fn to_text(self) -> String {
        let mut out = Vec::new();
        self.push(&mut out);
        out.into_iter().map(char::from).collect()
    }

    /// The number nearest to `top * 2^exponent`, or to a little more than that if there is something `below`.
    fn round(negative: bool, top: u128, exponent: i32, below: bool) -> Self {
        if top == 0 {
            return Self::ZERO;
        }
        let shift = top.leading_zeros();
        let top = top << shift;
        let exponent = exponent.saturating_sub_unsigned(shift);
        // Of 128 bits the upper half is kept, and fewer of a number below the smallest normal one.
        let lost = EXPONENT_MIN.max(exponent.saturating_add(64)).abs_diff(exponent);
        let mantissa = match lost {
            0..128 => shift_right_even(top, lost, below),
            // All is lost; just half of the last place or less is rounded down to nothing.
            128 => u128::from(top > 1 << 127 || below),
            _ => 0,
        };
        let exponent = exponent.saturating_add_unsigned(lost);
        // Rounding up may have made a power of two of 65 bits.
        let (mantissa, exponent) = match u64::try_from(mantissa) {
            Ok(mantissa) => (mantissa, exponent),
            Err(_) => (1 << 63, exponent + 1),
        };
        if exponent > EXPONENT_MAX { Self::Infinite { negative } } else { Self::Finite { negative, mantissa, exponent } }
    }

    /// [`Self::round`] for text that says something else than zero: Redis refuses it when it is read as zero or infinite.
    fn round_text(negative: bool, top: u128, exponent: i32, below: bool) -> Option<Self> {
        match Self::round(negative, top, exponent, below) {
            Self::Infinite { .. } | Self::Finite { mantissa: 0, .. } => None,
            number => Some(number),
        }
    }
}

impl PartialEq for Extended {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Extended {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let is_zero = |number: Self| matches!(number, Self::Finite { mantissa: 0, .. });
        Some(match (self.is_negative(), other.is_negative()) {
            _ if is_zero(*self) && is_zero(*other) => Ordering::Equal,
            (false, false) => self.magnitude().cmp(&other.magnitude()),
            (true, true) => other.magnitude().cmp(&self.magnitude()),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        })
    }
}

impl Neg for Extended {
    type Output = Self;

    fn neg(self) -> Self {
        match self {
            Self::Finite { negative, mantissa, exponent } => Self::Finite { negative: !negative, mantissa, exponent },
            Self::Infinite { negative } => Self::Infinite { negative: !negative },
        }
    }
}

/// A mantissa with its highest bit moved to bit 126, so that two of them can be added.
fn high(mantissa: u64, exponent: i32) -> (u128, i32) {
    let shift = 63 + mantissa.leading_zeros();
    (u128::from(mantissa) << shift, exponent.saturating_sub_unsigned(shift))
}

/// Shifts right. What is lost is remembered in the lowest bit.
fn shift_right_jam(value: u128, shift: u32) -> u128 {
    match value.checked_shr(shift) {
        Some(shifted) => shifted | u128::from(shifted << shift != value),
        None => u128::from(value != 0),
    }
}

/// Shifts right by less than 128 and rounds to nearest, ties to even; `below` says that there is a little more than `value`.
fn shift_right_even(value: u128, shift: u32, below: bool) -> u128 {
    let kept = value >> shift;
    let lost = value - (kept << shift);
    let half = 1_u128 << shift >> 1;
    let up = shift > 0 && (lost > half || lost == half && (below || kept & 1 == 1));
    kept + u128::from(up)
}

/// Appends `value` in at least `width` digits.
fn push(out: &mut Vec<u8>, value: u128, width: usize) {
    // The callers' values are quotients and remainders of at most 121 bits by 10^17.
    super::push_padded(out, u64::try_from(value).unwrap_or(u64::MAX), width);
}

/// The parts of a number in text.
struct Literal<'a> {
    integer: &'a [u8],
    fraction: &'a [u8],
    /// Saturated far beyond what any number of digits could make up for.
    exponent: i64,
}

impl<'a> Literal<'a> {
    /// Takes apart digits with at most one point among them, and an exponent behind the letter `marker`, if there is one.
    fn split(text: &'a [u8], marker: u8, is_digit: impl Fn(&u8) -> bool) -> Option<Self> {
        let end = text.iter().position(|byte| byte.eq_ignore_ascii_case(&marker));
        let (digits, exponent) = match end {
            Some(end) => (&text[..end], parse_exponent(&text[end + 1..])?),
            None => (text, 0),
        };
        let (integer, fraction) = match digits.iter().position(|&byte| byte == b'.') {
            Some(point) => (&digits[..point], &digits[point + 1..]),
            None => (digits, &[][..]),
        };
        let valid = !(integer.is_empty() && fraction.is_empty()) && integer.iter().chain(fraction).all(is_digit);
        valid.then_some(Self { integer, fraction, exponent })
    }

    /// All digits from the first that is not zero.
    fn significant(&self) -> impl Iterator<Item = u8> + Clone {
        self.integer.iter().chain(self.fraction).copied().skip_while(|&digit| digit == b'0')
    }

    fn decimal(&self, negative: bool) -> Option<Extended> {
        let digits = self.significant();
        let count = i64::try_from(digits.clone().count()).ok()?;
        if count == 0 {
            return Some(Extended::ZERO);
        }
        let exponent = self.exponent - i64::try_from(self.fraction.len()).ok()?;
        if !(PLACES_MIN..=PLACES_MAX).contains(&(count + exponent)) {
            return None;
        }
        let exponent = i32::try_from(exponent).ok()?;
        let mut number = Natural::from_digits(digits);
        // Ten is two times five, and only the fives need work.
        let (top, two_exponent, below) = if exponent >= 0 {
            number.multiply_by_five_to(exponent.unsigned_abs());
            number.top()
        } else {
            number.divide(Natural::five_to(exponent.unsigned_abs()))
        };
        Extended::round_text(negative, top, two_exponent + exponent, below)
    }

    fn hexadecimal(&self, negative: bool) -> Option<Extended> {
        let mut top = 0_u128;
        let mut below = false;
        let mut exponent = self.exponent - 4 * i64::try_from(self.fraction.len()).ok()?;
        for digit in self.significant() {
            let digit = char::from(digit).to_digit(16)?;
            if top >> 124 == 0 {
                top = top << 4 | u128::from(digit);
            } else {
                exponent += 4;
                below |= digit != 0;
            }
        }
        if top == 0 {
            return Some(Extended::ZERO);
        }
        Extended::round_text(negative, top, i32::try_from(exponent).ok()?, below)
    }
}

/// Reads an exponent with or without a sign, which must be all there is.
fn parse_exponent(text: &[u8]) -> Option<i64> {
    /// No text is long enough to make up for such an exponent with digits.
    const ENOUGH: i64 = 1_000_000;
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let magnitude = digits.iter().fold(0, |value: i64, &digit| ENOUGH.min(value * 10 + i64::from(digit - b'0')));
    Some(if negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(a: &str, b: &str, expected: Option<&str>) {
        let parse = |text: &str| Extended::parse(text.as_bytes()).expect(text);
        let printed = parse(a).checked_add(parse(b)).map(|sum| {
            let mut out = Vec::new();
            sum.push(&mut out);
            String::from_utf8(out).expect("digits are ASCII")
        });
        assert_eq!(printed.as_deref(), expected, "{a} + {b}");
    }

    // What redis-server 7.0.15 on x86-64 answers to INCRBYFLOAT.
    #[test]
    fn sums_are_rounded_and_printed_like_redis_does() {
        check("0", "0.1", Some("0.1"));
        check("0.1", "0.2", Some("0.3"));
        check("3.0e3", "200", Some("3200"));
        check("-1e-18", "0", Some("0"));
        check("18446744073709551615", "1", Some("18446744073709551616"));
        check("18446744073709551616", "1", Some("18446744073709551616"));
        check("18446744073709551616", "3", Some("18446744073709551620"));
        check("1e30", "-1e30", Some("0"));
        check("0x1.8p1", "-0X.4", Some("2.75"));
        check("1e4932", "-1e4932", Some("0"));
        check("1e4932", "1e4932", None);
        check("inf", "1", None);
        check("inf", "-infinity", None);
    }

    #[test]
    fn numbers_are_in_order() {
        let texts = ["-inf", "-1e4932", "-2", "-1.5", "-1e-4950", "0", "1e-4950", "0.1", "1", "1.5", "2", "1e4932", "inf"];
        let numbers: Vec<_> = texts.iter().map(|text| Extended::parse(text.as_bytes()).expect(text)).collect();
        for (place, number) in numbers.iter().enumerate() {
            for (other_place, other) in numbers.iter().enumerate() {
                assert_eq!(number.partial_cmp(other), Some(place.cmp(&other_place)), "{} and {}", texts[place], texts[other_place]);
            }
        }
        assert!(numbers[1] > Extended::MIN && numbers[11] < Extended::MAX && numbers[12] > Extended::MAX);
        assert_eq!(-Extended::ZERO, Extended::ZERO);
    }

    #[test]
    fn text_is_refused_where_redis_refuses_it() {
        for text in
            ["", " 1", "1 ", "nan", "+-1", "1e", "1e+", ".", "0x", "0x.", "0x1p", "1e4933", "1e-4951", "--1", "1.2.3", "1\0"]
        {
            assert_eq!(Extended::parse(text.as_bytes()), None, "{text:?}");
        }
        for text in ["+1", "1.", ".5", "1E5", "0e99999999999999999999", "1e-4950", "1.18973149535723176502e4932", "INFINITY"] {
            assert!(Extended::parse(text.as_bytes()).is_some(), "{text:?}");
        }
        assert!(Extended::parse(&[b'1'; 4932]).is_some());
        assert!(Extended::parse(&[b'0'; 5119]).is_some());
        assert!(Extended::parse(&[b'0'; 5120]).is_none());
    }
}
