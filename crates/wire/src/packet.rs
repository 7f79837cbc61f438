//! Packet framing: a 4-byte header (3 bytes length, 1 byte sequence number) in front of up to
//! 16 MiB − 1 of payload; longer payloads continue in the next frame ("Protocol Basics → MySQL Packets").
//!
//! Reading: the server receives into a buffer that belongs to its thread and gives it to
//! `PacketReader::next`, which hands out payloads as slices of that buffer. Only what is incomplete is copied
//! into the reader, so an idle connection owns no buffer and a complete command costs no copy.
//! ```text
//! recv -> [hdr payload hdr payl]      next -> Borrowed(payload), next -> None (absorbed "hdr payl")
//! recv -> [oad]                       next -> Joined("payload")
//! ```
//! Writing: `PacketWriter` appends whole packets to one `Vec<u8>`, patches the length when a packet
//! ends, and splits what is too long, so that a complete response leaves in one send().
//!
//! * PKT-1: frames of one exchange carry consecutive sequence numbers, starting at 0 with the client's command.
//! * PKT-2: the reader never holds more than `payload_bytes_max` plus one header, whatever lengths are announced.
//! * PKT-3: a payload of n × (2^24−1) bytes is followed by an empty frame.
//!
//! It does not do I/O, and compressed frames are unpacked before (`compress.rs`).

use std::ops::Deref;

use crate::error::ProtocolError;

pub const HEADER_BYTES: usize = 4;
/// The longest payload of one frame; a frame of this length announces another.
pub const FRAME_PAYLOAD_BYTES_MAX: usize = 0xff_ffff;
/// Payload bound until the client is authenticated: user, database, plugin names and 64 KiB of
/// connection attributes fit, nothing that could hurt does.
pub const UNAUTHENTICATED_PAYLOAD_BYTES_MAX: usize = 68 * 1024;

/// One payload: in place, or put together from several reads or frames.
#[derive(Debug)]
pub enum Payload<'a> {
    Borrowed(&'a [u8]),
    Joined(Vec<u8>),
}

impl Deref for Payload<'_> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Payload::Borrowed(bytes) => bytes,
            Payload::Joined(bytes) => bytes,
        }
    }
}

/// Incremental decoder of the peer's packets.
#[derive(Debug)]
pub struct PacketReader {
    expected_seq: u8,
    checks_seq: bool,
    payload_bytes_max: usize,
    /// The bytes of a header that a read has cut.
    header: [u8; HEADER_BYTES],
    header_len: usize,
    /// Payload received so far of a packet that was not complete in one read.
    joined: Vec<u8>,
    /// Bytes that the current frame still lacks; meaningful while `in_frame`.
    frame_left: usize,
    in_frame: bool,
    /// The current frame is full, so another follows.
    continues: bool,
}

impl PacketReader {
    pub fn new(payload_bytes_max: usize) -> Self {
        Self {
            expected_seq: 0,
            checks_seq: true,
            payload_bytes_max,
            header: [0; HEADER_BYTES],
            header_len: 0,
            joined: Vec::new(),
            frame_left: 0,
            in_frame: false,
            continues: false,
        }
    }

    /// Sets `max_allowed_packet`. As in MySQL, a payload of exactly this length is already too large.
    pub fn set_payload_bytes_max(&mut self, payload_bytes_max: usize) {
        self.payload_bytes_max = payload_bytes_max;
    }

    /// The next packet must carry this number: 0 for a command, the writer's `seq()` for an answer.
    #[inline]
    pub fn expect_seq(&mut self, seq: u8) {
        self.expected_seq = seq;
    }

    /// The number that an answer to the last packet starts with.
    #[inline]
    pub fn next_seq(&self) -> u8 {
        self.expected_seq
    }

    /// Inside compressed frames MySQL checks only the numbers of the outer frames, and some clients count inner ones differently.
    pub fn ignore_inner_seq(&mut self) {
        self.checks_seq = false;
    }

    /// A packet has begun to arrive but is not complete.
    pub fn is_mid_packet(&self) -> bool {
        self.in_frame || self.header_len > 0 || self.continues
    }

    /// Bytes of an incomplete packet that the reader owns.
    pub fn held_bytes(&self) -> usize {
        self.joined.len()
    }

    /// Takes the next packet off the front of `input`. `None` means that all of `input` was taken in
    /// and more is needed.
    #[inline]
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Payload<'a>>, ProtocolError> {
        if self.header_len == 0 && !self.in_frame && !self.continues {
            // The common case: a whole frame lies in the input.
            if let Some((header, rest)) = input.split_first_chunk::<HEADER_BYTES>() {
                let len = payload_len(header);
                if len < FRAME_PAYLOAD_BYTES_MAX
                    && len < self.payload_bytes_max
                    && let Some((payload, rest)) = rest.split_at_checked(len)
                {
                    self.check_seq(header[3])?;
                    *input = rest;
                    return Ok(Some(Payload::Borrowed(payload)));
                }
            }
        }
        self.next_joined(input)
    }

    #[inline]
    fn check_seq(&mut self, seq: u8) -> Result<(), ProtocolError> {
        if self.checks_seq && seq != self.expected_seq {
            return Err(ProtocolError::PacketsOutOfOrder);
        }
        self.expected_seq = seq.wrapping_add(1);
        Ok(())
    }

    fn next_joined<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Payload<'a>>, ProtocolError> {
        loop {
            if !self.in_frame && !self.read_header(input)? {
                return Ok(None);
            }
            let take = self.frame_left.min(input.len());
            let (bytes, rest) = input.split_at(take);
            self.joined.extend_from_slice(bytes);
            *input = rest;
            self.frame_left -= take;
            if self.frame_left > 0 {
                return Ok(None);
            }
            self.in_frame = false;
            if !self.continues {
                return Ok(Some(Payload::Joined(std::mem::take(&mut self.joined))));
            }
        }
    }

    /// Completes a header and checks what it announces. False: not enough input.
    fn read_header(&mut self, input: &mut &[u8]) -> Result<bool, ProtocolError> {
        let take = (HEADER_BYTES - self.header_len).min(input.len());
        let (bytes, rest) = input.split_at(take);
        self.header[self.header_len..self.header_len + take].copy_from_slice(bytes);
        self.header_len += take;
        *input = rest;
        if self.header_len < HEADER_BYTES {
            return Ok(false);
        }
        self.header_len = 0;
        let header = self.header;
        self.check_seq(header[3])?;
        let len = payload_len(&header);
        // An empty frame that ends a full one adds nothing; everything else is held against the limit.
        if len > 0 && self.joined.len() + len >= self.payload_bytes_max {
            return Err(ProtocolError::PacketTooLarge);
        }
        self.frame_left = len;
        self.continues = len == FRAME_PAYLOAD_BYTES_MAX;
        self.in_frame = true;
        Ok(true)
    }
}

#[inline]
fn payload_len(header: &[u8; HEADER_BYTES]) -> usize {
    let [a, b, c, _] = *header;
    u32::from_le_bytes([a, b, c, 0]) as usize
}

/// Where a `PacketWriter` stood; see `PacketWriter::rewind`.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    len: usize,
    seq: u8,
}

/// Builds packets in one buffer. Everything appended between `begin_packet` and `end_packet` is one payload.
#[derive(Debug, Default)]
pub struct PacketWriter {
    buf: Vec<u8>,
    /// Where the header of the open packet lies.
    start: usize,
    seq: u8,
}

impl PacketWriter {
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses `buf`, which may hold finished bytes already, and continues at sequence number `seq`.
    pub fn with_buffer(buf: Vec<u8>, seq: u8) -> Self {
        Self { start: buf.len(), buf, seq }
    }

    /// Number of the next packet: the reader's `next_seq()` when an answer begins.
    #[inline]
    pub fn set_seq(&mut self, seq: u8) {
        self.seq = seq;
    }

    #[inline]
    pub fn seq(&self) -> u8 {
        self.seq
    }

    /// Opens a packet; its payload is appended to the buffer that is returned. One that was left open, as a row whose last column failed, is
    /// taken back.
    #[inline]
    pub fn begin_packet(&mut self) -> &mut Vec<u8> {
        self.buf.truncate(self.start);
        self.buf.extend_from_slice(&[0; HEADER_BYTES]);
        &mut self.buf
    }

    /// The buffer with the open packet at its end.
    #[inline]
    pub fn payload(&mut self) -> &mut Vec<u8> {
        &mut self.buf
    }

    /// Closes the open packet: writes its header and, if it is too long for one frame, splits it.
    #[inline]
    pub fn end_packet(&mut self) {
        let payload_len = self.buf.len() - self.start - HEADER_BYTES;
        if payload_len >= FRAME_PAYLOAD_BYTES_MAX {
            return self.split_packet(payload_len);
        }
        let header = (payload_len as u32) | (u32::from(self.seq) << 24);
        self.buf[self.start..self.start + HEADER_BYTES].copy_from_slice(&header.to_le_bytes());
        self.start = self.buf.len();
        self.seq = self.seq.wrapping_add(1);
    }

    /// One whole packet.
    pub fn packet(&mut self, fill: impl FnOnce(&mut Vec<u8>)) {
        fill(self.begin_packet());
        self.end_packet();
    }

    /// Takes back the open packet.
    pub fn cancel_packet(&mut self) {
        self.buf.truncate(self.start);
    }

    /// Makes room for a header in front of each frame after the first, moving frames from the last to the first.
    #[cold]
    fn split_packet(&mut self, payload_len: usize) {
        let frames = payload_len / FRAME_PAYLOAD_BYTES_MAX + 1;
        let first = self.start + HEADER_BYTES;
        self.buf.resize(first + payload_len + (frames - 1) * HEADER_BYTES, 0);
        for frame in (0..frames).rev() {
            let offset = frame * FRAME_PAYLOAD_BYTES_MAX;
            let len = (payload_len - offset).min(FRAME_PAYLOAD_BYTES_MAX);
            let from = first + offset;
            let to = from + frame * HEADER_BYTES;
            self.buf.copy_within(from..from + len, to);
            let seq = self.seq.wrapping_add(frame as u8);
            let header = (len as u32) | (u32::from(seq) << 24);
            self.buf[to - HEADER_BYTES..to].copy_from_slice(&header.to_le_bytes());
        }
        self.start = self.buf.len();
        self.seq = self.seq.wrapping_add(frames as u8);
    }

    pub fn mark(&self) -> Mark {
        Mark { len: self.buf.len(), seq: self.seq }
    }

    /// The packets since `mark`, none of which has been sent.
    pub fn since(&self, mark: Mark) -> &[u8] {
        self.buf.get(mark.len..).unwrap_or_default()
    }

    /// As many packets as a writer has written that stood at the same number.
    #[inline]
    pub fn repeat(&mut self, packets: &[u8], count: usize) {
        self.buf.extend_from_slice(packets);
        self.start = self.buf.len();
        self.seq = self.seq.wrapping_add(count as u8);
    }

    /// Takes back every packet since `mark`, which must not have been sent yet.
    pub fn rewind(&mut self, mark: Mark) {
        self.buf.truncate(mark.len);
        self.start = mark.len;
        self.seq = mark.seq;
    }

    /// What is to be sent.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buf
    }

    pub fn len(&self) -> usize {
        self.buf.len()
    }

    pub fn is_empty(&self) -> bool {
        self.buf.is_empty()
    }

    /// Forgets what was sent; keeps the allocation and the sequence number.
    pub fn clear(&mut self) {
        self.buf.clear();
        self.start = 0;
    }

    pub fn into_buffer(self) -> Vec<u8> {
        self.buf
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMIT: usize = 1 << 30;

    fn write(payload: &[u8]) -> Vec<u8> {
        let mut writer = PacketWriter::new();
        writer.packet(|out| out.extend_from_slice(payload));
        writer.into_buffer()
    }

    /// "MySQL Packets": COM_QUIT is `01 00 00 00 01`.
    #[test]
    fn com_quit_of_the_manual() {
        let bytes = write(&[1]);
        assert_eq!(bytes, [1, 0, 0, 0, 1]);
        let mut input = &bytes[..];
        let packet = PacketReader::new(LIMIT).next(&mut input).unwrap().unwrap();
        assert!(matches!(packet, Payload::Borrowed([1])));
        assert!(input.is_empty());
    }

    /// "MySQL Packets → Sending More Than 16Mb": 2^24−1 bytes are followed by `00 00 00 01`.
    #[test]
    fn long_payloads_are_split_and_joined() {
        for len in [
            FRAME_PAYLOAD_BYTES_MAX - 1,
            FRAME_PAYLOAD_BYTES_MAX,
            FRAME_PAYLOAD_BYTES_MAX + 1,
            2 * FRAME_PAYLOAD_BYTES_MAX,
            2 * FRAME_PAYLOAD_BYTES_MAX + 7,
        ] {
            let payload: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            let bytes = write(&payload);
            let frames = len / FRAME_PAYLOAD_BYTES_MAX + 1;
            assert_eq!(bytes.len(), len + 4 * frames);
            if len == FRAME_PAYLOAD_BYTES_MAX {
                assert_eq!(bytes[..4], [0xff, 0xff, 0xff, 0]);
                assert_eq!(bytes[bytes.len() - 4..], [0, 0, 0, 1]);
            }
            let mut reader = PacketReader::new(LIMIT);
            let mut joined = None;
            for chunk in bytes.chunks(1 << 20) {
                let mut input = chunk;
                joined = reader.next(&mut input).unwrap();
            }
            assert!(*joined.unwrap() == payload[..]);
            assert_eq!(usize::from(reader.next_seq()), frames);
            assert!(!reader.is_mid_packet());
        }
    }

    #[test]
    fn out_of_order_and_too_large() {
        let mut reader = PacketReader::new(100);
        let mut input = &[1u8, 0, 0, 1, 1][..];
        assert_eq!(reader.next(&mut input).unwrap_err(), ProtocolError::PacketsOutOfOrder);
        for header in [[100u8, 0, 0, 0], [0xff, 0xff, 0xff, 0]] {
            let mut input = &header[..];
            let mut reader = PacketReader::new(100);
            assert_eq!(reader.next(&mut input).unwrap_err(), ProtocolError::PacketTooLarge);
        }
    }

    #[test]
    fn rewind_and_cancel_restore_bytes_and_number() {
        let mut writer = PacketWriter::new();
        writer.packet(|out| out.push(1));
        let mark = writer.mark();
        writer.packet(|out| out.push(2));
        writer.begin_packet().push(3);
        writer.cancel_packet();
        writer.rewind(mark);
        writer.packet(|out| out.push(4));
        assert_eq!(writer.bytes(), [1, 0, 0, 0, 1, 1, 0, 0, 1, 4]);
    }

    #[test]
    fn a_packet_that_is_left_open_is_taken_back() {
        let mut writer = PacketWriter::new();
        writer.packet(|out| out.push(1));
        writer.begin_packet().push(2);
        writer.packet(|out| out.push(3));
        assert_eq!(writer.bytes(), [1, 0, 0, 0, 1, 1, 0, 0, 1, 3]);
    }

    proptest! {
        /// However the stream is cut, the same payloads come out.
        #[test]
        fn any_cut_gives_the_same_packets(
            payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..8),
            cuts in prop::collection::vec(1usize..50, 1..40),
        ) {
            let mut writer = PacketWriter::new();
            for payload in &payloads {
                writer.packet(|out| out.extend_from_slice(payload));
            }
            let mut reader = PacketReader::new(LIMIT);
            let mut got = Vec::new();
            let mut rest = writer.bytes();
            let mut cuts = cuts.iter().cycle();
            while !rest.is_empty() {
                let (mut input, tail) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                rest = tail;
                while let Some(packet) = reader.next(&mut input).unwrap() {
                    got.push(packet.to_vec());
                }
                prop_assert!(input.is_empty());
            }
            prop_assert_eq!(got, payloads);
        }
    }
}
