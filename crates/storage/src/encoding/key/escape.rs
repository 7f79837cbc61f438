//! Self-delimiting strings: what makes variable parts of a key comparable and concatenable.
//!
//! Both forms are described in the table of `key`. Their ends sort below (escaped) or as a
//! space (PAD SPACE) against any byte that could follow.

use std::borrow::Cow;

pub(super) const ESCAPE: u8 = 0x00;
const ESCAPED_ZERO: u8 = 0xFF;
pub(super) const TERMINATOR: u8 = 0x01;
pub(super) const SPACE: u8 = 0x20;
const SPACES_THEN_LESS: u8 = 0x01;
pub(super) const SPACES_THEN_END: u8 = 0x02;
const SPACES_THEN_MORE: u8 = 0x03;

pub(super) fn invert(bytes: &mut [u8]) {
    bytes.iter_mut().for_each(|b| *b = !*b);
}

/// Escapes `out[start..]` in place and terminates it.
pub(super) fn escape(out: &mut Vec<u8>, start: usize) {
    let zeros = out[start..].iter().filter(|b| **b == ESCAPE).count();
    let end = out.len();
    out.resize(end + zeros + 2, 0);
    let mut to = end + zeros;
    if zeros > 0 {
        for from in (start..end).rev() {
            to -= 1;
            if out[from] == ESCAPE {
                out[to] = ESCAPED_ZERO;
                to -= 1;
            }
            out[to] = out[from];
        }
    }
    let len = out.len();
    out[len - 2] = ESCAPE;
    out[len - 1] = TERMINATOR;
}

/// The bytes before the terminator; `None` if an escape is broken.
pub(super) fn unescape(bytes: &[u8]) -> Option<Cow<'_, [u8]>> {
    let body = bytes.strip_suffix(&[ESCAPE, TERMINATOR])?;
    if !body.contains(&ESCAPE) {
        return Some(Cow::Borrowed(body));
    }
    let mut plain = Vec::with_capacity(body.len());
    let mut rest = body.iter();
    while let Some(b) = rest.next() {
        plain.push(*b);
        if *b == ESCAPE && *rest.next()? != ESCAPED_ZERO {
            return None;
        }
    }
    Some(Cow::Owned(plain))
}

/// The length up to and including the pair `mark, end`; other pairs that start with `mark` are skipped.
pub(super) fn terminated(bytes: &[u8], mark: u8, end: u8) -> Option<usize> {
    let mut at = 0;
    loop {
        at += bytes.get(at..)?.iter().position(|b| *b == mark)? + 2;
        if *bytes.get(at - 1)? == end {
            return Some(at);
        }
    }
}

/// Writes a string so that the end compares as endless spaces do.
pub(super) fn pad_space(bytes: &[u8], out: &mut Vec<u8>) {
    let len = bytes.iter().rposition(|b| *b != SPACE).map_or(0, |i| i + 1);
    let mut rest = &bytes[..len];
    while let Some(at) = rest.iter().position(|b| *b == SPACE) {
        out.extend_from_slice(&rest[..at]);
        let run = rest[at..].iter().take_while(|b| **b == SPACE).count();
        rest = &rest[at + run..];
        let after = rest.first().copied().unwrap_or(SPACE);
        let mark = if after < SPACE { SPACES_THEN_LESS } else { SPACES_THEN_MORE };
        for _ in 0..run {
            out.extend_from_slice(&[SPACE, mark]);
        }
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(&[SPACE, SPACES_THEN_END]);
}

pub(super) fn unpad_space(bytes: &[u8]) -> Option<Vec<u8>> {
    let body = bytes.strip_suffix(&[SPACE, SPACES_THEN_END])?;
    let mut plain = Vec::with_capacity(body.len());
    let mut rest = body.iter();
    while let Some(b) = rest.next() {
        plain.push(*b);
        if *b == SPACE && !matches!(*rest.next()?, SPACES_THEN_LESS | SPACES_THEN_MORE) {
            return None;
        }
    }
    Some(plain)
}
