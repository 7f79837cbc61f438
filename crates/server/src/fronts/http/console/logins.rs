//! Who is logged in.
//!
//! A login is found by the 256 random bits of its cookie, of which only a hash is kept. It holds no session: each request opens one and closes
//! it, with the privileges of that moment.
//!
//! LOGIN-1: a login ends when its account is dropped, renamed, locked, expires or gets another password, and by age (`limits`).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use rand::Rng as _;
use sha2::{Digest as _, Sha256};
use vaquita_session::accounts::AccountRecord;
use vaquita_session::server::Server;

use super::super::limits::{LOGIN_AGE_MAX, LOGIN_IDLE, LOGINS_MAX};
use super::super::{Origin, account};

const TOKEN_BYTES: usize = 32;

/// A login, as a request has it.
#[derive(Clone)]
pub struct Login {
    pub account: Arc<AccountRecord>,
    /// What the client called itself, which `%` as an account's user admits.
    pub user: String,
    /// Each form has it, so that no page of somebody else's can send one.
    pub form_token: String,
    pub is_encrypted: bool,
    began: Instant,
    used: Instant,
}

type Key = [u8; 32];

#[derive(Default)]
pub struct Logins(Mutex<HashMap<Key, Login>>);

impl Logins {
    /// The secret of the cookie.
    pub fn begin(&self, account: Arc<AccountRecord>, user: &str, origin: &Origin) -> String {
        let (secret, form_token) = (random(), random());
        let now = Instant::now();
        let login =
            Login { account, user: user.to_string(), form_token, is_encrypted: origin.tls.is_some(), began: now, used: now };
        let mut logins = self.0.lock();
        logins.retain(|_, login| login.is_alive());
        if logins.len() >= LOGINS_MAX
            && let Some(oldest) = logins.iter().min_by_key(|(_, login)| login.used).map(|(key, _)| *key)
        {
            logins.remove(&oldest);
        }
        logins.insert(key(&secret), login);
        secret
    }

    /// The login of a cookie, if it may go on.
    pub fn find(&self, server: &Server, secret: &str, origin: &Origin) -> Option<Login> {
        let key = key(secret);
        let mut logins = self.0.lock();
        let login = logins.get_mut(&key)?;
        let now = server.accounts().get(&login.account.user, &login.account.host);
        let is_same = |account: &AccountRecord| account.authentication_string == login.account.authentication_string;
        let account = now.filter(|account| is_same(account) && account::may_log_in(server.accounts(), account, origin));
        // What began over TLS does not go on without.
        let (Some(account), true, true) = (account, login.is_alive(), origin.tls.is_some() || !login.is_encrypted) else {
            logins.remove(&key);
            return None;
        };
        login.account = account;
        login.used = Instant::now();
        Some(login.clone())
    }

    pub fn end(&self, secret: &str) {
        self.0.lock().remove(&key(secret));
    }

    /// Somebody may still look.
    pub fn is_any(&self) -> bool {
        self.0.lock().values().any(Login::is_alive)
    }
}

impl Login {
    /// Hashes are compared, so that the time tells nothing.
    pub fn is_form_token(&self, given: &str) -> bool {
        key(given) == key(&self.form_token)
    }

    fn is_alive(&self) -> bool {
        self.used.elapsed() < LOGIN_IDLE && self.began.elapsed() < LOGIN_AGE_MAX
    }
}

fn key(secret: &str) -> Key {
    Sha256::digest(secret.as_bytes()).into()
}

/// In hexadecimal.
fn random() -> String {
    let mut bytes = [0u8; TOKEN_BYTES];
    rand::rng().fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
