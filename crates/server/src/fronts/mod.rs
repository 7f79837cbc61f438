//! What clients talk to: each front decodes its protocol, runs sessions, and writes their answers. Only fronts know packets.

pub mod http;
pub mod mysql;

use vaquita_session::accounts::{AccountRecord, Accounts};
use vaquita_wire::auth::Account;

/// What a login is checked with.
pub fn record_of(accounts: &Accounts, account: &AccountRecord) -> Account {
    let [first, second] = accounts.cached_digests(account);
    let record = Account::new(account.plugin, &account.authentication_string, first);
    record.with_second(&account.second_authentication_string, second)
}
