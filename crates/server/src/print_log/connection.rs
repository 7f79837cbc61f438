//! A blocking connection to a server whose log is read: TLS where the server has it, login, statements, packets.
//!
//! A server's certificate is not looked at, as by MySQL's clients unless they are told to. A password that the server wants in full is sent in TLS
//! alone.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use vaquita_wire::binlog::header::EVENT_BYTES_MAX;
use vaquita_wire::caps::client as cap;
use vaquita_wire::codec::{Bytes, put_nul_bytes};
use vaquita_wire::handshake::{
    ConnectAttributes, HandshakeResponse, NONCE_BYTES, decode_greeting, put_handshake_response, put_ssl_request,
};
use vaquita_wire::packet::{PacketReader, PacketWriter};
use vaquita_wire::proof::{caching_sha2_proof, native_proof};
use vaquita_wire::result::{Response, decode_response};

use super::Failure;

const CAPS: u32 = cap::LONG_PASSWORD
    | cap::PROTOCOL_41
    | cap::SECURE_CONNECTION
    | cap::PLUGIN_AUTH
    | cap::PLUGIN_AUTH_LENENC_CLIENT_DATA
    | cap::TRANSACTIONS;
const UTF8MB4_GENERAL_CI: u8 = 45;
const PIECE_BYTES: usize = 1 << 16;
/// A server that says nothing for so long is gone: it was asked not to wait for more.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
const COM_QUERY: u8 = 0x03;

enum Stream {
    Plain(TcpStream),
    Tls(Box<rustls::StreamOwned<rustls::ClientConnection, TcpStream>>),
}

impl Stream {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Stream::Plain(stream) => stream.read(into),
            Stream::Tls(stream) => stream.read(into),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Stream::Plain(stream) => stream.write_all(bytes),
            Stream::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }
}

pub struct Connection {
    stream: Stream,
    reader: PacketReader,
    input: Vec<u8>,
    /// What of `input` has been read.
    taken: usize,
    is_mariadb: bool,
}

impl Connection {
    pub fn open(host: &str, port: u16, user: &str, password: &str) -> Result<Connection, Failure> {
        let stream = TcpStream::connect((host, port)).map_err(|error| format!("{host}:{port}: {error}"))?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        let reader = PacketReader::new(EVENT_BYTES_MAX as usize + 1);
        let mut connection = Connection { stream: Stream::Plain(stream), reader, input: Vec::new(), taken: 0, is_mariadb: false };
        connection.login(host, user, password)?;
        Ok(connection)
    }

    pub fn is_mariadb(&self) -> bool {
        self.is_mariadb
    }

    /// The next packet of the server's.
    pub fn packet(&mut self) -> Result<Vec<u8>, Failure> {
        loop {
            let mut waiting = self.input.get(self.taken..).unwrap_or_default();
            let before = waiting.len();
            let packet = self.reader.next(&mut waiting)?.map(|payload| payload.to_vec());
            self.taken += before - waiting.len();
            if let Some(packet) = packet {
                return Ok(packet);
            }
            self.input.resize(PIECE_BYTES, 0);
            let len = self.stream.read(&mut self.input)?;
            self.input.truncate(len);
            self.taken = 0;
            if len == 0 {
                return Err("the server closed the connection".into());
            }
        }
    }

    fn send(&mut self, seq: u8, payload: &[u8]) -> Result<(), Failure> {
        let mut writer = PacketWriter::with_buffer(Vec::new(), seq);
        writer.packet(|out| out.extend_from_slice(payload));
        self.reader.expect_seq(writer.seq());
        Ok(self.stream.send(writer.bytes())?)
    }

    pub fn command(&mut self, command: &[u8]) -> Result<(), Failure> {
        self.send(0, command)
    }

    /// A statement that gives no rows, or the first column of the first row.
    pub fn query(&mut self, statement: &str) -> Result<Option<Vec<u8>>, Failure> {
        self.command(&[&[COM_QUERY], statement.as_bytes()].concat())?;
        let first = self.packet()?;
        let columns = match decode_response(&first, CAPS)? {
            Response::Ok { .. } => return Ok(None),
            Response::Err { .. } => return Err(error_of(&first)),
            Response::LocalInfile { .. } => return Err("the server asks for a file".into()),
            Response::Columns(columns) => columns,
        };
        // Definitions and the EOF behind them.
        for _ in 0..=columns {
            self.packet()?;
        }
        let mut value = None;
        loop {
            let packet = self.packet()?;
            match packet.first() {
                Some(0xff) => return Err(error_of(&packet)),
                _ if is_eof(&packet) => return Ok(value),
                Some(0xfb) | None => {}
                Some(_) => value = value.or(Some(Bytes::new(&packet).lenenc_bytes()?.to_vec())),
            }
        }
    }

    fn login(&mut self, host: &str, user: &str, password: &str) -> Result<(), Failure> {
        let packet = self.packet()?;
        if packet.first() == Some(&0xff) {
            return Err(error_of(&packet));
        }
        let hello = decode_greeting(&packet)?;
        self.is_mariadb = hello.server_version.windows(7).any(|part| part == b"MariaDB");
        let mut caps = CAPS & hello.capabilities;
        if hello.capabilities & cap::SSL != 0 {
            caps |= cap::SSL;
            let mut request = Vec::new();
            put_ssl_request(&mut request, caps, 1 << 24, UTF8MB4_GENERAL_CI);
            self.send(self.reader.next_seq(), &request)?;
            self.begin_tls(host)?;
        }
        let proof = proof_of(&hello.auth_plugin, password, &hello.nonce)?;
        let response = HandshakeResponse {
            capabilities: caps,
            packet_bytes_max: 1 << 24,
            charset: UTF8MB4_GENERAL_CI,
            user: user.as_bytes(),
            auth_response: &proof,
            database: None,
            auth_plugin: Some(&hello.auth_plugin),
            attributes: ConnectAttributes::default(),
            zstd_level: 0,
        };
        let mut payload = Vec::new();
        put_handshake_response(&mut payload, &response, &[]);
        self.send(self.reader.next_seq(), &payload)?;
        self.prove(password)
    }

    fn begin_tls(&mut self, host: &str) -> Result<(), Failure> {
        let Stream::Plain(stream) = &self.stream else { return Ok(()) };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyServer(provider)))
            .with_no_client_auth();
        let name = ServerName::try_from(host.to_string())?;
        let tls = rustls::ClientConnection::new(Arc::new(config), name)?;
        self.stream = Stream::Tls(Box::new(rustls::StreamOwned::new(tls, stream.try_clone()?)));
        Ok(())
    }

    /// What the server wants to know after the first proof.
    fn prove(&mut self, password: &str) -> Result<(), Failure> {
        const FULL_AUTHENTICATION: u8 = 4;
        loop {
            let packet = self.packet()?;
            match packet.split_first() {
                Some((0x00, _)) => return Ok(()),
                Some((0x01, [FULL_AUTHENTICATION])) => {
                    if !matches!(self.stream, Stream::Tls(_)) {
                        return Err("the server wants the password, and has no TLS".into());
                    }
                    let mut payload = Vec::new();
                    put_nul_bytes(&mut payload, password.as_bytes());
                    self.send(self.reader.next_seq(), &payload)?;
                }
                // The proof was right.
                Some((0x01, _)) => {}
                Some((0xfe, switch)) => {
                    let mut bytes = Bytes::new(switch);
                    let plugin = bytes.nul_bytes()?;
                    let proof = proof_of(plugin, password, &bytes.array()?)?;
                    self.send(self.reader.next_seq(), &proof)?;
                }
                _ => return Err(error_of(&packet)),
            }
        }
    }
}

pub fn is_eof(packet: &[u8]) -> bool {
    packet.first() == Some(&0xfe) && packet.len() < 9
}

fn proof_of(plugin: &[u8], password: &str, nonce: &[u8; NONCE_BYTES]) -> Result<Vec<u8>, Failure> {
    match plugin {
        _ if password.is_empty() => Ok(Vec::new()),
        b"mysql_native_password" => Ok(native_proof(password.as_bytes(), nonce).to_vec()),
        b"caching_sha2_password" => Ok(caching_sha2_proof(password.as_bytes(), nonce).to_vec()),
        other => Err(format!("the account wants {}", String::from_utf8_lossy(other)).into()),
    }
}

/// The text of an ERR packet.
pub fn error_of(packet: &[u8]) -> Failure {
    match decode_response(packet, CAPS) {
        Ok(Response::Err { errno, sqlstate, text }) => {
            let [sqlstate, text] = [sqlstate, text].map(String::from_utf8_lossy);
            format!("error {errno} ({sqlstate}): {text}").into()
        }
        _ => "the server answered with something else than was asked for".into(),
    }
}

/// Every certificate is right.
#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
