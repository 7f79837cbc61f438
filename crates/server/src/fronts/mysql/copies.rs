//! A connection that takes a copy of the data, until it ends: COM_CLONE as `wire::copy` has it.
//!
//! It has a thread of its own. The copy is a directory of hard links; it goes with the connection, and a start removes what was left.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use vaquita_session::clients::Client;
use vaquita_session::counters::Counter;
use vaquita_session::session::Session;
use vaquita_types::Error;
use vaquita_wire::caps::command;
use vaquita_wire::copy::{CopyAnswer, CopyRequest, PIECE_BYTES};
use vaquita_wire::packet::{PacketReader, PacketWriter};
use vaquita_wire::result::put_err;

use super::front::Front;
use super::transport::{Received, Transport};
use crate::data_copy::{DataCopy, no_copy};
use crate::pool::Gate;

/// How long a wait for the client lasts before the thread looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(500);
const REQUEST_BYTES_MAX: usize = 4096;
const INPUT_BYTES: usize = 4096;

pub struct CopyConnection<'c> {
    transport: &'c mut Transport,
    writer: PacketWriter,
    front: &'c Arc<Front>,
    client: &'c Client,
    gate: &'c Gate,
    copy: Option<DataCopy>,
}

impl<'c> CopyConnection<'c> {
    pub fn new(
        transport: &'c mut Transport,
        front: &'c Arc<Front>,
        client: &'c Client,
        gate: &'c Gate,
        seq: u8,
    ) -> CopyConnection<'c> {
        let writer = PacketWriter::with_buffer(Vec::new(), seq);
        CopyConnection { transport, writer, front, client, gate, copy: None }
    }

    /// Answers the first request and all that follow, until the client leaves or must go.
    pub fn run(&mut self, first: &[u8], session: &Session) {
        self.client.begin_command("Clone", None);
        let mut reader = PacketReader::new(REQUEST_BYTES_MAX);
        if self.answer(first, session).is_err() {
            return;
        }
        reader.expect_seq(0);
        let mut input = [0; INPUT_BYTES];
        while !self.must_end() {
            self.client.set_state("Waiting for next request of a copy");
            match self.transport.receive(&mut input) {
                Ok(Received::Bytes(received)) => {
                    self.client.counters.add(Counter::BytesReceived, received as u64);
                    let mut rest = input.get(..received).unwrap_or_default();
                    loop {
                        let seq = match self.transport.compression() {
                            Some(compression) => compression.begin_answer(),
                            None => 1,
                        };
                        let request = match reader.next(&mut rest) {
                            Ok(Some(payload)) => payload.to_vec(),
                            Ok(None) => break,
                            Err(_) => return,
                        };
                        self.writer.set_seq(seq);
                        match request.split_first() {
                            Some((&command::CLONE, body)) if self.answer(body, session).is_ok() => reader.expect_seq(0),
                            _ => return,
                        }
                    }
                }
                Ok(Received::Later) => {
                    self.transport.wait_for_input(LOOK, &|wait| wait());
                }
                Ok(Received::Closed) | Err(_) => return,
            }
        }
    }

    fn must_end(&self) -> bool {
        self.client.must_close() || self.gate.hung_up() || self.front.stopping.load(Ordering::Relaxed)
    }

    /// An error: the client is gone.
    fn answer(&mut self, body: &[u8], session: &Session) -> io::Result<()> {
        let done = match CopyRequest::decode(body) {
            Ok(CopyRequest::Begin) => self.begin(session),
            Ok(CopyRequest::Read { name, offset }) => self.read(&String::from_utf8_lossy(name), offset),
            Err(error) => {
                self.writer.packet(|out| vaquita_wire::result::put_protocol_error(out, error));
                return self.flush();
            }
        };
        match done {
            Ok(()) => self.writer.packet(|out| CopyAnswer::End.encode(out)),
            Err(Ended::Gone(error)) => return Err(error),
            Err(Ended::Failed(error)) => {
                tracing::warn!(connection = self.client.id, "a copy of the data failed: {}", error.message());
                self.writer.packet(|out| put_err(out, error.code(), error.sqlstate(), error.message()));
            }
        }
        self.flush()
    }

    fn begin(&mut self, session: &Session) -> std::result::Result<(), Ended> {
        self.client.set_state("Making a copy of the data");
        // One at a time: the directory has the connection's name.
        self.copy = None;
        let copy = DataCopy::make(&session.server, &self.client.id.to_string())?;
        tracing::info!(connection = self.client.id, files = copy.files.len(), "a copy of the data is being fetched");
        self.writer.packet(|out| CopyAnswer::About(copy.about.clone()).encode(out));
        for file in &copy.files {
            self.writer.packet(|out| CopyAnswer::File(file.clone()).encode(out));
            if self.writer.len() >= PIECE_BYTES {
                self.flush()?;
            }
        }
        self.copy = Some(copy);
        Ok(())
    }

    fn read(&mut self, name: &str, offset: u64) -> std::result::Result<(), Ended> {
        self.client.set_state("Sending a copy of the data");
        let copy = self.copy.take().ok_or_else(|| no_copy(name))?;
        let sent = copy.read(name, offset, &mut |piece| {
            if self.must_end() {
                return Err(Ended::Gone(io::ErrorKind::Interrupted.into()));
            }
            self.writer.packet(|out| CopyAnswer::Piece(piece).encode(out));
            Ok(self.flush()?)
        });
        self.copy = Some(copy);
        sent
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.writer.is_empty() {
            return Ok(());
        }
        self.client.counters.add(Counter::BytesSent, self.writer.len() as u64);
        let sent = self.transport.send(self.writer.bytes(), &|wait| wait());
        self.writer.clear();
        if let Some(compression) = self.transport.compression() {
            self.writer.set_seq(compression.seq());
        }
        sent
    }
}

/// Why a request has no whole answer.
enum Ended {
    Gone(io::Error),
    Failed(Error),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Ended {
        Ended::Gone(error)
    }
}

impl From<Error> for Ended {
    fn from(error: Error) -> Ended {
        Ended::Failed(error)
    }
}
