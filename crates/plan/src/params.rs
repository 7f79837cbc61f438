//! What PREPARE tells a client of the types of its parameters.
//!
//! MySQL gives each `?` a type from where it stands: that of what it is compared with, of the column it is assigned to, of
//! the other operand of arithmetic. Values of any type may be sent all the same. Example: in `WHERE id = ? AND s LIKE ?` the
//! first is the BIGINT that stands for all integers, the second, of which nothing is known, a string.
//!
//! It looks at the finished plan, so at the bounds of indexes where comparisons have become those.

use vaquita_types::schema::{IndexDef, TableDef};
use vaquita_types::{ColumnType, TypeKind};

use crate::expr::{Expr, ExprKind, SubqueryKind};
use crate::node::{AccessPath, Assignment, InsertSource, KeyExpr, Limit, Node, Plan, QueryPlan, Scan};
use crate::optimize::visit;

/// The type that each of `count` parameters takes; none where nothing is known.
pub fn parameter_types(plan: &Plan, count: usize) -> Vec<Option<ColumnType>> {
    let mut found = Found { types: vec![None; count] };
    match plan {
        Plan::Query(query) => found.query(query),
        Plan::Insert(insert) => {
            match &insert.source {
                InsertSource::Values(rows) => {
                    for (value, column) in rows.iter().flat_map(|row| row.iter().zip(&insert.columns)) {
                        found.assigned(value.as_ref(), &insert.table, *column);
                    }
                }
                InsertSource::Literals(_) => {}
                InsertSource::Query(query) => {
                    for (output, column) in query.output.iter().zip(&insert.columns) {
                        found.assigned(Some(&output.expr), &insert.table, *column);
                    }
                    found.query(query);
                }
            }
            found.assignments(&insert.on_duplicate, &insert.table);
        }
        Plan::Update(update) => {
            for target in &update.targets {
                found.assignments(&target.assignments, &target.table);
            }
            found.node(&update.source);
        }
        Plan::Delete(delete) => found.node(&delete.source),
    }
    found.types
}

struct Found {
    types: Vec<Option<ColumnType>>,
}

impl Found {
    fn note(&mut self, expr: &Expr, ty: &ColumnType) {
        match &expr.kind {
            ExprKind::Param(n) => {
                if let Some(known @ None) = self.types.get_mut(*n) {
                    *known = Some(ty.clone());
                }
            }
            ExprKind::Cast(inner) => self.note(inner, ty),
            _ => {}
        }
    }

    fn assignments(&mut self, assignments: &[Assignment], table: &TableDef) {
        for assignment in assignments {
            self.assigned(assignment.value.as_ref(), table, assignment.column);
        }
    }

    fn assigned(&mut self, value: Option<&Expr>, table: &TableDef, column: usize) {
        let (Some(value), Some(column)) = (value, table.columns.get(column)) else { return };
        self.note(value, &column.ty);
        self.expr(value);
    }

    fn query(&mut self, plan: &QueryPlan) {
        plan.output.iter().for_each(|o| self.expr(&o.expr));
        self.node(&plan.root);
    }

    fn node(&mut self, node: &Node) {
        if let Node::Scan(scan) = node {
            self.bounds(scan);
        }
        if let Node::Limit { limit, .. } | Node::Sort { limit: Some(limit), .. } | Node::RecursiveCte { limit: Some(limit), .. } =
            node
        {
            self.limit(limit);
        }
        visit::for_each_expr(node, &mut |expr| self.expr(expr));
        visit::for_each_plan(node, &mut |plan| self.query(plan));
        visit::inputs(node, &mut |input| self.node(input));
    }

    fn limit(&mut self, limit: &Limit) {
        limit.offset.iter().chain(&limit.count).for_each(|e| self.note(e, &ColumnType::bigint_unsigned()));
    }

    /// The bounds of an index have the types of its columns.
    fn bounds(&mut self, scan: &Scan) {
        match &scan.path {
            AccessPath::Point { index, key } => {
                for (n, expr) in key.iter().enumerate() {
                    self.bound(scan, *index, n, expr);
                }
            }
            AccessPath::Range { index, ranges, .. } => {
                for range in ranges {
                    for (n, KeyExpr { expr, .. }) in range.equal.iter().enumerate() {
                        self.bound(scan, *index, n, expr);
                    }
                    for (expr, _) in range.low.iter().chain(&range.high) {
                        self.bound(scan, *index, range.equal.len(), expr);
                    }
                }
            }
            AccessPath::Full { .. } | AccessPath::System => {}
        }
    }

    fn bound(&mut self, scan: &Scan, index: usize, part: usize, expr: &Expr) {
        let column = |index: &IndexDef| {
            let at = scan.table.position_of(index.parts.get(part)?.column)?;
            scan.table.columns.get(at)
        };
        if let Some(column) = scan.table.indexes.get(index).and_then(column) {
            self.note(expr, &column.ty);
        }
    }

    /// What the operands of `expr` say of one another.
    fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Compare(_, a, b, _) => {
                self.note(a, &b.ty);
                self.note(b, &a.ty);
            }
            ExprKind::InList(value, list, _) => {
                if let Some(known) = list.iter().find(|item| !is_param(item)) {
                    self.note(value, &known.ty);
                }
                list.iter().for_each(|item| self.note(item, &value.ty));
            }
            ExprKind::Call(def, args) if matches!(def.name, "+" | "-" | "*" | "/" | "%" | "DIV") => {
                let known = args.iter().find(|arg| !is_param(arg)).map_or_else(ColumnType::double, |arg| number(&arg.ty));
                args.iter().for_each(|arg| self.note(arg, &known));
            }
            ExprKind::Subquery(sub) => {
                if let SubqueryKind::In { left, .. } | SubqueryKind::Quantified { left, .. } = &sub.kind
                    && let Some(output) = sub.plan.output.first()
                {
                    self.note(left, &output.expr.ty);
                }
                self.query(&sub.plan);
            }
            _ => {}
        }
        visit::children(expr, &mut |child| self.expr(child));
    }
}

fn is_param(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Param(_) => true,
        ExprKind::Cast(inner) => is_param(inner),
        _ => false,
    }
}

/// The number that an operand of arithmetic is.
fn number(ty: &ColumnType) -> ColumnType {
    match ty.kind {
        TypeKind::Decimal => ty.clone(),
        _ if ty.is_integer() => ty.clone(),
        _ => ColumnType::double(),
    }
}
