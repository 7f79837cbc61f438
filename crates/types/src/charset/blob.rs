//! Reads the recorded tables in `data/`: raw deflate streams of numbers.
//!
//! | element  | form                                                            |
//! |----------|-----------------------------------------------------------------|
//! | `varint` | 7 bits a byte, low first, high bit set on all but the last      |
//! | `signed` | a `varint`: 2n for n ≥ 0, -2n-1 for n < 0                       |
//! | `text`   | a `varint` of bytes, then ASCII                                 |
//! | section  | a `varint` of bytes, then that many                             |
//!
//! The tables are part of the program, so a fault in them is ours: reading past
//! the end gives zeros, and the golden tests notice.

pub(super) struct Blob {
    bytes: Vec<u8>,
}

impl Blob {
    pub(super) fn inflate(packed: &[u8]) -> Blob {
        Blob { bytes: miniz_oxide::inflate::decompress_to_vec(packed).unwrap_or_default() }
    }

    pub(super) fn reader(&self) -> Reader<'_> {
        Reader::new(&self.bytes)
    }
}

pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    pub(super) fn u8(&mut self) -> u8 {
        match self.rest.split_first() {
            Some((first, rest)) => {
                self.rest = rest;
                *first
            }
            None => 0,
        }
    }

    pub(super) fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.u8(), self.u8()])
    }

    pub(super) fn varint(&mut self) -> u32 {
        let (mut n, mut shift) = (0u32, 0);
        loop {
            let byte = self.u8();
            n |= u32::from(byte & 0x7F).wrapping_shl(shift);
            shift += 7;
            if byte < 0x80 || shift > 28 {
                return n;
            }
        }
    }

    pub(super) fn signed(&mut self) -> i32 {
        let n = self.varint();
        ((n >> 1) as i32) ^ -((n & 1) as i32)
    }

    pub(super) fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    pub(super) fn section(&mut self) -> Reader<'a> {
        let count = self.varint() as usize;
        Reader { rest: self.bytes(count) }
    }

    pub(super) fn text(&mut self) -> &'a str {
        let count = self.varint() as usize;
        std::str::from_utf8(self.bytes(count)).unwrap_or("")
    }
}
