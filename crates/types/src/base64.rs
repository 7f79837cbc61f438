//! Base64 of MIME ("RFC 2045"), as TO_BASE64, FROM_BASE64, JSON and BINLOG statements have it.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const NO_DIGIT: u8 = 0xFF;
/// The value of each byte that is a digit.
const VALUES: [u8; 256] = {
    let mut values = [NO_DIGIT; 256];
    let mut value = 0;
    while value < ALPHABET.len() {
        values[ALPHABET[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// Without line breaks.
pub fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)) << (8 * (3 - group.len()));
        for i in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= group.len() { digit } else { b'=' });
        }
    }
}

/// White space is passed over. `None`: a byte that is no digit, or a last group that is not whole.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    decode_texts(text, 1)
}

/// Of texts behind each other, each with its padding.
pub fn decode_several(texts: &[u8]) -> Option<Vec<u8>> {
    decode_texts(texts, usize::MAX)
}

fn decode_texts(text: &[u8], mut texts_left: usize) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut digits, mut padding) = (0u32, 0, 0);
    for byte in text.iter().filter(|byte| !byte.is_ascii_whitespace()) {
        let value = match (*byte, VALUES[usize::from(*byte)]) {
            (b'=', _) => {
                padding += 1;
                0
            }
            (_, NO_DIGIT) => return None,
            _ if padding > 0 || texts_left == 0 => return None,
            (_, value) => value,
        };
        bits = bits << 6 | u32::from(value);
        digits += 1;
        if digits == 4 {
            out.extend_from_slice(&bits.to_be_bytes()[1..]);
            if padding > 2 {
                return None;
            }
            if padding > 0 {
                out.truncate(out.len() - padding);
                texts_left -= 1;
            }
            (bits, digits, padding) = (0, 0, 0);
        }
    }
    (digits == 0).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        for (bytes, text) in
            [(&b""[..], ""), (b"f", "Zg=="), (b"fo", "Zm8="), (b"foo", "Zm9v"), (b"\xff\xfe\xfd\xfc", "//79/A==")]
        {
            let mut encoded = Vec::new();
            encode(bytes, &mut encoded);
            assert_eq!(encoded, text.as_bytes());
            assert_eq!(decode(&encoded).as_deref(), Some(bytes));
        }
        assert_eq!(decode(b" Zm\n9v\t").as_deref(), Some(&b"foo"[..]));
        for wrong in ["Zm9", "Z===", "Zg==Zg==", "Zm9*", "=Zm9"] {
            assert_eq!(decode(wrong.as_bytes()), None, "{wrong}");
        }
        assert_eq!(decode_several(b"Zg==\nZm8=\nZm9v\nZg==").as_deref(), Some(&b"ffofoof"[..]));
        assert_eq!(decode_several(b"Zg=Zg=="), None);
    }
}
