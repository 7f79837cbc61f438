//! A DOUBLE in fewer characters than its text has, as a column of texts with a length takes it (`my_gcvt`).
//!
//! Digits go, not the end of the text. The form, with or without an exponent, is the one that has room for more digits.
//! ```text
//! 0.3333333333333333 in 10 -> 0.33333333    3.333333333333333e99 in 10 -> 3.33333e99    99999.9 in 5 -> 1e5
//! ```

use std::io::Write;

use super::{needs_exponent, write_double, write_with_point};

/// A number as 0.DIGITS × 10^point.
struct Digits {
    digits: Vec<u8>,
    point: i32,
}

impl Digits {
    /// All digits of `x`, or so many of them, rounded.
    fn of(x: f64, count: Option<usize>) -> Digits {
        let text = match count {
            None => format!("{x:e}"),
            Some(count) => format!("{x:.*e}", count.max(1) - 1),
        };
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mut digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
        while digits.len() > 1 && digits.last() == Some(&b'0') {
            digits.pop();
        }
        Digits { digits, point: exponent.parse::<i32>().unwrap_or(0) + 1 }
    }

    /// Characters without an exponent.
    fn plain_len(&self) -> i32 {
        let digits = self.digits.len() as i32;
        match self.point {
            point if point <= 0 => 2 - point + digits,
            point if digits > point => digits + 1,
            point => point,
        }
    }

    /// Characters of `e-5`.
    fn exponent_len(&self) -> i32 {
        format!("e{}", self.point - 1).len() as i32
    }

    fn scientific_len(&self) -> i32 {
        let digits = self.digits.len() as i32;
        digits + i32::from(digits > 1) + self.exponent_len()
    }

    /// Digits that there is room for before an exponent.
    fn room_before_exponent(&self, width: i32) -> i32 {
        match width - self.exponent_len() {
            room @ ..1 => room.min(0),
            1 | 2 => 1,
            room => room - 1,
        }
    }

    fn write_scientific(&self, out: &mut Vec<u8>) {
        out.push(self.digits[0]);
        if let Some(rest) = self.digits.get(1..).filter(|rest| !rest.is_empty()) {
            out.push(b'.');
            out.extend_from_slice(rest);
        }
        let _ = write!(out, "e{}", self.point - 1);
    }
}

/// `x` in at most `width` characters. False, as MySQL counts: a form had no room for its digits, or the beginning of one is written.
pub fn write_double_within(out: &mut Vec<u8>, x: f64, width: usize) -> bool {
    let start = out.len();
    write_double(out, x);
    if out.len() - start <= width {
        return true;
    }
    out.truncate(start);
    let fits = write_narrow(out, x, width);
    out.truncate(start + width);
    fits
}

fn write_narrow(out: &mut Vec<u8>, x: f64, width: usize) -> bool {
    let start = out.len();
    if x.is_sign_negative() {
        out.push(b'-');
    }
    let (x, room) = (x.abs(), width as i32 - (out.len() - start) as i32);
    let mut number = Digits::of(x, None);
    if number.digits.len() > width {
        number = Digits::of(x, Some(width));
    }
    if !needs_exponent(number.point, number.digits.len()) {
        if number.plain_len() <= room {
            write_with_point(out, &number.digits, number.point);
            return true;
        }
        let before_exponent = number.room_before_exponent(room);
        let plain = match number.point {
            point @ ..=0 if before_exponent > 0 => room - 2 + point >= before_exponent,
            // Neither form has room for a digit: the shorter one.
            point @ ..=0 => point + number.exponent_len() > 0,
            point => point <= room,
        };
        if plain && write_rounded(out, start, x, &number, room) {
            // `0.` and what follows up to the first digit.
            return number.point > 0 || room - 2 >= 0;
        }
    }
    let fits = room - number.exponent_len() - i32::from(number.digits.len() > 1) > 0;
    if number.scientific_len() > room {
        let digits = number.room_before_exponent(room).max(1);
        number = Digits::of(x, Some(digits as usize));
        // Rounding may have made the exponent longer.
        if number.scientific_len() > room && digits > 1 {
            number = Digits::of(x, Some(digits as usize - 1));
        }
    }
    number.write_scientific(out);
    fits
}

/// `x` without an exponent, rounded to as many decimals as there is room for; false if rounding made it too long.
fn write_rounded(out: &mut Vec<u8>, start: usize, x: f64, number: &Digits, room: i32) -> bool {
    let whole = number.point.max(1);
    let decimals = (room - whole - 1).max(0) as usize;
    let mut text = format!("{x:.decimals$}");
    if decimals > 0 {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    if text == "0" {
        out.truncate(start);
    } else if text.len() as i32 > room {
        return false;
    }
    out.extend_from_slice(text.as_bytes());
    true
}
