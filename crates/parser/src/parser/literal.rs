//! Literals: strings with their escapes, numbers, hex and bit strings.

use super::{Parser, Result};
use crate::ast::{Expr, Literal, StringLiteral, UnaryOp};
use crate::keyword::Kw;
use crate::lexer::{Op, Tok};

/// Removes the quotes of `quoted` and undoubles quotes inside.
pub(crate) fn undouble(quoted: &[u8]) -> Vec<u8> {
    let Some((&quote, rest)) = quoted.split_first() else { return Vec::new() };
    let body = rest.strip_suffix(&[quote]).unwrap_or(rest);
    if !body.contains(&quote) {
        return body.to_vec();
    }
    let mut out = Vec::with_capacity(body.len());
    let mut bytes = body.iter();
    while let Some(&b) = bytes.next() {
        out.push(b);
        if b == quote {
            bytes.next();
        }
    }
    out
}

/// Undoes quoting and backslash escapes. `\%` and `\_` stay as they are, for LIKE.
pub(crate) fn unescape(quoted: &[u8]) -> Vec<u8> {
    let Some((&quote, rest)) = quoted.split_first() else { return Vec::new() };
    let body = rest.strip_suffix(&[quote]).unwrap_or(rest);
    let Some(first) = body.iter().position(|b| *b == b'\\' || *b == quote) else {
        return body.to_vec();
    };
    let (plain, special) = body.split_at(first);
    let mut out = Vec::with_capacity(body.len());
    out.extend_from_slice(plain);
    let mut bytes = special.iter();
    while let Some(&b) = bytes.next() {
        if b == quote {
            bytes.next();
            out.push(b);
        } else if b == b'\\' {
            match bytes.next() {
                Some(b'0') => out.push(0),
                Some(b'b') => out.push(8),
                Some(b'n') => out.push(b'\n'),
                Some(b'r') => out.push(b'\r'),
                Some(b't') => out.push(b'\t'),
                Some(b'Z') => out.push(26),
                Some(&wild @ (b'%' | b'_')) => out.extend_from_slice(&[b'\\', wild]),
                Some(&other) => out.push(other),
                None => {}
            }
        } else {
            out.push(b);
        }
    }
    out
}

/// The bytes of hexadecimal digits, with a zero in front if their number is odd.
pub(crate) fn hex_bytes(digits: &[u8]) -> Vec<u8> {
    let nibble = |b: u8| match b {
        b'0'..=b'9' => b - b'0',
        b => (b | 0x20).wrapping_sub(b'a').wrapping_add(10) & 15,
    };
    let mut out = Vec::with_capacity(digits.len().div_ceil(2));
    let (head, pairs) = digits.split_at(digits.len() % 2);
    out.extend(head.iter().map(|b| nibble(*b)));
    for pair in pairs.chunks_exact(2) {
        if let [high, low] = pair {
            out.push(nibble(*high) << 4 | nibble(*low));
        }
    }
    out
}

/// The bytes of binary digits, padded in front.
pub(crate) fn bit_bytes(digits: &[u8]) -> Vec<u8> {
    digits.rchunks(8).rev().map(|chunk| chunk.iter().fold(0u8, |v, b| v << 1 | (b & 1))).collect()
}

/// The digits of `0x..` and `x'..'` and their bit forms.
fn digits_of(text: &[u8]) -> &[u8] {
    let rest = text.get(2..).unwrap_or(&[]);
    rest.strip_suffix(b"'").unwrap_or(rest)
}

/// An integer literal: 64 bits unsigned, or a decimal if it does not fit.
pub(crate) fn integer(text: &[u8]) -> Literal {
    let value = text.iter().try_fold(0u64, |v, b| v.checked_mul(10)?.checked_add(u64::from(b.wrapping_sub(b'0'))));
    match value {
        Some(v) => Literal::Int(v),
        None => Literal::Decimal(String::from_utf8_lossy(text).into_owned()),
    }
}

impl Parser<'_> {
    /// The value of the present string token, which is eaten.
    pub(super) fn string_piece(&mut self) -> Vec<u8> {
        let text = self.text();
        let text = if self.tok.tok == Tok::NatStr { text.get(1..).unwrap_or(&[]) } else { text };
        let value = if self.opts.no_backslash_escapes { undouble(text) } else { unescape(text) };
        self.bump();
        value
    }

    /// One string token.
    pub(super) fn string(&mut self) -> Result<Vec<u8>> {
        if self.tok.tok == Tok::Str { Ok(self.string_piece()) } else { self.fail() }
    }

    /// A string, hex or bit literal, as in DEFAULT FILE names and LINES TERMINATED BY.
    pub(super) fn text_or_hex(&mut self) -> Result<Vec<u8>> {
        match self.kind() {
            Tok::Str => Ok(self.string_piece()),
            Tok::Hex => {
                let bytes = hex_bytes(digits_of(self.text()));
                self.bump();
                Ok(bytes)
            }
            Tok::Bit => {
                let bytes = bit_bytes(digits_of(self.text()));
                self.bump();
                Ok(bytes)
            }
            _ => self.fail(),
        }
    }

    /// An unsigned integer, as in AUTO_INCREMENT=10; decimal or hexadecimal.
    pub(super) fn number(&mut self) -> Result<u64> {
        let value = match self.kind() {
            Tok::Int => match integer(self.text()) {
                Literal::Int(v) => v,
                _ => u64::MAX,
            },
            Tok::Hex => hex_bytes(digits_of(self.text())).iter().fold(0u64, |v, b| v.wrapping_shl(8) | u64::from(*b)),
            _ => return self.fail(),
        };
        self.bump();
        Ok(value)
    }

    /// As `number`, of which what stands behind the digits counts for nothing: 4.9 and 4e2 are 4.
    pub(super) fn whole_part(&mut self) -> Result<u64> {
        if !matches!(self.kind(), Tok::Decimal | Tok::Float) {
            return self.number();
        }
        let text = self.text();
        let digits = text.iter().position(|byte| !byte.is_ascii_digit()).and_then(|end| text.get(..end)).unwrap_or(text);
        let value = match (digits, integer(digits)) {
            ([], _) => 0,
            (_, Literal::Int(value)) => value,
            _ => u64::MAX,
        };
        self.bump();
        Ok(value)
    }

    /// `(n)` if a parenthesis is there.
    pub(super) fn opt_paren_number(&mut self) -> Result<Option<u64>> {
        if !self.eat_op(Op::LParen) {
            return Ok(None);
        }
        if self.tok.tok != Tok::Int {
            return self.fail();
        }
        let n = self.number()?;
        self.expect_op(Op::RParen)?;
        Ok(Some(n))
    }

    /// A literal, if one is there.
    pub(super) fn opt_literal(&mut self) -> Result<Option<Literal>> {
        let literal = match self.kind() {
            Tok::Int => integer(self.text()),
            Tok::Decimal => Literal::Decimal(String::from_utf8_lossy(self.text()).into_owned()),
            Tok::Float => Literal::Float(String::from_utf8_lossy(self.text()).into_owned()),
            Tok::Str | Tok::NatStr => return self.string_literal(None).map(Some),
            Tok::Charset => return self.introduced().map(Some),
            Tok::Hex | Tok::Bit => return Ok(Some(self.binary_literal(None))),
            Tok::Kw(Kw::NULL) => Literal::Null,
            Tok::Kw(Kw::TRUE) => Literal::True,
            Tok::Kw(Kw::FALSE) => Literal::False,
            Tok::Kw(kw @ (Kw::DATE | Kw::TIME | Kw::TIMESTAMP)) if self.peek() == Tok::Str => {
                self.bump();
                let text = self.string_piece();
                return Ok(Some(match kw {
                    Kw::DATE => Literal::Date(text),
                    Kw::TIME => Literal::Time(text),
                    _ => Literal::Timestamp(text),
                }));
            }
            _ => return Ok(None),
        };
        self.bump();
        Ok(Some(literal))
    }

    /// A text, with its introducer if it has one.
    pub(super) fn text_literal(&mut self) -> Result<StringLiteral> {
        let is_text = match self.kind() {
            Tok::Str | Tok::NatStr => true,
            Tok::Charset => self.peek() == Tok::Str,
            _ => false,
        };
        match if is_text { self.opt_literal()? } else { None } {
            Some(Literal::String(text)) => Ok(text),
            _ => self.fail(),
        }
    }

    /// A literal other than NULL, or a number with its sign.
    pub(super) fn signed_literal(&mut self) -> Result<Expr> {
        let sign = match self.kind() {
            Tok::Op(Op::Minus) => Some(UnaryOp::Neg),
            Tok::Op(Op::Plus) => Some(UnaryOp::Plus),
            _ => None,
        };
        if sign.is_some() {
            self.bump();
        }
        let refused = match sign {
            Some(_) => !matches!(self.kind(), Tok::Int | Tok::Decimal | Tok::Float),
            None => self.is(Kw::NULL),
        };
        match if refused { None } else { self.opt_literal()? } {
            Some(literal) => Ok(match sign {
                Some(op) => Expr::Unary { op, expr: Box::new(Expr::Literal(literal)) },
                None => Expr::Literal(literal),
            }),
            None => self.fail(),
        }
    }

    /// Adjacent string literals are one.
    fn string_literal(&mut self, charset: Option<String>) -> Result<Literal> {
        let national = self.tok.tok == Tok::NatStr;
        if national {
            self.deprecate_national();
        }
        let mut bytes = self.string_piece();
        while self.tok.tok == Tok::Str {
            bytes.extend(self.string_piece());
        }
        let charset = if national { Some("utf8mb3".to_string()) } else { charset };
        Ok(Literal::String(StringLiteral { bytes, charset }))
    }

    fn binary_literal(&mut self, charset: Option<String>) -> Literal {
        let digits = digits_of(self.text());
        let literal = if self.tok.tok == Tok::Hex {
            Literal::Hex { bytes: hex_bytes(digits), charset }
        } else {
            Literal::Bit { bytes: bit_bytes(digits), charset }
        };
        self.bump();
        literal
    }

    /// `_charset` and its literal. Without a literal the word is an identifier, which the caller
    /// sees because `peek` finds no literal.
    fn introduced(&mut self) -> Result<Literal> {
        let name = self.text().get(1..).unwrap_or(&[]).to_ascii_lowercase();
        let charset = Some(match name.as_slice() {
            b"utf8" => "utf8mb3".to_string(),
            _ => String::from_utf8_lossy(&name).into_owned(),
        });
        self.deprecate_charset(&String::from_utf8_lossy(&name));
        self.bump();
        match self.kind() {
            Tok::Str => self.string_literal(charset),
            Tok::Hex | Tok::Bit => Ok(self.binary_literal(charset)),
            _ => self.fail(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_lose_their_quotes_and_escapes() {
        assert_eq!(unescape(br"'a\'b''c\n\%\q'"), b"a'b'c\n\\%q");
        assert_eq!(undouble(br"`a``b\`"), br"a`b\");
    }

    #[test]
    fn hex_and_bits_are_padded_in_front() {
        assert_eq!(hex_bytes(b"1fF"), [0x01, 0xff]);
        assert_eq!(bit_bytes(b"101010101"), [1, 0x55]);
        assert_eq!(integer(b"18446744073709551615"), Literal::Int(u64::MAX));
        assert!(matches!(integer(b"18446744073709551616"), Literal::Decimal(_)));
    }
}
