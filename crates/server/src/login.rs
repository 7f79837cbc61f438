//! The connection phase: greeting, TLS request, handshake response, authentication.
//!
//! `Login` is fed one packet at a time by the connection. The order of packets is
//! `vaquita_wire::handshake`'s; the checks of proofs are `vaquita_wire::auth`'s. This file finds the
//! account, runs what the state machine asks for and in the end makes the `Session`.

use std::sync::Arc;

use vaquita_types::Error;
use vaquita_types::errno::{ER_ACCESS_DENIED_ERROR, ER_BAD_DB_ERROR, ER_HANDSHAKE_ERROR, ER_SECURE_TRANSPORT_REQUIRED};
use vaquita_wire::auth::{Account, Authentication, Plugin, Step};
use vaquita_wire::caps::client;
use vaquita_wire::handshake::{ClientHello, HandshakeResponse, NONCE_BYTES, decode_handshake_response};
use vaquita_wire::packet::PacketWriter;
use vaquita_wire::result::put_err;

use crate::accounts::AccountRecord;
use crate::clients::Client;
use crate::server::Server;
use crate::session::Session;
use crate::transport::Transport;

pub struct Login {
    nonce: [u8; NONCE_BYTES],
    offered: u32,
    /// The Unix user at the other end of a Unix socket.
    peer_uid: Option<u32>,
    host: String,
    state: State,
}

enum State {
    Hello,
    Authenticating(Box<Attempt>),
}

struct Attempt {
    authentication: Authentication,
    account: Option<Arc<AccountRecord>>,
    user: String,
    database: Option<String>,
    caps: u32,
    charset: u8,
    attributes: Vec<(String, String)>,
}

pub enum LoginStep {
    More,
    StartTls,
    Done(Box<Session>),
    Refused,
}

impl Login {
    pub fn new(nonce: [u8; NONCE_BYTES], offered: u32, host: String, peer_uid: Option<u32>) -> Login {
        Login { nonce, offered, peer_uid, host, state: State::Hello }
    }

    pub fn packet(&mut self, server: &Arc<Server>, client: &Arc<Client>, transport: &Transport, payload: &[u8], out: &mut PacketWriter) -> LoginStep {
        let secure = transport.tls().is_some() || self.peer_uid.is_some();
        let step = match &mut self.state {
            State::Hello => match decode_handshake_response(payload, self.offered) {
                Ok(ClientHello::TlsRequest { .. }) if transport.tls().is_none() => return LoginStep::StartTls,
                Ok(ClientHello::Response(response)) => match self.respond(server, &response, secure) {
                    Ok(step) => step,
                    Err(error) => return refuse(out, &error),
                },
                _ => return refuse(out, &Error::new(&ER_HANDSHAKE_ERROR, &[])),
            },
            State::Authenticating(attempt) => match attempt.authentication.receive(payload) {
                Ok(step) => step,
                Err(_) => return refuse(out, &Error::new(&ER_HANDSHAKE_ERROR, &[])),
            },
        };
        self.drive(server, client, transport, step, out)
    }

    fn respond(&mut self, server: &Arc<Server>, response: &HandshakeResponse<'_>, secure: bool) -> Result<Step, Error> {
        if !secure && server.requires_secure_transport() {
            return Err(Error::new(&ER_SECURE_TRANSPORT_REQUIRED, &[]));
        }
        let user = String::from_utf8_lossy(response.user).into_owned();
        let account = server.accounts().find(&user, &self.host);
        let record = match &account {
            Some(found) => Account::new(found.plugin, &found.authentication_string, server.accounts().cached_digest(found)),
            None => Account::unknown(Plugin::CachingSha2Password),
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut attempt = Box::new(Attempt {
            authentication: Authentication::new(record, self.nonce, secure, server.public_key_pem()),
            account,
            user,
            database: response.database.map(text),
            caps: response.capabilities & self.offered,
            charset: response.charset,
            attributes: response.attributes.iter().map(|(name, value)| (text(name), text(value))).collect(),
        });
        // The owner of the server's process needs no password on its own machine.
        let owner = self.peer_uid.is_some_and(|uid| uid == rustix::process::geteuid().as_raw());
        let step = if owner && attempt.account.is_some() {
            Step::Accept(vaquita_wire::auth::Accepted { prelude: None, cache: None, used_password: false })
        } else {
            attempt.authentication.begin(response.auth_plugin, response.auth_response)
        };
        self.state = State::Authenticating(attempt);
        Ok(step)
    }

    fn drive(&mut self, server: &Arc<Server>, client: &Arc<Client>, transport: &Transport, mut step: Step, out: &mut PacketWriter) -> LoginStep {
        let State::Authenticating(attempt) = &mut self.state else { return LoginStep::Refused };
        loop {
            step = match step {
                Step::Send(payload) => {
                    out.packet(|buffer| buffer.extend_from_slice(&payload));
                    return LoginStep::More;
                }
                Step::Decrypt(ciphertext) => attempt.authentication.decrypted(server.decrypt(&ciphertext)),
                Step::Check(check) => {
                    let mut checked = None;
                    let mut check = Some(check);
                    server.pool().blocking(&mut || checked = check.take().map(|c| c.run()));
                    match checked {
                        Some(checked) => attempt.authentication.checked(checked),
                        None => Step::Reject,
                    }
                }
                Step::Reject => {
                    let using = if attempt.authentication.used_password() { "YES" } else { "NO" };
                    return refuse(out, &Error::new(&ER_ACCESS_DENIED_ERROR, &[&attempt.user, &self.host, &using]));
                }
                Step::Accept(accepted) => {
                    let Some(account) = attempt.account.take() else { return LoginStep::Refused };
                    if let Some(digest) = accepted.cache {
                        server.accounts().cache_digest(&account, digest);
                    }
                    if let Some(prelude) = accepted.prelude {
                        out.packet(|buffer| buffer.extend_from_slice(&prelude));
                    }
                    return self.accept(server, client, transport, account, out);
                }
            };
        }
    }

    fn accept(&mut self, server: &Arc<Server>, client: &Arc<Client>, transport: &Transport, account: Arc<AccountRecord>, out: &mut PacketWriter) -> LoginStep {
        let State::Authenticating(attempt) = &mut self.state else { return LoginStep::Refused };
        if account.locked {
            let error = Error::with_message(
                &vaquita_types::errno::ER_ACCOUNT_HAS_BEEN_LOCKED,
                format!("Access denied for user '{}'@'{}'. Account is locked.", attempt.user, self.host),
            );
            return refuse(out, &error);
        }
        if account.requires_tls && transport.tls().is_none() {
            let using = if attempt.authentication.used_password() { "YES" } else { "NO" };
            return refuse(out, &Error::new(&ER_ACCESS_DENIED_ERROR, &[&attempt.user, &self.host, &using]));
        }
        client.authenticated(&attempt.user, &self.host);
        let mut session = Session::new(server.clone(), client.clone(), account, attempt.caps, u16::from(attempt.charset));
        session.set_attributes(std::mem::take(&mut attempt.attributes));
        if let Some(tls) = transport.tls() {
            session.set_tls(tls);
        }
        if let Some(database) = attempt.database.take().filter(|name| !name.is_empty())
            && let Err(error) = session.use_database(&database)
        {
            let error = if error.is(&ER_BAD_DB_ERROR) { Error::new(&ER_BAD_DB_ERROR, &[&database]) } else { error };
            return refuse(out, &error);
        }
        session.put_login_ok(out);
        let compressing = attempt.caps & (client::COMPRESS | client::ZSTD_COMPRESSION_ALGORITHM) != 0;
        debug_assert!(!compressing || self.offered & (client::COMPRESS | client::ZSTD_COMPRESSION_ALGORITHM) != 0);
        LoginStep::Done(Box::new(session))
    }
}

fn refuse(out: &mut PacketWriter, error: &Error) -> LoginStep {
    out.packet(|buffer| put_err(buffer, error.code(), error.sqlstate(), error.message()));
    LoginStep::Refused
}
