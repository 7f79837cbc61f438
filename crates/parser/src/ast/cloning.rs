//! `Clone` of the three enums through which every cycle of the tree goes: written out, because a derived one takes the stack for granted.

use vaquita_types::stack;

use super::{Expr, QueryBody, TableRef};

impl Clone for Expr {
    fn clone(&self) -> Expr {
        stack::deeper(|| self.cloned())
    }
}

impl Clone for QueryBody {
    fn clone(&self) -> QueryBody {
        use QueryBody as B;
        stack::deeper(|| match self {
            B::Select(select) => B::Select(select.clone()),
            B::SetOp { op, all, left, right } => B::SetOp { op: *op, all: *all, left: left.clone(), right: right.clone() },
            B::Values(rows) => B::Values(rows.clone()),
            B::Table(name) => B::Table(name.clone()),
            B::Nested(query) => B::Nested(query.clone()),
        })
    }
}

impl Clone for TableRef {
    fn clone(&self) -> TableRef {
        use TableRef as T;
        stack::deeper(|| match self {
            T::Table(factor) => T::Table(factor.clone()),
            T::Derived { query, lateral, alias, columns } => {
                T::Derived { query: query.clone(), lateral: *lateral, alias: alias.clone(), columns: columns.clone() }
            }
            T::JsonTable(table) => T::JsonTable(table.clone()),
            T::Join(join) => T::Join(join.clone()),
            T::List(items) => T::List(items.clone()),
        })
    }
}

impl Expr {
    fn cloned(&self) -> Expr {
        use Expr as E;
        match self {
            E::Literal(x) => E::Literal(x.clone()),
            E::Param(x) => E::Param(*x),
            E::Column(x) => E::Column(x.clone()),
            E::UserVar(x) => E::UserVar(x.clone()),
            E::SysVar(x) => E::SysVar(x.clone()),
            E::Assign { var, value } => E::Assign { var: var.clone(), value: value.clone() },
            E::Unary { op, expr } => E::Unary { op: *op, expr: expr.clone() },
            E::Binary { op, left, right } => E::Binary { op: *op, left: left.clone(), right: right.clone() },
            E::IsNull { expr, negated } => E::IsNull { expr: expr.clone(), negated: *negated },
            E::IsTruth { expr, value, negated } => E::IsTruth { expr: expr.clone(), value: *value, negated: *negated },
            E::Between { expr, low, high, negated } => {
                E::Between { expr: expr.clone(), low: low.clone(), high: high.clone(), negated: *negated }
            }
            E::InList { expr, list, negated } => E::InList { expr: expr.clone(), list: list.clone(), negated: *negated },
            E::InSubquery { expr, query, negated } => {
                E::InSubquery { expr: expr.clone(), query: query.clone(), negated: *negated }
            }
            E::Like { expr, pattern, escape, negated } => {
                E::Like { expr: expr.clone(), pattern: pattern.clone(), escape: escape.clone(), negated: *negated }
            }
            E::Regexp { expr, pattern, negated } => E::Regexp { expr: expr.clone(), pattern: pattern.clone(), negated: *negated },
            E::MemberOf { value, array } => E::MemberOf { value: value.clone(), array: array.clone() },
            E::Quantified { op, left, quantifier, query } => {
                E::Quantified { op: *op, left: left.clone(), quantifier: *quantifier, query: query.clone() }
            }
            E::Exists(x) => E::Exists(x.clone()),
            E::Subquery(x) => E::Subquery(x.clone()),
            E::Row(x) => E::Row(x.clone()),
            E::Case { operand, whens, otherwise } => {
                E::Case { operand: operand.clone(), whens: whens.clone(), otherwise: otherwise.clone() }
            }
            E::Cast { expr, ty, array } => E::Cast { expr: expr.clone(), ty: ty.clone(), array: *array },
            E::AtTimeZone { expr, zone, interval } => {
                E::AtTimeZone { expr: expr.clone(), zone: zone.clone(), interval: *interval }
            }
            E::ConvertUsing { expr, charset } => E::ConvertUsing { expr: expr.clone(), charset: charset.clone() },
            E::Collate { expr, collation } => E::Collate { expr: expr.clone(), collation: collation.clone() },
            E::DateArith { date, value, unit, subtract } => {
                E::DateArith { date: date.clone(), value: value.clone(), unit: *unit, subtract: *subtract }
            }
            E::Func(x) => E::Func(x.clone()),
            E::Aggregate(x) => E::Aggregate(x.clone()),
            E::Window(x) => E::Window(x.clone()),
            E::Extract { unit, expr } => E::Extract { unit: *unit, expr: expr.clone() },
            E::Trim { side, remove, expr } => E::Trim { side: *side, remove: remove.clone(), expr: expr.clone() },
            E::TimestampAdd { unit, amount, date } => E::TimestampAdd { unit: *unit, amount: amount.clone(), date: date.clone() },
            E::TimestampDiff { unit, from, to } => E::TimestampDiff { unit: *unit, from: from.clone(), to: to.clone() },
            E::GetFormat { kind, format } => E::GetFormat { kind: kind.clone(), format: format.clone() },
            E::Char { args, charset } => E::Char { args: args.clone(), charset: charset.clone() },
            E::WeightString { expr, form } => E::WeightString { expr: expr.clone(), form: *form },
            E::MatchAgainst { columns, against, mode } => {
                E::MatchAgainst { columns: columns.clone(), against: against.clone(), mode: *mode }
            }
            E::Values(x) => E::Values(x.clone()),
            E::DefaultOf(x) => E::DefaultOf(x.clone()),
            E::Default => E::Default,
            E::JsonValue(x) => E::JsonValue(x.clone()),
        }
    }
}
