//! Subqueries in expressions.
//!
//! A subquery is bound in a frame of its own and becomes `ExprKind::Subquery`; its logical tree stays with the block. Which of them join the
//! block instead is for `rewrite::semijoins` to see.

use std::sync::Arc;

use vaquita_parser as ast;
use vaquita_types::schema::{StoredObject, TableRef};
use vaquita_types::{ColumnType, Error, Result, errno, stack};

use super::expr::{compare_op, one_column, width};
use super::query::select_from;
use super::update::table_key;
use super::{Binder, ReadInFrom, Target};
use crate::expr::{BoundSubquery, CompareOp, Expr, ExprKind, Subquery, SubqueryKind, SubqueryState};
use crate::logical::{Inner, Logical, Query, outside_reads};
use crate::node::OutputColumn;
use crate::{text, typing};

impl Binder<'_> {
    /// The conjuncts of WHERE.
    pub(super) fn where_clause(&mut self, filter: &ast::Expr) -> Result<Vec<Expr>> {
        let mut conditions = Vec::new();
        for conjunct in and_terms(filter) {
            conditions.extend(self.condition(conjunct)?);
        }
        Ok(conditions)
    }

    fn bound_subquery(&mut self, query: &ast::Query) -> Result<(Query, bool)> {
        self.uses()?;
        let level = self.frames.len();
        let allowed = (self.frame().aggregates_allowed, self.frame().windows_allowed);
        let bound = self.nested_query(query);
        (self.frame().aggregates_allowed, self.frame().windows_allowed) = allowed;
        let (query, outermost) = bound?;
        Ok((query, outermost < level))
    }

    /// As `bound_subquery`, for IN, ANY, ALL and EXISTS.
    fn predicate_subquery(&mut self, query: &ast::Query) -> Result<(Query, bool)> {
        self.predicate_query = true;
        let bound = self.bound_subquery(query);
        self.predicate_query = false;
        bound
    }

    fn subquery_expr(
        &mut self,
        kind: SubqueryKind,
        mut query: Query,
        correlated: bool,
        ty: ColumnType,
        nullable: bool,
        coercibility: u8,
    ) -> Result<Expr> {
        let id = self.new_id();
        let reads = if correlated { outside_reads(&mut query)? } else { Vec::new() };
        let bound =
            BoundSubquery { output: query.output().to_vec(), of_no_table: matches!(query.block.root, Logical::One), reads };
        self.frame().subqueries.push((id, Inner::new(query)));
        let subquery = Subquery { kind, query: SubqueryState::Bound(Arc::new(bound)), depth: 0, correlated, id };
        Ok(Expr { kind: ExprKind::Subquery(Box::new(subquery)), ty, nullable, coercibility })
    }

    pub(super) fn scalar_subquery(&mut self, written: &ast::Query) -> Result<Expr> {
        let (query, correlated) = self.bound_subquery(written)?;
        let nullable = !gives_one_row(written) || query.output().iter().any(|column| column.expr.nullable);
        let (ty, coercibility) = match query.output() {
            [one] => (text::of_expression(one.expr.ty.clone()), one.expr.coercibility),
            _ => (ColumnType::null(), 4),
        };
        self.subquery_expr(SubqueryKind::Scalar, query, correlated, ty, nullable, coercibility)
    }

    pub(super) fn exists(&mut self, query: &ast::Query, negated: bool) -> Result<Expr> {
        let (query, correlated) = match &query.body {
            ast::QueryBody::Table(name) => self.predicate_subquery(&one_of(name, query))?,
            ast::QueryBody::Select(select) if !select.from.is_empty() => {
                let before = self.bare_stars.replace(select.items.as_ptr());
                let bound = self.predicate_subquery(query);
                self.bare_stars = before;
                bound?
            }
            _ => self.predicate_subquery(query)?,
        };
        self.subquery_expr(
            SubqueryKind::Exists { negated },
            query,
            correlated,
            ColumnType::boolean(),
            false,
            typing::COERCIBILITY_NUMERIC,
        )
    }

    pub(super) fn in_subquery(&mut self, expr: &ast::Expr, query: &ast::Query, negated: bool) -> Result<Expr> {
        let left = self.left_operand(expr, query)?;
        refuse_limit(query)?;
        let (mut query, correlated) = self.predicate_subquery(query)?;
        let left = match query.output_mut().as_mut_slice() {
            [one] => typing::years_of_literals(left, &mut one.expr),
            _ => left,
        };
        if let [one] = query.output() {
            self.note_beside_query(&left, one)?;
        }
        let (left, compare) = self.match_columns(left, query.output(), CompareOp::Eq.token())?;
        let nullable = left.nullable || query.output().iter().any(|o| o.expr.nullable);
        let kind = SubqueryKind::In { left, compare, negated };
        self.subquery_expr(kind, query, correlated, ColumnType::boolean(), nullable, typing::COERCIBILITY_NUMERIC)
    }

    fn left_operand(&mut self, expr: &ast::Expr, query: &ast::Query) -> Result<Expr> {
        let before = std::mem::replace(&mut self.frame().beside_subquery, true);
        let bound = self.expr(expr);
        self.frame().beside_subquery = before;
        if bound.is_err()
            && let Err(error) = self.bound_subquery(query)
            && error.is(&errno::ER_NO_SUCH_TABLE)
        {
            // Missing tables and privileges for tables come before any other error.
            return Err(error);
        }
        self.row_of(bound?)
    }

    pub(super) fn quantified(
        &mut self,
        op: ast::BinaryOp,
        left: &ast::Expr,
        quantifier: ast::Quantifier,
        query: &ast::Query,
    ) -> Result<Expr> {
        let Some(op) = compare_op(op) else { return Err(Error::internal("quantifier without comparison")) };
        let all = quantifier == ast::Quantifier::All;
        match (op, all) {
            (CompareOp::Eq, false) => return self.in_subquery(left, query, false),
            (CompareOp::Ne, true) => return self.in_subquery(left, query, true),
            _ => {}
        }
        let left = self.left_operand(left, query)?;
        refuse_limit(query)?;
        let (query, correlated) = self.predicate_subquery(query)?;
        if let [one] = query.output() {
            self.note_beside_query(&left, one)?;
        }
        // MySQL looks for a row of which the opposite is true.
        let compared = op.negated().filter(|_| all).unwrap_or(op);
        let (left, compare) = self.match_columns(left, query.output(), compared.token())?;
        let nullable = left.nullable || query.output().iter().any(|o| o.expr.nullable);
        let kind = SubqueryKind::Quantified { left: one_column(left)?, op, all, compare };
        self.subquery_expr(kind, query, correlated, ColumnType::boolean(), nullable, typing::COERCIBILITY_NUMERIC)
    }

    /// The rules by which the left operand's columns compare with the subquery's; error 1241.
    fn match_columns(
        &mut self,
        left: Expr,
        output: &[OutputColumn],
        operation: &str,
    ) -> Result<(Expr, Vec<crate::expr::CompareAs>)> {
        if output.len() != width(&left) {
            return Err(Error::new(&errno::ER_OPERAND_COLUMNS, &[&width(&left)]));
        }
        let row = matches!(left.kind, ExprKind::Row(_));
        let whole = left.clone();
        let lefts = match left.kind {
            ExprKind::Row(items) => items,
            _ => vec![left],
        };
        let mut compare = Vec::with_capacity(lefts.len());
        let mut adapted = Vec::with_capacity(lefts.len());
        if let Some(row) = lefts.iter().find(|left| width(left) > 1) {
            return Err(Error::new(&errno::ER_OPERAND_COLUMNS, &[&width(row)]));
        }
        for (l, o) in lefts.into_iter().zip(output) {
            let (l, _) = typing::adapt_constants(l, o.expr.clone());
            compare.push(typing::compare_as(&l, &o.expr, operation)?);
            adapted.push(l);
        }
        match (row, adapted.pop()) {
            (false, Some(only)) => Ok((only, compare)),
            (_, last) => {
                adapted.extend(last);
                Ok((Expr { kind: ExprKind::Row(adapted), ..whole }, compare))
            }
        }
    }

    /// A subquery of several columns as the row that it is, so that each column is compared.
    pub(super) fn row_of(&mut self, expr: Expr) -> Result<Expr> {
        let columns = width(&expr);
        let ExprKind::Subquery(sub) = &expr.kind else { return Ok(expr) };
        if columns == 1 {
            return Ok(expr);
        }
        self.count_copies(&expr, columns)?;
        let column = |(n, column): (usize, &OutputColumn)| {
            let subquery = Subquery { kind: SubqueryKind::Column(n), ..(**sub).clone() };
            let kind = ExprKind::Subquery(Box::new(subquery));
            Expr { kind, ty: column.expr.ty.clone(), nullable: true, coercibility: column.expr.coercibility }
        };
        let items = sub.output().iter().enumerate().map(column).collect();
        Ok(Expr { kind: ExprKind::Row(items), ..expr })
    }

    /// `(a, b) = (SELECT x, y …)`: compared as a whole.
    pub(super) fn row_subquery_comparison(&mut self, op: CompareOp, left: &Expr, right: &Expr) -> Result<Option<Expr>> {
        let (row, sub, op) = match (&left.kind, &right.kind) {
            (ExprKind::Row(_), ExprKind::Subquery(sub)) => (left.clone(), sub, op),
            (ExprKind::Subquery(sub), ExprKind::Row(_)) => (right.clone(), sub, exchanged(op)),
            (ExprKind::Subquery(_), ExprKind::Subquery(sub)) if width(left) > 1 => (self.row_of(left.clone())?, sub, op),
            _ => return Ok(None),
        };
        self.count_copies(&row, 1)?;
        let (row, compare) = self.match_columns(row, sub.output(), op.token())?;
        let subquery = Subquery { kind: SubqueryKind::Row { left: row, op, compare }, ..(**sub).clone() };
        Ok(Some(Expr::predicate(ExprKind::Subquery(Box::new(subquery)), true)))
    }

    /// Errors 1093 and 1443: the table is what the statement changes, and this is a subquery of it.
    pub(super) fn refuse_reading_target(&mut self, table: &TableRef, factor: &ast::TableFactor) -> Result<()> {
        if self.reading_derived {
            return Ok(());
        }
        if self.targets.is_empty() {
            // FROM itself names what may be changed; what subqueries in it read is looked at when the targets are known.
            if let Some(read) = self.read_in_from.as_mut().filter(|_| !self.changing) {
                read.push(ReadInFrom { key: table_key(&table.database, &table.name), view: None });
            }
            return Ok(());
        }
        let key = table_key(&table.database, &table.name);
        let alias = factor.alias.as_ref().unwrap_or(&factor.name.name);
        // Under another name the values of an INSERT may read the table, and so may ON DUPLICATE KEY UPDATE.
        let is_same = |target: &Target| target.key == key && !(self.inserting_values && target.inner_alias != *alias);
        let Some(found) = self.targets.iter().position(is_same) else { return Ok(()) };
        if !self.views.is_empty() {
            // Whether the view is merged decides.
            self.target_in_view.get_or_insert(found);
            return Ok(());
        }
        Err(self.refused_target(found))
    }

    fn refused_target(&self, found: usize) -> Error {
        let target = &self.targets[found];
        match target.view {
            None => Error::new(&errno::ER_UPDATE_TABLE_USED, &[&target.alias]),
            Some(_) => Error::new(&errno::ER_VIEW_PREVENT_UPDATE, &[&target.alias, &self.operation, &target.alias]),
        }
    }

    /// The same for what subqueries in FROM have read, which comes before the targets.
    pub(super) fn refuse_read_in_from(&mut self) -> Result<()> {
        for read in self.read_in_from.take().unwrap_or_default() {
            let Some(found) = self.targets.iter().position(|target| target.key == read.key) else { continue };
            return Err(match &read.view {
                None => self.refused_target(found),
                Some((view, alias)) => self.refuse_view_of_target(found, view, alias),
            });
        }
        Ok(())
    }

    /// What was noted as read since `from` is read through this view, or is no table of the statement's subqueries: a view's rows that are kept.
    pub(super) fn read_through_view(&mut self, from: usize, view: Option<(Arc<StoredObject>, &str)>) {
        let is_outermost = self.views.is_empty();
        let Some(read) = &mut self.read_in_from else { return };
        match view {
            None => read.truncate(from),
            Some((view, alias)) if is_outermost => {
                read.iter_mut().skip(from).for_each(|read| read.view = Some((Arc::clone(&view), alias.to_string())));
            }
            Some(_) => {}
        }
    }

    /// The same for a view which reads a target and is merged.
    pub(super) fn refuse_view_of_target(&self, found: usize, view: &StoredObject, alias: &str) -> Error {
        let target = &self.targets[found];
        let is_same = target.view.as_ref().is_some_and(|(database, name)| (database, name) == (&view.database, &view.name));
        match is_same {
            true => Error::new(&errno::ER_UPDATE_TABLE_USED, &[&target.alias]),
            false => Error::new(&errno::ER_VIEW_PREVENT_UPDATE, &[&alias, &self.operation, &target.alias]),
        }
    }
}

/// `a op b` as `b op a`.
fn exchanged(op: CompareOp) -> CompareOp {
    match op {
        CompareOp::Lt => CompareOp::Gt,
        CompareOp::Le => CompareOp::Ge,
        CompareOp::Gt => CompareOp::Lt,
        CompareOp::Ge => CompareOp::Le,
        same => same,
    }
}

/// Error 1235 for LIMIT, also in parentheses and on one side of a set operation.
fn refuse_limit(query: &ast::Query) -> Result<()> {
    match has_limit(query) {
        true => Err(Error::unsupported("LIMIT & IN/ALL/ANY/SOME subquery")),
        false => Ok(()),
    }
}

fn has_limit(query: &ast::Query) -> bool {
    fn inside(body: &ast::QueryBody) -> bool {
        match body {
            ast::QueryBody::SetOp { left, right, .. } => stack::deeper(|| inside(left) || inside(right)),
            ast::QueryBody::Nested(query) => has_limit(query),
            ast::QueryBody::Select(_) | ast::QueryBody::Values(_) | ast::QueryBody::Table(_) => false,
        }
    }
    query.limit.is_some() || inside(&query.body)
}

/// `EXISTS (TABLE name)` reads no column.
fn one_of(name: &ast::Name, query: &ast::Query) -> ast::Query {
    let one = ast::Expr::Literal(ast::Literal::Int(1));
    let items = vec![ast::SelectItem::Expr { expr: one, alias: None, source_text: "1".to_string() }];
    let select = ast::Select { items, ..select_from(name) };
    ast::Query { body: ast::QueryBody::Select(Box::new(select)), ..query.clone() }
}

/// The terms of an AND, in their order.
fn and_terms(expr: &ast::Expr) -> Vec<&ast::Expr> {
    let mut terms = Vec::new();
    let mut rest = expr;
    while let ast::Expr::Binary { op: ast::BinaryOp::And, left, right } = rest {
        terms.push(right.as_ref());
        rest = left;
    }
    terms.push(rest);
    terms.reverse();
    terms
        .into_iter()
        .flat_map(|t| if matches!(t, ast::Expr::Binary { op: ast::BinaryOp::And, .. }) { and_terms(t) } else { vec![t] })
        .collect()
}

/// `SELECT 1`: a row, whatever there is.
fn gives_one_row(query: &ast::Query) -> bool {
    let ast::QueryBody::Select(select) = &query.body else { return false };
    let filters = select.filter.is_some() || select.having.is_some() || query.limit.is_some() || !select.group_by.is_empty();
    !select.has_from && select.from.is_empty() && !filters
}
