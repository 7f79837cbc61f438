//! Which changes of a source are applied: CHANGE REPLICATION FILTER. Those of a channel have the key `filter/NAME`, those that new channels
//! begin with `filters`.
//!
//! What a rule means, and in which order they are asked, is in `filter_rules`.

use std::sync::atomic::AtomicU64;

use vaquita_parser::ast::GivenFilter;
use vaquita_types::errno::{ER_INVALID_RPL_WILD_TABLE_FILTER_PATTERN, ER_WRONG_DB_NAME};
use vaquita_types::limits::IDENTIFIER_CHARS_MAX;
use vaquita_types::{Error, Result};

use super::record::Record;

pub(super) const PREFIX: &[u8] = b"filter/";
pub(super) const GLOBAL: &[u8] = b"filters";

/// In the order in which `performance_schema.replication_applier_filters` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterKind {
    DoDb,
    IgnoreDb,
    DoTable,
    IgnoreTable,
    WildDoTable,
    WildIgnoreTable,
    RewriteDb,
}

impl FilterKind {
    pub const COUNT: usize = 7;
    pub const ALL: [FilterKind; FilterKind::COUNT] = [
        FilterKind::DoDb,
        FilterKind::IgnoreDb,
        FilterKind::DoTable,
        FilterKind::IgnoreTable,
        FilterKind::WildDoTable,
        FilterKind::WildIgnoreTable,
        FilterKind::RewriteDb,
    ];

    pub fn name(self) -> &'static str {
        match self {
            FilterKind::DoDb => "REPLICATE_DO_DB",
            FilterKind::IgnoreDb => "REPLICATE_IGNORE_DB",
            FilterKind::DoTable => "REPLICATE_DO_TABLE",
            FilterKind::IgnoreTable => "REPLICATE_IGNORE_TABLE",
            FilterKind::WildDoTable => "REPLICATE_WILD_DO_TABLE",
            FilterKind::WildIgnoreTable => "REPLICATE_WILD_IGNORE_TABLE",
            FilterKind::RewriteDb => "REPLICATE_REWRITE_DB",
        }
    }
}

/// Lists that are empty say nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    pub do_db: Vec<String>,
    pub ignore_db: Vec<String>,
    /// Database and table.
    pub do_table: Vec<(String, String)>,
    pub ignore_table: Vec<(String, String)>,
    /// `database.table` with the wildcards of LIKE.
    pub wild_do_table: Vec<String>,
    pub wild_ignore_table: Vec<String>,
    /// The source's database and ours.
    pub rewrite_db: Vec<(String, String)>,
    /// By kind: when the rules were given, in microseconds since 1970.
    pub since_us: [u64; FilterKind::COUNT],
    /// By kind: a statement for this channel gave them, not one for all channels.
    pub for_channel: [bool; FilterKind::COUNT],
}

impl Filters {
    /// What a new channel begins with.
    pub(super) fn as_of(&self, now_us: u64) -> Filters {
        let since_us = self.since_us.map(|since| if since == 0 { 0 } else { now_us });
        Filters { since_us, ..self.clone() }
    }

    /// Takes what a statement gives, at `now_us`. A list takes the place of the one before.
    pub(crate) fn take(&mut self, given: &GivenFilter, now_us: u64, for_channel: bool) -> Result<()> {
        let kind = match given {
            GivenFilter::DoDb(databases) => {
                self.do_db = databases.clone();
                FilterKind::DoDb
            }
            GivenFilter::IgnoreDb(databases) => {
                self.ignore_db = databases.clone();
                FilterKind::IgnoreDb
            }
            GivenFilter::DoTable(tables) => {
                self.do_table = sorted(tables);
                FilterKind::DoTable
            }
            GivenFilter::IgnoreTable(tables) => {
                self.ignore_table = sorted(tables);
                FilterKind::IgnoreTable
            }
            GivenFilter::WildDoTable(given) => {
                self.wild_do_table = patterns(given)?;
                FilterKind::WildDoTable
            }
            GivenFilter::WildIgnoreTable(given) => {
                self.wild_ignore_table = patterns(given)?;
                FilterKind::WildIgnoreTable
            }
            GivenFilter::RewriteDb(pairs) => {
                self.rewrite_db = pairs.clone();
                FilterKind::RewriteDb
            }
        };
        self.since_us[kind as usize] = now_us;
        self.for_channel[kind as usize] = for_channel;
        Ok(())
    }
}

/// What is refused before anything is asked about the account, as MySQL's grammar does.
pub(crate) fn check_filters(given: &[GivenFilter]) -> Result<()> {
    given.iter().try_for_each(|filter| match filter {
        GivenFilter::DoTable(tables) | GivenFilter::IgnoreTable(tables) => {
            let wrong = |name: &str| name.is_empty() || name.ends_with(' ') || name.chars().count() > IDENTIFIER_CHARS_MAX;
            match tables.iter().find(|(database, _)| wrong(database)) {
                Some((database, _)) => Err(Error::new(&ER_WRONG_DB_NAME, &[database])),
                None => Ok(()),
            }
        }
        GivenFilter::WildDoTable(given) | GivenFilter::WildIgnoreTable(given) => patterns(given).map(drop),
        _ => Ok(()),
    })
}

/// As MySQL shows them: each once, in the order of bytes.
fn sorted(tables: &[(String, String)]) -> Vec<(String, String)> {
    let mut tables = tables.to_vec();
    tables.sort_by_cached_key(|(database, table)| format!("{database}.{table}"));
    tables.dedup();
    tables
}

fn patterns(given: &[Vec<u8>]) -> Result<Vec<String>> {
    let pattern = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).ok().filter(|pattern| pattern.contains('.'));
    let patterns: Option<Vec<String>> = given.iter().map(pattern).collect();
    patterns.ok_or_else(|| Error::new(&ER_INVALID_RPL_WILD_TABLE_FILTER_PATTERN, &[]))
}

/// How often each kind of rule was asked.
pub type FilterCounts = [AtomicU64; FilterKind::COUNT];

impl Filters {
    pub fn is_empty(&self) -> bool {
        FilterKind::ALL.into_iter().all(|kind| self.rules(kind).is_empty())
    }

    /// The rules of a kind as they are shown. Pairs of databases are `(from,to)`.
    pub fn rules(&self, kind: FilterKind) -> Vec<String> {
        let tables = |tables: &[(String, String)]| tables.iter().map(|(database, table)| format!("{database}.{table}")).collect();
        match kind {
            FilterKind::DoDb => self.do_db.clone(),
            FilterKind::IgnoreDb => self.ignore_db.clone(),
            FilterKind::DoTable => tables(&self.do_table),
            FilterKind::IgnoreTable => tables(&self.ignore_table),
            FilterKind::WildDoTable => self.wild_do_table.clone(),
            FilterKind::WildIgnoreTable => self.wild_ignore_table.clone(),
            FilterKind::RewriteDb => self.rewrite_db.iter().map(|(from, to)| format!("({from},{to})")).collect(),
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut record = Record::write();
        let _ = self.clone().visit(&mut record);
        record.finish().unwrap_or_default()
    }

    /// `None`: the bytes are damaged.
    pub fn decode(bytes: &[u8]) -> Option<Filters> {
        let mut filters = Filters::default();
        let mut record = Record::read(bytes)?;
        filters.visit(&mut record)?;
        record.finish().map(|_| filters)
    }

    /// The tags are stored and never reused: those of a kind are 16 apart.
    fn visit(&mut self, record: &mut Record<'_>) -> Option<()> {
        record.texts(1, &mut self.do_db)?;
        record.texts(2, &mut self.ignore_db)?;
        visit_pairs(record, 3, &mut self.do_table)?;
        visit_pairs(record, 4, &mut self.ignore_table)?;
        record.texts(5, &mut self.wild_do_table)?;
        record.texts(6, &mut self.wild_ignore_table)?;
        visit_pairs(record, 7, &mut self.rewrite_db)?;
        for (tag, since) in (17..).zip(&mut self.since_us) {
            record.number(tag, since)?;
        }
        for (tag, flag) in (33..).zip(&mut self.for_channel) {
            record.flag(tag, flag)?;
        }
        Some(())
    }
}

fn visit_pairs(record: &mut Record<'_>, tag: u8, pairs: &mut Vec<(String, String)>) -> Option<()> {
    let mut texts: Vec<String> = pairs.drain(..).flat_map(|(a, b)| [a, b]).collect();
    record.texts(tag, &mut texts)?;
    let mut texts = texts.into_iter();
    while let Some(first) = texts.next() {
        pairs.push((first, texts.next()?));
    }
    Some(())
}

/// The key of a channel's filters, for `Catalog::meta_put`.
pub fn filter_key(channel: &str) -> Vec<u8> {
    [PREFIX, channel.as_bytes()].concat()
}
