//! What a locked key says, for people: the columns and values of a row or an index entry.
//!
//! Example: the key of an entry of `KEY (name)` in a table with `PRIMARY KEY (id)` is `name = 'abc'`, `id = 7`. Strings
//! under a collation cannot be got back from a key; the row has them, if it is committed. Else the part is shown in hexadecimal.
//! TIMESTAMP values are UTC.

use vaquita_types::{Result, Value};

use super::table::Table;
use crate::encoding::duplicate::write_value;
use crate::encoding::ids::INDEX_ID_BYTES;
use crate::encoding::key::Entry;
use crate::txn::{Transaction, Version};

/// The name of a column and its value as text.
pub type KeyColumn = (String, String);

impl Table {
    /// The columns of a key of `def.indexes[index]`.
    pub fn key_columns(&self, txn: &Transaction, index: usize, key: &[u8]) -> Result<Vec<KeyColumn>> {
        let Some(codec) = self.codec.indexes().get(index) else { return Ok(Vec::new()) };
        let mut value = Vec::new();
        let exists = txn.get(key, Version::Latest, &mut value)?;
        let entry = Entry { key, value: &value };
        let row = if exists { self.row_of(txn, index, entry)? } else { None };
        let hex = |bytes: &[u8]| bytes.iter().fold("0x".to_string(), |text, byte| format!("{text}{byte:02x}"));
        let mut columns = Vec::new();
        for (n, part) in codec.entry_parts().iter().enumerate() {
            let Some(column) = self.def.columns.get(part.position) else { continue };
            let text = match &row {
                Some(row) => row.get(part.position).map(|value| text_of(&column.ty, value)),
                None => match codec.part_value(n, entry) {
                    Ok(Some(value)) => Some(text_of(&column.ty, &value.to_value()?)),
                    _ => codec.part_bytes(n, entry).map(hex),
                },
            };
            columns.extend(text.map(|text| (column.name.clone(), text)));
        }
        if columns.is_empty() {
            let text = codec.row_id(entry).map_or_else(|| hex(key.get(INDEX_ID_BYTES..).unwrap_or(key)), |id| id.to_string());
            columns.push(("row id".to_string(), text));
        }
        Ok(columns)
    }

    /// The committed row that an entry belongs to.
    fn row_of(&self, txn: &Transaction, index: usize, entry: Entry<'_>) -> Result<Option<Vec<Value>>> {
        let codec = self.codec.indexes().get(index);
        if index == 0 {
            return self.codec.decode_row(entry.key, entry.value).map(Some);
        }
        let (mut clustered, mut row) = (Vec::new(), Vec::new());
        if let Some(codec) = codec {
            codec.clustered_key(entry, &mut clustered)?;
        }
        if !txn.get(&clustered, Version::Latest, &mut row)? {
            return Ok(None);
        }
        self.codec.decode_row(&clustered, &row).map(Some)
    }
}

fn text_of(ty: &vaquita_types::ColumnType, value: &Value) -> String {
    let mut text = Vec::new();
    write_value(ty, value, &mut text);
    let text = String::from_utf8_lossy(&text);
    if value.is_null() || ty.is_numeric() { text.into_owned() } else { format!("'{text}'") }
}
