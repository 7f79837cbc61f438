//! Keys of AES from what is given for one: folded, or derived by HKDF (RFC 5869) or PBKDF2 (RFC 8018), both with HMAC-SHA-512.

use hkdf::Hkdf;
use sha2::Sha512;
use vaquita_types::errno::{ER_AES_INVALID_KDF_ITERATIONS, ER_AES_INVALID_KDF_NAME, ER_AES_INVALID_KDF_OPTION_SIZE};
use vaquita_types::{Error, Result};

use crate::env::EvalCx;
use crate::function::FuncCall;

/// An option has fewer bytes.
const OPTION_BYTES: usize = 256;
/// The text of PBKDF2's iterations has fewer bytes.
const ITERATIONS_BYTES: usize = 6;
const ITERATIONS_MIN: u32 = 1000;
const ITERATIONS_MAX: u32 = 65535;

/// `bytes` bytes into which those of the key are XORed.
pub(super) fn folded(key: &[u8], bytes: usize) -> Vec<u8> {
    let mut folded = vec![0u8; bytes];
    for (i, b) in key.iter().enumerate() {
        folded[i % bytes] ^= b;
    }
    folded
}

/// `bytes` bytes by the function that the fourth argument names, with the options behind it: a salt; information or iterations.
pub(super) fn derived(key: &[u8], bytes: usize, call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Vec<u8>> {
    let name = option(call, 3, OPTION_BYTES, cx)?;
    let mut out = vec![0u8; bytes];
    match name.as_slice() {
        b"hkdf" => {
            let (salt, information) = (option(call, 4, OPTION_BYTES, cx)?, option(call, 5, OPTION_BYTES, cx)?);
            let extracted = Hkdf::<Sha512>::new(Some(&salt), key);
            extracted.expand(&information, &mut out).map_err(Error::internal)?;
        }
        b"pbkdf2_hmac" => {
            let salt = option(call, 4, OPTION_BYTES, cx)?;
            let iterations = if call.len() > 5 {
                let text = option(call, 5, ITERATIONS_BYTES, cx)?;
                let number = std::str::from_utf8(&text).ok().and_then(|text| text.trim().parse().ok());
                number.unwrap_or(0)
            } else {
                ITERATIONS_MIN
            };
            if !(ITERATIONS_MIN..=ITERATIONS_MAX).contains(&iterations) {
                return Err(Error::new(&ER_AES_INVALID_KDF_ITERATIONS, &[]));
            }
            // Some tens of milliseconds at most: the interrupt is looked at before.
            cx.env.check_interrupt()?;
            pbkdf2::pbkdf2_hmac::<Sha512>(key, &salt, iterations, &mut out);
        }
        _ => return Err(Error::new(&ER_AES_INVALID_KDF_NAME, &[])),
    }
    Ok(out)
}

/// An argument that need not be given, but is no NULL and shorter than `bytes`.
fn option(call: &FuncCall<'_>, i: usize, bytes: usize, cx: &EvalCx<'_>) -> Result<Vec<u8>> {
    if i >= call.len() {
        return Ok(Vec::new());
    }
    match call.text(i, cx)? {
        Some(text) if text.len() < bytes => Ok(text.into_owned()),
        _ => Err(Error::new(&ER_AES_INVALID_KDF_OPTION_SIZE, &[&bytes])),
    }
}
