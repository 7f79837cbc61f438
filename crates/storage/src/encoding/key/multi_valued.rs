//! The entries of multi-valued indexes: one for each different element of a row's array.
//!
//! The row holds the array that `CAST(… AS … ARRAY)` has made, whose elements have the type of the part; an entry is as that of another
//! index over a row with the element in the array's place. A row without an array (NULL) has one entry, with NULL; one of an empty
//! array has none. Example: `KEY ((CAST(j AS UNSIGNED ARRAY)))`, index id 5, of the row 7 with `[3, 1, 3]` has the entries
//! `00000005 01 <1> 80000007` and `00000005 01 <3> 80000007`.
//!
//! SPATIAL indexes have entries of this kind for each cell of a row (`spatial`).
//!
//! Entries are locked and, in a unique index, claimed, as those of other indexes are.

use vaquita_types::json::Json;
use vaquita_types::limits::INDEX_ELEMENTS_MAX;
use vaquita_types::schema::TableDef;
use vaquita_types::{ColumnType, Error, Result, Value, errno, memory};

use super::{IndexCodec, spatial};

/// The part of a multi-valued index that holds elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Elements {
    position: usize,
    /// The type of an array's elements; `None` of a SPATIAL index.
    ty: Option<ColumnType>,
    index: String,
}

/// An entry, and whether its key alone is unique.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementEntry {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    pub unique: bool,
}

/// Bytes that an entry takes beside its key and value.
const ENTRY_BYTES: usize = size_of::<ElementEntry>() + 32;

impl Elements {
    pub(super) fn new(def: &TableDef, index: usize) -> Option<Elements> {
        let index = def.indexes.get(index)?;
        index.parts.iter().find_map(|part| {
            let position = def.position_of(part.column)?;
            let ty = def.columns.get(position)?.element_type()?.clone();
            Some(Elements { position, ty: Some(ty), index: index.name.clone() })
        })
    }

    /// The cells of the geometry at a position.
    pub(super) fn cells_at(position: usize, index: String) -> Elements {
        Elements { position, ty: None, index }
    }

    /// The elements of a row's array as values of the part. Error 3905 for too many.
    fn of(&self, row: &[Value]) -> Result<Vec<Value>> {
        match (row.get(self.position), &self.ty) {
            (Some(geometry), None) => spatial::cells(geometry),
            (Some(Value::Json(Json::Array(items))), Some(ty)) => {
                if items.len() > INDEX_ELEMENTS_MAX {
                    let above = items.len() - INDEX_ELEMENTS_MAX;
                    return Err(Error::new(&errno::ER_EXCEEDED_MV_KEYS_NUM, &[&self.index, &above]));
                }
                items.iter().map(|item| self.value(item, ty)).collect()
            }
            (Some(Value::Null), Some(_)) => Ok(vec![Value::Null]),
            _ => Err(Error::internal(format_args!("{}: no array to index", self.index))),
        }
    }

    fn value(&self, item: &Json, ty: &ColumnType) -> Result<Value> {
        Ok(match item {
            Json::Int(i) if ty.unsigned => Value::UInt(u64::try_from(*i).unwrap_or(0)),
            Json::UInt(u) if !ty.unsigned => Value::Int(i64::try_from(*u).unwrap_or(i64::MAX)),
            Json::Int(i) => Value::Int(*i),
            Json::UInt(u) => Value::UInt(*u),
            Json::Decimal(d) => Value::Decimal((**d).clone()),
            Json::String(text) => Value::bytes(text.as_bytes()),
            Json::Opaque(opaque) => Value::bytes(&opaque.1),
            Json::Date(d) => Value::Date(*d),
            Json::DateTime(d, _) => Value::DateTime(*d),
            Json::Time(t) => Value::Time(*t),
            Json::Null | Json::Bool(_) | Json::Double(_) | Json::Array(_) | Json::Object(_) => {
                return Err(Error::internal(format_args!("{}: an element of another type", self.index)));
            }
        })
    }
}

impl IndexCodec {
    /// A row has several entries that stand for it: elements of an array, or cells.
    pub fn is_multi_valued(&self) -> bool {
        self.elements.is_some()
    }

    /// All entries of a row in a multi-valued or SPATIAL index, by key.
    pub fn element_entries(&self, row: &[Value], row_id: u64) -> Result<Vec<ElementEntry>> {
        let Some(elements) = self.elements.as_deref() else { return Err(self.damaged(&[])) };
        let values = elements.of(row)?;
        let mut row = row.to_vec();
        let mut entries = Vec::with_capacity(values.len());
        let mut asked = 0;
        for value in values {
            if let Some(place) = row.get_mut(elements.position) {
                *place = value;
            }
            let (mut key, mut value) = (Vec::new(), Vec::new());
            let unique = self.encode_entry(&row, row_id, &mut key, &mut value)?;
            asked += key.len() + value.len() + ENTRY_BYTES;
            memory::ask(asked)?;
            entries.push(ElementEntry { key, value, unique });
        }
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        entries.dedup_by(|a, b| a.key == b.key);
        Ok(entries)
    }
}

/// The entries of `of` whose keys are not among `others`; both are sorted.
pub fn entries_without<'e>(of: &'e [ElementEntry], others: &[ElementEntry]) -> Vec<&'e ElementEntry> {
    of.iter().filter(|entry| others.binary_search_by(|other| other.key.cmp(&entry.key)).is_err()).collect()
}
