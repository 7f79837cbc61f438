//! Changes of a document in a partial update (`binlog_row_value_options=PARTIAL_JSON`).
//!
//! Four bytes with the length of all, then each change: what to do (0 replace, 1 insert, 2 remove), the path, and unless it is removed the value
//! in the form of `json`; both with a length-encoded length.

use vaquita_types::json::{Edit, Json, JsonPath};

use super::error::{BinlogError, Result};
use super::json;
use crate::codec::Bytes;

const MALFORMED: BinlogError = BinlogError::Malformed("change of a JSON document");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffKind {
    Replace,
    /// Into an object, or in front of what an array has there.
    Insert,
    Remove,
}

#[derive(Clone, Debug, PartialEq)]
pub struct JsonDiff {
    pub kind: DiffKind,
    pub path: Box<str>,
    /// `None` where it is removed.
    pub value: Option<Json>,
}

impl JsonDiff {
    pub fn decode_list(bytes: &mut Bytes<'_>) -> Result<Vec<JsonDiff>> {
        let len = bytes.u32()? as usize;
        let mut list = Bytes::new(bytes.take(len)?);
        let mut diffs = Vec::new();
        while !list.is_empty() {
            let kind = match list.u8()? {
                0 => DiffKind::Replace,
                1 => DiffKind::Insert,
                2 => DiffKind::Remove,
                _ => return Err(MALFORMED),
            };
            let path = std::str::from_utf8(list.lenenc_bytes()?).map_err(|_| MALFORMED)?.into();
            let value = if kind == DiffKind::Remove { None } else { Some(json::decode(list.lenenc_bytes()?)?) };
            diffs.push(JsonDiff { kind, path, value });
        }
        Ok(diffs)
    }

    /// Does it to a document; an error if what is replaced or removed is not there, or what is inserted is.
    pub fn apply(&self, document: &mut Json) -> Result<()> {
        let path = JsonPath::parse(&self.path).map_err(|_| MALFORMED)?;
        let found = !document.seek(&path).is_empty();
        match (self.kind, &self.value) {
            (DiffKind::Replace, Some(value)) if found => document.edit(&path, value.clone(), Edit::Replace),
            (DiffKind::Insert, Some(value)) if path.ends_in_cell() => document.array_insert(&path, value.clone()),
            (DiffKind::Insert, Some(value)) if !found => document.edit(&path, value.clone(), Edit::Insert),
            (DiffKind::Remove, _) if found && !path.is_root() => document.remove(&path),
            _ => return Err(MALFORMED),
        }
        Ok(())
    }
}
