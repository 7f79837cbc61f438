//! AES_ENCRYPT and AES_DECRYPT in the modes of `block_encryption_mode`.
//!
//! The key is folded: its bytes are XORed into as many bytes as the key size has; or a key of that size is derived from it (`key`).
//! All modes but ECB take the first 16 bytes of the third argument as their initialization vector, which ECB ignores with warning 1618.
//! ECB and CBC pad to whole blocks as PKCS#7 does; a text that does not decrypt is NULL. The others encrypt byte by byte, CFB1 bit by bit,
//! with what the cipher makes of the text before.

mod key;

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

/// Bytes between two looks at the interrupt.
const INTERRUPT_EVERY: usize = 1 << 20;

enum Cipher {
    Aes128(Aes128),
    Aes192(Aes192),
    Aes256(Aes256),
}

impl Cipher {
    /// `key` has 16, 24 or 32 bytes.
    fn new(key: &[u8]) -> Cipher {
        match key.len() {
            24 => Cipher::Aes192(Aes192::new(GenericArray::from_slice(key))),
            32 => Cipher::Aes256(Aes256::new(GenericArray::from_slice(key))),
            _ => Cipher::Aes128(Aes128::new(GenericArray::from_slice(key))),
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

    fn encrypted(&self, mut block: [u8; BLOCK]) -> [u8; BLOCK] {
        self.block(&mut block, true);
        block
    }
}

/// How blocks depend on those before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Ecb,
    Cbc,
    Cfb1,
    Cfb8,
    Cfb128,
    Ofb,
}

/// Key bits and mode, from `aes-256-cbc`.
fn mode(cx: &EvalCx<'_>) -> Result<(usize, Mode)> {
    let name = &cx.env.run_settings().block_encryption;
    let unknown = || Error::unsupported(format_args!("block_encryption_mode {name}"));
    let bits = match name.get(4..7) {
        Some("128") => 128,
        Some("192") => 192,
        Some("256") => 256,
        _ => return Err(unknown()),
    };
    let mode = match name.get(8..) {
        Some("ecb") => Mode::Ecb,
        Some("cbc") => Mode::Cbc,
        Some("cfb1") => Mode::Cfb1,
        Some("cfb8") => Mode::Cfb8,
        Some("cfb128") => Mode::Cfb128,
        Some("ofb") => Mode::Ofb,
        _ => return Err(unknown()),
    };
    Ok((bits, mode))
}

fn run(call: &FuncCall<'_>, cx: &EvalCx<'_>, encrypt: bool) -> Result<Value> {
    let name = if encrypt { "aes_encrypt" } else { "aes_decrypt" };
    let (bits, mode) = mode(cx)?;
    let (text, key) = (arg!(call.text(0, cx)), arg!(call.text(1, cx)));
    let mut vector = [0u8; BLOCK];
    if mode != Mode::Ecb {
        if call.len() < 3 {
            return Err(Error::new(&errno::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT, &[&name]));
        }
        let given = call.text(2, cx)?;
        match given.as_deref().and_then(<[u8]>::first_chunk::<BLOCK>) {
            Some(first) => vector = *first,
            None => return Err(Error::new(&errno::ER_AES_INVALID_IV, &[&name, &BLOCK])),
        }
    } else if call.len() > 2 {
        cx.env.warn(Level::Warning, Error::new(&errno::WARN_OPTION_IGNORED, &[&"IV"]));
    }
    let key = match call.len() {
        ..4 => {
            if encrypt && key.len() > bits / 8 {
                cx.env.warn(Level::Warning, Error::new(&errno::WARN_AES_KEY_SIZE, &[&(bits / 8)]));
            }
            key::folded(&key, bits / 8)
        }
        _ => key::derived(&key, bits / 8, call, cx)?,
    };
    let work = Work { cipher: Cipher::new(&key), mode, encrypt, cx };
    Ok(match mode {
        Mode::Cfb1 | Mode::Cfb8 | Mode::Cfb128 | Mode::Ofb => Value::from(work.stream(&text, vector)?),
        _ if encrypt => Value::from(work.encrypt_blocks(&text, vector)?),
        _ => work.decrypt_blocks(&text, vector)?.map_or(Value::Null, Value::from),
    })
}

fn xor(block: &mut [u8; BLOCK], with: &[u8; BLOCK]) {
    block.iter_mut().zip(with).for_each(|(a, b)| *a ^= b);
}

struct Work<'a> {
    cipher: Cipher,
    mode: Mode,
    encrypt: bool,
    cx: &'a EvalCx<'a>,
}

impl Work<'_> {
    fn look(&self, done: usize) -> Result<()> {
        if done.is_multiple_of(INTERRUPT_EVERY) { self.cx.env.check_interrupt() } else { Ok(()) }
    }

    fn encrypt_blocks(&self, text: &[u8], mut previous: [u8; BLOCK]) -> Result<Vec<u8>> {
        let padding = BLOCK - text.len() % BLOCK;
        let mut padded = text.to_vec();
        padded.resize(text.len() + padding, padding as u8);
        let mut out = Vec::with_capacity(padded.len());
        for chunk in padded.as_chunks::<BLOCK>().0 {
            self.look(out.len())?;
            let mut block = *chunk;
            if self.mode == Mode::Cbc {
                xor(&mut block, &previous);
            }
            self.cipher.block(&mut block, true);
            previous = block;
            out.extend_from_slice(&block);
        }
        Ok(out)
    }

    fn decrypt_blocks(&self, bytes: &[u8], mut previous: [u8; BLOCK]) -> Result<Option<Vec<u8>>> {
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        if !rest.is_empty() {
            return Ok(None);
        }
        let mut out = Vec::with_capacity(bytes.len());
        for chunk in blocks {
            self.look(out.len())?;
            let mut block = *chunk;
            self.cipher.block(&mut block, false);
            if self.mode == Mode::Cbc {
                xor(&mut block, &previous);
            }
            previous = *chunk;
            out.extend_from_slice(&block);
        }
        let Some(padding) = out.last().map(|last| usize::from(*last)) else { return Ok(None) };
        let end = out.len().checked_sub(padding).filter(|_| (1..=BLOCK).contains(&padding));
        let Some(end) = end else { return Ok(None) };
        Ok(out[end..].iter().all(|b| usize::from(*b) == padding).then(|| out[..end].to_vec()))
    }

    /// CFB and OFB: the text is XORed with what the cipher makes of a register, into which goes what came out.
    fn stream(&self, text: &[u8], mut register: [u8; BLOCK]) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(text.len());
        match self.mode {
            Mode::Cfb1 => {
                for byte in text {
                    self.look(out.len())?;
                    out.push(self.bits(*byte, &mut register));
                }
            }
            Mode::Cfb8 => {
                for byte in text {
                    self.look(out.len())?;
                    let made = byte ^ self.cipher.encrypted(register)[0];
                    register.rotate_left(1);
                    register[BLOCK - 1] = if self.encrypt { made } else { *byte };
                    out.push(made);
                }
            }
            _ => {
                for chunk in text.chunks(BLOCK) {
                    self.look(out.len())?;
                    let stream = self.cipher.encrypted(register);
                    let begin = out.len();
                    out.extend(chunk.iter().zip(stream).map(|(byte, with)| byte ^ with));
                    match self.mode {
                        Mode::Ofb => register = stream,
                        _ => {
                            let next = if self.encrypt { &out[begin..] } else { chunk };
                            register[..next.len()].copy_from_slice(next);
                        }
                    }
                }
            }
        }
        Ok(out)
    }

    /// CFB1: the eight bits of a byte, the highest first, each goes into the register.
    fn bits(&self, byte: u8, register: &mut [u8; BLOCK]) -> u8 {
        let mut made = 0;
        for shift in (0..8).rev() {
            let bit = byte >> shift & 1;
            let out = bit ^ self.cipher.encrypted(*register)[0] >> 7;
            made |= out << shift;
            let next = if self.encrypt { out } else { bit };
            *register = (u128::from_be_bytes(*register) << 1 | u128::from(next)).to_be_bytes();
        }
        made
    }
}
