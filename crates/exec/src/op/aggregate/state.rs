//! What an aggregate function knows of a group's rows so far.
//!
//! Exact sums are kept in 128 bits at the scale of the values and become decimals only when they overflow or
//! end. `finish` does not consume, so that a window can look at a growing frame.

use std::cmp::Ordering;

use vaquita_plan::env::Env;
use vaquita_plan::eval::coerce;
use vaquita_plan::eval::compare::order_of;
use vaquita_plan::eval::json::sql_to_json;
use vaquita_plan::node::AggregateKind;
use vaquita_plan::text;
use vaquita_plan::typing::{NumberClass, number_class};
use vaquita_types::decimal::Decimal;
use vaquita_types::errno::{
    ER_GIS_DIFFERENT_SRIDS_AGGREGATION, ER_GIS_INVALID_DATA, ER_INVALID_BITWISE_AGGREGATE_OPERANDS_SIZE,
    ER_INVALID_BITWISE_OPERANDS_SIZE, ER_JSON_DOCUMENT_NULL_KEY, ER_JSON_DOCUMENT_TOO_DEEP, ER_SRS_NOT_FOUND,
};
use vaquita_types::geometry::{Geometry, Shape, srs};
use vaquita_types::json::{JSON_DEPTH_MAX, Json, JsonObject};
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value};

use super::concat::Concat;
use crate::context::heap_bytes;

pub enum State {
    Count(u64),
    /// SUM and AVG of exact numbers: `sum` / 10^scale.
    Exact {
        sum: i128,
        scale: u8,
        count: u64,
    },
    Wide {
        sum: Decimal,
        count: u64,
    },
    Double {
        sum: f64,
        count: u64,
    },
    /// MIN, MAX, ANY_VALUE; `None` before the first row that counts.
    One(Option<Value>),
    Bits(u64),
    /// BIT_AND, BIT_OR and BIT_XOR of binary strings of one length; `None` before the first.
    BitString(Option<Box<[u8]>>),
    /// Welford's method.
    Variance {
        count: u64,
        mean: f64,
        squares: f64,
    },
    Concat(Box<Concat>),
    Array(Vec<Json>),
    Object(Vec<(Box<str>, Json)>),
    /// The SRID of the first geometry, and all of them.
    Geometries(Option<u32>, Vec<Shape>),
}

/// Bytes that a JSON value in a growing result is counted with, beside its text.
const JSON_BYTES: usize = 64;

/// Bytes of the longest binary string that is aggregated bit by bit.
const BIT_STRING_BYTES_MAX: usize = 511;

/// The operation of a bit aggregate on one byte.
pub(super) fn bit_operation(kind: AggregateKind, a: u8, b: u8) -> u8 {
    match kind {
        AggregateKind::BitAnd => a & b,
        AggregateKind::BitOr => a | b,
        _ => a ^ b,
    }
}

/// Error 3513 for a string of another length, 3514 for one that is too long. Returns the bytes that it keeps more than before.
fn combine_bits(bits: &mut Option<Box<[u8]>>, kind: AggregateKind, value: &Value) -> Result<usize> {
    let Value::Bytes(value) = value else { return Err(Error::internal("bits of what is no binary string")) };
    if value.len() > BIT_STRING_BYTES_MAX {
        return Err(Error::new(&ER_INVALID_BITWISE_AGGREGATE_OPERANDS_SIZE, &[]));
    }
    match bits {
        None => {
            *bits = Some(value.to_vec().into());
            Ok(value.len())
        }
        Some(bits) if bits.len() == value.len() => {
            bits.iter_mut().zip(value.iter()).for_each(|(a, b)| *a = bit_operation(kind, *a, *b));
            Ok(0)
        }
        Some(_) => Err(Error::new(&ER_INVALID_BITWISE_OPERANDS_SIZE, &[])),
    }
}

/// The result of no rows: as many bytes as the longest value has.
fn no_bits(kind: AggregateKind, ty: &ColumnType) -> Vec<u8> {
    let byte = if kind == AggregateKind::BitAnd { 0xFF } else { 0 };
    vec![byte; (ty.length as usize).saturating_sub(1).min(BIT_STRING_BYTES_MAX)]
}

impl State {
    pub fn new(kind: AggregateKind, ty: &ColumnType) -> State {
        use AggregateKind as K;
        match kind {
            K::CountStar | K::Count | K::Grouping => State::Count(0),
            K::Sum | K::Avg if ty.kind == TypeKind::Double => State::Double { sum: 0.0, count: 0 },
            K::Sum | K::Avg => State::Exact { sum: 0, scale: 0, count: 0 },
            K::Min | K::Max | K::AnyValue => State::One(None),
            K::BitAnd | K::BitOr | K::BitXor if ty.is_bytes() => State::BitString(None),
            K::BitAnd => State::Bits(u64::MAX),
            K::BitOr | K::BitXor => State::Bits(0),
            K::StdDevPop | K::StdDevSamp | K::VarPop | K::VarSamp => State::Variance { count: 0, mean: 0.0, squares: 0.0 },
            K::GroupConcat => State::Concat(Box::default()),
            K::JsonArrayAgg => State::Array(Vec::new()),
            K::JsonObjectAgg => State::Object(Vec::new()),
            K::StCollect => State::Geometries(None, Vec::new()),
        }
    }

    /// Takes in a column that is counted, or an integer or a decimal for a sum that needs no other scale; false if it is not that.
    #[inline]
    pub fn add_number(&mut self, value: &Value) -> bool {
        let (sum, count, mantissa) = match (self, value) {
            (State::Count(n), value) => {
                *n += u64::from(!value.is_null());
                return true;
            }
            (State::Exact { sum, scale: 0, count }, Value::Int(n)) => (sum, count, *n),
            (State::Exact { sum, scale, count }, Value::Decimal(d)) => match d.small() {
                Some((mantissa, places)) if places == *scale => (sum, count, mantissa),
                _ => return false,
            },
            _ => return false,
        };
        let Some(total) = sum.checked_add(i128::from(mantissa)) else { return false };
        *sum = total;
        *count += 1;
        true
    }

    /// Takes in a row's argument; returns the bytes that are kept of it.
    pub fn add(
        &mut self,
        kind: AggregateKind,
        value: &Value,
        from: &ColumnType,
        ty: &ColumnType,
        env: &dyn Env,
    ) -> Result<usize> {
        if value.is_null() && !matches!(kind, AggregateKind::JsonArrayAgg | AggregateKind::CountStar | AggregateKind::AnyValue) {
            return Ok(0);
        }
        match self {
            State::Count(n) => *n += 1,
            State::Exact { .. } | State::Wide { .. } => self.add_exact(value, from, env)?,
            State::Double { sum, count } => {
                *sum += coerce::to_f64(value, from, env)?;
                *count += 1;
            }
            State::One(best) => return Ok(keep_best(kind, best, value, from, ty)),
            State::Bits(bits) => {
                let value = coerce::to_bits(value, from, env)?;
                match kind {
                    AggregateKind::BitAnd => *bits &= value,
                    AggregateKind::BitOr => *bits |= value,
                    _ => *bits ^= value,
                }
            }
            State::BitString(bits) => return combine_bits(bits, kind, value),
            State::Variance { count, mean, squares } => {
                let value = coerce::to_f64(value, from, env)?;
                *count += 1;
                let from_mean = value - *mean;
                *mean += from_mean / *count as f64;
                *squares += from_mean * (value - *mean);
            }
            State::Array(items) => {
                items.push(inner_document(sql_to_json(value, from, env)?)?);
                return Ok(JSON_BYTES + heap_bytes(value));
            }
            State::Geometries(srid, shapes) => return collect(srid, shapes, value),
            State::Concat(_) | State::Object(_) => return Err(Error::internal("an aggregate of several arguments")),
        }
        Ok(0)
    }

    /// A member of JSON_OBJECTAGG.
    pub fn add_member(
        &mut self,
        name: &Value,
        name_ty: &ColumnType,
        value: &Value,
        ty: &ColumnType,
        env: &dyn Env,
    ) -> Result<usize> {
        let State::Object(members) = self else { return Err(Error::internal("a member outside of an object")) };
        if name.is_null() {
            return Err(Error::new(&ER_JSON_DOCUMENT_NULL_KEY, &[]));
        }
        let name = text::to_utf8(&coerce::text_of(name, name_ty), name_ty.collation);
        let bytes = JSON_BYTES + name.len() + heap_bytes(value);
        members.push((name.into(), inner_document(sql_to_json(value, ty, env)?)?));
        Ok(bytes)
    }

    fn add_exact(&mut self, value: &Value, from: &ColumnType, env: &dyn Env) -> Result<()> {
        let small = match value {
            Value::Int(i) if number_class(from) == NumberClass::Int => Some((*i, 0)),
            Value::Decimal(d) => d.small(),
            _ => None,
        };
        if let (State::Exact { sum, scale, count }, Some((mantissa, places))) = (&mut *self, small)
            && let Some((total, kept)) = add_small(*sum, *scale, i128::from(mantissa), places)
        {
            (*sum, *scale) = (total, kept);
            *count += 1;
            return Ok(());
        }
        let (sum, count) = self.exact().unwrap_or((Decimal::ZERO, 0));
        let value = match value {
            Value::Decimal(d) => d.clone(),
            other => coerce::to_decimal(other, from, env)?,
        };
        let sum = sum.add(&value).unwrap_or_else(|| Decimal::max_of(65, 0));
        *self = State::Wide { sum, count: count + 1 };
        Ok(())
    }

    /// Adds another exact sum to this one.
    pub fn add_sum(&mut self, other: &State) {
        if let (State::Exact { sum, scale, count }, State::Exact { sum: more, scale: places, count: rows }) = (&mut *self, other)
            && let Some((total, kept)) = add_small(*sum, *scale, *more, *places)
        {
            (*sum, *scale) = (total, kept);
            *count += rows;
            return;
        }
        let (Some((a, rows)), Some((b, more))) = (self.exact(), other.exact()) else { return };
        let sum = a.add(&b).unwrap_or_else(|| Decimal::max_of(65, 0));
        *self = State::Wide { sum, count: rows + more };
    }

    fn exact(&self) -> Option<(Decimal, u64)> {
        match self {
            State::Exact { sum, scale, count } => Some((exact_decimal(*sum, *scale), *count)),
            State::Wide { sum, count } => Some((sum.clone(), *count)),
            _ => None,
        }
    }

    /// Bytes of the value that it holds.
    pub fn heap_bytes(&self) -> usize {
        match self {
            State::One(Some(value)) => heap_bytes(value),
            State::BitString(Some(bits)) => bits.len(),
            _ => 0,
        }
    }

    pub fn finish(&self, kind: AggregateKind, ty: &ColumnType) -> Value {
        match self {
            State::Count(n) => Value::Int(*n as i64),
            State::Exact { count: 0, .. } | State::Wide { count: 0, .. } | State::Double { count: 0, .. } => Value::Null,
            State::Exact { sum, scale, count } => decimal_result(exact_decimal(*sum, *scale), *count, kind, ty),
            State::Wide { sum, count } => decimal_result(sum.clone(), *count, kind, ty),
            State::Double { sum, count } => Value::Float(if kind == AggregateKind::Avg { *sum / *count as f64 } else { *sum }),
            State::One(value) => value.clone().unwrap_or_default(),
            State::Bits(bits) => Value::UInt(*bits),
            State::BitString(Some(bits)) => Value::bytes(bits),
            State::BitString(None) => Value::from(no_bits(kind, ty)),
            State::Variance { count, squares, .. } => variance(kind, *count, *squares),
            State::Concat(concat) => concat.finish(),
            State::Array(items) if items.is_empty() => Value::Null,
            State::Array(items) => Value::Json(Json::array(items.clone())),
            State::Object(members) if members.is_empty() => Value::Null,
            State::Object(members) => Value::Json(Json::object(JsonObject::from_members(members.clone()))),
            State::Geometries(None, _) => Value::Null,
            State::Geometries(Some(srid), shapes) => Value::from(Geometry::new(*srid, collected(shapes)).encode()),
        }
    }
}

/// ST_Collect takes in a geometry (errors 3037, 3548, and 4034 for another SRID); returns the bytes that are kept of it.
fn collect(srid: &mut Option<u32>, shapes: &mut Vec<Shape>, value: &Value) -> Result<usize> {
    let function = "st_collect";
    let decoded = match value {
        Value::Bytes(bytes) => Geometry::decode(bytes).ok(),
        _ => None,
    };
    let geometry = decoded.ok_or_else(|| Error::new(&ER_GIS_INVALID_DATA, &[&function]))?;
    if srs::find(geometry.srid).is_none() {
        return Err(Error::new(&ER_SRS_NOT_FOUND, &[&geometry.srid]));
    }
    let first = *srid.get_or_insert(geometry.srid);
    if first != geometry.srid {
        return Err(Error::new(&ER_GIS_DIFFERENT_SRIDS_AGGREGATION, &[&function, &first, &geometry.srid]));
    }
    shapes.push(geometry.shape);
    // Short lists take more than their bytes.
    Ok(size_of::<Shape>() + heap_bytes(value) * 2)
}

/// Points, lines and polygons alone become the multiple type.
fn collected(shapes: &[Shape]) -> Shape {
    fn all<T>(shapes: &[Shape], part: impl Fn(&Shape) -> Option<T>) -> Option<Vec<T>> {
        shapes.iter().map(part).collect()
    }
    let points = all(shapes, |shape| if let Shape::Point(p) = shape { Some(*p) } else { None });
    let lines = || all(shapes, |shape| if let Shape::LineString(line) = shape { Some(line.clone()) } else { None });
    let polygons = || all(shapes, |shape| if let Shape::Polygon(rings) = shape { Some(rings.clone()) } else { None });
    let multiple = points.map(Shape::MultiPoint);
    let multiple = multiple.or_else(|| lines().map(Shape::MultiLineString)).or_else(|| polygons().map(Shape::MultiPolygon));
    multiple.unwrap_or_else(|| Shape::Collection(shapes.to_vec()))
}

/// A document that becomes part of another; error 3157 if that is then nested too deeply.
fn inner_document(json: Json) -> Result<Json> {
    match json.measured(usize::MAX, JSON_DEPTH_MAX - 1) {
        Some(_) => Ok(json),
        None => Err(Error::new(&ER_JSON_DOCUMENT_TOO_DEEP, &[])),
    }
}

/// `value` becomes the group's if it is better; returns the bytes that it takes.
fn keep_best(kind: AggregateKind, best: &mut Option<Value>, value: &Value, from: &ColumnType, ty: &ColumnType) -> usize {
    let text;
    // MIN and MAX of ENUM and SET go by their labels.
    let value = if matches!(from.kind, TypeKind::Enum | TypeKind::Set) && from.kind != ty.kind && !value.is_null() {
        text = Value::bytes(coerce::text_of(value, from));
        &text
    } else {
        value
    };
    let better = match best {
        None => true,
        Some(old) => match kind {
            AggregateKind::Min => order_of(value, old, ty) == Ordering::Less,
            AggregateKind::Max => order_of(value, old, ty) == Ordering::Greater,
            _ => false,
        },
    };
    if !better {
        return 0;
    }
    let before = best.as_ref().map_or(0, heap_bytes);
    *best = Some(value.clone());
    heap_bytes(value).saturating_sub(before)
}

/// The sum and its scale; `None` beyond 128 bits.
fn add_small(sum: i128, scale: u8, mantissa: i128, places: u8) -> Option<(i128, u8)> {
    if scale == places {
        return Some((sum.checked_add(mantissa)?, scale));
    }
    let raise = |n: i128, by: u8| n.checked_mul(10i128.checked_pow(u32::from(by))?);
    if places < scale {
        return Some((sum.checked_add(raise(mantissa, scale - places)?)?, scale));
    }
    Some((raise(sum, places - scale)?.checked_add(mantissa)?, places))
}

fn exact_decimal(sum: i128, scale: u8) -> Decimal {
    if let Ok(small) = i64::try_from(sum) {
        return Decimal::new(small, scale);
    }
    let mut digits = sum.unsigned_abs().to_string();
    while digits.len() <= usize::from(scale) {
        digits.insert(0, '0');
    }
    digits.insert(digits.len() - usize::from(scale), '.');
    if sum < 0 {
        digits.insert(0, '-');
    }
    Decimal::parse(digits.as_bytes()).value
}

fn decimal_result(sum: Decimal, count: u64, kind: AggregateKind, ty: &ColumnType) -> Value {
    let exact = if kind == AggregateKind::Avg {
        let more = u32::from(ty.decimals.saturating_sub(sum.scale()));
        sum.div(&Decimal::from_u64(count), more).unwrap_or(Decimal::ZERO)
    } else {
        sum
    };
    Value::Decimal(exact.rescale(ty.decimals).unwrap_or(exact))
}

fn variance(kind: AggregateKind, count: u64, squares: f64) -> Value {
    use AggregateKind as K;
    let sample = matches!(kind, K::StdDevSamp | K::VarSamp);
    if count <= u64::from(sample) {
        return Value::Null;
    }
    let variance = squares / (count - u64::from(sample)) as f64;
    Value::Float(if matches!(kind, K::StdDevPop | K::StdDevSamp) { variance.sqrt() } else { variance })
}
