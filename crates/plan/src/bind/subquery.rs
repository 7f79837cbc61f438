//! Subqueries in expressions, and which of them become semijoins.
//!
//! A subquery is bound in a frame of its own and becomes `ExprKind::Subquery`; its logical tree stays with the block. `EXISTS (SELECT …)` and
//! `x IN (SELECT y …)` that stand as a conjunct of WHERE and whose query is a plain join without grouping
//! join this block instead (`Logical::Join` of kind Semi or Anti): their tables live in this frame and the
//! optimizer is free to use indexes and hash joins.

use std::sync::Arc;

use vaquita_parser as ast;
use vaquita_types::schema::TableRef;
use vaquita_types::{ColumnType, Error, Result, errno};

use super::expr::{compare_op, width};
use super::query::select_from;
use super::scope::Scope;
use super::update::table_key;
use super::{Binder, Clause};
use crate::expr::{BoundSubquery, CompareOp, Expr, ExprKind, Subquery, SubqueryKind, SubqueryState};
use crate::logical::{Inner, Logical, Query, outside_reads};
use crate::node::{JoinKind, OutputColumn};
use crate::typing;
use crate::uses::SELECT;
use crate::visit;

impl Binder<'_> {
    /// The conjuncts of WHERE; those that become joins go to `tree`.
    pub(super) fn where_clause(&mut self, filter: &ast::Expr, tree: &mut Option<Logical>) -> Result<Vec<Expr>> {
        let mut conditions = Vec::new();
        for conjunct in and_terms(filter) {
            if let Some(left) = tree.take() {
                match self.semijoin(conjunct)? {
                    Some((kind, right, on)) => {
                        *tree = Some(Logical::Join { kind, straight: false, left: Box::new(left), right: Box::new(right), on });
                        continue;
                    }
                    None => *tree = Some(left),
                }
            }
            conditions.extend(self.condition(conjunct)?);
        }
        Ok(conditions)
    }

    /// The join that a conjunct stands for, if its subquery is a plain join.
    fn semijoin(&mut self, conjunct: &ast::Expr) -> Result<Option<(JoinKind, Logical, Vec<Expr>)>> {
        let (query, left, negated) = match conjunct {
            ast::Expr::Exists(query) => (query, None, false),
            ast::Expr::Unary { op: ast::UnaryOp::Not, expr } => match expr.as_ref() {
                ast::Expr::Exists(query) => (query, None, true),
                _ => return Ok(None),
            },
            ast::Expr::InSubquery { expr, query, negated } => (query, Some(expr.as_ref()), *negated),
            _ => return Ok(None),
        };
        let Some(select) = plain_join(query) else { return Ok(None) };
        // What is bound here in vain is bound again: a subquery in it, and one in that, would be so again and again.
        if negated && left.is_some_and(|l| !plain_operand(l)) {
            return Ok(None);
        }
        let mut on = Vec::new();
        let left = left.map(|l| self.expr(l)).transpose()?;
        // NOT IN is an antijoin only where no NULL can come in: a column of one NOT NULL table that is not optional.
        if negated
            && let Some(left) = &left
            && (left.nullable || !self.selects_not_null(select)?)
        {
            return Ok(None);
        }
        let frame = self.frames.len() - 1;
        let clause = self.frame().clause;
        let Some(part) = self.from(&select.from, SELECT)? else { return Ok(None) };
        self.scopes.push(Scope { frame, relations: part.relations, columns: part.columns, ..Scope::default() });
        let mut tree = Some(part.tree);
        let bound = self.semijoin_condition(select, left, &mut tree, &mut on);
        self.scopes.pop();
        self.frame().clause = clause;
        bound?;
        let Some(tree) = tree else { return Err(Error::internal("semijoin lost its tables")) };
        Ok(Some((if negated { JoinKind::Anti } else { JoinKind::Semi }, tree, on)))
    }

    /// The only table's only selected column is NOT NULL.
    fn selects_not_null(&mut self, select: &ast::Select) -> Result<bool> {
        let ([ast::TableRef::Table(factor)], [ast::SelectItem::Expr { expr: ast::Expr::Column(column), .. }]) =
            (select.from.as_slice(), select.items.as_slice())
        else {
            return Ok(false);
        };
        if factor.name.db.is_none() && self.is_cte(&factor.name.name) {
            return Ok(false);
        }
        let alias = factor.alias.as_ref().unwrap_or(&factor.name.name);
        if column.table.as_ref().is_some_and(|t| t != alias) {
            return Ok(false);
        }
        let table = self.base_table(&factor.name, SELECT)?;
        Ok(table.column_position(&column.name).is_some_and(|c| !table.columns[c].nullable))
    }

    fn semijoin_condition(
        &mut self,
        select: &ast::Select,
        left: Option<Expr>,
        tree: &mut Option<Logical>,
        on: &mut Vec<Expr>,
    ) -> Result<()> {
        if left.is_none() {
            // What EXISTS selects is of no use, but its names must be right.
            let named: Vec<ast::SelectItem> =
                select.items.iter().filter(|i| matches!(i, ast::SelectItem::Expr { .. })).cloned().collect();
            self.select_items(&named)?;
        }
        if let Some(left) = left {
            let output = self.select_items(&select.items)?;
            if output.len() != width(&left) {
                return Err(Error::new(&errno::ER_OPERAND_COLUMNS, &[&width(&left)]));
            }
            let lefts = match left.kind {
                ExprKind::Row(items) => items,
                _ => vec![left],
            };
            for (l, o) in lefts.into_iter().zip(output) {
                on.extend(visit::conjuncts(typing::compare_columns(CompareOp::Eq, l, o.expr)?));
            }
        }
        if let Some(filter) = &select.filter {
            let inner = self.in_clause(Clause::Where, |b| b.where_clause(filter, tree))?;
            on.extend(inner);
        }
        Ok(())
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
        let bound = BoundSubquery { output: query.output().to_vec(), reads };
        self.frame().subqueries.push((id, Inner::new(query)));
        let subquery = Subquery { kind, query: SubqueryState::Bound(Arc::new(bound)), depth: 0, correlated, id };
        Ok(Expr { kind: ExprKind::Subquery(Box::new(subquery)), ty, nullable, coercibility })
    }

    pub(super) fn scalar_subquery(&mut self, query: &ast::Query) -> Result<Expr> {
        let (query, correlated) = self.bound_subquery(query)?;
        let (ty, coercibility) = match query.output() {
            [one] => (one.expr.ty.clone(), one.expr.coercibility),
            _ => (ColumnType::null(), 4),
        };
        self.subquery_expr(SubqueryKind::Scalar, query, correlated, ty, true, coercibility)
    }

    pub(super) fn exists(&mut self, query: &ast::Query, negated: bool) -> Result<Expr> {
        let (query, correlated) = match without_star(query) {
            Some(bare) => self.bound_subquery(&bare)?,
            None => self.bound_subquery(query)?,
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
        let left = self.expr(expr)?;
        refuse_limit(query)?;
        let (query, correlated) = self.bound_subquery(query)?;
        let (left, compare) = self.match_columns(left, query.output(), "in")?;
        let nullable = left.nullable || query.output().iter().any(|o| o.expr.nullable);
        let kind = SubqueryKind::In { left, compare, negated };
        self.subquery_expr(kind, query, correlated, ColumnType::boolean(), nullable, typing::COERCIBILITY_NUMERIC)
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
        let left = self.scalar(left)?;
        refuse_limit(query)?;
        let (query, correlated) = self.bound_subquery(query)?;
        let (left, compare) = self.match_columns(left, query.output(), op.token())?;
        let kind = SubqueryKind::Quantified { left, op, all, compare };
        self.subquery_expr(kind, query, correlated, ColumnType::boolean(), true, typing::COERCIBILITY_NUMERIC)
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

    /// `(a, b) = (SELECT x, y …)`: compared as a whole.
    pub(super) fn row_subquery_comparison(&mut self, op: CompareOp, left: &Expr, right: &Expr) -> Result<Option<Expr>> {
        let (row, sub, op) = match (&left.kind, &right.kind) {
            (ExprKind::Row(_), ExprKind::Subquery(sub)) => (left, sub, op),
            (ExprKind::Subquery(sub), ExprKind::Row(_)) => (right, sub, exchanged(op)),
            _ => return Ok(None),
        };
        self.count_copies(row, 1)?;
        let (row, compare) = self.match_columns(row.clone(), sub.output(), op.token())?;
        let subquery = Subquery { kind: SubqueryKind::Row { left: row, op, compare }, ..(**sub).clone() };
        Ok(Some(Expr::predicate(ExprKind::Subquery(Box::new(subquery)), true)))
    }

    /// The table is what the statement changes, and this is a subquery of it (error 1093).
    pub(super) fn in_subquery_of_target(&self, table: &TableRef, factor: &ast::TableFactor) -> bool {
        // Under another name the values of an INSERT may read the table.
        let by_alias = self.inserting_values && factor.alias.as_ref().is_some_and(|alias| *alias != table.name);
        self.targets.contains(&table_key(&table.database, &table.name)) && !self.reading_derived && !by_alias
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

fn refuse_limit(query: &ast::Query) -> Result<()> {
    match query.limit {
        Some(_) => Err(Error::unsupported("LIMIT & IN/ALL/ANY/SOME subquery")),
        None => Ok(()),
    }
}

/// `EXISTS (SELECT * …)` reads no column: the star may stand for anything.
fn without_star(query: &ast::Query) -> Option<ast::Query> {
    let one =
        || ast::SelectItem::Expr { expr: ast::Expr::Literal(ast::Literal::Int(1)), alias: None, source_text: "1".to_string() };
    let select = match &query.body {
        ast::QueryBody::Select(select) => select,
        ast::QueryBody::Table(name) => {
            let select = ast::Select { items: vec![one()], ..select_from(name) };
            return Some(ast::Query { body: ast::QueryBody::Select(Box::new(select)), ..query.clone() });
        }
        _ => return None,
    };
    if select.from.is_empty() || !select.items.contains(&ast::SelectItem::Wildcard) {
        return None;
    }
    let mut bare = query.clone();
    if let ast::QueryBody::Select(select) = &mut bare.body {
        for item in select.items.iter_mut().filter(|item| **item == ast::SelectItem::Wildcard) {
            *item = one();
        }
    }
    Some(bare)
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

/// The query is a join under a condition: no grouping, limit or set operation.
fn plain_join(query: &ast::Query) -> Option<&ast::Select> {
    let ast::QueryBody::Select(select) = &query.body else { return None };
    let plain = query.with.is_none()
        && query.limit.is_none()
        && query.locks.is_empty()
        && select.group_by.is_empty()
        && select.having.is_none()
        && select.windows.is_empty()
        && !select.from.is_empty()
        && select.from.iter().all(base_tables)
        && !select.items.iter().any(|i| matches!(i, ast::SelectItem::Expr { expr, .. } if !plain_value(expr)));
    plain.then_some(select)
}

fn base_tables(table_ref: &ast::TableRef) -> bool {
    match table_ref {
        ast::TableRef::Table(_) => true,
        ast::TableRef::Join(join) => base_tables(&join.left) && base_tables(&join.right),
        ast::TableRef::List(items) => items.iter().all(base_tables),
        _ => false,
    }
}

/// A plain value or a row of such.
fn plain_operand(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Row(items) => items.iter().all(plain_value),
        _ => plain_value(expr),
    }
}

/// No aggregate, window function or subquery inside.
fn plain_value(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Column(_) | ast::Expr::Literal(_) | ast::Expr::Param(_))
}
