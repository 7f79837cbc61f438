//! Which format the data has. A server that does not know it says so before it reads anything else, and changes nothing.
//!
//! The record is `FORMAT WRITER`, such as `1 8.4.1-vaquita`, WRITER being the version of the server that has written it. Data without it has format 1.
//! FORMAT grows when an older server would misread what a newer one writes; a server reads all formats up to its own.
//! It is a record of the catalog, so that copies and backups have it, too.

use vaquita_types::errno::ER_GET_ERRNO;
use vaquita_types::{Error, Result};

use crate::catalog::Catalog;
use crate::encoding::catalog::keys;
use crate::rocks::{Db, Family, read_error};

/// The newest that is read, and what is written.
const FORMAT: u32 = 1;
const KEY: &[u8] = b"data_format";

/// Refuses data of a later format.
pub(super) fn check(db: &Db) -> Result<()> {
    let mut record = Vec::new();
    if db.get(Family::Catalog, &keys::meta(KEY), None, &mut record).map_err(read_error)? { known(&record) } else { Ok(()) }
}

fn known(record: &[u8]) -> Result<()> {
    let text = String::from_utf8_lossy(record);
    let (format, writer) = text.split_once(' ').unwrap_or((&text, "unknown"));
    match format.parse::<u32>() {
        Ok(format) if format <= FORMAT => Ok(()),
        Ok(format) => Err(Error::with_message(
            &ER_GET_ERRNO,
            format!(
                "A newer server ({writer}) has written this data, in format {format}; this one reads formats up to {FORMAT}. \
                 Start that version or a later one, or restore a backup"
            ),
        )),
        Err(_) => Err(Error::corrupt(format_args!("the record of the data's format"))),
    }
}

/// Notes that data of `FORMAT` follows; `writer` is the version of the server.
pub fn mark(catalog: &Catalog, writer: &str) -> Result<()> {
    let record = format!("{FORMAT} {writer}");
    match catalog.meta_get(KEY)? {
        Some(before) if before == record.as_bytes() => Ok(()),
        _ => catalog.meta_put(KEY, record.as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_formats_are_refused_with_who_wrote_them() {
        assert!(known(b"1 8.4.1-vaquita").is_ok() && known(b"0").is_ok());
        let later = known(b"2 8.4.9-vaquita").expect_err("a later format");
        assert!(later.message().contains("A newer server (8.4.9-vaquita) has written this data, in format 2"), "{later:?}");
        assert!(known(b"two").is_err());
    }
}
