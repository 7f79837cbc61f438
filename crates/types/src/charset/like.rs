//! LIKE and substring search by collation.
//!
//! LIKE compares character by character, each pair by its weights: under
//! `utf8mb4_0900_ai_ci` 'é' LIKE 'E', but not 'ß' LIKE 'ss', although the two are
//! equal. Trailing spaces count. LOCATE and INSTR compare weights from each
//! character on, so that 'ss' is found in 'straße', and 's' too.

use std::convert::Infallible;

use super::Collation;
use super::codec::{Char, Chars};
use super::collation::Order;

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
        self.like_while(text, pattern, escape, &mut || Ok::<_, Infallible>(())).unwrap_or_else(|never| match never {})
    }

    /// As `like`, for long texts and patterns, in which each character may be compared with all of the pattern: `go_on` is asked as often
    /// as the comparison starts anew, and its error ends it.
    pub fn like_while<E>(
        &self,
        text: &[u8],
        pattern: &[u8],
        escape: Option<u32>,
        go_on: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<bool, E> {
        if self.charset.is_ascii_compatible() && text.is_ascii() && pattern.is_ascii() {
            let escape_char = escape;
            let escape = escape.and_then(|e| u8::try_from(e).ok());
            return match self.order {
                Order::Table(weights) => like_ascii(text, pattern, escape, |b| u16::from(weights[b as usize]), go_on),
                Order::General(table) => like_ascii(text, pattern, escape, |b| table.weight(u32::from(b)), go_on),
                Order::Special(special) => like_ascii(text, pattern, escape, |b| u16::from(special.like_class(b)), go_on),
                Order::EastAsian(_) => self.like_chars(text, pattern, escape_char, go_on),
                Order::Uca(table, _) if !table.ascii_is_plain => self.like_chars(text, pattern, escape_char, go_on),
                Order::Uca(table, 1 | 2) => like_ascii(text, pattern, escape, |b| table.ascii[(b & 0x7F) as usize], go_on),
                _ => like_ascii(text, pattern, escape, u16::from, go_on),
            };
        }
        self.like_chars(text, pattern, escape, go_on)
    }

    /// How LIKE weighs an ASCII character.
    fn ascii_weight(&self, b: u8) -> u16 {
        match self.order {
            Order::Table(weights) => u16::from(weights[b as usize]),
            Order::General(table) => table.weight(u32::from(b)),
            Order::Special(special) => u16::from(special.like_class(b)),
            Order::Uca(table, 1 | 2) => table.ascii[(b & 0x7F) as usize],
            _ => u16::from(b),
        }
    }

    fn like_chars<E>(
        &self,
        text: &[u8],
        pattern: &[u8],
        escape: Option<u32>,
        go_on: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<bool, E> {
        let (mut text, mut pattern) = (self.charset.chars(text), self.charset.chars(pattern));
        // Where to go on after a mismatch: behind the last `%`, one character of text later.
        let mut retry: Option<(Chars<'_>, Chars<'_>)> = None;
        loop {
            let before = text.clone();
            let matched = match next_element(&mut pattern, escape) {
                None => text.rest.is_empty(),
                Some(Element::Any) => {
                    if pattern.rest.is_empty() {
                        return Ok(true);
                    }
                    retry = Some((pattern.clone(), before));
                    continue;
                }
                Some(Element::One) => text.next().is_some(),
                Some(Element::Literal(p)) => text.next().is_some_and(|t| self.same_char(p, t)),
            };
            if matched {
                if text.rest.is_empty() && pattern.rest.is_empty() {
                    return Ok(true);
                }
                continue;
            }
            let Some((after_any, from)) = &mut retry else { return Ok(false) };
            if from.next().is_none() {
                return Ok(false);
            }
            go_on()?;
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

    /// The characters that the key of every match begins with the key of: `like_prefix`, but for what weighs otherwise
    /// beside what may follow ("c" in Czech, for "ch" is a letter). For range reads on an index.
    pub fn like_range_prefix(&self, pattern: &[u8], escape: Option<u32>) -> Vec<u8> {
        let (mut prefix, _) = self.like_prefix(pattern, escape);
        let begins_string = |cp: u32| match self.order {
            Order::Uca(table, _) => table.tailored.as_ref().is_some_and(|t| t.begins_string(cp)),
            Order::Special(_) => true,
            _ => false,
        };
        let mut end = 0;
        for c in self.charset.chars(&prefix) {
            if c.code_point.is_none_or(begins_string) {
                break;
            }
            end += c.bytes.len();
        }
        prefix.truncate(end);
        prefix
    }

    /// The position, in characters from 0, of the first `needle` at or after character `from`.
    pub fn find(&self, haystack: &[u8], needle: &[u8], from: usize) -> Option<usize> {
        self.find_while(haystack, needle, from, &mut || Ok::<_, Infallible>(())).unwrap_or_else(|never| match never {})
    }

    /// As `find`, for long texts: `go_on` is asked at each position, where all of the needle may be compared, and its error ends the search.
    pub fn find_while<E>(
        &self,
        haystack: &[u8],
        needle: &[u8],
        from: usize,
        go_on: &mut impl FnMut() -> Result<(), E>,
    ) -> Result<Option<usize>, E> {
        let skipped = self.charset.prefix_len(haystack, from);
        let mut rest = &haystack[skipped..];
        if self.charset.char_count(&haystack[..skipped]) < from || rest.is_empty() && !needle.is_empty() {
            return Ok(None);
        }
        let mut at = from;
        loop {
            if self.weights_begin_with(rest, needle) {
                return Ok(Some(at));
            }
            if rest.is_empty() {
                return Ok(None);
            }
            go_on()?;
            rest = &rest[self.charset.prefix_len(rest, 1)..];
            at += 1;
        }
    }

    fn weights_begin_with(&self, text: &[u8], needle: &[u8]) -> bool {
        let levels = match self.order {
            Order::Uca(_, levels) => levels,
            Order::EastAsian(table) => return table.order(text).starts_with(&table.order(needle)),
            Order::Special(special) => {
                let class = |b: &u8| special.locate_class(*b);
                return text.len() >= needle.len() && text.iter().map(class).zip(needle.iter().map(class)).all(|(t, n)| t == n);
            }
            _ => return self.starts_with(text, needle),
        };
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
            (Order::Special(special), ..) => match (a.bytes, b.bytes) {
                ([a], [b]) => special.like_class(*a) == special.like_class(*b),
                _ => false,
            },
            (Order::EastAsian(table), ..) => table.same_char(a.bytes, b.bytes),
            (Order::General(table), Some(a), Some(b)) => table.weight(a) == table.weight(b),
            (Order::Uca(table, 1), Some(a @ 0..0x80), Some(b @ 0..0x80)) if table.ascii_is_plain => {
                table.ascii[a as usize] == table.ascii[b as usize]
            }
            // The kind of kana, the fourth level, does not count.
            (Order::Uca(table, levels), Some(a), Some(b)) => table.same_char(a, b, levels.min(3)),
            _ => false,
        }
    }
}

/// A pattern that many texts are compared with. One of ASCII characters without wildcards, but for `%` at its ends, is
/// searched for by the weights of its characters in texts of ASCII characters; everything else goes to `Collation::like`.
pub struct LikePattern {
    collation: &'static Collation,
    pattern: Box<[u8]>,
    escape: Option<u32>,
    simple: Option<SimplePattern>,
}

struct SimplePattern {
    /// `%` before and behind.
    open: (bool, bool),
    weights: Box<[u16]>,
    /// Of each ASCII character.
    weight_of: [u16; 128],
}

impl LikePattern {
    pub fn new(collation: &'static Collation, pattern: &[u8], escape: Option<u32>) -> LikePattern {
        let simple = SimplePattern::new(collation, pattern, escape);
        LikePattern { collation, pattern: pattern.into(), escape, simple }
    }

    /// As `Collation::like`.
    pub fn matches(&self, text: &[u8]) -> bool {
        match &self.simple {
            Some(simple) if text.is_ascii() => simple.matches(text),
            _ => self.collation.like(text, &self.pattern, self.escape),
        }
    }
}

impl SimplePattern {
    fn new(collation: &Collation, pattern: &[u8], escape: Option<u32>) -> Option<SimplePattern> {
        if matches!(collation.order, Order::EastAsian(_)) || matches!(collation.order, Order::Uca(t, _) if !t.ascii_is_plain) {
            return None;
        }
        let special = |b: &u8| matches!(b, b'%' | b'_') || escape == Some(u32::from(*b));
        if !collation.charset.is_ascii_compatible() || !pattern.is_ascii() || escape == Some(u32::from(b'%')) {
            return None;
        }
        let (before, rest) = pattern.strip_prefix(b"%").map_or((false, pattern), |rest| (true, rest));
        let (behind, literal) = rest.strip_suffix(b"%").map_or((false, rest), |rest| (true, rest));
        if literal.is_empty() || literal.iter().any(special) {
            return None;
        }
        let mut weight_of = [0; 128];
        (0u8..128).for_each(|b| weight_of[b as usize] = collation.ascii_weight(b));
        let weights = literal.iter().map(|b| weight_of[*b as usize]).collect();
        Some(SimplePattern { open: (before, behind), weights, weight_of })
    }

    fn matches(&self, text: &[u8]) -> bool {
        let Some(last) = text.len().checked_sub(self.weights.len()) else { return false };
        match self.open {
            (false, false) => last == 0 && self.is_at(text),
            (false, true) => self.is_at(text),
            (true, false) => self.is_at(&text[last..]),
            (true, true) => (0..=last).any(|at| self.is_at(&text[at..])),
        }
    }

    /// The characters are those that `text`, which is long enough, begins with.
    #[inline]
    fn is_at(&self, text: &[u8]) -> bool {
        self.weights.iter().zip(text).all(|(weight, b)| self.weight_of[(b & 0x7F) as usize] == *weight)
    }
}

/// `Collation::like_chars` for one byte per character, compared by `weight`.
fn like_ascii<E>(
    text: &[u8],
    pattern: &[u8],
    escape: Option<u8>,
    weight: impl Fn(u8) -> u16,
    go_on: &mut impl FnMut() -> Result<(), E>,
) -> Result<bool, E> {
    let (mut t, mut p) = (0, 0);
    // Where to go on after a mismatch: in the pattern, and one behind that in the text.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let matched = match pattern.get(p) {
            None if t == text.len() => return Ok(true),
            None => false,
            Some(b'%') if escape != Some(b'%') => {
                p += 1;
                if p == pattern.len() {
                    return Ok(true);
                }
                retry = Some((p, t));
                continue;
            }
            Some(b'_') if escape != Some(b'_') => t < text.len(),
            Some(c) => {
                let literal = if escape == Some(*c) && p + 1 < pattern.len() {
                    p += 1;
                    pattern[p]
                } else {
                    *c
                };
                text.get(t).is_some_and(|b| *b == literal || weight(*b) == weight(literal))
            }
        };
        if matched {
            (t, p) = (t + 1, p + 1);
            continue;
        }
        match retry {
            Some((after_any, from)) if from < text.len() => {
                (p, t) = (after_any, from + 1);
                retry = Some((after_any, from + 1));
                go_on()?;
            }
            _ => return Ok(false),
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

#[cfg(test)]
mod tests {
    use super::{LIKE_ESCAPE, LikePattern};
    use crate::charset::CollationId;

    /// A prepared pattern says what `Collation::like` says.
    #[test]
    fn patterns_match_as_like_does() {
        let texts = ["", "a", "abc", "ABC", "xabcx", "ab", "a%c", "a_c", "a\\c", "äbc", "aabc", "ababc", "%", "a b ", "\u{1}a"];
        let patterns =
            ["", "%", "%%", "abc", "%abc%", "%bc", "ab%", "a_c", "a\\%c", "%a%c", "%ä%", "%A%", "a|%c", "% ", "%\u{1}a"];
        for id in [CollationId::UTF8MB4_0900_AI_CI, CollationId::UTF8MB4_BIN, CollationId::BINARY] {
            let collation = crate::charset::collation(id);
            for pattern in patterns {
                for escape in [Some(LIKE_ESCAPE), Some(u32::from(b'|')), Some(u32::from(b'%')), Some(u32::from(b'a')), None] {
                    let prepared = LikePattern::new(collation, pattern.as_bytes(), escape);
                    for text in texts {
                        let expected = collation.like(text.as_bytes(), pattern.as_bytes(), escape);
                        let case = format!("{text:?} LIKE {pattern:?} ESCAPE {escape:?}, {}", collation.name);
                        assert_eq!(prepared.matches(text.as_bytes()), expected, "{case}");
                    }
                }
            }
        }
    }
}
