//! Server-side authentication as a state machine: it is given the account's stored password and the client's
//! packets, and says what to send, what to compute, and in the end whether the client is who it says.
//!
//! ```text
//! begin ──plugin differs──> Send(AuthSwitchRequest) ─┐
//!   └──────────same──────────────────────────────────┴> proof
//! proof: caching_sha2 ─ digest cached and proof right ──────────────> Accept (prelude 01 03)
//!                     ├ empty: account without a password ──────────> Accept, else Reject
//!                     └ otherwise Send(01 04) ─> password
//!        native ──────────────────────────────────────────────────── > Accept or Reject
//! password: TLS or Unix socket ───────────────────> Check (5,000 rounds) ─> Accept or Reject
//!           plain ─ 02 ─> Send(01 PEM) ─> Decrypt ─> Check
//! ```
//! Whoever runs it: `Send` a payload and give the next packet to `receive`; run `Check` where milliseconds of CPU do not
//! hurt and give the result to `checked`; decrypt with the server's RSA key (OAEP with SHA-1) and give the result to `decrypted`.
//!
//! * AUTH-1: an unknown user (`Account::unknown`) takes exactly the way of a known one with a wrong password.
//! * AUTH-2: only `verify_*` functions, all constant-time, lead to `Accept`; the one exception is an account without password and an empty proof.
//! * AUTH-3: a password in clear is accepted only when `secure_transport`.
//! * AUTH-4: a ciphertext that is not for our key takes the way of a wrong password, with its rounds of hashing.

use vaquita_password::{CachingSha2, FastDigest, Plugin, SALT_BYTES, fast_digest, parse_native};

use crate::error::ProtocolError;
use crate::handshake::{NONCE_BYTES, put_auth_more_data, put_auth_switch_request};
use crate::proof::{PASSWORD_BYTES_MAX, unmask_password, verify_caching_sha2_proof, verify_native_proof};

const FAST_AUTH_SUCCESS: u8 = 3;
const PERFORM_FULL_AUTHENTICATION: u8 = 4;
const REQUEST_PUBLIC_KEY: u8 = 2;
/// RSA keys up to 16,384 bits.
const CIPHERTEXT_BYTES_MAX: usize = 2048;

/// What the server has stored about who wants to log in.
#[derive(Clone, Debug)]
pub struct Account {
    plugin: Plugin,
    first: Password,
    /// The one before, which is as good.
    second: Option<Password>,
}

#[derive(Clone, Debug)]
struct Password {
    stored: Stored,
    cached: Option<FastDigest>,
}

impl Password {
    fn new(plugin: Plugin, authentication_string: &[u8], cached: Option<FastDigest>) -> Self {
        let stored = if authentication_string.is_empty() {
            Stored::NoPassword
        } else {
            let parsed = match plugin {
                Plugin::CachingSha2Password => CachingSha2::parse(authentication_string).map(Stored::CachingSha2),
                Plugin::MysqlNativePassword => parse_native(authentication_string).map(Stored::Native),
            };
            parsed.unwrap_or(Stored::Nothing)
        };
        Self { stored, cached }
    }

    fn native(&self) -> Option<[u8; 20]> {
        if let Stored::Native(digest) = self.stored { Some(digest) } else { None }
    }

    fn caching_sha2(&self) -> Option<&CachingSha2> {
        if let Stored::CachingSha2(stored) = &self.stored { Some(stored) } else { None }
    }
}

#[derive(Clone, Debug)]
enum Stored {
    NoPassword,
    CachingSha2(CachingSha2),
    Native([u8; 20]),
    /// Nothing matches: an unknown user, or a string that does not parse.
    Nothing,
}

impl Account {
    /// A known account with its `authentication_string`, and the digest cached for it, if any.
    pub fn new(plugin: Plugin, authentication_string: &[u8], cached: Option<FastDigest>) -> Self {
        Self { plugin, first: Password::new(plugin, authentication_string, cached), second: None }
    }

    /// The same with a second password; an empty string is none.
    pub fn with_second(self, authentication_string: &[u8], cached: Option<FastDigest>) -> Self {
        let is_one = !authentication_string.is_empty();
        let second = is_one.then(|| Password::new(self.plugin, authentication_string, cached));
        Self { second, ..self }
    }

    /// Stands in for a user that does not exist; `plugin` is the server's default one.
    pub fn unknown(plugin: Plugin) -> Self {
        Self { plugin, first: Password { stored: Stored::Nothing, cached: None }, second: None }
    }

    fn passwords(&self) -> impl Iterator<Item = &Password> {
        std::iter::once(&self.first).chain(&self.second)
    }

    /// Nothing matches any more.
    fn forget(&mut self) {
        self.first.stored = Stored::Nothing;
        self.second = None;
    }
}

/// What is to be done next.
#[derive(Debug)]
pub enum Step {
    /// Send this payload, then give the client's next packet to `receive`.
    Send(Vec<u8>),
    /// Decrypt with the RSA key and give the result to `decrypted`.
    Decrypt(Vec<u8>),
    /// Call `run`, which takes milliseconds, and give the result to `checked`.
    Check(PasswordCheck),
    Accept(Accepted),
    /// Error 1045.
    Reject,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Accepted {
    /// A payload to send before the OK.
    pub prelude: Option<[u8; 2]>,
    /// To be cached for this password, so that the next login takes the fast path.
    pub cache: Option<FastDigest>,
    /// It was the second password.
    pub second: bool,
    /// Whether a password was used, for "(using password: YES)".
    pub used_password: bool,
}

/// A single NUL is how some clients write the empty password.
fn is_empty(proof: &[u8]) -> bool {
    matches!(proof, [] | [0])
}

/// The expensive comparison, ready to be moved to another thread.
#[derive(Debug)]
pub struct PasswordCheck {
    /// Of the first password, and of the second if there is one.
    stored: Vec<CachingSha2>,
    password: Vec<u8>,
}

/// Result of a `PasswordCheck`: which password was right, and the digest to cache.
#[derive(Debug)]
pub struct Checked(Option<(usize, FastDigest)>);

impl PasswordCheck {
    pub fn run(mut self) -> Checked {
        let right = self.stored.iter().position(|stored| stored.verify(&self.password));
        let digest = fast_digest(&self.password);
        self.password.fill(0);
        Checked(right.map(|which| (which, digest)))
    }
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Proof,
    Password,
    Ciphertext,
    Computing,
    Done,
}

/// One authentication, from the handshake response or COM_CHANGE_USER to `Accept` or `Reject`.
#[derive(Debug)]
pub struct Authentication {
    account: Account,
    nonce: [u8; NONCE_BYTES],
    /// Over TLS or a Unix socket.
    secure_transport: bool,
    /// The server's key for clients without TLS.
    public_key_pem: Option<String>,
    state: State,
    used_password: bool,
}

impl Authentication {
    pub fn new(account: Account, nonce: [u8; NONCE_BYTES], secure_transport: bool, public_key_pem: Option<String>) -> Self {
        Self { account, nonce, secure_transport, public_key_pem, state: State::Proof, used_password: false }
    }

    /// Whether the client sent a password: the last words of error 1045.
    pub fn used_password(&self) -> bool {
        self.used_password
    }

    /// Begins with the proof in the handshake response. Clients without PLUGIN_AUTH name no plugin and mean mysql_native_password.
    pub fn begin(&mut self, client_plugin: Option<&[u8]>, proof: &[u8]) -> Step {
        let named = client_plugin.is_some();
        let client_plugin = match client_plugin {
            Some(name) => Plugin::from_name(name),
            None => Some(Plugin::MysqlNativePassword),
        };
        // A replica of MariaDB that does not know the plugin of the greeting names its own, and waits for the switch with its proof.
        let waits = client_plugin == Some(Plugin::MysqlNativePassword) && named && is_empty(proof);
        match client_plugin == Some(self.account.plugin) {
            true if !waits || matches!(self.account.first.stored, Stored::NoPassword) => self.proof(proof),
            _ => self.switch(),
        }
    }

    /// Begins with an AuthSwitchRequest, so that the client proves itself for this nonce: COM_CHANGE_USER.
    pub fn switch(&mut self) -> Step {
        self.state = State::Proof;
        let mut payload = Vec::with_capacity(48);
        put_auth_switch_request(&mut payload, self.account.plugin.name(), &self.nonce);
        Step::Send(payload)
    }

    /// The client's next packet.
    pub fn receive(&mut self, payload: &[u8]) -> Result<Step, ProtocolError> {
        match self.state {
            State::Proof => Ok(self.proof(payload)),
            State::Password if self.secure_transport => Ok(self.password(payload.to_vec())),
            State::Password if payload == [REQUEST_PUBLIC_KEY] => Ok(self.send_public_key()),
            State::Password | State::Ciphertext => Ok(self.ciphertext(payload)),
            State::Computing | State::Done => Err(ProtocolError::Handshake),
        }
    }

    fn proof(&mut self, proof: &[u8]) -> Step {
        let empty = is_empty(proof);
        self.used_password = !empty;
        if empty {
            return match self.account.first.stored {
                Stored::NoPassword => self.accept(None, None, false),
                _ => self.reject(),
            };
        }
        match self.account.plugin {
            Plugin::MysqlNativePassword => self.native_proof(proof),
            Plugin::CachingSha2Password => self.caching_sha2_proof(proof),
        }
    }

    fn native_proof(&mut self, proof: &[u8]) -> Step {
        let matches = |password: &Password| {
            let (stored, known) = password.native().map_or(([0; 20], false), |digest| (digest, true));
            verify_native_proof(proof, &self.nonce, &stored) && known
        };
        let found = self.account.passwords().position(matches);
        match found {
            Some(which) => self.accept(None, None, which == 1),
            None => self.reject(),
        }
    }

    fn caching_sha2_proof(&mut self, proof: &[u8]) -> Step {
        let matches = |password: &Password| {
            // Computed for everybody, so that its time tells nothing.
            let right = verify_caching_sha2_proof(proof, &self.nonce, &password.cached.unwrap_or([0; 32]));
            right && password.caching_sha2().is_some() && password.cached.is_some()
        };
        let found = self.account.passwords().enumerate().find(|(_, password)| matches(password));
        if let Some((which, digest)) = found.map(|(which, password)| (which, password.cached)) {
            return self.accept(Some([1, FAST_AUTH_SUCCESS]), digest, which == 1);
        }
        self.state = State::Password;
        Self::send_more_data(&[PERFORM_FULL_AUTHENTICATION])
    }

    fn send_public_key(&mut self) -> Step {
        let Some(pem) = &self.public_key_pem else {
            return self.reject();
        };
        self.state = State::Ciphertext;
        Self::send_more_data(pem.as_bytes())
    }

    fn ciphertext(&mut self, payload: &[u8]) -> Step {
        if self.public_key_pem.is_none() || payload.is_empty() || payload.len() > CIPHERTEXT_BYTES_MAX {
            return self.reject();
        }
        self.state = State::Computing;
        Step::Decrypt(payload.to_vec())
    }

    /// The result of `Step::Decrypt`; `None` if the ciphertext was not for our key.
    pub fn decrypted(&mut self, plaintext: Option<Vec<u8>>) -> Step {
        match plaintext {
            Some(mut masked) if self.state == State::Computing => {
                unmask_password(&mut masked, &self.nonce);
                self.password(masked)
            }
            None if self.state == State::Computing => {
                self.account.forget();
                self.password(Vec::new())
            }
            _ => self.reject(),
        }
    }

    fn password(&mut self, mut password: Vec<u8>) -> Step {
        if password.last() == Some(&0) {
            password.pop();
        }
        if password.len() > PASSWORD_BYTES_MAX {
            self.account.forget();
            password.clear();
        }
        self.state = State::Computing;
        let decoy = || CachingSha2::decoy([b'.'; SALT_BYTES]);
        let stored = self.account.passwords().map(|password| password.caching_sha2().cloned().unwrap_or_else(decoy)).collect();
        Step::Check(PasswordCheck { stored, password })
    }

    /// The result of `Step::Check`.
    pub fn checked(&mut self, checked: Checked) -> Step {
        let is_known =
            |which: usize| self.account.passwords().nth(which).is_some_and(|password| password.caching_sha2().is_some());
        match checked.0 {
            Some((which, digest)) if is_known(which) && self.state == State::Computing => {
                self.accept(None, Some(digest), which == 1)
            }
            _ => self.reject(),
        }
    }

    fn send_more_data(data: &[u8]) -> Step {
        let mut payload = Vec::with_capacity(data.len() + 1);
        put_auth_more_data(&mut payload, data);
        Step::Send(payload)
    }

    fn accept(&mut self, prelude: Option<[u8; 2]>, cache: Option<FastDigest>, second: bool) -> Step {
        self.state = State::Done;
        Step::Accept(Accepted { prelude, cache, second, used_password: self.used_password })
    }

    fn reject(&mut self) -> Step {
        self.state = State::Done;
        Step::Reject
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vaquita_password::{make_caching_sha2, make_native};

    use crate::proof::{caching_sha2_proof, native_proof};

    const NONCE: [u8; NONCE_BYTES] = *b"abcdefghijklmnopqrst";
    const SHA2: Plugin = Plugin::CachingSha2Password;
    const NATIVE: Plugin = Plugin::MysqlNativePassword;

    #[test]
    fn a_ciphertext_for_another_key_is_a_wrong_password() {
        let account = Account::new(SHA2, &make_caching_sha2(b"secret", &[b'a'; SALT_BYTES]), None);
        for plaintext in [None, Some(vec![0; PASSWORD_BYTES_MAX + 2]), Some(b"other".to_vec())] {
            let mut auth = Authentication::new(account.clone(), NONCE, false, Some("PEM".to_string()));
            let step = auth.begin(Some(SHA2.name().as_bytes()), &caching_sha2_proof(b"secret", &NONCE));
            assert!(matches!(step, Step::Send(_)));
            assert!(matches!(auth.receive(b"ciphertext"), Ok(Step::Decrypt(_))));
            let Step::Check(check) = auth.decrypted(plaintext) else { panic!("the rounds of hashing") };
            let checked = check.run();
            assert!(matches!(auth.checked(checked), Step::Reject));
        }
    }

    /// Each of two passwords is accepted with and without a digest that was kept, and no other; the digest that is to be kept says whose it is.
    #[test]
    fn the_second_password_is_as_good_as_the_first() {
        let digest = vaquita_password::fast_digest;
        for (kept, name) in [(false, SHA2), (true, SHA2), (false, NATIVE)] {
            let stored = |password: &[u8]| match name {
                SHA2 => make_caching_sha2(password, &[b'a'; SALT_BYTES]),
                NATIVE => make_native(password),
            };
            let cached = |password: &[u8]| kept.then(|| digest(password));
            let account = Account::new(name, &stored(b"new"), cached(b"new")).with_second(&stored(b"old"), cached(b"old"));
            for (password, second) in [(&b"new"[..], Some(false)), (b"old", Some(true)), (b"other", None)] {
                let proof = match name {
                    SHA2 => caching_sha2_proof(password, &NONCE).to_vec(),
                    NATIVE => native_proof(password, &NONCE).to_vec(),
                };
                let mut auth = Authentication::new(account.clone(), NONCE, true, None);
                let mut step = auth.begin(Some(name.name().as_bytes()), &proof);
                while let Step::Send(_) = step {
                    let Ok(Step::Check(check)) = auth.receive(password) else { panic!("the rounds of hashing") };
                    step = auth.checked(check.run());
                }
                match (step, second) {
                    (Step::Accept(accepted), Some(second)) => {
                        assert_eq!(accepted.second, second);
                        assert_eq!(accepted.cache, (name == SHA2).then(|| digest(password)));
                    }
                    (Step::Reject, None) => {}
                    other => panic!("{name:?} {}: {other:?}", String::from_utf8_lossy(password)),
                }
            }
        }
        let account = Account::new(SHA2, b"", None).with_second(b"", None);
        assert!(matches!(
            Authentication::new(account, NONCE, true, None).begin(Some(SHA2.name().as_bytes()), b""),
            Step::Accept(_)
        ));
    }

    /// The whole exchange as a line per step; the client knows `password`.
    fn talk(account: Account, client_plugin: Option<Plugin>, password: &[u8], tls: bool) -> String {
        let mut auth = Authentication::new(account, NONCE, tls, Some("PEM".to_string()));
        let proof = |plugin| match (plugin, password) {
            (_, b"") => Vec::new(),
            (Some(SHA2), _) => caching_sha2_proof(password, &NONCE).to_vec(),
            _ => native_proof(password, &NONCE).to_vec(),
        };
        let name = client_plugin.map(|plugin| plugin.name().as_bytes());
        let mut step = auth.begin(name, &proof(client_plugin));
        let mut log = Vec::new();
        loop {
            step = match step {
                Step::Send(payload) => {
                    let (line, answer) = match payload[0] {
                        0xfe => {
                            let end = payload.iter().position(|&b| b == 0).unwrap();
                            assert_eq!(payload[end + 1..], *b"abcdefghijklmnopqrst\0");
                            let plugin = Plugin::from_name(&payload[1..end]);
                            ("switch", proof(plugin))
                        }
                        _ if payload == [1, PERFORM_FULL_AUTHENTICATION] => {
                            let clear = [password, b"\0"].concat();
                            ("full", if tls { clear } else { vec![REQUEST_PUBLIC_KEY] })
                        }
                        _ => {
                            assert_eq!(payload, b"\x01PEM");
                            let mut masked = [password, b"\0"].concat();
                            unmask_password(&mut masked, &NONCE);
                            ("key", masked)
                        }
                    };
                    log.push(line);
                    auth.receive(&answer).unwrap()
                }
                Step::Decrypt(ciphertext) => {
                    log.push("decrypt");
                    // The test's cipher is the identity.
                    auth.decrypted(Some(ciphertext))
                }
                Step::Check(check) => {
                    log.push("check");
                    auth.checked(check.run())
                }
                Step::Accept(accepted) => {
                    log.push(if accepted.prelude.is_some() { "accept fast" } else { "accept" });
                    assert!(auth.receive(b"").is_err());
                    return log.join(", ");
                }
                Step::Reject => {
                    log.push("reject");
                    assert!(auth.receive(b"").is_err());
                    return log.join(", ");
                }
            };
        }
    }

    fn sha2(password: &[u8], cached: bool) -> Account {
        let stored = make_caching_sha2(password, b"salt-salt-salt-salt-");
        Account::new(SHA2, &stored, cached.then(|| fast_digest(password)))
    }

    fn native(password: &[u8]) -> Account {
        Account::new(NATIVE, &make_native(password), None)
    }

    #[test]
    fn right_passwords() {
        assert_eq!(talk(sha2(b"pw", true), Some(SHA2), b"pw", false), "accept fast");
        assert_eq!(talk(sha2(b"pw", false), Some(SHA2), b"pw", true), "full, check, accept");
        assert_eq!(talk(sha2(b"pw", false), Some(SHA2), b"pw", false), "full, key, decrypt, check, accept");
        assert_eq!(talk(sha2(b"pw", true), Some(NATIVE), b"pw", false), "switch, accept fast");
        assert_eq!(talk(sha2(b"pw", true), None, b"pw", false), "switch, accept fast");
        assert_eq!(talk(native(b"pw"), Some(NATIVE), b"pw", false), "accept");
        assert_eq!(talk(native(b"pw"), None, b"pw", false), "accept");
        assert_eq!(talk(native(b"pw"), Some(SHA2), b"pw", false), "switch, accept");
        assert_eq!(talk(sha2(b"", false), Some(SHA2), b"", false), "accept");
        assert_eq!(talk(native(b""), Some(NATIVE), b"", false), "accept");
    }

    /// As replicas of MariaDB begin, whose greeting named another plugin.
    #[test]
    fn who_waits_for_the_switch_gets_it() {
        let mut auth = Authentication::new(native(b"pw"), NONCE, false, None);
        assert!(matches!(auth.begin(Some(NATIVE.name().as_bytes()), b""), Step::Send(_)));
        assert!(matches!(auth.receive(&native_proof(b"pw", &NONCE)), Ok(Step::Accept(_))));
        assert_eq!(talk(native(b"pw"), Some(NATIVE), b"", false), "switch, reject");
        assert_eq!(talk(native(b"pw"), None, b"", false), "reject");
    }

    /// AUTH-1: wrong password, unknown user and an account without a password look the same.
    #[test]
    fn everybody_else_looks_alike() {
        for tls in [true, false] {
            let way = if tls { "full, check, reject" } else { "full, key, decrypt, check, reject" };
            for account in [
                sha2(b"pw", true),
                sha2(b"pw", false),
                sha2(b"", false),
                Account::unknown(SHA2),
                Account::new(SHA2, b"$A$broken", None),
            ] {
                assert_eq!(talk(account.clone(), Some(SHA2), b"guess", tls), way);
                if !matches!(account.first.stored, Stored::NoPassword) {
                    assert_eq!(talk(account, Some(SHA2), b"", tls), "reject");
                }
            }
        }
        for account in [native(b"pw"), native(b""), Account::unknown(NATIVE)] {
            assert_eq!(talk(account, Some(NATIVE), b"guess", false), "reject");
        }
    }

    #[test]
    fn nothing_is_accepted_out_of_turn() {
        let mut auth = Authentication::new(sha2(b"pw", false), NONCE, false, None);
        assert!(matches!(auth.begin(Some(b"caching_sha2_password"), b"x"), Step::Send(_)));
        // Without a key neither a request for it nor a ciphertext is answered, and a password in clear is none.
        assert!(matches!(auth.receive(b"pw\0"), Ok(Step::Reject)));
        let stored = CachingSha2::decoy([1; SALT_BYTES]);
        let check = PasswordCheck { stored: vec![stored], password: Vec::new() };
        assert!(matches!(auth.checked(check.run()), Step::Reject));
        assert!(matches!(auth.checked(Checked(Some((0, [0; 32])))), Step::Reject));
    }
}
