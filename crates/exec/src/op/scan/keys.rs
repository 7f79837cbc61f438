//! From the bounds of a plan to keys: evaluated, in the columns' own types, TIMESTAMPs in UTC.

use std::ops::Bound;

use vaquita_plan::bounds::{KeyValue, to_key_value};
use vaquita_plan::expr::Expr;
use vaquita_plan::node::{AccessPath, KeyExpr, Range, Scan};
use vaquita_storage::{IndexCodec, KeyRange, Table};
use vaquita_types::geometry::{Geometry, GeometryKind};
use vaquita_types::temporal::TimeZone;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

use super::Frame;

/// That of the index, of which this is a key of an entry.
pub fn codec_of_entry<'t>(table: &'t Table, key: &[u8]) -> Result<&'t IndexCodec> {
    let is_of = |codec: &&IndexCodec| key.starts_with(&codec.id.0.to_be_bytes());
    table.codec.indexes().iter().find(is_of).ok_or_else(|| Error::internal("an entry of no index"))
}

/// Adds what a scan that is no point read reads, in its order.
pub fn scan_ranges(scan: &Scan, table: &Table, frame: &Frame<'_>, out: &mut Vec<KeyRange>) -> Result<()> {
    match &scan.path {
        AccessPath::Full { .. } => out.push(table.codec.clustered().all()),
        AccessPath::Range { index, ranges, reverse, .. } => {
            let codec = index_codec(table, *index)?;
            for range in ranges {
                if codec.is_spatial() {
                    window_ranges(codec, table, range, frame, out)?;
                    continue;
                }
                out.extend(key_range(codec, table, range, frame)?);
            }
            sort_ranges(out, *reverse);
        }
        AccessPath::Union { parts } => {
            for (index, ranges) in parts {
                let codec = index_codec(table, *index)?;
                for range in ranges {
                    out.extend(key_range(codec, table, range, frame)?);
                }
            }
            sort_ranges(out, false);
        }
        AccessPath::Point { .. } | AccessPath::FullText { .. } | AccessPath::System => {
            return Err(Error::internal("a scan without ranges"));
        }
    }
    Ok(())
}

pub fn index_codec(table: &Table, index: usize) -> Result<&IndexCodec> {
    table.codec.indexes().get(index).ok_or_else(|| Error::internal("index out of range"))
}

/// What meets the geometry of a plan's range. One of which conditions may say something else of rows beyond it, as an error, leads to all
/// of them.
fn window_ranges(codec: &IndexCodec, table: &Table, range: &Range, frame: &Frame<'_>, out: &mut Vec<KeyRange>) -> Result<()> {
    let (Some(KeyExpr { expr, .. }), Some(part)) = (range.equal.first(), codec.parts().first()) else {
        return Err(Error::internal("a window without its geometry"));
    };
    let column = &table.def.columns[part.position];
    let window = match &*expr.eval(&frame.cx())? {
        Value::Null => return Ok(()),
        Value::Bytes(bytes) => Geometry::decode(bytes).ok(),
        _ => None,
    };
    let window = window.filter(|geometry| Some(geometry.srid) == column.ty.srid());
    let bounds = window.and_then(|geometry| match geometry.shape.find_point(|p| !p.is_finite()) {
        Some(_) => None,
        None => geometry.shape.bounds(),
    });
    match bounds {
        Some(bounds) => out.extend(codec.window_ranges(bounds, column.ty.geometry_kind() == GeometryKind::Point)),
        None => out.push(codec.all()),
    }
    Ok(())
}

/// A plan's range as values: what its first parts are, and the bounds of the next one.
pub struct Within {
    pub equal: Vec<Value>,
    pub low: Bound<Value>,
    pub high: Bound<Value>,
}

/// The key bytes of a plan's range; `None` if nothing can be in it.
fn key_range(codec: &IndexCodec, table: &Table, range: &Range, frame: &Frame<'_>) -> Result<Option<KeyRange>> {
    let Some(Within { equal, low, high }) = within_groups(codec, table, (0, range), frame)? else { return Ok(None) };
    codec.range(&equal, low.as_ref(), high.as_ref()).map(Some)
}

/// A range of the parts behind the first `parts`; `None` if nothing can be in it.
pub fn within_groups(
    codec: &IndexCodec,
    table: &Table,
    (parts, range): (usize, &Range),
    frame: &Frame<'_>,
) -> Result<Option<Within>> {
    let parts = codec.entry_parts().get(parts..).unwrap_or_default();
    let mut equal = Vec::with_capacity(range.equal.len());
    for (KeyExpr { expr, null_safe }, part) in range.equal.iter().zip(parts) {
        let column = &table.def.columns[part.position];
        let value = expr.eval(&frame.cx())?;
        // A column that is NOT NULL has no key for NULL: then nothing is found, as with `=`.
        if value.is_null() && *null_safe && column.nullable {
            equal.push(Value::Null);
            continue;
        }
        match key_value(&value, column.key_type(), frame) {
            KeyValue::Exact(value) => equal.push(value),
            _ => return Ok(None),
        }
    }
    let bounded = parts.get(range.equal.len());
    let ty = bounded.map(|part| table.def.columns[part.position].key_type());
    // Both bounds may be made of one value: if that is none, it warns once.
    let Some(low) = bound(&range.low, ty, true, frame)? else { return Ok(None) };
    let Some(high) = bound(&range.high, ty, false, frame)? else { return Ok(None) };
    // `col < x` is never true for NULL, which sorts first where it can be.
    let nullable = bounded.is_some_and(|part| table.def.columns[part.position].nullable);
    let skips_null = nullable && (range.not_null || !matches!(high, Bound::Unbounded));
    let low = if skips_null && matches!(low, Bound::Unbounded) { Bound::Excluded(Value::Null) } else { low };
    Ok(Some(Within { equal, low, high }))
}

/// A bound in the column's own type; `None` if nothing can be beyond it.
fn bound(given: &Option<(Expr, bool)>, ty: Option<&ColumnType>, low: bool, frame: &Frame<'_>) -> Result<Option<Bound<Value>>> {
    let (Some((expr, inclusive)), Some(ty)) = (given, ty) else { return Ok(Some(Bound::Unbounded)) };
    let cx = frame.cx();
    let value = expr.eval(&cx)?;
    if ty.kind == TypeKind::Timestamp {
        return Ok(timestamp_bound(to_key_value(&value, ty), *inclusive, low, frame.statement.session.time_zone()));
    }
    Ok(match to_key_value(&value, ty) {
        KeyValue::Exact(value) if *inclusive => Some(Bound::Included(value)),
        KeyValue::Exact(value) => Some(Bound::Excluded(value)),
        KeyValue::Gap { below, above } => (if low { above } else { below }).map(Bound::Included),
        KeyValue::Null | KeyValue::Never => None,
    })
}

/// As `to_key_value`, of a value as the session sees it: keys have TIMESTAMPs in UTC, a repeated local time the earlier one.
pub(super) fn key_value(value: &Value, ty: &ColumnType, frame: &Frame<'_>) -> KeyValue {
    let found = to_key_value(value, ty);
    let (KeyValue::Exact(Value::DateTime(local)), TypeKind::Timestamp) = (&found, ty.kind) else { return found };
    match frame.statement.session.time_zone().timestamp_to_utc(*local) {
        Some(utc) => KeyValue::Exact(Value::DateTime(utc.value)),
        None => KeyValue::Never,
    }
}

/// A bound of a TIMESTAMP, in UTC. What lies between it and the local time is left to the scan's filter, which always has the comparison:
/// a bound is missing or wider where the zone's clock was changed, and where the time is outside of the type's range.
fn timestamp_bound(value: KeyValue, inclusive: bool, low: bool, zone: &TimeZone) -> Option<Bound<Value>> {
    let (value, inclusive) = match value {
        KeyValue::Exact(value) => (value, inclusive),
        KeyValue::Gap { below, above } => ((if low { above } else { below })?, true),
        KeyValue::Null | KeyValue::Never => return None,
    };
    let Value::DateTime(local) = value else { return Some(Bound::Unbounded) };
    Some(match zone.timestamp_to_utc(local) {
        None => Bound::Unbounded,
        // Later times have the same local time.
        Some(utc) if utc.repeated && !low => Bound::Unbounded,
        Some(utc) if inclusive || utc.in_gap || utc.repeated => Bound::Included(Value::DateTime(utc.value)),
        Some(utc) => Bound::Excluded(Value::DateTime(utc.value)),
    })
}

/// Orders the ranges as they are read and drops repeated ones, so that no row is seen twice.
fn sort_ranges(ranges: &mut Vec<KeyRange>, reverse: bool) {
    if ranges.len() < 2 {
        return;
    }
    ranges.sort_by(|a, b| a.lower.cmp(&b.lower).then_with(|| a.upper.cmp(&b.upper)));
    let mut merged: Vec<KeyRange> = Vec::with_capacity(ranges.len());
    for range in ranges.drain(..) {
        match merged.last_mut() {
            Some(last) if last.upper.is_empty() || range.lower < last.upper => {
                if !last.upper.is_empty() && (range.upper.is_empty() || range.upper > last.upper) {
                    last.upper = range.upper;
                }
            }
            _ => merged.push(range),
        }
    }
    if reverse {
        merged.reverse();
    }
    *ranges = merged;
}
