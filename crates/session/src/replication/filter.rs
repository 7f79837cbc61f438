//! Which changes of a source are applied: CHANGE REPLICATION FILTER. Those of a channel have the key `filter/NAME`, those that new channels
//! begin with `filters`.
//!
//! What a rule means, and in which order they are asked, is the applier's.

use std::sync::atomic::AtomicU64;

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
