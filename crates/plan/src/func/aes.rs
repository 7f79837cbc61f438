//! AES_ENCRYPT and AES_DECRYPT in the modes ECB and CBC of `block_encryption_mode`.
//!
//! The key is folded: its bytes are XORed into as many bytes as the key size has. CBC takes the
//! first 16 bytes of the third argument as its initialization vector, which ECB ignores with warning 1618. Padding is PKCS#7; text that does not
//! decrypt is NULL. Other modes and key derivation functions are error 1235.

use aes::cipher::generic_array::GenericArray;
use aes::cipher::{BlockDecrypt, BlockEncrypt, KeyInit};
use aes::{Aes128, Aes192, Aes256};
use vaquita_types::{Error, Result, Value, errno};

use super::args::volatile;
use super::{FuncCall, FuncDef, FuncType};
use crate::env::{EvalCx, Level};
use crate::eval::arg;
use crate::typing::char_length;

pub(super) static FUNCTIONS: &[FuncDef] = &[
    volatile(
        "AES_ENCRYPT",
        2,
        6,
        |a| FuncType::binary(a.first().map_or(0, |a| u64::from(char_length(&a.ty)) * 4 / 16 * 16 + 16)),
        |c, cx| run(c, cx, true),
    ),
    volatile(
        "AES_DECRYPT",
        2,
        6,
        |a| FuncType::binary(a.first().map_or(0, |a| u64::from(char_length(&a.ty)))),
        |c, cx| run(c, cx, false),
    ),
];

const BLOCK: usize = 16;

enum Cipher {
    Aes128(Aes128),
    Aes192(Aes192),
    Aes256(Aes256),
}

impl Cipher {
    /// `bits` is 128, 192 or 256.
    fn new(key: &[u8], bits: usize) -> Cipher {
        let mut folded = vec![0u8; bits / 8];
        for (i, b) in key.iter().enumerate() {
            folded[i % (bits / 8)] ^= b;
        }
        match bits {
            192 => Cipher::Aes192(Aes192::new(GenericArray::from_slice(&folded))),
            256 => Cipher::Aes256(Aes256::new(GenericArray::from_slice(&folded))),
            _ => Cipher::Aes128(Aes128::new(GenericArray::from_slice(&folded))),
        }
    }

    fn block(&self, block: &mut [u8; BLOCK], encrypt: bool) {
        let block = GenericArray::from_mut_slice(block);
        match (self, encrypt) {
            (Cipher::Aes128(c), true) => c.encrypt_block(block),
            (Cipher::Aes128(c), false) => c.decrypt_block(block),
            (Cipher::Aes192(c), true) => c.encrypt_block(block),
            (Cipher::Aes192(c), false) => c.decrypt_block(block),
            (Cipher::Aes256(c), true) => c.encrypt_block(block),
            (Cipher::Aes256(c), false) => c.decrypt_block(block),
        }
    }
}

/// Key bits and whether blocks are chained, from `aes-256-cbc`.
fn mode(cx: &EvalCx<'_>) -> Result<(usize, bool)> {
    let name = &cx.env.run_settings().block_encryption;
    let bits = match name.get(4..7) {
        Some("128") => 128,
        Some("192") => 192,
        Some("256") => 256,
        _ => return Err(Error::unsupported(format_args!("block_encryption_mode {name}"))),
    };
    match name.get(8..) {
        Some("ecb") => Ok((bits, false)),
        Some("cbc") => Ok((bits, true)),
        _ => Err(Error::unsupported(format_args!("block_encryption_mode {name}"))),
    }
}

fn run(call: &FuncCall<'_>, cx: &EvalCx<'_>, encrypt: bool) -> Result<Value> {
    let name = if encrypt { "aes_encrypt" } else { "aes_decrypt" };
    if call.len() > 3 {
        return Err(Error::unsupported(format_args!("{name} with a key derivation function")));
    }
    let (bits, chained) = mode(cx)?;
    let (text, key) = (arg!(call.text(0, cx)), arg!(call.text(1, cx)));
    let mut previous = [0u8; BLOCK];
    if chained {
        if call.len() < 3 {
            return Err(Error::new(&errno::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, &[&name]));
        }
        let vector = call.text(2, cx)?;
        match vector.as_deref().and_then(<[u8]>::first_chunk::<BLOCK>) {
            Some(first) => previous = *first,
            None => return Err(Error::new(&errno::ER_AES_INVALID_IV, &[&name, &BLOCK])),
        }
    } else if call.len() > 2 {
        cx.env.warn(Level::Warning, Error::new(&errno::WARN_OPTION_IGNORED, &[&"IV"]));
    }
    if encrypt && key.len() > bits / 8 {
        cx.env.warn(Level::Warning, Error::new(&errno::WARN_AES_KEY_SIZE, &[&(bits / 8)]));
    }
    let cipher = Cipher::new(&key, bits);
    Ok(if encrypt {
        Value::from(encrypt_all(&cipher, &text, previous, chained))
    } else {
        decrypt_all(&cipher, &text, previous, chained).map_or(Value::Null, Value::from)
    })
}

fn xor(block: &mut [u8; BLOCK], with: &[u8; BLOCK]) {
    block.iter_mut().zip(with).for_each(|(a, b)| *a ^= b);
}

fn encrypt_all(cipher: &Cipher, text: &[u8], mut previous: [u8; BLOCK], chained: bool) -> Vec<u8> {
    let padding = BLOCK - text.len() % BLOCK;
    let mut padded = text.to_vec();
    padded.resize(text.len() + padding, padding as u8);
    let mut out = Vec::with_capacity(padded.len());
    for chunk in padded.as_chunks::<BLOCK>().0 {
        let mut block = *chunk;
        if chained {
            xor(&mut block, &previous);
        }
        cipher.block(&mut block, true);
        previous = block;
        out.extend_from_slice(&block);
    }
    out
}

fn decrypt_all(cipher: &Cipher, bytes: &[u8], mut previous: [u8; BLOCK], chained: bool) -> Option<Vec<u8>> {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    if !rest.is_empty() {
        return None;
    }
    let mut out = Vec::with_capacity(bytes.len());
    for chunk in blocks {
        let mut block = *chunk;
        cipher.block(&mut block, false);
        if chained {
            xor(&mut block, &previous);
        }
        previous = *chunk;
        out.extend_from_slice(&block);
    }
    let padding = usize::from(*out.last()?);
    let end = out.len().checked_sub(padding).filter(|_| (1..=BLOCK).contains(&padding))?;
    out[end..].iter().all(|b| usize::from(*b) == padding).then(|| out[..end].to_vec())
}
