//! The stored form of DECIMAL(p,s), compact and ordered by `memcmp`.
//!
//! MySQL's binary decimal format (manual, "DECIMAL Data Type Characteristics"): the
//! digits before and after the point are packed separately, nine to four big-endian
//! bytes; the digits left over (at the left end before the point, at the right end
//! after it) take
//!
//! | digits left over | 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 |
//! |------------------|---|---|---|---|---|---|---|---|---|
//! | bytes            | 0 | 1 | 1 | 2 | 2 | 3 | 3 | 4 | 4 |
//!
//! A negative number has all bytes inverted; then the highest bit of the first byte
//! is flipped. 1234567890.1234 as DECIMAL(14,4) is `81 0D FB 38 D2 04 D2`.

use bnum::cast::As;
use bnum::types::{I512, U256};

use super::{Decimal, pow10_wide};

const LEFTOVER_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// Bytes that a DECIMAL(precision, scale) takes.
pub fn stored_len(precision: u32, scale: u8) -> usize {
    part_len(precision.saturating_sub(scale as u32) as usize) + part_len(scale as usize)
}

fn part_len(digits: usize) -> usize {
    digits / 9 * 4 + LEFTOVER_BYTES[digits % 9]
}

/// The magnitude while digits are taken off its right end.
enum Magnitude {
    Narrow(u128),
    Wide(U256),
}

impl Magnitude {
    fn take(&mut self, unit: u32) -> u32 {
        match self {
            Magnitude::Narrow(m) if *m <= u64::MAX as u128 => {
                let low = *m as u64;
                *m = (low / unit as u64) as u128;
                (low % unit as u64) as u32
            }
            Magnitude::Narrow(m) => {
                let digits = (*m % unit as u128) as u32;
                *m /= unit as u128;
                digits
            }
            Magnitude::Wide(m) => {
                let unit = unit.as_::<U256>();
                let digits = (*m % unit).as_::<u32>();
                *m /= unit;
                digits
            }
        }
    }
}

impl Decimal {
    /// Appends the stored form; the number must fit (`fit`), a wider one is clamped.
    pub fn encode(&self, precision: u32, scale: u8, out: &mut Vec<u8>) {
        let fitted = match self.fit(precision, scale) {
            Ok(d) | Err(d) => d,
        };
        let start = out.len();
        let len = stored_len(precision, scale);
        out.resize(start + len, 0);
        let bytes = &mut out[start..];
        let mut rest = match fitted.small() {
            Some((m, _)) => Magnitude::Narrow(m.unsigned_abs() as u128),
            None => Magnitude::Wide(fitted.wide().abs().as_::<U256>()),
        };
        let mut end = len;
        let mut put = |rest: &mut Magnitude, digits: usize| {
            let width = LEFTOVER_BYTES[digits];
            let group = rest.take(10u32.pow(digits as u32)).to_be_bytes();
            bytes[end - width..end].copy_from_slice(&group[4 - width..]);
            end -= width;
        };
        let (fraction, integer) = (scale as usize, (precision as usize).saturating_sub(scale as usize));
        if fraction % 9 > 0 {
            put(&mut rest, fraction % 9);
        }
        for _ in 0..fraction / 9 + integer / 9 {
            put(&mut rest, 9);
        }
        if integer % 9 > 0 {
            put(&mut rest, integer % 9);
        }
        if fitted.is_negative() {
            bytes.iter_mut().for_each(|b| *b = !*b);
        }
        if let Some(first) = bytes.first_mut() {
            *first ^= 0x80;
        }
    }

    /// Reads what `encode` wrote at the start of `bytes`; `None` if it is not a DECIMAL(precision, scale).
    pub fn decode(bytes: &[u8], precision: u32, scale: u8) -> Option<Decimal> {
        let len = stored_len(precision, scale);
        let bytes = bytes.get(..len)?;
        let negative = bytes.first()? & 0x80 == 0;
        let (fraction, integer) = (scale as usize, (precision as usize).saturating_sub(scale as usize));
        let groups = [integer % 9].into_iter().chain(std::iter::repeat_n(9, integer / 9 + fraction / 9)).chain([fraction % 9]);
        let mut at = 0;
        let mut narrow = 0i128;
        let mut wide: Option<I512> = None;
        let mut digits_read = 0;
        for digits in groups.filter(|d| *d > 0) {
            let mut group = 0u32;
            for _ in 0..LEFTOVER_BYTES[digits] {
                let flip = if at == 0 { 0x80 } else { 0 } ^ if negative { 0xFF } else { 0 };
                group = group << 8 | (bytes.get(at)? ^ flip) as u32;
                at += 1;
            }
            let unit = 10u32.pow(digits as u32);
            if group >= unit {
                return None;
            }
            digits_read += digits;
            if digits_read > 38 {
                let before = wide.unwrap_or_else(|| narrow.as_::<I512>());
                wide = Some(before * pow10_wide(digits) + group.as_::<I512>());
            } else {
                narrow = narrow * unit as i128 + group as i128;
            }
        }
        match wide {
            Some(w) => Decimal::from_wide(if negative { -w } else { w }, scale),
            None => Decimal::from_i128(if negative { -narrow } else { narrow }, scale),
        }
    }
}
