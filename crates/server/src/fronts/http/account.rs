//! Who a client is: the check of a name and password, by the rules of MySQL's login.

use std::sync::Arc;

use rand::Rng as _;
use vaquita_password::Plugin;
use vaquita_session::accounts::{AccountRecord, Accounts, privilege};
use vaquita_session::server::Server;
use vaquita_types::base64;
use vaquita_wire::auth::{Account, Authentication, Step};
use vaquita_wire::handshake::{NONCE_BYTES, nonce_from_random};
use vaquita_wire::proof::{caching_sha2_proof, native_proof};

use super::Origin;
use crate::fronts::record_of;

/// A name and password that a client sent.
#[derive(Clone)]
pub struct Credentials {
    pub user: String,
    pub password: Vec<u8>,
}

impl Credentials {
    /// Those of an Authorization header of the scheme Basic.
    pub fn basic(header: &str) -> Option<Credentials> {
        let (scheme, text) = header.split_once(' ')?;
        if !scheme.eq_ignore_ascii_case("basic") {
            return None;
        }
        let decoded = base64::decode(text.trim().as_bytes())?;
        let at = decoded.iter().position(|byte| *byte == b':')?;
        let user = String::from_utf8(decoded[..at].to_vec()).ok()?;
        Some(Credentials { user, password: decoded[at + 1..].to_vec() })
    }
}

/// The account, if the password is right and it may log in. Takes milliseconds, and as long for a name that nobody has.
pub fn check(server: &Server, credentials: &Credentials, origin: &Origin) -> Option<Arc<AccountRecord>> {
    let accounts = server.accounts();
    let account = accounts.find(&credentials.user, &origin.host(), Some(origin.peer.ip()));
    let accepted = is_right(server, account.as_ref(), &credentials.password);
    let account = account?;
    if accounts.blocked(&account).is_some() {
        return None;
    }
    if !accepted {
        accounts.failed_login(&account);
        return None;
    }
    accounts.clear_failures(&account);
    may_log_in(accounts, &account, origin).then_some(account)
}

/// What may have changed since a login.
pub fn may_log_in(accounts: &Accounts, account: &AccountRecord, origin: &Origin) -> bool {
    !account.locked && !accounts.password_is_due(account) && account.require.is_met(origin.tls.as_ref())
}

/// The way of a client of MySQL's protocol that knows the password, over a secure transport.
fn is_right(server: &Server, account: Option<&Arc<AccountRecord>>, password: &[u8]) -> bool {
    let (plugin, record) = match account {
        Some(found) => (found.plugin, record_of(server.accounts(), found)),
        None => (Plugin::CachingSha2Password, Account::unknown(Plugin::CachingSha2Password)),
    };
    let mut random = [0u8; NONCE_BYTES];
    rand::rng().fill(&mut random);
    let nonce = nonce_from_random(random);
    let proof = match (plugin, password) {
        (_, b"") => Vec::new(),
        (Plugin::CachingSha2Password, _) => caching_sha2_proof(password, &nonce).to_vec(),
        (Plugin::MysqlNativePassword, _) => native_proof(password, &nonce).to_vec(),
    };
    let mut login = Authentication::new(record, nonce, true, None);
    let mut step = login.begin(Some(plugin.name().as_bytes()), &proof);
    loop {
        step = match step {
            Step::Send(_) => match login.receive(&[password, b"\0"].concat()) {
                Ok(next) => next,
                Err(_) => return false,
            },
            Step::Check(check) => login.checked(check.run()),
            Step::Accept(accepted) => {
                if let (Some(account), Some(digest)) = (account, accepted.cache) {
                    server.accounts().cache_digest(account, accepted.second, digest);
                }
                return true;
            }
            Step::Decrypt(_) | Step::Reject => return false,
        };
    }
}

/// Whether it sees what others do: the PROCESS privilege, its own or of its default roles.
pub fn sees_the_server(server: &Server, account: &AccountRecord) -> bool {
    server.accounts().access_of_login(account).grants.global & privilege::PROCESS != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_credentials() {
        let of = |header: &str| Credentials::basic(header).map(|c| (c.user, String::from_utf8_lossy(&c.password).into_owned()));
        assert_eq!(of("Basic cm9vdDphOmI="), Some(("root".to_string(), "a:b".to_string())));
        assert_eq!(of("basic cm9vdDo="), Some(("root".to_string(), String::new())));
        assert_eq!([of("Bearer cm9vdDo="), of("Basic"), of("Basic !"), of("Basic cm9vdA==")], [None, None, None, None]);
    }
}
