//! What connections have counted that are gone, by account: the user and the host that they came from.
//!
//! * SUMS-1: an account that finds no place counts with the others that found none, so that the server's sums are whole.

use std::collections::BTreeMap;

use vaquita_exec::context::{Forget, OwnedSums, Sums};
use vaquita_types::memory::{self, BLOCK_BYTES_MIN};

use crate::counters::Counts;

/// MySQL takes memory for as many as come.
const ACCOUNTS_MAX: usize = 1024;
/// What one takes, for the server's account of memory: its counts, and sums of some kinds.
const ACCOUNT_BYTES: usize = 16 << 10;

/// User and host.
pub type Account = (String, String);

#[derive(Default)]
pub struct AccountSums {
    by_account: BTreeMap<Account, Box<Gone>>,
    others: Box<Gone>,
}

#[derive(Default)]
struct Gone {
    sums: Sums,
    counts: Counts,
    connections: u64,
}

impl AccountSums {
    /// A connection is gone, of nobody if it has not logged in.
    pub fn add(&mut self, account: Option<Account>, sums: &Sums, counts: &Counts) {
        let gone = match account {
            Some(account) => self.place_of(account),
            None => &mut self.others,
        };
        gone.sums.add_all(sums);
        gone.counts.add(counts);
        gone.connections += 1;
    }

    fn place_of(&mut self, account: Account) -> &mut Gone {
        let is_known = self.by_account.contains_key(&account);
        if !is_known && (self.by_account.len() >= ACCOUNTS_MAX || memory::ask(BLOCK_BYTES_MIN + ACCOUNT_BYTES).is_err()) {
            return &mut self.others;
        }
        if !is_known {
            memory::allocated(ACCOUNT_BYTES);
        }
        self.by_account.entry(account).or_default()
    }

    /// Of all accounts, and of what is nobody's; `add` the connections that are there.
    pub fn list(&self) -> Vec<OwnedSums> {
        let of = |account: Option<&Account>, gone: &Gone| OwnedSums {
            account: account.cloned(),
            connections: gone.connections,
            sums: gone.sums.clone(),
            status: gone.counts.list(&gone.counts),
            ..OwnedSums::default()
        };
        let accounts = self.by_account.iter().map(|(account, gone)| of(Some(account), gone));
        std::iter::once(of(None, &self.others)).chain(accounts).collect()
    }

    /// Of all together.
    pub fn all(&self) -> Sums {
        let mut all = self.others.sums.clone();
        self.by_account.values().for_each(|gone| all.add_all(&gone.sums));
        all
    }

    pub fn forget(&mut self, what: Forget) {
        if what == Forget::Accounts {
            memory::freed(self.by_account.len() * ACCOUNT_BYTES);
            let gone = std::mem::take(&mut self.by_account);
            gone.values().for_each(|gone| self.others.sums.add_all(&gone.sums));
            return;
        }
        self.by_account.values_mut().chain([&mut self.others]).for_each(|gone| forget(&mut gone.sums, what));
    }
}

/// Lets sums begin anew.
pub fn forget(sums: &mut Sums, what: Forget) {
    match what {
        Forget::Kinds => sums.kinds.clear(),
        Forget::Transactions => sums.transactions = Default::default(),
        Forget::Errors => sums.errors.clear(),
        _ => {}
    }
}
