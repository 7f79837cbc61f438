//! Keywords: one enum, and a hash lookup from the bytes of a word.
//!
//! The words themselves are in `keyword_table`, generated from MySQL. The hash table is built at
//! compile time with open addressing; a lookup hashes the word once and compares one or two
//! entries, ignoring ASCII case.

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

const fn build() -> [u16; SLOTS] {
    let mut table = [EMPTY; SLOTS];
    let mut i = 0;
    while i < WORDS.len() {
        let mut slot = hash(WORDS[i].as_bytes());
        while table[slot] != EMPTY {
            slot = (slot + 1) % SLOTS;
        }
        table[slot] = i as u16;
        i += 1;
    }
    table
}

/// Setting bit 5 folds letters to lower case and keeps digits and `_` apart from them.
const fn hash(word: &[u8]) -> usize {
    let mut h: u32 = 0;
    let mut i = 0;
    while i < word.len() {
        h = h.wrapping_mul(31).wrapping_add((word[i] | 0x20) as u32);
        i += 1;
    }
    ((h ^ (h >> 12)) as usize) % SLOTS
}

impl Kw {
    /// The keyword spelled by `word` in any case.
    pub fn lookup(word: &[u8]) -> Option<Kw> {
        let mut slot = hash(word);
        loop {
            let i = *TABLE.get(slot)?;
            if i == EMPTY {
                return None;
            }
            let i = usize::from(i);
            if WORDS.get(i)?.as_bytes().eq_ignore_ascii_case(word) {
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
