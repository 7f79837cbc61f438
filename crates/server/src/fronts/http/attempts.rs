//! Wrong passwords, by the address that they came from: who has guessed too often is not heard for a while.
//!
//! FAILED_LOGIN_ATTEMPTS of accounts counts beside it; this holds for accounts that do not have it, and for names of none.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

use parking_lot::Mutex;

use super::limits::{ADDRESSES_MAX, ATTEMPTS_MAX, ATTEMPTS_WITHIN};

struct Failures {
    count: u32,
    since: Instant,
}

#[derive(Default)]
pub struct Attempts(Mutex<HashMap<IpAddr, Failures>>);

impl Attempts {
    /// Whether a password from there is looked at. It counts as wrong until `succeeded` says otherwise, so that many at once are no way around.
    pub fn admit(&self, address: IpAddr) -> bool {
        let mut failures = self.0.lock();
        failures.retain(|_, known| known.since.elapsed() < ATTEMPTS_WITHIN);
        let address = network(address);
        if failures.len() >= ADDRESSES_MAX
            && !failures.contains_key(&address)
            && let Some(oldest) = failures.iter().min_by_key(|(_, known)| known.since).map(|(address, _)| *address)
        {
            failures.remove(&oldest);
        }
        let known = failures.entry(address).or_insert(Failures { count: 0, since: Instant::now() });
        let is_admitted = known.count < ATTEMPTS_MAX;
        known.count += u32::from(is_admitted);
        is_admitted
    }

    /// A right password.
    pub fn succeeded(&self, address: IpAddr) {
        self.0.lock().remove(&network(address));
    }
}

/// Whoever has one address of IPv6 has all of its network.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) if address.to_ipv4_mapped().is_none() => {
            IpAddr::V6(Ipv6Addr::from(u128::from(address) & !u128::from(u64::MAX)))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_guesses_is_not_heard() {
        let attempts = Attempts::default();
        let [one, neighbour, other] =
            ["2001:db8::1", "2001:db8::2", "192.0.2.7"].map(|text| text.parse::<IpAddr>().expect("an address"));
        assert!((0..ATTEMPTS_MAX).all(|n| attempts.admit(if n % 2 == 0 { one } else { neighbour })));
        assert!(!attempts.admit(one) && !attempts.admit(neighbour) && attempts.admit(other));
        attempts.succeeded(one);
        assert!(attempts.admit(neighbour));
    }

    #[test]
    fn many_addresses_take_no_more_memory() {
        let attempts = Attempts::default();
        (0..ADDRESSES_MAX as u32 + 100).for_each(|n| assert!(attempts.admit(IpAddr::from(n.to_be_bytes()))));
        assert_eq!(attempts.0.lock().len(), ADDRESSES_MAX);
    }
}
