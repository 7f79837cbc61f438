//! The text of a part of the statement, for what MySQL keeps or names as it was written: bodies of programs, parameters, columns without an alias.
//!
//! Comments belong to it, except for the marks of those that hold a version, which would be cut in two: `1 /*!50000 + 2 */` is `1  + 2`. The marks are
//! found by a lexer of their own, which goes over the statement once and only if a part has what looks like one.

use std::borrow::Cow;

use super::Parser;
use crate::lexer::{Lexer, Tok};

/// The marks of comments with a version, as far as somebody has asked.
pub(super) struct Marks<'a> {
    lexer: Lexer<'a>,
    /// All marks before this byte are known.
    known: usize,
    /// Begin and end of each, in their order.
    found: Vec<(usize, usize)>,
}

impl<'a> Marks<'a> {
    pub(super) fn new(lexer: Lexer<'a>) -> Marks<'a> {
        Marks { lexer, known: 0, found: Vec::new() }
    }

    fn look_up_to(&mut self, end: usize) {
        while self.known < end {
            let found = &mut self.found;
            let token = self.lexer.next_token_telling(|from, to| found.push((from, to)));
            self.known = match token.tok {
                Tok::Eof | Tok::Bad => end,
                _ => token.end as usize,
            };
        }
    }

    /// The bytes from `start` to `end` of `src` that are no marks.
    fn without(&mut self, src: &'a [u8], start: usize, end: usize) -> Cow<'a, [u8]> {
        self.look_up_to(end);
        let first = self.found.partition_point(|mark| mark.1 <= start);
        let mut kept = Vec::with_capacity(end.saturating_sub(start));
        let mut at = start;
        for (from, to) in self.found.iter().skip(first).take_while(|mark| mark.0 < end) {
            kept.extend_from_slice(src.get(at..*from).unwrap_or(&[]));
            at = *to;
        }
        kept.extend_from_slice(src.get(at..end).unwrap_or(&[]));
        Cow::Owned(kept)
    }
}

impl<'a> Parser<'a> {
    /// The text between two bytes as MySQL keeps it.
    pub(super) fn written(&self, start: usize, end: usize) -> Cow<'a, [u8]> {
        let text = self.slice(start, end);
        if !text.windows(2).any(|two| two == b"*/") && !text.windows(3).any(|three| three == b"/*!") {
            return Cow::Borrowed(text);
        }
        self.marks.borrow_mut().without(self.src, start, end)
    }

    /// The statement's text from `start` to the end of the last token.
    pub(super) fn text_since(&self, start: usize) -> String {
        String::from_utf8_lossy(&self.written(start, self.prev_end)).into_owned()
    }

    /// The text of a program's body, to the present token. Comments behind its last token belong to it, as in MySQL, unless it is a block: those
    /// MySQL knows to be over without a look at what follows.
    pub(super) fn body_since(&self, start: usize) -> String {
        const BLOCKS: [&str; 6] = ["BEGIN", "IF", "CASE", "LOOP", "WHILE", "REPEAT"];
        let text = self.slice(start, self.prev_end);
        let (word, rest) = text.split_at(text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count());
        let labelled = rest.trim_ascii_start().starts_with(b":");
        if labelled || BLOCKS.iter().any(|block| word.eq_ignore_ascii_case(block.as_bytes())) {
            return self.text_since(start);
        }
        String::from_utf8_lossy(self.written(start, self.start()).trim_ascii_end()).into_owned()
    }
}
