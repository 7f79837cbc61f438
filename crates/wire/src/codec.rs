//! Primitive encodings: fixed and length-encoded integers, NUL-terminated and length-encoded
//! strings ("Protocol Basics → Protocol Data Types").
//!
//! `Bytes` reads them from a payload with every access checked: what does not fit gives
//! `MalformedPacket`, and nothing is allocated on the word of a length. The `put_*` functions append to a `Vec<u8>`.
//! Example: 251 as a length-encoded integer is `fc fb 00`, and `fb` alone is NULL in a text row.

use crate::error::ProtocolError;

/// A length-encoded string never needs more than this in front of it.
pub const LENENC_INT_BYTES_MAX: usize = 9;

/// The byte that stands for NULL in a text row, where a length would stand.
pub const NULL_BYTE: u8 = 0xfb;

pub type Decoded<T> = Result<T, ProtocolError>;

/// A checked reader over one payload.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    pub fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub fn len(&self) -> usize {
        self.rest.len()
    }

    /// Everything not yet read.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn take(&mut self, len: usize) -> Decoded<&'a [u8]> {
        let (head, tail) = self.rest.split_at_checked(len).ok_or(ProtocolError::MalformedPacket)?;
        self.rest = tail;
        Ok(head)
    }

    pub fn skip(&mut self, len: usize) -> Decoded<()> {
        self.take(len).map(|_| ())
    }

    pub fn array<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(ProtocolError::MalformedPacket)?;
        self.rest = tail;
        Ok(*head)
    }

    pub fn u8(&mut self) -> Decoded<u8> {
        self.array::<1>().map(|[b]| b)
    }

    pub fn u16(&mut self) -> Decoded<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u24(&mut self) -> Decoded<u32> {
        self.array::<3>().map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]))
    }

    pub fn u32(&mut self) -> Decoded<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Decoded<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length-encoded integer. NULL (`fb`) and the error mark (`ff`) are not integers.
    pub fn lenenc_int(&mut self) -> Decoded<u64> {
        match self.u8()? {
            short @ 0..=0xfa => Ok(u64::from(short)),
            0xfc => self.u16().map(u64::from),
            0xfd => self.u24().map(u64::from),
            0xfe => self.u64(),
            _ => Err(ProtocolError::MalformedPacket),
        }
    }

    pub fn lenenc_bytes(&mut self) -> Decoded<&'a [u8]> {
        let len = self.lenenc_int()?;
        let len = usize::try_from(len).map_err(|_| ProtocolError::MalformedPacket)?;
        self.take(len)
    }

    /// A string that ends with NUL, without the NUL.
    pub fn nul_bytes(&mut self) -> Decoded<&'a [u8]> {
        let len = self.rest.iter().position(|&b| b == 0).ok_or(ProtocolError::MalformedPacket)?;
        let text = self.take(len)?;
        self.skip(1)?;
        Ok(text)
    }

    /// A string that ends with NUL or with the payload: some clients leave out the last NUL.
    pub fn nul_bytes_or_rest(&mut self) -> &'a [u8] {
        self.nul_bytes().unwrap_or_else(|_| {
            let text = self.rest;
            self.rest = &[];
            text
        })
    }
}

#[inline]
pub fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

#[inline]
pub fn put_u24(out: &mut Vec<u8>, value: u32) {
    let [a, b, c, _] = value.to_le_bytes();
    out.extend_from_slice(&[a, b, c]);
}

#[inline]
pub fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

#[inline]
pub fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

#[inline]
pub fn put_lenenc_int(out: &mut Vec<u8>, value: u64) {
    if value < 251 {
        out.push(value as u8);
    } else {
        put_long_lenenc_int(out, value);
    }
}

#[cold]
fn put_long_lenenc_int(out: &mut Vec<u8>, value: u64) {
    if value < 1 << 16 {
        out.push(0xfc);
        put_u16(out, value as u16);
    } else if value < 1 << 24 {
        out.push(0xfd);
        put_u24(out, value as u32);
    } else {
        out.push(0xfe);
        put_u64(out, value);
    }
}

#[inline]
pub fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc_int(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

pub fn put_nul_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    out.push(0);
}

/// Bytes that `put_lenenc_int` writes for `value`.
pub fn lenenc_int_len(value: u64) -> usize {
    match value {
        0..=250 => 1,
        251..=0xffff => 3,
        0x1_0000..=0xff_ffff => 4,
        _ => 9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The examples and borders of "Protocol Data Types → Length-Encoded Integer Type".
    #[test]
    fn lenenc_borders() {
        for (value, bytes) in [
            (0u64, &[0u8][..]),
            (250, &[0xfa]),
            (251, &[0xfc, 0xfb, 0]),
            (0xffff, &[0xfc, 0xff, 0xff]),
            (0x1_0000, &[0xfd, 0, 0, 1]),
            (0xff_ffff, &[0xfd, 0xff, 0xff, 0xff]),
            (0x100_0000, &[0xfe, 0, 0, 0, 1, 0, 0, 0, 0]),
        ] {
            let mut out = Vec::new();
            put_lenenc_int(&mut out, value);
            assert_eq!(out, bytes);
            assert_eq!(lenenc_int_len(value), bytes.len());
            assert_eq!(Bytes::new(bytes).lenenc_int(), Ok(value));
        }
    }

    #[test]
    fn lengths_beyond_the_payload_are_malformed() {
        for bytes in [&[5u8, 1][..], &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], &[0xfb], &[0xff], &[]] {
            assert_eq!(Bytes::new(bytes).lenenc_bytes(), Err(ProtocolError::MalformedPacket));
        }
    }

    proptest! {
        #[test]
        fn lenenc_round_trip(value: u64, text: Vec<u8>) {
            let mut out = Vec::new();
            put_lenenc_int(&mut out, value);
            put_lenenc_bytes(&mut out, &text);
            let mut bytes = Bytes::new(&out);
            prop_assert_eq!(bytes.lenenc_int(), Ok(value));
            prop_assert_eq!(bytes.lenenc_bytes(), Ok(&text[..]));
            prop_assert!(bytes.is_empty());
        }
    }
}
