//! The bytes of one session: a socket that never blocks, TLS in it, and what is done to them on their way.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, sockopt};
use rustls::pki_types::ServerName;

use super::mutation::{Level, Plan, change};
use super::traffic::Traffic;
use crate::random::Random;

/// Of a client that will not read, so that the server has to wait for it soon.
const DEAF_RECEIVE_BYTES: usize = 4096;
/// So many bytes are sent slowly by a client that does so.
const DRIP_BYTES: usize = 200;
/// Addresses of this machine that clients come from: one has too few ports for all that were closed within a minute.
const SOURCES: u64 = 250;

pub struct Channel {
    pub socket: TcpStream,
    tls: Option<Box<rustls::ClientConnection>>,
    out: Vec<u8>,
    sent: usize,
    drip: Option<usize>,
    sent_slowly: usize,
}

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub enum Heard {
    Bytes,
    Nothing,
    /// The server has closed, or what it says is no TLS.
    End,
}

impl Channel {
    pub fn connect(number: u64, port: u16, plan: &Plan) -> std::io::Result<Channel> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket: OwnedFd = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, Some(ipproto::TCP))?;
        if plan.deaf {
            sockopt::set_socket_recv_buffer_size(&socket, DEAF_RECEIVE_BYTES)?;
        }
        let source = [127, 0, 0, 2 + (number % SOURCES) as u8];
        rustix::net::bind(&socket, &std::net::SocketAddr::from((source, 0)))?;
        match rustix::net::connect(&socket, &std::net::SocketAddr::from(([127, 0, 0, 1], port))) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        let socket = TcpStream::from(socket);
        socket.set_nodelay(true)?;
        Ok(Channel { socket, tls: None, out: Vec::new(), sent: 0, drip: plan.drip, sent_slowly: 0 })
    }

    pub fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// What is said from here on is sealed.
    pub fn start_tls(&mut self, config: &Arc<rustls::ClientConfig>) {
        let name = ServerName::try_from("localhost").map(|name| rustls::ClientConnection::new(config.clone(), name));
        if let Ok(Ok(mut tls)) = name {
            tls.set_buffer_limit(None);
            self.tls = Some(Box::new(tls));
        }
    }

    /// Bytes that wait to be sent.
    pub fn is_full(&self) -> bool {
        self.sent < self.out.len()
    }

    /// Queues bytes of packets or frames, changed on the way as the plan says for `unit`; `keep` of what is queued for it then stays.
    pub fn say(&mut self, bytes: &[u8], unit: usize, plan: &Plan, random: &mut Random, others: &[Traffic]) {
        let mut raw = match &mut self.tls {
            Some(tls) => {
                // Fails only after its end, when nobody hears it.
                let _ = tls.writer().write_all(bytes);
                Vec::new()
            }
            None => bytes.to_vec(),
        };
        self.seal(&mut raw);
        for _ in 0..plan.changes(unit, Level::Raw) {
            change(random, &mut raw, others);
        }
        if plan.end_in == Some(unit) {
            raw.truncate(random.below(raw.len() as u64 + 1) as usize);
        }
        self.out.extend_from_slice(&raw);
    }

    fn seal(&mut self, raw: &mut Vec<u8>) {
        while let Some(tls) = self.tls.as_mut().filter(|tls| tls.wants_write()) {
            if tls.write_tls(raw).is_err() {
                return;
            }
        }
    }

    /// Sends what it may; false if nobody takes it any more.
    pub fn send(&mut self) -> bool {
        while let Some(mut bytes) = self.out.get(self.sent..).filter(|bytes| !bytes.is_empty()) {
            let slow = self.drip.filter(|_| self.sent_slowly < DRIP_BYTES);
            if let Some(some) = slow {
                bytes = &bytes[..some.min(bytes.len())];
            }
            match self.socket.write(bytes) {
                Ok(n) => {
                    self.sent += n;
                    self.sent_slowly += n;
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return true,
                Err(_) => return false,
            }
            if slow.is_some() {
                return true;
            }
        }
        self.out.clear();
        self.sent = 0;
        true
    }

    /// Appends what came to `heard`.
    pub fn receive(&mut self, buffer: &mut [u8], heard: &mut Vec<u8>) -> Heard {
        let n = match self.socket.read(buffer) {
            Ok(0) => return Heard::End,
            Ok(n) => n,
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Heard::Nothing,
            Err(_) => return Heard::End,
        };
        let Some(tls) = &mut self.tls else {
            heard.extend_from_slice(&buffer[..n]);
            return Heard::Bytes;
        };
        let mut sealed = &buffer[..n];
        while !sealed.is_empty() {
            let Ok(state) = tls.read_tls(&mut sealed).map_err(drop).and_then(|_| tls.process_new_packets().map_err(drop)) else {
                return Heard::End;
            };
            let before = heard.len();
            heard.resize(before + state.plaintext_bytes_to_read(), 0);
            if tls.reader().read_exact(&mut heard[before..]).is_err() {
                return Heard::End;
            }
        }
        let mut raw = Vec::new();
        self.seal(&mut raw);
        self.out.extend_from_slice(&raw);
        Heard::Bytes
    }

    /// Nothing more will be sent.
    pub fn shut(&self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }

    /// Closing will be a reset.
    pub fn will_reset(&self) {
        let _ = sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO));
    }
}
