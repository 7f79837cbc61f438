//! FROM: tables, joins and derived tables become relations of the frame and a logical tree.
//!
//! RIGHT JOIN is turned into LEFT JOIN with its sides exchanged. USING and NATURAL become equalities, and
//! the joined columns are visible once. Example: `a LEFT JOIN b USING (id)` is `Join { Left, a, b, [a.id = b.id] }`
//! and `*` gives `a.id`, the other columns of a, the other columns of b.

use std::sync::Arc;

use vaquita_parser as ast;
use vaquita_types::schema::TableRef;
use vaquita_types::{Error, Result, errno};

use super::merging::{is_mergeable, is_steady, make_optional};
use super::partition::{bind_partitions, select_partitions};
use super::scope::{ColumnValue, RelationColumn, Scope, VisibleColumn, same_name};
use super::{Binder, Clause, Named, Relation, Source};
use crate::expr::{CompareOp, Expr};
use crate::logical::{Inner, Logical, Query, merge};
use crate::node::{ColumnOrigin, JoinKind};
use crate::partition::ScanPartitions;
use crate::text::without_hex;
use crate::typing;
use crate::uses::Actions;
use crate::visit;

/// What a table reference brings into scope.
pub struct FromPart {
    pub tree: Logical,
    pub relations: Vec<usize>,
    pub columns: Vec<VisibleColumn>,
}

impl FromPart {
    /// The names of both, for what may stand behind them and name their columns.
    fn with_names_of(&self, before: Option<&FromPart>) -> FromPart {
        let (mut relations, mut columns) = (Vec::new(), Vec::new());
        for part in before.into_iter().chain([self]) {
            relations.extend(&part.relations);
            columns.extend(&part.columns);
        }
        FromPart { tree: Logical::Empty, relations, columns }
    }
}

impl Binder<'_> {
    /// The comma list of FROM, and what is done to its tables at least. `None` without a table.
    pub fn from(&mut self, refs: &[ast::TableRef], actions: Actions) -> Result<Option<FromPart>> {
        let mut all: Option<FromPart> = None;
        for table_ref in refs {
            let left = all.take();
            let part = self.table_ref(table_ref, left.as_ref(), actions)?;
            all = Some(match left {
                None => part,
                Some(left) => self.join_parts(JoinKind::Inner, false, left, part, &ast::JoinOn::None)?,
            });
        }
        Ok(all)
    }

    /// One reference; `left` is what LATERAL and later references may see.
    fn table_ref(&mut self, table_ref: &ast::TableRef, left: Option<&FromPart>, actions: Actions) -> Result<FromPart> {
        self.nested(|b| match table_ref {
            ast::TableRef::Table(factor) => b.table_factor(factor, actions),
            ast::TableRef::Derived { query, lateral, alias, columns } => {
                let Some(alias) = alias else { return Err(Error::new(&errno::ER_DERIVED_MUST_HAVE_ALIAS, &[])) };
                b.derived(query, *lateral, alias, columns, left)
            }
            ast::TableRef::JsonTable(table) => b.json_table(table, left),
            ast::TableRef::List(items) => match b.from(items, actions)? {
                Some(part) => Ok(part),
                None => Err(Error::internal("empty table list")),
            },
            ast::TableRef::Join(join) => b.join(join, left, actions),
        })
    }

    fn join(&mut self, join: &ast::Join, outer: Option<&FromPart>, actions: Actions) -> Result<FromPart> {
        let left = self.side(join.kind == ast::JoinKind::Right, |b| b.table_ref(&join.left, outer, actions))?;
        // What is read first by a RIGHT JOIN can name nothing of its other side.
        let visible = (join.kind != ast::JoinKind::Right).then(|| left.with_names_of(outer));
        let right = visible.as_ref().or(outer);
        let right = self.side(join.kind == ast::JoinKind::Left, |b| b.table_ref(&join.right, right, actions))?;
        match join.kind {
            ast::JoinKind::Inner => self.join_parts(JoinKind::Inner, false, left, right, &join.on),
            ast::JoinKind::Straight => self.join_parts(JoinKind::Inner, true, left, right, &join.on),
            ast::JoinKind::Left => self.join_parts(JoinKind::Left, false, left, right, &join.on),
            ast::JoinKind::Right => self.right_join(left, right, &join.on),
        }
    }

    /// Binds a side of a join, which may have no row beside the other.
    fn side(&mut self, optional: bool, bind: impl FnOnce(&mut Self) -> Result<FromPart>) -> Result<FromPart> {
        self.optional_sides += usize::from(optional);
        let bound = bind(self);
        self.optional_sides -= usize::from(optional);
        bound
    }

    fn right_join(&mut self, left: FromPart, right: FromPart, on: &ast::JoinOn) -> Result<FromPart> {
        let (left_columns, right_columns) = (left.columns.clone(), right.columns.clone());
        let relations: Vec<usize> = left.relations.iter().chain(&right.relations).copied().collect();
        let mut joined = self.join_parts(JoinKind::Left, false, right, left, on)?;
        // `*` keeps the order written; after the columns of USING come those of the right side, then those of the left.
        if matches!(on, ast::JoinOn::None | ast::JoinOn::On(_)) {
            joined.columns = left_columns.into_iter().chain(right_columns).collect();
        }
        joined.relations = relations;
        Ok(joined)
    }

    pub fn visible_name(&self, column: VisibleColumn) -> &str {
        let frame = &self.frames[self.frames.len() - 1];
        &frame.relations[column.relation].columns[column.column].name
    }

    fn join_parts(
        &mut self,
        kind: JoinKind,
        straight: bool,
        left: FromPart,
        right: FromPart,
        on: &ast::JoinOn,
    ) -> Result<FromPart> {
        self.check_aliases(&left, &right)?;
        let noted_before = self.early.len();
        if kind == JoinKind::Left {
            // What is named, and the tables that merged views and derived tables brought.
            let mut optional = right.relations.clone();
            right.tree.relations(&mut optional);
            for relation in optional {
                self.frame().relations[relation].optional = true;
            }
        }
        let mut relations = left.relations.clone();
        relations.extend(&right.relations);
        let mut columns: Vec<VisibleColumn> = left.columns.iter().chain(&right.columns).copied().collect();
        let condition = match on {
            ast::JoinOn::None => Vec::new(),
            ast::JoinOn::On(expr) => {
                let frame = self.frames.len() - 1;
                self.scopes.push(Scope { frame, relations: relations.clone(), columns: columns.clone(), ..Scope::default() });
                let bound = self.in_clause(Clause::On, |b| b.scalar(expr));
                self.scopes.pop();
                let mut bound = self.as_condition(bound?)?;
                self.fold(&mut bound);
                self.note_on(&mut bound, kind == JoinKind::Left);
                visit::conjuncts(bound)
            }
            ast::JoinOn::Using(names) => {
                let (condition, merged) = self.using(&left, &right, names, on)?;
                columns = merged;
                condition
            }
            ast::JoinOn::Natural => {
                let names = self.common_names(&left, &right)?;
                let (condition, merged) = self.using(&left, &right, &names, on)?;
                columns = merged;
                condition
            }
        };
        self.defer_early_of_on(noted_before, right.relations.len().saturating_sub(1));
        let tree = Logical::Join { kind, straight, left: Box::new(left.tree), right: Box::new(right.tree), on: condition };
        Ok(FromPart { tree, relations, columns })
    }

    /// Error 1066 if both sides have a table of one name.
    fn check_aliases(&mut self, left: &FromPart, right: &FromPart) -> Result<()> {
        let frame = self.frame();
        for &r in &right.relations {
            let (alias, database) = (&frame.relations[r].alias, &frame.relations[r].database);
            if left.relations.iter().any(|&l| frame.relations[l].alias == *alias && frame.relations[l].database == *database) {
                return Err(Error::new(&errno::ER_NONUNIQ_TABLE, &[alias]));
            }
        }
        Ok(())
    }

    /// The equalities of USING, and the visible columns: the shared ones first.
    fn using(
        &mut self,
        left: &FromPart,
        right: &FromPart,
        names: &[String],
        on: &ast::JoinOn,
    ) -> Result<(Vec<Expr>, Vec<VisibleColumn>)> {
        let frame = self.frames.len() - 1;
        let mut condition = Vec::new();
        let mut shared = Vec::new();
        let mut hidden = Vec::new();
        let mut pairs = Vec::new();
        for name in names {
            let (l, r) = (self.one_visible(&left.columns, name)?, self.one_visible(&right.columns, name)?);
            let (a, b) = (self.column_of(frame, l.relation, l.column), self.column_of(frame, r.relation, r.column));
            condition.push(typing::compare(CompareOp::Eq, a, b)?);
            shared.push(l);
            pairs.push((l, r));
            hidden.extend([(l.relation, l.column), (r.relation, r.column)]);
        }
        self.log_join(on, &pairs);
        let rest = left.columns.iter().chain(&right.columns).copied().filter(|c| !hidden.contains(&(c.relation, c.column)));
        // Shared columns are in the order of the left side, not of USING.
        shared.sort_by_key(|s| left.columns.iter().position(|c| (c.relation, c.column) == (s.relation, s.column)));
        let columns = shared.iter().copied().chain(rest).collect();
        Ok((condition, columns))
    }

    fn one_visible(&self, columns: &[VisibleColumn], name: &str) -> Result<VisibleColumn> {
        let mut found = columns.iter().copied().filter(|c| same_name(self.visible_name(*c), name));
        let Some(first) = found.next() else {
            return Err(Error::new(&errno::ER_BAD_FIELD_ERROR, &[&name, &"from clause"]));
        };
        if found.next().is_some() {
            return Err(Error::new(&errno::ER_NON_UNIQ_ERROR, &[&name, &"from clause"]));
        }
        Ok(first)
    }

    fn common_names(&self, left: &FromPart, right: &FromPart) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for column in &left.columns {
            let name = self.visible_name(*column);
            if right.columns.iter().any(|c| same_name(self.visible_name(*c), name))
                && !names.iter().any(|n: &String| same_name(n, name))
            {
                names.push(name.to_string());
            }
        }
        Ok(names)
    }

    fn table_factor(&mut self, factor: &ast::TableFactor, actions: Actions) -> Result<FromPart> {
        let alias = factor.alias.as_deref().unwrap_or(&factor.name.name);
        if factor.name.db.is_none()
            && let Some(part) = self.cte_reference(&factor.name.name, alias)?
        {
            return Ok(part);
        }
        let table = match self.table_or_view(&factor.name, actions)? {
            Named::Table(table) => table,
            Named::View(view) => return self.view(view, factor),
        };
        self.log_table(factor, &table.database, &table.name);
        if self.cx.names.is_some() && table.options.temporary {
            return Err(Error::new(&errno::ER_VIEW_SELECT_TMPTABLE, &[&table.name]));
        }
        let selected = select_partitions(&table, &factor.partitions)?;
        self.refuse_reading_target(&table, factor)?;
        check_index_hints(&table, &factor.index_hints, alias)?;
        let relation = self.base_relation(&table, alias)?;
        self.frame().relations[relation].index_hints = factor.index_hints.clone();
        if let Some(partitions) = &mut self.frame().relations[relation].partitions {
            partitions.selected = selected;
        }
        Ok(self.leaf(relation))
    }

    /// Adds a base table to the frame.
    pub fn base_relation(&mut self, table: &TableRef, alias: &str) -> Result<usize> {
        let generated = super::generated::bind_generated(table, self.cx.catalog)?;
        let columns = table
            .columns
            .iter()
            .map(|c| RelationColumn {
                name: if c.is_hidden() { String::new() } else { c.name.clone() },
                invisible: c.invisible,
                value: ColumnValue::Lazy { ty: c.ty.clone(), nullable: c.nullable },
                origin: None,
            })
            .collect();
        let relation = Relation::new(alias, Some(table.database.clone()), Source::Base(table.clone()), columns);
        let partitions = match table.partitioning {
            Some(_) => Some(ScanPartitions {
                function: Arc::new(bind_partitions(table, self.cx.catalog)?),
                selected: None,
                terms: Vec::new(),
                alternatives: Vec::new(),
                merged_by: Vec::new(),
                zone: self.cx.settings.time_zone.clone(),
            }),
            None => None,
        };
        let whose = self.whose();
        Ok(self.add_relation(Relation { generated, partitions, whose, ..relation }))
    }

    pub fn add_relation(&mut self, relation: Relation) -> usize {
        let frame = self.frame();
        frame.relations.push(relation);
        frame.relations.len() - 1
    }

    pub fn leaf(&mut self, relation: usize) -> FromPart {
        let of = &self.frame().relations[relation];
        let is_hidden = |column: usize| match &of.source {
            Source::Base(table) => table.columns[column].is_hidden(),
            _ => false,
        };
        let columns = (0..of.columns.len()).filter(|column| !is_hidden(*column));
        let columns = columns.map(|column| VisibleColumn { relation, column }).collect();
        FromPart { tree: Logical::Relation(relation), relations: vec![relation], columns }
    }

    /// `(query) AS alias`: merged into this frame if it is simple, else run on its own.
    fn derived(
        &mut self,
        query: &ast::Query,
        lateral: bool,
        alias: &str,
        names: &[String],
        left: Option<&FromPart>,
    ) -> Result<FromPart> {
        if lateral {
            let frame = self.frames.len() - 1;
            // Where no table can be named it is still a query inside another one.
            let (relations, columns) = left.map_or_else(Default::default, |left| (left.relations.clone(), left.columns.clone()));
            self.scopes.push(Scope { frame, relations, columns, ..Scope::default() });
            let part = self.derived_inner(query, left.is_some(), alias, names);
            self.scopes.pop();
            return part;
        }
        self.derived_inner(query, false, alias, names)
    }

    fn derived_inner(&mut self, query: &ast::Query, lateral: bool, alias: &str, names: &[String]) -> Result<FromPart> {
        let level = self.frames.len();
        // A table that the statement changes may be read through a derived table only if that is kept.
        let reading = std::mem::replace(&mut self.reading_derived, true);
        let bound = self.nested_query(query);
        self.reading_derived = reading;
        let (mut query, outermost) = bound?;
        if !lateral && self.merge_wanted(alias) && self.merges_derived(&mut query) {
            return self.merged(query, alias, names);
        }
        self.materialized(query, outermost < level, lateral, alias, names)
    }

    /// A derived table's or CTE's query may stand in this block, and its columns are then what they are here. In a view that is changed it may
    /// not: its rows are no table's. What has another value each time it is computed is kept, so that all who name it see one.
    pub(super) fn merges_derived(&self, query: &mut Query) -> bool {
        self.targets.is_empty()
            && (self.views.is_empty() || !self.changing)
            && is_mergeable(query, false)
            && is_steady(query)
            && (self.optional_sides == 0 || make_optional(query))
    }

    /// A relation whose rows come from a query of its own.
    pub fn materialized(
        &mut self,
        query: Query,
        correlated: bool,
        lateral: bool,
        alias: &str,
        names: &[String],
    ) -> Result<FromPart> {
        let columns = self.output_relation(&query, alias, names)?;
        let shared = (!correlated && !lateral).then(|| {
            let shared = self.new_shared();
            shared.add_use();
            shared
        });
        let source = Source::Derived { query: Inner::new(query), correlated, lateral, shared };
        let relation = self.add_relation(Relation::new(alias, None, source, columns));
        self.own_slots(relation);
        Ok(self.leaf(relation))
    }

    /// Marks the slots of the relation's columns as filled by it.
    pub fn own_slots(&mut self, relation: usize) {
        let frame = self.frame();
        for column in 0..frame.relations[relation].columns.len() {
            if let Some(slot) = frame.relations[relation].slot(column) {
                frame.slot_owner[slot] = Some(relation);
            }
        }
    }

    /// A plan's output as columns with slots of this frame; error 1060 for equal names, 1353 for a wrong list.
    pub fn output_relation(&mut self, query: &Query, alias: &str, names: &[String]) -> Result<Vec<RelationColumn>> {
        if !names.is_empty() && names.len() != query.output().len() {
            return Err(Error::new(&errno::ER_VIEW_WRONG_LIST, &[]));
        }
        // Literals of what MySQL merges stay literals.
        let stays = is_inner_join(&query.block.root);
        let mut columns: Vec<RelationColumn> = Vec::with_capacity(query.output().len());
        for (n, output) in query.output().iter().enumerate() {
            let name = names.get(n).unwrap_or(&output.name).clone();
            if columns.iter().any(|c| same_name(&c.name, &name)) {
                return Err(Error::new(&errno::ER_DUP_FIELDNAME, &[&name]));
            }
            let slot = self.new_slot();
            let ty = output.expr.ty.clone();
            let ty = if stays { ty } else { without_hex(ty) };
            let value = ColumnValue::Slot { slot, ty, nullable: output.expr.nullable };
            let origin = derived_origin(output.origin.clone(), alias, &name);
            columns.push(RelationColumn { name, invisible: false, value, origin });
        }
        Ok(columns)
    }

    /// The rewrite `derived_merge`: the query's tables become tables of this frame, and its columns expressions over them. It is made as
    /// soon as the query is bound, because UPDATE, GROUP BY and the metadata of results ask what a column of it is in its table.
    pub(super) fn merged(&mut self, query: Query, alias: &str, names: &[String]) -> Result<FromPart> {
        let frame = self.frame();
        let into =
            merge::Frame { relations: &mut frame.relations, owners: &mut frame.slot_owner, subqueries: &mut frame.subqueries };
        let merge::Merged { tree, output: outputs, order } = merge::merge(query, into)?;
        self.order_of_view = order;
        let frame = self.frame();
        frame.width = frame.slot_owner.len();
        if !names.is_empty() && names.len() != outputs.len() {
            return Err(Error::new(&errno::ER_VIEW_WRONG_LIST, &[]));
        }
        let mut columns: Vec<RelationColumn> = Vec::with_capacity(outputs.len());
        for (n, output) in outputs.into_iter().enumerate() {
            let name = names.get(n).cloned().unwrap_or(output.name);
            if columns.iter().any(|c| same_name(&c.name, &name)) {
                return Err(Error::new(&errno::ER_DUP_FIELDNAME, &[&name]));
            }
            let origin = derived_origin(output.origin, alias, &name).map(|origin| ColumnOrigin { is_merged: true, ..origin });
            columns.push(RelationColumn { name, invisible: false, value: ColumnValue::Expr(output.expr), origin });
        }
        // Only the derived table itself can be named from outside.
        let relation = self.add_relation(Relation::new(alias, None, Source::Merged, columns));
        Ok(FromPart { tree, ..self.leaf(relation) })
    }
}

/// Where a derived table's column comes from: its table's column by the name of the derived table, or nothing but that.
fn derived_origin(origin: Option<ColumnOrigin>, alias: &str, name: &str) -> Option<ColumnOrigin> {
    Some(match origin {
        Some(origin) => ColumnOrigin { table: alias.to_string(), ..origin },
        None => ColumnOrigin { table: alias.to_string(), org_name: name.to_string(), ..ColumnOrigin::default() },
    })
}

/// The indexes that hints name are the table's, and USE is not beside FORCE, whatever they are for.
fn check_index_hints(table: &TableRef, hints: &[ast::IndexHint], alias: &str) -> Result<()> {
    for name in hints.iter().flat_map(|hint| &hint.indexes) {
        if table.index_named(name).is_none_or(|i| i.name == "PRIMARY" && table.hidden_rowid) {
            return Err(Error::new(&errno::ER_KEY_DOES_NOT_EXITS, &[name, &alias]));
        }
    }
    let has = |kind| hints.iter().any(|hint| hint.kind == kind);
    if has(ast::IndexHintKind::Use) && has(ast::IndexHintKind::Force) {
        return Err(Error::new(&errno::ER_WRONG_USAGE, &[&"USE INDEX", &"FORCE INDEX"]));
    }
    Ok(())
}

fn is_inner_join(node: &Logical) -> bool {
    match node {
        Logical::Relation(_) => true,
        Logical::Filter { input, .. } => is_inner_join(input),
        Logical::Join { kind: JoinKind::Inner, left, right, .. } => is_inner_join(left) && is_inner_join(right),
        _ => false,
    }
}
