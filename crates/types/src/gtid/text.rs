//! The text of sets of GTIDs.
//!
//! White space may stand between any two parts. UUIDs are written with dashes, without, or in braces. A tag counts for the numbers behind it, up to
//! the next tag or UUID. Numbers whose first is greater than their last are none.

use std::fmt;

use super::{GTID_NUMBER_MAX, GTID_TAG_CHARS_MAX, GtidSet, Interval, Tag, Uuid};

/// What is expected or wrong, in MySQL's words, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GtidProblem {
    pub what: &'static str,
    pub position: usize,
}

impl GtidProblem {
    /// MySQL's text, which shows what stands around the position.
    pub fn message(&self, input: &[u8]) -> Vec<u8> {
        const BEFORE_MAX: usize = 14;
        const AFTER_MAX: usize = 28;
        const DOTS: &[u8] = b"...";
        let (before, after) = input.split_at_checked(self.position).unwrap_or((input, &[]));
        let mut out = self.what.as_bytes().to_vec();
        match self.position {
            0 => out.extend_from_slice(b" at the beginning of the string: \""),
            n => out.extend_from_slice(format!(" after {n} characters, marked by [HERE] in: \"").as_bytes()),
        }
        match before.len().checked_sub(BEFORE_MAX + 1) {
            Some(cut) => out.extend([DOTS, &before[cut + 1 + DOTS.len()..]].concat()),
            None => out.extend_from_slice(before),
        }
        if self.position > 0 {
            out.extend_from_slice(b"[HERE]");
        }
        match after.len() > AFTER_MAX {
            true => out.extend([&after[..AFTER_MAX - DOTS.len()], DOTS].concat()),
            false => out.extend_from_slice(after),
        }
        out.push(b'"');
        out
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_whitespace() || b == 0x0b) {
            self.at += 1;
        }
    }

    /// Takes `byte` and the white space around it, if it is next.
    fn takes(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.peek() == Some(byte);
        if found {
            self.at += 1;
            self.skip_space();
        }
        found
    }

    fn fail<T>(&self, what: &'static str) -> Result<T, GtidProblem> {
        Err(GtidProblem { what, position: self.at })
    }

    fn uuid(&mut self) -> Result<Uuid, GtidProblem> {
        let braces = self.peek() == Some(b'{');
        if braces {
            self.at += 1;
        }
        let mut uuid = [0; 16];
        let mut dashes = true;
        for (i, byte) in uuid.iter_mut().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                // The first group says whether there are dashes.
                dashes = if i == 4 { braces || self.peek() == Some(b'-') } else { dashes };
                if dashes && self.peek() != Some(b'-') {
                    return self.fail("Expected \"-\"");
                }
                self.at += usize::from(dashes);
            }
            if self.text.len() < self.at + 2 {
                return self.fail("Expected at least two hex digits");
            }
            for _ in 0..2 {
                let digit = self.peek().and_then(|b| char::from(b).to_digit(16));
                let Some(digit) = digit else { return self.fail("Expected hex digit") };
                *byte = *byte << 4 | digit as u8;
                self.at += 1;
            }
        }
        if braces && self.peek() != Some(b'}') {
            return self.fail("Expected \"}\"");
        }
        self.at += usize::from(braces);
        Ok(Uuid(uuid))
    }

    /// What begins like a tag and is too long for one stays.
    fn tag(&mut self) -> Option<Tag> {
        let rest = self.text.get(self.at..)?;
        let len = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        if len == 0 || len > GTID_TAG_CHARS_MAX {
            return None;
        }
        let tag = Tag::new(rest.get(..len)?)?;
        self.at += len;
        Some(tag)
    }

    fn number(&mut self) -> Result<u64, GtidProblem> {
        let start = self.at;
        let mut n = 0u64;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            let longer = n.checked_mul(10).and_then(|n| n.checked_add(u64::from(digit - b'0')));
            let Some(longer) = longer else { return Err(GtidProblem { what: "Number out of range", position: start }) };
            n = longer;
            self.at += 1;
        }
        if self.at == start { self.fail("Expected number") } else { Ok(n) }
    }

    fn interval(&mut self) -> Result<Interval, GtidProblem> {
        let start = self.at;
        let first = self.number()?;
        if first == 0 || first > GTID_NUMBER_MAX {
            return Err(GtidProblem { what: "Interval start out of range", position: start });
        }
        if !self.takes(b'-') {
            return Ok((first, first));
        }
        let last = self.number()?;
        if last > GTID_NUMBER_MAX {
            return self.fail("Interval end out of range");
        }
        Ok((first, last))
    }
}

impl Uuid {
    /// Of nothing but a UUID, in any of its forms.
    pub fn parse(text: &[u8]) -> Option<Uuid> {
        let mut reader = Reader { text, at: 0 };
        let uuid = reader.uuid().ok()?;
        reader.peek().is_none().then_some(uuid)
    }
}

impl GtidSet {
    pub fn parse(text: &[u8]) -> Result<GtidSet, GtidProblem> {
        let mut reader = Reader { text, at: 0 };
        let mut set = GtidSet::default();
        loop {
            while reader.takes(b',') {}
            if reader.peek().is_none() {
                return Ok(set);
            }
            let source = reader.uuid()?;
            let mut tag = Tag::default();
            while reader.takes(b':') {
                match reader.tag() {
                    Some(named) => tag = named,
                    None => {
                        let interval = reader.interval()?;
                        set.add(source, tag.clone(), interval);
                    }
                }
            }
            if !matches!(reader.peek(), None | Some(b',')) {
                return reader.fail("Expected \",\"");
            }
        }
    }
}

/// As MySQL shows it: a line for each source.
impl fmt::Display for GtidSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut written: Option<&Uuid> = None;
        for (source, tag, intervals) in self.iter() {
            if written != Some(source) {
                f.write_str(if written.is_some() { ",\n" } else { "" })?;
                write!(f, "{source}")?;
                written = Some(source);
            }
            if !tag.is_empty() {
                write!(f, ":{}", tag.as_str())?;
            }
            for (first, last) in intervals {
                match first == last {
                    true => write!(f, ":{first}")?,
                    false => write!(f, ":{first}-{last}")?,
                }
            }
        }
        Ok(())
    }
}
