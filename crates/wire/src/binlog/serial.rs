//! MySQL's serialization library, in which GTID_TAGGED_LOG_EVENT is written ("MySQL Serialization Library").
//!
//! A message is a version (1), the bytes of the whole message, the number of the last field that who does not know it must not ignore
//! (plus one; 0 if all may be ignored), then each field behind its number, in growing order.
//! Every number has 1 to 9 bytes: the ones at the low end of the first byte say how many bytes follow it, a zero ends them, and the bits above are
//! the low bits of the number. 65535 is `fb ff 07`. A signed number has its sign in the lowest bit: -1 is 1, 1 is 2.

use super::error::{BinlogError, Result};
use crate::codec::Bytes;

const VERSION: u64 = 1;
const MALFORMED: BinlogError = BinlogError::Malformed("GTID with a tag");

pub struct Reader<'a> {
    bytes: Bytes<'a>,
    fields_known: u64,
}

fn unsigned(bytes: &mut Bytes<'_>) -> Result<u64> {
    let first = bytes.u8()?;
    let more = first.trailing_ones() as usize;
    let mut number = [0; 8];
    number[..more].copy_from_slice(bytes.take(more)?);
    let high = u64::from_le_bytes(number);
    // Eight bytes behind the first hold all bits, seven or fewer those above the bits of the first.
    let low_bits = 7usize.saturating_sub(more) as u32;
    let low = u64::from(first) >> (more + 1).min(8);
    Ok(if more == 8 { high } else { high << low_bits | low })
}

impl<'a> Reader<'a> {
    /// A message whose fields from `fields_known` on are ignored if they may be.
    pub fn new(message: &'a [u8], fields_known: u64) -> Result<Reader<'a>> {
        let mut bytes = Bytes::new(message);
        if unsigned(&mut bytes)? != VERSION || unsigned(&mut bytes)? != message.len() as u64 {
            return Err(MALFORMED);
        }
        if unsigned(&mut bytes)? > fields_known {
            return Err(BinlogError::Unsupported("an event of a newer server"));
        }
        Ok(Reader { bytes, fields_known })
    }

    /// The number of the next field; what is not known may only be followed by what is not known.
    pub fn field(&mut self) -> Result<Option<u64>> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let field = unsigned(&mut self.bytes)?;
        Ok((field < self.fields_known).then_some(field))
    }

    pub fn unsigned(&mut self) -> Result<u64> {
        unsigned(&mut self.bytes)
    }

    pub fn signed(&mut self) -> Result<i64> {
        let n = unsigned(&mut self.bytes)?;
        Ok((n >> 1) as i64 ^ -((n & 1) as i64))
    }

    pub fn string(&mut self) -> Result<&'a [u8]> {
        let len = usize::try_from(self.unsigned()?).map_err(|_| MALFORMED)?;
        Ok(self.bytes.take(len)?)
    }
}

#[derive(Default)]
pub struct Writer {
    fields: Vec<u8>,
}

fn put_unsigned(out: &mut Vec<u8>, n: u64) {
    let bits = 64 - n.leading_zeros().min(63) as usize;
    let more = if bits > 56 { 8 } else { (bits - 1) / 7 };
    if more == 8 {
        out.push(0xff);
        out.extend_from_slice(&n.to_le_bytes());
        return;
    }
    let ones = (1u64 << more) - 1;
    let bytes = (n << (more + 1) | ones).to_le_bytes();
    out.extend_from_slice(&bytes[..more + 1]);
}

impl Writer {
    pub fn field(&mut self, number: u64) -> &mut Writer {
        put_unsigned(&mut self.fields, number);
        self
    }

    pub fn unsigned(&mut self, n: u64) {
        put_unsigned(&mut self.fields, n);
    }

    pub fn signed(&mut self, n: i64) {
        put_unsigned(&mut self.fields, (n << 1 ^ n >> 63) as u64);
    }

    pub fn string(&mut self, text: &[u8]) {
        self.unsigned(text.len() as u64);
        self.fields.extend_from_slice(text);
    }

    pub fn finish(self, out: &mut Vec<u8>) {
        put_unsigned(out, VERSION);
        // The length counts its own bytes, too.
        let len = |own: usize| (self.fields.len() + 2 + own) as u64;
        let length_of = |n: u64| {
            let mut bytes = Vec::new();
            put_unsigned(&mut bytes, n);
            bytes.len()
        };
        let own = (1..=9).find(|own| length_of(len(*own)) == *own).unwrap_or(9);
        put_unsigned(out, len(own));
        put_unsigned(out, 0);
        out.extend_from_slice(&self.fields);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The examples of the library's page.
    #[test]
    fn numbers_of_the_manual() {
        let mut out = Vec::new();
        put_unsigned(&mut out, 65535);
        assert_eq!(out, [0b1111_1011, 0xff, 0b111]);
        for (n, bytes) in [(65535, [0xf3, 0xff, 0x0f]), (-65535, [0xeb, 0xff, 0x0f]), (-65536, [0xfb, 0xff, 0x0f])] {
            let mut writer = Writer::default();
            writer.signed(n);
            assert_eq!(writer.fields, bytes, "{n}");
        }
    }

    proptest! {
        #[test]
        fn numbers_read_back(n: u64, shift in 0u32..64) {
            let mut writer = Writer::default();
            writer.field(3).unsigned(n >> shift);
            writer.field(4).signed(n as i64 >> shift);
            writer.field(5).string(&n.to_le_bytes());
            let mut message = Vec::new();
            writer.finish(&mut message);
            let mut reader = Reader::new(&message, 6).unwrap();
            prop_assert_eq!(reader.field(), Ok(Some(3)));
            prop_assert_eq!(reader.unsigned(), Ok(n >> shift));
            prop_assert_eq!(reader.field(), Ok(Some(4)));
            prop_assert_eq!(reader.signed(), Ok(n as i64 >> shift));
            prop_assert_eq!(reader.field(), Ok(Some(5)));
            prop_assert_eq!(reader.string(), Ok(&n.to_le_bytes()[..]));
            prop_assert_eq!(reader.field(), Ok(None));
        }
    }
}
