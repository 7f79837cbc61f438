//! SHOW PROFILE and SHOW PROFILES: how long the session's statements took, while `profiling` is on.
//!
//! Only times are known: what CPUs, disks and memory had to do with it is 0, and a stage has no place in a source.

use vaquita_parser::ast::Limit;
use vaquita_plan::env::Level;
use vaquita_types::errno::ER_WARN_DEPRECATED_SYNTAX;
use vaquita_types::{Error, Result, Value};

use super::{Listing, ShowContext, ShowResult, limited};
use crate::system::{self, SystemContext};

/// Types of SHOW PROFILE with the columns of information_schema.PROFILING that each adds.
const TYPES: [(&str, std::ops::Range<usize>); 7] = [
    ("CPU", 4..6),
    ("CONTEXT SWITCHES", 6..8),
    ("BLOCK IO", 8..10),
    ("IPC", 10..12),
    ("PAGE FAULTS", 12..14),
    ("SWAPS", 14..15),
    ("SOURCE", 15..18),
];
const STATE: usize = 2;
const DURATION: usize = 3;
/// What SHOW PROFILES cuts a statement to.
const TEXT_CHARS_MAX: usize = 300;

fn warn(what: &str, cx: &ShowContext<'_>) {
    cx.statement.session.warn(Level::Warning, Error::new(&ER_WARN_DEPRECATED_SYNTAX, &[&what, &"Performance Schema"]));
}

pub(super) fn profiles(cx: &ShowContext<'_>) -> Listing {
    warn("SHOW PROFILES", cx);
    let row = |profile: crate::context::ProfileInfo| {
        let text: String = profile.text.chars().take(TEXT_CHARS_MAX).collect();
        vec![Value::UInt(profile.id), Value::Float(profile.duration_ns() as f64 / 1e9), text.into()]
    };
    Listing::with_rows("PROFILES", cx.statement.server.profiles().into_iter().map(row).collect())
}

/// Of one statement, the last if `query` says none.
pub(super) fn profile(types: &[String], query: Option<u64>, limit: Option<&Limit>, cx: &ShowContext<'_>) -> Result<ShowResult> {
    warn("SHOW PROFILE", cx);
    let all = cx.statement.server.profiles();
    let wanted = query.or(all.last().map(|profile| profile.id)).unwrap_or(0);
    let mut columns = vec![STATE, DURATION];
    for (name, range) in TYPES {
        if types.iter().any(|known| known == name || known == "ALL") {
            columns.extend(range);
        }
    }
    let rows = system::profiling::rows(&SystemContext::new(cx.statement))?.into_iter();
    let of_it = rows.filter(|row| matches!(row.first(), Some(Value::Int(id)) if *id as u64 == wanted));
    let picked = |row: Vec<Value>| columns.iter().map(|at| row.get(*at).cloned().unwrap_or_default()).collect();
    let rows = limited(of_it.map(picked).collect(), limit, cx)?;
    let mut listing = Listing::with_rows("PROFILE", rows);
    if let Some(table) = system::table("information_schema", "profiling") {
        for column in columns.iter().skip(2).filter_map(|at| table.columns.get(*at)) {
            let mut column = column.clone();
            let (first, rest) = column.name.split_at(if column.name.starts_with("CPU") { 3 } else { 1 });
            column.name = format!("{first}{}", rest.to_lowercase());
            listing.columns.push(column);
        }
    }
    Ok(listing.unfiltered())
}
