//! A connection that takes a copy of the data, until it ends: COM_CLONE as `wire::copy` has it.
//!
//! It has a thread of its own. The copy is a directory of hard links; it goes with the connection, and a start removes what was left.

use std::io;
use std::time::{Duration, Instant};

use vaquita_session::counters::Counter;
use vaquita_session::session::Session;
use vaquita_session::variables::Var;
use vaquita_types::Error;
use vaquita_wire::caps::command;
use vaquita_wire::copy::{CopyAnswer, CopyRequest, PIECE_BYTES};
use vaquita_wire::packet::PacketReader;
use vaquita_wire::result::put_err;

use super::own_thread::OwnThread;
use super::transport::Received;
use crate::data_copy::{DataCopy, no_copy};

/// How long a wait for the client lasts before the thread looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(500);
const REQUEST_BYTES_MAX: usize = 4096;
const INPUT_BYTES: usize = 4096;

pub struct CopyConnection<'c> {
    own: OwnThread<'c>,
    copy: Option<DataCopy>,
}

impl<'c> CopyConnection<'c> {
    pub fn new(own: OwnThread<'c>) -> CopyConnection<'c> {
        CopyConnection { own, copy: None }
    }

    /// Makes the copy, and answers what follows, until the client leaves, must go, or asks for nothing for `wait_timeout`.
    pub fn run(&mut self, session: &Session) {
        let silence_max = Duration::from_secs(session.server.globals.number(Var::WaitTimeout));
        let mut reader = PacketReader::new(REQUEST_BYTES_MAX);
        if self.answer(&CopyRequest::Begin, session).is_err() {
            return;
        }
        reader.expect_seq(0);
        let (mut input, mut asked) = ([0; INPUT_BYTES], Instant::now());
        while !self.own.must_end() && asked.elapsed() < silence_max {
            self.own.client.set_state("Waiting for next request of a copy");
            match self.own.transport.receive(&mut input) {
                Ok(Received::Bytes(received)) => {
                    self.own.client.counters.add(Counter::BytesReceived, received as u64);
                    if self.requests(&mut reader, input.get(..received).unwrap_or_default(), session).is_none() {
                        return;
                    }
                    asked = Instant::now();
                }
                Ok(Received::Later) => {
                    self.own.transport.wait_for_input(LOOK, &|wait| wait());
                }
                Ok(Received::Closed) | Err(_) => return,
            }
        }
    }

    /// Answers what is whole of what has come; `None`: that was the last.
    fn requests(&mut self, reader: &mut PacketReader, mut input: &[u8], session: &Session) -> Option<()> {
        loop {
            let Some(request) = reader.next(&mut input).ok()?.map(|payload| payload.to_vec()) else { return Some(()) };
            let seq = self.own.transport.compression().map_or(1, |compression| compression.begin_answer());
            self.own.writer.set_seq(seq);
            let request = request.strip_prefix(&[command::CLONE]).and_then(|body| CopyRequest::decode(body).ok())?;
            self.answer(&request, session).ok()?;
            reader.expect_seq(0);
        }
    }

    /// An error: the client is gone.
    fn answer(&mut self, request: &CopyRequest<'_>, session: &Session) -> io::Result<()> {
        // KILL QUERY was for the request before.
        self.own.client.interrupt.clear();
        self.own.client.begin_command("Clone", None);
        let done = match request {
            CopyRequest::Begin => self.begin(session),
            CopyRequest::Read { name, offset } => self.read(&String::from_utf8_lossy(name), *offset),
        };
        match done {
            Ok(()) => self.own.writer.packet(|out| CopyAnswer::End.encode(out)),
            Err(Ended::Gone(error)) => return Err(error),
            Err(Ended::Failed(error)) => {
                tracing::warn!(connection = self.own.client.id, "a copy of the data failed: {}", error.message());
                self.own.writer.packet(|out| put_err(out, error.code(), error.sqlstate(), error.message()));
            }
        }
        self.own.flush()
    }

    fn begin(&mut self, session: &Session) -> std::result::Result<(), Ended> {
        self.own.client.set_state("Making a copy of the data");
        // One at a time: the directory has the connection's name.
        self.copy = None;
        let copy = DataCopy::make(&session.server, &self.own.client.id.to_string())?;
        tracing::info!(connection = self.own.client.id, files = copy.files.len(), "a copy of the data is being fetched");
        self.own.writer.packet(|out| CopyAnswer::About(copy.about.clone()).encode(out));
        for file in &copy.files {
            self.own.writer.packet(|out| CopyAnswer::File(file.clone()).encode(out));
            if self.own.writer.len() >= PIECE_BYTES {
                self.own.flush()?;
            }
        }
        self.copy = Some(copy);
        Ok(())
    }

    fn read(&mut self, name: &str, offset: u64) -> std::result::Result<(), Ended> {
        self.own.client.set_state("Sending a copy of the data");
        let copy = self.copy.take().ok_or_else(|| no_copy(name))?;
        let sent = copy.read(name, offset, &mut |piece| {
            if self.own.must_end() {
                return Err(Ended::Gone(io::ErrorKind::Interrupted.into()));
            }
            self.own.client.interrupt.check_wait()?;
            self.own.writer.packet(|out| CopyAnswer::Piece(piece).encode(out));
            Ok(self.own.flush()?)
        });
        self.copy = Some(copy);
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
