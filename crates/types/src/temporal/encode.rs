//! The stored forms of temporal values: big-endian, ordered by `memcmp`.
//!
//! | type          | bytes | content                                                   |
//! |---------------|-------|-----------------------------------------------------------|
//! | DATE          | 3     | the packed integer of `Date`                              |
//! | DATETIME(n)   | 5 + f | year … second of the packed integer, then the fraction    |
//! | TIMESTAMP(n)  | 4 + f | seconds since 1970 UTC (0 is '0000-00-00'), the fraction  |
//! | TIME(n)       | 3 + f | seconds + 2^23, rounded down, then the fraction           |
//!
//! The fraction takes f = (n + 1) / 2 bytes: hundredths, ten-thousandths or
//! millionths of a second. Sizes are MySQL's (manual, "Data Type Storage Requirements").
//! Decoding refuses bytes that no value encodes to.

use super::{Date, DateTime, MICROS_PER_SECOND, TIME_MICROS_MAX, Time};

const TIME_BIAS: i64 = 1 << 23;

/// Bytes of a fraction with `fsp` digits.
pub const fn fraction_len(fsp: u8) -> usize {
    (fsp as usize).div_ceil(2)
}

fn put_fraction(micros: u32, fsp: u8, out: &mut Vec<u8>) {
    let len = fraction_len(fsp.min(6));
    let scaled = micros / 100u32.pow(3 - len as u32);
    out.extend_from_slice(&scaled.to_be_bytes()[4 - len..]);
}

fn get_fraction(bytes: &[u8], fsp: u8) -> Option<u32> {
    let len = fraction_len(fsp.min(6));
    let scaled = bytes.get(..len)?.iter().fold(0u32, |n, b| n << 8 | *b as u32);
    scaled.checked_mul(100u32.pow(3 - len as u32)).filter(|us| *us < 1_000_000)
}

fn big_endian(bytes: &[u8], len: usize) -> Option<u64> {
    Some(bytes.get(..len)?.iter().fold(0u64, |n, b| n << 8 | *b as u64))
}

impl Date {
    pub const STORED_LEN: usize = 3;

    /// The packed integer; `from_packed` reads it back.
    pub fn packed(self) -> u32 {
        self.0
    }

    pub fn from_packed(n: u32) -> Option<Date> {
        let d = Date(n);
        Date::new(d.year(), d.month(), d.day())
    }

    pub fn encode(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0.to_be_bytes()[1..]);
    }

    pub fn decode(bytes: &[u8]) -> Option<Date> {
        Date::from_packed(big_endian(bytes, 3)? as u32)
    }
}

impl DateTime {
    /// The packed integer; `from_packed` reads it back.
    pub fn packed(self) -> u64 {
        self.0
    }

    pub fn from_packed(n: u64) -> Option<DateTime> {
        let dt = DateTime(n);
        let date = Date::from_packed(u32::try_from(n >> 37).ok()?)?;
        DateTime::new(date, dt.hour(), dt.minute(), dt.second(), dt.micros())
    }

    pub const fn stored_len(fsp: u8) -> usize {
        5 + fraction_len(fsp)
    }

    pub fn encode(self, fsp: u8, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.0 >> 20).to_be_bytes()[3..]);
        put_fraction(self.micros(), fsp, out);
    }

    pub fn decode(bytes: &[u8], fsp: u8) -> Option<DateTime> {
        let micros = get_fraction(bytes.get(5..)?, fsp)?;
        DateTime::from_packed(big_endian(bytes, 5)? << 20 | micros as u64)
    }

    pub const fn timestamp_stored_len(fsp: u8) -> usize {
        4 + fraction_len(fsp)
    }

    /// The stored form of a TIMESTAMP; `self` is UTC. `None` outside its range.
    pub fn encode_timestamp(self, fsp: u8, out: &mut Vec<u8>) -> Option<()> {
        let us = if self.is_zero() { 0 } else { self.unix_micros() };
        let seconds = u32::try_from(us.div_euclid(MICROS_PER_SECOND)).ok()?;
        out.extend_from_slice(&seconds.to_be_bytes());
        put_fraction(self.micros(), fsp, out);
        Some(())
    }

    /// The UTC value of a stored TIMESTAMP.
    pub fn decode_timestamp(bytes: &[u8], fsp: u8) -> Option<DateTime> {
        let seconds = big_endian(bytes, 4)? as i64;
        let micros = get_fraction(bytes.get(4..)?, fsp)? as i64;
        if seconds == 0 && micros == 0 {
            return Some(DateTime::ZERO);
        }
        DateTime::from_unix_micros(seconds * MICROS_PER_SECOND + micros)
    }
}

impl Time {
    pub const fn stored_len(fsp: u8) -> usize {
        3 + fraction_len(fsp)
    }

    pub fn encode(self, fsp: u8, out: &mut Vec<u8>) {
        // A negative value is cut towards zero to its precision first, so that it reads back.
        let unit = 10i64.pow(6 - fsp.min(6) as u32);
        let us = self.0 / unit * unit;
        let seconds = us.div_euclid(MICROS_PER_SECOND) + TIME_BIAS;
        out.extend_from_slice(&(seconds as u32).to_be_bytes()[1..]);
        put_fraction(us.rem_euclid(MICROS_PER_SECOND) as u32, fsp, out);
    }

    pub fn decode(bytes: &[u8], fsp: u8) -> Option<Time> {
        let seconds = big_endian(bytes, 3)? as i64 - TIME_BIAS;
        let us = seconds * MICROS_PER_SECOND + get_fraction(bytes.get(3..)?, fsp)? as i64;
        (us.abs() < TIME_MICROS_MAX + MICROS_PER_SECOND).then_some(Time(us))
    }
}
