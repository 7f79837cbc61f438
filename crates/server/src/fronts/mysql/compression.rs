//! The compressed protocol of one connection: frames of `vaquita_wire::compress` between packets and bytes.
//!
//! What is received waits in `packed`. `take` unpacks a frame of it into `plain` when what was in there is used up, from where the
//! connection takes it; `wrap` packs an answer. The working memory of the algorithms belongs to the thread. The first frame of an
//! answer carries the reader's next number, and so does its first packet (`begin_answer`).
//!
//! * CMP-3: a frame is unpacked when the packets before it are done: its number is held against that of the command it belongs to,
//!   which begins at 0 again after each, also after one without an answer. And a connection holds the contents of one frame at most.

use std::cell::RefCell;

use vaquita_wire::compress::{Algorithm, CompressedReader, CompressedWriter, Workspace};
use vaquita_wire::error::ProtocolError;

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

/// Memory that `plain` and `packed` keep at most when they are used up.
const PLAIN_BYTES_KEPT: usize = 4 << 10;
const PACKED_BYTES_KEPT: usize = 4 << 10;

pub struct Compression {
    reader: CompressedReader,
    writer: CompressedWriter,
    /// Received bytes; those before `unpacked` have been unpacked.
    packed: Vec<u8>,
    unpacked: usize,
    /// Unpacked bytes; those before `taken` have been taken.
    plain: Vec<u8>,
    taken: usize,
}

impl Compression {
    pub fn new(algorithm: Algorithm) -> Compression {
        Compression {
            reader: CompressedReader::new(algorithm),
            writer: CompressedWriter::new(algorithm),
            packed: Vec::new(),
            unpacked: 0,
            plain: Vec::new(),
            taken: 0,
        }
    }

    /// A command is awaited.
    pub fn expect_seq(&mut self, seq: u8) {
        self.reader.expect_seq(seq);
    }

    /// The number of the first packet of an answer.
    pub fn begin_answer(&mut self) -> u8 {
        self.writer.set_seq(self.reader.next_seq());
        self.writer.seq()
    }

    /// The number that the next packet is to have.
    pub fn set_answer_seq(&mut self, seq: u8) {
        self.writer.set_seq(seq);
    }

    /// The number of the next packet of an answer of which a part has been sent.
    pub fn seq(&self) -> u8 {
        self.writer.seq()
    }

    /// Takes in what was received.
    pub fn received(&mut self, bytes: &[u8]) {
        self.packed.extend_from_slice(bytes);
    }

    /// Moves unpacked bytes to `buffer`; their number, which is 0 when more must be received.
    pub fn take(&mut self, buffer: &mut [u8]) -> Result<usize, ProtocolError> {
        while self.taken == self.plain.len() {
            self.taken = 0;
            self.plain.clear();
            self.plain.shrink_to(PLAIN_BYTES_KEPT);
            let mut rest = self.packed.get(self.unpacked..).unwrap_or_default();
            self.reader.set_content_bytes_max(vaquita_types::memory::room());
            let frame = WORKSPACE.with_borrow_mut(|workspace| self.reader.next(&mut rest, &mut self.plain, workspace))?;
            self.unpacked = self.packed.len() - rest.len();
            if self.unpacked == self.packed.len() {
                self.unpacked = 0;
                self.packed.clear();
                self.packed.shrink_to(PACKED_BYTES_KEPT);
            }
            if !frame {
                return Ok(0);
            }
        }
        let left = self.plain.get(self.taken..).unwrap_or_default();
        let n = left.len().min(buffer.len());
        buffer[..n].copy_from_slice(&left[..n]);
        self.taken += n;
        Ok(n)
    }

    /// Bytes of an incomplete frame.
    pub fn held_bytes(&self) -> usize {
        self.reader.held_bytes()
    }

    pub fn wrap(&mut self, packets: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(packets.len() / 2 + 64);
        WORKSPACE.with_borrow_mut(|workspace| self.writer.write(packets, &mut out, workspace));
        out
    }
}
