//! System tables that are the same on every server: charsets, collations, engines, plugins, keywords.

use vaquita_parser::keyword::Kw;
use vaquita_types::Result;
use vaquita_types::Value;
use vaquita_types::charset::{Charset, Collation, collation};
use vaquita_types::geometry::{srs, units};
use vaquita_types::temporal::TimeZone;

use super::row::{NULL, row};
use super::{Row, SystemContext};

pub fn character_sets(_: &SystemContext<'_>) -> Result<Vec<Row>> {
    let row = |c: &Charset| row![c.name, collation(c.default_collation).name, c.description, u64::from(c.mbmaxlen)];
    Ok(Charset::all().map(row).collect())
}

pub fn collations(_: &SystemContext<'_>) -> Result<Vec<Row>> {
    let row = |c: &Collation| {
        let default = if c.is_default { "Yes" } else { "" };
        let pad = if c.pad_space { "PAD SPACE" } else { "NO PAD" };
        row![c.name, c.charset.name, u64::from(c.id.0), default, "Yes", u64::from(c.sort_length), pad]
    };
    Ok(by_name().into_iter().map(row).collect())
}

pub fn collation_applicability(_: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(by_name().into_iter().map(|c| row![c.name, c.charset.name]).collect())
}

/// INNODB_FT_DEFAULT_STOPWORD.
pub fn stop_words(_: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(vaquita_types::charset::STOP_WORDS.iter().map(|word| row![*word]).collect())
}

pub fn spatial_reference_systems(_: &SystemContext<'_>) -> Result<Vec<Row>> {
    let row = |srs: &srs::Srs| {
        let number = u64::from(srs.id);
        row![srs.name, number, srs.organization, srs.organization.map(|_| number), srs.definition, srs.description]
    };
    Ok(srs::ALL.iter().map(row).collect())
}

pub fn units_of_measure(_: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(units::ALL.iter().map(|(name, metres)| row![*name, "LINEAR", Value::Float(*metres), ""]).collect())
}

fn by_name() -> Vec<&'static Collation> {
    let mut all: Vec<_> = Collation::all().collect();
    all.sort_by_key(|c| c.name);
    all
}

/// Engines that CREATE TABLE takes, as they are here: one storage under all names.
const ENGINES: &[(&str, &str, &str)] = &[
    ("ARCHIVE", "YES", "Stored as InnoDB tables are"),
    ("BLACKHOLE", "YES", "/dev/null storage engine (anything you write to it disappears)"),
    ("CSV", "YES", "Stored as InnoDB tables are"),
    ("FEDERATED", "NO", "Federated MySQL storage engine"),
    ("InnoDB", "DEFAULT", "Supports transactions, row-level locking, and foreign keys"),
    ("MEMORY", "YES", "Stored as InnoDB tables are"),
    ("MRG_MYISAM", "YES", "Stored as InnoDB tables are"),
    ("MyISAM", "YES", "Stored as InnoDB tables are"),
    ("PERFORMANCE_SCHEMA", "YES", "Performance Schema"),
    ("ROCKSDB", "YES", "Stored as InnoDB tables are"),
];

pub fn engines(_: &SystemContext<'_>) -> Result<Vec<Row>> {
    let row = |&(name, support, comment): &(&str, &str, &str)| match (name, support) {
        (_, "NO") => row![name, support, comment, NULL, NULL, NULL],
        ("PERFORMANCE_SCHEMA", _) => row![name, support, comment, "NO", "NO", "NO"],
        _ => row![name, support, comment, "YES", "YES", "YES"],
    };
    Ok(ENGINES.iter().map(row).collect())
}

/// Name, type, description.
const PLUGINS: &[(&str, &str, &str)] = &[
    ("caching_sha2_password", "AUTHENTICATION", "Caching sha2 authentication"),
    ("mysql_native_password", "AUTHENTICATION", "Native MySQL authentication"),
    ("InnoDB", "STORAGE ENGINE", "Supports transactions, row-level locking, and foreign keys"),
    ("PERFORMANCE_SCHEMA", "STORAGE ENGINE", "Performance Schema"),
    ("ROCKSDB", "STORAGE ENGINE", "Stored as InnoDB tables are"),
    ("rpl_semi_sync_source", "REPLICATION", "Source-side semi-synchronous replication."),
    ("rpl_semi_sync_replica", "REPLICATION", "Replica-side semi-synchronous replication."),
];

pub fn plugins(_: &SystemContext<'_>) -> Result<Vec<Row>> {
    let row = |&(name, kind, description): &(&str, &str, &str)| {
        let type_version = match kind {
            "AUTHENTICATION" => "2.1",
            "REPLICATION" => "4.0",
            _ => "80400.0",
        };
        row![name, "1.0", "ACTIVE", kind, type_version, NULL, NULL, "Vaquita", description, "PROPRIETARY", "FORCE"]
    };
    Ok(PLUGINS.iter().map(row).collect())
}

pub fn keywords(_: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(Kw::words().map(|kw| row![kw.as_str(), u64::from(kw.is_reserved())]).collect())
}

/// information_schema.RESOURCE_GROUPS: the two that there always are; no others can be made.
pub fn resource_groups(_: &SystemContext<'_>) -> Result<Vec<Row>> {
    let cpus = match vaquita_storage::cores() {
        0 | 1 => "0".to_string(),
        cores => format!("0-{}", cores - 1),
    };
    let row = |(name, kind): (&str, &str)| row![name, kind, 1u64, cpus.as_str(), 0u64];
    Ok([("USR_default", "USER"), ("SYS_default", "SYSTEM")].into_iter().map(row).collect())
}

/// mysql.time_zone: the named zones that CONVERT_TZ and `time_zone` know.
pub fn time_zones(_: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(TimeZone::names().iter().enumerate().map(|(n, _)| row![n as u64 + 1, "N"]).collect())
}

/// mysql.time_zone_name.
pub fn time_zone_names(_: &SystemContext<'_>) -> Result<Vec<Row>> {
    Ok(TimeZone::names().iter().enumerate().map(|(n, name)| row![name, n as u64 + 1]).collect())
}
