//! Passwords as accounts store them.
//!
//! | plugin | stored |
//! |---|---|
//! | caching_sha2_password | `$A$005$` + 20-byte salt + sha256-crypt in 43 characters |
//! | mysql_native_password | `*` + 40 hex digits of SHA1(SHA1(p)) |
//!
//! The sha256-crypt digest cannot check the proof that a client sends instead of its password: only who has `FastDigest` =
//! SHA256(SHA256(p)), which the server keeps in memory after a full authentication, can. `005` is the number of rounds in thousands,
//! in hexadecimal; five thousand rounds take milliseconds on purpose. Sources: "Caching_sha2_password information" in the server's
//! documentation, and U. Drepper, "Unix crypt using SHA-256 and SHA-512". Every comparison takes constant time (CVE-2012-2122).

use sha1::Sha1;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

pub const SALT_BYTES: usize = 20;
const CRYPT_CHARS: usize = 43;
const ROUNDS_THOUSANDS: u32 = 5;

/// How an account proves its password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plugin {
    CachingSha2Password,
    MysqlNativePassword,
}

impl Plugin {
    pub fn name(self) -> &'static str {
        match self {
            Self::CachingSha2Password => "caching_sha2_password",
            Self::MysqlNativePassword => "mysql_native_password",
        }
    }

    pub fn from_name(name: &[u8]) -> Option<Self> {
        [Self::CachingSha2Password, Self::MysqlNativePassword]
            .into_iter()
            .find(|plugin| name.eq_ignore_ascii_case(plugin.name().as_bytes()))
    }
}

/// SHA256(SHA256(password)): what the fast path of caching_sha2_password needs.
pub type FastDigest = [u8; 32];

/// A stored caching_sha2_password, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachingSha2 {
    rounds: u32,
    salt: [u8; SALT_BYTES],
    digest: [u8; CRYPT_CHARS],
}

impl CachingSha2 {
    /// Parses `$A$005$…`; `None` if it is no such string.
    pub fn parse(stored: &[u8]) -> Option<Self> {
        let rest = stored.strip_prefix(b"$A$")?;
        let (thousands, rest) = rest.split_first_chunk::<3>()?;
        let rest = rest.strip_prefix(b"$")?;
        let (salt, digest) = rest.split_first_chunk::<SALT_BYTES>()?;
        let thousands = u32::from_str_radix(std::str::from_utf8(thousands).ok()?, 16).ok()?;
        Some(Self { rounds: thousands.max(1) * 1000, salt: *salt, digest: digest.try_into().ok()? })
    }

    /// What nobody's password matches, at the cost of one that somebody's may.
    pub fn decoy(salt: [u8; SALT_BYTES]) -> Self {
        Self { rounds: ROUNDS_THOUSANDS * 1000, salt, digest: [b'!'; CRYPT_CHARS] }
    }

    /// Takes milliseconds.
    pub fn verify(&self, password: &[u8]) -> bool {
        let digest = sha256_crypt(password, &self.salt, self.rounds);
        digest.ct_eq(&self.digest).into()
    }
}

/// The string to store for a password; the salt's bytes are neither 0 nor `$`. Takes milliseconds.
pub fn make_caching_sha2(password: &[u8], salt: &[u8; SALT_BYTES]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let mut stored = format!("$A${ROUNDS_THOUSANDS:03X}$").into_bytes();
    stored.extend_from_slice(salt);
    stored.extend_from_slice(&sha256_crypt(password, salt, ROUNDS_THOUSANDS * 1000));
    stored
}

pub fn fast_digest(password: &[u8]) -> FastDigest {
    Sha256::digest(Sha256::digest(password)).into()
}

/// `*` and 40 hexadecimal digits.
pub fn make_native(password: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let digest = Sha1::digest(Sha1::digest(password));
    let mut stored = Vec::with_capacity(41);
    stored.push(b'*');
    for byte in digest {
        stored.extend_from_slice(format!("{byte:02X}").as_bytes());
    }
    stored
}

/// The digest in a stored `*HEX`; `None` if it is no such string.
pub fn parse_native(stored: &[u8]) -> Option<[u8; 20]> {
    let hex = stored.strip_prefix(b"*").filter(|hex| hex.len() == 40)?;
    let mut digest = [0; 20];
    for (byte, pair) in digest.iter_mut().zip(hex.chunks_exact(2)) {
        if !pair.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(digest)
}

/// The sha256-crypt of Drepper's specification (its step numbers below), with a salt of 20 bytes instead of up to 16.
fn sha256_crypt(password: &[u8], salt: &[u8; SALT_BYTES], rounds: u32) -> [u8; CRYPT_CHARS] {
    // 4-8: digest B.
    let b: [u8; 32] = Sha256::new().chain_update(password).chain_update(salt).chain_update(password).finalize().into();
    // 1-3, 9-12: digest A.
    let mut a = Sha256::new().chain_update(password).chain_update(salt);
    update_repeated(&mut a, &b, password.len());
    let mut bits = password.len();
    while bits > 0 {
        if bits & 1 == 1 {
            a.update(b);
        } else {
            a.update(password);
        }
        bits >>= 1;
    }
    let mut digest: [u8; 32] = a.finalize().into();
    // 13-16: sequence P, as long as the password.
    let mut dp = Sha256::new();
    for _ in 0..password.len() {
        dp.update(password);
    }
    let p = repeated(&dp.finalize().into(), password.len());
    // 17-20: sequence S, as long as the salt.
    let mut ds = Sha256::new();
    for _ in 0..16 + usize::from(digest[0]) {
        ds.update(salt);
    }
    let s = repeated(&ds.finalize().into(), salt.len());
    // 21: the rounds.
    for round in 0..rounds {
        let mut c = Sha256::new();
        if round & 1 == 1 {
            c.update(&p);
        } else {
            c.update(digest);
        }
        if round % 3 != 0 {
            c.update(&s);
        }
        if round % 7 != 0 {
            c.update(&p);
        }
        if round & 1 == 1 {
            c.update(digest);
        } else {
            c.update(&p);
        }
        digest = c.finalize().into();
    }
    crypt_base64(&digest)
}

fn update_repeated(hasher: &mut Sha256, block: &[u8; 32], len: usize) {
    for start in (0..len).step_by(32) {
        hasher.update(&block[..(len - start).min(32)]);
    }
}

fn repeated(block: &[u8; 32], len: usize) -> Vec<u8> {
    block.iter().copied().cycle().take(len).collect()
}

/// 22e: three bytes at a time in the specification's order, six bits at a time from the lowest.
fn crypt_base64(digest: &[u8; 32]) -> [u8; CRYPT_CHARS] {
    const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut out = [0; CRYPT_CHARS];
    let mut put = |at: usize, chars: usize, mut bits: u32| {
        for c in &mut out[at..at + chars] {
            *c = ALPHABET[(bits & 63) as usize];
            bits >>= 6;
        }
    };
    let (mut i, mut j, mut k) = (0, 10, 20);
    for group in 0..10 {
        let bits = u32::from(digest[i]) << 16 | u32::from(digest[j]) << 8 | u32::from(digest[k]);
        put(group * 4, 4, bits);
        (i, j, k) = (k + 1, i + 1, j + 1);
    }
    put(40, 3, u32::from(digest[31]) << 8 | u32::from(digest[30]));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digit = |b: &u8| (*b as char).to_digit(16).unwrap() as u8;
        text.as_bytes().chunks(2).map(|p| digit(&p[0]) << 4 | digit(&p[1])).collect()
    }

    /// Accounts made by MySQL 9.7 with CREATE USER … IDENTIFIED BY. It uses 10,000 rounds, `$A$00A$`.
    #[test]
    fn verifies_what_mysql_stored() {
        for line in include_str!("passwords.txt").lines().filter(|l| !l.starts_with('#')) {
            let (password, stored) = line.split_once('\t').unwrap();
            let stored = CachingSha2::parse(&hex(stored)).unwrap();
            assert!(stored.verify(password.as_bytes()), "{password}");
            assert!(!stored.verify(&password.as_bytes()[1..]), "{password}");
        }
    }

    /// The well-known hash of "password", as MySQL 5.7's PASSWORD() gives it.
    #[test]
    fn native_strings() {
        let stored = make_native(b"password");
        assert_eq!(stored, b"*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19");
        let digest = parse_native(&stored).unwrap();
        assert_eq!(digest.to_vec(), hex("2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19"));
        for bad in [
            "",
            "*",
            "2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19",
            "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1EXY",
            "*+470C0C06DEE42FD1618BB99005ADCA2EC9D1E19",
        ] {
            assert_eq!(parse_native(bad.as_bytes()), None);
        }
    }

    #[test]
    fn made_strings_verify() {
        let stored = make_caching_sha2(b"secret", &[b's'; SALT_BYTES]);
        let parsed = CachingSha2::parse(&stored).unwrap();
        assert!(parsed.verify(b"secret"));
        assert!(!parsed.verify(b"secrets"));
        assert!(!CachingSha2::decoy([b's'; SALT_BYTES]).verify(b""));
        assert!(make_caching_sha2(b"", &[1; SALT_BYTES]).is_empty());
        for len in 0..stored.len() {
            assert_eq!(CachingSha2::parse(&stored[..len]), None);
        }
    }
}
