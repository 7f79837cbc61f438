//! MATCH … AGAINST: what a search finds, and how well, by InnoDB's rules.
//!
//! 1. `query` reads the text that is searched for, of natural language or with the operators of boolean mode.
//! 2. `evaluate` goes through it once per execution of the statement, and asks a `Source` for the rows that have a word: an index
//!    (`source::IndexSource`), or the words of a single row (`source::RowSource`).
//! 3. What it finds is kept with the statement (`context::Ranks`): an expression looks its row up by the clustered key, and a scan reads the rows
//!    in the order of their rank.
//!
//! A row's rank is the sum over the words that found it of tf × idf², with idf = log10(rows ÷ rows with the word), and log10(1.0001) for a word that
//! all rows have. Example: of 6 rows 3 have `tutorial`, and one of these has it twice: its rank is 2 × log10(2)² = 0.18.
//!
//! It sees what the statement's scans see: the snapshot with the changes of its transaction, which InnoDB shows once they are committed.

mod evaluate;
mod query;
mod source;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use vaquita_parser::ast::MatchMode;
use vaquita_plan::env::EvalCx;
use vaquita_plan::expr::FullTextMatch;
use vaquita_storage::{LockMode, Table};
use vaquita_types::charset::collation;
use vaquita_types::{Error, Result, Value};

use crate::context::{Execution, Ranks};
use evaluate::evaluate;
use query::{parse_boolean, parse_natural};
use source::{IndexSource, RowSource, Source};

/// The rank of a row: of what the search has found, or, for a row that is looked at in another version than the statement's, by its words alone.
pub fn rank(statement: &Execution<'_>, search: &FullTextMatch, key: &[u8], cx: &EvalCx<'_>) -> Result<f32> {
    let judged = statement.judged_row.borrow().as_ref().filter(|(judged, _)| judged == key).map(|(_, row)| row.clone());
    if let Some(row) = judged {
        return rank_alone(statement, search, (key, &row), cx);
    }
    Ok(ranks(statement, search, cx)?.of(key))
}

/// What a search finds, which is the same throughout the statement.
pub fn ranks(statement: &Execution<'_>, search: &FullTextMatch, cx: &EvalCx<'_>) -> Result<Arc<Ranks>> {
    if let Some(ranks) = statement.searches.borrow().get(&search.id) {
        return Ok(ranks.clone());
    }
    let table = statement.open_table(&search.table, LockMode::IS)?;
    table.check_readable(&statement.txn.borrow(), search.index)?;
    if statement.locks_reads() {
        // A rank is of all rows, so that none may come or go.
        statement.txn.borrow_mut().lock_range(&table.codec.clustered().all(), statement.lock_wait())?;
    }
    let source = IndexSource::new(statement, &table, search.index)?;
    let ranks = Arc::new(Ranks::new(find(statement, &table, search, &source, cx)?));
    statement.searches.borrow_mut().insert(search.id, ranks.clone());
    Ok(ranks)
}

fn rank_alone(statement: &Execution<'_>, search: &FullTextMatch, row: (&[u8], &[u8]), cx: &EvalCx<'_>) -> Result<f32> {
    let table = statement.open_table(&search.table, LockMode::IS)?;
    let source = RowSource::new(&table, search.index, row)?;
    let found = find(statement, &table, search, &source, cx)?;
    Ok(found.first().map_or(0.0, |(_, rank)| *rank))
}

fn find(
    statement: &Execution<'_>,
    table: &Table,
    search: &FullTextMatch,
    source: &dyn Source,
    cx: &EvalCx<'_>,
) -> Result<Vec<(Box<[u8]>, f32)>> {
    let against = search.against.eval(cx)?;
    let Value::Bytes(text) = &*against else { return Ok(Vec::new()) };
    let codec = table.codec.indexes().get(search.index);
    let full_text = codec.and_then(|codec| codec.full_text()).ok_or_else(|| Error::internal("a search without its index"))?;
    let collation = collation(full_text.collation);
    let query = match search.mode {
        MatchMode::Boolean => parse_boolean(collation.charset, full_text.parser, text)?,
        MatchMode::NaturalLanguage | MatchMode::NaturalLanguageWithExpansion => {
            parse_natural(collation.charset, full_text.parser, text)
        }
    };
    let expands = search.mode == MatchMode::NaturalLanguageWithExpansion;
    let keep = |bytes| statement.keep_bytes(bytes);
    evaluate(&query, expands, source, (collation, full_text.parser), &keep)
}
