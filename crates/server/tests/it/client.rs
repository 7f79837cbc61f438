//! A small blocking client on `vaquita_wire`, enough for tests: text queries, prepared statements, raw packets.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::time::Duration;

use vaquita_wire::caps::client as cap;
use vaquita_wire::codec::Bytes;
use vaquita_wire::handshake::{ConnectAttributes, HandshakeResponse, NONCE_BYTES, decode_greeting, put_handshake_response};
use vaquita_wire::packet::{PacketReader, PacketWriter};
use vaquita_wire::proof::{caching_sha2_proof, native_proof};

const CAPS: u32 = cap::LONG_PASSWORD
    | cap::PROTOCOL_41
    | cap::SECURE_CONNECTION
    | cap::PLUGIN_AUTH
    | cap::PLUGIN_AUTH_LENENC_CLIENT_DATA
    | cap::TRANSACTIONS
    | cap::MULTI_RESULTS
    | cap::PS_MULTI_RESULTS
    | cap::MULTI_STATEMENTS
    | cap::LOCAL_FILES
    | cap::DEPRECATE_EOF;

/// An answer that takes longer is taken for a hang. Machines that do much else are slow, so it is long.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);

pub struct Client {
    stream: TcpStream,
    reader: PacketReader,
    input: Vec<u8>,
    seq: u8,
    caps: u32,
    /// Another answer follows the last one.
    more: bool,
    /// What is sent when the server asks for a file.
    pub local_file: Vec<u8>,
}

/// A statement of COM_STMT_PREPARE.
#[derive(Default)]
pub struct Prepared {
    id: [u8; 4],
    parameters: u16,
}

/// The answer to one statement.
#[derive(Debug, PartialEq)]
pub enum Answer {
    Ok { affected: u64, info: String, warnings: u16 },
    Rows { columns: Vec<String>, rows: Vec<Vec<Option<Vec<u8>>>> },
    Err { code: u16, state: String, text: String },
}

impl Answer {
    pub fn rows(self) -> Vec<Vec<String>> {
        match self {
            Answer::Rows { rows, .. } => rows
                .into_iter()
                .map(|row| {
                    row.into_iter().map(|v| v.map_or("NULL".into(), |b| String::from_utf8_lossy(&b).into_owned())).collect()
                })
                .collect(),
            other => panic!("rows expected: {other:?}"),
        }
    }
}

fn broken(text: &str) -> Error {
    Error::new(ErrorKind::InvalidData, text)
}

impl Client {
    pub fn connect(port: u16, user: &str, password: &str) -> Result<Client> {
        Client::connect_to("127.0.0.1", port, user, password)
    }

    pub fn connect_to(host: &str, port: u16, user: &str, password: &str) -> Result<Client> {
        Client::connect_with(host, port, user, password, CAPS)
    }

    /// A client that knows session tracking, and EOF packets if `eof`.
    #[allow(dead_code)] // of the scripts
    pub fn connect_tracking(port: u16, user: &str, password: &str, eof: bool) -> Result<Client> {
        let caps = if eof { CAPS & !cap::DEPRECATE_EOF } else { CAPS };
        Client::connect_with("127.0.0.1", port, user, password, caps | cap::SESSION_TRACK)
    }

    /// With a current database from the beginning.
    #[allow(dead_code)] // of the scripts
    pub fn connect_in(port: u16, user: &str, password: &str, database: &str) -> Result<Client> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        Client::over(stream, user, password, CAPS | cap::CONNECT_WITH_DB, Some(database))
    }

    fn connect_with(host: &str, port: u16, user: &str, password: &str, caps: u32) -> Result<Client> {
        let stream = TcpStream::connect((host, port))?;
        stream.set_nodelay(true)?;
        Client::over(stream, user, password, caps, None)
    }

    /// Over the Unix socket at `path`.
    #[allow(dead_code)]
    pub fn connect_unix(path: &std::path::Path, user: &str, password: &str) -> Result<Client> {
        // What this client does with its socket, a Unix socket does too.
        let stream = TcpStream::from(std::os::fd::OwnedFd::from(std::os::unix::net::UnixStream::connect(path)?));
        Client::over(stream, user, password, CAPS, None)
    }

    fn over(stream: TcpStream, user: &str, password: &str, caps: u32, database: Option<&str>) -> Result<Client> {
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        let mut client = Client {
            stream,
            reader: PacketReader::new(1 << 30),
            input: Vec::new(),
            seq: 0,
            caps,
            more: false,
            local_file: Vec::new(),
        };
        client.log_in(user, password, database)?;
        Ok(client)
    }

    /// How long an answer may take, instead of `ANSWER_TIMEOUT`.
    #[allow(dead_code)] // of the benchmarks, as the next
    pub fn set_timeout(&self, timeout: Duration) -> Result<()> {
        self.stream.set_read_timeout(Some(timeout))
    }

    /// The connection of a client that has logged in and read every answer.
    #[allow(dead_code)]
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    fn log_in(&mut self, user: &str, password: &str, database: Option<&str>) -> Result<()> {
        let hello = self.receive()?;
        if hello.first() == Some(&0xff) {
            return Err(broken(&format!("{:?}", error_of(&hello))));
        }
        let hello = decode_greeting(&hello).map_err(|e| broken(&e.to_string()))?;
        let plugin = hello.auth_plugin.clone();
        let proof = proof_of(&plugin, password, &hello.nonce);
        let response = HandshakeResponse {
            capabilities: self.caps,
            packet_bytes_max: 1 << 24,
            charset: 255,
            user: user.as_bytes(),
            auth_response: &proof,
            database: database.map(str::as_bytes),
            auth_plugin: Some(&plugin),
            attributes: ConnectAttributes::default(),
            zstd_level: 0,
        };
        let mut payload = Vec::new();
        put_handshake_response(&mut payload, &response, &[]);
        self.send(&payload)?;
        let mut nonce = hello.nonce;
        loop {
            let packet = self.receive()?;
            match packet.split_first() {
                Some((0, _)) => return Ok(()),
                Some((0xff, _)) => return Err(broken(&format!("{:?}", error_of(&packet)))),
                Some((0xfe, rest)) => {
                    let mut bytes = Bytes::new(rest);
                    let plugin = bytes.nul_bytes().map_err(|_| broken("auth switch"))?.to_vec();
                    nonce = bytes.array::<NONCE_BYTES>().map_err(|_| broken("auth switch"))?;
                    self.send(&proof_of(&plugin, password, &nonce))?;
                }
                Some((1, [3])) => {}
                Some((1, [4])) if matches!(self.stream.local_addr(), Ok(address) if address.port() != 0) => self.send(&[2])?,
                // A Unix socket is a secure transport: the password goes as it is.
                Some((1, [4])) => self.send(&[password.as_bytes(), b"\0"].concat())?,
                Some((1, pem)) => {
                    let sealed = seal(pem, password, &nonce)?;
                    self.send(&sealed)?;
                }
                _ => return Err(broken("login")),
            }
        }
    }

    /// Sends a payload that answers the packet received last.
    pub fn send(&mut self, payload: &[u8]) -> Result<()> {
        let mut writer = PacketWriter::new();
        writer.set_seq(self.seq);
        writer.packet(|out| out.extend_from_slice(payload));
        self.reader.expect_seq(writer.seq());
        self.stream.write_all(writer.bytes())
    }

    pub fn send_raw(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes)
    }

    /// Starts a command.
    pub fn command(&mut self, payload: &[u8]) -> Result<()> {
        self.seq = 0;
        self.send(payload)
    }

    pub fn expect_seq(&mut self, seq: u8) {
        self.reader.expect_seq(seq);
    }

    pub fn receive(&mut self) -> Result<Vec<u8>> {
        loop {
            let mut input = &self.input[..];
            if !input.is_empty() {
                let packet = self.reader.next(&mut input).map_err(|e| broken(&e.to_string()))?.map(|p| p.to_vec());
                let used = self.input.len() - input.len();
                self.input.drain(..used);
                if let Some(packet) = packet {
                    self.seq = self.reader.next_seq();
                    return Ok(packet);
                }
            }
            let mut buffer = [0; 1 << 16];
            let n = self.stream.read(&mut buffer)?;
            if n == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            self.input.extend_from_slice(&buffer[..n]);
        }
    }

    /// Waits until the server has closed the connection.
    #[allow(dead_code)]
    pub fn wait_for_end(&mut self) {
        let mut buffer = [0; 1 << 10];
        while !matches!(self.stream.read(&mut buffer), Ok(0)) {}
    }

    /// Runs a statement that has one result.
    pub fn query(&mut self, sql: &str) -> Answer {
        self.try_query(sql).unwrap_or_else(|e| panic!("{sql}: {e}"))
    }

    pub fn try_query(&mut self, sql: &str) -> Result<Answer> {
        let mut payload = vec![3];
        payload.extend_from_slice(sql.as_bytes());
        self.command(&payload)?;
        self.answer()
    }

    /// Runs a statement and reads all of its results, as those of a CALL.
    #[allow(dead_code)] // not of every harness
    pub fn query_last(&mut self, sql: &str) -> Answer {
        self.query_all(sql).pop().expect("an answer")
    }

    #[allow(dead_code)]
    pub fn query_all(&mut self, sql: &str) -> Vec<Answer> {
        self.try_query_all(sql).unwrap_or_else(|e| panic!("{sql}: {e}"))
    }

    #[allow(dead_code)]
    pub fn try_query_all(&mut self, sql: &str) -> Result<Vec<Answer>> {
        let mut answers = vec![self.try_query(sql)?];
        while self.more {
            answers.push(self.answer()?);
        }
        Ok(answers)
    }

    /// COM_STMT_PREPARE; the inner error is the server's.
    #[allow(dead_code)] // not of every harness, as the next
    pub fn prepare(&mut self, sql: &str) -> Result<std::result::Result<Prepared, Answer>> {
        self.command(&[b"\x16", sql.as_bytes()].concat())?;
        let first = self.receive()?;
        let [0, a, b, c, d, columns_low, columns_high, low, high, ..] = first[..] else {
            return error_of(&first).map(Err).ok_or_else(|| broken("prepared"));
        };
        let parameters = u16::from_le_bytes([low, high]);
        for _ in 0..u32::from(parameters) + u32::from(u16::from_le_bytes([columns_low, columns_high])) {
            self.receive()?;
        }
        Ok(Ok(Prepared { id: [a, b, c, d], parameters }))
    }

    /// COM_STMT_EXECUTE with this number as every parameter. Rows come as they are, each as one value.
    #[allow(dead_code)]
    pub fn execute(&mut self, statement: &Prepared, parameter: i64) -> Result<Answer> {
        const BIGINT: [u8; 2] = [8, 0];
        let count = usize::from(statement.parameters);
        let mut payload = [b"\x17", &statement.id[..], &[0, 1, 0, 0, 0]].concat();
        if count > 0 {
            payload.extend(vec![0; count.div_ceil(8)]);
            payload.push(1);
            payload.extend(BIGINT.repeat(count));
            payload.extend(parameter.to_le_bytes().repeat(count));
        }
        self.command(&payload)?;
        self.answer_by(|_| Some(()), |row, _| Some(vec![Some(row.to_vec())])).map(|(_, answer)| answer)
    }

    /// The last answer said that another follows.
    #[allow(dead_code)] // of the scripts
    pub fn has_more(&self) -> bool {
        self.more
    }

    pub fn answer(&mut self) -> Result<Answer> {
        self.answer_with(|_| Some(())).map(|(_, answer)| answer)
    }

    /// The answer, and what `describe` makes of each column definition.
    pub fn answer_with<T>(&mut self, describe: impl Fn(&[u8]) -> Option<T>) -> Result<(Vec<T>, Answer)> {
        self.answer_by(describe, text_row)
    }

    fn answer_by<T>(&mut self, describe: impl Fn(&[u8]) -> Option<T>, read: ReadRow) -> Result<(Vec<T>, Answer)> {
        let first = self.receive()?;
        self.more = false;
        let mut described = Vec::new();
        let answer = match first.first() {
            Some(0) => {
                self.more = more_follows(&first);
                ok_of(&first).ok_or_else(|| broken("ok"))
            }
            Some(0xff) => error_of(&first).ok_or_else(|| broken("error")),
            Some(0xfb) => {
                self.send_file()?;
                return self.answer_by(describe, read);
            }
            _ => {
                let each_column = |column: &[u8]| described.extend(describe(column));
                self.result_set(&first, each_column, read)
            }
        };
        answer.map(|answer| (described, answer))
    }

    /// In packets that cut it anywhere.
    pub fn send_file(&mut self) -> Result<()> {
        let file = self.local_file.clone();
        for piece in file.chunks(1013) {
            self.send(piece)?;
            self.seq = self.seq.wrapping_add(1);
        }
        self.send(&[])
    }

    fn result_set(&mut self, first: &[u8], mut each_column: impl FnMut(&[u8]), read: ReadRow) -> Result<Answer> {
        let count = Bytes::new(first).lenenc_int().map_err(|_| broken("column count"))?;
        let mut columns = Vec::new();
        for _ in 0..count {
            let column = self.receive()?;
            each_column(&column);
            columns.push(column_name(&column).ok_or_else(|| broken("column"))?);
        }
        let mut rows = Vec::new();
        loop {
            let packet = self.receive()?;
            match packet.first() {
                Some(0xfe) if packet.len() < 0xff_ffff => {
                    self.more = more_follows(&packet);
                    return Ok(Answer::Rows { columns, rows });
                }
                Some(0xff) => return error_of(&packet).ok_or_else(|| broken("error")),
                _ => rows.push(read(&packet, columns.len()).ok_or_else(|| broken("row"))?),
            }
        }
    }
}

fn proof_of(plugin: &[u8], password: &str, nonce: &[u8; NONCE_BYTES]) -> Vec<u8> {
    match plugin {
        _ if password.is_empty() => Vec::new(),
        b"mysql_native_password" => native_proof(password.as_bytes(), nonce).to_vec(),
        _ => caching_sha2_proof(password.as_bytes(), nonce).to_vec(),
    }
}

/// The password masked by the nonce, encrypted for the server's key.
pub fn seal(pem: &[u8], password: &str, nonce: &[u8; NONCE_BYTES]) -> Result<Vec<u8>> {
    use rsa::pkcs8::DecodePublicKey;
    let key = rsa::RsaPublicKey::from_public_key_pem(&String::from_utf8_lossy(pem)).map_err(Error::other)?;
    let mut masked: Vec<u8> = password.bytes().chain([0]).collect();
    for (byte, mask) in masked.iter_mut().zip(nonce.iter().cycle()) {
        *byte ^= mask;
    }
    key.encrypt(&mut rsa::rand_core::OsRng, rsa::Oaep::new::<sha1::Sha1>(), &masked).map_err(Error::other)
}

/// What the status of an OK packet, or of one that ends rows, says.
#[allow(dead_code)] // not of every harness
pub fn more_follows(packet: &[u8]) -> bool {
    if let [0xfe, _, _, low, high] = packet {
        return u16::from_le_bytes([*low, *high]) & vaquita_wire::caps::status::MORE_RESULTS_EXISTS != 0;
    }
    let mut bytes = Bytes::new(packet.get(1..).unwrap_or_default());
    let status = bytes.lenenc_int().and_then(|_| bytes.lenenc_int()).and_then(|_| bytes.u16());
    status.is_ok_and(|status| status & vaquita_wire::caps::status::MORE_RESULTS_EXISTS != 0)
}

fn ok_of(packet: &[u8]) -> Option<Answer> {
    let mut bytes = Bytes::new(packet.get(1..)?);
    let affected = bytes.lenenc_int().ok()?;
    bytes.lenenc_int().ok()?;
    bytes.u16().ok()?;
    let warnings = bytes.u16().ok()?;
    let info = if bytes.is_empty() { &[][..] } else { bytes.lenenc_bytes().ok()? };
    Some(Answer::Ok { affected, info: String::from_utf8_lossy(info).into_owned(), warnings })
}

fn error_of(packet: &[u8]) -> Option<Answer> {
    let mut bytes = Bytes::new(packet.get(1..)?);
    let code = bytes.u16().ok()?;
    let rest = bytes.rest();
    let (state, text) = match rest.split_first() {
        Some((b'#', rest)) if rest.len() >= 5 => rest.split_at(5),
        _ => (&b"HY000"[..], rest),
    };
    Some(Answer::Err {
        code,
        state: String::from_utf8_lossy(state).into_owned(),
        text: String::from_utf8_lossy(text).into_owned(),
    })
}

fn column_name(packet: &[u8]) -> Option<String> {
    let mut bytes = Bytes::new(packet);
    for _ in 0..4 {
        bytes.lenenc_bytes().ok()?;
    }
    Some(String::from_utf8_lossy(bytes.lenenc_bytes().ok()?).into_owned())
}

pub type Row = Vec<Option<Vec<u8>>>;
/// Reads the packet of a row of so many columns.
type ReadRow = fn(&[u8], usize) -> Option<Row>;

/// The values of a row that is sent as text.
pub fn text_row(packet: &[u8], columns: usize) -> Option<Row> {
    let mut bytes = Bytes::new(packet);
    let mut row = Vec::with_capacity(columns);
    for _ in 0..columns {
        if bytes.rest().first() == Some(&0xfb) {
            bytes.skip(1).ok()?;
            row.push(None);
        } else {
            row.push(Some(bytes.lenenc_bytes().ok()?.to_vec()));
        }
    }
    Some(row)
}
