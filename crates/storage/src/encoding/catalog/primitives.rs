//! The primitives of catalog records: integers, strings, lists, options.
//!
//! | what         | bytes                                                            |
//! |--------------|------------------------------------------------------------------|
//! | integer      | LEB128: seven bits per byte, low first, high bit on all but the last |
//! | signed       | zigzag (0, −1, 1, −2 … are 0, 1, 2, 3 …), then as an integer      |
//! | string       | length, then the bytes                                           |
//! | list         | count, then the elements                                         |
//! | option       | 0, or 1 and the thing                                            |
//!
//! Reading gives `None` for anything that does not fit; nothing is allocated by a count that the
//! remaining bytes cannot hold.

#[derive(Default)]
pub(crate) struct Writer {
    pub bytes: Vec<u8>,
}

impl Writer {
    pub fn byte(&mut self, b: u8) {
        self.bytes.push(b);
    }

    pub fn flag(&mut self, b: bool) {
        self.byte(b as u8);
    }

    pub fn int(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.byte(n as u8 | 0x80);
            n >>= 7;
        }
        self.byte(n as u8);
    }

    pub fn signed(&mut self, n: i64) {
        self.int((n << 1 ^ n >> 63) as u64);
    }

    pub fn string(&mut self, s: impl AsRef<[u8]>) {
        self.int(s.as_ref().len() as u64);
        self.bytes.extend_from_slice(s.as_ref());
    }

    pub fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Writer, &T)) {
        self.int(items.len() as u64);
        for item in items {
            write(self, item);
        }
    }

    pub fn option<T>(&mut self, item: Option<T>, write: impl FnOnce(&mut Writer, T)) {
        self.flag(item.is_some());
        if let Some(item) = item {
            write(self, item);
        }
    }
}

pub(crate) struct Reader<'a> {
    pub rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    pub fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    pub fn int(&mut self) -> Option<u64> {
        let mut n = 0;
        for shift in (0..64).step_by(7) {
            let b = self.byte()?;
            n |= ((b & 0x7F) as u64) << shift;
            if b & 0x80 == 0 {
                return Some(n);
            }
        }
        None
    }

    /// An integer of a narrower type.
    pub fn narrow<T: TryFrom<u64>>(&mut self) -> Option<T> {
        T::try_from(self.int()?).ok()
    }

    pub fn signed(&mut self) -> Option<i64> {
        let n = self.int()?;
        Some((n >> 1) as i64 ^ -((n & 1) as i64))
    }

    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.narrow::<usize>()?;
        let (bytes, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(bytes)
    }

    pub fn string(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*bytes)
    }

    pub fn list<T>(&mut self, mut read: impl FnMut(&mut Reader<'a>) -> Option<T>) -> Option<Vec<T>> {
        let count = self.narrow::<usize>()?;
        // Every element takes a byte or more.
        if count > self.rest.len() {
            return None;
        }
        (0..count).map(|_| read(self)).collect()
    }

    pub fn option<T>(&mut self, read: impl FnOnce(&mut Reader<'a>) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? { read(self).map(Some) } else { Some(None) }
    }
}
