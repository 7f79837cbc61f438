//! Rows in partitions where they do not belong, which EXCHANGE PARTITION … WITHOUT VALIDATION leaves: CHECK finds them, REPAIR moves them.

use std::sync::Arc;

use vaquita_storage::Table;
use vaquita_types::Result;
use vaquita_types::convert::write_text;
use vaquita_types::errno::{ER_DUP_ENTRY, ER_NO_PARTITION_FOR_GIVEN_VALUE};
use vaquita_types::schema::TableDef;

use super::Ddl;
use super::algorithm::Way;
use super::alter_partitions::renewed;
use super::maintenance::Message;

pub(super) struct Misplaced {
    pub rows: u64,
    /// Of the first one: where it is, where it should be if it has a place, and the columns that say so.
    is_in: usize,
    belongs_in: Option<usize>,
    text: String,
}

impl Misplaced {
    /// What CHECK TABLE says.
    pub fn messages(&self, def: &TableDef) -> Vec<Message> {
        let should = self.belongs_in.map_or("no part".to_string(), |number| format!("part {number}"));
        vec![
            ("error", format!("Found a misplaced row in part {} should be in {should}:\n{}", self.is_in, self.text)),
            self.returned_error(def),
            ("error", format!("Table upgrade required. Please do \"REPAIR TABLE `{}`\" or dump/reload to fix it!", def.name)),
        ]
    }

    fn returned_error(&self, def: &TableDef) -> Message {
        let name = def.partitions().get(self.is_in).map_or("", |partition| &partition.name);
        let what =
            if def.partitioning.as_ref().is_some_and(|by| by.subpartitions.is_some()) { "Subpartition" } else { "Partition" };
        ("error", format!("{what} {name} returned error"))
    }
}

impl Ddl<'_> {
    /// Looks through the partitions with these numbers, which ascend, or all of them.
    pub(super) fn misplaced(&self, table: &Arc<Table>, among: Option<&[usize]>) -> Result<Option<Misplaced>> {
        if !table.def.is_partitioned() {
            return Ok(None);
        }
        let of_row = self.partition_of_rows(&table.def)?;
        let columns = self.function(&table.def)?.columns;
        let generator = self.generator(&table.def)?;
        let mut found: Option<Misplaced> = None;
        self.catalog.each_row(table, &self.context, &mut |number, row| {
            if among.is_some_and(|among| among.binary_search(&number).is_err()) {
                return Ok(());
            }
            let belongs_in = place_of(of_row(row))?;
            if belongs_in == Some(number) {
                return Ok(());
            }
            if let Some(found) = &mut found {
                found.rows += 1;
                return Ok(());
            }
            let mut row = row.to_vec();
            generator.fill(&mut row)?;
            let mut text = Vec::new();
            for (column, value) in columns.iter().filter_map(|at| table.def.columns.get(*at).zip(row.get(*at))) {
                text.extend_from_slice(format!(" {}:", column.name).as_bytes());
                write_text(value, &column.ty, &mut text);
            }
            found = Some(Misplaced { rows: 1, is_in: number, belongs_in, text: String::from_utf8_lossy(&text).into_owned() });
            Ok(())
        })?;
        Ok(found)
    }

    /// REPAIR of a partitioned table: rows go where they belong, by copying all of them.
    pub(super) fn repair(&self, table: &Arc<Table>, among: Option<&[usize]>) -> Result<Vec<Message>> {
        let ok = ("status", "OK".to_string());
        let Some(found) = self.misplaced(table, among)? else { return Ok(vec![ok]) };
        let mut new = (*table.def).clone();
        let all = (0..new.partitions().len()).collect();
        if let Some(by) = new.partitioning_mut() {
            by.partitions = renewed(&by.partitions, &all);
        }
        match self.copy_to_partitions(table, new, Way::ANY) {
            Ok(_) => Ok(vec![("warning", format!("Moved {} misplaced rows", found.rows)), ok]),
            Err(error) if error.is(&ER_NO_PARTITION_FOR_GIVEN_VALUE) || error.is(&ER_DUP_ENTRY) => {
                let text = format!("Failed to move/insert a row from part {}:\n{}", found.is_in, error.message());
                Ok(vec![("error", text), found.returned_error(&table.def), ("error", "Corrupt".to_string())])
            }
            Err(error) => Err(error),
        }
    }
}

/// The partition that was found for a row, which may have none.
pub(super) fn place_of(found: Result<usize>) -> Result<Option<usize>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is(&ER_NO_PARTITION_FOR_GIVEN_VALUE) => Ok(None),
        Err(error) => Err(error),
    }
}
