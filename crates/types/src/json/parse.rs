//! JSON from text, refusing what MySQL refuses with the words and positions it uses.
//!
//! The grammar is RFC 8259. Integers that fit 64 bits stay integers, all other
//! numbers become doubles. Positions are byte offsets into the text.

use std::sync::Arc;

use super::{JSON_DEPTH_MAX, Json, JsonError, JsonObject};

const EMPTY: &str = "The document is empty.";
const ROOT_FOLLOWED: &str = "The document root must not be followed by other values.";
const INVALID_VALUE: &str = "Invalid value.";
const MISSING_NAME: &str = "Missing a name for object member.";
const MISSING_COLON: &str = "Missing a colon after a name of object member.";
const MISSING_COMMA_OBJECT: &str = "Missing a comma or '}' after an object member.";
const MISSING_COMMA_ARRAY: &str = "Missing a comma or ']' after an array element.";
const BAD_HEX: &str = "Incorrect hex digit after \\u escape in string.";
const BAD_SURROGATE: &str = "The surrogate pair in string is invalid.";
const BAD_ESCAPE: &str = "Invalid escape character in string.";
const MISSING_QUOTE: &str = "Missing a closing quotation mark in string.";
const BAD_ENCODING: &str = "Invalid encoding in string.";
const NUMBER_TOO_BIG: &str = "Number too big to be stored in double.";
const MISSING_FRACTION: &str = "Miss fraction part in number.";
const MISSING_EXPONENT: &str = "Miss exponent in number.";

type Parse<T> = Result<T, JsonError>;

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl Json {
    /// Parses a document in UTF-8.
    pub fn parse(text: &[u8]) -> Result<Json, JsonError> {
        let mut p = Parser { text, at: 0, depth: 0 };
        p.skip_space();
        if p.at == text.len() {
            return p.fail(EMPTY);
        }
        let value = p.value()?;
        p.skip_space();
        if p.at < text.len() { p.fail(ROOT_FOLLOWED) } else { Ok(value) }
    }
}

/// The string literal that is all of `text`, quotes included.
pub(super) fn parse_string_literal(text: &[u8]) -> Option<String> {
    let mut p = Parser { text, at: 0, depth: 0 };
    (p.peek() == Some(b'"')).then_some(())?;
    let s = p.string().ok()?;
    (p.at == text.len()).then_some(s)
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += found as usize;
        found
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn fail<T>(&self, message: &'static str) -> Parse<T> {
        self.fail_at(message, self.at)
    }

    fn fail_at<T>(&self, message: &'static str, position: usize) -> Parse<T> {
        Err(JsonError::Syntax { message, position })
    }

    fn value(&mut self) -> Parse<Json> {
        match self.peek() {
            Some(b'n') => self.word(b"null", Json::Null),
            Some(b't') => self.word(b"true", Json::Bool(true)),
            Some(b'f') => self.word(b"false", Json::Bool(false)),
            Some(b'"') => self.string().map(Json::string),
            Some(b'{') => self.nested(Parser::object),
            Some(b'[') => self.nested(Parser::array),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &[u8], value: Json) -> Parse<Json> {
        for byte in word {
            if !self.eat(*byte) {
                return self.fail(INVALID_VALUE);
            }
        }
        Ok(value)
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Parse<Json>) -> Parse<Json> {
        if self.depth == JSON_DEPTH_MAX {
            return Err(JsonError::TooDeep);
        }
        self.depth += 1;
        self.at += 1;
        self.skip_space();
        let value = inner(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Parse<Json> {
        let mut members = Vec::new();
        if self.eat(b'}') {
            return Ok(Json::object(JsonObject::new()));
        }
        loop {
            if self.peek() != Some(b'"') {
                return self.fail(MISSING_NAME);
            }
            let key = self.string()?;
            self.skip_space();
            if !self.eat(b':') {
                return self.fail(MISSING_COLON);
            }
            self.skip_space();
            members.push((key.into_boxed_str(), self.value()?));
            self.skip_space();
            if self.eat(b'}') {
                return Ok(Json::Object(Arc::new(JsonObject::from_members(members))));
            }
            if !self.eat(b',') {
                return self.fail(MISSING_COMMA_OBJECT);
            }
            self.skip_space();
        }
    }

    fn array(&mut self) -> Parse<Json> {
        let mut items = Vec::new();
        if self.eat(b']') {
            return Ok(Json::array(items));
        }
        loop {
            items.push(self.value()?);
            self.skip_space();
            if self.eat(b']') {
                return Ok(Json::array(items));
            }
            if !self.eat(b',') {
                return self.fail(MISSING_COMMA_ARRAY);
            }
            self.skip_space();
        }
    }

    fn number(&mut self) -> Parse<Json> {
        let start = self.at;
        let negative = self.eat(b'-');
        let digits_start = self.at;
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return self.fail(INVALID_VALUE),
        }
        let integer = &self.text[digits_start..self.at];
        let mut is_integer = true;
        if self.eat(b'.') {
            is_integer = false;
            if !self.peek().is_some_and(|b| b.is_ascii_digit()) {
                return self.fail(MISSING_FRACTION);
            }
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            is_integer = false;
            self.at += 1;
            self.at += matches!(self.peek(), Some(b'+' | b'-')) as usize;
            if !self.peek().is_some_and(|b| b.is_ascii_digit()) {
                return self.fail(MISSING_EXPONENT);
            }
            self.digits();
        }
        if is_integer && integer.len() <= 20 {
            let n = integer.iter().fold(0u128, |n, d| n * 10 + (d - b'0') as u128) as i128;
            let n = if negative { -n } else { n };
            if let Ok(i) = i64::try_from(n) {
                return Ok(Json::Int(i));
            }
            if let Ok(u) = u64::try_from(n) {
                return Ok(Json::UInt(u));
            }
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).unwrap_or("");
        match text.parse::<f64>() {
            Ok(d) if d.is_finite() => Ok(Json::Double(d)),
            _ => self.fail_at(NUMBER_TOO_BIG, start),
        }
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn string(&mut self) -> Parse<String> {
        self.at += 1;
        let mut out: Vec<u8> = Vec::new();
        loop {
            let run = self.text[self.at..].iter().take_while(|b| !matches!(b, b'"' | b'\\' | 0..0x20)).count();
            out.extend_from_slice(&self.text[self.at..self.at + run]);
            self.at += run;
            match self.peek() {
                Some(b'"') => {
                    let end = self.at;
                    self.at += 1;
                    return String::from_utf8(out).or_else(|_| self.fail_at(BAD_ENCODING, end));
                }
                Some(b'\\') => self.escape(&mut out)?,
                None | Some(0) => return self.fail(MISSING_QUOTE),
                Some(_) => return self.fail(BAD_ENCODING),
            }
        }
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Parse<()> {
        let start = self.at;
        self.at += 1;
        let plain = match self.peek() {
            Some(c @ (b'"' | b'\\' | b'/')) => c,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => {
                self.at += 1;
                let mut code = self.hex4(start)?;
                if (0xD800..0xE000).contains(&code) {
                    let low = if code < 0xDC00 && self.eat(b'\\') && self.eat(b'u') { self.hex4(start)? } else { 0 };
                    if !(0xDC00..0xE000).contains(&low) {
                        return self.fail_at(BAD_SURROGATE, start);
                    }
                    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                }
                let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return self.fail_at(BAD_ESCAPE, start),
        };
        self.at += 1;
        out.push(plain);
        Ok(())
    }

    fn hex4(&mut self, escape_start: usize) -> Parse<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|b| (b as char).to_digit(16)) else {
                return self.fail_at(BAD_HEX, escape_start);
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}
