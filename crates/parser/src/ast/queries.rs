//! The queries inside of an expression, in the order of the text.

use vaquita_types::stack;

use super::*;

impl Expr {
    /// Calls `f` for each query that stands in the expression, but not for those inside of these.
    pub fn queries<'e>(&'e self, f: &mut dyn FnMut(&'e Query)) {
        stack::deeper(|| self.queries_in_parts(f));
    }

    fn queries_in_parts<'e>(&'e self, f: &mut dyn FnMut(&'e Query)) {
        let mut all = |exprs: &[&'e Expr]| exprs.iter().for_each(|expr| expr.queries(f));
        match self {
            Expr::Literal(_)
            | Expr::Param(_)
            | Expr::Column(_)
            | Expr::UserVar(_)
            | Expr::SysVar(_)
            | Expr::Values(_)
            | Expr::DefaultOf(_)
            | Expr::Default => {}
            Expr::Assign { value: expr, .. }
            | Expr::Unary { expr, .. }
            | Expr::IsNull { expr, .. }
            | Expr::IsTruth { expr, .. }
            | Expr::Cast { expr, .. }
            | Expr::AtTimeZone { expr, .. }
            | Expr::ConvertUsing { expr, .. }
            | Expr::Collate { expr, .. }
            | Expr::Extract { expr, .. }
            | Expr::GetFormat { format: expr, .. }
            | Expr::WeightString { expr, .. }
            | Expr::MatchAgainst { against: expr, .. } => expr.queries(f),
            Expr::Binary { left, right, .. }
            | Expr::Regexp { expr: left, pattern: right, .. }
            | Expr::MemberOf { value: left, array: right }
            | Expr::DateArith { date: left, value: right, .. }
            | Expr::TimestampAdd { amount: left, date: right, .. }
            | Expr::TimestampDiff { from: left, to: right, .. } => all(&[left, right]),
            Expr::Between { expr, low, high, .. } => all(&[expr, low, high]),
            Expr::InList { expr, list, .. } => {
                expr.queries(f);
                list.iter().for_each(|item| item.queries(f));
            }
            Expr::Like { expr, pattern, escape, .. } => {
                all(&[expr, pattern]);
                escape.iter().for_each(|escape| escape.queries(f));
            }
            Expr::InSubquery { expr, query, .. } | Expr::Quantified { left: expr, query, .. } => {
                expr.queries(f);
                f(query);
            }
            Expr::Exists(query) | Expr::Subquery(query) => f(query),
            Expr::Row(items) | Expr::Char { args: items, .. } => items.iter().for_each(|item| item.queries(f)),
            Expr::Func(call) => call.args.iter().for_each(|arg| arg.queries(f)),
            Expr::Case { operand, whens, otherwise } => {
                operand.iter().for_each(|operand| operand.queries(f));
                whens.iter().flat_map(|(when, then)| [when, then]).for_each(|part| part.queries(f));
                otherwise.iter().for_each(|otherwise| otherwise.queries(f));
            }
            Expr::Aggregate(call) => call.queries(f),
            Expr::Window(call) => call.queries(f),
            Expr::Trim { remove, expr, .. } => {
                remove.iter().for_each(|remove| remove.queries(f));
                expr.queries(f);
            }
            Expr::JsonValue(call) => call.doc.queries(f),
        }
    }
}

impl AggregateCall {
    fn queries<'e>(&'e self, f: &mut dyn FnMut(&'e Query)) {
        self.args.iter().chain(self.order_by.iter().map(|item| &item.expr)).for_each(|expr| expr.queries(f));
    }
}

impl WindowCall {
    fn queries<'e>(&'e self, f: &mut dyn FnMut(&'e Query)) {
        match &self.func {
            WindowFunc::Aggregate(call) => call.queries(f),
            WindowFunc::Lead(call) | WindowFunc::Lag(call) => call.expr.queries(f),
            WindowFunc::FirstValue { expr, .. } | WindowFunc::LastValue { expr, .. } | WindowFunc::NthValue { expr, .. } => {
                expr.queries(f);
            }
            WindowFunc::RowNumber
            | WindowFunc::Rank
            | WindowFunc::DenseRank
            | WindowFunc::PercentRank
            | WindowFunc::CumeDist
            | WindowFunc::Ntile(_) => {}
        }
        if let WindowOver::Spec(spec) = &self.over {
            spec.queries(f);
        }
    }
}

impl WindowSpec {
    pub fn queries<'e>(&'e self, f: &mut dyn FnMut(&'e Query)) {
        self.partition_by.iter().chain(self.order_by.iter().map(|item| &item.expr)).for_each(|expr| expr.queries(f));
    }
}
