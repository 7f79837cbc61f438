//! A client's byte stream: a socket, TLS in it if the client asked, compression in that.
//!
//! rustls and the compressed framing are sans-IO; this file moves their bytes. Sockets are
//! non-blocking: `receive` returns what is there, `send` waits for a slow client with `poll`
//! (the pool replaces the waiting thread) at most `net_write_timeout`.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, SendFlags};
use rustls::ServerConnection;
use vaquita_wire::compress::Algorithm;

use super::compression::Compression;

/// Runs a wait while another pool thread takes this one's place.
pub type Blocking<'a> = &'a dyn Fn(&mut dyn FnMut());

/// How long a client that has not logged in yet may not read: MySQL's `net_write_timeout`.
const LOGIN_WRITE_WAIT: Duration = Duration::from_secs(60);

pub enum Received {
    Bytes(usize),
    /// Nothing is there now.
    Later,
    Closed,
}

pub struct Transport {
    socket: OwnedFd,
    tls: Option<Box<ServerConnection>>,
    /// Bytes that came out of TLS while more went in: rustls holds no more than a record's.
    opened: Vec<u8>,
    compression: Option<Box<Compression>>,
    /// `net_write_timeout` of the session.
    pub write_wait: Duration,
    pub bytes_received: u64,
    pub bytes_sent: u64,
}

impl Transport {
    pub fn new(socket: OwnedFd) -> Transport {
        Transport {
            socket,
            tls: None,
            opened: Vec::new(),
            compression: None,
            write_wait: LOGIN_WRITE_WAIT,
            bytes_received: 0,
            bytes_sent: 0,
        }
    }

    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Everything from here on is TLS; `early` was received already.
    pub fn start_tls(&mut self, config: &Arc<rustls::ServerConfig>, early: &[u8]) -> io::Result<()> {
        let mut tls = ServerConnection::new(config.clone()).map_err(io::Error::other)?;
        absorb(&mut tls, early, &mut self.opened)?;
        self.tls = Some(Box::new(tls));
        self.send_tls(&|wait| wait())
    }

    pub fn tls(&self) -> Option<&ServerConnection> {
        self.tls.as_deref()
    }

    /// Everything from here on is in compressed frames; `early` was received already.
    pub fn start_compression(&mut self, algorithm: Algorithm, early: &[u8]) {
        let mut compression = Box::new(Compression::new(algorithm));
        compression.received(early);
        self.compression = Some(compression);
    }

    pub fn compression(&mut self) -> Option<&mut Compression> {
        self.compression.as_deref_mut()
    }

    /// Bytes may be waiting here that the socket does not announce.
    pub fn is_layered(&self) -> bool {
        self.tls.is_some() || self.compression.is_some()
    }

    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        let Some(mut compression) = self.compression.take() else { return self.receive_packets(buffer) };
        let received = self.receive_compressed(&mut compression, buffer);
        self.compression = Some(compression);
        received
    }

    fn receive_compressed(&mut self, compression: &mut Compression, buffer: &mut [u8]) -> io::Result<Received> {
        let mut packed = [0u8; 16 << 10];
        loop {
            match compression.take(buffer).map_err(|error| io::Error::other(format!("{error:?}")))? {
                0 => {}
                n => return Ok(Received::Bytes(n)),
            }
            match self.receive_packets(&mut packed)? {
                Received::Bytes(n) => compression.received(&packed[..n]),
                other => return Ok(other),
            }
        }
    }

    fn receive_packets(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        if self.tls.is_some() {
            return self.receive_tls(buffer);
        }
        let received = receive_raw(&self.socket, buffer)?;
        if let Received::Bytes(n) = received {
            self.bytes_received += n as u64;
        }
        Ok(received)
    }

    fn receive_tls(&mut self, buffer: &mut [u8]) -> io::Result<Received> {
        let Some(tls) = &mut self.tls else { return Ok(Received::Closed) };
        loop {
            if !self.opened.is_empty() {
                let n = self.opened.len().min(buffer.len());
                buffer[..n].copy_from_slice(&self.opened[..n]);
                self.opened.drain(..n);
                if self.opened.is_empty() {
                    // An idle connection owns no buffer.
                    self.opened = Vec::new();
                }
                self.bytes_received += n as u64;
                return Ok(Received::Bytes(n));
            }
            match tls.reader().read(buffer) {
                Ok(0) => return Ok(Received::Closed),
                Ok(n) => {
                    self.bytes_received += n as u64;
                    return Ok(Received::Bytes(n));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(Received::Closed),
                Err(e) => return Err(e),
            }
            let mut sealed = [0u8; 16 << 10];
            match receive_raw(&self.socket, &mut sealed)? {
                Received::Bytes(n) => {
                    let outcome = absorb(tls, &sealed[..n], &mut self.opened);
                    if tls.wants_write() {
                        let mut out = Vec::new();
                        tls.write_tls(&mut out)?;
                        send_raw(&self.socket, &out, self.write_wait, &|wait| wait())?;
                    }
                    outcome?;
                }
                other => return Ok(other),
            }
        }
    }

    /// Waits until bytes may have arrived; false if none came within `timeout`.
    pub fn wait_for_input(&self, timeout: Duration, blocking: Blocking<'_>) -> bool {
        wait_for(&self.socket, PollFlags::IN, timeout, blocking)
    }

    /// Waits until bytes may have arrived or `other` can be read, at most so long. What has arrived already must have been received.
    pub fn wait_for_input_or(&self, other: Option<&OwnedFd>, timeout: Duration) {
        let timeout = timespec(timeout);
        let input = PollFd::new(&self.socket, PollFlags::IN);
        let _ = match other {
            Some(other) => poll(&mut [input, PollFd::new(other, PollFlags::IN)], Some(&timeout)),
            None => poll(&mut [input], Some(&timeout)),
        };
    }

    /// Sends all of `bytes`, waiting for the client if it does not read.
    pub fn send(&mut self, bytes: &[u8], blocking: Blocking<'_>) -> io::Result<()> {
        let packed = self.compression.as_mut().map(|compression| compression.wrap(bytes));
        let bytes = packed.as_deref().unwrap_or(bytes);
        self.bytes_sent += bytes.len() as u64;
        let Some(tls) = &mut self.tls else {
            return send_raw(&self.socket, bytes, self.write_wait, blocking);
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let n = tls.writer().write(rest)?;
            rest = &rest[n..];
            let mut out = Vec::with_capacity(n + 256);
            while tls.wants_write() {
                tls.write_tls(&mut out)?;
            }
            send_raw(&self.socket, &out, self.write_wait, blocking)?;
        }
        Ok(())
    }

    fn send_tls(&mut self, blocking: Blocking<'_>) -> io::Result<()> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        let mut out = Vec::new();
        while tls.wants_write() {
            tls.write_tls(&mut out)?;
        }
        send_raw(&self.socket, &out, self.write_wait, blocking)
    }

    pub fn shutdown(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            let mut out = Vec::new();
            let _ = tls.write_tls(&mut out);
            let _ = rustix::net::send(&self.socket, &out, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
    }
}

/// Takes in received bytes; what was sealed in them is appended to `opened`.
fn absorb(tls: &mut ServerConnection, mut sealed: &[u8], opened: &mut Vec<u8>) -> io::Result<()> {
    while !sealed.is_empty() {
        tls.read_tls(&mut sealed)?;
        let state = tls.process_new_packets().map_err(io::Error::other)?;
        let plain = state.plaintext_bytes_to_read();
        let before = opened.len();
        opened.resize(before + plain, 0);
        tls.reader().read_exact(&mut opened[before..])?;
    }
    Ok(())
}

fn receive_raw(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<Received> {
    loop {
        match rustix::net::recv(socket, &mut *buffer, RecvFlags::DONTWAIT) {
            Ok((0, _)) => return Ok(Received::Closed),
            Ok((n, _)) => return Ok(Received::Bytes(n)),
            Err(rustix::io::Errno::AGAIN) => return Ok(Received::Later),
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

fn send_raw(socket: &OwnedFd, mut bytes: &[u8], timeout: Duration, blocking: Blocking<'_>) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(n) => bytes = &bytes[n..],
            Err(rustix::io::Errno::AGAIN) => {
                if !wait_for(socket, PollFlags::OUT, timeout, blocking) {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}

fn timespec(time: Duration) -> rustix::event::Timespec {
    rustix::event::Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) }
}

fn wait_for(socket: &OwnedFd, events: PollFlags, timeout: Duration, blocking: Blocking<'_>) -> bool {
    let deadline = Instant::now() + timeout;
    let mut ready = false;
    blocking(&mut || {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match poll(&mut [PollFd::new(socket, events)], Some(&timespec(left))) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(0) | Err(_) => return,
                Ok(_) => {
                    ready = true;
                    return;
                }
            }
        }
    });
    ready
}
