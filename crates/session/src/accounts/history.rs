//! Passwords that an account had, and which of them it may not have again: PASSWORD HISTORY and PASSWORD REUSE INTERVAL.
//!
//! Example: with `PASSWORD HISTORY 2` an account that had a, b and c may have a again; its list holds b and c. A password that is one of
//! the newest or not old enough is error 3638. As in MySQL the empty password is never in the list, a hash that is given as it is (`AS`) is
//! kept but not compared, another plugin starts a new list, and ages are counted in calendar days (here of UTC).
//!
//! * HIST-1: the list is part of the account's record: it is changed, renamed and dropped with it, in the same write as the password.
//! * HIST-2: after each new password the list holds what the policy in force forbids, and no more.

use vaquita_parser::ast::UserOptions;
use vaquita_password::{CachingSha2, Plugin, make_native};
use vaquita_storage::now_us;
use vaquita_types::errno::ER_CREDENTIALS_CONTRADICT_TO_HISTORY;
use vaquita_types::{Error, Result};

use super::{AccountRecord, SECONDS_PER_DAY};

const MICROSECONDS_PER_DAY: u64 = SECONDS_PER_DAY * 1_000_000;

/// A password that an account has or had.
#[derive(Clone, Debug, PartialEq)]
pub struct UsedPassword {
    /// Microseconds since 1970.
    pub set_us: u64,
    /// As in `authentication_string`.
    pub stored: Vec<u8>,
}

/// How many of the newest passwords, and those of how many days, may not be used again; 0 for none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReusePolicy {
    pub passwords: u64,
    pub days: u64,
}

impl ReusePolicy {
    /// What holds for an account of which a statement says `options`; `self` is the server's policy.
    pub fn of(self, account: &AccountRecord, options: &UserOptions) -> ReusePolicy {
        ReusePolicy {
            passwords: options.password_history.unwrap_or(account.password_history).unwrap_or(self.passwords),
            days: options.password_reuse_days.unwrap_or(account.reuse_days).unwrap_or(self.days),
        }
    }

    /// The passwords that may not be used again, from the newest on.
    fn forbidden(self, used: &[UsedPassword], now_us: u64) -> impl Iterator<Item = &UsedPassword> {
        let today = now_us / MICROSECONDS_PER_DAY;
        let is_young = move |one: &UsedPassword| today.saturating_sub(one.set_us / MICROSECONDS_PER_DAY) < self.days;
        let newest_first = used.iter().rev().enumerate();
        newest_first.filter(move |(age, one)| (*age as u64) < self.passwords || is_young(one)).map(|(_, one)| one)
    }

    /// Error 3638 if `password` may not be used again.
    pub fn check(self, account: &AccountRecord, password: &[u8]) -> Result<()> {
        let met = !password.is_empty()
            && self.forbidden(&account.used_passwords, now_us()).any(|one| is_password(account.plugin, &one.stored, password));
        if met { Err(Error::new(&ER_CREDENTIALS_CONTRADICT_TO_HISTORY, &[&account.user, &account.host])) } else { Ok(()) }
    }

    /// Notes the password that `account` has now.
    pub fn note(self, account: &mut AccountRecord) {
        let now_us = now_us();
        if !account.authentication_string.is_empty() {
            account.used_passwords.push(UsedPassword { set_us: now_us, stored: account.authentication_string.clone() });
        }
        let mut kept: Vec<UsedPassword> = self.forbidden(&account.used_passwords, now_us).cloned().collect();
        kept.reverse();
        account.used_passwords = kept;
    }
}

/// Whether `password` is the one of which a plugin stores `stored`.
pub fn is_password(plugin: Plugin, stored: &[u8], password: &[u8]) -> bool {
    match plugin {
        _ if stored.is_empty() || password.is_empty() => stored.is_empty() && password.is_empty(),
        Plugin::CachingSha2Password => CachingSha2::parse(stored).is_some_and(|stored| stored.verify(password)),
        Plugin::MysqlNativePassword => make_native(password) == *stored,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Days of the passwords that are forbidden on day 10, of some that were set on days 1, 5, 8, 9 and 10.
    fn forbidden(passwords: u64, days: u64) -> Vec<u64> {
        let day = |n: u64| n * MICROSECONDS_PER_DAY;
        let used: Vec<UsedPassword> =
            [1, 5, 8, 9, 10].map(|n| UsedPassword { set_us: day(n) + day(1) / 2, stored: Vec::new() }).into();
        let policy = ReusePolicy { passwords, days };
        policy.forbidden(&used, day(11) - 1).map(|one| one.set_us / MICROSECONDS_PER_DAY).collect()
    }

    #[test]
    fn the_newest_and_the_young_are_forbidden() {
        assert_eq!(forbidden(0, 0), [] as [u64; 0]);
        assert_eq!(forbidden(2, 0), [10, 9]);
        assert_eq!(forbidden(9, 0), [10, 9, 8, 5, 1]);
        assert_eq!(forbidden(0, 1), [10]);
        assert_eq!(forbidden(0, 2), [10, 9]);
        assert_eq!(forbidden(0, 3), [10, 9, 8]);
        assert_eq!(forbidden(1, 6), [10, 9, 8, 5]);
        assert_eq!(forbidden(4, 2), [10, 9, 8, 5]);
    }
}
