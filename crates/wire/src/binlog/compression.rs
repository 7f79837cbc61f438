//! Compressed events: MySQL's whole transactions, MariaDB's statements and rows.
//!
//! MySQL's TRANSACTION_PAYLOAD_EVENT is a list of fields (number, length and content, all length-encoded), ended by 0, and then the events of the
//! transaction, without checksums, as one zstd stream. They are unpacked a piece at a time, so that never more than the
//! longest event is held. MariaDB writes a byte (the highest bit, the algorithm in three, the count of the bytes of the length in three),
//! the length from its highest byte on, and a zlib stream.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use zstd_safe::{CCtx, DCtx, InBuffer, OutBuffer};

use super::error::{BinlogError, Result};
use super::header::EVENT_BYTES_MAX;
use crate::codec::{Bytes, lenenc_int_len, put_lenenc_int};

/// Fields in front of MySQL's payload.
const FIELDS_END: u64 = 0;
const FIELD_CONTENT: u64 = 1;
const FIELD_COMPRESSION: u64 = 2;
const FIELD_UNCOMPRESSED: u64 = 3;
/// A value of `FIELD_COMPRESSION`.
const ZSTD: u64 = 0;

const MALFORMED: BinlogError = BinlogError::Malformed("compressed event");
/// What is unpacked at a time.
const PIECE_BYTES: usize = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadCompression {
    Zstd,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionPayload<'a> {
    pub compression: PayloadCompression,
    pub uncompressed_bytes: u64,
    pub content: &'a [u8],
}

impl<'a> TransactionPayload<'a> {
    pub fn decode(data: &'a [u8]) -> Result<TransactionPayload<'a>> {
        let mut bytes = Bytes::new(data);
        let mut payload = TransactionPayload { compression: PayloadCompression::None, uncompressed_bytes: 0, content: &[] };
        let mut content_bytes = 0;
        loop {
            let field = bytes.lenenc_int()?;
            if field == FIELDS_END {
                break;
            }
            let number = Bytes::new(bytes.lenenc_bytes()?).lenenc_int();
            match field {
                FIELD_CONTENT => content_bytes = number?,
                FIELD_COMPRESSION => {
                    payload.compression = match number? {
                        ZSTD => PayloadCompression::Zstd,
                        255 => PayloadCompression::None,
                        _ => return Err(BinlogError::Unsupported("a transaction of an unknown compression")),
                    }
                }
                FIELD_UNCOMPRESSED => payload.uncompressed_bytes = number?,
                _ => {}
            }
        }
        payload.content = bytes.rest();
        if payload.content.len() as u64 != content_bytes {
            return Err(MALFORMED);
        }
        Ok(payload)
    }

    /// Appends the data of an event with these events, as MySQL writes it, if that is shorter; whether it is.
    pub fn compress(events: &[u8], level: i32, out: &mut Vec<u8>) -> bool {
        let mut content = vec![0; zstd_safe::compress_bound(events.len())];
        let Ok(len) = CCtx::create().compress(&mut content[..], events, level) else { return false };
        let start = out.len();
        for (field, number) in [(FIELD_COMPRESSION, ZSTD), (FIELD_UNCOMPRESSED, events.len() as u64), (FIELD_CONTENT, len as u64)]
        {
            put_lenenc_int(out, field);
            put_lenenc_int(out, lenenc_int_len(number) as u64);
            put_lenenc_int(out, number);
        }
        put_lenenc_int(out, FIELDS_END);
        out.extend_from_slice(&content[..len]);
        let shrunk = out.len() - start < events.len();
        if !shrunk {
            out.truncate(start);
        }
        shrunk
    }

    pub fn unpacker(&self) -> Unpacker<'a> {
        let zstd = (self.compression == PayloadCompression::Zstd).then(DCtx::create);
        Unpacker { zstd, input: self.content, piece: Vec::new(), left: self.uncompressed_bytes }
    }
}

/// Unpacks a payload a piece at a time.
pub struct Unpacker<'a> {
    zstd: Option<DCtx<'static>>,
    input: &'a [u8],
    piece: Vec<u8>,
    /// What is still to come, as the event said.
    left: u64,
}

impl Unpacker<'_> {
    /// The next piece; `None` at the end. More or less than the event said is an error.
    pub fn next_piece(&mut self) -> Result<Option<&[u8]>> {
        let len = match &mut self.zstd {
            None => {
                let (piece, rest) = self.input.split_at(self.input.len().min(PIECE_BYTES));
                self.piece.clear();
                self.piece.extend_from_slice(piece);
                self.input = rest;
                piece.len()
            }
            Some(zstd) => {
                self.piece.resize(PIECE_BYTES, 0);
                unpack_piece(zstd, &mut self.input, &mut self.piece)?
            }
        };
        self.left = self.left.checked_sub(len as u64).ok_or(MALFORMED)?;
        match len {
            0 if self.left > 0 => Err(MALFORMED),
            0 => Ok(None),
            _ => Ok(self.piece.get(..len)),
        }
    }
}

/// Fills `piece` from the front and says how far; with nothing only if there is nothing more.
fn unpack_piece(zstd: &mut DCtx<'_>, input: &mut &[u8], piece: &mut [u8]) -> Result<usize> {
    loop {
        let was_empty = input.is_empty();
        let mut from = InBuffer::around(input);
        let mut to = OutBuffer::around(piece);
        zstd.decompress_stream(&mut to, &mut from).map_err(|_| MALFORMED)?;
        let (taken, written) = (from.pos(), to.pos());
        if written > 0 || was_empty {
            *input = input.get(taken..).unwrap_or_default();
            return Ok(written);
        }
        if taken == 0 {
            return Err(MALFORMED);
        }
        *input = input.get(taken..).unwrap_or_default();
    }
}

/// What a compressed event or part of one of MariaDB's holds.
pub fn inflate_event(data: &[u8]) -> Result<Vec<u8>> {
    const COMPRESSED: u8 = 0x80;
    const ALGORITHM: u8 = 0x70;
    const LENGTH_BYTES: u8 = 0x07;
    let mut bytes = Bytes::new(data);
    let head = bytes.u8()?;
    if head & COMPRESSED == 0 || head & ALGORITHM != 0 {
        return Err(MALFORMED);
    }
    let len = big_endian(bytes.take(usize::from(head & LENGTH_BYTES))?)?;
    inflate(bytes.rest(), len, true)
}

/// Appends what `inflate_event` reads.
pub fn deflate_event(content: &[u8], out: &mut Vec<u8>) {
    const HEAD: u8 = 0x80 | 4;
    out.push(HEAD);
    out.extend_from_slice(&(content.len() as u32).to_be_bytes());
    let mut deflate = Compress::new(Compression::default(), true);
    let mut taken = 0;
    loop {
        out.reserve(PIECE_BYTES.min(content.len() / 2 + 64));
        let done = deflate.compress_vec(content.get(taken..).unwrap_or_default(), out, FlushCompress::Finish);
        taken = deflate.total_in() as usize;
        if !matches!(done, Ok(Status::Ok | Status::BufError)) {
            return;
        }
    }
}

/// What a value of a MariaDB column with the attribute COMPRESSED holds: a byte (the algorithm, a bit for no header, the count of
/// bytes of the length), the length, and the stream.
pub fn inflate_value(data: &[u8]) -> Result<Vec<u8>> {
    const ZLIB: u8 = 8 << 4;
    const WITHOUT_HEADER: u8 = 0x08;
    const LENGTH_BYTES: u8 = 0x07;
    let Some((head, rest)) = data.split_first() else { return Ok(Vec::new()) };
    if *head == 0 {
        return Ok(rest.to_vec());
    }
    if head & 0xf0 != ZLIB {
        return Err(BinlogError::Unsupported("a column of an unknown compression"));
    }
    let mut bytes = Bytes::new(rest);
    let len = big_endian(bytes.take(usize::from(head & LENGTH_BYTES))?)?;
    inflate(bytes.rest(), len, head & WITHOUT_HEADER == 0)
}

fn big_endian(bytes: &[u8]) -> Result<u64> {
    (1..=4).contains(&bytes.len()).then(|| bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b))).ok_or(MALFORMED)
}

/// Deflate cannot shrink anything further than this.
const DEFLATE_RATIO_MAX: u64 = 1032;

fn inflate(content: &[u8], len: u64, zlib_header: bool) -> Result<Vec<u8>> {
    if len > EVENT_BYTES_MAX || len > (content.len() as u64).saturating_mul(DEFLATE_RATIO_MAX) {
        return Err(MALFORMED);
    }
    let mut out = vec![0; len as usize];
    let mut inflate = Decompress::new(zlib_header);
    match inflate.decompress(content, &mut out, FlushDecompress::Finish) {
        Ok(Status::StreamEnd) if inflate.total_out() == len => Ok(out),
        _ => Err(MALFORMED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_come_back() {
        for content in [b"abc".repeat(10), b"abc".repeat(100_000), (0..200_000u32).map(|n| ((n * n) >> 7) as u8).collect()] {
            let mut out = Vec::new();
            assert!(TransactionPayload::compress(&content, 3, &mut out));
            let payload = TransactionPayload::decode(&out).unwrap();
            assert_eq!((payload.compression, payload.uncompressed_bytes), (PayloadCompression::Zstd, content.len() as u64));
            let (mut unpacker, mut back) = (payload.unpacker(), Vec::new());
            while let Some(piece) = unpacker.next_piece().unwrap() {
                back.extend_from_slice(piece);
            }
            assert_eq!(back, content);
        }
        let mut out = vec![7];
        assert!(!TransactionPayload::compress(b"short", 3, &mut out));
        assert_eq!(out, [7]);
    }

    #[test]
    fn events_come_back() {
        for content in
            [Vec::new(), b"x".to_vec(), b"abc".repeat(100_000), (0..200_000u32).map(|n| ((n * n) >> 7) as u8).collect()]
        {
            let mut out = vec![7];
            deflate_event(&content, &mut out);
            assert_eq!(inflate_event(&out[1..]).unwrap(), content);
        }
    }
}
