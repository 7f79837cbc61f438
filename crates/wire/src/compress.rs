//! Compressed packet framing, zlib and zstd ("Compression → Compressed Packet").
//!
//! Once both sides have agreed, from the packet after the OK that ends authentication, the stream of ordinary packets
//! travels in frames of its own: 3 bytes compressed length, 1 byte sequence number, 3 bytes uncompressed
//! length, content. An uncompressed length of 0 means that the content is not compressed, because it is shorter than
//! 50 bytes or would not shrink. Frames need not end where packets end.
//! ```text
//! 05 00 00 | 00 | 00 00 00 | 01 00 00 00 0e       COM_PING, stored
//! ```
//! Reading: `CompressedReader::next` unpacks frames into a buffer that goes on to `PacketReader`. Writing:
//! `CompressedWriter::write` wraps a finished response. What is per connection is a few words; the working memory of the
//! algorithms is a `Workspace`, of which a thread needs one.
//!
//! Numbers, as MySQL 9.7 has them: of received packets only those of the frames are checked
//! (`PacketReader::ignore_inner_seq`); an answer's first frame and its first packet both carry the reader's `next_seq`. When an answer
//! is sent in several parts, the packets of the next part go on from the writer's `seq`.
//!
//! * CMP-1: an uncompressed length is at most 2^24−1 by its width, and the content must have exactly that length.
//! * CMP-2: memory for compressed bytes grows with what arrives, never with what is announced.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use zstd_safe::{CCtx, DCtx};

use crate::codec::put_u24;
use crate::error::ProtocolError;
use crate::packet::FRAME_PAYLOAD_BYTES_MAX;

pub const HEADER_BYTES: usize = 7;
/// MIN_COMPRESS_LENGTH of MySQL: shorter content is stored.
pub const COMPRESS_BYTES_MIN: usize = 50;
/// Deflate cannot shrink anything further than this.
const DEFLATE_RATIO_MAX: usize = 1032;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    Zlib,
    /// With the level that the client asked for.
    Zstd {
        level: u8,
    },
}

/// Working memory of the algorithms, created when first used.
#[derive(Default)]
pub struct Workspace {
    deflate: Option<Compress>,
    inflate: Option<Decompress>,
    zstd_compress: Option<CCtx<'static>>,
    zstd_decompress: Option<DCtx<'static>>,
}

impl Workspace {
    /// Appends the compressed form of `content` if it is shorter, and says whether it did.
    fn compress(&mut self, algorithm: Algorithm, content: &[u8], out: &mut Vec<u8>) -> bool {
        let start = out.len();
        // One byte less than the content: what does not fit has not shrunk.
        out.resize(start + content.len() - 1, 0);
        let Some(space) = out.get_mut(start..) else {
            return false;
        };
        let written = match algorithm {
            Algorithm::Zlib => self.deflate(content, space),
            Algorithm::Zstd { level } => {
                self.zstd_compress.get_or_insert_with(CCtx::create).compress(space, content, i32::from(level)).ok()
            }
        };
        out.truncate(start + written.unwrap_or(0));
        written.is_some()
    }

    fn deflate(&mut self, content: &[u8], space: &mut [u8]) -> Option<usize> {
        let deflate = self.deflate.get_or_insert_with(|| Compress::new(Compression::default(), true));
        deflate.reset();
        match deflate.compress(content, space, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => usize::try_from(deflate.total_out()).ok(),
            _ => None,
        }
    }

    /// Appends exactly `len` bytes unpacked from `content`.
    fn decompress(&mut self, algorithm: Algorithm, content: &[u8], len: usize, out: &mut Vec<u8>) -> Result<(), ProtocolError> {
        if algorithm == Algorithm::Zlib && len > content.len().saturating_mul(DEFLATE_RATIO_MAX) {
            return Err(ProtocolError::Uncompress);
        }
        let start = out.len();
        out.resize(start + len, 0);
        let space = out.get_mut(start..).unwrap_or_default();
        let written = match algorithm {
            Algorithm::Zlib => self.inflate(content, space),
            Algorithm::Zstd { .. } => self.zstd_decompress.get_or_insert_with(DCtx::create).decompress(space, content).ok(),
        };
        if written == Some(len) {
            Ok(())
        } else {
            out.truncate(start);
            Err(ProtocolError::Uncompress)
        }
    }

    fn inflate(&mut self, content: &[u8], space: &mut [u8]) -> Option<usize> {
        let inflate = self.inflate.get_or_insert_with(|| Decompress::new(true));
        inflate.reset(true);
        match inflate.decompress(content, space, FlushDecompress::Finish) {
            Ok(Status::StreamEnd) => usize::try_from(inflate.total_out()).ok(),
            _ => None,
        }
    }
}

/// Unpacks the peer's frames.
#[derive(Debug)]
pub struct CompressedReader {
    algorithm: Algorithm,
    expected_seq: u8,
    /// A header that a read has cut, or that of the frame being received.
    header: [u8; HEADER_BYTES],
    header_len: usize,
    /// Content of a frame that was not complete in one read.
    content: Vec<u8>,
    content_bytes_max: usize,
}

impl CompressedReader {
    pub fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            expected_seq: 0,
            header: [0; HEADER_BYTES],
            header_len: 0,
            content: Vec::new(),
            content_bytes_max: usize::MAX,
        }
    }

    /// The next frame must carry this number: 0 when a command is awaited.
    pub fn expect_seq(&mut self, seq: u8) {
        self.expected_seq = seq;
    }

    pub fn next_seq(&self) -> u8 {
        self.expected_seq
    }

    /// What a frame may unpack to from here on.
    pub fn set_content_bytes_max(&mut self, bytes: usize) {
        self.content_bytes_max = bytes;
    }

    /// Bytes of an incomplete frame that the reader owns.
    pub fn held_bytes(&self) -> usize {
        self.content.len()
    }

    pub fn is_mid_frame(&self) -> bool {
        self.header_len > 0
    }

    /// Takes one frame off the front of `input` and appends what it contains to `out`. False means that all of
    /// `input` was taken in and more is needed.
    pub fn next(&mut self, input: &mut &[u8], out: &mut Vec<u8>, workspace: &mut Workspace) -> Result<bool, ProtocolError> {
        if self.header_len < HEADER_BYTES {
            let take = (HEADER_BYTES - self.header_len).min(input.len());
            let (bytes, rest) = input.split_at(take);
            self.header[self.header_len..self.header_len + take].copy_from_slice(bytes);
            self.header_len += take;
            *input = rest;
            if self.header_len < HEADER_BYTES {
                return Ok(false);
            }
            if self.header[3] != self.expected_seq {
                return Err(ProtocolError::PacketsOutOfOrder);
            }
        }
        let [a, b, c, _, d, e, f] = self.header;
        let compressed_len = u32::from_le_bytes([a, b, c, 0]) as usize;
        let uncompressed_len = u32::from_le_bytes([d, e, f, 0]) as usize;
        if uncompressed_len > self.content_bytes_max {
            return Err(ProtocolError::PacketTooLarge);
        }
        let take = (compressed_len - self.content.len()).min(input.len());
        let (bytes, rest) = input.split_at(take);
        *input = rest;
        let joined;
        let content = if take == compressed_len {
            bytes
        } else {
            self.content.extend_from_slice(bytes);
            if self.content.len() < compressed_len {
                return Ok(false);
            }
            joined = std::mem::take(&mut self.content);
            &joined
        };
        self.header_len = 0;
        self.expected_seq = self.expected_seq.wrapping_add(1);
        if uncompressed_len == 0 {
            out.extend_from_slice(content);
        } else {
            workspace.decompress(self.algorithm, content, uncompressed_len, out)?;
        }
        Ok(true)
    }
}

/// Wraps finished packets into frames.
#[derive(Debug)]
pub struct CompressedWriter {
    algorithm: Algorithm,
    seq: u8,
}

impl CompressedWriter {
    pub fn new(algorithm: Algorithm) -> Self {
        Self { algorithm, seq: 0 }
    }

    /// Number of the next frame: the reader's `next_seq` when an answer begins.
    pub fn set_seq(&mut self, seq: u8) {
        self.seq = seq;
    }

    pub fn seq(&self) -> u8 {
        self.seq
    }

    /// Appends `packets` to `out`, in as many frames as it takes.
    pub fn write(&mut self, packets: &[u8], out: &mut Vec<u8>, workspace: &mut Workspace) {
        for content in packets.chunks(FRAME_PAYLOAD_BYTES_MAX) {
            let start = out.len();
            out.extend_from_slice(&[0; HEADER_BYTES]);
            let shrunk = content.len() >= COMPRESS_BYTES_MIN && workspace.compress(self.algorithm, content, out);
            if !shrunk {
                out.extend_from_slice(content);
            }
            let mut header = Vec::with_capacity(HEADER_BYTES);
            put_u24(&mut header, (out.len() - start - HEADER_BYTES) as u32);
            header.push(self.seq);
            put_u24(&mut header, if shrunk { content.len() as u32 } else { 0 });
            out[start..start + HEADER_BYTES].copy_from_slice(&header);
            self.seq = self.seq.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALGORITHMS: [Algorithm; 2] = [Algorithm::Zlib, Algorithm::Zstd { level: 3 }];

    fn read_all(algorithm: Algorithm, bytes: &[u8], chunk: usize) -> Result<Vec<u8>, ProtocolError> {
        let mut reader = CompressedReader::new(algorithm);
        let mut workspace = Workspace::default();
        let mut out = Vec::new();
        for mut input in bytes.chunks(chunk) {
            while reader.next(&mut input, &mut out, &mut workspace)? {}
        }
        Ok(out)
    }

    /// "Compressed Packet": a short COM_QUERY is stored, the repetitive one of the manual's example inflates.
    #[test]
    fn frames_of_the_manual() {
        let stored = [
            0x22, 0x00, 0x00, 0x00, 0x32, 0x00, 0x00, 0x78, 0x9c, 0xd3, 0x63, 0x60, 0x60, 0x60, 0x2e, 0x4e, 0xcd, 0x49, 0x4d,
            0x2e, 0x51, 0x50, 0x32, 0x30, 0x34, 0x32, 0x36, 0x31, 0x35, 0x33, 0xb7, 0xb0, 0xc4, 0xcd, 0x52, 0x02, 0x00, 0x0c,
            0xd1, 0x0a, 0x6c,
        ];
        let inflated = read_all(Algorithm::Zlib, &stored, 100).unwrap();
        assert_eq!(inflated[..5], [0x2e, 0, 0, 0, 3]);
        assert!(inflated[5..].starts_with(b"select \"012345678901234567890123456789"));
    }

    #[test]
    fn short_and_random_content_is_stored() {
        for algorithm in ALGORITHMS {
            let mut out = Vec::new();
            let mut writer = CompressedWriter::new(algorithm);
            writer.write(&[1, 0, 0, 0, 0x0e], &mut out, &mut Workspace::default());
            assert_eq!(out, [5, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x0e]);
        }
    }

    #[test]
    fn wrong_lengths_and_garbage_are_refused() {
        for algorithm in ALGORITHMS {
            let mut bytes = Vec::new();
            CompressedWriter::new(algorithm).write(&[7; 500], &mut bytes, &mut Workspace::default());
            assert_eq!(read_all(algorithm, &bytes, 3).unwrap(), [7; 500]);
            for (at, value) in [(4, 0xf3), (5, 0x7f), (3, 1), (9, 0xff)] {
                let mut broken = bytes.clone();
                broken[at] = value;
                assert!(read_all(algorithm, &broken, 1000).is_err(), "{algorithm:?} {at}");
            }
        }
    }

    #[test]
    fn long_content_takes_several_frames() {
        let content: Vec<u8> = (0..FRAME_PAYLOAD_BYTES_MAX + 1000).map(|i| (i / 7) as u8).collect();
        for algorithm in ALGORITHMS {
            let mut bytes = Vec::new();
            let mut writer = CompressedWriter::new(algorithm);
            writer.write(&content, &mut bytes, &mut Workspace::default());
            assert_eq!(writer.seq(), 2);
            assert!(read_all(algorithm, &bytes, 1 << 16).unwrap() == content);
        }
    }

    proptest! {
        #[test]
        fn round_trip(content in prop::collection::vec(0u8..4, 1..2000), chunk in 1usize..300) {
            for algorithm in ALGORITHMS {
                let mut bytes = Vec::new();
                CompressedWriter::new(algorithm).write(&content, &mut bytes, &mut Workspace::default());
                prop_assert_eq!(read_all(algorithm, &bytes, chunk).unwrap(), content.clone());
            }
        }
    }
}
