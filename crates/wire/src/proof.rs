//! What clients send instead of passwords.
//!
//! | plugin | proof for nonce n |
//! |---|---|
//! | caching_sha2_password | SHA256(p) XOR SHA256(SHA256(SHA256(p)) ‖ n) |
//! | mysql_native_password | SHA1(p) XOR SHA1(n ‖ SHA1(SHA1(p))) |
//!
//! What accounts store is `vaquita_password`'s. Every comparison takes constant time (CVE-2012-2122).

use sha1::Sha1;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use vaquita_password::{FastDigest, fast_digest};

use crate::handshake::NONCE_BYTES;

/// `MAX_PLAINTEXT_LENGTH` of the plugin.
pub const PASSWORD_BYTES_MAX: usize = 256;

/// The client's proof.
pub fn caching_sha2_proof(password: &[u8], nonce: &[u8; NONCE_BYTES]) -> [u8; 32] {
    let mut proof: [u8; 32] = Sha256::digest(password).into();
    xor(&mut proof, &fast_mask(&fast_digest(password), nonce));
    proof
}

pub fn verify_caching_sha2_proof(proof: &[u8], nonce: &[u8; NONCE_BYTES], cached: &FastDigest) -> bool {
    let Ok(mut candidate) = <[u8; 32]>::try_from(proof) else {
        return false;
    };
    xor(&mut candidate, &fast_mask(cached, nonce));
    let digest: FastDigest = Sha256::digest(candidate).into();
    digest.ct_eq(cached).into()
}

fn fast_mask(digest: &FastDigest, nonce: &[u8; NONCE_BYTES]) -> [u8; 32] {
    Sha256::new().chain_update(digest).chain_update(nonce).finalize().into()
}

/// A password that RSA protected was XORed with the nonce, repeated, before it was encrypted.
pub fn unmask_password(masked: &mut [u8], nonce: &[u8; NONCE_BYTES]) {
    for (byte, mask) in masked.iter_mut().zip(nonce.iter().cycle()) {
        *byte ^= mask;
    }
}

pub fn native_proof(password: &[u8], nonce: &[u8; NONCE_BYTES]) -> [u8; 20] {
    let mut proof: [u8; 20] = Sha1::digest(password).into();
    let stored: [u8; 20] = Sha1::digest(proof).into();
    xor(&mut proof, &native_mask(&stored, nonce));
    proof
}

pub fn verify_native_proof(proof: &[u8], nonce: &[u8; NONCE_BYTES], stored: &[u8; 20]) -> bool {
    let Ok(mut candidate) = <[u8; 20]>::try_from(proof) else {
        return false;
    };
    xor(&mut candidate, &native_mask(stored, nonce));
    let digest: [u8; 20] = Sha1::digest(candidate).into();
    digest.ct_eq(stored).into()
}

fn native_mask(stored: &[u8; 20], nonce: &[u8; NONCE_BYTES]) -> [u8; 20] {
    Sha1::new().chain_update(nonce).chain_update(stored).finalize().into()
}

fn xor(bytes: &mut [u8], mask: &[u8]) {
    for (byte, mask) in bytes.iter_mut().zip(mask) {
        *byte ^= mask;
    }
}

#[cfg(test)]
mod tests {
    use vaquita_password::{make_native, parse_native};

    use super::*;

    #[test]
    fn caching_sha2_proofs() {
        let nonce = [9; NONCE_BYTES];
        let cached = fast_digest(b"secret");
        let proof = caching_sha2_proof(b"secret", &nonce);
        assert!(verify_caching_sha2_proof(&proof, &nonce, &cached));
        assert!(!verify_caching_sha2_proof(&proof, &[8; NONCE_BYTES], &cached));
        assert!(!verify_caching_sha2_proof(&proof[..31], &nonce, &cached));
    }

    #[test]
    fn native_proofs() {
        let digest = parse_native(&make_native(b"password")).unwrap();
        let nonce = [7; NONCE_BYTES];
        assert!(verify_native_proof(&native_proof(b"password", &nonce), &nonce, &digest));
        assert!(!verify_native_proof(&native_proof(b"Password", &nonce), &nonce, &digest));
        assert!(!verify_native_proof(&[], &nonce, &digest));
    }
}
