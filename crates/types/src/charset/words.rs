//! Words of a text, as InnoDB's full-text search finds them.
//!
//! A word is a run of letters, digits, combining marks and `_`. Which characters these are was recorded from MySQL: `data/word_chars.z`
//! has a count of ranges of code points, for each its distance from the range before and its length less one; then a
//! count of 8-bit charsets, for each its name and a bit for each of its 256 characters. Example: `it's a well-known x_1` has
//! the words `it`, `s`, `a`, `well`, `known` and `x_1`.
//!
//! An index WITH PARSER ngram has instead all runs of `NGRAM_CHARS` characters of each word (`TextParser`): of `well`, `we`, `el` and `ll`.
//!
//! Words that are too short, too long or on the list of stop words (`is_significant`) are not in an index; phrases have them.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::blob::Blob;
use super::codec::{Chars, Encoding};
use super::collation::Order;
use super::{Charset, Collation};

/// Characters of the shortest and of the longest word in an index (`innodb_ft_min_token_size`, `innodb_ft_max_token_size`).
pub const WORD_CHARS_MIN: usize = 3;
pub const WORD_CHARS_MAX: usize = 84;

/// Characters of what the parser ngram makes of words (`ngram_token_size`).
pub const NGRAM_CHARS: usize = 2;

/// information_schema.INNODB_FT_DEFAULT_STOPWORD.
pub static STOP_WORDS: [&str; 36] = [
    "a", "about", "an", "are", "as", "at", "be", "by", "com", "de", "en", "for", "from", "how", "i", "in", "is", "it", "la",
    "of", "on", "or", "that", "the", "this", "to", "was", "what", "when", "where", "who", "will", "with", "und", "the", "www",
];

struct Tables {
    /// First and last code points, ascending.
    ranges: Vec<(u32, u32)>,
    /// Of the basic plane's first code points, one bit each.
    ascii: u128,
    single_byte: Vec<(String, [u8; 32])>,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let blob = Blob::inflate(include_bytes!("data/word_chars.z"));
    let mut r = blob.reader();
    let (mut ranges, mut at) = (Vec::new(), 0);
    for _ in 0..r.varint() {
        let first = at + r.varint();
        at = first + r.varint();
        ranges.push((first, at));
    }
    let ascii = (0..128).filter(|cp| is_within(&ranges, *cp)).fold(0, |bits, cp| bits | 1 << cp);
    let mut single_byte = Vec::new();
    for _ in 0..r.varint() {
        let name = r.text().to_string();
        let mut bits = [0; 32];
        bits.copy_from_slice(r.bytes(32));
        single_byte.push((name, bits));
    }
    Tables { ranges, ascii, single_byte }
});

fn is_within(ranges: &[(u32, u32)], cp: u32) -> bool {
    let at = ranges.partition_point(|(_, last)| *last < cp);
    ranges.get(at).is_some_and(|(first, _)| *first <= cp)
}

/// Which characters of a charset are parts of words.
#[derive(Clone, Copy)]
enum Class {
    Unicode,
    SingleByte(&'static [u8; 32]),
}

/// A run of characters of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    pub bytes: &'a [u8],
    pub chars: usize,
    /// Where it begins in the text.
    pub at: usize,
}

impl Word<'_> {
    /// It is in an index, if its text is.
    pub fn is_significant(&self) -> bool {
        (WORD_CHARS_MIN..=WORD_CHARS_MAX).contains(&self.chars) && !self.is_stop_word()
    }

    /// As InnoDB does, under any collation only ASCII letters are the same in both cases here.
    pub fn is_stop_word(&self) -> bool {
        let is_one = |stop: &&str| stop.as_bytes().eq_ignore_ascii_case(self.bytes);
        self.bytes.len() <= STOP_WORD_BYTES_MAX && STOP_WORDS.iter().any(is_one)
    }
}

const STOP_WORD_BYTES_MAX: usize = 5;

/// What a FULLTEXT index has of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextParser {
    #[default]
    Words,
    /// `WITH PARSER ngram`.
    Ngram,
}

impl TextParser {
    pub fn tokens<'a>(self, charset: &'static Charset, text: &'a [u8]) -> Tokens<'a> {
        Tokens { words: charset.words(text), ngrams: (self == TextParser::Ngram).then_some(Ngrams { charset, rest: &[], at: 0 }) }
    }

    /// It is in an index, if its text is. What the parser ngram makes must have no stop word inside.
    pub fn keeps(self, token: &Word<'_>) -> bool {
        match self {
            TextParser::Words => token.is_significant(),
            TextParser::Ngram => {
                let has = |stop: &&str| token.bytes.windows(stop.len()).any(|part| part.eq_ignore_ascii_case(stop.as_bytes()));
                !STOP_WORDS.iter().any(has)
            }
        }
    }
}

/// The words of a text, or their runs of `NGRAM_CHARS` characters.
pub struct Tokens<'a> {
    words: Words<'a>,
    ngrams: Option<Ngrams<'a>>,
}

struct Ngrams<'a> {
    charset: &'static Charset,
    /// What is left of a word, and where it stands in the text.
    rest: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        let Some(ngrams) = &mut self.ngrams else { return self.words.next() };
        loop {
            if let Some(token) = ngrams.next() {
                return Some(token);
            }
            let word = self.words.next()?;
            (ngrams.rest, ngrams.at) = (word.bytes, word.at);
        }
    }
}

impl<'a> Ngrams<'a> {
    fn next(&mut self) -> Option<Word<'a>> {
        let (mut len, mut first, mut chars) = (0, 0, 0);
        for c in self.charset.chars(self.rest).take(NGRAM_CHARS) {
            len += c.bytes.len();
            first = if chars == 0 { len } else { first };
            chars += 1;
        }
        let (at, bytes) = (self.at, self.rest.get(..len).filter(|_| chars == NGRAM_CHARS)?);
        self.rest = self.rest.get(first..)?;
        self.at += first;
        Some(Word { bytes, chars, at })
    }
}

pub struct Words<'a> {
    class: Class,
    chars: Chars<'a>,
    text: &'a [u8],
}

impl Charset {
    /// The words of a text, one by one.
    pub fn words<'a>(&self, text: &'a [u8]) -> Words<'a> {
        let class = match self.encoding {
            Encoding::Single(_) | Encoding::Ascii(_) => {
                let own = TABLES.single_byte.iter().find(|(name, _)| name == self.name);
                own.map_or(Class::Unicode, |(_, bits)| Class::SingleByte(bits))
            }
            _ => Class::Unicode,
        };
        Words { class, chars: self.chars(text), text }
    }
}

impl Class {
    #[inline]
    fn has(self, c: &super::Char<'_>) -> bool {
        match self {
            Class::SingleByte(bits) => c.bytes.first().is_some_and(|b| bits[usize::from(b >> 3)] >> (b & 7) & 1 == 1),
            Class::Unicode => match c.code_point {
                Some(cp @ 0..128) => TABLES.ascii >> cp & 1 == 1,
                Some(cp) => is_within(&TABLES.ranges, cp),
                None => false,
            },
        }
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        let class = self.class;
        let first = self.chars.by_ref().find(|c| class.has(c))?;
        let at = first.bytes.as_ptr().addr() - self.text.as_ptr().addr();
        let (mut chars, mut len) = (1, first.bytes.len());
        for c in self.chars.by_ref().take_while(|c| class.has(c)) {
            chars += 1;
            len += c.bytes.len();
        }
        Some(Word { bytes: self.text.get(at..at + len)?, chars, at })
    }
}

impl Collation {
    /// A word as indexes keep it: only under binary collations its case counts, as in InnoDB.
    pub fn folded_word<'a>(&self, word: &'a [u8]) -> Cow<'a, [u8]> {
        if self.is_bin() || !self.name.ends_with("_cs") { Cow::Borrowed(word) } else { Cow::Owned(self.lower(word)) }
    }

    /// A sort key is of weights of one level, so that the key of a word begins with that of its beginning.
    pub fn has_one_level(&self) -> bool {
        match self.order {
            Order::Bytes | Order::CodePoints | Order::Table(_) | Order::General(_) | Order::Uca(_, 1) => true,
            Order::Uca(..) | Order::EastAsian(_) | Order::Special(_) | Order::Unsupported => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CollationId, collation};
    use super::*;

    fn words(charset: &str, text: &[u8]) -> Vec<String> {
        let charset = Charset::by_name(charset).unwrap();
        charset.words(text).map(|w| format!("{}@{}/{}", String::from_utf8_lossy(w.bytes), w.at, w.chars)).collect()
    }

    #[test]
    fn words_are_runs_of_letters_digits_and_underscores() {
        assert_eq!(
            words("utf8mb4", b"it's a well-known x_1."),
            ["it@0/2", "s@3/1", "a@5/1", "well@7/4", "known@12/5", "x_1@18/3"]
        );
        assert_eq!(words("utf8mb4", "caf\u{e9} na\u{ef}ve \u{1f600}".as_bytes()), ["caf\u{e9}@0/4", "na\u{ef}ve@6/5"]);
        assert_eq!(words("utf8mb4", "e\u{301}t \u{4e00}\u{4e8c}".as_bytes()), ["e\u{301}t@0/3", "\u{4e00}\u{4e8c}@5/2"]);
        assert_eq!(words("latin1", b"a\xd7b\xb5c"), ["a@0/1", "b@2/1", "c@4/1"]);
        assert_eq!(words("utf8mb4", b""), Vec::<String>::new());
        assert_eq!(words("utf8mb4", b"\xff\xffab\xff"), ["ab@2/2"]);
    }

    #[test]
    fn every_charset_has_its_own_characters() {
        let is_single = |c: &&Charset| matches!(c.encoding, Encoding::Single(_) | Encoding::Ascii(_));
        for charset in Charset::all().filter(is_single) {
            assert!(TABLES.single_byte.iter().any(|(name, _)| name == charset.name), "{}", charset.name);
        }
    }

    #[test]
    fn short_words_and_stop_words_are_not_significant() {
        let word = |text: &'static str| Word { bytes: text.as_bytes(), chars: text.chars().count(), at: 0 };
        assert!(word("dog").is_significant());
        assert!(!word("do").is_significant() && !word("The").is_significant() && !word("about").is_significant());
        assert!(word(Box::leak("x".repeat(WORD_CHARS_MAX).into())).is_significant());
        assert!(!word(Box::leak("x".repeat(WORD_CHARS_MAX + 1).into())).is_significant());
        assert!(STOP_WORDS.iter().all(|stop| stop.len() <= STOP_WORD_BYTES_MAX));
    }

    #[test]
    fn case_counts_under_binary_collations() {
        let folded = |id, word: &'static str| String::from_utf8(collation(id).folded_word(word.as_bytes()).into_owned()).unwrap();
        assert_eq!(folded(CollationId::UTF8MB4_BIN, "Word"), "Word");
        assert_eq!(folded(Collation::by_name("utf8mb4_0900_as_cs").unwrap().id, "Word"), "word");
    }
}
