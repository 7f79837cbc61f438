//! Numbers to text, as MySQL prints them; shared by the wire's text rows and by functions such as CONCAT.
//!
//! Everything appends to a `Vec<u8>`. Integers go two digits at a time through a table. A DOUBLE is
//! the shortest text that reads back as the same value, a FLOAT has at most six significant digits, and
//! both switch to an exponent where MySQL's `my_gcvt` does: when the decimal point would lie more
//! than 15 digits right or 14 digits left of the first digit, and beyond the last one.
//! ```text
//! 0.1 -> 0.1    1e15 -> 1e15    999999999999999 -> 999999999999999    1e-15 -> 0.000000000000001
//! 123456789 as FLOAT -> 123457000    1e-16 -> 1e-16
//! ```
//! DECIMAL, temporal and JSON values print themselves in their own modules.

mod narrow;

use std::io::Write;

pub use narrow::write_double_within;

/// DBL_DIG: where `my_gcvt` stops writing numbers without an exponent.
const POINT_DIGITS_MAX: i32 = 15;
/// FLT_DIG: significant digits of a FLOAT.
const FLOAT_DIGITS: usize = 6;

const PAIRS: &[u8; 200] = b"0001020304050607080910111213141516171819\
2021222324252627282930313233343536373839\
4041424344454647484950515253545556575859\
6061626364656667686970717273747576777879\
8081828384858687888990919293949596979899";

/// The digits of `n`, written to the end of a buffer that holds any `u64`.
#[inline]
fn digits(mut n: u64, buf: &mut [u8; 20]) -> &[u8] {
    let mut at = buf.len();
    while n >= 100 {
        let pair = (n % 100) as usize * 2;
        n /= 100;
        at -= 2;
        buf[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    }
    if n >= 10 {
        let pair = n as usize * 2;
        at -= 2;
        buf[at..at + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
    } else {
        at -= 1;
        buf[at] = b'0' + n as u8;
    }
    &buf[at..]
}

/// `18446744073709551615`
#[inline]
pub fn write_u64(out: &mut Vec<u8>, n: u64) {
    let mut buf = [0; 20];
    out.extend_from_slice(digits(n, &mut buf));
}

/// `-42`
#[inline]
pub fn write_i64(out: &mut Vec<u8>, n: i64) {
    if n < 0 {
        out.push(b'-');
    }
    write_u64(out, n.unsigned_abs());
}

/// A ZEROFILL integer: at least `width` digits. `00042`
pub fn write_zerofill(out: &mut Vec<u8>, n: u64, width: usize) {
    let start = out.len();
    write_u64(out, n);
    pad_zeros(out, start, width);
}

/// Makes the number that begins at `start` at least `width` characters long, as ZEROFILL does.
pub fn pad_zeros(out: &mut Vec<u8>, start: usize, width: usize) {
    let len = out.len() - start;
    if len < width {
        let missing = width - len;
        out.resize(out.len() + missing, b'0');
        out.copy_within(start..start + len, start + missing);
        out[start..start + missing].fill(b'0');
    }
}

/// A YEAR: four digits. `0000`, `2024`
pub fn write_year(out: &mut Vec<u8>, year: u64) {
    write_zerofill(out, year, 4);
}

/// A DOUBLE without a declared scale.
pub fn write_double(out: &mut Vec<u8>, x: f64) {
    // Whole numbers that need no exponent are common and cheap.
    if x.abs() < 1e15 && x as i64 as f64 == x && (x != 0.0 || x.is_sign_positive()) {
        return write_i64(out, x as i64);
    }
    // Ryu gives the shortest representation that round-trips, several times faster than Rust's `{:e}`.
    write_scientific(out, ryu::Buffer::new().format(x).as_bytes());
}

/// A FLOAT without a declared scale.
pub fn write_float(out: &mut Vec<u8>, x: f32) {
    let mut buf = Stack::new();
    let _ = write!(buf, "{:.*e}", FLOAT_DIGITS - 1, f64::from(x));
    write_scientific(out, buf.bytes());
}

/// A FLOAT(M,D) or DOUBLE(M,D): `decimals` digits after the point. As `my_fcvt` does, digits beyond
/// the shortest representation are zeros: 81173991612063488 with two decimals is `81173991612063490.00`.
pub fn write_fixed(out: &mut Vec<u8>, x: f64, decimals: u8) {
    let decimals = usize::from(decimals);
    let start = out.len();
    // Rust's `{}` is the shortest representation, written without an exponent.
    let _ = write!(out, "{x}");
    let have = out[start..].iter().position(|&b| b == b'.').map_or(0, |dot| out.len() - start - dot - 1);
    if have > decimals {
        out.truncate(start);
        let _ = write!(out, "{x:.decimals$}");
    } else if decimals > 0 {
        if have == 0 {
            out.push(b'.');
        }
        out.resize(out.len() + decimals - have, b'0');
    }
}

/// Rewrites `-ddd.ddd[e-x]` in the form that `my_gcvt` chooses.
fn write_scientific(out: &mut Vec<u8>, text: &[u8]) {
    let (mantissa, exponent) = match text.iter().position(|&b| b == b'e') {
        Some(e) => (&text[..e], &text[e + 1..]),
        None => (text, &b"0"[..]),
    };
    let mantissa = match mantissa.strip_prefix(b"-") {
        Some(rest) => {
            out.push(b'-');
            rest
        }
        None => mantissa,
    };
    let whole = mantissa.iter().position(|&b| b == b'.').unwrap_or(mantissa.len());
    let mut digits = [0u8; 24];
    let mut len = 0;
    let mut leading_zeros = 0;
    for &b in mantissa.iter().filter(|b| b.is_ascii_digit()) {
        if b == b'0' && len == 0 {
            leading_zeros += 1;
        } else if len < digits.len() {
            digits[len] = b;
            len += 1;
        }
    }
    if len == 0 {
        // Zero; NaN and infinities have no MySQL form, and no SQL value is one.
        return out.push(b'0');
    }
    while len > 1 && digits[len - 1] == b'0' {
        len -= 1;
    }
    let digits = &digits[..len];
    // The number is 0.DIGITS × 10^point.
    let exponent: i32 = std::str::from_utf8(exponent).ok().and_then(|t| t.parse().ok()).unwrap_or(0);
    let point = exponent + whole as i32 - leading_zeros;
    let exponent = point - 1;
    if !needs_exponent(point, digits.len()) {
        write_with_point(out, digits, point);
    } else {
        out.push(digits[0]);
        if digits.len() > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.push(b'e');
        write_i64(out, i64::from(exponent));
    }
}

/// Whether 0.DIGITS × 10^point is written with an exponent.
fn needs_exponent(point: i32, digits: usize) -> bool {
    !(1 - POINT_DIGITS_MAX..=POINT_DIGITS_MAX).contains(&point) && (point <= 0 || digits <= point as usize)
}

fn write_with_point(out: &mut Vec<u8>, digits: &[u8], point: i32) {
    if point <= 0 {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + point.unsigned_abs() as usize, b'0');
        out.extend_from_slice(digits);
        return;
    }
    let whole = point as usize;
    if digits.len() <= whole {
        out.extend_from_slice(digits);
        out.resize(out.len() + whole - digits.len(), b'0');
    } else {
        out.extend_from_slice(&digits[..whole]);
        out.push(b'.');
        out.extend_from_slice(&digits[whole..]);
    }
}

/// A `Write` into a small array: the longest `{:e}` of an f64 is `-1.7976931348623157e-308`, 24 bytes.
struct Stack {
    buf: [u8; 32],
    len: usize,
}

impl Stack {
    fn new() -> Stack {
        Stack { buf: [0; 32], len: 0 }
    }

    fn bytes(&self) -> &[u8] {
        &self.buf[..self.len]
    }
}

impl Write for Stack {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = bytes.len().min(self.buf.len() - self.len);
        self.buf[self.len..self.len + n].copy_from_slice(&bytes[..n]);
        self.len += n;
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    /// Recorded from MySQL 9.7: `SELECT CAST(… AS DOUBLE)`, `SELECT CAST(… AS FLOAT)`, a DOUBLE(60,3) column.
    #[test]
    fn recorded_from_mysql() {
        let golden = include_str!("format_golden.txt");
        for line in golden.lines().filter(|l| !l.starts_with('#')) {
            let [input, double, float, fixed] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("bad line {line}");
            };
            let x: f64 = input.parse().unwrap();
            assert_eq!(text(|o| write_double(o, x)), double, "double {input}");
            if float != "NULL" {
                assert_eq!(text(|o| write_float(o, x as f32)), float, "float {input}");
            }
            if fixed != "NULL" {
                // The column was rounded when it was stored, so its text is the stored value.
                let stored: f64 = fixed.parse().unwrap();
                assert_eq!(text(|o| write_fixed(o, stored, 3)), fixed, "fixed {input}");
            }
        }
    }

    #[test]
    fn zerofill_pads_and_never_cuts() {
        assert_eq!(text(|o| write_zerofill(o, 42, 5)), "00042");
        assert_eq!(text(|o| write_zerofill(o, 123456, 5)), "123456");
        assert_eq!(text(|o| write_year(o, 0)), "0000");
    }

    proptest! {
        #[test]
        fn integers_print_like_rust(signed: i64, unsigned: u64, small in 0u64..1000) {
            prop_assert_eq!(text(|o| write_i64(o, signed)), signed.to_string());
            prop_assert_eq!(text(|o| write_u64(o, unsigned)), unsigned.to_string());
            prop_assert_eq!(text(|o| write_u64(o, small)), small.to_string());
        }

        #[test]
        fn doubles_round_trip(bits: u64, whole in -1_000_000i64..1_000_000) {
            let x = f64::from_bits(bits);
            prop_assume!(x.is_finite());
            prop_assert_eq!(text(|o| write_double(o, x)).parse::<f64>().unwrap().to_bits(), bits);
            prop_assert_eq!(text(|o| write_double(o, whole as f64)), whole.to_string());
        }
    }
}
