//! Queries: WITH, set operations, VALUES, TABLE, and the ORDER BY and LIMIT around them.

use std::sync::Arc;
use vaquita_parser as ast;
use vaquita_types::errno::ErrorDef;
use vaquita_types::{ColumnType, Error, Result, TypeKind, errno};

use super::hints::join_order_warnings;
use super::scope::{RelationColumn, Scope, VisibleColumn};
use super::{Binder, Clause, Frame, Relation, Source};
use crate::expr::{Expr, Slot};
use crate::logical::{BlockHints, Logical, LogicalBlock, Query, Read, StatementFacts};
use crate::node::{ColumnOrigin, Limit, Node, OutputColumn, QueryPlan, SetOpKind, SortKey};
use crate::rewrite::rewrite_query;
use crate::typing;
use crate::{optimize, text, visit};

/// A tree and its output.
type Rows = (Logical, Vec<OutputColumn>);

impl Binder<'_> {
    /// A query in a frame of its own.
    pub fn query(&mut self, query: &ast::Query) -> Result<Query> {
        self.nested_query(query).map(|(bound, _)| bound)
    }

    /// As `query`, with the index of the outermost frame it refers to.
    pub fn nested_query(&mut self, query: &ast::Query) -> Result<(Query, usize)> {
        let changing = std::mem::take(&mut self.changing);
        let bound = self.query_of_view(query);
        self.changing = changing;
        bound
    }

    /// As `nested_query`, of a body alone.
    pub(super) fn nested_body(&mut self, body: &ast::QueryBody) -> Result<(Query, usize)> {
        let around = super::cte::bare(ast::QueryBody::Values(Vec::new()));
        let changing = std::mem::take(&mut self.changing);
        let bound = self.in_own_frame(|b| b.in_query(|b| b.body_in_frame(body, &around)));
        self.changing = changing;
        bound
    }

    /// As `nested_query`, of what may be changed if the statement changes the view.
    pub(super) fn query_of_view(&mut self, query: &ast::Query) -> Result<(Query, usize)> {
        self.in_own_frame(|b| b.in_query(|b| b.query_in_frame(query)))
    }

    /// Binds a block, which `bind` gives, in a new frame.
    pub(super) fn in_own_frame(&mut self, bind: impl FnOnce(&mut Self) -> Result<LogicalBlock>) -> Result<(Query, usize)> {
        self.nested(|b| {
            let scopes = b.scopes.len();
            b.push_frame();
            b.frame().of_predicate = std::mem::take(&mut b.predicate_query);
            let sides = std::mem::take(&mut b.optional_sides);
            let block = bind(b);
            b.optional_sides = sides;
            b.scopes.truncate(scopes);
            let frame = b.pop_frame()?;
            Ok((Query::new(block?, frame.relations, frame.slot_owner, frame.subqueries, b.locking), frame.outermost))
        })
    }

    fn query_in_frame(&mut self, query: &ast::Query) -> Result<LogicalBlock> {
        if self.first_select.is_none() {
            self.first_select = first_select(&query.body);
        }
        if let Some(with) = &query.with {
            self.push_with(with)?;
        }
        if let Some(ast::SelectInto::Outfile { .. } | ast::SelectInto::Dumpfile(_)) = query.into {
            self.uses()?.note_file();
        }
        self.body_in_frame(&query.body, query)
    }

    /// `body` under the clauses of `query`, of which only those are looked at.
    fn body_in_frame(&mut self, body: &ast::QueryBody, query: &ast::Query) -> Result<LogicalBlock> {
        match body {
            ast::QueryBody::Select(select) => self.select(select, query),
            // Parentheses alone mean nothing.
            ast::QueryBody::Nested(inner) if query.order_by.is_empty() && query.limit.is_none() && query.locks.is_empty() => {
                self.nested(|b| b.in_query(|b| b.query_in_frame(inner)))
            }
            ast::QueryBody::Nested(inner) => {
                let inner = self.query(inner)?;
                self.in_parentheses(inner, query)
            }
            ast::QueryBody::SetOp { .. } => {
                let (root, output) = self.set_operation(body, &query.locks)?;
                self.order_and_limit(root, output, query)
            }
            ast::QueryBody::Values(rows) => {
                let (root, output) = self.values(rows)?;
                self.order_and_limit(root, output, query)
            }
            ast::QueryBody::Table(name) => self.select(&select_from(name), query),
        }
    }

    /// One operand of a set operation, in a frame of its own. `locks` stand behind it without parentheses between.
    fn operand(&mut self, op: ast::SetOp, body: &ast::QueryBody, locks: &[ast::LockClause]) -> Result<Query> {
        self.predicate_query = self.frame().of_predicate && op == ast::SetOp::Union;
        match body {
            ast::QueryBody::Nested(query) => self.query(query),
            _ => self.in_own_frame(|b| b.bare_body(body, locks)).map(|(query, _)| query),
        }
    }

    fn bare_body(&mut self, body: &ast::QueryBody, locks: &[ast::LockClause]) -> Result<LogicalBlock> {
        let bare = super::cte::bare(ast::QueryBody::Values(Vec::new()));
        self.body_in_frame(body, &ast::Query { locks: locks.to_vec(), ..bare })
    }

    fn set_operation(&mut self, body: &ast::QueryBody, locks: &[ast::LockClause]) -> Result<Rows> {
        let ast::QueryBody::SetOp { op, all, left, right } = body else { return Err(Error::internal("not a set operation")) };
        // `a UNION b UNION c` with one kind is one operation over three inputs. What is distinct in the end need not be before.
        let mut bodies = vec![right.as_ref()];
        let mut rest = left.as_ref();
        while let ast::QueryBody::SetOp { op: inner_op, all: inner_all, left, right } = rest {
            let absorbed = inner_all == all || (*op == ast::SetOp::Union && !all);
            if inner_op != op || !absorbed {
                break;
            }
            bodies.push(right);
            rest = left;
        }
        bodies.push(rest);
        bodies.reverse();
        // FOR UPDATE behind the last query block is that block's.
        let last = bodies.len() - 1;
        let operands = bodies.into_iter().enumerate();
        let inputs =
            operands.map(|(n, body)| self.operand(*op, body, if n == last { locks } else { &[] })).collect::<Result<Vec<_>>>()?;
        let kind = match op {
            ast::SetOp::Union => SetOpKind::Union,
            ast::SetOp::Intersect => SetOpKind::Intersect,
            ast::SetOp::Except => SetOpKind::Except,
        };
        self.combine(kind, *all, inputs)
    }

    /// A set operation over bound inputs: their columns get common types (error 1222 if the numbers differ).
    fn combine(&mut self, op: SetOpKind, all: bool, mut inputs: Vec<Query>) -> Result<Rows> {
        let name = match op {
            SetOpKind::Union => "UNION",
            SetOpKind::Intersect => "INTERSECT",
            SetOpKind::Except => "EXCEPT",
        };
        let columns = inputs.first().map_or(0, |p| p.output().len());
        if inputs.iter().any(|p| p.output().len() != columns) {
            return Err(Error::new(&errno::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT, &[]));
        }
        let mut output = Vec::with_capacity(columns);
        let mut slots = Vec::with_capacity(columns);
        let mut types = Vec::with_capacity(columns);
        for n in 0..columns {
            let mut alternatives: Vec<Expr> = inputs.iter().map(|p| p.output()[n].expr.clone()).collect();
            bits_as_numbers(&mut alternatives);
            let floats: Vec<Option<Expr>> =
                alternatives.iter().map(|e| (e.ty.kind == TypeKind::Float).then(|| e.clone())).collect();
            let mut merged = typing::unify(&mut alternatives, name)?;
            self.give_collation(&mut merged, &mut alternatives);
            if merged.ty.is_bytes() && !merged.ty.is_blob() {
                for (stored, float) in alternatives.iter_mut().zip(floats) {
                    if let Some(float) = float {
                        *stored = typing::text_of_number(float, &merged.ty)?;
                    }
                }
            }
            for (input, expr) in inputs.iter_mut().zip(alternatives) {
                input.output_mut()[n].expr = expr;
            }
            let slot = self.new_slot();
            slots.push(slot);
            types.push(merged.ty.clone());
            let expr = Expr { coercibility: merged.coercibility, ..Expr::slot(slot, merged.ty, merged.nullable) };
            let name = inputs[0].output()[n].name.clone();
            // A column of the temporary table that holds the union.
            let origin = Some(ColumnOrigin { org_name: name.clone(), ..ColumnOrigin::default() });
            output.push(OutputColumn { expr, name, origin });
        }
        Ok((Logical::SetOp { op, all, inputs, slots, types }, output))
    }

    /// Dates and numbers of different kinds become texts in the connection's collation.
    fn give_collation(&self, merged: &mut typing::Merged, columns: &mut [Expr]) {
        let collation = self.cx.settings.connection_collation;
        let of_none = merged.coercibility == typing::COERCIBILITY_NUMERIC && typing::is_string(&merged.ty);
        if of_none && text::same_charset(merged.ty.collation, collation) {
            merged.ty.collation = collation;
            columns.iter_mut().filter(|column| typing::is_string(&column.ty)).for_each(|column| column.ty.collation = collation);
        }
    }

    /// Rewrites and plans a query that is bound.
    pub(super) fn plan_query(&mut self, mut query: Query) -> Result<QueryPlan> {
        rewrite_query(&mut query, self.cx.catalog, self.cx.watch)?;
        self.check_join_orders(&mut query)?;
        optimize::plan_query(query, self.cx.catalog)
    }

    /// Rewrites and plans the block that is bound in the innermost frame.
    pub(super) fn plan_block(&mut self, block: LogicalBlock) -> Result<Node> {
        let Some(frame) = self.frames.last_mut() else { return Err(Error::internal("no frame to plan")) };
        let (relations, owners) = (std::mem::take(&mut frame.relations), std::mem::take(&mut frame.slot_owner));
        let mut query = Query::new(block, relations, owners, std::mem::take(&mut frame.subqueries), false);
        rewrite_query(&mut query, self.cx.catalog, self.cx.watch)?;
        self.check_join_orders(&mut query)?;
        let Query { block, mut relations, owners, width, mut subqueries, .. } = query;
        let node = optimize::plan_block(block, &mut relations, &owners, &mut subqueries, self.cx.catalog)?.root;
        let Some(frame) = self.frames.last_mut() else { return Err(Error::internal("no frame to plan")) };
        *frame = Frame { relations, slot_owner: owners, subqueries, width, ..std::mem::take(frame) };
        Ok(node)
    }

    /// Plans the subqueries of an expression that is part of no tree, or goes to another frame than its own.
    pub(super) fn plan_subqueries(&mut self, frame: usize, expr: &mut Expr) -> Result<()> {
        let Some(frame) = self.frames.get_mut(frame).filter(|frame| !frame.subqueries.is_empty()) else { return Ok(()) };
        let mut bound = Vec::new();
        visit::subqueries(expr, &mut |sub| bound.push(sub.id));
        for (_, inner) in frame.subqueries.iter_mut().filter(|(id, _)| bound.contains(id)) {
            if let Some(query) = inner.bound_mut() {
                rewrite_query(query, self.cx.catalog, self.cx.watch)?;
                if self.hinted_blocks > 0 {
                    join_order_warnings(query, &mut self.hint_warnings)?;
                }
            }
        }
        optimize::plan_subqueries(expr, &mut frame.subqueries, self.cx.catalog)
    }

    fn values(&mut self, rows: &[Vec<ast::Expr>]) -> Result<Rows> {
        let width = rows.first().map_or(0, Vec::len);
        if width == 0 {
            return Err(Error::new(&errno::ER_TABLE_VALUE_CONSTRUCTOR_MUST_HAVE_COLUMNS, &[]));
        }
        let mut bound = Vec::with_capacity(rows.len());
        for (n, row) in rows.iter().enumerate() {
            if row.len() != width {
                return Err(Error::new(&errno::ER_WRONG_VALUE_COUNT_ON_ROW, &[&(n + 1)]));
            }
            bound.push(self.in_clause(Clause::FieldList, |b| b.scalars(row))?);
        }
        let mut slots = Vec::with_capacity(width);
        let mut output = Vec::with_capacity(width);
        for n in 0..width {
            let mut column: Vec<Expr> = bound.iter().map(|row| row[n].clone()).collect();
            let merged = typing::unify(&mut column, "VALUES")?;
            for (row, expr) in bound.iter_mut().zip(column) {
                row[n] = expr;
            }
            let slot = self.new_slot();
            slots.push(slot);
            let expr = Expr { coercibility: merged.coercibility, ..Expr::slot(slot, merged.ty, merged.nullable) };
            output.push(OutputColumn { expr, name: format!("column_{n}"), origin: None });
        }
        Ok((Logical::Values { rows: bound, slots }, output))
    }

    /// ORDER BY and LIMIT behind a set operation or VALUES.
    fn order_and_limit(&mut self, rows: Logical, output: Vec<OutputColumn>, query: &ast::Query) -> Result<LogicalBlock> {
        let of_rows = matches!(query.body, ast::QueryBody::Values(_));
        let refused = (!of_rows).then_some(&errno::ER_AGGREGATE_ORDER_FOR_UNION);
        let keys = self.order_over_output(&output, &query.order_by, refused)?;
        let limit = self.limit(query.limit.as_ref())?;
        // SQL_CALC_FOUND_ROWS of the first query block is about the LIMIT behind the whole.
        let calc_found_rows = calculates_found_rows(&query.body);
        Ok(LogicalBlock { calc_found_rows, ..block_of(rows.sorted(keys, limit), output, Arc::clone(&self.facts)) })
    }

    /// ORDER BY and LIMIT behind a query in parentheses: `SELECT * FROM (query) ORDER BY … LIMIT …`.
    fn in_parentheses(&mut self, inner: Query, query: &ast::Query) -> Result<LogicalBlock> {
        let limit = self.limit(query.limit.as_ref())?;
        let mut slots = Vec::new();
        let mut output = Vec::new();
        for column in inner.output() {
            let slot = self.new_slot();
            slots.push(slot);
            output.push(OutputColumn {
                expr: Expr::slot(slot, column.expr.ty.clone(), column.expr.nullable),
                name: column.name.clone(),
                origin: column.origin.clone(),
            });
        }
        let keys = self.order_over_output(&output, &query.order_by, Some(&errno::ER_AGGREGATE_ORDER_NON_AGG_QUERY))?;
        let correlated = self.frame().outermost != usize::MAX;
        let root = Logical::Nested { query: Box::new(inner), slots, correlated };
        Ok(block_of(root.sorted(keys, limit), output, Arc::clone(&self.facts)))
    }

    /// ORDER BY over columns that have names but no tables. `refused`: the error for an item that aggregates.
    fn order_over_output(
        &mut self,
        output: &[OutputColumn],
        order_by: &[ast::OrderItem],
        refused: Option<&'static ErrorDef>,
    ) -> Result<Vec<SortKey>> {
        if order_by.is_empty() {
            return Ok(Vec::new());
        }
        let columns = output
            .iter()
            .map(|o| RelationColumn {
                name: o.name.clone(),
                invisible: false,
                value: super::scope::ColumnValue::Expr(o.expr.clone()),
                origin: None,
            })
            .collect();
        let relation = self.add_relation(Relation::new("", None, Source::Merged, columns));
        let frame = self.frames.len() - 1;
        let columns = (0..output.len()).map(|column| VisibleColumn { relation, column }).collect();
        self.scopes.push(Scope { frame, relations: Vec::new(), columns, ..Scope::default() });
        (self.frame().aggregates_allowed, self.frame().windows_allowed) = (refused.is_some(), refused.is_some());
        let keys = self.order_keys(order_by, output);
        (self.frame().aggregates_allowed, self.frame().windows_allowed) = (false, false);
        self.scopes.pop();
        let keys = keys?;
        let frame = self.frame();
        let made: Vec<Slot> = frame.aggregates.iter().map(|a| a.slot).chain(frame.windows.iter().map(|w| w.slot)).collect();
        let aggregates = |key: &SortKey| visit::slots(&key.expr).iter().any(|slot| made.contains(slot));
        match (refused, keys.iter().position(aggregates)) {
            (Some(def), Some(at)) => Err(Error::new(def, &[&(at + 1)])),
            _ => Ok(keys),
        }
    }

    pub fn limit(&mut self, limit: Option<&ast::Limit>) -> Result<Option<Limit>> {
        let Some(limit) = limit else { return Ok(None) };
        for part in limit.offset.iter().chain([&limit.count]) {
            if let ast::Expr::Column(variable) = part {
                return Err(Error::new(&errno::ER_SP_UNDECLARED_VAR, &[&variable.name]));
            }
        }
        let typed = |mut e: Expr| {
            if e.ty.kind == TypeKind::Null {
                e.ty = ColumnType::bigint_unsigned();
            }
            e
        };
        let offset = limit.offset.as_ref().map(|e| self.scalar(e).map(typed)).transpose()?;
        let count = typed(self.scalar(&limit.count)?);
        Ok(Some(Limit { offset, count: Some(count) }))
    }
}

fn first_select(mut body: &ast::QueryBody) -> Option<*const ast::Select> {
    loop {
        body = match body {
            ast::QueryBody::Select(select) => return Some(&raw const **select),
            ast::QueryBody::SetOp { left, .. } => left,
            ast::QueryBody::Nested(query) => &query.body,
            ast::QueryBody::Values(_) | ast::QueryBody::Table(_) => return None,
        };
    }
}

fn calculates_found_rows(mut body: &ast::QueryBody) -> bool {
    loop {
        body = match body {
            ast::QueryBody::Select(select) => return select.options.calc_found_rows,
            ast::QueryBody::SetOp { left, .. } => left,
            ast::QueryBody::Nested(query) => &query.body,
            ast::QueryBody::Values(_) | ast::QueryBody::Table(_) => return false,
        };
    }
}

fn block_of(root: Logical, output: Vec<OutputColumn>, facts: Arc<StatementFacts>) -> LogicalBlock {
    LogicalBlock {
        root,
        read: Read::Output(output),
        straight: false,
        calc_found_rows: false,
        facts,
        hints: BlockHints::default(),
    }
}

/// Beside texts and dates a set operation takes BIT and YEAR for numbers.
fn bits_as_numbers(alternatives: &mut [Expr]) {
    if !alternatives.iter().any(|e| typing::is_string(&e.ty) || e.ty.is_temporal()) {
        return;
    }
    for expr in alternatives.iter_mut().filter(|e| matches!(e.ty.kind, TypeKind::Bit | TypeKind::Year)) {
        let bits = std::mem::replace(expr, Expr::literal(vaquita_types::Value::Null, ColumnType::null()));
        let bytes = (bits.ty.kind == TypeKind::Bit).then(|| ColumnType::varbinary(bits.ty.length));
        *expr = typing::cast_to(bits, ColumnType::bigint_unsigned());
        // The digits are binary, as BIT is.
        if let Some(bytes) = bytes {
            let digits = std::mem::replace(expr, Expr::literal(vaquita_types::Value::Null, ColumnType::null()));
            *expr = Expr { coercibility: 2, ..typing::cast_to(digits, bytes) };
        }
    }
}

/// `TABLE name` as a SELECT.
pub fn select_from(name: &ast::Name) -> ast::Select {
    let factor = ast::TableFactor { name: name.clone(), partitions: Vec::new(), alias: None, index_hints: Vec::new() };
    ast::Select {
        items: vec![ast::SelectItem::Wildcard],
        from: vec![ast::TableRef::Table(factor)],
        has_from: true,
        ..ast::Select::default()
    }
}
