//! Table options: what they mean here, and what is kept as text for SHOW CREATE TABLE.

use vaquita_parser::ast::TableOption;
use vaquita_types::charset::{Collation, CollationId};
use vaquita_types::errno::{
    ER_COLLATION_CHARSET_MISMATCH, ER_TOO_LONG_TABLE_COMMENT, ER_UNKNOWN_STORAGE_ENGINE, ER_VALUE_OUT_OF_RANGE,
    ER_WARN_USING_OTHER_HANDLER,
};
use vaquita_types::limits::TABLE_COMMENT_CHARS_MAX;
use vaquita_types::schema::TableOptions;
use vaquita_types::{Error, Result, sql_mode};

use crate::context::SessionEnv;
use vaquita_plan::data_type::{check_charset, choose_collation, meant_collate};
use vaquita_plan::env::Level;

/// Engines that CREATE TABLE accepts, as SHOW CREATE TABLE prints them; all are stored alike, but for BLACKHOLE, which keeps no rows.
pub const ENGINES: &[&str] = &["InnoDB", "ROCKSDB", "MyISAM", "MEMORY", "CSV", "ARCHIVE", "BLACKHOLE", "MRG_MyISAM", "Aria"];

/// Names of engines that MySQL has twice.
const OTHER_NAMES: &[(&str, &str)] = &[("HEAP", "MEMORY"), ("INNOBASE", "InnoDB"), ("MERGE", "MRG_MyISAM")];

/// What the options of a CREATE or ALTER TABLE say.
#[derive(Default)]
pub struct GivenOptions {
    pub auto_increment: Option<u64>,
    pub charset: Option<String>,
    pub collate: Option<String>,
}

impl GivenOptions {
    /// `utf8mb4`: the session's `default_collation_for_utf8mb4`.
    pub fn collation(&self, default: CollationId, utf8mb4: CollationId) -> Result<CollationId> {
        let charset = self.charset.as_deref();
        choose_collation(charset, meant_collate(charset, self.collate.as_deref(), utf8mb4), default)
    }
}

/// `creates`: of a new table, whose engine is told where another one takes its place.
pub fn apply(
    options: &[TableOption],
    table: &mut TableOptions,
    (name, creates): (&str, bool),
    session: &dyn SessionEnv,
) -> Result<GivenOptions> {
    let mut given = GivenOptions::default();
    for option in options {
        match option {
            TableOption::Engine(engine) => match known_engine(engine) {
                Ok(engine) => table.engine = engine,
                Err(error) if may_be_another(&error, session) => {
                    session.warn(Level::Warning, error);
                    if creates {
                        let other = Error::new(&ER_WARN_USING_OTHER_HANDLER, &[&table.engine, &name]);
                        session.warn(Level::Warning, other);
                    }
                }
                Err(error) => return Err(error),
            },
            TableOption::AutoIncrement(next) => given.auto_increment = Some(*next),
            TableOption::Charset(charset) => {
                check_charset(given.charset.as_deref(), given.collate.as_deref(), charset)?;
                given.charset = Some(charset.clone());
            }
            TableOption::Collate(collate) => {
                check_collate(given.collate.as_deref(), collate)?;
                given.collate = Some(collate.clone());
            }
            TableOption::Comment(text) => {
                let too_long = Error::new(&ER_TOO_LONG_TABLE_COMMENT, &[&name, &TABLE_COMMENT_CHARS_MAX]);
                table.comment = comment(text, TABLE_COMMENT_CHARS_MAX, too_long, session)?;
            }
            TableOption::RowFormat(format) => {
                table.row_format = (!format.eq_ignore_ascii_case("DEFAULT")).then(|| format.to_uppercase());
            }
            TableOption::Encryption(value) if !value.eq_ignore_ascii_case(b"N") => return Err(Error::unsupported("ENCRYPTION")),
            TableOption::DataDirectory(_) | TableOption::IndexDirectory(_) => return Err(Error::unsupported("DATA DIRECTORY")),
            TableOption::MaxRows(rows) => keep(&TableOption::MaxRows(at_most_u32("max_rows", *rows, session)), table),
            TableOption::MinRows(rows) => keep(&TableOption::MinRows(at_most_u32("min_rows", *rows, session)), table),
            other => keep(other, table),
        }
    }
    // Of other engines the option means nothing.
    let has_union = options.iter().any(|option| matches!(option, TableOption::Union(tables) if !tables.is_empty()));
    if has_union && table.engine == "MRG_MyISAM" {
        return Err(Error::unsupported("UNION tables"));
    }
    Ok(given)
}

/// Error 1253 for a collation of another charset than that of the collation which was named before.
fn check_collate(before: Option<&str>, next: &str) -> Result<()> {
    match (before.and_then(Collation::by_name), Collation::by_name(next)) {
        (Some(before), Some(after)) if before.charset.name != after.charset.name => {
            Err(Error::new(&ER_COLLATION_CHARSET_MISMATCH, &[&next, &before.charset.name]))
        }
        _ => Ok(()),
    }
}

/// Warning 4074 for a number that is larger.
fn at_most_u32(option: &str, value: u64, session: &dyn SessionEnv) -> u64 {
    let most = u64::from(u32::MAX);
    if value > most {
        session.warn(Level::Warning, Error::new(&ER_VALUE_OUT_OF_RANGE, &[&option, &value, &0, &most, &most]));
    }
    value.min(most)
}

/// Without NO_ENGINE_SUBSTITUTION, the default engine stands for one that is not known.
fn may_be_another(error: &Error, session: &dyn SessionEnv) -> bool {
    error.is(&ER_UNKNOWN_STORAGE_ENGINE) && session.sql_mode() & sql_mode::NO_ENGINE_SUBSTITUTION == 0
}

/// A comment. One that is too long is an error, outside of strict mode it is cut with a warning.
pub fn comment(text: &[u8], chars_max: usize, too_long: Error, session: &dyn SessionEnv) -> Result<String> {
    let text = String::from_utf8_lossy(text);
    if text.chars().count() <= chars_max {
        return Ok(text.into_owned());
    }
    if sql_mode::is_strict(session.sql_mode()) {
        return Err(too_long);
    }
    session.warn(Level::Warning, too_long);
    Ok(text.chars().take(chars_max).collect())
}

/// Error 1286 for a name that is no engine's. FEDERATED and NDBCLUSTER, which MySQL knows and has switched off, are none.
pub fn known_engine(name: &str) -> Result<String> {
    let other = OTHER_NAMES.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map_or(name, |(_, name)| name);
    let found = ENGINES.iter().find(|e| e.eq_ignore_ascii_case(other));
    found.map(|e| e.to_string()).ok_or_else(|| Error::new(&ER_UNKNOWN_STORAGE_ENGINE, &[&name]))
}

/// `4M`, `8388608`.
fn bytes_of_size(size: &str) -> Option<u64> {
    let digits = size.trim_start_matches('=').trim().trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match size.trim().chars().last()?.to_ascii_uppercase() {
        'K' => 1 << 10,
        'M' => 1 << 20,
        'G' => 1 << 30,
        _ => 1,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// Options without a meaning here, printed back as they were given.
fn keep(option: &TableOption, table: &mut TableOptions) {
    let flag = |value: &Option<u64>| value.map(|v| v.to_string());
    let quoted = |text: &[u8]| Some(format!("'{}'", String::from_utf8_lossy(text).replace('\'', "''")));
    let nonzero = |value: u64| (value != 0).then(|| value.to_string());
    let one = |value: u64| (value != 0).then(|| "1".to_string());
    let (key, value) = match option {
        TableOption::MinRows(n) => ("MIN_ROWS", nonzero(*n)),
        TableOption::MaxRows(n) => ("MAX_ROWS", nonzero(*n)),
        TableOption::AvgRowLength(n) => ("AVG_ROW_LENGTH", nonzero(*n)),
        TableOption::PackKeys(value) => ("PACK_KEYS", flag(value)),
        TableOption::StatsPersistent(value) => ("STATS_PERSISTENT", flag(value)),
        TableOption::StatsAutoRecalc(value) => ("STATS_AUTO_RECALC", flag(value)),
        TableOption::StatsSamplePages(value) => ("STATS_SAMPLE_PAGES", flag(value)),
        TableOption::Checksum(n) | TableOption::TableChecksum(n) => ("CHECKSUM", one(*n)),
        TableOption::DelayKeyWrite(n) => ("DELAY_KEY_WRITE", one(*n)),
        TableOption::KeyBlockSize(n) => ("KEY_BLOCK_SIZE", nonzero(*n)),
        TableOption::Compression(text) => ("COMPRESSION", quoted(text)),
        TableOption::Connection(text) => ("CONNECTION", quoted(text)),
        TableOption::AutoextendSize(size) => {
            ("AUTOEXTEND_SIZE", bytes_of_size(size).filter(|bytes| *bytes > 0).map(|bytes| bytes.to_string()))
        }
        _ => return,
    };
    table.others.retain(|(k, _)| k != key);
    if let Some(value) = value {
        table.others.push((key.to_string(), value));
    }
}
