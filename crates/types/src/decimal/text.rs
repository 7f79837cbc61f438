//! Decimals from and to text.

use std::fmt;

use bnum::cast::As;
use bnum::types::{I256, I512};

use super::{DIGITS_MAX, Decimal, PRECISION_MAX, Repr, SCALE_INTERNAL_MAX, SCALE_MAX, pow10_wide};

/// A number read from the start of a text.
#[derive(Clone, Debug)]
pub struct Parsed {
    pub value: Decimal,
    /// Bytes read: leading spaces, the number and trailing spaces. Fewer than the text has
    /// if junk follows; 0 if there is no number.
    pub used: usize,
    /// The number has more digits before the point than an intermediate result; `value` is ±(65 nines).
    pub overflow: bool,
    /// Fraction digits were cut.
    pub truncated: bool,
}

impl Decimal {
    /// Reads `[spaces][+-]digits[.digits][e[+-]digits][spaces]`.
    pub fn parse(text: &[u8]) -> Parsed {
        let none = Parsed { value: Decimal::ZERO, used: 0, overflow: false, truncated: false };
        let spaces = text.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let mut rest = &text[spaces..];
        let negative = rest.first() == Some(&b'-');
        if matches!(rest.first(), Some(b'-' | b'+')) {
            rest = &rest[1..];
        }
        let integer = leading_digits(rest);
        rest = &rest[integer.len()..];
        let mut fraction: &[u8] = &[];
        if rest.first() == Some(&b'.') {
            fraction = leading_digits(&rest[1..]);
            if !integer.is_empty() || !fraction.is_empty() {
                rest = &rest[1 + fraction.len()..];
            }
        }
        if integer.is_empty() && fraction.is_empty() {
            return none;
        }
        let mut exponent = 0i32;
        if let Some((value, len)) = parse_exponent(rest) {
            exponent = value;
            rest = &rest[len..];
        }
        let trailing = rest.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let used = text.len() - (rest.len() - trailing);
        let parsed = assemble(integer, fraction, exponent);
        Parsed { value: if negative { parsed.value.neg() } else { parsed.value }, used, ..parsed }
    }

    /// Appends the number rounded to exactly `scale` digits after the point.
    pub fn write_text(&self, out: &mut Vec<u8>, scale: u8) {
        match self.rescale(scale) {
            Some(d) => d.write_exact(out, 0),
            // Too wide to pad: print what is there and add the zeros.
            None => self.write_exact(out, (scale - self.scale()) as usize),
        }
    }

    fn write_exact(&self, out: &mut Vec<u8>, extra_zeros: usize) {
        let scale = self.scale() as usize;
        if self.is_negative() {
            out.push(b'-');
        }
        let mut buffer = [0u8; 80];
        let mut at = buffer.len();
        match &self.0 {
            Repr::Small(m, _) => push_digits(&mut buffer, &mut at, m.unsigned_abs()),
            Repr::Big(big) => {
                // Eighteen digits at a time, from the right.
                let group = 1_000_000_000_000_000_000u64;
                let wide_group = group.as_::<I256>();
                let mut rest = big.0.abs();
                while rest >= wide_group {
                    let end = at;
                    push_digits(&mut buffer, &mut at, (rest % wide_group).as_::<u64>());
                    while end - at < 18 {
                        at -= 1;
                        buffer[at] = b'0';
                    }
                    rest /= wide_group;
                }
                push_digits(&mut buffer, &mut at, rest.as_::<u64>());
            }
        }
        let digits = &buffer[at..];
        if digits.len() > scale {
            out.extend_from_slice(&digits[..digits.len() - scale]);
        } else {
            out.push(b'0');
        }
        if scale + extra_zeros > 0 {
            out.push(b'.');
            out.extend(std::iter::repeat_n(b'0', scale.saturating_sub(digits.len())));
            out.extend_from_slice(&digits[digits.len().saturating_sub(scale)..]);
            out.extend(std::iter::repeat_n(b'0', extra_zeros));
        }
    }
}

/// Writes `n` to the left of `at`; nothing for 0.
fn push_digits(buffer: &mut [u8; 80], at: &mut usize, mut n: u64) {
    while n > 0 {
        *at -= 1;
        buffer[*at] = b'0' + (n % 10) as u8;
        n /= 10;
    }
}

fn leading_digits(text: &[u8]) -> &[u8] {
    &text[..text.iter().take_while(|b| b.is_ascii_digit()).count()]
}

/// The exponent and its length, if one stands at the start of `text`.
fn parse_exponent(text: &[u8]) -> Option<(i32, usize)> {
    if !matches!(text.first(), Some(b'e' | b'E')) {
        return None;
    }
    let signed = matches!(text.get(1), Some(b'+' | b'-')) as usize;
    let digits = leading_digits(&text[1 + signed..]);
    if digits.is_empty() {
        return None;
    }
    let magnitude = digits.iter().fold(0i32, |n, d| (n * 10 + (d - b'0') as i32).min(100_000));
    Some((if text.get(1) == Some(&b'-') { -magnitude } else { magnitude }, 1 + signed + digits.len()))
}

/// integer.fraction × 10^exponent.
fn assemble(integer: &[u8], fraction: &[u8], exponent: i32) -> Parsed {
    let zeros = integer.iter().take_while(|b| **b == b'0').count();
    let integer = &integer[zeros..];
    let point = integer.len() as i32 + exponent;
    let mut digits = integer.iter().chain(fraction);
    let all_zero = digits.clone().all(|b| *b == b'0');
    // Leading zeros of the fraction count for the scale but not for the width.
    let leading = digits.clone().take_while(|b| **b == b'0').count();
    if !all_zero && point - leading as i32 > DIGITS_MAX as i32 {
        return Parsed { value: Decimal::max_of(PRECISION_MAX, 0), used: 0, overflow: true, truncated: false };
    }
    let total = integer.len() + fraction.len();
    let scale_wanted = fraction.len() as i32 - exponent;
    let mut keep = total.min(leading + DIGITS_MAX) as i32;
    keep = keep.min(total as i32 - (scale_wanted - SCALE_INTERNAL_MAX as i32)).max(0);
    let truncated = digits.clone().skip(keep as usize).any(|b| *b != b'0');
    if keep == 0 && scale_wanted > 0 {
        // All digits lie beyond what is kept.
        let value = Decimal::new(0, scale_wanted.min(SCALE_MAX as i32) as u8);
        return Parsed { value, used: 0, overflow: false, truncated };
    }
    let scale = scale_wanted - (total as i32 - keep);
    let mut value = Decimal::ZERO;
    let mut small = 0i64;
    if keep as usize - leading.min(keep as usize) <= 18 {
        for d in digits.by_ref().take(keep as usize) {
            small = small * 10 + (d - b'0') as i64;
        }
        value.0 = Repr::Small(small, 0);
    } else {
        let mut wide = I512::ZERO;
        for d in digits.by_ref().take(keep as usize) {
            wide = wide * I512::TEN + (d - b'0').as_::<I512>();
        }
        value = Decimal::from_wide(wide, 0).unwrap_or(Decimal::ZERO);
    }
    let value = if scale >= 0 {
        value.with_scale(scale as u8)
    } else if value.is_zero() {
        value
    } else {
        Decimal::from_wide(value.wide() * pow10_wide(-scale as usize), 0).unwrap_or(Decimal::ZERO)
    };
    Parsed { value, used: 0, overflow: false, truncated }
}

impl Decimal {
    fn with_scale(self, scale: u8) -> Decimal {
        match self.0 {
            Repr::Small(m, _) => Decimal::new(m, scale),
            Repr::Big(big) => Decimal(Repr::Big(Box::new((big.0, scale)))),
        }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::with_capacity(24);
        self.write_exact(&mut out, 0);
        f.write_str(std::str::from_utf8(&out).unwrap_or(""))
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
