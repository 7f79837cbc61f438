//! The lexer: bytes to tokens, one at a time, without allocation.
//!
//! A token is a kind and a byte range; strings and quoted names are decoded later, by whoever
//! needs their value. The rules are MySQL's: a word right before `.` or right after it is never
//! a keyword, `1e5` is a number and `1ea` a name, some function names are keywords only before
//! `(`, `--` starts a comment only before a space, `/*!80400 .. */` is text up to that version.
//!
//! It does not check that text is valid UTF-8.

use crate::ParserOptions;
use crate::keyword::Kw;

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tok {
    Eof,
    /// A name without quotes that is no keyword.
    Ident,
    /// `` `name` ``, or `"name"` under ANSI_QUOTES.
    QuotedIdent,
    Kw(Kw),
    /// `'..'` or `".."`, quotes included.
    Str,
    /// `N'..'`
    NatStr,
    /// `_charset` in front of a literal.
    Charset,
    /// `0x..` or `x'..'`
    Hex,
    /// `0b..` or `b'..'`
    Bit,
    Int,
    Decimal,
    Float,
    /// `@name`, `@'name'`, and the host part of an account: the range is behind the `@`.
    At,
    /// `@@`
    AtAt,
    /// `/*+ .. */`: the range is between the marks.
    Hint,
    Op(Op),
    /// What no statement may contain: an unclosed string or comment, a stray byte.
    Bad,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    LParen,
    RParen,
    Comma,
    Dot,
    Semicolon,
    Param,
    LBrace,
    RBrace,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Caret,
    Tilde,
    Bang,
    Pipe,
    PipePipe,
    Amp,
    AmpAmp,
    ShiftLeft,
    ShiftRight,
    Eq,
    NullSafeEq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// `:=`
    Assign,
    Colon,
    /// `->`
    Arrow,
    /// `->>`
    ArrowText,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub tok: Tok,
    pub start: u32,
    pub end: u32,
    /// Where error 1064 points: the token's first byte including `@` and quotes.
    pub at: u32,
}

/// The lexer; `Copy`, so that the parser can look ahead by running a copy.
#[derive(Clone, Copy)]
pub(crate) struct Lexer<'a> {
    pub src: &'a [u8],
    pub opts: &'a ParserOptions,
    pos: usize,
    in_version_comment: bool,
    /// The last token was `.`: a word that starts right here is a name.
    after_dot: bool,
    /// The last token was a word with `.` and a name right behind it: `t.1a` holds no number.
    before_dot: bool,
    /// The last token was `@@`: a word is a keyword even without regard to `.`.
    after_at_at: bool,
    /// The last keyword allows an optimizer hint.
    hint_ok: bool,
    /// Comments whose version no space follows, and comments inside of those with a version, which MySQL warns of.
    pub unspaced_versions: u16,
    pub nested_comments: u16,
}

const IDENT: u8 = 1;
const SPACE: u8 = 2;
const DIGIT: u8 = 4;

static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut t = [0u8; 256];
    let mut b = 0usize;
    while b < 256 {
        let c = b as u8;
        if c.is_ascii_alphanumeric() || c == b'_' || c == b'$' || c >= 0x80 {
            t[b] |= IDENT;
        }
        if c.is_ascii_digit() {
            t[b] |= DIGIT;
        }
        if matches!(c, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c) {
            t[b] |= SPACE;
        }
        b += 1;
    }
    t
}

fn class(b: u8) -> u8 {
    CLASS.get(usize::from(b)).copied().unwrap_or(0)
}

pub(crate) fn is_ident_byte(b: u8) -> bool {
    class(b) & IDENT != 0
}

pub(crate) fn is_space(b: u8) -> bool {
    class(b) & SPACE != 0
}

fn is_digit(b: u8) -> bool {
    class(b) & DIGIT != 0
}

/// The character sets of `_charset'..'`.
static CHARSETS: &[&str] = &[
    "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866", "cp932", "dec8",
    "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1",
    "latin2", "latin5", "latin7", "macce", "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32",
    "utf8", "utf8mb3", "utf8mb4",
];

impl<'a> Lexer<'a> {
    pub fn new(src: &'a [u8], opts: &'a ParserOptions) -> Lexer<'a> {
        Lexer {
            src,
            opts,
            pos: 0,
            in_version_comment: false,
            after_dot: false,
            before_dot: false,
            after_at_at: false,
            hint_ok: false,
            unspaced_versions: 0,
            nested_comments: 0,
        }
    }

    /// Goes on at the byte `at`, behind an operator.
    pub fn jump(&mut self, at: usize) {
        *self = Lexer { pos: at, after_dot: false, before_dot: false, after_at_at: false, hint_ok: false, ..*self };
    }

    fn byte(&self, at: usize) -> u8 {
        self.src.get(at).copied().unwrap_or(0)
    }

    /// The next token; at the end, `Eof` again and again.
    pub fn next_token(&mut self) -> Token {
        let hint_ok = std::mem::replace(&mut self.hint_ok, false);
        let after_dot = std::mem::replace(&mut self.after_dot, false);
        let before_dot = std::mem::replace(&mut self.before_dot, false);
        let after_at_at = std::mem::replace(&mut self.after_at_at, false);
        if after_dot && is_ident_byte(self.byte(self.pos)) {
            return self.name_after_dot();
        }
        if after_at_at && is_ident_byte(self.byte(self.pos)) {
            return self.system_variable_name();
        }
        if let Some(special) = self.skip_blank(hint_ok) {
            return special;
        }
        let start = self.pos;
        let Some(&b) = self.src.get(start) else {
            let tok = if std::mem::take(&mut self.in_version_comment) { Tok::Bad } else { Tok::Eof };
            return self.token(tok, start);
        };
        match b {
            b'\'' => self.string(start),
            b'"' if self.opts.ansi_quotes => self.quoted_ident(start, b'"'),
            b'"' => self.string(start),
            b'`' => self.quoted_ident(start, b'`'),
            b'0'..=b'9' => self.number_or_ident(start),
            b'.' if !before_dot && is_digit(self.byte(start + 1)) => {
                self.pos += 1;
                self.fraction(start)
            }
            b'@' => self.at(start),
            b'n' | b'N' if self.byte(start + 1) == b'\'' => {
                self.pos += 1;
                let t = self.string(start);
                Token { tok: if t.tok == Tok::Str { Tok::NatStr } else { t.tok }, ..t }
            }
            b'x' | b'X' if self.byte(start + 1) == b'\'' => self.quoted_number(start, Tok::Hex, |b| b.is_ascii_hexdigit()),
            b'b' | b'B' if self.byte(start + 1) == b'\'' => self.quoted_number(start, Tok::Bit, |b| b == b'0' || b == b'1'),
            _ if is_ident_byte(b) => self.word(start),
            _ => self.operator(start, b),
        }
    }

    fn token(&self, tok: Tok, start: usize) -> Token {
        Token { tok, start: start as u32, end: self.pos as u32, at: start as u32 }
    }

    /// Skips space and comments. Returns a token for a hint or an unclosed comment.
    fn skip_blank(&mut self, hint_ok: bool) -> Option<Token> {
        self.skip_blank_telling(hint_ok, |_, _| {})
    }

    /// The next token, and where comments that hold a version begin and end before it: `/*!80400`, their `*/`, and all of one that does not count.
    pub fn next_token_telling(&mut self, tell: impl FnMut(usize, usize)) -> Token {
        match self.skip_blank_telling(self.hint_ok, tell) {
            Some(special) => special,
            None => self.next_token(),
        }
    }

    fn skip_blank_telling(&mut self, mut hint_ok: bool, mut tell: impl FnMut(usize, usize)) -> Option<Token> {
        loop {
            let start = self.pos;
            match self.byte(start) {
                b if is_space(b) => {
                    self.pos += 1;
                    continue;
                }
                b'#' => self.skip_line(),
                b'-' if self.byte(start + 1) == b'-' && self.dash_comment(start + 2) => {
                    self.skip_line();
                }
                b'*' if self.in_version_comment && self.byte(start + 1) == b'/' => {
                    self.in_version_comment = false;
                    self.pos += 2;
                    tell(start, self.pos);
                }
                b'/' if self.byte(start + 1) == b'*' => match self.byte(start + 2) {
                    b'+' if hint_ok => return Some(self.hint(start)),
                    b'!' => {
                        if !self.version_comment(start) {
                            return Some(self.bad_to_end(start));
                        }
                        tell(start, self.pos);
                    }
                    _ => {
                        self.nested_comments = self.nested_comments.saturating_add(u16::from(self.in_version_comment));
                        self.pos += 2;
                        if !self.skip_comment(false) {
                            return Some(self.bad_to_end(start));
                        }
                    }
                },
                _ => return None,
            }
            // A hint stands right behind its keyword.
            hint_ok = false;
        }
    }

    fn dash_comment(&self, at: usize) -> bool {
        self.src.get(at).is_none_or(|b| is_space(*b) || b.is_ascii_control())
    }

    fn skip_line(&mut self) {
        let rest = self.src.get(self.pos..).unwrap_or(&[]);
        self.pos += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
    }

    /// From inside a comment to behind its `*/`; one level of inner comments if `nested`.
    fn skip_comment(&mut self, nested: bool) -> bool {
        while self.pos < self.src.len() {
            let b = self.byte(self.pos);
            let next = self.byte(self.pos + 1);
            if b == b'*' && next == b'/' {
                self.pos += 2;
                return true;
            }
            if nested && b == b'/' && next == b'*' {
                self.nested_comments = self.nested_comments.saturating_add(1);
                self.pos += 2;
                if !self.skip_comment(false) {
                    return false;
                }
                continue;
            }
            self.pos += 1;
        }
        false
    }

    /// At `/*!`: enters or skips it. False if it is not closed.
    fn version_comment(&mut self, start: usize) -> bool {
        let digits = |n: usize| (0..n).all(|i| is_digit(self.byte(start + 3 + i)));
        // Six only before a space, so that `/*!800001` is a 1 from 8.0.0 on.
        let len = if digits(6) && is_space(self.byte(start + 9)) {
            6
        } else if digits(5) {
            5
        } else {
            0
        };
        let version = (0..len).fold(0u32, |v, i| v * 10 + u32::from(self.byte(start + 3 + i).wrapping_sub(b'0')));
        self.pos = start + 3 + len;
        if len > 0 && !is_space(self.byte(self.pos)) {
            self.unspaced_versions = self.unspaced_versions.saturating_add(1);
        }
        if version <= self.opts.version {
            self.in_version_comment = true;
            true
        } else {
            self.skip_comment(true)
        }
    }

    fn hint(&mut self, start: usize) -> Token {
        self.pos = start + 3;
        let from = self.pos;
        if !self.skip_comment(false) {
            return self.bad_to_end(start);
        }
        Token { tok: Tok::Hint, start: from as u32, end: (self.pos - 2) as u32, at: start as u32 }
    }

    fn bad_to_end(&mut self, start: usize) -> Token {
        self.pos = self.src.len();
        self.in_version_comment = false;
        self.token(Tok::Bad, start)
    }

    fn string(&mut self, start: usize) -> Token {
        let quote = self.byte(self.pos);
        self.pos += 1;
        let escapes = !self.opts.no_backslash_escapes;
        while let Some(&b) = self.src.get(self.pos) {
            self.pos += 1;
            if b == b'\\' && escapes {
                self.pos += 1;
            } else if b == quote {
                if self.byte(self.pos) != quote {
                    return self.token(Tok::Str, start);
                }
                self.pos += 1;
            }
        }
        self.bad_to_end(start)
    }

    fn quoted_ident(&mut self, start: usize, quote: u8) -> Token {
        self.pos += 1;
        while let Some(&b) = self.src.get(self.pos) {
            self.pos += 1;
            if b == quote {
                if self.byte(self.pos) != quote {
                    return self.token(Tok::QuotedIdent, start);
                }
                self.pos += 1;
            } else if b == 0 {
                break;
            }
        }
        self.bad_to_end(start)
    }

    /// `x'..'` and `b'..'`.
    fn quoted_number(&mut self, start: usize, tok: Tok, digit: fn(u8) -> bool) -> Token {
        self.pos += 2;
        while digit(self.byte(self.pos)) {
            self.pos += 1;
        }
        let odd = tok == Tok::Hex && (self.pos - start) % 2 == 1;
        if self.byte(self.pos) != b'\'' || odd {
            return self.bad_to_end(start);
        }
        self.pos += 1;
        self.token(tok, start)
    }

    fn number_or_ident(&mut self, start: usize) -> Token {
        if self.byte(start) == b'0' {
            let tok = match self.byte(start + 1) {
                b'x' => self.prefixed_number(start, Tok::Hex, |b| b.is_ascii_hexdigit()),
                b'b' => self.prefixed_number(start, Tok::Bit, |b| b == b'0' || b == b'1'),
                _ => None,
            };
            if let Some(tok) = tok {
                return tok;
            }
        }
        self.skip_digits();
        let b = self.byte(self.pos);
        if !is_ident_byte(b) {
            if b == b'.' {
                self.pos += 1;
                return self.fraction(start);
            }
            return self.token(Tok::Int, start);
        }
        if b | 0x20 == b'e' {
            let next = self.byte(self.pos + 1);
            let sign = usize::from(next == b'+' || next == b'-');
            if is_digit(self.byte(self.pos + 1 + sign)) {
                self.pos += 1 + sign;
                self.skip_digits();
                return self.token(Tok::Float, start);
            }
        }
        self.word(start)
    }

    /// `0x1f` and `0b01`, unless more name characters follow.
    fn prefixed_number(&mut self, start: usize, tok: Tok, digit: fn(u8) -> bool) -> Option<Token> {
        let mut end = start + 2;
        while digit(self.byte(end)) {
            end += 1;
        }
        if end == start + 2 || is_ident_byte(self.byte(end)) {
            return None;
        }
        self.pos = end;
        Some(self.token(tok, start))
    }

    /// Behind the point of a number.
    fn fraction(&mut self, start: usize) -> Token {
        self.skip_digits();
        if self.byte(self.pos) | 0x20 != b'e' {
            return self.token(Tok::Decimal, start);
        }
        let next = self.byte(self.pos + 1);
        let sign = usize::from(next == b'+' || next == b'-');
        if !is_digit(self.byte(self.pos + 1 + sign)) {
            self.pos += 1 + sign;
            return self.token(Tok::Bad, start);
        }
        self.pos += 1 + sign;
        self.skip_digits();
        self.token(Tok::Float, start)
    }

    fn skip_digits(&mut self) {
        while is_digit(self.byte(self.pos)) {
            self.pos += 1;
        }
    }

    fn skip_ident(&mut self) {
        while is_ident_byte(self.byte(self.pos)) {
            self.pos += 1;
        }
    }

    fn text(&self, start: usize) -> &'a [u8] {
        self.src.get(start..self.pos).unwrap_or(&[])
    }

    fn word(&mut self, start: usize) -> Token {
        self.skip_ident();
        if self.at_dot_name() {
            return self.token(Tok::Ident, start);
        }
        let text = self.text(start);
        if let Some(kw) = Kw::lookup(text)
            && (!kw.is_function_only() || self.before_paren())
        {
            self.hint_ok = matches!(kw, Kw::SELECT | Kw::INSERT | Kw::REPLACE | Kw::UPDATE | Kw::DELETE);
            return self.token(Tok::Kw(kw), start);
        }
        if let Some((b'_', name)) = text.split_first()
            && CHARSETS.iter().any(|c| c.as_bytes().eq_ignore_ascii_case(name))
        {
            return self.token(Tok::Charset, start);
        }
        self.token(Tok::Ident, start)
    }

    /// Whether the word that ends here has `.` and a name right behind it.
    fn at_dot_name(&mut self) -> bool {
        self.before_dot = self.byte(self.pos) == b'.' && is_ident_byte(self.byte(self.pos + 1));
        self.before_dot
    }

    /// Whether `(` follows the word that ends here.
    fn before_paren(&self) -> bool {
        let mut at = self.pos;
        if self.opts.ignore_space {
            while is_space(self.byte(at)) {
                at += 1;
            }
        }
        self.byte(at) == b'('
    }

    fn name_after_dot(&mut self) -> Token {
        let start = self.pos;
        self.skip_ident();
        self.at_dot_name();
        self.token(Tok::Ident, start)
    }

    fn system_variable_name(&mut self) -> Token {
        let start = self.pos;
        self.skip_ident();
        match Kw::lookup(self.text(start)).filter(|kw| !kw.is_function_only()) {
            Some(kw) => self.token(Tok::Kw(kw), start),
            None => self.token(Tok::Ident, start),
        }
    }

    /// `@@`, or `@` with the name behind it.
    fn at(&mut self, start: usize) -> Token {
        self.pos += 1;
        let t = match self.byte(self.pos) {
            b'@' => {
                self.pos += 1;
                self.after_at_at = true;
                return self.token(Tok::AtAt, start);
            }
            b'\'' | b'"' => self.string(self.pos),
            b'`' => self.quoted_ident(self.pos, b'`'),
            _ => {
                let from = self.pos;
                while is_ident_byte(self.byte(self.pos)) || self.byte(self.pos) == b'.' {
                    self.pos += 1;
                }
                self.token(Tok::At, from)
            }
        };
        let tok = if t.tok == Tok::Bad { Tok::Bad } else { Tok::At };
        Token { tok, at: start as u32, ..t }
    }

    fn operator(&mut self, start: usize, b: u8) -> Token {
        let (op, len) = match (b, self.byte(start + 1), self.byte(start + 2)) {
            (b'(', _, _) => (Op::LParen, 1),
            (b')', _, _) => (Op::RParen, 1),
            (b',', _, _) => (Op::Comma, 1),
            (b'.', _, _) => (Op::Dot, 1),
            (b';', _, _) => (Op::Semicolon, 1),
            (b'?', _, _) => (Op::Param, 1),
            (b'{', _, _) => (Op::LBrace, 1),
            (b'}', _, _) => (Op::RBrace, 1),
            (b'+', _, _) => (Op::Plus, 1),
            (b'-', b'>', b'>') => (Op::ArrowText, 3),
            (b'-', b'>', _) => (Op::Arrow, 2),
            (b'-', _, _) => (Op::Minus, 1),
            (b'*', _, _) => (Op::Star, 1),
            (b'/', _, _) => (Op::Slash, 1),
            (b'%', _, _) => (Op::Percent, 1),
            (b'^', _, _) => (Op::Caret, 1),
            (b'~', _, _) => (Op::Tilde, 1),
            (b'|', b'|', _) => (Op::PipePipe, 2),
            (b'|', _, _) => (Op::Pipe, 1),
            (b'&', b'&', _) => (Op::AmpAmp, 2),
            (b'&', _, _) => (Op::Amp, 1),
            (b'!', b'=', _) => (Op::Ne, 2),
            (b'!', _, _) => (Op::Bang, 1),
            (b'<' | b'>' | b'=', _, _) => return self.comparison(start),
            (b':', b'=', _) => (Op::Assign, 2),
            (b':', _, _) => (Op::Colon, 1),
            _ => {
                self.pos += 1;
                return self.token(Tok::Bad, start);
            }
        };
        self.pos += len;
        self.after_dot = op == Op::Dot;
        self.token(Tok::Op(op), start)
    }

    /// MySQL takes as many comparison characters as there are, and `=!` is none of its operators.
    fn comparison(&mut self, start: usize) -> Token {
        let more = |at: usize| matches!(self.byte(at), b'=' | b'!' | b'>');
        let mut len = 1;
        if more(start + 1) || self.byte(start + 1) == b'<' {
            len = 2;
            if self.byte(start) == b'<' && more(start + 2) {
                len = 3;
            }
        }
        self.pos += len;
        let tok = match self.text(start) {
            b"<=>" => Tok::Op(Op::NullSafeEq),
            b"<=" => Tok::Op(Op::Le),
            b"<>" => Tok::Op(Op::Ne),
            b"<<" => Tok::Op(Op::ShiftLeft),
            b"<" => Tok::Op(Op::Lt),
            b">=" => Tok::Op(Op::Ge),
            b">>" => Tok::Op(Op::ShiftRight),
            b">" => Tok::Op(Op::Gt),
            b"=" => Tok::Op(Op::Eq),
            _ => Tok::Bad,
        };
        self.token(tok, start)
    }
}
