//! Cuts bytes into events: those of a file, and those inside a compressed transaction.
//!
//! A file begins with `fe 62 69 6e`; its first event is the format description, which says whether the events have checksums. These are verified here. An
//! encrypted file of MySQL begins with `fd` instead, and is refused. The bytes come in pieces of any size, and only an event that is
//! not yet whole is kept.

use super::control::{ChecksumAlgorithm, FormatDescription};
use super::error::{BinlogError, Result};
use super::header::{self, CHECKSUM_BYTES, HEADER_BYTES, Header, event_type, flags};
use crate::codec::Bytes;

pub const MAGIC: [u8; 4] = *b"\xfebin";
const ENCRYPTED_MAGIC: [u8; 4] = *b"\xfdbin";

/// An event as it stands in the log.
#[derive(Clone, Copy, Debug)]
pub struct RawEvent<'a> {
    /// Of its first byte, in the file or in what is unpacked.
    pub position: u64,
    pub header: Header,
    /// With the header, and the checksum if there is one.
    pub bytes: &'a [u8],
    has_checksum: bool,
}

impl<'a> RawEvent<'a> {
    /// An event of a packet, which is whole; its checksum is verified if it has one.
    pub fn of_packet(bytes: &'a [u8], has_checksum: bool) -> Result<RawEvent<'a>> {
        let header = Header::decode(&mut Bytes::new(bytes))?;
        if header.length as usize != bytes.len() {
            return Err(BinlogError::Malformed("event"));
        }
        let event = RawEvent { position: 0, header, bytes, has_checksum };
        event.verify()?;
        Ok(event)
    }

    pub fn has_checksum(&self) -> bool {
        self.has_checksum
    }

    /// What is behind the header.
    pub fn data(&self) -> &'a [u8] {
        let end = self.bytes.len() - if self.has_checksum { CHECKSUM_BYTES } else { 0 };
        self.bytes.get(HEADER_BYTES..end).unwrap_or_default()
    }

    pub fn data_with_checksum(&self) -> &'a [u8] {
        self.bytes.get(HEADER_BYTES..).unwrap_or_default()
    }

    pub fn end_position(&self) -> u64 {
        self.position + self.bytes.len() as u64
    }

    fn verify(&self) -> Result<()> {
        if self.has_checksum {
            if self.bytes.len() < HEADER_BYTES + CHECKSUM_BYTES {
                return Err(BinlogError::Malformed("event"));
            }
            header::verify(self.bytes)?;
        }
        Ok(())
    }
}

#[derive(Debug)]
pub struct EventReader {
    buffer: Vec<u8>,
    /// Bytes in front of the buffer that have been given away.
    taken: usize,
    position: u64,
    is_file: bool,
    has_checksums: bool,
    in_use: bool,
}

impl EventReader {
    pub fn of_file() -> EventReader {
        EventReader { buffer: Vec::new(), taken: 0, position: 0, is_file: true, has_checksums: false, in_use: false }
    }

    /// Of what a compressed transaction unpacks to.
    pub fn of_payload() -> EventReader {
        EventReader { is_file: false, ..EventReader::of_file() }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Where the next event begins.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The log was not closed: a server still writes it, or ended without doing so.
    pub fn is_in_use(&self) -> bool {
        self.in_use
    }

    /// The next event, or nothing if more bytes are needed.
    pub fn next_event(&mut self) -> Result<Option<RawEvent<'_>>> {
        if self.is_file && self.position == 0 && !self.begins()? {
            return Ok(None);
        }
        let waiting = self.buffer.get(self.taken..).unwrap_or_default();
        if waiting.len() < HEADER_BYTES {
            return Ok(None);
        }
        let header = Header::decode(&mut Bytes::new(waiting))?;
        let Some(bytes) = waiting.get(..header.length as usize) else { return Ok(None) };
        let has_checksum = match header.event_type {
            event_type::FORMAT_DESCRIPTION => {
                let format = FormatDescription::decode(bytes.get(HEADER_BYTES..).unwrap_or_default())?;
                self.has_checksums = self.is_file && format.checksum == Some(ChecksumAlgorithm::Crc32);
                self.in_use = header.flags & flags::IN_USE != 0;
                self.has_checksums
            }
            _ => self.has_checksums,
        };
        let event = RawEvent { position: self.position, header, bytes, has_checksum };
        event.verify()?;
        self.taken += bytes.len();
        self.position += bytes.len() as u64;
        Ok(Some(event))
    }

    /// To be called at the end of the bytes: an event must not be cut.
    pub fn end(&self) -> Result<()> {
        match self.buffer.len() == self.taken {
            true if self.is_file && self.position == 0 => Err(BinlogError::NoBinaryLog),
            true => Ok(()),
            false => Err(BinlogError::Truncated),
        }
    }

    fn begins(&mut self) -> Result<bool> {
        match self.buffer.first_chunk() {
            Some(&MAGIC) => {
                self.taken = MAGIC.len();
                self.position = MAGIC.len() as u64;
                Ok(true)
            }
            Some(&ENCRYPTED_MAGIC) => Err(BinlogError::Unsupported("an encrypted binary log")),
            Some(_) => Err(BinlogError::NoBinaryLog),
            None => Ok(false),
        }
    }
}
