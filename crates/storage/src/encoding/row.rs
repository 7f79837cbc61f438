//! Rows: the value stored under a clustered key.
//!
//! | offset      | size          | what                                                             |
//! |-------------|---------------|------------------------------------------------------------------|
//! | 0           | 2             | layout version (low 15 bits), wide flag (bit 15), little-endian  |
//! | 2           | ceil(n/8)     | one bit per nullable column, set if NULL, lowest bit first       |
//! | …           | sum of widths | fixed forms in layout order; zero bytes for NULL                 |
//! | …           | 2 or 4 each   | where each variable column ends, counted from the variable bytes (u32 if wide) |
//! | …           | rest          | variable bytes                                                   |
//!
//! Columns of the primary key that their key gives back (`Part::restorable`) are not repeated.
//! Generated columns that are neither STORED nor indexed are not in the row. So column i is reached by adding up numbers that
//! `RowCodec` knows beforehand, without reading the others.
//!
//! Example: (id INT PRIMARY KEY, k INT NOT NULL, c VARCHAR(9), n INT) = (1, 5, 'ab', NULL) in
//! layout 1 is the value `0100 01 05000000 00000000 0200 6162`.
//!
//! A row is read by the layout that its version names: columns added since have
//! `ColumnDef::added_default`, dropped ones are skipped. A column whose type only became wider
//! (`instant_change`) reads as its old form, which is a value of the new type as well.
//!
//! Bytes from disk are never trusted: what does not fit is error 1712 that names the table.

use std::borrow::Cow;
use std::sync::Arc;

use vaquita_types::decimal::Decimal;
use vaquita_types::schema::{Layout, LayoutVersion, TableDef};
use vaquita_types::{Error, Result, Value};

use super::form::{Fixed, FixedKind, Form, mismatch, read_be, read_le};
use super::ids::INDEX_ID_BYTES;
use super::key::{Entry, IndexCodec, Part};
use super::value_ref::ValueRef;

const VERSION_BYTES: usize = 2;
const WIDE: u16 = 0x8000;
/// The version has 15 bits; a table that used them all must be copied to start again.
pub const LAYOUT_VERSION_MAX: u16 = 0x7FFF;

/// Where a column of the table is found in rows of one layout.
#[derive(Clone, Debug, PartialEq)]
enum Slot {
    /// In the key: part number, and offset and width in the key if both are the same in all keys. `number` if its bytes there
    /// are those of a number, ascending and without a marker.
    Key {
        part: usize,
        fixed: Option<(usize, usize)>,
        number: Option<Fixed>,
    },
    Fixed {
        form: Form,
        offset: usize,
        width: usize,
        null_bit: Option<u16>,
    },
    Variable {
        n: usize,
        json: bool,
        null_bit: Option<u16>,
    },
    /// Not in this layout: what it reads as, JSON already in its binary form.
    Missing(Missing),
}

#[derive(Clone, Debug, PartialEq)]
enum Missing {
    Value(Value),
    Json(Vec<u8>),
}

/// How rows of one layout are arranged.
#[derive(Clone, Debug, PartialEq)]
struct LayoutCodec {
    version: LayoutVersion,
    /// By position in `TableDef::columns`.
    slots: Vec<Slot>,
    /// Where the fixed part ends: header, bitmap and fixed widths.
    fixed_end: usize,
    variable_count: usize,
    /// For each variable column its position in the table (none if dropped since) and whether it is JSON.
    variables: Vec<Option<(usize, bool)>>,
}

/// Encodes and decodes the rows of one table definition; built once per `TableDef`.
#[derive(Clone, Debug)]
pub struct RowCodec {
    /// Ascending by version; the last one is written.
    layouts: Vec<LayoutCodec>,
    /// In `TableDef::indexes` order, the clustered one first.
    indexes: Vec<IndexCodec>,
    /// `db.table`, for errors.
    name: Arc<str>,
}

impl RowCodec {
    pub fn new(def: &TableDef) -> Result<RowCodec> {
        let indexes = (0..def.indexes.len()).map(|i| IndexCodec::new(def, i)).collect::<Result<Vec<_>>>()?;
        let name: Arc<str> = format!("{}.{}", def.database, def.name).into();
        let clustered = indexes.first().ok_or_else(|| Error::internal(format_args!("table {name} has no clustered index")))?;
        let mut layouts: Vec<_> = def.layouts.iter().map(|l| LayoutCodec::new(def, l, clustered)).collect();
        layouts.sort_by_key(|l| l.version);
        if layouts.is_empty() {
            return Err(Error::internal(format_args!("table {name} has no layout")));
        }
        Ok(RowCodec { layouts, indexes, name })
    }

    pub fn clustered(&self) -> &IndexCodec {
        &self.indexes[0]
    }

    /// In the order of `TableDef::indexes`.
    #[inline]
    pub fn indexes(&self) -> &[IndexCodec] {
        &self.indexes
    }

    /// `db.table`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes the value of a row (in the order of `TableDef::columns`) in the current layout; `out` is cleared.
    pub fn encode_row(&self, row: &[Value], out: &mut Vec<u8>) -> Result<()> {
        let layout = &self.layouts[self.layouts.len() - 1];
        if row.len() != layout.slots.len() {
            return Err(Error::internal(format_args!(
                "row of {} columns for table {} of {}",
                row.len(),
                self.name,
                layout.slots.len()
            )));
        }
        let long = row.iter().any(|v| matches!(v, Value::Bytes(b) if b.len() > u16::MAX as usize));
        if long || !layout.encode(row, false, out)? {
            layout.encode(row, true, out)?;
        }
        Ok(())
    }

    /// A row as it is stored. Checks what makes every fixed column reachable.
    #[inline]
    pub fn view<'a>(&'a self, key: &'a [u8], value: &'a [u8]) -> Result<RowView<'a>> {
        let header = match value.first_chunk::<VERSION_BYTES>() {
            Some(bytes) => u16::from_le_bytes(*bytes),
            None => return Err(self.damaged(key, "short row")),
        };
        let version = LayoutVersion(header & !WIDE);
        let current = &self.layouts[self.layouts.len() - 1];
        let layout = if current.version == version { current } else { self.old_layout(version, key)? };
        let wide = header & WIDE != 0;
        if value.len() < layout.fixed_end + layout.variable_count * offset_bytes(wide) {
            return Err(self.damaged(key, "short row"));
        }
        Ok(RowView { codec: self, layout, key, value, wide })
    }

    #[cold]
    fn old_layout(&self, version: LayoutVersion, key: &[u8]) -> Result<&LayoutCodec> {
        match self.layouts.binary_search_by_key(&version, |l| l.version) {
            Ok(i) => Ok(&self.layouts[i]),
            Err(_) => Err(self.damaged(key, "unknown layout")),
        }
    }

    /// All columns, in the order of `TableDef::columns`.
    pub fn decode_row(&self, key: &[u8], value: &[u8]) -> Result<Vec<Value>> {
        let view = self.view(key, value)?;
        (0..view.layout.slots.len()).map(|i| view.value(i)).collect()
    }

    /// The columns in `wanted`, ascending; NULL for the others. `out` is empty, or has the same columns of another row.
    pub(crate) fn decode_columns(&self, key: &[u8], value: &[u8], wanted: &[usize], out: &mut Vec<Value>) -> Result<()> {
        let view = self.view(key, value)?;
        if out.len() != view.layout.slots.len() {
            out.clear();
            out.resize(view.layout.slots.len(), Value::Null);
        }
        for &position in wanted {
            if let Some(slot) = out.get_mut(position) {
                view.value_into(position, slot)?;
            }
        }
        Ok(())
    }

    #[cold]
    fn damaged(&self, key: &[u8], what: &str) -> Error {
        let shown: String = key.iter().take(64).map(|b| format!("{b:02x}")).collect();
        Error::corrupt(format_args!("{} ({what}, key {shown})", self.name))
    }
}

#[inline]
fn offset_bytes(wide: bool) -> usize {
    if wide { 4 } else { 2 }
}

impl LayoutCodec {
    fn new(def: &TableDef, layout: &Layout, clustered: &IndexCodec) -> LayoutCodec {
        let mut slots: Vec<Slot> = def.columns.iter().map(|c| Slot::Missing(Missing::new(&c.added_default))).collect();
        for (position, slot) in slots.iter_mut().enumerate() {
            if let Some(part) = clustered.restorable_part(position) {
                let number = clustered.entry_parts().get(part).and_then(Part::plain_number);
                *slot = Slot::Key { part, fixed: fixed_place(clustered, part), number };
            }
        }
        let stored = layout.columns.iter().filter(|c| {
            let position = def.position_of(c.id);
            !position.is_some_and(|p| matches!(slots[p], Slot::Key { .. }))
        });
        let stored: Vec<_> = stored.collect();
        let bitmap_len = stored.iter().filter(|c| c.nullable).count().div_ceil(8);
        let mut fixed_end = VERSION_BYTES + bitmap_len;
        let mut variables = Vec::new();
        let mut nullable_count = 0;
        for column in stored {
            let null_bit = column.nullable.then(|| {
                nullable_count += 1;
                nullable_count - 1
            });
            let form = Form::of(&column.ty);
            let slot = match form.row_width() {
                Some(width) => {
                    fixed_end += width;
                    Slot::Fixed { form, offset: fixed_end - width, width, null_bit }
                }
                None => {
                    let json = form == Form::Json;
                    variables.push(def.position_of(column.id).map(|p| (p, json)));
                    Slot::Variable { n: variables.len() - 1, json, null_bit }
                }
            };
            // A dropped column takes room in old rows and is not reachable.
            if let Some(position) = def.position_of(column.id) {
                slots[position] = slot;
            }
        }
        LayoutCodec { version: layout.version, slots, fixed_end, variable_count: variables.len(), variables }
    }

    /// Writes the row; false if its variable bytes need wide offsets.
    fn encode(&self, row: &[Value], wide: bool, out: &mut Vec<u8>) -> Result<bool> {
        let width = offset_bytes(wide);
        let variable_start = self.fixed_end + self.variable_count * width;
        out.clear();
        // Once for the whole row: a vector that grows with each column is copied each time.
        out.reserve(variable_start + row.iter().map(bytes_of).sum::<usize>());
        out.resize(variable_start, 0);
        out[..VERSION_BYTES].copy_from_slice(&(self.version.0 | if wide { WIDE } else { 0 }).to_le_bytes());
        for (slot, value) in self.slots.iter().zip(row) {
            match slot {
                Slot::Fixed { null_bit, .. } | Slot::Variable { null_bit, .. } if value.is_null() => set_null(out, *null_bit)?,
                Slot::Fixed { form, offset, width, .. } => form.write_fixed(value, &mut out[*offset..offset + width])?,
                Slot::Key { .. } | Slot::Variable { .. } | Slot::Missing(_) => {}
            }
        }
        for (n, variable) in self.variables.iter().enumerate() {
            if let Some((position, json)) = *variable {
                match &row[position] {
                    Value::Null => {}
                    Value::Bytes(b) if !json => out.extend_from_slice(b),
                    Value::Json(j) if json => j.encode(out),
                    other => return Err(mismatch(if json { Form::Json } else { Form::Bytes }, other)),
                }
            }
            let end = out.len() - variable_start;
            if !wide && end > u16::MAX as usize {
                return Ok(false);
            }
            let at = self.fixed_end + n * width;
            out[at..at + width].copy_from_slice(&(end as u32).to_le_bytes()[..width]);
        }
        Ok(true)
    }
}

/// What a text takes behind the offsets; documents are encoded by themselves.
fn bytes_of(value: &Value) -> usize {
    match value {
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    }
}

impl Missing {
    fn new(default: &Value) -> Missing {
        match default {
            Value::Json(j) => {
                let mut bytes = Vec::new();
                j.encode(&mut bytes);
                Missing::Json(bytes)
            }
            other => Missing::Value(other.clone()),
        }
    }

    fn value_ref(&self) -> ValueRef<'_> {
        match self {
            Missing::Json(bytes) => ValueRef::Json(bytes),
            Missing::Value(value) => ValueRef::of(value),
        }
    }
}

/// Offset and width of a part of a key if they are the same in all keys.
fn fixed_place(clustered: &IndexCodec, part: usize) -> Option<(usize, usize)> {
    let mut offset = INDEX_ID_BYTES;
    for before in clustered.entry_parts().get(..part)? {
        offset += before.width()?;
    }
    Some((offset, clustered.entry_parts().get(part)?.width()?))
}

#[inline]
fn set_null(row: &mut [u8], null_bit: Option<u16>) -> Result<()> {
    let Some(bit) = null_bit else { return Err(Error::internal("NULL given to a NOT NULL column")) };
    row[VERSION_BYTES + bit as usize / 8] |= 1 << (bit % 8);
    Ok(())
}

/// One stored row: its columns are read one by one, only as far as asked.
#[derive(Clone, Copy)]
pub struct RowView<'a> {
    codec: &'a RowCodec,
    layout: &'a LayoutCodec,
    key: &'a [u8],
    value: &'a [u8],
    wide: bool,
}

impl<'a> RowView<'a> {
    /// The column at `position` of `TableDef::columns`.
    #[inline]
    pub fn column(&self, position: usize) -> Result<ValueRef<'a>> {
        self.try_column(position).ok_or_else(|| self.codec.damaged(self.key, "damaged column"))
    }

    /// The column at `position`, owned.
    pub fn value(&self, position: usize) -> Result<Value> {
        self.column(position)?.to_value().map_err(|_| self.codec.damaged(self.key, "damaged JSON"))
    }

    /// As `value`, into a slot that has the value of another row: what that has allocated is used again if it fits.
    #[inline]
    pub fn value_into(&self, position: usize, out: &mut Value) -> Result<()> {
        match self.layout.slots.get(position) {
            Some(Slot::Fixed { form: Form::Fixed(fixed), offset, width, null_bit }) if !self.null(*null_bit) => {
                let bits = self.value.get(*offset..offset + width).map(read_le);
                match (bits, fixed.kind) {
                    (Some(bits), FixedKind::Signed) => *out = Value::Int(fixed.sign_extend(bits)),
                    (Some(bits), FixedKind::Decimal(scale)) => {
                        *out = Value::Decimal(Decimal::new(fixed.sign_extend(bits), scale))
                    }
                    _ => *out = self.value(position)?,
                }
            }
            Some(Slot::Variable { n, json: false, null_bit }) if !self.null(*null_bit) => {
                let bytes = self.variable(*n).ok_or_else(|| self.codec.damaged(self.key, "damaged column"))?;
                match out {
                    Value::Bytes(old) if old.len() == bytes.len() => old.copy_from_slice(bytes),
                    _ => *out = Value::Bytes(bytes.into()),
                }
            }
            Some(Slot::Key { fixed: Some((offset, width)), number: Some(fixed), .. }) if fixed.kind == FixedKind::Signed => {
                match self.key.get(*offset..offset + width) {
                    Some(bytes) => *out = Value::Int(fixed.sign_extend(fixed.unordered(read_be(bytes)))),
                    None => *out = self.value(position)?,
                }
            }
            _ => *out = self.value(position)?,
        }
        Ok(())
    }

    /// The column as a number in the order of its values (`Fixed::rank`), with what kind of number it is; the rank is `None`
    /// for NULL. `None` for columns that are not stored as such in this row.
    #[inline]
    pub fn rank(&self, position: usize) -> Option<(FixedKind, Option<u64>)> {
        match self.layout.slots.get(position)? {
            Slot::Fixed { form: Form::Fixed(fixed), null_bit, .. } if self.null(*null_bit) => Some((fixed.kind, None)),
            Slot::Fixed { form: Form::Fixed(fixed), offset, width, .. } => {
                Some((fixed.kind, Some(fixed.rank(read_le(self.value.get(*offset..offset + width)?)))))
            }
            Slot::Key { fixed: Some((offset, width)), number: Some(fixed), .. } => {
                Some((fixed.kind, Some(fixed.rank(fixed.unordered(read_be(self.key.get(*offset..offset + width)?))))))
            }
            _ => None,
        }
    }

    /// The bytes of a column of variable length that is not JSON, which are `None` for NULL; `None` for other columns.
    #[inline]
    pub fn text(&self, position: usize) -> Option<Option<&'a [u8]>> {
        match self.layout.slots.get(position)? {
            Slot::Variable { json: false, null_bit, .. } if self.null(*null_bit) => Some(None),
            Slot::Variable { n, json: false, .. } => self.variable(*n).map(Some),
            _ => None,
        }
    }

    pub fn is_null(&self, position: usize) -> Result<bool> {
        Ok(match self.layout.slots.get(position) {
            Some(Slot::Fixed { null_bit, .. } | Slot::Variable { null_bit, .. }) => self.null(*null_bit),
            Some(Slot::Missing(Missing::Value(v))) => v.is_null(),
            Some(_) => false,
            None => return Err(self.codec.damaged(self.key, "no such column")),
        })
    }

    pub fn key(&self) -> &'a [u8] {
        self.key
    }

    pub fn columns(&self) -> usize {
        self.layout.slots.len()
    }

    #[inline]
    fn try_column(&self, position: usize) -> Option<ValueRef<'a>> {
        match self.layout.slots.get(position)? {
            Slot::Fixed { null_bit, .. } | Slot::Variable { null_bit, .. } if self.null(*null_bit) => Some(ValueRef::Null),
            Slot::Fixed { form, offset, width, .. } => form.read_fixed(self.value.get(*offset..offset + width)?),
            Slot::Variable { n, json, .. } => {
                let bytes = self.variable(*n)?;
                Some(if *json { ValueRef::Json(bytes) } else { ValueRef::Bytes(Cow::Borrowed(bytes)) })
            }
            Slot::Key { part, fixed, .. } => {
                let bytes = match fixed {
                    Some((offset, width)) => self.key.get(*offset..offset + width)?,
                    None => self.codec.clustered().part_bytes(*part, Entry { key: self.key, value: &[] })?,
                };
                self.codec.clustered().entry_parts().get(*part)?.decode(bytes)
            }
            Slot::Missing(missing) => Some(missing.value_ref()),
        }
    }

    #[inline]
    fn null(&self, null_bit: Option<u16>) -> bool {
        null_bit.is_some_and(|bit| self.value.get(VERSION_BYTES + bit as usize / 8).is_some_and(|b| b >> (bit % 8) & 1 != 0))
    }

    /// The bytes of variable column `n`.
    #[inline]
    fn variable(&self, n: usize) -> Option<&'a [u8]> {
        let start = if n == 0 { 0 } else { self.variable_end(n - 1)? };
        let end = self.variable_end(n)?;
        let base = self.layout.fixed_end + self.layout.variable_count * offset_bytes(self.wide);
        self.value.get(base..)?.get(start..end)
    }

    #[inline]
    fn variable_end(&self, n: usize) -> Option<usize> {
        if self.wide {
            let at = self.layout.fixed_end + 4 * n;
            Some(u32::from_le_bytes(*self.value.get(at..)?.first_chunk()?) as usize)
        } else {
            let at = self.layout.fixed_end + 2 * n;
            Some(u16::from_le_bytes(*self.value.get(at..)?.first_chunk()?) as usize)
        }
    }
}
