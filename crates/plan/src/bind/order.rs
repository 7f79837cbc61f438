//! ORDER BY, GROUP BY and HAVING: where output columns can be named.
//!
//! In ORDER BY an unqualified name is first an output column (alias), then a table's column; a number
//! is a position. In GROUP BY tables' columns come first, then aliases. HAVING sees the columns of GROUP BY, then aliases, then
//! selected columns by their own name; no other column of a table outside of aggregates. Queries in these clauses see the output
//! columns behind the tables' columns, queries in the select list those before them.

use vaquita_parser as ast;
use vaquita_types::{Error, Result, errno};

use super::early::is_constant;
use super::scope::{same_name, written};
use super::{Binder, Clause};
use crate::expr::{Expr, ExprKind};
use crate::node::{OutputColumn, SortKey};
use crate::visit;

impl Binder<'_> {
    /// What an unqualified name means as an output column, in the clauses that allow it.
    pub(super) fn alias(&mut self, column: &ast::ColumnRef) -> Result<Option<Expr>> {
        let clause = self.frame().clause;
        if clause == Clause::Having {
            return self.having_column(column);
        }
        if column.table.is_some() || !matches!(clause, Clause::Order | Clause::Group) {
            return Ok(None);
        }
        let Some(scope) = self.scopes.last() else { return Ok(None) };
        if scope.frame + 1 != self.frames.len() {
            return Ok(None);
        }
        let found: Vec<Expr> =
            scope.aliases.iter().filter(|(name, _)| same_name(name, &column.name)).map(|(_, e)| e.clone()).collect();
        if found.is_empty() {
            return Ok(None);
        }
        // A bare item that could mean two of them is refused whatever else it could mean.
        if !self.inside_order_expression() {
            self.named_output(column, found.iter())?;
        }
        // A real column of that name wins except in a bare ORDER BY item.
        if clause != Clause::Order || self.inside_order_expression() {
            match self.resolve_here(column) {
                Ok(Some(expr)) => return Ok(Some(expr)),
                Ok(None) => {}
                Err(e) if found.len() == 1 && e.is(&errno::ER_NON_UNIQ_ERROR) => {
                    // As MySQL: it was looked at in each of these tables.
                    self.note_candidates(self.scopes.len() - 1, column);
                }
                Err(e) => return Err(e),
            }
        }
        let named = self.named_output(column, found.iter())?;
        // In ORDER BY this is the argument of an aggregate or a window function. (A bare item of GROUP BY is error 1056.)
        let comes_before_windows = match clause {
            Clause::Group => self.inside_order_expression(),
            _ => !self.frame().windows_allowed,
        };
        if comes_before_windows {
            named.iter().try_for_each(|expr| self.refuse_window(column, expr))?;
        }
        named.iter().try_for_each(|expr| self.note_named(expr))?;
        Ok(named)
    }

    /// Error 3594 for the name of an output column that has a window function: windows are computed behind groups and HAVING.
    fn refuse_window(&self, column: &ast::ColumnRef, named: &Expr) -> Result<()> {
        let Some(frame) = self.frames.last().filter(|frame| !frame.windows.is_empty()) else { return Ok(()) };
        let slots = visit::slots(named);
        match frame.windows.iter().any(|window| slots.contains(&window.slot)) {
            true => Err(Error::new(&errno::ER_WINDOW_INVALID_WINDOW_FUNC_ALIAS_USE, &[&column.name])),
            false => Ok(()),
        }
    }

    fn note_named(&mut self, expr: &Expr) -> Result<()> {
        self.count_copies(expr, 1)?;
        if !expr.is_leaf() && !self.frame().named_output.iter().any(|named| visit::same_as_written(named, expr)) {
            self.frame().named_output.push(expr.clone());
        }
        Ok(())
    }

    /// What a name in a query means as an output column of the block around it that scope `at` belongs to, if the query stands in
    /// the block's select list (there only columns before it), GROUP BY, HAVING or ORDER BY.
    pub(super) fn selected_outside(&mut self, at: usize, column: &ast::ColumnRef) -> Result<Option<Expr>> {
        let scope = &self.scopes[at];
        let frame = scope.frame;
        if column.table.is_some() || frame + 1 >= self.frames.len() || !self.frames[frame].clause.sees_output() {
            return Ok(None);
        }
        let refused = |why: &str| Error::new(&errno::ER_ILLEGAL_REFERENCE, &[&column.name, &why]);
        if scope.items.iter().skip(scope.items_bound).flatten().any(|name| same_name(name, &column.name)) {
            return Err(refused("forward reference in item list"));
        }
        let named = scope.aliases.iter().filter(|(name, _)| same_name(name, &column.name)).map(|(_, e)| e);
        let Some(mut expr) = self.output_in_frame(frame, column, named)? else { return Ok(None) };
        let slots = visit::slots(&expr);
        // As MySQL: HAVING of the query itself may name it.
        let is_having = self.frames.last().is_some_and(|frame| frame.clause == Clause::Having);
        if !is_having && self.frames[frame].aggregates.iter().any(|a| slots.contains(&a.slot)) {
            return Err(refused("reference to group function"));
        }
        if self.frames[frame].windows.iter().any(|w| slots.contains(&w.slot)) {
            return Err(Error::new(&errno::ER_WINDOW_INVALID_WINDOW_FUNC_ALIAS_USE, &[&column.name]));
        }
        self.count_copies(&expr, 1)?;
        self.plan_subqueries(frame, &mut expr)?;
        Ok(Some(self.from_frame(frame, expr)))
    }

    fn named_output<'e>(&self, column: &ast::ColumnRef, named: impl Iterator<Item = &'e Expr>) -> Result<Option<Expr>> {
        self.output_in_frame(self.frames.len().saturating_sub(1), column, named)
    }

    /// Which of the output columns of one name is meant: the first expression; else the column that all of them are.
    fn output_in_frame<'e>(
        &self,
        frame: usize,
        column: &ast::ColumnRef,
        named: impl Iterator<Item = &'e Expr>,
    ) -> Result<Option<Expr>> {
        let owner = |slot: usize| self.frames.get(frame)?.slot_owner.get(slot).copied().flatten();
        let is_column = |expr: &Expr| matches!(expr.kind, ExprKind::Slot(slot) if owner(slot).is_some());
        let mut found: Option<&Expr> = None;
        for expr in named {
            match found {
                _ if !is_column(expr) => return Ok(Some(expr.clone())),
                Some(before) if !visit::same(before, expr) => {
                    return Err(Error::new(&errno::ER_NON_UNIQ_ERROR, &[&column.name, &self.clause_name()]));
                }
                _ => found = Some(expr),
            }
        }
        Ok(found.cloned())
    }

    /// A name in HAVING. `None`: it is no column of this block.
    fn having_column(&mut self, column: &ast::ColumnRef) -> Result<Option<Expr>> {
        let own = self.scopes.last().is_some_and(|s| s.frame + 1 == self.frames.len());
        if !own || self.frame().inside_aggregate {
            return Ok(None);
        }
        let selected = self.scopes.last().map(|s| s.aliases.clone()).unwrap_or_default();
        let keys = self.frame().group_keys.clone();
        let found = self.look_up_here(column);
        if let Ok(Some((expr, read))) = &found
            && keys.iter().any(|k| visit::same(k, expr))
        {
            self.note_reading(*read);
            self.log_column(column, read.0, read.1);
            return Ok(Some(expr.clone()));
        }
        if column.table.is_none() {
            let named = selected.iter().filter(|(name, _)| same_name(name, &column.name)).map(|(_, e)| e);
            if let Some(named) = self.named_output(column, named)? {
                self.refuse_window(column, &named)?;
                self.note_named(&named)?;
                return Ok(Some(named));
            }
        }
        match found? {
            None => Ok(None),
            Some((expr, read)) if selected.iter().any(|(_, e)| visit::same(e, &expr)) => {
                self.note_reading(read);
                self.log_column(column, read.0, read.1);
                Ok(Some(expr))
            }
            // Of a query inside another it may be a column of that one.
            Some(_) => match self.find_below(self.scopes.len().saturating_sub(1), column)? {
                Some(outside) => Ok(Some(outside)),
                None => Err(Error::new(&errno::ER_BAD_FIELD_ERROR, &[&written(column), &self.clause_name()])),
            },
        }
    }

    fn inside_order_expression(&self) -> bool {
        self.frames.last().is_some_and(|f| f.inside_order)
    }

    pub fn order_keys(&mut self, order_by: &[ast::OrderItem], output: &[OutputColumn]) -> Result<Vec<SortKey>> {
        let mut keys = Vec::with_capacity(order_by.len());
        for item in order_by {
            let expr = self.order_expr(&item.expr, output, Clause::Order)?;
            // MySQL does not compute what orders nothing.
            if !is_constant(&expr) {
                keys.push(SortKey { expr, descending: item.desc });
            }
        }
        Ok(keys)
    }

    /// An item of ORDER BY or GROUP BY: position, alias or expression.
    pub fn order_expr(&mut self, expr: &ast::Expr, output: &[OutputColumn], clause: Clause) -> Result<Expr> {
        if let ast::Expr::Literal(ast::Literal::Int(n)) = expr {
            let position = usize::try_from(*n).unwrap_or(usize::MAX);
            return match position.checked_sub(1).and_then(|p| output.get(p)) {
                Some(column) => self.copy(&column.expr),
                None => Err(Error::new(&errno::ER_BAD_FIELD_ERROR, &[n, &clause.name()])),
            };
        }
        let bare = matches!(expr, ast::Expr::Column(_));
        let mut bound = self.in_clause(clause, |b| {
            b.frame().inside_order = !bare;
            let bound = b.scalar(expr);
            b.frame().inside_order = false;
            bound
        })?;
        self.fold(&mut bound);
        Ok(bound)
    }
}
