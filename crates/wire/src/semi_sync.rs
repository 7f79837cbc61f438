//! Semi-synchronous replication: what stands in front of each event, and what the replica answers.
//!
//! | OFFSET | SIZE | of an event, behind the byte 0 of its packet      |
//! |--------|------|---------------------------------------------------|
//! | 0      | 1    | 0xEF                                              |
//! | 1      | 1    | 1: an ack is wanted; 0: it is not                 |
//! | 2      |      | the event                                         |
//!
//! | OFFSET | SIZE | of an ack, a packet with the number 0             |
//! |--------|------|---------------------------------------------------|
//! | 0      | 1    | 0xEF                                              |
//! | 1      | 8    | the position behind the event, little-endian      |
//! | 9      |      | the name of its file                              |
//!
//! Both sides number their packets anew there: behind an event that wants an ack the source goes on with 1.
//! (MySQL, plugin/semisync/semisync.h and semisync_replica.cc.)

use crate::codec::{Bytes, put_u64};
use crate::error::ProtocolError;

const MAGIC: u8 = 0xef;
const WANTS_ACK: u8 = 1;
/// FN_REFLEN
const NAME_BYTES_MAX: usize = 512;
/// The longest ack.
pub const ACK_BYTES_MAX: usize = 9 + NAME_BYTES_MAX;
/// The number of the packet behind an event that wants an ack.
pub const SEQ_BEHIND_WANTED: u8 = 1;

/// In front of an event.
pub fn event_head(wants_ack: bool) -> [u8; 2] {
    [MAGIC, if wants_ack { WANTS_ACK } else { 0 }]
}

/// Whether an ack is wanted, and the event.
pub fn split_event(bytes: &[u8]) -> Result<(bool, &[u8]), ProtocolError> {
    match bytes {
        [MAGIC, flags, event @ ..] => Ok((flags & WANTS_ACK != 0, event)),
        _ => Err(ProtocolError::MalformedPacket),
    }
}

/// All up to here is stored by the replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack<'a> {
    pub position: u64,
    pub file: &'a [u8],
}

impl<'a> Ack<'a> {
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(MAGIC);
        put_u64(out, self.position);
        out.extend_from_slice(self.file);
    }

    pub fn decode(payload: &'a [u8]) -> Result<Ack<'a>, ProtocolError> {
        let mut bytes = Bytes::new(payload);
        if bytes.u8()? != MAGIC || payload.len() > ACK_BYTES_MAX {
            return Err(ProtocolError::MalformedPacket);
        }
        Ok(Ack { position: bytes.u64()?, file: bytes.rest() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acks_come_back() {
        let ack = Ack { position: 0x0102_0304_0506, file: b"binlog.000042" };
        let mut out = Vec::new();
        ack.encode(&mut out);
        assert_eq!(out, b"\xef\x06\x05\x04\x03\x02\x01\x00\x00binlog.000042");
        assert_eq!(Ack::decode(&out), Ok(ack));
        assert_eq!(Ack::decode(&out[..9]), Ok(Ack { file: b"", ..ack }));
    }

    #[test]
    fn what_is_no_ack_is_refused() {
        let long = [&[MAGIC][..], &[0; ACK_BYTES_MAX]].concat();
        for payload in [&b""[..], b"\xef", b"\xef\0\0\0\0\0\0\0", b"\x00\x01\0\0\0\0\0\0\0file", &long] {
            assert!(Ack::decode(payload).is_err(), "{payload:?}");
        }
    }

    #[test]
    fn heads_of_events_come_back() {
        for wants in [false, true] {
            let packet = [&event_head(wants)[..], b"event"].concat();
            assert_eq!(split_event(&packet), Ok((wants, &b"event"[..])));
        }
        for packet in [&b""[..], b"\xef", b"event"] {
            assert!(split_event(packet).is_err(), "{packet:?}");
        }
    }
}
