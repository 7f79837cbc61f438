//! Printing AND, OR, XOR, NOT and the predicates, with MySQL's rewriting of truth values.

use super::{Printer, operator};
use crate::ast::*;

/// Whether `expr` is a truth value by its form.
fn is_truth_value(expr: &Expr) -> bool {
    use BinaryOp::{And, Eq, Ge, Gt, Le, Lt, Ne, NullSafeEq, Or, SoundsLike, Xor};
    match expr {
        Expr::Binary { op, .. } => {
            matches!(op, And | Or | Xor | Eq | NullSafeEq | Ne | Lt | Le | Gt | Ge | SoundsLike)
        }
        Expr::Unary { op, .. } => *op == UnaryOp::Not,
        Expr::Literal(Literal::True | Literal::False) => true,
        Expr::Func(call) => {
            matches!(call.name.as_str(), "isnull" | "regexp_like" | "json_contains" | "json_valid")
        }
        Expr::IsNull { .. }
        | Expr::IsTruth { .. }
        | Expr::Between { .. }
        | Expr::InList { .. }
        | Expr::InSubquery { .. }
        | Expr::Like { .. }
        | Expr::Regexp { .. }
        | Expr::MemberOf { .. }
        | Expr::Quantified { .. }
        | Expr::Exists(_) => true,
        _ => false,
    }
}

/// The operands of a chain of the same AND or OR.
fn operands<'e>(op: BinaryOp, expr: &'e Expr, into: &mut Vec<&'e Expr>) {
    match expr {
        Expr::Binary { op: inner, left, right } if *inner == op => {
            operands(op, left, into);
            operands(op, right, into);
        }
        _ => into.push(expr),
    }
}

fn inverse(op: BinaryOp) -> Option<BinaryOp> {
    Some(match op {
        BinaryOp::Eq => BinaryOp::Ne,
        BinaryOp::Ne => BinaryOp::Eq,
        BinaryOp::Lt => BinaryOp::Ge,
        BinaryOp::Ge => BinaryOp::Lt,
        BinaryOp::Gt => BinaryOp::Le,
        BinaryOp::Le => BinaryOp::Gt,
        _ => return None,
    })
}

impl Printer<'_> {
    /// AND, OR, XOR.
    pub(super) fn connective(&mut self, op: BinaryOp, left: &Expr, right: &Expr) {
        let mut list = Vec::new();
        if op == BinaryOp::Xor {
            list = vec![left, right];
        } else {
            operands(op, left, &mut list);
            operands(op, right, &mut list);
        }
        self.joined(op, &list, Self::truth);
    }

    fn joined(&mut self, op: BinaryOp, list: &[&Expr], print: fn(&mut Self, &Expr)) {
        self.put("(");
        for (i, operand) in list.iter().enumerate() {
            if i > 0 {
                self.put(" ");
                self.put(operator(op));
                self.put(" ");
            }
            print(self, operand);
        }
        self.put(")");
    }

    /// `expr` as a truth value.
    fn truth(&mut self, expr: &Expr) {
        if is_truth_value(expr) {
            return self.expr(expr);
        }
        self.put("(0 <> ");
        self.expr(expr);
        self.put(")");
    }

    /// `NOT expr`
    pub(super) fn negated(&mut self, expr: &Expr) {
        match expr {
            Expr::Binary { op: op @ (BinaryOp::And | BinaryOp::Or), left, right } => {
                let mut list = Vec::new();
                operands(*op, left, &mut list);
                operands(*op, right, &mut list);
                let other = if *op == BinaryOp::And { BinaryOp::Or } else { BinaryOp::And };
                self.joined(other, &list, Self::negated);
            }
            Expr::Binary { op: BinaryOp::Xor, left, right } => {
                self.put("(");
                self.negated(left);
                self.put(" xor ");
                self.truth(right);
                self.put(")");
            }
            Expr::Binary { op, left, right } if inverse(*op).is_some() => {
                self.binary(inverse(*op).unwrap_or(*op), left, right);
            }
            Expr::Unary { op: UnaryOp::Not, expr } => self.truth(expr),
            Expr::IsNull { .. }
            | Expr::IsTruth { .. }
            | Expr::Between { .. }
            | Expr::InList { .. }
            | Expr::InSubquery { .. }
            | Expr::Like { .. }
            | Expr::Regexp { .. } => self.predicate_as(expr, true),
            _ if is_truth_value(expr) => {
                self.put("(not(");
                self.expr(expr);
                self.put("))");
            }
            _ => {
                self.put("(0 = ");
                self.expr(expr);
                self.put(")");
            }
        }
    }

    pub(super) fn predicate(&mut self, expr: &Expr) {
        self.predicate_as(expr, false);
    }

    /// A predicate, or with `flip` its negation.
    fn predicate_as(&mut self, expr: &Expr, flip: bool) {
        match expr {
            Expr::IsNull { expr, negated } => {
                self.put("(");
                self.expr(expr);
                self.put(if *negated != flip { " is not null)" } else { " is null)" });
            }
            Expr::IsTruth { expr, value: Truth::Unknown, negated } => {
                self.put("(");
                self.expr(expr);
                self.put(if *negated != flip { " is not null)" } else { " is null)" });
            }
            Expr::IsTruth { expr, value, negated } => {
                self.put("(");
                self.truth(expr);
                self.put(if *negated != flip { " is not " } else { " is " });
                self.put(if *value == Truth::True { "true)" } else { "false)" });
            }
            Expr::Between { expr, low, high, negated } => {
                self.put("(");
                self.expr(expr);
                self.put(if *negated != flip { " not between " } else { " between " });
                self.expr(low);
                self.put(" and ");
                self.expr(high);
                self.put(")");
            }
            Expr::InList { expr, list, negated } => self.in_list(expr, list, *negated != flip),
            Expr::InSubquery { expr, query, negated } => {
                let close = self.open();
                self.expr(expr);
                self.put(if *negated != flip { " not in (" } else { " in (" });
                self.query_in_expression(query);
                self.put(")");
                self.put(close);
            }
            Expr::Like { negated, .. } | Expr::Regexp { negated, .. } if *negated != flip => {
                self.put("(not(");
                self.matching(expr);
                self.put("))");
            }
            Expr::Like { .. } | Expr::Regexp { .. } => self.matching(expr),
            _ => self.other_predicate(expr),
        }
    }

    fn in_list(&mut self, expr: &Expr, list: &[Expr], negated: bool) {
        if let [only] = list
            && !matches!(expr, Expr::Row(_))
        {
            return self.binary(if negated { BinaryOp::Ne } else { BinaryOp::Eq }, expr, only);
        }
        self.put("(");
        self.expr(expr);
        self.put(if negated { " not in (" } else { " in (" });
        self.list(list);
        self.put("))");
    }

    /// LIKE and REGEXP without their NOT.
    fn matching(&mut self, expr: &Expr) {
        match expr {
            Expr::Like { expr, pattern, escape, .. } => {
                self.put("(");
                self.expr(expr);
                self.put(" like ");
                self.expr(pattern);
                if let Some(escape) = escape {
                    self.put(" escape ");
                    self.expr(escape);
                }
                self.put(")");
            }
            Expr::Regexp { expr, pattern, .. } => {
                self.put("regexp_like(");
                self.expr(expr);
                self.put(",");
                self.expr(pattern);
                self.put(")");
            }
            _ => {}
        }
    }

    fn other_predicate(&mut self, expr: &Expr) {
        match expr {
            Expr::MemberOf { value, array } => {
                self.expr(value);
                self.put(" member of (");
                self.expr(array);
                self.put(")");
            }
            Expr::Quantified { op, left, quantifier, query } => {
                let close = self.open();
                self.expr(left);
                self.put(" ");
                self.put(operator(*op));
                self.put(if *quantifier == Quantifier::All { " all (" } else { " any (" });
                self.query_in_expression(query);
                self.put(")");
                self.put(close);
            }
            Expr::Exists(query) => {
                self.put("exists(");
                self.query_in_expression(query);
                self.put(")");
            }
            _ => {}
        }
    }
}
