//! The compressed protocol of one connection: frames of `vaquita_wire::compress` between packets and bytes.
//!
//! `receive` unpacks what came into `plain`, from where the connection takes it; `wrap` packs an answer. The
//! working memory of the algorithms belongs to the thread. The first frame of an answer carries the
//! reader's next number, and so does its first packet (`begin_answer`).

use std::cell::RefCell;

use vaquita_wire::compress::{Algorithm, CompressedReader, CompressedWriter, Workspace};
use vaquita_wire::error::ProtocolError;

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

/// `plain` keeps at most this much memory between commands.
const PLAIN_BYTES_KEPT: usize = 64 << 10;

pub struct Compression {
    reader: CompressedReader,
    writer: CompressedWriter,
    /// Unpacked bytes; those before `taken` have been taken.
    plain: Vec<u8>,
    taken: usize,
}

impl Compression {
    pub fn new(algorithm: Algorithm) -> Compression {
        Compression {
            reader: CompressedReader::new(algorithm),
            writer: CompressedWriter::new(algorithm),
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

    /// The number of the next packet of an answer of which a part has been sent.
    pub fn seq(&self) -> u8 {
        self.writer.seq()
    }

    pub fn unpack(&mut self, mut bytes: &[u8]) -> Result<(), ProtocolError> {
        WORKSPACE.with_borrow_mut(|workspace| {
            while self.reader.next(&mut bytes, &mut self.plain, workspace)? {}
            Ok(())
        })
    }

    /// Moves unpacked bytes to `buffer`; their number.
    pub fn take(&mut self, buffer: &mut [u8]) -> usize {
        let left = self.plain.get(self.taken..).unwrap_or_default();
        let n = left.len().min(buffer.len());
        buffer[..n].copy_from_slice(&left[..n]);
        self.taken += n;
        if self.taken == self.plain.len() {
            self.taken = 0;
            self.plain.clear();
            self.plain.shrink_to(PLAIN_BYTES_KEPT);
        }
        n
    }

    pub fn wrap(&mut self, packets: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(packets.len() / 2 + 64);
        WORKSPACE.with_borrow_mut(|workspace| self.writer.write(packets, &mut out, workspace));
        out
    }
}
