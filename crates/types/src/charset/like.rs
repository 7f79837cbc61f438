//! LIKE and substring search by collation.
//!
//! LIKE compares character by character, each pair by its weights: under
//! `utf8mb4_0900_ai_ci` 'é' LIKE 'E', but not 'ß' LIKE 'ss', although the two are
//! equal. Trailing spaces count. LOCATE and INSTR compare weights from each
//! character on, so that 'ss' is found in 'straße', and 's' too.

use super::Collation;
use super::codec::{Char, Chars};
use super::collation::Order;
use super::general::GENERAL;

/// LIKE's escape character when the statement names none.
pub const LIKE_ESCAPE: u32 = '\\' as u32;

/// The pattern's next element.
enum Element<'a> {
    /// `%`
    Any,
    /// `_`
    One,
    Literal(Char<'a>),
}

impl Collation {
    /// `text LIKE pattern ESCAPE escape`; no escape character for `ESCAPE ''`.
    pub fn like(&self, text: &[u8], pattern: &[u8], escape: Option<u32>) -> bool {
        let (mut text, mut pattern) = (self.charset.chars(text), self.charset.chars(pattern));
        // Where to go on after a mismatch: behind the last `%`, one character of text later.
        let mut retry: Option<(Chars<'_>, Chars<'_>)> = None;
        loop {
            let before = text.clone();
            let matched = match next_element(&mut pattern, escape) {
                None => text.rest.is_empty(),
                Some(Element::Any) => {
                    if pattern.rest.is_empty() {
                        return true;
                    }
                    retry = Some((pattern.clone(), before));
                    continue;
                }
                Some(Element::One) => text.next().is_some(),
                Some(Element::Literal(p)) => text.next().is_some_and(|t| self.same_char(p, t)),
            };
            if matched {
                if text.rest.is_empty() && pattern.rest.is_empty() {
                    return true;
                }
                continue;
            }
            let Some((after_any, from)) = &mut retry else { return false };
            if from.next().is_none() {
                return false;
            }
            pattern = after_any.clone();
            text = from.clone();
        }
    }

    /// The literal characters that every match of the pattern begins with, and whether
    /// the pattern is nothing else. For range reads on an index.
    pub fn like_prefix(&self, pattern: &[u8], escape: Option<u32>) -> (Vec<u8>, bool) {
        let mut pattern = self.charset.chars(pattern);
        let mut prefix = Vec::new();
        loop {
            match next_element(&mut pattern, escape) {
                None => return (prefix, true),
                Some(Element::Literal(c)) => prefix.extend_from_slice(c.bytes),
                Some(_) => return (prefix, false),
            }
        }
    }

    /// The position, in characters from 0, of the first `needle` at or after character `from`.
    pub fn find(&self, haystack: &[u8], needle: &[u8], from: usize) -> Option<usize> {
        let skipped = self.charset.prefix_len(haystack, from);
        let mut rest = &haystack[skipped..];
        if self.charset.char_count(&haystack[..skipped]) < from || rest.is_empty() && !needle.is_empty() {
            return None;
        }
        let mut at = from;
        loop {
            if self.weights_begin_with(rest, needle) {
                return Some(at);
            }
            if rest.is_empty() {
                return None;
            }
            rest = &rest[self.charset.prefix_len(rest, 1)..];
            at += 1;
        }
    }

    fn weights_begin_with(&self, text: &[u8], needle: &[u8]) -> bool {
        let Order::Uca(_, levels) = self.order else { return self.starts_with(text, needle) };
        (0..levels).all(|level| {
            let (mut text, mut needle) = (self.scanner(text, level), self.scanner(needle, level));
            while let Some(w) = needle.next() {
                if text.next() != Some(w) {
                    return false;
                }
            }
            true
        })
    }

    /// Whether LIKE takes two characters for the same.
    #[inline]
    pub(super) fn same_char(&self, a: Char<'_>, b: Char<'_>) -> bool {
        if a.bytes == b.bytes {
            return true;
        }
        match (self.order, a.code_point, b.code_point) {
            (Order::Table(weights), ..) => match (a.bytes, b.bytes) {
                ([a], [b]) => weights[*a as usize] == weights[*b as usize],
                _ => false,
            },
            (Order::General, Some(a), Some(b)) => GENERAL.weight(a) == GENERAL.weight(b),
            (Order::Uca(table, 1), Some(a @ 0..0x80), Some(b @ 0..0x80)) => table.ascii[a as usize] == table.ascii[b as usize],
            (Order::Uca(table, levels), Some(a), Some(b)) => table.same_char(a, b, levels),
            _ => false,
        }
    }
}

fn next_element<'a>(pattern: &mut Chars<'a>, escape: Option<u32>) -> Option<Element<'a>> {
    let c = pattern.next()?;
    // An escape character at the very end stands for itself.
    if escape.is_some() && c.code_point == escape && !pattern.rest.is_empty() {
        return pattern.next().map(Element::Literal);
    }
    Some(match c.code_point {
        Some(0x25) => Element::Any,
        Some(0x5F) => Element::One,
        _ => Element::Literal(c),
    })
}
