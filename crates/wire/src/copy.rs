//! COM_CLONE as Vaquita answers it: a connection takes a copy of the data of one commit, file by file.
//!
//! MySQL's clone plugin uses the same command for its own protocol, of pages and redo log. Its first request has another version and is refused.
//!
//! Requests, each a command of its own:
//!
//! | request | payload behind the command byte | answer |
//! |---|---|---|
//! | begin | 1, version | `About`, then a `CopiedFile` for each file, then the end |
//! | read | 2, offset u64, name | pieces of the file from there on, then the end |
//!
//! A packet of an answer begins with a byte that says what it is; an ERR packet ends an answer, too. The server keeps the copy until the connection ends.

use crate::caps::command;
use crate::codec::{Bytes, Decoded, put_lenenc_bytes, put_u64};
use crate::error::ProtocolError;

pub const VERSION: u8 = 1;
/// Bytes of a file in one packet.
pub const PIECE_BYTES: usize = 1 << 20;

const BEGIN: u8 = 1;
const READ: u8 = 2;

const ABOUT: u8 = 1;
const FILE: u8 = 2;
const PIECE: u8 = 3;
const END: u8 = 4;

#[derive(Debug, PartialEq, Eq)]
pub enum CopyRequest<'a> {
    Begin,
    Read { name: &'a [u8], offset: u64 },
}

/// The server, and where its binary log stood when the copy was begun. What was committed while it was made is in it, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    pub server_uuid: String,
    pub version: String,
    /// Microseconds since 1970, by the server's clock, when the copy was complete: nothing that was committed later is in it.
    pub taken_us: u64,
    /// Empty without a log.
    pub log_file: String,
    pub log_pos: u64,
    pub gtids: String,
}

/// A file of the copy. A file that was copied before, with the same name, length and mark, from the same server, has the same content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopiedFile {
    pub name: String,
    pub bytes: u64,
    /// A checksum of its end; empty for a file that may change.
    pub mark: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum CopyAnswer<'a> {
    About(About),
    File(CopiedFile),
    Piece(&'a [u8]),
    End,
}

impl<'a> CopyRequest<'a> {
    /// The payload of the command, its byte included.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![command::CLONE];
        match self {
            CopyRequest::Begin => out.extend_from_slice(&[BEGIN, VERSION]),
            CopyRequest::Read { name, offset } => {
                out.push(READ);
                put_u64(&mut out, *offset);
                out.extend_from_slice(name);
            }
        }
        out
    }

    /// What stands behind the command byte.
    pub fn decode(body: &'a [u8]) -> Decoded<CopyRequest<'a>> {
        let mut bytes = Bytes::new(body);
        match (bytes.u8()?, bytes.rest()) {
            (BEGIN, [VERSION]) => Ok(CopyRequest::Begin),
            (READ, rest) => {
                let mut bytes = Bytes::new(rest);
                Ok(CopyRequest::Read { offset: bytes.u64()?, name: bytes.rest() })
            }
            _ => Err(ProtocolError::UnknownCommand),
        }
    }
}

impl<'a> CopyAnswer<'a> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            CopyAnswer::About(about) => {
                out.push(ABOUT);
                put_lenenc_bytes(out, about.server_uuid.as_bytes());
                put_lenenc_bytes(out, about.version.as_bytes());
                put_u64(out, about.taken_us);
                put_lenenc_bytes(out, about.log_file.as_bytes());
                put_u64(out, about.log_pos);
                put_lenenc_bytes(out, about.gtids.as_bytes());
            }
            CopyAnswer::File(file) => {
                out.push(FILE);
                put_u64(out, file.bytes);
                put_lenenc_bytes(out, &file.mark);
                put_lenenc_bytes(out, file.name.as_bytes());
            }
            CopyAnswer::Piece(piece) => {
                out.push(PIECE);
                out.extend_from_slice(piece);
            }
            CopyAnswer::End => out.push(END),
        }
    }

    pub fn decode(packet: &'a [u8]) -> Decoded<CopyAnswer<'a>> {
        let mut bytes = Bytes::new(packet);
        let kind = bytes.u8()?;
        Ok(match kind {
            ABOUT => CopyAnswer::About(About {
                server_uuid: text(&mut bytes)?,
                version: text(&mut bytes)?,
                taken_us: bytes.u64()?,
                log_file: text(&mut bytes)?,
                log_pos: bytes.u64()?,
                gtids: text(&mut bytes)?,
            }),
            FILE => {
                let (length, mark) = (bytes.u64()?, bytes.lenenc_bytes()?.to_vec());
                CopyAnswer::File(CopiedFile { name: text(&mut bytes)?, bytes: length, mark })
            }
            PIECE => CopyAnswer::Piece(bytes.rest()),
            END => CopyAnswer::End,
            _ => return Err(ProtocolError::MalformedPacket),
        })
    }
}

fn text(bytes: &mut Bytes<'_>) -> Decoded<String> {
    let text = std::str::from_utf8(bytes.lenenc_bytes()?);
    text.map(String::from).map_err(|_| ProtocolError::MalformedPacket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_answers_come_back() {
        for request in [CopyRequest::Begin, CopyRequest::Read { name: b"000012.sst", offset: 1 << 40 }] {
            let payload = request.encode();
            assert_eq!(payload[0], command::CLONE);
            assert_eq!(CopyRequest::decode(&payload[1..]), Ok(request));
        }
        let about = About {
            server_uuid: "u".into(),
            version: "8.4".into(),
            taken_us: 7,
            log_file: "binlog.000001".into(),
            log_pos: 4,
            gtids: "u:1-3".into(),
        };
        let file = CopiedFile { name: "CURRENT".into(), bytes: 16, mark: vec![1, 2] };
        for answer in [CopyAnswer::About(about), CopyAnswer::File(file), CopyAnswer::Piece(b"xyz"), CopyAnswer::End] {
            let mut packet = Vec::new();
            answer.encode(&mut packet);
            assert_eq!(CopyAnswer::decode(&packet), Ok(answer));
        }
    }

    #[test]
    fn another_protocol_is_refused() {
        assert!(CopyRequest::decode(&[BEGIN, 9]).is_err());
        assert!(CopyRequest::decode(&[]).is_err());
        assert!(CopyRequest::decode(&[READ, 1]).is_err());
        assert!(CopyAnswer::decode(&[]).is_err());
        assert!(CopyAnswer::decode(&[ABOUT, 250]).is_err());
    }
}
