//! Keys: values in, bytes out that compare as the values do, and back where possible.
//!
//! A key is the index id (u32, big-endian) and then its parts, each self-delimiting, so that
//! comparing bytes compares column after column and a key's leading parts are a prefix of it:
//!
//! | part                     | bytes                                                            |
//! |--------------------------|------------------------------------------------------------------|
//! | NULL in a nullable part  | `00`                                                             |
//! | not NULL in a nullable part | `01`, then the value                                          |
//! | fixed forms              | see `form`                                                       |
//! | raw string               | bytes with `00` written as `00 FF`, then `00 01`                 |
//! | raw string, PAD SPACE    | trailing spaces cut; each space is `20 01` or `20 03`, as the first byte after the run of spaces is below or above a space; then `20 02` |
//! | collated string          | the sort key, escaped like a raw string                          |
//! | descending part          | all bytes of the above, NULL marker included, inverted           |
//!
//! The clustered index has the PRIMARY KEY's parts, or the hidden row id (u64, big-endian).
//! A secondary entry has its own parts and then those of the clustered key that it does not
//! contain (or the row id), so that the row is found and entries are unique; its value is empty.
//! Where a UNIQUE index holds no NULL, its own parts are the key and the rest is the value, so
//! that uniqueness and reads by a unique key take one point read. Entries are therefore read as
//! key and value together. A FULLTEXT index has an entry for each word of a row (`full_text`), a SPATIAL one for each cell (`spatial`).
//! Example: `KEY (b)` of a row (a INT PRIMARY KEY, b INT) = (7, NULL), index id 5, is
//! `00000005 00 80000007`; `UNIQUE (b)` of (7, 8) is `00000005 01 80000008` with value `80000007`.
//!
//! Ranges are bounded in *value* order; descending parts swap the bounds inside. `WHERE a = 3 AND
//! b > 5` on `KEY (a, b)` is `range(&[3], Bound::Excluded(&5), Bound::Unbounded)`. NULL sorts below
//! all values and an unbounded lower end includes it, so `b < 5` on a nullable column has the lower
//! bound `Excluded(&Value::Null)`; `b IS NULL` is an equality with NULL. A prefix part knows only
//! the beginning of values: its bounds become inclusive, and the executor checks the row again.
//! Bounds are values of the column's type.
//!
//! Reversible parts give the value back (`Part::restorable`); floats (−0 becomes 0), prefixes,
//! sort keys and PAD SPACE strings that may have had trailing spaces do not.

mod escape;
mod full_text;
mod multi_valued;
mod part;
mod spatial;

use std::ops::Bound;

use vaquita_types::schema::{IndexId, IndexKind, TableDef};
use vaquita_types::{Error, Result, Value};

use super::range::KeyRange;
use super::value_ref::ValueRef;
use crate::encoding::ids::INDEX_ID_BYTES;
use escape::invert;
pub use full_text::FullText;
use full_text::WORD;
use multi_valued::Elements;
pub use multi_valued::{ElementEntry, entries_without};
pub use part::Part;

/// Bytes of a hidden row id in a key.
pub const ROW_ID_BYTES: usize = 8;

/// The least key above every key that starts with `prefix`, in place; an index id is never
/// `FFFFFFFF`, so that one exists.
pub fn successor(prefix: &mut Vec<u8>) {
    while let Some(last) = prefix.pop() {
        if last != 0xFF {
            prefix.push(last + 1);
            return;
        }
    }
}

/// What is stored for an entry: of a secondary index, its value may hold the end of its parts;
/// of the clustered index, the value is the row.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    pub key: &'a [u8],
    pub value: &'a [u8],
}

/// Where a part of the clustered key stands in a secondary entry.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Source {
    part: usize,
    invert: bool,
}

/// Builds and reads the keys of one index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexCodec {
    pub id: IndexId,
    pub kind: IndexKind,
    /// The declared parts, then those of the clustered key that a secondary entry adds.
    parts: Vec<Part>,
    declared: usize,
    /// Secondary index of a table without PRIMARY KEY, and its clustered index: the row id is last.
    row_id: bool,
    /// Where a part is in every key, if that and its width are the same in all.
    places: Vec<Option<(usize, usize)>>,
    /// For each part of the clustered key, its place in `parts`.
    clustered: Vec<Source>,
    clustered_id: IndexId,
    /// Of a FULLTEXT index, whose first part is a word.
    full_text: Option<Box<FullText>>,
    /// Of a multi-valued or SPATIAL index.
    elements: Option<Box<Elements>>,
    /// `db.table: index`, for errors about damaged keys.
    name: String,
}

impl IndexCodec {
    /// The codec of `def.indexes[index]`.
    pub fn new(def: &TableDef, index: usize) -> Result<IndexCodec> {
        let damaged = || Error::internal(format_args!("definition of table {}.{} is inconsistent", def.database, def.name));
        let full_text = FullText::new(def, index)?.map(Box::new);
        let declared = match &full_text {
            Some(full_text) => vec![full_text.part()],
            None => IndexCodec::declared_parts(def, index)?,
        };
        let count = declared.len();
        let mut parts = declared;
        let mut clustered = Vec::new();
        if !def.hidden_rowid {
            for primary in IndexCodec::declared_parts(def, 0)? {
                let same = |p: &Part| {
                    p.position == primary.position
                        && p.form == primary.form
                        && p.prefix == primary.prefix
                        && p.nullable == primary.nullable
                };
                let part = match parts.iter().position(same) {
                    Some(part) => part,
                    None => {
                        parts.push(primary.clone());
                        parts.len() - 1
                    }
                };
                clustered.push(Source { part, invert: parts[part].descending != primary.descending });
            }
        }
        let index_def = def.indexes.get(index).ok_or_else(damaged)?;
        let places = fixed_places(&parts, if index_def.is_unique() { count } else { parts.len() });
        Ok(IndexCodec {
            places,
            id: index_def.id,
            kind: index_def.kind,
            parts,
            declared: count,
            row_id: def.hidden_rowid,
            clustered,
            clustered_id: def.indexes.first().ok_or_else(damaged)?.id,
            full_text,
            elements: Elements::of_cells(def, index).or_else(|| Elements::new(def, index)).map(Box::new),
            name: format!("{}.{}: {}", def.database, def.name, index_def.name),
        })
    }

    fn declared_parts(def: &TableDef, index: usize) -> Result<Vec<Part>> {
        let damaged = || Error::internal(format_args!("definition of table {}.{} is inconsistent", def.database, def.name));
        let index = def.indexes.get(index).ok_or_else(damaged)?;
        index
            .parts
            .iter()
            .map(|part| {
                let position = def.position_of(part.column).ok_or_else(damaged)?;
                let column = def.columns.get(position).ok_or_else(damaged)?;
                if index.kind == IndexKind::Spatial {
                    return Ok(spatial::part(position));
                }
                // MySQL makes every column of a PRIMARY KEY NOT NULL.
                let nullable = column.nullable && index.kind != IndexKind::Primary;
                Part::new(position, column.key_type(), nullable, part.prefix, part.descending)
            })
            .collect()
    }

    /// The declared parts.
    #[inline]
    pub fn parts(&self) -> &[Part] {
        &self.parts[..self.declared]
    }

    /// All parts of an entry: declared, then those added from the clustered key.
    pub fn entry_parts(&self) -> &[Part] {
        &self.parts
    }

    /// Positions of the columns that an entry is made of.
    pub fn columns(&self) -> impl Iterator<Item = usize> {
        let texts = self.full_text().map_or(&[][..], FullText::columns);
        self.parts.iter().map(|part| part.position).filter(|at| *at != WORD).chain(texts.iter().copied())
    }

    pub fn is_unique(&self) -> bool {
        matches!(self.kind, IndexKind::Primary | IndexKind::Unique)
    }

    #[inline]
    pub fn is_clustered(&self) -> bool {
        self.id == self.clustered_id
    }

    /// `db.table: index`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes the index id, with which every key of the index starts.
    #[inline]
    pub fn start(&self, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.id.0.to_be_bytes());
    }

    /// The key of leading parts: the whole clustered key, the key of a unique entry, or a prefix to scan.
    #[inline]
    pub fn encode_values(&self, values: &[Value], out: &mut Vec<u8>) -> Result<()> {
        self.start(out);
        if values.len() > self.parts.len() {
            return Err(Error::internal(format_args!("{}: {} values for {} parts", self.name, values.len(), self.parts.len())));
        }
        for (part, value) in self.parts.iter().zip(values) {
            part.encode(value, out)?;
        }
        Ok(())
    }

    /// As `encode_values` of one value, for point reads by a key of one column.
    #[inline]
    pub fn encode_value(&self, value: &Value, out: &mut Vec<u8>) -> Result<()> {
        self.encode_values(std::slice::from_ref(value), out)
    }

    /// The index id and the declared parts of a row; true if one is NULL, so that uniqueness does not hold.
    pub fn encode_declared(&self, row: &[Value], out: &mut Vec<u8>) -> Result<bool> {
        self.start(out);
        let mut null = false;
        for part in self.parts() {
            let value = self.value_of(part, row)?;
            null |= value.is_null();
            part.encode(value, out)?;
        }
        Ok(null)
    }

    /// The clustered key of a row; `row_id` is that of a table without PRIMARY KEY.
    #[inline]
    pub fn encode_clustered(&self, row: &[Value], row_id: u64, out: &mut Vec<u8>) -> Result<()> {
        self.encode_declared(row, out)?;
        if self.row_id {
            out.extend_from_slice(&row_id.to_be_bytes());
        }
        Ok(())
    }

    /// A row's entry in this secondary index, which is no FULLTEXT index (`each_entry`). True if the key alone is unique: the index is and no part is NULL.
    pub fn encode_entry(&self, row: &[Value], row_id: u64, key: &mut Vec<u8>, value: &mut Vec<u8>) -> Result<bool> {
        value.clear();
        let null = self.encode_declared(row, key)?;
        let unique = self.is_unique() && !null;
        self.encode_rest(row, row_id, if unique { value } else { key })?;
        Ok(unique)
    }

    /// Appends what an entry has of the clustered key behind its declared parts.
    #[inline]
    fn encode_rest(&self, row: &[Value], row_id: u64, rest: &mut Vec<u8>) -> Result<()> {
        for part in &self.parts[self.declared..] {
            part.encode(self.value_of(part, row)?, rest)?;
        }
        if self.row_id {
            rest.extend_from_slice(&row_id.to_be_bytes());
        }
        Ok(())
    }

    fn value_of<'v>(&self, part: &Part, row: &'v [Value]) -> Result<&'v Value> {
        row.get(part.position).ok_or_else(|| Error::internal(format_args!("{}: row of {} columns", self.name, row.len())))
    }

    /// The columns of any part are the same in both rows, so that the entries are.
    pub(crate) fn same_entry(&self, a: &[Value], b: &[Value]) -> bool {
        self.parts.iter().all(|p| a.get(p.position) == b.get(p.position))
    }

    /// The clustered key of the row that a secondary entry points to.
    pub fn clustered_key(&self, entry: Entry<'_>, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        if self.is_clustered() {
            out.extend_from_slice(entry.key);
            return Ok(());
        }
        out.extend_from_slice(&self.clustered_id.0.to_be_bytes());
        if self.row_id {
            let id = self.row_id(entry).ok_or_else(|| self.damaged(entry.key))?;
            out.extend_from_slice(&id.to_be_bytes());
            return Ok(());
        }
        for source in &self.clustered {
            let bytes = self.part_bytes(source.part, entry).ok_or_else(|| self.damaged(entry.key))?;
            let start = out.len();
            out.extend_from_slice(bytes);
            if source.invert {
                invert(&mut out[start..]);
            }
        }
        Ok(())
    }

    /// The hidden row id at the end of an entry.
    pub fn row_id(&self, entry: Entry<'_>) -> Option<u64> {
        let holder = if self.is_clustered() || entry.value.is_empty() || self.full_text.is_some() {
            entry.key.get(INDEX_ID_BYTES..)?
        } else {
            entry.value
        };
        let id = holder.last_chunk::<ROW_ID_BYTES>()?;
        self.row_id.then(|| u64::from_be_bytes(*id))
    }

    /// The bytes of part `n` of an entry.
    #[inline]
    pub(crate) fn part_bytes<'k>(&self, n: usize, entry: Entry<'k>) -> Option<&'k [u8]> {
        if let Some(Some((at, width))) = self.places.get(n) {
            return entry.key.get(*at..at + width);
        }
        let mut rest = entry.key.get(INDEX_ID_BYTES..)?;
        for (i, part) in self.parts.get(..=n)?.iter().enumerate() {
            if i == self.declared && rest.is_empty() && !self.is_clustered() {
                rest = entry.value;
            }
            let len = part.len_at(rest)?;
            if i == n {
                return rest.get(..len);
            }
            rest = rest.get(len..)?;
        }
        None
    }

    /// Where each of the declared parts ends in an entry's key.
    pub(crate) fn part_ends(&self, entry: Entry<'_>, ends: &mut [usize]) -> Result<()> {
        let mut at = INDEX_ID_BYTES;
        for (part, end) in self.parts().iter().zip(ends) {
            at += entry.key.get(at..).and_then(|rest| part.len_at(rest)).ok_or_else(|| self.damaged(entry.key))?;
            *end = at;
        }
        Ok(())
    }

    /// The bytes of an entry's key up to the end of its first `parts` declared parts.
    pub fn prefix<'k>(&self, entry: Entry<'k>, parts: usize) -> Result<&'k [u8]> {
        let mut ends = vec![INDEX_ID_BYTES; parts];
        self.part_ends(entry, &mut ends)?;
        let end = ends.last().copied().unwrap_or(INDEX_ID_BYTES);
        entry.key.get(..end).ok_or_else(|| self.damaged(entry.key))
    }

    /// The value of part `n` of an entry; `None` inside if the part is not restorable.
    pub fn part_value<'k>(&self, n: usize, entry: Entry<'k>) -> Result<Option<ValueRef<'k>>> {
        let Some(part) = self.parts.get(n).filter(|p| p.restorable) else { return Ok(None) };
        let bytes = self.part_bytes(n, entry).ok_or_else(|| self.damaged(entry.key))?;
        part.decode(bytes).map(Some).ok_or_else(|| self.damaged(entry.key))
    }

    /// The part of an entry that gives back column `position`, if one does: what a covering read uses.
    pub fn restorable_part(&self, position: usize) -> Option<usize> {
        self.parts.iter().position(|p| p.position == position && p.restorable)
    }

    /// The entries whose leading parts equal `equal` and whose next part lies between two bounds in
    /// value order (see the module's text on ranges).
    pub fn range(&self, equal: &[Value], lower: Bound<&Value>, upper: Bound<&Value>) -> Result<KeyRange> {
        let mut range = KeyRange::default();
        self.set_range(&mut range, equal, lower, upper)?;
        Ok(range)
    }

    /// As `range`, into the buffers of an existing one: for a scan that is repeated with other values.
    pub fn set_range(&self, range: &mut KeyRange, equal: &[Value], lower: Bound<&Value>, upper: Bound<&Value>) -> Result<()> {
        self.encode_values(equal, &mut range.lower)?;
        self.set_bounds(range, equal.len(), lower, upper)
    }

    /// As `range`, of the parts behind the first `parts`, for entries that begin with `prefix` (see `prefix`).
    pub fn range_behind(
        &self,
        (prefix, parts): (&[u8], usize),
        equal: &[Value],
        lower: Bound<&Value>,
        upper: Bound<&Value>,
    ) -> Result<KeyRange> {
        let mut range = KeyRange { lower: prefix.to_vec(), upper: Vec::new() };
        for (value, part) in equal.iter().zip(self.parts.iter().skip(parts)) {
            part.encode(value, &mut range.lower)?;
        }
        self.set_bounds(&mut range, parts + equal.len(), lower, upper)?;
        Ok(range)
    }

    /// Bounds of a part behind what `range` begins with.
    fn set_bounds(&self, range: &mut KeyRange, part: usize, lower: Bound<&Value>, upper: Bound<&Value>) -> Result<()> {
        range.upper.clear();
        range.upper.extend_from_slice(&range.lower);
        if matches!((lower, upper), (Bound::Unbounded, Bound::Unbounded)) {
            successor(&mut range.upper);
            return Ok(());
        }
        let part = self.parts.get(part);
        let part = part.ok_or_else(|| Error::internal(format_args!("{}: a bound beyond the last part", self.name)))?;
        let (first, last) = if part.descending { (upper, lower) } else { (lower, upper) };
        // A prefix part cannot tell a value from longer ones.
        let excludes = |v: &Value| part.prefix.is_none() || v.is_null();
        if let Bound::Included(v) | Bound::Excluded(v) = first {
            part.encode(v, &mut range.lower)?;
        }
        if let Bound::Excluded(v) = first
            && excludes(v)
        {
            successor(&mut range.lower);
        }
        if let Bound::Included(v) | Bound::Excluded(v) = last {
            part.encode(v, &mut range.upper)?;
        }
        if !matches!(last, Bound::Excluded(v) if excludes(v)) {
            successor(&mut range.upper);
        }
        Ok(())
    }

    /// All entries of the index.
    pub fn all(&self) -> KeyRange {
        index_range(self.id)
    }

    /// Every part is well formed and nothing follows.
    pub(crate) fn is_well_formed(&self, entry: Entry<'_>) -> bool {
        let mut len = INDEX_ID_BYTES + if self.row_id { ROW_ID_BYTES } else { 0 };
        for (n, part) in self.parts.iter().enumerate() {
            let Some(bytes) = self.part_bytes(n, entry) else { return false };
            if part.restorable && part.decode(bytes).is_none() {
                return false;
            }
            len += bytes.len();
        }
        let in_value = !self.is_clustered() && self.full_text.is_none();
        let stored = entry.key.len() + if in_value { entry.value.len() } else { 0 };
        let is_counted = self.full_text.is_none() || self.is_count(entry.value);
        entry.key.starts_with(&self.id.0.to_be_bytes()) && len == stored && is_counted
    }

    #[cold]
    pub(crate) fn damaged(&self, key: &[u8]) -> Error {
        let shown: String = key.iter().take(64).map(|b| format!("{b:02x}")).collect();
        Error::corrupt(format_args!("{} (key {shown})", self.name))
    }
}

/// The places of leading parts of one width each, among the first `in_key` parts.
fn fixed_places(parts: &[Part], in_key: usize) -> Vec<Option<(usize, usize)>> {
    let mut at = Some(INDEX_ID_BYTES);
    let place = |part: &Part| {
        let place = at.zip(part.width());
        at = place.map(|(at, width)| at + width);
        place
    };
    parts.iter().take(in_key).map(place).collect()
}

/// All keys of an index id.
pub fn index_range(id: IndexId) -> KeyRange {
    let lower = id.0.to_be_bytes().to_vec();
    let mut upper = lower.clone();
    successor(&mut upper);
    KeyRange { lower, upper }
}
