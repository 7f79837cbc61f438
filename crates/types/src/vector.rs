//! Vectors: at most `DIMENSIONS_MAX` FLOATs, little-endian, and their text `[1.00000e+00,2.50000e-01]`.

use std::fmt::Write;

pub const DIMENSIONS_MAX: u32 = 16_383;
/// Of a VECTOR without a number.
pub const DIMENSIONS_DEFAULT: u32 = 2_048;
pub const ELEMENT_BYTES: usize = 4;

/// Why bytes are no vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    Length,
    /// NaN or an infinity.
    NotFinite,
}

/// The elements, if there is at least one and nothing behind the last.
pub fn elements(bytes: &[u8]) -> Option<impl Iterator<Item = f32> + '_> {
    let (chunks, rest) = bytes.as_chunks::<ELEMENT_BYTES>();
    let is_vector = !chunks.is_empty() && rest.is_empty() && chunks.len() <= DIMENSIONS_MAX as usize;
    is_vector.then(|| chunks.iter().map(|chunk| f32::from_le_bytes(*chunk)))
}

pub fn check(bytes: &[u8]) -> Result<(), Problem> {
    let mut elements = elements(bytes).ok_or(Problem::Length)?;
    if elements.all(f32::is_finite) { Ok(()) } else { Err(Problem::NotFinite) }
}

/// The bytes of a text of numbers in brackets; `None` if it is none.
pub fn parse(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    let is_blank = |c: char| c.is_ascii_whitespace() || c == '\x0b';
    let list = text.trim_matches(is_blank).strip_prefix('[')?.strip_suffix(']')?;
    let mut bytes = Vec::new();
    for element in list.split(',') {
        if bytes.len() >= DIMENSIONS_MAX as usize * ELEMENT_BYTES {
            return None;
        }
        bytes.extend_from_slice(&number(element.trim_matches(is_blank))?.to_le_bytes());
    }
    Some(bytes)
}

/// A finite FLOAT; one that is too small to be normal is refused, as MySQL does.
fn number(text: &str) -> Option<f32> {
    if !text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E')) {
        return None;
    }
    let number: f32 = text.parse().ok()?;
    let is_zero =
        || !text.split(['e', 'E']).next().is_some_and(|mantissa| mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9')));
    (number.is_normal() || number == 0.0 && is_zero()).then_some(number)
}

/// Six digits of each element.
pub fn to_text(bytes: &[u8]) -> Option<String> {
    let mut text = String::from("[");
    for element in elements(bytes)? {
        if text.len() > 1 {
            text.push(',');
        }
        put_number(&mut text, element);
    }
    text.push(']');
    Some(text)
}

fn put_number(text: &mut String, element: f32) {
    if !element.is_finite() {
        let sign = if element.is_sign_negative() { "-" } else { "" };
        text.push_str(&format!("{sign}{}", if element.is_nan() { "nan" } else { "inf" }));
        return;
    }
    let written = format!("{element:.5e}");
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
    let _ = write!(text, "{digits}e{sign}{exponent:0>2}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_bytes() {
        let bytes = parse(b" [1 , -2.5e-3,\t0, .5, 3.]").expect("a vector");
        assert_eq!(to_text(&bytes).as_deref(), Some("[1.00000e+00,-2.50000e-03,0.00000e+00,5.00000e-01,3.00000e+00]"));
        assert_eq!(check(&bytes), Ok(()));
        for text in
            ["", "[]", "[1,]", "[,1]", "[1 2]", "[nan]", "[inf]", "[1e39]", "[1e-50]", "[- 1]", "[1e]", "1", "[1] x", "[[1]]"]
        {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        let of = |count: usize| format!("[{}1]", "1,".repeat(count - 1));
        assert!(parse(of(DIMENSIONS_MAX as usize).as_bytes()).is_some());
        assert!(parse(of(DIMENSIONS_MAX as usize + 1).as_bytes()).is_none());
    }

    #[test]
    fn bytes_that_are_no_vector() {
        assert_eq!(check(&[]), Err(Problem::Length));
        assert_eq!(check(&[0; 5]), Err(Problem::Length));
        assert_eq!(check(&f32::NAN.to_le_bytes()), Err(Problem::NotFinite));
        assert_eq!(to_text(&f32::INFINITY.to_le_bytes()).as_deref(), Some("[inf]"));
        assert_eq!(to_text(&[0; 3]), None);
    }
}
