//! The connection phase: the server's greeting, what the client answers, and the packets with which
//! authentication goes on ("Connection Phase Packets").
//!
//! 1. The server sends `Greeting` (Protocol::HandshakeV10).
//! 2. The client sends either an SSLRequest, after which both switch to TLS and step 2 repeats, or a HandshakeResponse41:
//!    `decode_handshake_response` tells them apart.
//! 3. `auth::Authentication` says what follows: AuthSwitchRequest, AuthMoreData, OK or ERR.
//!
//! COM_CHANGE_USER carries the same fields and starts again at 3.
//!
//! Everything decoded here comes from someone unknown: all lengths are checked, nothing is copied, and
//! connection attributes are bounded (`CONNECT_ATTRIBUTES_BYTES_MAX`). Protocol 4.0 clients get a clean error.

use crate::caps::client;
use crate::codec::{Bytes, Decoded, put_lenenc_bytes, put_nul_bytes, put_u16, put_u32};
use crate::error::ProtocolError;

pub const NONCE_BYTES: usize = 20;
pub const PROTOCOL_VERSION: u8 = 10;
/// MySQL's own bound on the attributes of one client ("Performance Schema Connection Attribute Tables": 64 KB).
pub const CONNECT_ATTRIBUTES_BYTES_MAX: usize = 64 * 1024;
/// USERNAME_LENGTH: 32 characters of at most 4 bytes; longer names belong to nobody.
pub const USER_BYTES_MAX: usize = 128;

/// Makes a nonce of random bytes: no NUL and no `$`, both of which end strings somewhere in a client, and only 7 bits, as MySQL makes it.
pub fn nonce_from_random(mut random: [u8; NONCE_BYTES]) -> [u8; NONCE_BYTES] {
    for byte in &mut random {
        *byte &= 0x7f;
        if *byte == 0 || *byte == b'$' {
            *byte += 1;
        }
    }
    random
}

/// The first packet of a connection (Protocol::HandshakeV10).
#[derive(Clone, Copy, Debug)]
pub struct Greeting<'a> {
    pub server_version: &'a str,
    pub connection_id: u32,
    pub nonce: &'a [u8; NONCE_BYTES],
    /// Must contain LONG_PASSWORD: clients take its absence for MariaDB and read the filler as more flags.
    pub capabilities: u32,
    /// Low byte of the server's collation id.
    pub charset: u8,
    pub status: u16,
    pub auth_plugin: &'a str,
}

pub fn put_greeting(out: &mut Vec<u8>, greeting: &Greeting<'_>) {
    let (nonce_head, nonce_tail) = greeting.nonce.split_at(8);
    out.push(PROTOCOL_VERSION);
    put_nul_bytes(out, greeting.server_version.as_bytes());
    put_u32(out, greeting.connection_id);
    put_nul_bytes(out, nonce_head);
    put_u16(out, greeting.capabilities as u16);
    out.push(greeting.charset);
    put_u16(out, greeting.status);
    put_u16(out, (greeting.capabilities >> 16) as u16);
    out.push(NONCE_BYTES as u8 + 1);
    out.extend_from_slice(&[0; 10]);
    put_nul_bytes(out, nonce_tail);
    put_nul_bytes(out, greeting.auth_plugin.as_bytes());
}

/// The client's first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientHello<'a> {
    /// Protocol::SSLRequest: the next bytes are TLS. The response that follows inside repeats the flags.
    TlsRequest {
        capabilities: u32,
    },
    Response(HandshakeResponse<'a>),
}

/// Protocol::HandshakeResponse41.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeResponse<'a> {
    /// The client's flags, not yet cut down to what the server offered.
    pub capabilities: u32,
    pub packet_bytes_max: u32,
    /// Low byte of the client's collation id.
    pub charset: u8,
    pub user: &'a [u8],
    pub auth_response: &'a [u8],
    pub database: Option<&'a [u8]>,
    pub auth_plugin: Option<&'a [u8]>,
    pub attributes: ConnectAttributes<'a>,
    /// 1 to 22; 0 if the client did not ask for zstd.
    pub zstd_level: u8,
}

/// Decodes the client's first packet. `offered` are the server's flags: a field is read
/// only if both sides have its flag, as in MySQL. Every failure is "Bad handshake" (1043).
pub fn decode_handshake_response(payload: &[u8], offered: u32) -> Decoded<ClientHello<'_>> {
    decode_hello(payload, offered).map_err(|error| match error {
        ProtocolError::OldClient => error,
        _ => ProtocolError::Handshake,
    })
}

fn decode_hello(payload: &[u8], offered: u32) -> Decoded<ClientHello<'_>> {
    let mut bytes = Bytes::new(payload);
    // The flags of both protocol versions begin with these two bytes.
    let low = u32::from(Bytes::new(payload).u16()?);
    if low & client::PROTOCOL_41 == 0 {
        return Err(ProtocolError::OldClient);
    }
    let capabilities = bytes.u32()?;
    let packet_bytes_max = bytes.u32()?;
    let charset = bytes.u8()?;
    bytes.skip(23)?;
    if bytes.is_empty() && capabilities & client::SSL != 0 {
        if offered & client::SSL == 0 {
            return Err(ProtocolError::Handshake);
        }
        return Ok(ClientHello::TlsRequest { capabilities });
    }
    let common = capabilities & offered;
    let user = bytes.nul_bytes()?;
    if user.len() > USER_BYTES_MAX {
        return Err(ProtocolError::Handshake);
    }
    let auth_response = read_auth_response(&mut bytes, common)?;
    let mut database = None;
    // Not `common`: a client that sets the flag sends the field.
    if capabilities & client::CONNECT_WITH_DB != 0 && !bytes.is_empty() {
        database = Some(bytes.nul_bytes_or_rest()).filter(|name| !name.is_empty());
    }
    let mut auth_plugin = None;
    if capabilities & client::PLUGIN_AUTH != 0 && !bytes.is_empty() {
        auth_plugin = Some(bytes.nul_bytes_or_rest());
    }
    let mut attributes = ConnectAttributes::default();
    if capabilities & client::CONNECT_ATTRS != 0 && !bytes.is_empty() {
        attributes = ConnectAttributes::decode(&mut bytes)?;
    }
    let mut zstd_level = 0;
    if common & client::ZSTD_COMPRESSION_ALGORITHM != 0 && !bytes.is_empty() {
        zstd_level = bytes.u8()?;
        if !(1..=22).contains(&zstd_level) {
            return Err(ProtocolError::Handshake);
        }
    }
    Ok(ClientHello::Response(HandshakeResponse {
        capabilities,
        packet_bytes_max,
        charset,
        user,
        auth_response,
        database,
        auth_plugin,
        attributes,
        zstd_level,
    }))
}

fn read_auth_response<'a>(bytes: &mut Bytes<'a>, common: u32) -> Decoded<&'a [u8]> {
    if common & client::PLUGIN_AUTH_LENENC_CLIENT_DATA != 0 {
        bytes.lenenc_bytes()
    } else if common & client::SECURE_CONNECTION != 0 {
        let len = bytes.u8()?;
        bytes.take(usize::from(len))
    } else {
        bytes.nul_bytes()
    }
}

/// Names and values that describe the client program, still encoded; checked when decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectAttributes<'a> {
    encoded: &'a [u8],
}

impl<'a> ConnectAttributes<'a> {
    /// Reads the length, checks that what follows consists of whole pairs and is not too long.
    fn decode(bytes: &mut Bytes<'a>) -> Decoded<Self> {
        let encoded = bytes.lenenc_bytes()?;
        if encoded.len() > CONNECT_ATTRIBUTES_BYTES_MAX {
            return Err(ProtocolError::Handshake);
        }
        let mut pairs = Bytes::new(encoded);
        while !pairs.is_empty() {
            pairs.lenenc_bytes()?;
            pairs.lenenc_bytes()?;
        }
        Ok(Self { encoded })
    }

    /// The pairs in the client's order, in the charset of the handshake.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        let mut pairs = Bytes::new(self.encoded);
        std::iter::from_fn(move || Some((pairs.lenenc_bytes().ok()?, pairs.lenenc_bytes().ok()?)))
    }
}

/// COM_CHANGE_USER without its command byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    pub user: &'a [u8],
    pub auth_response: &'a [u8],
    /// Empty for none.
    pub database: &'a [u8],
    pub charset: Option<u16>,
    pub auth_plugin: Option<&'a [u8]>,
    pub attributes: ConnectAttributes<'a>,
}

/// Decodes what follows the command byte of COM_CHANGE_USER; `caps` are the negotiated flags.
pub fn decode_change_user(body: &[u8], caps: u32) -> Decoded<ChangeUser<'_>> {
    let mut bytes = Bytes::new(body);
    let user = bytes.nul_bytes()?;
    if user.len() > USER_BYTES_MAX {
        return Err(ProtocolError::MalformedPacket);
    }
    let auth_response = if caps & client::SECURE_CONNECTION != 0 {
        let len = bytes.u8()?;
        bytes.take(usize::from(len))?
    } else {
        bytes.nul_bytes()?
    };
    let database = bytes.nul_bytes_or_rest();
    let charset = if bytes.len() >= 2 { Some(bytes.u16()?) } else { None };
    let mut auth_plugin = None;
    if caps & client::PLUGIN_AUTH != 0 && !bytes.is_empty() {
        auth_plugin = Some(bytes.nul_bytes_or_rest());
    }
    let mut attributes = ConnectAttributes::default();
    if caps & client::CONNECT_ATTRS != 0 && !bytes.is_empty() {
        attributes = ConnectAttributes::decode(&mut bytes)?;
    }
    Ok(ChangeUser { user, auth_response, database, charset, auth_plugin, attributes })
}

/// Protocol::AuthSwitchRequest: go on with another plugin and this nonce.
pub fn put_auth_switch_request(out: &mut Vec<u8>, plugin: &str, nonce: &[u8; NONCE_BYTES]) {
    out.push(0xfe);
    put_nul_bytes(out, plugin.as_bytes());
    put_nul_bytes(out, nonce);
}

/// Protocol::AuthMoreData.
pub fn put_auth_more_data(out: &mut Vec<u8>, data: &[u8]) {
    out.push(0x01);
    out.extend_from_slice(data);
}

/// Client side: what a test client answers to the greeting.
pub fn put_handshake_response(out: &mut Vec<u8>, response: &HandshakeResponse<'_>, attributes: &[(&[u8], &[u8])]) {
    put_ssl_request(out, response.capabilities, response.packet_bytes_max, response.charset);
    put_nul_bytes(out, response.user);
    if response.capabilities & client::PLUGIN_AUTH_LENENC_CLIENT_DATA != 0 {
        put_lenenc_bytes(out, response.auth_response);
    } else if response.capabilities & client::SECURE_CONNECTION != 0 {
        out.push(response.auth_response.len() as u8);
        out.extend_from_slice(response.auth_response);
    } else {
        put_nul_bytes(out, response.auth_response);
    }
    if response.capabilities & client::CONNECT_WITH_DB != 0 {
        put_nul_bytes(out, response.database.unwrap_or_default());
    }
    if response.capabilities & client::PLUGIN_AUTH != 0 {
        put_nul_bytes(out, response.auth_plugin.unwrap_or_default());
    }
    if response.capabilities & client::CONNECT_ATTRS != 0 {
        let mut pairs = Vec::new();
        for (name, value) in attributes {
            put_lenenc_bytes(&mut pairs, name);
            put_lenenc_bytes(&mut pairs, value);
        }
        put_lenenc_bytes(out, &pairs);
    }
    if response.capabilities & client::ZSTD_COMPRESSION_ALGORITHM != 0 {
        out.push(response.zstd_level);
    }
}

/// Client side: Protocol::SSLRequest, which is also how a response begins.
pub fn put_ssl_request(out: &mut Vec<u8>, capabilities: u32, packet_bytes_max: u32, charset: u8) {
    put_u32(out, capabilities);
    put_u32(out, packet_bytes_max);
    out.push(charset);
    out.extend_from_slice(&[0; 23]);
}

/// Client side: the parts of a greeting that a client needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerHello {
    pub server_version: Vec<u8>,
    pub connection_id: u32,
    pub nonce: [u8; NONCE_BYTES],
    pub capabilities: u32,
    pub charset: u8,
    pub status: u16,
    pub auth_plugin: Vec<u8>,
}

pub fn decode_greeting(payload: &[u8]) -> Decoded<ServerHello> {
    let mut bytes = Bytes::new(payload);
    if bytes.u8()? != PROTOCOL_VERSION {
        return Err(ProtocolError::Handshake);
    }
    let server_version = bytes.nul_bytes()?.to_vec();
    let connection_id = bytes.u32()?;
    let nonce_head: [u8; 8] = bytes.array()?;
    bytes.skip(1)?;
    let low = u32::from(bytes.u16()?);
    let charset = bytes.u8()?;
    let status = bytes.u16()?;
    let high = u32::from(bytes.u16()?);
    bytes.skip(11)?;
    let nonce_tail: [u8; 12] = bytes.array()?;
    bytes.skip(1)?;
    let auth_plugin = bytes.nul_bytes_or_rest().to_vec();
    let mut nonce = [0; NONCE_BYTES];
    nonce[..8].copy_from_slice(&nonce_head);
    nonce[8..].copy_from_slice(&nonce_tail);
    Ok(ServerHello { server_version, connection_id, nonce, capabilities: low | high << 16, charset, status, auth_plugin })
}
