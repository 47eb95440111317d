//! Natural numbers of any size, with just the arithmetic that reading and writing long decimal fractions takes.
//!
//! The numbers here have a few thousand digits at most, so every method is the schoolbook one. Must not know of signs or fractions.

use std::cmp::Ordering;

/// A natural number: limbs of 32 bits, the lowest first, the highest of them not zero.
#[derive(Clone, Debug, Default)]
pub(super) struct Natural(Vec<u32>);

/// The digits that one limb always has room for.
const LIMB_DIGITS: usize = 9;
const LIMB_POWER: u32 = 10_u32.pow(9);
const FIVE_POWER: u32 = 5_u32.pow(13);

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is wanted")]
fn low(wide: u64) -> u32 {
    wide as u32
}

impl Natural {
    /// Reads decimal digits, the highest first.
    pub(super) fn from_digits(digits: impl Iterator<Item = u8>) -> Self {
        let mut number = Self::default();
        let (mut chunk, mut power) = (0, 1);
        for digit in digits {
            chunk = chunk * 10 + u32::from(digit - b'0');
            power *= 10;
            if power == LIMB_POWER {
                number.multiply_add(power, chunk);
                (chunk, power) = (0, 1);
            }
        }
        number.multiply_add(power, chunk);
        number
    }

    /// `mantissa * 2^exponent`.
    pub(super) fn shifted(mantissa: u64, exponent: usize) -> Self {
        let mut number = Self(vec![low(mantissa), low(mantissa >> 32)]);
        number.trim();
        number.shift_left(exponent);
        number
    }

    fn trim(&mut self) {
        let len = self.0.iter().rposition(|&limb| limb != 0).map_or(0, |last| last + 1);
        self.0.truncate(len);
    }

    /// Makes it `self * factor + addend`.
    fn multiply_add(&mut self, factor: u32, addend: u32) {
        let mut carry = u64::from(addend);
        for limb in &mut self.0 {
            carry += u64::from(*limb) * u64::from(factor);
            *limb = low(carry);
            carry >>= 32;
        }
        if carry != 0 {
            self.0.push(low(carry));
        }
    }

    /// Makes it `self * 5^power`.
    pub(super) fn multiply_by_five_to(&mut self, power: u32) {
        for _ in 0..power / 13 {
            self.multiply_add(FIVE_POWER, 0);
        }
        self.multiply_add(5_u32.pow(power % 13), 0);
    }

    /// `5^power`.
    pub(super) fn five_to(power: u32) -> Self {
        let mut number = Self(vec![1]);
        number.multiply_by_five_to(power);
        number
    }

    /// Makes it `self * 2^bits`.
    fn shift_left(&mut self, bits: usize) {
        self.multiply_add(1 << (bits % 32), 0);
        if !self.0.is_empty() {
            self.0.splice(..0, std::iter::repeat_n(0, bits / 32));
        }
    }

    /// Bits without leading zeros.
    fn bit_len(&self) -> usize {
        self.0.last().map_or(0, |limb| self.0.len() * 32 - limb.leading_zeros() as usize)
    }

    fn compare(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    /// Makes it `self - other`, which must not be larger.
    fn subtract(&mut self, other: &Self) {
        let mut borrow = false;
        for (i, limb) in self.0.iter_mut().enumerate() {
            let (difference, under) = limb.overflowing_sub(other.0.get(i).copied().unwrap_or(0));
            let (difference, under_again) = difference.overflowing_sub(u32::from(borrow));
            *limb = difference;
            borrow = under || under_again;
        }
        debug_assert!(!borrow, "what is subtracted is not larger");
        self.trim();
    }

    /// The highest 128 bits, the power of two that they are to be multiplied with, and whether there is anything below them.
    pub(super) fn top(&self) -> (u128, i32, bool) {
        let cut = self.bit_len().saturating_sub(128);
        let (skipped, within) = (cut / 32, cut % 32);
        let bits = |index: usize| u128::from(self.0.get(skipped + index).copied().unwrap_or(0));
        // Up to five limbs hold the 128 bits.
        let wide = bits(0) | bits(1) << 32 | bits(2) << 64 | bits(3) << 96;
        let top = if within == 0 { wide } else { wide >> within | bits(4) << (128 - within) };
        let below = self.0.iter().take(skipped).any(|&limb| limb != 0) || bits(0) & ((1 << within) - 1) != 0;
        (top, i32::try_from(cut).unwrap_or(i32::MAX), below)
    }

    /// The quotient of two numbers that are not zero in at least 127 bits, the power of two that it is to be multiplied with, and
    /// whether there is a remainder.
    pub(super) fn divide(mut self, mut divisor: Self) -> (u128, i32, bool) {
        let (len, divisor_len) = (self.bit_len(), divisor.bit_len());
        self.shift_left(divisor_len.saturating_sub(len));
        divisor.shift_left(len.saturating_sub(divisor_len));
        let difference = i32::try_from(len).unwrap_or(i32::MAX) - i32::try_from(divisor_len).unwrap_or(i32::MAX);
        let mut quotient = 0;
        for _ in 0..128 {
            quotient <<= 1;
            if self.compare(&divisor) != Ordering::Less {
                self.subtract(&divisor);
                quotient |= 1;
            }
            self.shift_left(1);
        }
        (quotient, difference - 127, !self.0.is_empty())
    }

    /// Appends it in decimal.
    pub(super) fn push_decimal(mut self, out: &mut Vec<u8>) {
        let mut chunks = Vec::new();
        while !self.0.is_empty() {
            let mut remainder = 0;
            for limb in self.0.iter_mut().rev() {
                let wide = remainder << 32 | u64::from(*limb);
                *limb = low(wide / u64::from(LIMB_POWER));
                remainder = wide % u64::from(LIMB_POWER);
            }
            self.trim();
            chunks.push(remainder);
        }
        super::push_u64(out, chunks.pop().unwrap_or(0));
        for chunk in chunks.into_iter().rev() {
            super::push_padded(out, chunk, LIMB_DIGITS);
        }
    }
}
