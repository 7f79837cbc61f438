//! A client that talks through TLS and compression, and several commands at once through either.

use std::io::{Read, Result, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use vaquita_wire::caps::client as cap;
use vaquita_wire::compress::{Algorithm, CompressedReader, CompressedWriter, Workspace};
use vaquita_wire::handshake::{ConnectAttributes, HandshakeResponse, put_handshake_response, put_ssl_request};
use vaquita_wire::packet::{PacketReader, PacketWriter};

use crate::server::Server;
use crate::tls::trusting_config;

const CAPS: u32 = cap::LONG_PASSWORD
    | cap::PROTOCOL_41
    | cap::SECURE_CONNECTION
    | cap::PLUGIN_AUTH
    | cap::PLUGIN_AUTH_LENENC_CLIENT_DATA
    | cap::TRANSACTIONS
    | cap::DEPRECATE_EOF;

#[derive(Clone, Copy, Debug)]
pub struct Layers {
    pub tls: bool,
    pub compression: Option<Algorithm>,
}

impl Layers {
    pub const ALL: [Layers; 6] = [
        Layers { tls: false, compression: None },
        Layers { tls: false, compression: Some(Algorithm::Zlib) },
        Layers { tls: false, compression: Some(Algorithm::Zstd { level: 3 }) },
        Layers { tls: true, compression: None },
        Layers { tls: true, compression: Some(Algorithm::Zlib) },
        Layers { tls: true, compression: Some(Algorithm::Zstd { level: 3 }) },
    ];
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<rustls::StreamOwned<rustls::ClientConnection, TcpStream>>),
}

impl Stream {
    fn io(&mut self) -> &mut dyn ReadWrite {
        match self {
            Stream::Plain(stream) => stream,
            Stream::Tls(stream) => stream,
        }
    }
}

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

pub struct Client {
    stream: Stream,
    compression: Option<(CompressedReader, CompressedWriter)>,
    reader: PacketReader,
    input: Vec<u8>,
    workspace: Workspace,
}

impl Client {
    /// An account without a password.
    pub fn connect(port: u16, user: &str, layers: Layers) -> Client {
        let logged_in = Client::log_in(port, user, layers, trusting_config().expect("versions"));
        logged_in.unwrap_or_else(|answer| panic!("login: {}", answer.escape_ascii()))
    }

    /// The same with a configuration of TLS; what was answered to a login that was refused, nothing if the connection ended.
    pub fn log_in(
        port: u16,
        user: &str,
        layers: Layers,
        config: Arc<rustls::ClientConfig>,
    ) -> std::result::Result<Client, Vec<u8>> {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).expect("connect");
        socket.set_read_timeout(Some(Duration::from_secs(60))).expect("timeout");
        let mut header = [0; 4];
        socket.read_exact(&mut header).expect("greeting");
        let mut greeting = vec![0; usize::from(header[0])];
        socket.read_exact(&mut greeting).expect("greeting");
        let mut caps = CAPS | if layers.tls { cap::SSL } else { 0 };
        let mut zstd_level = 0;
        match layers.compression {
            Some(Algorithm::Zlib) => caps |= cap::COMPRESS,
            Some(Algorithm::Zstd { level }) => {
                caps |= cap::ZSTD_COMPRESSION_ALGORITHM;
                zstd_level = level;
            }
            None => {}
        }
        let mut out = PacketWriter::new();
        out.set_seq(1);
        if layers.tls {
            out.packet(|buffer| put_ssl_request(buffer, caps, 1 << 24, 255));
            socket.write_all(out.bytes()).expect("send");
            out.clear();
        }
        let mut stream = if layers.tls { Stream::Tls(Box::new(tls(socket, config))) } else { Stream::Plain(socket) };
        let response = HandshakeResponse {
            capabilities: caps,
            packet_bytes_max: 1 << 24,
            charset: 255,
            user: user.as_bytes(),
            auth_response: &[],
            database: None,
            auth_plugin: Some(b"caching_sha2_password"),
            attributes: ConnectAttributes::default(),
            zstd_level,
        };
        out.packet(|buffer| put_handshake_response(buffer, &response, &[]));
        stream.io().write_all(out.bytes()).map_err(|_| Vec::new())?;
        let mut reader = PacketReader::new(1 << 30);
        reader.expect_seq(out.seq());
        let mut client = Client { stream, compression: None, reader, input: Vec::new(), workspace: Workspace::default() };
        let answer = client.receive().map_err(|_| Vec::new())?;
        if answer[0] != 0 {
            return Err(answer);
        }
        if let Some(algorithm) = layers.compression {
            client.compression = Some((CompressedReader::new(algorithm), CompressedWriter::new(algorithm)));
            client.reader.ignore_inner_seq();
        }
        Ok(client)
    }

    /// Bytes of packets: in a frame, if there is compression, in records, if there is TLS.
    pub fn send_payload_bytes(&mut self, bytes: &[u8]) {
        let mut framed = Vec::new();
        match &mut self.compression {
            Some((_, writer)) => writer.write(bytes, &mut framed, &mut self.workspace),
            None => framed.extend_from_slice(bytes),
        }
        self.stream.io().write_all(&framed).expect("send");
        self.stream.io().flush().expect("send");
    }

    /// Bytes below all layers.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        match &mut self.stream {
            Stream::Plain(stream) => stream.write_all(bytes),
            Stream::Tls(stream) => stream.sock.write_all(bytes),
        }
        .expect("send");
    }

    /// Commands in one write, each in a packet and a frame of its own, as a client sends that does not wait for answers.
    fn send_commands(&mut self, commands: &[&[u8]]) {
        let mut bytes = Vec::new();
        for command in commands {
            let mut packet = PacketWriter::new();
            packet.packet(|out| out.extend_from_slice(command));
            match &mut self.compression {
                Some((_, writer)) => {
                    writer.set_seq(0);
                    writer.write(packet.bytes(), &mut bytes, &mut self.workspace);
                }
                None => bytes.extend_from_slice(packet.bytes()),
            }
        }
        self.stream.io().write_all(&bytes).expect("send");
        self.stream.io().flush().expect("send");
    }

    /// The packets that answer a command begin with 1, if something was to be answered.
    fn expect_answer(&mut self) {
        self.reader.expect_seq(1);
        if let Some((reader, _)) = &mut self.compression {
            reader.expect_seq(1);
        }
    }

    fn receive(&mut self) -> Result<Vec<u8>> {
        loop {
            let mut input = &self.input[..];
            let packet = self.reader.next(&mut input).expect("packets").map(|packet| packet.to_vec());
            let used = self.input.len() - input.len();
            self.input.drain(..used);
            if let Some(packet) = packet {
                return Ok(packet);
            }
            // No more than a frame needs: the next answer's frames have numbers of their own.
            let mut buffer = [0; 1];
            if self.stream.io().read(&mut buffer)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            match &mut self.compression {
                Some((reader, _)) => {
                    reader.next(&mut &buffer[..], &mut self.input, &mut self.workspace).expect("frames");
                }
                None => self.input.extend_from_slice(&buffer),
            }
        }
    }

    /// The first column of a result of one row.
    fn receive_value(&mut self) -> String {
        self.expect_answer();
        let count = self.receive().expect("an answer");
        assert_eq!(count, [1], "a result is wanted: {}", count.escape_ascii());
        self.receive().expect("a definition");
        let row = self.receive().expect("a row");
        self.receive().expect("the end");
        String::from_utf8_lossy(&row[1..]).into_owned()
    }

    fn receive_ok(&mut self) -> Vec<u8> {
        self.expect_answer();
        let answer = self.receive().expect("an answer");
        assert_eq!(answer[0], 0, "OK is wanted: {}", answer.escape_ascii());
        answer
    }
}

fn tls(socket: TcpStream, config: Arc<rustls::ClientConfig>) -> rustls::StreamOwned<rustls::ClientConnection, TcpStream> {
    let name = ServerName::try_from("localhost").expect("name");
    let connection = rustls::ClientConnection::new(config, name).expect("TLS");
    rustls::StreamOwned::new(connection, socket)
}

/// Each command's numbers begin at 0, whatever stood before it in what was received at once.
#[test]
fn commands_without_an_answer_are_followed_by_others() {
    let server = Server::start("layers");
    server.connect().query("CREATE USER trusting");
    for layers in Layers::ALL {
        let mut client = Client::connect(server.port, "trusting", layers);
        client.send_commands(&[b"\x16SELECT ?"]);
        let prepared = client.receive_ok();
        let id: [u8; 4] = prepared[1..5].try_into().expect("an id");
        client.receive().expect("the parameter");
        client.receive().expect("the column");
        let close = [b"\x19", &[77, 0, 0, 0][..]].concat();
        let long_data = [b"\x18", &id[..], &[0, 0], b"long"].concat();
        for _ in 0..20 {
            client.send_commands(&[&close, b"\x03SELECT 'after a close'"]);
            assert_eq!(client.receive_value(), "after a close", "{layers:?}");
            client.send_commands(&[&close, &long_data, &close, &long_data, b"\x0e"]);
            client.receive_ok();
        }
        let text = "x".repeat(100_000);
        let select = format!("\x03SELECT '{text}'");
        client.send_commands(&[&close, b"\x0e", &close, b"\x0e", format!("\x03SELECT LENGTH('{text}')").as_bytes(), b"\x0e"]);
        client.receive_ok();
        client.receive_ok();
        assert_eq!(client.receive_value(), "100000", "{layers:?}");
        client.receive_ok();
        client.send_commands(&[&close, select.as_bytes(), b"\x01", b"\x0e"]);
        client.expect_answer();
        for packets in 0.. {
            let Ok(packet) = client.receive() else {
                assert_eq!(packets, 4, "{layers:?}");
                break;
            };
            assert!(packets < 4, "{layers:?}: after COM_QUIT {}", packet.escape_ascii());
        }
    }
}
