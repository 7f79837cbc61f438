//! A server that speaks just enough to send binary logs that were recorded: logins, statements with one value, the dump of a log.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use vaquita_wire::binlog::{EventReader, event_type};
use vaquita_wire::codec::put_lenenc_bytes;
use vaquita_wire::handshake::{Greeting, NONCE_BYTES, put_greeting};
use vaquita_wire::packet::{PacketReader, PacketWriter};
use vaquita_wire::result::{OkPacket, parameter_definition, put_column_definition, put_eof, put_err, put_ok};

pub fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../wire/src/golden/binlog/{name}.binlog"))
}

/// The events of a recorded log up to the one that says where the next begins; a bit of the byte at `damaged` is turned.
pub fn events_of(name: &str, damaged: Option<usize>) -> Vec<Vec<u8>> {
    let mut log = std::fs::read(recorded(name)).expect("recorded");
    let mut reader = EventReader::of_file();
    reader.feed(&log);
    let mut places = Vec::new();
    while let Some(raw) = reader.next_event().expect("a log") {
        places.push(raw.position as usize..raw.end_position() as usize);
        if raw.header.event_type == event_type::ROTATE {
            break;
        }
    }
    if let Some(at) = damaged {
        log[at] ^= 1;
    }
    places.into_iter().map(|place| log[place].to_vec()).collect()
}

/// What the source is.
pub struct Serves {
    pub version: &'static str,
    /// The events of its logs, one behind the other.
    pub events: Vec<Vec<u8>>,
    /// A dump ends with error 1236 instead of waiting for more, and is the last.
    pub ends: bool,
    /// Of each connection in turn, how many events are sent before it breaks; none: all.
    pub breaks: Vec<usize>,
}

/// What clients have asked, a connection after the other.
pub type Asked = Arc<Mutex<Vec<Vec<u8>>>>;

/// The port, and what is asked.
pub fn start(serves: Serves) -> (u16, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bound");
    let port = listener.local_addr().expect("bound").port();
    let asked = Asked::default();
    let told = asked.clone();
    std::thread::spawn(move || {
        let mut breaks = serves.breaks.clone().into_iter();
        while let Ok((stream, _)) = listener.accept() {
            let connection = Connection { stream, reader: PacketReader::new(1 << 20), seq: 0 };
            // A client that has gone is no concern of the next.
            let _ = connection.serve(&serves, breaks.next(), &told);
            if serves.ends {
                return;
            }
        }
    });
    (port, asked)
}

struct Connection {
    stream: TcpStream,
    reader: PacketReader,
    seq: u8,
}

impl Connection {
    fn send(&mut self, fill: impl FnOnce(&mut Vec<u8>)) -> std::io::Result<()> {
        let mut writer = PacketWriter::with_buffer(Vec::new(), self.seq);
        writer.packet(fill);
        self.seq = writer.seq();
        self.stream.write_all(writer.bytes())
    }

    /// `None`: the client has gone.
    fn receive(&mut self, seq: u8) -> Option<Vec<u8>> {
        self.reader.expect_seq(seq);
        let mut bytes = [0; 4096];
        loop {
            let len = self.stream.read(&mut bytes).ok().filter(|len| *len > 0)?;
            if let Some(packet) = self.reader.next(&mut &bytes[..len]).expect("a packet") {
                self.seq = self.reader.next_seq();
                return Some(packet.to_vec());
            }
        }
    }

    fn serve(mut self, serves: &Serves, breaks: Option<usize>, asked: &Asked) -> std::io::Result<()> {
        const CAPS: u32 = vaquita_wire::caps::SERVER_CAPABILITIES & !vaquita_wire::caps::client::DEPRECATE_EOF;
        let greeting = Greeting {
            server_version: serves.version,
            connection_id: 1,
            nonce: &[7; NONCE_BYTES],
            capabilities: CAPS,
            charset: 255,
            status: 2,
            auth_plugin: "caching_sha2_password",
        };
        self.send(|out| put_greeting(out, &greeting))?;
        self.receive(1);
        self.send(|out| put_ok(out, CAPS, &OkPacket::default()))?;
        loop {
            let Some(command) = self.receive(0) else { return Ok(()) };
            asked.lock().expect("not poisoned").push(command.clone());
            let text = String::from_utf8_lossy(&command[1..]).into_owned();
            match command.first() {
                Some(0x12 | 0x1e) => break,
                _ if text.starts_with("SELECT") => {
                    let value = match () {
                        () if text.contains("server_id") => "77",
                        () if text.contains("server_uuid") => "00000000-0000-0000-0000-000000000077",
                        () if text.contains("UNIX_TIMESTAMP") => "1800000000",
                        () => "CRC32",
                    };
                    self.send(|out| out.push(1))?;
                    self.send(|out| put_column_definition(out, &parameter_definition()))?;
                    self.send(|out| put_eof(out, 2, 0))?;
                    self.send(|out| put_lenenc_bytes(out, value.as_bytes()))?;
                    self.send(|out| put_eof(out, 2, 0))?;
                }
                _ => self.send(|out| put_ok(out, CAPS, &OkPacket::default()))?,
            }
        }
        let left = breaks.unwrap_or(usize::MAX);
        for event in serves.events.iter().take(left) {
            self.send(|out| {
                out.push(0);
                out.extend_from_slice(event);
            })?;
        }
        if left < serves.events.len() {
            return Ok(());
        }
        if serves.ends {
            return self.send(|out| put_err(out, 1236, "HY000", "no more"));
        }
        self.receive(0);
        Ok(())
    }
}
