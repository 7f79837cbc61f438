//! Bounds of a date or time from what is said of its day or year: of `DATE(c) = x` follows that c is not before DAY BEGIN(x) and not behind
//! DAY END(x), so that an index on c finds rows. They may be wider than the condition, which stays; of what is no day or year they leave out
//! nothing, and of NULL they are NULL. SQL cannot name them.

use vaquita_types::temporal::{Date, DateTime, MICROS_PER_DAY};
use vaquita_types::{ColumnType, Result, TypeKind, Value};

use super::args::def;
use super::{FuncCall, FuncDef, FuncType};
use crate::env::EvalCx;
use crate::expr::{Expr, ExprKind};
use crate::typing;

/// A bound as a function of what names the period.
pub struct Bound {
    def: FuncDef,
    of: fn(&Value) -> DateTime,
}

/// The first and the last moment, or what lies beyond.
pub struct Period {
    pub begin: Bound,
    pub end: Bound,
}

const NAMES: [&str; 4] = ["DAY BEGIN", "DAY END", "YEAR BEGIN", "YEAR END"];

pub static DAY: Period = Period {
    begin: Bound { def: def(NAMES[0], 1, 1, |_| of_type(), |c, cx| value_of(c, cx, begin_of_day)), of: begin_of_day },
    end: Bound { def: def(NAMES[1], 1, 1, |_| of_type(), |c, cx| value_of(c, cx, end_of_day)), of: end_of_day },
};
pub static YEAR: Period = Period {
    begin: Bound { def: def(NAMES[2], 1, 1, |_| of_type(), |c, cx| value_of(c, cx, begin_of_year)), of: begin_of_year },
    end: Bound { def: def(NAMES[3], 1, 1, |_| of_type(), |c, cx| value_of(c, cx, end_of_year)), of: end_of_year },
};

/// The call was made here.
pub fn is_bound(def: &FuncDef) -> bool {
    NAMES.contains(&def.name)
}

impl Bound {
    /// That of the period which `period` names.
    pub fn of(&'static self, period: &Expr) -> Option<Expr> {
        match &period.kind {
            ExprKind::Literal(Value::Null) => Some(period.clone()),
            ExprKind::Literal(value) => Some(Expr::literal(Value::DateTime((self.of)(value)), ty())),
            _ => typing::call(&self.def, vec![period.clone()]).ok(),
        }
    }
}

fn ty() -> ColumnType {
    ColumnType::temporal(TypeKind::DateTime, 6)
}

fn of_type() -> Result<FuncType> {
    FuncType::number(ty(), true)
}

fn value_of(call: &FuncCall<'_>, cx: &EvalCx<'_>, of: fn(&Value) -> DateTime) -> Result<Value> {
    let value = call.value(0, cx)?;
    Ok(if value.is_null() { Value::Null } else { Value::DateTime(of(&value)) })
}

fn last() -> DateTime {
    DateTime::new(Date::MAX, 23, 59, 59, 999_999).unwrap_or(DateTime::ZERO)
}

fn moment(value: &Value) -> Option<DateTime> {
    match value {
        Value::Date(date) => Some(date.to_datetime()),
        Value::DateTime(moment) => Some(*moment),
        _ => None,
    }
}

/// What has a time of day is the day of nothing, and lies between two days.
fn begin_of_day(value: &Value) -> DateTime {
    moment(value).unwrap_or(DateTime::ZERO)
}

fn end_of_day(value: &Value) -> DateTime {
    moment(value)
        .filter(|moment| !moment.date().has_zero_part())
        .and_then(|day| day.add_micros(MICROS_PER_DAY))
        .unwrap_or_else(last)
}

fn year(value: &Value) -> Option<i128> {
    match value {
        Value::Int(year) => Some(i128::from(*year)),
        Value::UInt(year) => Some(i128::from(*year)),
        _ => None,
    }
}

/// The last day of the year before: '2024-00-00' is of 2024, too, and next to that day in each type that a column may have.
fn begin_of_year(value: &Value) -> DateTime {
    match year(value) {
        Some(year) if year > 9999 => last(),
        Some(year) => {
            let before = u32::try_from(year - 1).ok().and_then(|year| Date::new(year, 12, 31));
            before.map_or(DateTime::ZERO, Date::to_datetime)
        }
        None => DateTime::ZERO,
    }
}

fn end_of_year(value: &Value) -> DateTime {
    let next = year(value).and_then(|year| u32::try_from(year.max(0) + 1).ok());
    next.filter(|year| *year <= 9999).and_then(|year| Date::new(year, 1, 1)).map_or_else(last, Date::to_datetime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_the_whole_period() {
        let day = |year, month, day| Value::Date(Date::new(year, month, day).unwrap());
        let text = |moment: DateTime| format!("{moment}");
        assert_eq!(text(end_of_day(&day(2024, 2, 29))), "2024-03-01 00:00:00");
        assert_eq!(end_of_day(&day(9999, 12, 31)), last());
        assert_eq!(end_of_day(&Value::Date(Date::ZERO)), last());
        assert_eq!(end_of_day(&Value::from("2024-02-29")), last());
        assert_eq!(begin_of_day(&Value::from("2024-02-29")), DateTime::ZERO);
        assert_eq!(text(begin_of_year(&Value::Int(2024))), "2023-12-31 00:00:00");
        assert_eq!(text(end_of_year(&Value::Int(2024))), "2025-01-01 00:00:00");
        assert_eq!(text(end_of_year(&Value::Int(0))), "0001-01-01 00:00:00");
        assert_eq!(begin_of_year(&Value::Int(-3)), DateTime::ZERO);
        assert_eq!(end_of_year(&Value::Int(9999)), last());
        assert_eq!(begin_of_year(&Value::UInt(u64::MAX)), last());
    }
}
