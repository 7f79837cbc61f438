//! Goes through a query and joins what its words find.
//!
//! A list is gone through three times, as InnoDB does it: for what rows may have, must have (`+`) and must not have (`-`). What is
//! found by a list in parentheses is joined to the list around it by the operator before it. Each row that is found keeps an adjustment
//! (`>`, `<`, `~`), and which words found it; ranks are computed in the end. Example: `+a b -c` unites
//! with nothing the rows with b, keeps of them and adds to them the rows with a, and takes out those with c.
//!
//! A word that is written twice counts its rows twice, as in InnoDB: `dog dog` of 6 rows, 3 with dog, takes dog for a word of all rows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use vaquita_types::charset::{Collation, TextParser, Tokens, Word};
use vaquita_types::errno::ErrorDef;
use vaquita_types::{Error, Result};

use super::query::{List, Node, Operator};
use super::source::{Row, Source};

/// Words of a phrase at most, as in InnoDB.
const PHRASE_WORDS_MAX: usize = 128;

/// An error of MySQL's storage engines.
static TOO_MANY_WORDS: ErrorDef = ErrorDef {
    code: 191,
    sqlstate: b"HY000",
    name: "HA_FTS_TOO_MANY_WORDS_IN_PHRASE",
    format: "Too many words in a FTS phrase or proximity search",
};

/// Bytes that a row takes beside its words, and a word of it, estimated.
const ROW_BYTES: usize = 96;
const WORD_OF_ROW_BYTES: usize = 48;

/// A row that is found.
#[derive(Clone, Debug, Default)]
struct Found {
    adjustment: f32,
    /// Positions in `Evaluation::words`, ascending.
    words: Vec<usize>,
}

type Rows = BTreeMap<Row, Found>;

impl Found {
    fn of(words: &[usize]) -> Found {
        Found { adjustment: 0.0, words: words.to_vec() }
    }

    fn add_words(&mut self, words: &[usize]) {
        for word in words {
            if let Err(at) = self.words.binary_search(word) {
                self.words.insert(at, *word);
            }
        }
    }
}

/// A word of the query.
#[derive(Default)]
struct Frequency {
    /// Rows with it, counted each time that the query asks.
    rows: u64,
    /// How often it is in a row.
    in_row: HashMap<Row, u64>,
}

struct Evaluation<'a> {
    source: &'a dyn Source,
    collation: &'static Collation,
    parser: TextParser,
    /// Accounts for bytes that are kept.
    keep: &'a dyn Fn(usize) -> Result<()>,
    words: Vec<Frequency>,
    numbers: HashMap<Vec<u8>, usize>,
}

/// The clustered keys of the rows that the query finds, and their ranks.
pub fn evaluate(
    query: &List<'_>,
    expands: bool,
    source: &dyn Source,
    (collation, parser): (&'static Collation, TextParser),
    keep: &dyn Fn(usize) -> Result<()>,
) -> Result<Vec<(Box<[u8]>, f32)>> {
    let mut evaluation = Evaluation { source, collation, parser, keep, words: Vec::new(), numbers: HashMap::new() };
    let mut rows = evaluation.list(query)?;
    if expands && !rows.is_empty() {
        evaluation.expand(&mut rows)?;
    }
    let total = source.rows()?;
    rows.into_iter().map(|(row, found)| Ok((source.key(row)?, evaluation.rank(row, &found, total)))).collect()
}

fn adjusted(adjustment: f32, by: f32) -> f32 {
    (adjustment + by).clamp(-1.0, 1.0)
}

impl Evaluation<'_> {
    fn rank(&self, row: Row, found: &Found, total: u64) -> f32 {
        let mut rank = found.adjustment;
        for word in found.words.iter().filter_map(|at| self.words.get(*at)) {
            let idf = match word.rows {
                0 => continue,
                rows if rows == total => 1.0001f64.log10(),
                rows => (total as f64 / rows as f64).log10(),
            };
            let count = word.in_row.get(&row).copied().unwrap_or(0);
            rank += (count as f64 * idf * idf) as f32;
        }
        rank
    }

    fn list(&mut self, list: &List<'_>) -> Result<Rows> {
        let mut rows = Rows::new();
        let mut has_must = false;
        let passes: [fn(Operator) -> bool; 3] = [
            |operator| !matches!(operator, Operator::Must | Operator::MustNot),
            |operator| operator == Operator::Must,
            |operator| operator == Operator::MustNot,
        ];
        for pass in passes {
            for (operator, node) in list.iter().filter(|(operator, _)| pass(*operator)) {
                match node {
                    Node::Word { text, is_prefix } => self.word(text, *is_prefix, *operator, has_must, &mut rows)?,
                    Node::Phrase { text, distance } => self.phrase(text, *distance, *operator, has_must, &mut rows)?,
                    Node::List(inside) => {
                        let found = self.list(inside)?.into_iter().collect();
                        self.join(found, *operator, has_must, &mut rows)?;
                    }
                }
                has_must |= *operator == Operator::Must;
            }
        }
        Ok(rows)
    }

    /// Joins the rows of a word, a phrase or a list to those that were found before.
    fn join(&self, found: Vec<(Row, Found)>, operator: Operator, has_must: bool, rows: &mut Rows) -> Result<()> {
        if operator == Operator::Must {
            let mut both = Rows::new();
            for (row, mut more) in found {
                match rows.remove(&row) {
                    Some(before) => {
                        more.adjustment = adjusted(before.adjustment, more.adjustment);
                        more.add_words(&before.words);
                    }
                    None if has_must => continue,
                    None => (self.keep)(ROW_BYTES)?,
                }
                both.insert(row, more);
            }
            *rows = both;
            return Ok(());
        }
        let by = match operator {
            Operator::MustNot => {
                found.iter().for_each(|(row, _)| drop(rows.remove(row)));
                return Ok(());
            }
            Operator::Negate | Operator::Lower => -1.0,
            Operator::Raise => 1.0,
            Operator::Optional | Operator::Must => 0.0,
        };
        for (row, more) in found {
            match rows.get_mut(&row) {
                Some(before) => before.add_words(&more.words),
                None if operator == Operator::Negate => continue,
                None => {
                    (self.keep)(ROW_BYTES)?;
                    rows.insert(row, more);
                }
            }
            if let Some(now) = rows.get_mut(&row) {
                now.adjustment = adjusted(now.adjustment, by);
            }
        }
        Ok(())
    }

    fn word(&mut self, text: &[u8], is_prefix: bool, operator: Operator, has_must: bool, rows: &mut Rows) -> Result<()> {
        let text = self.collation.folded_word(text);
        // Nothing can be taken out of nothing.
        if rows.is_empty() && (operator == Operator::MustNot || operator == Operator::Must && has_must) {
            return Ok(());
        }
        let (number, with) = self.rows_with(&text, is_prefix)?;
        let found = with.into_iter().map(|row| (row, Found::of(&[number])));
        self.join(found.collect(), operator, has_must, rows)
    }

    /// Looks the word up: its position, and the rows that have it.
    fn rows_with(&mut self, text: &[u8], is_prefix: bool) -> Result<(usize, BTreeSet<Row>)> {
        let key = self.source.word_key(text)?;
        let next = self.words.len();
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.words.push(Frequency::default());
        }
        let Some(frequency) = self.words.get_mut(number) else { return Err(Error::internal("a word without a number")) };
        let mut with = BTreeSet::new();
        let keep = self.keep;
        self.source.each(text, is_prefix, &mut |row, count| {
            frequency.rows += 1;
            // Of several words that begin so, the first one counts.
            frequency.in_row.entry(row).or_insert(count);
            with.insert(row);
            keep(WORD_OF_ROW_BYTES)
        })?;
        Ok((number, with))
    }

    fn phrase(&mut self, text: &[u8], distance: Option<u64>, operator: Operator, has_must: bool, rows: &mut Rows) -> Result<()> {
        let words: Vec<Word<'_>> = self.tokens(text).take(PHRASE_WORDS_MAX * 8).collect();
        let parser = self.parser;
        let significant = || words.iter().filter(|word| parser.keeps(word));
        if significant().count() > PHRASE_WORDS_MAX {
            return Err(Error::new(&TOO_MANY_WORDS, &[]));
        }
        let mut numbers = Vec::new();
        let mut with: Option<BTreeSet<Row>> = None;
        for word in significant() {
            let (number, rows) = self.rows_with(&self.collation.folded_word(word.bytes), false)?;
            numbers.push(number);
            with = Some(match with {
                None => rows,
                Some(before) => before.intersection(&rows).copied().collect(),
            });
        }
        // Words before the first that an index has are passed over.
        let first = words.iter().position(|word| self.parser.keeps(word)).unwrap_or(words.len());
        let words: Vec<_> = words.iter().skip(first).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut found = Vec::new();
        for row in with.unwrap_or_default() {
            let is_there = match distance {
                _ if words.len() == 1 => true,
                None => self.has_phrase(row, &words)?,
                Some(distance) => self.is_near(row, &words, distance)?,
            };
            if is_there {
                found.push((row, Found::of(&numbers)));
            }
        }
        self.join(found, operator, has_must, rows)
    }

    fn tokens<'t>(&self, text: &'t [u8]) -> Tokens<'t> {
        self.parser.tokens(self.collation.charset, text)
    }

    fn is_same(&self, a: &Word<'_>, b: &Word<'_>) -> bool {
        self.collation.equal(&self.collation.folded_word(a.bytes), &self.collation.folded_word(b.bytes))
    }

    /// The words stand one after the other in one of the columns.
    fn has_phrase(&self, row: Row, phrase: &[&Word<'_>]) -> Result<bool> {
        for text in self.source.texts(row)? {
            let words: Vec<Word<'_>> = self.tokens(&text).collect();
            let begins = |place: &[Word<'_>]| place.iter().zip(phrase).all(|(word, other)| self.is_same(word, other));
            if words.windows(phrase.len()).any(begins) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// All words that an index has stand among so many that follow each other, through all columns.
    fn is_near(&self, row: Row, phrase: &[&Word<'_>], distance: u64) -> Result<bool> {
        let texts = self.source.texts(row)?;
        let mut wanted: Vec<&Word<'_>> = Vec::new();
        for word in phrase.iter().filter(|word| self.parser.keeps(word)) {
            if !wanted.iter().any(|other| self.is_same(word, other)) {
                wanted.push(word);
            }
        }
        let mut last: Vec<Option<u64>> = vec![None; wanted.len()];
        for (at, word) in texts.iter().flat_map(|text| self.tokens(text)).enumerate() {
            let Some(which) = wanted.iter().position(|other| self.is_same(&word, other)) else { continue };
            if let Some(last) = last.get_mut(which) {
                *last = Some(at as u64);
            }
            if let Some(first) = last.iter().copied().min().flatten()
                && at as u64 - first < distance
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// WITH QUERY EXPANSION: searches for all words of the rows that were found as well.
    fn expand(&mut self, rows: &mut Rows) -> Result<()> {
        let mut more: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        for row in rows.keys() {
            for text in self.source.texts(*row)? {
                for word in self.tokens(&text).filter(|word| self.parser.keeps(word)) {
                    let word = self.collation.folded_word(word.bytes);
                    let key = self.source.word_key(&word)?;
                    if !self.numbers.contains_key(&key) && !more.contains_key(&key) {
                        (self.keep)(key.len() + word.len() + WORD_OF_ROW_BYTES)?;
                        more.insert(key, word.into_owned());
                    }
                }
            }
        }
        more.values().try_for_each(|word| self.word(word, false, Operator::Optional, false, rows))
    }
}
