//! The tokens of a statement for who changes its text, as the binary log does for readers of another dialect.

use std::ops::Range;

use crate::ParserOptions;
use crate::lexer::{Lexer, Op, Tok};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    /// A keyword, or a name without quotes.
    Plain,
    /// A name in quotes, or a string; the range has the quotes.
    Quoted,
    /// Any other token.
    Sign,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    pub kind: WordKind,
    pub range: Range<usize>,
}

/// Up to the end, or to what no statement may contain.
pub fn words(statement: &[u8], options: &ParserOptions) -> Vec<Word> {
    let mut lexer = Lexer::new(statement, options);
    let mut words = Vec::new();
    loop {
        let token = lexer.next_token();
        let kind = match token.tok {
            Tok::Eof | Tok::Bad => return words,
            Tok::Ident | Tok::Kw(_) => WordKind::Plain,
            Tok::QuotedIdent | Tok::Str => WordKind::Quoted,
            _ => WordKind::Sign,
        };
        words.push(Word { kind, range: token.start as usize..token.end as usize });
    }
}

/// Where the `?` of a prepared statement stand.
pub fn parameters(statement: &[u8], options: &ParserOptions) -> Vec<usize> {
    let mut lexer = Lexer::new(statement, options);
    let mut places = Vec::new();
    loop {
        let token = lexer.next_token();
        match token.tok {
            Tok::Eof | Tok::Bad => return places,
            Tok::Op(Op::Param) => places.push(token.start as usize),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_marks_in_strings_and_comments_are_no_parameters() {
        let text = b"SELECT '?', ? /* ? */ FROM `?` WHERE a = ?";
        assert_eq!(parameters(text, &ParserOptions::default()), [12, 41]);
    }

    #[test]
    fn comments_are_no_words() {
        let text = b"CREATE /* x */ TABLE `t` (a VARCHAR(9) COLLATE 'b') -- end";
        let found: Vec<_> = words(text, &ParserOptions::default())
            .iter()
            .filter(|word| word.kind != WordKind::Sign)
            .map(|word| std::str::from_utf8(&text[word.range.clone()]).unwrap())
            .collect();
        assert_eq!(found, ["CREATE", "TABLE", "`t`", "a", "VARCHAR", "COLLATE", "'b'"]);
    }
}
