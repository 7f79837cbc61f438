//! Which account a client is: the hosts of accounts as patterns, and their order.
//!
//! MySQL tries the accounts of a user from the most specific host to the least: literal names and addresses, then
//! patterns by how late their first wildcard stands, `%` last, and at the end the anonymous user.
//! A pattern is compared with the client's host name and with its address.
//! ```text
//! localhost  10.0.0.7  10.0.0.0/255.255.255.0  10.0.0.%  %.example.com  %
//! ```

use std::net::{IpAddr, Ipv4Addr};

/// Whether a client of that name and address may use an account of `pattern`.
pub fn matches(pattern: &str, host: &str, address: Option<IpAddr>) -> bool {
    if pattern.is_empty() || pattern == "%" {
        return true;
    }
    if let Some((network, mask)) = pattern.split_once('/') {
        return address.is_some_and(|address| in_network(network, mask, address));
    }
    if like(pattern.as_bytes(), host.as_bytes()) {
        return true;
    }
    let Some(address) = address else { return false };
    pattern.parse::<IpAddr>().is_ok_and(|literal| literal == address) || like(pattern.as_bytes(), address.to_string().as_bytes())
}

/// `mask` as bits (`24`) or as an address (`255.255.255.0`).
fn in_network(network: &str, mask: &str, address: IpAddr) -> bool {
    match (network.parse::<IpAddr>(), address) {
        (Ok(IpAddr::V4(network)), IpAddr::V4(address)) => {
            let mask = match mask.parse::<u32>() {
                Ok(bits) if bits <= 32 => u32::MAX.checked_shl(32 - bits).unwrap_or(0),
                _ => match mask.parse::<Ipv4Addr>() {
                    Ok(mask) => u32::from(mask),
                    Err(_) => return false,
                },
            };
            u32::from(address) & mask == u32::from(network)
        }
        (Ok(IpAddr::V6(network)), IpAddr::V6(address)) => {
            let Some(bits) = mask.parse::<u32>().ok().filter(|bits| *bits <= 128) else { return false };
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            u128::from(address) & mask == u128::from(network)
        }
        _ => false,
    }
}

/// `%` any bytes, `_` one byte, `\` takes the next byte as it is; without regard to ASCII case.
pub fn like(pattern: &[u8], text: &[u8]) -> bool {
    wild(pattern, text, &|a, b| a.eq_ignore_ascii_case(&b))
}

/// The same with regard to case: names of databases.
pub fn like_exactly(pattern: &[u8], text: &[u8]) -> bool {
    wild(pattern, text, &|a, b| a == b)
}

fn wild(mut pattern: &[u8], mut text: &[u8], same: &dyn Fn(u8, u8) -> bool) -> bool {
    // Where to go on if what follows the last `%` does not match: one byte later.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        let step = match (pattern, text) {
            ([], []) => return true,
            ([b'%', rest @ ..], _) => {
                retry = Some((rest, text));
                pattern = rest;
                continue;
            }
            ([b'\\', p, rest @ ..], [t, tail @ ..]) if same(*p, *t) => Some((rest, tail)),
            ([b'\\', _, ..], _) => None,
            ([b'_', rest @ ..], [_, tail @ ..]) => Some((rest, tail)),
            ([p, rest @ ..], [t, tail @ ..]) if same(*p, *t) => Some((rest, tail)),
            _ => None,
        };
        match (step, retry) {
            (Some((rest, tail)), _) => (pattern, text) = (rest, tail),
            (None, Some((rest, [_, tail @ ..]))) => {
                retry = Some((rest, tail));
                (pattern, text) = (rest, tail);
            }
            (None, _) => return false,
        }
    }
}

/// Whether a pattern of databases matches every name that another matches: `shop_1` covers `shop\_1` and `shopX1`, not `shop%1`.
pub fn covers(pattern: &str, other: &str) -> bool {
    let (pattern, other) = (pieces(pattern), pieces(other));
    // `reached[i]`: the pieces of the pattern so far cover the first `i` pieces of the other.
    let mut reached = vec![false; other.len() + 1];
    reached[0] = true;
    for piece in pattern {
        let mut next = vec![false; other.len() + 1];
        for (at, _) in reached.iter().enumerate().filter(|(_, reached)| **reached) {
            match piece {
                Piece::Many => next[at..].fill(true),
                Piece::One if matches!(other.get(at), Some(Piece::One | Piece::Byte(_))) => next[at + 1] = true,
                Piece::Byte(_) if other.get(at) == Some(&piece) => next[at + 1] = true,
                Piece::One | Piece::Byte(_) => {}
            }
        }
        reached = next;
    }
    reached.last().copied().unwrap_or(false)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Byte(u8),
    One,
    Many,
}

fn pieces(pattern: &str) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(pattern.len());
    let mut bytes = pattern.bytes();
    while let Some(byte) = bytes.next() {
        pieces.push(match byte {
            b'%' => Piece::Many,
            b'_' => Piece::One,
            b'\\' => Piece::Byte(bytes.next().unwrap_or(byte)),
            byte => Piece::Byte(byte),
        });
    }
    pieces
}

/// Sort key of a pattern: smaller is tried earlier.
pub fn rank(pattern: &str) -> (u8, usize) {
    if pattern == "%" || pattern.is_empty() {
        return (3, 0);
    }
    if pattern.contains('/') {
        return (1, 0);
    }
    match first_wildcard(pattern) {
        None => (0, 0),
        Some(at) => (2, usize::MAX - at),
    }
}

pub fn first_wildcard(pattern: &str) -> Option<usize> {
    let mut escaped = false;
    pattern.bytes().position(|byte| {
        let wild = !escaped && matches!(byte, b'%' | b'_');
        escaped = byte == b'\\' && !escaped;
        wild
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_match_as_in_the_manual() {
        let cases = [
            ("%", "h1.example.net", "198.51.100.3", true),
            ("localhost", "localhost", "127.0.0.1", true),
            ("127.0.0.1", "localhost", "127.0.0.1", true),
            ("127.%", "localhost", "127.0.0.1", true),
            ("10.0.0.7", "10.0.0.7", "10.0.0.7", true),
            ("10.0.0.7", "10.0.0.70", "10.0.0.70", false),
            ("198.51.100.%", "198.51.100.3", "198.51.100.3", true),
            ("198.51.100.0/255.255.255.0", "x", "198.51.100.3", true),
            ("198.51.100.0/24", "x", "198.51.101.3", false),
            ("198.51.100.0/24", "x", "198.51.100.255", true),
            ("%.Example.com", "a.b.example.COM", "10.0.0.1", true),
            ("h_.example.com", "h1.example.com", "10.0.0.1", true),
            ("h_.example.com", "h12.example.com", "10.0.0.1", false),
            ("2001:db8::/32", "x", "2001:db8::5", true),
            ("0.0.0.0/0", "x", "1.2.3.4", true),
        ];
        for (pattern, host, address, expected) in cases {
            assert_eq!(matches(pattern, host, address.parse().ok()), expected, "{pattern} {host} {address}");
        }
    }

    #[test]
    fn the_most_specific_host_comes_first() {
        let mut hosts = vec!["%", "%.com", "10.0.0.%", "localhost", "10.0.0.0/24", "10.%"];
        hosts.sort_by_key(|host| rank(host));
        assert_eq!(hosts, ["localhost", "10.0.0.0/24", "10.0.0.%", "10.%", "%.com", "%"]);
    }

    #[test]
    fn a_pattern_covers_what_is_narrower() {
        let cases = [
            ("shop", "shop", true),
            ("shop_1", "shop_1", true),
            ("shop_1", r"shop\_1", true),
            ("shop_1", "shopX1", true),
            ("shop_1", "shop%1", false),
            (r"shop\_1", "shop_1", false),
            (r"shop\_1", r"shop\_1", true),
            ("sh%", "shop%1", true),
            ("sh%", "sh%", true),
            ("sh%", "s%", false),
            ("%", "%", true),
            ("%a%", "xa_", true),
            ("%a", "a%", false),
            ("_%", "%", false),
            ("", "", true),
            ("", "x", false),
        ];
        for (pattern, other, expected) in cases {
            assert_eq!(covers(pattern, other), expected, "{pattern} covers {other}");
        }
    }

    #[test]
    fn wildcards_of_databases_can_be_escaped() {
        assert!(like_exactly(br"my\_db", b"my_db"));
        assert!(!like_exactly(br"my\_db", b"myXdb"));
        assert!(like_exactly(b"my%db", b"my--db"));
        assert!(like_exactly(b"%a%b", b"xxaxxabb"));
        assert!(!like_exactly(b"A%", b"abc"));
    }
}
