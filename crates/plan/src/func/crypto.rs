//! Hashes, compression and random bytes.

use std::io::Write;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use vaquita_types::limits::{RANDOM_BYTES_MAX, UNCOMPRESSED_BYTES_MAX};
use vaquita_types::{Error, Result, Value, errno};

use super::args::{def, volatile};
use super::{FuncCall, FuncDef, FuncType};
use crate::env::{EvalCx, Level};
use crate::eval::arg;
use crate::expr::{Expr, ExprKind};
use crate::typing::{char_length, int_of_length};

pub(super) static FUNCTIONS: &[FuncDef] = &[
    def("MD5", 1, 1, |_| FuncType::ascii(32), |c, cx| Ok(digest::<Md5>(&arg!(c.text(0, cx))))),
    def("SHA", 1, 1, |_| FuncType::ascii(40), |c, cx| Ok(digest::<Sha1>(&arg!(c.text(0, cx))))),
    def("SHA1", 1, 1, |_| FuncType::ascii(40), |c, cx| Ok(digest::<Sha1>(&arg!(c.text(0, cx))))),
    def("SHA2", 2, 2, resolve_sha2, sha2),
    def("COMPRESS", 1, 1, |a| FuncType::binary(a.first().map_or(0, |a| u64::from(char_length(&a.ty)) * 4 + 120)), compress),
    def("UNCOMPRESS", 1, 1, |_| FuncType::binary(1 << 26), uncompress),
    def("UNCOMPRESSED_LENGTH", 1, 1, |_| FuncType::number(int_of_length(11), true), uncompressed_length),
    volatile("RANDOM_BYTES", 1, 1, |_| FuncType::binary(RANDOM_BYTES_MAX as u64), random_bytes),
];

fn digest<D: Digest>(bytes: &[u8]) -> Value {
    Value::from(D::digest(bytes).iter().map(|b| format!("{b:02x}")).collect::<String>())
}

/// Two digits for each byte that a literal second argument asks for.
fn resolve_sha2(args: &mut Vec<Expr>) -> Result<FuncType> {
    let bits = match args.get(1).map(|a| &a.kind) {
        Some(ExprKind::Literal(Value::Int(0))) => 256,
        Some(ExprKind::Literal(Value::Int(n @ (224 | 256 | 384 | 512)))) => *n as u64,
        _ => 512,
    };
    FuncType::ascii(bits / 4)
}

fn sha2(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let bytes = arg!(call.text(0, cx));
    Ok(match call.int(1, cx)? {
        Some(0 | 256) => digest::<Sha256>(&bytes),
        Some(224) => digest::<Sha224>(&bytes),
        Some(384) => digest::<Sha384>(&bytes),
        Some(512) => digest::<Sha512>(&bytes),
        _ => {
            cx.env.warn(Level::Warning, Error::new(&errno::ER_WRONG_PARAMETERS_TO_NATIVE_FCT, &[&"sha2"]));
            Value::Null
        }
    })
}

/// The length in four bytes, little-endian, then zlib; a trailing space gets a dot behind it.
fn compress(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let bytes = arg!(call.text(0, cx));
    if bytes.is_empty() {
        return Ok(Value::from(""));
    }
    let mut encoder = ZlibEncoder::new((bytes.len() as u32).to_le_bytes().to_vec(), Compression::default());
    let packed = encoder.write_all(&bytes).and_then(|()| encoder.finish());
    let Ok(mut packed) = packed else { return Ok(Value::Null) };
    if packed.last() == Some(&b' ') {
        packed.push(b'.');
    }
    Ok(Value::from(packed))
}

fn uncompress(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    use std::io::Read;
    let bytes = arg!(call.text(0, cx));
    if bytes.is_empty() {
        return Ok(Value::from(""));
    }
    let bad = |error| {
        cx.env.warn(Level::Warning, error);
        Ok(Value::Null)
    };
    let not_compressed = || Error::new(&errno::ER_ZLIB_Z_DATA_ERROR, &[]);
    let Some((head, body)) = bytes.split_first_chunk::<4>() else { return bad(not_compressed()) };
    let length = (u32::from_le_bytes(*head) & 0x3FFF_FFFF) as usize;
    if length > UNCOMPRESSED_BYTES_MAX {
        return bad(Error::new(&errno::ER_TOO_BIG_FOR_UNCOMPRESS, &[&UNCOMPRESSED_BYTES_MAX]));
    }
    let mut out = Vec::new();
    match ZlibDecoder::new(body).take(length as u64 + 1).read_to_end(&mut out) {
        Ok(n) if n <= length => Ok(Value::from(out)),
        Ok(_) => bad(Error::new(&errno::ER_ZLIB_Z_BUF_ERROR, &[])),
        Err(_) => bad(not_compressed()),
    }
}

fn uncompressed_length(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let bytes = arg!(call.text(0, cx));
    Ok(match bytes.first_chunk::<4>() {
        Some(head) if bytes.len() > 4 => Value::Int(i64::from(u32::from_le_bytes(*head) & 0x3FFF_FFFF)),
        _ if bytes.is_empty() => Value::Int(0),
        _ => {
            cx.env.warn(Level::Warning, Error::new(&errno::ER_ZLIB_Z_DATA_ERROR, &[]));
            Value::Int(0)
        }
    })
}

fn random_bytes(call: &FuncCall<'_>, cx: &EvalCx<'_>) -> Result<Value> {
    let n = arg!(call.int(0, cx));
    if !(1..=RANDOM_BYTES_MAX as i128).contains(&n) {
        return Err(Error::new(&errno::ER_DATA_OUT_OF_RANGE, &[&"length", &"random_bytes"]));
    }
    let mut out = vec![0; n as usize];
    cx.env.random_bytes(&mut out);
    Ok(Value::from(out))
}
