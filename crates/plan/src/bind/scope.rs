//! What names mean: frames, relations and scopes.
//!
//! A `Frame` belongs to a query block and owns its relations (tables, derived tables) and its slots. A `Scope`
//! lists which relations, columns and CTEs are visible at a place; several scopes may belong to one frame (the
//! operands of a join's ON see less than WHERE does; a merged subquery shares the frame of the block around it).

use std::rc::Rc;

use vaquita_parser as ast;
use vaquita_types::schema::TableRef;
use vaquita_types::{Error, Result, errno};

use super::Binder;
use crate::expr::{Expr, ExprKind, Slot};
use crate::logical::Subqueries;
pub(crate) use crate::logical::same_name;
pub(crate) use crate::logical::{ColumnValue, Relation, RelationColumn, Source};
use crate::node::{Aggregate, WindowFunction};
use crate::same_index::SameIndex;
use crate::uses::{Actions, SELECT};
use crate::visit;

/// The part of a statement whose names are being resolved, as errors 1052 and 1054 call it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clause {
    #[default]
    FieldList,
    Where,
    On,
    Group,
    Having,
    Order,
    Window,
    WindowOrder,
    /// The document of JSON_TABLE.
    TableFunction,
}

impl Clause {
    /// A query in this clause may name the output columns of the block around it.
    pub(super) fn sees_output(self) -> bool {
        matches!(self, Clause::FieldList | Clause::Group | Clause::Having | Clause::Order)
    }

    pub fn name(self) -> &'static str {
        match self {
            Clause::FieldList => "field list",
            Clause::Where => "where clause",
            Clause::On => "on clause",
            Clause::Group => "group statement",
            Clause::Having => "having clause",
            Clause::Order => "order clause",
            Clause::Window => "window partition by",
            Clause::WindowOrder => "window order by",
            Clause::TableFunction => "a table function argument",
        }
    }
}

/// The slots of a query block and what fills them.
#[derive(Debug)]
pub struct Frame {
    pub width: usize,
    pub relations: Vec<Relation>,
    /// Which relation fills a slot; none for results of aggregation and windows.
    pub slot_owner: Vec<Option<usize>>,
    pub aggregates: Vec<Aggregate>,
    pub aggregate_index: SameIndex,
    pub windows: Vec<WindowFunction>,
    pub subqueries: Subqueries,
    pub clause: Clause,
    /// WHERE is never true by a constant, so that nobody looks at other conditions.
    pub decided: bool,
    /// What is to be evaluated early of each join's ON, until WHERE is bound, of which that comes first.
    pub early_of_on: Vec<Vec<Expr>>,
    pub aggregates_allowed: bool,
    pub windows_allowed: bool,
    /// The index of the outermost frame that this one or one inside it refers to.
    pub outermost: usize,
    /// Named windows of the block.
    pub named_windows: Vec<(String, ast::WindowSpec)>,
    /// Those of them that windows of functions are or extend.
    pub used_windows: Vec<String>,
    /// The keys of the others.
    pub unused_windows: Vec<(String, Vec<Expr>)>,
    /// The name of the window whose keys are being bound.
    pub window_keys_of: Option<String>,
    /// Bound GROUP BY expressions, for GROUPING().
    pub group_keys: Vec<Expr>,
    /// Output columns that HAVING or an expression of ORDER BY names.
    pub named_output: Vec<Expr>,
    /// The block has GROUP BY or aggregates.
    pub grouped: bool,
    /// In ORDER BY, below the top of an expression: table columns come before aliases.
    pub inside_order: bool,
    /// ANY_VALUE was bound as its argument, before an aggregate was met.
    pub any_value_seen: bool,
    /// In the argument of an aggregate.
    pub inside_aggregate: bool,
    /// The block is one of a query that is asked with IN, ANY, ALL or EXISTS.
    pub of_predicate: bool,
    /// In the left operand of IN, ALL or ANY with a query.
    pub beside_subquery: bool,
    /// The block's place among those of `Binder::hints`.
    pub hinted: Option<usize>,
}

impl Default for Frame {
    fn default() -> Frame {
        Frame {
            width: 0,
            relations: Vec::new(),
            slot_owner: Vec::new(),
            aggregates: Vec::new(),
            aggregate_index: SameIndex::default(),
            windows: Vec::new(),
            subqueries: Vec::new(),
            clause: Clause::FieldList,
            decided: false,
            early_of_on: Vec::new(),
            aggregates_allowed: false,
            windows_allowed: false,
            outermost: usize::MAX,
            named_windows: Vec::new(),
            used_windows: Vec::new(),
            unused_windows: Vec::new(),
            window_keys_of: None,
            group_keys: Vec::new(),
            named_output: Vec::new(),
            grouped: false,
            inside_order: false,
            any_value_seen: false,
            inside_aggregate: false,
            of_predicate: false,
            beside_subquery: false,
            hinted: None,
        }
    }
}

impl Frame {
    pub fn new_slot(&mut self) -> Slot {
        self.new_slot_of(None)
    }

    pub fn new_slot_of(&mut self, owner: Option<usize>) -> Slot {
        self.slot_owner.push(owner);
        self.width += 1;
        self.width - 1
    }
}

/// One column that can be named without a qualifier; columns merged by USING stand for each other.
#[derive(Clone, Copy, Debug)]
pub struct VisibleColumn {
    pub relation: usize,
    pub column: usize,
}

#[derive(Debug, Default)]
pub struct Scope {
    pub frame: usize,
    pub relations: Vec<usize>,
    /// In the order of `*`; without the second occurrence of columns joined by USING.
    pub columns: Vec<VisibleColumn>,
    /// A CTE that can be named from here inwards.
    pub cte: Option<Rc<super::cte::CteDef>>,
    /// The working rows of a recursive CTE.
    pub working: Option<super::cte::WorkingTable>,
    /// While a CTE is bound where it is used, the scopes in between are not seen.
    pub hidden: bool,
    /// Output columns that HAVING, GROUP BY, ORDER BY and the queries in them may name; while the select list is bound, those
    /// before the present one, which queries in the list may name.
    pub aliases: Vec<(String, Expr)>,
    /// The aliases of the items of the select list, while it is bound.
    pub items: Vec<Option<String>>,
    /// How many of them stand before the one that is being bound.
    pub items_bound: usize,
}

impl Binder<'_> {
    /// The column that a name means here.
    pub fn resolve(&mut self, column: &ast::ColumnRef) -> Result<Expr> {
        if let Some(found) = self.find_below(self.scopes.len(), column)? {
            return Ok(found);
        }
        self.note_unknown(column, SELECT);
        match &column.table {
            Some(table) if self.names_no_table(table) => Err(Error::new(&errno::ER_UNKNOWN_TABLE, &[table, &self.clause_name()])),
            _ => Err(Error::new(&errno::ER_BAD_FIELD_ERROR, &[&written(column), &self.clause_name()])),
        }
    }

    /// What it means in the `scopes` outermost ones.
    pub(super) fn find_below(&mut self, scopes: usize, column: &ast::ColumnRef) -> Result<Option<Expr>> {
        // HAVING looks at what a block selects before it looks at the block's tables.
        let is_having = self.frames.last().is_some_and(|frame| frame.clause == Clause::Having);
        for at in (0..scopes).rev() {
            if self.scopes[at].hidden {
                continue;
            }
            if is_having && let Some(selected) = self.selected_outside(at, column)? {
                return Ok(Some(selected));
            }
            let found = self.find_in_scope(at, column);
            if found.is_err() {
                self.note_candidates(at, column);
            }
            if let Some(found) = found? {
                self.log_column(column, self.scopes[at].frame, found);
                return self.use_column(at, found).map(Some);
            }
            if let Some(selected) = self.selected_outside(at, column)? {
                return Ok(Some(selected));
            }
        }
        Ok(None)
    }

    /// As MySQL: who may not read a table whole is not told which columns it has not. HAVING and the name of another table do not look
    /// at the table.
    pub(super) fn note_unknown(&self, column: &ast::ColumnRef, actions: Actions) {
        if self.frames.last().is_some_and(|f| f.clause == Clause::Having) {
            return;
        }
        let first = |s: &Scope| (s.frame, s.relations.first().copied());
        let scopes = self.scopes.iter().rev().filter(|s| !s.hidden);
        if let Some((frame, Some(at))) = scopes.map(first).find(|(_, relation)| relation.is_some()) {
            let relation = &self.frames[frame].relations[at];
            if column.table.as_ref().is_none_or(|table| relation.is_called(column.db.as_deref(), table)) {
                self.note_table_use(frame, at, |entry| entry.unknown_column = Some((column.name.clone(), actions)));
            }
        }
    }

    /// The same for a name that several tables have.
    pub(super) fn note_candidates(&self, at: usize, column: &ast::ColumnRef) {
        let Scope { frame, columns, .. } = &self.scopes[at];
        for visible in columns {
            if same_name(&self.frames[*frame].relations[visible.relation].columns[visible.column].name, &column.name) {
                self.note_column(*frame, visible.relation, visible.column, SELECT);
            }
        }
    }

    /// As `resolve`, but only in the innermost scope and without an error if there is none.
    pub fn resolve_here(&mut self, column: &ast::ColumnRef) -> Result<Option<Expr>> {
        let Some(at) = self.scopes.len().checked_sub(1) else { return Ok(None) };
        match self.find_in_scope(at, column)? {
            Some(found) => {
                self.log_column(column, self.scopes[at].frame, found);
                self.use_column(at, found).map(Some)
            }
            None => Ok(None),
        }
    }

    /// As MySQL: the table is what is unknown where none can be named at all, and in the document of JSON_TABLE.
    fn names_no_table(&self, table: &str) -> bool {
        match self.frames.last().map(|f| f.clause) {
            Some(Clause::TableFunction) => !self.sees_table(table),
            Some(Clause::Having) => false,
            _ => {
                let mut seen = self.scopes.iter().filter(|scope| !scope.hidden);
                seen.next().is_none_or(|scope| scope.relations.is_empty()) && seen.next().is_none()
            }
        }
    }

    /// A table of this name can be named here.
    fn sees_table(&self, alias: &str) -> bool {
        let has = |scope: &Scope| {
            let relations = &self.frames[scope.frame].relations;
            scope.relations.iter().any(|relation| relations[*relation].alias == alias)
        };
        self.scopes.iter().any(|scope| !scope.hidden && has(scope))
    }

    pub fn clause_name(&self) -> &'static str {
        match self.frames.last() {
            Some(frame) if frame.beside_subquery => "IN/ALL/ANY subquery",
            frame => frame.map_or("field list", |f| f.clause.name()),
        }
    }

    /// As `resolve_here`, for a column that is written, or may turn out not to be what the name means: `note_reading` if it is read.
    pub fn look_up_here(&mut self, column: &ast::ColumnRef) -> Result<Option<(Expr, (usize, VisibleColumn))>> {
        let Some(at) = self.scopes.len().checked_sub(1) else { return Ok(None) };
        let Some(found) = self.find_in_scope(at, column)? else { return Ok(None) };
        let frame = self.scopes[at].frame;
        let expr = self.slot_of(frame, found.relation, found.column);
        Ok(Some((self.from_frame(frame, expr), (frame, found))))
    }

    pub fn note_reading(&self, (frame, found): (usize, VisibleColumn)) {
        self.note_column(frame, found.relation, found.column, SELECT);
    }

    fn find_in_scope(&self, at: usize, column: &ast::ColumnRef) -> Result<Option<VisibleColumn>> {
        let scope = &self.scopes[at];
        let Some(frame) = self.frames.get(scope.frame) else { return Ok(None) };
        let mut found: Option<VisibleColumn> = None;
        let mut ambiguous = false;
        if let Some(table) = &column.table {
            for &relation in &scope.relations {
                let rel = &frame.relations[relation];
                if !rel.is_called(column.db.as_deref(), table) {
                    continue;
                }
                if let Some(position) = rel.position(&column.name) {
                    ambiguous |= found.is_some();
                    found = Some(VisibleColumn { relation, column: position });
                }
            }
        } else {
            for &visible in &scope.columns {
                let name = &frame.relations[visible.relation].columns[visible.column].name;
                if same_name(name, &column.name) {
                    ambiguous |= found.is_some();
                    found = Some(visible);
                }
            }
        }
        if ambiguous {
            return Err(Error::new(&errno::ER_NON_UNIQ_ERROR, &[&written(column), &self.clause_name()]));
        }
        Ok(found)
    }

    fn use_column(&mut self, at: usize, found: VisibleColumn) -> Result<Expr> {
        let frame = self.scopes[at].frame;
        self.found_column = Some((frame, found));
        self.note_aggregated_column(frame);
        let expr = self.column_of(frame, found.relation, found.column);
        Ok(self.from_frame(frame, expr))
    }

    /// `expr` of an enclosing frame, seen from the current one.
    pub fn from_frame(&mut self, frame: usize, expr: Expr) -> Expr {
        let depth = self.frames.len() - 1 - frame;
        if depth == 0 {
            return expr;
        }
        let this = self.frame();
        this.outermost = this.outermost.min(frame);
        visit::shifted(expr, depth)
    }

    /// A relation's column, which the statement reads, as an expression over its own frame.
    pub fn column_of(&mut self, frame: usize, relation: usize, column: usize) -> Expr {
        self.note_column(frame, relation, column, SELECT);
        self.slot_of(frame, relation, column)
    }

    /// The same without reading it for the account. The column gets its slot here.
    pub(super) fn slot_of(&mut self, frame: usize, relation: usize, column: usize) -> Expr {
        let frame_at = frame;
        let frame = &mut self.frames[frame];
        let optional = frame.relations[relation].optional;
        let (slot, ty, nullable) = match &frame.relations[relation].columns[column].value {
            ColumnValue::Expr(expr) => {
                let mut expr = expr.clone();
                expr.nullable |= optional;
                self.note_copies(&expr, 1);
                return expr;
            }
            ColumnValue::Slot { slot, ty, nullable } => (*slot, ty.clone(), *nullable),
            ColumnValue::Lazy { ty, nullable } => {
                let (ty, nullable) = (ty.clone(), *nullable);
                let slot = frame.new_slot_of(Some(relation));
                frame.relations[relation].columns[column].value = ColumnValue::Slot { slot, ty: ty.clone(), nullable };
                self.slots_of_bases(frame_at, relation, column);
                (slot, ty, nullable)
            }
        };
        Expr::slot(slot, ty, nullable || optional)
    }

    /// Gives slots to the columns that a generated column, which rows do not hold, is computed of.
    fn slots_of_bases(&mut self, frame: usize, relation: usize, column: usize) {
        let of = &self.frames[frame].relations[relation];
        let Source::Base(table) = &of.source else { return };
        if of.generated.is_empty() || table.columns[column].is_in_row() {
            return;
        }
        let expr = of.generated.iter().find(|(generated, _)| *generated == column);
        for base in expr.map_or(Vec::new(), |(_, expr)| visit::slots(expr)) {
            self.slot_of(frame, relation, base);
        }
    }

    /// Makes the row of `table` nameable: column n is slot `first_slot + n`. `free`: see `Relation`.
    pub fn push_row_scope(&mut self, table: &TableRef, alias: &str, first_slot: Slot, free: bool) {
        let frame_at = self.frames.len().saturating_sub(1);
        let frame = self.frame();
        let width = frame.width.max(first_slot + table.columns.len());
        frame.width = width;
        frame.slot_owner.resize(width, None);
        let columns = table
            .columns
            .iter()
            .enumerate()
            .map(|(n, c)| RelationColumn {
                name: if c.is_hidden() { String::new() } else { c.name.clone() },
                invisible: c.invisible,
                value: ColumnValue::Slot { slot: first_slot + n, ty: c.ty.clone(), nullable: c.nullable },
                origin: None,
            })
            .collect();
        let relation = frame.relations.len();
        let row = Relation::new(alias, Some(table.database.clone()), Source::Row(table.clone()), columns);
        frame.relations.push(Relation { free, ..row });
        let visible = (0..table.columns.len()).map(|column| VisibleColumn { relation, column }).collect();
        self.scopes.push(Scope { frame: frame_at, relations: vec![relation], columns: visible, ..Scope::default() });
    }

    /// The slot's relation, for a slot of the current frame.
    pub fn owner(&self, slot: Slot) -> Option<usize> {
        self.frames.last().and_then(|f| f.slot_owner.get(slot).copied().flatten())
    }
}

/// The name as errors print it: with its qualifiers.
pub fn written(column: &ast::ColumnRef) -> String {
    match (&column.db, &column.table) {
        (Some(db), Some(table)) => format!("{db}.{table}.{}", column.name),
        (None, Some(table)) => format!("{table}.{}", column.name),
        _ => column.name.clone(),
    }
}

/// The column is nothing but a slot of this frame.
pub fn plain_slot(expr: &Expr) -> Option<Slot> {
    match expr.kind {
        ExprKind::Slot(slot) => Some(slot),
        _ => None,
    }
}
