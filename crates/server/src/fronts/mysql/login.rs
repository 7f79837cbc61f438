//! The connection phase: greeting, TLS request, handshake response, authentication.
//!
//! `Login` is fed one packet at a time by the connection. The order of packets is
//! `vaquita_wire::handshake`'s; the checks of proofs are `vaquita_wire::auth`'s. This file finds the
//! account, runs what the state machine asks for and in the end makes the `Session`.

use std::net::IpAddr;
use std::sync::Arc;

use vaquita_password::Plugin;
use vaquita_types::Error;
use vaquita_types::errno::{
    ER_ACCESS_DENIED_ERROR, ER_BAD_DB_ERROR, ER_CON_COUNT_ERROR, ER_HANDSHAKE_ERROR, ER_MUST_CHANGE_PASSWORD_LOGIN,
    ER_SECURE_TRANSPORT_REQUIRED, ER_SERVER_OFFLINE_MODE, ER_SPECIFIC_ACCESS_DENIED_ERROR,
    ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK,
};
use vaquita_wire::auth::{Account, Authentication, Step};
use vaquita_wire::caps::client;
use vaquita_wire::compress::Algorithm;
use vaquita_wire::handshake::{
    ChangeUser, ClientHello, HandshakeResponse, NONCE_BYTES, decode_handshake_response, nonce_from_random,
};
use vaquita_wire::packet::PacketWriter;
use vaquita_wire::result::put_err;

use super::commands::{Commands, client_options};
use super::front::Front;
use super::transport::Transport;
use crate::fronts::record_of;
use vaquita_session::accounts::AccountRecord;
use vaquita_session::clients::Client;
use vaquita_session::logs::connections::LoggedLogin;
use vaquita_session::session::{Session, check_login_charset};
use vaquita_session::variables::Var;

/// The user id of the machine's root.
const MACHINE_ROOT: u32 = 0;

pub struct Login {
    nonce: [u8; NONCE_BYTES],
    origin: Origin,
    state: State,
}

/// Where a client came from and what it was offered.
#[derive(Clone)]
pub struct Origin {
    offered: u32,
    /// The Unix user at the other end of a Unix socket.
    peer_uid: Option<u32>,
    host: String,
    /// The client's address; none for a Unix socket.
    address: Option<IpAddr>,
    /// It came over the address for administrators.
    administrative: bool,
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
    charset: u16,
    zstd_level: u8,
    attributes: Vec<(String, String)>,
    /// How logs name it.
    command: &'static str,
}

pub enum LoginStep {
    More,
    StartTls,
    /// Logged in; from here on compressed, if that was agreed.
    Done(Box<Commands>, Option<Algorithm>),
    Refused,
}

impl Login {
    pub fn new(
        nonce: [u8; NONCE_BYTES],
        offered: u32,
        host: String,
        address: Option<IpAddr>,
        peer_uid: Option<u32>,
        administrative: bool,
    ) -> Login {
        Login { nonce, origin: Origin { offered, peer_uid, host, address, administrative }, state: State::Hello }
    }

    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// COM_CHANGE_USER: asks for a proof with a fresh nonce, whatever the client sent along.
    pub fn change_user(
        origin: &Origin,
        front: &Arc<Front>,
        client: &Arc<Client>,
        transport: &Transport,
        caps: u32,
        change: &ChangeUser<'_>,
        out: &mut PacketWriter,
    ) -> (Login, LoginStep) {
        let mut random = [0u8; NONCE_BYTES];
        rand::fill(&mut random);
        let secure = transport.tls().is_some() || origin.peer_uid.is_some();
        let mut login = Login { nonce: nonce_from_random(random), origin: origin.clone(), state: State::Hello };
        let mut attempt = login.attempt(front, change.user, secure);
        attempt.command = "Change user";
        attempt.database = Some(text(change.database));
        attempt.caps = caps;
        attempt.charset = change.charset.unwrap_or(0);
        attempt.attributes = change.attributes.iter().map(|(name, value)| (text(name), text(value))).collect();
        let step = attempt.authentication.switch();
        login.state = State::Authenticating(attempt);
        let step = login.drive(front, client, transport, step, out);
        (login, step)
    }

    /// The account that the client names, and the check of its password.
    fn attempt(&self, front: &Arc<Front>, user: &[u8], secure: bool) -> Box<Attempt> {
        let user = text(user);
        let account = front.server.accounts().find(&user, &self.origin.host, self.origin.address);
        let record = match &account {
            Some(found) => record_of(front.server.accounts(), found),
            None => Account::unknown(Plugin::CachingSha2Password),
        };
        Box::new(Attempt {
            authentication: Authentication::new(record, self.nonce, secure, front.public_key_pem()),
            account,
            user,
            database: None,
            caps: 0,
            charset: 0,
            zstd_level: 0,
            attributes: Vec::new(),
            command: "Connect",
        })
    }

    pub fn packet(
        &mut self,
        front: &Arc<Front>,
        client: &Arc<Client>,
        transport: &Transport,
        payload: &[u8],
        out: &mut PacketWriter,
    ) -> LoginStep {
        let secure = transport.tls().is_some() || self.origin.peer_uid.is_some();
        let step = match &mut self.state {
            State::Hello => match decode_handshake_response(payload, self.origin.offered) {
                Ok(ClientHello::TlsRequest { .. }) if transport.tls().is_none() => return LoginStep::StartTls,
                Ok(ClientHello::Response(response)) => match self.respond(front, &response, secure) {
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
        self.drive(front, client, transport, step, out)
    }

    fn respond(&mut self, front: &Arc<Front>, response: &HandshakeResponse<'_>, secure: bool) -> Result<Step, Error> {
        if !secure && front.requires_secure_transport() {
            return Err(Error::new(&ER_SECURE_TRANSPORT_REQUIRED, &[]));
        }
        let mut attempt = self.attempt(front, response.user, secure);
        attempt.database = response.database.map(text);
        attempt.caps = response.capabilities & self.origin.offered;
        attempt.charset = u16::from(response.charset);
        attempt.zstd_level = response.zstd_level;
        attempt.attributes = response.attributes.iter().map(|(name, value)| (text(name), text(value))).collect();
        // The owner of the server's process is root@localhost over the socket, without a password, and so is the root of
        // the machine, who can read everything anyhow. Whoever sends one is asked for the right one, and other accounts
        // are nobody's by the name of a Unix user.
        let owner = self.origin.peer_uid.is_some_and(|uid| uid == rustix::process::geteuid().as_raw() || uid == MACHINE_ROOT);
        let root = attempt.account.as_ref().is_some_and(|account| account.is("root", "localhost"));
        let step = if owner && root && matches!(response.auth_response, b"" | b"\0") {
            Step::Accept(vaquita_wire::auth::Accepted { prelude: None, cache: None, second: false, used_password: false })
        } else {
            attempt.authentication.begin(response.auth_plugin, response.auth_response)
        };
        self.state = State::Authenticating(attempt);
        Ok(step)
    }

    fn drive(
        &mut self,
        front: &Arc<Front>,
        client: &Arc<Client>,
        transport: &Transport,
        mut step: Step,
        out: &mut PacketWriter,
    ) -> LoginStep {
        let origin = &self.origin;
        let State::Authenticating(attempt) = &mut self.state else { return LoginStep::Refused };
        loop {
            step = match step {
                Step::Send(payload) => {
                    out.packet(|buffer| buffer.extend_from_slice(&payload));
                    return LoginStep::More;
                }
                Step::Decrypt(ciphertext) => {
                    let mut plaintext = None;
                    front.pool().blocking(&mut || plaintext = front.decrypt(&ciphertext));
                    attempt.authentication.decrypted(plaintext)
                }
                Step::Check(check) => {
                    let mut checked = None;
                    let mut check = Some(check);
                    front.pool().blocking(&mut || checked = check.take().map(|c| c.run()));
                    match checked {
                        Some(checked) => attempt.authentication.checked(checked),
                        None => Step::Reject,
                    }
                }
                Step::Reject => {
                    if let Some(account) = &attempt.account {
                        // Once it is blocked, a right password and a wrong one get the same answer.
                        if front.server.accounts().blocked(account).is_none() {
                            front.server.accounts().failed_login(account);
                        }
                        if let Some(days_left) = front.server.accounts().blocked(account) {
                            let error = blocked(account, &attempt.user, &origin.host, days_left);
                            attempt.log(front, client, origin, transport, Some(&error));
                            return refuse(out, &error);
                        }
                    }
                    let using = if attempt.authentication.used_password() { "YES" } else { "NO" };
                    let error = Error::new(&ER_ACCESS_DENIED_ERROR, &[&attempt.user, &origin.host, &using]);
                    attempt.log(front, client, origin, transport, Some(&error));
                    return refuse(out, &error);
                }
                Step::Accept(accepted) => {
                    let Some(account) = attempt.account.take() else { return LoginStep::Refused };
                    if let Some(digest) = accepted.cache {
                        front.server.accounts().cache_digest(&account, accepted.second, digest);
                    }
                    if let Some(prelude) = accepted.prelude {
                        out.packet(|buffer| buffer.extend_from_slice(&prelude));
                    }
                    return match self.accept(front, client, transport, account, out) {
                        Ok(done) => done,
                        Err(error) => {
                            if let State::Authenticating(attempt) = &self.state {
                                attempt.log(front, client, &self.origin, transport, Some(&error));
                            }
                            refuse(out, &error)
                        }
                    };
                }
            };
        }
    }

    fn accept(
        &mut self,
        front: &Arc<Front>,
        client: &Arc<Client>,
        transport: &Transport,
        account: Arc<AccountRecord>,
        out: &mut PacketWriter,
    ) -> Result<LoginStep, Error> {
        let origin = &self.origin;
        let State::Authenticating(attempt) = &mut self.state else { return Ok(LoginStep::Refused) };
        attempt.account = Some(account.clone());
        if let Some(days_left) = front.server.accounts().blocked(&account) {
            return Err(blocked(&account, &attempt.user, &origin.host, days_left));
        }
        front.server.accounts().clear_failures(&account);
        if account.locked {
            let error = Error::with_message(
                &vaquita_types::errno::ER_ACCOUNT_HAS_BEEN_LOCKED,
                format!("Access denied for user '{}'@'{}'. Account is locked.", attempt.user, origin.host),
            );
            return Err(error);
        }
        if !account.require.is_met(transport.tls().map(super::tls::peer).as_ref()) {
            let using = if attempt.authentication.used_password() { "YES" } else { "NO" };
            return Err(Error::new(&ER_ACCESS_DENIED_ERROR, &[&attempt.user, &origin.host, &using]));
        }
        let sandbox = attempt.caps & client::CAN_HANDLE_EXPIRED_PASSWORDS != 0;
        if front.server.accounts().password_is_due(&account) && !sandbox {
            return Err(Error::new(&ER_MUST_CHANGE_PASSWORD_LOGIN, &[]));
        }
        client.authenticated(&attempt.user, (&account.user, &account.host), attempt.authentication.used_password());
        let limit = front.server.globals.number(Var::MaxUserConnections);
        front.server.accounts().admit(&account, limit, || front.server.clients().count(&account.user, &account.host))?;
        let (options, charset) = (client_options(attempt.caps), attempt.charset);
        check_login_charset(charset)?;
        let mut session = Session::new(front.server.clone(), client.clone(), account, options, charset);
        if origin.administrative {
            if !session.may_use_the_admin_address() {
                return Err(Error::new(&ER_SPECIFIC_ACCESS_DENIED_ERROR, &[&"SERVICE_CONNECTION_ADMIN"]));
            }
        } else if front.is_full() && !session.may_take_the_last_connection() {
            return Err(Error::new(&ER_CON_COUNT_ERROR, &[]));
        }
        if front.server.globals.is_on(Var::OfflineMode) && !session.may_take_the_last_connection() {
            return Err(Error::new(&ER_SERVER_OFFLINE_MODE, &[]));
        }
        session.set_attributes(std::mem::take(&mut attempt.attributes));
        if let Some(tls) = transport.tls() {
            let (version, cipher) = super::tls::names(tls);
            session.set_tls(version, &cipher);
        }
        if let Some(database) = attempt.database.as_ref().filter(|name| !name.is_empty()) {
            let used = session.use_database(database);
            used.map_err(|error| if error.is(&ER_BAD_DB_ERROR) { Error::new(&ER_BAD_DB_ERROR, &[database]) } else { error })?;
        }
        session.run_init_connect()?;
        attempt.log(front, client, origin, transport, None);
        let commands = Commands::new(session, attempt.caps);
        commands.put_login_ok(out);
        let algorithm = match attempt.caps {
            caps if caps & client::COMPRESS != 0 => Some(Algorithm::Zlib),
            caps if caps & client::ZSTD_COMPRESSION_ALGORITHM != 0 => {
                Some(Algorithm::Zstd { level: attempt.zstd_level.clamp(1, 22) })
            }
            _ => None,
        };
        Ok(LoginStep::Done(Box::new(commands), algorithm))
    }
}

impl Attempt {
    /// Logs how it has ended.
    fn log(&self, front: &Front, client: &Client, origin: &Origin, transport: &Transport, error: Option<&Error>) {
        let transport = match (transport.tls().is_some(), origin.peer_uid.is_some()) {
            (true, _) => "SSL/TLS",
            (_, true) => "Socket",
            _ => "TCP/IP",
        };
        let login = LoggedLogin {
            command: self.command,
            user: &self.user,
            account: self.account.as_ref().map(|account| (&*account.user, &*account.host)),
            database: self.database.as_deref().unwrap_or_default(),
            transport,
            error,
            is_denied: error.is_some_and(|error| !error.is(&ER_BAD_DB_ERROR)),
        };
        front.server.logs.login(client, &login);
    }
}

/// Error 3955: too many wrong passwords.
fn blocked(account: &AccountRecord, user: &str, host: &str, days_left: Option<u64>) -> Error {
    let days = |days: Option<u64>| days.map_or("unlimited".to_string(), |days| days.to_string());
    Error::new(
        &ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK,
        &[&user, &host, &days(account.password_lock_days), &days(days_left), &account.failed_login_attempts],
    )
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn refuse(out: &mut PacketWriter, error: &Error) -> LoginStep {
    out.packet(|buffer| put_err(buffer, error.code(), error.sqlstate(), error.message()));
    LoginStep::Refused
}
