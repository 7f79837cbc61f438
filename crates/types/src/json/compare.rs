//! The order of JSON values (manual, "Comparison and Ordering of JSON Values").
//!
//! Types first, from low to high: NULL, numbers, strings, objects, arrays, booleans,
//! dates, times, datetimes, other SQL types, BIT, BLOB; then values. Numbers compare by
//! value across their kinds, strings by bytes, arrays element by element, objects by size and
//! then by members.

use std::cmp::Ordering;

use super::Json;
use crate::datatype::TypeKind;
use crate::decimal::Decimal;

impl Json {
    fn rank(&self) -> u8 {
        match self {
            Json::Null => 0,
            Json::Int(_) | Json::UInt(_) | Json::Double(_) | Json::Decimal(_) => 1,
            Json::String(_) => 2,
            Json::Object(_) => 3,
            Json::Array(_) => 4,
            Json::Bool(_) => 5,
            Json::Date(_) => 6,
            Json::Time(_) => 7,
            Json::DateTime(..) => 8,
            Json::Opaque(o) => match o.0 {
                TypeKind::Bit => 10,
                TypeKind::Year | TypeKind::Geometry => 9,
                _ => 11,
            },
        }
    }

    fn to_decimal(&self) -> Decimal {
        match self {
            Json::Int(i) => Decimal::from(*i),
            Json::UInt(u) => Decimal::from(*u),
            Json::Decimal(d) => Decimal::clone(d),
            Json::Double(d) => Decimal::from_f64(*d).0,
            _ => Decimal::ZERO,
        }
    }
}

fn double_against(d: f64, other: &Json) -> Ordering {
    let approximate = match other {
        Json::Int(i) => *i as f64,
        Json::UInt(u) => *u as f64,
        Json::Double(e) => *e,
        Json::Decimal(dec) => dec.to_f64(),
        _ => 0.0,
    };
    match d.partial_cmp(&approximate) {
        // The conversion may have rounded: look at the integer again.
        Some(Ordering::Equal) => match other {
            Json::Int(i) => (d as i128).cmp(&(*i as i128)),
            Json::UInt(u) => (d as i128).cmp(&(*u as i128)),
            Json::Decimal(dec) => Decimal::from_f64(d).0.cmp(dec),
            _ => Ordering::Equal,
        },
        Some(order) => order,
        None => Ordering::Equal,
    }
}

impl Ord for Json {
    fn cmp(&self, other: &Json) -> Ordering {
        match (self, other) {
            (Json::Int(a), Json::Int(b)) => a.cmp(b),
            (Json::UInt(a), Json::UInt(b)) => a.cmp(b),
            (Json::Int(a), Json::UInt(b)) => (*a as i128).cmp(&(*b as i128)),
            (Json::UInt(a), Json::Int(b)) => (*a as i128).cmp(&(*b as i128)),
            (Json::String(a), Json::String(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Json::Bool(a), Json::Bool(b)) => a.cmp(b),
            (Json::Array(a), Json::Array(b)) => a.cmp(b),
            (Json::Object(a), Json::Object(b)) => {
                let members = || a.iter().zip(b.iter()).map(|((k, v), (l, w))| super::key_order(k, l).then_with(|| v.cmp(w)));
                a.len().cmp(&b.len()).then_with(|| members().find(|o| *o != Ordering::Equal).unwrap_or(Ordering::Equal))
            }
            (Json::Date(a), Json::Date(b)) => a.cmp(b),
            (Json::Time(a), Json::Time(b)) => a.cmp(b),
            (Json::DateTime(a, _), Json::DateTime(b, _)) => a.cmp(b),
            (Json::Opaque(a), Json::Opaque(b)) => self.rank().cmp(&other.rank()).then_with(|| a.cmp(b)),
            _ if self.rank() != other.rank() => self.rank().cmp(&other.rank()),
            (Json::Double(d), _) => double_against(*d, other),
            (_, Json::Double(d)) => double_against(*d, self).reverse(),
            // What is left are numbers of which one is a decimal, and two NULLs.
            _ => self.to_decimal().cmp(&other.to_decimal()),
        }
    }
}

impl PartialOrd for Json {
    fn partial_cmp(&self, other: &Json) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Json) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Json {}
