//! Keywords: one enum, and a hash lookup from the bytes of a word.
//!
//! The words themselves are in `keyword_table`, generated from MySQL. The hash table is built at
//! compile time with open addressing; a lookup takes a word's shape once, hashes it, and compares it with that of one or two
//! entries.

/// How a word is a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reserved: never an identifier unless quoted.
    R,
    /// Not reserved: an identifier wherever the grammar has no other meaning for it.
    N,
    /// A keyword only with `(` behind it.
    F,
}

macro_rules! keywords {
    ($($word:ident $kind:ident,)*) => {
        /// A keyword; the variant is the word.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Kw { $($word),* }

        pub(super) static ALL: &[Kw] = &[$(Kw::$word),*];
        pub(super) const WORDS: &[&str] = &[$(stringify!($word)),*];
        pub(super) static KINDS: &[super::Kind] = &[$(super::Kind::$kind),*];
    };
}

#[path = "keyword_table.rs"]
mod table;

pub use table::Kw;
use table::{ALL, KINDS, WORDS};

const SLOTS: usize = 4096;
const EMPTY: u16 = u16::MAX;

static TABLE: [u16; SLOTS] = build();
static SHAPES: [Shape; WORDS.len()] = shapes();

const fn build() -> [u16; SLOTS] {
    let mut table = [EMPTY; SLOTS];
    let mut i = 0;
    while i < WORDS.len() {
        let mut slot = Shape::of(WORDS[i].as_bytes()).slot();
        while table[slot] != EMPTY {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = i as u16;
        i += 1;
    }
    table
}

const fn shapes() -> [Shape; WORDS.len()] {
    let mut shapes = [Shape { first: 0, last: 0, len: 0 }; WORDS.len()];
    let mut i = 0;
    while i < WORDS.len() {
        shapes[i] = Shape::of(WORDS[i].as_bytes());
        i += 1;
    }
    shapes
}

/// The first and the last eight bytes of a word, in lower case: all that most words have.
#[derive(Clone, Copy, PartialEq)]
struct Shape {
    first: u64,
    last: u64,
    len: usize,
}

impl Shape {
    const BYTES: usize = 8;

    #[inline]
    const fn of(word: &[u8]) -> Shape {
        let len = word.len();
        if let (Some(first), Some(last)) = (word.first_chunk::<8>(), word.last_chunk::<8>()) {
            return Shape { first: fold(u64::from_le_bytes(*first)), last: fold(u64::from_le_bytes(*last)), len };
        }
        if let (Some(first), Some(last)) = (word.first_chunk::<4>(), word.last_chunk::<4>()) {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            return Shape { first: fold(first as u64), last: fold(last as u64), len };
        }
        let mut first = 0;
        let mut i = 0;
        while i < len {
            first = first << 8 | word[i] as u64;
            i += 1;
        }
        Shape { first: fold(first), last: 0, len }
    }

    #[inline]
    const fn slot(self) -> usize {
        let mixed = (self.first ^ self.last.rotate_left(29) ^ self.len as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 40) as usize % SLOTS
    }
}

/// Setting bit 5 folds letters to lower case and keeps digits and `_` apart from them.
const fn fold(bytes: u64) -> u64 {
    bytes | 0x2020_2020_2020_2020
}

impl Kw {
    /// The keyword spelled by `word` in any case.
    pub fn lookup(word: &[u8]) -> Option<Kw> {
        let shape = Shape::of(word);
        let mut slot = shape.slot();
        loop {
            let i = *TABLE.get(slot)?;
            if i == EMPTY {
                return None;
            }
            let i = usize::from(i);
            if *SHAPES.get(i)? == shape && (word.len() <= 2 * Shape::BYTES || WORDS.get(i)?.as_bytes().eq_ignore_ascii_case(word))
            {
                return ALL.get(i).copied();
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    pub fn kind(self) -> Kind {
        KINDS.get(self as usize).copied().unwrap_or(Kind::N)
    }

    /// The word in upper case.
    pub fn as_str(self) -> &'static str {
        WORDS.get(self as usize).copied().unwrap_or("")
    }

    /// Every word that the lexer takes for a keyword wherever it stands, ascending.
    pub fn words() -> impl Iterator<Item = Kw> {
        ALL.iter().copied().filter(|kw| !kw.is_function_only())
    }

    pub fn is_reserved(self) -> bool {
        self.kind() == Kind::R
    }

    pub(crate) fn is_function_only(self) -> bool {
        self.kind() == Kind::F
    }
}

/// Whether MySQL 8.4 needs `word` quoted when it is an identifier.
pub fn is_reserved_word(word: &[u8]) -> bool {
    Kw::lookup(word).is_some_and(Kw::is_reserved)
}

/// Whether MySQL quotes `word` when it is an identifier, also where it quotes only what it must: reserved or not.
pub fn is_quoted_word(word: &[u8]) -> bool {
    Kw::lookup(word).is_some_and(|kw| !kw.is_function_only())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found_in_any_case() {
        for (kw, word) in ALL.iter().zip(WORDS) {
            assert_eq!(Kw::lookup(word.as_bytes()), Some(*kw));
            assert_eq!(Kw::lookup(word.to_ascii_lowercase().as_bytes()), Some(*kw));
        }
        assert_eq!(Kw::lookup(b"selects"), None);
        assert!(is_reserved_word(b"Select") && !is_reserved_word(b"status"));
        assert!(is_quoted_word(b"Select") && is_quoted_word(b"status") && !is_quoted_word(b"count"));
    }
}
