//! The server whose data is copied, over a connection to it.

use std::time::{Duration, Instant};

use vaquita_replication::address::Address;
use vaquita_replication::connection::{Connection, error_of};
use vaquita_wire::copy::{About, CopiedFile, CopyAnswer, CopyRequest};

use crate::Result;

/// What a backup is taken of.
pub trait Source {
    /// Makes the copy: what the server is, and the files.
    fn begin(&mut self) -> Result<(About, Vec<CopiedFile>)>;

    /// The content of a file, piece by piece. Fewer bytes than it should have are an error.
    fn read(&mut self, file: &CopiedFile, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>;
}

/// A server, over the network.
pub struct Donor {
    connection: Connection,
    limit: Option<Limit>,
}

/// Bytes a second that are read at most.
struct Limit {
    bytes_s: u64,
    began: Instant,
    read: u64,
}

impl Limit {
    fn took(&mut self, bytes: usize) {
        self.read += bytes as u64;
        let due = Duration::from_secs_f64(self.read as f64 / self.bytes_s as f64);
        if let Some(ahead) = due.checked_sub(self.began.elapsed()) {
            std::thread::sleep(ahead);
        }
    }
}

impl Donor {
    /// The server keeps what it copies until the connection ends.
    pub fn open(address: &Address, limit_bytes_s: Option<u64>) -> Result<Donor> {
        let connection = Connection::open(&address.target()).map_err(|error| format!("{address}: {error}"))?;
        let limit = limit_bytes_s.map(|bytes_s| Limit { bytes_s: bytes_s.max(1), began: Instant::now(), read: 0 });
        Ok(Donor { connection, limit })
    }

    fn ask(&mut self, request: &CopyRequest<'_>, take: &mut dyn FnMut(CopyAnswer<'_>) -> Result<()>) -> Result<()> {
        self.connection.command(&request.encode())?;
        loop {
            let packet = self.connection.packet()?;
            if packet.first() == Some(&0xff) {
                return Err(error_of(&packet).into());
            }
            match CopyAnswer::decode(&packet).map_err(|_| "the server's answer makes no sense: is it a Vaquita?")? {
                CopyAnswer::End => return Ok(()),
                answer => take(answer)?,
            }
        }
    }
}

impl Source for Donor {
    fn begin(&mut self) -> Result<(About, Vec<CopiedFile>)> {
        let (mut about, mut files) = (None, Vec::new());
        self.ask(&CopyRequest::Begin, &mut |answer| {
            match answer {
                CopyAnswer::About(told) => about = Some(told),
                CopyAnswer::File(file) => files.push(file),
                CopyAnswer::Piece(_) | CopyAnswer::End => {}
            }
            Ok(())
        })?;
        let about = about.ok_or("the server is no Vaquita: it does not say whose data it copies")?;
        Ok((about, files))
    }

    fn read(&mut self, file: &CopiedFile, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut bytes = 0;
        let mut limit = self.limit.take();
        let request = CopyRequest::Read { name: file.name.as_bytes(), offset: 0 };
        let done = self.ask(&request, &mut |answer| {
            if let CopyAnswer::Piece(piece) = answer {
                bytes += piece.len() as u64;
                take(piece)?;
                if let Some(limit) = &mut limit {
                    limit.took(piece.len());
                }
            }
            Ok(())
        });
        self.limit = limit;
        done?;
        match bytes == file.bytes {
            true => Ok(()),
            false => Err(format!("the server sent {bytes} bytes of {}, which has {}", file.name, file.bytes).into()),
        }
    }
}
