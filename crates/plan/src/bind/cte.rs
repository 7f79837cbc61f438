//! WITH: common table expressions, also recursive ones.
//!
//! A CTE is bound anew wherever it is named, with the scopes between its WITH and that place hidden. One that
//! names itself is split into its first (non-recursive) and its further query blocks: a `RecursiveCte` node runs
//! the latter over the rows of the round before.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use vaquita_parser as ast;
use vaquita_types::limits::CTE_EXPANSIONS_MAX;
use vaquita_types::{ColumnType, Error, Result, TypeKind, errno, stack};

use super::from::FromPart;
use super::scope::{ColumnValue, RelationColumn, Scope};
use super::{Binder, Relation, Source};
use crate::logical::{Inner, Logical, Query};
use crate::node::SharedQuery;
use crate::text::without_hex;

#[derive(Debug)]
pub struct CteDef {
    name: String,
    columns: Vec<String>,
    query: Arc<ast::Query>,
    recursive: bool,
    /// It names itself in a subquery.
    inside: bool,
    /// Something has referred to it.
    used: Cell<bool>,
    shared: Arc<SharedQuery>,
    /// Index of the scope that WITH made; names inside resolve from here outwards.
    scope: usize,
}

/// The columns of a recursive CTE while its recursive blocks are bound.
#[derive(Debug, Clone)]
pub struct WorkingTable {
    name: String,
    id: usize,
    columns: Vec<(String, ColumnType)>,
}

impl Binder<'_> {
    pub(super) fn push_with(&mut self, with: &ast::With) -> Result<()> {
        let frame = self.frames.len() - 1;
        for (n, cte) in with.ctes.iter().enumerate() {
            if with.ctes[..n].iter().any(|other| other.name == cte.name) {
                return Err(Error::new(&errno::ER_NONUNIQ_TABLE, &[&cte.name]));
            }
            let inside = with.recursive && named_by_subquery(&cte.query, &cte.name);
            let recursive = inside || with.recursive && names_table_in_query(&cte.query, &cte.name);
            // Each CTE has a scope of its own, so that it sees those before it only.
            let scope = self.scopes.len();
            let def = CteDef {
                name: cte.name.clone(),
                columns: cte.columns.clone(),
                query: Arc::clone(&cte.query),
                recursive,
                inside,
                used: Cell::new(false),
                shared: self.new_shared(),
                scope,
            };
            self.scopes.push(Scope { frame, cte: Some(Rc::new(def)), ..Scope::default() });
        }
        Ok(())
    }

    /// The CTE or working table of that name, if one is visible.
    pub(super) fn cte_reference(&mut self, name: &str, alias: &str) -> Result<Option<FromPart>> {
        for at in (0..self.scopes.len()).rev() {
            let scope = &self.scopes[at];
            if scope.hidden {
                continue;
            }
            if let Some(working) = scope.working.clone().filter(|w| w.name == name) {
                return self.working_table(&working, alias).map(Some);
            }
            if let Some(def) = scope.cte.clone().filter(|c| c.name == name) {
                return self.bind_cte(&def, alias).map(Some);
            }
        }
        Ok(None)
    }

    fn bind_cte(&mut self, def: &CteDef, alias: &str) -> Result<FromPart> {
        self.log_read(&def.query);
        if def.inside {
            return Err(Error::new(&errno::ER_CTE_RECURSIVE_REQUIRES_SINGLE_REFERENCE, &[&def.name]));
        }
        // Each reference binds the query anew, and with it those that it refers to: that many times two of two of two would be.
        if def.used.replace(true) {
            self.cte_expansions += 1;
            if self.cte_expansions > CTE_EXPANSIONS_MAX {
                return Err(Error::new(&errno::ER_CTE_EXPANSION_LIMIT_EXCEEDED, &[]));
            }
        }
        let hidden: Vec<bool> = self.scopes.iter().map(|s| s.hidden).collect();
        self.scopes.iter_mut().skip(def.scope).for_each(|s| s.hidden = true);
        let reading = std::mem::replace(&mut self.reading_derived, true);
        let level = self.frames.len();
        let bound = if def.recursive { self.recursive(def, alias) } else { self.plain(def, alias, level) };
        self.reading_derived = reading;
        for (scope, was) in self.scopes.iter_mut().zip(hidden) {
            scope.hidden = was;
        }
        bound
    }

    fn plain(&mut self, def: &CteDef, alias: &str, level: usize) -> Result<FromPart> {
        let working = self.working_references.len();
        let (mut query, outermost) = self.nested_query(&def.query)?;
        let is_same_everywhere = outermost >= level && self.working_references.len() == working;
        if self.merge_wanted(alias) && self.merges_derived(&mut query) {
            return self.merged(query, alias, &def.columns);
        }
        let part = self.materialized(query, outermost < level, false, alias, &def.columns)?;
        if is_same_everywhere
            && let Some(Relation { source: Source::Derived { shared, .. }, .. }) = self.frame().relations.last_mut()
        {
            def.shared.add_use();
            *shared = Some(Arc::clone(&def.shared));
        }
        Ok(part)
    }

    fn working_table(&mut self, working: &WorkingTable, alias: &str) -> Result<FromPart> {
        self.working_references.push(self.frames.len() - 1);
        let mut columns = Vec::with_capacity(working.columns.len());
        for (name, ty) in &working.columns {
            let slot = self.new_slot();
            columns.push(RelationColumn {
                name: name.clone(),
                invisible: false,
                value: ColumnValue::Slot { slot, ty: ty.clone(), nullable: true },
                origin: None,
            });
        }
        let relation = self.add_relation(Relation::new(alias, None, Source::CteRows { id: working.id }, columns));
        self.own_slots(relation);
        Ok(self.leaf(relation))
    }

    fn recursive(&mut self, def: &CteDef, alias: &str) -> Result<FromPart> {
        let mut blocks = Vec::new();
        union_blocks(&def.query.body, false, &mut blocks, &def.name)?;
        if blocks.len() < 2 {
            return Err(Error::new(&errno::ER_CTE_RECURSIVE_REQUIRES_UNION, &[&def.name]));
        }
        if !def.query.order_by.is_empty() {
            return Err(Error::unsupported("ORDER BY over UNION in recursive Common Table Expression"));
        }
        let limit = self.limit(def.query.limit.as_ref())?;
        let first = blocks.iter().position(|b| names_table(b.body, &def.name)).unwrap_or(blocks.len());
        if first == 0 || blocks[first..].iter().any(|b| !names_table(b.body, &def.name)) {
            return Err(Error::new(&errno::ER_CTE_RECURSIVE_REQUIRES_NONRECURSIVE_FIRST, &[&def.name]));
        }
        let distinct = is_distinct(&blocks[first..])?;
        let (mut seed, _) = match &blocks[..first] {
            [only] => self.nested_body(only.body)?,
            several => {
                // What is made of them is a copy, whose names nobody prints.
                if self.cx.names.is_some() {
                    several.iter().try_for_each(|block| self.nested_body(block.body).map(drop))?;
                }
                self.nested_query(&bare(union_of(several)))?
            }
        };
        // Where the list does not fit, MySQL looks at the recursive blocks first, without it.
        let fits = def.columns.is_empty() || def.columns.len() == seed.output().len();
        let names: &[String] = if fits { &def.columns } else { &[] };
        let id = self.new_id();
        // The seed decides names and types; every column may be NULL. One of nothing but NULLs is VARBINARY(0).
        for (n, output) in seed.output_mut().iter_mut().enumerate() {
            output.expr.nullable = true;
            output.expr.ty = match output.expr.ty.kind {
                TypeKind::Null => ColumnType::varbinary(0),
                _ => without_hex(output.expr.ty.clone()),
            };
            if let Some(name) = names.get(n) {
                output.name.clone_from(name);
            }
        }
        let columns: Vec<(String, ColumnType)> = seed.output().iter().map(|o| (o.name.clone(), o.expr.ty.clone())).collect();
        let frame = self.frames.len() - 1;
        let working = WorkingTable { name: def.name.clone(), id, columns };
        self.scopes.push(Scope { frame, working: Some(working), ..Scope::default() });
        let recursive = self.recursive_blocks(&blocks[first..], &seed, &def.name);
        self.scopes.pop();
        let recursive = recursive?;
        let types = seed.output().iter().map(|o| o.expr.ty.clone()).collect();
        let columns = self.output_relation(&seed, alias, &def.columns)?;
        let source = Source::Recursive { id, seed: Inner::new(seed), recursive, distinct, types, limit: limit.map(Box::new) };
        let relation = self.add_relation(Relation::new(alias, None, source, columns));
        self.own_slots(relation);
        Ok(self.leaf(relation))
    }

    fn recursive_blocks(&mut self, blocks: &[UnionBlock<'_>], seed: &Query, name: &str) -> Result<Vec<Inner>> {
        let mut bound_blocks = Vec::with_capacity(blocks.len());
        for UnionBlock { body: block, .. } in blocks {
            check_recursive_block(block, name)?;
            let level = self.frames.len();
            let before = std::mem::take(&mut self.working_references);
            let bound = self.nested_body(block);
            let references = std::mem::replace(&mut self.working_references, before);
            let (mut query, _) = bound?;
            if references != [level] {
                return Err(Error::new(&errno::ER_CTE_RECURSIVE_REQUIRES_SINGLE_REFERENCE, &[&name]));
            }
            if aggregates(&query.block.root) {
                return Err(Error::new(&errno::ER_CTE_RECURSIVE_FORBIDS_AGGREGATION, &[&name]));
            }
            if query.output().len() != seed.output().len() {
                return Err(Error::new(&errno::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT, &[]));
            }
            // Values become those of the seed's types when they are stored, as in a column.
            for (output, target) in query.output_mut().iter_mut().zip(seed.output()) {
                output.name.clone_from(&target.name);
            }
            bound_blocks.push(Inner::new(query));
        }
        Ok(bound_blocks)
    }
}

/// What no recursive query block may have.
fn check_recursive_block(block: &ast::QueryBody, name: &str) -> Result<()> {
    let unsupported =
        || Error::unsupported("ORDER BY / LIMIT / SELECT DISTINCT in recursive query block of Common Table Expression");
    match block {
        ast::QueryBody::Nested(_) => Err(unsupported()),
        ast::QueryBody::Select(select) if !select.group_by.is_empty() => {
            Err(Error::new(&errno::ER_CTE_RECURSIVE_FORBIDS_AGGREGATION, &[&name]))
        }
        ast::QueryBody::Select(select) if select.options.distinct => Err(unsupported()),
        ast::QueryBody::Select(select) if select.from.iter().any(|t| optional_in(t, name)) => {
            Err(Error::new(&errno::ER_CTE_RECURSIVE_FORBIDDEN_JOIN_ORDER, &[&name]))
        }
        _ => Ok(()),
    }
}

/// The table is on the side of an outer join that may be missing.
fn optional_in(table_ref: &ast::TableRef, name: &str) -> bool {
    match table_ref {
        ast::TableRef::Join(join) => {
            (join.kind == ast::JoinKind::Left && in_table_ref(&join.right, name))
                || (join.kind == ast::JoinKind::Right && in_table_ref(&join.left, name))
                || optional_in(&join.left, name)
                || optional_in(&join.right, name)
        }
        ast::TableRef::List(items) => items.iter().any(|t| optional_in(t, name)),
        _ => false,
    }
}

/// The block of this root has aggregates or window functions.
fn aggregates(root: &Logical) -> bool {
    matches!(root, Logical::Aggregate { .. } | Logical::Window { .. }) || root.input().is_some_and(aggregates)
}

pub(super) fn bare(body: ast::QueryBody) -> ast::Query {
    ast::Query { with: None, body, order_by: Vec::new(), limit: None, into: None, locks: Vec::new(), hinted: false }
}

/// A block of a chain of UNIONs.
struct UnionBlock<'q> {
    body: &'q ast::QueryBody,
    /// UNION DISTINCT stands before it.
    distinct: bool,
}

/// The blocks of a chain of UNIONs from left to right. `distinct`: what stands before the first of them.
fn union_blocks<'q>(body: &'q ast::QueryBody, distinct: bool, out: &mut Vec<UnionBlock<'q>>, name: &str) -> Result<()> {
    match body {
        ast::QueryBody::SetOp { op: ast::SetOp::Union, all, left, right } => {
            union_blocks(left, distinct, out, name)?;
            let behind = out.len();
            union_blocks(right, !all, out, name)?;
            let nested = out.get_mut(behind + 1..).unwrap_or_default();
            if !all {
                nested.iter_mut().for_each(|block| block.distinct = true);
            } else if nested.iter().any(|block| block.distinct) {
                if names_table(right, name) {
                    return Err(Error::unsupported("right nested recursive query blocks, in Common Table Expression"));
                }
                out.truncate(behind);
                out.push(UnionBlock { body: right, distinct: false });
            }
            Ok(())
        }
        ast::QueryBody::SetOp { .. } if names_table(body, name) => Err(match out.is_empty() && !distinct {
            true => Error::new(&errno::ER_CTE_RECURSIVE_REQUIRES_UNION, &[&name]),
            false => Error::new(&errno::ER_CTE_RECURSIVE_NOT_UNION, &[]),
        }),
        ast::QueryBody::Nested(query) if query.order_by.is_empty() && query.limit.is_none() && query.with.is_none() => {
            union_blocks(&query.body, distinct, out, name)
        }
        other => {
            out.push(UnionBlock { body: other, distinct });
            Ok(())
        }
    }
}

/// Rows of these recursive blocks are taken once: error 1235 if of some only.
fn is_distinct(recursive: &[UnionBlock<'_>]) -> Result<bool> {
    let last = recursive.iter().rposition(|block| block.distinct);
    if last.is_some_and(|last| last + 1 < recursive.len()) {
        return Err(Error::unsupported(
            "recursive query blocks with UNION DISTINCT then UNION ALL, in recursive Common Table Expression",
        ));
    }
    Ok(last.is_some())
}

fn union_of(blocks: &[UnionBlock<'_>]) -> ast::QueryBody {
    let mut blocks = blocks.iter().map(|block| (block.body.clone(), block.distinct));
    let first = blocks.next().map_or(ast::QueryBody::Values(Vec::new()), |(body, _)| body);
    blocks.fold(first, |left, (right, distinct)| ast::QueryBody::SetOp {
        op: ast::SetOp::Union,
        all: !distinct,
        left: Box::new(left),
        right: Box::new(right),
    })
}

fn names_table_in_query(query: &ast::Query, name: &str) -> bool {
    names_table(&query.body, name)
}

/// A query in an expression of this one, or in a WITH of it, names the table.
fn named_by_subquery(query: &ast::Query, name: &str) -> bool {
    with_of(query).any(|cte| names_table_anywhere(&cte.query, name))
        || query.order_by.iter().any(|item| named_in(&item.expr, name))
        || stack::deeper(|| named_by_subquery_of(&query.body, name))
}

fn named_by_subquery_of(body: &ast::QueryBody, name: &str) -> bool {
    match body {
        ast::QueryBody::Select(select) => {
            let is_in_item = |item: &ast::SelectItem| match item {
                ast::SelectItem::Expr { expr, .. } => named_in(expr, name),
                ast::SelectItem::Wildcard | ast::SelectItem::TableWildcard(_) => false,
            };
            let mut is_in_window = false;
            for (_, window) in &select.windows {
                window.queries(&mut |query| is_in_window |= names_table_anywhere(query, name));
            }
            is_in_window
                || select.items.iter().any(is_in_item)
                || select.filter.iter().chain(&select.group_by).chain(&select.having).any(|expr| named_in(expr, name))
                || select.from.iter().any(|table_ref| named_by_subquery_in(table_ref, name))
        }
        ast::QueryBody::SetOp { left, right, .. } => {
            stack::deeper(|| named_by_subquery_of(left, name) || named_by_subquery_of(right, name))
        }
        ast::QueryBody::Nested(query) => named_by_subquery(query, name),
        ast::QueryBody::Values(rows) => rows.iter().flatten().any(|expr| named_in(expr, name)),
        ast::QueryBody::Table(_) => false,
    }
}

fn named_by_subquery_in(table_ref: &ast::TableRef, name: &str) -> bool {
    match table_ref {
        ast::TableRef::Derived { query, .. } => named_by_subquery(query, name),
        ast::TableRef::JsonTable(table) => named_in(&table.doc, name),
        ast::TableRef::Join(join) => {
            matches!(&join.on, ast::JoinOn::On(condition) if named_in(condition, name))
                || named_by_subquery_in(&join.left, name)
                || named_by_subquery_in(&join.right, name)
        }
        ast::TableRef::List(items) => items.iter().any(|item| named_by_subquery_in(item, name)),
        ast::TableRef::Table(_) => false,
    }
}

/// A query in the expression names the table.
fn named_in(expr: &ast::Expr, name: &str) -> bool {
    let mut named = false;
    expr.queries(&mut |query| named |= names_table_anywhere(query, name));
    named
}

/// As FROM or in a subquery, if it is no CTE of the query's own.
fn names_table_anywhere(query: &ast::Query, name: &str) -> bool {
    let hides = with_of(query).any(|cte| cte.name == name);
    !hides && (names_table_in_query(query, name) || named_by_subquery(query, name))
}

fn with_of(query: &ast::Query) -> impl Iterator<Item = &ast::Cte> {
    query.with.iter().flat_map(|with| &with.ctes)
}

/// FROM anywhere in the body names the table.
fn names_table(body: &ast::QueryBody, name: &str) -> bool {
    match body {
        ast::QueryBody::Select(select) => select.from.iter().any(|t| in_table_ref(t, name)),
        ast::QueryBody::SetOp { left, right, .. } => names_table(left, name) || names_table(right, name),
        ast::QueryBody::Nested(query) => names_table(&query.body, name),
        ast::QueryBody::Table(table) => table.db.is_none() && table.name == name,
        ast::QueryBody::Values(_) => false,
    }
}

fn in_table_ref(table_ref: &ast::TableRef, name: &str) -> bool {
    match table_ref {
        ast::TableRef::Table(factor) => factor.name.db.is_none() && factor.name.name == name,
        ast::TableRef::Derived { query, .. } => names_table(&query.body, name),
        ast::TableRef::Join(join) => in_table_ref(&join.left, name) || in_table_ref(&join.right, name),
        ast::TableRef::List(items) => items.iter().any(|t| in_table_ref(t, name)),
        ast::TableRef::JsonTable(_) => false,
    }
}
