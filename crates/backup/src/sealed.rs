//! A place whose contents are encrypted before they leave this machine: AES-256-GCM, with a key that only a file of the user's has.
//!
//! A content is cut into pieces of 64 KiB, each sealed by itself. Its nonce is the piece's number; the key of a content is derived from the user's
//! and from a random salt in its header, so that no two contents share nonces. The last piece is marked, so that an end that was cut off is
//! found; the name is sealed with each piece, so that contents cannot be exchanged.
//!
//! | bytes | what |
//! |---|---|
//! | 16 | `vaquita-sealed-1` |
//! | 32 | salt |
//! | 64 KiB + 16 each | pieces; the last one is shorter, and may be empty |
//!
//! Names and lengths can be seen.

use std::io::{Error, ErrorKind, Read, Write};
use std::path::Path;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};

use crate::Result;
use crate::place::{Object, Place, Upload, about};

const MAGIC: &[u8; 16] = b"vaquita-sealed-1";
const SALT_BYTES: usize = 32;
const PIECE_BYTES: usize = 64 << 10;
const TAG_BYTES: usize = 16;
const KEY_BYTES: usize = 32;
/// Tells whether the key is the place's before anything is read or written with it.
const KEY_CHECK: &str = "key-check";

/// 32 random bytes.
#[derive(Clone)]
pub struct Key([u8; KEY_BYTES]);

/// A file with 64 hexadecimal digits, as `openssl rand -hex 32` makes it.
pub fn read_key(path: &Path) -> Result<Key> {
    let text = std::fs::read_to_string(path).map_err(|error| about(path, &error))?;
    let digits: Option<Vec<u8>> = text.trim().chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
    let bytes = digits.map(|digits| digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect::<Vec<u8>>());
    let key = bytes.filter(|_| text.trim().len() == 2 * KEY_BYTES).and_then(|bytes| bytes.try_into().ok());
    key.map(Key).ok_or_else(|| {
        format!("{} is no key: it has 64 hexadecimal digits, as `openssl rand -hex 32` makes them", path.display()).into()
    })
}

/// A place that is encrypted needs its key.
pub fn refuse_without_key(place: &dyn Place) -> Result<()> {
    match place.list("check/")?.is_empty() {
        true => Ok(()),
        false => Err(format!("the backups in {} are encrypted: give their key with --key-file", place.shown()).into()),
    }
}

pub struct Sealed {
    inner: Box<dyn Place>,
    key: Key,
}

impl Sealed {
    /// A wrong key is an error, and so is a place that has contents without one.
    pub fn new(inner: Box<dyn Place>, key: Key) -> Result<Sealed> {
        let sealed = Sealed { inner, key };
        if sealed.inner.list("backups/")?.is_empty() && sealed.inner.list("check/")?.is_empty() {
            sealed.create(&format!("check/{KEY_CHECK}"))?.finish()?;
        }
        let mut nothing = Vec::new();
        let opened = sealed
            .open(&format!("check/{KEY_CHECK}"))
            .map_err(|_| format!("the backups in {} are not encrypted", sealed.shown()));
        opened?.read_to_end(&mut nothing).map_err(|_| format!("this is not the key of the backups in {}", sealed.shown()))?;
        Ok(sealed)
    }

    fn content_key(&self, salt: &[u8]) -> Result<LessSafeKey> {
        struct Length;
        impl KeyType for Length {
            fn len(&self) -> usize {
                KEY_BYTES
            }
        }
        let mut bytes = [0; KEY_BYTES];
        let derived =
            Salt::new(HKDF_SHA256, salt).extract(&self.key.0).expand(&[MAGIC], Length).and_then(|key| key.fill(&mut bytes));
        let key = derived.and_then(|()| UnboundKey::new(&AES_256_GCM, &bytes)).map_err(|_| "no key can be derived")?;
        Ok(LessSafeKey::new(key))
    }
}

fn nonce(piece: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&piece.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}

fn aad(name: &str, last: bool) -> Aad<Vec<u8>> {
    Aad::from([&[u8::from(last)], name.as_bytes()].concat())
}

impl Place for Sealed {
    fn create(&self, name: &str) -> Result<Box<dyn Upload>> {
        let salt: [u8; SALT_BYTES] = rand::random();
        let mut inner = self.inner.create(name)?;
        inner.write_all(MAGIC)?;
        inner.write_all(&salt)?;
        let key = self.content_key(&salt)?;
        Ok(Box::new(Sealing {
            inner,
            key,
            name: name.to_string(),
            piece: Vec::with_capacity(PIECE_BYTES + TAG_BYTES),
            number: 0,
        }))
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read>> {
        let mut inner = self.inner.open(name)?;
        let mut head = [0; MAGIC.len() + SALT_BYTES];
        let read = inner.read_exact(&mut head);
        if read.is_err() || !head.starts_with(MAGIC) {
            return Err(format!("{name} is damaged, or not encrypted").into());
        }
        let key = self.content_key(&head[MAGIC.len()..])?;
        Ok(Box::new(Opening {
            inner,
            key,
            name: name.to_string(),
            opened: Vec::new(),
            taken: 0,
            ahead: Vec::new(),
            number: 0,
            ended: false,
        }))
    }

    fn list(&self, prefix: &str) -> Result<Vec<Object>> {
        self.inner.list(prefix)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.inner.remove(name)
    }

    fn stored_bytes(&self, bytes: u64) -> u64 {
        let pieces = bytes / PIECE_BYTES as u64 + 1;
        (MAGIC.len() + SALT_BYTES) as u64 + bytes + pieces * TAG_BYTES as u64
    }

    fn lock(&self) -> Result<Box<dyn Send>> {
        self.inner.lock()
    }

    fn shown(&self) -> String {
        self.inner.shown()
    }
}

struct Sealing {
    inner: Box<dyn Upload>,
    key: LessSafeKey,
    name: String,
    piece: Vec<u8>,
    number: u64,
}

impl Sealing {
    fn seal(&mut self, last: bool) -> std::io::Result<()> {
        let sealed = self.key.seal_in_place_append_tag(nonce(self.number), aad(&self.name, last), &mut self.piece);
        sealed.map_err(|_| Error::other("cannot encrypt"))?;
        self.inner.write_all(&self.piece)?;
        self.piece.clear();
        self.number += 1;
        Ok(())
    }
}

impl Write for Sealing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let taken = bytes.len().min(PIECE_BYTES - self.piece.len());
        self.piece.extend_from_slice(&bytes[..taken]);
        if self.piece.len() == PIECE_BYTES {
            self.seal(false)?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Upload for Sealing {
    fn finish(mut self: Box<Self>) -> Result<()> {
        self.seal(true)?;
        self.inner.finish()
    }
}

struct Opening {
    inner: Box<dyn Read>,
    key: LessSafeKey,
    name: String,
    opened: Vec<u8>,
    taken: usize,
    /// Bytes behind the piece, which say that it is not the last.
    ahead: Vec<u8>,
    number: u64,
    ended: bool,
}

impl Opening {
    fn open_next(&mut self) -> std::io::Result<()> {
        let mut piece = std::mem::take(&mut self.ahead);
        let wanted = PIECE_BYTES + TAG_BYTES + 1 - piece.len();
        (&mut self.inner).take(wanted as u64).read_to_end(&mut piece)?;
        let last = piece.len() <= PIECE_BYTES + TAG_BYTES;
        if !last {
            self.ahead = piece.split_off(PIECE_BYTES + TAG_BYTES);
        }
        let opened = self.key.open_in_place(nonce(self.number), aad(&self.name, last), &mut piece);
        let len = opened.map(|plain| plain.len()).map_err(|_| {
            Error::new(ErrorKind::InvalidData, format!("{} is damaged, or encrypted with another key", self.name))
        })?;
        piece.truncate(len);
        self.opened = piece;
        self.taken = 0;
        self.number += 1;
        self.ended = last;
        Ok(())
    }
}

impl Read for Opening {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        while self.taken == self.opened.len() {
            if self.ended {
                return Ok(0);
            }
            self.open_next()?;
        }
        let len = into.len().min(self.opened.len() - self.taken);
        into[..len].copy_from_slice(&self.opened[self.taken..self.taken + len]);
        self.taken += len;
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::Directory;

    fn place(dir: &Path, key: u8) -> Result<Sealed> {
        Sealed::new(Box::new(Directory::open(dir, true).unwrap()), Key([key; KEY_BYTES]))
    }

    fn content(place: &Sealed, name: &str) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        place.open(name)?.read_to_end(&mut content)?;
        Ok(content)
    }

    #[test]
    fn what_was_sealed_is_opened_and_damage_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("b");
        let sealed = place(&root, 1).unwrap();
        for len in [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES] {
            let bytes: Vec<u8> = (0..len).map(|n| n as u8).collect();
            let name = format!("files/{len}");
            let mut upload = sealed.create(&name).unwrap();
            upload.write_all(&bytes).unwrap();
            upload.finish().unwrap();
            assert_eq!(content(&sealed, &name).unwrap(), bytes);
            let path = root.join(&name);
            let stored = std::fs::read(&path).unwrap();
            assert_eq!(stored.len() as u64, sealed.stored_bytes(len as u64));
            for damaged in [stored.len() - 1, MAGIC.len(), MAGIC.len() + SALT_BYTES] {
                let mut flipped = stored.clone();
                flipped[damaged] ^= 1;
                std::fs::write(&path, flipped).unwrap();
                assert!(content(&sealed, &name).is_err());
            }
            // Cut off behind a whole piece.
            if len >= PIECE_BYTES {
                std::fs::write(&path, &stored[..MAGIC.len() + SALT_BYTES + PIECE_BYTES + TAG_BYTES]).unwrap();
                assert!(content(&sealed, &name).is_err());
            }
        }
    }

    #[test]
    fn another_key_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        place(&dir.path().join("b"), 1).unwrap();
        assert!(place(&dir.path().join("b"), 2).is_err());
        place(&dir.path().join("b"), 1).unwrap();
    }

    #[test]
    fn contents_cannot_be_exchanged() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("b");
        let sealed = place(&root, 1).unwrap();
        sealed.create("files/a").unwrap().finish().unwrap();
        std::fs::copy(root.join("files/a"), root.join("files/b")).unwrap();
        assert!(content(&sealed, "files/b").is_err());
    }
}
