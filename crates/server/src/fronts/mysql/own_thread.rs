//! A connection that has a thread of its own, which waits for its client and for nothing else: what `dump` and `copies` have in common.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use vaquita_session::clients::Client;
use vaquita_session::counters::Counter;
use vaquita_wire::packet::PacketWriter;

use super::front::Front;
use super::transport::Transport;
use crate::pool::Gate;

pub struct OwnThread<'c> {
    pub transport: &'c mut Transport,
    pub writer: PacketWriter,
    pub front: &'c Arc<Front>,
    pub client: &'c Client,
    gate: &'c Gate,
}

impl<'c> OwnThread<'c> {
    /// `seq`: the number of the first packet of the answer.
    pub fn new(
        transport: &'c mut Transport,
        front: &'c Arc<Front>,
        client: &'c Client,
        gate: &'c Gate,
        seq: u8,
    ) -> OwnThread<'c> {
        OwnThread { transport, writer: PacketWriter::with_buffer(Vec::new(), seq), front, client, gate }
    }

    /// The client is gone or killed, or the server stops.
    pub fn must_end(&self) -> bool {
        self.client.must_close() || self.gate.hung_up() || self.front.stopping.load(Ordering::Relaxed)
    }

    /// Sends what has collected. An error: the client is gone.
    pub fn flush(&mut self) -> io::Result<()> {
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
