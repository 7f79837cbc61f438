//! The text that MATCH searches for, read as InnoDB reads it.
//!
//! In natural language mode it is words, and phrases in double quotes. In boolean mode:
//!
//! ```text
//! list    = { expr }
//! expr    = [ prefix ] ( term [ '*' ] | phrase | '(' list ')' )
//! prefix  = '+' | '-' | '~' | '<' | '>'
//! term    = { '*' } characters        of which the words are taken: foo.bar is two words
//! phrase  = '"' characters '"' [ '@' number ]
//! ```
//!
//! It is read in one pass with a stack of its own, not deeper than `NESTING_MAX`. What MySQL's parser says of a text that is wrong
//! depends on the state that it is in; the same is said here.

use vaquita_types::charset::{Charset, NGRAM_CHARS, TextParser, WORD_CHARS_MAX, WORD_CHARS_MIN, Word};
use vaquita_types::errno::{ER_PARSE_ERROR, ErrorDef};
use vaquita_types::{Error, Result};

/// Parentheses inside one another: what InnoDB searches for, and what its parser has memory for.
const NESTING_MAX: usize = 32;
const NESTING_READ_MAX: usize = 4_990;

/// An error of MySQL's storage engines.
static NESTED_TOO_DEEPLY: ErrorDef = ErrorDef {
    code: 209,
    sqlstate: b"HY000",
    name: "HA_ERR_FTS_TOO_MANY_NESTED_EXP",
    format: "Too many nested sub-expressions in a full-text search",
};

/// How what an expression finds joins what the list has found before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The row may have it.
    Optional,
    /// `+`
    Must,
    /// `-`
    MustNot,
    /// `~`: rows that have it are worth less.
    Negate,
    /// `>` and `<`
    Raise,
    Lower,
}

#[derive(Debug, PartialEq)]
pub enum Node<'q> {
    Word {
        text: &'q [u8],
        is_prefix: bool,
    },
    /// In the order that it is written in; with a distance, so many words at most from the first to the last of them, in any order.
    Phrase {
        text: &'q [u8],
        distance: Option<u64>,
    },
    List(List<'q>),
}

pub type List<'q> = Vec<(Operator, Node<'q>)>;

/// Any text is right.
pub fn parse_natural<'q>(charset: &'static Charset, parser: TextParser, text: &'q [u8]) -> List<'q> {
    let mut list = Vec::new();
    let mut lexer = Lexer { charset, rest: text };
    while let Some(token) = lexer.next_plain() {
        match token {
            Token::Text(text) => list.push((Operator::Optional, Node::Phrase { text, distance: None })),
            Token::Term(text) | Token::Number(text) => match parser {
                TextParser::Words => push_words(charset, text, Operator::Optional, &mut list),
                TextParser::Ngram => {
                    let word = |token: Word<'q>| Node::Word { text: token.bytes, is_prefix: false };
                    list.extend(parser.tokens(charset, text).map(|token| (Operator::Optional, word(token))));
                }
            },
            Token::Sign(_) => {}
        }
    }
    list
}

/// Error 1064 as MySQL gives it for a text that is no query.
pub fn parse_boolean<'q>(charset: &Charset, text_parser: TextParser, text: &'q [u8]) -> Result<List<'q>> {
    let mut lexer = Lexer { charset, rest: text };
    let (expects, last) = (Expects::Any, Last::Other);
    let mut parser = Parser { charset, text_parser, open: Vec::new(), list: Vec::new(), deepest: 0, prefix: None, expects, last };
    while let Some(token) = lexer.next() {
        parser.take(token)?;
    }
    parser.end()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'q> {
    Sign(u8),
    Term(&'q [u8]),
    Number(&'q [u8]),
    Text(&'q [u8]),
}

struct Lexer<'q, 'c> {
    charset: &'c Charset,
    rest: &'q [u8],
}

const SIGNS: &[u8] = b"()*+-<>~@";
/// What is in no term beside the signs. `%` alone means nothing.
const BREAKS: &[u8] = b"\" \n\t%";

impl<'q> Lexer<'q, '_> {
    fn next(&mut self) -> Option<Token<'q>> {
        self.token(SIGNS)
    }

    /// Without operators.
    fn next_plain(&mut self) -> Option<Token<'q>> {
        self.token(&[])
    }

    fn token(&mut self, signs: &[u8]) -> Option<Token<'q>> {
        loop {
            let first = *self.rest.first()?;
            if first == b'"' {
                if let Some(text) = self.quoted() {
                    return Some(Token::Text(text));
                }
            } else if signs.contains(&first) {
                self.rest = self.rest.get(1..)?;
                return Some(Token::Sign(first));
            } else if !BREAKS.contains(&first) {
                return self.term(signs);
            }
            self.rest = self.rest.get(1..)?;
        }
    }

    /// What is between double quotes of one line.
    fn quoted(&mut self) -> Option<&'q [u8]> {
        let mut at = 1;
        for c in self.charset.chars(self.rest.get(1..)?) {
            match c.bytes {
                b"\"" => {
                    let text = self.rest.get(1..at)?;
                    self.rest = self.rest.get(at + 1..)?;
                    return Some(text);
                }
                b"\n" => return None,
                bytes => at += bytes.len(),
            }
        }
        None
    }

    fn term(&mut self, signs: &[u8]) -> Option<Token<'q>> {
        let is_inside = |bytes: &[u8]| !matches!(bytes, [byte] if signs.contains(byte) || BREAKS.contains(byte));
        let len = self.charset.chars(self.rest).map(|c| c.bytes).take_while(|bytes| is_inside(bytes)).map(<[u8]>::len).sum();
        let (text, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(if text.iter().all(u8::is_ascii_digit) { Token::Number(text) } else { Token::Term(text) })
    }
}

/// The words of a term. Its first may be too short for any index, so that it finds nothing.
fn push_words<'q>(charset: &Charset, term: &'q [u8], operator: Operator, list: &mut List<'q>) {
    let before = list.len();
    for word in charset.words(term) {
        if word.chars <= WORD_CHARS_MAX && (list.len() == before || word.chars >= WORD_CHARS_MIN) {
            list.push((operator, Node::Word { text: word.bytes, is_prefix: false }));
        }
    }
}

/// The words of a term for an index of shorter pieces: what is longer than these is a phrase of them.
fn push_ngrams<'q>(charset: &Charset, term: &'q [u8], operator: Operator, list: &mut List<'q>) {
    list.extend(charset.words(term).map(|word| match word.chars > NGRAM_CHARS {
        true => (operator, Node::Phrase { text: word.bytes, distance: None }),
        false => (operator, Node::Word { text: word.bytes, is_prefix: false }),
    }));
}

/// What must come, as far as MySQL's parser says it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expects {
    Any,
    /// Behind `*`.
    Term,
    /// Behind `@`.
    Distance,
}

/// What has come just before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// A term: how long the list was before it.
    Term(usize),
    Phrase,
    Other,
}

struct Parser<'q, 'c> {
    charset: &'c Charset,
    text_parser: TextParser,
    /// Lists around the one that is read, and the operators before their parentheses.
    open: Vec<(Operator, List<'q>)>,
    list: List<'q>,
    /// How many lists were around one another at most.
    deepest: usize,
    prefix: Option<Operator>,
    expects: Expects,
    last: Last,
}

impl<'q> Parser<'q, '_> {
    fn take(&mut self, token: Token<'q>) -> Result<()> {
        let last = std::mem::replace(&mut self.last, Last::Other);
        match (self.expects, token) {
            (Expects::Distance, Token::Number(digits)) => {
                let value = digits.iter().fold(0u64, |n, digit| n.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
                if let Some((_, Node::Phrase { distance, .. })) = self.list.last_mut() {
                    *distance = Some(value);
                }
                self.expects = Expects::Any;
            }
            (Expects::Distance, other) => return Err(self.unexpected(Some(other))),
            (_, Token::Term(text) | Token::Number(text)) => {
                let operator = self.take_prefix();
                self.last = Last::Term(self.list.len());
                self.expects = Expects::Any;
                match self.text_parser {
                    TextParser::Words => push_words(self.charset, text, operator, &mut self.list),
                    TextParser::Ngram => push_ngrams(self.charset, text, operator, &mut self.list),
                }
            }
            (_, Token::Sign(b'*')) => match last {
                Last::Term(before) => {
                    if let Some((_, Node::Word { is_prefix, .. })) = self.list.get_mut(before..).and_then(<[_]>::last_mut) {
                        *is_prefix = true;
                    }
                }
                _ => self.expects = Expects::Term,
            },
            (Expects::Term, other) => return Err(self.unexpected(Some(other))),
            (Expects::Any, Token::Text(text)) => {
                let operator = self.take_prefix();
                self.list.push((operator, Node::Phrase { text, distance: None }));
                self.last = Last::Phrase;
            }
            (Expects::Any, Token::Sign(b'(')) => {
                let operator = self.take_prefix();
                if self.open.len() >= NESTING_READ_MAX {
                    return Err(Error::with_message(&ER_PARSE_ERROR, "memory exhausted"));
                }
                self.open.push((operator, std::mem::take(&mut self.list)));
                self.deepest = self.deepest.max(self.open.len());
            }
            (Expects::Any, Token::Sign(b')')) if self.prefix.is_none() && !self.open.is_empty() => {
                if let Some((operator, around)) = self.open.pop() {
                    let inside = std::mem::replace(&mut self.list, around);
                    // What is too deep is searched by nobody: it need not be kept.
                    if !inside.is_empty() && self.deepest <= NESTING_MAX {
                        self.list.push((operator, Node::List(inside)));
                    }
                }
            }
            (Expects::Any, Token::Sign(b'@')) if last == Last::Phrase => self.expects = Expects::Distance,
            (Expects::Any, Token::Sign(sign)) if self.prefix.is_none() && operator_of(sign).is_some() => {
                self.prefix = operator_of(sign);
            }
            (Expects::Any, other) => return Err(self.unexpected(Some(other))),
        }
        Ok(())
    }

    fn take_prefix(&mut self) -> Operator {
        self.prefix.take().unwrap_or(Operator::Optional)
    }

    fn end(self) -> Result<List<'q>> {
        if self.expects != Expects::Any || self.prefix.is_some() || !self.open.is_empty() {
            return Err(self.unexpected(None));
        }
        if self.deepest > NESTING_MAX {
            return Err(Error::new(&NESTED_TOO_DEEPLY, &[]));
        }
        Ok(self.list)
    }

    fn unexpected(&self, token: Option<Token<'_>>) -> Error {
        let name = match token {
            None => "$end".to_string(),
            Some(Token::Sign(sign)) => format!("'{}'", char::from(sign)),
            Some(Token::Term(_)) => "FTS_TERM".to_string(),
            Some(Token::Number(_)) => "FTS_NUMB".to_string(),
            Some(Token::Text(_)) => "FTS_TEXT".to_string(),
        };
        let expected = match self.expects {
            Expects::Term => ", expecting FTS_TERM or FTS_NUMB or '*'",
            Expects::Distance => ", expecting FTS_NUMB",
            Expects::Any if self.prefix.is_none() && self.open.is_empty() => ", expecting $end",
            Expects::Any => "",
        };
        Error::with_message(&ER_PARSE_ERROR, format!("syntax error, unexpected {name}{expected}"))
    }
}

fn operator_of(sign: u8) -> Option<Operator> {
    Some(match sign {
        b'+' => Operator::Must,
        b'-' => Operator::MustNot,
        b'~' => Operator::Negate,
        b'>' => Operator::Raise,
        b'<' => Operator::Lower,
        _ => return None,
    })
}
