//! Generated columns, of which the catalog has the text.
//!
//! Where a condition or ORDER BY has the expression of a generated column that an index has, the column takes its place, so that the optimizer
//! finds the index: with `c INT AS (a + 1)` and an index on c, `WHERE a + 1 = 5` becomes `WHERE c = 5`. A functional index is a hidden column
//! of this kind.

use vaquita_parser::{ParserOptions, parse_expr};
use vaquita_types::charset::CollationId;
use vaquita_types::schema::TableRef;
use vaquita_types::{ColumnType, Error, Result, TypeKind, Value, errno};

use super::scope::Source;
use super::{Binder, Place, PlanContext, bind_over_row};
use crate::catalog::Catalog;
use crate::expr::{Expr, ExprKind};
use crate::logical::Logical;
use crate::node::SortKey;
use crate::visit;

/// The generated columns of a table in their order, with their expressions over a row of it: slot n is the column at position n.
pub fn bind_generated(table: &TableRef, catalog: &dyn Catalog) -> Result<Vec<(usize, Expr)>> {
    let mut bound = Vec::new();
    for (position, column) in table.columns.iter().enumerate() {
        let Some(generated) = &column.generated else { continue };
        let parsed = parse_expr(generated.expr.as_bytes(), &ParserOptions::default())
            .map_err(|e| Error::internal(format_args!("stored expression {}: {e:?}", generated.expr)))?;
        let context = PlanContext::new(catalog, Place::Generated(&column.name));
        bound.push((position, bind_over_row(&parsed, table, 0, &context)?));
    }
    Ok(bound)
}

impl Binder<'_> {
    /// Error 3105 for a generated column that is given another value than DEFAULT.
    pub(super) fn refuse_generated(&self, table: &TableRef, column: usize) -> Result<()> {
        match table.columns.get(column) {
            Some(column) if column.generated.is_some() => {
                Err(Error::new(&errno::ER_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN, &[&column.name, &table.name]))
            }
            _ => Ok(()),
        }
    }
}

/// A generated column of a relation, and its expression over the slots of the frame.
struct Indexed {
    relation: usize,
    column: usize,
    expr: Expr,
}

impl Binder<'_> {
    /// Puts columns in the place of their expressions, in conditions and in the keys that rows are sorted by.
    pub(super) fn name_generated(
        &mut self,
        tree: Option<&mut Logical>,
        filter: &mut [Expr],
        order_by: &mut [SortKey],
    ) -> Result<()> {
        let frame = self.frames.len() - 1;
        if self.frames[frame].relations.iter().all(|relation| relation.generated.is_empty()) {
            return Ok(());
        }
        let indexed = self.indexed(frame);
        if indexed.is_empty() {
            return Ok(());
        }
        if let Some(tree) = tree {
            tree.expressions_mut(&mut |expr| {
                self.name_in_condition(frame, expr, &indexed);
                Ok(())
            })?;
        }
        filter.iter_mut().for_each(|expr| self.name_in_condition(frame, expr, &indexed));
        order_by.iter_mut().for_each(|key| self.name_operand(frame, &mut key.expr, &indexed));
        Ok(())
    }

    /// What may be named. Of a table that may be missing in a row the column is NULL where the expression need not be.
    fn indexed(&self, frame: usize) -> Vec<Indexed> {
        let mut indexed = Vec::new();
        for (n, relation) in self.frames[frame].relations.iter().enumerate().filter(|(_, relation)| !relation.optional) {
            let Source::Base(table) = &relation.source else { continue };
            for (position, expr) in &relation.generated {
                let column = &table.columns[*position];
                let has = |index: &&vaquita_types::schema::IndexDef| index.parts.iter().any(|part| part.column == column.id);
                if !table.indexes.iter().any(|index| has(&index) && !index.invisible && !index.is_full_text())
                    || !holds_whole(&column.ty, &expr.ty)
                {
                    continue;
                }
                let mut expr = expr.clone();
                // If nothing reads what it is generated of, nothing is the expression.
                let is_read = visit::map_slots(&mut expr, &|base| relation.slot(base));
                if is_read && !matches!(expr.kind, ExprKind::Slot(_) | ExprKind::Literal(_)) {
                    plain_texts(&mut expr);
                    indexed.push(Indexed { relation: n, column: *position, expr });
                }
            }
        }
        indexed
    }

    fn name_in_condition(&mut self, frame: usize, expr: &mut Expr, indexed: &[Indexed]) {
        match &mut expr.kind {
            ExprKind::And(parts) | ExprKind::Or(parts) => {
                parts.iter_mut().for_each(|part| self.name_in_condition(frame, part, indexed))
            }
            ExprKind::Not(inner) => self.name_in_condition(frame, inner, indexed),
            ExprKind::Compare(_, left, right, _) => {
                self.name_operand(frame, left, indexed);
                self.name_operand(frame, right, indexed);
            }
            ExprKind::InList(value, _, _) => self.name_operand(frame, value, indexed),
            _ => {}
        }
    }

    fn name_operand(&mut self, frame: usize, operand: &mut Expr, indexed: &[Indexed]) {
        if operand.is_leaf() {
            return;
        }
        let mut plain = operand.clone();
        plain_texts(&mut plain);
        let found = indexed.iter().find(|one| plain.ty.collation == one.expr.ty.collation && visit::same(&plain, &one.expr));
        if let Some(Indexed { relation, column, .. }) = found {
            // The account is asked for what the expression reads.
            *operand = self.slot_of(frame, *relation, *column);
        }
    }
}

/// The column has every value of the expression, and compares as it.
fn holds_whole(column: &ColumnType, expr: &ColumnType) -> bool {
    match column.kind {
        _ if column.is_integer() => expr.is_integer() && column.unsigned == expr.unsigned,
        TypeKind::Decimal => expr.kind == TypeKind::Decimal && column.decimals == expr.decimals,
        TypeKind::VarChar => {
            matches!(expr.kind, TypeKind::VarChar | TypeKind::Char | TypeKind::LongText)
                && column.collation == expr.collation
                && column.length >= expr.length
        }
        TypeKind::Time | TypeKind::DateTime => expr.kind == column.kind && expr.decimals == column.decimals,
        TypeKind::Date | TypeKind::Double => expr.kind == column.kind,
        _ => false,
    }
}

/// Texts of ASCII are the same in all charsets that connections have; their types are made so.
fn plain_texts(expr: &mut Expr) {
    if let ExprKind::Literal(Value::Bytes(text)) = &expr.kind
        && expr.ty.is_text()
        && text.is_ascii()
    {
        expr.ty = ColumnType::varchar(text.len() as u32, CollationId::default());
    }
    visit::children_mut(expr, &mut plain_texts);
}
