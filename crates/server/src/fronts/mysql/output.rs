//! Where a command's answer goes, and from where a command receives more than itself.
//!
//! Packets collect in the thread's buffer and are sent when it is full or the command is over. A command that asks
//! the client for a file (LOAD DATA LOCAL) calls `ask` and then `receive` until the client has ended: bytes that arrived behind
//! the command come first, then those of the socket. What was received and not used stays in the connection's `pending`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vaquita_storage::Interrupt;
use vaquita_types::charset::{Charset, Collation, CollationId};
use vaquita_types::errno::{ER_NET_ERROR_ON_WRITE, ER_NET_READ_ERROR, ER_NET_READ_INTERRUPTED};
use vaquita_types::{Error, Result};
use vaquita_wire::packet::{Mark, PacketReader, PacketWriter};
use vaquita_wire::result::{ERROR_TEXT_BYTES_MAX, put_err, put_err_bytes};

use super::front::Front;
use super::reply::Rows;
use super::transport::{Received, Transport};
use vaquita_session::clients::Client;
use vaquita_session::counters::Counter;

/// Where a command's answer goes: packets collect and are sent when the buffer is full or the command is over.
pub struct Output<'a> {
    pub writer: PacketWriter,
    pub(crate) transport: &'a mut Transport,
    pub(crate) reader: &'a mut PacketReader,
    /// Bytes behind the command: those in the thread's buffer come first.
    pub(crate) rest: &'a [u8],
    pub(crate) pending: &'a mut Vec<u8>,
    pub(crate) received_inside: &'a mut bool,
    pub(crate) front: &'a Arc<Front>,
    pub caps: u32,
    pub(crate) client: &'a Client,
    /// Sending failed: the client is gone.
    pub broken: bool,
    /// Of the result set that is being written.
    pub(crate) rows: Rows,
    /// Where the writer stood when the statement's try began, and whether rows have left since.
    pub(crate) try_began: Mark,
    pub(crate) sent: bool,
}

/// How long a wait for input lasts before the statement looks whether it was killed.
const INPUT_WAIT: Duration = Duration::from_millis(500);
/// Rows of a result collect up to this many bytes before they are sent.
pub const FLUSH_BYTES: usize = 64 << 10;

impl Output<'_> {
    pub fn flush(&mut self) -> Result<()> {
        let front = self.front;
        self.client.counters.add(Counter::BytesSent, self.writer.len() as u64);
        let sent = self.transport.send(self.writer.bytes(), &|wait| front.pool().blocking(wait));
        self.writer.clear();
        if let Some(compression) = self.transport.compression() {
            self.writer.set_seq(compression.seq());
        }
        sent.map_err(|_| {
            self.broken = true;
            Error::with_message(&ER_NET_ERROR_ON_WRITE, "Got an error writing communication packets")
        })
    }

    /// The client is about to send packets, up to an empty one, as the answer to what is written.
    pub fn ask(&mut self) -> Result<()> {
        self.flush()?;
        let seq = match self.transport.compression() {
            Some(compression) => {
                let seq = compression.seq();
                compression.expect_seq(seq);
                seq
            }
            None => self.writer.seq(),
        };
        self.reader.expect_seq(seq);
        Ok(())
    }

    /// Appends the next packet that the client sends; false for the empty one that ends them. Waits `timeout` for each.
    pub fn receive(&mut self, out: &mut Vec<u8>, timeout: Duration, interrupt: &Interrupt) -> Result<bool> {
        let started = Instant::now();
        loop {
            if let Some(more) = self.received(out)? {
                if !more {
                    let seq = match self.transport.compression() {
                        Some(compression) => compression.begin_answer(),
                        None => self.reader.next_seq(),
                    };
                    self.writer.set_seq(seq);
                }
                return Ok(more);
            }
            let mut buffer = vec![0; FLUSH_BYTES];
            *self.received_inside = true;
            match self.transport.receive(&mut buffer) {
                Ok(Received::Bytes(n)) => {
                    self.client.counters.add(Counter::BytesReceived, n as u64);
                    self.pending.extend_from_slice(buffer.get(..n).unwrap_or_default());
                }
                Ok(Received::Later) => {
                    interrupt.check_wait()?;
                    let front = self.front;
                    if !self.transport.wait_for_input(INPUT_WAIT, &|wait| front.pool().blocking(wait))
                        && started.elapsed() >= timeout
                    {
                        self.broken = true;
                        return Err(Error::new(&ER_NET_READ_INTERRUPTED, &[]));
                    }
                }
                Ok(Received::Closed) | Err(_) => {
                    self.broken = true;
                    return Err(Error::new(&ER_NET_READ_ERROR, &[]));
                }
            }
        }
    }

    /// A packet from what has arrived.
    fn received(&mut self, out: &mut Vec<u8>) -> Result<Option<bool>> {
        let mut take = |reader: &mut PacketReader, input: &mut &[u8]| match reader.next(input) {
            Ok(None) => Ok(None),
            Ok(Some(packet)) => {
                out.extend_from_slice(&packet);
                Ok(Some(!packet.is_empty()))
            }
            Err(error) => Err(Error::with_message(&ER_NET_READ_ERROR, error.to_string())),
        };
        let mut taken = Ok(None);
        if !self.rest.is_empty() {
            taken = take(self.reader, &mut self.rest);
        }
        if matches!(taken, Ok(None)) && !self.pending.is_empty() {
            let mut input = &self.pending[..];
            taken = take(self.reader, &mut input);
            let used = self.pending.len() - input.len();
            self.pending.drain(..used);
        }
        self.broken |= taken.is_err();
        taken
    }

    pub fn put_error(&mut self, error: &Error) {
        self.writer.packet(|out| put_err(out, error.code(), error.sqlstate(), error.message()));
    }

    /// With its message in the charset of a collation; 0 stands for UTF-8.
    pub fn put_error_in(&mut self, error: &Error, collation: u16) {
        match Collation::by_id(CollationId(collation)).map(|collation| collation.charset) {
            Some(charset) if !charset.is_binary() && !charset.name.starts_with("utf8") => {
                let text = message_in(charset, error.message());
                self.writer.packet(|out| put_err_bytes(out, error.code(), error.sqlstate(), &text));
            }
            _ => self.put_error(error),
        }
    }
}

/// A message in a charset, as much of it as goes into a packet. As MySQL does, a character that the charset lacks is its number: `\00E9`.
fn message_in(charset: &Charset, message: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for c in message.chars() {
        let begin = out.len();
        if !charset.encode(u32::from(c), &mut out) {
            let number = if u32::from(c) <= 0xFFFF { format!("\\{:04X}", u32::from(c)) } else { "?".to_string() };
            number.chars().for_each(|digit| {
                charset.encode(u32::from(digit), &mut out);
            });
        }
        if out.len() >= ERROR_TEXT_BYTES_MAX {
            out.truncate(begin);
            break;
        }
    }
    out
}
