//! A blocking connection to another server, whose log is read or to which statements are sent: TLS where the server has it, login, statements, packets.
//!
//! A server's certificate is looked at if a certificate authority is named, as by MySQL's clients. A password that the server wants in full is sent
//! in TLS alone.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use vaquita_wire::binlog::header::EVENT_BYTES_MAX;
use vaquita_wire::caps::client as cap;
use vaquita_wire::caps::status::MORE_RESULTS_EXISTS;
use vaquita_wire::codec::{Bytes, put_nul_bytes};
use vaquita_wire::handshake::{
    ConnectAttributes, HandshakeResponse, NONCE_BYTES, decode_greeting, put_handshake_response, put_ssl_request,
};
use vaquita_wire::packet::{PacketReader, PacketWriter};
use vaquita_wire::proof::{caching_sha2_proof, native_proof};
use vaquita_wire::result::{Response, decode_response};

/// Client errors of MySQL, as a replica shows them.
const CR_CONNECTION_ERROR: u16 = 2002;
pub const CR_CONN_HOST_ERROR: u16 = 2003;
pub const CR_SERVER_LOST: u16 = 2013;
const CR_SERVER_HANDSHAKE_ERR: u16 = 2012;
const CR_SSL_CONNECTION_ERROR: u16 = 2026;
const CR_MALFORMED_PACKET: u16 = 2027;
const CR_AUTH_PLUGIN_CANNOT_LOAD: u16 = 2059;
const CR_AUTH_PLUGIN_ERR: u16 = 2061;

/// What went wrong between us and the source.
#[derive(Clone, Debug)]
pub struct SourceError {
    /// The source's, or one of a MySQL client.
    pub number: u16,
    pub text: String,
}

impl SourceError {
    pub fn new(number: u16, text: impl Into<String>) -> SourceError {
        SourceError { number, text: text.into() }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error {}: {}", self.number, self.text)
    }
}

impl std::error::Error for SourceError {}

impl From<std::io::Error> for SourceError {
    fn from(error: std::io::Error) -> SourceError {
        let text = match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                "Lost connection to MySQL server: it has said nothing for too long".into()
            }
            ErrorKind::UnexpectedEof => "Lost connection to MySQL server: it has closed the connection".into(),
            _ => format!("Lost connection to MySQL server: {error}"),
        };
        SourceError::new(CR_SERVER_LOST, text)
    }
}

impl From<rustls::Error> for SourceError {
    fn from(error: rustls::Error) -> SourceError {
        SourceError::new(CR_SSL_CONNECTION_ERROR, format!("SSL connection error: {error}"))
    }
}

fn malformed(error: &dyn fmt::Display) -> SourceError {
    SourceError::new(CR_MALFORMED_PACKET, format!("Malformed packet: {error}"))
}

type Result<T> = std::result::Result<T, SourceError>;

/// Whom to connect to, and how.
#[derive(Clone, Debug)]
pub struct Target {
    /// A name or an address, or the path of a Unix socket, which begins with a slash.
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: String,
    /// `None`: no TLS, even if the server has it.
    pub tls: Option<Tls>,
    /// A server that says nothing for so long is gone.
    pub silence_max: Duration,
}

impl Target {
    /// With TLS where the server has it.
    pub fn new((host, port): (&str, u16), user: &str, password: &str, silence_max: Duration) -> Target {
        let (host, user, password) = (host.to_string(), user.to_string(), password.to_string());
        Target { host, port, user, password, tls: Some(Tls::default()), silence_max }
    }
}

/// Files in PEM; those that are empty are not used.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    pub ca: String,
    pub cert: String,
    pub key: String,
    /// The name in the certificate is that of the host.
    pub verify_name: bool,
    /// A server without TLS is refused.
    pub required: bool,
}

const CAPS: u32 = cap::LONG_PASSWORD
    | cap::PROTOCOL_41
    | cap::SECURE_CONNECTION
    | cap::PLUGIN_AUTH
    | cap::PLUGIN_AUTH_LENENC_CLIENT_DATA
    | cap::TRANSACTIONS
    // CALL of a procedure with rows is refused without it.
    | cap::MULTI_RESULTS;
const UTF8MB4_GENERAL_CI: u8 = 45;
const PIECE_BYTES: usize = 1 << 16;
/// How long a server may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
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

    /// Something can be read that the socket does not tell of.
    fn has_input(&self) -> bool {
        match self {
            Stream::Plain(_) => false,
            Stream::Tls(stream) => !stream.conn.wants_read(),
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
    socket: TcpStream,
    reader: PacketReader,
    input: Vec<u8>,
    /// What of `input` has been read.
    taken: usize,
    is_mariadb: bool,
    /// Nobody else can read a Unix socket.
    is_local: bool,
}

/// What a statement has said at its end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    pub affected_rows: u64,
    pub warnings: u16,
}

/// The values of a row in text, `None` for NULL.
pub type TextRow = Vec<Option<Vec<u8>>>;

impl Connection {
    pub fn open(target: &Target) -> Result<Connection> {
        let stream = connect(target)?;
        stream.set_read_timeout(Some(target.silence_max))?;
        stream.set_write_timeout(Some(target.silence_max))?;
        let is_local = target.host.starts_with('/');
        if !is_local {
            stream.set_nodelay(true)?;
        }
        let reader = PacketReader::new(EVENT_BYTES_MAX as usize + 1);
        let socket = stream.try_clone()?;
        let stream = Stream::Plain(stream);
        let mut connection = Connection { stream, socket, reader, input: Vec::new(), taken: 0, is_mariadb: false, is_local };
        connection.login(target)?;
        Ok(connection)
    }

    /// Whoever shuts this down ends what the connection waits for.
    pub fn socket(&self) -> Result<TcpStream> {
        Ok(self.socket.try_clone()?)
    }

    pub fn is_mariadb(&self) -> bool {
        self.is_mariadb
    }

    /// The next packet of the server's.
    pub fn packet(&mut self) -> Result<Vec<u8>> {
        loop {
            if let Some(packet) = self.packet_or_signal(None)? {
                return Ok(packet);
            }
        }
    }

    /// The next packet; `None`: `signal` can be read, and nothing has come.
    pub fn packet_or_signal(&mut self, signal: Option<BorrowedFd<'_>>) -> Result<Option<Vec<u8>>> {
        loop {
            let mut waiting = self.input.get(self.taken..).unwrap_or_default();
            let before = waiting.len();
            let packet = self.reader.next(&mut waiting).map_err(|error| malformed(&error))?.map(|payload| payload.to_vec());
            self.taken += before - waiting.len();
            if packet.is_some() {
                return Ok(packet);
            }
            if let Some(signal) = signal.filter(|_| !self.stream.has_input())
                && !self.wait_for_input(signal)?
            {
                return Ok(None);
            }
            self.input.resize(PIECE_BYTES, 0);
            let len = self.stream.read(&mut self.input)?;
            self.input.truncate(len);
            self.taken = 0;
            if len == 0 {
                return Err(SourceError::new(CR_SERVER_LOST, "Lost connection to MySQL server: it has closed the connection"));
            }
        }
    }

    /// Whether the server has sent something, before `signal` can be read.
    fn wait_for_input(&self, signal: BorrowedFd<'_>) -> Result<bool> {
        let most = self.socket.read_timeout()?.unwrap_or(CONNECT_TIMEOUT);
        let timeout = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: i64::from(most.subsec_nanos()) };
        let mut both = [PollFd::new(&self.socket, PollFlags::IN), PollFd::from_borrowed_fd(signal, PollFlags::IN)];
        match poll(&mut both, Some(&timeout)) {
            Ok(0) => Err(std::io::Error::from(ErrorKind::TimedOut).into()),
            Ok(_) => Ok(!both[0].revents().is_empty()),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(std::io::Error::from(error).into()),
        }
    }

    /// A packet that is no command, and is not answered; the server's next one has another number.
    pub fn send_aside(&mut self, payload: &[u8]) -> Result<()> {
        let mut writer = PacketWriter::with_buffer(Vec::new(), 0);
        writer.packet(|out| out.extend_from_slice(payload));
        Ok(self.stream.send(writer.bytes())?)
    }

    /// The number of the server's next packet.
    pub fn expect_seq(&mut self, seq: u8) {
        self.reader.expect_seq(seq);
    }

    fn send(&mut self, seq: u8, payload: &[u8]) -> Result<()> {
        let mut writer = PacketWriter::with_buffer(Vec::new(), seq);
        writer.packet(|out| out.extend_from_slice(payload));
        self.reader.expect_seq(writer.seq());
        Ok(self.stream.send(writer.bytes())?)
    }

    pub fn command(&mut self, command: &[u8]) -> Result<()> {
        self.send(0, command)
    }

    /// A statement that gives no rows, or the first column of the first row.
    pub fn query(&mut self, statement: &str) -> Result<Option<Vec<u8>>> {
        let mut value = None;
        let mut nth = 0;
        self.run(statement.as_bytes(), &mut |row| {
            if nth == 0 {
                value = row.into_iter().next().flatten();
            }
            nth += 1;
        })?;
        Ok(value)
    }

    /// A statement; each row of its results is handed on as it comes. The outcome is that of the last result.
    pub fn run(&mut self, statement: &[u8], each: &mut dyn FnMut(TextRow)) -> Result<Outcome> {
        self.command(&[&[COM_QUERY], statement].concat())?;
        loop {
            let (outcome, status) = self.result(each)?;
            if status & MORE_RESULTS_EXISTS == 0 {
                return Ok(outcome);
            }
        }
    }

    /// One result, and the status behind it.
    fn result(&mut self, each: &mut dyn FnMut(TextRow)) -> Result<(Outcome, u16)> {
        let first = self.packet()?;
        let columns = match decode_response(&first, CAPS).map_err(|error| malformed(&error))? {
            Response::Ok { affected_rows, warnings, status, .. } => return Ok((Outcome { affected_rows, warnings }, status)),
            Response::Err { .. } => return Err(error_of(&first)),
            Response::LocalInfile { .. } => return Err(malformed(&"the server asks for a file")),
            Response::Columns(columns) => columns,
        };
        // Definitions and the EOF behind them.
        for _ in 0..=columns {
            let packet = self.packet()?;
            if packet.first() == Some(&0xff) {
                return Err(error_of(&packet));
            }
        }
        loop {
            let packet = self.packet()?;
            match packet.first() {
                Some(0xff) => return Err(error_of(&packet)),
                _ if is_eof(&packet) => {
                    // Behind the byte that says what it is and the number of warnings.
                    let status = packet.get(3..5).and_then(|bytes| Some(u16::from_le_bytes(*bytes.first_chunk()?)));
                    return Ok((Outcome::default(), status.unwrap_or(0)));
                }
                _ => each(text_row(&packet, columns)?),
            }
        }
    }

    fn login(&mut self, target: &Target) -> Result<()> {
        let password = target.password.as_str();
        let packet = self.packet()?;
        if packet.first() == Some(&0xff) {
            return Err(error_of(&packet));
        }
        let hello = decode_greeting(&packet).map_err(|error| malformed(&error))?;
        self.is_mariadb = hello.server_version.windows(7).any(|part| part == b"MariaDB");
        let mut caps = CAPS & hello.capabilities;
        let has_tls = hello.capabilities & cap::SSL != 0;
        if let Some(tls) = &target.tls
            && tls.required
            && !has_tls
            && !self.is_local
        {
            return Err(SourceError::new(
                CR_SSL_CONNECTION_ERROR,
                "SSL connection error: SSL is required but the server doesn't support it",
            ));
        }
        if let Some(tls) = target.tls.as_ref().filter(|_| has_tls && !self.is_local) {
            caps |= cap::SSL;
            let mut request = Vec::new();
            put_ssl_request(&mut request, caps, 1 << 24, UTF8MB4_GENERAL_CI);
            self.send(self.reader.next_seq(), &request)?;
            self.begin_tls(&target.host, tls)?;
        }
        let proof = proof_of(&hello.auth_plugin, password, &hello.nonce)?;
        let response = HandshakeResponse {
            capabilities: caps,
            packet_bytes_max: 1 << 24,
            charset: UTF8MB4_GENERAL_CI,
            user: target.user.as_bytes(),
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

    fn begin_tls(&mut self, host: &str, tls: &Tls) -> Result<()> {
        let Stream::Plain(stream) = &self.stream else { return Ok(()) };
        let name = ServerName::try_from(host.to_string()).map_err(|_| {
            SourceError::new(CR_SSL_CONNECTION_ERROR, format!("SSL connection error: '{host}' is no name of a host"))
        })?;
        let client = rustls::ClientConnection::new(Arc::new(tls.config()?), name)?;
        self.stream = Stream::Tls(Box::new(rustls::StreamOwned::new(client, stream.try_clone()?)));
        Ok(())
    }

    /// What the server wants to know after the first proof.
    fn prove(&mut self, password: &str) -> Result<()> {
        const FULL_AUTHENTICATION: u8 = 4;
        loop {
            let packet = self.packet()?;
            match packet.split_first() {
                Some((0x00, _)) => return Ok(()),
                Some((0x01, [FULL_AUTHENTICATION])) => {
                    if !matches!(self.stream, Stream::Tls(_)) && !self.is_local {
                        return Err(SourceError::new(
                            CR_AUTH_PLUGIN_ERR,
                            "Authentication plugin 'caching_sha2_password' reported error: Authentication requires secure connection.",
                        ));
                    }
                    let mut payload = Vec::new();
                    put_nul_bytes(&mut payload, password.as_bytes());
                    self.send(self.reader.next_seq(), &payload)?;
                }
                // The proof was right.
                Some((0x01, _)) => {}
                Some((0xfe, switch)) => {
                    let mut bytes = Bytes::new(switch);
                    let plugin = bytes.nul_bytes().map_err(|error| malformed(&error))?;
                    let nonce = bytes.array().map_err(|error| malformed(&error))?;
                    let proof = proof_of(plugin, password, &nonce)?;
                    self.send(self.reader.next_seq(), &proof)?;
                }
                _ => return Err(error_of(&packet)),
            }
        }
    }
}

const NULL_VALUE: u8 = 0xfb;

fn text_row(packet: &[u8], columns: u64) -> Result<TextRow> {
    let mut bytes = Bytes::new(packet);
    let mut row = Vec::new();
    for _ in 0..columns {
        row.push(match bytes.rest().first() {
            Some(&NULL_VALUE) => {
                bytes.skip(1).map_err(|error| malformed(&error))?;
                None
            }
            _ => Some(bytes.lenenc_bytes().map_err(|error| malformed(&error))?.to_vec()),
        });
    }
    Ok(row)
}

pub fn is_eof(packet: &[u8]) -> bool {
    packet.first() == Some(&0xfe) && packet.len() < 9
}

fn proof_of(plugin: &[u8], password: &str, nonce: &[u8; NONCE_BYTES]) -> Result<Vec<u8>> {
    match plugin {
        _ if password.is_empty() => Ok(Vec::new()),
        b"mysql_native_password" => Ok(native_proof(password.as_bytes(), nonce).to_vec()),
        b"caching_sha2_password" => Ok(caching_sha2_proof(password.as_bytes(), nonce).to_vec()),
        other => {
            let text = format!("Authentication plugin '{}' cannot be loaded", String::from_utf8_lossy(other));
            Err(SourceError::new(CR_AUTH_PLUGIN_CANNOT_LOAD, text))
        }
    }
}

/// An ERR packet.
pub fn error_of(packet: &[u8]) -> SourceError {
    match decode_response(packet, CAPS) {
        Ok(Response::Err { errno, text, .. }) => SourceError::new(errno, String::from_utf8_lossy(text)),
        _ => SourceError::new(CR_SERVER_HANDSHAKE_ERR, "The server answered with something else than was asked for"),
    }
}

fn connect(target: &Target) -> Result<TcpStream> {
    let (host, port) = (target.host.as_str(), target.port);
    let failed = |error: &std::io::Error| {
        let number = error.raw_os_error().unwrap_or(0);
        SourceError::new(CR_CONN_HOST_ERROR, format!("Can't connect to MySQL server on '{host}:{port}' ({number})"))
    };
    if host.starts_with('/') {
        // What is done with the socket, a Unix socket does too.
        let stream = UnixStream::connect(host).map_err(|error| {
            let number = error.raw_os_error().unwrap_or(0);
            let text = format!("Can't connect to local MySQL server through socket '{host}' ({number})");
            SourceError::new(CR_CONNECTION_ERROR, text)
        })?;
        return Ok(TcpStream::from(OwnedFd::from(stream)));
    }
    let addresses = (host, port).to_socket_addrs().map_err(|error| failed(&error))?;
    let mut last = None;
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT.min(target.silence_max)) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    Err(failed(&last.unwrap_or_else(|| std::io::Error::from(ErrorKind::NotFound))))
}

impl Tls {
    fn config(&self) -> Result<rustls::ClientConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let wrong = |file: &str, error: &dyn fmt::Display| {
            SourceError::new(CR_SSL_CONNECTION_ERROR, format!("SSL connection error: {file}: {error}"))
        };
        let builder = rustls::ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
        let verifier: Arc<dyn ServerCertVerifier> = match self.ca.is_empty() {
            true => Arc::new(AnyServer(provider)),
            false => {
                let mut roots = rustls::RootCertStore::empty();
                let certificates = CertificateDer::pem_file_iter(&self.ca).map_err(|error| wrong(&self.ca, &error))?;
                for certificate in certificates {
                    roots.add(certificate.map_err(|error| wrong(&self.ca, &error))?)?;
                }
                let inner = rustls::client::WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
                let inner = inner.map_err(|error| wrong(&self.ca, &error))?;
                match self.verify_name {
                    true => inner,
                    false => Arc::new(AnyName(inner)),
                }
            }
        };
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        if self.cert.is_empty() {
            return Ok(builder.with_no_client_auth());
        }
        let chain = CertificateDer::pem_file_iter(&self.cert).and_then(Iterator::collect);
        let chain: Vec<CertificateDer<'static>> = chain.map_err(|error| wrong(&self.cert, &error))?;
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| wrong(&self.key, &error))?;
        Ok(builder.with_client_auth_cert(chain, key)?)
    }
}

/// A certificate of the authority's, whatever name is in it.
#[derive(Debug)]
struct AnyName(Arc<rustls::client::WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        match self.0.verify_server_cert(certificate, chain, name, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(
                rustls::CertificateError::NotValidForName | rustls::CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.supported_verify_schemes()
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
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
