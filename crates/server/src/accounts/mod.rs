//! Accounts: who may log in, from where, and with which password.
//!
//! Records live in the engine's metadata under `account/` and are cached here. A login takes the record
//! with the most specific host that matches, as MySQL sorts them. Digests of passwords that were right once
//! are cached so that the next login of that account needs no 5,000 rounds of hashing.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use vaquita_wire::auth::Plugin;
use vaquita_wire::password::FastDigest;

#[derive(Clone, Debug)]
pub struct AccountRecord {
    pub user: String,
    pub host: String,
    pub plugin: Plugin,
    pub authentication_string: Vec<u8>,
    pub locked: bool,
    pub requires_tls: bool,
}

#[derive(Default)]
pub struct Accounts {
    records: RwLock<Vec<Arc<AccountRecord>>>,
    digests: RwLock<HashMap<(String, String), FastDigest>>,
}

impl Accounts {
    pub fn insert(&self, record: AccountRecord) {
        let mut records = self.records.write();
        records.retain(|r| r.user != record.user || r.host != record.host);
        records.push(Arc::new(record));
    }

    pub fn list(&self) -> Vec<Arc<AccountRecord>> {
        self.records.read().clone()
    }

    pub fn find(&self, user: &str, host: &str) -> Option<Arc<AccountRecord>> {
        let records = self.records.read();
        records.iter().filter(|r| r.user == user && host_matches(&r.host, host)).min_by_key(|r| r.host == "%").cloned()
    }

    pub fn cached_digest(&self, account: &AccountRecord) -> Option<FastDigest> {
        self.digests.read().get(&(account.user.clone(), account.host.clone())).copied()
    }

    pub fn cache_digest(&self, account: &AccountRecord, digest: FastDigest) {
        self.digests.write().insert((account.user.clone(), account.host.clone()), digest);
    }
}

fn host_matches(pattern: &str, host: &str) -> bool {
    pattern == "%" || pattern.eq_ignore_ascii_case(host)
}
